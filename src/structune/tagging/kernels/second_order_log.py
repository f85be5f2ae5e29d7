"""Second-order linear chains in the log domain: slow, and safe for scores of any size.

Forward and backward are the recursions of `second_order`, over sums of logs, one sequence at a time; what is
forbidden scores -inf. Analytic, too: only real parts are compared.
"""

import numpy as np

from structune.kernels.jit import kernel
from structune.tagging.kernels.log_domain import log_sum


@kernel
def _shift(values):
    """Take the largest real part off all values, and return it; 0 where all are -inf."""
    # Forward values grow with the length of a sequence, and with them the rounding errors of their
    # differences. With the largest at 0, errors are those of one token.
    cells, high = values.reshape(-1), -np.inf
    for k in range(cells.size):
        high = max(high, cells[k].real)
    if high == -np.inf:
        return 0.0
    for k in range(cells.size):
        cells[k] = cells[k] - high
    return high


@kernel
def forward_backward(scores, start, moves, end, alpha, beta, peaks):
    """Log forward and backward values of each state, (n_tokens, L + 1, L); returns log Z.

    Their largest are 0 at every token, so that no rounding errors gather in long sequences; ``peaks``
    (n_tokens,) are what was taken off the forward values.
    """
    n_tokens, n = scores.shape
    log_z = scores.dtype.type(0.0)
    terms = np.empty(n + 1, scores.dtype)
    alpha[:] = -np.inf
    beta[:] = -np.inf
    # The only states of a first token follow "start", which is label n.
    for y in range(n):
        alpha[0, n, y] = start[y] + scores[0, y]
    peaks[0] = _shift(alpha[0])
    for t in range(1, n_tokens):
        for y in range(n):
            for z in range(n):
                for x in range(n + 1):
                    terms[x] = alpha[t - 1, x, y] + moves[y, x, z]
                alpha[t, y, z] = log_sum(terms) + scores[t, z]
        peaks[t] = _shift(alpha[t])
    beta[n_tokens - 1] = end
    for t in range(n_tokens - 2, -1, -1):
        for y in range(n):
            for x in range(n + 1):
                for z in range(n):
                    terms[z] = moves[y, x, z] + scores[t + 1, z] + beta[t + 1, y, z]
                beta[t, x, y] = log_sum(terms[:n])
        # What is taken off beta is not kept: probabilities are normalised at each token anew.
        _shift(beta[t])
    for t in range(n_tokens):
        log_z += peaks[t]
    return log_z + log_sum((alpha[n_tokens - 1] + end).reshape(-1))


@kernel
def expectations(scores, moves, alpha, beta, peaks, weight, rows, counts, ends):
    """Weighted label marginals of every token; adds the weighted expected moves and last states."""
    n_tokens, n = scores.shape
    rows[:] = 0.0
    for t in range(n_tokens):
        both = alpha[t] + beta[t]
        # log Z as this token has it, up to the shifts of alpha and beta: the same shifts are in `both`.
        log_z = log_sum(both.reshape(-1))
        for y in range(n + 1):
            for z in range(n):
                if both[y, z].real == -np.inf:
                    continue
                p = weight * np.exp(both[y, z] - log_z)
                rows[t, z] += p
                if t == n_tokens - 1:
                    ends[y, z] += p
                if t == 0:
                    continue
                # P(x, y, z) = exp(a_{t-1}(x, y) + move + score_t(z) + b_t(y, z) - log Z). alpha of the token
                # before lacks the shift of this token, which log Z has: `peaks[t]` makes up for it.
                tail = scores[t, z] + beta[t, y, z] - log_z - peaks[t]
                for x in range(n + 1):
                    score = alpha[t - 1, x, y] + moves[y, x, z]
                    if score.real > -np.inf:
                        counts[y, x, z] += weight * np.exp(score + tail)
