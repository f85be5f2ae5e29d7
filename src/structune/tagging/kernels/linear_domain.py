"""First-order linear chains in the linear domain, over a block of sequences.

Sequence s holds the tokens ``offsets[s]:offsets[s + 1]`` of the block. Potentials are exponentials of scores:
``emission`` (n_tokens, L), ``transition`` (L, L), ``start`` and ``end`` (L,). Sums are analytic, but for
`shift_rows`, which looks at real parts: the same source serves float64 and, for the complex step, complex128.
`viterbi` is the recursion of `forward` over maxima of scores.
"""

import numpy as np

from structune.kernels.exponentials import to_exponentials
from structune.kernels.jit import kernel
from structune.kernels.vectors import cells, fresh, larger, load, splat, store, total, width
from structune.tagging.kernels import attributes as sparse


@kernel
def shift_rows(offsets, scores, peaks, spreads):
    """Subtract each token's maximum; per sequence, the sum of the maxima and the widest finite range."""
    n = scores.shape[1]
    c_scores = cells(scores)
    for s in range(offsets.size - 1):
        # A constant taken off all labels of a token changes log Z by that constant and no probability. With
        # the maximum taken off, exponentials are at most 1; the caller adds the sum of the maxima to log Z.
        peak, spread = 0.0, 0.0
        for at in range(offsets[s] * n, offsets[s + 1] * n, n):
            high, low = -np.inf, np.inf
            for k in range(at, at + n):
                x = c_scores[k].real
                high = max(high, x)
                # Forbidden labels score -inf: their potential is 0 exactly, which no range has to hold.
                if x > -np.inf:
                    low = min(low, x)
            for k in range(at, at + n):
                # Only the real part is shifted, so that the imaginary part of a complex step stays as it is.
                c_scores[k] = c_scores[k] - high
            peak += high
            spread = max(spread, high - low)
        peaks[s] = peak
        spreads[s] = spread


@kernel
def fits_double(offsets, spreads, spread, reach, n_labels, most):
    """Whether the logarithms of all values in the linear domain span less than `most`, for any sequence.

    After `reach` steps every label has been reached from the best one, so a forward vector spans at most that
    many steps' worth of scores and sums over labels; a sequence never spans more than its own.
    """
    for s in range(offsets.size - 1):
        # One step changes the ratio of two labels by at most exp(spread of the tokens + spread of the moves),
        # and a sum over labels by a factor of at most n_labels. One step more than `reach` stands for the
        # token's own.
        steps = min(offsets[s + 1] - offsets[s], reach)
        # Written with "not", so that a spread that is nan does not pass.
        if not (steps + 1) * (spreads[s] + spread + np.log(n_labels)) < most:
            return False
    return True


@kernel
def _product(row, start, matrix, n, k, lanes):
    """The run from column k on of row @ matrix, (n, n); the row's first cell is `start`."""
    # Two sums, of rows with even and with odd numbers: neither has to wait for the other's last addition. The
    # first cell stands for a 0 of the right type, real or complex.
    even = splat(row[start], lanes) * load(matrix, k, lanes)
    odd = splat(row[start] * 0.0, lanes)
    for i in range(1, n - 1, 2):
        odd = odd + splat(row[start + i], lanes) * load(matrix, i * n + k, lanes)
        even = even + splat(row[start + i + 1], lanes) * load(matrix, (i + 1) * n + k, lanes)
    # The loop takes pairs after row 0, so one row is left where n is even.
    if n % 2 == 0:
        odd = odd + splat(row[start + n - 1], lanes) * load(matrix, (n - 1) * n + k, lanes)
    return even + odd


@kernel
def _scale(row, start, n, factor):
    for k in range(start, start + n):
        row[k] = row[k] * factor


@kernel
def _dot(row, start, vector, n):
    product = vector[0] * 0.0
    for k in range(n):
        product += row[start + k] * vector[k]
    return product


