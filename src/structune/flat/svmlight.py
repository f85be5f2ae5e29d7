"""SVMlight files, ``1 3:0.5 7:2 # a comment``, an example a line, read block by block."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from sklearn.datasets import load_svmlight_file

from structune.errors import DataError
from structune.files.text import Source, byte_lines, shown, source_name
from structune.running.batches import batches
from structune.structure import FloatArray

_WRONG = (ValueError, OverflowError)  # what the parser makes of wrong lines
_MOST_NUMBER = np.iinfo(np.int32).max - 1  # of a feature


def read_svmlight_blocks(source: Source, n_bytes: int = 1 << 24) -> Iterator[tuple[Any, FloatArray]]:
    """Read an SVMlight file, compressed by gzip or not, with about so many bytes of it in memory at a time.

    Yields
    ------
    X : csr_array, shape (n_examples, 1 + highest number of a feature in the block)
        Columns are the file's numbers of features, from 0.
    y : ndarray of float64, shape (n_examples,)

    Raises
    ------
    DataError
        Names the file and line of what is no example, or has a number that is not finite; the file holds no
        examples.
    """
    name, before, is_empty = source_name(source), 0, True
    for lines in batches(byte_lines(source), len, n_bytes, n_bytes):
        try:
            X, y = _parsed(lines)
        except _WRONG:
            _refuse_first(name, before, lines)
            raise
        if y.size:
            is_empty = False
            yield X, y
        before += len(lines)
    if is_empty:
        raise DataError(f"{name}: found no examples, expected lines such as '1 3:0.5 7:2'")


def _parsed(lines: list[bytes]) -> tuple[Any, FloatArray]:
    matrix, y = load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True)
    if not (np.isfinite(matrix.data).all() and np.isfinite(y).all()):
        raise ValueError("found a number that is not finite")
    if matrix.indices.size and not 0 <= matrix.indices.min() <= matrix.indices.max() <= _MOST_NUMBER:
        raise ValueError(f"found the feature {matrix.indices.max()}, expected at most {_MOST_NUMBER}")
    columns, rows = (array.astype(np.int32) for array in (matrix.indices, matrix.indptr))
    return scipy.sparse.csr_array((matrix.data, columns, rows), shape=matrix.shape), y


def _refuse_first(name: str, before: int, lines: list[bytes]) -> None:
    """Refuse the first of some lines that cannot be read."""
    for number, line in enumerate(lines, before + 1):
        try:
            _parsed([line])
        except _WRONG as error:
            found = shown(line.decode(errors="replace").strip())
            expected = f"expected an example such as '1 3:0.5 7:2' ({error})"
            raise DataError(f"{name}:{number}: found {found}, {expected}") from None
