"""Files of any RNA format, by name and by content; CT, BPSEQ and parameters of CONTRAfold."""

import gzip
import io
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnas import structured_records
from structune.errors import DataError
from structune.rna.formats.any import read_rna, write_rna
from structune.rna.formats.contrafold import read_contrafold, write_contrafold
from structune.rna.formats.pair_tables import write_bpseq
from structune.rna.formats.sequences import RNARecord

RECORD = RNARecord("x", "GAAC", "(..)")
SEQUENCE = RNARecord("x", "GAAC")
BASES = "1 G 0 2 4 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 C 3 0 1 4\n"
TEXTS = {
    "fasta": ">x\nGAAC\n",
    "dot_bracket": ">x\nGAAC\n(..)\n",
    "bpseq": "#Name: x\n1 G 4\n2 A 0\n3 A 0\n4 C 1\n",
    "ct": f"4 x\n{BASES}",
    "stockholm": "# STOCKHOLM 1.0\nx G-AAC\n#=GC SS_cons <...>\n//\n",
}
ENDINGS = {".fna": "fasta", ".db": "dot_bracket", ".bpseq": "bpseq", ".ct": "ct", ".stk": "stockholm"}


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


def test_read_a_folder(tmp_path):
    (tmp_path / "b.ct").write_text(TEXTS["ct"].replace("x", "b"))
    (tmp_path / "a.bpseq").write_text(TEXTS["bpseq"].replace("x", "a"))
    (tmp_path / "c.fa.gz").write_bytes(gzip.compress(b">c\nA"))
    (tmp_path / "d.fas").write_text(">d\nA")
    (tmp_path / "README").write_text("no RNA")
    (tmp_path / "inner.ct").mkdir()
    assert [record.name for record in read_rna(tmp_path)] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(("ending", "format"), [*ENDINGS.items()][:-1])
def test_write(tmp_path, ending, format):
    write_rna(tmp_path / f"a{ending}", [RECORD])
    assert (tmp_path / f"a{ending}").read_text() == TEXTS[format]
    write_rna(tmp_path / f"a{ending}.gz", [RECORD])
    assert gzip.decompress((tmp_path / f"a{ending}.gz").read_bytes()).decode() == TEXTS[format]
    file = io.StringIO()
    write_rna(file, [RECORD], format)
    assert file.getvalue() == TEXTS[format]


