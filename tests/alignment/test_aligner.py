"""The aligner: fits with all losses and tuners, decoding, classical matrices, files, wrong input."""

import pickle
from collections import Counter
from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import structune
from structune import Protein, SequenceAligner
from structune.alignment.metrics import alignment_scores
from structune.alignment.structure import inference
from structune.alignment.structure.rows import parse_alignment, residues_of
from structune.errors import CapabilityError, DataError, ModelFileError
from structune.files.models import read_model, save_model

RESIDUES = list("ARNDCQEGHILKMFPSTWYV")


def related(n, rng, length=25):
    """Sequences and copies with mutations, insertions and deletions, and how they belong together."""
    for _ in range(n):
        x, y = "", ""
        for residue in rng.choice(RESIDUES, length):
            event = rng.random()
            if event < 0.06:
                x, y = x + residue, y + "-"
            elif event < 0.12:
                x, y = x + "-", y + residue
            else:
                x, y = x + residue, y + (residue if rng.random() < 0.7 else rng.choice(RESIDUES))
        yield x, y


ROWS = list(related(20, np.random.default_rng(0)))
PAIRS = [residues_of(rows) for rows in ROWS]
TEST = list(related(20, np.random.default_rng(1)))


def aligner(**options):
    return SequenceAligner(**{"n_jobs": 1, "penalty": 0.3, **options})


@pytest.fixture(scope="module")
def fitted():
    """A model that no test changes."""
    return aligner(features="affine").fit(PAIRS, ROWS)


def lowered(rows):
    """Half of the columns in lower case: not known."""
    k = len(rows[0]) // 2
    return tuple(row[:k] + row[k:].lower() for row in rows)


@pytest.mark.parametrize(
    ("loss", "features"),
    [("log", "full"), ("margin", "affine"), ("ramp", "affine"), ("equivalent", "affine")],
)
def test_fit_and_predict(loss, features):
    n = 20 if loss == "log" else 10
    model = aligner(loss=loss, features=features).fit(PAIRS[:n], ROWS[:n])
    assert model.status_ == "converged"
    assert [residues_of(rows) for rows in model.predict(PAIRS)] == PAIRS
    test = [residues_of(rows) for rows in TEST]
    score = model.score(test, TEST)
    assert score > (0.5 if features == "full" else 0.7)
    assert score == alignment_scores(TEST, model.predict(test)).recall.mean()


@pytest.mark.parametrize("tuning", ["implicit", "majorize"])
def test_tuning(tuning):
    model = aligner(features="affine", tuning=tuning, penalty=None).fit(PAIRS[:8], ROWS[:8])
    assert model.group_names_ == ("substitution", "gap length", "terminal gap", "gap both")
    assert model.penalty_.shape == (4,)
    assert model.score(PAIRS, ROWS) > 0.8


@pytest.mark.parametrize("loss", ["log", "ramp", "equivalent"])
def test_what_is_not_known(loss):
    pairs, rows = PAIRS[:6], [lowered(each) for each in ROWS[:6]]
    model = aligner(loss=loss, features="affine").fit(pairs, rows)
    assert model.status_ == "converged"
    assert model.score(pairs, rows) > 0.85


def test_gamma_decides_how_much_is_matched(fitted):
    counts = [
        alignment_scores(ROWS, fitted.predict(PAIRS, gamma=gamma)).n_predicted.sum()
        for gamma in (0.0, 0.3, 4.0, 1e308, np.inf)
    ]
    assert counts == sorted(counts)
    assert counts[0] == 0 < counts[1] < counts[-1]
    assert fitted.predict(PAIRS) == fitted.predict(PAIRS, gamma=4.0)
    assert fitted.predict(PAIRS, gamma=10**400) == fitted.predict(PAIRS, gamma=np.inf)
    for gamma in (-1, "4", np.nan):
        with pytest.raises(DataError, match=r"gamma=.*expected a number >= 0"):
            fitted.predict(PAIRS, gamma=gamma)


def test_posteriors_and_losses():
    model = aligner().fit(PAIRS, ROWS)
    table = model.posterior(*PAIRS[0])
    assert table.shape == tuple(map(len, PAIRS[0]))
    assert np.all(table.sum(axis=0) <= 1 + 1e-9)
    assert np.all(table.sum(axis=1) <= 1 + 1e-9)
    assert np.all(model.log_loss(PAIRS, [lowered(rows) for rows in ROWS]) <= model.log_loss(PAIRS, ROWS))
    total = model.history_[-1]["objective"] - 0.5 * 0.3 * model.coef_ @ model.coef_
    assert model.log_loss(PAIRS, ROWS).sum() == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize(("method", "posteriors"), [("mea", False), ("viterbi", True)])
