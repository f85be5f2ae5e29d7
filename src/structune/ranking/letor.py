"""LETOR files (SVMlight with queries): one document per line, ``2 qid:10 1:0.03 2:NULL 5:1 # a comment``.

They have a reader of their own because scikit-learn's ``load_svmlight_file`` reads neither ``NULL`` nor query
ids that are not numbers, and drops comments, which hold the identifiers of documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np

from structune.errors import DataError
from structune.files.looks_like import named_by_look
from structune.files.text import Source, line_blocks, save, shown, source_name
from structune.running.memory import batches
from structune.structure import FloatArray, IntArray

_MISSING = "NULL"
_BLOCK = 1 << 22  # bytes that are parsed at a time
_MOST_CELLS, _MOST_CELLS_A_VALUE = 1 << 24, 100
# all features of a line are matched at once; single words are looked at to say which one is wrong
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_FEATURE = rf"\d{{1,18}}:(?:{_NUMBER}|{_MISSING})"
_NUMBER_WORD = re.compile(_NUMBER, re.ASCII)
_FEATURE_WORD = re.compile(_FEATURE, re.ASCII)
_FEATURE_WORDS = re.compile(rf"(?:{_FEATURE} )*", re.ASCII)


@dataclass(frozen=True)
class LetorData:
    """Documents of queries, one row per document.

    Attributes
    ----------
    X : ndarray of float64, shape (n_documents, n_features)
        Dense feature matrix. Missing values (``NULL``) are nan, or the `missing` of `read_letor`.
    relevance : ndarray of float64, shape (n_documents,)
        Relevance of each document, >= 0.
    queries : list of str
        Query id of each document, as written in the file.
    feature_indices : ndarray of int64, shape (n_features,)
        Feature number in the file of each column of `X`; at least 1, and increasing.
    comments : list of str
        Text after ``#`` for each document, such as ``docid = 1056``; empty if there is none.
    """

    X: FloatArray
    relevance: FloatArray
    queries: list[str]
    feature_indices: IntArray
    comments: list[str]

    def __post_init__(self) -> None:
        shape = len(self), self.feature_indices.size
        if self.X.shape != shape:
            raise DataError(f"X must have the shape {shape}, not {self.X.shape}")
        for what, size in (("queries", len(self.queries)), ("comments", len(self.comments))):
            if size != len(self):
                raise DataError(f"{what} has {size:,} entries, but there are {len(self):,} documents")

    def __len__(self) -> int:
        return self.relevance.size


def read_letor(
    source: Source, features: Sequence[int] | None = None, missing: float | None = float("nan")
) -> LetorData:
    """Read a LETOR file, or an SVMlight file with queries (also compressed).

    A feature that is absent from a line is 0. Lines that start with ``#`` are skipped.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it stays open.
    features : sequence of int, optional
        Increasing numbers of the features to read, such as the `feature_indices` of the training set; by
        default all features in the file.
    missing : float, optional
        Value that replaces ``NULL``. None makes ``NULL`` an error.

    Raises
    ------
    DataError
        A relevance is not a number >= 0; a document has no query; a feature has no finite value, or is not
        in increasing order; the documents of a query are not together; a value is ``NULL`` and `missing` is
        None (these messages give file and line); or the file has no documents, or too few values for a
        dense table.
    """
    return _data(source_name(source), list(_documents(source)), features, missing)


def read_letor_blocks(
    source: Source,
    features: Sequence[int] | None = None,
    missing: float | None = float("nan"),
    n_values: int = 1 << 20,
) -> Iterator[LetorData]:
    """Read a LETOR file in blocks of whole queries, for files larger than memory.

    A block has about `n_values` values. Other parameters and errors are those of `read_letor`. Without
    `features`, each block has the features that occur in it.

    Yields
    ------
    LetorData
    """
    n_features = 0 if features is None else len(features)

    def size(query: list[_Document]) -> int:
        return sum(1 + max(n_features, document.indices.size) for document in query)

    queries = (list(own) for _, own in groupby(_documents(source), lambda document: document.query))
    for block in batches(queries, size, n_values, n_values):
        yield _data(source_name(source), list(chain.from_iterable(block)), features, missing)


def letor_features(source: Source) -> Iterator[IntArray]:
    """Yield the feature numbers of each document of a LETOR file; errors are those of `read_letor`."""
    for document in _documents(source):
        yield document.indices


def _data(
    name: str, documents: list[_Document], features: Sequence[int] | None, missing: float | None
) -> LetorData:
    """A table of the documents, with the features given, or all that occur."""
    if features is None:
        columns = np.unique(np.concatenate([document.indices for document in documents]))
    else:
        columns = np.asarray(features)
        if columns.dtype.kind not in "iu":
            raise DataError(f"feature numbers must be whole numbers, not {columns}")
        columns = _checked_columns(columns.astype(np.int64))
    n_values = sum(document.values.size for document in documents)
    # a table is dense: a small file could ask for one that does not fit in memory
    if len(documents) * columns.size > max(_MOST_CELLS, _MOST_CELLS_A_VALUE * n_values):
        raise DataError(
            f"{name}: {n_values:,} values are too few for a dense table of {len(documents):,} documents and "
            f"{columns.size:,} features. A table of this size needs a value in at least one of "
            f"{_MOST_CELLS_A_VALUE} cells. Read fewer features, or pass a sparse matrix to Ranker"
        )
    X, known = np.zeros((len(documents), columns.size)), np.append(columns, -1)
    for row, document in zip(X, documents, strict=True):
        places = np.searchsorted(columns, document.indices)
        asked = known[places] == document.indices
        row[places[asked]] = document.values[asked]
    if missing is None:
        for j, column in np.argwhere(np.isnan(X))[:1]:
            what = f"feature {columns[column]} is {_MISSING}. Give a number for it: missing= or --missing"
            raise DataError(f"{name}:{documents[j].line}: {what}")
    else:
        X[np.isnan(X)] = missing
    relevance = np.array([document.relevance for document in documents])
    queries, comments = [each.query for each in documents], [each.comment for each in documents]
    return LetorData(X, relevance, queries, columns, comments)


def with_features(data: LetorData, features: Sequence[int]) -> LetorData:
    """The documents with the given features, in this order; absent ones are 0."""
    X = np.zeros((len(data), len(features)))
    X[:, np.searchsorted(features, data.feature_indices)] = data.X
    return LetorData(X, data.relevance, data.queries, np.array(features), data.comments)


def write_letor(target: Source, data: LetorData) -> None:
    """Write a LETOR file, compressed by gzip if the path ends in ``.gz``; nan is written as ``NULL``.

    A file object may be binary or text.

    Raises
    ------
    DataError
        There are no documents; or a relevance, value, query or comment cannot be written so that it can be
        read back.
    """
    _check_writable(data)
    names, lines = data.feature_indices.tolist(), []
    rows = zip(data.relevance.tolist(), data.queries, data.X.tolist(), data.comments, strict=True)
    for relevance, query, values, comment in rows:
        features = (f" {name}:{_number(value)}" for name, value in zip(names, values, strict=True))
        behind = f" #{comment}" if comment else ""
        lines.append(f"{_number(relevance)} qid:{query}{''.join(features)}{behind}\n")
    save(target, "".join(lines))


def _number(value: float) -> str:
    return _MISSING if np.isnan(value) else repr(float(value)).removesuffix(".0")


class _Document(NamedTuple):
    line: int
    relevance: float
    query: str
    indices: IntArray  # of its features
    values: FloatArray  # nan where they are missing
    comment: str


def _documents(source: Source) -> Iterator[_Document]:
    """Yield the documents one by one; DataError if those of a query are not together."""
    name, previous, begun, first = source_name(source), None, dict[str, int](), 1
    for text in line_blocks(source, _BLOCK, universal=True):
        for line, content in enumerate(text.split(b"\n"), first):
            words = content.decode(errors="surrogateescape").strip()
            if not words or words.startswith("#"):
                continue
            try:
                document = _parsed(line, words)
            except DataError as error:
                told = DataError(f"{name}:{line}: {error}")
                raise (named_by_look(told, text, ("LETOR",)) if first == 1 else told) from None
            if document.query != previous and begun.setdefault(document.query, line) != line:
                raise DataError(
                    f"{name}:{line}: the query {shown(document.query)} occurs again after line "
                    f"{begun[document.query]}. Put all documents of a query together"
                )
            previous = document.query
            yield document
        first += text.count(b"\n")
    if not begun:
        raise DataError(f"{name}: there are no documents. Write lines such as '2 qid:1 1:0.5'")


def _parsed(line: int, text: str) -> _Document:
    """The document of a line."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{shown(text[error.start :])} is not UTF-8 text") from error
    content, _, comment = text.partition("#")
    words = content.split()
    relevance, query = [*words, "", ""][:2]
    if not _NUMBER_WORD.fullmatch(relevance) or not 0.0 <= float(relevance) < np.inf:
        raise DataError(f"the relevance {shown(relevance)} is not a finite number >= 0")
    if not query.startswith("qid:") or query == "qid:":
        raise DataError(f"{shown(query)} after the relevance is not a query such as 'qid:1'")
    words = words[2:]
    if not _FEATURE_WORDS.fullmatch("".join(f"{word} " for word in words)):
        wrong = next(word for word in words if not _FEATURE_WORD.fullmatch(word))
        raise DataError(f"{shown(wrong)} is not a feature such as '1:0.5' or '1:{_MISSING}'")
    pairs = [word.split(":") for word in words]
    values = np.array([np.nan if value == _MISSING else float(value) for _, value in pairs])
    for j in np.flatnonzero(np.isinf(values))[:1]:
        raise DataError(f"the value of {shown(words[j])} is not finite")
    indices = np.array([int(index) for index, _ in pairs], dtype=np.int64)
    for j in _falls(indices)[:1]:
        what = f"follows {indices[j - 1]}, but numbers must increase" if j else "is not 1 or more"
        raise DataError(f"the feature number {indices[j]} {what}")
    return _Document(line, float(relevance), query[4:], indices, values, comment.strip())


