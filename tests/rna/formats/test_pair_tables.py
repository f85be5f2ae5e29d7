"""CT and BPSEQ files, and parameters of CONTRAfold: what stands a line each."""

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structune.errors import DataError
from structune.rna.formats.contrafold import read_contrafold, write_contrafold
from structune.rna.formats.pair_tables import read_bpseq, read_ct, write_bpseq
from structune.rna.formats.sequences import RNARecord

BASES = "1 G 0 2 4 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 C 3 0 1 4\n"


def read(text):
    return read_ct(io.StringIO(text))


@pytest.mark.parametrize(
    "header",
    [
        "4 x",
        "4 ENERGY = -1.2 [initially -1.5] x",
        "4\tdG = -0.3\tx",
        "4 Energy= -0.3 x",
        "# comment\nFilename: x.ct\nOrganism: E. coli\n4 ENERGY = 0",
    ],
)
def test_read(header):
    text = f"\ufeff{header}\n{BASES}".replace("\n", "\r\n")
    assert read(text) == [RNARecord("x", "GAAC", "(..)")]
    assert read_ct(io.BytesIO(gzip.compress(text.encode()))) == [RNARecord("x", "GAAC", "(..)")]


def test_several_structures_and_their_names():
    text = f"4\n{BASES}\n4 two words\n{BASES.lower()}# end\n0 none\n4 dG=-1\n{BASES}"
    assert read(text) == [
        RNARecord("1", "GAAC", "(..)"),
        RNARecord("two_words", "GAAC", "(..)"),
        RNARecord("none", "", ""),
        RNARecord("dG=-1", "GAAC", "(..)"),
    ]


def test_further_and_missing_columns():
    assert read("2 x\n1 A 0 2 2 1 0 0\n2 t 1 0 1\n") == [RNARecord("x", "AU", "()")]


def test_two_strands():
    """The first ends where no base is after one, and none before the next; files of zeros tell nothing."""
    text = "4 x\n1 G 0 2 4 1\n2 A 1 0 0 2\n3 A 0 4 0 3\n4 C 3 0 1 4\n"
    assert read(text) == [RNARecord("x", "GA&AC", "(.&.)")]
    with pytest.raises(DataError, match="expected it once, between two strands"):
        read(text.replace("3 A 0 4", "3 A 0 0").replace("4 C 3 0", "4 C 0 0"))
    zeros = "4 x\n1 G 0 0 4 1\n2 A 0 0 0 2\n3 A 0 0 0 3\n4 C 0 0 1 4\n"
    assert read(zeros) == [RNARecord("x", "GAAC", "(..)")]


ROWS = "1 G 4\n2 A 0\n3 A 0\n4 C 1\n"


def read_rows(text):
    return read_bpseq(io.StringIO(text))


@pytest.mark.parametrize(
    "text",
    [
        f"#Name: x\n{ROWS}",
        f"# Name : x\n# Length: 4\n\n{ROWS}\n# end\n",
        f"# File x.bpseq\n# External source: RCSB\n{ROWS}",
        f"Filename: x.bpseq\nOrganism: E. coli\nAccession Number: X1\n"
        f"Citation and related information available at http://a.b\n{ROWS}",
        f"\ufeff#Name: x\n{ROWS}".replace("\n", "\r\n"),
        f"#Name: x\n{ROWS}".replace("G", "g").replace(" ", "\t"),
    ],
)
def test_read_bpseq(text):
    assert read_rows(text) == [RNARecord("x", "GAAC", "(..)")]
    assert read_bpseq(io.BytesIO(gzip.compress(text.encode()))) == [RNARecord("x", "GAAC", "(..)")]


def test_names(tmp_path):
    assert read_rows(ROWS)[0].name == "1"
    assert read_rows(f"#Name: two words\n{ROWS}")[0].name == "two_words"
    for name in ("my rna.bpseq", "my rna.bpseq.gz"):
        path = tmp_path / name
        path.write_text(ROWS)
        assert read_bpseq(path)[0].name == "my_rna"


def test_pseudoknots_take_further_brackets():
    assert read_rows("1 G 4\n2 T 5\n3 N 6\n4 A 1\n5 r 2\n6 A 3\n") == [RNARecord("1", "GUNARA", "([{)]}")]


def test_names_and_crossings_are_refused_at_the_line_of_the_name():
    with pytest.raises(DataError, match=r":2: found the name '\\udcff'"):
        read_bpseq(io.BytesIO(b"# c\n#Name: \xff\n1 A 0\n"))
    bases = "".join(f"{i + 1} A {(i + 31) % 62 + 1}\n" for i in range(62))
    with pytest.raises(DataError, match=":1: found pairs that cross too often"):
        read_rows(f"#Name: x\n{bases}")


def test_a_bpseq_file_holds_one_structure():
    with pytest.raises(DataError, match="found 2 records, expected 1: a BPSEQ file holds one structure"):
        write_bpseq(io.StringIO(), [RNARecord("a", "A", "."), RNARecord("b", "A", ".")])


# --- parameters of CONTRAfold -------------------------------------------------------------------------------

names = st.text("abcdefgh_0123456789ACGU", min_size=1)


@given(parameters=st.dictionaries(names, st.floats(allow_nan=False, allow_infinity=False)))
def test_parameters_come_back(parameters, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "parameters"
    write_contrafold(path, parameters)
    assert read_contrafold(path) == parameters


def test_blank_lines_and_spaces_in_parameters(tmp_path):
    (tmp_path / "p").write_text("\n base_pair_AU   0.5\t\r\n\nmulti_base -1e-3")
    assert read_contrafold(tmp_path / "p") == {"base_pair_AU": 0.5, "multi_base": -1e-3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1\nb", "p:2: found 'b', expected a name and a finite number"),
        ("a nan", "p:1: .*finite number"),
        ("a 1 2", "p:1: .*finite number"),
        ("a 1\n\na 2", "p:3: found 'a' a second time"),
    ],
)
def test_parameters_that_are_refused(text, message, tmp_path):
    (tmp_path / "p").write_text(text)
    with pytest.raises(DataError, match=message):
        read_contrafold(tmp_path / "p")
