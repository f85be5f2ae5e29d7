"""Forward and backward over the alignments of two sequences, some rows at a time.

An alignment is a set of matches (i, j), rising in both. What lies between two matches next to each other is a
gap in x of p residues and a gap in y of q residues, in this order, so that every alignment is one path; what
lies before the first match and after the last is terminal, costs nothing by the residue (scores are relative
to it), and has a factor of its own at each cell where matches may begin and end. Without a match one sequence
comes after the other.

Row i of a table is what is left after i residues of x, column j after j of y. Of each row there are only some
cells, next to each other, and paths stay within them; what is in the tables beside them has no meaning. The
first column of a block's tables is that of its first cell. Rows are scaled: a cell holds its value times
``exp(-logs[i])``. All loops run over rows of cells, next to each other in memory, but for that along a gap in
y, whose last state feeds itself.

With factors of x by residue i, of y by residue j, S for ``start``, M for ``match``, X_k and Y_k for the k-th
residue of a gap, k = 1..L, and t for ``steps``, the sums are (affine gaps of Gotoh 1982 if L = 1)::

    M[i, j]   = match[i, j] S[i - 1, j - 1]
    X_1[i, j] = M[i - 1, j] t_1 opens_x residue_x site_open_y site_y
    X_k[i, j] = X_{k - 1}[i - 1, j] t_k residue_x site_y, and X_L also from itself, with t_{L + 1}
    D[i, j]   = closes_x sum_k X_k[i, j]
    Y_1[i, j] = (M[i, j - 1] + both_0 D[i, j - 1]) t_1 opens_y residue_y site_open_x site_x; Y_k as X_k
    S[i, j]   = M[i, j] + D[i, j] + closes_y sum_k Y_k[i, j] + both_1 begins_x begins_y
    end[i]    = both_1 ends_x sum_j M[i, j] ends_y

The same recursions hold in three domains: of numbers, which are fast and have a range; of their logs, many
times slower, for any weights; and of logs whose sums are the largest term, which are best scores (Viterbi).
Logs have no scale.
"""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.jit import kernel, part_of_bare_kernel, part_of_kernel
from structune.kernels.log_sums import add_logs

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
    """What is kept of B rows and the one before, k the place in a gap: cells (B + 1, [L,] m + 1).

    All but ``match`` may have fewer rows, at least two, which take turns: row r is row r % K of these.
    """

    start: Any  # all that a match may follow
    match: Any
    gap_x: Any
    gap_y: Any
    logs: Any  # (B + 1,), of the scales


class Cells(NamedTuple):
    """The columns of the first and last cell of each row, (n + 1,); neither ever falls."""

    low: Any
    high: Any


class Below(NamedTuple):
    """What backward hands from a row to the one before it."""

    start: Any  # (m + 1,)
    gap_x: Any  # (L, m + 1)


class Domain(NamedTuple):
    """Whether cells and factors hold logs, and whether the largest term of a sum stands for all of it.

    Each is None or True, which is known when a kernel is compiled: to ask costs nothing.
    """

    logs: Any
    largest: Any


NUMBERS, LOGS, LARGEST = Domain(None, None), Domain(True, None), Domain(True, True)


@part_of_bare_kernel
def times(a, b, domain):
    return a * b if domain.logs is None else a + b


@part_of_bare_kernel
def plus(a, b, domain):
    if domain.logs is None:
        return a + b
    if domain.largest is None:
        return add_logs(a, b)
    return a if a.real >= b.real else b


@part_of_bare_kernel
def zero(domain):
    return 0.0 if domain.logs is None else -np.inf


@part_of_bare_kernel
def number(value, domain):
    return value if domain.logs is None else np.exp(value)


@part_of_bare_kernel
def scaled(factor, log, domain):
    """factor exp(log); 0 stays 0, however large the other."""
    if domain.logs is not None:
        return factor + log
    return factor * np.exp(log) if factor.real != 0.0 else factor + 0.0 * np.exp(0.0 * log)


@part_of_kernel
def window(side, low, high, before=0):
    """What the cells low..high of a row need of the sequence along it, which so many are before."""
    a, b = slice(low, high), slice(low + before, high + before + 1)
    return Side(
        side.residue[a],
        side.opens[a],
        side.closes[a],
        side.site[b],
        side.site_open[b],
        side.begins[b],
        side.ends[b],
    )


