"""Attributes of whole segments: words, shapes, entries of gazetteers, and those of a user's function.

================================  ===================================================================
``segment.text=New York``         the words, of segments that occur in training
``segment.shape=Xx Xx``           the shapes of the words (see `Shape`), of segments that occur in training
``segment.gazetteer=city``        the words are an entry of a gazetteer, with the same case
``segment...``                    whatever the user's function returns
================================  ===================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.structure import IntArray, offsets_of
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.features.templates import Shape

SegmentFunction = Callable[[list[str], int, int], Iterable[str]]
TEXT, SHAPE, GAZETTEER, LAST = "segment.text=", "segment.shape=", "segment.gazetteer=", "segment.last="
LENGTH = "segment.length="
_OURS = (TEXT, SHAPE, GAZETTEER, LAST, LENGTH)
_WORD_TEMPLATES = ("w[0]", "w", "word")


@dataclass(frozen=True)
class SegmentReader:
    """What makes attributes of segments."""

    words: str | None  # the template of attributes whose value is a token's word; None if tokens have none
    gazetteers: Mapping[str, frozenset[str]]  # entries by name, the words of each joined by a blank
    # strings for words of a sequence, and start and stop of a segment
    function: SegmentFunction | None = None

    def __post_init__(self) -> None:
        if self.function is not None and not callable(self.function):
            raise DataError(f"segment_features={self.function!r:.60}: expected a function")

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        words: str | None = None,
        gazetteers: Mapping[str, Collection[str]] | None = None,
        function: SegmentFunction | None = None,
    ) -> SegmentReader:
        """The reader for tables with columns of these names, some of which need to be words."""
        entries = check_gazetteers({} if gazetteers is None else gazetteers)
        templates = _WORD_TEMPLATES if words is None else (words,)
        found = next((t for t in templates if any(name.startswith(f"{t}=") for name in names)), None)
        if found is None and (words is not None or entries or function is not None):
            wanted = " or ".join(f"{template}=" for template in templates)
            raise DataError(
                f"words={words!r}: no attribute begins with {wanted}, so tokens have no words. Set words to "
                "the template that contains each token's word, such as 'w[0]'"
            )
        return cls(found, entries, function)

    def tokens(self, table: AttributeTable) -> Tokens:
        """The words of all tokens; empty where a token has none."""
        words = [""] * table.n_tokens
        if self.words is not None:
            n = len(self.words) + 1
            values = {a: name[n:] for a, name in enumerate(table.names) if name.startswith(f"{self.words}=")}
            is_word = np.zeros(len(table.names), dtype=bool)
            is_word[list(values)] = True
            entries = np.flatnonzero(is_word[table.indices])
            # An entry belongs to the last row that begins at or before it.
            rows = np.searchsorted(table.indptr, entries, side="right") - 1
            for row, column in zip(rows.tolist(), table.indices[entries].tolist(), strict=True):
                words[row] = values[column]
        return Tokens(words, offsets_of(table.lengths), self.words is not None)

    def attributes(self, tokens: Tokens, starts: IntArray, stops: IntArray) -> Iterator[list[str]]:
        """All attributes of the given segments, one after the other."""
        of_sequence = np.searchsorted(tokens.offsets, starts, side="right") - 1
        firsts, ends = tokens.offsets[of_sequence], tokens.offsets[of_sequence + 1]
        for start, stop, first, end in zip(*(a.tolist() for a in (starts, stops, firsts, ends)), strict=True):
            found = []
            if tokens.has_words:
                text = " ".join(tokens.words[start:stop])
                found += [TEXT + text, SHAPE + " ".join(tokens.shapes[start:stop])]
                found += [GAZETTEER + name for name, entries in self.gazetteers.items() if text in entries]
            if self.function is not None:
                found += self._own(tokens.words[first:end], start - first, stop - first)
            yield found

    def _own(self, words: list[str], start: int, stop: int) -> list[str]:
        """Names of what the user's function says of a segment."""
        assert self.function is not None
        found = self.function(words, start, stop)
        strings = list(found) if isinstance(found, Iterable) and not isinstance(found, str) else [None]
        if not all(isinstance(one, str) for one in strings):
            raise DataError(
                f"segment_features must return a list of str; it returned {found!r} for {words[start:stop]}"
            )
        names = [f"segment.{one}" for one in strings]
        if wrong := [name[8:] for name in names if name.startswith(_OURS)]:
            reserved = ", ".join(own[8:] for own in _OURS)
            raise DataError(
                f"segment_features returned {wrong[0]!r}, but names that begin with {reserved} are reserved"
            )
        return names

    def spans(self, tokens: Tokens, known: KnownAttributes, longest: int) -> Spans:
        """The segments of up to `longest` tokens that have known attributes, and these."""
        found = list[tuple[int, int, int]]()  # stop, length, column
        for first, end in pairwise(tokens.offsets.tolist()):
            sentence = tokens.words[first:end]
            for start in range(first, end):
                last = min(start + longest, end)
                for words, prefixes in ((tokens.words, known.texts), (tokens.shapes, known.shapes)):
                    # Words are joined one by one, and the search ends where no known text begins so: most
                    # starts end at once.
                    text, stop = words[start], start + 1
                    while (here := prefixes.get(text)) is not None:
                        found += ((stop, stop - start, column) for column in here)
                        if stop == last:
                            break
                        text, stop = f"{text} {words[stop]}", stop + 1
                for stop in range(start + 1, last + 1) if self.function is not None else ():
                    names = self._own(sentence, start - first, stop - first)
                    columns = (known.columns[name] for name in names if name in known.columns)
                    found += ((stop, stop - start, column) for column in columns)
        # By rising stop and length: a segment's key is (last token) * step + length.
        step, (stops, lengths, known_columns) = longest + 1, np.array(found, np.int64).reshape(-1, 3).T
        keys = (stops - 1) * step + lengths
        distinct, counts = np.unique(keys, return_counts=True)
        lasts = np.bincount(distinct // step, minlength=len(tokens.words))
        order = np.lexsort((known_columns, keys))
        return Spans(offsets_of(lasts), distinct % step, offsets_of(counts), known_columns[order])


@dataclass(frozen=True)
class Tokens:
    """Words of all tokens of a batch, and where sequences begin and end."""

    words: list[str]
    offsets: IntArray
    has_words: bool

    @cached_property
    def shapes(self) -> list[str]:
        shapes = {word: Shape("w").view(word) or "" for word in set(self.words)}
        return [shapes[word] for word in self.words]


class KnownAttributes:
    """The columns of each known text and shape, and no column for what longer ones begin with."""

    def __init__(self, names: Sequence[str], gazetteers: Mapping[str, frozenset[str]]) -> None:
        self.columns = {name: a for a, name in enumerate(names)}
        self.texts, self.shapes = dict[str, list[int]](), dict[str, list[int]]()
        for begin, known in ((TEXT, self.texts), (SHAPE, self.shapes)):
            for name, a in self.columns.items():
                if name.startswith(begin):
                    _enter(known, name[len(begin) :], a)
        for name, entries in gazetteers.items():
            column = self.columns.get(GAZETTEER + name)
            for entry in entries if column is not None else ():
                _enter(self.texts, entry, column)


@dataclass(frozen=True)
class Spans:
    """Segments with attributes, by rising stop and length, in CSR rows."""

    offsets: IntArray  # those that end with token t are offsets[t]:offsets[t + 1]
    lengths: IntArray  # (n_spans,)
    indptr: IntArray  # (n_spans + 1,)
    columns: IntArray


def forgotten(words: list[str], start: int, stop: int) -> Iterable[str]:
    """In place of a function that a model file does not hold."""
    raise DataError(
        "the model was fitted with segment_features, a function that its file does not contain. Set the same "
        "function with set_params(segment_features=...)"
    )


def _enter(prefixes: dict[str, list[int]], text: str, column: Any) -> None:
    """Let the text have the column, and all that it begins with be there."""
    at = text.find(" ")
    while at >= 0:
        prefixes.setdefault(text[:at], [])
        at = text.find(" ", at + 1)
    prefixes.setdefault(text, []).append(column)


def check_gazetteers(gazetteers: Any) -> dict[str, frozenset[str]]:
    if not isinstance(gazetteers, Mapping):
        raise DataError(f"gazetteers must be a dict of names to lists of entries, not {gazetteers!r:.60}")
    for name, entries in gazetteers.items():
        sound = isinstance(entries, Collection) and not isinstance(entries, str)
        if not isinstance(name, str) or not sound or not all(isinstance(entry, str) for entry in entries):
            raise DataError(f"gazetteers: the entries of {name!r} must be a list of str, not {entries!r:.60}")
    return {
        name: frozenset(" ".join(filter(None, entry.split(" "))) for entry in entries)
        for name, entries in gazetteers.items()
    }
