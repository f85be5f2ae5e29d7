"""CoNLL column files: a token a line, columns separated by whitespace, a blank line after each sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.text import byte_lines, load, save, source_name

_DOCSTART = "-DOCSTART-"
_MOST_COLUMNS = 10_000  # where all are read: each takes time and memory, however few tokens it has


@dataclass(frozen=True)
class ConllData:
    """The columns of a batch of sentences.

    Attributes
    ----------
    columns : dict of str to list of str
        Each column has one string a token, all sentences one after the other.
    lengths : ndarray of int64, shape (n_sentences,)
        Tokens in each sentence, at least 1.
    """

    columns: dict[str, list[str]]
    lengths: NDArray[np.int64]

    def __post_init__(self) -> None:
        if np.any(self.lengths < 1):
            raise DataError(
                f"sentence {int(np.argmax(self.lengths < 1))}: found no tokens, expected at least 1"
            )
        for name, values in self.columns.items():
            if len(values) != self.n_tokens:
                raise DataError(
                    f"column {name!r}: found {len(values)} values, expected {self.n_tokens}, one a token"
                )

    def __len__(self) -> int:
        return self.lengths.size

    @property
    def n_tokens(self) -> int:
        return int(self.lengths.sum())

    def sentences(self, column: str) -> list[list[str]]:
        """One column as a list of sentences, each a list of strings."""
        if column not in self.columns:
            raise DataError(f"found the columns {', '.join(self.columns)}, expected one named {column!r}")
        values, ends = self.columns[column], np.cumsum(self.lengths).tolist()
        return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def with_column(self, name: str, sentences: Sequence[Sequence[Any]]) -> ConllData:
        """The data with one more, last column, such as the predicted labels.

        Parameters
        ----------
        name : str
        sentences : sequence of sequences
            One value a token, nested in sentences.

        Raises
        ------
        DataError
            The name is taken, or a sentence has more or fewer values than tokens.
        """
        if name in self.columns:
            raise DataError(f"found a column {name!r} already, expected a new name")
        if len(sentences) != len(self):
            raise DataError(f"column {name!r}: found {len(sentences)} sentences, expected {len(self)}")
        for s, (values, length) in enumerate(zip(sentences, self.lengths, strict=True)):
            if len(values) != length:
                raise DataError(
                    f"column {name!r}, sentence {s}: found {len(values)} values, expected {length}"
                )
        flat = [str(value) for values in sentences for value in values]
        return ConllData({**self.columns, name: flat}, self.lengths)


def read_conll(
    source: str | os.PathLike[str] | IO[Any],
    columns: Sequence[str] | None = ("w", "pos", "y"),
    separator: str | None = None,
    comment: str | None = None,
) -> ConllData:
    r"""Read a CoNLL column file in UTF-8, compressed by gzip or not.

    Lines that start with ``-DOCSTART-`` end a sentence, as blank lines do.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text.
    columns : sequence of str, optional
        Names of the first columns; further ones are ignored. With None all columns are read as ``c0``,
        ``c1``, ..., and each line must have as many as the first.
    separator : str, optional
        What separates columns, such as ``"\t"``; any run of ASCII whitespace if not given.
    comment : str, optional
        Lines that start with this, such as ``"# "``, are skipped.

    Raises
    ------
    DataError
        Names the file and line with too few columns or bytes that are not UTF-8; the file holds no tokens.
    """
    name, data = load(source)
    read = _read(name, 1, data, columns, separator, comment)
    if read is None:
        raise _no_tokens(name)
    return read


def read_conll_blocks(
    source: str | os.PathLike[str] | IO[Any],
    columns: Sequence[str] | None = ("w", "pos", "y"),
    separator: str | None = None,
    comment: str | None = None,
    n_lines: int = 1 << 20,
) -> Iterator[ConllData]:
    """The same, a run of sentences at a time: for files that are larger than memory.

    Parameters
    ----------
    source, columns, separator, comment
        As for `read_conll`.
    n_lines : int
        A block ends with the first sentence that ends after so many lines.
    """
    name, first, width = source_name(source), 1, 0
    for lines in _blocks(byte_lines(source), n_lines):
        read = _read(name, first, b"".join(lines), columns, separator, comment)
        if read is not None:
            width = width or len(read.columns)
            if len(read.columns) != width:
                found = len(read.columns)
                raise DataError(f"{name}:{first}: found {found} columns from here on, expected {width}")
            yield read
        first += len(lines)
    if not width:
        raise _no_tokens(name)


def _blocks(lines: Iterator[bytes], n_lines: int) -> Iterator[list[bytes]]:
    """Runs of so many lines and, up to the next blank line, some more."""
    while block := list(islice(lines, n_lines)):
        while block[-1].strip() and (line := next(lines, None)):
            block.append(line)
        yield block


def _no_tokens(name: str) -> DataError:
    return DataError(f"{name}: found no tokens, expected lines of columns")


def _read(
    name: str,
    first_line: int,
    data: bytes,
    columns: Sequence[str] | None,
    separator: str | None,
    comment: str | None,
) -> ConllData | None:
    """What some lines of a file hold, if there is any token among them."""
    numbers, lines = _numbered_lines(first_line, data, comment)
    rows = _rows(lines, separator)
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    tokens = np.flatnonzero(sizes)
    if not tokens.size:
        return None
    names = _column_names(columns, f"{name}:{numbers[tokens[0]]}", int(sizes[tokens[0]]))
    wrong = tokens[sizes[tokens] != len(names) if columns is None else sizes[tokens] < len(names)]
    if wrong.size:
        raise DataError(
            f"{name}:{numbers[wrong[0]]}: found {sizes[wrong[0]]} columns, "
            f"expected {'' if columns is None else 'at least '}{len(names)} ({', '.join(names)})"
        )
    places = _Places(name, numbers[tokens])
    read = {column: _decode([row[k] for row in rows if row], places) for k, column in enumerate(names)}
    return ConllData(read, _run_lengths(sizes > 0))


def write_conll(target: str | os.PathLike[str] | IO[Any], data: ConllData, separator: str = " ") -> None:
    r"""Write a CoNLL column file in UTF-8, compressed by gzip where the path ends in ``.gz``.

    `ConllData.with_column` adds predicted labels as the last column, where evaluation scripts expect them.

    Parameters
    ----------
    target : path or file object
        A file object may be binary or text.
    data : ConllData
    separator : str
        ``" "`` or, for values that hold spaces, ``"\t"``.

    Raises
    ------
    DataError
        A value is blank or holds a separator or line break, so that it could not be read back.
    """
    save(target, conll_text(data, separator))


def conll_text(data: ConllData, separator: str = " ") -> str:
    """What `write_conll` writes."""
    _check_writable(data, separator)
    lines = list(map(separator.join, zip(*data.columns.values(), strict=True)))
    ends = np.cumsum(data.lengths).tolist()
    sentences = ("\n".join(lines[start:end]) for start, end in zip([0, *ends], ends, strict=False))
    return "".join(f"{sentence}\n\n" for sentence in sentences)


def _numbered_lines(first: int, data: bytes, comment: str | None) -> tuple[NDArray[np.int64], list[bytes]]:
    lines = data.splitlines()
    numbers = np.arange(first, first + len(lines))
    if comment is None:
        return numbers, lines
    kept = [not line.startswith(comment.encode()) for line in lines]
    return numbers[np.array(kept, dtype=bool)], list(compress(lines, kept))


def _rows(lines: list[bytes], separator: str | None) -> list[list[bytes]]:
    """The fields of each line; none where a sentence ends."""
    # Bytes are split at ASCII whitespace only: a no-break space belongs to its token.
    mark, docstart = separator.encode() if separator else None, _DOCSTART.encode()
    return [line.split(mark) if line.strip() and not line.startswith(docstart) else [] for line in lines]


def _column_names(columns: Sequence[str] | None, place: str, n_columns: int) -> list[str]:
    """Those given, or else of all the columns that a file's first line of them has."""
    if columns is None:
        if n_columns > _MOST_COLUMNS:
            raise DataError(
                f"{place}: found {n_columns:,} columns, expected at most {_MOST_COLUMNS:,}, "
                "or the names of the first ones, which are to be read"
            )
        return [f"c{k}" for k in range(n_columns)]
    names = list(columns)
    if not names or len(set(names)) != len(names) or isinstance(columns, str):
        raise DataError(f"found the column names {columns!r}, expected a list of distinct names")
    return names


