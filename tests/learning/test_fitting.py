"""How a fit ends is told; weights that learned precisions switch off, and precisions that are too many."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold

from structune import Classifier, SequenceTagger, load, write_shards
from structune.errors import DataError
from structune.learning.fitting import switch_off, warn_of_many_groups
from structune.learning.losses import LogLoss
from structune.learning.tuning import DirectTuner, GridTuner, ImplicitTuner, MajorizeTuner, TuningProblem
from structune.learning.tuning.problem import TuningResult, possible_parts
from structune.running import Run
from structune.running.monitor import Monitor
from structune.structure import Groups
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.structure.chain import Chain
from tiny import Budget

X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]], [["w=the"], ["w=cat"]]]
Y = [["DET", "NOUN"], ["DET", "NOUN"], ["DET", "NOUN"]]


def tagger(**options):
    return SequenceTagger(**{"n_jobs": 1, "tuning": None, **options})


def test_a_fit_that_has_not_converged_warns_once():
    with pytest.warns(ConvergenceWarning, match="the fit has not converged: it reached its limit") as told:
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
    with pytest.warns(ConvergenceWarning, match="found no step that improves"):
        tagger(tuning=Stalls()).fit(X, Y)


@pytest.mark.parametrize("options", [{}, {"run": Run(max_seconds=0.0)}, {"run": Run(tolerance=0.0)}])
def test_other_ends_do_not_warn(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger(**options).fit(X, Y)


def test_a_splitter_that_cannot_split_is_no_reason_for_other_parts():
    """Where a tuner can do without, but was asked to hold examples out so."""
    with pytest.raises(DataError, match="'groups'"):
        tagger(tuning=MajorizeTuner(calibrated=True), cv=GroupKFold(2)).fit(X, Y)


# --- tuning="auto" -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "groups", "tuning", "reason"),
    [
        ({}, None, "implicit", "cv=2"),
        ({"cv": 0.4}, None, "implicit", "cv=0.4"),
        ({}, [1, 1, 2] * 3, "implicit", "cv=2"),
        ({}, [1] * 9, None, "too few examples"),
        ({"penalty": 2.0}, None, None, "penalty is given"),
        ({"l1": 0.5}, None, None, "l1 is given"),
        ({"constraints": "validation"}, None, None, "constraints are given"),
        ({"loss": "margin"}, None, None, "margin loss is not smooth"),
    ],
)
def test_what_auto_stands_for(options, groups, tuning, reason, tmp_path):
    model = tagger(tuning="auto", **options).fit(X * 3, Y * 3, groups=groups)
    first = model.history_[0]
    assert (first["stage"], first["tuning"]) == ("auto", tuning)
    assert reason in first["reason"]
    assert tuning or (model.penalty_ == options.get("penalty", 1.0)).all()
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").history_[0] == first


def test_auto_for_a_warm_start_and_for_folders(tmp_path):
    model = tagger(tuning="auto", groups=str, warm_start=True).fit(X[:2], Y[:2])
    known = dict(zip(model.group_names_, model.penalty_, strict=True))
    model.fit(X, Y)
    found = dict(zip(model.group_names_, model.penalty_, strict=True))
    assert "warm start" in model.history_[0]["reason"]
    assert {name: known.get(name, 1.0) for name in found} == found
    for n, said in ((1, "too few"), (2, "cv=0.2")):
        write_shards(tagger(), tmp_path / str(n), X * 3, Y * 3, n_folds=n)
        assert said in tagger(tuning="auto").fit_shards(tmp_path / str(n)).history_[0]["reason"]
    assert [possible_parts(range(n)) for n in (1, 2, 999, 1000)] == [None, 2, 2, 2]
    with pytest.raises(DataError, match=r"^penalty=0\.5 and tuning='grid' cannot be combined"):
        tagger(tuning="grid", penalty=0.5).fit(X, Y)


# --- relevance ---------------------------------------------------------------------------------------------


def corpus(n=60, seed=0):
    """Words that tell a lot, and others, seen a few times each, that tell nothing."""
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(0, 4, 5) for _ in range(n)]
    X = [[[f"w={k}", f"noise={rng.integers(60)}"] for k in row] for row in drawn]
    return X, [["ab"[k // 2 if rng.random() < 0.9 else rng.integers(2)] for k in row] for row in drawn]


def problem_of(which="separate", n=60, **options):
    X, Y = corpus(n)
    chain = Chain.build(AttributeTable.from_items(X), Y)
    groups = {
        "single": Groups.single(chain.n_weights),
        "grouped": chain.groups(),
        "separate": Groups.separate(chain.weight_names()),
    }
    shard = chain.encode(AttributeTable.from_items(X), Y)
    return TuningProblem.build(chain, LogLoss(), shard, groups[which], **{"splits": False, **options})


SPARSE = MajorizeTuner(beta=1e-3, max_iterations=40)


def test_weights_that_cannot_matter_become_zero():
    problem = problem_of()
    result = SPARSE.tune(problem)
    off = switch_off(SPARSE, problem, result, Monitor())
    risk, zero = problem.full, off.w == 0
    assert 3 < np.count_nonzero(zero) < zero.size
    precision, curvature = result.precision, risk.variance(result.w)
    assert np.all(precision[zero] >= 99 * curvature[zero] * (1 - 1e-9))
    assert np.array_equal(off.w[~zero], result.w[~zero])
    assert risk.value(off.w) - risk.value(result.w) <= 1e-3 * np.count_nonzero(zero)
    assert off.history[-1]["switched_off"] == np.count_nonzero(zero)


@pytest.mark.parametrize(("tuner", "options"), [(SPARSE, {"which": "single"}), (DirectTuner(beta=1e-3), {})])
def test_where_nothing_is_switched_off(tuner, options):
    problem = problem_of(**options)
    result = tuner.tune(problem)
    assert switch_off(tuner, problem, result, Monitor()) is result


def test_work_that_was_cut_short_is_left_alone():
    problem = problem_of()
    result = SPARSE.tune(problem, Budget(5))
    assert result.status == "budget"
    assert switch_off(SPARSE, problem, result, Monitor()) is result


def test_a_tagger_forgets_what_is_switched_off(tmp_path):
    X, Y = corpus()
    tagger = SequenceTagger(tuning=SPARSE, groups="separate").fit(X, Y)
    n_off = tagger.history_[-1]["switched_off"]
    whole = SequenceTagger(penalty=1.0).fit(X, Y)
    zeros = np.count_nonzero(tagger.coef_ == 0)  # transitions stay
    assert n_off > 3
    assert whole.coef_.size - n_off == tagger.coef_.size - zeros
    assert len(tagger.group_names_) == tagger.penalty_.size == tagger.coef_.size
    tagger.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(X) == tagger.predict(X)


def test_too_few_held_out_for_so_many_precisions():
    problem = problem_of(splits=True)
    n = len(problem.groups)
    with pytest.warns(UserWarning, match=f"{n} penalties for {n} weights are tuned on 60 held-out parts"):
        warn_of_many_groups(ImplicitTuner(), problem)


def test_a_tagger_warns_where_it_is_called():
    with pytest.warns(UserWarning, match="held-out parts") as caught:
        tagger(tuning="implicit", groups="separate", cv=0.2, run=Run(max_seconds=0.0)).fit(*corpus())
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("tuner", "which", "n"),
    [(ImplicitTuner(), "grouped", 60), (ImplicitTuner(), "separate", 1500), (GridTuner(), "separate", 60)],
)
def test_no_warning(tuner, which, n):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_many_groups(tuner, problem_of(which, n, splits=True))
