"""The sequence tagger: what it accepts, scikit-learn's conventions, how fits end, and its predictions."""

import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import structune
from structune import SegmentTagger, SequenceTagger
from structune.errors import DataError, StructuneError
from structune.learning.losses import LogLoss
from structune.learning.risk import Risk
from structune.running import Run
from structune.tagging.data.hmm import simulate_hmm
from structune.tagging.features.attributes import AttributeTable
from tiny import exact_fit, press_ctrl_c_at_evaluations

X = [
    [["w=the", "bias"], ["w=dog", "bias"], ["w=runs", "bias"]],
    [["w=a", "bias"], ["w=cat", "bias"]],
    [["w=the", "bias"], ["w=cat", "bias"], ["w=runs", "bias"], ["w=far", "bias"]],
    [["w=dogs", "bias"]],
]
Y = [["D", "N", "V"], ["D", "N"], ["D", "N", "V", "A"], ["N"]]


def hmm_data(n_sequences=30, seed=0):
    y, x = simulate_hmm(n_sequences, 3, 6, length=6, agreement=0.75, random_state=seed)
    sequences = [
        [[f"x{j}={v}" for j, v in enumerate(token)] for token in sequence] for sequence in x.tolist()
    ]
    return sequences, [["ab"[k] for k in row] for row in y.tolist()]


def tagger(**options):
    return SequenceTagger(**{"n_jobs": 1, "tuning": None, **options})


def weights(model):
    return dict(zip(model.chain_.weight_names(), model.coef_.tolist(), strict=True))


def assert_same(a, b, **tolerances):
    a, b = weights(a), weights(b)
    assert a.keys() == b.keys()
    assert_allclose([a[name] for name in b], list(b.values()), **{"rtol": 0, "atol": 1e-12, **tolerances})


def forms_of_input():
    table = AttributeTable.from_items(X)
    names = sorted(table.names)
    columns = {name: j for j, name in enumerate(names)}
    rows = np.zeros((table.n_tokens, len(names)))
    for row, token in zip(rows, (token for sequence in X for token in sequence), strict=True):
        row[[columns[name] for name in token]] = 1.0
    lengths = [len(sequence) for sequence in X]
    return {
        "dicts": [[dict.fromkeys(token, 1.0) for token in sequence] for sequence in X],
        "dicts of strings": [[{"w": t[0][2:], "bias": True} for t in sequence] for sequence in X],
        "tuples": tuple(tuple(tuple(token) for token in sequence) for sequence in X),
        "table": table,
        "table of a matrix": AttributeTable.from_csr(sp.csr_array(rows), lengths, names),
    }


@pytest.mark.parametrize("form", forms_of_input())
def test_forms_of_input_give_the_same_model(form):
    data, model = forms_of_input()[form], tagger(run=Run(tolerance=1e-8)).fit(X, Y)
    other = tagger(run=Run(tolerance=1e-8)).fit(data, Y)
    assert_same(model, other, atol=1e-6)
    assert model.predict(data) == other.predict(X) == Y
    assert_allclose(model.score(data, Y), 1.0)


def test_nothing_to_predict():
    model = tagger().fit(X, Y)
    assert model.predict([]) == model.predict_marginals([]) == model.predict_nbest([]) == []
    for x in ([[]], AttributeTable.from_csr(np.empty((0, 2)), [0]), [np.empty((0, 2))]):
        assert model.predict(x) == [[]]


