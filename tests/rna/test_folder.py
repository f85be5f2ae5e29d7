"""The RNA folder: what it accepts, what it leaves out, scikit-learn's conventions, and its predictions."""

import copy
import threading
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import structune
from real_data import in_data_folder
from rnas import hairpins, random_sequence
from structune import RNAFolder
from structune.errors import DataError, ModelFileError
from structune.learning import risk
from structune.learning.losses import LogLoss
from structune.learning.risk import Risk
from structune.learning.tuning import MajorizeTuner
from structune.rna import RNA, Constraints, partners
from structune.rna.formats.contrafold import read_contrafold
from structune.rna.inputs import OutsideSpaceWarning
from structune.rna.metrics import partner_entropy
from structune.running import Run

TRNA_PHE = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"
CLOVERLEAF = "(((((((..((((........)))).(((((.......))))).....(((((.......))))))))))))...."


X, Y = hairpins(12)
SHORT = ["GGGAAAACCC", "ACGUACGUAU", "", "GGNGAAAACCUC", "A"]


def folder(**options):
    return RNAFolder(**{"n_jobs": 1, "tuning": None, **options})


@pytest.fixture(scope="module")
def model():
    return folder(penalty=0.1).fit(X, Y)


def contrafold(**options):
    path = in_data_folder("rna/contrafold.params.complementary")
    return RNAFolder.from_contrafold(path, **{"n_jobs": 1, **options})


def test_nothing_to_predict(model):
    assert model.predict([]) == model.predict_viterbi([]) == model.predict_nbest([]) == model.sample([]) == []
    assert model.predict_mea([], [1.0, 2.0]) == [[], []]
    assert model.log_partition([]).shape == model.log_loss([], []).shape == (0,)
    assert model.predict([""]) == model.predict_centroid([""]) == [""]
    assert model.pair_probabilities("").shape == (0, 0)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ("ACGU", "....", "give a list of sequences"),
        (["ACGU"], "....", "give a list of structures"),
        ([], [], "the training set is empty"),
        (["ACGU", 3], ["....", "."], "sequence 1: 3 is not a string"),
        (["ACGU", "A"], ["....", None], "structure 1: None is not a string"),
        (["ACGU"], ["....", "."], "there are 2 structures, but 1 sequences"),
        (["ACGU"] * 2, ["....", "..."], "^sequence 1: the length of a structure is 3, but there are 4 bases"),
    ],
)
def test_training_data_that_is_refused(x, y, message):
    with pytest.raises(DataError, match=message):
        folder().fit(x, y)


def test_what_predictions_refuse(model):
    for method in (model.predict, model.predict_viterbi, model.predict_centroid, model.predict_nbest):
        with pytest.raises(DataError, match="not one str"):
            method("ACGU")
        with pytest.raises(DataError, match="sequence 1, base 0"):
            method(["ACGU", "!"])
    for gamma in (-1.0, np.nan, np.inf, 10**400, "4", [1.0]):
        with pytest.raises(DataError, match=r"gamma=.*expected a finite number >= 0"):
            model.predict(X, gamma=gamma)
    for method in (model.sample, model.predict_nbest):
        with pytest.raises(DataError, match="n=0: expected a whole number of at least 1"):
            method(["ACGU"], 0)
    for threshold in (-0.1, np.nan):
        with pytest.raises(DataError, match=r"threshold=.*expected a number within \[0, 1\]"):
            model.predict_centroid(X, threshold)
    with pytest.raises(DataError, match="there are 2 structures, but 1 sequences"):
        model.log_loss(["ACGU"], ["....", "...."])


OUTSIDE = {
    "two bases that cannot pair": ("GGAAAAAACC", "((.(...)))", "((......))"),
    "a short hairpin": ("GGGAACCC", "(((..)))", "((....))"),
    "a long loop": ("GC" + "A" * 31 + "GAAAACGC", "((" + "." * 31 + "(....)))", None),
}


@pytest.mark.parametrize("offence", OUTSIDE)
def test_what_is_outside_is_skipped(offence):
    sequence, structure, _ = OUTSIDE[offence]
    named = r"skipped 1 sequence: sequence 2 \(bases \d+ and \d+"
    with pytest.warns(OutsideSpaceWarning, match=named) as seen:
        found = folder().fit([*X[:2], sequence, *X[2:]], [*Y[:2], structure, *Y[2:]])
    assert len(seen) == 1
    assert seen[0].filename == __file__
    ((index, reason),) = found.skipped_
    assert (index, reason[:5]) == (2, "bases")
    assert_array_equal(found.coef_, folder().fit(X, Y).coef_)


