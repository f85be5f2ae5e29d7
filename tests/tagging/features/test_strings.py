"""Strings in one buffer are the strings that were put in, and numbers of strings are those of a dict."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from structune.tagging.features.strings import Names, Strings

some = st.lists(st.text(max_size=5) | st.sampled_from(["", "a\0b", "\ud800", "été"]), max_size=6)


def decoded(strings):
    """From the bytes alone."""
    whole = bytes(strings.buffer)
    bounds = zip(strings.starts.tolist(), strings.ends.tolist(), strict=True)
    return [whole[a:b].decode(errors="surrogatepass") for a, b in bounds]


@given(some, st.data())
def test_strings_come_back(texts, data):
    strings = Strings.of(texts)
    assert decoded(strings) == list(strings) == strings == texts
    assert len(strings) == len(texts)
    place = st.integers(0, len(texts) - 1) if texts else st.nothing()
    chosen = data.draw(st.lists(place, max_size=4 if texts else 0))
    taken = strings.take(np.array(chosen, dtype=np.int64))
    assert decoded(taken) == list(taken) == [texts[i] for i in chosen]
    assert Strings.of(strings) is strings


# some alike, some longer than a word, and what UTF-8 has no code for
texts = st.text("ab\0", max_size=3) | st.text("ab", min_size=7, max_size=18) | st.text(max_size=4)
batches = st.lists(st.lists(texts | st.sampled_from(["\ud800", "é", "naïve\0"]), max_size=12), max_size=6)


@settings(max_examples=200)
@given(batches, st.lists(texts, max_size=8))
def test_names_are_numbered_as_they_are_met(batches, others):
    names, expected = Names(), {}
    for batch in batches:
        found = names.enter(Strings.of(batch)).tolist()
        assert found == [expected.setdefault(name, len(expected)) for name in batch]
    assert names.strings == list(expected)
    assert names.find(Strings.of(others)).tolist() == [expected.get(name, -1) for name in others]
    again = Names.of(list(expected))
    assert again.find(Strings.of(others)).tolist() == [expected.get(name, -1) for name in others]


def test_the_table_grows():
    batches = np.random.default_rng(0).integers(0, 40_000, size=(10, 3000))
    names, expected = Names(), {}
    for numbers in batches.tolist():
        batch = [f"w[{number % 7}]={number}" for number in numbers]
        found = names.enter(Strings.of(batch)).tolist()
        assert found == [expected.setdefault(name, len(expected)) for name in batch]
    assert names.strings == list(expected)
    assert Names.of(names.strings).find(Strings.of(names.strings)).tolist() == list(range(len(names)))
