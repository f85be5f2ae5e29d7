"""The choices that make an RNA structure, one by one: for traces, samples, and sums in the log domain.

An item is a part of a structure still to be filled in: ``(EXTERIOR, i, n - 1)``, the bases from i on, of a
circle those among which its first pair is still to be chosen; ``(PAIR, i, j)``, what the pair encloses;
``(MULTI, i, j)`` and ``(MULTI_2, i, j)``, a stretch of a multi-branch loop with at least one branch, with at
least two. Where two strands end within a pair: ``(LEFT, i, nick - 1)`` and ``(RIGHT, begin, j)``, the rest of
the first and the beginning of the second. ``(REST, i, j)`` is all that is outside of the first pair of a
circle. Every choice for an item leaves up to two others, and each structure comes from one sequence of
choices. `log_inside` and `log_outside` are the recursions of `structune.rna.kernels.sums`, choice by choice,
over sums of logs.

The functions share these parameters: ``model``, what there is to choose from; ``chart``, what all ways to
fill in an item are worth together, or the best one; ``work``, where choices are written.
"""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.jit import bare_kernel, part_of_bare_kernel, part_of_one_kernel
from structune.kernels.vectors import cells
from structune.rna.kernels.loops import (
    GAP,
    LOOP,
    N_LETTERS,
    between_cells,
    branch_cells,
    closing_cells,
    hairpin_cells,
    has_no_outside,
    pair_cells,
    row,
    span_between,
    two_pairs_cells,
)


class Model(NamedTuple):
    """A sequence and its scores; letters and `at` as `structune.rna.kernels.loops` has them."""

    letters: Any
    at: Any
    scores: Any  # (N_CELLS,), of the table cells, real or with a complex step
    factors: Any  # table of pairs, or empty: what the score of a pair is beside its own
    allowed: Any  # (6 * 6,): whether two letters may pair
    starts: Any  # 8 int: where each kind of item begins in a chart, and the chart ends
    n: int
    min_hairpin: int
    reach: int
    nick: int
    weighted: bool  # whether there are factors
    circular: bool


class Choices(NamedTuple):
    """The choices for an item."""

    values: Any  # (most_choices(n),), as scores: each with the best or all ways to go on
    items: Any  # (6 * most_choices(n),): what each leaves: kind, i, j, twice; kind NONE for none
    cells: Any  # (MOST_CELLS,) scratch


# The grammar is unambiguous: every structure has one derivation. So sums over derivations are sums over
# structures, the best derivation is the best structure, and drawing choices by their shares draws structures
# by theirs. The kinds are numbers of NumPy: for each literal number numba would compile all anew.
NONE = np.int64(-1)
EXTERIOR, PAIR, MULTI, MULTI_2, LEFT, RIGHT, REST = (np.int64(kind) for kind in range(7))
NOTHING = NONE, np.int64(0), np.int64(0)
MOST_CELLS = 8  # of one choice