@pytest.mark.parametrize("offence", OUTSIDE)
def test_what_is_outside_is_trimmed(offence):
    sequence, structure, trimmed = OUTSIDE[offence]
    with pytest.warns(OutsideSpaceWarning, match=r"removed \d impossible pairs: \d in sequence 12"):
        found = folder(outside="trim").fit([*X, sequence], [*Y, structure])
    assert found.skipped_ == []
    if trimmed:
        assert_array_equal(found.coef_, folder().fit([*X, sequence], [*Y, trimmed]).coef_)
    with pytest.raises(DataError, match=r"sequence 12: bases \d+ and \d+"):
        folder(outside="error").fit([*X, sequence], [*Y, structure])
    with pytest.raises(DataError, match=r"outside='drop': expected one of .*'skip', 'trim', 'error'"):
        folder(outside="drop").fit(X, Y)


def test_trimming_goes_on_until_nothing_offends():
    sequence = "GGGG" + "A" * 20 + "GGG" + "A" * 8 + "GA" + "ACCCCCCCC"
    structure = "((((" + "." * 20 + "(((" + "." * 8 + "()" + "." + ")))" + "))))" + "."
    with pytest.warns(OutsideSpaceWarning, match="removed 1 impossible pairs: 1 in sequence 0"):
        folder(outside="trim").fit([sequence], [structure])
    apart = "GGGG" + "A" * 20 + "GAAAAAAAC" + "A" * 20 + "CCCC"
    loops = "((((" + "." * 20 + "(.......)" + "." * 20 + "))))"
    # the smaller of the two helices goes, here the inner one
    with pytest.warns(OutsideSpaceWarning, match="removed 1 impossible pairs"):
        folder(outside="trim").fit([apart], [loops])


def test_pseudoknots_are_dropped():
    sequence, knotted = "GGGAAACCCCCCGGG", "(((...[[[)))]]]"
    plain = folder().fit([*X, sequence], [*Y, "(((......)))..."])
    for outside in ("skip", "trim"):
        with pytest.warns(OutsideSpaceWarning, match="removed 3 pairs in pseudoknots: 3 in sequence 12"):
            found = folder(outside=outside).fit([*X, sequence], [*Y, knotted])
        assert_array_equal(found.coef_, plain.coef_)
        assert found.skipped_ == []
    with pytest.raises(DataError, match="sequence 12: 3 pairs in pseudoknots"):
        folder(outside="error").fit([*X, sequence], [*Y, knotted])


def test_one_warning_names_a_few_of_many():
    x, y = ["GAAC"] * 9 + X, ["(..)"] * 9 + Y
    with pytest.warns(OutsideSpaceWarning, match=r"skipped 9 sequences: .*, and 4 more") as seen:
        found = folder().fit(x, y, sample_weight=np.arange(21) + 1.0, groups=np.arange(21))
    assert len(seen) == 1
    assert [s for s, _ in found.skipped_] == list(range(9))
    assert_array_equal(found.coef_, folder().fit(X, Y, sample_weight=np.arange(12) + 10.0).coef_)


def test_nothing_left_to_learn_from():
    with pytest.raises(DataError, match=r"any of the 2 structures: sequence 0 \(bases 0 and 3.*'trim'"):
        folder().fit(["GAAC", "GAAC"], ["(..)", "(..)"])


def test_not_fitted():
    for call in (
        lambda m: m.predict(X),
        lambda m: m.predict_viterbi(X),
        lambda m: m.log_loss(X, Y),
        lambda m: m.judge(X, Y),
        lambda m: m.to_contrafold("nowhere"),
    ):
        with pytest.raises(NotFittedError, match="RNAFolder instance is not fitted"):
            call(folder())


def risk_of(model, weights=None):
    return Risk.over(model.rna_, LogLoss(), model.rna_.encode(X, Y, weights))


