"""Losses against the enumeration of all outputs."""

import numpy as np
from hypothesis import given, settings
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from chains import chain_problems
from structune.learning.losses import LogLoss


def value_and_gradient(problem, w):
    """The whole loss and its gradient, put together as a risk does."""
    loss, gradient = LogLoss(), np.zeros_like(w)
    value = loss.nonlinear(problem.structure, problem.shard, w, gradient)
    linear = loss.linear(problem.structure, problem.shard)
    return (value, gradient) if linear is None else (value + linear @ w, gradient + linear)


def minus_log_likelihood(problem):
    """By enumeration: -log of the probability of the outputs that agree with what is known."""
    agree = problem.agree
    if agree is None:
        agree = [np.arange(s.size) == y for s, y in zip(problem.scores, problem.own, strict=True)]
    logs = [logsumexp(s) - logsumexp(s[a]) for s, a in zip(problem.scores, agree, strict=True)]
    return problem.shard.weights @ np.array(logs)


def has_outputs(problem):
    return problem.own is not None or problem.agree is not None


@settings(max_examples=30)
@given(problem=chain_problems().filter(has_outputs))
def test_log_loss_is_minus_log_likelihood(problem):
    """And its gradient is its slope."""
    value, gradient = value_and_gradient(problem, problem.w)
    assert_allclose(value, minus_log_likelihood(problem), rtol=1e-10, atol=1e-10)
    assert value > -1e-10
    v, step = np.random.default_rng(0).normal(size=problem.w.size), 1e-5
    (ahead, _), (behind, _) = (value_and_gradient(problem, problem.w + s * v) for s in (step, -step))
    assert_allclose(gradient @ v, (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-6)


@settings(max_examples=30)
@given(problem=chain_problems().filter(has_outputs))
def test_log_loss_hessian_is_a_difference_of_covariances(problem):
    v = np.random.default_rng(0).normal(size=problem.w.size)
    found = LogLoss().linearize(problem.structure, problem.shard, problem.w)(v)
    expected = problem.covariance(v)
    if problem.agree is not None:
        expected -= problem.kept.covariance(v)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
