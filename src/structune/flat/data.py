"""Data sets of Foo, Do & Ng 2009 with one feature vector per example, mostly from the UCI repository."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.data_sets import CHECKSUMS, find

_NAMES = """
regression: abalone bodyfat cpusmall housing mpg pyrim space_ga triazines
binary: australian breast-cancer diabetes german.numer heart ionosphere liver-disorders mushrooms \
sonar splice w1a
multiclass: dna glass iris letter satimage segment shuttle svmguide2 usps vehicle vowel wine
"""
UCI_SETS: dict[str, tuple[str, ...]] = {
    task: tuple(names.split()) for task, names in re.findall("(.*): (.*)", _NAMES)
}
"""Names of the data sets, by task."""

_Examples: TypeAlias = tuple[NDArray[np.float64] | scipy.sparse.csr_array, NDArray[Any]]
_TASKS = {name: task for task, names in UCI_SETS.items() for name in names}
_SPARSE = {"dna", "mushrooms", "w1a"}
_NUCLEOTIDES = "ACGT"
_N_POSITIONS = 60
_SPLICE_LABELS = {b"EI": b"+1", b"IE": b"+1", b"N": b"-1"}


@dataclass(frozen=True)
class FlatData:
    """Data set with a feature vector and one output per example.

    Attributes
    ----------
    name : str
        Name of the data set.
    task : {"regression", "binary", "multiclass"}
        What the output is.
    X : ndarray of float64 or scipy.sparse.csr_array, shape (n_examples, n_features)
        Features as in the file, without scaling.
    y : ndarray, shape (n_examples,)
        Outputs: float64 for regression, otherwise the labels in the file as int64.
    test : tuple of X and y, or None
        Test set of the data set, if it has one.
    feature_names : list of str
        Name of each column of `X`.
    """

    name: str
    task: str
    X: NDArray[np.float64] | scipy.sparse.csr_array
    y: NDArray[Any]
    test: _Examples | None
    feature_names: list[str]


def load_uci(name: str) -> FlatData:
    """Load a data set of tables 1 to 3 of Foo, Do & Ng 2009.

    Files are not downloaded: put them into the data folder. "iris" comes from scikit-learn.

    Parameters
    ----------
    name : str
        One of the names in `UCI_SETS`.

    Returns
    -------
    FlatData
        "dna", "mushrooms" and "w1a" are sparse. "dna", "letter", "satimage", "shuttle", "usps" and "vowel"
        have a test set.

    Raises
    ------
    DataError
        There is no data set of this name.
    DatasetUnavailable
        The file is missing in the data folder (see STRUCTUNE_DATA), or has an unexpected checksum.

    Notes
    -----
    - "glass", "segment", "vehicle" and "wine" were scaled to [-1, 1] on all examples before publication.
    - "splice": the classes EI and IE are 1, N is -1. There is a column for each nucleotide at each of 60
      positions; all four are 0 where the nucleotide is ambiguous. "dna" has nearly the same sequences with
      other columns.
    - "letter": the training set is the first 15000 examples of the UCI file. In "letter" and "dna", some test
      examples are also training examples.
    - "bodyfat": the first column was computed from the target. "breast-cancer": the first column is the
      sample number.
    - "liver-disorders": the label separates a training part from a test part, not ill from healthy men
      (McDermott & Forsyth 2016).
    """
    if name not in _TASKS:
        raise DataError(f"there is no data set {name!r}. Data sets: {sorted(_TASKS)}")
    from sklearn import datasets  # here, because it is slow to import

    if name == "iris":
        iris = datasets.load_iris()
        labels, names = iris.target.astype(np.int64), list(iris.feature_names)
        return FlatData(name, "multiclass", iris.data, labels, None, names)
    # some files have more to their names than the set, such as "wine.scale"; ".t" holds the test set
    first = min(path for path in CHECKSUMS if path.startswith(f"uci/{name}"))
    both = (first, f"{first.removesuffix('.gz')}.t.gz")
    paths = [find(path) for path in both if path in CHECKSUMS]
    if name == "splice":
        return _load_splice(paths[0])
    loaded = datasets.load_svmlight_files(paths, zero_based=False)
    dtype = np.float64 if _TASKS[name] == "regression" else np.int64
    # read together, so that training and test sets have the same columns
    found = list[_Examples]()
    for X, y in zip(loaded[::2], loaded[1::2], strict=True):
        # 32-bit indices, as some solvers take no others
        arrays = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        matrix = scipy.sparse.csr_array(arrays, shape=X.shape)
        found.append((matrix if name in _SPARSE else matrix.toarray(), y.astype(dtype)))
    (X, y), *tests = found
    names = [f"x{j}" for j in range(1, X.shape[1] + 1)]
    return FlatData(name, _TASKS[name], X, y, tests[0] if tests else None, names)


def _load_splice(path: Path) -> FlatData:
    """Four columns for each position, 1 for the nucleotide of codes 1 to 4, all 0 for any other code."""
    from sklearn.datasets import load_svmlight_file

    with gzip.open(path) as file:
        rows = [line.split(maxsplit=1) for line in file]
    # the reader of scikit-learn takes only numbers for labels
    text = b"\n".join(_SPLICE_LABELS[label] + b" " + codes for label, codes in rows)
    codes, y = load_svmlight_file(BytesIO(text), n_features=_N_POSITIONS, zero_based=False)
    is_letter = codes.toarray()[:, :, None] == np.arange(1, len(_NUCLEOTIDES) + 1)
    X = is_letter.reshape(len(is_letter), -1).astype(np.float64)
    names = [f"position {k}={letter}" for k in range(1, _N_POSITIONS + 1) for letter in _NUCLEOTIDES]
    return FlatData("splice", "binary", X, y.astype(np.int64), None, names)
