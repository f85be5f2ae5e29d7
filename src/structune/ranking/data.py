"""The OHSUMED ranking data of LETOR 3.0 (Qin, Liu, Xu & Li 2010)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structune.errors import DataError
from structune.files.data_sets import DataFile, find
from structune.ranking.letor import LetorData, read_letor

_N_PARTS = 5
_SHA256 = {
    "ohsumed_querylevelnorm": (
        "ecebb4469dfceea69264f4ffe84925e0d8d1f036a5d0e03f31605600d5c66f35",
        "a4db68dd918db4324a77a571bd168b4ab4af5bc5258bc511f5871fbd3e0843e5",
        "c73927841ce37c349dc3a282d095a7c08478e3862c2ea31b28113ca0dc8fbb32",
        "05d832d470720c151303ed53637fd98b0d81f1a93111609fdb8f2099cfbbf1cb",
        "90165ee2204dde5f6790d7ff7439625c4813ac05b8e36bb77d4e71391c2565a4",
    ),
    "ohsumed_feature_null": (
        "c2db993cfc2d85c7e738f36b9358fe2e9998d846d3c9a7e9cd1e57f8ce6dcc37",
        "07e0b7202d90ba6839de81a1dc6f9932272d9df87c94a904f7cebce2b63ce9bd",
        "fa90a8b5124d6936676e65ae619a5dfc838660674e7523092cf1e42a3116ed99",
        "e1ca81a01fe141e147f7e0768435f86d73709762930b62cfe6a7583f01dee6f8",
        "5633250529fafc1b3bf71000482d9d19814186d6030a82d0ced4a2f760f79cf8",
    ),
}


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
    DatasetUnavailable
        A file is not in the data folder (see STRUCTUNE_DATA), or is another one than expected.
    """
    if fold not in range(1, _N_PARTS + 1):
        raise DataError(f"found the fold {fold!r}, expected a number from 1 to {_N_PARTS}")
    folder = "ohsumed_querylevelnorm" if normalised else "ohsumed_feature_null"
    files = [
        DataFile(f"ranking/{folder}/S{part + 1}.txt.gz", _SHA256[folder][part])
        for part in ((fold - 1 + k) % _N_PARTS for k in range(_N_PARTS))
    ]
    *parts, validation, test = (read_letor(find(file)) for file in files)
    train = LetorData(
        np.vstack([part.X for part in parts]),
        np.concatenate([part.relevance for part in parts]),
        [query for part in parts for query in part.queries],
        parts[0].feature_indices,
        [comment for part in parts for comment in part.comments],
    )
    return OhsumedData(train, validation, test)