@part_of_bare_kernel
def extend(rows, r, high, to, domain):
    """Put nothing into the cells of row r that are beyond ``high`` and not beyond ``to``."""
    # a band moves to the right: the next row reads cells of this one that no path has
    turn, nothing = r % len(rows.start), zero(domain)
    for j in range(high + 1, to + 1):
        rows.start[turn, j] = rows.match[r, j] = nothing
        for k in range(rows.gap_x.shape[1]):
            rows.gap_x[turn, k, j] = nothing


@part_of_bare_kernel
def scale_of(rows, r, last, low, high, domain):
    """By what row r is scaled, beside the row before it, ``last``; that of both together goes to the logs."""
    if domain.logs is not None:
        return 0.0
    # The scale is real even with complex weights: a complex step may not pass through anything that is not
    # analytic, and a constant factor is taken out again by the logs.
    total = 0.0  # NumPy's sum would have SciPy's linear algebra loaded with the machine code
    for j in range(low, high + 1):
        total += rows.start[last, j].real
    if not total > 0.0:  # nothing reaches this row
        total = 1.0
    rows.logs[r] = rows.logs[r - 1] + np.log(total)
    return 1.0 / total


@kernel
def forward(match, first, f, cells, rows, ends, domain):
    """Fill rows 1..B from row 0; ``match`` are the factors of matches of the residues ``first`` on.

    ``ends`` (B + 1,) becomes the value of all alignments whose last match is in the row, scaled as the row.
    """
    left = cells.low[first]
    low, high = cells.low - left, cells.high - left
    done = np.empty(rows.start.shape[1], rows.start.dtype)
    for r in range(1, match.shape[0] + 1):
        i, turn, last = first + r, r % len(rows.start), (r - 1) % len(rows.start)
        a, b = low[i], high[i]
        extend(rows, r - 1, high[i - 1], b, domain)
        scale = scale_of(rows, r, last, low[i - 1], high[i - 1], domain)
        y, width = window(f.y, left + a, left + b), b - a
        here, before, by = rows.match[r, a : b + 1], rows.start[last], match[r - 1]
        here[0] = zero(domain)
        if a > low[i - 1]:  # the first cell of a band has one on its diagonal, too
            here[0] = times(times(by[a - 1], scale, domain), before[a - 1], domain)
        out, before, by = here[1:], before[a:b], by[a:b]
        for j in range(width):
            out[j] = times(times(by[j], scale, domain), before[j], domain)
        gap_x, gap_y = rows.gap_x[turn], rows.gap_y[turn]
        into_gaps_in_x(f, y, i, scale, rows.match[r - 1], rows.gap_x[last], gap_x, a, domain)
        into_done(gap_x, a, f.x.closes[i - 1], done[: width + 1], domain)
        into_gaps_in_y(f, y, i, here, done, gap_y, a, domain)
        begins = scaled(f.x.begins[i], -rows.logs[r], domain)
        into_start(f, y, begins, left + a == 0, here, done, gap_y, a, rows.start[turn, a : b + 1], domain)
        ends[r] = into_end(f, y, i, left + b == f.y.residue.size, here, domain)


@part_of_bare_kernel
def into_gaps_in_x(f, y, i, scale, match, above, out, a, domain):
    """Gaps that reach this row, from the row above; from cell a on."""
    L, t, residue = out.shape[0], f.steps, times(f.x.residue[i - 1], scale, domain)
    b = a + y.site.size
    factor, before, row = (
        times(times(residue, t[0], domain), f.x.opens[i - 1], domain),
        match[a:b],
        out[0, a:b],
    )
    for j in range(row.size):
        site = times(y.site_open[j], y.site[j], domain)
        row[j] = times(times(before[j], factor, domain), site, domain)
    for k in range(1, L):
        factor, before, row = times(residue, t[k], domain), above[k - 1, a:b], out[k, a:b]
        for j in range(row.size):
            row[j] = times(times(before[j], factor, domain), y.site[j], domain)
    # the last state also feeds itself: it stands for residue L of a gap and all after it
    factor, before, row = times(residue, t[L], domain), above[L - 1, a:b], out[L - 1, a:b]
    for j in range(row.size):
        row[j] = plus(row[j], times(times(before[j], factor, domain), y.site[j], domain), domain)


