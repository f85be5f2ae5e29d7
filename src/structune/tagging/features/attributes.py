"""The attributes of every token of a batch of sequences, as one sparse table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.inputs import as_list
from structune.files.text import plural
from structune.structure import FloatArray, IntArray, offsets_of, place_of, segment_indices
from structune.tagging.features.strings import Names, Numbers, Strings

Plain = Callable[[Any], Any]  # from a token as another library has it to one that can be read
_TOKENS = 1 << 10  # at a time: their strings stay in the caches
NUMBERS = (float, int, np.floating, np.integer, np.bool_)
_PLAIN = {str, float, int, bool, np.float64}
_NESTED = {*_PLAIN, dict}


def _runs(X: Iterable[Sequence[Any]]) -> Iterator[tuple[int, list[Sequence[Any]]]]:
    """Some sequences at a time, and the number of the first."""
    some, first, n_tokens = list[Sequence[Any]](), 0, 0
    for s, sequence in enumerate(X):
        is_list = type(sequence) is list or isinstance(sequence, Sequence | np.ndarray)
        if not is_list and hasattr(sequence, "to_list"):  # a Series of pandas or Polars
            sequence, is_list = sequence.to_list(), True
        if not is_list or isinstance(sequence, str):
            told = ". Give its rows as dicts" if hasattr(sequence, "columns") else ""
            raise DataError(f"sequence {s}: must be a list of tokens, not {type(sequence).__name__}{told}")
        some.append(sequence)
        n_tokens += len(sequence)
        if n_tokens >= _TOKENS:
            yield first, some
            some, first, n_tokens = [], s + 1, 0
    yield first, some


def _read(
    sequences: list[Sequence[Any]], first: int, join: str, plain: Plain | None
) -> tuple[list[int], Strings, FloatArray | None]:
    """How many attributes each token has, their names, and their values, or None for ones."""
    tokens = list(chain.from_iterable(sequences))
    kinds = set(map(type, tokens))
    try:  # the common cases at once: lists of strings, and flat dicts of strings and numbers
        if kinds <= {list, tuple}:
            return list(map(len, tokens)), Strings.of(list(chain.from_iterable(tokens))), None
        if kinds == {dict}:
            given = list(chain.from_iterable(map(dict.values, tokens)))
            types = set(map(type, given))
            if types <= _PLAIN:
                # a key that is no string raises here, or below as a name: the long way makes it one
                pairs = zip(chain.from_iterable(tokens), given, strict=True)
                counts = list(map(len, tokens))
                if types == {str}:
                    return counts, Strings.of(list(map(join.join, pairs))), None
                names = [key + join + value if type(value) is str else key for key, value in pairs]
                values = [1.0 if type(value) is str else value for value in given]
                return counts, Strings.of(names), np.array(values, float)
            if types <= _NESTED:
                ends, names, values = [0], [], []
                for token in tokens:
                    _append_plain(token, "", join, names, values)
                    ends.append(len(names))
                counts = [end - start for start, end in pairwise(ends)]
                return counts, Strings.of(names), np.array(values, float)
    except (TypeError, OverflowError):  # what only the long way can read, or can tell of
        pass
    if plain is not None:
        with suppress(TypeError):  # which the long way gives its place
            return _read([list(map(plain, sequence)) for sequence in sequences], first, join, None)
    counts, names, values = [], [], []
    for s, sequence in enumerate(sequences, first):
        for t, token in enumerate(sequence):
            before = len(names)
            try:
                _append(token if plain is None else plain(token), join, names, values)
            except (TypeError, OverflowError) as error:
                raise DataError(f"sequence {s}, token {t}: {error}") from None
            counts.append(len(names) - before)
    return counts, Strings.of(names), np.array(values, np.float64)


def _numbered(
    X: Iterable[Sequence[Any]], number: Callable[[Strings], Numbers], join: str, plain: Plain | None
) -> KnownRows:
    """Rows of lists of tokens whose attributes `number` gives their columns."""
    lengths, counts, parts = list[int](), list[int](), []
    for first, sequences in _runs(X):
        lengths += map(len, sequences)
        some, strings, values = _read(sequences, first, join, plain)
        counts += some
        parts.append((number(strings), values))
    # Few tokens come in one part, which is not copied. Ones are written out only where another part has
    # values that are none.
    columns, values = parts[0]
    if len(parts) > 1:
        columns = np.concatenate([c for c, _ in parts])
        if any(v is not None for _, v in parts):
            values = np.concatenate([np.ones(c.size) if v is None else v for c, v in parts])
    indptr = np.fromiter(accumulate(counts, initial=0), np.int64, len(counts) + 1)
    return KnownRows(np.array(lengths, np.int64), indptr, columns, values)


def _append_plain(
    mapping: dict[str, Any], prefix: str, join: str, names: list[str], values: list[Any]
) -> None:
    """As `_append_mapping` for nested dicts of strings and numbers; raises `TypeError` for others."""
    for key, value in mapping.items():
        kind = type(value)
        if kind is str:
            names.append(prefix + key + join + value)
            values.append(1.0)
        elif kind is dict:
            _append_plain(value, prefix + key + join, join, names, values)
        elif kind in _PLAIN:
            names.append(prefix + key)
            values.append(value)
        else:
            raise TypeError(key)


def _append(token: Any, join: str, names: list[str], values: list[float]) -> None:
    if isinstance(token, Mapping):
        _append_mapping(token, "", join, names, values)
        return
    if not isinstance(token, Iterable) or isinstance(token, str | bytes):
        raise TypeError(f"a token must be a list of strings or a dict, not {token!r}")
    for attribute in token:
        if not isinstance(attribute, str):
            raise TypeError(f"the attribute {attribute!r} is not a string")
        names.append(attribute)
        values.append(1.0)


def _append_mapping(
    mapping: Mapping[Any, Any], prefix: str, join: str, names: list[str], values: list[float]
) -> None:
    for key, value in mapping.items():
        name = f"{prefix}{key}"
        if isinstance(value, NUMBERS):
            names.append(name)
            values.append(float(value))
        elif isinstance(value, Mapping):
            _append_mapping(value, f"{name}{join}", join, names, values)
        else:  # one string or several are attributes, several numbers are columns
            is_array, is_set = isinstance(value, np.ndarray), isinstance(value, set | frozenset)
            is_several = is_array or is_set or isinstance(value, list | tuple)
            items = np.atleast_1d(value).tolist() if is_array else list(value) if is_several else [value]
            if all(isinstance(item, str) for item in items):
                names += [f"{name}{join}{item}" for item in items]
                values += [1.0] * len(items)
            elif not is_several:
                raise TypeError(f"the attribute {name!r} must be a number or a string, not {value!r}")
            elif is_set or not all(isinstance(item, NUMBERS) for item in items):
                raise TypeError(
                    f"the attribute {name!r} is {value!r}. A list must contain only strings (several "
                    "attributes) or only numbers (several columns). A set must contain only strings"
                )
            else:
                names += column_names(name, len(items))
                values += map(float, items)


@lru_cache(maxsize=64)
def column_names(name: str, n: int) -> list[str]:
    """Names of the columns of an array; all are of one template."""
    return [f"{name}:{j}" for j in range(n)]


@dataclass(frozen=True)
class AttributeTable:
    """Attributes of the tokens of many sequences, with names and values: a sparse matrix, one row per token.

    Its length is the number of sequences, and scikit-learn splits it by sequences, as in cross-validation.

    Attributes
    ----------
    lengths : ndarray of int64, shape (n_sequences,)
        Number of tokens in each sequence.
    indptr : ndarray of int64, shape (n_tokens + 1,)
        Entries of token t are ``indptr[t]:indptr[t + 1]`` (CSR format).
    indices : ndarray of int32, shape (n_entries,)
        Column of each entry, an index into `names`.
    values : ndarray of float64, shape (n_entries,), or None
        Value of each entry. None means that all are 1.
    names : sequence of str
        Names of columns; the text before the first ``=``, or else the first ``:``, is the template.
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
                f"the lengths add up to {tokens:,} tokens, but the attribute table has {self.n_tokens:,} rows"
            )
        if self.indices.size and not 0 <= self.indices.min() <= self.indices.max() < len(self.names):
            raise DataError(f"an attribute index is out of range: there are {len(self.names):,} columns")
        _check_finite(KnownRows(self.lengths, self.indptr, self.indices, self.values), self.names)

    def place(self, row: int) -> tuple[int, int]:
        """Return the sequence and the token of a row of the table, all counted from 0."""
        return place_of(row, self.lengths)

    def __len__(self) -> int:
        return self.lengths.size

    @property
    def shape(self) -> tuple[int]:
        """Shape of the table as a tuple, ``(n_sequences,)``."""
        return (len(self),)

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all sequences."""
        return self.indptr.size - 1

    @classmethod
    def from_items(cls, X: Iterable[Sequence[Any]], join: str = "=") -> AttributeTable:
        """Make a table from lists of tokens, where each token is a list of strings or a dict.

        Parameters
        ----------
        X : iterable of sequences
            A token is an iterable of strings, which are attributes with the value 1, or a mapping. In a
            mapping, ``key: number`` is the attribute ``key`` with this value; a bool counts as 0 or 1.
            ``key: string`` is the attribute ``key=string``; a list, tuple, array or set of strings gives one
            such attribute each. Names from a nested mapping begin with ``key=``. A list, tuple or array of
            numbers gives the attributes ``key:0``, ``key:1``, ... with these values.
        join : str
            Text between a key and a string.

        Raises
        ------
        DataError
            An attribute cannot be used; the message names its sequence and token (counted from 0).
        """
        return table_of_items(X, join)

    @classmethod
    def from_arrays(cls, X: Iterable[Any]) -> AttributeTable:
        """Make a table from one array of numbers per sequence, each of shape (n_tokens, n_columns).

        Columns have the names that `from_csr` gives.

        Raises
        ------
        DataError
            A sequence is not such an array, or a value is not finite; the message names it.
        """
        X = list(X)
        given = [array for array in X if len(array)]
        n_columns = next((array.shape[1] for array in given if is_matrix(array)), 0)
        for s, array in enumerate(X):
            if len(array) and not (is_matrix(array) and array.shape[1] == n_columns):
                found = f"the shape {array.shape}" if is_matrix(array) else type(array).__name__
                raise DataError(
                    f"sequence {s}: must be an array of numbers with one row per token and {n_columns:,} "
                    f"columns, as the other sequences, not {found}"
                )
        lengths = [len(array) for array in X]
        return cls.from_csr(np.concatenate(given) if given else np.empty((0, 0)), lengths)

    @classmethod
    def from_csr(cls, matrix: Any, lengths: Any, names: Sequence[str] | None = None) -> AttributeTable:
        """Make a table from a sparse or dense matrix, one row per token, and the lengths of the sequences.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the columns; by default ``x=0``, ``x=1``, ..., which are one group of weights.

        Raises
        ------
        DataError
            The lengths or the names do not fit the matrix, or a value is not finite.
        """
        matrix = scipy.sparse.csr_array(matrix)
        names = _Unnamed(f"x={j}" for j in range(matrix.shape[1])) if names is None else list(names)
        if len(names) != matrix.shape[1]:
            raise DataError(f"there are {len(names):,} attribute names, but {matrix.shape[1]:,} columns")
        if len(set(names)) != len(names):
            raise DataError("two columns have the same attribute name")
        return cls(
            as_lengths(lengths),
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            _unless_ones(np.asarray(matrix.data, dtype=np.float64)),
            names,
        )

    def with_columns(self, name: str, array: Any) -> AttributeTable:
        """Return a table with more columns of numbers, such as embeddings; their weights form one group.

        Parameters
        ----------
        name : str
            Name of the group. The attributes are ``name:0``, ``name:1``, ..., as for an array in a dict.
        array : array-like, shape (n_tokens, n_columns)
            Rows of the tokens of all sequences, one sequence after the other.

        Raises
        ------
        DataError
            The array has another shape, the table has the name already, or a value is not finite.
        """
        array = np.asarray(array, dtype=np.float64)
        if array.ndim != 2 or len(array) != self.n_tokens:
            raise DataError(
                f"columns {name!r}: the array has shape {array.shape}, but must have {self.n_tokens:,} rows"
            )
        names, n = column_names(name, array.shape[1]), self.n_tokens
        if not set(names).isdisjoint(self.names):
            raise DataError(f"columns {name!r}: the table has this name already. Choose another name")
        values = np.ones(self.indices.size) if self.values is None else self.values
        columns = np.tile(np.arange(len(names)), n), np.arange(n + 1) * len(names)
        both = scipy.sparse.hstack((
            scipy.sparse.csr_array((values, self.indices, self.indptr), (n, len(self.names))),
            scipy.sparse.csr_array((array.ravel(), *columns), array.shape),
        ), format="csr")  # fmt: skip
        return AttributeTable(
            self.lengths,
            both.indptr.astype(np.int64),
            both.indices.astype(np.int32),
            both.data,
            [*self.names, *names],
        )

    def used(self) -> AttributeTable:
        """Return the table without the columns that no token has."""
        present = np.bincount(self.indices, minlength=len(self.names)) > 0
        if present.all():
            return self
        columns = np.cumsum(present, dtype=np.int32) - 1
        names = [self.names[a] for a in np.flatnonzero(present).tolist()]
        return AttributeTable(self.lengths, self.indptr, columns[self.indices], self.values, names)

    def take(self, sequences: Any) -> AttributeTable:
        """Return a table of the selected sequences (an index as in NumPy) with all columns."""
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
        """The same as `take`; scikit-learn calls ``table[sequences, ...]``."""
        return self.take(sequences)


class _Unnamed(list[str]):
    """Names of the columns of an array, which are only numbered."""


def n_unnamed(table: AttributeTable) -> int | None:
    """The number of columns of a table of arrays, the same in training and prediction; None for others."""
    return len(table.names) if isinstance(table.names, _Unnamed) else None


class KnownRows(NamedTuple):
    """Attributes of tokens by their numbers among known names, -1 for others (CSR, one row a token)."""

    lengths: IntArray
    indptr: IntArray
    columns: Numbers
    values: FloatArray | None  # ones

    def with_tokens(self) -> KnownRows:
        """Without sequences that have no tokens, and so no rows."""
        if np.count_nonzero(self.lengths) == self.lengths.size:
            return self
        return self._replace(lengths=self.lengths[self.lengths > 0])


def _check_finite(rows: KnownRows, names: Sequence[str]) -> None:
    if rows.values is None or np.count_nonzero(np.isfinite(rows.values)) == rows.values.size:
        return
    for bad in np.flatnonzero(~np.isfinite(rows.values) & (rows.columns >= 0))[:1]:
        row = int(np.searchsorted(rows.indptr, bad, side="right")) - 1
        sequence, token = place_of(row, rows.lengths)
        raise DataError(
            f"sequence {sequence}, token {token}: attribute {names[rows.columns[bad]]!r} "
            f"has the value {rows.values[bad]}, which is not a finite number"
        )


def table_of_items(X: Iterable[Sequence[Any]], join: str = "=", plain: Plain | None = None) -> AttributeTable:
    """As `AttributeTable.from_items`. Tokens that are no flat lists or dicts go through `plain` first."""
    names = Names()
    return table_of_rows([_numbered(X, names.enter, join, plain)], names)


def entered_rows(X: Iterable[Sequence[Any]], names: Names, join: str, plain: Plain) -> KnownRows:
    """The attributes of sequences by their numbers among `names`, into which new ones are entered."""
    rows = _numbered(X, names.enter, join, plain)
    _check_finite(rows, names.strings)
    return rows


def table_of_rows(parts: Sequence[KnownRows], names: Names) -> AttributeTable:
    """The sequences of all parts, one after the other."""
    lengths, columns = (np.concatenate([part[k] for part in parts]) for k in (0, 2))
    indptr = offsets_of(np.concatenate([np.diff(part.indptr) for part in parts]))
    values = [np.ones(part.columns.size) if part.values is None else part.values for part in parts]
    return AttributeTable(lengths, indptr, columns, _unless_ones(np.concatenate(values)), names.strings)


def as_table(X: Any, n_columns: int | None = None) -> AttributeTable:
    """Any of the forms of input that `SequenceTagger.fit` takes, as an attribute table.

    `n_columns` is the number of columns of arrays in training, if `X` must have as many.
    """
    table = _table_of(X, n_columns)
    return table_of_items(as_list(X, "sequences")) if table is None else table


def _table_of(X: Any, n_columns: int | None) -> AttributeTable | None:
    """The table of input that is no list of lists of tokens."""
    is_pair = isinstance(X, tuple) and len(X) == 2 and not is_matrix(X[1])
    if isinstance(X, AttributeTable):
        table = X
    elif is_pair and (hasattr(X[0], "tocsr") or is_matrix(X[0])):
        table = AttributeTable.from_csr(*X)
    elif isinstance(X, Sequence | np.ndarray) and any(map(is_matrix, X)):
        table = AttributeTable.from_arrays(X)
    else:
        return None
    n = n_unnamed(table)
    if n is not None and table.n_tokens and n_columns not in (None, n):
        raise DataError(f"X has {plural(n, 'column')}, but the model was trained on {n_columns}")
    return table


def known_rows(
    X: Any, names: Names, join: str = "=", plain: Plain | None = None, n_columns: int | None = None
) -> KnownRows:
    """The attributes of any of these forms of input by their numbers among `names`, -1 for others.

    `n_columns` is as for `as_table`. Numbers that are not finite are refused, as in tables, but not those of
    attributes without a name here.
    """
    if isinstance(X, KnownRows):
        return X
    table = None if type(X) is list and set(map(type, X)) == {list} else _table_of(X, n_columns)
    if table is not None:
        columns = names.find(Strings.of(table.names))[table.indices]
        return KnownRows(table.lengths, table.indptr, columns, table.values)
    rows = _numbered(as_list(X, "sequences"), names.find, join, plain)
    _check_finite(rows, names.strings)
    return rows


def is_matrix(X: Any) -> bool:
    """Whether it is an array of numbers with two axes, of tokens and columns."""
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"


def as_lengths(lengths: Any) -> NDArray[np.int64]:
    """The numbers of tokens of the sequences as an array; `DataError` where one is no count."""
    array = np.asarray(lengths)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise DataError(
            f"the lengths must be a list of int, not an array of shape {array.shape} and type {array.dtype}"
        )
    negative = np.flatnonzero(array < 0)
    if negative.size:
        first = negative[0]
        raise DataError(f"sequence {first}: the length {array[first]} is negative")
    return array.astype(np.int64)


def _unless_ones(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    return None if bool((values == 1.0).all()) else values
