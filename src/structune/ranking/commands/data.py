"""Queries and documents as the ranking commands read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.cli.checks import check_class
from structune.errors import DataError, ModelFileError
from structune.files.models import load
from structune.ranking.letor import LetorData, read_letor, read_letor_blocks
from structune.ranking.ranker import Ranker
from structune.running.memory import batch_memory

_DOCUMENT, _VALUE = 1000, 40  # bytes for a document, and for each of its features


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
        document = _DOCUMENT + _VALUE * len(self.features)
        n_documents = max(1, batch_memory() // document)
        return read_letor_blocks(source, self.features, self.missing, n_documents)

    def header(self) -> dict[str, Any]:
        """What to keep in the model's file."""
        return {"features": list(self.features), "missing": self.missing}


def open_training(paths: Sequence[Path], missing: float | None) -> tuple[Reader, list[LetorData]]:
    """The training data, with all features of all files, and a reader for more like it."""
    if missing is not None and not isfinite(missing):
        raise DataError(f"--missing {missing}: expected a finite number")
    found = [read_letor(path, missing=missing) for path in paths]
    features = np.unique(np.concatenate([data.feature_indices for data in found]))
    if not features.size:
        raise DataError(f"{', '.join(map(str, paths))}: found no features, expected some such as '1:0.5'")
    return Reader(tuple(features.tolist()), missing), [_with_columns(data, features) for data in found]


def _with_columns(data: LetorData, features: NDArray[np.int64]) -> LetorData:
    X = np.zeros((len(data), features.size))
    X[:, np.searchsorted(features, data.feature_indices)] = data.X
    return LetorData(X, data.relevance, data.queries, features, data.comments)


def open_ranker(path: Path) -> tuple[Ranker, Reader]:
    """A model that train or tune saved, and the reader of its files."""
    model = check_class(load(path), Ranker, path, "a ranker")
    features: Any = model.extra_.get("features")
    missing = model.extra_.get("missing")
    is_read = isinstance(features, list) and all(type(number) is int for number in features)
    if not is_read or len(features) != model.n_features_in_ or not isinstance(missing, float | None):
        raise ModelFileError(
            f"{path}: found no numbers of the features, expected a model that structune train or tune saved"
        )
    return model, Reader(tuple(features), missing)
