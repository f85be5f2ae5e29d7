"""Fits side by side: each counts the passes that it takes itself."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from structune.learning.risk import _counted, _Group
from tiny import risk_of


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
