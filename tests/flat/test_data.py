"""The flat data sets."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from structune.errors import DataError
from structune.flat.data import UCI_SETS, load_uci

# examples, features, test examples, classes
EXPECTED = {
    "abalone": (4177, 8, 0, None),
    "bodyfat": (252, 14, 0, None),
    "cpusmall": (8192, 12, 0, None),
    "housing": (506, 13, 0, None),
    "mpg": (392, 7, 0, None),
    "pyrim": (74, 27, 0, None),
    "space_ga": (3107, 6, 0, None),
    "triazines": (186, 60, 0, None),
    "australian": (690, 14, 0, 2),
    "breast-cancer": (683, 10, 0, 2),
    "diabetes": (768, 8, 0, 2),
    "german.numer": (1000, 24, 0, 2),
    "heart": (270, 13, 0, 2),
    "ionosphere": (351, 34, 0, 2),
    "liver-disorders": (345, 6, 0, 2),
    "mushrooms": (8124, 117, 0, 2),
    "sonar": (208, 60, 0, 2),
    "splice": (3190, 240, 0, 2),
    "w1a": (2477, 300, 0, 2),
    "dna": (2000, 180, 1186, 3),
    "glass": (214, 9, 0, 6),
    "iris": (150, 4, 0, 3),
    "letter": (15000, 16, 5000, 26),
    "satimage": (4435, 36, 2000, 6),
    "segment": (2310, 19, 0, 7),
    "shuttle": (43500, 9, 14500, 7),
    "svmguide2": (391, 20, 0, 3),
    "usps": (7291, 256, 2007, 10),
    "vehicle": (846, 18, 0, 4),
    "vowel": (528, 10, 462, 11),
    "wine": (178, 13, 0, 3),
}


@pytest.fixture
def put(put_data):
    """Makes a file of the data folder from its text."""
    return lambda stem, text: put_data(f"uci/{stem}.gz", text)


def test_regression(put):
    put("mpg", "18.5 1:8 3:0.25\n-1e1 2:-4\n")
    data = load_uci("mpg")
    assert (data.name, data.task, data.test) == ("mpg", "regression", None)
    assert data.y.tolist() == [18.5, -10]
    assert data.X.tolist() == [[8, 0, 0.25], [0, -4, 0]]
    assert data.feature_names == ["x1", "x2", "x3"]


def test_labels_are_those_of_the_file(put):
    put("glass.scale", "2 1:8 3:0.25\n7 2:-4\n")
    data = load_uci("glass")
    assert data.task == "multiclass"
    assert data.y.dtype == np.int64
    assert data.y.tolist() == [2, 7]


def test_test_sets_have_the_columns_of_the_training_set(put):
    put("dna", "3 1:1 3:1\n1\n")
    put("dna.t", "2 2:1\n")
    data = load_uci("dna")
    X, y = data.test
    assert isinstance(data.X, csr_array)
    assert isinstance(X, csr_array)
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int32
    assert data.X.toarray().tolist() == [[1, 0, 1], [0, 0, 0]]
    assert X.toarray().tolist() == [[0, 1, 0]]
    assert (data.y.tolist(), y.tolist()) == ([3, 1], [2])


def test_splice_is_read_in_nucleotides(put):
    put("splice3_nominal_ACGT1234", "EI 1:4 60:1\nN 2:2 3:5\nIE 1:3\n")
    data = load_uci("splice")
    assert data.y.tolist() == [1, -1, 1]
    given = [[data.feature_names[j] for j in np.flatnonzero(row)] for row in data.X]
    assert given == [["position 1=T", "position 60=A"], ["position 2=C"], ["position 1=G"]]


def test_iris():
    data = load_uci("iris")
    assert (data.name, data.task, data.X.shape) == ("iris", "multiclass", (150, 4))
    assert np.bincount(data.y).tolist() == [50, 50, 50]
    assert data.feature_names[0] == "sepal length (cm)"


def test_unknown_names_are_refused():
    with pytest.raises(DataError, match=r"there is no data set 'mnist'.*'wine'"):
        load_uci("mnist")


def test_every_set_is_expected():
    assert sorted(EXPECTED) == sorted(name for names in UCI_SETS.values() for name in names)


@pytest.mark.data
@pytest.mark.parametrize("name", EXPECTED)
def test_data_sets(name):
    data = load_uci(name)
    n, p, n_test, n_classes = EXPECTED[name]
    assert data.name == name
    assert name in UCI_SETS[data.task]
    assert (data.task == "regression") == (n_classes is None)
    assert len(data.feature_names) == len(set(data.feature_names)) == p
    check(data.X, data.y, name, (n, p), n_classes)
    assert (data.test is not None) == (n_test > 0)
    if data.test is not None:
        check(*data.test, name, (n_test, p), n_classes)
        assert set(data.test[1]) == set(data.y)


def check(X, y, name, shape, n_classes):
    assert X.shape == shape
    assert y.shape == shape[:1]
    assert issparse(X) == (name in {"dna", "mushrooms", "w1a"})
    assert X.dtype == np.float64
    assert np.isfinite(X.data if issparse(X) else X).all()
    assert y.dtype == (np.float64 if n_classes is None else np.int64)
    assert np.isfinite(y).all()
    assert n_classes in (None, len(np.unique(y)))


@pytest.mark.data
def test_splice():
    data = load_uci("splice")
    positions = data.X.sum(axis=1)
    assert positions.max() == 60
    assert (positions == 60).sum() == 3175
    assert (data.y == 1).sum() == 767 + 768
    # introns start with GT, at position 31, and end with AG, at position 30
    g30, g31 = (data.X[:, data.feature_names.index(f"position {k}=G")] for k in (30, 31))
    assert np.maximum(g30, g31)[data.y == 1].mean() > 0.99


@pytest.mark.data
def test_mushrooms_have_a_level_of_each_attribute():
    assert set(load_uci("mushrooms").X.sum(axis=1)) == {22}
