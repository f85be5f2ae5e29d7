"""First-order linear chains by Hamming cost: the best labelling with each number of wrong tokens.

The row of a token, (L, number of wrong tokens so far), holds the highest scores of the labellings that end in
each label: the recursion of `viterbi` in `linear_domain`, over maxima, once for each number. Rows are long,
and only the last few are kept: one in `_SEGMENT` remains, from which the trace computes those in between
again.
"""

import numpy as np

from structune.kernels.jit import kernel, part_of_one_kernel
from structune.kernels.vectors import cells, larger, load, splat, store, width

_SEGMENT = 64


@kernel
def _fill(rows, kept, first, last, scores, transition_t, true, lanes):
    """Rows of the tokens first:last, from ``rows[1]`` on; ``rows[0]`` is that of the token before."""
    n_labels, n_cells = rows.shape[1], rows.shape[2]
    if first > 0:
        rows[0] = kept[first // _SEGMENT]
    else:
        # A first token has one wrong token or none, by whether its label is the true one.
        rows[1, :, :2] = -np.inf
        for y in range(n_labels):
            rows[1, y, int(y != true[0])] = scores[0, y]
    c_rows, c_transition = cells(rows), cells(transition_t)
    for t in range(max(first, 1), last):
        before = (t - first) * n_labels * n_cells
        for y in range(n_labels):
            at, wrong = before + (n_labels + y) * n_cells, int(y != true[t])
            score = splat(scores[t, y], lanes)
            # v_t(y, c) = score_t(y) + max_x (v_{t-1}(x, c - [y is wrong]) + transition(x, y)), for all c at
            # once: a wrong label moves the row by one cell, which is where it is stored.
            for c in range(0, t + 1, width(lanes)):
                best = splat(-np.inf, lanes)
                for x in range(n_labels):
                    move = splat(c_transition[y * n_labels + x], lanes)
                    best = larger(load(c_rows, before + x * n_cells + c, lanes) + move, best)
                store(c_rows, at + wrong + c, best + score)
            c_rows[at + (t + 1) * (1 - wrong)] = -np.inf  # the number of wrong tokens that y rules out


@part_of_one_kernel
def _largest(row, n, rate):
    """The largest ``c * (score + rate)`` for 0 <= c <= n wrong tokens, its c, and its last label."""
    # Slack rescaling: max over y' of Delta(y, y') (score(y') - score(y) + rate). For a given Delta = c the
    # best labelling is the one of the highest score, so the maximum over c of c (score_c + rate) is exact.
    best, cost, last = 0.0, 0, -1
    for c in range(1, n + 1):
        for y in range(row.shape[0]):
            value = c * (row[y, c] + rate)
            if value > best:
                best, cost, last = value, c, y
    return best, cost, last


@part_of_one_kernel
def _label_before(row, moves, cost):
    """The label that the best labelling with `cost` wrong tokens comes from."""
    label = 0
    for x in range(moves.size):
        if row[x, cost] + moves[x] > row[label, cost] + moves[label]:
            label = x
    return label


@kernel
def best_rescaled(offsets, scores, transition_t, true_labels, rates, lanes, labels, values):
    """Labels of the largest number of wrong tokens times (score + rate of the sequence), and its value.

    ``scores`` (n_tokens, L) include starts and ends, and are relative to those of the true labels: these
    score 0 together. Ties go to fewer wrong tokens.
    """
    n_labels, longest = scores.shape[1], 0
    for s in range(offsets.size - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    n_cells = longest + width(lanes)  # a run that starts at the last count leaves no row
    rows = np.empty((min(longest, _SEGMENT) + 1, n_labels, n_cells))
    kept = np.empty((longest // _SEGMENT + 1, n_labels, n_cells))
    for s in range(offsets.size - 1):
        start, stop = offsets[s], offsets[s + 1]
        n, u, true = stop - start, scores[start:stop], true_labels[start:stop]
        # Forwards: of every _SEGMENT rows the last is kept, which takes length / 64 rows of memory, not
        # length.
        for first in range(0, n, _SEGMENT):
            if first > 0:
                kept[first // _SEGMENT] = rows[_SEGMENT]
            _fill(rows, kept, first, min(first + _SEGMENT, n), u, transition_t, true, lanes)
        values[s], cost, label = _largest(rows[(n - 1) % _SEGMENT + 1], n, rates[s])
        if cost == 0:
            label = true[n - 1]
        # Backwards: rows of a segment are computed once more from the kept one, and read from its end.
        for first in range((n - 1) // _SEGMENT * _SEGMENT, -1, -_SEGMENT):
            last = min(first + _SEGMENT, n)
            if last < n:
                _fill(rows, kept, first, last, u, transition_t, true, lanes)
            for t in range(last - 1, first - 1, -1):
                labels[start + t] = label
                cost -= label != true[t]
                if t > 0:
                    label = _label_before(rows[t - first], transition_t[label], cost)