def test_empty_sequences_have_empty_predictions():
    rows = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    given, x = (AttributeTable.from_csr(rows, lengths) for lengths in ([2, 1], [0, 2, 0, 0, 1, 0]))
    model = tagger().fit(given, [["a", "b"], ["a"]])
    methods = {model.predict: [], model.predict_marginals: [], model.predict_nbest: [([], 1.0)]}
    for method, empty in methods.items():
        first, second = method(given)
        assert method(x) == [empty, first, empty, empty, second, empty]
    assert model.score(x, [[], ["a", "b"], [], [], ["a"], []]) == model.score(given, [["a", "b"], ["a"]])
    expected = model.segment_probability(given, sequence=1, start=0, labels=["a"])
    assert model.segment_probability(x, sequence=4, start=0, labels=["a"]) == expected
    with pytest.raises(DataError, match="sequence 0 is empty, so it has no tokens for the 1 labels"):
        model.segment_probability(x, sequence=0, start=0, labels=["a"])
    for start, labels in ((1, ["a", "a"]), (2, ["a"]), (0, [])):
        with pytest.raises(DataError, match=f"{len(labels)} labels from token {start} on do not fit"):
            model.segment_probability(given, sequence=0, start=start, labels=labels)


def test_a_sequence_is_named_by_its_number_among_empty_ones():
    model = tagger(forbidden=[(None, "a"), ("b", None)]).fit([[["a"], ["b"]]] * 2, [["b", "a"]] * 2)
    with pytest.raises(DataError, match="sequence 2: the forbidden transitions allow no labels"):
        model.predict([[], [["a"], ["b"]], [["a"]]])


def test_embeddings_in_dicts_are_columns_of_one_group():
    rng = np.random.default_rng(0)
    arrays, y = [rng.normal(size=(n, 3)) for n in (4, 1, 5)], [list("abab"), ["a"], list("bbaab")]
    words = [[{"w": "xyz"[k % 3]} for k in range(len(array))] for array in arrays]
    pairs = [zip(*pair, strict=True) for pair in zip(words, arrays, strict=True)]
    both = [[token | {"e": row} for token, row in pair] for pair in pairs]
    lists = [[{**token, "e": token["e"].tolist()} for token in sequence] for sequence in both]
    table = AttributeTable.from_items(words).with_columns("e", np.concatenate(arrays))
    model = tagger(run=Run(tolerance=1e-8)).fit(table, y)
    assert set(model.group_names_) == {"w", "e", "transitions"}
    for x in (both, lists):
        assert_same(model, tagger(run=Run(tolerance=1e-8)).fit(x, y), atol=1e-6)
        assert model.predict(x) == model.predict(table)


@pytest.mark.parametrize("form", ["table", "arrays"])
def test_scikit_learn_splits_tables_and_arrays(form):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(n, 2)) for n in rng.integers(1, 5, size=12)]
    y = [["ab"[int(v > 0)] for v in array[:, 0]] for array in arrays]
    table = AttributeTable.from_csr(np.concatenate(arrays), [len(a) for a in arrays])
    found = cross_val_score(tagger(), table if form == "table" else arrays, y, cv=3)
    items = [[{f"x={j}": v for j, v in enumerate(row)} for row in array.tolist()] for array in arrays]
    assert_allclose(found, cross_val_score(tagger(), items, y, cv=3))


@pytest.mark.parametrize("cls", [SequenceTagger, SegmentTagger])
def test_arrays_are_as_wide_as_in_training(cls, tmp_path):
    wide, y = [np.eye(3, 8)] * 4, [["B-x", "I-x", "O"]] * 4
    cls(penalty=1.0, tuning=None).fit(wide, y).save(tmp_path / "m")
    model = structune.load(tmp_path / "m")
    for X in (wide, (sp.csr_array(np.eye(3, 8)), [3]), [], AttributeTable.from_csr(np.eye(1), [1], ["x=0"])):
        model.predict(X)
    for n in (5, 9):
        narrow = np.eye(3, n)
        for X in ([narrow], (narrow, [3]), (sp.csr_array(narrow), [3]), AttributeTable.from_csr(narrow, [3])):
            with pytest.raises(DataError, match=f"X has {n} columns, but the model was trained on 8"):
                model.predict_marginals(X)