def test_the_fit_is_the_minimum():
    weights, penalty = np.arange(12.0), {"helix stacking": 0.1, "hairpin lengths": 7}
    found = folder(penalty=penalty, run=Run(tolerance=1e-7)).fit(X, Y, sample_weight=weights)
    groups = found.rna_.groups()
    assert found.penalty_.tolist() == [penalty.get(name, 1.0) for name in groups.names]
    precision, risk = found.penalty_[groups.index], risk_of(found, weights)
    gradient = risk.value_and_gradient(found.coef_)[1] + precision * found.coef_
    assert np.linalg.norm(gradient) <= 1e-7 * risk.at_zero.gradient_norm
    loss = weights @ found.log_loss(X, Y) + 0.5 * precision @ found.coef_**2
    assert found.history_[-1]["objective"] == pytest.approx(loss)


def test_a_prior_around_another_model():
    """With an endless precision nothing changes; with a small one the data decide, as without a center."""
    own = RNAFolder.pretrained()
    tight = RNAFolder(features="extended", center="pretrained", penalty=1e9, n_jobs=1).fit(X, Y)
    assert_allclose(tight.coef_, own.coef_, atol=1e-6)
    assert tight.set_params(gamma=own.gamma).predict(X) == own.predict(X)
    center = folder(penalty=0.1).fit(X, Y)
    near = folder(features="extended", center=center, penalty=3.0, run=Run(tolerance=1e-8)).fit(X, Y)
    _, gradient = Risk.over(near.rna_, LogLoss(), near.rna_.encode(X, Y)).value_and_gradient(near.coef_)
    names = center.rna_.weight_names()
    mean = np.zeros(near.coef_.size)
    mean[: len(names)] = center.coef_
    assert_allclose(gradient, -3.0 * (near.coef_ - mean), atol=1e-4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"center": "vienna"}, "center='vienna': expected 'pretrained', a fitted RNAFolder, or None"),
        ({"center": RNAFolder()}, "expected 'pretrained', a fitted RNAFolder"),
        ({"center": "pretrained"}, "lacks weights of the center, such as .*; use features='extended'"),
        ({"center": "pretrained", "features": "extended", "loss": "margin"}, "use loss='log'"),
    ],
)
def test_centers_that_are_refused(parameters, message):
    with pytest.raises(DataError, match=message):
        RNAFolder(**parameters).fit(X, Y)


def test_losses_name_the_sequence():
    known = ["(.....)", "(((...)))", structune.rna.Constraints("|.......")]
    model = folder(penalty=0.1).fit(X, Y)
    with pytest.raises(DataError, match="sequence 2: no structure satisfies the constraints"):
        model.log_loss(["AAAAAAA", "GGGAAACCC", "AAAAAAAA"], known)


def test_a_warm_start_begins_at_the_weights_before(model):
    begun = copy.deepcopy(model).set_params(warm_start=True, run=Run(tolerance=1e9)).fit(X[:3], Y[:3])
    assert_allclose(begun.coef_, model.coef_, rtol=1e-12)
    wider = copy.deepcopy(begun).set_params(features="extended").fit(X, Y)
    known = dict(zip(wider.rna_.weight_names(), wider.coef_, strict=True))
    assert_allclose([known.pop(name) for name in model.rna_.weight_names()], model.coef_, rtol=1e-12)
    assert not any(known.values())


@pytest.mark.parametrize(
    ("tuning", "groups"), [("implicit", "kind"), ("majorize", "single"), ("grid", "single")]
)
def test_tuning(tuning, groups):
    found = folder(tuning=tuning, groups=groups, cv=0.3).fit(X, Y)
    assert found.penalty_.shape == (len(found.group_names_),) == ((15,) if groups == "kind" else (1,))
    assert np.all(np.isfinite(found.penalty_) & (found.penalty_ > 0))
    assert found.status_ in ("converged", "iterations")
    assert found.history_[0]["stage"] == tuning
    assert found.log_loss(X, Y).sum() < risk_of(found).at_zero.value


def probabilities_of(structures, probabilities, n):
    """Of all pairs, from all structures with their probabilities."""
    table = np.zeros((n, n))
    for structure, p in zip(structures, probabilities, strict=True):
        opened = []
        for j, mark in enumerate(structure):
            if mark == "(":
                opened.append(j)
            elif mark == ")":
                i = opened.pop()
                table[i, j] += p
                table[j, i] += p
    return table