def test_confidences(method, posteriors, monkeypatch, fitted):
    model, passes = copy(fitted), Counter()
    plain = model.predict_viterbi(PAIRS) if method == "viterbi" else model.predict(PAIRS)

    class Counted(inference.Inference):
        def posteriors(self):
            passes[self.pair] += 1
            return super().posteriors()

    monkeypatch.setattr(inference, "Inference", Counted)
    found = model.set_params(n_jobs=2).predict_confidence(PAIRS, method=method, posteriors=posteriors)
    assert list(passes.values()) == [1] * len(PAIRS)
    assert [each.rows for each in found] == plain
    for pair, (rows, confidence, table) in zip(PAIRS, found, strict=True):
        expected = model.posterior(*pair)
        partner = parse_alignment(rows, pair, "found").partner
        i = np.flatnonzero(partner >= 0)
        assert_array_equal(np.isnan(confidence), ["-" in column for column in zip(*rows, strict=True)])
        assert_allclose(confidence[~np.isnan(confidence)], expected[i, partner[i]], rtol=1e-12)
        assert (table is None) == (not posteriors)
        if posteriors:
            assert_allclose(table, expected, rtol=1e-12)


def test_confidences_are_refused(fitted):
    with pytest.raises(DataError, match="method='centroid': expected 'mea' or 'viterbi'"):
        fitted.predict_confidence(PAIRS, method="centroid")
    with pytest.raises(DataError, match="gamma=-1"):
        fitted.predict_confidence(PAIRS, gamma=-1)


def annotated(n, rng, kinds, length=20):
    """Sequences that have nothing in common but their annotation, and how they belong together."""
    for _ in range(n):
        marks = np.round(rng.normal(size=(length, 2)), 1)
        states = np.repeat(rng.choice(list("HEC"), length), 3)[:length]
        kept = [np.flatnonzero(rng.random(length) < 0.9) for _ in "xy"]
        rows = []
        for own in kept:
            row = np.full(length, "-")
            row[own] = rng.choice(RESIDUES, own.size)
            rows.append(row)
        either = (rows[0] != "-") | (rows[1] != "-")
        pair = []
        for row, own in zip(rows, kept, strict=True):
            profile = marks[own] + 0.1 * rng.normal(size=(own.size, 2))
            given = {"profile": profile, "secondary": "".join(states[own])}
            pair.append(Protein("".join(row[own]), **{kind: given[kind] for kind in kinds}))
        yield tuple(pair), tuple("".join(row[either]) for row in rows)


@pytest.mark.parametrize(
    ("kinds", "groups", "features"),
    [
        (("profile",), {"profile"}, "affine"),
        (("secondary",), {"secondary", "secondary gap"}, "affine"),
        (("profile", "secondary"), {"profile", "secondary", "secondary gap"}, "full"),
    ],
)
def test_annotation_is_learned(kinds, groups, features, tmp_path):
    (pairs, rows), (test, truth) = (
        zip(*annotated(15, np.random.default_rng(seed), kinds), strict=True) for seed in (0, 1)
    )
    plain = aligner(features=features).fit([residues_of(each) for each in rows], rows)
    model = aligner(features=features).fit(pairs, rows)
    assert model.status_ == "converged"
    assert set(model.group_names_) - set(plain.group_names_) == groups
    assert model.score(test, truth) > plain.score([residues_of(each) for each in truth], truth) + 0.15
    assert [residues_of(each) for each in model.predict(test)] == [residues_of(each) for each in truth]
    assert model.predict_confidence(test[:1])[0].rows == model.predict(test)[0]
    model.save(tmp_path / "m.structune")
    again = structune.load(tmp_path / "m.structune")
    assert again.predict(test) == model.predict(test) == pickle.loads(pickle.dumps(model)).predict(test)
    assert_array_equal(again.log_loss(test, truth), model.log_loss(test, truth))


def test_proteins_without_annotation_are_sequences(fitted):
    assert fitted.predict([(Protein(x), y) for x, y in PAIRS]) == fitted.predict(PAIRS)


@pytest.mark.parametrize("ends", ["global", "semi-global"])
def test_from_matrix(ends):
    model = SequenceAligner.from_matrix("BLOSUM62", 11, 1, ends)
    assert model.predict([("HEAGAWGHEE", "HEAGWGHEE")]) == [("HEAGAWGHEE", "HEAG-WGHEE")]
    for call in (lambda: model.posterior("AC", "AC"), lambda: model.predict_confidence(PAIRS)):
        with pytest.raises(CapabilityError, match="has scores but no probabilities"):
            call()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"matrix": "BLOSUM61"}, "there is no matrix 'BLOSUM61'. Biopython has BENNER"),
        ({"matrix": "SCHNEIDER"}, "the matrix 'SCHNEIDER' is neither one of amino acids"),
        ({"ends": "local"}, "ends='local'"),
        ({"gap_open": np.nan}, "must be finite numbers"),
    ],
)
def test_matrices_that_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        SequenceAligner.from_matrix(**options)


