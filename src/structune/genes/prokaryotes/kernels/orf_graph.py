"""Scores of candidate genes, and sums and maxima over the sets of them that may lie beside each other.

A set is a walk along the sequence: each gene follows one whose right end is at most `overlap` behind its left
end. The shortest gene is longer than the longest overlap, so that none lies within another, and left ends can
be gone through by position. `_forward` sums by logs, and `_best` is its recursion over maxima. Examples are
short: calls for one each would take longer than the work, so kernels go through all of them.
"""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.jit import kernel, part_of_kernel
from structune.kernels.log_sums import add_logs

_NOTHING = -1e300  # log of 0, of which sums stay finite
_NEGLIGIBLE = 1e-18  # probability of the genes of a frame, the words of which are not counted


class Ends(NamedTuple):
    """Left and right ends of the candidates of a sequence, each by position; those of a left end have its
    strand and are next to each other. Or those of all sequences, one after the other."""

    left_position: Any
    left_strand: Any  # 0: forward, 1: reverse
    first_candidate: Any  # of each left end, and the one behind its last
    last_candidate: Any
    right_position: Any
    right_strand: Any
    right_of: Any  # the right end of each candidate


class Gaps(NamedTuple):
    """Scores of neighbours by the distance between them."""

    overlap: int
    bins: Any  # of each distance from -overlap on; behind them neighbours are far, which is the last bin
    scores: Any  # (3, n_bins): on the same strand, convergent, divergent


class Words(NamedTuple):
    """Words of open reading frames from their first candidate's start on, frame by frame."""

    words: Any
    n_words: Any  # of each frame
    n_candidates: Any
    skipped: Any  # words before the start of each candidate, rising within a frame


@part_of_kernel
def _ends_of(ends, begins, s):
    """Those of one of the sequences; `begins` are the first candidate, left and right end of each."""
    candidates, lefts, rights = begins
    left, right = slice(lefts[s], lefts[s + 1]), slice(rights[s], rights[s + 1])
    return Ends(
        ends.left_position[left],
        ends.left_strand[left],
        ends.first_candidate[left],
        ends.last_candidate[left],
        ends.right_position[right],
        ends.right_strand[right],
        ends.right_of[candidates[s] : candidates[s + 1]],
    )


@part_of_kernel
def _kind(before, after):
    """Row of `Gaps.scores`."""
    return 0 if before == after else 1 + before


@part_of_kernel
def _is_far(ends, gaps, r, x):
    return ends.left_position[x] - ends.right_position[r] >= gaps.bins.size - gaps.overlap


@part_of_kernel
def _is_near(ends, gaps, r, x):
    """Whether a left end may follow a right one that is not far."""
    return ends.right_position[r] - ends.left_position[x] <= gaps.overlap


@part_of_kernel
def _gap(ends, gaps, r, x):
    """Place in `Gaps.scores` of a right end and a left one that is not far."""
    # negative where the two genes overlap; bins begin at -overlap
    distance = ends.left_position[x] - ends.right_position[r]
    return _kind(ends.right_strand[r], ends.left_strand[x]), gaps.bins[distance + gaps.overlap]


# --- words ------------------------------------------------------------------------------------------------


@kernel
def score_words(frames, table, out):
    """Add the scores of the words behind its start to each candidate."""
    word, candidate = 0, 0
    for o in range(frames.n_words.size):
        end, total = candidate + frames.n_candidates[o], 0.0 * table[0]
        # All candidates of a frame end at the same stop, so the words of a longer one are those of a shorter
        # one and more: from the last start back to the first, one running sum serves all of them.
        k, c = end - 1, frames.n_words[o]
        while k >= candidate:
            while c > frames.skipped[k]:
                c -= 1
                total += table[frames.words[word + c]]
            out[k] += total
            k -= 1
        word += frames.n_words[o]
        candidate = end


@kernel
def count_words(frames, used, counts):
    """Add how often each word is used."""
    word, candidate = 0, 0
    for o in range(frames.n_words.size):
        end, most = candidate + frames.n_candidates[o], 0.0
        for k in range(candidate, end):
            most += abs(used[k])
        # The transpose of `score_words`: a word counts for every candidate that begins at or before it, so
        # the running sum of `used` grows from the first start on. 0.0 * used[0] has the type of `used`,
        # which is complex in complex steps.
        total, k = 0.0 * used[0], candidate
        for c in range(frames.n_words[o] if most > _NEGLIGIBLE else 0):
            while k < end and frames.skipped[k] == c:
                total += used[k]
                k += 1
            counts[frames.words[word + c]] += total
        word += frames.n_words[o]
        candidate = end


