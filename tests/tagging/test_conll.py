"""CoNLL column files: what is read, what is written back, and what is refused, with the line named."""

import gzip
import io
import re
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.errors import DataError
from structune.tagging import conll
from structune.tagging.conll import ConllData, read_conll, read_conll_blocks, write_conll

TEXT = "the DT B-NP\ndog NN I-NP\n\n\nbarks VB B-VP\n"
COLUMNS = {"w": ["the", "dog", "barks"], "pos": ["DT", "NN", "VB"], "y": ["B-NP", "I-NP", "B-VP"]}


def read(text, *args, **kwargs):
    return read_conll(io.StringIO(text), *args, **kwargs)


@pytest.mark.parametrize(
    "text",
    [
        TEXT.strip(),
        "\n \n\t\n" + TEXT + "\n\n",
        TEXT.replace("\n", "\r\n"),
        TEXT.replace(" ", "  \t"),
        " " + TEXT.replace("\n\n", " \n\n"),
        "\ufeff" + TEXT,
        "-DOCSTART- -X- O\n\n" + TEXT,
        TEXT.replace("\n\n", "\n-DOCSTART- -X-\n"),
        TEXT.replace("DT", "DT\x0b"),
    ],
)
def test_read_tolerates(text):
    data = read(text)
    assert data.columns == COLUMNS
    assert data.lengths.dtype == np.int64
    assert (len(data), data.n_tokens) == (2, 3)
    assert data.sentences("y") == [["B-NP", "I-NP"], ["B-VP"]]


def test_further_columns_are_ignored_and_none_reads_all():
    assert read(TEXT, ["w"]).columns == {"w": COLUMNS["w"]}
    assert read(TEXT, None).columns == dict(zip(["c0", "c1", "c2"], COLUMNS.values(), strict=True))


def test_comments_are_tokens_unless_asked():
    text = "# # B-NP\n# text = a comment\na DT O\n"
    assert read(text, ["w"], separator=None).columns == {"w": ["#", "#", "a"]}
    data = read(text.replace("\na", "\n#b\na"), ["w"], separator=None, comment="# ")
    assert data.columns == {"w": ["#b", "a"]}
    assert len(data) == 1


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a b c\n\n-DOCSTART-\nd e\n", ("w", "pos", "y"), ":4: the line has 2 columns, but at least 3 are"),
        ("a b\na b c\n", None, ":2: the line has 3 columns, but 2 are needed (c0, c1)"),
        ("a b\na\n", None, ":2: the line has 1 column, but 2 are needed (c0, c1)"),
        ("", ("w",), ": the file has no tokens"),
        ("\n\n  \n", None, ": the file has no tokens"),
        (b"a b\n\nok \xff\xfe\n", ("w", "y"), r":3: the bytes b'\xff\xfe' are not UTF-8 text"),
        (b"\xff\xfea\x00 \x00b\x00", ("w",), " looks like UTF-16 text"),
        (b"\x1f\x8b\x08damaged", ("w",), ": the gzip file is damaged"),
        (gzip.compress(b"a b c\n" * 999, mtime=0)[:-20], ("w",), ": the gzip file is damaged"),
        ("x " * 10_001, None, ":1: there are 10,001 columns, but at most 10,000"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, columns, message):
    path = tmp_path / "train.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for n_lines in (1, 1000):
        with pytest.raises(DataError, match=re.escape(f"train.txt{message}")):
            list(read_conll_blocks(path, columns, n_lines=n_lines))


def test_endless_columns_are_read_if_they_are_named():
    assert len(read("x " * 10_000, None).columns) == 10_000
    assert list(read("x " * 10_001, ("a", "b")).columns) == ["a", "b"]
    with pytest.raises(DataError, match="n_lines=0: expected at least 1"):
        list(read_conll_blocks(io.StringIO(TEXT), n_lines=0))


