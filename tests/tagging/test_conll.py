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


def test_read():
    data = read(TEXT)
    assert data.columns == COLUMNS
    assert data.lengths.dtype == np.int64
    assert (len(data), data.n_tokens) == (2, 3)
    assert data.sentences("y") == [["B-NP", "I-NP"], ["B-VP"]]


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
    assert data.lengths.tolist() == [2, 1]


def test_sources(tmp_path):
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_text(TEXT)
    packed.write_bytes(gzip.compress(TEXT.encode()))
    for source in (plain, str(plain), packed, io.BytesIO(TEXT.encode()), io.BytesIO(packed.read_bytes())):
        assert read_conll(source).columns == COLUMNS
    with plain.open() as file:
        assert read_conll(file).columns == COLUMNS


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
        (gzip.compress(b"a b c\n" * 99, mtime=0)[:-20], ("w",), ": the gzip file is damaged"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, columns, message):
    path = tmp_path / "train.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=re.escape(f"train.txt{message}")):
        read_conll(path, columns)


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


@pytest.mark.parametrize("name", ["", "base64", "klingon", "a\0b", "rot13"])
def test_unknown_encodings_are_refused(name):
    with pytest.raises(DataError, match=r"is unknown\. Give one such as"):
        read_conll(io.BytesIO(b"a x\n"), ("w", "y"), encoding=name)
    with pytest.raises(DataError, match=r"not start with BOM\. Name another encoding, such as utf-16-le"):
        read_conll(io.BytesIO(b"a x\n"), ("w", "y"), encoding="utf-16")
    with pytest.raises(DataError, match="needs a path or a binary file"):
        read("a x\n", ("w", "y"), encoding="latin-1")


@pytest.mark.parametrize("columns", [[], ["w", "w"], "wy", iter("ww")])
def test_column_names_are_checked(columns):
    with pytest.raises(DataError, match="expected a list of distinct names"):
        read(TEXT, columns)


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


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_write_to_a_path(tmp_path, name):
    write_conll(tmp_path / name, read(TEXT))
    assert read_conll(tmp_path / name).columns == COLUMNS
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith("gz")


def test_write_text_with_predictions():
    file = io.StringIO()
    write_conll(file, read(TEXT, ["w", "y"]).with_column("predicted", [["O", "B"], ["I"]]))
    assert file.getvalue() == "the DT O\ndog NN B\n\nbarks VB I\n\n"


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([["O", "O"]], "column 'p' has 1 sentence, but the data have 2"),
        ([["O", "O"], ["O", "O"]], "column 'p', sentence 1: there are 2 values, but 1 token"),
    ],
)
def test_columns_that_do_not_fit_are_refused(sentences, message):
    with pytest.raises(DataError, match=message):
        read(TEXT).with_column("p", sentences)


def test_column_names_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="there is a column 'w' already"):
        read(TEXT).with_column("w", [["O", "O"], ["O"]])
    with pytest.raises(DataError, match=r"there is no column 'tag'. The columns are w, pos, y"):
        read(TEXT).sentences("tag")


@pytest.mark.parametrize("value", ["", " ", "a b", "a\nb", "a\tb", "\u000b", "-DOCSTART-"])
def test_values_that_could_not_be_read_back_are_refused(value):
    data = ConllData({"w": ["ok", value]}, np.array([2]))
    with pytest.raises(DataError, match=re.escape(f"column 'w', token 1: {value!r} cannot")):
        write_conll(io.StringIO(), data)


def test_sentences_without_tokens_are_refused():
    with pytest.raises(DataError, match="sentence 1 is empty"):
        ConllData({"w": ["a"]}, np.array([1, 0]))
    with pytest.raises(DataError, match="column 'w' has 1 values, but there are 2"):
        ConllData({"w": ["a"]}, np.array([2]))


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


def test_blocks_name_lines_of_the_file():
    text = b"a B\n\nb B\n\nc\n"
    with pytest.raises(DataError, match=":5: the line has 1 column"):
        list(read_conll_blocks(io.BytesIO(text), ("w", "y"), n_lines=1))
    with pytest.raises(DataError, match=":5: the line has 1 column, but 2 are"):
        list(read_conll_blocks(io.BytesIO(text), None, n_lines=1))
    with pytest.raises(DataError, match="has no tokens"):
        list(read_conll_blocks(io.BytesIO(b"\n\n\n"), n_lines=1))
    with pytest.raises(DataError, match="n_lines=0: expected at least 1"):
        list(read_conll_blocks(io.BytesIO(text), n_lines=0))
    with pytest.raises(DataError, match="gzip file is damaged"):
        list(read_conll_blocks(io.BytesIO(gzip.compress(b"a B\n" * 1000)[:-20]), ("w", "y")))


def test_endless_columns_are_refused_unless_those_to_read_are_named():
    text = " ".join(["x"] * 10_001) + "\n"
    assert len(read_conll(io.StringIO(text[2:]), None).columns) == 10_000
    with pytest.raises(DataError, match=r"<input>:1: there are 10,001 columns, but at most 10,000"):
        read_conll(io.StringIO(text), None)
    assert list(read_conll(io.StringIO(text), ("a", "b")).columns) == ["a", "b"]
