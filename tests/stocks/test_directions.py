"""Features of prices: smoothing, directions, ranges of changes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from structune.errors import DataError
from structune.stocks.directions import FORBIDDEN_PAIRS, PAIRS, direction_sequence, smooth
from structune.tagging.structure.chain import Chain


def series(n=200, seed=0):
    return 50.0 * np.exp(np.cumsum(0.02 * np.random.default_rng(seed).normal(size=n)))


@given(window=st.sampled_from([1, 3, 5, 9]), n=st.integers(9, 40), seed=st.integers(0, 9))
def test_smoothing(window, n, seed):
    prices = series(n, seed)
    found = smooth(prices, window)
    assert found.shape == (n,)
    assert np.isnan(found[: window - 1]).all()
    for t in range(window - 1, n):
        assert_allclose(found[t], prices[t + 1 - window : t + 1].mean())


def test_only_the_causal_filter_knows_nothing_of_later_days():
    prices, changed = series(40), series(40)
    changed[20:] *= 3.0
    assert_array_equal(smooth(prices)[:20], smooth(changed)[:20])
    assert not np.array_equal(smooth(prices, causal=False)[:20], smooth(changed, causal=False)[:20])


def test_the_centred_filter_is_the_causal_one_read_early():
    prices = series(40)
    assert_array_equal(smooth(prices, 5, causal=False)[:-2], smooth(prices, 5)[2:])


@pytest.mark.parametrize("window", [0, 4, -1, 41])
def test_bad_windows(window):
    with pytest.raises(DataError, match=f"window={window}: expected an odd number up to the 40 days"):
        smooth(series(40), window)


def test_a_sequence_by_definition():
    smoothed, n_training = smooth(series()), 120
    sequence = direction_sequence(smoothed, n_training, 4)
    change = smoothed[1:] / smoothed[:-1] - 1.0  # of day t at t - 1
    bounds = np.nanquantile(change[: n_training - 1], [0.25, 0.5, 0.75])
    assert_array_equal(sequence.day, np.arange(8, 200))
    for k, t in enumerate(sequence.day):
        digits = [int((change[t - lag - 1] > bounds).sum()) for lag in (3, 2, 1)]
        assert sequence.names[sequence.ranges[k]] == "ranges=" + ",".join(map(str, digits))
        assert sequence.direction[k] == (smoothed[t] > smoothed[t - 1])
        assert sequence.before[k] == (smoothed[t - 1] > smoothed[t - 2])
    assert len(sequence.names) == len(set(sequence.names)) == 64


def test_features_know_nothing_of_their_day_nor_of_later_ones():
    prices = series()
    changed = np.concatenate((prices[:150], 2.0 * prices[150:]))
    one, other = (direction_sequence(smooth(p), 120) for p in (prices, changed))
    known = one.day <= 150
    assert_array_equal(one.ranges[known], other.ranges[known])
    assert_array_equal(one.before[known], other.before[known])
    assert_array_equal(one.direction[one.day < 150], other.direction[one.day < 150])


def test_sequences_fit_a_chain_of_pairs():
    """Labels are pairs, of which only those that share a direction follow each other."""
    sequence = direction_sequence(smooth(series()), 120, 3)
    inputs, labels = sequence.attributes(10, 60), sequence.labels(10, 60)
    chain = Chain.build(inputs, labels, states="all", forbidden=FORBIDDEN_PAIRS, labels=PAIRS)
    shard = chain.encode(inputs, labels)
    assert shard.n_parts == 50
    best = chain.best(np.random.default_rng(0).normal(size=chain.n_weights), shard)[0]
    pairs = [PAIRS[k].split() for k in best]
    assert all(a[1] == b[0] for a, b in pairwise(pairs))
    raised = [pair.split()[1] == "raise" for pair in labels[0]]
    assert_array_equal(raised, sequence.direction[10:60])


def test_series_with_gaps():
    smoothed = np.arange(1.0, 40.0)
    smoothed[20] = np.nan
    with pytest.raises(DataError, match="found a series with gaps"):
        direction_sequence(smoothed, 30)


def test_too_few_training_days():
    with pytest.raises(DataError, match="found 5 changes in 10 training days, expected 8"):
        direction_sequence(smooth(series()), 10)
