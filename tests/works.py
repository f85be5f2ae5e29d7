"""Fits and searches of a part of a second, by every solver and every tuner, which can be killed and go on."""

from __future__ import annotations

import numpy as np

from structune import Classifier, MultitaskEstimator, SequenceTagger
from structune.learning.tuning import DirectTuner, GridTuner, MajorizeTuner
from structune.running import Run
from structune.tagging.data.hmm import simulate_hmm

OBSERVED, HIDDEN = simulate_hmm(24, 3, 6, length=6, agreement=0.7, random_state=np.random.default_rng(0))[
    ::-1
]
X = [[[f"x={seen}"] for seen in row] for row in OBSERVED]
Y = [["abc"[label] for label in row] for row in HIDDEN]
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(60, 8))
CLASSES = (TABLE[:, :3] + RNG.normal(size=(60, 3))).argmax(axis=1)


def by_sum(name):
    """Seven groups of weights."""
    return str(sum(map(ord, name)) % 7)


def tagger(max_iterations=1000, tolerance=None, **settings):
    return lambda checkpoint: SequenceTagger(
        **{"tuning": None, **settings}, n_jobs=1, run=Run(None, None, checkpoint, max_iterations, tolerance)
    ).fit(X, Y)


def classifier(**settings):
    return lambda checkpoint: Classifier(n_jobs=1, run=Run(checkpoint=checkpoint), **settings).fit(
        TABLE, CLASSES
    )


def tree(**settings):
    inner, data = SequenceTagger(n_jobs=1), {"a": (X[:12], Y[:12]), "b": (X[12:], Y[12:])}
    nodes = {"root": ["a", "b"]}
    return lambda checkpoint: MultitaskEstimator(
        inner, nodes, n_jobs=1, run=Run(checkpoint=checkpoint), **settings
    ).fit(data)


VALUES = (0.1, 1.0, 10.0)
WORKS = {  # functions of a checkpoint that give what was fitted; and every which evaluation they survive
    "lbfgs": (tagger(), 5),
    "newton": (classifier(tuning=None), 5),
    "conjugate gradients": (classifier(tuning=None, hessian="exact"), 8),
    "l1": (tagger(l1=0.5), 5),
    "l1 by newton": (classifier(tuning=None, l1=0.5), 5),
    "bundle of outputs": (tagger(loss="margin"), 5),
    "lbfgs to its limit": (tagger(max_iterations=8), 8),
    "bundle to its limit": (tagger(loss="margin", penalty=1e-6, max_iterations=60, tolerance=1e-9), 15),
    "bundle of planes": (classifier(loss="margin", tuning=None), 5),
    "ramp": (tagger(loss="ramp"), 8),
    "constraints": (tagger(constraints="validation"), 150),
    "implicit": (tagger(tuning="implicit", cv=2, groups=by_sum), 100),
    "implicit by newton": (classifier(tuning="implicit", cv=2, groups=by_sum), 100),
    "majorize": (tagger(tuning="majorize"), 60),
    "effective": (tagger(tuning=MajorizeTuner(count="effective", tolerance=1e-3)), 60),
    "calibrated": (tagger(tuning=MajorizeTuner(calibrated=True), cv=2), 60),
    "majorize margins": (classifier(tuning=MajorizeTuner(), loss="margin"), 12),
    "direct": (tagger(tuning=DirectTuner(beta=0.01)), 8),
    "grid": (tagger(tuning=GridTuner(VALUES), cv=2), 20),
    "warm grid": (tagger(tuning=GridTuner(VALUES, warm=True), cv=2), 20),
    "grid of margins": (tagger(tuning=GridTuner(VALUES[:2]), cv=2, loss="margin"), 30),
    "tree": (tree(gammas=(0.5,)), 20),
    "chosen tree": (tree(gammas=(0.0, 0.5)), 40),
    "tuned tree": (tree(tuning="implicit"), 40),
}
