"""The best structures of a sequence, all those up to a number or down to a score.

Depth first over the choices of `structune.rna.kernels.grammar`: the chart tells what the best way to go on
loses, so that whatever is begun ends in a structure that counts. The choices of an item are found once, and
listed by what they lose. A frame is an item with its next choice; items still to be filled in are a list that
frames share.
"""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.jit import bare_kernel, part_of_one_kernel
from structune.kernels.vectors import cells
from structune.rna.kernels.grammar import NONE, PAIR, bare, choices, place

DEPTH, TOP, LISTS, FOUND, PRUNED, N_STATE = 0, 1, 2, 3, 4, 5
NEXT, LAST, TODO, PLACE, PAIRS, N_FRAME = 0, 1, 2, 3, 4, 5
DONE, MORE_CHOICES, MORE_ROWS = 0, 1, 2  # why a search stops


class Search(NamedTuple):
    """A search that can go on where it stopped."""

    state: Any  # (N_STATE,): numbers of frames, choices, lists and structures found; whether any was left out
    # (most_depth, N_FRAME): the next choice and the end of its list; the items that are left beside it, the
    # place for others, and the number of pairs
    frames: Any
    losses: Any  # (most_depth,): of what was chosen before, beside the best
    todo: Any  # (2 * most_depth, 4): items, and the place of the next one, -1 for none
    pairs: Any  # (n, 2)
    lists: Any  # as the chart: the number of each item's list, from 1, 0 where it is not known
    starts: Any  # (room + 1,): where lists begin
    choice_losses: Any  # (room,)
    choice_items: Any  # (room, 6)


@part_of_one_kernel
def _list(model, chart, search, work, most_loss, kind, i, j):
    """The number of an item's list, which is made if there is none."""
    at = place(model, kind, i, j)
    if search.lists[at]:
        return search.lists[at]
    # Choices by what they lose beside the best one of the item, the least first. So a list may end at the
    # first that loses too much, and the search goes back as soon as one does (Waterman & Byers 1985; Wuchty
    # et al. 1999).
    state, values, losses, best = search.state, work.values, search.choice_losses, -np.inf
    first = last = state[TOP]
    found = choices(model, chart, kind, i, j, work)
    for k in range(found):
        best = max(best, values[k])  # the chart's own may differ in the last digits
    for k in range(found):
        loss = max(best - values[k], 0.0)
        if loss > most_loss:
            state[PRUNED] = 1
            continue
        # Inserted behind those that lose as much: lists are short, for few choices lose little.
        to = last
        while to > first and losses[to - 1] > loss:
            losses[to] = losses[to - 1]
            for part in range(6):
                search.choice_items[to, part] = search.choice_items[to - 1, part]
            to -= 1
        losses[to] = loss
        for part in range(6):
            search.choice_items[to, part] = work.items[6 * k + part]
        last += 1
    state[LISTS] += 1
    state[TOP] = search.starts[state[LISTS]] = last
    search.lists[at] = state[LISTS]
    return state[LISTS]


@part_of_one_kernel
def _expand(model, chart, search, work, loss, most_loss, todo, free, n_pairs):
    """A frame for the next item that has choices; whether there is one."""
    state, depth = search.state, search.state[DEPTH]
    while todo >= 0:
        kind, i, j = search.todo[todo, 0], search.todo[todo, 1], search.todo[todo, 2]
        todo = search.todo[todo, 3]
        # The pair is written when its item is taken up; going back only resets the number of pairs.
        if kind == PAIR:
            search.pairs[n_pairs, 0], search.pairs[n_pairs, 1] = i, j
            n_pairs += 1
        number = _list(model, chart, search, work, most_loss, kind, i, j)
        first, last = search.starts[number - 1], search.starts[number]
        if first < last:
            frames = search.frames
            frames[depth, NEXT], frames[depth, LAST], frames[depth, TODO] = first, last, todo
            frames[depth, PLACE], frames[depth, PAIRS] = free, n_pairs
            search.losses[depth] = loss
            state[DEPTH] = depth + 1
            return True
    search.frames[depth, PAIRS] = n_pairs
    return False


@bare_kernel
def search_best(model, chart, search, work, most_loss, partners, losses):
    """Go on until all structures are found that lose at most `most_loss`.

    A search begins with one frame, whose only choice leaves the whole sequence. Returns why it stopped: DONE,
    or for want of room, MORE_CHOICES or MORE_ROWS.

    Parameters
    ----------
    partners, losses : (n_rows, n), (n_rows,)
        Get the structures.
    """
    n_choices, chart = work.values.size, cells(chart)
    model, work = bare(model, work)
    state, frames = search.state, search.frames
    while state[DEPTH]:
        # The exterior's end has a list, too.
        if search.choice_losses.size - state[TOP] < 2 * n_choices:
            return MORE_CHOICES
        row = state[FOUND]
        if row == losses.size:
            return MORE_ROWS
        f = state[DEPTH] - 1
        chosen = frames[f, NEXT]
        if chosen == frames[f, LAST]:
            state[DEPTH] = f
            continue
        # Losses add up along a derivation: this one's best completion loses exactly so much.
        loss = search.losses[f] + search.choice_losses[chosen]
        if loss > most_loss:
            state[PRUNED], state[DEPTH] = 1, f  # later ones lose more
            continue
        frames[f, NEXT] += 1
        todo, free = frames[f, TODO], frames[f, PLACE]
        # The first item is to be taken up first, so it is put on top of the second.
        for first in (3, 0):
            if search.choice_items[chosen, first] != NONE:
                for part in range(3):
                    search.todo[free, part] = search.choice_items[chosen, first + part]
                search.todo[free, 3] = todo
                todo, free = free, free + 1
        if _expand(model, chart, search, work, loss, most_loss, todo, free, frames[f, PAIRS]):
            continue
        losses[row] = loss
        for k in range(partners.shape[1]):
            partners[row, k] = -1
        for k in range(frames[state[DEPTH], PAIRS]):
            i, j = search.pairs[k, 0], search.pairs[k, 1]
            partners[row, i], partners[row, j] = j, i
        state[FOUND] += 1
    return DONE
