"""Semi-Markov chains: sums over all segmentations of a sequence, and the best one.

Row t of ``cells`` (n_tokens, C) has the segments that end at token t: those of label y are the ``longest[y]``
columns from ``sum(longest[:y])`` on, by their lengths 1, 2, .... Columns of segments that would begin before
the sequence hold zeros after `forward`.

Sums are kept by their logs, and what follows from them are shares: of a segment among those of its label that
end with it, of a label among those that come before. Probabilities are products of shares, so that rounding
errors do not grow with the length of a sequence.
"""

import numpy as np

from structune.kernels.exponentials import to_exponentials
from structune.kernels.jit import bare_kernel, kernel, part_of_one_kernel
from structune.tagging.kernels.log_domain import insert

_VANISHES = -1e4  # a log whose exponential is 0
_LEAST = 1e-150  # sums below are made again from logs: what underflows beside larger ones does not count


@kernel
def fill(offsets, tokens, lasts, lengths, span_offsets, span_lengths, spans, begin, longest, cells):
    """Scores of all segments: of their tokens, last token, length, and of what is known of them as a whole.

    ``tokens`` (n_tokens, T) are scores of tags: label y begins with the tag ``begin[y]`` and goes on with the
    next one.
    """
    for s in range(offsets.size - 1):
        for t in range(offsets[s], offsets[s + 1]):
            column = 0
            for y in range(longest.size):
                n = min(longest[y], t - offsets[s] + 1)
                # Backwards from the last token t: `inner` gathers the scores of tokens that go on, and a
                # segment of k + 1 tokens adds that of its first token, which has another tag.
                inner = lasts[t, y]
                for k in range(n):
                    cells[t, column + k] = inner + tokens[t - k, begin[y]] + lengths[column + k]
                    if k + 1 < n:
                        inner += tokens[t - k, begin[y] + 1]
                # Segments with attributes of their own are listed with their last token; those longer than
                # the label allows have no cell.
                for e in range(span_offsets[t], span_offsets[t + 1]):
                    if span_lengths[e] <= n:
                        cells[t, column + span_lengths[e] - 1] += spans[e, y]
                column += longest[y]


@kernel
def spread(offsets, cells, span_offsets, span_lengths, begin, longest, tokens, lasts, spans):
    """Add counts of segments to those of tags, of last tokens and of spans: `fill` transposed."""
    for s in range(offsets.size - 1):
        for t in range(offsets[s], offsets[s + 1]):
            column = 0
            for y in range(longest.size):
                n = min(longest[y], t - offsets[s] + 1)
                # Token t - k goes on in all segments that begin before it: their counts add up from the
                # longest on.
                longer = tokens.dtype.type(0.0)
                for k in range(n - 1, -1, -1):
                    if k + 1 < n:
                        tokens[t - k, begin[y] + 1] += longer
                    tokens[t - k, begin[y]] += cells[t, column + k]
                    longer += cells[t, column + k]
                lasts[t, y] += longer
                for e in range(span_offsets[t], span_offsets[t + 1]):
                    if span_lengths[e] <= n:
                        spans[e, y] += cells[t, column + span_lengths[e] - 1]
                column += longest[y]


# The squares of imaginary parts have to vanish: then exp(a + i b) = exp(a) (1 + i b), log(a + i b) = log(a) +
# i b / a, and 1 / (a + i b) = 1 / a - i b / a^2, which take a fraction of the time of the exact ones.


@part_of_one_kernel
def _to_exponentials(values, n, lanes, reals):
    """The first `n` cells, in place."""
    for k in range(n):
        reals[k] = values[k].real
    to_exponentials(reals, n, lanes)
    for k in range(n):
        values[k] = reals[k] * (1.0 + (values[k] - values[k].real))


@part_of_one_kernel
def _log_and_inverse(x):
    inverse, slope = 1.0 / x.real, x - x.real
    return np.log(x.real) + slope * inverse, inverse - slope * inverse * inverse


@bare_kernel
def _enter(before, transition, potentials, peaks, lanes, reals, entry, shares):
    """Log sums over the labels before each label, and the share of each of them, (L before, L)."""
    n = peaks.size
    # entry(y) = log sum_x exp(alpha(x) + transition(x, y)). alpha is shifted by its maximum and transitions
    # by their maximum to each label, so all exponentials are at most 1, and each is taken once, not L^2
    # times.
    high = before[0].real
    for x in range(1, n):
        high = max(high, before[x].real)
    for x in range(n):
        entry[x] = before[x] - high
    _to_exponentials(entry, n, lanes, reals)
    for x in range(n):
        for y in range(n):
            shares[x, y] = entry[x] * potentials[x, y]
    for y in range(n):
        entry[y] = shares[0, y]
    for x in range(1, n):
        for y in range(n):
            entry[y] += shares[x, y]
    for y in range(n):
        total, top = entry[y], high + peaks[y]
        if total.real < _LEAST:
            top = (before[0] + transition[0, y]).real
            for x in range(1, n):
                top = max(top, (before[x] + transition[x, y]).real)
            total = before.dtype.type(0.0)
            for x in range(n):
                shares[x, y] = np.exp(before[x] + transition[x, y] - top)
                total += shares[x, y]
        log_total, share = _log_and_inverse(total)
        for x in range(n):
            shares[x, y] *= share
        entry[y] = top + log_total


