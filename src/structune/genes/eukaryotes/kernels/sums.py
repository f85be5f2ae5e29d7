"""Sums over all sets of genes of a graph of exons, by logs, and probabilities; or the best set."""

import numpy as np

from structune.genes.eukaryotes.kernels.nodes import GENE, NOTHING, SOME, TYPES
from structune.kernels.jit import kernel, part_of_kernel
from structune.kernels.log_sums import add_logs

# Notation: a left node x of column c lies at a, a right node r at b; P(p, c) is `prefix`. L(x) and R(r) are
# logs of the sums over all sets of genes up to there. Then an exon from x to r of kind k adds P(b, c) - P(a,
# c) + exons[k, b - a]; `sums.left` has L(x) - P(a, c), so that one term of R(r) is one addition. Introns, and
# what is between genes, are taken apart in the same way. A derivative along a direction is the imaginary part
# of a complex step, so zeros are made of the scores' own type, and branches look at real parts.
_NEGLIGIBLE = 1e-18  # a probability: what is less likely is not followed back
_FAR_BELOW = -40.0  # the log of what adds nothing to 1


@part_of_kernel
def strand_of(first, k):
    """Of an opening or a closing."""
    return 0 if k < first[1] else 1


@part_of_kernel
def kinds_to(scores, nodes, r):
    """Of the exons that end at a right node, from inner and from outer left nodes."""
    # columns 0 to 2 are the frames of the forward strand, 3 to 5 those of the other
    strand, outer = nodes.right_column[r] // 3, 1 if nodes.right_opening[r] < 0 else 0
    return scores.kinds[strand, 0, outer], scores.kinds[strand, 1, outer]


@part_of_kernel
def exon_place(scores, nodes, x, position, from_inner, from_outer):
    """Kind of an exon from a left node to a position, and the place of its length."""
    # the last entry is that of all longer exons
    length = min(position - nodes.left_position[x], scores.exons.shape[1] - 1)
    return from_inner if nodes.left_closing[x] >= 0 else from_outer, length


@part_of_kernel
def phase_of(mask):
    """Of an inner node: its types are of one phase."""
    # bit 0 is the type of phase 0, bits 1 to 3 (14) are those of phase 1, the others of phase 2
    return 0 if mask & 1 else 1 if mask & 14 else 2


@part_of_kernel
def left_score(nodes, scores, x):
    """What it adds, but for what comes before: less its column's prefix."""
    # an outer node ends what is between genes, an inner one an intron: + P(a, what it ends) - P(a, c)
    column, position = nodes.left_column[x], nodes.left_position[x]
    score = scores.sites[nodes.left_site[x]] - scores.prefix[position, column]
    c = nodes.left_closing[x]
    if c < 0:
        return score + scores.edges[GENE] + scores.prefix[position, scores.prefix.shape[1] - 1]
    phase = phase_of(nodes.left_mask[x])
    strand = strand_of(nodes.strand_closing, c)
    return score + scores.edges[phase] + scores.prefix[position, scores.intron_columns[strand, phase]]


@part_of_kernel
def right_score(nodes, scores, r):
    """What it adds to the sum over its exons."""
    # + P(b, c): with the - P(a, c) of the left node these are the emissions of the exon
    score = scores.prefix[nodes.right_position[r], nodes.right_column[r]] + scores.sites[nodes.right_site[r]]
    if nodes.right_edge[r] >= 0:
        score += scores.edges[nodes.right_edge[r]]
    return score


@part_of_kernel
def after_right(nodes, scores, r):
    """The prefix of what comes after it."""
    # P(b, what begins here); it is taken off again, as what begins ends elsewhere with its own P
    o, position = nodes.right_opening[r], nodes.right_position[r]
    if o < 0:
        return scores.prefix[position, scores.prefix.shape[1] - 1]
    strand = strand_of(nodes.strand_opening, o)
    return scores.prefix[position, scores.intron_columns[strand, phase_of(nodes.right_mask[r])]]


@part_of_kernel
def _either(a, b, is_best):
    if is_best:
        return b if b.real > a.real else a
    return add_logs(a, b)


@kernel
def forward(nodes, scores, n, sums, is_best):
    """Fill `sums`; the log of the sum over all sets of genes of a sequence of n, or the score of the best."""
    # Nodes are passed once from left to right; at one position left nodes come first, as genes are at least a
    # base apart. `ended` is the log of the sum over all sets that are between genes, less
    # P(p, between), which does not depend on p then.
    n_lefts, n_rights = nodes.left_position.size, nodes.right_position.size
    zero = 0.0 * scores.edges[0]
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
                    _close(nodes, scores, sums, c, passed, far, is_best)
                    closed = c
                before = _entered(nodes, sums, x, is_best)
            sums.left[x] = before + left_score(nodes, scores, x)
            next_left += 1
        if r == n_rights:
            break
        sums.right[r] = _exons_to(nodes, scores, sums, r, logs, is_best) + right_score(nodes, scores, r)
        value = sums.right[r] - after_right(nodes, scores, r)
        o, mask = nodes.right_opening[r], nodes.right_mask[r]
        if o < 0:
            ended = _either(ended, value, is_best)
        else:
            # exits[o, k] = log sum_r exp(R(r) - P(b, intron)) over the right nodes of o that leave type k
            for k in range(TYPES):
                if mask >> k & 1:
                    sums.exits[o, k] = _either(sums.exits[o, k], value, is_best)
    return ended + scores.prefix[n, scores.prefix.shape[1] - 1]