# --- signals ----------------------------------------------------------------------------------------------


@kernel
def score_signals(table, signals, out):
    """Add the scores of the signals of each candidate."""
    for k in range(out.size):
        total = 0.0 * table[0]
        for j in range(signals.shape[1]):
            total += table[signals[k, j]]
        out[k] += total


@kernel
def count_signals(signals, used, counts):
    """Add how often each signal is used."""
    for k in range(used.size):
        if abs(used[k]) > _NEGLIGIBLE:
            for j in range(signals.shape[1]):
                counts[signals[k, j]] += used[k]


# --- sums -------------------------------------------------------------------------------------------------


@kernel
def sum_sets(ends, begins, gaps, scores, factors, values, used, counts):
    """Logs of the sums over the sets of each sequence, to `values`; add the probabilities of candidates to
    `used`, and of gaps to `counts`, as `Gaps.scores`, times the factors of the sequences."""
    for s in range(values.size):
        of, a, b = _ends_of(ends, begins, s), begins[0][s], begins[0][s + 1]
        n_lefts, n_rights = of.left_position.size, of.right_position.size
        # logs of the sums of the sets up to each end, that included on the right; and of those that end far
        # from a left end, by strand
        left, right = np.empty(n_lefts, scores.dtype), np.empty(n_rights, scores.dtype)
        far = np.empty((n_lefts, 2), scores.dtype)
        values[s] = _forward(of, gaps, scores[a:b], left, right, far)
        # gaps are counted apart, for the factor of the sequence is multiplied on the sum of its own
        own = np.zeros_like(counts)
        _backward(of, gaps, scores[a:b], left, right, far, values[s], used[a:b], own)
        used[a:b] *= factors[s]
        counts += factors[s] * own


@part_of_kernel
def _forward(ends, gaps, scores, left, right, far):
    """Fill the logs of sums; that over all sets."""
    # With R(r) the sum of exp(score) over sets whose last gene ends at the right end r, and L(x) that over
    # sets that a gene which begins at x may follow,
    #
    #     L(x) = 1 + sum over r before x of R(r) exp(gap(r, x))
    #     R(r) = sum over candidates c from x to r of L(x) exp(score(c))
    #     Z    = 1 + sum over r of R(r)
    #
    # where 1 stands for the empty set. The score of a gap depends on the distance up to `far` only, so ends
    # farther away are added once and for all to one sum a strand (`plus`, `minus`): the work of a left end is
    # in proportion to the right ends within that distance. Every candidate is longer than the overlap, so all
    # R(r) that L(x) asks for are complete when x, by position, is reached.
    n_rights, near, last = ends.right_position.size, 0, 0
    zero = 0.0 * gaps.scores[0, 0]
    plus = minus = value = zero + _NOTHING
    terms = np.empty(n_rights + 3, scores.dtype)
    right[:] = _NOTHING
    for x in range(ends.left_position.size):
        strand = ends.left_strand[x]
        # right ends before `near` are far from x, and from all left ends behind it
        while near < n_rights and _is_far(ends, gaps, near, x):
            if ends.right_strand[near] == 0:
                plus = add_logs(plus, right[near])
            else:
                minus = add_logs(minus, right[near])
            near += 1
        # right ends from `last` on overlap with x by more than is allowed
        while last < n_rights and _is_near(ends, gaps, last, x):
            last += 1
        far[x, 0], far[x, 1] = plus, minus
        terms[0] = zero
        terms[1] = plus + gaps.scores[_kind(0, strand), -1]
        terms[2] = minus + gaps.scores[_kind(1, strand), -1]
        for r in range(near, last):
            kind, bin_ = _gap(ends, gaps, r, x)
            terms[3 + r - near] = right[r] + gaps.scores[kind, bin_]
        left[x] = _log_sum(terms, 3 + last - near)
        for c in range(ends.first_candidate[x], ends.last_candidate[x]):
            r = ends.right_of[c]
            right[r] = add_logs(right[r], left[x] + scores[c])
    for r in range(n_rights):
        value = add_logs(value, right[r])
    return add_logs(value, zero)


@part_of_kernel
def _log_sum(terms, n):
    # the largest real part is taken out, so that nothing overflows: imaginary parts are complex steps
    highest = terms[0].real
    for k in range(1, n):
        highest = max(highest, terms[k].real)
    total = np.exp(terms[0] - highest)
    for k in range(1, n):
        total += np.exp(terms[k] - highest)
    return highest + np.log(total)


