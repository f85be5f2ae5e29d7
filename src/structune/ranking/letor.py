"""LETOR files, SVMlight's with queries: ``2 qid:10 1:0.03 2:NULL 5:1 # a comment``, a document a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.text import Lines, Source, save, shown
from structune.running.batches import batches

_MISSING = "NULL"
_MOST_CELLS, _MOST_CELLS_A_VALUE = 1 << 24, 100
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_FEATURE = rf"\d{{1,18}}:(?:{_NUMBER}|{_MISSING})"
_NUMBER_WORD = re.compile(_NUMBER, re.ASCII)
_FEATURE_WORD = re.compile(_FEATURE, re.ASCII)
_FEATURE_WORDS = re.compile(rf"(?:{_FEATURE} )*", re.ASCII)


@dataclass(frozen=True)
class LetorData:
    """Documents of queries, a row each.

    Attributes
    ----------
    X : ndarray of float64, shape (n_documents, n_features)
        Dense; what is missing is nan, unless it was read otherwise.
    relevance : ndarray of float64, shape (n_documents,)
    queries : list of str, length n_documents
        The query of each document, as written in the file.
    feature_indices : ndarray of int64, shape (n_features,)
        The file's number of each column of `X`, rising from 1 or more.
    comments : list of str, length n_documents
        What follows ``#``, such as ``docid = 1056``; empty where there is nothing.
    """

    X: NDArray[np.float64]
    relevance: NDArray[np.float64]
    queries: list[str]
    feature_indices: NDArray[np.int64]
    comments: list[str]

    def __post_init__(self) -> None:
        shape = len(self), self.feature_indices.size
        if self.X.shape != shape:
            raise DataError(f"found features of shape {self.X.shape}, expected {shape}")
        for what, size in (("queries", len(self.queries)), ("comments", len(self.comments))):
            if size != len(self):
                raise DataError(f"found {size} {what} for {len(self)} documents")

    def __len__(self) -> int:
        return self.relevance.size


def read_letor(
    source: Source, features: Sequence[int] | None = None, missing: float | None = float("nan")
) -> LetorData:
    """Read a LETOR file, or one of SVMlight with queries, compressed by gzip or not.

    A feature that a line leaves out is 0. Lines that start with ``#`` are skipped.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it is left open.
    features : sequence of int, optional
        The numbers of the features to read, rising, such as the `feature_indices` of the training set; by
        default all that the file has.
    missing : float, optional
        The value of ``NULL``; None refuses it.

    Raises
    ------
    DataError
        Names the file and line of a relevance that is no number >= 0, of a document without a query, of a
        feature without a finite value or out of turn, of a query that comes back after another, and of a
        value that is missing where `missing` is None; the file holds no documents.
    """
    lines = Lines(source)
    return _data(lines, list(_documents(lines)), features, missing)


def read_letor_blocks(
    source: Source,
    features: Sequence[int] | None = None,
    missing: float | None = float("nan"),
    n_values: int = 1 << 20,
) -> Iterator[LetorData]:
    """Read a LETOR file block by block: whole queries, with about so many values, all those of `features`.

    Parameters and errors are those of `read_letor`. Without `features` a block has those that occur in it.

    Yields
    ------
    LetorData
    """
    lines = Lines(source)
    queries = (list(own) for _, own in groupby(_documents(lines), lambda document: document.query))
    n_features = 0 if features is None else len(features)

    def size(documents: list[_Document]) -> int:
        return sum(1 + max(n_features, document.values.size) for document in documents)

    for block in batches(queries, size, n_values, n_values):
        yield _data(lines, [document for query in block for document in query], features, missing)


def _data(
    lines: Lines, documents: list[_Document], features: Sequence[int] | None, missing: float | None
) -> LetorData:
    columns = _columns(documents, features)
    _check_density(lines.name, documents, columns)
    X = _matrix(documents, columns)
    if missing is None:
        for j, column in np.argwhere(np.isnan(X))[:1]:
            what = f"found {_MISSING} for the feature {columns[column]}, expected a number (see 'missing')"
            raise lines.refuse(documents[j].line, what)
    else:
        X[np.isnan(X)] = missing
    return LetorData(
        X,
        np.array([document.relevance for document in documents]),
        [document.query for document in documents],
        columns,
        [document.comment for document in documents],
    )


def write_letor(target: Source, data: LetorData) -> None:
    """Write a LETOR file, compressed by gzip where the path ends in ``.gz``; nan is written as ``NULL``.

    Parameters
    ----------
    target : path or file object
        A file object may be binary or text.
    data : LetorData

    Raises
    ------
    DataError
        No documents; a relevance, value, query or comment that could not be read back.
    """
    _check_writable(data)
    names = list(map(str, data.feature_indices.tolist()))
    rows = zip(data.relevance.tolist(), data.queries, data.X.tolist(), data.comments, strict=True)
    save(target, "".join(_line(names, *row) for row in rows))


class _Document(NamedTuple):
    """A line, and its number; missing values are nan."""

    line: int
    relevance: float
    query: str
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    comment: str


def _documents(lines: Lines) -> Iterator[_Document]:
    begun: dict[str, int] = {}
    previous = None
    for number, text in lines.filled():
        if text.startswith("#"):
            continue
        with lines.at(number):
            document = _document(number, text)
        if document.query != previous:
            if document.query in begun:
                raise lines.refuse(
                    number,
                    f"found the query {shown(document.query)} again, which began at line "
                    f"{begun[document.query]}; expected the documents of a query together",
                )
            begun[document.query], previous = number, document.query
        yield document
    if not begun:
        raise DataError(f"{lines.name}: found no documents, expected lines such as '2 qid:1 1:0.5'")


def _document(line: int, text: str) -> _Document:
    _check_unicode(text)
    content, _, comment = text.partition("#")
    words = content.split()
    relevance, query = [*words, "", ""][:2]
    if not _NUMBER_WORD.fullmatch(relevance) or not 0.0 <= float(relevance) < np.inf:
        raise DataError(f"found the relevance {shown(relevance)}, expected a finite number >= 0")
    if not query.startswith("qid:") or query == "qid:":
        raise DataError(f"found {shown(query)} after the relevance, expected a query such as 'qid:1'")
    return _Document(line, float(relevance), query[4:], *_parsed(words[2:]), comment.strip())


def _parsed(words: list[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Indices and values of features; nan where these are missing."""
    if not _FEATURE_WORDS.fullmatch("".join(f"{word} " for word in words)):
        wrong = next(word for word in words if not _FEATURE_WORD.fullmatch(word))
        raise DataError(f"found {shown(wrong)}, expected a feature such as '1:0.5' or '1:{_MISSING}'")
    pairs = [word.split(":") for word in words]
    values = np.array([np.nan if value == _MISSING else float(value) for _, value in pairs])
    for j in np.flatnonzero(np.isinf(values))[:1]:
        raise DataError(f"found {shown(words[j])}, expected a finite value")
    return _indices(tuple(index for index, _ in pairs)), values


