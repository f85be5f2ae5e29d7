"""Chains of both orders from scores, not potentials: sums in the log domain, and the n best labellings.

Slow, and safe for scores of any size: kernels of the linear domain serve wherever their range provably
suffices. What is forbidden scores -inf. Sums are analytic, as only real parts are
compared: the same source serves float64 and, for the complex step, complex128.

The state of a token is a context and its label, (C, L). Of order 1 there is one context. Of order 2 it is the
label before, or L at first tokens, for the start. ``moves[y, x, z]`` (L, C, L) is the score of the label z
after the state (x, y), and ``end[x, y]`` (C, L) that of a last state.
"""

import numpy as np

from structune.kernels.jit import bare_kernel, kernel, part_of_one_kernel


@bare_kernel
def _log_sum(values, n):
    """The log of the sum of exponentials of the first `n` values, real or complex numbers."""
    # log sum exp(v) = high + log sum exp(v - high): the largest term is 1, so nothing overflows.
    high, total = -np.inf, values.dtype.type(0.0)
    # The maximum is taken of real parts, and terms of -inf are left out: exp of a complex -inf would be nan.
    for k in range(n):
        high = max(high, values[k].real)
    if high == -np.inf:
        return values.dtype.type(high)
    for k in range(n):
        if values[k].real > -np.inf:
            total += np.exp(values[k] - high)
    return high + np.log(total)


@bare_kernel
def _shift(values, t):
    """Take the largest real part off the values of token t, and return it; 0 where all are -inf."""
    # Forward values grow with the length of a sequence, and with them the rounding errors of their
    # differences. With the largest at 0, errors are those of one token.
    _, n_contexts, n = values.shape
    high = -np.inf
    for x in range(n_contexts):
        for y in range(n):
            high = max(high, values[t, x, y].real)
    if high == -np.inf:
        return 0.0
    for x in range(n_contexts):
        for y in range(n):
            values[t, x, y] -= high
    return high


@part_of_one_kernel
def _sizes(end):
    """Labels, contexts that a token has behind another, and states from which each of these is reached."""
    n_contexts, n = end.shape
    return (n, 1, n) if n_contexts == 1 else (n, n, n_contexts)


@part_of_one_kernel
def _before(context, k, n_contexts):
    """The k-th state from which a context is reached."""
    return (0, k) if n_contexts == 1 else (k, context)


