"""Scores and counts of sparse attributes: every attribute has weights for some of the labels.

Attributes with weights for many labels have a full row each in ``dense``; an entry of ``indices`` is such a
row. Entries of ``pairs`` are the places in the weight vector of single attribute-label pairs. Both lie in CSR
rows, those of row t at ``starts[t]:starts[t + 1]``; ``values`` of size 0 stands for ones.
"""

from structune.kernels.jit import kernel
from structune.kernels.vectors import cells, fresh, load, splat, store, width


@kernel
def count_entries(indptr, columns, n_dense, as_pairs, pair_offsets, dense_starts, pair_starts):
    """Starts of the rows that `lay_out` fills; entries with a negative column are dropped."""
    dense_starts[0] = pair_starts[0] = 0
    for t in range(indptr.size - 1):
        dense, pairs = dense_starts[t], pair_starts[t]
        for e in range(indptr[t], indptr[t + 1]):
            # A dense attribute is one entry, another is one entry for each label that it has a weight for.
            a = columns[e]
            if 0 <= a < n_dense and not as_pairs:
                dense += 1
            elif a >= 0:
                pairs += pair_offsets[a + 1] - pair_offsets[a]
        dense_starts[t + 1], pair_starts[t + 1] = dense, pairs


@kernel
def lay_out(
    indptr, columns, values, n_dense, as_pairs, pair_offsets, indices, dense_values, pairs, pair_values
):
    """Split CSR rows of attributes into dense rows and pairs.

    With `as_pairs` the pairs of dense rows come first: `add_pair_scores` then adds in the order in which
    `dense_scores` and `add_pair_scores` do, to the same bits.
    """
    d = p = 0
    for t in range(indptr.size - 1):
        # With `as_pairs`, dense attributes first, then the others: two turns over the same entries.
        for turn in range(2 if as_pairs else 1):
            for e in range(indptr[t], indptr[t + 1]):
                a = columns[e]
                if 0 <= a < n_dense and not as_pairs:
                    indices[d] = a
                    if values.size:
                        dense_values[d] = values[e]
                    d += 1
                elif a >= 0 and (not as_pairs or (a < n_dense) == (turn == 0)):
                    for pair in range(pair_offsets[a], pair_offsets[a + 1]):
                        pairs[p] = pair
                        if values.size:
                            pair_values[p] = values[e]
                        p += 1


@kernel
def dense_scores(starts, indices, values, dense, first, last, lanes, out):
    """out[t] = sum over the entries of row first + t of value * dense row, for the rows first:last."""
    n = out.shape[1]
    c_dense, c_out, zero = cells(dense), cells(out), dense.dtype.type(0.0)
    for t in range(last - first):
        for step in range(0, n, width(lanes)):
            # The last run of a row is moved back to end with it: it writes some cells twice, with the same
            # values.
            k = min(step, n - width(lanes))
            row = splat(zero, lanes)
            for e in range(starts[first + t], starts[first + t + 1]):
                run = load(c_dense, indices[e] * n + k, lanes)
                row = row + (run * splat(values[e] + zero, lanes) if values.size else run)
            store(c_out, t * n + k, row)


@kernel
def add_dense_counts(starts, indices, values, rows, first, last, power, lanes, dense):
    """Dense rows of the entries of row first + t += value ** power * rows[t]: `dense_scores` transposed."""
    n = rows.shape[1]
    c_dense, c_rows, zero = cells(dense), cells(rows), dense.dtype.type(0.0)
    for t in range(last - first):
        for step in range(0, n, width(lanes)):
            k = min(step, n - width(lanes))
            # Counts are added to, so cells that the run before has are set to 0 here.
            row = fresh(load(c_rows, t * n + k, lanes), n - step)
            for e in range(starts[first + t], starts[first + t + 1]):
                at = indices[e] * n + k
                part = row * splat(values[e] ** power + zero, lanes) if values.size else row
                store(c_dense, at, load(c_dense, at, lanes) + part)


@kernel
def add_pair_scores(starts, pairs, values, pair_labels, w, first, last, out):
    """out[t, label of pair] += value * w[pair] for the pairs of row first + t."""
    n = out.shape[1]
    labels, c_w, c_out = cells(pair_labels), cells(w), cells(out)
    for t in range(last - first):
        for e in range(starts[first + t], starts[first + t + 1]):
            value = values[e] if values.size else 1.0
            at = t * n + labels[pairs[e]]
            c_out[at] = c_out[at] + value * c_w[pairs[e]]


@kernel
def add_few_scores(indptr, columns, values, n_dense, pair_offsets, pair_labels, w, out):
    """`dense_scores` and `add_pair_scores` of rows that are not laid out, to the same bits."""
    n = out.shape[1]
    labels, c_w, c_out = cells(pair_labels), cells(w), cells(out)
    for t in range(indptr.size - 1):
        # Dense attributes first, then the others: the order in which sums are taken elsewhere.
        for turn in range(2):
            for e in range(indptr[t], indptr[t + 1]):
                a = columns[e]
                if a >= 0 and (a < n_dense) == (turn == 0):
                    value = values[e] if values.size else 1.0
                    for pair in range(pair_offsets[a], pair_offsets[a + 1]):
                        at = t * n + labels[pair]
                        c_out[at] = c_out[at] + value * c_w[pair]


@kernel
def add_pair_counts(starts, pairs, values, pair_labels, rows, first, last, power, w):
    """w[pair] += value ** power * rows[t, label of pair]: `add_pair_scores` transposed."""
    n = rows.shape[1]
    labels, c_w, c_rows = cells(pair_labels), cells(w), cells(rows)
    for t in range(last - first):
        for e in range(starts[first + t], starts[first + t + 1]):
            value = values[e] ** power if values.size else 1.0
            c_w[pairs[e]] = c_w[pairs[e]] + value * c_rows[t * n + labels[pairs[e]]]
