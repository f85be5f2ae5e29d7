"""Files of any RNA format, by name and by content."""

import gzip
import io
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.errors import DataError
from structune.rna.formats.any import read_rna, write_rna
from structune.rna.formats.record import RNARecord

RECORD = RNARecord("x", "GAAC", "(..)")
SEQUENCE = RNARecord("x", "GAAC")
TEXTS = {
    "fasta": ">x\nGAAC\n",
    "dot_bracket": ">x\nGAAC\n(..)\n",
    "bpseq": "#Name: x\n1 G 4\n2 A 0\n3 A 0\n4 C 1\n",
    "ct": "4 x\n1 G 0 2 4 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 C 3 0 1 4\n",
    "stockholm": "# STOCKHOLM 1.0\nx G-AAC\n#=GC SS_cons <...>\n//\n",
}
ENDINGS = {
    ".fa": "fasta",
    ".fasta": "fasta",
    ".fna": "fasta",
    ".dbn": "dot_bracket",
    ".dot": "dot_bracket",
    ".db": "dot_bracket",
    ".vienna": "dot_bracket",
    ".bpseq": "bpseq",
    ".ct": "ct",
    ".sto": "stockholm",
    ".stk": "stockholm",
}


def expected(format):
    return [SEQUENCE if format == "fasta" else RECORD]


@pytest.mark.parametrize("ending", ENDINGS)
def test_read_by_ending(tmp_path, ending):
    text = TEXTS[ENDINGS[ending]]
    for name in (f"a{ending}", f"A.{ending[1:].upper()}"):
        (tmp_path / name).write_text(text)
        assert list(read_rna(tmp_path / name)) == expected(ENDINGS[ending])
    packed = tmp_path / f"a{ending}.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert list(read_rna(str(packed))) == expected(ENDINGS[ending])
    with packed.open("rb") as file:
        assert list(read_rna(file)) == expected(ENDINGS[ending])


@pytest.mark.parametrize("format", TEXTS)
def test_read_by_content(tmp_path, format):
    text = TEXTS[format]
    (tmp_path / "a.txt").write_text("\n" + text)
    for source in (tmp_path / "a.txt", io.StringIO(text), io.BytesIO(gzip.compress(text.encode()))):
        assert list(read_rna(source)) == expected(format)


@pytest.mark.parametrize(
    "text",
    [
        "Filename: x.ct\nOrganism: y\n" + TEXTS["ct"],
        "Filename: x.bpseq\nOrganism: y\n" + TEXTS["bpseq"],
        "# comment\n" + TEXTS["dot_bracket"],
        TEXTS["dot_bracket"].replace(">x", "# header"),
        TEXTS["ct"].replace("4 x", "4 dG = 1.5 x"),
    ],
)
def test_read_by_content_below_other_lines(text):
    (record,) = read_rna(io.StringIO(text))
    assert (record.sequence, record.structure) == ("GAAC", "(..)")


def test_format_goes_before_the_ending(tmp_path):
    (tmp_path / "a.fa").write_text(TEXTS["dot_bracket"])
    assert list(read_rna(tmp_path / "a.fa", "dot_bracket")) == [RECORD]


def test_read_a_folder(tmp_path):
    (tmp_path / "b.ct").write_text(TEXTS["ct"].replace("x", "b"))
    (tmp_path / "a.bpseq").write_text(TEXTS["bpseq"].replace("x", "a"))
    (tmp_path / "c.fa.gz").write_bytes(gzip.compress(b">c\nA"))
    (tmp_path / "d.fas").write_text(">d\nA")
    (tmp_path / "README").write_text("no RNA")
    (tmp_path / "inner.ct").mkdir()
    assert [record.name for record in read_rna(tmp_path)] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("format", ["dot_bracket", "ct", "bpseq", "fasta"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_write(tmp_path, format, packed):
    for ending in (ending for ending, name in ENDINGS.items() if name == format):
        path = tmp_path / f"a{ending}{packed}"
        write_rna(path, [RECORD])
        assert path.read_bytes().startswith(b"\x1f\x8b") == bool(packed)
        assert list(read_rna(path)) == expected(format)
    file = io.StringIO()
    write_rna(file, [RECORD], format)
    assert file.getvalue() == TEXTS[format]


def test_what_is_wrong_is_named(tmp_path):
    with pytest.raises(DataError, match=r"found no files, expected some that end in \.fa \.fas"):
        list(read_rna(tmp_path))
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(DataError, match=r"a\.txt: found no text, expected RNA sequences"):
        list(read_rna(tmp_path / "a.txt"))
    for text in ("name,sequence\n", "GGJ\n"):
        message = f"<input>: found {text.strip()!r}, expected fasta, dot_bracket, plain, bpseq, ct, stockholm"
        with pytest.raises(DataError, match=re.escape(message)):
            list(read_rna(io.StringIO(text)))
    with pytest.raises(DataError, match="found format='tsv', expected one of fasta, dot_bracket"):
        read_rna(io.StringIO(""), "tsv")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.txt", "a.txt: found an unknown ending, expected format to be one of fasta, dot_bracket"),
        ("a.sto", "a.sto: found the format stockholm, expected format to be one of fasta, dot_bracket"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, name, message):
    with pytest.raises(DataError, match=re.escape(message)):
        write_rna(tmp_path / name, [RECORD])
    assert not (tmp_path / name).exists()
    with pytest.raises(DataError, match="found format='stockholm', expected one of fasta"):
        write_rna(tmp_path / name, [RECORD], "stockholm")


@given(
    st.lists(
        st.sampled_from([*"ACGU.()[]<>Aa>#:/ \n\n\t125é", "1 A 2\n2 A 1\n", "2 x\n", "#=GC SS_cons ", "//"])
    ),
    st.sampled_from([None, *TEXTS]),
)
def test_any_text_is_read_or_refused(parts, format):
    start = "# STOCKHOLM 1.0\n" if format == "stockholm" else ""
    with suppress(DataError):
        list(read_rna(io.StringIO(start + "".join(parts)), format))
