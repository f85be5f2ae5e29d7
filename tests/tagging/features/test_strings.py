"""Strings in one buffer are the strings that were put in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.tagging.features.strings import Strings

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


@given(some, st.data())
def test_pairs(keys, data):
    texts = [data.draw(st.text(max_size=3) | st.none()) for _ in keys]
    has_text = np.array([text is not None for text in texts], dtype=bool)
    pairs = Strings.of_pairs(keys, [text or "" for text in texts], has_text)
    expected = [key if text is None else f"{key}={text}" for key, text in zip(keys, texts, strict=True)]
    assert decoded(pairs) == list(pairs) == expected


@given(some, some, st.data())
def test_joined_and_chained(left, right, data):
    pairs = []
    if left and right:
        pair = st.tuples(*(st.integers(0, len(side) - 1) for side in (left, right)))
        pairs = data.draw(st.lists(pair, max_size=5))
    a, b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T.copy()
    joined = Strings.joined(Strings.of(left), a, "|", Strings.of(right), b)
    assert decoded(joined) == [f"{left[i]}|{right[j]}" for i, j in pairs]
    assert decoded(Strings.chained([Strings.of(left), joined])) == left + list(joined)
    assert Strings.chained([]) == []


def test_only_strings():
    with pytest.raises(TypeError):
        Strings.of(["a", 3])