@part_of_bare_kernel
def into_done(gap_x, a, closes, out, domain):
    """Gaps in x that end here, from cell a on: the sum over their lengths."""
    row = gap_x[0, a : a + out.size]
    for j in range(out.size):
        out[j] = row[j]
    for k in range(1, gap_x.shape[0]):
        row = gap_x[k, a : a + out.size]
        for j in range(out.size):
            out[j] = plus(out[j], row[j], domain)
    for j in range(out.size):
        out[j] = times(out[j], closes, domain)


@part_of_bare_kernel
def into_gaps_in_y(f, y, i, match, done, out, a, domain):
    """Gaps that follow a match, or a gap in x, of the same row; from cell a on."""
    L, width, t, both, site = out.shape[0], match.size - 1, f.steps, f.both[0], f.x.site[i]
    out[:, a] = zero(domain)
    b = a + width
    factor, row = times(times(t[0], f.x.site_open[i], domain), site, domain), out[0, a + 1 : b + 1]
    for j in range(width):
        before = times(plus(match[j], times(both, done[j], domain), domain), factor, domain)
        row[j] = times(before, times(y.opens[j], y.residue[j], domain), domain)
    for k in range(1, L):
        factor, left, row = times(site, t[k], domain), out[k - 1, a:b], out[k, a + 1 : b + 1]
        for j in range(width):
            row[j] = times(times(left[j], factor, domain), y.residue[j], domain)
    factor, row, last = times(site, t[L], domain), out[L - 1, a + 1 : b + 1], out[L - 1, a]
    # Y_L[j] = from Y_{L - 1} + t_{L + 1} Y_L[j - 1] is a recurrence along the row: a loop without vectors
    for j in range(width):
        last = plus(row[j], times(last, times(factor, y.residue[j], domain), domain), domain)
        row[j] = last


@part_of_bare_kernel
def into_start(f, y, begins, is_first, match, done, gap_y, a, out, domain):
    """What a match may follow, from cell a on."""
    # In row 0 and column 0 one sequence alone has residues before the matches, so `both` does not count.
    corner = times(begins, f.both[1], domain)
    for j in range(out.size):
        out[j] = plus(plus(match[j], done[j], domain), times(corner, y.begins[j], domain), domain)
    if is_first:
        out[0] = plus(done[0], times(begins, y.begins[0], domain), domain)
    out = out[1:]
    for k in range(gap_y.shape[0]):
        gap = gap_y[k, a + 1 : a + 1 + out.size]
        for j in range(out.size):
            out[j] = plus(out[j], times(gap[j], y.closes[j], domain), domain)


@part_of_bare_kernel
def into_end(f, y, i, is_last, match, domain):
    """What ends with a match in this row."""
    width, value = match.size - 1, zero(domain)
    for j in range(width):
        value = plus(value, times(match[j], y.ends[j], domain), domain)
    last = times(match[width], y.ends[width], domain)
    # `both` counts where residues of both sequences are left: not in the last row, nor in the last column
    if i < f.x.residue.size:
        value = times(value, f.both[1], domain)
        if not is_last:
            last = times(last, f.both[1], domain)
    return times(plus(value, last, domain), f.x.ends[i], domain)


@part_of_bare_kernel
def after_gaps_in_y(start, y, t, site, out, domain):
    """Backward values of the states of a gap in y, from the right."""
    # B_k[j] = closes S[j] + t_{k + 1} residue[j + 1] site B_{min(k + 1, L)}[j + 1]
    L, width = out.shape[0], start.size - 1
    out[:, 0] = zero(domain)
    if not width:
        return
    last = times(y.closes[width - 1], start[width], domain)
    row, factor = out[L - 1], times(site, t[L], domain)
    row[width] = last
    for j in range(width - 1, 0, -1):
        further = times(times(factor, y.residue[j], domain), last, domain)
        last = plus(times(y.closes[j - 1], start[j], domain), further, domain)
        row[j] = last
    for k in range(L - 2, -1, -1):
        row, factor = out[k], times(site, t[k + 1], domain)
        row[width] = times(y.closes[width - 1], start[width], domain)
        here, right, closes = row[1:width], out[k + 1, 2 : width + 1], y.closes[: width - 1]
        below, residue = start[1:width], y.residue[1:]
        for j in range(width - 1):
            further = times(times(factor, residue[j], domain), right[j], domain)
            here[j] = plus(times(closes[j], below[j], domain), further, domain)


