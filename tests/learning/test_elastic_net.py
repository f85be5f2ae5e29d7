"""Paths of l1 penalties: each point is the minimum, from the penalty that leaves nothing on."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from structune.errors import DataError
from structune.learning import elastic_net_path
from structune.learning.solvers.l2 import fit_l2
from structune.running.monitor import FitStopped
from tiny import Budget, risk_of

KINDS = ("chain", "classes")


def path(kind="chain", free=2, **options):
    risk = risk_of(kind)
    precision = np.full(risk.n_weights, 0.1)
    precision[-free:] = 0.0
    return risk, precision, elastic_net_path(risk, precision, **{"tolerance": 1e-7, **options})


@pytest.mark.parametrize("kind", KINDS)
def test_every_point_is_the_minimum(kind):
    _, precision, points = path(kind, n_factors=5)
    for factor, fit in points:
        l1 = factor * (precision > 0)
        cold = fit_l2(risk_of(kind), precision, l1=l1, tolerance=1e-7)
        assert fit.objective == pytest.approx(cold.objective, rel=1e-7)
        assert_allclose(fit.w, cold.w, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_it_begins_where_the_first_weight_leaves_zero(kind):
    risk, precision, points = path(kind, n_factors=7, least=1e-3)
    points = list(points)
    held = precision > 0
    assert not points[0][1].w[held].any()
    most = points[0][0]
    assert fit_l2(risk, precision, l1=0.99 * most * held, tolerance=1e-7).w[held].any()
    assert_allclose([b / a for (a, _), (b, _) in pairwise(points)], 1e-3 ** (1 / 6))
    assert np.count_nonzero(points[-1][1].w) > np.count_nonzero(points[1][1].w)


def test_starts_at_the_fit_before_save_passes():
    risk, precision, points = path(n_factors=12, least=0.1)
    warm = sum(fit.n_evaluations for _, fit in points)
    factors = [factor for factor, _ in path(n_factors=12, least=0.1)[2]]
    l1 = (precision > 0) * 1.0
    cold = sum(fit_l2(risk, precision, l1=t * l1, tolerance=1e-7).n_evaluations for t in factors)
    assert warm < cold


def test_factors_and_shares_that_are_given():
    shares = np.linspace(0.0, 1.0, 20)
    risk, precision, _ = path()
    found = list(elastic_net_path(risk, precision, shares, factors=[3.0, 1.0, 0.0], tolerance=1e-7))
    assert [factor for factor, _ in found] == [3.0, 1.0, 0.0]
    expected = fit_l2(risk, precision, l1=3.0 * shares, tolerance=1e-7)
    assert_array_equal(found[0][1].w, expected.w)
    assert found[2][1].w.all()


def test_the_time_is_up():
    _, _, points = path(monitor=Budget(30))
    with pytest.raises(FitStopped):
        list(points)


@pytest.mark.parametrize(
    "options", [{"least": 0.0}, {"n_factors": 1}, {"l1": np.zeros(20)}, {"factors": [-1.0]}]
)
def test_what_makes_no_path_is_refused(options):
    with pytest.raises(DataError, match="expected"):
        list(path(**options)[2])
