"""Losses that are maxima over outputs, written out: every output of an example is a plane in the weights."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import permutations, product

import numpy as np
from scipy.optimize import minimize

from laws import Problem
from rnas import problem_of
from structune.flat.structure.classes import Classes
from structune.learning.margin_losses import EquivalentMarginLoss, MarginLoss, RampLoss
from structune.learning.risk import Risk
from structune.ranking.structure.ranking import Ranking
from structune.rna.structure.rna import RNA
from tiny import small

GAMMA = {"margin": np.ones_like, "slack": np.array}  # of the costs
OUTER = {
    "hinge": lambda a: np.maximum(a, 0.0),
    "squared_hinge": lambda a: np.maximum(a, 0.0) ** 2 / 2,
    "huber": lambda a: np.where(a < 1.0, np.maximum(a, 0.0) ** 2 / 2, a - 0.5),
    "logistic": lambda a: np.logaddexp(0.0, a),
}
SLOPE = {
    "hinge": lambda a: np.heaviside(a, 0.0),
    "squared_hinge": lambda a: np.maximum(a, 0.0),
    "huber": lambda a: np.clip(a, 0.0, 1.0),
    "logistic": lambda a: 1.0 / (1.0 + np.exp(-a)),
}
ENUMERATED = ("chain", "classes", "binary", "ranking", "rna")


# --- the definitions --------------------------------------------------------------------------------------


def planes(problem, rescaling="margin"):
    """Of each example, Gamma(Delta) (F(x, y') - F(x, y)) and Delta of all its outputs y'."""
    return [
        (GAMMA[rescaling](costs)[:, None] * (features - features[y]), costs)
        for features, costs, y in zip(problem.features, problem.costs, problem.own, strict=True)
    ]


def maxima(problem, w, rescaling="margin", augmented=True):
    """max over outputs of beta + Delta, or of beta alone; of each example."""
    return np.array([(rows @ w + augmented * costs).max() for rows, costs in planes(problem, rescaling)])


def margin_values(problem, w, rescaling="margin", outer="hinge"):
    """Margin loss of each example."""
    return OUTER[outer](maxima(problem, w, rescaling))


def ramp_values(problem, w, rescaling="margin"):
    """Ramp loss of each example."""
    return maxima(problem, w, rescaling) - maxima(problem, w, rescaling, augmented=False)


def equivalent_values(problem, w):
    """The least margin loss of each example over the outputs that are as good as its own."""
    return np.array(
        [
            min((features @ w - features[y] @ w + costs).max() for y in np.flatnonzero(same))
            for features, costs, same in zip(problem.features, problem.costs, problem.equivalent, strict=True)
        ]
    )


def rescalings(problem):
    return ["margin", "slack"] if "rescaled" in problem.structure.capabilities else ["margin"]


def losses_of(problem):
    """The losses that the structure allows, and functions that give their values by definition."""
    found, last = [], rescalings(problem)[-1]
    for rescaling in rescalings(problem):
        for outer in OUTER if rescaling == last else ("hinge",):
            values = partial(margin_values, problem, rescaling=rescaling, outer=outer)
            found.append((MarginLoss(rescaling, outer), values))
        found.append((RampLoss(rescaling), partial(ramp_values, problem, rescaling=rescaling)))
    if problem.equivalent is not None:
        found.append((EquivalentMarginLoss(), partial(equivalent_values, problem)))
    return found


# --- problems with all their outputs ----------------------------------------------------------------------


@cache
def enumerated(kind):
    """A problem of `tiny.small`, or one of a few queries or sequences, with all outputs."""
    rng = np.random.default_rng(0)
    if kind == "rna":
        sequences = ["GGGAAAACCC", "GCAAAAGUGC", "GGAAACC", "GGCGAAAGCC"]
        return problem_of(RNA(), rng, sequences, 1.0)
    if kind == "ranking":
        structure, queries = Ranking(["size=1", "size=2", "hue=1"], k=2), np.repeat(np.arange(12), 3)
        x = rng.normal(size=(36, 3))
        relevance = np.clip(np.round(x[:, 0] + rng.normal(size=36)), 0, 2)
        shard = structure.encode((x, queries), relevance, rng.uniform(0.5, 1.5, 12))
        problem = _written_out(structure, shard, permutations(range(3)))
        sorted_by = [r[np.argsort(problem.outputs[0])] for r in relevance.reshape(12, 3)]
        return replace(problem, equivalent=[np.all(np.diff(r) <= 0, axis=1) for r in sorted_by])
    structure, shard = small(kind)
    outputs = product(range(2), repeat=4) if kind == "chain" else np.arange(structure.n_labels)[:, None]
    return _written_out(structure, shard, outputs)


def _written_out(structure, shard, outputs):
    """A problem whose examples all have the same outputs; laws compare the features with enumeration."""
    n, outputs = len(shard), [np.array(y) for y in outputs]
    every = [np.tile(y, n) for y in outputs]
    features = np.stack([structure.feature_rows(shard, y).toarray() for y in every], axis=1)
    own = np.reshape(shard.labels if hasattr(shard, "labels") else shard.outputs, (n, -1))
    return Problem(
        structure,
        shard,
        np.zeros(structure.n_weights),
        outputs=[outputs] * n,
        features=list(features),
        own=[[y.tolist() for y in outputs].index(row) for row in own.tolist()],
        costs=list(np.stack([structure.cost(shard, y) for y in every], axis=1)),
    )


def risk_of(problem, loss=None, executor=None):
    return Risk(problem.structure, loss or MarginLoss(), [problem.shard], executor)


def huge_features(loss=None):
    """Two classes of noisy examples, whose features are huge beside any precision."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + rng.normal(size=200) > 0.0).astype(int).tolist()
    structure = Classes([0, 1], [f"x{k}" for k in range(4)])
    return Risk.over(structure, loss or MarginLoss(), structure.encode(1e6 * X, y))


def objective(problem, w, precision, loss=None):
    """The loss of a problem and the prior."""
    return risk_of(problem, loss).value(w) + 0.5 * precision @ (w * w)


def minimum(problem, precision, center=0.0, rescaling="margin", outer="hinge", linear=0.0):
    """The least margin loss + ``linear . w`` + prior, and where, by SciPy: one slack an example."""
    every = planes(problem, rescaling)
    rows, offsets = np.concatenate([rows for rows, _ in every]), np.concatenate([costs for _, costs in every])
    example = np.repeat(np.arange(len(every)), [len(costs) for _, costs in every])
    scale, weights = np.sqrt(precision), problem.shard.weights
    center, linear = center + np.zeros(scale.size), linear + np.zeros(scale.size)
    # w = center + basis z / scale: away from the span of the planes there is nothing but the prior
    _, sizes, basis = np.linalg.svd(np.vstack([rows, linear]) / scale, full_matrices=False)
    basis = basis[sizes > 1e-10 * sizes.max(initial=1e-300)].T / scale[:, None]
    n = basis.shape[1]
    heights, slants, slope = rows @ center + offsets, rows @ basis, linear @ basis
    of_slack = -np.eye(len(every))[example]

    def value(x):
        z, slack = x[:n], x[n:]
        gradient = np.concatenate((z + slope, weights * SLOPE[outer](slack)))
        return 0.5 * z @ z + slope @ z + weights @ OUTER[outer](slack), gradient

    jacobian = -np.hstack([slants, of_slack])
    limits = {"type": "ineq", "fun": lambda x: jacobian @ x - heights, "jac": lambda x: jacobian}
    start = np.concatenate((np.zeros(n), [heights[example == k].max() for k in range(len(every))]))
    options = {"maxiter": 500, "ftol": 1e-14}
    found = minimize(value, start, jac=True, method="SLSQP", constraints=limits, options=options)
    assert found.success or found.status == 8, found.message  # 8: rounding hides the rest
    return found.fun + linear @ center, center + basis @ found.x[:n]