def test_a_fit_without_tuning_imports_no_scikit_learn():
    script = "import sys; from structune import SequenceTagger\n"
    script += "SequenceTagger(tuning=None).fit([[['a'], ['b']]] * 3, [['x', 'y']] * 3)\n"
    script += "sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [([], [], "the training set is empty"), ([[["a"]], []], [["x"], []], "sequence 1 is empty")],
)
def test_training_data_that_is_refused(x, y, message):
    with pytest.raises(DataError, match=message):
        tagger().fit(x, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": {"w": -1.0}}, "expected finite numbers > 0"),
        ({"penalty": {"word": 1.0}}, re.escape("unknown groups of weights: ['word']. The groups")),
        ({"groups": "all"}, "groups='all': expected"),
        ({"forbidden": "bio", "outside": "drop"}, "outside='drop': expected one of"),
        ({"forbidden": "bio", "outside": "trim", "loss": "margin"}, "outside='trim' makes labels unknown"),
        ({"forbidden": "bio"}, "the labels of all 4 sequences break .*: .*the label 'D' does not fit"),
        ({"forbidden": [("D", "N")], "outside": "error"}, "sequence 0, token 1: the label 'N' after"),
    ],
)
def test_options_that_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        tagger(**options).fit(X, Y)


@pytest.mark.parametrize("bad", [[1.0], [1.0, np.nan, 1.0, 1.0]])
def test_weights_that_are_refused(bad):
    with pytest.raises(DataError, match="weight"):
        tagger().fit(X, Y, sample_weight=bad)
    with pytest.raises(StructuneError, match="weight"):
        tagger().fit(X, Y).score(X, Y, sample_weight=bad)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.predict(X),
        lambda m: m.predict_marginals(X),
        lambda m: m.predict_nbest(X),
        lambda m: m.score(X, Y),
        lambda m: m.segment_probability(X, 0, 0, ["D"]),
        lambda m: m.save("nowhere"),
    ],
)
def test_not_fitted(call):
    with pytest.raises(NotFittedError, match="SequenceTagger instance is not fitted"):
        call(tagger())


def risk_of(model, x=X, y=Y):
    return Risk.over(model.chain_, LogLoss(), model.chain_.encode(AttributeTable.from_items(x), y))


def test_attributes_of_a_fitted_model():
    model = tagger().fit(X, Y)
    assert model.classes_ == ["A", "D", "N", "V"]
    assert model.coef_.shape == (len(model.chain_.weight_names()),)
    assert set(model.group_names_) == {"w", "bias", "transitions"}
    assert_array_equal(model.penalty_, [1.0, 1.0, 1.0])
    assert model.group_sizes_.sum() == model.coef_.size
    assert model.status_ == "converged"
    assert model.history_[-1]["objective"] < risk_of(model).at_zero.value
    assert model.passes_ == model.history_[-1]["passes"] > 0


def test_a_penalty_by_group():
    model = tagger(penalty={"w": 0.1, "transitions": 7}, run=Run(tolerance=1e-8)).fit(X, Y)
    found = dict(zip(model.group_names_, model.penalty_, strict=True))
    assert found == {"w": 0.1, "bias": 1, "transitions": 7}
    names = model.chain_.weight_names()
    precision = [0.1 if n.startswith("w=") else 1.0 if n.startswith("bias") else 7.0 for n in names]
    assert_allclose(model.coef_, exact_fit(risk_of(model), np.array(precision)), atol=1e-6)


def test_the_objective_is_the_definition():
    x, y = hmm_data(10)
    model = tagger(penalty=0.3).fit(x, y, sample_weight=np.arange(10.0))
    shard = model.chain_.encode(AttributeTable.from_items(x), y, np.arange(10.0))
    score = model.chain_.feature_rows(shard) @ model.coef_
    loss = np.arange(10.0) @ (model.chain_.log_partition(model.coef_, shard) - score)
    expected = loss + 0.15 * model.coef_ @ model.coef_
    assert model.history_[-1]["objective"] == pytest.approx(expected, rel=1e-12)


