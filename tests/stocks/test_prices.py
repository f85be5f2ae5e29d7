"""Tables of prices."""

import gzip
import io

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from structune.errors import DataError
from structune.stocks.prices import read_prices

TEXT = "Date,a,b-c\n2002-01-02,1.5,20\n\n2002-01-04,,19.5\r\n"


def read(text):
    return read_prices(io.StringIO(text))


@pytest.mark.parametrize("compress", [False, True])
def test_a_table(tmp_path, compress):
    path = tmp_path / "prices.csv"
    path.write_bytes(gzip.compress(TEXT.encode()) if compress else TEXT.encode())
    days, tickers, prices = read_prices(path)
    assert days.tolist() == [np.datetime64("2002-01-02").item(), np.datetime64("2002-01-04").item()]
    assert tickers == ["a", "b-c"]
    assert_array_equal(prices, [[1.5, 20.0], [np.nan, 19.5]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: found the header '', expected a date and tickers"),
        ("Date\n", ":1: found the header 'Date', expected a date and tickers, each once"),
        ("Date,a,a\n", ":1: found the header 'Date,a,a', expected a date and tickers, each once"),
        ("Date,a\n", ": found no line of prices, expected one at least"),
        ("Date,a\n2002-01-02,1,2\n", ":2: found 2 prices, expected 1"),
        ("Date,a\n\n02.01.2002,1\n", ":3: found the date '02.01.2002', expected one such as"),
        ("Date,a,\n", ":1: found the header 'Date,a,', expected a date and tickers"),
        ("Date,a\ntoday,1\n", ":2: found the date 'today', expected one such as"),
        ("Date,a\n2006,1\n", ":2: found the date '2006', expected one such as"),
        ("Date,a\n,1\n", ":2: found the date '', expected one such as"),
        (
            "Date,a\n2002-01-02,1\n2002-01-02,1\n",
            ":3: found the day 2002-01-02 after 2002-01-02, expected a la",
        ),
        ("Date,a\n2002-01-02,n/a\n", ":2: found the price 'n/a', expected a number > 0"),
        ("Date,a\n2002-01-02,0\n", ":2: found the price '0', expected a number > 0"),
        ("Date,a\n2002-01-02,inf\n", ":2: found the price 'inf', expected a number > 0"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(DataError, match=f"<input>{message}"):
        read(text)