@kernel
def backward(match, first, f, cells, rows, log_z, below, posterior, used, domain):
    """From row B up to row 1: how often each factor is used in the mean, added to ``used``; or that is None.

    ``posterior`` becomes the probabilities of the matches, in the columns of ``match``; ``below`` holds what
    row B hands up, zeros for the last row of all, and then what row 0 is handed. Gaps of all rows must be
    kept where uses are counted. Returns the probability that the matches begin in one of the rows.
    """
    # Backward values of row i are scaled by exp(logs[i] - log_z), so that forward times backward is a
    # probability. In each row they are found in the order of what follows what: S (from the row below), gaps
    # in y from the right, matches, gaps in x of the row above, and S of the row above.
    left, L, t, both = cells.low[first], rows.gap_x.shape[1], f.steps, f.both[0]
    low, high = cells.low - left, cells.high - left
    size, dtype = rows.start.shape[1], below.start.dtype
    to, begun, least = below.start[left:], 0.0, _LEAST if domain.logs is None else -np.inf
    gap_y = np.empty((L, size), dtype)
    all_opened, all_done, all_here = np.empty((3, size), dtype)
    for r in range(match.shape[0], 0, -1):
        i = first + r
        a, b = low[i], high[i]
        y, width = window(f.y, left + a, left + b), b - a
        start, cell = to[a : b + 1], rows.match[r, a : b + 1]
        opened, done, here = all_opened[: width + 1], all_done[: width + 1], all_here[: width + 1]

        begins = scaled(f.x.begins[i], -rows.logs[r], domain)
        begun += _begun(f, y, used, i, begins, left + a == 0, start, domain)
        after_gaps_in_y(start, y, t, f.x.site[i], gap_y, domain)
        factor, right = (
            times(times(t[0], f.x.site_open[i], domain), f.x.site[i], domain),
            gap_y[0, 1 : width + 1],
        )
        # what a gap in y that begins to the right of a cell is worth; none begins at the last column
        opened[width] = zero(domain)
        for j in range(width):
            opens = times(factor, times(y.opens[j], y.residue[j], domain), domain)
            opened[j] = times(opens, right[j], domain)
        end = scaled(f.x.ends[i], rows.logs[r] - log_z, domain)
        _after_match(f, y, used, i, end, left + b == f.y.residue.size, cell, start, opened, here, domain)
        down = below.gap_x[:, left + a :]
        if i < f.x.residue.size:
            _open_gaps_in_x(f, y, used, i, left + a, cell, down[0], here, domain)
        out, by = posterior[r - 1, a:], here[1:]
        if a > low[i - 1]:
            posterior[r - 1, a - 1] = number(times(cell[0], here[0], domain), domain)
        for j in range(width):
            out[j] = number(times(cell[j + 1], by[j], domain), domain)

        scale = rows.logs[r - 1] - rows.logs[r]  # from the scale of this row to that of the one above
        if domain.logs is None:
            scale = np.exp(scale)
        if used is not None:
            into_done(rows.gap_x[r], a, f.x.closes[i - 1], done, domain)
            _count_finished(used, i, both, done, start, opened, domain)
            counts = window(used.y, left + a, left + b)
            _count_gaps_in_y(
                f, y, used, counts, i, cell, done, start, opened, rows.gap_y[r], a, gap_y, domain
            )
            _count_gaps_in_x(f, y, used, counts, i, rows.gap_x[r], a, start, opened, done, down, domain)
        _gaps_in_x_above(f, y, i, scale, start, opened, down, domain)

        by, out, after, reached = match[r - 1, a:b], to[a:b], here[1:], cell[1:]
        for j in range(width):
            # forward * backward <= 1: where no match is reached, the backward value may be out of range
            value = times(times(scale, by[j], domain), after[j], domain)
            out[j] = value if reached[j].real > least else zero(domain)
        to[b] = zero(domain)
        if a > low[i - 1]:
            value = times(times(scale, match[r - 1, a - 1], domain), here[0], domain)
            to[a - 1] = value if cell[0].real > least else zero(domain)
    return begun