@kernel
def _add_outer(left, left_start, right, right_start, n_rows, weight, n, lanes, counts):
    """counts += weight * left.T @ right, for rows of n cells; four rows at a time, to save on `counts`."""
    for step in range(0, n, width(lanes)):
        # The last run is moved back so that it ends with the row. It overlaps the run before, and `fresh`
        # sets the `step - k` cells that were counted already to 0.
        k = min(step, n - width(lanes))
        new = n - step
        i = 0
        while i < n_rows:
            l0, r0 = left_start + i * n, right_start + i * n + k
            run0 = fresh(load(right, r0, lanes) * weight, new)
            if n_rows - i < 4:
                for x in range(n):
                    row = load(counts, x * n + k, lanes) + splat(left[l0 + x], lanes) * run0
                    store(counts, x * n + k, row)
                i += 1
                continue
            # Four tokens at a time: each cell of `counts` is then loaded and stored once for four products.
            l1, l2, l3 = l0 + n, l0 + 2 * n, l0 + 3 * n
            run1 = fresh(load(right, r0 + n, lanes) * weight, new)
            run2 = fresh(load(right, r0 + 2 * n, lanes) * weight, new)
            run3 = fresh(load(right, r0 + 3 * n, lanes) * weight, new)
            for x in range(n):
                row = load(counts, x * n + k, lanes)
                row = row + splat(left[l0 + x], lanes) * run0 + splat(left[l1 + x], lanes) * run1
                row = row + splat(left[l2 + x], lanes) * run2 + splat(left[l3 + x], lanes) * run3
                store(counts, x * n + k, row)
            i += 4


@kernel
def forward(offsets, emission, transition, start, end, lanes, alpha, scale, log_z):
    """Forward probabilities, each row scaled to sum to one; ``log_z`` without the shifts of the scores.

    Rows are scaled one step late: the sum and its inverse are ready by then.
    """
    # alpha_t(y) = emission_t(y) sum_x alpha_{t-1}(x) transition(x, y), and alpha_1(y) = start(y)
    # emission_1(y). Divided by c_t = sum_y alpha_t(y) at each token, Z = prod_t c_t * sum_y alpha_n(y) end(y)
    # (the scaled forward recursion of Rabiner 1989, section V.A).
    n = start.size
    c_emission, c_transition, c_start = cells(emission), cells(transition), cells(start)
    c_end, c_alpha, zero = cells(end), cells(alpha), start.dtype.type(0.0)
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1]
        inverse, log_scale = zero + 1.0, zero
        for t in range(first, last):
            c = zero
            for step in range(0, n, width(lanes)):
                k = min(step, n - width(lanes))
                if t == first:
                    row = load(c_start, k, lanes)
                else:
                    # Row t - 1 is not scaled yet: 1 / c_{t-1} multiplies the new row here, and row t - 1
                    # itself below.
                    row = _product(c_alpha, (t - 1) * n, c_transition, n, k, lanes)
                row = row * load(c_emission, t * n + k, lanes) * splat(inverse, lanes)
                store(c_alpha, t * n + k, row)
                # Cells that the run before has counted are left out of the sum.
                c += total(fresh(row, n - step))
            if t > first:
                _scale(c_alpha, (t - 1) * n, n, inverse)
            scale[t] = c
            inverse = 1.0 / c if c != 0.0 else c  # no allowed labelling: log Z is -inf
            log_scale += np.log(c)
        # The last row has no successor that would scale it.
        _scale(c_alpha, (last - 1) * n, n, inverse)
        log_z[s] = log_scale + np.log(_dot(c_alpha, (last - 1) * n, c_end, n))


