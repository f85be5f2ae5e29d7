"""The laws that every structure must pass, checked against all outputs written out one by one.

A structure's tests draw small problems and hold the laws to them::

    @given(problem=problems())
    def test_laws(problem):
        hold(problem)
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from structune.errors import CapabilityError
from structune.structure import Structure

_STEP = 1e-20  # of the complex step: its square vanishes


@dataclass(frozen=True)
class Problem:
    """A small shard, and every output of each of its examples.

    The feature vectors must come from the definition of the features, the raw inputs and the names of the
    weights, never from the structure's own encoding or kernels.

    Attributes
    ----------
    structure : Structure
    shard : Shard
    w : ndarray, shape (n_weights,)
    outputs : list of lists of ndarray
        All outputs of each example; one of each example, concatenated, are outputs of the shard.
    features : list of ndarray, shape (n_outputs, n_weights)
        F(x, y) of these outputs.
    agree : list of ndarray of bool, or None
        Which outputs agree with the example's partial labels; None if the shard has none.
    own : list of int, or None
        The output that the shard holds for each example; None if it holds none, or partial ones.
    costs : list of ndarray, or None
        Cost of each output relative to the example's own.
    equivalent : list of ndarray of bool, or None
        Which outputs are as good as the example's own: any cost is the same relative to them.
    """

    structure: Structure
    shard: Any
    w: np.ndarray
    outputs: list[list[np.ndarray]] = field(repr=False)
    features: list[np.ndarray] = field(repr=False)
    agree: list[np.ndarray] | None = field(default=None, repr=False)
    own: list[int] | None = None
    costs: list[np.ndarray] | None = field(default=None, repr=False)
    equivalent: list[np.ndarray] | None = field(default=None, repr=False)

    @property
    def rng(self) -> np.random.Generator:
        """The same random numbers for every law."""
        return np.random.default_rng(0)

    @property
    def scores(self) -> list[np.ndarray]:
        """Scores of all outputs of each example."""
        return [features @ self.w for features in self.features]

    @property
    def kept(self) -> Problem:
        """The same problem with only the outputs that agree with the partial labels."""
        return self.only(self.agree)

    def only(self, marked: list[np.ndarray]) -> Problem:
        """The same problem with only the outputs that are marked."""
        chosen = [np.flatnonzero(marks) for marks in marked]
        return replace(
            self,
            outputs=[[ys[k] for k in keep] for ys, keep in zip(self.outputs, chosen, strict=True)],
            features=[rows[keep] for rows, keep in zip(self.features, chosen, strict=True)],
        )

    def log_partition(self) -> np.ndarray:
        return np.array([logsumexp(scores) for scores in self.scores])

    def expected(self, weights: np.ndarray) -> np.ndarray:
        """Weighted sum over examples of E[F]."""
        means = [np.exp(s - logsumexp(s)) @ f for s, f in zip(self.scores, self.features, strict=True)]
        return weights @ np.array(means)

    def covariance(self, v: np.ndarray) -> np.ndarray:
        """Weighted sum over examples of Cov[F] v."""
        total = np.zeros_like(v)
        for weight, scores, features in zip(self.shard.weights, self.scores, self.features, strict=True):
            p = np.exp(scores - logsumexp(scores))
            centred = features - p @ features
            total += weight * (p * (centred @ v)) @ centred
        return total

    def draw(self) -> np.ndarray:
        """One output of each example, at random: their places in the enumeration."""
        return self.rng.integers([len(ys) for ys in self.outputs])

    def join(self, choice: np.ndarray) -> np.ndarray:
        """The outputs of the shard that `choice` picks."""
        return np.concatenate([ys[k] for ys, k in zip(self.outputs, choice, strict=True)])

    def pick(self, per_example: list[np.ndarray], choice: np.ndarray) -> np.ndarray:
        return np.array([values[k] for values, k in zip(per_example, choice, strict=True)])


Law = Callable[[Problem], None]


def needs(*abilities: str) -> Callable[[Law], Law]:
    """The law holds where a structure has these abilities."""

    def decorate(law: Law) -> Law:
        @wraps(law)
        def checked(problem: Problem) -> None:
            if problem.structure.capabilities.issuperset(abilities):
                law(problem)

        return checked

    return decorate


def hold(problem: Problem, but: tuple[Law, ...] = ()) -> None:
    """Hold all laws to the problem, but those given; nothing that a structure is given may change."""
    w, shard = problem.w.copy(), pickle.dumps(problem.shard)
    for law in LAWS:
        if law not in but:
            law(problem)
    assert_array_equal(problem.w, w)
    assert pickle.dumps(problem.shard) == shard


def direction(problem: Problem) -> np.ndarray:
    return problem.rng.normal(size=problem.w.size)


def log_partition_and_gradient(problem, w=None, **options):
    """log_partition, and the expected features, which must be added to what is there."""
    w = problem.w if w is None else w
    before = problem.rng.normal(size=w.size).astype(w.dtype)
    gradient = before.copy()
    log_z = problem.structure.log_partition(w, problem.shard, gradient, **options)
    return log_z, gradient - before


# --- sums -------------------------------------------------------------------------------------------------


@needs("log_partition")
def log_partition_sums_all_outputs(problem):
    found = problem.structure.log_partition(problem.w, problem.shard)
    assert_allclose(found, problem.log_partition(), rtol=1e-10, atol=1e-10)


@needs("log_partition")
def every_output_counts_once(problem):
    rows = [tuple(y.tolist()) for ys in problem.outputs for y in ys]
    assert len(rows) >= len(problem.shard)
    for ys in problem.outputs:
        assert len({tuple(y.tolist()) for y in ys}) == len(ys)
    count = np.exp(problem.structure.log_partition(np.zeros_like(problem.w), problem.shard))
    assert_allclose(count, [len(ys) for ys in problem.outputs], rtol=1e-10)


@needs("log_partition")
def expected_features_are_enumerated_means(problem):
    log_z, expected = log_partition_and_gradient(problem)
    assert_allclose(expected, problem.expected(problem.shard.weights), rtol=1e-10, atol=1e-10)
    assert_allclose(log_z, problem.structure.log_partition(problem.w, problem.shard), rtol=1e-12, atol=1e-12)
    weights = problem.rng.uniform(0.0, 2.0, len(problem.shard))
    _, expected = log_partition_and_gradient(problem, weights=weights)
    assert_allclose(expected, problem.expected(weights), rtol=1e-10, atol=1e-10)


@needs("log_partition")
def expected_features_are_the_slope(problem):
    v, step = direction(problem), 1e-5
    ahead, behind = (
        problem.shard.weights @ problem.structure.log_partition(problem.w + s * v, problem.shard)
        for s in (step, -step)
    )
    _, expected = log_partition_and_gradient(problem)
    scale = 1.0 + np.abs(problem.shard.weights @ problem.log_partition())
    assert_allclose(expected @ v, (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-7 * scale)


@needs("log_partition", "complex")
def complex_step_gives_slope_and_curvature(problem):
    v = direction(problem)
    log_z, expected = log_partition_and_gradient(problem, problem.w + 1j * _STEP * v)
    each = [problem.expected(unit) @ v for unit in np.eye(len(problem.shard))]
    assert_allclose(log_z.imag / _STEP, each, rtol=1e-9, atol=1e-9)
    assert_allclose(expected.imag / _STEP, problem.covariance(v), rtol=1e-9, atol=1e-9)
    assert_allclose(log_z.real, problem.log_partition(), rtol=1e-10, atol=1e-10)
    assert_allclose(expected.real, problem.expected(problem.shard.weights), rtol=1e-10, atol=1e-10)


@needs("log_partition", "hessian")
def hessian_products_are_covariances(problem):
    product = problem.structure.linearize(problem.w, problem.shard)
    for v in (direction(problem), np.zeros_like(problem.w), -3.0 * direction(problem)[::-1]):
        assert_allclose(product(v), problem.covariance(v), rtol=1e-9, atol=1e-9)


@needs("log_partition", "hessian")
def hessian_products_are_gradient_differences(problem):
    v, step = direction(problem), 1e-5
    (log_z, ahead), (_, behind) = (
        log_partition_and_gradient(problem, problem.w + s * v) for s in (step, -step)
    )
    found = problem.structure.linearize(problem.w, problem.shard)(v)
    # sums of large scores are known to eps times their size, and a difference divides that by its step
    noise = np.finfo(float).eps * np.abs(log_z).max(initial=0) * np.abs(ahead).max(initial=0) / step
    atol = 1e-6 * (1 + np.abs(found).max(initial=0)) + noise
    assert_allclose(found, (ahead - behind) / (2 * step), rtol=1e-5, atol=atol)


@needs("log_partition", "dense_hessian")
def dense_hessians_are_covariances(problem):
    found = problem.structure.hessian(problem.w, problem.shard)
    expected = np.array([problem.covariance(unit) for unit in np.eye(problem.w.size)]).reshape(found.shape)
    assert found.shape == (problem.w.size, problem.w.size)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert_array_equal(found, found.T)


@needs("hessian")
def variance_is_a_positive_diagonal(problem):
    found = problem.structure.variance(problem.w, problem.shard)
    assert found.shape == problem.w.shape
    assert np.isfinite(found).all()
    assert (found >= 0.0).all()


# --- partial labels ---------------------------------------------------------------------------------------


@needs("log_partition", "within")
def within_sums_agreeing_outputs(problem):
    if problem.agree is not None:
        log_z, expected = log_partition_and_gradient(problem, within=True)
        kept = problem.kept
        assert_allclose(log_z, kept.log_partition(), rtol=1e-10, atol=1e-10)
        assert_allclose(expected, kept.expected(kept.shard.weights), rtol=1e-10, atol=1e-10)


@needs("log_partition", "within", "hessian")
def within_hessian_products_are_covariances(problem):
    if problem.agree is not None:
        v = direction(problem)
        found = problem.structure.linearize(problem.w, problem.shard, within=True)(v)
        assert_allclose(found, problem.kept.covariance(v), rtol=1e-9, atol=1e-9)


@needs("log_partition", "within", "complex")
def within_complex_step_gives_curvature(problem):
    if problem.agree is not None:
        v = direction(problem)
        _, expected = log_partition_and_gradient(problem, problem.w + 1j * _STEP * v, within=True)
        assert_allclose(expected.imag / _STEP, problem.kept.covariance(v), rtol=1e-9, atol=1e-9)


# --- scores and decoding ----------------------------------------------------------------------------------


def features_and_scores_follow_the_definition(problem):
    choice = problem.draw()
    check_features(problem, choice, problem.join(choice))


def own_outputs_are_the_default(problem):
    if problem.own is not None:
        check_features(problem, np.array(problem.own), None)


def check_features(problem, choice, outputs):
    structure, shard = problem.structure, problem.shard
    rows = problem.pick(problem.features, choice)
    found = structure.feature_rows(shard, outputs)
    assert found.shape == (len(shard), structure.n_weights)
    assert_allclose(found.toarray(), rows, rtol=1e-12, atol=1e-12)
    assert_allclose(structure.score(problem.w, shard, outputs), rows @ problem.w, rtol=1e-10, atol=1e-10)
    before = problem.rng.normal(size=problem.w.size)
    for weights in (None, problem.rng.uniform(0.0, 2.0, len(shard))):
        out = before.copy()
        structure.features(shard, out, weights, outputs)
        expected = (shard.weights if weights is None else weights) @ rows
        assert_allclose(out - before, expected, rtol=1e-10, atol=1e-10)


@needs("best")
def best_is_the_enumerated_maximum(problem):
    outputs, best = problem.structure.best(problem.w, problem.shard)
    assert_allclose(best, [scores.max() for scores in problem.scores], rtol=1e-10, atol=1e-10)
    assert_allclose(problem.structure.score(problem.w, problem.shard, outputs), best, rtol=1e-10, atol=1e-10)
    check_outputs(problem, outputs)


def check_outputs(problem, outputs):
    """They are among those of the problem, as far as their features tell."""
    found = problem.structure.feature_rows(problem.shard, outputs).toarray()
    for row, features in zip(found, problem.features, strict=True):
        assert np.abs(features - row).max(axis=1, initial=0.0).min() < 1e-9


@needs("cost")
def costs_follow_the_definition(problem):
    if problem.costs is not None:
        choice = problem.draw()
        found = problem.structure.cost(problem.shard, problem.join(choice))
        assert_allclose(found, problem.pick(problem.costs, choice), rtol=1e-12, atol=1e-12)


@needs("best", "cost")
def best_with_cost_is_the_enumerated_maximum(problem):
    if problem.costs is not None:
        rate = problem.rng.uniform(0.0, 3.0, len(problem.shard))
        outputs, best = problem.structure.best(problem.w, problem.shard, rate)
        highest = [(s + r * c).max() for s, r, c in zip(problem.scores, rate, problem.costs, strict=True)]
        assert_allclose(best, highest, rtol=1e-10, atol=1e-10)
        score = problem.structure.score(problem.w, problem.shard, outputs)
        cost = problem.structure.cost(problem.shard, outputs)
        assert_allclose(score + rate * cost, best, rtol=1e-10, atol=1e-10)


@needs("rescaled", "cost")
def best_rescaled_is_the_enumerated_maximum(problem):
    if problem.own is not None and problem.costs is not None:
        rates = problem.rng.uniform(0.0, 3.0, len(problem.shard))
        rates[problem.rng.random(rates.size) < 0.3] = 0.0
        check_rescaled(problem, np.zeros_like(rates), None)
        check_rescaled(problem, rates, rates)


def check_rescaled(problem, rates, cost):
    structure, shard, w = problem.structure, problem.shard, problem.w
    terms = max((np.abs(features) @ np.abs(w)).max() for features in problem.features)
    tolerance = 1e-12 * (1.0 + terms)  # margins are differences of scores
    own, margins = problem.pick(problem.scores, problem.own), []
    for scores, of_own, rate, costs in zip(problem.scores, own, rates, problem.costs, strict=True):
        margins.append(costs * (scores - of_own + rate))
    outputs, values = structure.best_rescaled(w, shard, cost)
    assert_allclose(values, [each.max() for each in margins], rtol=1e-10, atol=tolerance)
    margin = structure.score(w, shard, outputs) - own
    attained = structure.cost(shard, outputs) * (margin + rates)
    assert_allclose(attained, values, rtol=1e-10, atol=tolerance)
    check_outputs(problem, outputs)


@needs("equivalent")
def best_equivalent_is_the_enumerated_maximum(problem):
    if problem.equivalent is not None:
        outputs, best = problem.structure.best_equivalent(problem.w, problem.shard)
        same = problem.only(problem.equivalent)
        assert_allclose(best, [scores.max() for scores in same.scores], rtol=1e-10, atol=1e-10)
        score = problem.structure.score(problem.w, problem.shard, outputs)
        assert_allclose(score, best, rtol=1e-10, atol=1e-10)
        check_outputs(same, outputs)


@needs("n_best")
def n_best_are_the_enumerated_top(problem):
    for n in (1, 3, max(len(ys) for ys in problem.outputs) + 1):
        for i, (outputs, best) in enumerate(problem.structure.n_best(problem.w, problem.shard, n)):
            top = np.sort(problem.scores[i])[::-1][:n]
            assert_allclose(best, top, rtol=1e-10, atol=1e-10)
            assert len({tuple(y.tolist()) for y in outputs}) == top.size
            one = problem.shard.take([i])
            score = [problem.structure.score(problem.w, one, y)[0] for y in outputs]
            assert_allclose(score, best, rtol=1e-10, atol=1e-10)


# --- shards -----------------------------------------------------------------------------------------------


def shards_slice(problem):
    n = len(problem.shard)
    whole = per_example(problem, problem.shard)
    for pick in (slice(None, None, -1), problem.rng.integers(-n, n, n + 2), problem.rng.random(n) < 0.5):
        if len(np.arange(n)[pick]):
            for name, values in per_example(problem, problem.shard.take(pick)).items():
                assert_allclose(values, whole[name][pick], rtol=1e-10, atol=1e-10, err_msg=name)


def shards_add_up(problem):
    pieces = [problem.shard.take([i]) for i in range(len(problem.shard))]
    assert sum(piece.n_parts for piece in pieces) == problem.shard.n_parts == problem.shard.sizes().sum()
    assert any(piece.is_partly_known for piece in pieces) == problem.shard.is_partly_known
    assert problem.shard.nbytes >= problem.shard.weights.nbytes
    if "log_partition" in problem.structure.capabilities:
        whole, parts = np.zeros_like(problem.w), np.zeros_like(problem.w)
        problem.structure.log_partition(problem.w, problem.shard, whole)
        for piece in pieces:
            problem.structure.log_partition(problem.w, piece, parts)
        assert_allclose(parts, whole, rtol=1e-10, atol=1e-10)


def shards_and_structures_pickle(problem):
    structure, shard = pickle.loads(pickle.dumps((problem.structure, problem.shard)))
    assert structure.weight_names() == problem.structure.weight_names()
    assert shard.nbytes == problem.shard.nbytes
    again = per_example(replace(problem, structure=structure), shard)
    for name, values in per_example(problem, problem.shard).items():
        assert_array_equal(again[name], values, err_msg=name)


def per_example(problem, shard):
    """Everything the structure says of single examples."""
    structure = problem.structure
    values = {"weights": shard.weights, "sizes": shard.sizes()}
    if "log_partition" in structure.capabilities:
        values["log_partition"] = structure.log_partition(problem.w, shard)
    if "within" in structure.capabilities and problem.agree is not None:
        values["within"] = structure.log_partition(problem.w, shard, within=True)
    if "best" in structure.capabilities:
        values["best"] = structure.best(problem.w, shard)[1]
    if "rescaled" in structure.capabilities and problem.own is not None:
        values["rescaled"] = structure.best_rescaled(problem.w, shard)[1]
    if "equivalent" in structure.capabilities and problem.own is not None:
        values["equivalent"] = structure.best_equivalent(problem.w, shard)[1]
    if problem.own is not None:
        values["features"] = structure.feature_rows(shard).toarray()
    return values


# --- the rest ---------------------------------------------------------------------------------------------


def weights_have_names_and_groups(problem):
    names, groups = problem.structure.weight_names(), problem.structure.groups()
    assert len(names) == len(set(names)) == problem.structure.n_weights == problem.w.size
    assert groups.index.shape == problem.w.shape
    assert len(set(groups.names)) == len(groups)
    assert groups.sizes.sum() == problem.w.size


def missing_abilities_are_refused(problem):
    structure, w, shard = problem.structure, problem.w, problem.shard
    questions = {
        "log_partition": lambda: structure.log_partition(w, shard),
        "complex": lambda: structure.log_partition(w + 0j, shard),
        "within": lambda: structure.log_partition(w, shard, within=True),
        "hessian": lambda: structure.linearize(w, shard),
        "dense_hessian": lambda: structure.hessian(w, shard),
        "squared_error": lambda: structure.squared_error(w, shard),
        "best": lambda: structure.best(w, shard),
        "cost": lambda: structure.best(w, shard, np.ones(len(shard))),
        "rescaled": lambda: structure.best_rescaled(w, shard),
        "equivalent": lambda: structure.best_equivalent(w, shard),
    }
    for ability, question in questions.items():
        if ability not in structure.capabilities:
            with pytest.raises(CapabilityError, match=structure.name):
                question()
            with pytest.raises(CapabilityError, match=f"solver needs '{ability}'"):
                structure.require(frozenset({ability}), "solver")
    structure.require(structure.capabilities, "solver")


LAWS: list[Law] = [
    log_partition_sums_all_outputs,
    every_output_counts_once,
    expected_features_are_enumerated_means,
    expected_features_are_the_slope,
    complex_step_gives_slope_and_curvature,
    hessian_products_are_covariances,
    hessian_products_are_gradient_differences,
    dense_hessians_are_covariances,
    variance_is_a_positive_diagonal,
    within_sums_agreeing_outputs,
    within_hessian_products_are_covariances,
    within_complex_step_gives_curvature,
    features_and_scores_follow_the_definition,
    own_outputs_are_the_default,
    best_is_the_enumerated_maximum,
    costs_follow_the_definition,
    best_with_cost_is_the_enumerated_maximum,
    best_rescaled_is_the_enumerated_maximum,
    best_equivalent_is_the_enumerated_maximum,
    n_best_are_the_enumerated_top,
    shards_slice,
    shards_add_up,
    shards_and_structures_pickle,
    weights_have_names_and_groups,
    missing_abilities_are_refused,
]
