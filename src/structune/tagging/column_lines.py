"""Lines of column files, read as the strings of their columns, some sentences at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError, warn
from structune.files.looks_like import named_by_look
from structune.files.text import Source, line_blocks, source_name
from structune.structure import IntArray
from structune.tagging.column_look import AUTO, COLUMNS, Layout, layout_of
from structune.tagging.features.names import Names, Numbers
from structune.tagging.features.strings import BEYOND, Strings
from structune.tagging.kernels import fields
from structune.tagging.kernels.fields import AT, FOUND, LENGTH, LINE, SENTENCES, TOKENS, WIDTH, split

_PIECE = 1 << 18  # bytes that are split at a time
_HEAD = 1 << 16  # that are looked at
_BOM, _NUMBER_NAMES = (
    b"\xef\xbb\xbf",
    ("id", "i", "n", "no", "nr", "num", "number", "index", "idx", "c0", "_"),
)
_MOST_COLUMNS = 10_000  # where all are read: each takes time and memory, however few tokens it has


class SkippedLinesWarning(UserWarning):
    """A look at a column file found its format, or lines that are no tokens."""


class ColumnLines:
    """Reads the lines of a column file, once.

    Parameters
    ----------
    source : path or file object
    columns : sequence of str, optional
        Names of the first columns; with None all are read as ``c0``, ``c1``, ... Where the format names its
        columns, as CoNLL-U does, these may be any of them.
    separator, comment : str, optional
        What separates columns, if not white space; what lines to be skipped begin with. "auto" has a look.
    preferred : str, optional
        The separator that is taken where a look finds two.
    layout : Layout, optional
        What a look has found before.
    """

    def __init__(
        self,
        source: Source,
        columns: Sequence[str] | None,
        separator: str | None = AUTO,
        comment: str | None = AUTO,
        preferred: str | None = None,
        layout: Layout | None = None,
    ) -> None:
        self.name = source_name(source)
        self._given = None if columns is None else _names(columns)
        self._head = b""
        self._pieces = line_blocks(source, _PIECE)
        self._is_new = layout is None
        self.layout = self._look(separator, comment, preferred) if layout is None else layout
        self.columns = self._given
        self._state = np.zeros(10, np.int64)

    def _look(self, separator: str | None, comment: str | None, preferred: str | None) -> Layout:
        """What the first lines tell; they stay to be read."""
        first, n = list[bytes](), 0
        for text in self._pieces:
            first.append(text)
            n += len(text)
            if n >= _HEAD:
                break
        self._pieces, head = chain(first, self._pieces), b"".join(first)
        if len(head) > _HEAD:
            head = head[: head.rfind(b"\n", 0, _HEAD) + 1] or head
        self._head = head
        return layout_of(
            head.decode(errors="surrogateescape"), self.name, self._given, separator, comment, preferred
        )

    def blocks(self, n_lines: int) -> Iterator[tuple[dict[str, list[str]], IntArray, IntArray]]:
        """The strings of each column, the tokens of each sentence, and the line of each token, from 1, up to
        the first sentence that ends after so many lines."""
        try:
            yield from self._blocks(n_lines)
        except DataError as error:
            raise named_by_look(error, self._head, COLUMNS) from None

    def _blocks(self, n_lines: int) -> Iterator[tuple[dict[str, list[str]], IntArray, IntArray]]:
        self._begin()
        state, last = self._state, n_lines
        for number, text in enumerate(self._pieces):
            if number == 0 and self.layout.header:
                text = text[len(re.split(rb"[\r\n]", text, maxsplit=1)[0]) :]
            if _BOM in text:  # of files that were put together
                text = re.sub(rb"(?m)^\xef\xbb\xbf", b"", text)
            self._has_marks = text.startswith(b"#") or b"\n#" in text
            state[AT], piece = 0, _Piece(text)
            while state[AT] < len(text):
                self._split(piece, last)
                if state[LINE] >= last and not state[LENGTH]:
                    yield from self._taken()
                    last = int(state[LINE]) + n_lines
        unended = state[[LENGTH]]
        self._block.end(unended[unended > 0])
        self._tell()
        yield from self._taken()

    def _begin(self) -> None:
        """Which columns are read: the first ones, or those of the format that are named."""
        names, given = self.layout.names, self.columns
        self._reads_all, self._chosen = given is None, given
        if names and given is not None and set(given) <= set(names):
            given = list(names[: 1 + max(map(names.index, given))])
        elif names and given is not None and not numbers_tokens(given[0]):
            raise DataError(
                f"{self.name}: found CoNLL-U, whose first column numbers the tokens, and the names "
                f"{', '.join(given)} for its first columns. Name some of {', '.join(names)} (--columns), the "
                "label's last, or make a file of other columns"
            )
        self._columns = [] if given is None else given  # those of all are not known yet
        self._separator, self._comment = _bytes(self.layout.separator), _bytes(self.layout.comment)
        self._block = _Block(self._columns)

    def _tell(self) -> None:
        """Warn of what was skipped because of a look."""
        layout, state = self.layout, self._state
        skipped = [
            f"{n:,} {what}{'' if n == 1 else 's'}"
            for n, what in (
                (int(state[fields.COMMENTS]) * (layout.metadata or layout.numbered), "line of metadata"),
                (int(state[fields.RANGES]), "multiword token"),
                (int(state[fields.EMPTY]), "empty node"),
                (int(layout.header), "line with names of columns"),
            )
            if n
        ]
        told = ["read as CoNLL-U"] if layout.names else []
        told += [f"skipped {', '.join(skipped).replace('line of metadatas', 'lines of metadata')}"] * bool(
            skipped
        )
        if told and self._is_new:
            warn(f"{self.name}: {'; '.join(told)}", SkippedLinesWarning)

    def _taken(self) -> Iterator[tuple[dict[str, list[str]], IntArray, IntArray]]:
        """The sentences that have been read, if there are any."""
        block, self._block = self._block, _Block(self._columns)
        lengths = block.lengths()
        if lengths.size:
            values = block.values()
            chosen = values if self._chosen is None else {name: values[name] for name in self._chosen}
            yield chosen, lengths, block.lines()

    def _split(self, piece: _Piece, last: int) -> None:
        """Read to the end of the piece, or of a block."""
        state, n_columns = self._state, len(self._columns)
        state[TOKENS] = state[SENTENCES] = 0
        n = min(piece.n_lines, len(piece.text) // max(n_columns, 1)) + 1
        starts, ends = np.empty((2, n_columns, n), np.int64)
        lines, lengths = np.empty((2, n), np.int64)
        split(
            piece.buffer, len(piece.text), self._separator, self._comment,
            self.layout.metadata, self.layout.numbered, self._reads_all, self.layout.even,
            last, starts, ends, lines, lengths, state,
        )  # fmt: skip
        n = int(state[TOKENS])
        self._block.enter(
            piece, starts[:, :n], ends[:, :n], lines[:n] + 1, lambda token: self._place(lines[token])
        )
        self._block.end(lengths[: state[SENTENCES]])
        if state[FOUND]:
            self._take_columns(int(state[FOUND]))
            state[FOUND] = 0

    def _take_columns(self, n_found: int) -> None:
        """Name all columns by the first line of them; other lines where the kernel stops are wrong."""
        place = self._place(self._state[LINE])
        if self._columns and n_found >= len(self._columns) and not self._reads_all:
            raise DataError(
                f"{place}: found {n_found} columns, and {self._state[WIDTH]} in the line before. Columns are "
                f"separated by {_named(self.layout.separator)}. With --separator (separator=) lines "
                f"may have different numbers of columns{self._hint()}"
            )
        if self._columns:
            least, names = "" if self._reads_all else "at least ", ", ".join(self._columns)
            expected = f"expected {least}{len(self._columns)} ({names})"
            raise DataError(f"{place}: found {n_found} columns, {expected}{self._hint()}")
        if n_found > _MOST_COLUMNS:
            raise DataError(
                f"{place}: found {n_found:,} columns, expected at most {_MOST_COLUMNS:,}, "
                "or the names of the first ones, which are to be read"
            )
        self._columns = self.columns = [f"c{k}" for k in range(n_found)]
        self._block = _Block(self._columns)

    def _hint(self) -> str:
        """What may be done about other columns, if a look was had."""
        if self.layout.comment is not None or not self._has_marks:
            return ""
        return "; --comment '#' (in Python comment='#') skips lines that begin with #"

    def _place(self, line: int) -> str:
        return f"{self.name}:{line + 1}"


class _Piece:
    """Whole lines, and the same as kernels read them."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.buffer = np.frombuffer(bytearray(text + b"\n" * BEYOND), np.uint8)
        self.n_lines = 1 + text.count(b"\n") + text.count(b"\r")


