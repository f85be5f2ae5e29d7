"""Alignments of many short pairs in one call, which costs as much as that of one."""

import numpy as np

from structune.alignment.kernels.best import accuracy_rows, accuracy_trace
from structune.alignment.kernels.sums import Factors, whole_posterior, window
from structune.kernels.jit import kernel


@kernel
def align(pairs, offsets, left, right, factors, limits, starts, partners, is_known):
    """The alignments of maximum expected accuracy, where sums stay in range: there ``is_known`` (n_pairs,).

    ``pairs`` (n_pairs, 2) are numbers of sequences. Residues of sequence s begin at ``offsets[s]``, its
    sites, of which it has one more, at ``offsets[s] + s``. Scores of matches are products of rows of ``left``
    and ``right``. ``limits`` are gamma, the largest score, and the share of all alignments that may be lost.
    """
    gamma, most_score, most_lost = limits
    for p in range(len(pairs)):
        x, y = pairs[p]
        a, b, c, d = offsets[x], offsets[x + 1], offsets[y], offsets[y + 1]
        partner = partners[starts[p] : starts[p + 1]]
        partner[:] = -1
        is_known[p] = True
        if a == b or c == d or gamma == 0.0:
            continue
        match, most = np.empty((b - a, d - c)), 0.0
        for i in range(b - a):
            for j in range(d - c):
                total = 0.0
                for k in range(left.shape[1]):
                    total += left[a + i, k] * right[c + j, k]
                most = max(most, abs(total))
                match[i, j] = np.exp(total)
        f = Factors(window(factors.x, a, b, x), window(factors.y, c, d, y), factors.steps, factors.both)
        posterior = np.zeros(match.shape)
        is_known[p] = most <= most_score and abs(whole_posterior(match, f, posterior)) < most_lost
        if is_known[p]:
            _decode(posterior, gamma, partner)


@kernel
def _decode(posterior, gamma, partner):
    # A right match counts gamma, a residue rightly left out one half. With free_x[i] = 1 - sum_j p_ij, a
    # match is worth gamma p_ij - (free_x[i] + free_y[j]) / 2 more than to leave both out; it is divided by
    # gamma, which may be infinite.
    n, m = posterior.shape
    free_x, free_y = np.ones(n), np.ones(m)
    for i in range(n):
        for j in range(m):
            free_x[i] -= posterior[i, j]
            free_y[j] -= posterior[i, j]
    for i in range(n):
        for j in range(m):
            posterior[i, j] -= (free_x[i] + free_y[j]) / (2.0 * gamma)
    choices = np.empty((n, m), np.uint8)
    accuracy_rows(posterior, np.zeros(m + 1), choices)
    accuracy_trace(choices, 0, 0, 0, partner)