@part_of_kernel
def _backward(ends, gaps, scores, left, right, far, value, used, counts):
    """Add the probability of each candidate to `used`, and of each gap to `counts`, as `Gaps.scores`."""
    n_lefts, n_rights = ends.left_position.size, ends.right_position.size
    # follow[r] becomes the probability that some gene of the set ends at r; with P(c) that of a candidate,
    #
    #     P(c)      = follow(r) L(x) exp(score(c)) / R(r)            its share of R(r)
    #     follow(r) = R(r) / Z + sum over x of P(x) R(r) exp(gap(r, x)) / L(x)
    #
    # where P(x) is the sum of P(c) over the candidates that begin at x, and R(r) / Z the case that r is the
    # last end of all. Left ends come from the last to the first: follow(r) is complete when it is used.
    near = last = n_rights
    follow = np.exp(right - value)  # how probable each right end is: first, as the last of all
    after = np.full(2, 0.0 * value + _NOTHING)  # logs of what far left ends pass on to right ends, by strand
    for x in range(n_lefts - 1, -1, -1):
        strand = ends.left_strand[x]
        while near > 0 and not _is_far(ends, gaps, near - 1, x):
            # `near` leaves the far ones: from here on its gaps are counted one by one, and what later left
            # ends passed to all far right ends of its strand is added now
            near -= 1
            follow[near] += np.exp(right[near] + after[ends.right_strand[near]])
        while last > 0 and not _is_near(ends, gaps, last - 1, x):
            last -= 1
        total = 0.0 * value
        for c in range(ends.first_candidate[x], ends.last_candidate[x]):
            r = ends.right_of[c]
            probability = follow[r] * np.exp(left[x] + scores[c] - right[r])
            used[c] += probability
            total += probability
        if total == 0.0:
            continue
        # of the far right ends of either strand, which have one score and one sum
        for s in range(2):
            kind, log = _kind(s, strand), np.log(total) - left[x]
            counts[kind, -1] += np.exp(far[x, s] + gaps.scores[kind, -1] + log)
            after[s] = add_logs(after[s], gaps.scores[kind, -1] + log)
        for r in range(near, last):
            kind, bin_ = _gap(ends, gaps, r, x)
            share = total * np.exp(right[r] + gaps.scores[kind, bin_] - left[x])
            counts[kind, bin_] += share
            follow[r] += share


# --- maxima -----------------------------------------------------------------------------------------------


@kernel
def best(ends, begins, gaps, scores, chosen, values):
    """Mark the candidates of the best set of each sequence in `chosen`; its score, to `values`."""
    # The recursion of `_forward` with maxima for sums. `most` begins at 0, the score of the empty set before;
    # of the far ends the best one of each strand is enough.
    for s in range(values.size):
        of, a, b = _ends_of(ends, begins, s), begins[0][s], begins[0][s + 1]
        n_lefts, n_rights, near, last = of.left_position.size, of.right_position.size, 0, 0
        right, by = np.full(n_rights, -np.inf), np.full(n_rights, -1)  # best set up to it; its candidate
        came_from, left_of = np.full(n_lefts, -1), np.full(b - a, -1)
        far = np.full(2, -1)  # best right end that is far, by strand
        for x in range(n_lefts):
            while near < n_rights and _is_far(of, gaps, near, x):
                k = of.right_strand[near]
                if far[k] < 0 or right[near] > right[far[k]]:
                    far[k] = near
                near += 1
            while last < n_rights and _is_near(of, gaps, last, x):
                last += 1
            most = 0.0
            for k in range(2):
                if far[k] >= 0:
                    value = right[far[k]] + gaps.scores[_kind(k, of.left_strand[x]), -1]
                    if value > most:
                        most, came_from[x] = value, far[k]
            for r in range(near, last):
                kind, bin_ = _gap(of, gaps, r, x)
                value = right[r] + gaps.scores[kind, bin_]
                if value > most:
                    most, came_from[x] = value, r
            for c in range(of.first_candidate[x], of.last_candidate[x]):
                r, left_of[c] = of.right_of[c], x
                if most + scores[a + c] > right[r]:
                    right[r], by[r] = most + scores[a + c], c
        end, values[s] = -1, 0.0
        for r in range(n_rights):
            if right[r] > values[s]:
                end, values[s] = r, right[r]
        # back from the last gene: its candidate, the left end of this, and what came before
        while end >= 0:
            chosen[a + by[end]] = 1
            end = came_from[left_of[by[end]]]
