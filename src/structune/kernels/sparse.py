"""Scores and counts of sparse attributes: every attribute has weights for some of the labels.

The first attributes have a full row each in ``dense``, one entry a label, so that the inner loop is a vector
operation; attribute a of the others has ``w[pair_offsets[a]:pair_offsets[a + 1]]``, for the labels that
``pair_labels`` holds at the same places. The entries of row t are ``starts[t]:starts[t + 1]``, those with
dense attributes first, up to ``middles[t]``. ``values`` of size 0 stands for ones throughout.
"""

from structune.kernels._jit import kernel


@kernel
def lay_out(indptr, columns, values, n_dense, starts, middles, indices, out_values):
    """CSR rows with the dense attributes of each row first; entries with a negative column are dropped."""
    filled = 0
    starts[0] = 0
    for t in range(middles.size):
        for e in range(indptr[t], indptr[t + 1]):
            if 0 <= columns[e] < n_dense:
                indices[filled] = columns[e]
                if values.size:
                    out_values[filled] = values[e]
                filled += 1
        middles[t] = filled
        for e in range(indptr[t], indptr[t + 1]):
            if columns[e] >= n_dense:
                indices[filled] = columns[e]
                if values.size:
                    out_values[filled] = values[e]
                filled += 1
        starts[t + 1] = filled


@kernel
def scores(starts, middles, indices, values, dense, pair_offsets, pair_labels, w, first, out):
    """out[t] = sum over the attributes a of row first + t of value * w[a, :]."""
    n_labels = out.shape[1]
    for t in range(out.shape[0]):
        row = out[t]
        row[:] = 0.0
        for e in range(starts[first + t], middles[first + t]):
            value = values[e] if values.size else 1.0
            weights = dense[indices[e]]
            for k in range(n_labels):
                row[k] += value * weights[k]
        for e in range(middles[first + t], starts[first + t + 1]):
            value = values[e] if values.size else 1.0
            a = indices[e]
            for k in range(pair_offsets[a], pair_offsets[a + 1]):
                row[pair_labels[k]] += value * w[k]


@kernel
def add_counts(starts, middles, indices, values, dense, pair_offsets, pair_labels, w, first, power, rows):
    """w[a, :] += value ** power * rows[t] for the attributes a of row first + t: `scores` transposed."""
    n_labels = rows.shape[1]
    for t in range(rows.shape[0]):
        row = rows[t]
        for e in range(starts[first + t], middles[first + t]):
            value = values[e] ** power if values.size else 1.0
            counts = dense[indices[e]]
            for k in range(n_labels):
                counts[k] += value * row[k]
        for e in range(middles[first + t], starts[first + t + 1]):
            value = values[e] ** power if values.size else 1.0
            a = indices[e]
            for k in range(pair_offsets[a], pair_offsets[a + 1]):
                w[k] += value * row[pair_labels[k]]