REFUSED = {  # texts, and what is said of them behind the name of the file
    "fasta": [
        ("\nACGU\n", "2: expected a header '>name', not 'ACGU'"),
        (">a\nAC\n\n7cuZA\n", "4: position 1 (from 1): '7' is not one of ACGUNRYSWKMBDHVX or T"),
        (">a\r\nAC GU\r\n", "2: position 3 (from 1): ' ' is not one of"),
        (">a\nac\u00e9\n", "2: position 3 (from 1): '\u00e9' is not one of"),
        (">a\nAC-GU\n", "2: position 3 (from 1): '-' is not one of"),
        (b">a\nA\n>\xff\nA\n", "3: the name '\\udcff' is not one word of UTF-8 text"),
        (gzip.compress(b">a\nACGU\n" * 9, mtime=0)[:-20], " the gzip file is damaged"),
        ("A" * 50, f"1: expected a header '>name', not '{'A' * 37}...'"),
    ],
    "dot_bracket": [
        (">a\nAC\nG7\n(..)\n", "3: position 2 (from 1): '7' is not one of"),
        (">a\n(..)\n", "2: the structure '(..)' has no sequence before it"),
        (">a\nACGU\n(..)\n.....\n", "4: record 'a/2': the length of a structure is 5, but there are 4"),
        (">a\nACGU\n>b\nA\n.\n", "1: record 'a': no structure after the sequence"),
        ("\n\nACGU\n", "3: record '1': no structure"),
        (">a\nACGU\n(.)\n", "3: record 'a': the length of a structure is 3, but there are 4 bases"),
        (">a\nACGU\n(.))\n", "3: record 'a': position 4 (from 1): ')' has no matching '('"),
        (">a\nACGU\n(..,\n", "3: record 'a': position 4 (from 1): ',' is not '.', a bracket"),
        (">a\nACGU\n(..) -1.2x\n", "3: '-1.2x' after the structure is not an energy"),
    ],
    "ct": [
        ("\nsome text\n", "2: 'some text' is not a header with the number of bases and a name"),
        ("1 x\n1 A 0 2 0 1\n2 C 1 0 0 2\n", "3: '2 C 1 0 0 2' is not a header"),
        (f"5 x\n{BASES}", "1: the file ends after 4 bases, but the header says 5"),
        (f"5 x\n{BASES}{BASES}", "6: the index is 1, expected 5"),
        ("1 x\n1 A 0 0\n", "2: the line has 4 columns, expected 6: index, base, before, after, partner"),
        ("1 x\n1 A 0 b 0 1\n", "2: 'b' is not a whole number of at least 0"),
        ("1 x\n1 AC 0 0 0 1\n", "2: the base 'AC' is not one letter"),
        ("1 x\n1 - 0 0 0 1\n", "2: position 1 (from 1): '-' is not one of"),
        ("1 x\n1 A 0 0 2 1\n", "2: the partner 2 is not within 0 to 1"),
        ("1 x\n1 A 0 0 1 1\n", "2: base 1 is paired with itself"),
        (f"4 x\n{BASES}".replace("3 0 1", "3 0 0"), "2: base 1 is paired with 4, but base 4 with 0 in"),
    ],
    "bpseq": [
        ("#\n1 A 0\n3 A 0\n", "3: the index is 3, expected 2"),
        ("1 A 0\nx A 0\n", "2: 'x' is not a whole number of at least 0"),
        ("1 A 0\n2 A -1\n", "2: the partner is unknown (-1), but not those of all bases"),
        ("1 A 1234567890\n", "1: '1234567890' is not a whole number of at least 0"),
        ("1 A\n", "1: '1 A' is not three columns: index, base, partner"),
        ("some text\n1 A 0\n", "1: 'some text' is not three columns"),
        ("1 A 0\nOrganism: x\n", "2: 'Organism: x' is not three columns"),
        ("1 A 0\n2 A 3\n", "2: the partner 3 is not within 0 to 2"),
        ("1 A 2\n2 A 3\n3 A 2\n", "1: base 1 is paired with 2, but base 2 with 3 in line 2"),
    ],
}


@pytest.mark.parametrize(
    ("format", "text", "message"), [(format, *case) for format, cases in REFUSED.items() for case in cases]
)
def test_what_is_wrong_in_a_line_is_named(format, text, message):
    source = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=re.escape(f"<input>:{message}")):
        list(read_rna(source, format))


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9).filter(
    lambda text: text.split() == [text]
)


@pytest.mark.parametrize("format", ["dot_bracket", "ct", "bpseq", "fasta"])
@given(st.lists(st.tuples(structured_records(), words), min_size=1, max_size=3))
def test_round_trip(format, named):
    file, records = io.StringIO(), [record for record, _ in named][: 1 if format == "bpseq" else 3]
    if format == "fasta":  # of any names, and without structures
        records = [replace(record, name=name, structure=None) for record, name in named]
    write_rna(file, records, format)
    file.seek(0)
    assert list(read_rna(file, format)) == records


@pytest.mark.parametrize("format", ["dot_bracket", "ct", "bpseq"])
def test_structures_are_needed(format):
    with pytest.raises(DataError, match="record 'd': no structure"):
        write_rna(io.StringIO(), [RNARecord("d", "A")], format)