@kernel
def backward(offsets, emission, scale, transition_t, end, alpha, lanes, message, beta):
    """Backward vectors, scaled so that ``alpha * beta`` are the marginals; emission is divided by scale.

    ``message`` (L,) is scratch.
    """
    n = end.size
    c_emission, c_transition, c_message = cells(emission), cells(transition_t), cells(message)
    c_end, c_alpha, c_beta = cells(end), cells(alpha), cells(beta)
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1]
        # beta_t(x) = sum_y transition(x, y) emission_{t+1}(y) beta_{t+1}(y) / c_{t+1}, and beta_n = end / z,
        # where z is what is left of Z after the scales. Then sum_y alpha_t(y) beta_t(y) = 1 at every token.
        z = _dot(c_alpha, (last - 1) * n, c_end, n)
        for y in range(n):
            beta[last - 1, y] = end[y] / z
        for t in range(last - 1, first, -1):
            # Emissions are divided by the scale of their token once, for `add_transition_counts`, which reads
            # them too.
            _scale(c_emission, t * n, n, 1.0 / scale[t])
            for step in range(0, n, width(lanes)):
                k = min(step, n - width(lanes))
                row = load(c_emission, t * n + k, lanes) * load(c_beta, t * n + k, lanes)
                store(c_message, k, row)
            for step in range(0, n, width(lanes)):
                k = min(step, n - width(lanes))
                store(c_beta, (t - 1) * n + k, _product(c_message, 0, c_transition, n, k, lanes))
        _scale(c_emission, first * n, n, 1.0 / scale[first])


@kernel
def add_transition_counts(offsets, alpha, emission, beta, weights, lanes, messages, counts):
    """counts += weight * expected transitions / transition potential (``emission`` as `backward` left it).

    ``messages`` (longest sequence, L) is scratch.
    """
    # P(y_{t-1} = x, y_t = y) = alpha_{t-1}(x) transition(x, y) message_t(y), message_t = emission_t beta_t /
    # c_t. The transition potential is the same for all tokens: it is left to the caller, and what remains is
    # a sum of outer products alpha_{t-1} message_t.
    n = counts.shape[0]
    c_emission, c_alpha, c_beta = cells(emission), cells(alpha), cells(beta)
    c_messages, c_counts, zero = cells(messages), cells(counts), alpha.dtype.type(0.0)
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1]
        for t in range(first + 1, last):
            for step in range(0, n, width(lanes)):
                k = min(step, n - width(lanes))
                row = load(c_emission, t * n + k, lanes) * load(c_beta, t * n + k, lanes)
                store(c_messages, (t - first - 1) * n + k, row)
        weight = splat(weights[s] + zero, lanes)
        _add_outer(c_alpha, first * n, c_messages, 0, last - first - 1, weight, n, lanes, c_counts)


@kernel
def marginals(offsets, alpha, beta, weights, lanes, out):
    """out[t] = weight of t's sequence * the label marginals at t."""
    n = out.shape[1]
    c_alpha, c_beta, c_out, zero = cells(alpha), cells(beta), cells(out), alpha.dtype.type(0.0)
    for s in range(offsets.size - 1):
        weight = splat(weights[s] + zero, lanes)
        for t in range(offsets[s], offsets[s + 1]):
            for step in range(0, n, width(lanes)):
                k = t * n + min(step, n - width(lanes))
                store(c_out, k, load(c_alpha, k, lanes) * load(c_beta, k, lanes) * weight)


