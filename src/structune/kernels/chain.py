"""First-order linear chains in the linear domain, over a block of sequences.

Sequence s holds the tokens ``offsets[s]:offsets[s + 1]`` of the block. Potentials are exponentials of scores:
``emission`` (n_tokens, L), ``transition`` (L, L), ``start`` and ``end`` (L,). Everything but `shift_rows` is
polynomial, so the same source serves float64 and, for the complex step, complex128.
"""

import numpy as np

from structune.kernels._jit import kernel


@kernel
def shift_rows(offsets, scores, peaks, spreads):
    """Subtract each token's maximum; per sequence, the sum of the maxima and the widest finite range."""
    for s in range(offsets.size - 1):
        peak, spread = 0.0, 0.0
        for t in range(offsets[s], offsets[s + 1]):
            row = scores[t]
            high, low = -np.inf, np.inf
            for y in range(row.size):
                x = row[y].real
                high = max(high, x)
                if x > -np.inf:
                    low = min(low, x)
            for y in range(row.size):
                row[y] -= high
            peak += high
            spread = max(spread, high - low)
        peaks[s] = peak
        spreads[s] = spread


@kernel
def _multiply(vector, matrix, out):
    """out = vector @ matrix, four rows at a time."""
    n = vector.size
    whole = n - n % 4
    out[:] = 0.0
    for i in range(0, whole, 4):
        v0, v1, v2, v3 = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        r0, r1, r2, r3 = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        for j in range(n):
            out[j] += v0 * r0[j] + v1 * r1[j] + v2 * r2[j] + v3 * r3[j]
    for i in range(whole, n):
        v, r = vector[i], matrix[i]
        for j in range(n):
            out[j] += v * r[j]


@kernel
def forward(offsets, emission, transition, start, end, alpha, scale, log_z):
    """Forward probabilities, each row scaled to sum to one; ``log_z`` without the shifts of the scores."""
    n_labels = start.size
    zero = start[0] * 0.0  # of the potentials' type, real or complex
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1]
        total = zero
        for t in range(first, last):
            row, e = alpha[t], emission[t]
            if t == first:
                row[:] = start
            else:
                _multiply(alpha[t - 1], transition, row)
            c = zero
            for y in range(n_labels):
                row[y] *= e[y]
                c += row[y]
            scale[t] = c
            inverse = 1.0 / c if c != 0.0 else c  # no allowed labelling: log Z is -inf
            for y in range(n_labels):
                row[y] *= inverse
            total += np.log(c)
        z = zero
        row = alpha[last - 1]
        for y in range(n_labels):
            z += row[y] * end[y]
        log_z[s] = total + np.log(z)


@kernel
def backward(offsets, emission, scale, transition_t, end, alpha, beta):
    """Backward vectors, scaled so that ``alpha * beta`` are the marginals; emission is divided by scale."""
    n_labels = end.size
    message = np.empty_like(end)
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1]
        z = end[0] * 0.0
        for y in range(n_labels):
            z += alpha[last - 1, y] * end[y]
        for y in range(n_labels):
            beta[last - 1, y] = end[y] / z
        for t in range(last - 1, first - 1, -1):
            e, b = emission[t], beta[t]
            inverse = 1.0 / scale[t]
            for y in range(n_labels):
                e[y] *= inverse
                message[y] = e[y] * b[y]
            if t > first:
                _multiply(message, transition_t, beta[t - 1])


@kernel
def add_transition_counts(offsets, alpha, emission, beta, weights, counts):
    """counts += weight * expected transitions / transition potential (``emission`` as `backward` left it)."""
    n_labels = counts.shape[0]
    message = np.empty_like(alpha[0])
    for s in range(offsets.size - 1):
        for t in range(offsets[s] + 1, offsets[s + 1]):
            a, e, b = alpha[t - 1], emission[t], beta[t]
            for y in range(n_labels):
                message[y] = weights[s] * e[y] * b[y]
            for x in range(n_labels):
                ax, row = a[x], counts[x]
                for y in range(n_labels):
                    row[y] += ax * message[y]


