"""Tables of features as the commands read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import scipy

from structune.cli.batches import Progress
from structune.errors import DataError
from structune.flat.svmlight import read_svmlight_blocks
from structune.structure import Array

_MOST_FEATURES, _MOST_FEATURES_A_VALUE = 1 << 24, 100


@dataclass(frozen=True)
class Tables:
    """SVMlight files, and what is to be known of all before the first example is encoded.

    Attributes
    ----------
    paths : sequence of Path
    first : int
        The number of the first feature: 0 if any file has that, else 1.
    n_features : int
    are_whole : bool
        Whether all outputs are whole numbers.
    sizes : list of int
        Examples of each block.
    file : binary file
        The outputs, which would grow in memory with the data.
    """

    paths: Sequence[Path]
    first: int
    n_features: int
    are_whole: bool
    sizes: list[int]
    file: IO[bytes]

    @classmethod
    def open(cls, paths: Sequence[Path], file: IO[bytes], quiet: bool) -> Self:
        """Read the files for what is to be known; the empty file gets the outputs."""
        first, end, n_values, are_whole, sizes = 1, 0, 0, True, list[int]()
        for X, y in _read(paths, quiet, "features"):
            end, n_values = max(end, X.shape[1]), n_values + X.nnz
            first = min(first, int(X.indices.min(initial=1)))
            are_whole &= bool(np.all(y == np.rint(y)))
            sizes.append(y.size)
            y.tofile(file)
        n_features = end - first
        if n_features > max(_MOST_FEATURES, _MOST_FEATURES_A_VALUE * n_values):
            raise DataError(
                f"{', '.join(map(str, paths))}: found {n_values} values and a feature {end - 1}, expected at "
                f"least one value for {_MOST_FEATURES_A_VALUE} features: each has a weight"
            )
        return cls(paths, first, n_features, are_whole, sizes, file)

    def outputs(self) -> Iterator[tuple[Any, Array]]:
        """Outputs, block by block, beside features of 0: no survey looks at sparse ones."""
        self.file.seek(0)
        for size in self.sizes:
            yield scipy.sparse.csr_array((size, self.n_features)), np.fromfile(self.file, np.float64, size)

    def blocks(self, quiet: bool) -> Iterator[tuple[Any, Array]]:
        """Features and outputs, block by block."""
        for X, y in _read(self.paths, quiet, "shards"):
            parts = X.data, X.indices - np.int32(self.first), X.indptr
            yield scipy.sparse.csr_array(parts, shape=(y.size, self.n_features)), y


def _read(paths: Sequence[Path], quiet: bool, stage: str) -> Iterator[tuple[Any, Any]]:
    with Progress(not quiet, stage=stage, unit="examples") as progress:
        for path in paths:
            for X, y in read_svmlight_blocks(path):
                yield X, y
                progress.advance(y.size)