@kernel
def expectations(
    blocks,
    offsets,
    rows,
    allowed,
    weights,
    opened,
    potentials,
    spread,
    reach,
    most,
    lanes,
    space,
    scratch,
    peaks,
    log_z,
    fits,
    with_counts,
    counts,
    edges,
    transitions,
):
    """Log-partitions and weighted expected counts in the linear domain, block by block.

    Block b holds the sequences ``blocks[b]:blocks[b + 1]``; ``fits[b]`` is False, and nothing is counted,
    where `fits_double` says so.

    Parameters
    ----------
    rows, opened, counts : tuples of arrays
        Entries, weights, and counts of attributes, as `structune.tagging.kernels.attributes` has them.
    allowed : bool, (n_tokens, L) or (0, L)
    potentials : transition, its transpose, start, end
    spread, reach, most
        See `fits_double`.
    space, scratch : (3, longest block, L), (longest sequence + 1, L)
        The one row more is there for shards without sequences.
    peaks, log_z
        Per sequence: the shifts of its scores, and the log-partition without them.
    edges, transitions : zeros (2, L), (L, L)
        Get the counts of starts and ends, and of transitions / transition potential.
    """
    starts, indices, values, pair_starts, pairs, pair_values, pair_labels = rows
    dense, w = opened
    transition, transition_t, start, end = potentials
    emission, alpha, beta = space[0], space[1], space[2]
    message, n = scratch[0], start.size
    # Blocks are small enough for their rows to stay in the caches from scores to counts; one call for a whole
    # shard spares the price of calling several kernels for each block.
    for b in range(blocks.size - 1):
        one, other = blocks[b], blocks[b + 1]
        first, last = offsets[one], offsets[other]
        local = offsets[one : other + 1] - first
        sparse.dense_scores(starts, indices, values, dense, first, last, lanes, emission)
        sparse.add_pair_scores(pair_starts, pairs, pair_values, pair_labels, w, first, last, emission)
        if allowed.size:
            for t in range(last - first):
                for y in range(n):
                    if not allowed[first + t, y]:
                        emission[t, y] = -np.inf
        spreads, scale = np.empty(other - one), np.empty(last - first, emission.dtype)
        shift_rows(local, emission, peaks[one:other], spreads)
        fits[b] = fits_double(local, spreads, spread, reach, n, most)
        if not fits[b]:
            continue
        # From here on `emission` holds potentials, and after `marginals` it holds marginals: one array serves
        # all.
        to_exponentials(emission, (last - first) * n, lanes)
        forward(local, emission, transition, start, end, lanes, alpha, scale, log_z[one:other])
        if not with_counts:
            continue
        backward(local, emission, scale, transition_t, end, alpha, lanes, message, beta)
        weight = weights[one:other]
        add_transition_counts(local, alpha, emission, beta, weight, lanes, scratch, transitions)
        marginals(local, alpha, beta, weight, lanes, emission)
        for s in range(other - one):
            for y in range(n):
                # Starts and ends count the labels of first and last tokens; marginals have the weight of the
                # sequence.
                edges[0, y] += emission[local[s], y]
                edges[1, y] += emission[local[s + 1] - 1, y]
        sparse.add_dense_counts(starts, indices, values, emission, first, last, 1, lanes, counts[0])
        sparse.add_pair_counts(
            pair_starts, pairs, pair_values, pair_labels, emission, first, last, 1, counts[1]
        )