@bare_kernel
def _end(after, scores, out):
    """The log sum over last labels; their probabilities to `out`."""
    high = (after[0] + scores[0]).real
    for y in range(1, out.size):
        high = max(high, (after[y] + scores[y]).real)
    total = out.dtype.type(0.0)
    for y in range(out.size):
        out[y] = np.exp(after[y] + scores[y] - high)
        total += out[y]
    for y in range(out.size):
        out[y] /= total
    return high + np.log(total)


@kernel
def forward(offsets, longest, transition, potentials, peaks, lanes, start, end, cells, alpha, log_z):
    """Log sums over the segmentations up to each token, by the label of its last segment; and of all.

    ``cells`` holds scores before, and after that shares among the segments that end at a token with a label.
    ``potentials`` are ``exp(transition - peaks)``, ``peaks`` the largest transition score to each label.
    """
    n_labels, n_columns = longest.size, cells.shape[1]
    shares, ends = np.empty((n_labels, n_labels), alpha.dtype), np.empty(n_labels, alpha.dtype)
    reals = np.empty(n_columns)
    for s in range(offsets.size - 1):
        first, stop = offsets[s], offsets[s + 1]
        # alpha(t, y) = log sum_k exp(entry(t - k, y) + cell(t, y, k)) over the lengths k + 1 of a segment
        # that ends at t, and entry(t, y) = log sum_x exp(alpha(t - 1, x) + transition(x, y)) (Sarawagi &
        # Cohen 2004).
        entry = np.empty((stop - first, n_labels), alpha.dtype)
        for y in range(n_labels):
            entry[0, y] = start[y]
        for t in range(first, stop):
            if t > first:
                _enter(alpha[t - 1], transition, potentials, peaks, lanes, reals, entry[t - first], shares)
            column = 0
            for y in range(n_labels):
                n = min(longest[y], t - first + 1)
                high = -np.inf
                for k in range(n):
                    cells[t, column + k] += entry[t - first - k, y]
                    high = max(high, cells[t, column + k].real)
                for k in range(n):
                    cells[t, column + k] -= high
                for k in range(n, longest[y]):
                    # Such a segment would begin before the sequence: its share is 0.
                    cells[t, column + k] = _VANISHES
                alpha[t, y] = high
                column += longest[y]
            _to_exponentials(cells[t], n_columns, lanes, reals)
            column = 0
            for y in range(n_labels):
                total = alpha.dtype.type(0.0)
                for k in range(longest[y]):
                    total += cells[t, column + k]
                # Divided by their sum, exponentials are P(segment has k + 1 tokens | it ends at t with label
                # y).
                log_total, share = _log_and_inverse(total)
                for k in range(longest[y]):
                    cells[t, column + k] *= share
                alpha[t, y] += log_total
                column += longest[y]
        log_z[s] = _end(alpha[stop - 1], end, ends)


@kernel
def probabilities(
    offsets, longest, transition, potentials, peaks, lanes, end, alpha, shares, weights,
    out, starts, ends, moves,
):  # fmt: skip
    """Probabilities of all segments, times the weight of their sequence, from what `forward` left.

    Those of labels that are first or last, and of neighbouring labels, are added up. ``out`` may be
    ``shares``.
    """
    n_labels = longest.size
    move, entry = np.empty((n_labels, n_labels), alpha.dtype), np.empty(n_labels, alpha.dtype)
    reals = np.empty(n_labels)
    for s in range(offsets.size - 1):
        first, stop = offsets[s], offsets[s + 1]
        begun = np.zeros((stop - first, n_labels), alpha.dtype)
        ended = np.zeros((stop - first, n_labels), alpha.dtype)
        _end(alpha[stop - 1], end, ended[stop - 1 - first])
        for y in range(n_labels):
            ended[stop - 1 - first, y] *= weights[s]
            ends[y] += ended[stop - 1 - first, y]
        # ended(t, y) = P(a segment of label y ends at t), begun likewise. From the end on: P(segment) is
        # ended times its share, what begins at t sums over segments, and what ended before is begun(t, y)
        # times the share of each label before. No backward sums are needed, and no difference of large logs
        # is taken.
        for t in range(stop - 1, first - 1, -1):
            column = 0
            for y in range(n_labels):
                for k in range(min(longest[y], t - first + 1)):
                    p = ended[t - first, y] * shares[t, column + k]
                    out[t, column + k] = p
                    begun[t - first - k, y] += p
                for k in range(t - first + 1, longest[y]):
                    out[t, column + k] = 0.0
                column += longest[y]
            if t > first:
                _enter(alpha[t - 1], transition, potentials, peaks, lanes, reals, entry, move)
                for x in range(n_labels):
                    for y in range(n_labels):
                        p = begun[t - first, y] * move[x, y]
                        moves[x, y] += p
                        ended[t - first - 1, x] += p
        for y in range(n_labels):
            starts[y] += begun[0, y]


