"""First-order linear chains in the linear domain.

Sequence s holds the tokens ``offsets[s]:offsets[s + 1]``. Potentials are exponentials of scores: of tokens
(n_tokens, L), ``transition`` (L, L), ``start`` and ``end`` (L,). Sums are analytic, but for `shift_rows`,
which looks at real parts: the same source serves float64 and, for the complex step, complex128. `viterbi` is
the forward recursion over maxima of scores.
"""

import numpy as np

from structune.kernels.exponentials import to_exponentials
from structune.kernels.jit import bare_kernel, part_of_one_kernel
from structune.kernels.vectors import cells, fresh, larger, load, splat, store, total, width
from structune.tagging.kernels import attributes as sparse


@bare_kernel
def shift_rows(offsets, scores, peaks, spread, reach, most):
    """Subtract each token's maximum; whether the linear domain is safe for all sequences.

    ``peaks`` get the sums of the maxima, by sequence; ``scores`` begin with the first token of the first one.
    It is safe if the logs of all values span less than `most`: after `reach` steps every label has been
    reached from the best one, so a forward vector spans at most that many steps' worth of scores and sums
    over labels. ``spread`` is that of the moves. A sequence never spans more than its own.
    """
    n, is_safe = scores.shape[1], True
    c_scores = cells(scores)
    for s in range(offsets.size - 1):
        # A constant taken off all labels of a token changes log Z by that constant and no probability. With
        # the maximum taken off, exponentials are at most 1; the caller adds the sum of the maxima to log Z.
        peak, widest = 0.0, 0.0
        for at in range((offsets[s] - offsets[0]) * n, (offsets[s + 1] - offsets[0]) * n, n):
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
            widest = max(widest, high - low)
        peaks[s] = peak
        # One step changes the ratio of two labels by at most exp(spread of the tokens + spread of the moves),
        # and a sum over labels by a factor of at most n. One step more than `reach` stands for the token's
        # own. Written with "not", so that a spread that is nan does not pass.
        steps = min(offsets[s + 1] - offsets[s], reach) + 1
        if not steps * (widest + spread + np.log(n)) < most:
            is_safe = False
    return is_safe


@part_of_one_kernel
def _product(row, start, n_rows, matrix, n, k, lanes):
    """The run from column k on of row @ matrix, (n_rows, n); the row's first cell is `start`."""
    # Two sums, of rows with even and with odd numbers: neither has to wait for the other's last addition. The
    # first cell stands for a 0 of the right type, real or complex.
    even = splat(row[start], lanes) * load(matrix, k, lanes)
    odd = splat(row[start] * 0.0, lanes)
    for i in range(1, n_rows - 1, 2):
        odd = odd + splat(row[start + i], lanes) * load(matrix, i * n + k, lanes)
        even = even + splat(row[start + i + 1], lanes) * load(matrix, (i + 1) * n + k, lanes)
    # The loop takes pairs after row 0, so one row is left where their number is even.
    if n_rows % 2 == 0:
        odd = odd + splat(row[start + n_rows - 1], lanes) * load(matrix, (n_rows - 1) * n + k, lanes)
    return even + odd


@part_of_one_kernel
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
            # Four rows at a time: each cell of `counts` is then loaded and stored once for four products.
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


@part_of_one_kernel
def _forward(a, z, n, transition, start, zero, lanes, emission, alpha):
    """Forward probabilities of the tokens a:z, each row scaled to sum to one, and the log of the scales.

    Emissions are divided by the scale of their token, too. Rows are scaled one step late: the sum and its
    inverse are ready by then.
    """
    # alpha_t(y) = emission_t(y) sum_x alpha_{t-1}(x) transition(x, y), and alpha_1(y) = start(y)
    # emission_1(y). Divided by c_t = sum_y alpha_t(y) at each token, Z = prod_t c_t * sum_y alpha_n(y) end(y)
    # (the scaled forward recursion of Rabiner 1989, section V.A).
    inverse, log_scale = zero + 1.0, zero
    for t in range(a, z + 1):
        c = zero
        for step in range(0, n if t < z else 0, width(lanes)):
            k = min(step, n - width(lanes))
            if t == a:
                row = load(start, k, lanes)
            else:
                # Row t - 1 is not scaled yet: 1 / c_{t-1} multiplies the new row here, and row t - 1
                # itself below.
                row = _product(alpha, (t - 1) * n, n, transition, n, k, lanes)
            row = row * load(emission, t * n + k, lanes) * splat(inverse, lanes)
            store(alpha, t * n + k, row)
            # Cells that the run before has counted are left out of the sum.
            c += total(fresh(row, n - step))
        if t > a:
            for k in range((t - 1) * n, t * n):
                alpha[k] = alpha[k] * inverse
                emission[k] = emission[k] * inverse
        if t < z:
            inverse = 1.0 / c if c != 0.0 else c  # no allowed labelling: log Z is -inf
            log_scale += np.log(c)
    return log_scale


