"""Numbers that parameters cannot be are refused by every fit, and by nothing before it."""

import math

import numpy as np
import pytest
from sklearn.base import clone

from shard_kinds import EXAMPLES
from structune import Classifier, Ranker, Regressor
from structune.errors import DataError
from structune.learning import DirectTuner, GridTuner, ImplicitTuner, MajorizeTuner
from structune.learning.parameters import Range
from structune.learning.tuning.problem import make_tuner
from structune.running import Run

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
        ("tolerance", (-1, "a"), "a number >= 0"),
        ("folds", (1,), "None or a whole number >= 2"),
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
    with pytest.raises(DataError, match="found a weight of zero for every example, expected a positive one"):
        clone(estimator).fit(*data, sample_weight=np.zeros(len(data[0])))


@pytest.mark.parametrize("word", sorted(set(EXAMPLES) - {"classifier", "regressor", "ranking"}))  # tables
def test_inputs_are_several(word):
    example = EXAMPLES[word]
    with pytest.raises(DataError, match="found one NoneType, expected a list of"):
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
        (ImplicitTuner(start=[1.0, 2.0]), r"start=\[1.0, 2.0\]: expected one precision, or 1, one a group"),
        (MajorizeTuner(start=[1.0]), r"start=\[1.0\]: expected one precision"),
        (GridTuner("abc"), "values='abc': expected finite numbers > 0, one at least"),
        (GridTuner([[1.0], [1, 2]]), r"values=\[\[1.0\], \[1, 2\]\]: expected finite numbers"),
    ],
)
def test_tuners_are_checked_with_their_problem(tuner, told):
    with pytest.raises(DataError, match=told):
        Classifier(tuning=tuner).fit(*FLAT["classifier"][1])