@kernel
def marginals(offsets, alpha, beta, weights, out):
    """out[t] = weight of t's sequence * the label marginals at t."""
    for s in range(offsets.size - 1):
        for t in range(offsets[s], offsets[s + 1]):
            a, b, row = alpha[t], beta[t], out[t]
            for y in range(row.size):
                row[y] = weights[s] * a[y] * b[y]


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
    scores,
    counts,
):
    """Directional derivative of the expected counts at kept forward and backward vectors.

    The direction is given by ``scores`` (per token, overwritten by the weighted derivative of the marginals),
    ``slope`` = transition * its direction, and the directions of ``start`` and ``end``. ``counts`` gets the
    derivative of the expected transitions / transition potential, without the term of the potential itself.
    """
    n_labels = start.size
    d_message, message, part = np.empty(n_labels), np.empty(n_labels), np.empty(n_labels)
    longest = 0
    for s in range(offsets.size - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    d_alpha, d_beta = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    for s in range(offsets.size - 1):
        first, n = offsets[s], offsets[s + 1] - offsets[s]
        for i in range(n):
            t = first + i
            row, u, a, e = d_alpha[i], scores[t], alpha[t], emission[t]
            if i == 0:
                for y in range(n_labels):
                    row[y] = (start[y] + u[y]) * a[y]
            else:
                _multiply(d_alpha[i - 1], transition, row)
                _multiply(alpha[t - 1], slope, part)
                for y in range(n_labels):
                    row[y] = (row[y] + part[y]) * e[y] + u[y] * a[y]
        mean = 0.0
        for y in range(n_labels):
            d_beta[n - 1, y] = end[y] * beta[first + n - 1, y]
            mean += d_alpha[n - 1, y] * beta[first + n - 1, y] + alpha[first + n - 1, y] * d_beta[n - 1, y]
        for i in range(n - 1, -1, -1):
            t = first + i
            row, u, a, e, b = d_beta[i], scores[t], alpha[t], emission[t], beta[t]
            for y in range(n_labels):
                message[y] = e[y] * b[y]
                d_message[y] = e[y] * row[y] + u[y] * message[y]
            if i > 0:
                _multiply(d_message, transition_t, d_beta[i - 1])
                _multiply(message, slope_t, part)
                for y in range(n_labels):
                    d_beta[i - 1, y] += part[y]
                    d_message[y] = weights[s] * (d_message[y] - mean * message[y])
                    message[y] *= weights[s]
                before, d_before = alpha[t - 1], d_alpha[i - 1]
                for x in range(n_labels):
                    ax, dx, target = before[x], d_before[x], counts[x]
                    for y in range(n_labels):
                        target[y] += dx * message[y] + ax * d_message[y]
            d = d_alpha[i]
            for y in range(n_labels):
                u[y] = weights[s] * (d[y] * b[y] + a[y] * row[y] - mean * a[y] * b[y])


@kernel
def viterbi(offsets, scores, transition, start, end, labels, best):
    """Highest-scoring label sequences, from scores (not potentials); ties go to the lower label."""
    n_labels = start.size
    current, previous = np.empty(n_labels), np.empty(n_labels)
    longest = 0
    for s in range(offsets.size - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    pointers = np.empty((longest, n_labels), np.int64)
    for s in range(offsets.size - 1):
        first, n = offsets[s], offsets[s + 1] - offsets[s]
        for y in range(n_labels):
            current[y] = start[y] + scores[first, y]
        for i in range(1, n):
            previous[:] = current
            current[:] = -np.inf
            back, u = pointers[i], scores[first + i]
            back[:] = 0
            for x in range(n_labels):
                px, row = previous[x], transition[x]
                for y in range(n_labels):
                    candidate = px + row[y]
                    better = candidate > current[y]
                    current[y] = candidate if better else current[y]
                    back[y] = x if better else back[y]
            for y in range(n_labels):
                current[y] += u[y]
        label = 0
        for y in range(n_labels):
            current[y] += end[y]
            if current[y] > current[label]:
                label = y
        best[s] = current[label]
        for i in range(n - 1, -1, -1):
            labels[first + i] = label
            label = pointers[i, label] if i > 0 else 0


@kernel
def _insert(values, pointers, value, pointer):
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
def n_best(scores, transition, start, end, labels, best):
    """The ``best.size`` highest-scoring label sequences of one sequence; -inf where there are fewer."""
    n, n_labels, n_kept = scores.shape[0], start.size, best.size
    kept = np.full((n, n_labels, n_kept), -np.inf)
    pointers = np.zeros((n, n_labels, n_kept), np.int64)
    for y in range(n_labels):
        kept[0, y, 0] = start[y] + scores[0, y]
    for t in range(1, n):
        for y in range(n_labels):
            for x in range(n_labels):
                for k in range(n_kept):
                    if not _insert(
                        kept[t, y], pointers[t, y], kept[t - 1, x, k] + transition[x, y], x * n_kept + k
                    ):
                        break
            kept[t, y] += scores[t, y]
    tails = np.zeros(n_kept, np.int64)
    best[:] = -np.inf
    for y in range(n_labels):
        for k in range(n_kept):
            if not _insert(best, tails, kept[n - 1, y, k] + end[y], y * n_kept + k):
                break
    for k in range(n_kept):
        tail = tails[k]
        for t in range(n - 1, -1, -1):
            labels[k, t] = tail // n_kept
            tail = pointers[t, tail // n_kept, tail % n_kept]
