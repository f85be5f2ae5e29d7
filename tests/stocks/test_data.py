"""Daily prices of US stocks."""

import numpy as np
import pytest

from structune.stocks.data import load_stocks, screened
from structune.stocks.prices import PriceTable


def test_what_is_left_out():
    """Tickers of which a price is missing, and those that move too far in a day, up or down."""
    days = np.arange("2002-01-01", "2002-01-04", dtype="datetime64[D]")
    columns = {
        "quiet": [10.0, 11.0, 10.0],
        "missing": [10.0, np.nan, 10.0],
        "up": [10.0, 25.0, 25.0],
        "down": [25.0, 25.0, 10.0],
    }
    table = PriceTable(days, list(columns), np.array(list(columns.values())).T)
    assert screened(table, 0.7).tickers == ["quiet"]
    assert screened(table, 1.0).tickers == ["quiet", "up", "down"]
    assert screened(table, 0.7).prices.tolist() == [[10.0], [11.0], [10.0]]


@pytest.mark.data
def test_data():
    days, tickers, prices = load_stocks()
    assert prices.shape == (days.size, len(tickers)) == (1510, 345)
    assert (str(days[0]), str(days[-1])) == ("2002-01-02", "2007-12-31")
    assert np.abs(np.diff(np.log(prices), axis=0)).max() <= 0.7
    assert len(load_stocks(np.inf).tickers) == 353
