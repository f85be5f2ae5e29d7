"""The alignment of the highest score, some rows at a time, and that of the highest expected accuracy.

The first is the recursion of `forward` in `sums`, over maxima of scores, or over sums of logs where these
leave its range; the second, of values of matches alone, has a recursion of its own.
"""

import numpy as np

from structune.alignment.kernels.sums import extend, window
from structune.kernels.jit import kernel, part_of_bare_kernel
from structune.kernels.log_sums import add_logs

# states of a path; those of gaps in x are _GAP + k - 1, those of gaps in y _GAP + L + k - 1
BEGIN, MATCH, _GAP = 0, 1, 2


@part_of_bare_kernel
def _joined(a, b, adds):
    # which of both is known when a kernel is compiled: a branch on None costs nothing
    if adds is None:
        return a if a.real >= b.real else b
    return add_logs(a, b)


@kernel
def log_rows(match, first, f, cells, rows, ends, adds):
    """Fill rows 1..B from row 0, as `forward` does, where ``match`` and ``f`` hold logs.

    With the best scores if ``adds`` is None, else with logs of sums, many times slower. ``ends`` (B + 1,)
    becomes that of the alignments whose last match is in the row.
    """
    left = cells.low[first]
    low, high = cells.low - left, cells.high - left
    all_done = np.empty(rows.start.shape[1], rows.start.dtype)
    for r in range(1, match.shape[0] + 1):
        i = first + r
        a, b = low[i], high[i]
        extend(rows, r - 1, high[i - 1], b, -np.inf)
        y, width = window(f.y, left + a, left + b), b - a
        here, before, by = rows.match[r, a : b + 1], rows.start[r - 1], match[r - 1]
        here[0] = by[a - 1] + before[a - 1] if a > low[i - 1] else -np.inf
        out, before, by = here[1:], before[a:b], by[a:b]
        for j in range(width):
            out[j] = by[j] + before[j]
        gap_y, done = rows.gap_y[r], all_done[: width + 1]
        _gaps_in_x(f, y, i, rows.match[r - 1], rows.gap_x[r - 1], rows.gap_x[r], a, adds)
        _finished(rows.gap_x[r], a, f.x.closes[i - 1], done, adds)
        _gaps_in_y(f, y, i, here, done, gap_y, a, adds)
        _start(f, y, i, left + a == 0, here, done, gap_y, a, rows.start[r, a : b + 1], adds)
        ends[r] = _end(f, y, i, left + b == f.y.residue.size, here, adds)[0]


@part_of_bare_kernel
def _gaps_in_x(f, y, i, match, above, out, a, adds):
    """Gaps that reach this row, from the row above; from cell a on."""
    # the recursions at the top of `sums`, with + for products
    L, t, residue, b = out.shape[0], f.steps, f.x.residue[i - 1], a + y.site.size
    opens, before, row = residue + t[0] + f.x.opens[i - 1], match[a:b], out[0, a:b]
    for j in range(row.size):
        row[j] = before[j] + (opens + y.site[j] + y.site_open[j])
    for k in range(1, L):
        row, before, step = out[k, a:b], above[k - 1, a:b], residue + t[k]
        for j in range(row.size):
            row[j] = before[j] + (step + y.site[j])
    row, before, step = out[L - 1, a:b], above[L - 1, a:b], residue + t[L]
    for j in range(row.size):
        row[j] = _joined(row[j], before[j] + (step + y.site[j]), adds)


@part_of_bare_kernel
def _finished(gap, a, closes, out, adds):
    """Gaps in x that end here, from cell a on, of all lengths."""
    row = gap[0, a : a + out.size]
    for j in range(out.size):
        out[j] = row[j] + closes
    for k in range(1, gap.shape[0]):
        row = gap[k, a : a + out.size]
        for j in range(out.size):
            out[j] = _joined(out[j], row[j] + closes, adds)


@part_of_bare_kernel
def _gaps_in_y(f, y, i, match, done, out, a, adds):
    """Gaps that follow a match, or a gap in x, of the same row; from cell a on."""
    L, t, m = out.shape[0], f.steps, match.size - 1
    site, both, b = f.x.site[i], f.both[0], a + m
    out[:, a] = -np.inf
    opens, row = t[0] + f.x.site_open[i] + site, out[0, a + 1 : b + 1]
    for j in range(m):
        row[j] = _joined(match[j], done[j] + both, adds) + (opens + y.opens[j] + y.residue[j])
    for k in range(1, L):
        row, left, step = out[k, a + 1 : b + 1], out[k - 1, a:b], site + t[k]
        for j in range(m):
            row[j] = left[j] + (step + y.residue[j])
    row, step, last = out[L - 1, a + 1 : b + 1], site + t[L], out[L - 1, a]
    for j in range(m):
        last = _joined(row[j], last + (step + y.residue[j]), adds)
        row[j] = last


@part_of_bare_kernel
def _start(f, y, i, is_first, match, done, gap_y, a, out, adds):
    """What a match may follow, from cell a on."""
    begins = f.x.begins[i] + f.both[1]
    for j in range(out.size):
        out[j] = _joined(_joined(match[j], done[j], adds), begins + y.begins[j], adds)
    if is_first:
        out[0] = _joined(done[0], f.x.begins[i] + y.begins[0], adds)
    out = out[1:]
    for k in range(gap_y.shape[0]):
        gap = gap_y[k, a + 1 : a + 1 + out.size]
        for j in range(out.size):
            out[j] = _joined(out[j], gap[j] + y.closes[j], adds)


