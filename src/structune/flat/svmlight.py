"""Reading of SVMlight files, one example per line, such as ``1 3:0.5 7:2 # a comment``, block by block."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from sklearn.datasets import load_svmlight_file

from structune.errors import DataError
from structune.files.looks_like import named_by_look
from structune.files.text import Source, line_blocks, shown, source_name
from structune.structure import FloatArray

_WRONG = (ValueError, OverflowError)  # what scikit-learn raises for wrong lines
_MOST_NUMBER = np.iinfo(np.int32).max  # of features
# the second word of a line that is no comment
_QUERY = re.compile(rb"^[^\S\n]*[^\s#]\S*[^\S\n]+qid:", re.MULTILINE)


def read_svmlight_blocks(source: Source, n_bytes: int = 1 << 24) -> Iterator[tuple[Any, FloatArray]]:
    """Read an SVMlight file block by block; it may be compressed.

    Parameters
    ----------
    source : path, or binary file object
        File to read.
    n_bytes : int
        Approximate size of a block in bytes; one block is in memory at a time.

    Yields
    ------
    X : csr_array, shape (n_examples, 1 + highest feature number in the block)
        Features. Column k has the feature with the number k in the file.
    y : ndarray of float64, shape (n_examples,)
        First number of each line.

    Raises
    ------
    DataError
        A line is not an example, has a query (``qid:``), or has a number that is not finite (the message
        names the file and the line); or the file has no examples.
    """
    # `before` counts all lines, comments and empty ones too, so that errors name the right one
    name, before, is_empty = source_name(source), 0, True
    for text in line_blocks(source, n_bytes):
        if b"qid:" in text and (query := _QUERY.search(text)):
            line = before + text.count(b"\n", 0, query.start()) + 1
            raise DataError(
                f"{name}:{line}: qid: marks a query of a ranking. The file looks like LETOR, not SVMlight."
            )
        try:
            X, y = _parsed(text)
        except _WRONG:
            # scikit-learn does not say which line: each is parsed by itself, but only here
            _refuse_first(name, before, text)
            raise
        if y.size:
            is_empty = False
            yield X, y
        before += text.count(b"\n")
        del text, X, y  # before the next are read
    if is_empty:
        raise DataError(f"{name}: the file has no examples. An example is a line such as '1 3:0.5 7:2'.")


def _parsed(text: bytes) -> tuple[Any, FloatArray]:
    # as they stand: scikit-learn would guess for each block anew whether features count from 0 or from 1
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ValueError("a number is not finite")
    if X.shape[1] > _MOST_NUMBER:
        raise ValueError(f"feature {X.shape[1] - 1:,} is too high; the limit is {_MOST_NUMBER - 1:,}")
    return scipy.sparse.csr_array(X), y


def _refuse_first(name: str, before: int, text: bytes) -> None:
    for number, line in enumerate(text.split(b"\n"), before + 1):
        try:
            _parsed(line)
        except _WRONG as error:
            found = shown(line.decode(errors="replace").strip())
            expected = f"expected an example such as '1 3:0.5 7:2' ({error})"
            refused = DataError(f"{name}:{number}: found {found}, {expected}")
            raise (refused if before else named_by_look(refused, text, ("SVMlight",))) from None
