"""Estimators by scikit-learn's protocol, without scikit-learn."""

import inspect
import pickle
import re
import threading
from dataclasses import field

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from structune import Classifier, Ranker
from structune.errors import DataError
from structune.kinds import _OURS
from structune.learning import GridTuner, StructuredEstimator
from structune.learning.parameters import Parameters, parameters
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

    assert clone(Plain(folds=3)).get_params() == {"penalty": 2.0}
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
    names = [
        name
        for line in re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", told, re.MULTILINE)
        for name in line.split(", ")
    ]
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
