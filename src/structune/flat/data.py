"""The flat data sets of Foo, Do & Ng 2009, most of them from the UCI repository."""

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
from structune.files.data_sets import DataFile, find

_NAMES = """
regression: abalone bodyfat cpusmall housing mpg pyrim space_ga triazines
binary: australian breast-cancer diabetes german.numer heart ionosphere liver-disorders mushrooms \
sonar splice w1a
multiclass: dna glass iris letter satimage segment shuttle svmguide2 usps vehicle vowel wine
"""
UCI_SETS: dict[str, tuple[str, ...]] = {
    task: tuple(names.split()) for task, names in re.findall("(.*): (.*)", _NAMES)
}
"""The names of the data sets by task."""

_Examples: TypeAlias = tuple[NDArray[np.float64] | scipy.sparse.csr_array, NDArray[Any]]
_TASKS = {name: task for task, names in UCI_SETS.items() for name in names}
_SPARSE = {"dna", "mushrooms", "w1a"}
_SHA256 = {  # of each file, whose name begins with that of the set; ".t" holds the test set
    "abalone": "8e6955b6becd8a2226c6f3be3e107175a51fe60a999d93823ade3c8e00de5e79",
    "australian": "73f298b8365ae286b536236c2ba5b3dae8ede65a58a873f1fe732c24b26a1c80",
    "bodyfat": "3b9ac461a5f7941411125ebcc60f281e4d02c43c7b5635c056c0e1acc2854fe1",
    "breast-cancer": "bc4d668c5fa917f741e64222b5aed7848d7d713cbd512e9811c5e494727ca10d",
    "cpusmall": "a531daf0dd404e3fc866a42008cb9fbf67bcd278336c9ea2cee1c97f1599779e",
    "diabetes": "72c81cd1944534547b030837d64f66397daa9b1eb5f140f330bbb7fc7d0903bd",
    "dna": "857d96eb9296e134341869a10b68cdd59c1951656f52740a639d378aeed53810",
    "dna.t": "136429d4952ca8b626df4b40dfc0fec697a154c7b5492f2973773bbce4022e65",
    "german.numer": "0a4e10fdc55c67c8688fa5d51bbb23ece740ab4b8b3d9892d35f132877fd11a8",
    "glass.scale": "cb2e791da102779662fd510fdd591d00ea4687522dac3ee81563264da68a47d8",
    "heart": "78fe7cebe4294f1ca958a498bcfbe61a80c1795af11e9893dd44ab88686e8505",
    "housing": "d1aa2b647089a8ca1843a7be4bc9606f8bc6d689bf7e923f0f7d12b13223710b",
    "ionosphere": "f0fe0a9fc95bd039c8c12f009e649b7b182fb2e56701d8986655b777af1d60dd",
    "letter": "12b14e33cf0f8a0b3b6ef6f04ca1ee22e6f6eefb154434602dcb17adb9708e12",
    "letter.t": "6a5c72e9e19e9fb686893d61a2e5c411deeeeb910ef1e1d25257fc22ddb6ee9e",
    "liver-disorders_345x6": "5c0dddde7b9d7a69ec347ae9e1076611aee0b85eb5eca910e463496a44e1fcda",
    "mpg": "367d8b328c5656e8b58755130d6282693e560bb52adfed21c66f94084a4a986b",
    "mushrooms_onehot": "279fe2f630923715de58b31ba2efc981fb816988615e23fbeced6c2150cf2860",
    "pyrim": "366ff937d275cd02c76cc3c8070991a889a0ee24a8d1db6bca759cedb3b5353b",
    "satimage": "c9a68a1ab7abdf3c81b0fab969bcf21c9e044363f0d216d4080f4588dbde7b5b",
    "satimage.t": "e912b72821df07fc5ba777fdb0acd877df5381740ab9e39f03b05c9ecf2ef977",
    "segment.scale": "63544356a154f42ab988bf9ab63937cd0a85f46f0bb229ecc2584be5fbf08369",
    "shuttle": "f5bf970bd43a56d6b498fca1234290a791e64292732845a7013ef914cbfcce18",
    "shuttle.t": "144d5cdd4fbe2a945b2144154d74123f12dcedf72ee064b1ace2e0fa610d5513",
    "sonar": "4fdf678af33a4858b9fe4edc748315a2c8b7a2275b2f706e26853cb43ed66300",
    "space_ga": "d2eb8276f0f436e3ad4d468beb1c045774c7b79fed60fb7a6843f5fee986e3bb",
    "splice3_nominal_ACGT1234": "770b93c8465f025b4474d122cb0a7ffd15d506b5ff55c6c54ecf892e988a533b",
    "svmguide2.txt": "2163dfbb80fc9e8618f31e48e5383b517221a5e18fd0bce3d3d6e1734d766e12",
    "triazines": "a8a6874140007e910ec750d01cad4c9dcaf258db34358a3feebaa5e638339510",
    "usps": "75252cb5a2ad10a97ddd820b4934613c5f71f5f90fc65c3a6711bac6c8d6a270",
    "usps.t": "0d785abda6ca4a4dc33b48d08675d75357a819b3e278207129f0fed267d88261",
    "vehicle.scale": "48a44f99248a96fb118103380ae7adf637a14b592b6fea64d5d58d562dd29dfe",
    "vowel": "bae117c513a4326307d4c86da1e74e2f2cf78e6e9385132816e1c03ca66fcdbf",
    "vowel.t": "63d43baafe0579f8179100d0f50e4ab9e88ce615268ab3511016e23a983f2297",
    "w1a": "31ebec00c22ff0212e88d3ade0a4bd2563c9d88f782452d01ba0c4745d05eab4",
    "wine.scale": "bdae353df26911bcc8592781bb37c92bfcfc8cc2fb2023579776d6196f62c390",
}
_NUCLEOTIDES = "ACGT"
_N_POSITIONS = 60
_SPLICE_LABELS = {b"EI": b"+1", b"IE": b"+1", b"N": b"-1"}


