"""The attributes of every token of a batch of sequences, as one sparse table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.inputs import as_list
from structune.structure import offsets_of, place_of, segment_indices
from structune.tagging.features.items import Block, column_names, read_blocks
from structune.tagging.features.names import Names
from structune.tagging.kernels.names import drop_unknown


@dataclass(frozen=True)
class AttributeTable:
    """Named, weighted attributes of the tokens of a batch of sequences (CSR, one row a token).

    To scikit-learn it is an array of sequences, which it can split.

    Attributes
    ----------
    lengths : ndarray of int64, shape (n_sequences,)
        Tokens in each sequence.
    indptr : ndarray of int64, shape (n_tokens + 1,)
    indices : ndarray of int32, shape (n_entries,)
        Columns, each an index into `names`.
    values : ndarray of float64, shape (n_entries,), or None
        None stands for ones throughout.
    names : sequence of str
        Of columns; the text before the first ``=``, or else the first ``:``, is the template.
    """

    lengths: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64] | None
    names: Sequence[str]

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
    def shape(self) -> tuple[int]:
        """That of an array of sequences."""
        return (len(self),)

    @property
    def n_tokens(self) -> int:
        return self.indptr.size - 1

    @classmethod
    def from_items(cls, X: Iterable[Sequence[Any]], names: Names | None = None) -> AttributeTable:
        """From lists of tokens, each a list of strings or a dict.

        Parameters
        ----------
        X : iterable of sequences
            A token is an iterable of strings (each an attribute of value 1) or a mapping. In a mapping a
            number is the value of the attribute named by the key, a string becomes the attribute
            ``key=string``, a bool counts as 0 or 1, and a nested mapping has its names prefixed with
            ``key=``. A list, tuple or array of strings is several attributes ``key=string``, and one of
            numbers is the values of the attributes ``key:0``, ``key:1``, ...; a set is of strings.
        names : Names, optional
            Attributes to keep, and the columns of the table; by default all that occur.

        Raises
        ------
        DataError
            Names the sequence and token of the first attribute that cannot be used.
        """
        kept = Names() if names is None else names
        parts = [_read(block, kept, grow=names is None) for block in read_blocks(X)]
        lengths, counts, columns, values = zip(*parts, strict=True)
        return cls(
            np.concatenate(lengths),
            offsets_of(np.concatenate(counts)),
            np.concatenate(columns),
            _join_values(columns, values),
            kept.strings,
        )

    @classmethod
    def from_arrays(cls, X: Iterable[Any]) -> AttributeTable:
        """From arrays of numbers, one a sequence, shape (n_tokens, n_columns); columns as in `from_csr`.

        Raises
        ------
        DataError
            Names the sequence that is no such array, or the token of a value that is not finite.
        """
        X = list(X)
        given = [array for array in X if len(array)]
        n_columns = next((array.shape[1] for array in given if is_matrix(array)), 0)
        for s, array in enumerate(X):
            if len(array) and not (is_matrix(array) and array.shape[1] == n_columns):
                found = f"the shape {array.shape}" if is_matrix(array) else type(array).__name__
                raise DataError(
                    f"sequence {s}: found {found}, expected an array of numbers, one row a token, with "
                    f"{n_columns} columns as the others have"
                )
        lengths = [len(array) for array in X]
        return cls.from_csr(np.concatenate(given) if given else np.empty((0, 0)), lengths)

    @classmethod
    def from_csr(cls, matrix: Any, lengths: Any, names: Sequence[str] | None = None) -> AttributeTable:
        """From a matrix with one row a token, sparse or dense, and the number of tokens in each sequence.

        Parameters
        ----------
        names : sequence of str, optional
            Of the columns; by default ``x=0``, ``x=1``, ..., which is one group of weights.

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

    def with_columns(self, name: str, array: Any) -> AttributeTable:
        """The table with columns of numbers added, such as embeddings, whose weights are a group.

        Parameters
        ----------
        name : str
            The attributes are ``name:0``, ``name:1``, ..., as those of an array in a dict.
        array : array-like, shape (n_tokens, n_columns)
            The rows of all sequences, one sequence after the other.

        Raises
        ------
        DataError
            An array of another shape, a name that the table has, or a value that is not finite.
        """
        array = np.asarray(array, dtype=np.float64)
        if array.ndim != 2 or len(array) != self.n_tokens:
            raise DataError(
                f"columns {name!r}: found the shape {array.shape}, expected {self.n_tokens} rows, one a token"
            )
        names = column_names(name, array.shape[1])
        if not set(names).isdisjoint(self.names):
            raise DataError(f"columns {name!r}: the table has some of this name, expected another name")
        indptr = self.indptr + np.arange(self.indptr.size) * len(names)
        is_new = np.ones(indptr[-1], dtype=bool)
        is_new[np.arange(self.indices.size) + len(names) * self._rows()] = False
        columns, values = np.empty(is_new.size, np.int32), np.empty(is_new.size)
        columns[~is_new], values[~is_new] = self.indices, 1.0 if self.values is None else self.values
        columns[is_new] = np.tile(np.arange(len(names)) + len(self.names), self.n_tokens)
        values[is_new] = array.ravel()
        return AttributeTable(self.lengths, indptr, columns, values, [*self.names, *names])

    def _rows(self) -> NDArray[np.int64]:
        """The row of each entry."""
        return np.repeat(np.arange(self.n_tokens), np.diff(self.indptr))

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

    def __getitem__(self, sequences: Any) -> AttributeTable:
        """As `take`; scikit-learn asks for ``table[sequences, ...]``."""
        return self.take(sequences)


def as_table(X: Any, names: Names | None = None) -> AttributeTable:
    """Any of the forms of input that `SequenceTagger.fit` takes, as an attribute table.

    Parameters
    ----------
    names : Names, optional
        Attributes of lists and dicts to keep, as in `AttributeTable.from_items`.
    """
    if isinstance(X, AttributeTable):
        return X
    if isinstance(X, tuple) and len(X) == 2 and _has_rows(X[0]) and not is_matrix(X[1]):
        return AttributeTable.from_csr(*X)
    if isinstance(X, Sequence | np.ndarray) and any(map(is_matrix, X)):
        return AttributeTable.from_arrays(X)
    return AttributeTable.from_items(as_list(X, "sequences"), names)


def is_matrix(X: Any) -> bool:
    """Whether it is an array of numbers with two axes, of tokens and columns."""
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"


def _has_rows(X: Any) -> bool:
    return hasattr(X, "tocsr") or is_matrix(X)


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


def _read(block: Block, names: Names, grow: bool) -> tuple[Any, ...]:
    """Lengths of sequences, attributes of each token, their columns and their values, or None for ones."""
    counts, values = block.counts, block.values
    lengths = np.array(block.lengths, dtype=np.int64)
    if grow:
        return lengths, counts, names.enter(block.strings, block.name_of), values
    columns = names.find(block.strings)
    n = drop_unknown(counts, columns, np.empty(0) if values is None else values)
    return lengths, counts, columns[:n], None if values is None else values[:n]


def _join_values(columns: Sequence[Any], values: Sequence[Any]) -> NDArray[np.float64] | None:
    if all(some is None for some in values):
        return None
    pairs = zip(columns, values, strict=True)
    return _unless_ones(np.concatenate([np.ones(c.size) if v is None else v for c, v in pairs]))


def _unless_ones(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    return None if bool(np.all(values == 1.0)) else values
