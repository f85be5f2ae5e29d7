"""LETOR files, SVMlight's with queries: ``2 qid:10 1:0.03 2:NULL 5:1 # a comment``, a document a line.

They have a reader of their own because scikit-learn's ``load_svmlight_file`` knows neither values that are
``NULL``, nor queries that are no numbers, and drops comments, which hold the identifiers of documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from typing import NamedTuple

import numpy as np

from structune.errors import DataError
from structune.files.looks_like import named_by_look
from structune.files.text import Source, line_blocks, save, shown, source_name
from structune.running.batches import batches
from structune.structure import FloatArray, IntArray

_MISSING = "NULL"
_BLOCK = 1 << 22  # bytes that are parsed at a time
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

    X: FloatArray
    relevance: FloatArray
    queries: list[str]
    feature_indices: IntArray
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
    return _data(source_name(source), list(_parts(source)), features, missing)


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
    name, n_features = source_name(source), 0 if features is None else len(features)

    def size(query: list[_Documents]) -> int:
        return sum(
            len(part.queries) + int(np.maximum(n_features, np.diff(part.offsets)).sum()) for part in query
        )

    queries = (list(own) for _, own in groupby(_parts(source), lambda part: part.queries[0]))
    for block in batches(queries, size, n_values, n_values):
        yield _data(name, list(chain.from_iterable(block)), features, missing)


def letor_features(source: Source) -> Iterator[tuple[int, IntArray]]:
    """Numbers of the features that occur in a LETOR file; errors are those of `read_letor`.

    Yields
    ------
    n_documents : int
    indices : ndarray of int64
        Of the features of so many documents.
    """
    for part in _parts(source):
        yield len(part.queries), np.unique(part.indices)


def _data(
    name: str, parts: list[_Documents], features: Sequence[int] | None, missing: float | None
) -> LetorData:
    columns = _columns(parts, features)
    _check_density(name, parts, columns)
    X = _matrix(parts, columns)
    if missing is None:
        for j, column in np.argwhere(np.isnan(X))[:1]:
            what = f"found {_MISSING} for the feature {columns[column]}, expected a number (see 'missing')"
            line = np.concatenate([part.lines for part in parts])[j]
            raise DataError(f"{name}:{line}: {what}")
    else:
        X[np.isnan(X)] = missing
    return LetorData(
        X,
        np.concatenate([part.relevance for part in parts]),
        [query for part in parts for query in part.queries],
        columns,
        [comment for part in parts for comment in part.comments],
    )


def with_features(data: LetorData, features: Sequence[int]) -> LetorData:
    """The documents with these features, in this order; those that files lack are 0."""
    X = np.zeros((len(data), len(features)))
    X[:, np.searchsorted(features, data.feature_indices)] = data.X
    return LetorData(X, data.relevance, data.queries, np.array(features), data.comments)


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


class _Documents(NamedTuple):
    """Lines one after the other, and their numbers; values that are missing are nan."""

    lines: IntArray
    relevance: FloatArray
    queries: list[str]
    offsets: IntArray  # of the features of each
    indices: IntArray
    values: FloatArray
    comments: list[str]

    def cut(self, start: int, end: int) -> _Documents:
        rows, own = slice(start, end), slice(self.offsets[start], self.offsets[end])
        return _Documents(
            self.lines[rows],
            self.relevance[rows],
            self.queries[rows],
            self.offsets[start : end + 1] - self.offsets[start],
            self.indices[own],
            self.values[own],
            self.comments[rows],
        )


def _parts(source: Source) -> Iterator[_Documents]:
    """Documents of one query; others of it may follow."""
    name, previous, begun = source_name(source), None, dict[str, int]()
    for documents in _documents(source):
        queries = documents.queries
        cuts = [j for j in range(1, len(queries)) if queries[j] != queries[j - 1]]
        for start, end in pairwise([0, *cuts, len(queries)]):
            query, line = queries[start], int(documents.lines[start])
            if query != previous and begun.setdefault(query, line) != line:
                raise DataError(
                    f"{name}:{line}: found the query {shown(query)} again, which began at line "
                    f"{begun[query]}; expected the documents of a query together"
                )
            previous = query
            yield documents.cut(start, end)
    if not begun:
        raise DataError(f"{name}: found no documents, expected lines such as '2 qid:1 1:0.5'")


def _documents(source: Source) -> Iterator[_Documents]:
    """Documents some at a time."""
    name, first = source_name(source), 1
    for text in line_blocks(source, _BLOCK, universal=True):
        try:
            for line, content in enumerate(text.split(b"\n"), first):
                yield from _document(line, content, name)
        except DataError as error:
            raise (named_by_look(error, text, ("LETOR",)) if first == 1 else error) from None
        first += text.count(b"\n")


def _document(line: int, content: bytes, name: str) -> Iterator[_Documents]:
    """That of a line, if it has one."""
    text = content.decode(errors="surrogateescape").strip()
    if not text or text.startswith("#"):
        return
    try:
        relevance, query, indices, values, comment = _parsed(text)
    except DataError as error:
        raise DataError(f"{name}:{line}: {error}") from error
    offsets = np.array([0, indices.size])
    yield _Documents(np.array([line]), np.array([relevance]), [query], offsets, indices, values, [comment])


def _parsed(text: str) -> tuple[float, str, IntArray, FloatArray, str]:
    """Relevance, query, indices and values of features, nan where these are missing, and the comment."""
    _check_unicode(text)
    content, _, comment = text.partition("#")
    words = content.split()
    relevance, query = [*words, "", ""][:2]
    if not _NUMBER_WORD.fullmatch(relevance) or not 0.0 <= float(relevance) < np.inf:
        raise DataError(f"found the relevance {shown(relevance)}, expected a finite number >= 0")
    if not query.startswith("qid:") or query == "qid:":
        raise DataError(f"found {shown(query)} after the relevance, expected a query such as 'qid:1'")
    return float(relevance), query[4:], *_features(words[2:]), comment.strip()


def _features(words: list[str]) -> tuple[IntArray, FloatArray]:
    if not _FEATURE_WORDS.fullmatch("".join(f"{word} " for word in words)):
        wrong = next(word for word in words if not _FEATURE_WORD.fullmatch(word))
        raise DataError(f"found {shown(wrong)}, expected a feature such as '1:0.5' or '1:{_MISSING}'")
    pairs = [word.split(":") for word in words]
    values = np.array([np.nan if value == _MISSING else float(value) for _, value in pairs])
    for j in np.flatnonzero(np.isinf(values))[:1]:
        raise DataError(f"found {shown(words[j])}, expected a finite value")
    indices = np.array([int(index) for index, _ in pairs], dtype=np.int64)
    for j in _falls(indices)[:1]:
        what = f"after {indices[j - 1]}, expected rising numbers" if j else "first, expected at least 1"
        raise DataError(f"found the feature {indices[j]} {what}")
    return indices, values


def _falls(indices: IntArray) -> IntArray:
    """Where numbers that should rise from 1 or more do not."""
    return np.flatnonzero(np.diff(indices, prepend=0) < 1)


def _columns(parts: list[_Documents], features: Sequence[int] | None) -> IntArray:
    if features is None:
        return np.unique(np.concatenate([np.unique(part.indices) for part in parts]))
    given = np.asarray(features)
    if given.dtype.kind not in "iu":
        raise DataError(f"found the feature numbers {given}, expected whole numbers")
    return _checked_columns(given.astype(np.int64))


def _checked_columns(indices: IntArray) -> IntArray:
    if indices.ndim != 1 or _falls(indices).size:
        raise DataError(f"found the feature numbers {indices}, expected them to rise from 1 or more")
    return indices


def _check_density(name: str, parts: list[_Documents], columns: IntArray) -> None:
    """Refuse a small file of a table that does not fit in memory."""
    n_documents, n_values = _n_documents(parts), sum(part.values.size for part in parts)
    if n_documents * columns.size > max(_MOST_CELLS, _MOST_CELLS_A_VALUE * n_values):
        raise DataError(
            f"{name}: found {n_values} values in {n_documents} documents of {columns.size} features, "
            f"expected at least one for {_MOST_CELLS_A_VALUE} cells: tables are dense"
        )


def _matrix(parts: list[_Documents], columns: IntArray) -> FloatArray:
    X, start = np.zeros((_n_documents(parts), columns.size)), 0
    for part in parts:
        rows = np.repeat(np.arange(start, start + len(part.queries)), np.diff(part.offsets))
        places = np.searchsorted(columns, part.indices)
        known = np.append(columns, -1)[places] == part.indices
        X[rows[known], places[known]] = part.values[known]
        start += len(part.queries)
    return X


def _n_documents(parts: list[_Documents]) -> int:
    return sum(len(part.queries) for part in parts)


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
