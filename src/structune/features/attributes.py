"""The attributes of every token of a batch of sequences, as one sparse table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError


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
                f"the lengths add up to {tokens} tokens, but the attribute table has {self.indptr.size - 1} rows"
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
        ends = np.cumsum(self.lengths)
        sequence = int(np.searchsorted(ends, row, side="right"))
        return sequence, row - int(ends[sequence] - self.lengths[sequence])

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
        columns: dict[str, int] = {}
        lengths, row_sizes, indices, values = [], [], [], []
        for s, sequence in enumerate(X):
            if isinstance(sequence, str) or not isinstance(sequence, Sequence):
                raise DataError(f"sequence {s}: found {type(sequence).__name__}, expected a list of tokens")
            lengths.append(len(sequence))
            for t, token in enumerate(sequence):
                start = len(indices)
                try:
                    for name, value in _token_attributes(token):
                        indices.append(columns.setdefault(name, len(columns)))
                        values.append(value)
                except TypeError as error:
                    raise DataError(f"sequence {s}, token {t}: {error}") from None
                row_sizes.append(len(indices) - start)
        value_array = np.asarray(values, dtype=np.float64)
        return cls(
            np.asarray(lengths, dtype=np.int64),
            np.concatenate(([0], np.cumsum(np.asarray(row_sizes, dtype=np.int64)))),
            np.asarray(indices, dtype=np.int32),
            None if bool(np.all(value_array == 1.0)) else value_array,
            list(columns),
        )

    @classmethod
    def from_csr(cls, matrix: Any, lengths: Any, names: Sequence[str] | None = None) -> AttributeTable:
        """From a SciPy sparse matrix with one row a token, and the number of tokens in each sequence."""
        matrix = matrix.tocsr()
        if names is not None and len(names) != matrix.shape[1]:
            raise DataError(f"found {len(names)} attribute names for {matrix.shape[1]} columns")
        if names is None:
            names = [f"x={j}" for j in range(matrix.shape[1])]
        values = np.asarray(matrix.data, dtype=np.float64)
        return cls(
            np.asarray(lengths, dtype=np.int64),
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            None if bool(np.all(values == 1.0)) else values,
            list(names),
        )

    def take(self, sequences: Any) -> AttributeTable:
        """The table of the given sequences, in the given order; the columns stay as they are."""
        rows = segment_indices(np.concatenate(([0], np.cumsum(self.lengths))), sequences)
        entries = segment_indices(self.indptr, rows)
        return AttributeTable(
            self.lengths[sequences],
            np.concatenate(([0], np.cumsum(np.diff(self.indptr)[rows]))),
            self.indices[entries],
            None if self.values is None else self.values[entries],
            self.names,
        )


def segment_indices(offsets: NDArray[np.int64], segments: Any) -> NDArray[np.int64]:
    """Positions ``offsets[s]:offsets[s + 1]`` of the given segments, one after the other."""
    segments = np.asarray(segments, dtype=np.int64)
    starts, sizes = offsets[segments], np.diff(offsets)[segments]
    shift = np.repeat(starts - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes) if sizes.size else starts
    return shift + np.arange(sizes.sum())


def _token_attributes(token: Any) -> Iterator[tuple[str, float]]:
    if isinstance(token, Mapping):
        for key, value in token.items():
            yield from _named_value(str(key), value)
    elif isinstance(token, Iterable) and not isinstance(token, str | bytes):
        for name in token:
            if not isinstance(name, str):
                raise TypeError(f"found the attribute {name!r}, expected a string")
            yield name, 1.0
    else:
        raise TypeError(f"found {token!r}, expected a list of strings or a dict")


def _named_value(key: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, str):
        yield f"{key}={value}", 1.0
    elif isinstance(value, bool | int | float | np.number | np.bool_):
        yield key, float(value)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _named_value(f"{key}={name}", inner)
    elif isinstance(value, list | set | tuple | frozenset):
        for name in value:
            yield f"{key}={name}", 1.0
    else:
        raise TypeError(f"found {value!r} for the attribute {key!r}, expected a number or a string")
