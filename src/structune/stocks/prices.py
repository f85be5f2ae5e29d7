"""Tables of prices: a comma-separated line a day, a column a ticker, the date first."""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.text import Lines, Source, shown


class PriceTable(NamedTuple):
    """Prices of several tickers on the same days.

    Attributes
    ----------
    days : ndarray of datetime64[D], shape (n_days,)
        Rising.
    tickers : list of str
    prices : ndarray of float64, shape (n_days, n_tickers)
        nan where there is none.
    """

    days: NDArray[np.datetime64]
    tickers: list[str]
    prices: NDArray[np.float64]


def read_prices(source: Source) -> PriceTable:
    """Read a table such as ``Date,aapl,ibm`` and ``2002-01-02,1.49,78.3``; empty cells are missing prices.

    Parameters
    ----------
    source : path or file object
        Compressed by gzip or not.

    Raises
    ------
    DataError
        Names the line: no tickers, one twice, a wrong number of cells, a date that is none or does not come
        after the one before, a price that is no number > 0.
    """
    lines = Lines(source)
    rows = lines.filled()
    number, header = next(rows, (1, ""))
    tickers = header.split(",")[1:]
    if not tickers or not all(tickers) or len(set(tickers)) < len(tickers):
        raise lines.refuse(
            number, f"found the header {shown(header)}, expected a date and tickers, each once"
        )
    days: list[Any] = []
    prices = []
    for number, text in rows:
        with lines.at(number):
            day, values = _row(text, len(tickers))
            if days and day <= days[-1]:
                raise DataError(f"found the day {day} after {days[-1]}, expected a later one")
        days.append(day)
        prices.append(values)
    if not days:
        raise DataError(f"{lines.name}: found no line of prices, expected one at least")
    return PriceTable(np.array(days), tickers, np.array(prices))


def _row(text: str, n_tickers: int) -> tuple[Any, list[float]]:
    first, *cells = text.split(",")
    if len(cells) != n_tickers:
        raise DataError(f"found {len(cells)} prices, expected {n_tickers}")
    try:
        day: Any = np.datetime64(date.fromisoformat(first))  # NumPy would take "today" for a date, and "2006"
    except ValueError:
        raise DataError(f"found the date {shown(first)}, expected one such as '2006-05-16'") from None
    return day, [_price(cell) for cell in cells]


def _price(cell: str) -> float:
    try:
        price = float(cell) if cell.strip() else np.nan
    except ValueError:
        price = -1.0
    if price <= 0.0 or np.isinf(price):
        raise DataError(f"found the price {shown(cell)}, expected a number > 0")
    return price