def test_groups():
    assert tagger(groups="single").fit(X, Y).group_names_ == ("all",)
    separate = tagger(groups="separate").fit(X, Y)
    assert list(separate.group_names_) == separate.chain_.weight_names()
    mine = tagger(groups=lambda name: name.endswith("V"), penalty={"True": 9.0}).fit(X, Y)
    assert dict(zip(mine.group_names_, mine.penalty_.tolist(), strict=True)) == {"True": 9.0, "False": 1.0}
    words = [[{token[0][2:]: True, "at": str(t)} for t, token in enumerate(sequence)] for sequence in X]
    for options, n in (({}, 3), ({"groups": lambda name: name.split(" : ")[0]}, 35), ({"tuning": None}, 9)):
        assert len(tagger(tuning="majorize").set_params(**options).fit(words, Y).group_names_) == n


def test_partial_labels():
    x, y = hmm_data(60)
    rng = np.random.default_rng(9)  # not the seed of the states
    masked = [[label if rng.random() < 0.5 else None for label in row] for row in y]
    loose = [[label if rng.random() < 0.5 else {"a", "b"} for label in row] for row in y]
    test_x, test_y = hmm_data(100, seed=1)
    full = tagger().fit(x, y).score(test_x, test_y)
    for partial in (masked, loose):
        assert tagger().fit(x, partial).score(test_x, test_y) > full - 0.03
    complete = [[{label} for label in row] for row in y]
    exact = tagger(run=Run(tolerance=1e-8))
    assert_same(clone(exact).fit(x, complete), exact.fit(x, y), atol=1e-5)


def test_the_precision_of_merged_templates_can_be_used_again():
    data = [[["a", "b", "c=1"]]] * 6, [["A"]] * 5 + [["B"]]
    model = tagger(tuning="majorize", warm_start=True)
    learned = dict(zip(model.fit(*data).group_names_, model.penalty_, strict=True))
    merged = learned["other (2 keys)"]
    again = tagger(penalty=learned).fit(*data)
    assert dict(zip(again.group_names_, again.penalty_, strict=True))["a"] == merged
    known = dict(zip(model.set_params(tuning="auto").fit(*data).group_names_, model.penalty_, strict=True))
    assert known["a"] == known["b"] == merged != 1.0


def test_a_warm_start_begins_at_the_weights_of_the_same_name():
    model = tagger(warm_start=True).fit(X, Y)
    before = weights(model)
    other = [[["w=the", "bias"], ["w=new"]]], [["N", "Z"]]
    begun = weights(model.set_params(run=Run(tolerance=1e9)).fit(*other))  # every start is good enough
    assert begun == {name: before.get(name, 0.0) for name in begun}
    assert np.count_nonzero(list(begun.values())) > 1
    assert not tagger(run=Run(tolerance=1e9)).fit(*other).coef_.any()


def test_iterations_and_time_run_out():
    x, y = hmm_data()
    assert tagger(run=Run(max_iterations=2)).fit(x, y).status_ == "iterations"
    for tuning in (None, "implicit", "majorize", "direct", "grid"):
        model = tagger(run=Run(max_seconds=0.0), tuning=tuning).fit(x, y)
        assert model.status_ == "budget"
        assert np.all(np.isfinite([*model.coef_, *model.penalty_]))
        assert len(model.predict(x)) == len(x)
    assert tagger(run=Run(max_seconds=1000.0)).fit(x, y).status_ == "converged"


@pytest.mark.parametrize("n", [2, 8])
def test_ctrl_c_gives_the_best_so_far(n, monkeypatch):
    x, y = hmm_data()
    end = tagger(run=Run(tolerance=1e-8)).fit(x, y).history_[-1]["objective"]
    press_ctrl_c_at_evaluations(monkeypatch, n)  # the first evaluation is of the zero that all is measured by
    model = tagger(run=Run(tolerance=1e-8)).fit(x, y)
    monkeypatch.undo()
    at_zero = risk_of(model, x, y).value(np.zeros_like(model.coef_))
    objective = risk_of(model, x, y).value(model.coef_) + 0.5 * model.coef_ @ model.coef_
    assert model.status_ == "interrupted"
    assert model.history_[-1]["objective"] == pytest.approx(objective, rel=1e-12)
    assert end < objective < at_zero if n > 2 else objective == pytest.approx(at_zero)