class _Block:
    """Sentences: the distinct strings of all columns, and their numbers."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns, self.names = columns, Names()
        self._numbers = list[Numbers]()  # a row a column
        self._lengths, self._lines = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]

    def lines(self) -> IntArray:
        """The line of each token, from 1."""
        return np.concatenate(self._lines)

    def lengths(self) -> IntArray:
        """The tokens of each sentence."""
        return np.concatenate(self._lengths)

    def values(self) -> dict[str, list[str]]:
        """The strings of each column, each distinct one in memory once."""
        distinct = np.array(self.names.strings, dtype=object)
        return {
            column: [text for numbers in self._numbers for text in distinct[numbers[k]].tolist()]
            for k, column in enumerate(self._columns)
        }

    def end(self, lengths: IntArray) -> None:
        """Add sentences."""
        self._lengths.append(lengths.copy())

    def enter(
        self,
        piece: _Piece,
        starts: IntArray,
        ends: IntArray,
        lines: IntArray,
        place: Callable[[int], str],
    ) -> None:
        """Add the fields of tokens, a row a column."""
        first, last = starts.ravel(), ends.ravel()
        self._lines.append(lines)

        def decoded(k: int) -> str:
            field = piece.text[first[k] : last[k]]
            try:
                return field.decode()
            except UnicodeDecodeError as error:
                what = f"found the bytes {field!r}, expected UTF-8 text"
                raise DataError(f"{place(k % starts.shape[1])}: {what}") from error

        numbers = self.names.enter(Strings(piece.buffer, first, last), decoded)
        self._numbers.append(numbers.reshape(starts.shape))


def numbers_tokens(column: str) -> bool:
    """Whether the name of a column says that it numbers tokens."""
    return column.lower() in _NUMBER_NAMES


def _named(separator: str | None) -> str:
    return "white space" if separator is None else "tabs" if separator == "\t" else repr(separator)


def _bytes(text: str | None) -> NDArray[np.uint8]:
    return np.frombuffer(bytearray((text or "").encode()), np.uint8)


def _names(columns: Iterable[str]) -> list[str]:
    names = list(columns)
    if not names or len(set(names)) != len(names) or isinstance(columns, str):
        raise DataError(f"found the column names {columns!r}, expected a list of distinct names")
    return names