def test_a_prior_around_a_matrix():
    strong = aligner(center="BLOSUM62", penalty=1e6).fit(PAIRS, ROWS)
    classical = SequenceAligner.from_matrix("BLOSUM62", ends="semi-global")
    by_name = dict(zip(classical.alignment_.weight_names(), classical.coef_.tolist(), strict=True))
    named = [
        by_name.get(name, -1.0) if name.startswith(("substitution", "gap length")) else 0.0
        for name in strong.alignment_.weight_names()
    ]
    scale = strong.coef_ @ named / np.dot(named, named)
    assert 0.2 < scale < 0.4  # half bits are 0.35
    assert_allclose(strong.coef_, scale * np.array(named), atol=1e-3)
    rows, test = [residues_of(pair) for pair in TEST], TEST
    few = [aligner(center=center, penalty=3.0).fit(PAIRS[:2], ROWS[:2]) for center in (None, "BLOSUM62")]
    assert few[1].log_loss(rows, test).sum() < few[0].log_loss(rows, test).sum()
    tuned = aligner(center="BLOSUM62", tuning="majorize", penalty=None, features="affine")
    tuned.fit(PAIRS[:5], ROWS[:5])
    assert tuned.status_ == "converged"


def test_a_band_counts_in_fits_and_in_predictions(fitted):
    model = SequenceAligner.from_matrix(ends="semi-global")
    free, near = (model.set_params(band=band).predict([("HEAG", "WWWWWWHEAG")])[0] for band in (None, 1))
    assert free == ("------HEAG", "WWWWWWHEAG")
    assert near[0].index("H") != near[1].index("H")
    banded = aligner(features="affine", band=20).fit(PAIRS, ROWS)
    assert banded.score(PAIRS, ROWS) > 0.7
    wide = aligner(features="affine", band=10**30).fit(PAIRS, ROWS)  # beyond all sequences
    assert wide.predict(PAIRS) == fitted.predict(PAIRS)


def test_the_pretrained_model():
    model = SequenceAligner.pretrained()
    assert model.has_probabilities
    globin = "VLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDDMPNALSALSDLHAHKL"
    myoglobin = (
        "GLSDGEWQLVLNVWGKVEADIPGHGQEVLIRLFKGHPETLEKFDKFKHLKSEDEMKASEDLKKHGATVLTALGGILKKKGHHEAEIKPLAQSHATKH"
    )
    ((x, y),) = model.predict([(globin, myoglobin)])
    pairs = {(x[:k].replace("-", ""), y[:k].replace("-", "")) for k in range(len(x))}
    distal, proximal = globin.index("HGKK"), globin.index("HAHK")  # they hold the haem
    assert (globin[:distal], myoglobin[: myoglobin.index("HGAT")]) in pairs
    assert (globin[:proximal], myoglobin[: myoglobin.index("HATK")]) in pairs


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"features": "full"}, "the names of the weights do not match"),
        ({"profile": 10**9}, "the names of the weights do not match"),  # whose names fit in no memory
        ({"profile": -0.0}, "the entry profile=-0.0 is not of type int"),
        ({"band": 1}, "the header has the entries .*'band'.*, but must have"),
    ],
)
def test_files_of_other_models_are_refused(change, said, tmp_path, fitted):
    fitted.save(tmp_path / "m.structune")
    header, arrays = read_model(tmp_path / "m.structune")
    header["alignment"] |= change
    save_model(tmp_path / "n.structune", header.pop("kind"), header, arrays)
    with pytest.raises(ModelFileError, match=said):
        structune.load(tmp_path / "n.structune")


@pytest.mark.parametrize(
    ("options", "pairs", "rows", "message"),
    [
        ({}, [], [], "the training set is empty"),
        ({}, [("AC", "A")], [("ac", "a-")], "no known match: no column has two residues in upper case"),
        ({"loss": "margin"}, PAIRS, [*map(lowered, ROWS)], "only partly known .*, which loss='margin'"),
        ({"center": "BLOSUM62", "loss": "ramp"}, PAIRS, ROWS, "needs loss='log', but loss is 'ramp'"),
        ({"center": "PAM"}, PAIRS, ROWS, "there is no matrix 'PAM'"),
        ({"band": 1}, PAIRS, ROWS, "residues off the diagonal, more than band=1"),
    ],
)
def test_fits_that_are_refused(options, pairs, rows, message):
    model = aligner(**options)
    with pytest.raises(DataError, match=message):
        model.fit(pairs, rows)
    for call in (model.predict, model.predict_viterbi):
        with pytest.raises(NotFittedError):
            call(PAIRS)


@pytest.mark.parametrize("loss", ["log", "margin", "ramp", "equivalent"])
def test_empty_sequences_and_nothing_matched(loss):
    pairs = [("", ""), ("A", ""), ("", "C"), ("AC", "DE")]
    rows = [("", ""), ("A", "-"), ("-", "C"), ("AC--", "--DE")]
    model = aligner(loss=loss, features="affine").fit(pairs, rows)
    assert model.predict(pairs[:3]) == rows[:3]
    assert model.score(pairs[:3], rows[:3]) == 1.0
    with pytest.raises(DataError, match="there are no pairs to score"):
        model.score([], [])
    if loss == "log":
        found = model.predict_confidence(pairs[:3])
        assert [(each.rows, each.confidence.size) for each in found] == [
            (row, len(row[0])) for row in rows[:3]
        ]
