"""Problems so small that their optima are known to rounding, and ways to cut work on them short."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from structune.flat.structure.classes import Classes
from structune.flat.structure.linear import Linear
from structune.learning.losses import LogLoss, SquaredLoss
from structune.learning.margin_losses import MaximumLoss
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning import TuningProblem
from structune.learning.tuning.implicit import hypergradient
from structune.running.executors import ThreadExecutor
from structune.running.monitor import BudgetExhausted, Monitor
from structune.structure import Groups
from structune.tagging.data.hmm import hmm_attributes, hmm_groups, simulate_hmm
from structune.tagging.structure.chain import Chain

threadpool_limits(1, "blas")  # on small matrices threads only wait for each other
KINDS = ("chain", "classes", "partial")
FLAT = ("classes", "binary", "linear")  # whose Hessian is at hand as a matrix
NAMES = ["size=1", "size=2", "size=3", "hue=1", "hue=2"]
PRODUCTS = ("exact", "complex-step", "finite-difference")  # Hessian methods of every structure


def small(kind, seed=0):
    """A structure with some 20 weights, and a shard of a few dozen weighted examples."""
    kinds = {"chain": _chain, "partial": _partial, "classes": _classes, "binary": _binary, "linear": _linear}
    return kinds[kind](np.random.default_rng(seed))


def _chain(rng, unknown=0.0):
    y, x = simulate_hmm(16, 2, 3, length=4, agreement=0.75, random_state=rng)
    outputs = [[None if rng.random() < unknown else "ab"[label] for label in row] for row in y]
    chain = Chain.build(hmm_attributes(x), outputs)
    return chain, chain.encode(hmm_attributes(x), outputs, rng.uniform(0.5, 1.5, len(y)))


def _partial(rng):
    return _chain(rng, unknown=0.3)


def _classes(rng):
    structure = Classes(["a", "b", "c"], NAMES)
    x = rng.normal(size=(40, 5))
    labels = (x[:, :3] + rng.normal(size=(40, 3))).argmax(axis=1)
    return structure, structure.encode(x, ["abc"[y] for y in labels], rng.uniform(0.5, 1.5, 40))


def _binary(rng):
    structure = Classes(["no", "yes"], NAMES, reference=True)
    x = rng.normal(size=(40, 5))
    labels = (x[:, :2].sum(axis=1) + rng.normal(size=40) > 0.5).tolist()
    return structure, structure.encode(x, [["no", "yes"][y] for y in labels], rng.uniform(0.5, 1.5, 40))


def _linear(rng):
    structure = Linear(NAMES)
    x = rng.normal(size=(40, 5))
    y = 2.0 + x @ [1.5, -1.0, 0.5, 0.0, 0.0] + 0.5 * rng.normal(size=40)
    return structure, structure.encode(x, y, rng.uniform(0.5, 1.5, 40))


def group(structure, which):
    return {
        "single": lambda: Groups.single(structure.n_weights),
        "grouped": structure.groups,
        "free": lambda: _free_biases(structure.groups()),
        "separate": lambda: Groups.separate(structure.weight_names()),
    }[which]()


def _free_biases(groups):
    """The same but for the last group, whose weights have no penalty."""
    return Groups(np.where(groups.index == len(groups) - 1, -1, groups.index), groups.names[:-1])


def risk_of(kind, seed=0, executor=None, hessian="exact"):
    structure, shard = small(kind, seed)
    return Risk.over(structure, loss_of(structure), shard, executor, hessian)


def loss_of(structure):
    return SquaredLoss() if isinstance(structure, Linear) else LogLoss()


def dense_hessian(risk, w):
    product = risk.linearize(w)
    return np.array([product(e) for e in np.eye(w.size)])


def exact_fit(risk, precision, start=None):
    """The penalised optimum (the one near `start` where there are several) to rounding, by Newton steps."""
    w = fit_l2(risk, precision).w if start is None else start
    for _ in range(10):
        gradient = risk.value_and_gradient(w)[1] + precision * w
        system = dense_hessian(risk, w) + np.diag(precision)
        step = np.linalg.lstsq(system, gradient)[0]  # all biases may move together without a penalty
        w = w - step
        if np.abs(step).max() < 1e-8:  # squared by the step just made
            return w
    raise AssertionError("Newton's method does not converge")


class Fuse(ThreadExecutor):
    """Works `n` times on the shards, and then as if Ctrl-C were pressed."""

    def __init__(self, n):
        super().__init__(1)
        self.left = n

    def map(self, function, *columns, shared=()):
        if self.left <= 0:
            raise KeyboardInterrupt
        self.left -= 1
        return super().map(function, *columns, shared=shared)


class OneCtrlC(Fuse):
    """Ctrl-C is pressed once, instead of the `n`-th work on the shards."""

    def map(self, function, *columns, shared=()):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return ThreadExecutor.map(self, function, *columns, shared=shared)


def press_ctrl_c(monkeypatch, n=0):
    """Once, instead of decoding a shard for a margin or ramp loss after the first `n` times."""
    whole, left = MaximumLoss.violations, iter([*[False] * n, True])

    def violations(*args, **options):
        if next(left, False):
            raise KeyboardInterrupt
        return whole(*args, **options)

    monkeypatch.setattr(MaximumLoss, "violations", violations)


def press_ctrl_c_at_evaluations(monkeypatch, n):
    """At every evaluation of a risk after the first `n`."""
    whole, left = Risk.value_and_gradient, iter(range(n))

    def value_and_gradient(self, w):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return whole(self, w)

    monkeypatch.setattr(Risk, "value_and_gradient", value_and_gradient)


class Budget(Monitor):
    """A monitor whose time is up after `n` checks."""

    def __init__(self, n):
        super().__init__()
        self.left = n

    def check(self):
        self.left -= 1
        if self.left < 0:
            raise BudgetExhausted


def tuning_problem(kind="chain", which="grouped", seed=0, hessian="exact", executor=None, **options):
    structure, shard = small(kind, seed)
    groups = group(structure, which)
    return TuningProblem.build(
        structure, loss_of(structure), shard, groups, hessian=hessian, executor=executor, **options
    )


def margin_problem(kind, loss, which="grouped", **options):
    """The same with a margin or ramp loss."""
    structure, shard = small(kind)
    return TuningProblem.build(structure, loss, shard, group(structure, which), **options)


def hmm_tuning_problem(n_sequences=60, n_relevant=4, n_features=12, seed=0, which="grouped", **options):
    """The papers' simulation, smaller: transitions, relevant features and noise have a group each."""
    y, x = simulate_hmm(n_sequences, n_relevant, n_features, length=8, agreement=0.7, random_state=seed)
    table, outputs = hmm_attributes(x), [["ab"[k] for k in row] for row in y]
    chain = Chain.build(table, outputs)
    kinds = hmm_groups(table.names, n_relevant)
    groups = {
        "grouped": Groups.by_name([kinds.get(name[:-4], "transitions") for name in chain.weight_names()]),
        "single": Groups.single(chain.n_weights),
        "separate": Groups.separate(chain.weight_names()),
    }[which]
    return TuningProblem.build(chain, LogLoss(), chain.encode(table, outputs), groups, **options)


def weight_precision(problem, d):
    return np.exp(d)[problem.groups.index]


def optima(problem, d, starts=None):
    """The weights fitted on each training part, to rounding."""
    starts = starts or [None] * len(problem.splits)
    precision = weight_precision(problem, d)
    return [exact_fit(s.train, precision, w) for s, w in zip(problem.splits, starts, strict=True)]


def heldout_loss(problem, fits):
    return sum(s.heldout.value(w) for s, w in zip(problem.splits, fits, strict=True))


def value_and_gradient(problem, d, **options):
    points = [hypergradient(split, problem.groups, d, **options) for split in problem.splits]
    return sum(p.value for p in points), np.sum([p.gradient for p in points], axis=0)
