"""Estimators by scikit-learn's protocol, without scikit-learn."""

import inspect
import math
import pickle
import re
import threading
from dataclasses import field

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from shard_kinds import EXAMPLES
from structune import Classifier, Ranker, Regressor
from structune.errors import DataError
from structune.kinds import _OURS
from structune.learning import DirectTuner, GridTuner, ImplicitTuner, MajorizeTuner, StructuredEstimator
from structune.learning.parameters import Parameters, Range, parameters
from structune.learning.tuning.problem import make_tuner
from structune.running import Run

ESTIMATORS = [kind.estimator_class for kind in _OURS]


@parameters
class Base(Parameters):
    a: int = 1
    b: object = None
    hidden: str = field(default="x", init=False)
    coef_: float = field(init=False)


@parameters
class Own(Base):
    c: float = 0.5
    b: object = 3


def test_a_constructor_takes_fields_by_name():
    own = Own(c=2.0)
    assert (own.a, own.b, own.c, own.hidden) == (1, 3, 2.0, "x")
    assert not hasattr(own, "coef_")
    assert own.get_params() == {"a": 1, "b": 3, "c": 2.0}
    for wrong in ({"hidden": 1}, {"coef_": 1}, {"d": 1}):
        with pytest.raises(TypeError):
            Own(**wrong)
    with pytest.raises(TypeError):
        Own(1)


def test_repr_tells_what_was_asked_for():
    assert repr(Own()) == "Own()"
    assert repr(Own(a=2, b=[1])) == "Own(a=2, b=[1])"
    assert repr(Own(a=True)) == "Own(a=True)"
    assert len(repr(Own(b={str(k): k for k in range(10_000)}))) < 400


def test_parameters_are_set_by_name():
    outer = Own(b=Own(a=5))
    assert outer.get_params()["b__a"] == 5
    assert outer.set_params(b__a=7, c=1.5).b.a == 7
    with pytest.raises(
        DataError, match=r"Invalid parameter 'd' for estimator .*Valid parameters are: \['a', 'b"
    ):
        outer.set_params(d=1)


def test_what_is_set_together_is_set_from_the_outside_in():
    outer = Own(b=Own(a=1)).set_params(b__a=3, b=Own(a=2), a=4)
    assert (outer.a, outer.b.a) == (4, 3)
    with pytest.raises(DataError):
        outer.set_params(a=5, d=1)
    assert outer.a == 4  # nothing has been set


def test_clones_keep_what_scikit_learn_was_asked_for():
    with config_context(enable_metadata_routing=True):
        model = Classifier().set_fit_request(sample_weight=True)
        assert clone(model).get_metadata_routing().fit.requests["sample_weight"] is True
    run = Run(executor=threading.Lock())  # which cannot be copied
    assert clone(Classifier(run=run)).run is run


def test_queries_are_passed_on_where_they_are_asked_for():
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(48, 2)), np.repeat(np.arange(12), 4)
    y = np.digitize(X[:, 0], [0.0])
    with config_context(enable_metadata_routing=True):
        model = Ranker(tuning=None).set_fit_request(queries=True).set_score_request(queries=True)
        assert cross_val_score(model, X, y, params={"queries": queries}, cv=3).min() > 0.7
        with pytest.raises(TypeError, match="Unexpected args"):
            Ranker().set_fit_request(groups=True)
    with pytest.raises(RuntimeError, match="only available when metadata routing is enabled"):
        Ranker().set_fit_request(queries=True)


def test_clones_share_nothing():
    own = Own(b={"x": [1]})
    own.coef_ = 1.0
    other = clone(own)
    other.b["x"].append(2)
    assert own.b == {"x": [1]}
    assert not hasattr(other, "coef_")
    inner = Own(b=Own(a=4))
    assert clone(inner).b is not inner.b
    assert clone(inner).b.a == 4


def test_other_options_of_a_constructor_are_no_parameters():
    class Plain(Classifier):
        def __init__(self, penalty=2.0, **options):
            super().__init__(penalty=penalty, **options)

    class Wrong(Classifier):
        def __init__(self, *given):
            super().__init__()

    assert clone(Plain(cv=3)).get_params() == {"penalty": 2.0}
    with pytest.raises(TypeError, match="expected parameters with names"):
        Wrong().get_params()


def test_subclasses_may_have_a_constructor_of_their_own():
    class Plain(Classifier):
        def __init__(self, penalty=2.0):
            super().__init__(tuning=None, penalty=penalty)

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    search = GridSearchCV(Plain(), {"penalty": [0.5, 5.0]}, cv=2).fit(X, X[:, 0] > 0)
    assert search.best_estimator_.get_params() == {"penalty": search.best_params_["penalty"]}


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_every_parameter_is_documented_once(cls):
    doc = inspect.getdoc(cls)
    told = doc.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    lines = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", told, re.MULTILINE)
    names = [name for line in lines for name in line.split(", ")]
    assert sorted(names) == sorted(inspect.signature(cls).parameters)


@pytest.mark.parametrize(
    "cls", [cls for cls in ESTIMATORS if issubclass(cls, StructuredEstimator)], ids=lambda cls: cls.__name__
)
def test_estimators_are_copied_whole(cls):
    model = cls(penalty=3.0, tuning=GridTuner((1.0,)), n_jobs=2)
    for other in (clone(model), pickle.loads(pickle.dumps(model))):
        given = other.get_params(deep=False)
        assert given.pop("tuning") is not model.tuning
        assert given == {name: v for name, v in model.get_params(deep=False).items() if name != "tuning"}
    assert repr(model).startswith(f"{cls.__name__}(")


