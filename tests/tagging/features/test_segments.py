"""Attributes of whole segments: which there are, and that all that are known are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.errors import DataError
from structune.tagging import AttributeTable
from structune.tagging.features.segments import KnownAttributes, SegmentReader

WORDS = ["a", "New", "York", "7", ""]


def table(*sentences):
    return AttributeTable.from_items(
        [[[f"w={word}"] if word else ["x"] for word in words] for words in sentences]
    )


def test_attributes_of_segments():
    inputs = table(["in", "New", "York", "7"])
    reader = SegmentReader.of(
        inputs.names, None, {"city": ["New  York"], "b": []}, lambda words, a, b: [f"n={len(words)}{a}{b}"]
    )
    found = list(reader.attributes(reader.tokens(inputs), np.array([1, 0]), np.array([3, 1])))
    shared = ["segment.text=New York", "segment.shape=Xx Xx", "segment.gazetteer=city", "segment.n=413"]
    assert found == [shared, ["segment.text=in", "segment.shape=x", "segment.n=401"]]


def own(words, start, stop):
    return ["odd"] if (stop - start) % 2 else []


@given(
    sentences=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), min_size=1, max_size=3),
    known=st.sets(st.integers(0, 50)),
    longest=st.integers(1, 4),
)
def test_spans_are_all_segments_with_known_attributes(sentences, known, longest):
    inputs = table(*sentences)
    reader = SegmentReader("w", {"city": frozenset(["New York", "7"])}, own)
    tokens = reader.tokens(inputs)
    assert tokens.words == [word for words in sentences for word in words]
    every = [
        (start, stop)
        for a, b in zip(tokens.offsets[:-1].tolist(), tokens.offsets[1:].tolist(), strict=True)
        for stop in range(a + 1, b + 1)
        for start in range(max(a, stop - longest), stop)
    ]
    starts, stops = (np.array(column) for column in zip(*every, strict=True))
    attributes = list(reader.attributes(tokens, starts, stops))
    distinct = sorted({name for names in attributes for name in names})
    names = [name for k, name in enumerate(distinct) if k in known]
    spans = reader.spans(tokens, KnownAttributes(names, reader.gazetteers), longest)
    expected = {
        one: sorted(names.index(name) for name in of if name in names)
        for one, of in zip(every, attributes, strict=True)
        if set(of) & set(names)
    }
    found, columns = {}, np.split(spans.columns, spans.indptr[1:-1])
    for t in range(len(tokens.words)):
        here = range(spans.offsets[t], spans.offsets[t + 1])
        assert np.all(np.diff(spans.lengths[list(here)]) > 0)
        found |= {(t + 1 - int(spans.lengths[e]), t + 1): columns[e].tolist() for e in here}
    assert found == expected


@pytest.mark.parametrize(("names", "words"), [(["w[0]=a", "w=b"], "w[0]"), (["w=b"], "w"), (["x"], None)])
def test_templates_of_words(names, words):
    assert SegmentReader.of(names).words == words


def test_a_template_of_words_can_be_named():
    inputs = AttributeTable.from_items([[["form=a=b", "w=c"], ["w=d"]]])
    reader = SegmentReader.of(inputs.names, "form")
    assert reader.tokens(inputs).words == ["a=b", ""]


def test_what_is_refused():
    with pytest.raises(DataError, match="words='form': found no attribute that begins with form="):
        SegmentReader.of(["w=a"], "form")
    with pytest.raises(DataError, match=r"words=None: found no attribute that begins with w\[0\]= or w= or"):
        SegmentReader.of(["x=0"], gazetteers={"a": ["b"]})
    for wrong in ("city", {"a": "b"}, {"a": [3]}, {3: ["b"]}):
        with pytest.raises(DataError, match=r"gazetteers: found .*, expected"):
            SegmentReader.of(["w=a"], gazetteers=wrong)
    inputs = table(["a"])
    for wrong in ("text", [3], None):
        reader = SegmentReader.of(inputs.names, function=lambda *_, wrong=wrong: wrong)
        with pytest.raises(DataError, match=r"segment_features: found .* for .'a'., expected a list of str"):
            list(reader.attributes(reader.tokens(inputs), np.array([0]), np.array([1])))
    reader = SegmentReader.of(inputs.names, function=lambda *_: ["text=a"])
    with pytest.raises(DataError, match="segment_features: found 'text=a', expected none of"):
        list(reader.attributes(reader.tokens(inputs), np.array([0]), np.array([1])))
