"""Labels in BIO and BIOES as segments, as seqeval reads them, and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from structune.errors import DataError
from structune.tagging.structure.labels import read_segments, write_labels

LABELS = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("x", "y-z"))]


def read(*sequences):
    return read_segments(sequences, np.array([len(labels) for labels in sequences]))


def listed(found):
    return list(zip(found.types, found.starts.tolist(), found.stops.tolist(), strict=True))


@given(sequences=st.lists(st.lists(st.sampled_from(LABELS), max_size=6), min_size=1, max_size=3))
def test_segments_are_those_of_seqeval(sequences):
    found, shift = read(*sequences), 0
    expected = []
    for labels in sequences:
        expected += [(kind, shift + a, shift + b + 1) for kind, a, b in get_entities(labels)]
        shift += len(labels)
    assert [one for one in listed(found) if one[0] != "O"] == expected
    assert np.array_equal(np.append(found.starts, shift)[1:], found.stops)  # all tokens are in one
    assert found.starts.size == 0 or found.starts[0] == 0


@given(
    segments=st.lists(st.tuples(st.sampled_from(["O", "x", "", "y"]), st.integers(1, 3)), max_size=5),
    scheme=st.sampled_from(["bio", "bioes"]),
)
def test_labels_come_back(segments, scheme):
    segments = [(kind, 1 if kind == "O" else n) for kind, n in segments]
    types, lengths = [kind for kind, _ in segments], [n for _, n in segments]
    labels = write_labels(types, lengths, scheme)
    found = read(labels)
    assert (found.types, (found.stops - found.starts).tolist()) == (types, lengths)
    assert found.scheme == (scheme if set(types) - {"O"} else "bio")


def test_places_are_told_by_sequence():
    found = read(["O", "O"], [], ["O", "B-x", "I-x"])
    assert [found.place(j) for j in range(len(found.types))] == [(0, 0, 1), (0, 1, 2), (2, 0, 1), (2, 1, 3)]


@pytest.mark.parametrize("label", ["x", "", "B-", "BX", None, {"B-x", "O"}, 3, "B-O", "o"])
def test_labels_of_no_scheme(label):
    with pytest.raises(DataError, match="sequence 1, token 1: found the label"):
        read(["O"], ["B-x", label])
