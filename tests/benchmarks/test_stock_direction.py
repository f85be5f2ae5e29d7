"""Directions of stock prices, and the benchmark that runs on them."""

import gzip
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import price_directions as example
import stock_direction
from structune.tagging.structure.chain import Chain


def series(n=200, seed=0):
    return 50.0 * np.exp(np.cumsum(0.02 * np.random.default_rng(seed).normal(size=n)))


def test_prices(tmp_path):
    """Tickers of which a price is missing, and those that move too far in a day, up or down, are left out."""
    path = tmp_path / "prices.csv.gz"
    path.write_bytes(
        gzip.compress(b"Date,quiet,missing,up\n2002-01-02,10,10,10\n2002-01-04,11,,25\n2002-01-05,10,10,25\n")
    )
    days, tickers, prices = example.load_prices(path)
    assert_array_equal(days, np.array(["2002-01-02", "2002-01-04", "2002-01-05"], "datetime64[D]"))
    assert tickers == ["quiet"]
    assert_array_equal(prices, [[10.0], [11.0], [10.0]])
    assert example.load_prices(path, 1.0)[1] == ["quiet", "up"]


@pytest.mark.data
def test_data():
    days, tickers, prices = example.load_prices()
    assert prices.shape == (days.size, len(tickers)) == (1510, 345)
    assert (str(days[0]), str(days[-1])) == ("2002-01-02", "2007-12-31")


def test_a_sequence_by_definition():
    prices, n_training = series(), 120
    smoothed = example.smooth(prices)
    assert_allclose(smoothed[4:], [prices[t - 4 : t + 1].mean() for t in range(4, 200)])
    sequence = example.direction_sequence(smoothed, n_training, 4)
    change = smoothed[1:] / smoothed[:-1] - 1.0  # of day t at t - 1
    bounds = np.nanquantile(change[: n_training - 1], [0.25, 0.5, 0.75])
    assert_array_equal(sequence.day, np.arange(8, 200))
    for k, t in enumerate(sequence.day):
        digits = [int((change[t - lag - 1] > bounds).sum()) for lag in (3, 2, 1)]
        assert sequence.names[sequence.ranges[k]] == "ranges=" + ",".join(map(str, digits))
        assert sequence.direction[k] == (smoothed[t] > smoothed[t - 1])
        assert sequence.before[k] == (smoothed[t - 1] > smoothed[t - 2])
    assert len(sequence.names) == len(set(sequence.names)) == 64


def test_sequences_fit_a_chain_of_pairs():
    """Labels are pairs, of which only those that share a direction follow each other."""
    sequence = example.direction_sequence(example.smooth(series()), 120, 3)
    inputs, labels = sequence.attributes(10, 60), sequence.labels(10, 60)
    forbidden, pairs = example.FORBIDDEN_PAIRS, example.PAIRS
    chain = Chain.build(inputs, labels, states="all", forbidden=forbidden, labels=pairs)
    shard = chain.encode(inputs, labels)
    best = chain.best(np.random.default_rng(0).normal(size=chain.n_weights), shard)[0]
    assert all(pairs[a].split()[1] == pairs[b].split()[0] for a, b in pairwise(best))
    raised = [pair.split()[1] == "raise" for pair in labels[0]]
    assert_array_equal(raised, sequence.direction[10:60])


def test_a_walk_over_tickers(monkeypatch):
    monkeypatch.setitem(stock_direction.SETTINGS, "n_ranges", 3)
    rows = {f"ticker {k}": stock_direction.one(series(190, k), 180, 5) for k in range(2)}
    summary = stock_direction.summary(rows)
    assert summary["tickers"] == 2
    assert summary["fits"] == 4
    assert set(summary["accuracy"]["smoothed"]) == set(stock_direction.METHODS)
    assert all(0.0 <= share <= 1.0 for share in summary["accuracy"]["smoothed"].values())
