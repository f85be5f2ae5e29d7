"""The best order of the documents of each query, where documents are penalised in the first positions.

What is to be large is the sum over documents of score times weight of the position, less penalty times
discount. That is a linear assignment with structure: documents of equal penalty, a grade, follow each other
by falling score, and so do all documents behind the last discount. So the first positions are told by how
many documents they take from each grade, and a dynamic programme runs over these counts, its states.

What the documents behind give is no sum over grades. Prices of positions, at which documents by falling score
are the best assignment, bound it; it is computed for the few states that the bound leaves.
"""

from typing import NamedTuple

import numpy as np

from structune.kernels.jit import kernel, part_of_kernel

_MOST_GRADES = 8
_MOST_CELLS = 1 << 18  # of the table of states
_FEW = 1 << 12  # states, for which no solver of assignments is faster


class _Query(NamedTuple):
    """Documents by falling score, their grades, and positions.

    The table of states has a cell for each count of documents of every grade; ``steps`` lead to one more.
    """

    s: np.ndarray  # scores
    prices: np.ndarray  # of positions
    excess: np.ndarray  # of documents over the price, each at its own position: nowhere it is more
    penalties: np.ndarray  # of grades
    sizes: np.ndarray  # documents of a grade, at most as many as there are first positions
    steps: np.ndarray
    starts: np.ndarray  # of grades among the members
    members: np.ndarray  # documents, grade by grade
    weights: np.ndarray  # of all positions
    discounts: np.ndarray  # of the first positions


@kernel
def penalised_orders(scores, penalties, offsets, sorted_, weights, discounts, positions):
    """Find the positions of the documents of each query; -1 where there are too many states.

    ``sorted_`` holds the documents of each query by falling score. ``weights`` and ``discounts`` of positions
    fall, and the last of these may be 0. Documents of equal score and penalty stay in the order sorted.
    """
    # For a query with scores s, weights c of positions, discounts d and penalties g the order maximises
    #
    #     sum_j s_j c_p(j) - g_j d_p(j)
    #
    # that is, w . F(x, p) + Delta of Le & Smola (2007) but for constants: c_p = (p + 2)^(-1/4), and g is the
    # rate of the cost times the gain over the ideal DCG. Both c and d fall with p.
    n_discounts = np.count_nonzero(discounts)
    for q in range(offsets.size - 1):
        a, b = offsets[q], offsets[q + 1]
        order = sorted_[a:b]
        # documents are told by their rank r by falling score from here on
        levels, sizes, members = _grades(penalties[order])
        first = min(n_discounts, b - a)
        n_ends = _n_ends(sizes, first)
        if levels.size == 1:  # nothing is gained by another order
            found = np.arange(b - a)
        elif n_ends:
            query = _laid_out(scores[order], levels, sizes, members, weights, discounts[:first])
            found = _best_positions(query, n_ends)
        else:
            found = np.full(b - a, -1)
        for r in range(b - a):
            positions[order[r]] = found[r]


@part_of_kernel
def _grades(penalties):
    """The penalty of each grade, its number of documents, and these, grade by grade; none if too many."""
    levels, sizes = np.empty(_MOST_GRADES), np.zeros(_MOST_GRADES, np.int64)
    grade, n = np.empty(penalties.size, np.int64), 0
    for r in range(penalties.size):
        g = 0
        while g < n and levels[g] != penalties[r]:
            g += 1
        if g == _MOST_GRADES:
            return levels[:0], sizes[:0], grade[:0]
        if g == n:
            levels[g] = penalties[r]
            n += 1
        grade[r] = g
        sizes[g] += 1
    members, ends = np.empty(penalties.size, np.int64), np.cumsum(sizes)
    # a counting sort from the end, which keeps documents of a grade by falling score
    for r in range(penalties.size - 1, -1, -1):
        ends[grade[r]] -= 1
        members[ends[grade[r]]] = r
    return levels[:n], sizes[:n], members


@part_of_kernel
def _n_ends(sizes, first):
    """States that fill the first positions; 0 where states, or the table of them, are too many."""
    # ways[m]: states that took m documents, grade by grade; a state takes at most `sizes[g]` of a grade, and
    # never more than there are first positions
    cells, ways = 1, np.zeros(first + 1, np.int64)  # states by the documents that they have taken
    ways[0] = 1
    for g in range(sizes.size):
        cells *= min(sizes[g], first) + 1
        if cells > _MOST_CELLS:
            return 0
        for m in range(first, 0, -1):
            # from many documents to few: ways[m - c] is still that of the grades before
            for c in range(1, min(sizes[g], m) + 1):
                ways[m] += ways[m - c]
    # a solver is left for more states than there are pairs of documents and positions
    return ways[first] if sizes.size and ways.sum() <= max(_FEW, sizes.sum() ** 2) else 0