@part_of_bare_kernel
def _begun(f, y, used, i, begins, is_first, start, domain):
    """The probability that the matches begin in this row."""
    total, corner = zero(domain), times(begins, f.both[1], domain)
    for j in range(1 if is_first else 0, start.size):
        total = plus(total, times(times(corner, y.begins[j], domain), start[j], domain), domain)
    alone = 0.0
    if is_first:
        alone = number(times(times(begins, y.begins[0], domain), start[0], domain), domain)
    found = number(total, domain)
    if used is not None:
        used.both[1] += found
        used.x.begins[i] += found + alone
    return found + alone


@part_of_bare_kernel
def _count_finished(used, i, both, done, start, opened, domain):
    """Uses of the ends of gaps in x, and of gaps in y that follow them."""
    total = total_both = zero(domain)
    for j in range(start.size):
        further = times(both, opened[j], domain)
        total = plus(total, times(done[j], plus(start[j], further, domain), domain), domain)
        total_both = plus(total_both, times(done[j], further, domain), domain)
    used.x.closes[i - 1] += number(total, domain)
    used.both[0] += number(total_both, domain)


@part_of_bare_kernel
def _after_match(f, y, used, i, end, is_last, cell, start, opened, out, domain):
    """Backward values of matches, but for gaps in x."""
    width, inside = out.size - 1, i < f.x.residue.size
    # B_M = ends + S (the next match) + gaps in y that begin here; gaps in x are added by `_open_gaps_in_x`
    corner = times(end, f.both[1], domain) if inside else end
    last = times(end if is_last else corner, y.ends[width], domain)
    for j in range(width):
        out[j] = plus(plus(times(corner, y.ends[j], domain), start[j], domain), opened[j], domain)
    out[width] = plus(last, start[width], domain)
    if used is not None and inside:
        total = zero(domain)
        if not is_last:
            total = times(cell[width], last, domain)
        for j in range(width):
            total = plus(total, times(cell[j], times(corner, y.ends[j], domain), domain), domain)
        used.both[1] += number(total, domain)


@part_of_bare_kernel
def _open_gaps_in_x(f, y, used, i, column, cell, down, here, domain):
    """Gaps in x that begin below a match."""
    factor = times(times(f.steps[0], f.x.residue[i], domain), f.x.opens[i], domain)
    for j in range(here.size):
        value = times(times(factor, times(y.site_open[j], y.site[j], domain), domain), down[j], domain)
        here[j] = plus(here[j], value, domain)
    if used is not None:
        total, site_open = zero(domain), used.y.site_open[column:]
        for j in range(here.size):
            value = times(times(factor, times(y.site_open[j], y.site[j], domain), domain), down[j], domain)
            value = times(value, cell[j], domain)
            total = plus(total, value, domain)
            site_open[j] += number(value, domain)
        used.x.opens[i] += number(total, domain)
        used.steps[0] += number(total, domain)


@part_of_bare_kernel
def _count_gaps_in_y(f, y, used, counts, i, cell, done, start, opened, gap, first, after, domain):
    """Uses of gaps in y: ``gap``, from a cell on, has forward and ``after`` backward values of states."""
    # A use counts forward value before, times factor, times backward value after.
    L, width, both, total = gap.shape[0], start.size - 1, f.both[0], zero(domain)
    for j in range(width):
        value = times(plus(cell[j], times(both, done[j], domain), domain), opened[j], domain)
        total = plus(total, value, domain)
        counts.opens[j] += number(value, domain)
    used.x.site_open[i] += number(total, domain)
    used.steps[0] += number(total, domain)
    total = zero(domain)
    for k in range(L):
        a, b, s = gap[k, first + 1 : first + 1 + width], after[k, 1 : width + 1], start[1:]
        for j in range(width):
            value = times(a[j], b[j], domain)
            total = plus(total, value, domain)
            counts.residue[j] += number(value, domain)
            counts.closes[j] += number(times(a[j], times(y.closes[j], s[j], domain), domain), domain)
    used.x.site[i] += number(total, domain)
    for k in range(1, L + 1):
        a, b, residue = gap[k - 1, first + 1 : first + 1 + width], after[min(k, L - 1), 2:], y.residue[1:]
        total = zero(domain)
        for j in range(width - 1):
            total = plus(total, times(times(a[j], residue[j], domain), b[j], domain), domain)
        used.steps[k] += number(times(total, times(f.x.site[i], f.steps[k], domain), domain), domain)


