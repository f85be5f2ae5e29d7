"""CoNLL column files: a token a line, columns separated by whitespace, a blank line after each sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.text import save
from structune.tagging.column_lines import ColumnLines
from structune.tagging.column_look import AUTO, TAB
from structune.tagging.kernels.fields import DOCSTART

_BREAKS = re.compile(r"[ \t\r\n\v\f]")
_BLANK = " \t\r\n\v\f"
ALL = 1 << 62  # lines, more than any file has


@dataclass(frozen=True)
class ConllData:
    """The columns of a batch of sentences.

    Attributes
    ----------
    columns : dict of str to list of str
        Each column has one string a token, all sentences one after the other.
    lengths : ndarray of int64, shape (n_sentences,)
        Tokens in each sentence, at least 1.
    lines : ndarray of int64, shape (n_tokens,), optional
        The line of each token in its file, from 1.
    name : str
        Of the file.
    separator : str
        Of columns, where they are written: a tab if values hold spaces or are empty.
    """

    columns: dict[str, list[str]]
    lengths: NDArray[np.int64]
    lines: NDArray[np.int64] | None = None
    name: str = ""
    separator: str = " "

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

    def place(self, sentence: int, token: int) -> str:
        """The file and line of a token, or what they are called without a file."""
        if self.lines is None:
            return f"sentence {sentence}, token {token}"
        return f"{self.name}:{self.lines[int(self.lengths[:sentence].sum()) + token]}"

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
        return replace(self, columns={**self.columns, name: flat})


def joined(parts: Sequence[ConllData]) -> ConllData:
    """The sentences of several files with the same columns, whose lines are no longer known."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: [value for data in parts for value in data.columns[name]] for name in parts[0].columns}
    return ConllData(columns, np.concatenate([data.lengths for data in parts]))


def read_conll(
    source: str | os.PathLike[str] | IO[Any],
    columns: Sequence[str] | None = ("w", "pos", "y"),
    separator: str | None = AUTO,
    comment: str | None = AUTO,
) -> ConllData:
    r"""Read a CoNLL column file in UTF-8, compressed by gzip or not.

    Lines that start with ``-DOCSTART-`` end a sentence, as blank lines do. A look at the first lines tells
    CoNLL-U, lines such as ``# sent_id = 1`` before a sentence, and names of columns in the first line; a
    warning tells what is skipped.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text.
    columns : sequence of str, optional
        Names of the first columns; further ones are ignored. With None all columns are read as ``c0``,
        ``c1``, ..., and each line must have as many as the first. Of CoNLL-U any of its columns by their
        names: id, form, lemma, upos, xpos, feats, head, deprel, deps, misc.
    separator : str or None
        What separates columns, such as ``"\t"``; None is any run of ASCII whitespace. By default a look at
        the first lines tells tabs from white space, and all lines must have the same number of columns.
    comment : str or None
        Lines that start with this, such as ``"# "``, are skipped; None skips no lines.

    Raises
    ------
    DataError
        Names the file and line with too few columns or bytes that are not UTF-8; the file holds no tokens, is
        of another format, or can be read in two ways.

    Warns
    -----
    SkippedLinesWarning
    """
    return next(read_conll_blocks(source, columns, separator, comment, n_lines=ALL))


def read_conll_blocks(
    source: str | os.PathLike[str] | IO[Any],
    columns: Sequence[str] | None = ("w", "pos", "y"),
    separator: str | None = AUTO,
    comment: str | None = AUTO,
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
    if n_lines < 1:
        raise DataError(f"n_lines={n_lines}: expected at least 1")
    read = ColumnLines(source, columns, separator, comment)
    read.tell_numbers(read.columns[0] if read.columns else "id", "Name it id")
    yield from data_blocks(read, n_lines)


def data_blocks(read: ColumnLines, n_lines: int) -> Iterator[ConllData]:
    """The same of lines that are open."""
    separator = None
    for values, lengths, lines in read.blocks(min(n_lines, ALL)):
        if separator is None:
            needs_tabs = read.layout.separator == TAB and any(map(_needs_tabs, values.values()))
            separator = TAB if needs_tabs else read.layout.written
        yield ConllData(values, lengths, lines, read.name, separator)
    if separator is None:
        raise DataError(f"{read.name}: found no tokens, expected lines of columns")


def _needs_tabs(values: Sequence[str]) -> bool:
    return any(not value or _BREAKS.search(value) for value in set(values))


def write_conll(
    target: str | os.PathLike[str] | IO[Any], data: ConllData, separator: str | None = None
) -> None:
    r"""Write a CoNLL column file in UTF-8, compressed by gzip where the path ends in ``.gz``.

    `ConllData.with_column` adds predicted labels as the last column, where evaluation scripts expect them.

    Parameters
    ----------
    target : path or file object
        A file object may be binary or text.
    data : ConllData
    separator : str, optional
        ``" "`` or, for values that hold spaces or are empty, ``"\t"``; by default that of the data.

    Raises
    ------
    DataError
        A value is blank or holds a separator or line break, so that it could not be read back.
    """
    save(target, conll_text(data, separator))


def conll_text(data: ConllData, separator: str | None = None) -> str:
    """What `write_conll` writes."""
    separator = data.separator if separator is None else separator
    _check_writable(data, separator)
    lines = list(map(separator.join, zip(*data.columns.values(), strict=True)))
    ends = np.cumsum(data.lengths).tolist()
    sentences = ("\n".join(lines[start:end]) for start, end in zip([0, *ends], ends, strict=False))
    return "".join(f"{sentence}\n\n" for sentence in sentences)


def _check_writable(data: ConllData, separator: str) -> None:
    by_words = not separator.strip(" ")
    breaks = _BREAKS if by_words else re.compile(rf"[\r\n]|{re.escape(separator)}")
    blank = {name: {v for v in set(values) if not v.strip(_BLANK)} for name, values in data.columns.items()}
    for name, values in data.columns.items():
        for value in set(values):
            is_empty = value in blank[name] and (by_words or all(blank.values()))
            if breaks.search(value) or is_empty or value.startswith(DOCSTART.decode()):
                raise DataError(
                    f"column {name!r}, token {values.index(value)}: found {value!r}, "
                    f"expected a value without line breaks and the separator {separator!r}"
                )
