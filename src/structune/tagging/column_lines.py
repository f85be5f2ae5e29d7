"""Lines of column files, read as the strings of their columns, some sentences at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.text import Source, line_blocks, source_name
from structune.structure import IntArray
from structune.tagging.features.names import Names, Numbers
from structune.tagging.features.strings import BEYOND, Strings
from structune.tagging.kernels.fields import AT, FOUND, LENGTH, LINE, SENTENCES, TOKENS, split

_PIECE = 1 << 18  # bytes that are split at a time
_MOST_COLUMNS = 10_000  # where all are read: each takes time and memory, however few tokens it has


class ColumnLines:
    """Reads the lines of a column file, once.

    Parameters
    ----------
    source : path or file object
    columns : sequence of str, optional
        Names of the first columns; with None all are read as ``c0``, ``c1``, ...
    separator, comment : str, optional
        What separates columns, if not white space; what lines to be skipped begin with.
    """

    def __init__(
        self, source: Source, columns: Sequence[str] | None, separator: str | None, comment: str | None
    ) -> None:
        self._source, self._name = source, source_name(source)
        self._columns = [] if columns is None else _names(columns)  # those of all are not known yet
        self._reads_all = columns is None
        self._separator, self._comment = _bytes(separator), _bytes(comment)
        self._state = np.zeros(6, np.int64)
        self._block = _Block(self._columns)

    def blocks(self, n_lines: int) -> Iterator[tuple[dict[str, list[str]], IntArray]]:
        """The strings of each column, and the tokens of each sentence, up to the first that ends after so
        many lines."""
        state, last = self._state, n_lines
        for text in line_blocks(self._source, _PIECE):
            state[AT], piece = 0, _Piece(text)
            while state[AT] < len(text):
                self._split(piece, last)
                if state[LINE] >= last and not state[LENGTH]:
                    yield from self._taken()
                    last = int(state[LINE]) + n_lines
        unended = state[[LENGTH]]
        self._block.end(unended[unended > 0])
        yield from self._taken()

    def _taken(self) -> Iterator[tuple[dict[str, list[str]], IntArray]]:
        """The sentences that have been read, if there are any."""
        block, self._block = self._block, _Block(self._columns)
        lengths = block.lengths()
        if lengths.size:
            yield block.values(), lengths

    def _split(self, piece: _Piece, last: int) -> None:
        """Read to the end of the piece, or of a block."""
        state, n_columns = self._state, len(self._columns)
        state[TOKENS] = state[SENTENCES] = 0
        n = min(piece.n_lines, len(piece.text) // max(n_columns, 1)) + 1
        starts, ends = np.empty((2, n_columns, n), np.int64)
        lines, lengths = np.empty((2, n), np.int64)
        split(
            piece.buffer, len(piece.text), self._separator, self._comment, self._reads_all, last,
            starts, ends, lines, lengths, state,
        )  # fmt: skip
        n = int(state[TOKENS])
        self._block.enter(piece, starts[:, :n], ends[:, :n], lambda token: self._place(lines[token]))
        self._block.end(lengths[: state[SENTENCES]])
        if state[FOUND]:
            self._take_columns(int(state[FOUND]))
            state[FOUND] = 0

    def _take_columns(self, n_found: int) -> None:
        """Name all columns by the first line of them; other lines where the kernel stops are wrong."""
        place = self._place(self._state[LINE])
        if self._columns:
            least, names = "" if self._reads_all else "at least ", ", ".join(self._columns)
            expected = f"expected {least}{len(self._columns)} ({names})"
            raise DataError(f"{place}: found {n_found} columns, {expected}")
        if n_found > _MOST_COLUMNS:
            raise DataError(
                f"{place}: found {n_found:,} columns, expected at most {_MOST_COLUMNS:,}, "
                "or the names of the first ones, which are to be read"
            )
        self._columns = [f"c{k}" for k in range(n_found)]
        self._block = _Block(self._columns)

    def _place(self, line: int) -> str:
        return f"{self._name}:{line + 1}"


class _Piece:
    """Whole lines, and the same as kernels read them."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.buffer = np.frombuffer(bytearray(text + b"\n" * BEYOND), np.uint8)
        self.n_lines = 1 + text.count(b"\n") + text.count(b"\r")


class _Block:
    """Sentences: the distinct strings of all columns, and their numbers."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns, self._names = columns, Names()
        self._numbers = list[Numbers]()  # a row a column
        self._lengths = [np.zeros(0, np.int64)]

    def lengths(self) -> IntArray:
        """The tokens of each sentence."""
        return np.concatenate(self._lengths)

    def values(self) -> dict[str, list[str]]:
        """The strings of each column, each distinct one in memory once."""
        distinct = np.array(self._names.strings, dtype=object)
        return {
            column: [text for numbers in self._numbers for text in distinct[numbers[k]].tolist()]
            for k, column in enumerate(self._columns)
        }

    def end(self, lengths: IntArray) -> None:
        """Add sentences."""
        self._lengths.append(lengths.copy())

    def enter(self, piece: _Piece, starts: IntArray, ends: IntArray, place: Callable[[int], str]) -> None:
        """Add the fields of tokens, a row a column."""
        first, last = starts.ravel(), ends.ravel()

        def decoded(k: int) -> str:
            field = piece.text[first[k] : last[k]]
            try:
                return field.decode()
            except UnicodeDecodeError as error:
                what = f"found the bytes {field!r}, expected UTF-8 text"
                raise DataError(f"{place(k % starts.shape[1])}: {what}") from error

        numbers = self._names.enter(Strings(piece.buffer, first, last), decoded)
        self._numbers.append(numbers.reshape(starts.shape))


def _bytes(text: str | None) -> NDArray[np.uint8]:
    return np.frombuffer(bytearray((text or "").encode()), np.uint8)


def _names(columns: Iterable[str]) -> list[str]:
    names = list(columns)
    if not names or len(set(names)) != len(names) or isinstance(columns, str):
        raise DataError(f"found the column names {columns!r}, expected a list of distinct names")
    return names
