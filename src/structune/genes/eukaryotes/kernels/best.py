"""The best set of genes of a graph of exons: the recursion of `sums`, over maxima."""

import numpy as np

from structune.genes.eukaryotes.kernels.nodes import NOTHING, TYPES
from structune.genes.eukaryotes.kernels.sums import (
    after_right,
    exon_place,
    kinds_to,
    left_score,
    right_score,
    strand_of,
)
from structune.kernels.jit import kernel, part_of_kernel


@kernel
def best(nodes, scores, n, left, right):
    """Mark the nodes of the best set in ``left`` and ``right``; its score."""
    n_lefts, n_rights = nodes.left_position.size, nodes.right_position.size
    value, to_left, to_right = np.empty(n_lefts), np.full(n_lefts, -1), np.full(n_rights, -1)
    exits = np.full((nodes.opening_position.size, TYPES), NOTHING)
    exit_of = np.full((nodes.opening_position.size, TYPES), -1)
    entries, entry_of = np.full(TYPES, NOTHING), np.full(TYPES, -1)
    far, far_of = np.full((2, TYPES), NOTHING), np.full((2, TYPES), -1)
    passed = nodes.strand_opening[:2].copy()
    ended, last, k, closed = 0.0, -1, 0, -1
    for r in range(n_rights + 1):
        while k < n_lefts and (
            r == n_rights or nodes.left_position[nodes.left_order[k]] <= nodes.right_position[r]
        ):
            x = nodes.left_order[k]
            c = nodes.left_closing[x]
            if c < 0:
                before, to_left[x] = ended, last
            else:
                if c != closed:
                    _close(nodes, scores, c, exits, exit_of, passed, far, far_of, entries, entry_of)
                    closed = c
                before = 2.0 * NOTHING
                for m in range(TYPES):
                    if nodes.left_mask[x] >> m & 1 and entries[m] > before:
                        before, to_left[x] = entries[m], entry_of[m]
            value[x] = before + left_score(nodes, scores, x)
            k += 1
        if r == n_rights:
            break
        most, kinds = 2.0 * NOTHING, kinds_to(scores, nodes, r)
        for x in range(nodes.right_first[r], nodes.right_last[r]):
            kind, length = exon_place(scores, nodes, x, nodes.right_position[r], *kinds)
            log = value[x] + scores.exons[kind, length]
            if log > most:
                most, to_right[r] = log, x
        most += right_score(nodes, scores, r) - after_right(nodes, scores, r)
        o = nodes.right_opening[r]
        if o < 0:
            if most > ended:
                ended, last = most, r
        else:
            for m in range(TYPES):
                if nodes.right_mask[r] >> m & 1 and most > exits[o, m]:
                    exits[o, m], exit_of[o, m] = most, r
    r = last
    while r >= 0:
        right[r] = 1
        left[to_right[r]] = 1
        r = to_left[to_right[r]]
    return ended + scores.prefix[n, scores.prefix.shape[1] - 1]


@part_of_kernel
def _close(nodes, scores, c, exits, exit_of, passed, far, far_of, entries, entry_of):
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
        exons[exon_place(scores, nodes, x, nodes.right_position[r], *kinds_to(scores, nodes, r))] += 1.0
        if nodes.left_closing[x] >= 0:
            length = nodes.left_position[x] - nodes.right_position[rights[k - 1]]
            place = length - scores.shortest if length <= scores.longest else introns.size - 1
            introns[place] += 1.0