@part_of_one_kernel
def _backward(a, z, n, transition_t, lanes, emission, messages, beta):
    """Backward vectors of the tokens a:z from the last one; emission * beta of token a + i to message i.

    They are scaled so that alpha * beta are the marginals.
    """
    # beta_t(x) = sum_y transition(x, y) message_{t+1}(y), message_t = emission_t beta_t / c_t. With beta_n =
    # end / (what is left of Z after the scales), sum_y alpha_t(y) beta_t(y) = 1 at every token.
    for t in range(z - 1, a, -1):
        i = (t - a) * n
        for step in range(0, n, width(lanes)):
            k = min(step, n - width(lanes))
            row = load(emission, t * n + k, lanes) * load(beta, t * n + k, lanes)
            store(messages, i + k, row)
        for step in range(0, n, width(lanes)):
            k = min(step, n - width(lanes))
            store(beta, (t - 1) * n + k, _product(messages, i, n, transition_t, n, k, lanes))


@bare_kernel
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
    tables,
    marginals,
    scratch,
    peaks,
    log_z,
    fits,
    counts,
    power,
    edges,
    transitions,
):
    """Log-partitions and weighted expected counts in the linear domain, block by block.

    Block b holds the sequences ``blocks[b]:blocks[b + 1]``; ``fits[b]`` is False, and nothing is counted,
    where `shift_rows` says so.

    Parameters
    ----------
    rows, opened, counts : tuples of arrays
        Entries, weights, and counts of attributes, as `structune.tagging.kernels.attributes` has them;
        without cells where attributes are not counted. ``power`` of their values is 1.
    allowed : bool, (n_tokens, L) or (0, L)
    potentials : transition, its transpose, start, end
    spread, reach, most
        See `shift_rows`.
    tables : (3, longest block, L)
        Get emissions / scales, forward and backward vectors.
    marginals : (longest block, L)
        Get those of labels, times the weight of the sequence; may be the first table.
    scratch : (longest sequence, L)
    peaks, log_z
        Per sequence: what is taken off the scores of tokens, and the log-partition but for that of moves.
    edges, transitions : zeros (2, L), (L, L)
        Get the counts of starts and ends, and of transitions / transition potential; without cells where
        nothing is counted.
    """
    starts, indices, values, pair_starts, pairs, pair_values, pair_labels = rows
    dense, w = opened
    transition, transition_t, start, end = potentials
    scores, n = tables[0], start.size
    emission, alpha, beta, messages = cells(scores), cells(tables[1]), cells(tables[2]), cells(scratch)
    c_transition, c_transition_t, c_start = cells(transition), cells(transition_t), cells(start)
    c_marginals, c_transitions, zero = cells(marginals), cells(transitions), start.dtype.type(0.0)
    # Blocks are small enough for their rows to stay in the caches from scores to counts; one call for a whole
    # shard spares the price of calling several kernels for each block.
    for b in range(blocks.size - 1):
        one, other = blocks[b], blocks[b + 1]
        first, last = offsets[one], offsets[other]
        sparse.dense_scores(starts, indices, values, dense, first, last, lanes, scores)
        sparse.add_pair_scores(pair_starts, pairs, pair_values, pair_labels, w, first, last, scores)
        if allowed.size:
            for t in range(last - first):
                for y in range(n):
                    if not allowed[first + t, y]:
                        scores[t, y] = -np.inf
        fits[b] = shift_rows(offsets[one : other + 1], scores, peaks[one:other], spread, reach, most)
        if not fits[b]:
            continue
        to_exponentials(scores, (last - first) * n, lanes)
        for s in range(one, other):
            a, z = offsets[s] - first, offsets[s + 1] - first
            log_scale = _forward(a, z, n, c_transition, c_start, zero, lanes, emission, alpha)
            rest, tail = zero, (z - 1) * n
            for y in range(n):
                rest += alpha[tail + y] * end[y]
            log_z[s] = peaks[s] + log_scale + np.log(rest)
            if not transitions.size:
                continue
            for y in range(n):
                beta[tail + y] = end[y] / rest
            _backward(a, z, n, c_transition_t, lanes, emission, messages, beta)
            # P(y_{t-1} = x, y_t = y) = alpha_{t-1}(x) transition(x, y) message_t(y). The transition potential
            # is the same for all tokens: it is left to the caller, and what remains is a sum of outer
            # products alpha_{t-1} message_t.
            weight = splat(weights[s] + zero, lanes)
            _add_outer(alpha, a * n, messages, n, z - a - 1, weight, n, lanes, c_transitions)
            if not marginals.size:
                continue
            for t in range(a, z):
                for step in range(0, n, width(lanes)):
                    k = t * n + min(step, n - width(lanes))
                    store(c_marginals, k, load(alpha, k, lanes) * load(beta, k, lanes) * weight)
            for y in range(n):
                # Starts and ends count the labels of first and last tokens.
                edges[0, y] += c_marginals[a * n + y]
                edges[1, y] += c_marginals[tail + y]
        if counts[1].size:
            sparse.add_dense_counts(starts, indices, values, marginals, first, last, power, lanes, counts[0])
            sparse.add_pair_counts(
                pair_starts, pairs, pair_values, pair_labels, marginals, first, last, power, counts[1]
            )


