"""Which weights a gene model has, and how lengths of introns are binned."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.errors import DataError
from structune.genes.eukaryotes.structure.weights import WINDOWS, gene_weights, intron_lengths, length_bins


@pytest.mark.parametrize("strands", ["both", "forward"])
@pytest.mark.parametrize("features", ["full", "paper"])
def test_names_and_groups(features, strands):
    weights = gene_weights(features, strands, introns=(30, 90), n_tracks=1)
    names, groups = weights.names(), weights.groups()
    assert len(names) == len(set(names)) == len(weights) == sum(groups.sizes)
    words = {
        f"{family} {k}-mer"
        for family in ("NC", "C", "I")
        for k in ((1, 6) if features == "paper" else (1, 3, 6))
    }
    signals = set() if features == "paper" else {*WINDOWS, "lengths"}
    assert set(groups.names) == words | signals | {"edges", "tracks"}
    n_introns = 3 if features == "paper" else 1  # by phase, or all alike
    assert groups.sizes[groups.names.index("I 6-mer")] == n_introns * 4**6
    assert {"edges: gene", "edges: intron after 0", "edges: intron after 2"} < set(names)


def test_strands_share_their_weights():
    assert gene_weights(strands="both").names() == gene_weights(strands="forward").names()


@given(st.integers(4, 1000), st.integers(0, 1000))
def test_bins_of_lengths(shortest, more):
    longest = shortest + more
    bins = length_bins(shortest, longest)
    assert bins[0] == shortest
    assert bins[-1] <= longest
    assert all(a < b for a, b in pairwise(bins))
    of_lengths = gene_weights(introns=(shortest, longest)).bins
    assert of_lengths.size == longest - shortest + 2
    assert set(of_lengths.tolist()) == set(range(len(bins) + 1))
    assert np.all(np.diff(of_lengths) >= 0)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], (4, 4)),
        ([2], (4, 4)),
        ([50], (45, 100)),
        ([50, 60, 70, 80, 5000], (45, 148)),
        ([900], (810, 810)),
    ],
)
def test_lengths_from_training_genes(lengths, expected):
    assert intron_lengths(lengths) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "all"}, "features='all': expected one of"),
        ({"strands": "-"}, "strands='-': expected one of"),
        ({"donors": ["AT"]}, "expected some of 'GT', 'GC'"),
        ({"introns": (3, 9)}, r"introns=\(3, 9\): expected the shortest, 4 or more, and the longest"),
        ({"introns": (9, 8)}, r"introns=\(9, 8\)"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(DataError, match=message):
        gene_weights(**options)
