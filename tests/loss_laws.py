"""The laws of losses that are maxima over outputs, for every structure that answers what they need.

A structure's tests hold them to the problems that its own laws are held to::

    @given(problem=problems())
    def test_laws_of_losses(problem):
        loss_laws.hold(problem)
"""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from laws import Law, Problem
from maxima import losses_of, maxima, planes, rescalings, risk_of
from structune.errors import CapabilityError, DataError
from structune.learning.margin_losses import DifferenceLoss, EquivalentMarginLoss, MarginLoss, RampLoss
from structune.learning.risk import Risk

_STEP = 1e-6


def hold(problem: Problem) -> None:
    """Hold all laws to the problem, or, where it has no outputs, those of what is refused."""
    w, shard = problem.w.copy(), pickle.dumps(problem.shard)
    for law in REFUSALS if problem.own is None else LAWS:
        law(problem)
    assert_array_equal(problem.w, w)  # arguments stay as they are
    assert pickle.dumps(problem.shard) == shard


def rounding(problem, *points, power=1):
    """What a loss may be off by: differences of scores times costs, summed."""
    scores = max(np.abs(rows).sum(axis=1).max(initial=0.0) for rows in problem.features)
    most = 1.0 + scores * max(np.abs(w).max(initial=0.0) for w in points)
    costs = 1.0 + max(costs.max() for costs in problem.costs)
    return 1e-12 * (most * costs) ** power * (1.0 + problem.shard.weights.sum())


def power_of(loss):
    """Of its growth."""
    return 2 if loss.outer == "squared_hinge" else 1


def elsewhere(problem):
    """Points to compare functions at: zero, near `w`, far away."""
    w, rng = problem.w, problem.rng
    return [np.zeros_like(w), w + rng.normal(size=w.size), 1e3 * rng.normal(size=w.size), -w]


def one_by_one(problem):
    """Shards of one example that counts once."""
    ones = replace(problem.shard, weights=np.ones(len(problem.shard)))
    return [ones.take([i]) for i in range(len(ones))]


# --- values -----------------------------------------------------------------------------------------------


def losses_are_enumerated_maxima(problem):
    for loss, values in losses_of(problem):
        risk = risk_of(problem, loss)
        for w in (problem.w, np.zeros_like(problem.w)):
            expected = problem.shard.weights @ values(w)
            tolerance = rounding(problem, w, power=power_of(loss))
            assert_allclose(risk.value(w), expected, rtol=1e-10, atol=tolerance)
            assert_allclose(risk.value_and_gradient(w)[0], expected, rtol=1e-10, atol=tolerance)


def nonlinear_and_linear_parts_add_up(problem):
    w, shard = problem.w, problem.shard
    for loss, _ in losses_of(problem):
        risk = risk_of(problem, loss)
        own = np.zeros_like(w)
        problem.structure.features(shard, own)
        separate = isinstance(loss, MarginLoss) and (loss.rescaling, loss.outer) == ("margin", "hinge")
        assert_allclose(risk.linear, -own * separate, rtol=1e-12, atol=1e-12)
        value, gradient = risk.nonlinear(w)
        whole, slope = risk.value_and_gradient(w)
        tolerance = rounding(problem, w, power=power_of(loss))
        assert_allclose(value + risk.linear @ w, whole, rtol=1e-12, atol=tolerance)
        assert_allclose(gradient + risk.linear, slope, rtol=1e-12, atol=tolerance)
        assert_allclose(loss.nonlinear(problem.structure, shard, w, None), value, rtol=1e-12, atol=tolerance)


def examples_count_by_their_weights(problem):
    w, weights = problem.w, problem.shard.weights
    for loss, _ in losses_of(problem):
        singles = [Risk(problem.structure, loss, [one]).value_and_gradient(w) for one in one_by_one(problem)]
        value, gradient = risk_of(problem, loss).value_and_gradient(w)
        tolerance = rounding(problem, w, power=power_of(loss))
        assert_allclose(value, weights @ [v for v, _ in singles], rtol=1e-10, atol=tolerance)
        assert_allclose(gradient, weights @ np.array([g for _, g in singles]), rtol=1e-10, atol=tolerance)


def bounds_come_in_order(problem):
    """Convex bound >= least over equivalent outputs >= ramp >= cost of the best output."""
    structure, w, slack = problem.structure, problem.w, 10 * rounding(problem, problem.w)
    for one in one_by_one(problem):

        def value(loss, one=one):
            return Risk(structure, loss, [one]).value(w)

        cost = Risk(structure, MarginLoss(), [one]).task_cost(w)
        assert_allclose(cost, structure.cost(one, structure.best(w, one)[0]))
        for rescaling in rescalings(problem):
            ramp, bound = value(RampLoss(rescaling)), value(MarginLoss(rescaling))
            found = MarginLoss(rescaling).violations(structure, one, w)
            assert cost <= ramp + slack
            assert ramp <= bound + slack
            assert ramp <= structure.cost(one, found.outputs) + slack
            if problem.equivalent is not None:
                assert ramp - slack <= value(EquivalentMarginLoss()) <= value(MarginLoss()) + slack