X = np.random.default_rng(0).normal(size=(24, 3))
FLAT = {
    "classifier": (Classifier(tuning=None, n_jobs=1), (X, np.arange(24) % 2)),
    "regressor": (Regressor(tuning=None, n_jobs=1), (X, X[:, 0])),
    "ranking": (Ranker(tuning=None, n_jobs=1), (X, np.arange(24) % 3, np.arange(24) // 4)),
}
EVERY = {word: (each.estimator, each.data) for word, each in EXAMPLES.items()} | FLAT


@pytest.mark.parametrize(
    ("allowed", "inside", "outside"),
    [
        (Range(0), (0, 1.5, np.float32(2), math.inf), (-1, math.nan, True, "1", None, [1])),
        (Range(0, open=True), (1e-300, 1), (0, math.inf)),
        (Range(0, 1, open=True), (0.5,), (0, 1, 2)),
        (Range(0, 1), (0, 1), (-0.1, 1.1)),
        (Range(2, whole=True), (2, np.int64(3)), (1, 2.0, math.inf)),
        (Range(2, whole=True, optional=True), (None, 2), (1,)),
    ],
)
def test_ranges(allowed, inside, outside):
    assert all(value in allowed for value in inside)
    assert not any(value in allowed for value in outside)


def test_ranges_are_told():
    assert str(Range(0)) == "a number >= 0"
    assert str(Range(0, open=True)) == "a finite number > 0"
    assert str(Range(2, whole=True, optional=True)) == "None or a whole number >= 2"
    assert str(Range(0, 1, open=True)) == "a number between 0 and 1"
    assert str(Range(0, 1)) == "a number from 0 to 1"


@pytest.mark.parametrize("word", EVERY)
@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("cv", (1, 1.5), "a share between 0 and 1, or a whole number >= 2"),
        ("penalty", (-1,), "finite numbers > 0"),
        ("gamma", (-1,), "a (finite )?number >=? 0"),
    ],
)
def test_every_fit_refuses_what_is_out_of_range(word, name, values, expected):
    estimator, data = EVERY[word]
    for value in values if name in estimator.get_params() else ():
        model = clone(estimator).set_params(**{name: value})
        with pytest.raises(DataError, match=f"^{name}={value!r}: expected {expected}"):
            model.fit(*data)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (Run(max_seconds=-1), "^max_seconds=-1: expected None or a number >= 0"),
        (Run(max_seconds="a"), "^max_seconds='a': expected"),
        (Run(tolerance=-1), "^tolerance=-1: expected None or a number >= 0"),
        (Run(max_iterations=0), "^max_iterations=0: expected a whole number >= 1"),
        (Run(max_iterations=1.5), "^max_iterations=1.5: expected a whole number >= 1"),
        ("dask", "^run='dask': expected None or a structune.running.Run"),
    ],
)
def test_runs_that_are_refused(run, message):
    estimator, data = EVERY["classifier"]
    with pytest.raises(DataError, match=message):
        clone(estimator).set_params(run=run).fit(*data)


@pytest.mark.parametrize("word", sorted(set(EVERY) - {"ranking", "genes", "prokaryotic-genes"}))
def test_some_example_counts(word):
    estimator, data = EVERY[word]
    with pytest.raises(DataError, match="the weight of every example is zero: at least one must be positive"):
        clone(estimator).fit(*data, sample_weight=np.zeros(len(data[0])))


@pytest.mark.parametrize("word", sorted(set(EXAMPLES) - {"classifier", "regressor", "ranking"}))  # tables
def test_inputs_are_several(word):
    example = EXAMPLES[word]
    with pytest.raises(DataError, match=r"(one|single) NoneType"):
        clone(example.estimator).fit(None, *example.data[1:])


@pytest.mark.parametrize(
    ("tuner", "told"),
    [
        (MajorizeTuner(tolerance=-1), "tolerance=-1: expected a number >= 0"),
        (MajorizeTuner(beta=0), "beta=0: expected None or a finite number > 0"),
        (MajorizeTuner(start=-1), "start=-1: expected precisions > 0"),
        (ImplicitTuner(max_evaluations=0), "max_evaluations=0: expected a whole number >= 1"),
        (ImplicitTuner(start=[1.0, 0.0]), r"start=\[1.0, 0.0\]: expected precisions > 0"),
        (DirectTuner(alpha="a"), "alpha='a': expected a number >= 0"),
        (GridTuner(fit_tolerance=0), "fit_tolerance=0: expected a finite number > 0"),
        (MajorizeTuner, "tuning=<class .*MajorizeTuner'>: expected a name, a tuner, or None"),
    ],
)
def test_tuners_are_checked_too(tuner, told):
    with pytest.raises(DataError, match=told):
        make_tuner(tuner)


@pytest.mark.parametrize(
    ("tuner", "told"),
    [
        (ImplicitTuner(start=[1.0, 2.0]), r"start=\[1.0, 2.0\]: expected one precision, or 1, one per group"),
        (MajorizeTuner(start=[1.0]), r"start=\[1.0\]: expected one precision"),
        (GridTuner("abc"), "values='abc': expected finite numbers > 0, at least one"),
        (GridTuner([[1.0], [1, 2]]), r"values=\[\[1.0\], \[1, 2\]\]: expected finite numbers"),
    ],
)
def test_tuners_are_checked_with_their_problem(tuner, told):
    with pytest.raises(DataError, match=told):
        Classifier(tuning=tuner).fit(*FLAT["classifier"][1])
