"""LETOR files: what is read, what is written back, and what is refused, with the line named."""

import gzip
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_array_equal

from structune.errors import DataError
from structune.ranking.letor import LetorData, read_letor, write_letor

TEXT = """2 qid:10 1:0.5 2:NULL 7:-1e-2 #docid = 1056
0 qid:10 1:.25 2:3 7:0
1 qid:b 1:1. 2:+2 7:1E3 # docid = 7 #
"""
X = [[0.5, np.nan, -0.01], [0.25, 3.0, 0.0], [1.0, 2.0, 1000.0]]


def read(text, *args, **kwargs):
    return read_letor(io.StringIO(text), *args, **kwargs)


def check(data, X=X):
    assert_array_equal(data.X, X)
    assert data.X.dtype == data.relevance.dtype == np.float64
    assert data.relevance.tolist() == [2.0, 0.0, 1.0]
    assert data.queries == ["10", "10", "b"]
    assert data.feature_indices.tolist() == [1, 2, 7]
    assert data.comments == ["docid = 1056", "", "docid = 7 #"]


@pytest.mark.parametrize(
    "text",
    [
        TEXT.strip(),
        "\n\n" + TEXT.replace("\n", "\n \t\n"),
        TEXT.replace("\n", "\r\n"),
        TEXT.replace(" ", "\t ").replace("docid\t =\t ", "docid = ").replace("7\t #", "7 #"),
        "\ufeff" + TEXT,
        "# a header\n" + TEXT + "#\n",
        TEXT.replace("2 qid:10", "2.0 qid:10").replace("7:0\n", "7:0 #\n"),
        TEXT.replace(" 7:0\n", "\n"),
        TEXT.replace("qid:10 ", "qid:10\u00a0") + "\x1c\n",
    ],
)
def test_read_tolerates(text):
    check(read(text))


def test_missing_values_may_be_refused():
    text = "# a heading\n\n1 qid:1 1:2 3:1\n0 qid:1 1:1 2:NULL\n"
    with pytest.raises(DataError, match=":4: feature 2 is NULL"):
        read(text, missing=None)
    assert read(text, features=[1, 3], missing=None).X.tolist() == [[2.0, 1.0], [1.0, 0.0]]
    check(read(TEXT, missing=0.0), np.nan_to_num(X))


def test_features_that_a_line_leaves_out_are_0():
    data = read("1 qid:1 2:5\n0 qid:1\n0 qid:2 1:3 9:4\n")
    assert data.feature_indices.tolist() == [1, 2, 9]
    assert data.X.tolist() == [[0, 5, 0], [0, 0, 0], [3, 0, 4]]
    assert read("1 qid:1\n").X.shape == (1, 0)


def test_features_may_be_those_of_another_file():
    data = read(TEXT, [1, 3, 7])
    assert data.feature_indices.tolist() == [1, 3, 7]
    assert data.X.tolist() == [[0.5, 0.0, -0.01], [0.25, 0.0, 0.0], [1.0, 0.0, 1000.0]]
    for wrong, message in (([2, 1], "must be 1 or more and increase"), ([1.9], "must be whole numbers")):
        with pytest.raises(DataError, match=message):
            read(TEXT, wrong)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": there are no documents. Write lines such as '2 qid:1 1:0.5'"),
        ("\nx qid:1 1:1\n", ":2: the relevance 'x' is not a finite number >= 0"),
        ("-1 qid:1 1:1\n", ":1: the relevance '-1' is not a finite number >= 0"),
        ("1 1:1\n", ":1: '1:1' after the relevance is not a query such as 'qid:1'"),
        ("1 #qid:1\n", ":1: '' after the relevance"),
        ("1 qid:1 1:1\n1 qid:1 1:x\n", ":2: '1:x' is not a feature such as '1:0.5' or '1:NULL'"),
        ("1 qid:1 1:nan\n", ":1: '1:nan' is not a feature"),
        ("1 qid:1 \u0661:1\n", ":1: '\u0661:1' is not a feature"),
        ("1 qid:1 1:0 2:1e999\n", ":1: the value of '2:1e999' is not finite"),
        ("1 qid:1 0:1\n", ":1: the feature number 0 is not 1 or more"),
        ("1 qid:1 1:1\n1 qid:1 3:1 2:1\n", ":2: the feature number 2 follows 3, but numbers must increase"),
        (
            "1 qid:a\n\n1 qid:b\n1 qid:b\n1 qid:a\n",
            ":5: the query 'a' occurs again after line 1. Put all documents of a query together",
        ),
        (b"1 qid:1\n1 qid:1 #\xff\n", r":2: '\udcff' is not UTF-8 text"),
        (gzip.compress(b"1 qid:1 1:2\n" * 99, mtime=0)[:-20], ": the gzip file is damaged"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    path = tmp_path / "train.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=re.escape(f"train.txt{message}")):
        read_letor(path)


def test_a_long_value_is_refused_in_time():
    with pytest.raises(DataError, match="is not a feature"):
        read(f"1 qid:1 1:{'1' * 100_000}x\n")


def check_equal(a, b):
    for name in ("X", "relevance", "feature_indices", "queries", "comments"):
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def lines_of_text():
    text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=5)
    return text.filter(lambda value: value == value.strip())