def test_what_is_wrong_is_named(tmp_path):
    with pytest.raises(DataError, match=r"the folder has no files that end in \.fa \.fas"):
        list(read_rna(tmp_path))
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(DataError, match=r"a\.txt: the file is empty, expected RNA sequences"):
        list(read_rna(tmp_path / "a.txt"))
    for text in ("name,sequence\n", "GGJ\n"):
        message = f"<input>: {text.strip()!r} is in none of the formats fasta, dot_bracket, plain, seq, bpseq"
        with pytest.raises(DataError, match=re.escape(message)):
            list(read_rna(io.StringIO(text)))
    with pytest.raises(DataError, match="format='tsv': expected one of fasta, dot_bracket"):
        read_rna(io.StringIO(""), "tsv")


def test_what_cannot_be_written_is_refused(tmp_path):
    for name, found in (("a.txt", "the ending of the name is unknown"), ("a.sto", "stockholm files cannot")):
        message = rf"{name}: {found}.*; set format to one of fasta, dot_bracket"
        with pytest.raises(DataError, match=message):
            write_rna(tmp_path / name, [RECORD])
        assert not (tmp_path / name).exists()
        with pytest.raises(DataError, match="format='stockholm': expected one of fasta"):
            write_rna(tmp_path / name, [RECORD], "stockholm")


PIPED = {  # what is read of each text, or what its refusal says
    ">x\nGGGGAAAA\nCC.CC\n>y\nGGGAAACCC\n": ":3: record 'x': the length of a structure is 5",
    ">m\nGCGGA[UUA\n": ":2: position 6 (from 1): '[' is not",
    ">a\nGGGGCCCC\n((....)\n>b\nACGU\n": ":3: record 'a': the length of a structure is 7",
    ">a\nGGGGCCCC\n((.xx.))\n": ":3: record 'a': position 4 (from 1): 'x' has no matching 'X'",
    ">b\nGGGG\n||||\n": "is not '.', a bracket or a letter. To read constraints use --constraints",
    ">a\nGGGCCC\n((..))\nSHHHHS\n": ":4: expected a header '>name' after the structure, not 'SHHHHS'",
    "GGGCCC\n((..))\nSHHHHS\n": ":3: record '2': no structure below it, although others have one",
    ">a\nGGGG\nCCCC\n((....))  ( -1.2)\n>b\nACGU\n": [("a", "GGGGCCCC"), ("b", "ACGU")],
    "GGGCCC\n((..)) (0.1)\nACGU\n....\n": [("1", "GGGCCC"), ("2", "ACGU")],
    "GGGCCC\nACGU\n": [("1", "GGGCCC"), ("2", "ACGU")],
    ">a\nACGU\n(A..\n>b\nAC\n": ":3: record 'a': position 1",
}


@pytest.mark.parametrize(("text", "expected"), PIPED.items())
def test_a_pipe_is_read_as_a_file(tmp_path, text, expected):
    (tmp_path / "a.txt").write_text(text)
    for source in (io.BytesIO(text.encode()), tmp_path / "a.txt"):
        if isinstance(expected, str):
            with pytest.raises(DataError, match=re.escape(expected)):
                list(read_rna(source, live=True))
        else:
            assert [(r.name, r.sequence) for r in read_rna(source, live=True)] == expected


def test_sequences_of_several_lines_without_headers(tmp_path):
    """Who may look ahead knows them by their structures; of a pipe it is to be said."""
    text = "ACG\nUAC\n(....)\n"
    (tmp_path / "a.txt").write_text(text)
    expected = [RNARecord("1", "ACGUAC", "(....)")]
    assert list(read_rna(tmp_path / "a.txt", live=True)) == expected
    assert list(read_rna(io.StringIO(text), "dot_bracket", live=True)) == expected
    message = r"3 bases. Sequences of several lines .*--input-format dot_bracket"
    with pytest.raises(DataError, match=message):
        list(read_rna(io.StringIO(text), live=True))


