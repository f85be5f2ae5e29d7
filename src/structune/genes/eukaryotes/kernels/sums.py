"""Sums over all sets of genes of a graph of exons, by logs, and probabilities; or the best set."""

import numpy as np

from structune.genes.eukaryotes.kernels.nodes import NOTHING, SOME, TYPES
from structune.kernels.jit import kernel, part_of_kernel
from structune.kernels.log_sums import add_logs

# Notation: a left node x of column c lies at a, a right node r at b; P(p, c) is the sum of what column c
# emits before p. L(x) and R(r) are logs of the sums over all sets of genes up to there. Then an exon from x
# to r of kind k adds P(b, c) - P(a, c) + exons[k, b - a]; `sums.left` has L(x) - P(a, c), so that one term of
# R(r) is one addition. Introns, and what is between genes, are taken apart in the same way. A derivative
# along a direction is the imaginary part of a complex step, so zeros are made of the scores' own type, and
# branches look at real parts.
_NEGLIGIBLE = 1e-18  # a probability: what is less likely is not followed back
_FAR_BELOW = -40.0  # the log of what adds nothing to 1


@part_of_kernel
def _exon_place(nodes, scores, x, column, position, outer):
    """Kind of an exon from a left node to a right one, and the place of its length."""
    # columns 0 to 2 are the frames of the forward strand, 3 to 5 those of the other; the last length is that
    # of all longer exons
    kind = scores.kinds[column // 3, 1 if nodes.left_closing[x] < 0 else 0, outer]
    return kind, min(position - nodes.left_position[x], scores.exons.shape[1] - 1)


@part_of_kernel
def _either(a, b, is_best):
    if is_best:
        return b if b.real > a.real else a
    return add_logs(a, b)


@kernel
def forward(nodes, scores, sums, is_best):
    """Fill `sums`; the log of the sum over all sets of genes of a sequence, or the score of the best."""
    # Nodes are passed once from left to right; at one position left nodes come first, as genes are at least a
    # base apart. `ended` is the log of the sum over all sets that are between genes, less
    # P(p, between), which does not depend on p then.
    n_lefts, n_rights = nodes.left_position.size, nodes.right_position.size
    zero = 0.0 * scores.end
    ended = zero  # genes that have ended, or none
    far = np.full((2, TYPES), zero + NOTHING)
    passed = nodes.strand_opening[:2].copy()  # openings that are far
    sums.exits[:] = zero + NOTHING
    most = 0
    for r in range(n_rights):
        most = max(most, nodes.right_last[r] - nodes.right_first[r])
    logs = np.empty(most, sums.left.dtype)
    next_left, closed = 0, -1
    for r in range(n_rights + 1):
        while next_left < n_lefts:
            x = nodes.left_order[next_left]
            if r < n_rights and nodes.left_position[x] > nodes.right_position[r]:
                break
            c = nodes.left_closing[x]
            if c < 0:
                before = ended
            else:
                if c != closed:  # left nodes of an acceptor follow each other: its introns are summed once
                    _close(nodes, scores, sums, c, nodes.left_column[x] // 3, passed, far, is_best)
                    closed = c
                before = _entered(nodes, sums, x, is_best)
            sums.left[x] = before + scores.left[x]
            next_left += 1
        if r == n_rights:
            break
        sums.right[r] = _exons_to(nodes, scores, sums, r, logs, is_best) + scores.right[r]
        value = sums.right[r] - scores.after[r]
        o, mask = nodes.right_opening[r], nodes.right_mask[r]
        if o < 0:
            ended = _either(ended, value, is_best)
        else:
            # exits[o, k] = log sum_r exp(R(r) - P(b, intron)) over the right nodes of o that leave type k
            for k in range(TYPES):
                if mask >> k & 1:
                    sums.exits[o, k] = _either(sums.exits[o, k], value, is_best)
    return ended + scores.end


@part_of_kernel
def _exons_to(nodes, scores, sums, r, logs, is_best):
    """Log of the sum over the exons that end at a right node; ``logs`` is lent."""
    # log sum_x exp(L(x) - P(a, c) + exons[k, b - a]); less the highest, so that nothing overflows
    a, n, position = nodes.right_first[r], nodes.right_last[r] - nodes.right_first[r], nodes.right_position[r]
    column, outer = nodes.right_column[r], 1 if nodes.right_opening[r] < 0 else 0
    highest, total = NOTHING, 0.0 * scores.end
    for k in range(n):
        place = _exon_place(nodes, scores, a + k, column, position, outer)
        logs[k] = sums.left[a + k] + scores.exons[place]
        highest = max(highest, logs[k].real)
    if highest < SOME or is_best:
        return total + highest
    for k in range(n):
        log = logs[k] - highest
        if log.real > _FAR_BELOW:
            total += np.exp(log)
    return highest + np.log(total)


@part_of_kernel
def _close(nodes, scores, sums, c, strand, passed, far, is_best):
    """Sum over the introns that end at a closing."""
    # entries[k] = log sum_o exp(exits[o, k] + introns[length]) over openings at least `shortest` before.
    # Those more than `longest` before share a score, so the sum over them is kept in `far` and only grows: a
    # closing looks at few openings, whatever the length of the sequence.
    position, end, wanted = nodes.closing_position[c], nodes.strand_opening[strand + 1], nodes.closing_mask[c]
    while passed[strand] < end and position - nodes.opening_position[passed[strand]] > scores.longest:
        for k in range(TYPES):
            if nodes.opening_mask[passed[strand]] >> k & 1:
                far[strand, k] = _either(far[strand, k], sums.exits[passed[strand], k], is_best)
        passed[strand] += 1
    for k in range(TYPES):
        sums.far[c, k] = far[strand, k]
        sums.entries[c, k] = far[strand, k] + scores.introns[scores.introns.size - 1]
    for o in range(passed[strand], end):
        length = position - nodes.opening_position[o]
        if length < scores.shortest:
            break
        both, score = nodes.opening_mask[o] & wanted, scores.introns[length - scores.shortest]
        for k in range(TYPES):
            if both >> k & 1:
                sums.entries[c, k] = _either(sums.entries[c, k], sums.exits[o, k] + score, is_best)


@part_of_kernel
def _entered(nodes, sums, x, is_best):
    """Log of the sum over the introns that may come before a left node."""
    # types are apart: an exon may begin after any of those that its first bases allow
    c, mask = nodes.left_closing[x], nodes.left_mask[x]
    found = 0.0 * sums.entries[c, 0] + NOTHING
    for k in range(TYPES):
        if mask >> k & 1:
            found = _either(found, sums.entries[c, k], is_best)
    return found


# --- backward ---------------------------------------------------------------------------------------------


@kernel
def backward(nodes, scores, sums, value, counts):
    """Fill `Counts`, which has zeros; ``value`` is what `forward` returned."""
    # Probabilities go back from what is used to what it was summed of: a summand gets the share exp(log -
    # sum) of what its sum is used. This is the gradient of `forward`, by hand. `after` is the log of sum_x
    # used(x) / exp(ended at x) over later outer left nodes, and the end of the sequence: times the exp of
    # what an outer right node adds to `ended` it is the probability of that node.
    after = scores.end - value  # logs of what genes that have ended are worth
    far = np.full((2, TYPES), 0.0 * value + NOTHING)  # and introns that become far
    passed = nodes.strand_opening[1:].copy()
    k = nodes.left_position.size - 1
    for r in range(nodes.right_position.size - 1, -2, -1):
        while k >= 0 and (r < 0 or nodes.left_position[nodes.left_order[k]] > nodes.right_position[r]):
            x = nodes.left_order[k]
            used, c = counts.left[x], nodes.left_closing[x]
            if abs(used) > _NEGLIGIBLE:
                if c < 0:
                    # the share of r in `ended` is exp(value of r - ended); the division by ended's exp is
                    # done here, once for all r before x
                    after = add_logs(after, np.log(used) - (sums.left[x] - scores.left[x]))
                else:
                    # closed[c, t] is how often introns of type t end at c: each gets its share of x
                    total = _entered(nodes, sums, x, False)
                    for t in range(TYPES):
                        if nodes.left_mask[x] >> t & 1 and sums.entries[c, t].real > SOME:
                            counts.closed[c, t] += used * np.exp(sums.entries[c, t] - total)
            # the last left node of a closing: all of its uses are known
            k -= 1
            if c >= 0 and (k < 0 or nodes.left_closing[nodes.left_order[k]] != c):
                _back_to_openings(nodes, scores, sums, counts, c, nodes.left_column[x] // 3, passed, far)
        if r < 0:
            break
        counts.right[r] = _followed(nodes, scores, sums, counts, r, after, passed, far)
        if abs(counts.right[r]) > _NEGLIGIBLE:
            # used(x) += used(r) exp(L(x) - P(a, c) + exons + right score - R(r))
            column, outer = nodes.right_column[r], 1 if nodes.right_opening[r] < 0 else 0
            base, position, follow = scores.right[r] - sums.right[r], nodes.right_position[r], counts.right[r]
            for x in range(nodes.right_first[r], nodes.right_last[r]):
                place = _exon_place(nodes, scores, x, column, position, outer)
                log = sums.left[x] + scores.exons[place] + base
                if log.real > _FAR_BELOW:
                    used = follow * np.exp(log)
                    counts.left[x] += used
                    counts.exons[place] += used


@part_of_kernel
def _followed(nodes, scores, sums, counts, r, after, passed, far):
    """The probability of a right node."""
    # opened[o, k] is how often introns of type k begin at o; r gets its share of each of its types
    o, value, strand = nodes.right_opening[r], sums.right[r] - scores.after[r], nodes.right_column[r] // 3
    if o < 0:
        return np.exp(value + after)
    while passed[strand] > o:
        _back_from_far(sums, counts, passed, far, strand)
    follow, mask = 0.0 * value, nodes.right_mask[r]
    for k in range(TYPES):
        if mask >> k & 1 and abs(counts.opened[o, k]) > _NEGLIGIBLE:
            follow += counts.opened[o, k] * np.exp(value - sums.exits[o, k])
    return follow


@part_of_kernel
def _back_from_far(sums, counts, passed, far, strand):
    """Hand an opening what it is worth to the closings that it is far from."""
    # far[k] is now log sum_c used(c, k) / exp(sums.far[c, k]) over the closings that o is far from
    passed[strand] -= 1
    o = passed[strand]
    for k in range(TYPES):
        if far[strand, k].real > SOME and sums.exits[o, k].real > SOME:
            counts.opened[o, k] += np.exp(sums.exits[o, k] + far[strand, k])


@part_of_kernel
def _back_to_openings(nodes, scores, sums, counts, c, strand, passed, far):
    # openings are no longer far from closings that are passed: they get what those handed on to far ones
    position, first = nodes.closing_position[c], nodes.strand_opening[strand]
    while passed[strand] > first and position - nodes.opening_position[passed[strand] - 1] <= scores.longest:
        _back_from_far(sums, counts, passed, far, strand)
    last = scores.introns.size - 1
    wanted = 0
    for k in range(TYPES):
        if abs(counts.closed[c, k]) <= _NEGLIGIBLE:
            continue
        wanted |= 1 << k
        if sums.far[c, k].real > SOME:
            used = counts.closed[c, k] * np.exp(sums.far[c, k] + scores.introns[last] - sums.entries[c, k])
            if abs(used) > _NEGLIGIBLE:
                counts.introns[last] += used
                far[strand, k] = add_logs(far[strand, k], np.log(used) - sums.far[c, k])
    for o in range(passed[strand], nodes.strand_opening[strand + 1] if wanted else 0):
        length = position - nodes.opening_position[o]
        if length < scores.shortest:
            break
        both, place = nodes.opening_mask[o] & wanted, length - scores.shortest
        for k in range(TYPES):
            if both >> k & 1:
                log = sums.exits[o, k] + scores.introns[place] - sums.entries[c, k]
                if log.real > _FAR_BELOW:
                    used = counts.closed[c, k] * np.exp(log)
                    counts.opened[o, k] += used
                    counts.introns[place] += used
