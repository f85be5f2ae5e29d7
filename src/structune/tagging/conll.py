"""CoNLL column files: a token a line, columns separated by whitespace, a blank line after each sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.text import save, source_name
from structune.tagging.column_lines import ColumnLines
from structune.tagging.kernels.fields import DOCSTART

_ALL = 1 << 62  # lines, more than any file has


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
    return next(read_conll_blocks(source, columns, separator, comment, n_lines=_ALL))


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
    if n_lines < 1:
        raise DataError(f"n_lines={n_lines}: expected at least 1")
    read, is_empty = ColumnLines(source, columns, separator, comment), True
    for values, lengths in read.blocks(min(n_lines, _ALL)):
        yield ConllData(values, lengths)
        is_empty = False
    if is_empty:
        raise DataError(f"{source_name(source)}: found no tokens, expected lines of columns")


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


def _check_writable(data: ConllData, separator: str) -> None:
    breaks = re.compile(rf"[\r\n]|{re.escape(separator)}" if separator.strip(" ") else r"[ \t\r\n\v\f]")
    for name, values in data.columns.items():
        for value in set(values):
            if breaks.search(value) or not value.strip(" \t\r\n\v\f") or value.startswith(DOCSTART.decode()):
                raise DataError(
                    f"column {name!r}, token {values.index(value)}: found {value!r}, "
                    f"expected a value without line breaks and the separator {separator!r}"
                )