@lru_cache(maxsize=16)
def _indices(words: tuple[str, ...]) -> NDArray[np.int64]:
    """Numbers of features; most lines have the same, which then lie in memory once."""
    indices = np.array(list(map(int, words)), dtype=np.int64)
    for j in _falls(indices)[:1]:
        what = f"after {indices[j - 1]}, expected rising numbers" if j else "first, expected at least 1"
        raise DataError(f"found the feature {indices[j]} {what}")
    return indices


def _falls(indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where numbers that should rise from 1 or more do not."""
    return np.flatnonzero(np.diff(indices, prepend=0) < 1)


def _columns(documents: list[_Document], features: Sequence[int] | None) -> NDArray[np.int64]:
    if features is None:
        return np.unique(np.concatenate([document.indices for document in documents]))
    given = np.asarray(features)
    if given.dtype.kind not in "iu":
        raise DataError(f"found the feature numbers {given}, expected whole numbers")
    return _checked_columns(given.astype(np.int64))


def _checked_columns(indices: NDArray[np.int64]) -> NDArray[np.int64]:
    if indices.ndim != 1 or _falls(indices).size:
        raise DataError(f"found the feature numbers {indices}, expected them to rise from 1 or more")
    return indices


def _check_density(name: str, documents: list[_Document], columns: NDArray[np.int64]) -> None:
    """Refuse a small file of a table that does not fit in memory."""
    n_cells, n_values = len(documents) * columns.size, sum(d.values.size for d in documents)
    if n_cells > max(_MOST_CELLS, _MOST_CELLS_A_VALUE * n_values):
        raise DataError(
            f"{name}: found {n_values} values in {len(documents)} documents of {columns.size} features, "
            f"expected at least one for {_MOST_CELLS_A_VALUE} cells: tables are dense"
        )


def _matrix(documents: list[_Document], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    X = np.zeros((len(documents), columns.size))
    for row, document in zip(X, documents, strict=True):
        if np.array_equal(document.indices, columns):
            row[:] = document.values
        else:
            _, given, wanted = np.intersect1d(
                document.indices, columns, assume_unique=True, return_indices=True
            )
            row[wanted] = document.values[given]
    return X


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"found {shown(text[error.start :])}, expected UTF-8 text") from error


def _line(names: list[str], relevance: float, query: str, values: list[float], comment: str) -> str:
    features = (f" {name}:{_text(value)}" for name, value in zip(names, values, strict=True))
    return f"{_text(relevance)} qid:{query}{''.join(features)}{f' #{comment}' if comment else ''}\n"


def _text(value: float) -> str:
    return _MISSING if np.isnan(value) else repr(float(value)).removesuffix(".0")


def _check_writable(data: LetorData) -> None:
    if not len(data):
        raise DataError("found no documents, expected at least one")
    _checked_columns(data.feature_indices)
    wrong = ~(np.isfinite(data.relevance) & (data.relevance >= 0.0))
    for j in np.flatnonzero(wrong)[:1]:
        raise DataError(f"document {j}: found the relevance {data.relevance[j]}, expected a number >= 0")
    for j, column in np.argwhere(np.isinf(data.X))[:1]:
        raise DataError(
            f"document {j}, feature {data.feature_indices[column]}: found {data.X[j, column]}, "
            "expected a finite number or nan"
        )
    for j, (query, comment) in enumerate(zip(data.queries, data.comments, strict=True)):
        if query.split() != [query] or "#" in query or not _is_line(query):
            raise DataError(f"document {j}: found the query {query!r}, expected one word without '#'")
        if not _is_line(comment):
            raise DataError(f"document {j}: found the comment {comment!r}, expected one line of text")
    begun: set[str] = set()
    for query, _ in groupby(data.queries):
        if query in begun:
            raise DataError(f"found the query {query!r} in two places, expected its documents together")
        begun.add(query)


def _is_line(text: str) -> bool:
    return text == text.strip() and not re.search(r"[\r\n\ud800-\udfff]", text)