@pytest.mark.parametrize("piece", [1, 1 << 18])
@pytest.mark.parametrize(
    "name", ["latin-1", "utf-16", "utf-16-be", "UTF-32", "utf-8-sig", "cp1252", "gb18030"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings(name, end, piece):
    text = "é DT\nb üö\n\n\nc ß\n".replace("\n", end)
    with patch.object(conll, "_PIECE", piece):
        data = read_conll(io.BytesIO(text.encode(name)), ("w", "y"), encoding=name)
    assert data.columns == {"w": ["é", "b", "c"], "y": ["DT", "üö", "ß"]}
    assert data.lines.tolist() == [1, 2, 5]


@pytest.mark.parametrize("piece", [1, 1 << 18])
@pytest.mark.parametrize(
    ("content", "name", "line"),
    [
        (b"a x\n\nb \x81\n", "cp1252", 3),
        (b"a x\r\r\nb \xff\n", "ascii", 3),
        ("a x\nb y\n".encode("utf-16") + b"\x00\xd8\n\0", "utf-16", 3),
        ("a x\nb y".encode("utf-16")[:-1], "utf-16", 2),
        (b"a x\n\xe9 y\n", "utf-8", 2),
    ],
)
def test_bytes_that_do_not_fit_the_encoding_are_named(content, name, line, piece):
    with (
        patch.object(conll, "_PIECE", piece),
        pytest.raises(DataError, match=f"<input>:{line}: the bytes b.* {name} "),
    ):
        read_conll(io.BytesIO(content), ("w", "y"), encoding=name)


def test_encodings_that_are_likely_wrong_are_told():
    for actual, name in (("utf-8", "cp1250"), ("utf-8", "latin-1"), ("cp1252", "latin-1")):
        with pytest.warns(UserWarning, match=f"<input> is read as {name}, but it looks like {actual}"):
            read_conll(io.BytesIO("a x\n“é„ x\n".encode(actual)), ("w",), encoding=name)


def test_unknown_encodings_are_refused():
    for name in ("", "base64", "klingon", "a\0b", "rot13"):
        with pytest.raises(DataError, match=r"is unknown\. Give one such as"):
            read_conll(io.BytesIO(b"a x\n"), ("w", "y"), encoding=name)
    with pytest.raises(DataError, match=r"not start with BOM\. Name another encoding, such as utf-16-le"):
        read_conll(io.BytesIO(b"a x\n"), ("w", "y"), encoding="utf-16")
    with pytest.raises(DataError, match="needs a path or a binary file"):
        read("a x\n", ("w", "y"), encoding="latin-1")


PIECES = [
    *(b"a", "é".encode(), b"\xff", b" ", b"\t", b"\n", b"\n\n", b"\r", b"\r\n", b"\v", b"#", b"||"),
    *("\u00a0".encode(), b"\n-DOCSTART- x\n", b"a b\n", b"# a = b\n", b"1\t", b"<s>", b"/"),
]


def plain(content, separator, comment):
    """The fields of the tokens of each sentence, as Python splits lines."""
    sentences = [[]]
    for line in content.splitlines():
        if comment is not None and line.startswith(comment):
            continue
        if line.strip() and not line.startswith(b"-DOCSTART-"):
            sentences[-1].append(line.split(separator))
        else:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


@given(
    st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join),
    st.sampled_from([None, "\t", "||"]),
    st.sampled_from([None, "#"]),
    st.sampled_from([1, 3, 1 << 18]),
    st.sampled_from([1, 2, 5, 100]),
)
def test_lines_are_split_as_python_splits_them(content, separator, comment, piece, n_lines):
    encoded = [None if mark is None else mark.encode() for mark in (separator, comment)]
    expected = plain(content, *encoded)
    tokens = [token for sentence in expected for token in sentence]
    is_text = all(b"\xff" not in field for token in tokens for field in token)
    source, marks = io.BytesIO(content), {"separator": separator, "comment": comment}
    with patch.object(conll, "_PIECE", piece):
        if not is_text or len({len(token) for token in tokens}) != 1:
            with pytest.raises(DataError):
                list(read_conll_blocks(source, None, **marks, n_lines=n_lines))
            return
        blocks = list(read_conll_blocks(source, None, **marks, n_lines=n_lines))
    columns = [[value.decode() for value in values] for values in zip(*tokens, strict=True)]
    assert [[v for block in blocks for v in block.columns[name]] for name in blocks[0].columns] == columns
    assert np.concatenate([block.lengths for block in blocks]).tolist() == list(map(len, expected))


@st.composite
def data_sets(draw, separator):
    forbidden = " \t\r\n\v\f\ufeff" if separator == " " else "\t\r\n\v\f\ufeff"
    value = st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters=forbidden), min_size=1, max_size=4
    )
    value = value.filter(lambda text: text.strip(" "))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    size = sum(lengths)
    columns = {
        f"c{k}": draw(st.lists(value, min_size=size, max_size=size)) for k in range(draw(st.integers(1, 3)))
    }
    return ConllData(columns, np.array(lengths))