@dataclass(frozen=True)
class FlatData:
    """Examples with a vector of features and one output each.

    Attributes
    ----------
    name : str
    task : {"regression", "binary", "multiclass"}
    X : ndarray of float64 or scipy.sparse.csr_array, shape (n, p)
        As in the file: nothing is scaled.
    y : ndarray, shape (n,)
        float64 for regression, otherwise the labels of the file as int64.
    test : tuple of X and y, or None
        The test set that comes with the data, where there is one.
    feature_names : list of str
        One for each column of `X`.
    """

    name: str
    task: str
    X: NDArray[np.float64] | scipy.sparse.csr_array
    y: NDArray[Any]
    test: _Examples | None
    feature_names: list[str]


def load_uci(name: str) -> FlatData:
    """A flat data set of tables 1 to 3 of Foo, Do & Ng 2009.

    None may be downloaded, the files must lie in the data folder; iris comes from scikit-learn.

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
        There is no such data set.
    DatasetUnavailable
        The file is not in the data folder (see STRUCTUNE_DATA), or is another one than expected.

    Notes
    -----
    - "glass", "segment", "vehicle" and "wine" were scaled to [-1, 1], on all examples, before they were
      published.
    - "splice": the classes EI and IE are 1, N is -1; a column for each nucleotide at each of 60 positions,
      all four 0 where the nucleotide is ambiguous. "dna" has nearly the same sequences, in other columns.
    - "letter": the training set is the first 15000 examples of UCI's file. Test examples may equal training
      examples in "letter" and "dna".
    - "bodyfat": the first column was computed from the target. "breast-cancer": the first column is the
      number of the sample.
    - "liver-disorders": the label tells a training from a test part, not ill from healthy men (McDermott &
      Forsyth 2016).
    """
    if name not in _TASKS:
        raise DataError(f"found the data set {name!r}, expected one of {sorted(_TASKS)}")
    from sklearn import datasets  # here, because it is slow to import

    if name == "iris":
        iris = datasets.load_iris()
        labels, names = iris.target.astype(np.int64), list(iris.feature_names)
        return FlatData(name, "multiclass", iris.data, labels, None, names)
    stem = next(stem for stem in _SHA256 if stem.startswith(name))
    parts = [part for part in (stem, f"{stem}.t") if part in _SHA256]
    paths = [find(DataFile(f"uci/{part}.gz", _SHA256[part])) for part in parts]
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
