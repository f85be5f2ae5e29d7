"""The best set of genes of a graph of exons: the recursion of `sums`, over maxima."""

import numpy as np

from structune.genes.eukaryotes.kernels.nodes import NOTHING, TYPES
from structune.genes.eukaryotes.kernels.sums import (
    after_right,
    exon_place,
    kinds_to,
    left_is_next,
    left_score,
    right_score,
    strand_of,
)
from structune.kernels.jit import kernel, part_of_kernel


@kernel
def best(nodes, scores, n, left, right):
    """Mark the nodes of the best set in ``left`` and ``right``; its score."""
    # Viterbi's algorithm: sums of `forward` become maxima, and each keeps where it comes from. `to_left[x]`
    # is the right node before x (-1 for none), `to_right[r]` the left node of the best exon that ends at r.
    n_lefts, n_rights = nodes.left_position.size, nodes.right_position.size
    value, to_left, to_right = np.empty(n_lefts), np.full(n_lefts, -1), np.full(n_rights, -1)
    exits = np.full((nodes.opening_position.size, TYPES), NOTHING)
    exit_of = np.full((nodes.opening_position.size, TYPES), -1)
    entries, entry_of = np.full(TYPES, NOTHING), np.full(TYPES, -1)
    far, far_of = np.full((2, TYPES), NOTHING), np.full((2, TYPES), -1)
    passed = nodes.strand_opening[:2].copy()
    ended, last, k, closed = 0.0, -1, 0, -1
    for r in range(n_rights + 1):
        while left_is_next(nodes, k, r):
            x = nodes.left_order[k]
            c = nodes.left_closing[x]
            if c < 0:
                before, to_left[x] = ended, last
            else:
                if c != closed:
                    _close(nodes, scores, c, exits, exit_of, passed, far, far_of, entries, entry_of)
                    closed = c
                before, to_left[x] = _best_entry(nodes, x, entries, entry_of)
            value[x] = before + left_score(nodes, scores, x)
            k += 1
        if r == n_rights:
            break
        most, to_right[r] = _best_exon(nodes, scores, value, r)
        most += right_score(nodes, scores, r) - after_right(nodes, scores, r)
        # less P(b, what begins here), as in `sums`: of genes that have ended the best, at its end, is enough
        if nodes.right_opening[r] >= 0:
            _open(nodes, r, most, exits, exit_of)
        elif most > ended:
            ended, last = most, r
    _trace(last, to_left, to_right, left, right)
    return ended + scores.prefix[n, scores.prefix.shape[1] - 1]


@part_of_kernel
def _best_entry(nodes, x, entries, entry_of):
    """The best intron that may come before a left node: its value, and the right node that it comes from."""
    most, found = 2.0 * NOTHING, -1  # below NOTHING and what is added to it, so that something is found
    for k in range(TYPES):
        if nodes.left_mask[x] >> k & 1 and entries[k] > most:
            most, found = entries[k], entry_of[k]
    return most, found


@part_of_kernel
def _best_exon(nodes, scores, value, r):
    """The best exon that ends at a right node: its value, and its left node."""
    most, found, kinds = 2.0 * NOTHING, -1, kinds_to(scores, nodes, r)
    for x in range(nodes.right_first[r], nodes.right_last[r]):
        kind, length = exon_place(scores, nodes, x, nodes.right_position[r], *kinds)
        log = value[x] + scores.exons[kind, length]
        if log > most:
            most, found = log, x
    return most, found


@part_of_kernel
def _open(nodes, r, most, exits, exit_of):
    """Let what comes to a right node be that of its opening, where it is better."""
    o = nodes.right_opening[r]
    for k in range(TYPES):
        if nodes.right_mask[r] >> k & 1 and most > exits[o, k]:
            exits[o, k], exit_of[o, k] = most, r


@part_of_kernel
def _trace(r, to_left, to_right, left, right):
    """Mark the nodes of the genes that end with a right node, and of those before."""
    while r >= 0:
        right[r] = 1
        left[to_right[r]] = 1
        r = to_left[to_right[r]]


@part_of_kernel
def _close(nodes, scores, c, exits, exit_of, passed, far, far_of, entries, entry_of):
    # as in `sums`, openings more than `longest` before are one maximum, which later closings share
    strand, position = strand_of(nodes.strand_closing, c), nodes.closing_position[c]
    end = nodes.strand_opening[strand + 1]
    while passed[strand] < end and position - nodes.opening_position[passed[strand]] > scores.longest:
        o = passed[strand]
        for k in range(TYPES):
            if exits[o, k] > far[strand, k]:
                far[strand, k], far_of[strand, k] = exits[o, k], exit_of[o, k]
        passed[strand] += 1
    for k in range(TYPES):
        entries[k], entry_of[k] = far[strand, k] + scores.introns[scores.introns.size - 1], far_of[strand, k]
    for o in range(passed[strand], end):
        length = position - nodes.opening_position[o]
        if length < scores.shortest:
            break
        score = scores.introns[length - scores.shortest]
        for k in range(TYPES):
            if exits[o, k] + score > entries[k]:
                entries[k], entry_of[k] = exits[o, k] + score, exit_of[o, k]


@kernel
def count_walk(nodes, scores, lefts, rights, exons, introns):
    """Count the lengths of given exons, by their nodes in order, and of the introns between them."""
    for k in range(lefts.size):
        x, r = lefts[k], rights[k]
        # the same places as in the recursions, so that features are those that are scored
        exons[exon_place(scores, nodes, x, nodes.right_position[r], *kinds_to(scores, nodes, r))] += 1.0
        if nodes.left_closing[x] >= 0:
            length = nodes.left_position[x] - nodes.right_position[rights[k - 1]]
            place = length - scores.shortest if length <= scores.longest else introns.size - 1
            introns[place] += 1.0
