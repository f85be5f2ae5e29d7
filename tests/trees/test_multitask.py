"""The multitask estimator: what tasks share, fallbacks, what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from structune import Classifier, GeneFinder, MultitaskEstimator, SequenceTagger, TaskTree, load
from structune.errors import CapabilityError, DataError, ModelFileError
from structune.files.models import read_model, save_model
from structune.genes.formats.record import AnnotatedSequence, Transcript
from structune.running import Run
from structune.structure import Groups
from structune.trees import tree_fit
from structune.trees.tree_fit import choose_priors

TREE = TaskTree.from_nested({"root": {"inner": ["a", "b"], "c": None}})
ONE = {"gammas": [0.5], "factors": [1.0]}
WHOLE = {"states": "all", "tuning": None}  # and not the pairs that tasks happen to have
TIGHT = Run(tolerance=1e-8)


def drawn(n, seed, twist=0.0):
    """Sequences whose labels follow two words, and a third in one task more than in another."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = rng.integers(0, 6, rng.integers(1, 7))
        wrong = rng.random(words.size) < np.where(words >= 4, twist, 0.1)
        X.append([[f"w{word}"] for word in words])
        y.append(["01"[int((word % 2 == 1) != bad)] for word, bad in zip(words, wrong, strict=True)])
    return X, y


def three(n=12):
    return {"a": drawn(n, 0), "b": drawn(n, 1, 0.2), "c": drawn(n, 2, 0.9)}


def test_the_root_is_the_union():
    data = three()
    model = MultitaskEstimator(SequenceTagger(**WHOLE), TREE, run=TIGHT, **ONE).fit(data)
    X, y = ([row for task in data for row in data[task][k]] for k in (0, 1))
    union = SequenceTagger(**WHOLE, run=TIGHT).fit(X, y)
    assert_allclose(model.model("root").coef_, union.coef_, atol=1e-5)
    assert model.nodes_["root"]["n_examples"] == 36
    assert model.nodes_["inner"]["n_examples"] == 24


@pytest.mark.parametrize("n", [1, 3])
def test_folds_hold_out_every_example_once(n, monkeypatch):
    held = []

    def spy(tree, splits, *args, **options):
        held.extend(sum(map(len, heldout["root"].shards)) for _, heldout in splits)
        for train, heldout in splits:
            both = [*train["root"].shards, *heldout["root"].shards]
            assert sum(map(len, both)) == 2 * n + 1
        return choose_priors(tree, splits, *args, **options)

    monkeypatch.setattr(tree_fit, "choose_priors", spy)
    data = {"a": drawn(n, 0), "b": drawn(n, 1), "c": drawn(1, 2)}
    model = MultitaskEstimator(SequenceTagger(), TREE, gammas=[0.5, 1.0], factors=[1.0], cv=4).fit(data)
    assert len(held) == (min(n, 4) if n > 1 else 0)
    assert sum(held) == (2 * n if n > 1 else 0)
    assert model.nodes_["c"]["gamma"] == 1.0  # nothing of it is held out: the strongest


def test_tuning_learns_gamma_and_precisions():
    """A task like the others is drawn to them, one that is their opposite is not."""
    data = {"a": drawn(40, 20), "b": drawn(40, 21), "c": drawn(40, 22, 0.9)}
    model = MultitaskEstimator(SequenceTagger(states="all"), TREE, tuning="implicit", n_jobs=1).fit(data)
    told = model.nodes_
    assert told["root"]["gamma"] == 0.0
    assert told["inner"]["gamma"] > told["c"]["gamma"]
    assert len({tuple(told[node]["penalty"]) for node in told}) > 1
    X, y = drawn(100, 7, 0.9)
    alone = SequenceTagger(states="all", tuning="implicit").fit(*data["c"])
    assert model.score("c", X, y) > alone.score(X, y) - 0.02


def test_tasks_share_and_differ():
    """Better than on its own and than the union, on the task that is alike and the one that is not."""
    few = {"a": drawn(3, 10), "b": drawn(40, 11), "c": drawn(40, 12, 0.95)}
    tests = {"a": drawn(300, 20), "c": drawn(300, 21, 0.95)}
    finder = MultitaskEstimator(SequenceTagger(), TREE).fit(few)
    root = finder.model("root")
    for task, (X, y) in tests.items():
        assert finder.score(task, X, y) >= root.score(X, y)
    assert finder.score("c", *tests["c"]) > root.score(*tests["c"])
    assert finder.score("a", *tests["a"]) > SequenceTagger(tuning=None).fit(*few["a"]).score(*tests["a"])
    assert set(finder.nodes_) == set(TREE.nodes)
    told = [record["node"] for record in finder.history_ if record["stage"] == "selection"]
    assert told == ["root", "inner", "c", "a", "b"]


def test_tasks_without_data_fall_back():
    data = {"a": three()["a"], "b": ([], [])}
    model = MultitaskEstimator(SequenceTagger(), TREE, **ONE).fit(data)
    assert_array_equal(model.model("b").coef_, model.model("inner").coef_)
    assert_array_equal(model.model("c").coef_, model.model("root").coef_)
    assert set(model.nodes_) == {"root", "inner", "a"}


def test_the_penalty_by_group():
    penalty = {"transitions": 100.0}
    model = MultitaskEstimator(SequenceTagger(penalty=penalty), TREE, gammas=[0.0], factors=[2.0]).fit(
        three()
    )
    root = model.model("root")
    assert dict(zip(root.group_names_, root.penalty_, strict=True))["transitions"] == pytest.approx(200.0)
    assert isinstance(root.chain_.groups(), Groups)


