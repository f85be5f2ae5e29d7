"""Sparse attribute weights against plain matrix products."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from structune.tagging.structure.shard import AttributeWeights, order_attributes


class Sparse:
    """Random pairs and rows, and the same as dense matrices made entry by entry."""

    def __init__(self, seed, n_labels, ordered=True, complex_=False, real=True):
        rng = np.random.default_rng(seed)
        self.n_attributes, self.n_labels = int(rng.integers(0, 8)), n_labels
        share = rng.choice([0.0, 0.1, 0.3, 1.0], size=(self.n_attributes, 1))
        keys = np.flatnonzero(rng.random((self.n_attributes, n_labels)) < share)
        if ordered:
            _, keys = order_attributes(keys, self.n_attributes, n_labels)
        self.pairs = AttributeWeights(keys, self.n_attributes, n_labels)
        self.w = rng.normal(size=keys.size + 3) + (1j * rng.normal(size=keys.size + 3) if complex_ else 0)
        self.matrix = np.zeros((self.n_attributes, n_labels), self.w.dtype)
        self.matrix.reshape(-1)[keys] = self.w[: keys.size]
        self.keys, self.rng = keys, rng
        self.draw_rows(real)

    def draw_rows(self, real):
        rng, n_rows = self.rng, self.rng.integers(1, 6)
        sizes = rng.integers(0, 5, size=n_rows)
        self.indptr = np.concatenate(([0], np.cumsum(sizes)))
        self.columns = rng.integers(-1, self.n_attributes, size=self.indptr[-1])
        values = rng.normal(size=self.columns.size) if real else np.ones(self.columns.size)
        self.values = values if real else None
        self.rows = self.pairs.layout(self.indptr, self.columns, self.values)
        self.X, self.squares = np.zeros((2, n_rows, self.n_attributes))
        for t in range(n_rows):
            for e in range(self.indptr[t], self.indptr[t + 1]):
                if self.columns[e] >= 0:
                    self.X[t, self.columns[e]] += values[e]
                    self.squares[t, self.columns[e]] += values[e] ** 2

    def scores(self, rows, first=0):
        return self.pairs.scores(self.pairs.open(self.w), rows, first, len(rows))

    def counts(self, rows, label_rows, power=1):
        """What is added to weights that are not 0 at the start."""
        start = self.rng.normal(size=self.w.size).astype(label_rows.dtype)
        out = start.copy()
        counts = self.pairs.open_counts(out)
        self.pairs.add_counts(counts, rows, 0, label_rows, power)
        self.pairs.close_counts(counts)
        return out - start


sparse = st.builds(
    Sparse,
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.integers(1, 14),
    ordered=st.booleans(),
    complex_=st.booleans(),
    real=st.booleans(),
)


@settings(max_examples=60)
@given(sparse)
def test_scores_are_a_matrix_product(s):
    expected = s.X @ s.matrix
    assert_allclose(s.scores(s.rows), expected, rtol=1e-12, atol=1e-12)
    first = int(s.rng.integers(0, expected.shape[0] + 1))
    assert_allclose(s.scores(s.rows, first), expected[first:], rtol=1e-12, atol=1e-12)


@settings(max_examples=60)
@given(sparse, st.sampled_from([1, 2]))
def test_counts_are_the_transposed_product(s, power):
    label_rows = s.rng.normal(size=(s.X.shape[0], s.n_labels)).astype(s.w.dtype)
    X = s.X if power == 1 else s.squares
    expected = (X.T @ label_rows).reshape(-1)[s.keys]
    found = s.counts(s.rows, label_rows, power=power)
    assert_allclose(found[: s.keys.size], expected, rtol=1e-10, atol=1e-12)
    assert not found[s.keys.size :].any()  # the structure's other weights


@settings(max_examples=60)
@given(sparse)
def test_rows_that_are_only_read_give_the_same_bits(s):
    n = s.indptr[1]  # few, beside the attributes with many labels
    few_rows = s.indptr[:2], s.columns[:n], None if s.values is None else s.values[:n]
    layouts = [s.pairs.layout(*few_rows, only_read) for only_read in (False, True)]
    whole, few = (s.pairs.scores(s.pairs.open(s.w, rows), rows, 0, 1) for rows in layouts)
    if np.iscomplexobj(s.w):  # the compiler may add these in another order
        assert_allclose(few, whole, rtol=1e-14, atol=1e-14)
    else:
        assert_array_equal(few, whole)
        assert_array_equal(s.pairs.few_scores(s.w, *few_rows), whole)


def test_few_rows_make_no_dense_rows_of_all_weights():
    keys = np.flatnonzero(np.arange(12) % 4)  # three attributes, with weights for three of four labels each
    pairs = AttributeWeights(keys, 3, 4)
    rows = pairs.layout(np.array([0, 2]), np.array([2, 0], np.int32), None, only_read=True)
    opened = pairs.open(np.arange(9.0), rows)
    assert opened.dense.size == 0
    assert pairs.scores(opened, rows, 0, 1).tolist() == [[0.0, 6.0, 8.0, 10.0]]


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(1, 9))
def test_attributes_are_ordered_by_labels(seed, n_labels):
    s = Sparse(seed, n_labels, ordered=False)
    order, keys = order_attributes(s.keys, s.n_attributes, n_labels)
    assert sorted(order) == list(range(s.n_attributes))
    numbers = np.bincount(keys // n_labels, minlength=s.n_attributes)
    assert (np.diff(numbers) <= 0).all()
    assert (np.diff(keys) > 0).all()
    renamed = {(int(order[key // n_labels]), int(key % n_labels)) for key in keys}
    assert renamed == {(int(key // n_labels), int(key % n_labels)) for key in s.keys}
