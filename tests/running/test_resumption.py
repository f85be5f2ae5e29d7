"""Fits and searches that are killed again and again end with the bits of those that were never stopped."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from structune import MultitaskEstimator
from structune.learning.risk import Risk
from structune.learning.solvers.cutting_planes import CuttingPlanes
from structune.learning.tuning.response import Response
from structune.running.checkpoints import Checkpoint
from works import WORKS

pytestmark = pytest.mark.filterwarnings("ignore")  # of fits that do not converge, or collapse


class Killed(BaseException):
    """As SIGKILL: nothing in the code catches it, and nothing is written on the way out."""


class Rare(Checkpoint):
    """Written every `n`-th time that a state is kept."""

    def __init__(self, path, n):
        super().__init__(path)
        self.n, self.left = n, n

    def keep(self, key, state):
        self.left = (self.left or self.n) - 1
        self.seconds = 1e9 if self.left else 0.0
        super().keep(key, state)


@pytest.fixture
def life(monkeypatch):
    """Evaluations of risks that are left until the process is killed, and how many there have been."""
    left, count_passes = {"evaluations": 10**9, "done": 0}, Risk.count_passes

    def counted(risk, spent=1.0):
        if left["evaluations"] == left["done"]:
            left["evaluations"] = 10**9
            raise KeyboardInterrupt if left.get("press") else Killed
        left["done"] += 1
        count_passes(risk, spent)

    monkeypatch.setattr(Risk, "count_passes", counted)
    return left


def told(model):
    """All that a fit tells but time and passes."""
    weights = model.weights_ if isinstance(model, MultitaskEstimator) else {"": model.coef_}
    steps = [{n: v for n, v in r.items() if n not in _OF_WORK} for r in model.history_]
    return np.concatenate([weights[name] for name in sorted(weights)]), steps


_OF_WORK = {"seconds", "passes", "evaluations"}


def passes(model):
    return [record["passes"] for record in model.history_ if "passes" in record]


def assert_the_same(found, whole):
    (w, steps), (expected, expected_steps) = told(found), told(whole)
    assert_array_equal(w, expected)
    assert steps == expected_steps
    assert getattr(found, "status_", "of nodes") == getattr(whole, "status_", "of nodes")
    spent, least = passes(found), passes(whole)
    assert spent == sorted(spent)
    assert all(a >= b - 1e-9 for a, b in zip(spent, least, strict=True))
    seconds = [record["seconds"] for record in found.history_]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("name", WORKS)
def test_killed_once(name, life, tmp_path):
    """At several moments, with files of several ages."""
    work, _ = WORKS[name]
    whole = work(None)
    n, path = life["done"], tmp_path / "c"
    for k, rare in ((n // 3, 1), (n // 2, 5), (n - 2, 20)):
        life.update(done=0, evaluations=k)
        with pytest.raises(Killed):
            work(Rare(path, rare))
        life.update(done=0, evaluations=10**9)
        assert_the_same(work(Rare(path, 1)), whole)
        assert not path.exists()


@pytest.mark.parametrize("name", WORKS)
def test_killed_at_every_so_many_evaluations(name, life, tmp_path):
    work, k = WORKS[name]
    whole, kills = work(None), 0
    while True:
        life.update(done=0, evaluations=k)
        try:
            found = work(Rare(tmp_path / "c", 1))
        except Killed:
            kills += 1
            assert kills < 100
        else:
            break
    assert kills
    assert_the_same(found, whole)


@pytest.mark.parametrize("name", ["ramp", "bundle of outputs", "bundle of planes", "bundle to its limit"])
def test_ctrl_c_at_every_so_many_evaluations(name, life, tmp_path):
    """Which writes what was kept last."""
    work, k = WORKS[name]
    whole, lives = work(None), []
    while not lives or lives[-1].status_ == "interrupted":
        life.update(done=0, evaluations=k, press=True)
        lives.append(work(Checkpoint(tmp_path / "c")))
    assert 1 < len(lives) < 50
    assert_the_same(lives[-1], whole)


@pytest.mark.parametrize("name", ["bundle of outputs", "bundle of planes"])
def test_ctrl_c_while_a_plane_is_added(name, tmp_path, monkeypatch):
    work, _ = WORKS[name]
    whole, append, left = work(None), CuttingPlanes._append, iter([*[False] * 7, True])

    def pressed(planes, row, offset):
        append(planes, row, offset)
        if next(left, False):
            planes._gram[planes._n - 1] = 0.0  # as it was before
            raise KeyboardInterrupt

    monkeypatch.setattr(CuttingPlanes, "_append", pressed)
    assert work(Checkpoint(tmp_path / "c")).status_ == "interrupted"
    assert_the_same(work(Checkpoint(tmp_path / "c")), whole)


def test_ctrl_c_in_one_search_of_a_tree_ends_them_all(life, tmp_path):
    work, k = WORKS["tuned tree"]
    whole = work(None)
    life.update(done=0, evaluations=k, press=True)
    with pytest.raises(KeyboardInterrupt):
        work(Checkpoint(tmp_path / "c"))
    life.update(done=0, evaluations=10**9)
    assert_the_same(work(Checkpoint(tmp_path / "c")), whole)


def test_a_search_that_goes_on_with_other_roundings(life, tmp_path, monkeypatch):
    """As on another machine: where it stands counts, and not whether every step can be taken again."""
    work, k = WORKS["implicit"]
    whole, lowest, lives = work(None), Response.lowest, 0

    def rounded(model, *box):
        step, gain = lowest(model, *box)
        return step * (1.0 + 1e-15 * lives), gain

    monkeypatch.setattr(Response, "lowest", rounded)
    while True:
        lives += 1
        life.update(done=0, evaluations=5 * k)
        try:
            found = work(Rare(tmp_path / "c", 1))
        except Killed:
            assert lives < 20
        else:
            break
    assert lives > 1
    assert found.status_ == whole.status_
    assert_allclose(found.coef_, whole.coef_, rtol=1e-6)
    assert len(found.history_) == len(whole.history_)