@pytest.mark.parametrize(
    "text",
    [
        ">a\nggggaaaacccc\nxxxxxxxxxxxx\n>b\nacgu\nxxxx\n",
        ">a\nGGGG\nCCCC\nxxxx\nxxxx\n",
        ">a\nACGU\nxxxx\n" * 350,  # more lines than are looked at, which end within a record
    ],
)
def test_constraints_are_no_bases(tmp_path, text):
    name = "a.fa"
    (tmp_path / name).write_text(text)
    for source, live in ((tmp_path / name, True), (tmp_path / name, False), (io.StringIO(text), True)):
        with pytest.raises(DataError, match="For constraints use --constraints"):
            list(read_rna(source, live=live))
    assert "X" in "".join(record.sequence for record in read_rna(tmp_path / name, "fasta"))  # as is said


@pytest.mark.parametrize(
    "text",
    [
        ">a\nGGGGAAAACCCC\nXXXXXXXXXXXX\n",  # in the case of the others
        ">a\nGGGGAAAACCCC\nxxxxxxxxxxxx\nACGU\n",
        ">a\nacgu\nxxxx\n>b\nggggaaaacccc\n",
        ">a\nGGXXXXNN\nACGU\n>b\nxxxx\nxxxx\n",
    ],
)
def test_masked_bases_stay(tmp_path, text):
    (tmp_path / "a.fa").write_text(text)
    expected = "".join(line for line in text.upper().splitlines() if line[0] != ">")
    for source in (tmp_path / "a.fa", io.StringIO(text)):
        assert "".join(record.sequence for record in read_rna(source, live=True)) == expected


ADVICE = {
    "UTF-16 text": "save it as UTF-8 first",
    "a zip file": "unpack it first",
    "aligned FASTA": "fold alignments with structune consensus",
}


def test_records_of_which_some_are_masked_are_told():
    text = ">a\nGGGAAACCC\n>b\nACGU\nxxxx\n>c\nACGU\nxxxx\nACGU\n>d\nAC\nxx\n"
    for skipped in (None, print):
        with pytest.warns(UserWarning, match="a line of x of the same length follows 2 sequences"):
            found = [record.sequence for record in read_rna(io.StringIO(text), live=True, skipped=skipped)]
        assert found == ["GGGAAACCC", "ACGUXXXX", "ACGUXXXXACGU", "ACXX"]


def test_constraints_without_headers_are_no_bases():
    for text in ("ACGU\nxxxx\n", "GGGGG\nACGU\nxxxx\n"):
        with pytest.raises(DataError, match="for masked bases --input-format plain"):
            list(read_rna(io.StringIO(text)))
    assert [record.sequence for record in read_rna(io.StringIO(text), "plain")][-1] == "XXXX"


def test_structures_that_come_after_their_sequences_are_counted():
    text, unused = "ACGU\n....\nGGGCCC\n((..))\n", []
    found = list(read_rna(io.StringIO(text), live=True, unused=lambda: unused.append(1)))
    assert [record.structure for record in found] == [None, None]
    assert len(unused) == 2
    # who does not wait gets them
    assert [record.structure for record in read_rna(io.StringIO(text), "plain")] == ["....", "((..))"]


@pytest.mark.parametrize(
    ("name", "text", "look"),
    [
        ("a.txt", "LOCUS       X 10 bp\nORIGIN\n 1 acgu\n//\n", "GenBank"),
        ("a.fa", "@r1\nACGU\n+\nIIII\n", "FASTQ"),
        ("a.fa", ">a\nAC-GU\n>b\nACCGU\n", "aligned FASTA"),
        ("a.fa", TEXTS["ct"], "CT"),
        ("a.fa", ">a\nACGU\n".encode("utf-16"), "UTF-16 text"),
        ("a.fa", b"PK\3\4", "a zip file"),
    ],
)
def test_what_other_files_look_like_is_told(tmp_path, name, text, look):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    advice = ADVICE.get(look, "RNA is read from FASTA")
    with pytest.raises(DataError, match=re.escape(f"The file looks like {look}: {advice}")):
        list(read_rna(tmp_path / name))


# --- CT and BPSEQ: a base a line ----------------------------------------------------------------------------


