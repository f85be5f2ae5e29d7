"""How a fit ends is told."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from structune import Classifier, SequenceTagger
from structune.learning import MajorizeTuner
from structune.learning.tuning.problem import TuningResult
from structune.running import Run

X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]], [["w=the"], ["w=cat"]]]
Y = [["DET", "NOUN"], ["DET", "NOUN"], ["DET", "NOUN"]]


def tagger(**options):
    return SequenceTagger(n_jobs=1, **options)


def test_a_fit_that_has_not_converged_warns_once():
    with pytest.warns(ConvergenceWarning, match="the fit has not converged: it ended at its limit") as told:
        model = tagger(run=Run(max_iterations=1)).fit(X, Y)
    assert model.status_ == "iterations"
    assert [each.filename for each in told] == [__file__]  # where `fit` was called


def test_so_does_tuning():
    x = np.random.default_rng(0).normal(size=(60, 8))
    tuner = MajorizeTuner(max_iterations=1, tolerance=0.0)
    with pytest.warns(
        ConvergenceWarning, match=r"^tuning has not .* tolerance, in tuning=MajorizeTuner\(\.\.\.\)$"
    ):
        Classifier(tuning=tuner, n_jobs=1).fit(x, x[:, 0] > 0)


class Stalls:
    needs_splits = False
    fit_tolerance = 1e-4

    def tune(self, problem, monitor=None):
        return TuningResult(np.zeros(len(problem.groups)), np.zeros(problem.full.n_weights), "stalled")


def test_a_standstill_is_told():
    with pytest.warns(ConvergenceWarning, match="no step gained anything"):
        tagger(tuning=Stalls()).fit(X, Y)


@pytest.mark.parametrize("options", [{}, {"run": Run(max_seconds=0.0)}, {"tolerance": 0.0}])
def test_other_ends_do_not_warn(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger(**options).fit(X, Y)