def test_the_seed_and_example_groups_decide_the_split():
    x, y = hmm_data()
    base = tagger(tuning="implicit").fit(x, y).history_[0]["heldout_loss"]
    assert tagger(tuning="implicit", random_state=0).fit(x, y).history_[0]["heldout_loss"] == base
    assert tagger(tuning="implicit", random_state=1).fit(x, y).history_[0]["heldout_loss"] != base
    one_group_each = tagger(tuning="implicit").fit(x, y, groups=np.arange(len(x)))
    pairs = tagger(tuning="implicit").fit(x * 2, y * 2, groups=[*range(len(x))] * 2)
    least = 1.2 * one_group_each.history_[0]["heldout_loss"]
    assert pairs.history_[0]["heldout_loss"] > least  # twice the data, none leaks
    with pytest.raises(DataError, match="cannot split 30 examples"):
        tagger(tuning="implicit").fit(x, y, groups=[0] * len(x))


@pytest.mark.parametrize("tuning", ["majorize", "direct", "grid"])
def test_a_tuned_model_is_a_fit_with_its_penalty(tuning):
    x, y = hmm_data()
    model = tagger(tuning=tuning).fit(x, y)
    of_group = dict(zip(model.group_names_, model.penalty_, strict=True))
    precision = [of_group.get(name.split("=")[0], of_group["transitions"]) for name in weights(model)]
    risk = risk_of(model, x, y)
    gradient = risk.value_and_gradient(model.coef_)[1] + np.array(precision) * model.coef_
    assert np.linalg.norm(gradient) <= 2e-4 * risk.at_zero.gradient_norm


@pytest.fixture(scope="module")
def model():
    return tagger(penalty=0.1).fit(X, Y)


def test_nbest(model):
    for labels, best in zip(model.predict(X), model.predict_nbest(X, 1000), strict=True):
        probabilities = [p for _, p in best]
        assert best[0][0] == labels
        assert len(best) == min(1000, 4 ** len(labels))
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(probabilities) == pytest.approx(1.0)


def test_segments(model):
    nbest = model.predict_nbest(X, 1000)[0]
    expected = sum(p for labels, p in nbest if labels[1:3] == ["N", "V"])
    assert model.segment_probability(X, 0, 1, ["N", "V"]) == pytest.approx(expected)
    assert model.segment_probability(X, 3, 0, ["N"]) == pytest.approx(model.predict_marginals(X)[3][0]["N"])
    for start, labels in ((1, ["N", "V", "A"]), (3, ["N"]), (0, [])):
        with pytest.raises(DataError, match="the sequence has 3 tokens"):
            model.segment_probability(X, 0, start, labels)
    with pytest.raises(DataError, match="unknown label 'X'"):
        model.segment_probability(X, 0, 0, ["X"])


def test_score(model):
    wrong = [["D", "N", "X"], ["N", "N"], *Y[2:]]  # one label the model does not know
    assert model.score(X, Y) == 1.0
    assert model.score(X, wrong) == pytest.approx(8 / 10)
    assert model.score(X, wrong, sample_weight=[1, 0, 0, 0]) == pytest.approx(2 / 3)
    assert model.score(X, [["D", None, "X"], [{"D", "V"}, ["V", "N"]], *Y[2:]]) == pytest.approx(8 / 9)
    with pytest.raises(DataError, match="y has labels for 3 sequences, but X has 4"):
        model.score(X, Y[:3])
    with pytest.raises(DataError, match="sequence 1 has 1 label, but 2 tokens"):
        model.score(X, [Y[0], ["D"], *Y[2:]])
    for nothing in (([], []), (X, Y, [0, 0, 0, 0]), (X, [[None] * len(y) for y in Y])):
        with pytest.raises(DataError, match="none has labels and a weight > 0"):
            model.score(*nothing)
