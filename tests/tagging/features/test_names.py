"""Numbers of strings, as a dict would give them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from structune.tagging.features.strings import Names, Strings

# some alike, some longer than a word, and what UTF-8 has no code for
texts = st.text("ab\0", max_size=3) | st.text("ab", min_size=7, max_size=18) | st.text(max_size=4)
batches = st.lists(st.lists(texts | st.sampled_from(["\ud800", "é", "naïve\0"]), max_size=12), max_size=6)


@settings(max_examples=200)
@given(batches, st.lists(texts, max_size=8))
def test_names_are_numbered_as_they_are_met(batches, others):
    names, expected = Names(), {}
    for batch in batches:
        found = names.enter(Strings.of(batch), batch.__getitem__).tolist()
        assert found == [expected.setdefault(name, len(expected)) for name in batch]
    assert names.strings == list(expected)
    assert names.find(Strings.of(others)).tolist() == [expected.get(name, -1) for name in others]
    again = Names.of(list(expected))
    assert again.find(Strings.of(others)).tolist() == [expected.get(name, -1) for name in others]


def test_the_table_grows():
    batches = np.random.default_rng(0).integers(0, 40_000, size=(30, 3000))
    names, expected = Names(), {}
    for numbers in batches.tolist():
        batch = [f"w[{number % 7}]={number}" for number in numbers]
        found = names.enter(Strings.of(batch), batch.__getitem__).tolist()
        assert found == [expected.setdefault(name, len(expected)) for name in batch]
    assert names.strings == list(expected)
    assert Names.of(names.strings).find(Strings.of(names.strings)).tolist() == list(range(len(names)))


def test_names_of_a_list_keep_it():
    strings = ["b", "a"]
    assert Names.of(strings).strings is strings
