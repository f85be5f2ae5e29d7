"""Second-order linear chains in the linear domain, over a block of sequences.

The state of a token is its label and the one before, which is L (for "start") at first tokens. Potentials are
exponentials of scores: ``emission`` (n_tokens, L), ``start`` (L,), ``end`` (L + 1, L) of the last state, and
``moves`` (L, L + 1, L): ``moves[y, x, z]`` of the labels x, y, z in a row. Rules between neighbours make
states impossible: labels that may come before y are ``before[before_starts[y]:before_starts[y + 1]]``, and
``after`` has those that may come after it. Sums are analytic: the same source serves float64 and, for the
complex step, complex128. `viterbi` is the recursion of `forward` over maxima of scores.
"""

import numpy as np

from structune.kernels.jit import bare_kernel, part_of_one_kernel
from structune.kernels.vectors import cells, fresh, larger, load, splat, store, total, width


@part_of_one_kernel
def _sum_over(factors, first, stride, chosen, lo, hi, matrix, row_start, n, k, lanes):
    """The run from column k on of the chosen rows' sum; row i has the factor ``factors[first + i * stride]``.

    Rows of `matrix` are of n cells, from `row_start` on.
    """
    even = odd = splat(factors[first] * 0.0, lanes)
    for at in range(lo, hi - 1, 2):
        i, j = chosen[at], chosen[at + 1]
        even = even + splat(factors[first + i * stride], lanes) * load(matrix, row_start + i * n + k, lanes)
        odd = odd + splat(factors[first + j * stride], lanes) * load(matrix, row_start + j * n + k, lanes)
    if (hi - lo) % 2:
        i = chosen[hi - 1]
        even = even + splat(factors[first + i * stride], lanes) * load(matrix, row_start + i * n + k, lanes)
    return even + odd


@part_of_one_kernel
def _forward(first, last, n, start, moves, before_starts, before, zero, lanes, emission, alpha):
    """Forward probabilities of the tokens first:last, each token's scaled to sum to one; log of the scales.

    Emissions are divided by the scale of their token, too. ``alpha`` begins with the first token.
    """
    # alpha_t(y, z) = emission_t(z) sum_x alpha_{t-1}(x, y) moves(x, y, z), the recursion of `linear_domain`
    # over states that are pairs: the new state has to begin with the label that the old one ends with. Hence
    # L^3 steps a token, not L^4.
    states, log_scale = (n + 1) * n, zero
    for t in range(first, last):
        at, c = (t - first) * states, zero
        for k in range(n * n, states):
            # No token but the first follows "start".
            alpha[at + k] = zero
        if t == first:
            for k in range(n * n):
                alpha[at + k] = zero
            for y in range(n):
                alpha[at + n * n + y] = start[y] * emission[t * n + y]
                c += alpha[at + n * n + y]
        for y in range(n if t > first else 0):
            # At the second token, "start" is the only label before the one before.
            lo, hi = before_starts[y], before_starts[y + 1]
            for step in range(0, n, width(lanes)):
                k = min(step, n - width(lanes))
                if t == first + 1:
                    row = splat(alpha[at - n + y], lanes) * load(moves, y * states + n * n + k, lanes)
                else:
                    row = _sum_over(alpha, at - states + y, n, before, lo, hi, moves, y * states, n, k, lanes)
                row = row * load(emission, t * n + k, lanes)
                store(alpha, at + y * n + k, row)
                # Cells that the run before has counted are left out of the sum.
                c += total(fresh(row, n - step))
        inverse = 1.0 / c if c != 0.0 else c  # no allowed labelling: log Z is -inf
        for k in range(at, at + states):
            alpha[k] = alpha[k] * inverse
        for k in range(t * n, (t + 1) * n):
            emission[k] = emission[k] * inverse
        log_scale += np.log(c)
    return log_scale


@part_of_one_kernel
def _add_moves(alpha, messages, n_moves, weight, before_starts, before, lanes, n, counts):
    """counts[y, x] += weight * alpha[i, x, y] * messages[i, y]."""
    states = (n + 1) * n
    for y in range(n if n_moves > 0 else 0):
        for step in range(0, n, width(lanes)):
            k, new = min(step, n - width(lanes)), n - step
            # The first move of a sequence comes from "start", which is one row of `counts`.
            at = (y * (n + 1) + n) * n + k
            run = fresh(load(messages, y * n + k, lanes) * splat(weight, lanes), new)
            start = splat(alpha[n * n + y], lanes)
            store(counts, at, load(counts, at, lanes) + start * run)
            for i in range(1, n_moves):
                run = fresh(load(messages, (i * n + y) * n + k, lanes) * splat(weight, lanes), new)
                for j in range(before_starts[y], before_starts[y + 1]):
                    x = before[j]
                    at, factor = (y * (n + 1) + x) * n + k, splat(alpha[i * states + x * n + y], lanes)
                    store(counts, at, load(counts, at, lanes) + factor * run)