def most_choices(n: int) -> int:
    """Most choices that an item of a sequence of n bases can have."""
    # A stretch has at most two choices for each end of its first branch; a pair one for each of the 496 loops
    # with another pair (31 * 32 / 2), and two more: hairpin and multi-branch loop.
    return max(2 * n + 2, LOOP * (LOOP + 1) // 2 + 2)


@part_of_bare_kernel
def bare(model, work):
    """The same without counted references, which cost more than the work itself."""
    m, w = model, work
    bare = Model(
        cells(m.letters), m.at, cells(m.scores), cells(m.factors), cells(m.allowed), m.starts, m.n,
        m.min_hairpin, m.reach, m.nick, m.weighted, m.circular,
    )  # fmt: skip
    return bare, Choices(cells(w.values), cells(w.items), cells(w.cells))


# Steps of complex numbers are so small that their squares vanish: f(x + i h) = f(x) + i h f'(x). So one
# exponential or logarithm of a real number is enough, as in `structune.structure.COMPLEX_STEP`.


@part_of_bare_kernel
def _exp(z):
    return np.exp(z.real) * (1.0 + (z - z.real))


@part_of_bare_kernel
def _log(z):
    return np.log(z.real) + (z - z.real) / z.real


@part_of_bare_kernel
def place(model, kind, i, j):
    """Where a chart has an item."""
    start = model.starts[kind]
    if kind in (EXTERIOR, LEFT):
        return start + i
    return start + (j + 1 if kind == RIGHT else row(i, model.n, model.reach) + j)


@part_of_bare_kernel
def _choice_cells(model, kind, i, j, first, out):
    """Cells of a choice, its pair's own among them, but for unpaired bases; returns their number."""
    letters, at, n, found = model.letters, model.at, model.n, 0
    if kind != PAIR and kind != REST:
        if first[0] != PAIR or (kind == EXTERIOR and model.circular):
            return 0
        return branch_cells(letters, first[1], first[2], kind in (MULTI, MULTI_2), at, out, found)
    # What is outside of the first pair of a circle is a loop that this pair closes from behind.
    a, b = (i, j) if kind == PAIR else (j, i + n)
    if kind == PAIR:
        length = span_between(i, j, n, model.nick, model.circular)
        found = pair_cells(letters, i, j, length, at, out, found)
    if first[0] == NONE:
        return hairpin_cells(letters, a, b, at, out, found)
    if first[0] == LEFT:
        return between_cells(letters, a, b, at, out, found)
    if first[0] == PAIR:
        no_outside = has_no_outside(i, j, model.nick, model.circular)
        return two_pairs_cells(letters, a, b, first[1], first[2], no_outside, at, out, found)
    return closing_cells(letters, a, b, at, out, found)


@part_of_bare_kernel
def _unpaired(model, kind, i, j, first, second):
    """Bases that a choice leaves unpaired in the exterior or a multi-branch loop, and their cell."""
    at, free = model.at, 0
    if kind == EXTERIOR and model.circular:
        return model.n if first[0] == NONE else free, at.external_unpaired
    if kind in (EXTERIOR, LEFT, RIGHT):
        # The places between two strands are passed over without a score.
        between = kind == EXTERIOR and model.nick <= i < model.nick + GAP
        return 0 if first[0] == PAIR or between else 1, at.external_unpaired
    if kind == REST:
        free = i if first[0] == MULTI_2 else 0
    elif kind != PAIR and first[0] != PAIR:
        free = 1
    elif kind != PAIR and second[0] == NONE:
        # A stretch whose only branch is (i, k) leaves the bases k + 1..j unpaired at once: no item is left
        # for them.
        free = j - first[2]
    return free, at.multi_unpaired


@part_of_bare_kernel
def _note(items, found, first, second):
    """Write a choice; returns the place of the next one."""
    for k in range(3):
        items[6 * found + k], items[6 * found + 3 + k] = first[k], second[k]
    return found + 1


@part_of_one_kernel
def _note_stretch(model, chart, kind, i, j, items):
    """Choices for what follows base i: it is unpaired, or paired with k."""
    found, nick, pairs = 0, model.nick, place(model, PAIR, i, i) - i
    in_multi, in_circle = kind in (MULTI, MULTI_2), kind == EXTERIOR and model.circular
    if in_multi and nick <= i < nick + GAP:  # between strands
        return 0
    if i > j:
        return _note(items, found, NOTHING, NOTHING) if in_circle else 0
    if i < j or not in_multi:
        found = _note(items, found, (kind, i + 1, j), NOTHING)
    for k in range(i + 1, min(j, i + model.reach) + 1):
        # Most k do not pair with i; looking at the chart is cheaper than to try them.
        if chart[pairs + k].real == -np.inf:
            continue
        if not in_multi:
            rest = (REST, i, k) if in_circle else (kind, k + 1, j)
            found = _note(items, found, (PAIR, i, k), rest)
            continue
        # The unpaired bases behind the only branch are of one strand.
        if kind == MULTI and not k < nick <= j:
            found = _note(items, found, (PAIR, i, k), NOTHING)
        if k < j:
            found = _note(items, found, (PAIR, i, k), (MULTI, k + 1, j))
    return found


@part_of_one_kernel
def _note_prefix(model, chart, j, items):
    """Choices for what precedes base j in the second strand."""
    begin, found = model.nick + GAP, 0
    if j < begin:
        return found
    found = _note(items, found, (RIGHT, begin, j - 1), NOTHING)
    for k in range(begin, j):
        if chart[place(model, PAIR, k, j)].real > -np.inf:
            found = _note(items, found, (PAIR, k, j), (RIGHT, begin, k - 1))
    return found


@part_of_one_kernel
def _note_loop(model, chart, kind, i, j, items):
    """Choices for the loop that a pair closes, from behind if it is the first one of a circle."""
    found, n, nick = 0, model.n, model.nick
    a, b = (i, j) if kind == PAIR else (j, i + n)
    last = min(b, n)
    if kind == PAIR and i < nick <= j:
        found = _note(items, found, (LEFT, i + 1, nick - 1), (RIGHT, nick + GAP, j - 1))
    elif b - a > model.min_hairpin:
        found = _note(items, found, NOTHING, NOTHING)
    # Inner pairs with at most 30 unpaired bases on both sides together: (p - a - 1) + (b - q - 1) < LOOP.
    for p in range(a + 1, min(a + LOOP, last - 2) + 1):
        pairs = place(model, PAIR, p, p) - p
        for q in range(max(p + 1, b - LOOP + p - a - 1), last):
            if chart[pairs + q].real > -np.inf:
                found = _note(items, found, (PAIR, p, q), NOTHING)
    if a + 1 < last:
        found = _note(items, found, (MULTI_2, a + 1, last - 1), NOTHING)
    return found


@bare_kernel
def choices(model, chart, kind, i, j, work):
    """Write the choices for an item, and their values; returns their number. All are as `bare` gives them."""
    items, values, scores, factor = work.items, work.values, model.scores, 0.0
    if model.weighted and kind == PAIR:
        factor = model.factors[row(i, model.n, model.reach) + j]
        if factor == -np.inf:
            return 0
    if kind == RIGHT:
        noted = _note_prefix(model, chart, j, items)
    elif kind in (PAIR, REST):
        noted = _note_loop(model, chart, kind, i, j, items)
    else:
        noted = _note_stretch(model, chart, kind, i, j, items)
    found = 0
    for k in range(noted):
        first = items[6 * k], items[6 * k + 1], items[6 * k + 2]
        second = items[6 * k + 3], items[6 * k + 4], items[6 * k + 5]
        value = scores[0] * 0.0
        for item in (first, second):
            if item[0] != NONE:
                value += chart[place(model, item[0], item[1], item[2])]
        # What cannot be is left out: the number of choices stays small, and no sum has to skip it.
        if value.real == -np.inf:
            continue
        for c in range(_choice_cells(model, kind, i, j, first, work.cells)):
            value += scores[work.cells[c]]
        free, cell = _unpaired(model, kind, i, j, first, second)
        values[found] = value + free * scores[cell] + factor
        found = _note(items, found, first, second)
    return found


@part_of_one_kernel
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


@bare_kernel
def derive(model, chart, uniforms, work, todo, partner):
    """Make all choices: the best ones, or at random.

    Parameters
    ----------
    uniforms : (3 n + 3,) of [0, 1), or empty for the best
    todo : (n + 3, 3) scratch
    partner : (n,)
        Gets the partners, -1 where unpaired.
    """
    model, work = bare(model, work)
    chart = cells(chart)
    partner[:] = -1
    todo[0, 0], todo[0, 1], todo[0, 2] = EXTERIOR, 0, model.n - 1
    # A stack of items that are still to be filled in; each choice pops one and pushes up to two. A structure
    # takes at most 3 n + 3 choices, and as many uniform numbers are given.
    left, made = 1, 0
    while left:
        left -= 1
        kind, i, j = todo[left, 0], todo[left, 1], todo[left, 2]
        if kind == PAIR:
            partner[i], partner[j] = j, i
        n_choices = choices(model, chart, kind, i, j, work)
        if n_choices == 0:
            continue
        uniform = uniforms[made] if uniforms.size else -1.0
        k = 6 * _pick(work.values, n_choices, chart[place(model, kind, i, j)], uniform)
        made += 1
        for first in (k, k + 3):
            if work.items[first] != NONE:
                for part in range(3):
                    todo[left, part] = work.items[first + part]
                left += 1


@bare_kernel
def _fill(model, chart, kind, i, j, best, work):
    """Write what all ways to fill in an item are worth, or the best one."""
    values, found, most = work.values, choices(model, chart, kind, i, j, work), -np.inf
    for k in range(found):
        most = max(most, values[k].real)
    at = place(model, kind, i, j)
    if best or most == -np.inf:
        chart[at] = most
        return
    # log sum exp(v) = most + log sum exp(v - most): no exponential exceeds 1.
    total = values[0] * 0.0
    for k in range(found):
        total += _exp(values[k] - most)
    chart[at] = _log(total) + most


@bare_kernel
def log_inside(model, chart, work):
    """Fill the chart with log-partitions, but for what `close_circle` fills."""
    model, work = bare(model, work)
    chart, letters, n, nick = cells(chart), model.letters, model.n, model.nick
    # Items are filled in after those that they leave: rows from the last base to the first, and in a row the
    # pair before the stretches that begin with it.
    begin = nick + GAP
    if nick < n:
        chart[place(model, LEFT, nick, nick)] = 0.0
        chart[place(model, RIGHT, begin, begin - 1)] = 0.0
    if not model.circular:
        chart[n] = 0.0
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, min(n, i + model.reach + 1)):
            may_pair = model.allowed[letters[i + 1] * N_LETTERS + letters[j + 1]]
            if may_pair and (j > i + model.min_hairpin or i < nick <= j):
                _fill(model, chart, PAIR, i, j, False, work)
            for kind in (MULTI, MULTI_2):
                _fill(model, chart, kind, i, j, False, work)
        if i < nick < n:
            _fill(model, chart, LEFT, i, nick - 1, False, work)
        if i == begin:
            for j in range(begin, n):
                _fill(model, chart, RIGHT, begin, j, False, work)
        if not model.circular:
            _fill(model, chart, EXTERIOR, i, n - 1, False, work)


