"""The OHSUMED ranking data of LETOR 3.0 (Qin, Liu, Xu & Li 2010)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structune.errors import DataError
from structune.files.data_sets import find
from structune.ranking.letor import LetorData, read_letor

_N_PARTS = 5


class OhsumedData(NamedTuple):
    """A fold of OHSUMED: queries for training, validation and testing."""

    train: LetorData
    validation: LetorData
    test: LetorData


def load_ohsumed(fold: int = 1, normalised: bool = True) -> OhsumedData:
    """Load a fold of OHSUMED from LETOR 3.0: 106 queries, 16,140 documents, 45 features, relevance 0, 1 or 2.

    OHSUMED is free for research only, so structune cannot download it: put the files into the data folder.

    Parameters
    ----------
    fold : int
        Fold from 1 to 5. Fold 1 trains on the parts S1, S2 and S3, validates on S4 and tests on S5; each
        further fold moves on by one part.
    normalised : bool
        Load features scaled to [0, 1] within each query. Otherwise they are raw, with nan for missing values.

    Raises
    ------
    DataError
        The number of the fold is not 1 to 5.
    DatasetUnavailable
        A file is missing from the data folder (see STRUCTUNE_DATA), or differs from the expected one.
    """
    if fold not in range(1, _N_PARTS + 1):
        raise DataError(f"fold must be a whole number from 1 to {_N_PARTS}, not {fold!r}")
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