@bare_kernel
def expectations(
    offsets, scores, start, moves, end, weights, alpha, beta, terms, peaks, log_z, rows, counts, ends
):  # fmt: skip
    """Log-partitions; and, if there are weights, weighted label marginals, counts of moves and last states.

    ``alpha`` and ``beta`` (longest sequence, C, L) get the log forward and backward values of each state.
    Their largest are 0 at every token, so that no rounding errors gather in long sequences; ``peaks``
    (longest sequence,) are what was taken off the forward values. ``terms`` (C L,) is scratch.
    """
    n_contexts = end.shape[0]
    n, n_later, n_before = _sizes(end)
    for s in range(offsets.size - 1):
        first, n_tokens = offsets[s], offsets[s + 1] - offsets[s]
        # First tokens have the last context.
        for t in range(n_tokens):
            for x in range(n_contexts):
                for y in range(n):
                    alpha[t, x, y] = -np.inf
        for y in range(n):
            alpha[0, n_contexts - 1, y] = start[y] + scores[first, y]
        total = peaks[0] = _shift(alpha, 0)
        # a_t(c, z) = score_t(z) + log sum exp(a_{t-1}(x, y) + moves(y, x, z)), over the states (x, y) before
        # c.
        for t in range(1, n_tokens):
            for c in range(n_later):
                for z in range(n):
                    for k in range(n_before):
                        x, y = _before(c, k, n_contexts)
                        terms[k] = alpha[t - 1, x, y] + moves[y, x, z]
                    alpha[t, c, z] = _log_sum(terms, n_before) + scores[first + t, z]
            peaks[t] = _shift(alpha, t)
            total += peaks[t]  # in this order: rounding errors are then those of alpha, and cancel
        for x in range(n_contexts):
            for y in range(n):
                terms[x * n + y] = alpha[n_tokens - 1, x, y] + end[x, y]
        log_z[s] = total + _log_sum(terms, n_contexts * n)
        # From the end on: b_t(x, y) = log sum_z exp(moves(y, x, z) + score_{t+1}(z) + b_{t+1}(c, z)), c the
        # context after (x, y).
        for t in range(n_tokens - 1 if weights.size else -1, -1, -1):
            for y in range(n):
                c = 0 if n_contexts == 1 else y
                for x in range(n_contexts):
                    beta[t, x, y] = end[x, y]
                    if t < n_tokens - 1:
                        for z in range(n):
                            terms[z] = moves[y, x, z] + scores[first + t + 1, z] + beta[t + 1, c, z]
                        beta[t, x, y] = _log_sum(terms, n)
            # What is taken off beta is not kept: probabilities are normalised at each token anew.
            _shift(beta, t)
            for x in range(n_contexts):
                for y in range(n):
                    terms[x * n + y] = alpha[t, x, y] + beta[t, x, y]
            # log Z as this token has it, up to the shifts of alpha and beta: the same shifts are in `score`.
            here = _log_sum(terms, n_contexts * n)
            for z in range(n):
                rows[first + t, z] = 0.0
                for c in range(n_contexts):
                    score = alpha[t, c, z] + beta[t, c, z]
                    if score.real == -np.inf:
                        continue
                    p = weights[s] * np.exp(score - here)
                    rows[first + t, z] += p
                    if t == n_tokens - 1:
                        ends[c, z] += p
                    if t == 0:
                        continue
                    # P(x, y, z) = exp(a_{t-1}(x, y) + move + score_t(z) + b_t(c, z) - log Z). alpha of the
                    # token before lacks the shift of this token, which log Z has: `peaks[t]` makes up for it.
                    tail = scores[first + t, z] + beta[t, c, z] - here - peaks[t]
                    for k in range(n_before):
                        x, y = _before(c, k, n_contexts)
                        score = alpha[t - 1, x, y] + moves[y, x, z]
                        if score.real > -np.inf:
                            counts[y, x, z] += weights[s] * np.exp(score + tail)


@kernel
def insert(values, pointers, value, pointer):
    """Keep ``values`` the highest seen, in falling order; False when ``value`` came too low."""
    k = values.size - 1
    if not value > values[k]:
        return False
    while k > 0 and value > values[k - 1]:
        values[k], pointers[k] = values[k - 1], pointers[k - 1]
        k -= 1
    values[k], pointers[k] = value, pointer
    return True


@kernel
def n_best(scores, start, moves, end, labels, best):
    """The ``best.size`` highest-scoring label sequences of one sequence; -inf where there are fewer."""
    n_tokens, n_contexts, n_kept = scores.shape[0], end.shape[0], best.size
    n, n_later, n_before = _sizes(end)
    kept = np.full((n_tokens, n_contexts, n, n_kept), -np.inf)
    pointers = np.zeros((n_tokens, n_contexts, n, n_kept), np.int64)
    kept[0, n_contexts - 1, :, 0] = start + scores[0]
    # kept[t, c, z] are the n best scores of sequences that end in the state (c, z) at t. Of a state before,
    # its best come in falling order, so the first that does not fit ends the search among them.
    for t in range(1, n_tokens):
        for c in range(n_later):
            for z in range(n):
                high, back = kept[t, c, z], pointers[t, c, z]
                for k in range(n_before):
                    x, y = _before(c, k, n_contexts)
                    for j in range(n_kept):
                        if not insert(high, back, kept[t - 1, x, y, j] + moves[y, x, z], k * n_kept + j):
                            break
                high += scores[t, z]
    tails = np.zeros(n_kept, np.int64)
    best[:] = -np.inf
    for x in range(n_contexts):
        for y in range(n):
            for j in range(n_kept):
                if not insert(best, tails, kept[-1, x, y, j] + end[x, y], (x * n + y) * n_kept + j):
                    break
    for i in range(n_kept):
        # A tail is (x * n + y) * n_kept + rank, and a pointer k * n_kept + rank of the k-th state before.
        state, rank = tails[i] // n_kept, tails[i] % n_kept
        x, y = state // n, state % n
        for t in range(n_tokens - 1, -1, -1):
            labels[i, t] = y
            pointer = pointers[t, x, y, rank]
            (x, y), rank = _before(x, pointer // n_kept, n_contexts), pointer % n_kept
