"""SVMlight files: what scikit-learn reads of them, bit by bit, and what it refuses."""

import io

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import load_svmlight_file

from structune.errors import DataError
from structune.flat.svmlight import read_svmlight_blocks

DIGITS = st.text("0123456789", max_size=20)
DECIMALS = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "", "-", "+"]),
    DIGITS,
    st.sampled_from(["", "."]),
    DIGITS,
    st.sampled_from(["", "", "e{}", "E+{}", "e-{}"]).flatmap(
        lambda text: st.builds(text.format, st.integers(0, 330) | st.integers(0, 25))
    ),
)
PLAIN = st.integers(-(10**6), 10**6).map(str) | st.floats(-1e6, 1e6).map(lambda x: f"{x:.5g}")
ODD = st.sampled_from(["-0", "1_0", "0x1p3", "inf", "-nan", "NULL", "1e999", "+-1", "1e", "", "e5", "1.2.3"])
NUMBERS = PLAIN | st.floats(allow_nan=False, allow_infinity=False).map(repr) | DECIMALS


def bits(numbers):
    return np.asarray(numbers, np.float64).view(np.int64)


@st.composite
def lines(draw, numbers=NUMBERS):
    blank = st.sampled_from([" ", " ", "\t", "  \v"])
    indices = sorted(draw(st.sets(st.integers(0, 99), max_size=4)))
    words = [draw(numbers)]
    words += [f"{draw(st.sampled_from(['', '', '0', '+']))}{j}:{draw(numbers)}" for j in indices]
    text = "".join(f"{word}{draw(blank)}" for word in words)
    return text + draw(st.sampled_from(["", "", "# a comment\u00e4: 1:2", "#\0"]))


def texts(line):
    ends = st.sampled_from(["\n", "\n", "\r\n", "\n\n", " \n# c\n"])
    return st.lists(st.tuples(line, ends), min_size=1, max_size=5).map(lambda all: "".join(map("".join, all)))


@given(texts(lines()) | texts(lines(NUMBERS | ODD)), st.integers(1, 60))
@example("1 2:1 1:1\n", 9)
@example("1 1:2 1:2\n", 9)
@example("1 1:NULL\n", 9)
@example("1 :2\n", 9)
@example("1 1:2 qid:3\n", 9)
@example("1 1:2 2:\n1 3:4", 9)
@example("1 1:2 \x1c\n", 9)
@example("1 1:2\r2 2:3\n", 9)
@example("1 1:1#2:2\n1#\n", 9)
@example("#\n", 9)
@example("1", 9)
def test_blocks_are_what_scikit_learn_makes_of_all(text, n_bytes):
    data = text.encode()
    try:
        X, y = load_svmlight_file(io.BytesIO(data), zero_based=True)
        is_sound = y.size > 0 and np.isfinite(X.data).all() and np.isfinite(y).all()
    except ValueError:
        is_sound = False
    if not is_sound:
        with pytest.raises(DataError):
            list(read_svmlight_blocks(io.BytesIO(data), n_bytes))
        return
    blocks = list(read_svmlight_blocks(io.BytesIO(data), n_bytes))
    assert_array_equal(bits(np.concatenate([outputs for _, outputs in blocks])), bits(y))
    assert_array_equal(bits(np.concatenate([rows.data for rows, _ in blocks])), bits(X.data))
    assert_array_equal(np.concatenate([rows.indices for rows, _ in blocks]), X.indices)
    sizes = np.concatenate([np.diff(rows.indptr) for rows, _ in blocks])
    assert_array_equal(sizes, np.diff(X.indptr))
    assert max(rows.shape[1] for rows, _ in blocks) == X.shape[1]


@pytest.mark.parametrize(("text", "line"), [("1 qid:7 1:2\n", 1), ("# qid:1\n1 1:2\n0 qid:x 1:1\n", 3)])
def test_queries_are_refused(text, line):
    with pytest.raises(DataError, match=f":{line}: qid: marks a query of a ranking"):
        list(read_svmlight_blocks(io.BytesIO(text.encode())))


@pytest.mark.parametrize("text", ["1 1:2\n\n1 2:3\n", "\ufeff1 1:2\n1 2:3"])
def test_text_files(text):
    assert [y.tolist() for _, y in read_svmlight_blocks(io.StringIO(text), n_bytes=3)] == [[1.0], [1.0]]
