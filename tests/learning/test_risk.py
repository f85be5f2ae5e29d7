"""The risk: sums over shards, the same for any number of threads, and its derivatives."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

from chains import chain_problems
from structune.errors import CapabilityError, DataError
from structune.flat.structure.classes import Classes
from structune.learning import risk as module
from structune.learning.losses import LogLoss
from structune.learning.risk import Risk, _counted, _Group
from structune.running import executors
from structune.running.executors import ThreadExecutor
from structune.tagging.data.hmm import hmm_attributes, simulate_hmm
from structune.tagging.structure.chain import Chain
from tiny import FLAT, PRODUCTS, dense_hessian, risk_of, small


def hmm_problem(partial=False, n_sequences=80):
    """A chain, a shard of simulated sequences with weights, and a point."""
    rng = np.random.default_rng(3)
    y, x = simulate_hmm(n_sequences, 5, random_state=0)
    outputs = [[str(label) for label in row] for row in y]
    if partial:
        outputs = [[None if rng.random() < 0.3 else label for label in row] for row in outputs]
    chain = Chain.build(hmm_attributes(x), outputs)
    shard = chain.encode(hmm_attributes(x), outputs, rng.uniform(0.0, 2.0, n_sequences))
    return chain, shard, rng.normal(scale=0.5, size=chain.n_weights)


def pieces(shard, n=7):
    return [shard.take(slice(k, None, n)) for k in range(n)]


def results(risk, w):
    v = np.random.default_rng(5).normal(size=w.size)
    value, gradient = risk.value_and_gradient(w)
    return {
        "value": value,
        "value alone": risk.value(w),
        "gradient": gradient,
        "hessian": risk.linearize(w)(v),
        "variance": risk.variance(w),
    }


@pytest.fixture(params=[7, 1 << 16])
def cells_per_piece(request, monkeypatch):
    monkeypatch.setattr(executors, "_CELLS_PER_PIECE", request.param)


@pytest.mark.usefixtures("cells_per_piece")
@pytest.mark.parametrize("partial", [False, True])
def test_threads_do_not_change_a_bit(partial):
    chain, shard, w = hmm_problem(partial)
    shards = pieces(shard)
    one = results(Risk(chain, LogLoss(), shards), w)
    for n_threads in (2, 3):
        again = results(Risk(chain, LogLoss(), shards, ThreadExecutor(n_threads)), w)
        for name, values in one.items():
            assert_array_equal(again[name], values, err_msg=name)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("parts_per_shard", [1, 300])
def test_sharding_does_not_matter(partial, parts_per_shard):
    chain, shard, w = hmm_problem(partial)
    whole = Risk.over(chain, LogLoss(), shard)
    with mock.patch.object(module, "_WORK_PER_SHARD", parts_per_shard):
        sharded = Risk.over(chain, LogLoss(), shard)
    assert len(whole.shards) == 1 < len(sharded.shards) <= 16
    found, expected = results(sharded, w), results(whole, w)
    for name in ("value", "value alone", "gradient", "hessian"):
        assert_allclose(found[name], expected[name], rtol=1e-10, atol=1e-10, err_msg=name)
    assert sharded.n_parts == whole.n_parts == shard.n_parts
    assert sharded.weight == pytest.approx(whole.weight)


@settings(max_examples=25)
@given(problem=chain_problems().filter(lambda p: p.own is not None or p.agree is not None))
def test_the_three_hessian_methods_agree(problem):
    v = np.random.default_rng(0).normal(size=problem.w.size)
    exact, complex_step, difference = (
        Risk(problem.structure, LogLoss(), pieces(problem.shard, 2), hessian=method).linearize(problem.w)(v)
        for method in PRODUCTS
    )
    assert_allclose(complex_step, exact, rtol=1e-9, atol=1e-9)
    assert_allclose(difference, exact, rtol=1e-5, atol=1e-5 * (1 + np.abs(exact).max(initial=0)))


def test_passes_are_counted():
    chain, shard, w = hmm_problem()
    risk = Risk(chain, LogLoss(), [shard])
    risk.value(w)
    risk.value_and_gradient(w)
    assert risk.passes == 2
    product = risk.linearize(w)
    product(w)
    product(w)
    assert risk.passes == 5


class Greedy(LogLoss):
    needs = frozenset({"log_partition", "best", "telepathy"})


class Gradients(Classes):
    capabilities = frozenset({"log_partition"})


def test_what_is_refused():
    chain, shard, _ = hmm_problem()
    with pytest.raises(DataError, match="hessian='newton': expected one of"):
        Risk(chain, LogLoss(), [shard], hessian="newton")
    with pytest.raises(CapabilityError, match="Greedy needs 'telepathy', which the structure 'chain'"):
        Risk(chain, Greedy(), [shard])
    with pytest.raises(DataError, match="no shards"):
        Risk(chain, LogLoss(), [])
    with pytest.raises(DataError, match="no complete labels"):
        Risk(chain, LogLoss(), [chain.encode(hmm_attributes(np.zeros((1, 2, 40), int)))])


@pytest.mark.parametrize(
    ("method", "ability"),
    [("exact", "'hessian'"), ("complex-step", "'complex'"), ("finite-difference", None)],
)
def test_hessian_methods_need_abilities(method, ability):
    structure = Gradients(["a", "b"], ["x"])
    risk = Risk(structure, LogLoss(), [structure.encode([[1.0]], ["a"])], hessian=method)
    w = np.zeros(4)
    if ability is None:
        assert_allclose(risk.linearize(w)(np.eye(4)[0]), [0.25, -0.25, 0.25, -0.25], atol=1e-9)
    else:
        with pytest.raises(CapabilityError, match=ability):
            risk.linearize(w)(w)


@pytest.mark.parametrize("kind", FLAT)
def test_the_matrix_is_that_of_the_products(kind):
    w = np.cos(np.arange(small(kind)[0].n_weights))
    found = risk_of(kind, hessian="dense").hessian_matrix(w)
    for method in ("dense", *PRODUCTS):
        expected = dense_hessian(risk_of(kind, hessian=method), w)
        assert_allclose(found, expected, rtol=1e-6, atol=1e-6, err_msg=method)
    assert_allclose(found, dense_hessian(risk_of(kind), w), rtol=1e-10, atol=1e-12)


def flat_risk(n, p, hessian="auto", labels=2, density=None):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p)) if density is None else sp.random_array((n, p), density=density, rng=rng)
    structure = Classes(list(range(labels)), [f"x{k}" for k in range(p)], reference=labels == 2)
    return Risk.over(structure, LogLoss(), structure.encode(x, rng.integers(0, labels, n)), hessian=hessian)


def test_auto_takes_a_matrix_where_there_are_few_weights():
    assert flat_risk(50, 4).dense
    assert flat_risk(2000, 10, labels=3).dense
    assert not flat_risk(4, 5000).dense
    assert not flat_risk(50, 300, labels=20).dense
    assert not flat_risk(50, 3000, density=0.01).dense
    assert not flat_risk(50, 4, hessian="exact").dense
    assert flat_risk(4, 300, hessian="dense").dense


def test_the_matrix_of_a_quadratic_is_made_once():
    risk = risk_of("linear", hessian="dense")
    first = risk.hessian_matrix(np.zeros(6))
    passes = risk.passes
    assert risk.hessian_matrix(np.ones(6)) is first
    assert risk.passes == passes


@pytest.mark.parametrize("partial", [False, True])
def test_an_origin_is_added_to_all_weights(partial):
    chain, shard, w = hmm_problem(partial)
    origin = np.random.default_rng(1).normal(size=w.size)
    moved, plain = (Risk.over(chain, LogLoss(), shard, origin=each) for each in (origin, None))
    for (name, found), expected in zip(
        results(moved, w).items(), results(plain, w + origin).values(), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=name)
    assert partial or moved.task_cost(w) == plain.task_cost(w + origin)
    assert moved.at_zero.value == plain.value(origin)


def test_threads_that_share_risks():
    """As those of a Dask worker, which has an object once."""
    risk, together = risk_of("chain"), Barrier(2, timeout=10)

    def work(risks, n):
        together.wait()
        for _ in range(n):
            risks[0].count_passes()
        together.wait()
        return n

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda n: _counted(_Group((risk,)), n, work), (3, 5)))
    assert found == [(3, [3.0]), (5, [5.0])]
    assert risk.passes == pytest.approx(8.0)
