"""Daily prices of US stocks, for the prediction of directions (Chen et al. 2009, section 5.2)."""

from __future__ import annotations

import numpy as np

from structune.files.data_sets import DataFile, find
from structune.stocks.prices import PriceTable, read_prices

_FILE = DataFile(
    "stocks/us_adjclose_2002_2007.csv.gz", "d3e861ed60e1bc710ac08bfe719fc7249e3467e69d8c854c3985534025b44f9b"
)


def load_stocks(largest_move: float = 0.7) -> PriceTable:
    """Adjusted closing prices of 353 US tickers on 1510 days, 2002-01-02 to 2007-12-31.

    The tickers are survivors: large companies that were still listed years later. Those of which a price is
    missing are left out, and those that move by more than `largest_move` in a day.

    Parameters
    ----------
    largest_move : float
        Of the logarithm of a price, up or down: moves beyond it are mostly errors of adjustment. 8 tickers
        move by more than 0.7.

    Raises
    ------
    DatasetUnavailable
        The file is not in the data folder (see STRUCTUNE_DATA), or is another one than expected.
    """
    return screened(read_prices(find(_FILE)), largest_move)


def screened(table: PriceTable, largest_move: float) -> PriceTable:
    """The tickers that have a price every day, and no larger move."""
    moves = np.abs(np.diff(np.log(table.prices), axis=0))
    kept = np.flatnonzero((moves <= largest_move).all(axis=0) & np.isfinite(table.prices).all(axis=0))
    return PriceTable(table.days, [table.tickers[k] for k in kept], table.prices[:, kept])
