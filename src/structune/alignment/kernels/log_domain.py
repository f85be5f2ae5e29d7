"""Probabilities in the log domain, for any weights, and many times slower.

`log_backward` hands the probability of each cell on to those that it follows; `log_rows` in `best` is the
recursion before it.
"""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.jit import kernel
from structune.kernels.log_sums import add_logs


class Shares(NamedTuple):
    """Probabilities of states, as the `Rows` of `sums`, and of gaps in x that a gap in y follows."""

    start: Any
    match: Any
    gap_x: Any
    gap_y: Any
    done: Any


@kernel
def _share(part, whole):
    # where both are log 0, part - whole would be nan
    return np.exp(part - whole) if part.real > -np.inf else np.exp(part)


@kernel
def _begin(f, i, j):
    value = f.x.begins[i] + f.y.begins[j]
    return value + f.both[1] if i and j else value


@kernel
def _end(f, rows, i, j):
    value = rows.match[i, j] + f.x.ends[i] + f.y.ends[j]
    return value + f.both[1] if i < f.x.residue.size and j < f.y.residue.size else value


@kernel
def _done(f, rows, i, j):
    value = rows.gap_x[i, 0, j]
    for k in range(1, rows.gap_x.shape[1]):
        value = add_logs(value, rows.gap_x[i, k, j])
    return value + f.x.closes[i - 1]


@kernel
def log_backward(f, cells, rows, log_z, shares, posterior, used):
    """Hand the probability of each cell on to what it follows; ``shares`` are rows of zeros."""
    # The probability of a state is split among what it may follow, in proportion to the terms of its sum.
    # That needs no backward values, whose range is another one, and no part can exceed the whole.
    # Within a row first what runs along it, from the right; then gaps in x and matches, which go up a row.
    for i in range(posterior.shape[0], 0, -1):
        for j in range(cells.high[i], cells.low[i] - 1, -1):
            # from the end of the alignment to its last match
            part = _share(_end(f, rows, i, j), log_z)
            shares.match[i, j] += part
            if i < f.x.residue.size and j < f.y.residue.size:
                used.both[1] += part
            # from finished gaps in x to their states
            finished = shares.done[i, j] + _hand_on_start(f, rows, i, j, shares, used)
            used.x.closes[i - 1] += finished
            done = _done(f, rows, i, j)
            for k in range(rows.gap_x.shape[1]):
                part = _share(rows.gap_x[i, k, j] + f.x.closes[i - 1], done)
                shares.gap_x[i, k, j] += finished * part
            if j:
                _hand_on_gap_y(f, rows, i, j, shares, used)
        for j in range(cells.high[i], cells.low[i] - 1, -1):
            _hand_on_gap_x(f, rows, i, j, shares, used)
            if j:
                posterior[i - 1, j - 1] = shares.match[i, j]
                shares.start[i - 1, j - 1] += shares.match[i, j]


@kernel
def _hand_on_start(f, rows, i, j, shares, used):
    """From what a match may follow to matches and gaps in y; returns the share of finished gaps in x."""
    share, whole = shares.start[i, j], rows.start[i, j]
    if share.real == 0.0 and share.imag == 0.0:
        return 0.0 * share
    part = share * _share(_begin(f, i, j), whole)
    used.x.begins[i] += part
    if j:
        used.both[1] += part
    shares.match[i, j] += share * _share(rows.match[i, j], whole)
    for k in range(rows.gap_y.shape[1] if j else 0):
        part = share * _share(rows.gap_y[i, k, j] + f.y.closes[j - 1], whole)
        shares.gap_y[i, k, j] += part
        used.y.closes[j - 1] += part
    return share * _share(_done(f, rows, i, j), whole)


@kernel
def _hand_on_gap_y(f, rows, i, j, shares, used):
    """From states of gaps in y to those on the left, to a match, and to finished gaps in x."""
    L, t, y = rows.gap_y.shape[1], f.steps, f.y
    residue = y.residue[j - 1] + f.x.site[i]
    for k in range(L):
        share, whole = shares.gap_y[i, k, j], rows.gap_y[i, k, j]
        used.y.residue[j - 1] += share
        used.x.site[i] += share
        if k == L - 1:  # from itself, or from the state before it, which has what is left
            part = share * _share(rows.gap_y[i, k, j - 1] + residue + t[L], whole)
            used.steps[L] += part
            shares.gap_y[i, k, j - 1] += part
            share = share - part
        used.steps[k] += share
        if k:
            shares.gap_y[i, k - 1, j - 1] += share
            continue
        used.y.opens[j - 1] += share
        used.x.site_open[i] += share
        after_x = _done(f, rows, i, j - 1) + f.both[0]
        part = share * _share(after_x, add_logs(rows.match[i, j - 1], after_x))
        used.both[0] += part
        shares.done[i, j - 1] += part
        shares.match[i, j - 1] += share - part


@kernel
def _hand_on_gap_x(f, rows, i, j, shares, used):
    """From states of gaps in x to those above, and to a match."""
    L, t = rows.gap_x.shape[1], f.steps
    residue = f.x.residue[i - 1] + f.y.site[j]
    for k in range(L):
        share, whole = shares.gap_x[i, k, j], rows.gap_x[i, k, j]
        used.x.residue[i - 1] += share
        used.y.site[j] += share
        if k == L - 1:
            part = share * _share(rows.gap_x[i - 1, k, j] + residue + t[L], whole)
            used.steps[L] += part
            shares.gap_x[i - 1, k, j] += part
            share = share - part
        used.steps[k] += share
        if k:
            shares.gap_x[i - 1, k - 1, j] += share
        else:
            used.x.opens[i - 1] += share
            used.y.site_open[j] += share
            shares.match[i - 1, j] += share
