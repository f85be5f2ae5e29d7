"""Fits and searches that are killed again and again end with the bits of those that were never stopped."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from structune import Classifier, MultitaskEstimator, SequenceTagger
from structune.learning.risk import Risk
from structune.learning.tuning import DirectTuner, GridTuner, ImplicitTuner, MajorizeTuner
from structune.learning.tuning.response import Response
from structune.running.checkpoints import Checkpoint
from structune.tagging.data.hmm import simulate_hmm

OBSERVED, HIDDEN = simulate_hmm(24, 3, 6, length=6, agreement=0.7, random_state=np.random.default_rng(0))[
    ::-1
]
X = [[[f"x={seen}"] for seen in row] for row in OBSERVED]
Y = [["abc"[label] for label in row] for row in HIDDEN]
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(60, 8))
CLASSES = (TABLE[:, :3] + RNG.normal(size=(60, 3))).argmax(axis=1)


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


def by_sum(name):
    """Seven groups of weights."""
    return str(sum(map(ord, name)) % 7)


def tagger(**settings):
    return lambda checkpoint: SequenceTagger(n_jobs=1, checkpoint=checkpoint, **settings).fit(X, Y)


def classifier(**settings):
    return lambda checkpoint: Classifier(n_jobs=1, checkpoint=checkpoint, **settings).fit(TABLE, CLASSES)


def tree(**settings):
    inner, data = SequenceTagger(n_jobs=1), {"a": (X[:12], Y[:12]), "b": (X[12:], Y[12:])}
    nodes = {"root": ["a", "b"]}
    return lambda checkpoint: MultitaskEstimator(
        inner, nodes, n_jobs=1, checkpoint=checkpoint, **settings
    ).fit(data)


VALUES = (0.1, 1.0, 10.0)
WORKS = {  # and every which evaluation they survive at least
    "lbfgs": (tagger(), 5),
    "newton": (classifier(tuning=None), 5),
    "conjugate gradients": (classifier(tuning=None, hessian="exact"), 8),
    "l1": (tagger(l1=0.5), 5),
    "l1 by newton": (classifier(tuning=None, l1=0.5), 5),
    "bundle of outputs": (tagger(loss="margin"), 5),
    "lbfgs to its limit": (tagger(max_iterations=8), 4),
    "bundle to its limit": (tagger(loss="margin", penalty=1e-6, tolerance=1e-9, max_iterations=60), 15),
    "bundle of planes": (classifier(loss="margin", tuning=None), 5),
    "ramp": (tagger(loss="ramp"), 8),
    "constraints": (tagger(constraints="validation"), 150),
    "implicit": (tagger(tuning="implicit", folds=2, groups=by_sum), 32),
    "implicit by newton": (classifier(tuning="implicit", folds=2, groups=by_sum), 32),
    "accuracy": (tagger(tuning=ImplicitTuner(criterion="accuracy"), folds=2), 50),
    "majorize": (tagger(tuning="majorize"), 40),
    "effective": (tagger(tuning=MajorizeTuner(count="effective", tolerance=1e-3)), 40),
    "calibrated": (tagger(tuning=MajorizeTuner(calibrated=True), folds=2), 40),
    "majorize margins": (classifier(tuning=MajorizeTuner(), loss="margin"), 12),
    "direct": (tagger(tuning=DirectTuner(beta=0.01)), 8),
    "grid": (tagger(tuning=GridTuner(VALUES), folds=2), 20),
    "warm grid": (tagger(tuning=GridTuner(VALUES, warm=True), folds=2), 20),
    "grid of margins": (tagger(tuning=GridTuner(VALUES[:2]), folds=2, loss="margin"), 30),
    "tree": (tree(gammas=(0.5,)), 20),
    "chosen tree": (tree(gammas=(0.0, 0.5)), 40),
    "tuned tree": (tree(tuning="implicit"), 40),
}


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


def test_ctrl_c_at_every_so_many_evaluations(life, tmp_path):
    """Which writes what there is at that moment."""
    work, k = WORKS["ramp"]
    whole, lives = work(None), []
    while not lives or lives[-1].status_ == "interrupted":
        life.update(done=0, evaluations=k, press=True)
        lives.append(work(Checkpoint(tmp_path / "c")))
    assert 1 < len(lives) < 50
    assert_the_same(lives[-1], whole)


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