@st.composite
def data_sets(draw):
    word = lines_of_text().filter(lambda value: value.split() == [value] and "#" not in value)
    names = draw(st.lists(word, min_size=1, max_size=3, unique=True))
    queries = [name for name in names for _ in range(draw(st.integers(1, 3)))]
    indices = sorted(draw(st.sets(st.integers(1, 10**17), max_size=3)))
    finite = st.floats(allow_infinity=False)
    n = len(queries)
    return LetorData(
        draw(arrays.arrays(np.float64, (n, len(indices)), elements=finite)),
        draw(arrays.arrays(np.float64, n, elements=st.floats(0.0, 1e300))),
        queries,
        np.array(indices, dtype=np.int64),
        draw(st.lists(lines_of_text(), min_size=n, max_size=n)),
    )


@given(data_sets())
def test_round_trip(data):
    file = io.BytesIO()
    write_letor(file, data)
    file.seek(0)
    check_equal(read_letor(file), data)


def test_write(tmp_path):
    file = io.StringIO()
    write_letor(file, read(TEXT))
    assert file.getvalue() == (
        "2 qid:10 1:0.5 2:NULL 7:-0.01 #docid = 1056\n"
        "0 qid:10 1:0.25 2:3 7:0\n"
        "1 qid:b 1:1 2:2 7:1000 #docid = 7 #\n"
    )
    for name in ("a.txt", "a.txt.gz"):
        write_letor(tmp_path / name, read(TEXT))
        check(read_letor(tmp_path / name))
        assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith("gz")


TWO = {"X": np.zeros((2, 1)), "relevance": np.zeros(2), "queries": ["a", "b"], "comments": ["", ""]}
NONE = {"X": np.zeros((0, 1)), "relevance": np.zeros(0), "queries": [], "comments": []}
THREE = {"X": np.zeros((3, 1)), "relevance": np.zeros(3), "queries": list("aba"), "comments": [""] * 3}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"relevance": np.array([0.0, -1.0])}, "document 1: the relevance -1.0"),
        ({"X": np.array([[0.0], [np.inf]])}, "document 1, feature 1: inf is neither a finite number"),
        ({"feature_indices": np.array([0])}, "feature numbers must be 1 or more and increase, but they are"),
        ({"queries": ["a", "b c"]}, "document 1: the query 'b c' is not one word without '#'"),
        ({"queries": ["a", "\ud800"]}, r"document 1: the query '\ud800'"),
        ({"comments": ["", "a\nb"]}, r"document 1: the comment 'a\nb' is not one line of text"),
        (THREE, "the documents of the query 'a' are not together"),
        (NONE, "there are no documents"),
        ({"X": np.zeros((3, 1))}, "X must have the shape (2, 1), not (3, 1)"),
        ({"queries": ["a"]}, "queries has 1 entries, but there are 2 documents"),
    ],
)
def test_what_could_not_be_read_back_is_refused(changes, message):
    with pytest.raises(DataError, match=re.escape(message)):
        write_letor(io.StringIO(), LetorData(**{**TWO, "feature_indices": np.array([1]), **changes}))


def test_small_files_of_large_tables_are_refused():
    text = "".join(f"1 qid:{k} {k}:1\n" for k in range(1, 5001))
    with pytest.raises(
        DataError, match="5,000 values are too few for a dense table of 5,000 documents and 5,000 features"
    ):
        read(text)
    assert read(text[: text.index("1 qid:200 ")]).X.shape == (199, 199)


@given(st.data())
def test_numbers_are_those_of_python(data):
    number = st.floats(0.0, allow_infinity=False).map(repr) | st.from_regex(
        r"[0-9]{1,20}\.?[0-9]{0,9}", fullmatch=True
    )
    words = data.draw(st.lists(number, min_size=1, max_size=4))
    found = read("".join(f"{word} qid:1 3:{word}\n" for word in words))
    expected = [float(word) for word in words]
    assert found.relevance.tolist() == found.X[:, 0].tolist() == expected