@part_of_kernel
def _exons_to(nodes, scores, sums, r, logs, is_best):
    """Log of the sum over the exons that end at a right node; ``logs`` is lent."""
    # log sum_x exp(L(x) - P(a, c) + exons[k, b - a]); less the highest, so that nothing overflows
    a, n, position = nodes.right_first[r], nodes.right_last[r] - nodes.right_first[r], nodes.right_position[r]
    kinds, highest, total = kinds_to(scores, nodes, r), NOTHING, 0.0 * scores.edges[0]
    for k in range(n):
        kind, length = exon_place(scores, nodes, a + k, position, *kinds)
        logs[k] = sums.left[a + k] + scores.exons[kind, length]
        highest = max(highest, logs[k].real)
    if highest < SOME or is_best:
        return total + highest
    for k in range(n):
        log = logs[k] - highest
        if log.real > _FAR_BELOW:
            total += np.exp(log)
    return highest + np.log(total)


@part_of_kernel
def _close(nodes, scores, sums, c, passed, far, is_best):
    """Sum over the introns that end at a closing."""
    # entries[k] = log sum_o exp(exits[o, k] + introns[length]) over openings at least `shortest` before.
    # Those more than `longest` before share a score, so the sum over them is kept in `far` and only grows: a
    # closing looks at few openings, whatever the length of the sequence.
    strand, position = strand_of(nodes.strand_closing, c), nodes.closing_position[c]
    end, wanted = nodes.strand_opening[strand + 1], nodes.closing_mask[c]
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
def backward(nodes, scores, n, sums, value, counts):
    """Add the probabilities of what `Counts` counts; ``value`` is what `forward` returned."""
    # Probabilities go back from what is used to what it was summed of: a summand gets the share exp(log -
    # sum) of what its sum is used. This is the gradient of `forward`, by hand. `after` is the log of sum_x
    # used(x) / exp(ended at x) over later outer left nodes, and the end of the sequence: times the exp of
    # what an outer right node adds to `ended` it is the probability of that node.
    n_lefts, n_rights = nodes.left_position.size, nodes.right_position.size
    between = scores.prefix.shape[1] - 1
    after = scores.prefix[n, between] - value  # logs of what genes that have ended are worth
    far = np.full((2, TYPES), 0.0 * value + NOTHING)  # and introns that become far
    passed = nodes.strand_opening[1:].copy()
    counts.cover[0, between] += 1.0
    k = n_lefts - 1
    for r in range(n_rights - 1, -2, -1):
        while k >= 0 and (r < 0 or nodes.left_position[nodes.left_order[k]] > nodes.right_position[r]):
            x = nodes.left_order[k]
            used, c, position = counts.left[x], nodes.left_closing[x], nodes.left_position[x]
            if abs(used) > _NEGLIGIBLE:
                counts.cover[position, nodes.left_column[x]] += used
                counts.sites[nodes.left_site[x]] += used
                if c < 0:
                    # the share of r in `ended` is exp(value of r - ended); the division by ended's exp is
                    # done here, once for all r before x
                    counts.cover[position, between] -= used
                    counts.edges[GENE] += used
                    after = add_logs(after, np.log(used) - (sums.left[x] - left_score(nodes, scores, x)))
                else:
                    _back_to_types(nodes, scores, sums, counts, x, used)
            # the last left node of a closing: all of its uses are known
            k -= 1
            if c >= 0 and (k < 0 or nodes.left_closing[nodes.left_order[k]] != c):
                _back_to_openings(nodes, scores, sums, counts, c, passed, far)
        if r < 0:
            break
        follow = _followed(nodes, scores, sums, counts, r, after, passed, far)
        if abs(follow) > _NEGLIGIBLE:
            _back_to_lefts(nodes, scores, sums, counts, r, follow, between)


@part_of_kernel
def _followed(nodes, scores, sums, counts, r, after, passed, far):
    """The probability of a right node."""
    # opened[o, k] is how often introns of type k begin at o; r gets its share of each of its types
    o = nodes.right_opening[r]
    value = sums.right[r] - after_right(nodes, scores, r)
    if o < 0:
        return np.exp(value + after)
    strand = strand_of(nodes.strand_opening, o)
    while passed[strand] > o:
        _back_from_far(sums, counts, passed, far, strand)
    follow, mask = 0.0 * value, nodes.right_mask[r]
    for k in range(TYPES):
        if mask >> k & 1 and abs(counts.opened[o, k]) > _NEGLIGIBLE:
            follow += counts.opened[o, k] * np.exp(value - sums.exits[o, k])
    return follow