@part_of_bare_kernel
def _count_gaps_in_x(f, y, used, counts, i, gap, first, start, opened, sums, down, domain):
    """Uses of gaps in x in this row, from cell ``first`` on; ``down`` is of the row below, ``sums`` lent."""
    L, closes, both = gap.shape[0], f.x.closes[i - 1], f.both[0]
    sums[:] = zero(domain)
    for k in range(L):
        a, after = gap[k, first:], down[min(k + 1, L - 1)]
        factor = total = zero(domain)
        if i < f.x.residue.size:
            factor = times(f.steps[k + 1], f.x.residue[i], domain)
        for j in range(start.size):
            value = times(times(factor, y.site[j], domain), after[j], domain)
            ended = times(closes, plus(start[j], times(both, opened[j], domain), domain), domain)
            total = plus(total, times(a[j], value, domain), domain)
            sums[j] = plus(sums[j], times(a[j], plus(value, ended, domain), domain), domain)
        used.steps[k + 1] += number(total, domain)
    for j in range(start.size):
        value = number(sums[j], domain)
        used.x.residue[i - 1] += value
        counts.site[j] += value


@part_of_bare_kernel
def _gaps_in_x_above(f, y, i, scale, start, opened, down, domain):
    """What the row below handed up, ``down``, becomes what this one does; ``opened`` is lent."""
    # The state after the last is the last, so `down` can be overwritten from the first state on.
    L, closes, both, site = down.shape[0], times(f.x.closes[i - 1], scale, domain), f.both[0], y.site
    residue = times(f.x.residue[i], scale, domain) if i < f.x.residue.size else zero(domain)
    for j in range(start.size):
        opened[j] = times(closes, plus(start[j], times(both, opened[j], domain), domain), domain)
    for k in range(L):
        out, after, factor = down[k], down[min(k + 1, L - 1)], times(residue, f.steps[k + 1], domain)
        for j in range(start.size):
            out[j] = plus(times(times(factor, site[j], domain), after[j], domain), opened[j], domain)


@kernel
def whole_posterior(match, f, posterior):
    """Fill ``posterior`` (n, m), from the factors of all matches; returns what share is lost.

    That is what the backward pass has not found again; nan where a sum has left the range of a double.
    """
    n, m = match.shape
    L, cells, domain = (
        f.steps.size - 1,
        Cells(np.zeros(n + 1, np.int64), np.full(n + 1, m)),
        Domain(None, None),
    )
    sums, gap_x, gap_y = np.empty((n + 1, m + 1)), np.empty((2, L, m + 1)), np.empty((2, L, m + 1))
    rows = Rows(np.empty((2, m + 1)), sums, gap_x, gap_y, np.zeros(n + 1))
    begins = f.x.begins[0]
    for j in range(m + 1):
        rows.start[0, j] = begins * f.y.begins[j]
    sums[0] = gap_x[0] = 0.0
    ends = np.zeros(n + 1)
    first = cells.low[0]  # 0, of the type that the machine code for longer pairs has
    forward(match, first, f, cells, rows, ends, domain)
    ends[0] = f.x.begins[n] * f.y.begins[m]  # without a match
    top, total = 0.0, 0.0
    for i in range(n + 1):
        if ends[i] > 0.0:
            top = max(top, rows.logs[i])
    for i in range(n + 1):
        total += scaled(ends[i], rows.logs[i] - top, domain)
    log_z, below = np.log(total) + top, Below(np.zeros(m + 1), np.zeros((L, m + 1)))
    found = ends[0] * np.exp(-log_z)
    found += backward(match, first, f, cells, rows, log_z, below, posterior, None, domain)
    for j in range(m + 1):
        found += begins * f.y.begins[j] * below.start[j]
    return 1.0 - found
