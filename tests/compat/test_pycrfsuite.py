"""The module in place of python-crfsuite, against python-crfsuite itself."""

import importlib
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from structune import SegmentTagger, SequenceTagger
from structune.compat import CRF, CompatibilityWarning, pycrfsuite
from structune.compat.pycrfsuite._logparser import TrainLogParser
from structune.errors import CapabilityError, DataError, ModelFileError
from structune.tagging import write_crfsuite

theirs = pytest.importorskip("pycrfsuite")
ALGORITHMS = ("lbfgs", "l2sgd", "ap", "averaged-perceptron", "pa", "passive-aggressive", "arow")


def examples(n=60):
    """Sequences of nested dicts whose labels depend on three attributes, with names of many lengths."""
    rng = np.random.default_rng(0)
    for k in range(n):
        X = [
            {"w": "ä" * int(rng.integers(0, 40)) + str(rng.integers(9)), "n": float(rng.random()), "b": True}
            | {"next": {"c": str(rng.choice(["x", "y"])), "several": ["p", "q"]}}
            for _ in range(rng.integers(1, 7))
        ]
        yield X, [("好" if t["n"] > 0.5 else "V") + t["next"]["c"] for t in X], k % 3


def trained(path, module=pycrfsuite, holdout=-1, params=None, **options):
    trainer = module.Trainer(verbose=False, params=params)
    for X, y, group in examples():
        trainer.append(X, y, group)
    trainer.train(str(path), holdout, **options)
    return trainer


@pytest.mark.parametrize("params", [{}, {"c1": 0.2, "c2": 0.05}, {"feature.possible_transitions": True}])
def test_written_models_are_those_of_crfsuite(tmp_path, params):
    trained(tmp_path / "a.crf", params=params, format="crfsuite")
    trained(tmp_path / "a.structune", params=params)
    ours, other = pycrfsuite.Tagger(), theirs.Tagger()
    other.open(str(tmp_path / "a.crf"))
    with ours.open(tmp_path / "a.structune"):
        for X, y, _ in examples():
            assert ours.tag(X) == other.tag(X)
            assert ours.probability(y) == pytest.approx(other.probability(y), rel=1e-9)
        told, known = ours.info(), other.info()
    assert told.labels.keys() == known.labels.keys()
    weights = {k: w for k, w in told.state_features.items() if w}
    assert weights == pytest.approx(known.state_features, abs=1e-6)
    assert {k: w for k, w in told.transitions.items() if w} == pytest.approx(known.transitions, abs=1e-6)
    # read and written again, with attributes in another order
    write_crfsuite(CRF(model_filename=tmp_path / "a.crf"), tmp_path / "b.crf")
    again = theirs.Tagger()
    again.open(str(tmp_path / "b.crf"))
    assert again.info().state_features == known.state_features


def test_models_that_crfsuite_does_not_have(tmp_path):
    X, y = [[["a"], ["b"]]], [["B-x", "I-x"]]
    for name in ("a\0b", "\ud800"):
        tagger = SequenceTagger(tuning=None, boundary=False).fit([[[name]]], [["x"]])
        with pytest.raises(CapabilityError, match="CRFsuite cannot read the name"):
            write_crfsuite(tagger, tmp_path / "a")
    with pytest.raises(NotFittedError):
        write_crfsuite(SequenceTagger(), tmp_path / "a")
    for options in ({"boundary": True}, {"order": 2}, {"forbidden": "bio"}):
        tagger = SequenceTagger(tuning=None, **({"boundary": False} | options)).fit(X, y)
        with pytest.raises(CapabilityError, match="only models of first order"):
            write_crfsuite(tagger, tmp_path / "a.crf")
    for cls, labels, told in (
        (SequenceTagger, [[1, 2]], "must be strings"),
        (SegmentTagger, y, "no SegmentTagger"),
    ):
        with pytest.raises(CapabilityError, match=told):
            write_crfsuite(cls(tuning=None, boundary=False).fit(X, labels), tmp_path / "a.crf")


