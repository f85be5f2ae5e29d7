"""Queries and documents as the ranking commands read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.cli.batches import Progress
from structune.errors import DataError, ModelFileError
from structune.files.models import check_class, load
from structune.ranking.letor import LetorData, letor_features, read_letor, read_letor_blocks
from structune.ranking.ranker import Ranker
from structune.running.memory import batch_memory

_VALUE = 60  # bytes for a feature of a document, with its share of what a document takes


@dataclass(frozen=True)
class Reader:
    """Reads LETOR files as one model sees them.

    Attributes
    ----------
    features : tuple of int
        The files' numbers of the features.
    missing : float, optional
        The value of ``NULL``, which is refused without.
    """

    features: tuple[int, ...]
    missing: float | None

    def read(self, source: Any) -> Iterator[LetorData]:
        """A file, with the model's features, blocks of whole queries."""
        return read_letor_blocks(source, self.features, self.missing, batch_memory() // _VALUE)

    def header(self) -> dict[str, Any]:
        """What to keep in the model's file."""
        return {"features": list(self.features), "missing": self.missing}


def open_training(paths: Sequence[Path], missing: float | None) -> tuple[Reader, list[LetorData]]:
    """The training data, with all features of all files, and a reader for more like it."""
    _check_missing(missing)
    found = [read_letor(path, missing=missing) for path in paths]
    reader = _reader_of_all(paths, (data.feature_indices for data in found), missing)
    return reader, [_with_columns(data, np.array(reader.features)) for data in found]


def open_blocks(paths: Sequence[Path], missing: float | None, quiet: bool) -> Reader:
    """The reader of all features of all files, which are read block by block."""
    _check_missing(missing)
    return _reader_of_all(paths, _shown_features(paths, quiet), missing)


def _shown_features(paths: Sequence[Path], quiet: bool) -> Iterator[NDArray[np.int64]]:
    """Those of some documents at a time, with progress."""
    with Progress(not quiet, stage="features", unit="documents") as progress:
        for path in paths:
            for n_documents, indices in letor_features(path):
                yield indices
                progress.advance(n_documents)


def shown_blocks(
    paths: Sequence[Path],
    features: Sequence[int],
    missing: float | None,
    quiet: bool,
) -> Iterator[tuple[int, LetorData]]:
    """Blocks, and of which file each is, with progress."""
    with Progress(not quiet, stage="shards", unit="documents") as progress:
        for number, path in enumerate(paths):
            for data in read_letor_blocks(path, features, missing):
                yield number, data
                progress.advance(len(data))


def _check_missing(missing: float | None) -> None:
    if missing is not None and not isfinite(missing):
        raise DataError(f"--missing {missing}: expected a finite number")


def _reader_of_all(
    paths: Sequence[Path], indices: Iterable[NDArray[np.int64]], missing: float | None
) -> Reader:
    """A reader of the features that any of some files or blocks has."""
    features = set(chain.from_iterable(some.tolist() for some in indices))
    if not features:
        raise DataError(f"{', '.join(map(str, paths))}: found no features, expected some such as '1:0.5'")
    return Reader(tuple(sorted(features)), missing)


def _with_columns(data: LetorData, features: NDArray[np.int64]) -> LetorData:
    X = np.zeros((len(data), features.size))
    X[:, np.searchsorted(features, data.feature_indices)] = data.X
    return LetorData(X, data.relevance, data.queries, features, data.comments)


def open_ranker(path: Path) -> tuple[Ranker, Reader]:
    """A model that train or tune saved, and the reader of its files."""
    model = check_class(load(path), Ranker, path, "a ranker")
    return model, reader_of(model, path)


def reader_of(model: Ranker, path: Path) -> Reader:
    """The reader of the files that a model was made from."""
    features: Any = model.extra_.get("features")
    missing = model.extra_.get("missing")
    is_read = isinstance(features, list) and all(type(number) is int for number in features)
    if not is_read or len(features) != model.n_features_in_ or not isinstance(missing, float | None):
        raise ModelFileError(
            f"{path}: found no numbers of the features, expected what structune train, tune or shard wrote"
        )
    return Reader(tuple(features), missing)