@bare_kernel
def expectations(
    offsets,
    scores,
    potentials,
    neighbours,
    weights,
    lanes,
    alphas,
    messages,
    betas,
    log_z,
    marginals,
    counts,
    ends,
):
    """Log-partitions; and, if there are weights, weighted label marginals, and counts of moves and of ends.

    Parameters
    ----------
    scores : array, (n_tokens, L)
        Potentials of tokens; overwritten.
    potentials : tuple
        ``moves``, ``moves_t[y, z, x]``, which is ``moves[y, x, z]``, ``start`` and ``end``.
    neighbours : tuple
        ``before_starts``, ``before``, ``after_starts``, ``after``.
    alphas, messages, betas : scratch, (longest sequence, L + 1, L), (longest sequence, L, L), (L, L + 1)
    marginals : array, (n_tokens, L)
    counts, ends : (L, L + 1, L), (L + 1, L)
        Get the counts of moves / move potential, and of last states.
    """
    n = scores.shape[1]
    moves, moves_t, start, end = potentials
    before_starts, before, after_starts, after = neighbours
    states, c_before, c_after = (n + 1) * n, cells(before), cells(after)
    emission, c_moves, c_moves_t, c_end = cells(scores), cells(moves), cells(moves_t), cells(end)
    alpha, beta, c_messages, c_start = cells(alphas), cells(betas), cells(messages), cells(start)
    c_rows, c_counts, zero = cells(marginals), cells(counts), start.dtype.type(0.0)
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1]
        log_scale = _forward(
            first, last, n, c_start, c_moves, before_starts, c_before, zero, lanes, emission, alpha
        )
        tail, rest = (last - 1 - first) * states, zero
        for k in range(states):
            rest += alpha[tail + k] * c_end[k]
        log_z[s] = log_scale + np.log(rest)
        if not weights.size:
            continue
        # beta is kept for one token only, transposed: beta[y, x] of the state (x, y), so that sums over x run
        # along rows. It begins with end / (what is left of Z after the scales), as in `linear_domain`.
        weight = weights[s] + zero
        for y in range(n):
            for x in range(n + 1):
                beta[y * (n + 1) + x] = c_end[x * n + y] / rest
                ends[x, y] += weight * alpha[tail + x * n + y] * beta[y * (n + 1) + x]
        for t in range(last - 1, first - 1, -1):
            i = t - first
            for y in range(n):
                # The marginal of a label sums over the label before it.
                p = zero
                for x in range(n + 1):
                    p += alpha[i * states + x * n + y] * beta[y * (n + 1) + x]
                c_rows[t * n + y] = weight * p
            if t == first:
                break
            at = (i - 1) * n * n
            for y in range(n):
                for z in range(n):
                    # message_t(y, z) = emission_t(z) beta_t(y, z) / c_t: what comes after the pair (y, z),
                    # without the move.
                    c_messages[at + y * n + z] = emission[t * n + z] * beta[z * (n + 1) + y]
            for y in range(n):
                lo, hi = after_starts[y], after_starts[y + 1]
                for step in range(0, n + 1, width(lanes)):
                    k = min(step, n + 1 - width(lanes))
                    # beta_{t-1}(x, y) = sum_z moves(x, y, z) message_t(y, z), over the labels z that may
                    # follow y.
                    row = _sum_over(
                        c_messages, at + y * n, 1, c_after, lo, hi, c_moves_t, y * states, n + 1, k, lanes
                    )
                    store(beta, y * (n + 1) + k, row)
        _add_moves(alpha, c_messages, last - first - 1, weight, before_starts, before, lanes, n, c_counts)


@part_of_one_kernel
def _best_over(row, first, chosen, lo, hi, matrix, row_start, n, k, lanes):
    """As `_sum_over`, with sums for products and maxima for sums."""
    high = splat(-np.inf, lanes)
    for at in range(lo, hi):
        x = chosen[at]
        score = splat(row[first + x * n], lanes) + load(matrix, row_start + x * n + k, lanes)
        high = larger(high, score)
    return high


@bare_kernel
def viterbi(offsets, scores, start, moves, end, before_starts, before, lanes, space, labels, best):
    """Highest-scoring label sequences, from scores (not potentials); ties go to the lower label.

    ``space`` (longest sequence, L + 1, L) gets the scores of the best sequences up to each state. Which label
    came before is found on the way back, for the best states only.
    """
    n = start.size
    states, c_before = (n + 1) * n, cells(before)
    c_scores, c_moves, c_space = cells(scores), cells(moves), cells(space)
    for s in range(offsets.size - 1):
        first, length = offsets[s], offsets[s + 1] - offsets[s]
        # v_t(y, z) = score_t(z) + max_x (v_{t-1}(x, y) + moves(x, y, z)); v_1 has states that follow "start"
        # alone.
        space[:length, n] = -np.inf
        space[0, :n] = -np.inf
        for y in range(n):
            space[0, n, y] = start[y] + scores[first, y]
        for t in range(1, length):
            for y in range(n):
                lo, hi = before_starts[y], before_starts[y + 1]
                for step in range(0, n, width(lanes)):
                    k = min(step, n - width(lanes))
                    if t == 1:
                        row = splat(space[0, n, y], lanes) + load(c_moves, y * states + n * n + k, lanes)
                    else:
                        row = _best_over(
                            c_space, (t - 1) * states + y, c_before, lo, hi, c_moves, y * states, n, k, lanes
                        )
                    row = row + load(c_scores, (first + t) * n + k, lanes)
                    store(c_space, t * states + y * n + k, row)
        nothing = n if length == 1 else 0  # where no labelling is allowed
        before_label, label, high = nothing, 0, -np.inf
        for x in range(n + 1):
            for y in range(n):
                score = space[length - 1, x, y] + end[x, y]
                if score > high:
                    before_label, label, high = x, y, score
        best[s] = high
        for t in range(length - 1, 0, -1):
            labels[first + t] = label
            # Back from the best last state: the label two before is the one whose sum gave the maximum.
            at, high = n if t == 1 else 0, -np.inf
            for x in range(n + 1):
                score = space[t - 1, x, before_label] + moves[before_label, x, label]
                if score > high:
                    at, high = x, score
            before_label, label = at, before_label
        labels[first] = label
