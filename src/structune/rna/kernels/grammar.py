"""The choices that make an RNA structure, one by one: for traces, samples, and sums in the log domain.

An item is a part of a structure still to be filled in: ``(EXTERIOR, i, n - 1)``, the bases from i on;
``(PAIR, i, j)``, what the pair encloses; ``(MULTI, i, j)`` and ``(MULTI_2, i, j)``, a stretch of a
multi-branch loop with at least one branch, with at least two. Where two strands end within a pair:
``(LEFT, i, nick - 1)`` and ``(RIGHT, begin, j)``, the rest of the first and the beginning of the second. Of
a circle: ``(CIRCLE, i, n - 1)``, whose first pair is still to be chosen, and ``(REST, i, j)``, all that is
outside of it. Every choice for an item leaves up to two others, and each structure comes from one sequence of
choices. `log_inside` and `log_outside` are the recursions of `structune.rna.kernels.sums`, choice by choice,
over sums of logs.

The functions share these parameters: ``model``, what there is to choose from; ``chart``, what all ways to
fill in an item are worth together, or the best one; ``work``, where choices are written.
"""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.jit import kernel
from structune.kernels.vectors import cells
from structune.rna.kernels.loops import (
    GAP,
    LOOP,
    between_cells,
    branch_cells,
    closing_cells,
    hairpin_cells,
    has_no_outside,
    pair_cells,
    span_between,
    two_pairs_cells,
)
from structune.rna.kernels.sums import N_LETTERS, row


class Model(NamedTuple):
    """A sequence and its scores.

    Attributes
    ----------
    letters, at
        As `structune.rna.kernels.loops` has them.
    scores : (N_CELLS,)
        Of the table cells.
    factors : table of pairs, or empty
        What the score of a pair is beside its own.
    allowed : (6 * 6,)
        Whether two letters may pair.
    n, min_hairpin, reach, nick : int
    weighted : bool
        Whether there are factors.
    circular : bool
    """

    letters: Any
    at: Any
    scores: Any
    factors: Any
    allowed: Any
    n: int
    min_hairpin: int
    reach: int
    nick: int
    weighted: bool
    circular: bool


class Chart(NamedTuple):
    """Values of all items.

    Attributes
    ----------
    pairs, multi, multi_2, rest : tables of pairs
        ``rest`` is empty but of a circle.
    first : (n + 1,)
        From i on: of the exterior, or of a circle.
    left, right : (n + 1,), or empty
        Of the first strand from i on, of the second up to i - 1.
    """

    pairs: Any
    multi: Any
    multi_2: Any
    first: Any
    left: Any
    right: Any
    rest: Any


class Choices(NamedTuple):
    """The choices for an item.

    Attributes
    ----------
    values : (most_choices(n),)
        Each with the best or all ways to go on.
    items : (6 * most_choices(n),)
        What each leaves: kind, i, j, twice; kind NONE for none.
    cells : (MOST_CELLS,)
        Scratch.
    """

    values: Any
    items: Any
    cells: Any


# The grammar is unambiguous: every structure has one derivation. So sums over derivations are sums over
# structures, the best derivation is the best structure, and drawing choices by their shares draws structures
# by theirs.
NONE, EXTERIOR, PAIR, MULTI, MULTI_2, LEFT, RIGHT, CIRCLE, REST = -1, 0, 1, 2, 3, 4, 5, 6, 7
MOST_CELLS = 8  # of one choice


