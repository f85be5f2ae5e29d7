"""Fits and searches that are killed again and again end as well as those that were never stopped."""

from functools import cache

import pytest

from structune.learning.risk import Risk
from structune.learning.solvers.bundle import CuttingPlanes
from structune.running.checkpoints import Checkpoint
from works import WORKS

OBJECTIVE = 1e-2  # relative: what tuners leave of the precisions
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


def count_as(left, monkeypatch):
    """Count evaluations of risks, and kill the process after the last that is left."""
    count_passes = Risk.count_passes

    def counted(risk, spent=1.0):
        if left["evaluations"] == left["done"]:
            left["evaluations"] = 10**9
            raise KeyboardInterrupt if left.get("press") else Killed
        left["done"] += 1
        count_passes(risk, spent)

    monkeypatch.setattr(Risk, "count_passes", counted)


@pytest.fixture
def life(monkeypatch):
    """Evaluations of risks that are left until the process is killed, and how many there have been."""
    left = {"evaluations": 10**9, "done": 0}
    count_as(left, monkeypatch)
    return left


def assert_as_good(found, whole):
    """The same end, within what the tolerances of fits and searches leave, and a history that goes on."""
    assert getattr(found, "status_", "of nodes") == getattr(whole, "status_", "of nodes")
    for name in ("objective", "heldout_loss"):
        one, other = ([r[name] for r in model.history_ if name in r][-1:] for model in (found, whole))
        assert one == pytest.approx(other, rel=OBJECTIVE)
    for name in ("passes", "seconds"):
        told = [record[name] for record in found.history_ if name in record]
        assert told == sorted(told)


@cache
def undisturbed(name):
    """What a work gives that nobody kills, and the evaluations that it takes."""
    left = {"evaluations": 10**9, "done": 0}
    with pytest.MonkeyPatch.context() as patch:
        count_as(left, patch)
        return WORKS[name][0](None), left["done"]


# which restore their state as others do
ALIKE = {"conjugate gradients", "l1 by newton", "implicit by newton", "grid of margins", "majorize margins"}
OF_SEVERAL_AGES = ["lbfgs", "bundle of outputs", "ramp", "constraints", "implicit", "majorize", "warm grid"]


@pytest.mark.parametrize("name", [*OF_SEVERAL_AGES, "chosen tree"])
def test_killed_once(name, tmp_path, request):
    """At several moments, with files of several ages."""
    work, _ = WORKS[name]
    whole, n = undisturbed(name)
    life, path = request.getfixturevalue("life"), tmp_path / "c"
    for k, rare in ((n // 3, 1), (n - 2, 20)):
        life.update(done=0, evaluations=k)
        with pytest.raises(Killed):
            work(Rare(path, rare))
        life.update(done=0, evaluations=10**9)
        assert_as_good(work(Rare(path, 1)), whole)
        assert not path.exists()


@pytest.mark.parametrize("name", [name for name in WORKS if name not in ALIKE])
def test_killed_at_every_so_many_evaluations(name, tmp_path, request):
    work, k = WORKS[name]
    (whole, _), kills = undisturbed(name), 0
    life = request.getfixturevalue("life")
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
    assert_as_good(found, whole)


@pytest.mark.parametrize("name", ["ramp", "bundle of outputs", "bundle of planes", "bundle to its limit"])
def test_ctrl_c_at_every_so_many_evaluations(name, tmp_path, request):
    """Which writes what was kept last."""
    work, k = WORKS[name]
    (whole, _), lives = undisturbed(name), []
    life = request.getfixturevalue("life")
    while not lives or lives[-1].status_ == "interrupted":
        life.update(done=0, evaluations=k, press=True)
        lives.append(work(Checkpoint(tmp_path / "c")))
    assert 1 < len(lives) < 50
    assert_as_good(lives[-1], whole)


@pytest.mark.parametrize("name", ["bundle of outputs", "bundle of planes"])
def test_ctrl_c_while_a_plane_is_added(name, tmp_path, monkeypatch):
    work, _ = WORKS[name]
    (whole, _), append, left = undisturbed(name), CuttingPlanes._append, iter([*[False] * 7, True])

    def pressed(planes, row, offset):
        append(planes, row, offset)
        if next(left, False):
            raise KeyboardInterrupt

    monkeypatch.setattr(CuttingPlanes, "_append", pressed)
    assert work(Checkpoint(tmp_path / "c")).status_ == "interrupted"
    assert_as_good(work(Checkpoint(tmp_path / "c")), whole)


def test_ctrl_c_in_one_search_of_a_tree_ends_them_all(tmp_path, request):
    work, k = WORKS["tuned tree"]
    whole, _ = undisturbed("tuned tree")
    life = request.getfixturevalue("life")
    life.update(done=0, evaluations=k, press=True)
    with pytest.raises(KeyboardInterrupt):
        work(Checkpoint(tmp_path / "c"))
    life.update(done=0, evaluations=10**9)
    assert_as_good(work(Checkpoint(tmp_path / "c")), whole)