@kernel
def best(offsets, longest, transition, start, end, begin, cells, tags, scores):
    """The tags of each sequence's best segmentation, and its score: Viterbi's recursion over segments."""
    n_labels = longest.size
    for s in range(offsets.size - 1):
        first, n_tokens = offsets[s], offsets[s + 1] - offsets[s]
        entry, alpha = np.empty((n_tokens, n_labels)), np.empty((n_tokens, n_labels))
        before = np.empty((n_tokens, n_labels), np.int64)
        length = np.empty((n_tokens, n_labels), np.int64)
        for y in range(n_labels):
            entry[0, y] = start[y]
        for t in range(n_tokens):
            column = 0
            for y in range(n_labels):
                if t > 0:
                    # entry and alpha as in `forward`, over maxima; `before` and `length` are the arguments of
                    # the maxima.
                    before[t, y] = 0
                    for x in range(1, n_labels):
                        p = before[t, y]
                        if alpha[t - 1, x] + transition[x, y] > alpha[t - 1, p] + transition[p, y]:
                            before[t, y] = x
                    entry[t, y] = alpha[t - 1, before[t, y]] + transition[before[t, y], y]
                alpha[t, y], length[t, y] = -np.inf, 1  # where scores are not finite, too
                for k in range(min(longest[y], t + 1)):
                    score = entry[t - k, y] + cells[first + t, column + k]
                    if score > alpha[t, y]:
                        alpha[t, y], length[t, y] = score, k + 1
                column += longest[y]
        y = 0
        for x in range(1, n_labels):
            if alpha[n_tokens - 1, x] + end[x] > alpha[n_tokens - 1, y] + end[y]:
                y = x
        scores[s] = alpha[n_tokens - 1, y] + end[y]
        t = n_tokens
        # Back from the end, segment by segment: its first token gets the tag that begins, others the next
        # tag.
        while t > 0:
            n = length[t - 1, y]
            tags[first + t - n] = begin[y]
            for k in range(t - n + 1, t):
                tags[first + k] = begin[y] + 1
            t -= n
            if t > 0:
                y = before[t, y]


@kernel
def n_best(longest, transition, start, end, begin, cells, tags, scores):
    """Tags of the ``scores.size`` best segmentations of one sequence; -inf where there are fewer."""
    n_labels, n_tokens, n_kept = longest.size, cells.shape[0], scores.size
    entry = np.full((n_tokens, n_labels, n_kept), -np.inf)
    kept = np.full((n_tokens, n_labels, n_kept), -np.inf)
    before = np.zeros((n_tokens, n_labels, n_kept), np.int64)
    inside = np.zeros((n_tokens, n_labels, n_kept), np.int64)
    for y in range(n_labels):
        entry[0, y, 0] = start[y]
    for t in range(n_tokens):
        column = 0
        for y in range(n_labels):
            for x in range(n_labels if t > 0 else 0):
                # Entries and ends each keep their n best, in falling order: the first that does not fit ends
                # the search.
                for j in range(n_kept):
                    score = kept[t - 1, x, j] + transition[x, y]
                    if not insert(entry[t, y], before[t, y], score, x * n_kept + j):
                        break
            for k in range(min(longest[y], t + 1)):
                for j in range(n_kept):
                    score = entry[t - k, y, j] + cells[t, column + k]
                    if not insert(kept[t, y], inside[t, y], score, k * n_kept + j):
                        break
            column += longest[y]
    last = np.zeros(n_kept, np.int64)
    for i in range(n_kept):
        scores[i] = -np.inf
    for y in range(n_labels):
        for j in range(n_kept):
            if not insert(scores, last, kept[n_tokens - 1, y, j] + end[y], y * n_kept + j):
                break
    for i in range(n_kept):
        # A state is label * n_kept + rank, and a pointer inside is (length - 1) * n_kept + rank of the entry.
        state, t = last[i], n_tokens - 1
        while t >= 0:
            y = state // n_kept
            pointer = inside[t, y, state % n_kept]
            k, j = pointer // n_kept, pointer % n_kept
            tags[i, t - k] = begin[y]
            for u in range(t - k + 1, t + 1):
                tags[i, u] = begin[y] + 1
            t -= k
            state = before[t, y, j]
            t -= 1
