"""The OHSUMED ranking data of LETOR 3.0 (Qin, Liu, Xu & Li 2010)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structune.errors import DataError
from structune.files.data_sets import find
from structune.ranking.letor import LetorData, read_letor

_N_PARTS = 5


class OhsumedData(NamedTuple):
    """A fold: queries to train, to validate, and to test."""

    train: LetorData
    validation: LetorData
    test: LetorData


def load_ohsumed(fold: int = 1, normalised: bool = True) -> OhsumedData:
    """OHSUMED, in the folds of LETOR 3.0: 106 queries, 16140 documents, 45 features, relevance 0, 1 or 2.

    It is free for research only and may not be downloaded: the files must lie in the data folder.

    Parameters
    ----------
    fold : int
        From 1 to 5. Fold 1 trains on the parts S1, S2 and S3, validates on S4 and tests on S5; each next
        fold moves on by one part.
    normalised : bool
        Features are scaled to [0, 1] within each query; otherwise they are raw, with nan for those that
        are missing.

    Raises
    ------
    DataError
        There is no such fold.
    DatasetUnavailable
        A file is not in the data folder (see STRUCTUNE_DATA), or is another one than expected.
    """
    if fold not in range(1, _N_PARTS + 1):
        raise DataError(f"found the fold {fold!r}, expected a number from 1 to {_N_PARTS}")
    folder = "ohsumed_querylevelnorm" if normalised else "ohsumed_feature_null"
    numbers = [(fold - 1 + k) % _N_PARTS + 1 for k in range(_N_PARTS)]
    *parts, validation, test = (read_letor(find(f"ranking/{folder}/S{k}.txt.gz")) for k in numbers)
    train = LetorData(
        np.vstack([part.X for part in parts]),
        np.concatenate([part.relevance for part in parts]),
        [query for part in parts for query in part.queries],
        parts[0].feature_indices,
        [comment for part in parts for comment in part.comments],
    )
    return OhsumedData(train, validation, test)