@part_of_bare_kernel
def _end(f, y, i, is_last, match, adds):
    """What ends with a match in this row, and the cell where the best does."""
    corner = f.both[1] if i < f.x.residue.size else 0.0 * f.both[0]
    m, value, cell = match.size - 1, match[0] - np.inf, 0
    for j in range(m + 1):
        one = match[j] + y.ends[j]
        if j < m or not is_last:
            one += corner
        if one.real > value.real:
            cell = j
        value = _joined(value, one, adds)
    return value + f.x.ends[i], cell


@kernel
def last_match(f, i, first, cells, match):
    """The column where the best that ends in row i does."""
    left, a, b = cells.low[first], cells.low[i], cells.high[i]
    here = match[a - left : b + 1 - left]
    return a + _end(f, window(f.y, a, b), i, b == f.y.residue.size, here, None)[1]


@kernel
def trace(state, i, j, first, f, cells, rows, partner):
    """Follow the best path from a cell up to row ``first``; returns the state and the cell where it goes on.

    What a state follows is found again from the scores: to keep it would take more bytes a cell. Scores of
    what the alternatives have in common are left out of the comparisons.
    """
    L, left = rows.gap_x.shape[1], cells.low[first]
    while state != BEGIN and i > first:
        if state == MATCH:
            i, j = i - 1, j - 1
            partner[i] = j
            state = _before_match(f, rows, i - first, i, j, j - left)
        elif state < _GAP + L:
            i -= 1
            state = _before_gap_x(f, rows, state - _GAP, i - first, i, j, j - left)
        else:
            j -= 1
            state = _before_gap_y(f, rows, state - _GAP - L, i - first, i, j, j - left)
    return state, i, j


@part_of_bare_kernel
def _before_match(f, rows, r, i, j, c):
    # in row 0 and column 0 one sequence alone has residues before the matches
    L, best, state = rows.gap_x.shape[1], f.x.begins[i] + f.y.begins[j], BEGIN
    if i and j:
        best += f.both[1]
    if rows.match[r, c] > best:
        best, state = rows.match[r, c], MATCH
    for k in range(L if i else 0):
        value = rows.gap_x[r, k, c] + f.x.closes[i - 1]
        if value > best:
            best, state = value, _GAP + k
    for k in range(L if j else 0):
        value = rows.gap_y[r, k, c] + f.y.closes[j - 1]
        if value > best:
            best, state = value, _GAP + L + k
    return state


@part_of_bare_kernel
def _before_gap_x(f, rows, k, r, i, j, c):
    L, t = rows.gap_x.shape[1], f.steps
    if k:
        value, state = rows.gap_x[r, k - 1, c] + t[k], _GAP + k - 1
    else:
        value, state = rows.match[r, c] + t[0] + f.x.opens[i] + f.y.site_open[j], MATCH
    stays = k == L - 1 and rows.gap_x[r, k, c] + t[L] > value
    return _GAP + k if stays else state


@part_of_bare_kernel
def _before_gap_y(f, rows, k, r, i, j, c):
    L, t = rows.gap_x.shape[1], f.steps
    if k:
        value, state = rows.gap_y[r, k - 1, c] + t[k], _GAP + L + k - 1
    else:
        value, state = rows.match[r, c], MATCH
        # the first residue of a gap in y follows a match, or a gap in x that has ended in this row
        for a in range(L if i else 0):
            after_x = rows.gap_x[r, a, c] + f.x.closes[i - 1] + f.both[0]
            if after_x > value:
                value, state = after_x, _GAP + a
        value += t[0] + f.x.site_open[i] + f.y.opens[j]
    stays = k == L - 1 and rows.gap_y[r, k, c] + t[L] > value
    return _GAP + L + k if stays else state


@kernel
def accuracy_rows(worth, below, choices):
    """The most that the matches from a cell on are worth, from the last row of ``worth`` (B, m) to the first.

    ``below`` (m + 1,) holds the row after the last, and then the first. ``choices`` (B, m): 0 leaves out the
    residue of x, 1 that of y, 2 matches them.
    """
    # A[i, j] = max(A[i + 1, j], A[i, j + 1], A[i + 1, j + 1] + worth[i, j]), in one row: at column j,
    # ``below`` holds A[i + 1] up to j, and A[i] after it. A tie leaves the match out.
    B, m = worth.shape
    for r in range(B - 1, -1, -1):
        diagonal = below[m]
        for j in range(m - 1, -1, -1):
            matched, value, choice = diagonal + worth[r, j], below[j], 0
            diagonal = below[j]
            if below[j + 1] > value:
                value, choice = below[j + 1], 1
            if matched > value:
                value, choice = matched, 2
            below[j], choices[r, j] = value, choice


@kernel
def accuracy_trace(choices, first, left, j, partner):
    """Follow the choices of a block, whose first cell is (first, left), from column j of its first row on.

    Returns the column below its last row: beyond those that it has, residues of x are left out.
    """
    B, width = choices.shape
    i, j = first, max(j, left)
    while i < first + B and j < left + width:
        choice = choices[i - first, j - left]
        if choice == 2:
            partner[i] = j
        # 0 moves down, 1 to the right, 2 along the diagonal
        i, j = i + (choice != 1), j + (choice != 0)
    return j
