"""Forward and backward over the alignments of two sequences, in the linear domain, some rows at a time.

An alignment is a set of matches (i, j), rising in both. What lies between two matches next to each other is a
gap in x of p residues and a gap in y of q residues, in this order, so that every alignment is one path; what
lies before the first match and after the last is terminal, costs nothing by the residue (scores are relative
to it), and has a factor of its own at each cell where matches may begin and end. Without a match one sequence
comes after the other.

Row i of a table is what is left after i residues of x, column j after j of y. Rows are scaled: a cell holds
its value times ``exp(-logs[i])``. All loops run over rows of cells, next to each other in memory, but for
that along a gap in y, whose last state feeds itself.
"""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels._jit import kernel

_LEAST = 1e-290  # of a cell's share of its row: what is below counts as out of reach


class Side(NamedTuple):
    """Factors that one sequence, of n residues, brings in, or how often each was used.

    ``residue``: of a residue in a gap, relative to one that is terminal; ``opens``, ``closes``: of one that
    begins or ends a gap, all (n,). ``site``: of each residue of a gap of the other sequence at this place,
    before residue i; ``site_open``: of such a gap, both (n + 1,). ``begins``, ``ends``: that the matches may
    begin at residue i, and end before it, (n + 1,).
    """

    residue: Any
    opens: Any
    closes: Any
    site: Any
    site_open: Any
    begins: Any
    ends: Any


class Factors(NamedTuple):
    """Those of both sequences; ``steps`` (L + 1,): of the 1st to L-th residue of a gap and each further one;
    ``both`` (2,): of a gap in y that follows one in x, and of terminal residues of both at the same end."""

    x: Side
    y: Side
    steps: Any
    both: Any


class Rows(NamedTuple):
    """What is kept of B rows and the one before, k the place in a gap: cells (B + 1, [L,] m + 1)."""

    start: Any  # all that a match may follow
    match: Any
    gap_x: Any
    gap_y: Any
    logs: Any  # (B + 1,), of the scales


class Below(NamedTuple):
    """What backward hands from a row to the one before it."""

    start: Any  # (m + 1,)
    gap_x: Any  # (L, m + 1)


@kernel
def _finished(gap_x, closes, out):
    """Gaps in x that end here: the sum over their lengths."""
    for j in range(out.size):
        out[j] = gap_x[0, j]
    for k in range(1, gap_x.shape[0]):
        row = gap_x[k]
        for j in range(out.size):
            out[j] += row[j]
    for j in range(out.size):
        out[j] *= closes


@kernel
def _scaled(factor, log):
    """factor exp(log); 0 stays 0, however large the other."""
    return factor * np.exp(log) if factor.real != 0.0 else factor + 0.0 * np.exp(0.0 * log)


@kernel
def forward(match, first, f, rows, ends):
    """Fill rows 1..B from row 0; ``match`` (B, m) are the factors of matches of the residues ``first`` on.

    ``ends`` (B + 1,) becomes the value of all alignments whose last match is in the row, scaled as the row.
    """
    B, m = match.shape
    L, t, both, corner = rows.gap_x.shape[1], f.steps, f.both[0], f.both[1]
    x, y, n = f.x, f.y, f.x.residue.size
    done = np.empty(m + 1, rows.start.dtype)
    for r in range(1, B + 1):
        i = first + r
        total = np.sum(rows.start[r - 1].real)
        if not total > 0.0:
            total = 1.0
        scale = 1.0 / total
        rows.logs[r] = rows.logs[r - 1] + np.log(total)

        here, before, by = rows.match[r], rows.start[r - 1], match[r - 1]
        here[0] = 0.0
        out = here[1:]
        for j in range(m):
            out[j] = (by[j] * scale) * before[j]

        residue = x.residue[i - 1] * scale
        first_factor, above, out = residue * t[0] * x.opens[i - 1], rows.match[r - 1], rows.gap_x[r, 0]
        for j in range(m + 1):
            out[j] = above[j] * first_factor * (y.site_open[j] * y.site[j])
        for k in range(1, L):
            factor, above, out = residue * t[k], rows.gap_x[r - 1, k - 1], rows.gap_x[r, k]
            for j in range(m + 1):
                out[j] = above[j] * factor * y.site[j]
        factor, above, out = residue * t[L], rows.gap_x[r - 1, L - 1], rows.gap_x[r, L - 1]
        for j in range(m + 1):
            out[j] += above[j] * factor * y.site[j]
        _finished(rows.gap_x[r], x.closes[i - 1], done)

        site = x.site[i]
        first_factor, out = t[0] * x.site_open[i] * site, rows.gap_y[r, 0]
        out[0] = 0.0
        out = out[1:]
        for j in range(m):
            out[j] = (here[j] + both * done[j]) * first_factor * (y.opens[j] * y.residue[j])
        for k in range(1, L):
            factor, left, out = site * t[k], rows.gap_y[r, k - 1], rows.gap_y[r, k]
            out[0] = 0.0
            out = out[1:]
            for j in range(m):
                out[j] = left[j] * factor * y.residue[j]
        factor, out = site * t[L], rows.gap_y[r, L - 1]
        last = out[0]
        for j in range(m):
            last = out[j + 1] + last * (factor * y.residue[j])
            out[j + 1] = last

        begins, out = _scaled(x.begins[i], -rows.logs[r]), rows.start[r]
        out[0] = begins * y.begins[0]
        begins *= corner
        for j in range(1, m + 1):
            out[j] = here[j] + done[j] + begins * y.begins[j]
        out = out[1:]
        for k in range(L):
            gap = rows.gap_y[r, k, 1:]
            for j in range(m):
                out[j] += gap[j] * y.closes[j]
        value = 0.0 * rows.start[0, 0]
        for j in range(m):
            value += here[j] * y.ends[j]
        if i < n:
            value *= corner
        ends[r] = (value + here[m] * y.ends[m]) * x.ends[i]


