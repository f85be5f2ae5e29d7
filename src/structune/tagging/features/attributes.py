"""The attributes of every token of a batch of sequences, as one sparse table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import DataError
from structune.structure import offsets_of, place_of, segment_indices


@dataclass(frozen=True)
class AttributeTable:
    """Named, weighted attributes of the tokens of a batch of sequences (CSR, one row a token).

    Attributes
    ----------
    lengths : ndarray of int64, shape (n_sequences,)
        Tokens in each sequence.
    indptr : ndarray of int64, shape (n_tokens + 1,)
    indices : ndarray of int32, shape (n_entries,)
        Columns, each an index into `names`.
    values : ndarray of float64, shape (n_entries,), or None
        None stands for ones throughout.
    names : list of str
        Column names; the text before the first ``=`` is the template.
    """

    lengths: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64] | None
    names: list[str]

    def __post_init__(self) -> None:
        tokens = int(self.lengths.sum())
        if self.indptr.size != tokens + 1:
            raise DataError(
                f"the lengths add up to {tokens} tokens, but the attribute table has {self.n_tokens} rows"
            )
        if self.indices.size and not 0 <= self.indices.min() <= self.indices.max() < len(self.names):
            raise DataError(f"an attribute index lies outside the {len(self.names)} named columns")
        if self.values is not None:
            self._check_values(self.values)

    def _check_values(self, values: NDArray[np.float64]) -> None:
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            sequence, token = self.place(int(np.searchsorted(self.indptr, bad[0], side="right")) - 1)
            raise DataError(
                f"sequence {sequence}, token {token}: attribute {self.names[self.indices[bad[0]]]!r} "
                f"has the value {values[bad[0]]}, expected a finite number"
            )

    def place(self, row: int) -> tuple[int, int]:
        """Sequence and token of a table row, both counted from 0."""
        return place_of(row, self.lengths)

    def __len__(self) -> int:
        return self.lengths.size

    @property
    def n_tokens(self) -> int:
        return self.indptr.size - 1

    @classmethod
    def from_items(cls, X: Iterable[Sequence[Any]]) -> AttributeTable:
        """From lists of tokens, each a list of strings or a dict.

        Parameters
        ----------
        X : iterable of sequences
            A token is an iterable of strings (each an attribute of value 1) or a mapping. In a mapping a
            number is the value of the attribute named by the key, a string becomes the attribute
            ``key=string``, a bool counts as 0 or 1, and a nested mapping, list or set has its names
            prefixed with ``key=``.

        Raises
        ------
        DataError
            Names the sequence and token of the first attribute that cannot be used.
        """
        rows, lengths = _Rows(), []
        for s, sequence in enumerate(X):
            lengths.append(_length(s, sequence))
            for t, token in enumerate(sequence):
                try:
                    rows.append(token)
                except (TypeError, OverflowError) as error:
                    raise DataError(f"sequence {s}, token {t}: {_complaint(token, error)}") from None
        return cls(
            np.array(lengths, dtype=np.int64),
            rows.indptr,
            np.array(rows.indices, dtype=np.int32),
            rows.values(),
            list(rows.columns),
        )

    @classmethod
    def from_csr(cls, matrix: Any, lengths: Any, names: Sequence[str] | None = None) -> AttributeTable:
        """From a matrix with one row a token, sparse or dense, and the number of tokens in each sequence.

        Raises
        ------
        DataError
            The lengths or the names do not fit the matrix, or a value is not finite.
        """
        matrix = scipy.sparse.csr_array(matrix)
        names = [f"x={j}" for j in range(matrix.shape[1])] if names is None else list(names)
        if len(names) != matrix.shape[1]:
            raise DataError(f"found {len(names)} attribute names for {matrix.shape[1]} columns")
        if len(set(names)) != len(names):
            raise DataError("two columns have the same attribute name, expected each name once")
        return cls(
            as_lengths(lengths),
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            _unless_ones(np.asarray(matrix.data, dtype=np.float64)),
            names,
        )

    def used(self) -> AttributeTable:
        """The same table without the columns that no token has."""
        present = np.bincount(self.indices, minlength=len(self.names)) > 0
        if present.all():
            return self
        columns = np.cumsum(present, dtype=np.int32) - 1
        names = [self.names[a] for a in np.flatnonzero(present).tolist()]
        return AttributeTable(self.lengths, self.indptr, columns[self.indices], self.values, names)

    def take(self, sequences: Any) -> AttributeTable:
        """The table of some sequences, given as NumPy selects them; the columns stay as they are."""
        sequences = np.atleast_1d(np.arange(len(self))[sequences])
        rows = segment_indices(offsets_of(self.lengths), sequences)
        entries = segment_indices(self.indptr, rows)
        return AttributeTable(
            self.lengths[sequences],
            offsets_of(np.diff(self.indptr)[rows]),
            self.indices[entries],
            None if self.values is None else self.values[entries],
            self.names,
        )


def as_lengths(lengths: Any) -> NDArray[np.int64]:
    """The numbers of tokens of the sequences as an array; `DataError` where one is no count."""
    array = np.asarray(lengths)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise DataError(
            f"found sequence lengths of shape {array.shape} and type {array.dtype}, expected a list of int"
        )
    negative = np.flatnonzero(array < 0)
    if negative.size:
        first = negative[0]
        raise DataError(f"sequence {first}: found the length {array[first]}, expected 0 or more")
    return array.astype(np.int64)


def _length(s: int, sequence: Any) -> int:
    if isinstance(sequence, str) or not isinstance(sequence, Sequence | np.ndarray):
        raise DataError(f"sequence {s}: found {type(sequence).__name__}, expected a list of tokens")
    return len(sequence)


class _Columns(dict[str, int]):
    """Numbers names in the order in which they are first met."""

    def __missing__(self, name: str) -> int:
        if not isinstance(name, str):
            raise TypeError(f"found the attribute {name!r}, expected a string")
        self[name] = number = len(self)
        return number


class _Rows:
    """The rows of a table that grows token by token."""

    def __init__(self) -> None:
        self.columns = _Columns()
        self.indices: list[int] = []
        self.ends = [0]
        self.is_weighted: list[bool] = []
        self.weights: list[float] = []  # of the weighted rows only: most tokens are lists of strings

    def append(self, token: Any) -> None:
        names, weights = _token_attributes(token)
        self.indices.extend(map(self.columns.__getitem__, names))
        self.ends.append(len(self.indices))
        self.is_weighted.append(weights is not None)
        self.weights.extend(weights or ())

    @property
    def indptr(self) -> NDArray[np.int64]:
        return np.array(self.ends, dtype=np.int64)

    def values(self) -> NDArray[np.float64] | None:
        values = np.ones(len(self.indices))
        values[np.repeat(np.array(self.is_weighted, dtype=bool), np.diff(self.indptr))] = self.weights
        return _unless_ones(values)


def _unless_ones(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    return None if bool(np.all(values == 1.0)) else values


def _token_attributes(token: Any) -> tuple[Iterable[str], list[float] | None]:
    """Names and values; None stands for ones."""
    if isinstance(token, list):  # the common case first: this runs once a token
        return token, None
    if isinstance(token, Mapping):
        names: list[str] = []
        values: list[float] = []
        _collect(token, "", names, values)
        return names, values
    if isinstance(token, Iterable) and not isinstance(token, str | bytes):
        return token, None
    raise TypeError(f"found {token!r}, expected a list of strings or a dict")


def _collect(mapping: Mapping[Any, Any], prefix: str, names: list[str], values: list[float]) -> None:
    for key, value in mapping.items():
        if isinstance(value, str):
            names.append(f"{prefix}{key}={value}")
            values.append(1.0)
        elif isinstance(value, float | int | np.floating | np.integer | np.bool_):
            names.append(f"{prefix}{key}")
            values.append(float(value))
        elif isinstance(value, Mapping):
            _collect(value, f"{prefix}{key}=", names, values)
        elif isinstance(value, list | set | tuple | frozenset):
            names.extend(f"{prefix}{key}={name}" for name in value)
            values.extend(repeat(1.0, len(value)))
        else:
            raise TypeError(
                f"found {value!r} for the attribute {prefix + str(key)!r}, expected a number or a string"
            )


def _complaint(token: Any, error: Exception) -> str:
    """What is wrong with a token; an unhashable attribute is named, where dict names only its type."""
    if isinstance(token, list | tuple):
        return next(
            (f"found the attribute {a!r}, expected a string" for a in token if not isinstance(a, str)),
            str(error),
        )
    return str(error)