def test_the_estimator_is_left_as_it_was():
    tagger = SequenceTagger()
    model = MultitaskEstimator(tagger, TREE, **ONE).fit(three())
    assert not hasattr(tagger, "coef_")
    X, y = three()["a"]
    alone = model.model("a").fit(X, y)  # an ordinary estimator
    assert_allclose(alone.coef_.shape, SequenceTagger(tuning=None).fit(X, y).coef_.shape)


@pytest.mark.parametrize(
    ("tagger", "options", "data", "said"),
    [
        ({}, {}, {"inner": three()["a"]}, "no leaf 'inner'"),
        ({}, {}, {}, "empty|no "),
        ({}, {}, {"a": ([[["x"]]], [])}, "task 'a': there are 1"),
        ({}, {}, {"a": None}, "task 'a': give a pair of inputs and outputs, not NoneType"),
        ({"tuning": "grid"}, {}, None, "must have tuning=None, not 'grid'"),
        ({"l1": 1.0}, {}, None, "must have l1=0.0, not 1.0"),
        ({"run": Run()}, {}, None, r"must have run=None, not Run"),
        ({}, {"gammas": [2.0]}, None, "gamma=2"),
        ({}, {"gammas": 0.5}, None, "gammas=0.5: expected a sequence of numbers"),
        ({}, {"cv": 1}, None, "cv=1: expected a share between 0 and 1, or a whole number >= 2"),
        ({}, {"cv": 1.0}, None, "cv=1.0: expected a share between 0 and 1"),
        ({}, {"tuning": "grid"}, None, "tuning='grid': expected None, 'implicit' or an ImplicitTuner"),
    ],
)
def test_refused(tagger, options, data, said):
    model = MultitaskEstimator(SequenceTagger(**tagger), TREE, **options)
    with pytest.raises(DataError, match=said):
        model.fit(three() if data is None else data)


def test_other_tasks_and_estimators_are_refused():
    with pytest.raises(DataError, match="no node 'd'"):
        MultitaskEstimator(SequenceTagger(), TREE, **ONE).fit(three()).predict("d", [])
    with pytest.raises(CapabilityError, match="Classifier cannot be trained on a tree of tasks"):
        MultitaskEstimator(Classifier(), TREE).fit({"a": ([[1.0]], [0])})


def test_files(tmp_path):
    data = three() | {"b": ([], [])}
    settings = {"gammas": np.array([0.0, 0.5]), "factors": np.array([1]), "cv": np.int64(2)}
    model = MultitaskEstimator(SequenceTagger(penalty=2.0), TREE, **settings).fit(data)
    model.save(tmp_path / "model", extra={"columns": ["word"]})
    again = load(tmp_path / "model")
    assert again.model("a").extra_ == {"columns": ["word"]}
    X, _ = drawn(20, 7)
    for task in TREE.nodes:
        assert again.predict(task, X) == model.predict(task, X)
        assert_array_equal(again.model(task).coef_, model.model(task).coef_)
    assert again.nodes_ == model.nodes_
    assert (again.tree_, again.estimator.penalty) == (TREE, 2.0)
    assert (list(again.gammas), list(again.factors), again.cv) == ([0.0, 0.5], [1], 2)
    again.fit(data)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("tree") / "model"
    MultitaskEstimator(SequenceTagger(), TREE, **ONE).fit(three()).save(path)
    return path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda header, arrays: header["estimator"].update(kind="ranker"), "damaged|Ranker"),
        (lambda header, arrays: header.update(tree="(a,b);"), "nodes with weights"),
        (lambda header, arrays: header.update(tree="(" * 5000 + "a" + ")" * 5000), "Newick"),
        (lambda header, arrays: arrays.update(weights=arrays["weights"][:, 1:]), "'weights' has shape"),
        (lambda header, arrays: header["parameters"].pop("cv"), "damaged.*'cv'"),
    ],
)
def test_damaged_files(saved, tmp_path, change, said):
    header, arrays = read_model(saved)
    change(header, arrays)
    kind = header.pop("kind")
    save_model(tmp_path / "model", kind, header, arrays)
    with pytest.raises(ModelFileError, match=said):
        load(tmp_path / "model")


def test_genes():
    """Their examples are cut out of sequences, and know from which."""
    gene = Transcript("c", "+", ((5, 12), (21, 26)), "t", "g")
    sequences = [AnnotatedSequence(f"s{k}", "CCTATATGGCAGGTAAGTCAGGCTAACCT", (gene,)) for k in range(4)]
    y = [[gene]] * 4
    model = MultitaskEstimator(GeneFinder(penalty=0.01), ["a", "b"], gammas=[0.5], factors=[1.0])
    model.fit({"a": (sequences[:3], y[:3]), "b": (sequences[3:], y[3:])})
    for task in ("a", "b"):
        assert model.predict(task, [sequences[0].sequence])[0][0].exons == gene.exons


def test_files_of_models_within_models(saved, tmp_path):
    whole, arrays = read_model(saved)
    header = whole
    for _ in range(300):
        header = {**whole, "estimator": header}
    prefixed = {"estimator." * 300 + name: array for name, array in arrays.items()}
    save_model(tmp_path / "model", "tree", header, prefixed)
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")