@pytest.mark.parametrize("sequence", SHORT)
def test_predictions_agree_with_the_list_of_all_structures(sequence, model):
    (best,) = model.predict_nbest([sequence], 10_000)
    structures, probabilities = zip(*best, strict=True)
    assert sum(probabilities) == pytest.approx(1.0)
    assert list(probabilities) == sorted(probabilities, reverse=True)
    assert len(set(structures)) == len(structures)
    assert model.predict_viterbi([sequence]) == [structures[0]]
    x = [sequence] * len(structures)
    assert_allclose(np.exp(-model.log_loss(x, structures)), probabilities, rtol=1e-9)
    table = model.pair_probabilities(sequence)
    assert_allclose(table, probabilities_of(structures, probabilities, len(sequence)), atol=1e-9)
    unpaired = 1.0 - table.sum(axis=1)
    for gamma in (0.5, 4.0):

        def accuracy(structure, gamma=gamma):
            mask = probabilities_of([structure], [1.0], len(sequence))
            return gamma * np.sum(mask * table) + unpaired[mask.sum(axis=1) == 0].sum()

        (found,) = model.predict([sequence], gamma=gamma)
        assert accuracy(found) == pytest.approx(max(accuracy(structure) for structure in structures))
    (centroid,) = model.predict_centroid([sequence])
    assert_array_equal(probabilities_of([centroid], [1.0], len(sequence)), table > 0.5)


def test_gammas(model):
    gammas = [0.0, 0.25, 1.0, 4.0, 64.0]
    found = model.predict_mea(X, gammas)
    assert found == [model.predict(X, gamma=gamma) for gamma in gammas]
    pairs = [sum(structure.count("(") for structure in row) for row in found]
    assert pairs == sorted(pairs)
    assert (pairs[0], pairs[-1] > 0) == (0, True)
    assert model.predict(X) == found[3] == copy.deepcopy(model).set_params(gamma=4).predict(X)


def test_decodings(model):
    pairs = {x: model.pair_probabilities(x) for x in X}
    centroids = copy.deepcopy(model).set_params(decoding="centroid")
    for gamma in (0.5, 1.0, 4.0):
        found = centroids.predict(X, gamma)
        assert found == model.predict_centroid(X, 1 / (1 + gamma))
        assert centroids.predict_mea(X, [gamma])[0] == model.predict(X, gamma)
        for x, structure in zip(X, found, strict=True):
            i, j = np.array([(i, j) for i, j in enumerate(partners(structure)) if j > i]).reshape(-1, 2).T
            assert np.all(pairs[x][i, j] > 1 / (1 + gamma) - 1e-9)
    with pytest.raises(DataError, match="decoding='best': expected one of"):
        copy.deepcopy(model).set_params(decoding="best").predict(X)
    with pytest.raises(DataError, match="decoding='best': expected one of"):
        folder(decoding="best").fit(X, Y)


def test_constraints_that_are_refused(model):
    for given, message in (
        ("x...", "give a list of constraints"),
        (["x..."], "there are 1 constraints, but 2 sequences"),
        ([None, "x.."], "sequence 1: the length of constraints is 3, but there are 4 bases"),
        ([None, "x..?"], "sequence 1: constraint 3"),
    ):
        with pytest.raises(DataError, match=message):
            model.predict(["ACGU", "ACGU"], constraints=given)
    with pytest.raises(DataError, match=r"sequence 0: bases 0 and 6 .* cannot pair"):
        model.predict(["AAAAAAA"], constraints=["(.....)"])
    with pytest.raises(DataError, match="sequence 0: no structure satisfies the constraints"):
        model.predict(["AAAAAAA"], constraints=["|.....|"])


