"""The choices that make an RNA structure, one by one: for traces, samples, and sums in the log domain.

An item is a part of a structure still to be filled in: ``(EXTERIOR, i, n - 1)``, the bases from i on;
``(PAIR, i, j)``, what the pair encloses; ``(MULTI, i, j)`` and ``(MULTI_2, i, j)``, a stretch of a
multi-branch loop with at least one branch, with at least two. Every choice for an item leaves up to two
others, and each structure comes from one sequence of choices. `log_inside` and `log_outside` are the
recursions of `structune.rna.kernels.sums`, choice by choice, over sums of logs.

The functions share these parameters: ``model``, what there is to choose from; ``chart``, what all ways to
fill in an item are worth together, or the best one; ``work``, where choices are written.
"""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.jit import kernel
from structune.kernels.vectors import cells
from structune.rna.kernels.loops import (
    LOOP,
    branch_cells,
    closing_cells,
    hairpin_cells,
    pair_cells,
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
    n, min_hairpin, reach : int
    weighted : bool
        Whether there are factors.
    """

    letters: Any
    at: Any
    scores: Any
    factors: Any
    allowed: Any
    n: int
    min_hairpin: int
    reach: int
    weighted: bool


class Chart(NamedTuple):
    """Values of all items, the first three tables of pairs, ``exterior`` (n + 1,)."""

    pairs: Any
    multi: Any
    multi_2: Any
    exterior: Any


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


NONE, EXTERIOR, PAIR, MULTI, MULTI_2 = -1, 0, 1, 2, 3
MOST_CELLS = 8  # of one choice


def most_choices(n: int) -> int:
    """Most choices that an item of a sequence of n bases can have."""
    return max(2 * n + 2, LOOP * (LOOP + 1) // 2 + 2)


@kernel
def _bare(model, chart, work):
    """The same without counted references, which cost more than the work itself."""
    m, c, w = model, chart, work
    model = Model(
        cells(m.letters), m.at, cells(m.scores), cells(m.factors), cells(m.allowed), m.n, m.min_hairpin,
        m.reach, m.weighted,
    )  # fmt: skip
    return model, _bare_chart(c), Choices(cells(w.values), cells(w.items), cells(w.cells))


@kernel
def _bare_chart(chart):
    return Chart(cells(chart.pairs), cells(chart.multi), cells(chart.multi_2), cells(chart.exterior))


@kernel
def cell(model, i, j):
    """Where a table of pairs has a stretch."""
    return row(i, model.n, model.reach) + j


@kernel
def value_of(model, chart, kind, i, j):
    """The chart's value of an item."""
    if kind == EXTERIOR:
        return chart.exterior[i]
    if kind == PAIR:
        return chart.pairs[cell(model, i, j)]
    return (chart.multi if kind == MULTI else chart.multi_2)[cell(model, i, j)]


@kernel
def _choice_cells(model, kind, i, j, first, out):
    """Cells of a choice, its pair's own among them, but for unpaired bases; returns their number."""
    letters, at = model.letters, model.at
    if kind != PAIR:
        if first[0] != PAIR:
            return 0
        return branch_cells(letters, first[1], first[2], kind != EXTERIOR, at, out, 0)
    found = pair_cells(letters, i, j, at, out, 0)
    if first[0] == NONE:
        return hairpin_cells(letters, i, j, at, out, found)
    if first[0] == PAIR:
        return two_pairs_cells(letters, i, j, first[1], first[2], at, out, found)
    return closing_cells(letters, i, j, at, out, found)


@kernel
def _unpaired(model, kind, j, first, second):
    """Bases that a choice leaves unpaired in the exterior or a multi-branch loop, and their cell."""
    if kind == EXTERIOR:
        return 0 if first[0] == PAIR else 1, model.at.external_unpaired
    if kind == PAIR:
        return 0, model.at.multi_unpaired
    if first[0] != PAIR:
        return 1, model.at.multi_unpaired
    return 0 if second[0] == MULTI else j - first[2], model.at.multi_unpaired


@kernel
def _add(model, chart, kind, i, j, first, second, work, found):
    """Write one choice, unless it cannot be; returns the next place."""
    value = model.scores[0] * 0.0
    if first[0] != NONE:
        value += value_of(model, chart, first[0], first[1], first[2])
    if second[0] != NONE:
        value += value_of(model, chart, second[0], second[1], second[2])
    if value.real == -np.inf:
        return found
    for k in range(3):
        work.items[6 * found + k], work.items[6 * found + 3 + k] = first[k], second[k]
    for k in range(_choice_cells(model, kind, i, j, first, work.cells)):
        value += model.scores[work.cells[k]]
    free, cell = _unpaired(model, kind, j, first, second)
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
def _of_pair(model, chart, i, j, work):
    none, found = (NONE, 0, 0), 0
    if j - i > model.min_hairpin:
        found = _add(model, chart, PAIR, i, j, none, none, work, found)
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
    none, found, here = (NONE, 0, 0), 0, cell(model, i, 0)
    if i < j:
        found = _add(model, chart, kind, i, j, (kind, i + 1, j), none, work, found)
    for k in range(i + 1, j + 1):
        if chart.pairs[here + k].real == -np.inf:
            continue
        if kind == MULTI:
            found = _add(model, chart, kind, i, j, (PAIR, i, k), none, work, found)
        if k < j:
            found = _add(model, chart, kind, i, j, (PAIR, i, k), (MULTI, k + 1, j), work, found)
    return found


@kernel
def _choices(model, chart, kind, i, j, work):
    if kind == EXTERIOR:
        return _of_exterior(model, chart, i, work)
    if kind == PAIR:
        return _of_pair(model, chart, i, j, work)
    return _of_stretch(model, chart, kind, i, j, work)


@kernel
def choices(model, chart, kind, i, j, work):
    """Write the choices for an item, and their values; returns their number."""
    model, chart, work = _bare(model, chart, work)
    return _choices(model, chart, kind, i, j, work)


@kernel
def _pick(values, n_choices, value, uniform):
    """The choice that `uniform`, one of [0, 1), falls on or, if it is negative, the best one."""
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
    n = partner.size
    partner[:] = -1
    todo[0, 0], todo[0, 1], todo[0, 2] = EXTERIOR, 0, n - 1
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
def log_inside(model, chart, work):
    """Fill the chart with log-partitions."""
    model, chart, work = _bare(model, chart, work)
    letters, n, zero = model.letters, model.n, model.scores[0] * 0.0
    chart.exterior[n] = zero
    for i in range(n - 1, -1, -1):
        for j in range(i, min(n, i + model.reach + 1)):
            at, found = cell(model, i, j), 0
            if j > i + model.min_hairpin and model.allowed[letters[i + 1] * N_LETTERS + letters[j + 1]]:
                found = _choices(model, chart, PAIR, i, j, work)
            chart.pairs[at] = _log_sum(work.values, found, zero)
            found = _choices(model, chart, MULTI, i, j, work)
            chart.multi[at] = _log_sum(work.values, found, zero)
            found = _choices(model, chart, MULTI_2, i, j, work)
            chart.multi_2[at] = _log_sum(work.values, found, zero)
        found = _choices(model, chart, EXTERIOR, i, n - 1, work)
        chart.exterior[i] = _log_sum(work.values, found, zero)


@kernel
def _add_share(model, shares, item, part):
    kind, i, j = item
    at = cell(model, i, j)
    if kind == EXTERIOR:
        shares.exterior[i] = shares.exterior[i] + part
    elif kind == PAIR:
        shares.pairs[at] = shares.pairs[at] + part
    elif kind == MULTI:
        shares.multi[at] = shares.multi[at] + part
    elif kind == MULTI_2:
        shares.multi_2[at] = shares.multi_2[at] + part


@kernel
def _spread(model, chart, shares, kind, i, j, work, counts):
    """Share what an item is expected to occur among its choices, and count their cells."""
    share, value = value_of(model, shares, kind, i, j), value_of(model, chart, kind, i, j)
    if share == 0.0:
        return
    items, used = work.items, work.cells
    for k in range(_choices(model, chart, kind, i, j, work)):
        part = share * np.exp(work.values[k] - value)
        first = items[6 * k], items[6 * k + 1], items[6 * k + 2]
        second = items[6 * k + 3], items[6 * k + 4], items[6 * k + 5]
        _add_share(model, shares, first, part)
        _add_share(model, shares, second, part)
        for c in range(_choice_cells(model, kind, i, j, first, used)):
            counts[used[c]] = counts[used[c]] + part
        free, cell = _unpaired(model, kind, j, first, second)
        counts[cell] = counts[cell] + part * free


@kernel
def log_outside(model, chart, shares, work, counts):
    """How often every item is expected to occur, and every table cell.

    Parameters
    ----------
    shares : Chart
        Zeros, but for the first cell of ``exterior``.
    counts : (N_CELLS,)
        Get the expected counts times that first cell.
    """
    model, chart, work = _bare(model, chart, work)
    shares, counts = _bare_chart(shares), cells(counts)
    n = model.n
    for i in range(n):
        _spread(model, chart, shares, EXTERIOR, i, n - 1, work, counts)
        for kind in (MULTI_2, MULTI, PAIR):
            for j in range(min(n - 1, i + model.reach), i - 1, -1):
                _spread(model, chart, shares, kind, i, j, work, counts)