@part_of_kernel
def _back_to_lefts(nodes, scores, sums, counts, r, follow, between):
    # `cover` has differences: its column is used up to here (-), and what follows from here on (+)
    position, o = nodes.right_position[r], nodes.right_opening[r]
    counts.cover[position, nodes.right_column[r]] -= follow
    counts.sites[nodes.right_site[r]] += follow
    if nodes.right_edge[r] >= 0:
        counts.edges[nodes.right_edge[r]] += follow
    if o < 0:
        counts.cover[position, between] += follow
    else:
        strand = strand_of(nodes.strand_opening, o)
        counts.cover[position, scores.intron_columns[strand, phase_of(nodes.right_mask[r])]] += follow
    # used(x) += used(r) exp(L(x) - P(a, c) + exons + right score - R(r))
    base, kinds = right_score(nodes, scores, r) - sums.right[r], kinds_to(scores, nodes, r)
    for x in range(nodes.right_first[r], nodes.right_last[r]):
        kind, length = exon_place(scores, nodes, x, position, *kinds)
        log = sums.left[x] + scores.exons[kind, length] + base
        if log.real > _FAR_BELOW:
            used = follow * np.exp(log)
            counts.left[x] += used
            counts.exons[kind, length] += used


@part_of_kernel
def _back_to_types(nodes, scores, sums, counts, x, used):
    c, mask = nodes.left_closing[x], nodes.left_mask[x]
    # closed[c, k] is how often introns of type k end at c: each type gets its share of what came to x
    phase, total = phase_of(mask), _entered(nodes, sums, x, False)
    strand = strand_of(nodes.strand_closing, c)
    counts.cover[nodes.left_position[x], scores.intron_columns[strand, phase]] -= used
    counts.edges[phase] += used
    for k in range(TYPES):
        if mask >> k & 1 and sums.entries[c, k].real > SOME:
            counts.closed[c, k] += used * np.exp(sums.entries[c, k] - total)


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
def _back_to_openings(nodes, scores, sums, counts, c, passed, far):
    strand, position = strand_of(nodes.strand_closing, c), nodes.closing_position[c]
    # openings are no longer far from closings that are passed: they get what those handed on to far ones
    first = nodes.strand_opening[strand]
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


# --- the best set -----------------------------------------------------------------------------------------


@part_of_kernel
def _first_from(positions, position):
    """The first of rising positions that is this one or beyond it."""
    # as np.searchsorted, with which loading the machine code would import all of numba's linear algebra
    first, end = 0, positions.size
    while first < end:
        middle = (first + end) // 2
        if positions[middle] < position:
            first = middle + 1
        else:
            end = middle
    return first


@kernel
def trace_best(nodes, scores, sums, left, right):
    """Mark the nodes of the best set, from what `forward` filled for it."""
    # each maximum is found again among what it was taken of; `last[r]` is the right node at which the best
    # genes end of those before right node r
    last, ended = np.full(nodes.right_position.size + 1, -1), 0.0
    for r in range(nodes.right_position.size):
        value = sums.right[r] - after_right(nodes, scores, r)
        is_better = nodes.right_opening[r] < 0 and value > ended
        last[r + 1] = r if is_better else last[r]
        ended = value if is_better else ended
    r = last[-1]
    while r >= 0:
        right[r] = 1
        most, first = 2.0 * NOTHING, -1
        for x in range(nodes.right_first[r], nodes.right_last[r]):
            kind, length = exon_place(scores, nodes, x, nodes.right_position[r], *kinds_to(scores, nodes, r))
            if sums.left[x] + scores.exons[kind, length] > most:
                most, first = sums.left[x] + scores.exons[kind, length], x
        left[first] = 1
        if nodes.left_closing[first] < 0:
            r = last[_first_from(nodes.right_position, nodes.left_position[first])]
        else:
            r = _best_before(nodes, scores, sums, first)


@part_of_kernel
def _best_before(nodes, scores, sums, x):
    """The right node of the best intron before a left one."""
    c, most, entry = nodes.left_closing[x], 2.0 * NOTHING, -1
    for k in range(TYPES):
        if nodes.left_mask[x] >> k & 1 and sums.entries[c, k] > most:
            most, entry = sums.entries[c, k], k
    strand, most, opening = strand_of(nodes.strand_closing, c), 2.0 * NOTHING, -1
    for o in range(nodes.strand_opening[strand], nodes.strand_opening[strand + 1]):
        length = nodes.closing_position[c] - nodes.opening_position[o]
        if length < scores.shortest:
            break
        place = length - scores.shortest if length <= scores.longest else scores.introns.size - 1
        if sums.exits[o, entry] + scores.introns[place] > most:
            most, opening = sums.exits[o, entry] + scores.introns[place], o
    # right nodes of an opening are at its position
    most, found = 2.0 * NOTHING, -1
    r = _first_from(nodes.right_position, nodes.opening_position[opening])
    while r < nodes.right_position.size and nodes.right_position[r] == nodes.opening_position[opening]:
        value = sums.right[r] - after_right(nodes, scores, r)
        if nodes.right_opening[r] == opening and nodes.right_mask[r] >> entry & 1 and value > most:
            most, found = value, r
        r += 1
    return found


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