def test_bases_pair_that_must_pair_in_every_prediction():
    rng, pretrained = np.random.default_rng(5), RNAFolder.pretrained()
    x = [random_sequence(rng, 40) for _ in range(9)]
    marks = 3 * "|<>"
    given = ["." * 20 + mark + "." * 19 for mark in marks]
    for method in (
        pretrained.predict,
        lambda x, constraints: pretrained.predict(x, constraints=iter(constraints), lonely_pairs=False),
        lambda x, constraints: pretrained.predict_mea(x, [0.0, 1.0], constraints)[0],
        pretrained.predict_centroid,
        lambda x, constraints: pretrained.predict_knotted(x, constraints=iter(constraints)),
    ):
        for structure, mark in zip(method(x, constraints=given), marks, strict=True):
            assert structure[20] in {"|": "()", "<": "(", ">": ")"}[mark]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m, x: m.predict_mea(x, 4.0), r"give a list of numbers, such as \[4.0\]"),
        (lambda m, x: m.predict_gammas(x, np.array(4.0)), "give a list of numbers"),
        (lambda m, x: m.predict(x, False), "gamma=False: expected a finite number"),
        (lambda m, x: m.predict_viterbi(x, 4.0), "give a list of constraints"),
        (lambda m, x: m.predict_knotted(x, constraints=7), "give a list of constraints"),
        (lambda m, x: m.predict_knotted(x, 1.0, "..."), "threshold='...': expected a"),
        (lambda m, x: m.predict_nbest(x, within=None), "within=None: expected a number >= 0"),
        (lambda m, x: m.sample(x, "..."), "n='...': expected a whole number"),
    ],
)
def test_arguments_that_are_mixed_up(model, ask, message):
    with pytest.raises(DataError, match=message):
        ask(model, ["GGGAAAACCC"])


