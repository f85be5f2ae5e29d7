"""Confidence of columns: its own definition, match by match."""

import numpy as np
import pytest
import scipy
from numpy.testing import assert_allclose

from structune.alignment.multiple.alignment import column_confidence, confidence, features
from structune.alignment.multiple.matches import Matches, symmetric
from structune.structure import offsets_of


def some(rng, lengths, compared):
    """A table of matches, half of them there."""
    offsets = offsets_of(np.array(lengths))
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    table = rng.random((sequence.size, sequence.size)) * (rng.random((sequence.size, sequence.size)) < 0.5)
    table *= np.triu(compared[sequence][:, sequence])
    return Matches(offsets, symmetric(scipy.sparse.csr_array(table.astype(np.float32))), compared)


@pytest.mark.parametrize("seed", range(5))
def test_columns_have_the_mean_of_their_matches(seed):
    rng, lengths = np.random.default_rng(seed), [3, 4, 0, 2]
    compared = ~np.eye(4, dtype=bool)
    compared[0, 3] = compared[3, 0] = False
    matches = some(rng, lengths, compared)
    lost = rng.random(matches.table.shape) < 0.2  # some have lost all of their probability
    fewer = scipy.sparse.csr_array(np.where(lost | lost.T, 0.0, 0.8 * matches.table.toarray()))
    values = Matches(matches.offsets, fewer, compared)
    column = np.concatenate([np.sort(rng.choice(6, n, replace=False)) for n in lengths]).astype(np.int32)
    found = column_confidence(matches, values, column, 6)
    p, v = (m.table.toarray() for m in (matches, values))
    for k in range(6):
        inside = np.flatnonzero(column == k)
        each = [
            confidence(features(p[i, j : j + 1], v[i, j : j + 1], 4))
            for i in inside
            for j in inside
            if i < j and compared[matches.sequence[i], matches.sequence[j]]
        ]
        assert_allclose(found[k], np.mean(each) if each else np.nan, rtol=1e-6)


def test_third_sequences_that_agree_make_sure():
    p, v = np.array([0.5, 0.5, 0.5, 0.9, 0.0, 1.0]), np.array([0.5, 0.7, 0.3, 0.9, 0.0, 1.0])
    two, many = (confidence(features(p, v, n)) for n in (2, 50))
    assert np.all(two < many)
    assert many[2] < many[0] < many[1] < many[3]
    assert np.all((many > 0.0) & (many < 1.0))
    assert_allclose(two[[0, 3]], p[[0, 3]], atol=0.1)  # as the model of two says


def test_no_sequences():
    none = some(np.random.default_rng(0), [], np.zeros((0, 0), bool))
    assert column_confidence(none, none, np.empty(0, np.int32), 0).size == 0