@bare_kernel
def tangent(
    offsets, tables, forth, back, start, end, weights, lanes, lefts, rights, scores, marginals, counts
):  # fmt: skip
    """Directional derivative of the expected counts at kept tables of `expectations`.

    The direction is given by the ``scores`` of tokens, by ``start`` and ``end``, and by the slope, which is
    the transition potentials times their direction: ``forth`` (2 L, L) are the potentials and under them the
    slope, ``back`` the slope transposed and under it the potentials transposed. ``marginals`` get the
    weighted derivative of those of labels, and ``counts`` that of the expected transitions / transition
    potential, without the term of the potential itself. ``lefts`` and ``rights`` (longest sequence, 2, L)
    are scratch.
    """
    n = start.size
    emission, alpha, beta, u = cells(tables[0]), cells(tables[1]), cells(tables[2]), cells(scores)
    c_forth, c_back, c_start, c_end = cells(forth), cells(back), cells(start), cells(end)
    left, right, c_marginals, c_counts = cells(lefts), cells(rights), cells(marginals), cells(counts)
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1]
        # Forward: d_alpha is the derivative of alpha_t, as the kept vectors are scaled. By the product rule,
        # d_alpha_t = (d_alpha_{t-1} T + alpha_{t-1} slope) emission_t + u_t alpha_t, with T the transition
        # potentials and u the direction's token scores. Emissions are divided by their scales already. With
        # d_alpha and alpha side by side in a row, and T above slope, the bracket is one product.
        for t in range(first, last):
            i = (t - first) * 2 * n
            for step in range(0, n, width(lanes)):
                k = min(step, n - width(lanes))
                at = t * n + k
                here = load(alpha, at, lanes)
                if t == first:
                    # alpha of a first token is start times emission: its derivative is (d start + u) alpha.
                    row = load(c_start, k, lanes) * here
                else:
                    row = _product(left, i - 2 * n, 2 * n, c_forth, n, k, lanes) * load(emission, at, lanes)
                store(left, i + k, row + load(u, at, lanes) * here)
                store(left, i + n + k, here)
        # normalising takes the mean of the direction's score off once, here: it stays off all the way back
        tail, i = (last - 1) * n, (last - 1 - first) * 2 * n
        mean = 0.0
        for y in range(n):
            # The derivative of log Z: the expected score of the direction.
            mean += left[i + y] * beta[tail + y] + end[y] * alpha[tail + y] * beta[tail + y]
        # Backward: d_beta by the product rule, as above. message = emission beta, and its derivative
        # d_message = emission d_beta + u message; both lie side by side in a row. The derivative of a
        # marginal is d_alpha beta + alpha d_beta.
        weight = splat(weights[s], lanes)
        for t in range(last - 1, first - 1, -1):
            i = (t - first) * 2 * n
            for step in range(0, n, width(lanes)):
                k = min(step, n - width(lanes))
                at = t * n + k
                if t == last - 1:
                    d_beta = (load(c_end, k, lanes) + splat(-mean, lanes)) * load(beta, at, lanes)
                else:
                    d_beta = _product(right, i + 2 * n, 2 * n, c_back, n, k, lanes)
                message = load(emission, at, lanes) * load(beta, at, lanes)
                store(right, i + k, message)
                store(right, i + n + k, load(emission, at, lanes) * d_beta + load(u, at, lanes) * message)
                row = load(left, i + k, lanes) * load(beta, at, lanes) + load(alpha, at, lanes) * d_beta
                store(c_marginals, at, row * weight)
        # d (alpha outer message) = d_alpha outer message + alpha outer d_message, summed over the moves: the
        # rows of both are in turn those of lefts and, one token on, of rights.
        _add_outer(left, 0, right, 2 * n, 2 * (last - first - 1), weight, n, lanes, c_counts)


@bare_kernel
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