@bare_kernel
def close_circle(model, chart, best, work):
    """Fill what is outside of each pair of a circle that may be its first; the sum of all, or the best."""
    model, work = bare(model, work)
    chart, n = cells(chart), model.n
    for i in range(n, -1, -1):
        for j in range(i + 1, n):
            if chart[place(model, PAIR, i, j)].real > -np.inf:
                _fill(model, chart, REST, i, j, best, work)
        _fill(model, chart, EXTERIOR, i, n - 1, best, work)


@bare_kernel
def _spread(model, chart, shares, kind, i, j, work, counts):
    """Share what an item is expected to occur among its choices, and count their cells."""
    at = place(model, kind, i, j)
    # Most items have no share at all; their choices are not listed.
    share = shares[at]
    if share.real == 0.0:
        return
    # The outside pass, as an adjoint: shares flow from an item to those that its choice leaves.
    items, used = work.items, work.cells
    for k in range(choices(model, chart, kind, i, j, work)):
        # A choice's part of its item's share is its part of the sum: exp(value of choice - log of the sum).
        part = share * _exp(work.values[k] - chart[at])
        first = items[6 * k], items[6 * k + 1], items[6 * k + 2]
        second = items[6 * k + 3], items[6 * k + 4], items[6 * k + 5]
        for item in (first, second):
            if item[0] != NONE:
                to = place(model, item[0], item[1], item[2])
                shares[to] = shares[to] + part
        for c in range(_choice_cells(model, kind, i, j, first, used)):
            counts[used[c]] = counts[used[c]] + part
        free, cell = _unpaired(model, kind, i, j, first, second)
        counts[cell] = counts[cell] + part * free


@bare_kernel
def log_outside(model, chart, shares, work, counts):
    """How often every item is expected to occur, and every table cell, beyond what `open_circle` does.

    Parameters
    ----------
    shares : as `chart`
        Zeros, but for the first cell.
    counts : (N_CELLS,)
        Get the expected counts times that first cell.
    """
    model, work = bare(model, work)
    chart, shares, counts = cells(chart), cells(shares), cells(counts)
    n, nick = model.n, model.nick
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
            for j in range(min(n - 1, i + model.reach), i, -1):
                _spread(model, chart, shares, kind, i, j, work, counts)


@bare_kernel
def open_circle(model, chart, shares, work, counts):
    """How often the pairs and stretches are expected that the last loop of a circle has, as `log_outside`."""
    model, work = bare(model, work)
    chart, shares, counts = cells(chart), cells(shares), cells(counts)
    # The first pair of a circle is the one with the least base; all else lies between its ends, outside of
    # it.
    n = model.n
    for i in range(n + 1):
        _spread(model, chart, shares, EXTERIOR, i, n - 1, work, counts)
        for j in range(i + 1, n):
            _spread(model, chart, shares, REST, i, j, work, counts)