@dataclass(frozen=True)
class _Places:
    """Where each token was read."""

    name: str
    lines: NDArray[np.int64]

    def __getitem__(self, token: int) -> str:
        return f"{self.name}:{self.lines[token]}"


def _decode(values: list[bytes], places: _Places) -> list[str]:
    """The strings, each distinct one in memory once."""
    table = {}
    for value in dict.fromkeys(values):
        try:
            table[value] = value.decode()
        except UnicodeDecodeError as error:
            place = places[values.index(value)]
            raise DataError(f"{place}: found the bytes {value!r}, expected UTF-8 text") from error
    return list(map(table.__getitem__, values))


def _run_lengths(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Lengths of the runs of true."""
    edges = np.flatnonzero(np.diff(marks.astype(np.int8), prepend=0, append=0))
    return edges[1::2] - edges[::2]


def _check_writable(data: ConllData, separator: str) -> None:
    breaks = re.compile(rf"[\r\n]|{re.escape(separator)}" if separator.strip(" ") else r"[ \t\r\n\v\f]")
    for name, values in data.columns.items():
        for value in set(values):
            if breaks.search(value) or not value.strip(" \t\r\n\v\f") or value.startswith(_DOCSTART):
                raise DataError(
                    f"column {name!r}, token {values.index(value)}: found {value!r}, "
                    f"expected a value without line breaks and the separator {separator!r}"
                )