def test_log_loss(model):
    x, y = [*X[:2], "GAAC", "GGGAAACCCCCCGGG"], [*Y[:2], "(..)", "(((...[[[)))]]]"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses = model.log_loss(x, y)
    assert_array_equal(np.isinf(losses), [False, False, True, True])
    assert_allclose(losses[:2], model.log_loss(X, Y)[:2])
    assert np.isinf(model.log_loss(["GAAC"], ["(..)"])).all()


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(risk, "_WORK_PER_SHARD", 300)
    x, y = hairpins(40, seed=2)
    assert len(risk.cut_shard(RNA(), RNA().encode(x, y))) == 4
    tuner = MajorizeTuner(max_iterations=1, fit_tolerance=1e-1)
    one, more = (folder(tuning=tuner, n_jobs=n_jobs).fit(x, y) for n_jobs in (1, 3))
    assert_array_equal(one.coef_, more.coef_)
    assert_array_equal(one.penalty_, more.penalty_)
    assert one.predict_mea(x, [1.0, 6.0]) == more.predict_mea(x, [1.0, 6.0])
    assert one.sample(SHORT, 5, 0) == more.sample(SHORT, 5, 0)
    ranked, used, n_best = one.predict_nbest(SHORT, 3), set(), RNA.n_best
    monkeypatch.setattr(RNA, "n_best", lambda *args: used.add(threading.current_thread()) or n_best(*args))
    assert more.predict_nbest(SHORT, 3) == ranked
    assert threading.main_thread() not in used


@pytest.mark.data
def test_contrafold_files(tmp_path):
    model = contrafold(min_hairpin=0, gamma=6.0)
    assert (model.min_hairpin, model.rna_.min_hairpin, model.gamma) == (0, 0, 6.0)
    assert (model.status_, model.passes_, model.history_, model.skipped_) == ("imported", 0.0, [], [])
    assert (model.group_names_, model.penalty_.size, model.group_sizes_.size) == ((), 0, 0)
    model.to_contrafold(tmp_path / "p")
    again = RNAFolder.from_contrafold(tmp_path / "p", min_hairpin=0)
    assert_array_equal(again.coef_, model.coef_)
    assert read_contrafold(tmp_path / "p") == dict(zip(model.rna_.weight_names(), model.coef_, strict=True))
    with pytest.raises(DataError, match="features='extended' cannot be written"):
        RNAFolder.pretrained().to_contrafold(tmp_path / "p")
    model.set_params(warm_start=True, run=Run(tolerance=1e9)).fit(X, Y)  # goes on from there
    assert_allclose(again.coef_, model.coef_, rtol=1e-12)


def test_the_pretrained_model_folds_a_trna():
    folder = RNAFolder.pretrained()
    assert (folder.status_, folder.features) == ("imported", "extended")  # a mean of models
    assert folder.predict([TRNA_PHE]) == [CLOVERLEAF]
    assert folder.score([TRNA_PHE], [CLOVERLEAF]) == 1.0


def test_pretrained(tmp_path, monkeypatch, model):
    monkeypatch.setattr("structune.files.models.resources.files", lambda package: tmp_path)
    with pytest.raises(ModelFileError, match=r"pretrained\.structune"):
        RNAFolder.pretrained()
    model.save(tmp_path / "pretrained.structune")
    assert_array_equal(RNAFolder.pretrained().coef_, model.coef_)


def test_two_strands(tmp_path):
    model = folder(penalty=0.1, initiation=1.5).fit([*X, "GGGA&ACCC"], [*Y, "(((.&.)))"])
    pair = "GGGAAACCC&GGGUUUCCC"
    model.save(tmp_path / "m")
    again = structune.load(tmp_path / "m")
    assert again.rna_.initiation == 1.5
    assert again.predict([pair]) == model.predict([pair])
    assert model.pair_probabilities(pair).shape == (18, 18)
    for structures in (model.sample([pair], 3)[0], [s for s, _ in model.predict_nbest([pair], 3)[0]]):
        assert all((s.index("&"), len(s)) == (9, 19) for s in structures)
    (loss,) = model.log_loss([pair], ["(((...(((&)))...)))"])
    assert model.judge([pair], ["(((...(((&)))...)))"])[0].log_probability == pytest.approx(-loss)
    assert model.predict_viterbi([pair])[0][9] == model.predict_knotted([pair])[0][9] == "&"
    left, right = model.predict([pair], 100.0, [Constraints(between=True)])[0].split("&")
    assert ")" not in left
    assert "(" not in right
    with pytest.raises(DataError, match="only one strand"):
        model.dimer_probabilities(["GGGAAACCC"])
    with pytest.raises(DataError, match="row 0: alignments cannot have two strands"):
        model.predict_alignment([pair])
    with pytest.raises(DataError, match="initiation=nan"):
        folder(initiation=np.nan).fit(X, Y)


def test_what_does_not_fit_of_two_strands_is_trimmed():
    with pytest.warns(OutsideSpaceWarning, match="1 in sequence 0"):
        model = folder(outside="trim").fit(["GGAA&ACCC", *X], ["((..&()))", *Y])
    assert not model.skipped_
    with pytest.warns(OutsideSpaceWarning, match="bases 4 and 5"):
        folder().fit(["GGAA&ACCC", *X], ["((..&()))", *Y])


def test_circles(tmp_path):
    model = folder(penalty=0.1, circular=True).fit([*X, "CCCAAAGGGAAA"], [*Y, "(((...)))..."])
    sequence = "CCAAAGGGAAAC"
    model.save(tmp_path / "m")
    again = structune.load(tmp_path / "m")
    assert again.rna_.circular
    assert again.predict([sequence]) == model.predict([sequence])
    turned = model.pair_probabilities(sequence[3:] + sequence[:3])
    assert_allclose(np.roll(turned, (3, 3), (0, 1)), model.pair_probabilities(sequence), atol=1e-12)
    for refused in (
        lambda: model.predict([sequence], lonely_pairs=False),
        lambda: model.predict_knotted([sequence]),
        lambda: model.unpaired_windows(sequence, 2),
    ):
        with pytest.raises(DataError, match="circular=True cannot be combined with"):
            refused()
    with pytest.raises(DataError, match="cannot be combined with circular=True"):
        folder(circular=True, max_span=9).fit(X, Y)


def test_spans_with_a_limit(tmp_path):
    model = folder(penalty=0.1, max_span=9).fit(X, Y)
    sequence = "GGGAAACCCAAAGGGAAACCC"
    table = model.pair_probabilities(sequence)
    assert (table != table.T).nnz == 0
    rows, columns = table.nonzero()
    assert 0 < np.max(np.abs(rows - columns)) <= 9
    model.save(tmp_path / "m")
    again = structune.load(tmp_path / "m")
    assert again.max_span == again.rna_.max_span == 9
    assert again.predict([sequence] * 2) == model.predict([sequence] * 2)
    free = again.set_params(max_span=None)  # predictions keep to what is set
    assert_allclose(
        free.pair_probabilities(sequence)[0, 20],
        model.set_params(max_span=20).pair_probabilities(sequence)[0, 20],
    )
    assert partner_entropy(table) == pytest.approx(partner_entropy(table.toarray()))
    assert model.unpaired_windows("ACG", 4).shape == (0,)
    with pytest.raises(DataError, match="max_span=-1: expected a whole number >= 0, or None"):
        folder(max_span=-1).fit(X, Y)
    with pytest.warns(OutsideSpaceWarning, match="they are 9 apart, but max_span is 8"):
        folder(max_span=8).fit(["GGGAAAACCC", *X], ["(((....)))", *Y])
