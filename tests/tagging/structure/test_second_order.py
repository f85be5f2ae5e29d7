"""What second-order chains have beside; the laws of both orders are held in test_chain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from chains import assert_same, everything, is_linear, log_domain, table
from structune.errors import DataError
from structune.tagging.structure.second_order import SecondOrderChain


def trigrams(chain):
    return {name for name in chain.weight_names() if name.count(" -> ") == 2}


def test_trigrams_that_occur_have_weights():
    inputs = table([[[("a", 1.0)]] * 3, [[("a", 1.0)]]])
    chain = SecondOrderChain.build(inputs, [["A", "B", "B"], ["A"]], transitions="seen")
    seen = {"(start) -> A -> B", "A -> B -> B", "B -> B -> (end)", "(start) -> A -> (end)"}
    assert trigrams(chain) == seen
    chain = SecondOrderChain.build(inputs, [["A", "B", "B"], ["A"]], transitions="seen", boundary=False)
    assert trigrams(chain) == {"A -> B -> B"}
    partial = [["A", {"A", "B"}, "B"], ["A"]]
    chain = SecondOrderChain.build(inputs, partial, transitions="seen", boundary=False)
    assert trigrams(chain) == {"A -> B -> B", "A -> A -> B"}
    assert chain.groups().names == ("a", "transitions", "trigrams")


def test_all_trigrams_that_rules_allow_have_weights():
    inputs = table([[[("a", 1.0)]] * 3])
    chain = SecondOrderChain.build(inputs, [["A", "B", "B"]], forbidden=[("B", "A"), (None, "B")])
    allowed = {"A -> A -> A", "A -> A -> B", "A -> B -> B", "B -> B -> B"}
    starts = {"(start) -> A -> A", "(start) -> A -> B", "(start) -> A -> (end)"}
    assert trigrams(chain) == allowed | starts | {f"{x} -> (end)" for x in ("A -> A", "A -> B", "B -> B")}


def test_chains_are_merged_and_cut():
    inputs = table([[[("a", 1.0)]] * 3])
    chains = [
        SecondOrderChain.build(inputs, [list(labels)], transitions="seen", labels=sorted(set(labels)))
        for labels in ("ABB", "CAC")
    ]
    merged = SecondOrderChain.merge(chains)
    assert trigrams(merged) == trigrams(chains[0]) | trigrams(chains[1])
    names = merged.weight_names()
    which = np.array([name.count(" -> ") == 0 or name.startswith("A -> B") for name in names])
    kept, numbers = merged.keep(which)
    assert trigrams(kept) == {"A -> B -> B"}
    assert [names[k] for k in numbers] == kept.weight_names()
    assert trigrams(SecondOrderChain.merge(chains, transitions="all")) > trigrams(merged)


def test_too_many_labels_are_refused():
    with pytest.raises(DataError, match="there are 300 labels, but at most 256"):
        SecondOrderChain([f"y{y}" for y in range(300)], [], *[np.empty(0, np.int64)] * 2, trigrams=None)


def random_chain(n_labels, lengths, forbidden=None):
    """A chain whose weights score every position and label as they like, and sequences of such positions."""
    sequences = [[[(f"t={t}", 1.0)] for t in range(n)] for n in lengths]
    labels = [f"y{y}" for y in range(n_labels)]
    inputs, unknown = table(sequences), [[None] * n for n in lengths]
    chain = SecondOrderChain.build(inputs, unknown, states="all", labels=labels, forbidden=forbidden)
    return chain, chain.encode(inputs, [["y0"] * n for n in lengths])


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.sampled_from([2, 3, 9]),
    rules=st.sampled_from([[], [("y0", "y1"), ("y1", "y1")], [("y1", "y0")]]),
)
def test_the_linear_domain_is_safe_to_its_edge(seed, n_labels, rules):
    rng = np.random.default_rng(seed)
    chain, shard = random_chain(n_labels, [1, 2, 40], rules)
    direction = rng.choice([-1.0, 0.0, 1.0], size=chain.n_weights)  # the corners: the widest of ranges
    low, high = 0.0, 300.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if is_linear(chain, middle * direction, shard) else (low, middle)
    w = low * direction
    linear = everything(chain, w, shard)
    with log_domain():
        log = everything(chain, w, shard)
    scale = 1.0 + np.abs(w).max() * 40
    assert_same(linear, log, 1e-11 * scale)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_ten_thousand_tokens(scale):
    chain, shard = random_chain(3, [10_000])
    w = np.random.default_rng(0).normal(scale=scale, size=chain.n_weights)
    assert is_linear(chain, w, shard) == (scale == 1.0)
    found = everything(chain, w, shard)
    assert_allclose(found["marginals"].sum(axis=1), 1.0, rtol=1e-10)
    labels, best = chain.best(w, shard)
    assert best == pytest.approx(chain.score(w, shard, labels)[0], rel=1e-12)
    assert found["log_z"] >= best * (1 - 1e-12)
    if scale == 1.0:
        with log_domain():
            assert_same(found, everything(chain, w, shard), 1e-8)
