"""Attributes of whole segments: which there are, and what is refused."""

import numpy as np
import pytest

from structune.errors import DataError
from structune.tagging import AttributeTable
from structune.tagging.features.segments import SegmentReader


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


@pytest.mark.parametrize(("names", "words"), [(["w[0]=a", "w=b"], "w[0]"), (["w=b"], "w"), (["x"], None)])
def test_templates_of_words(names, words):
    assert SegmentReader.of(names).words == words


def test_a_template_of_words_can_be_named():
    inputs = AttributeTable.from_items([[["form=a=b", "w=c"], ["w=d"]]])
    reader = SegmentReader.of(inputs.names, "form")
    assert reader.tokens(inputs).words == ["a=b", ""]


def test_what_is_refused():
    with pytest.raises(DataError, match="words='form': no attribute begins with form="):
        SegmentReader.of(["w=a"], "form")
    with pytest.raises(DataError, match=r"words=None: no attribute begins with w\[0\]= or w= or"):
        SegmentReader.of(["x=0"], gazetteers={"a": ["b"]})
    for wrong in ("city", {"a": "b"}, {"a": [3]}, {3: ["b"]}):
        with pytest.raises(DataError, match=r"gazetteers.* must be a (dict|list)"):
            SegmentReader.of(["w=a"], gazetteers=wrong)
    inputs = table(["a"])
    for wrong in ("text", [3], None):
        reader = SegmentReader.of(inputs.names, function=lambda *_, wrong=wrong: wrong)
        with pytest.raises(DataError, match=r"segment_features must return .*; it returned .* for .'a'."):
            list(reader.attributes(reader.tokens(inputs), np.array([0]), np.array([1])))
    reader = SegmentReader.of(inputs.names, function=lambda *_: ["text=a"])
    with pytest.raises(DataError, match=r"segment_features returned 'text=a', but .* are reserved"):
        list(reader.attributes(reader.tokens(inputs), np.array([0]), np.array([1])))