def of_ct(text):
    return list(read_rna(io.StringIO(text), "ct"))


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
def test_headers_of_ct(header):
    text = f"\ufeff{header}\n{BASES}".replace("\n", "\r\n")
    assert of_ct(text) == [RNARecord("x", "GAAC", "(..)")]
    assert list(read_rna(io.BytesIO(gzip.compress(text.encode())), "ct")) == [RNARecord("x", "GAAC", "(..)")]


def test_several_structures_of_ct_and_their_names():
    text = f"4\n{BASES}\n4 two words\n{BASES.lower()}# end\n0 none\n4 dG=-1\n{BASES}"
    assert of_ct(text) == [
        RNARecord("1", "GAAC", "(..)"),
        RNARecord("two_words", "GAAC", "(..)"),
        RNARecord("none", "", ""),
        RNARecord("dG=-1", "GAAC", "(..)"),
    ]


def test_further_and_missing_columns():
    assert of_ct("2 x\n1 A 0 2 2 1 0 0\n2 t 1 0 1\n") == [RNARecord("x", "AU", "()")]


def test_two_strands():
    """The first ends where no base is after one, and none before the next; files of zeros tell nothing."""
    text = "4 x\n1 G 0 2 4 1\n2 A 1 0 0 2\n3 A 0 4 0 3\n4 C 3 0 1 4\n"
    assert of_ct(text) == [RNARecord("x", "GA&AC", "(.&.)")]
    with pytest.raises(DataError, match="may occur only once"):
        of_ct(text.replace("3 A 0 4", "3 A 0 0").replace("4 C 3 0", "4 C 0 0"))
    zeros = "4 x\n1 G 0 0 4 1\n2 A 0 0 0 2\n3 A 0 0 0 3\n4 C 0 0 1 4\n"
    assert of_ct(zeros) == [RNARecord("x", "GAAC", "(..)")]


ROWS = "1 G 4\n2 A 0\n3 A 0\n4 C 1\n"


def of_bpseq(text):
    return list(read_rna(io.StringIO(text), "bpseq"))


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
    assert of_bpseq(text) == [RNARecord("x", "GAAC", "(..)")]
    assert list(read_rna(io.BytesIO(gzip.compress(text.encode())), "bpseq")) == [
        RNARecord("x", "GAAC", "(..)")
    ]


def test_names_of_bpseq(tmp_path):
    assert of_bpseq(ROWS)[0].name == "1"
    assert of_bpseq(f"#Name: two words\n{ROWS}")[0].name == "two_words"
    for name in ("my rna.bpseq", "my rna.bpseq.gz"):
        path = tmp_path / name
        path.write_text(ROWS)
        assert next(read_rna(path, "bpseq")).name == "my_rna"


def test_pseudoknots_take_further_brackets():
    assert of_bpseq("1 G 4\n2 T 5\n3 N 6\n4 A 1\n5 r 2\n6 A 3\n") == [RNARecord("1", "GUNARA", "([{)]}")]


def test_names_and_crossings_are_refused_at_the_line_of_the_name():
    with pytest.raises(DataError, match=r":2: the name '\\udcff'"):
        list(read_rna(io.BytesIO(b"# c\n#Name: \xff\n1 A 0\n"), "bpseq"))
    bases = "".join(f"{i + 1} A {(i + 31) % 62 + 1}\n" for i in range(62))
    with pytest.raises(DataError, match=":1: too many pairs cross each other"):
        of_bpseq(f"#Name: x\n{bases}")


def test_a_bpseq_file_holds_one_structure():
    with pytest.raises(DataError, match="a BPSEQ file holds one structure, but there are 2 records"):
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
        ("a 1\nb", "p:2: 'b' is not a name and a finite number"),
        ("a nan", "p:1: .*finite number"),
        ("a 1 2", "p:1: .*finite number"),
        ("a 1\n\na 2", "p:3: the name 'a' occurs twice"),
    ],
)
def test_parameters_that_are_refused(text, message, tmp_path):
    (tmp_path / "p").write_text(text)
    with pytest.raises(DataError, match=message):
        read_contrafold(tmp_path / "p")