@kernel
def tangent(
    offsets,
    alpha,
    beta,
    emission,
    transition,
    transition_t,
    slope,
    slope_t,
    start,
    end,
    weights,
    lanes,
    scratch,
    scores,
    counts,
):
    """Directional derivative of the expected counts at kept forward and backward vectors.

    The direction is given by ``scores`` (per token, overwritten by the weighted derivative of the marginals),
    ``slope`` = transition * its direction, and the directions of ``start`` and ``end``. ``counts`` gets the
    derivative of the expected transitions / transition potential, without the term of the potential itself.
    ``scratch`` is (4, longest sequence, L).
    """
    n = start.size
    c_alpha, c_beta, c_emission, u = cells(alpha), cells(beta), cells(emission), cells(scores)
    c_transition, c_transition_t = cells(transition), cells(transition_t)
    c_slope, c_slope_t = cells(slope), cells(slope_t)
    c_start, c_counts = cells(start), cells(counts)
    d_alpha, d_beta = cells(scratch[0]), cells(scratch[1])
    message, d_message = cells(scratch[2]), cells(scratch[3])
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1]
        # Forward: d_alpha is the derivative of alpha_t, as the kept vectors are scaled. By the product rule,
        # d_alpha_t = (d_alpha_{t-1} T + alpha_{t-1} slope) emission_t + u_t alpha_t, with T the transition
        # potentials and u the direction's token scores. Emissions are divided by their scales already.
        for t in range(first, last):
            i = (t - first) * n
            for step in range(0, n, width(lanes)):
                k = min(step, n - width(lanes))
                at = t * n + k
                push = load(u, at, lanes) * load(c_alpha, at, lanes)
                if t == first:
                    # alpha of a first token is start times emission: its derivative is (d start + u) alpha.
                    row = load(c_start, k, lanes) * load(c_alpha, at, lanes) + push
                else:
                    row = _product(d_alpha, i - n, c_transition, n, k, lanes)
                    row = row + _product(c_alpha, (t - 1) * n, c_slope, n, k, lanes)
                    row = row * load(c_emission, at, lanes) + push
                store(d_alpha, i + k, row)
        # normalising takes the mean of the direction's score off once, here: it stays off all the way back
        tail = (last - 1) * n
        i = tail - first * n
        mean = 0.0
        for y in range(n):
            # The derivative of log Z: the expected score of the direction.
            mean += d_alpha[i + y] * c_beta[tail + y] + end[y] * c_alpha[tail + y] * c_beta[tail + y]
        for y in range(n):
            d_beta[i + y] = (end[y] - mean) * c_beta[tail + y]
        # Backward: d_beta by the product rule, as above. message = emission beta, and its derivative
        # d_message = emission d_beta + u message. The derivative of a marginal is d_alpha beta + alpha
        # d_beta.
        weight = splat(weights[s], lanes)
        for t in range(last - 1, first - 1, -1):
            i = (t - first) * n
            for step in range(0, n, width(lanes)):
                k = min(step, n - width(lanes))
                at = t * n + k
                row = load(c_emission, at, lanes) * load(c_beta, at, lanes)
                store(message, i + k, row)
                row = load(c_emission, at, lanes) * load(d_beta, i + k, lanes) + load(u, at, lanes) * row
                store(d_message, i + k, row)
            for step in range(0, n, width(lanes)):
                k = min(step, n - width(lanes))
                at = t * n + k
                row = load(d_alpha, i + k, lanes) * load(c_beta, at, lanes)
                row = row + load(c_alpha, at, lanes) * load(d_beta, i + k, lanes)
                store(u, at, row * weight)
                if t > first:
                    row = _product(d_message, i, c_transition_t, n, k, lanes)
                    row = row + _product(message, i, c_slope_t, n, k, lanes)
                    store(d_beta, i - n + k, row)
        n_moves = last - first - 1
        # d (alpha outer message) = d_alpha outer message + alpha outer d_message, summed over the moves.
        _add_outer(d_alpha, 0, message, n, n_moves, weight, n, lanes, c_counts)
        _add_outer(c_alpha, first * n, d_message, n, n_moves, weight, n, lanes, c_counts)


@kernel
def viterbi(offsets, scores, transition, start, end, lanes, labels, best):
    """Highest-scoring label sequences, from scores (not potentials); ties go to the lower label.

    `scores` become those of the best sequences up to each token. Which label came before is found on the way
    back, for the best labels only: a maximum is one instruction, and its place is several.
    """
    n = start.size
    c_scores, c_transition = cells(scores), cells(transition)
    for s in range(offsets.size - 1):
        first, last = offsets[s] * n, (offsets[s + 1] - 1) * n
        for y in range(n):
            # v_t(y) = score_t(y) + max_x (v_{t-1}(x) + transition(x, y)), written over the scores (Viterbi
            # 1967).
            c_scores[first + y] = start[y] + c_scores[first + y]
        for at in range(first + n, last + n, n):
            for step in range(0, n, width(lanes)):
                k = min(step, n - width(lanes))
                high = splat(-np.inf, lanes)
                for x in range(n):
                    high = larger(
                        high, splat(c_scores[at - n + x], lanes) + load(c_transition, x * n + k, lanes)
                    )
                store(c_scores, at + k, load(c_scores, at + k, lanes) + fresh(high, n - step))
        label = 0
        for y in range(n):
            c_scores[last + y] = c_scores[last + y] + end[y]
            if c_scores[last + y] > c_scores[last + label]:
                label = y
        best[s] = c_scores[last + label]
        # Back from the last token: the label before is the one whose sum gave the maximum, found anew. The
        # first of several equal ones is taken, as the loops run upwards and compare with ">".
        for t in range(offsets[s + 1] - 1, offsets[s], -1):
            labels[t] = label
            before, high = 0, -np.inf
            for x in range(n):
                score = c_scores[(t - 1) * n + x] + c_transition[x * n + label]
                if score > high:
                    before, high = x, score
            label = before
        labels[offsets[s]] = label