def violations_are_planes(problem):
    """Those of the maximum: its value here, and beta + Delta of the same outputs anywhere."""
    structure, shard, w = problem.structure, problem.shard, problem.w
    own = structure.feature_rows(shard)
    for loss, _ in losses_of(problem):
        found = loss.violations(structure, shard, w)
        rows, offsets = loss.planes(structure, shard, found, own)
        expected, tolerance = maxima(problem, w, loss.rescaling), rounding(problem, w)
        score = own @ w if loss.own_score_is_linear else 0.0
        assert_allclose(found.value - score, expected, rtol=1e-10, atol=tolerance)
        assert_allclose(rows @ w + offsets, expected, rtol=1e-10, atol=tolerance)
        for row, offset, (every, costs) in zip(
            rows.toarray(), offsets, planes(problem, loss.rescaling), strict=True
        ):
            away = np.abs(every - row).max(axis=1, initial=0.0) + np.abs(costs - offset)
            assert away.min() < 1e-9
        alone = loss.violations(structure, shard, w, augmented=False)
        expected = maxima(problem, w, loss.rescaling, augmented=False)
        assert_allclose(alone.value - score, expected, rtol=1e-10, atol=tolerance)


# --- slopes -----------------------------------------------------------------------------------------------


def convex_parts(problem):
    """Convex functions of the weights that give a value and a subgradient."""
    for loss, _ in losses_of(problem):
        risk = risk_of(problem, loss)
        assert risk.convex == (not isinstance(loss, DifferenceLoss))
        yield loss, risk.value_and_gradient if risk.convex else risk.concave


def subgradients_are_subgradients(problem):
    for loss, function in convex_parts(problem):
        for w in (problem.w, np.zeros_like(problem.w)):
            value, gradient = function(w)
            for v in elsewhere(problem):
                other, step = function(v)[0], gradient @ (v - w)
                slack = 1e-10 * (abs(other) + abs(value) + np.abs(gradient) @ np.abs(v - w))
                assert other >= value + step - slack - rounding(problem, v, w, power=power_of(loss))


def gradients_are_slopes(problem):
    """Where no two outputs are about equally good."""
    w, v = problem.w, problem.rng.normal(size=problem.w.size)
    if w.size and is_smooth(problem, w):
        v /= np.linalg.norm(v)
        for loss, _ in losses_of(problem):
            risk = risk_of(problem, loss)
            difference = (risk.value(w + _STEP * v) - risk.value(w - _STEP * v)) / (2 * _STEP)
            tolerance = 1e-6 + 1e2 * rounding(problem, w, power=power_of(loss)) / _STEP
            assert_allclose(risk.value_and_gradient(w)[1] @ v, difference, rtol=1e-5, atol=tolerance)


def is_smooth(problem, w):
    """Whether all maxima have a lead over the planes that are not the same."""
    every = [
        (rows, c * costs)
        for how in rescalings(problem)
        for rows, costs in planes(problem, how)
        for c in (0, 1)
    ]
    if problem.equivalent is not None:
        every += [(rows, np.zeros(len(rows))) for rows in problem.only(problem.equivalent).features]
    return all(lead(rows, offsets, w) > 1e-4 for rows, offsets in every)


def lead(rows, offsets, w):
    values = rows @ w + offsets
    best = values.argmax()
    away = np.abs(rows - rows[best]).max(axis=1, initial=0.0) + np.abs(offsets - offsets[best])
    return values[best] - values[away > 1e-9].max(initial=-np.inf)


def tangents_lie_above(problem):
    """The convex risk that a round of the convex-concave procedure minimises, and where it touches."""
    w = problem.w
    for loss, _ in losses_of(problem):
        if loss.convex:
            continue
        risk = risk_of(problem, loss)
        value, slope = risk.concave(w)
        tolerance = 10 * rounding(problem, w)
        assert_allclose(value, slope @ w, rtol=1e-10, atol=tolerance)
        tangent, bound = risk.bound(slope), risk.bound()
        assert tangent.convex
        assert bound.convex
        assert_allclose(tangent.value(w), risk.value(w), rtol=1e-10, atol=tolerance)
        margin = risk_of(problem, MarginLoss(loss.rescaling))
        for v in elsewhere(problem):
            slack = 10 * rounding(problem, v, w)
            assert tangent.value(v) >= risk.value(v) - slack
            assert_allclose(bound.value(v), margin.value(v), rtol=1e-10, atol=slack)
            assert bound.value(v) >= risk.value(v) - slack


def kinks_have_no_curvature(problem):
    for loss, _ in losses_of(problem):
        assert not loss.smooth
        for question in (loss.linearize, loss.variance, loss.hessian):
            with pytest.raises(DataError, match=f"{type(loss).__name__} has no second derivatives"):
                question(problem.structure, problem.shard, problem.w)


# --- what is refused --------------------------------------------------------------------------------------


def missing_abilities_are_refused(problem):
    """Before any work: there is not even a shard."""
    structure = problem.structure
    for loss in (MarginLoss("slack"), RampLoss("slack"), EquivalentMarginLoss(), MarginLoss()):
        missing = sorted(loss.needs - structure.capabilities)
        if missing:
            message = f"{type(loss).__name__} needs '{missing[0]}'.*, which the structure '{structure.name}'"
            with pytest.raises(CapabilityError, match=message):
                Risk(structure, loss, [None])


def unknown_outputs_are_refused(problem):
    if problem.agree is not None and all(np.sum(agree) == 1 for agree in problem.agree):
        return  # there is only one label
    for loss in (MarginLoss(), RampLoss(), MarginLoss("slack"), EquivalentMarginLoss()):
        if loss.needs <= problem.structure.capabilities:
            with pytest.raises(DataError, match="the shard has no"):
                risk_of(problem, loss).value(problem.w)


REFUSALS: list[Law] = [missing_abilities_are_refused, unknown_outputs_are_refused]

LAWS: list[Law] = [
    losses_are_enumerated_maxima,
    nonlinear_and_linear_parts_add_up,
    examples_count_by_their_weights,
    bounds_come_in_order,
    violations_are_planes,
    subgradients_are_subgradients,
    gradients_are_slopes,
    tangents_lie_above,
    kinks_have_no_curvature,
    missing_abilities_are_refused,
]
