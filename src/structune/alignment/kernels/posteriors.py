"""Probabilities of the matches of two sequences, those worth keeping: the sums of `sums`, for predictions.

Over all cells, without counts of uses. Of the forward pass only matches are kept, all else lives in two rows,
so that a pair costs the processor's arithmetic and not its memory.
"""

import numpy as np

from structune.alignment.kernels.sums import (
    after_gaps_in_y,
    into_done,
    into_end,
    into_gaps_in_x,
    into_gaps_in_y,
    into_start,
    scaled,
    total_of,
)
from structune.kernels.jit import kernel, part_of_bare_kernel


@kernel
def sparse_posterior(match, f, least, forward, starts, columns, values):
    """Keep the probabilities of matches from `least` on; returns the log-partition, and what share is lost.

    That is what the backward pass has not found again; nan where a sum has left the range of a double.
    ``match`` (n, m) has the factors of matches, ``forward`` (n + 1, m + 1) is to work in. What is kept goes
    to ``columns`` and ``values``, with room for n min(m, 1 / least), the last residue of x first: residue i
    gets ``starts[i + 1]:starts[i]``, of ``starts`` (n + 1,).
    """
    n, m = match.shape
    logs, ends = np.zeros(n + 1), np.zeros(n + 1)
    _fill(match, f, forward, logs, ends)
    none = f.x.begins[n] * f.y.begins[m]
    ends[0] = none
    top = 0.0
    for i in range(n + 1):
        if ends[i] > 0.0:
            top = max(top, logs[i])
    total = 0.0
    for i in range(n + 1):
        total += scaled(ends[i], logs[i] - top)
    log_z = np.log(total) + top
    found = _collect(match, f, forward, logs, log_z, least, starts, columns, values)
    return log_z, 1.0 - found - none * np.exp(-log_z)


@kernel
def _fill(match, f, forward, logs, ends):
    """Sums of what ends with each match; row i is scaled by exp(-logs[i])."""
    # the recursions of `forward`; gaps in x need the row above, so two rows of them take turns
    n, m = match.shape
    L = f.steps.size - 1
    gap_x, gap_y = np.zeros((2, L, m + 1)), np.zeros((L, m + 1))
    start, done = np.empty(m + 1), np.empty(m + 1)
    for j in range(m + 1):
        start[j] = f.x.begins[0] * f.y.begins[j]
    forward[0] = 0.0
    for i in range(1, n + 1):
        total = total_of(start)
        if not total > 0.0:
            total = 1.0
        scale, here, by = 1.0 / total, forward[i], match[i - 1]
        logs[i] = logs[i - 1] + np.log(total)
        here[0] = 0.0
        for j in range(m):
            here[j + 1] = (by[j] * scale) * start[j]
        gaps = gap_x[i % 2]
        into_gaps_in_x(f, f.y, i, scale, forward[i - 1], gap_x[1 - i % 2], gaps, 0)
        into_done(gaps, 0, f.x.closes[i - 1], done)
        into_gaps_in_y(f, f.y, i, here, done, gap_y, 0)
        into_start(f, f.y, scaled(f.x.begins[i], -logs[i]), True, here, done, gap_y, 0, start)
        ends[i] = into_end(f, f.y, i, True, here)


@kernel
def _collect(match, f, forward, logs, log_z, least, starts, columns, values):
    """The backward pass; returns the probability that there is a match at all."""
    # A first match at (i, j) has the probability begins_x begins_y S_backward: their sum is what the forward
    # pass has found, if no digits were lost.
    n, m = match.shape
    L, t, y = f.steps.size - 1, f.steps, f.y
    start, opened, here, worth = np.zeros((4, m + 1))
    gap_x, gap_y = np.zeros((L, m + 1)), np.empty((L, m + 1))
    total, size = 0.0, 0
    starts[n] = 0
    for i in range(n, 0, -1):
        # from the last row up: S of this row is known, then what follows it within the row, then the row
        # above
        total += _began(f, i, scaled(f.x.begins[i], -logs[i]), start)
        after_gaps_in_y(start, y, t, f.x.site[i], gap_y)
        factor, right = t[0] * f.x.site_open[i] * f.x.site[i], gap_y[0, 1:]
        for j in range(m):
            opened[j] = factor * (y.opens[j] * y.residue[j]) * right[j]
        _after_match(f, i, scaled(f.x.ends[i], logs[i] - log_z), start, opened, gap_x[0], here)
        if _match_probabilities(forward[i], here, least, worth):
            size = _keep(worth, least, columns, values, size)
        starts[i - 1] = size
        scale = np.exp(logs[i - 1] - logs[i])
        _gaps_in_x_above(f, i, scale, start, opened, gap_x)
        by = match[i - 1]
        for j in range(m):
            start[j] = scale * by[j] * here[j + 1]
        start[m] = 0.0
    begins = f.x.begins[0]
    for j in range(m + 1):
        total += begins * y.begins[j] * start[j]
    return total


@part_of_bare_kernel
def _began(f, i, begins, start):
    total = 0.0
    for j in range(1, start.size):
        total += f.y.begins[j] * start[j]
    return begins * (f.both[1] * total + f.y.begins[0] * start[0])


@part_of_bare_kernel
def _after_match(f, i, end, start, opened, down, out):
    """Backward values of matches; ``down`` are those of gaps in x that begin below."""
    m, y, inside = out.size - 1, f.y, i < f.x.residue.size
    corner = end * f.both[1] if inside else end
    for j in range(m):
        out[j] = corner * y.ends[j] + start[j] + opened[j]
    out[m] = end * y.ends[m] + start[m]
    if inside:
        factor = f.steps[0] * f.x.residue[i] * f.x.opens[i]
        for j in range(m + 1):
            out[j] += factor * (y.site_open[j] * y.site[j]) * down[j]


@part_of_bare_kernel
def _gaps_in_x_above(f, i, scale, start, opened, down):
    """Backward values of gaps in x: those of the row below become those of this row; ``opened`` is lent."""
    # The state after the last is the last, so `down` can be overwritten from the first state on.
    L, closes, both, site = down.shape[0], f.x.closes[i - 1] * scale, f.both[0], f.y.site
    residue = f.x.residue[i] * scale if i < f.x.residue.size else 0.0
    for j in range(start.size):
        opened[j] = closes * (start[j] + both * opened[j])
    for k in range(L - 1):
        out, after, factor = down[k], down[k + 1], residue * f.steps[k + 1]
        for j in range(start.size):
            out[j] = factor * site[j] * after[j] + opened[j]
    out, factor = down[L - 1], residue * f.steps[L]
    for j in range(start.size):
        out[j] = factor * site[j] * out[j] + opened[j]


@part_of_bare_kernel
def _match_probabilities(forward, backward, least, out):
    """Fill a row; returns how many are worth keeping."""
    # counted in a loop of its own, which has vectors; most rows of distant sequences have few, and many none
    for j in range(out.size):
        out[j] = forward[j] * backward[j]
    count = 0
    for j in range(out.size):
        count += 1 if out[j] >= least else 0
    return count


@part_of_bare_kernel
def _keep(worth, least, columns, values, size):
    for j in range(1, worth.size):
        if worth[j] >= least and size < values.size:
            columns[size], values[size] = j - 1, worth[j]
            size += 1
    return size
