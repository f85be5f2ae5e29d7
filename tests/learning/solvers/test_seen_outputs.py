"""The outputs seen so far: what they give lies below the loss, and meets it where it was decoded."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from maxima import OUTER, enumerated, margin_values, risk_of
from structune.learning.margin_losses import MarginLoss
from structune.learning.risk import Risk
from structune.learning.solvers.seen_outputs import SeenOutputs
from tiny import small

LOSSES = [("margin", "hinge"), *(("slack", outer) for outer in OUTER), ("margin", "logistic")]
CASES = [("chain", *loss) for loss in LOSSES]
CASES += [(kind, "margin", "hinge") for kind in ("binary", "ranking", "rna")]


def points(risk, n=6, scale=1.0):
    rng = np.random.default_rng(0)
    return [np.zeros(risk.n_weights), *(scale * rng.normal(size=(n - 1, risk.n_weights)))]


def seen_at(risk, *places):
    seen = SeenOutputs(risk)
    for w in places:
        seen.decode(w)
    return seen


@pytest.mark.parametrize(("kind", "rescaling", "outer"), CASES)
def test_the_estimate_is_a_bound_that_touches(kind, rescaling, outer):
    risk = risk_of(enumerated(kind), MarginLoss(rescaling, outer))
    seen, places = SeenOutputs(risk), points(risk)
    for k, w in enumerate(places):
        value, gradient = seen.decode(w)
        assert value == pytest.approx(risk.nonlinear(w)[0], rel=1e-9)
        for v in places:
            estimate, slope = seen.estimate(v)
            truth = risk.nonlinear(v)[0]
            tolerance = 1e-9 * (1.0 + abs(truth))
            assert estimate <= truth + tolerance
            assert estimate >= value + gradient @ (v - w) - tolerance
            assert value >= estimate + slope @ (w - v) - tolerance
        for v in places[: k + 1]:
            assert seen.estimate(v)[0] == pytest.approx(risk.nonlinear(v)[0], rel=1e-9)


@pytest.mark.parametrize(("kind", "rescaling", "outer"), CASES)
def test_the_estimate_along_a_line(kind, rescaling, outer):
    risk = risk_of(enumerated(kind), MarginLoss(rescaling, outer))
    places = points(risk)
    seen = seen_at(risk, *places[:4])
    w, step = places[4:]
    line = seen.along(w, step)
    for t in (-1.0, 0.0, 0.3, 1.0, 2.0):
        value, slope = line(t)
        estimate, gradient = seen.estimate(w + t * step)
        assert value == pytest.approx(estimate, rel=1e-12)
        assert slope == pytest.approx(gradient @ step, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", ["chain", "rna"])
def test_when_all_has_been_seen_the_estimate_is_the_loss(kind):
    problem = enumerated(kind)
    risk = risk_of(problem)
    seen = seen_at(risk, *points(risk, 100, 3.0))
    assert len(seen) <= sum(costs.size for costs in problem.costs)
    for w in points(risk, 20, 0.1):
        before = len(seen)
        value, _ = seen.decode(w)
        expected = problem.shard.weights @ margin_values(problem, w)
        assert value + risk.linear @ w == pytest.approx(expected, rel=1e-9)
        assert len(seen) - before <= len(problem.shard)


def test_a_decoding_is_a_pass_and_an_estimate_none():
    risk = risk_of(enumerated("chain"))
    seen, w = SeenOutputs(risk), points(risk)[1]
    assert (len(seen), risk.passes) == (0, 0)
    seen.decode(w)
    seen.estimate(w)
    seen.along(w, w)(1.0)
    assert (len(seen), risk.passes) == (16, 1)
    seen.decode(w)
    assert len(seen) == 16  # nothing is new


def test_the_cut_into_shards_does_not_matter():
    structure, shard = small("chain")
    one, many = (
        SeenOutputs(Risk(structure, MarginLoss(), pieces))
        for pieces in ([shard], [shard.take([k]) for k in range(len(shard))])
    )
    for w in points(one._risk):
        (value, gradient), (expected, slope) = many.decode(w), one.decode(w)
        assert value == pytest.approx(expected, rel=1e-12)
        assert_allclose(gradient, slope, atol=1e-12)
    assert_array_equal(many.example, one.example)
