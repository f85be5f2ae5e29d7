"""Expected counts of a whole shard of chains in one call, from attributes to counts."""

import numpy as np

from structune.kernels.exponentials import to_exponentials
from structune.kernels.jit import kernel
from structune.tagging.kernels import attributes as sparse
from structune.tagging.kernels import linear_domain as chain


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
    where `chain.fits_double` says so.

    Parameters
    ----------
    rows, opened, counts : tuples of arrays
        Entries, weights, and counts of attributes, as `structune.tagging.kernels.attributes` has them.
    allowed : bool, (n_tokens, L) or (0, L)
    potentials : transition, its transpose, start, end
    spread, reach, most
        See `chain.fits_double`.
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
        chain.shift_rows(local, emission, peaks[one:other], spreads)
        fits[b] = chain.fits_double(local, spreads, spread, reach, n, most)
        if not fits[b]:
            continue
        to_exponentials(emission, (last - first) * n, lanes)
        chain.forward(local, emission, transition, start, end, lanes, alpha, scale, log_z[one:other])
        if not with_counts:
            continue
        chain.backward(local, emission, scale, transition_t, end, alpha, lanes, message, beta)
        weight = weights[one:other]
        chain.add_transition_counts(local, alpha, emission, beta, weight, lanes, scratch, transitions)
        chain.marginals(local, alpha, beta, weight, lanes, emission)
        for s in range(other - one):
            for y in range(n):
                edges[0, y] += emission[local[s], y]
                edges[1, y] += emission[local[s + 1] - 1, y]
        sparse.add_dense_counts(starts, indices, values, emission, first, last, 1, lanes, counts[0])
        sparse.add_pair_counts(
            pair_starts, pairs, pair_values, pair_labels, emission, first, last, 1, counts[1]
        )