@pytest.mark.parametrize("separator", [" ", "\t"])
@given(data=st.data())
def test_round_trip(separator, data):
    original = data.draw(data_sets(separator))
    file = io.BytesIO()
    write_conll(file, original, separator)
    file.seek(0)
    again = read_conll(file, None, None if separator == " " else separator, comment=None)
    assert again.columns == original.columns
    assert again.lengths.tolist() == original.lengths.tolist()


def test_write(tmp_path):
    for name in ("a.txt", "a.txt.gz"):
        write_conll(tmp_path / name, read(TEXT))
        assert read_conll(str(tmp_path / name)).columns == COLUMNS
        assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith("gz")
    file = io.StringIO()
    write_conll(file, read(TEXT, ["w", "y"]).with_column("predicted", [["O", "B"], ["I"]]))
    assert file.getvalue() == "the DT O\ndog NN B\n\nbarks VB I\n\n"


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: read(TEXT).with_column("p", [["O", "O"]]), "column 'p' has 1 sentence, but the data have 2"),
        (lambda: read(TEXT).with_column("p", [["O"] * 2] * 2), "sentence 1: there are 2 values, but 1 token"),
        (lambda: read(TEXT).with_column("w", [["O", "O"], ["O"]]), "there is a column 'w' already"),
        (lambda: read(TEXT).sentences("tag"), "there is no column 'tag'. The columns are w, pos, y"),
        (lambda: ConllData({"w": ["a"]}, np.array([1, 0])), "sentence 1 is empty"),
        (lambda: ConllData({"w": ["a"]}, np.array([2])), "column 'w' has 1 values, but there are 2"),
        (lambda: read(TEXT, []), "expected a list of distinct names"),
        (lambda: read(TEXT, iter("ww")), "expected a list of distinct names"),
        (lambda: read(TEXT, "wy"), "expected a list of distinct names"),
        *(
            (lambda v=v: conll.conll_text(ConllData({"w": ["ok", v]}, np.array([2]))), f"1: {v!r} cannot")
            for v in ["", " ", "a b", "a\nb", "a\tb", "\v", "-DOCSTART-"]
        ),
    ],
)
def test_what_does_not_fit_is_refused(use, message):
    with pytest.raises(DataError, match=re.escape(message)):
        use()


@pytest.mark.parametrize("n_lines", [1, 5])
@pytest.mark.parametrize("packed", [False, True])
def test_blocks_are_the_file(tmp_path, n_lines, packed):
    text = "\ufeffa B\nb B\n\n\nc I\r\nd I\n\ne O\n-DOCSTART- X\n\nf O"
    path = tmp_path / "train"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    whole = read_conll(path, ("w", "y"))
    for source in (path, io.BytesIO(path.read_bytes()), *([] if packed else [io.StringIO(text)])):
        blocks = list(read_conll_blocks(source, ("w", "y"), n_lines=n_lines))
        assert [word for block in blocks for word in block.columns["w"]] == whole.columns["w"]
        assert [n for block in blocks for n in block.lengths] == whole.lengths.tolist()
        assert len(blocks) > 1