def most_choices(n: int) -> int:
    """Most choices that an item of a sequence of n bases can have."""
    # A stretch has at most two choices for each end of its first branch; a pair one for each of the 496 loops
    # with another pair (31 * 32 / 2), and two more: hairpin and multi-branch loop.
    return max(2 * n + 2, LOOP * (LOOP + 1) // 2 + 2)


@kernel
def _bare(model, chart, work):
    """The same without counted references, which cost more than the work itself."""
    m, c, w = model, chart, work
    model = Model(
        cells(m.letters), m.at, cells(m.scores), cells(m.factors), cells(m.allowed), m.n, m.min_hairpin,
        m.reach, m.nick, m.weighted, m.circular,
    )  # fmt: skip
    return model, _bare_chart(c), Choices(cells(w.values), cells(w.items), cells(w.cells))


@kernel
def _bare_chart(chart):
    return Chart(
        cells(chart.pairs), cells(chart.multi), cells(chart.multi_2), cells(chart.first), cells(chart.left),
        cells(chart.right), cells(chart.rest),
    )  # fmt: skip


@kernel
def cell(model, i, j):
    """Where a table of pairs has a stretch."""
    return row(i, model.n, model.reach) + j


@kernel
def value_of(model, chart, kind, i, j):
    """The chart's value of an item."""
    if kind in (EXTERIOR, CIRCLE):
        return chart.first[i]
    if kind == LEFT:
        return chart.left[i]
    if kind == RIGHT:
        return chart.right[j + 1]
    return _table(chart, kind)[cell(model, i, j)]


@kernel
def _table(chart, kind):
    if kind == PAIR:
        return chart.pairs
    if kind == REST:
        return chart.rest
    return chart.multi if kind == MULTI else chart.multi_2


@kernel
def whole(model):
    """The item that is all of a structure."""
    return (CIRCLE if model.circular else EXTERIOR), 0, model.n - 1


@kernel
def place_of(model, kind, i, j):
    """Where a table for items of this kind has an item."""
    if kind in (EXTERIOR, CIRCLE, LEFT):
        return i
    return j + 1 if kind == RIGHT else cell(model, i, j)


@kernel
def _choice_cells(model, kind, i, j, first, out):
    """Cells of a choice, its pair's own among them, but for unpaired bases; returns their number."""
    letters, at, n = model.letters, model.at, model.n
    if kind == REST:
        # Seen from the first pair of a circle, what is outside of it is a loop that this pair closes from
        # behind.
        return _rest_cells(letters, i, j, n, first, at, out)
    if kind != PAIR:
        if kind == CIRCLE or first[0] != PAIR:
            return 0
        return branch_cells(letters, first[1], first[2], kind in (MULTI, MULTI_2), at, out, 0)
    length = span_between(i, j, n, model.nick, model.circular)
    found = pair_cells(letters, i, j, length, at, out, 0)
    if first[0] == NONE:
        return hairpin_cells(letters, i, j, at, out, found)
    if first[0] == LEFT:
        return between_cells(letters, i, j, at, out, found)
    if first[0] == PAIR:
        no_outside = has_no_outside(i, j, model.nick, model.circular)
        return two_pairs_cells(letters, i, j, first[1], first[2], no_outside, at, out, found)
    return closing_cells(letters, i, j, at, out, found)


@kernel
def _rest_cells(letters, i, j, n, first, at, out):
    """Cells of the loop outside of the first pair of a circle."""
    if first[0] == NONE:
        return hairpin_cells(letters, j, i + n, at, out, 0)
    if first[0] == PAIR:
        return two_pairs_cells(letters, j, i + n, first[1], first[2], True, at, out, 0)
    out[0] = at.multi_base
    return branch_cells(letters, i, j, True, at, out, 1)


@kernel
def _unpaired(model, kind, i, j, first, second):
    """Bases that a choice leaves unpaired in the exterior or a multi-branch loop, and their cell."""
    at = model.at
    if kind in (EXTERIOR, LEFT, RIGHT):
        # The places between two strands are passed over without a score.
        between = kind == EXTERIOR and model.nick <= i < model.nick + GAP
        return 0 if first[0] == PAIR or between else 1, at.external_unpaired
    if kind == CIRCLE:
        return model.n if first[0] == NONE else 0, at.external_unpaired
    if kind == REST:
        return i if first[0] == MULTI_2 else 0, at.multi_unpaired
    if kind == PAIR:
        return 0, at.multi_unpaired
    if first[0] != PAIR:
        return 1, at.multi_unpaired
    # A stretch whose only branch is (i, k) leaves the bases k + 1..j unpaired at once: no item is left for
    # them.
    return 0 if second[0] == MULTI else j - first[2], at.multi_unpaired


@kernel
def _add(model, chart, kind, i, j, first, second, work, found):
    """Write one choice, unless it cannot be; returns the next place."""
    # Zero of the type of the scores, which are complex where derivatives are taken by the complex step.
    value = model.scores[0] * 0.0
    if first[0] != NONE:
        value += value_of(model, chart, first[0], first[1], first[2])
    if second[0] != NONE:
        value += value_of(model, chart, second[0], second[1], second[2])
    # What cannot be is not written: the number of choices stays small, and no sum has to skip it.
    if value.real == -np.inf:
        return found
    for k in range(3):
        work.items[6 * found + k], work.items[6 * found + 3 + k] = first[k], second[k]
    for k in range(_choice_cells(model, kind, i, j, first, work.cells)):
        value += model.scores[work.cells[k]]
    free, cell = _unpaired(model, kind, i, j, first, second)
    work.values[found] = value + free * model.scores[cell]
    return found + 1


@kernel
def _of_exterior(model, chart, i, work):
    n, none = model.n, (NONE, 0, 0)
    if i == n:
        return 0
    found = _add(model, chart, EXTERIOR, i, n - 1, (EXTERIOR, i + 1, n - 1), none, work, 0)
    for k in range(i + 1, min(n, i + model.reach + 1)):
        pair, rest = (PAIR, i, k), (EXTERIOR, k + 1, n - 1)
        found = _add(model, chart, EXTERIOR, i, n - 1, pair, rest, work, found)
    return found


@kernel
def _of_left(model, chart, i, work):
    """What follows in the first strand."""
    nick, none, found = model.nick, (NONE, 0, 0), 0
    if i == nick:
        return 0
    found = _add(model, chart, LEFT, i, nick - 1, (LEFT, i + 1, nick - 1), none, work, found)
    for k in range(i + 1, nick):
        pair, rest = (PAIR, i, k), (LEFT, k + 1, nick - 1)
        found = _add(model, chart, LEFT, i, nick - 1, pair, rest, work, found)
    return found


@kernel
def _of_right(model, chart, j, work):
    """What precedes in the second strand."""
    begin, none, found = model.nick + GAP, (NONE, 0, 0), 0
    if j < begin:
        return 0
    found = _add(model, chart, RIGHT, begin, j, (RIGHT, begin, j - 1), none, work, found)
    for k in range(begin, j):
        pair, rest = (PAIR, k, j), (RIGHT, begin, k - 1)
        found = _add(model, chart, RIGHT, begin, j, pair, rest, work, found)
    return found


@kernel
def _of_pair(model, chart, i, j, work):
    none, found = (NONE, 0, 0), 0
    if i < model.nick <= j:
        left, right = (LEFT, i + 1, model.nick - 1), (RIGHT, model.nick + GAP, j - 1)
        found = _add(model, chart, PAIR, i, j, left, right, work, found)
    elif j - i > model.min_hairpin:
        found = _add(model, chart, PAIR, i, j, none, none, work, found)
    # Inner pairs with at most 30 unpaired bases on both sides together: (p - i - 1) + (j - q - 1) < LOOP.
    for p in range(i + 1, min(i + LOOP, j - 2) + 1):
        for q in range(max(p + 1, j - LOOP + p - i - 1), j):
            found = _add(model, chart, PAIR, i, j, (PAIR, p, q), none, work, found)
    if j > i + 1:
        found = _add(model, chart, PAIR, i, j, (MULTI_2, i + 1, j - 1), none, work, found)
    if model.weighted:
        own = model.factors[cell(model, i, j)]
        for k in range(found):
            work.values[k] = work.values[k] + own
    return found


@kernel
def _of_stretch(model, chart, kind, i, j, work):
    none, found, here, nick = (NONE, 0, 0), 0, cell(model, i, 0), model.nick
    if nick <= i < nick + GAP:  # between strands
        return 0
    if i < j:
        found = _add(model, chart, kind, i, j, (kind, i + 1, j), none, work, found)
    for k in range(i + 1, j + 1):
        # Most k do not pair with i; looking at the chart is cheaper than to try them.
        if chart.pairs[here + k].real == -np.inf:
            continue
        # The unpaired bases behind the only branch are of one strand.
        if kind == MULTI and not k < nick <= j:
            found = _add(model, chart, kind, i, j, (PAIR, i, k), none, work, found)
        if k < j:
            found = _add(model, chart, kind, i, j, (PAIR, i, k), (MULTI, k + 1, j), work, found)
    return found


@kernel
def _of_circle(model, chart, i, work):
    n, none, found = model.n, (NONE, 0, 0), 0
    if i == n:
        return _add(model, chart, CIRCLE, i, n - 1, none, none, work, found)
    found = _add(model, chart, CIRCLE, i, n - 1, (CIRCLE, i + 1, n - 1), none, work, found)
    for k in range(i + 1, n):
        found = _add(model, chart, CIRCLE, i, n - 1, (PAIR, i, k), (REST, i, k), work, found)
    return found


@kernel
def _of_rest(model, chart, i, j, work):
    """What is outside of the first pair of a circle: nothing, a second pair, or more."""
    n, none, found = model.n, (NONE, 0, 0), 0
    if n - (j - i + 1) >= model.min_hairpin:
        found = _add(model, chart, REST, i, j, none, none, work, found)
    for p in range(j + 1, min(j + LOOP, n - 2) + 1):
        for q in range(max(p + 1, i + n - LOOP + p - j - 1), n):
            found = _add(model, chart, REST, i, j, (PAIR, p, q), none, work, found)
    if j < n - 1:
        found = _add(model, chart, REST, i, j, (MULTI_2, j + 1, n - 1), none, work, found)
    return found


@kernel
def _choices(model, chart, kind, i, j, work):
    if kind == EXTERIOR:
        return _of_exterior(model, chart, i, work)
    if kind == PAIR:
        return _of_pair(model, chart, i, j, work)
    if kind == LEFT:
        return _of_left(model, chart, i, work)
    if kind == RIGHT:
        return _of_right(model, chart, j, work)
    if kind == CIRCLE:
        return _of_circle(model, chart, i, work)
    if kind == REST:
        return _of_rest(model, chart, i, j, work)
    return _of_stretch(model, chart, kind, i, j, work)


@kernel
def choices(model, chart, kind, i, j, work):
    """Write the choices for an item, and their values; returns their number."""
    model, chart, work = _bare(model, chart, work)
    return _choices(model, chart, kind, i, j, work)


@kernel
def _pick(values, n_choices, value, uniform):
    """The choice that `uniform`, one of [0, 1), falls on or, if it is negative, the best one."""
    # Inverse transform sampling: the first choice at which the sum of shares exp(value - total) exceeds a
    # uniform number. Rounding may leave the sum below it at the end: then it is the best one.
    best, seen = 0, 0.0
    for k in range(n_choices):
        if values[k] > values[best]:
            best = k
        if uniform >= 0.0:
            seen += np.exp(values[k] - value)
            if seen > uniform:
                return k
    return best


@kernel
def derive(model, chart, uniforms, work, todo, partner):
    """Make all choices: the best ones, or at random.

    Parameters
    ----------
    uniforms : (3 n + 3,) of [0, 1), or empty for the best
    todo : (n + 3, 3) scratch
    partner : (n,)
        Gets the partners, -1 where unpaired.
    """
    model, chart, work = _bare(model, chart, work)
    partner[:] = -1
    todo[0, 0], todo[0, 1], todo[0, 2] = whole(model)
    # A stack of items that are still to be filled in; each choice pops one and pushes up to two. A structure
    # takes at most 3 n + 3 choices, and as many uniform numbers are given.
    left, made = 1, 0
    while left:
        left -= 1
        kind, i, j = todo[left, 0], todo[left, 1], todo[left, 2]
        if kind == PAIR:
            partner[i], partner[j] = j, i
        n_choices = _choices(model, chart, kind, i, j, work)
        if n_choices == 0:
            continue
        uniform = uniforms[made] if uniforms.size else -1.0
        k = 6 * _pick(work.values, n_choices, value_of(model, chart, kind, i, j), uniform)
        made += 1
        for first in (k, k + 3):
            if work.items[first] != NONE:
                for part in range(3):
                    todo[left, part] = work.items[first + part]
                left += 1


@kernel
def _log_sum(values, n_choices, zero):
    """Log of the sum of exponentials, real or complex."""
    # log sum exp(v) = most + log sum exp(v - most): no exponential exceeds 1. For complex values the real
    # part decides, for imaginary parts are the tiny steps of derivatives.
    most = -np.inf
    for k in range(n_choices):
        most = max(most, values[k].real)
    if most == -np.inf:
        return zero - np.inf
    total = zero
    for k in range(n_choices):
        total += np.exp(values[k] - most)
    return np.log(total) + most


@kernel
def _best_of(values, n_choices, zero):
    """The largest, -inf of none."""
    most = zero - np.inf
    for k in range(n_choices):
        if values[k].real > most.real:
            most = values[k]
    return most


@kernel
def _worth(model, chart, kind, i, j, best, work):
    """What all ways to fill in an item are worth, or the best one."""
    zero, found = model.scores[0] * 0.0, _choices(model, chart, kind, i, j, work)
    return _best_of(work.values, found, zero) if best else _log_sum(work.values, found, zero)


@kernel
def log_inside(model, chart, best, work):
    """Fill the chart with log-partitions, or with the best scores."""
    model, chart, work = _bare(model, chart, work)
    letters, n, nick, zero = model.letters, model.n, model.nick, model.scores[0] * 0.0
    # Items are filled in after those that they leave: rows from the last base to the first, and in a row the
    # pair before the stretches that begin with it.
    begin = nick + GAP
    if nick < n:
        chart.left[nick] = chart.right[begin] = zero
    chart.first[n] = zero
    for i in range(n - 1, -1, -1):
        for j in range(i, min(n, i + model.reach + 1)):
            at = cell(model, i, j)
            chart.pairs[at] = zero - np.inf
            if (j > i + model.min_hairpin or i < nick <= j) and model.allowed[
                letters[i + 1] * N_LETTERS + letters[j + 1]
            ]:
                chart.pairs[at] = _worth(model, chart, PAIR, i, j, best, work)
            chart.multi[at] = _worth(model, chart, MULTI, i, j, best, work)
            chart.multi_2[at] = _worth(model, chart, MULTI_2, i, j, best, work)
        if i < nick < n:
            chart.left[i] = _worth(model, chart, LEFT, i, nick - 1, best, work)
        if i == begin:
            for j in range(begin, n):
                chart.right[j + 1] = _worth(model, chart, RIGHT, begin, j, best, work)
        if not model.circular:
            chart.first[i] = _worth(model, chart, EXTERIOR, i, n - 1, best, work)
    if model.circular:
        _close(model, chart, best, work)


@kernel
def close_circle(model, chart, best, work):
    """Fill what a chart of pairs and stretches has of a circle, ``rest`` and ``first``."""
    model, chart, work = _bare(model, chart, work)
    _close(model, chart, best, work)


@kernel
def _close(model, chart, best, work):
    """What is outside of each pair of a circle that may be its first, and the sum of all."""
    n = model.n
    for i in range(n, -1, -1):
        for j in range(i + 1, n):
            if chart.pairs[cell(model, i, j)].real > -np.inf:
                chart.rest[cell(model, i, j)] = _worth(model, chart, REST, i, j, best, work)
        chart.first[i] = _worth(model, chart, CIRCLE, i, n - 1, best, work)


@kernel
def _add_share(model, shares, item, part):
    kind, i, j = item
    if kind == NONE:
        return
    at = place_of(model, kind, i, j)
    if kind in (EXTERIOR, CIRCLE):
        shares.first[at] = shares.first[at] + part
    elif kind == LEFT:
        shares.left[at] = shares.left[at] + part
    elif kind == RIGHT:
        shares.right[at] = shares.right[at] + part
    else:
        table = _table(shares, kind)
        table[at] = table[at] + part


@kernel
def _spread(model, chart, shares, kind, i, j, work, counts):
    """Share what an item is expected to occur among its choices, and count their cells.

    Returns how many bases are expected to be unpaired in the last loop of a circle.
    """
    share, value = value_of(model, shares, kind, i, j), value_of(model, chart, kind, i, j)
    outer = share * 0.0
    # Most items have no share at all; their choices are not listed.
    if share == 0.0:
        return outer
    # The outside pass, as an adjoint: shares flow from an item to those that its choice leaves.
    items, used = work.items, work.cells
    for k in range(_choices(model, chart, kind, i, j, work)):
        # A choice's part of its item's share is its part of the sum: exp(value of choice - log of the sum).
        part = share * np.exp(work.values[k] - value)
        first = items[6 * k], items[6 * k + 1], items[6 * k + 2]
        second = items[6 * k + 3], items[6 * k + 4], items[6 * k + 5]
        _add_share(model, shares, first, part)
        _add_share(model, shares, second, part)
        for c in range(_choice_cells(model, kind, i, j, first, used)):
            counts[used[c]] = counts[used[c]] + part
        free, cell = _unpaired(model, kind, i, j, first, second)
        counts[cell] = counts[cell] + part * free
        outer += part * _outer_bases(model, kind, i, j, first)
    return outer


@kernel
def _outer_bases(model, kind, i, j, first):
    """Bases of the last loop of a circle that a choice leaves unpaired, but for those in a stretch."""
    if kind == CIRCLE:
        return model.n if first[0] == NONE else 0
    if kind != REST:
        return 0
    if first[0] == MULTI_2:
        return i
    inner = first[2] - first[1] + 1 if first[0] == PAIR else 0
    return model.n - (j - i + 1) - inner


@kernel
def log_outside(model, chart, shares, work, counts):
    """How often every item is expected to occur, and every table cell.

    Parameters
    ----------
    shares : Chart
        Zeros, but for the first cell of ``first``.
    counts : (N_CELLS,)
        Get the expected counts times that first cell.
    """
    model, chart, work = _bare(model, chart, work)
    shares, counts = _bare_chart(shares), cells(counts)
    n, nick = model.n, model.nick
    if model.circular:
        _open(model, chart, shares, work, counts)
    for i in range(n):
        if not model.circular:
            _spread(model, chart, shares, EXTERIOR, i, n - 1, work, counts)
        if i < nick < n:
            _spread(model, chart, shares, LEFT, i, nick - 1, work, counts)
        if i == nick:
            for j in range(n - 1, nick + GAP - 1, -1):
                _spread(model, chart, shares, RIGHT, nick + GAP, j, work, counts)
        # The opposite order of `log_inside`: every item after all those that leave it.
        for kind in (MULTI_2, MULTI, PAIR):
            for j in range(min(n - 1, i + model.reach), i - 1, -1):
                _spread(model, chart, shares, kind, i, j, work, counts)


@kernel
def open_circle(model, chart, shares, work, counts):
    """How often the pairs and stretches are expected that the last loop of a circle has, as `log_outside`.

    Returns how many bases are expected to be unpaired in that loop, but for those in stretches.
    """
    model, chart, work = _bare(model, chart, work)
    return _open(model, chart, _bare_chart(shares), work, cells(counts))


@kernel
def _open(model, chart, shares, work, counts):
    """Share out what is outside of the first pair of a circle."""
    # The first pair of a circle is the one with the least base; all else lies between its ends, outside of
    # it.
    n, outer = model.n, shares.first[0] * 0.0
    for i in range(n + 1):
        outer += _spread(model, chart, shares, CIRCLE, i, n - 1, work, counts)
        for j in range(i + 1, n):
            outer += _spread(model, chart, shares, REST, i, j, work, counts)
    return outer