def _falls(indices: IntArray) -> IntArray:
    """Where numbers that should rise from 1 or more do not."""
    return np.flatnonzero(np.diff(indices, prepend=0) < 1)


def _checked_columns(indices: IntArray) -> IntArray:
    if indices.ndim != 1 or _falls(indices).size:
        raise DataError(f"feature numbers must be 1 or more and increase, but they are {indices}")
    return indices


def _check_writable(data: LetorData) -> None:
    if not len(data):
        raise DataError("there are no documents to write")
    _checked_columns(data.feature_indices)
    wrong = ~(np.isfinite(data.relevance) & (data.relevance >= 0.0))
    for j in np.flatnonzero(wrong)[:1]:
        raise DataError(f"document {j}: the relevance {data.relevance[j]} is not a number >= 0")
    for j, column in np.argwhere(np.isinf(data.X))[:1]:
        raise DataError(
            f"document {j}, feature {data.feature_indices[column]}: {data.X[j, column]} is neither a finite "
            "number nor nan"
        )
    for j, (query, comment) in enumerate(zip(data.queries, data.comments, strict=True)):
        if query.split() != [query] or "#" in query or not _is_line(query):
            raise DataError(f"document {j}: the query {query!r} is not one word without '#'")
        if not _is_line(comment):
            raise DataError(f"document {j}: the comment {comment!r} is not one line of text")
    begun: set[str] = set()
    for query, _ in groupby(data.queries):
        if query in begun:
            raise DataError(f"the documents of the query {query!r} are not together")
        begun.add(query)


def _is_line(text: str) -> bool:
    return text == text.strip() and not re.search(r"[\r\n\ud800-\udfff]", text)
