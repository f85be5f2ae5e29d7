"""Which weights a gene model has, and how lengths are binned."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.errors import DataError
from structune.genes.eukaryotes.structure.weights import (
    WINDOWS,
    ExonWeights,
    GeneRules,
    intron_lengths,
    length_bins,
)


@pytest.mark.parametrize("strands", ["both", "forward"])
@pytest.mark.parametrize("features", ["full", "paper"])
def test_names(features, strands):
    weights = ExonWeights.of(features, GeneRules(strands, introns=(30, 90)), n_tracks=1)
    names = weights.names()
    assert len(names) == len(set(names)) == len(weights)
    lengths = (1, 6) if features == "paper" else (1, 3, 6)
    expected = {f"{family} {k}-mer" for family in ("NC", "C", "I") for k in lengths} | {"edges", "tracks"}
    if features == "full":
        expected |= {*WINDOWS, "start flank", "stop flank", "intron lengths", "exon lengths"}
    families = [name.partition(":")[0] for name in names]
    assert set(families) == expected
    n_introns = 3 if features == "paper" else 1  # by phase, or all alike
    assert families.count("I 6-mer") == n_introns * 4**6
    assert {"edges: gene", "edges: intron after 0", "edges: split stop"} < set(names)


@given(st.integers(4, 1000), st.integers(0, 1000))
def test_bins_of_lengths(shortest, more):
    longest = shortest + more
    bins = length_bins(shortest, longest)
    assert bins[0] == shortest
    assert bins[-1] <= longest
    assert all(a < b for a, b in pairwise(bins))


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], (4, 4)),
        ([2], (4, 4)),
        ([50], (45, 100)),
        ([50, 60, 70, 80, 5000], (45, 148)),
        ([12_000], (10_000, 10_000)),  # the longest that files may have
    ],
)
def test_lengths_of_introns(lengths, expected):
    assert intron_lengths(lengths) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strands": "+"}, "strands='\\+': expected one of"),
        ({"donors": ("AT",)}, "donors=.*expected some of 'GT', 'GC'"),
        ({"donors": ()}, "donors=.*expected some of"),
        ({"introns": (3, 9)}, "expected the shortest, 4 or more"),
        ({"introns": (9, 8)}, "expected the shortest, 4 or more"),
    ],
)
def test_wrong_rules(options, message):
    with pytest.raises(DataError, match=message):
        GeneRules(**options)
