"""First-order linear chains in the log domain: slow, and safe for scores of any size.

Forward and backward are the recursions of `linear_domain`, over sums of logs. One sequence at a time;
forbidden transitions and labels score -inf. The linear-domain kernels serve wherever their range provably
suffices.
"""

import numpy as np

from structune.kernels.jit import kernel


@kernel
def log_sum(values):
    """The log of the sum of exponentials, of real or complex numbers."""
    # log sum exp(v) = high + log sum exp(v - high): the largest term is 1, so nothing overflows.
    high = -np.inf
    # The maximum is taken of real parts, and terms of -inf are left out: exp of a complex -inf would be nan.
    for k in range(values.size):
        high = max(high, values[k].real)
    if high == -np.inf:
        return values.dtype.type(high)
    total = values.dtype.type(0.0)
    for k in range(values.size):
        if values[k].real > -np.inf:
            total += np.exp(values[k] - high)
    return high + np.log(total)


@kernel
def forward_backward(scores, transition, start, end, alpha, beta):
    """Log forward vectors (with each token's own score) and log backward vectors (without); returns log Z."""
    n, n_labels = scores.shape
    terms = np.empty(n_labels)
    for y in range(n_labels):
        alpha[0, y] = start[y] + scores[0, y]
        beta[n - 1, y] = end[y]
    # a_t(y) = score_t(y) + log sum_x exp(a_{t-1}(x) + transition(x, y)).
    for t in range(1, n):
        for y in range(n_labels):
            for x in range(n_labels):
                terms[x] = alpha[t - 1, x] + transition[x, y]
            alpha[t, y] = log_sum(terms) + scores[t, y]
    # b_t(x) = log sum_y exp(transition(x, y) + score_{t+1}(y) + b_{t+1}(y)).
    for t in range(n - 2, -1, -1):
        for x in range(n_labels):
            for y in range(n_labels):
                terms[y] = transition[x, y] + scores[t + 1, y] + beta[t + 1, y]
            beta[t, x] = log_sum(terms)
    for y in range(n_labels):
        terms[y] = alpha[n - 1, y] + end[y]
    return log_sum(terms)


@kernel
def expectations(scores, transition, alpha, beta, weight, token_out, transition_counts):
    """Weighted label marginals of every token; adds the weighted expected transitions."""
    n, n_labels = scores.shape
    for t in range(n):
        log_z = log_sum(alpha[t] + beta[t])  # anew: rounding errors that long sequences gather cancel
        for y in range(n_labels):
            token_out[t, y] = weight * np.exp(alpha[t, y] + beta[t, y] - log_z)
            if t > 0:
                # P(x, y) = exp(a_{t-1}(x) + transition(x, y) + score_t(y) + b_t(y) - log Z).
                tail = scores[t, y] + beta[t, y] - log_z
                for x in range(n_labels):
                    transition_counts[x, y] += weight * np.exp(alpha[t - 1, x] + transition[x, y] + tail)


@kernel
def tangent(scores, transition, alpha, beta, d_scores, d_transition, d_start, d_end, weight, out, counts):
    """Directional derivative of the weighted expectations, by conditional means of the direction's score.

    ``before[t, y]`` is the mean direction score up to token t given label y there, ``after[t, y]`` the mean
    from there on: differences of such means give the covariances, whatever the size of the weights. Shares
    are divided by their sum, and means taken anew at each token, so that rounding errors do not add up.
    """
    n, n_labels = scores.shape
    before, after = np.zeros((n, n_labels)), np.zeros((n, n_labels))
    for y in range(n_labels):
        before[0, y] = d_start[y] + d_scores[0, y]
        after[n - 1, y] = d_end[y]
    # Given label y at t, label x came before with the share exp(a_{t-1}(x) + transition(x, y)) / sum over x.
    # What is summed here is the mean of the direction's score under these shares.
    for t in range(1, n):
        for y in range(n_labels):
            before[t, y] = d_scores[t, y]
            # Without the token's own score, alpha is the log of the sum that shares are relative to.
            mass = alpha[t, y] - scores[t, y]
            if scores[t, y] > -np.inf and mass > -np.inf:
                mean, total = 0.0, 0.0
                for x in range(n_labels):
                    share = np.exp(alpha[t - 1, x] + transition[x, y] - mass)
                    mean += share * (before[t - 1, x] + d_transition[x, y])
                    total += share
                before[t, y] += mean / total
    # The same from the other side: shares of the labels that follow x.
    for t in range(n - 2, -1, -1):
        for x in range(n_labels):
            if beta[t, x] > -np.inf:
                mean, total = 0.0, 0.0
                for y in range(n_labels):
                    share = np.exp(transition[x, y] + scores[t + 1, y] + beta[t + 1, y] - beta[t, x])
                    mean += share * (d_transition[x, y] + d_scores[t + 1, y] + after[t + 1, y])
                    total += share
                after[t, x] = mean / total
    for t in range(n):
        # Cov[1(y_t = y), d] = p_t(y) (E[d | y_t = y] - E[d]), d the direction's score of the whole sequence.
        # The conditional mean is `before` + `after`.
        log_z = log_sum(alpha[t] + beta[t])
        mean, total = 0.0, 0.0
        for y in range(n_labels):
            p = np.exp(alpha[t, y] + beta[t, y] - log_z)
            mean += p * (before[t, y] + after[t, y])
            total += p
        mean /= total
        for y in range(n_labels):
            p = np.exp(alpha[t, y] + beta[t, y] - log_z)
            out[t, y] = weight * p * (before[t, y] + after[t, y] - mean)
            if t > 0:
                tail = scores[t, y] + beta[t, y] - log_z
                for x in range(n_labels):
                    p = np.exp(alpha[t - 1, x] + transition[x, y] + tail)
                    # The same for a pair of labels: E[d | x, y] - E[d], with what both moves and tokens in
                    # between score.
                    shift = before[t - 1, x] + d_transition[x, y] + d_scores[t, y] + after[t, y] - mean
                    counts[x, y] += weight * p * shift