def test_the_objective_and_the_log(tmp_path):
    ours, other = (trained(tmp_path / "m", module, 1) for module in (pycrfsuite, theirs))
    last, known = ours.logparser.last_iteration, other.logparser.last_iteration
    assert last["loss"] == pytest.approx(known["loss"], rel=1e-3)
    assert last["item_accuracy"] == pytest.approx(known["item_accuracy"], abs=0.02)
    assert last["scores"].keys() == known["scores"].keys()
    assert ours.logparser.featgen_num_features == other.logparser.featgen_num_features
    # the scores of the last iteration are those of the model
    held = [(X, y) for X, y, group in examples() if group == 1]
    tagger = theirs.Tagger()
    trained(tmp_path / "m.crf", pycrfsuite, 1, format="crfsuite")
    tagger.open(str(tmp_path / "m.crf"))
    right = [a == b for X, y in held for a, b in zip(tagger.tag(X), y, strict=True)]
    assert last["item_accuracy_float"] == pytest.approx(np.mean(right), abs=0.02)
    # both parsers read both logs alike
    parser = importlib.import_module("pycrfsuite._logparser").TrainLogParser
    for log in (ours.logparser.log, other.logparser.log):
        one, two = TrainLogParser(), parser()
        for line in log:
            assert one.feed(line) == two.feed(line)
            assert not one.events or one.last_log == two.last_log
        read = [[[*map(str, each.values())] for each in parsed.iterations] for parsed in (one, two)]
        assert read[0] == read[1]


def test_hooks_are_called_in_order(tmp_path, capsys):
    called = []

    class Told(pycrfsuite.Trainer):
        def __init__(self):  # as many do, without that of the base class
            self.verbose = True

        def on_iteration(self, log, info):
            called.append(info["num"])

    trainer = Told()
    trainer.append([{"a": 1}, {"b": 2}], ["x", "y"])
    trainer.train(str(tmp_path / "m"))
    assert called == list(range(1, len(called) + 1))
    out = capsys.readouterr().out
    assert out.startswith("Feature generation\ntype: CRF1d\n")
    assert "Iteration" not in out
    assert out.endswith("\n\n")

    class Stops(pycrfsuite.BaseTrainer):
        def message(self, message):
            raise KeyError("stopped")

    trainer = Stops()
    trainer.append([["a"]], ["x"])
    with pytest.raises(KeyError, match="stopped"):
        trainer.train("")


@pytest.mark.parametrize("algorithm", ["lbfgs", "pa"])
def test_labels_that_only_the_holdout_has(tmp_path, algorithm):
    trainer = pycrfsuite.Trainer(algorithm, verbose=False)
    for group in (0, 1):
        trainer.append([["a", "a"], ["b"], ["b"]], ["x", "y", "Z" if group else "y"], group)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompatibilityWarning)
        trainer.train(str(tmp_path / "m"), 1)
    last = trainer.logparser.last_iteration
    assert (last["item_accuracy"], last["instance_accuracy"]) == (Fraction(2, 3), 0)
    assert last["scores"]["Z"] == (0, 0, 1, 0.0, 0.0, 0.0)
    assert last["avg_recall"] == pytest.approx(2.0 / 3.0, abs=1e-6)
    with pycrfsuite.Tagger().open(tmp_path / "m") as tagger:  # the same, converted before
        tagger.set(pycrfsuite.ItemSequence([["a", "a"], ["b"], ["b"]]))
        p = tagger.marginal(b"x", 0)
        tagger.set([["a", "a"], ["b"], ["b"]])
        assert tagger.marginal("x", 0) == p


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_parameters(algorithm):
    ours, other = pycrfsuite.Trainer(algorithm), theirs.Trainer(algorithm)
    assert (ours.get_params(), all(map(ours.help, ours.params()))) == (other.get_params(), True)
    ours.set("feature.possible_states", "1")
    assert ours.get("feature.possible_states") is True
    for wrong in ({"foo": 1}, {"feature.minfreq": "much"}):
        with pytest.raises(DataError, match=r"parameter 'foo'|expected a value of type float"):
            ours.set_params(wrong)
    with pytest.raises(DataError, match="expected one of lbfgs, l2sgd"):
        ours.select("sgd")