@part_of_kernel
def _laid_out(s, levels, sizes, members, weights, discounts):
    """A query, with prices halfway between the least and the highest that prove the order of the scores."""
    # Without penalties sorting by score is optimal, and prices u_p of positions prove it (the dual of the
    # assignment): s_r c_p - u_p is largest at p = r for each r. That holds if u_r - u_(r-1) lies between
    # s_r (c_r - c_(r-1)) and s_(r-1) (c_r - c_(r-1)); the mean of the two is taken. `excess` is what document
    # r has at its own position. Whatever positions documents get, they have no more than that.
    n, n_grades = s.size, sizes.size
    prices, excess = np.zeros(n), np.empty(n)
    for r in range(n):
        if r:
            prices[r] = prices[r - 1] + 0.5 * (s[r - 1] + s[r]) * (weights[r] - weights[r - 1])
        excess[r] = s[r] * weights[r] - prices[r]
    starts, steps, step = np.cumsum(sizes) - sizes, np.empty(n_grades, np.int64), 1
    for g in range(n_grades):
        sizes[g] = min(sizes[g], discounts.size)
        steps[g] = step
        step *= sizes[g] + 1
    return _Query(s, prices, excess, levels, sizes, steps, starts, members, weights, discounts)


@part_of_kernel
def _best_positions(query, n_ends):
    """The position of each document."""
    n_cells = query.steps[-1] * (query.sizes[-1] + 1)
    values, choices = np.empty(n_cells), np.empty(n_cells, np.uint8)
    ends, is_first = np.empty(n_ends, np.int64), np.empty(query.s.size, np.bool_)
    _fill(query, values, choices, ends)
    top = 0
    for k in range(n_ends):
        if values[ends[k]] > values[ends[top]]:
            top = k
    # values[end] is an upper bound: of the first positions exactly, of those behind at best
    ends[0], ends[top] = ends[top], ends[0]  # the highest bound first, which leaves room for few others
    best, most = ends[0], -np.inf
    for end in ends:
        # a bound that is no better than what was found needs no look at the documents behind
        if values[end] > most:
            value = values[end] - _loss_behind(query, end, is_first)
            if value > most:
                best, most = end, value
    return _traced(query, best, choices)


@part_of_kernel
def _fill(query, values, choices, ends):
    """Values of all states, the grade that each took last, and the states that fill the first positions."""
    # values[state] = max over grades g that the state took from of
    #
    #     values[state less one of g] + s_r c_p - penalty_g d_p - excess_r
    #
    # with p the position that is filled last and r the document of g that comes next by score. Documents
    # behind count with all of their excess at first, so that values are upper bounds; the sum of all excesses
    # and the prices of the positions behind are constants, which are left out.
    first, n_grades, steps = query.discounts.size, query.sizes.size, query.steps
    s, excess = query.s[query.members], query.excess[query.members]
    taken = np.zeros(n_grades, np.int64)
    values[0], at, m, n_ends = 0.0, 0, 0, 0
    while True:
        g = 0  # the next state takes one more of the first grade that it can, and nothing of those before
        while g < n_grades and (m == first or taken[g] == query.sizes[g]):
            m -= taken[g]
            at -= taken[g] * steps[g]
            taken[g] = 0
            g += 1
        if g == n_grades:
            break
        taken[g] += 1
        m += 1
        at += steps[g]
        # states are counted like the digits of a number, so those with one document less came before
        best, chosen, weight, discount = -np.inf, 0, query.weights[m - 1], query.discounts[m - 1]
        for last in range(g, n_grades):
            if taken[last]:
                r = query.starts[last] + taken[last] - 1
                value = values[at - steps[last]] - excess[r]
                value += s[r] * weight - query.penalties[last] * discount
                if value > best:
                    best, chosen = value, last
        values[at], choices[at] = best, chosen
        if m == first:
            ends[n_ends] = at
            n_ends += 1


@part_of_kernel
def _loss_behind(query, end, is_first):
    """What the documents behind the first positions lose against the most that they could at the prices."""
    is_first[:] = False
    for g in range(query.sizes.size):
        count = end // query.steps[g] % (query.sizes[g] + 1)
        for i in range(query.starts[g], query.starts[g] + count):
            is_first[query.members[i]] = True
    # documents behind the last discount follow each other by falling score; each loses against its excess
    loss, p = 0.0, query.discounts.size
    for r in range(is_first.size):
        if not is_first[r]:
            loss += query.excess[r] - (query.s[r] * query.weights[p] - query.prices[p])
            p += 1
    return loss


@part_of_kernel
def _traced(query, at, choices):
    """The positions of documents, of which the first ones are those of a state."""
    # from the state back to the empty one: `choices` say from which grade the last document came
    positions = np.full(query.s.size, -1)
    for p in range(query.discounts.size - 1, -1, -1):
        g = choices[at]
        count = at // query.steps[g] % (query.sizes[g] + 1)
        positions[query.members[query.starts[g] + count - 1]] = p
        at -= query.steps[g]
    p = query.discounts.size
    for r in range(positions.size):
        if positions[r] < 0:
            positions[r] = p
            p += 1
    return positions