@kernel
def _gaps_in_y(below, y, t, site, out):
    """Backward values of the states of a gap in y, from the right."""
    L, m = out.shape[0], below.size - 1
    out[:, 0] = 0.0
    last = y.closes[m - 1] * below[m]
    row, factor = out[L - 1], site * t[L]
    row[m] = last
    for j in range(m - 1, 0, -1):
        last = y.closes[j - 1] * below[j] + factor * y.residue[j] * last
        row[j] = last
    for k in range(L - 2, -1, -1):
        row, factor = out[k], site * t[k + 1]
        row[m] = y.closes[m - 1] * below[m]
        here, right, closes = row[1:m], out[k + 1, 2:], y.closes[: m - 1]
        start, residue = below[1:m], y.residue[1:]
        for j in range(m - 1):
            here[j] = closes[j] * start[j] + factor * residue[j] * right[j]


@kernel
def backward(match, first, f, rows, log_z, below, posterior, used):
    """From row B up to row 1: how often each factor is used in the mean, added to ``used``.

    ``posterior`` (B, m) becomes the probabilities of the matches; ``below`` holds what row B hands up, zeros
    for the last row of all, and then what row 0 is handed.
    """
    B, m = match.shape
    L, t, both, corner = rows.gap_x.shape[1], f.steps, f.both[0], f.both[1]
    x, y, n = f.x, f.y, f.x.residue.size
    start = below.start
    gap_y = np.empty((L, m + 1), start.dtype)
    opened, done, here, row_sum = np.empty((4, m + 1), start.dtype)
    zero = 0.0 * start[0]
    for r in range(B, 0, -1):
        i = first + r
        site, scale = x.site[i], np.exp(rows.logs[r - 1] - rows.logs[r])

        total, begins = zero, _scaled(x.begins[i], -rows.logs[r])
        for j in range(1, m + 1):
            total += begins * corner * y.begins[j] * start[j]
        used.both[1] += total
        used.x.begins[i] += total + begins * y.begins[0] * start[0]

        _gaps_in_y(start, y, t, site, gap_y)
        factor, right = t[0] * x.site_open[i] * site, gap_y[0, 1:]
        opened[m] = 0.0
        for j in range(m):
            opened[j] = factor * y.opens[j] * y.residue[j] * right[j]
        _finished(rows.gap_x[r], x.closes[i - 1], done)
        total = total_both = zero
        for j in range(m + 1):
            total += done[j] * (start[j] + both * opened[j])
            total_both += done[j] * (both * opened[j])
        used.x.closes[i - 1] += total
        used.both[0] += total_both

        end, cells = _scaled(x.ends[i], rows.logs[r] - log_z), rows.match[r]
        here[m] = end * y.ends[m] + start[m]
        if i < n:
            end *= corner
        total = zero
        for j in range(m):
            value = end * y.ends[j]
            total += cells[j] * value
            here[j] = value + start[j] + opened[j]
        if i < n:
            used.both[1] += total
        if i < n:
            factor, down, total = t[0] * x.residue[i] * x.opens[i], below.gap_x[0], zero
            for j in range(m + 1):
                value = factor * (y.site_open[j] * y.site[j]) * down[j]
                here[j] += value
                value *= cells[j]
                total += value
                used.y.site_open[j] += value
            used.x.opens[i] += total
            used.steps[0] += total
        out, a, b = posterior[r - 1], cells[1:], here[1:]
        for j in range(m):
            out[j] = a[j] * b[j]

        total = zero
        for j in range(m):
            value = (cells[j] + both * done[j]) * opened[j]
            total += value
            used.y.opens[j] += value
        used.x.site_open[i] += total
        used.steps[0] += total
        total = zero
        for k in range(L):
            a, b, s = rows.gap_y[r, k, 1:], gap_y[k, 1:], start[1:]
            for j in range(m):
                value = a[j] * b[j]
                total += value
                used.y.residue[j] += value
                used.y.closes[j] += a[j] * (y.closes[j] * s[j])
        used.x.site[i] += total
        for k in range(1, L + 1):
            a, b, residue = rows.gap_y[r, k - 1, 1:m], gap_y[min(k, L - 1), 2:], y.residue[1:]
            total = zero
            for j in range(m - 1):
                total += a[j] * residue[j] * b[j]
            used.steps[k] += total * (site * t[k])

        row_sum[:] = 0.0
        closes = x.closes[i - 1]
        for k in range(L):  # a state goes on to the one after it, whose old values are still there
            a, out, down = rows.gap_x[r, k], below.gap_x[k], below.gap_x[min(k + 1, L - 1)]
            factor, total = zero, zero
            if i < n:
                factor += t[k + 1] * x.residue[i]
            for j in range(m + 1):
                value = factor * y.site[j] * down[j]
                total += a[j] * value
                value += closes * (start[j] + both * opened[j])
                row_sum[j] += a[j] * value
                out[j] = value * scale
            used.steps[k + 1] += total
        total = zero
        for j in range(m + 1):
            total += row_sum[j]
            used.y.site[j] += row_sum[j]
        used.x.residue[i - 1] += total

        by, b, reached = match[r - 1], here[1:], rows.start[r - 1]
        for j in range(m):  # what is as good as out of reach could be followed by more than a double holds
            start[j] = scale * by[j] * b[j] if reached[j].real > _LEAST else zero
        start[m] = 0.0
