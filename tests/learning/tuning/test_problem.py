"""Splits, the count of passes, and tuners by name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from structune.errors import DataError
from structune.flat.structure.classes import Classes
from structune.learning import tuning
from structune.learning.losses import LogLoss
from structune.learning.tuning import TuningProblem, make_tuner
from structune.learning.tuning.problem import PassCount, TuningResult
from structune.structure import Groups
from tiny import tuning_problem

N = 20


def build(n=N, **options):
    """Examples that their weights tell apart: example i weighs i + 1."""
    structure = Classes(["a", "b"], ["x"])
    shard = structure.encode(np.ones((n, 1)), ["ab"[i % 2] for i in range(n)], np.arange(1.0, n + 1))
    return TuningProblem.build(structure, LogLoss(), shard, structure.groups(), **options)


def examples(risk):
    return np.concatenate([shard.weights for shard in risk.shards]).astype(int) - 1


def sides(problem):
    return [(examples(split.train), examples(split.heldout)) for split in problem.splits]


def test_one_split():
    ((train, heldout),) = sides(build(cv=0.3))
    assert heldout.size == 6
    assert_array_equal(np.sort(np.concatenate((train, heldout))), np.arange(N))
    assert_array_equal(train, np.sort(train))  # examples keep their order


@pytest.mark.parametrize("folds", [3, N])
def test_folds_hold_out_each_example_once(folds):
    pairs = sides(build(cv=folds))
    assert len(pairs) == folds
    for train, heldout in pairs:
        assert_array_equal(np.sort(np.concatenate((train, heldout))), np.arange(N))
    assert_array_equal(np.sort(np.concatenate([heldout for _, heldout in pairs])), np.arange(N))


@pytest.mark.parametrize("splits", [{"cv": 0.4}, {"cv": 3}])
def test_groups_of_examples_stay_together(splits):
    groups = np.arange(N) // 4
    for train, heldout in sides(build(example_groups=groups, **splits)):
        assert not set(groups[train]) & set(groups[heldout])
        assert train.size + heldout.size == N


@pytest.mark.parametrize(("splits", "example_groups"), [({"cv": 0.4}, None), ({"cv": 3}, np.arange(N) % 7)])
def test_the_seed_decides(splits, example_groups):
    a, b, *others = (
        sides(build(example_groups=example_groups, random_state=seed, **splits))[0][1]
        for seed in (0, 0, 1, 2, 3)
    )
    assert_array_equal(a, b)
    assert not all(np.array_equal(a, other) for other in others)


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (1, {}),
        (3, {"cv": 4}),
        (5, {"example_groups": [0] * 5}),
        (5, {"cv": 2, "example_groups": [0] * 5}),
        (5, {"example_groups": [0] * 4}),
    ],
)
def test_what_cannot_be_split(n, options):
    with pytest.raises(DataError, match=f"cannot split {n} example"):
        build(n, **options)


@pytest.mark.parametrize("cv", [1, 1.0, 1.5, 0, True, "5"])
def test_neither_a_share_nor_a_number_of_folds(cv):
    with pytest.raises(
        DataError, match=f"^cv={cv!r}: expected a share between 0 and 1, or a whole number >= 2"
    ):
        build(cv=cv)


def test_splits_of_scikit_learn():
    from sklearn.model_selection import LeaveOneGroupOut

    groups = np.arange(N) % 2
    for cv in (LeaveOneGroupOut(), list(LeaveOneGroupOut().split(groups, groups=groups))):
        (train, _), (_, heldout) = sides(build(cv=cv, example_groups=groups))
        assert_array_equal(heldout, np.arange(0, N, 2) + 1)
        assert_array_equal(train, heldout)


def test_splits_as_masks():
    mask = np.arange(N) % 3 == 0
    ((train, heldout),) = sides(build(cv=[(~mask, mask)]))
    assert_array_equal(heldout, np.flatnonzero(mask))
    assert_array_equal(train, np.flatnonzero(~mask))


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "no split"),
        ([(np.arange(N), np.zeros(0, int))], "empty part"),
        ([(np.arange(N - 1), [N])], "out of bounds"),
        ([1, 2], "unpack"),
        ([(np.arange(N - 1), [N - 1])], "a group is on both sides"),
    ],
)
def test_splits_that_cannot_be(cv, message):
    with pytest.raises(DataError, match=f"cannot split {N} examples: .*{message}"):
        build(cv=cv, example_groups=np.arange(N) // 2)


def test_groups_must_fit_the_weights():
    problem = build()
    with pytest.raises(DataError, match="the groups are for 3 weights, but the risk has 4"):
        TuningProblem(problem.full, Groups.single(3))


STRATA = np.repeat(["a", "b", "c"], [10, 6, 4])


def shares(indices, strata=STRATA):
    return np.array([np.sum(strata[indices] == name) for name in np.unique(strata)])


@pytest.mark.parametrize("splits", [{"cv": 0.5}, {"cv": 2}])
def test_strata_are_shared_out(splits):
    for train, heldout in sides(build(strata=STRATA, **splits)):
        assert_array_equal(shares(train), [5, 3, 2])
        assert_array_equal(shares(heldout), [5, 3, 2])


def test_strata_too_small_to_share_out_do_not_matter():
    lonely = np.array(["rare"] + ["common"] * (N - 1))
    (found,), (plain,) = sides(build(strata=lonely, cv=0.3)), sides(build(cv=0.3))
    assert_array_equal(found[1], plain[1])


@pytest.mark.filterwarnings("error")
def test_a_rare_stratum_does_not_keep_folds_from_sharing_out_the_others():
    strata = np.where(np.arange(N) == 0, "rare", np.where(np.arange(N) % 2, "a", "b"))
    pairs = sides(build(strata=strata, cv=3))
    assert_array_equal(np.sort(np.concatenate([heldout for _, heldout in pairs])), np.arange(N))
    for _, heldout in pairs:
        assert abs(np.sum(strata[heldout] == "a") - np.sum(strata[heldout] == "b")) <= 1


def test_strata_of_groups_of_examples():
    groups = np.arange(N) % 8
    pairs = sides(build(strata=STRATA, example_groups=groups, cv=2))
    assert_array_equal(np.sort(np.concatenate([heldout for _, heldout in pairs])), np.arange(N))
    for train, heldout in pairs:
        assert not set(groups[train]) & set(groups[heldout])
        assert np.all(shares(heldout) > 0)


def test_passes_are_passes_over_all_training_data():
    problem = build(cv=4)
    w = np.zeros(4)
    problem.full.value(w)
    count = PassCount(*problem.risks)
    assert count.spent == 0.0
    problem.full.value(w)
    assert count.spent == 1.0
    problem.splits[0].train.value_and_gradient(w)
    assert_allclose(count.spent, 1.75)
    problem.splits[1].heldout.value(w)
    assert_allclose(count.spent, 2.0)


def test_every_tuner_counts_passes():
    for name in ("implicit", "majorize", "direct", "grid"):
        problem = tuning_problem()
        result = make_tuner(name).tune(problem)
        parts = sum(risk.passes * risk.n_parts for s in (problem.splits[0],) for risk in (s.train, s.heldout))
        assert result.passes == pytest.approx(problem.full.passes + parts / problem.full.n_parts)
        assert isinstance(result, TuningResult)


def test_tuners_by_name():
    for name, tuner in (
        ("implicit", tuning.ImplicitTuner),
        ("majorize", tuning.MajorizeTuner),
        ("direct", tuning.DirectTuner),
        ("grid", tuning.GridTuner),
    ):
        assert make_tuner(name) == tuner()
    mine = tuning.GridTuner(values=(1.0,))
    assert make_tuner(mine) is mine
    with pytest.raises(DataError, match="tuning='bayes': expected one of"):
        make_tuner("bayes")