def test_idle_parameters_and_algorithms_are_told(tmp_path):
    trainer = pycrfsuite.Trainer("ap", {"epsilon": 0.1}, verbose=False)
    trainer.append([["a"], ["b"]], ["x", "y"])
    with pytest.warns(CompatibilityWarning) as told:
        trainer.train(str(tmp_path / "m"))
    texts = " ".join(str(each.message) for each in told)
    assert "margin loss" in texts
    assert "epsilon" in texts
    trainer.clear()
    with pytest.warns(CompatibilityWarning, match="no examples to train on, so no model is written"):
        trainer.train(bytes(tmp_path / "n"))
    assert not (tmp_path / "n").exists()
    events = [event for event, *_ in trainer.logparser.events]
    assert events[-3:] == ["prepare_error", "optimization_end", "end"]
    for X, y, what in (
        ([["a"]], [1], "the label 1 is not a string"),
        ([{"a": 1}, {"b": None}], ["x", "y"], "^token 1: the attribute 'b' must be a number or a string"),
        ([["a"], ["b"]], ["x"], "2 tokens, but yseq has 1 label"),
    ):
        with pytest.raises(DataError, match=what):
            trainer.append(X, y)
    with pytest.raises(DataError, match="expected one of 'structune', 'crfsuite'"):
        trainer.train("", format="binary")


def test_items_are_read_when_they_are_appended(tmp_path):
    X, trainer = [{"a": 1.0, "n": {"s": ["p"], "t": {"u"}}}], pycrfsuite.Trainer(verbose=False)
    trainer.append(X, ["x"])
    X[0]["n"]["s"][0] = "q"
    X[0]["n"]["t"].add("v")
    X[0]["b"] = 1.0
    trainer.train(str(tmp_path / "m"))
    with pycrfsuite.Tagger().open(tmp_path / "m") as tagger:
        assert tagger.info().attributes.keys() == {"a", "n:s:p", "n:t:u"}
    for X, *_ in examples(5):
        assert pycrfsuite.ItemSequence(X).items() == theirs.ItemSequence(X).items()
    assert len(pycrfsuite.ItemSequence(pycrfsuite.ItemSequence([["a", "b"], []]))) == 2


def test_taggers_open_and_close(tmp_path):
    trained(tmp_path / "m")
    tagger = pycrfsuite.Tagger()
    with pytest.raises(DataError, match="no model is open"):
        tagger.labels()
    with tagger.open_inmemory((tmp_path / "m").read_bytes()):
        assert set(tagger.labels()) == {label for _, y, _ in examples() for label in y}
        tagger.dump(tmp_path / "dump.txt")
    with pytest.raises(RuntimeError, match="no model is open"):
        tagger.dump(tmp_path / "dump.txt")
    parser = importlib.import_module("pycrfsuite._dumpparser").CRFsuiteDumpParser()
    for line in (tmp_path / "dump.txt").read_text(encoding="utf-8").splitlines(keepends=True):
        parser.feed(line)
    assert "next:c:x" in parser.result.attributes
    assert ("next:c:x", "Vx") in parser.result.state_features
    with pytest.raises(FileNotFoundError):
        tagger.open(tmp_path / "none")
    with pytest.raises(ModelFileError, match=r"^value: not a model file"):
        tagger.open_inmemory(b"abc")
    tagger.open(bytes(tmp_path / "m"))


def test_a_program_that_is_not_changed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pycrfsuite", pycrfsuite)
    monkeypatch.delitem(sys.modules, "pycrfsuite._logparser", raising=False)
    space = {}
    exec("import pycrfsuite\nfrom pycrfsuite._logparser import TrainLogParser, LabelScore", space)
    assert space["pycrfsuite"].Trainer is pycrfsuite.Trainer
    assert "structune" in space["pycrfsuite"].CRFSUITE_VERSION
    assert space["TrainLogParser"].__module__ == "pycrfsuite._logparser"
