"""Alignments of many short pairs in one call, which costs as much as that of one.

For each pair `structune.alignment.kernels.sums` and `structune.alignment.kernels.best`, in one block of rows.
"""

import numpy as np

from structune.alignment.kernels.best import accuracy_rows, accuracy_trace
from structune.alignment.kernels.sums import Below, Cells, Factors, Rows, Side, backward, forward
from structune.kernels.jit import kernel


@kernel
def align(
    pairs, offsets, left, right, terminal, sides, steps, both, gamma, most_lost, starts, partners, is_known
):
    """The alignments of maximum expected accuracy, where sums stay in range.

    Parameters
    ----------
    pairs : (n_pairs, 2)
        Numbers of sequences, each of which is somewhere among those of all.
    offsets : (n_sequences + 1,)
        Of residues. Sites, of which each sequence has one more, begin at ``offsets[s] + s``.
    left, right : (n_residues, n_columns)
        The products of two rows are scores of matches, of which ``terminal`` (n_residues,) of both is taken.
    sides : Side
        Factors of all sequences.
    most_lost : float
        The share of all alignments that may be lost to the limits of a double.
    starts : (n_pairs + 1,)
        Where the partners of the residues of each first sequence begin.
    is_known : (n_pairs,) of bool
        Gets where sums stayed in range.
    """
    for p in range(len(pairs)):
        x, y = pairs[p]
        a, b, c, d = offsets[x], offsets[x + 1], offsets[y], offsets[y + 1]
        partner = partners[starts[p] : starts[p + 1]]
        partner[:] = -1
        is_known[p] = True
        if a == b or c == d or gamma == 0.0:
            continue
        match = np.empty((b - a, d - c))
        for i in range(b - a):
            for j in range(d - c):
                total = 0.0
                for k in range(left.shape[1]):
                    total += left[a + i, k] * right[c + j, k]
                match[i, j] = np.exp(total - terminal[a + i] - terminal[c + j])
        factors = Factors(_side(sides, a, b, x), _side(sides, c, d, y), steps, both)
        posterior = np.zeros((b - a, d - c))
        is_known[p] = _posterior(match, factors, posterior, most_lost)
        if is_known[p]:
            _decode(posterior, gamma, partner)


@kernel
def _side(sides, a, b, s):
    """Factors of the residues a..b - 1, those of sequence s."""
    sites = slice(a + s, b + s + 1)
    return Side(
        sides.residue[a:b], sides.opens[a:b], sides.closes[a:b], sides.site[sites], sides.site_open[sites],
        sides.begins[sites], sides.ends[sites],
    )  # fmt: skip


@kernel
def _no_uses(n):
    return Side(
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n + 1),
        np.zeros(n + 1),
        np.zeros(n + 1),
        np.zeros(n + 1),
    )


@kernel
def _posterior(match, f, posterior, most_lost):
    """Fill in the probabilities of matches; whether they are sound."""
    (n, m), L = match.shape, f.steps.size - 1
    cells = Cells(np.zeros(n + 1, np.int64), np.full(n + 1, m))
    rows = Rows(
        np.empty((n + 1, m + 1)), np.empty((n + 1, m + 1)), np.empty((n + 1, L, m + 1)),
        np.empty((n + 1, L, m + 1)), np.zeros(n + 1),
    )  # fmt: skip
    rows.match[0], rows.gap_x[0], rows.gap_y[0] = 0.0, 0.0, 0.0
    first = f.x.begins[0] * f.y.begins
    rows.start[0] = first
    ends, none = np.zeros(n + 1), f.x.begins[n] * f.y.begins[m]
    ends[0] = none
    forward(match, 0, f, cells, rows, ends)
    top, total = -np.inf, 0.0
    for r in range(n + 1):
        if ends[r] != 0.0:
            top = max(top, rows.logs[r])
    for r in range(n + 1):
        if ends[r] != 0.0:
            total += ends[r] * np.exp(rows.logs[r] - top)
    if not (np.isfinite(total) and total > 0.0):
        return False
    log_z, used = np.log(total) + top, Factors(_no_uses(n), _no_uses(m), np.zeros(L + 1), np.zeros(2))
    below = Below(np.zeros(m + 1), np.zeros((L, m + 1)))
    backward(match, 0, f, cells, rows, log_z, below, posterior, used)
    found = none * np.exp(-log_z)
    for j in range(m + 1):
        found += first[j] * below.start[j]
    for i in range(n + 1):
        found += used.x.begins[i]
    finite = True
    for i in range(n):
        for j in range(m):
            finite &= np.isfinite(posterior[i, j])
    return finite and abs(1.0 - found) < most_lost


@kernel
def _decode(posterior, gamma, partner):
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
