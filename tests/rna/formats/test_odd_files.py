"""Files of RNA as programs, databases and editors write them: each is read as what it is, or refused."""

import bz2
import gzip
import lzma
import re
import warnings

import pytest

from structune import RNAFolder
from structune.errors import DataError
from structune.rna import read_alignments, read_reactivities, read_rna, write_rna
from structune.rna.formats.alignments import stockholm_text

S, D = "GGGAAACCC", "(((...)))"
ONE = [("a", S, D)]
ROWS = [(k + 1, S[k], 9 - k if D[k] != "." else 0) for k in range(9)]
BPSEQ = "".join(f"{i} {base} {j}\n" for i, base, j in ROWS)
CT = "".join(f"{i} {base} {i - 1} {(i + 1) % 10} {j} {i}\n" for i, base, j in ROWS)
KNOT = "1 G 0 2 4 1\n2 C 1 3 5 2\n3 A 2 4 0 3\n4 C 3 5 1 4\n5 G 4 0 2 5\n"
TRNA = "GCGGAUUUAGCUCAGDDGGGAGAGCGCCAGACUGAAIAPCUGGAGGUCCUGUGTPCGAUCCACAGAAUUCGCACCA"
PLAIN_TRNA = TRNA.replace("P", "N").replace("I", "N").replace("T", "U")
FOLD_P = f"{D} ( -1.20)\n(((,.|))) [ -1.45]\n{D} {{ -1.20 d=0.25}}\n{D} {{ -1.20 MEA=7.1}}\n"
ENSEMBLE = " frequency of mfe structure in ensemble 0.926; ensemble diversity 0.41\n"
SUBOPT = f"{D}  -1.20\n((.....))   0.40\n"
TWO_OF_ONE = [("a/1", S, D), ("a/2", S, "((.....))")]
STO = "# STOCKHOLM 1.0\n#=GF ID fam\na GGG-AAACCC\n#=GC SS_cons <<<.___>>>\n//\n"
EVIDENCE = "".join(f"{i} {base} e1 {0.5 * (j == 0)}\n" for i, base, j in ROWS)
WITH_PAIRS = "".join(f"{i} {base} t2 0.1 -1.0 {j}\n" for i, base, j in ROWS)
PROTEIN = "is it a protein?"

READ = {  # name of the file, text, records, and what is told if there is anything to tell
    "RNAfold": ("a.fold", f">a\n{S}\n{D} (-1.20)\n", ONE),
    "RNAfold, without header": ("a.out", f"{S}\n{D} ( -1.20)\n", [("1", S, D)]),
    "RNAfold -p": ("a.fold", f">a\n{S}\n{FOLD_P}{ENSEMBLE}", ONE, "4 lines about ensembles"),
    "RNAfold -p of two": (
        "a.dbn",
        f">a\n{S}\n{FOLD_P}{ENSEMBLE}>b\nAC\n.. (0.00)\n.. [ 0.00]\n",
        [*ONE, ("b", "AC", "..")],
        "5 lines about ensembles",
    ),
    "RNAfold -p, without header": ("a", f"{S}\n{FOLD_P}{ENSEMBLE}", [("1", S, D)], "4 lines about"),
    "RNAfold -p0": ("a", f">a\n{S}\n{D} (-1.2)\n free energy of ensemble = -1.3 kcal/mol\n", ONE, "1 line"),
    "LinearPartition": ("a", f">a\n{S}\n{D} (-1.2)\nFree Energy of Ensemble: -1.3 kcal/mol\n", ONE, "1 line"),
    "RNAcofold": ("a", ">a\nGG&CC\n((&)) (-1.2)\n", [("a", "GG&CC", "((&))")]),
    "RNAcofold -a": (
        "a",
        ">a\nGG&CC\n((&)) (-1.2)\n((&)) [ -1.3]\n frequency of mfe structure in ensemble 0.5 , delta G bind"
        "ing= -1.2\nFree Energies:\n\nAB\t\tAA\t\tBB\t\tA\t\tB\n-1.3\t-1.0\t-1.0\t0.00\t0.00\n",
        [("a", "GG&CC", "((&))")],
        "5 lines about",
    ),
    "RNAsubopt": (
        "a.subopt",
        f"> a [160]\n{S} -120 160\n{SUBOPT}",
        TWO_OF_ONE,
        "read 1 further structure of the",
    ),
    "RNAsubopt -s": ("a.dbn", f">a\n{S}   -1.20   1.60\n{SUBOPT}", TWO_OF_ONE, "1 further structure"),
    "RNAsubopt, range below": ("a", f">a\n{S}\n -120 160\n{SUBOPT}", TWO_OF_ONE, "1 further structure"),
    "RNAsubopt, without header": ("a", f"{S} -120 0\n{D} -1.20\n", [("1/1", S, D)]),
    "RNAsubopt of two": (
        "a",
        f">a\n{S} -120 160\n{SUBOPT}>b\nGG&CC -120 9\n((&)) -1.2\n..&.. 0\n",
        [*TWO_OF_ONE, ("b/1", "GG&CC", "((&))"), ("b/2", "GG&CC", "..&..")],
        "read 2 further structures of the same",
    ),
    "RNAsubopt -p": (
        "a",
        f">a\n{S}\n{D}\n{D}\n{D}\n",
        [("a", S, D), ("a/2", S, D), ("a/3", S, D)],
        "2 further",
    ),
    "RNAsubopt -p --stochBT_en": ("a", f">a\n{S}\n{D} -1.20 0.31\n", [("a/1", S, D)]),
    "RNAsubopt, structures in two lines": (
        "a",
        f">a\n{S}\n(((..\n.)))\n((...\n..))\n",
        [("a", S, D), ("a/2", S, "((.....))")],
        "1 further",
    ),
    "PseudoBase": ("a.dbn", ">a\nGCACG\n:(::)\n", [("a", "GCACG", ".(..)")]),
    "WUSS": ("a.fa", f">a\n{S}\n<<<_~->>>\n", [("a", S, "<<<...>>>")]),
    "energy with exponent": ("a", f">a\n{S}\n{D} (-1e-3)\n", ONE),
    "bpRNA": ("x.dbn", f"#Name: a\n#Length:  9\n#PageNumber: 1\n{S}\n{D}\n", ONE),
    "RNAstructure's dots": ("a.dbn", f">  ENERGY = -1.2  a\n{S}\n{D}\n", ONE),
    "RNAstructure's dots of two": ("a.dot", f">ENERGY = -1.2  a\n{S}\n{D}\n" * 2, ONE * 2),
    "CONTRAfold": ("a", f">a\n{S}\n>structure\n{D}\n", ONE),
    "FASTA with structures": ("a.fa", f">a\n{S}\n{D}\n", ONE),
    "FASTA with wrapped structures": (
        "a.fasta",
        ">a\nGGGA\nAACCC\n(((.\n..)))\n>b\nAC\n..\n",
        [*ONE, ("b", "AC", "..")],
    ),
    "FASTA with pseudoknots": ("a.fna", ">a\nGCACG\n([.)]\n", [("a", "GCACG", "([.)]")]),
    "FASTA with unpaired bases": ("a.fa", ">a\nACG\nU\n....\n", [("a", "ACGU", "....")]),
    "FASTA with energies": ("a.fas", f">a\n{S}\n{D} (-1.20)\n", ONE),
    "FASTA of RNAfold -p": ("a.fa", f">a\n{S}\n{FOLD_P}", ONE, "3 lines about"),
    "FASTA, packed, with structures": ("a.fa.gz", gzip.compress(f">a\n{S}\n{D}\n".encode()), ONE),
    "FASTA, lower case and T": ("a.fa", ">a\nacgtn\n", [("a", "ACGUN", None)]),
    "FASTA with empty headers": ("a.fa", ">\nAC\n>\nGU\n", [("1", "AC", None), ("2", "GU", None)]),
    "FASTA named .seq": ("a.seq", ">a\nACGU\n", [("a", "ACGU", None)]),
    "FASTA named .txt": ("a.txt", ">a some words\nACGU\n", [("a", "ACGU", None)]),
    "a sequence named .seq": ("a.seq", "ACGU\n", [("1", "ACGU", None)]),
    "xz": ("a.dbn.xz", lzma.compress(f">a\n{S}\n{D}\n".encode()), ONE),
    "bzip2, without ending": ("a", bz2.compress(f">a\n{S}\n{D}\n".encode()), ONE),
    "carriage returns alone": ("a.dbn", f">a\r{S}\r{D}\r", ONE),
    ".seq": ("a.seq", "; comment\n;\na b\n GGG AAA\n CCC1\n", [("a_b", S, None)]),
    ".seq, 1 in a line of its own": ("a.seq", f";\na\n{S}\n1\n\n", [("a", S, None)]),
    ".seq without title": ("a.seq", f";\n\n{S}1\n", [("1", S, None)]),
    ".seq of two": ("a.seq", ";\na\nAC1\n;\n\nGT1\n", [("a", "AC", None), ("2", "GU", None)]),
    ".seq, named .txt": ("a.txt", f";\na\n{S}1", [("a", S, None)]),
    ".seq in lower case": (
        "a.seq",
        ";\na\nGGGaaaCCC1\n",
        [("a", S, None)],
        "read 3 lower-case bases like the others",
    ),
    "CT of RNAstructure": ("a.ct", f"    9  ENERGY = -1.2  a\n{CT}", ONE),
    "CT of Mfold": ("a.ct", f"9\tdG = -1.2 [initially -1.5]\ta\n{CT}", ONE),
    "CT of energies alone": ("a.ct", f"9 ENERGY = -1.2\n{CT}", [("1", S, D)]),
    "CT without title": ("a.ct", f"9\n{CT}", [("1", S, D)]),
    "CT of two structures": ("a.ct", f"9 dG = -1.2 a\n{CT}9 dG = 0.1 a\n{CT}", ONE * 2),
    "CT with comments": ("a.ct", f"# made by hand\n\n9 a\n# bases\n{CT}# end\n", ONE),
    "CT of RNA STRAND": ("a.ct", f"# File a.ct\n# RNA SSTRAND database\n\n9\tdG = 0\ta\n{CT}", ONE),
    "CT with tabs": ("a.ct", f"9\ta\n{CT}".replace(" ", "\t"), ONE),
    "CT with more columns": ("a.ct", f"9 a\n{CT}".replace("\n", " 0 0\n").replace("9 a 0 0", "9 a"), ONE),
    "CT with a pseudoknot": ("a.ct", f"5 a\n{KNOT}", [("a", "GCACG", "([.)]")]),
    "CT with modified bases": (
        "a.ct",
        f"9 a\n{CT}".replace("4 A", "4 P").replace("5 A", "5 I").replace("6 A", "6 i"),
        [("a", "GGGNNNCCC", D)],
        "3 bases are modified (2 I, 1 P). They are read as N.",
    ),
    "CT in lower case": ("a.ct", f"9 a\n{CT.lower()}", ONE),
    "CT named .txt": ("a.txt", f"9 ENERGY = -1.2 a\n{CT}", ONE),
    "BPSEQ with comments": ("a.bpseq", f"# Name: a\n# b: c\n{BPSEQ}# end\n", ONE),
    "BPSEQ of the Gutell lab": ("x.bpseq", f"Filename: a.bpseq\nOrganism: b c\nAccession: d\n{BPSEQ}", ONE),
    "BPSEQ with modified bases": ("a.bpseq", BPSEQ.replace("4 A", "4 p"), [("a", "GGGNAACCC", D)], "1 base"),
    "BPSEQ with unknown structure": ("a.bpseq", re.sub(r" \d\n", " -1\n", BPSEQ), [("a", S, None)]),
    "BPSEQ with unknown structure, named .txt": ("a.txt", re.sub(r" \d\n", " -1\n", BPSEQ), [("a", S, None)]),
    "BPP2SEQ": ("a.bpseq", EVIDENCE, [("a", S, None)], "data of 3 bases are read only by --shape"),
    "BPP2SEQ, named .txt": ("a.txt", EVIDENCE, [("a", S, None)], "the probing data of 3 bases"),
    "BPP2TSEQ": ("a.bpseq", WITH_PAIRS, ONE, "the probing data of 9 bases"),
    "Stockholm": ("a.sto", STO, ONE),
    "Stockholm of R-scape": (
        "a.sto",
        STO.replace("//", "#=GC SS_cons_1 ..........\n//"),
        ONE,
        "left out 1 line of pseudoknots (SS_cons_1 and so on)",
    ),
    "Stockholm with structures of rows": (
        "a.txt",
        STO.replace("#=GC", "#=GR a PP 9\nb GGGAAAACCC\n#=GR b SS ((......))\n#=GC RF x x x\n#=GC"),
        [*ONE, ("b", "GGGAAAACCC", "((......))")],
    ),
    "Stockholm with modified bases": ("a.sto", STO.replace("GGG-A", "GGG-P"), [("a", "GGGNAACCC", D)], "1 P"),
    "tRNA of a database": ("a.fa", f">a\n{TRNA}\n", [("a", PLAIN_TRNA, None)], "modified (2 P, 1 I)."),
    "tRNA in lines": (
        "a.fa",
        f">a\n{TRNA[:36]}\n{TRNA[36:40]}\n{TRNA[40:]}\n>b\n{TRNA.lower()}\n",
        [("a", PLAIN_TRNA, None), ("b", PLAIN_TRNA, None)],
        "6 bases are modified (4 P, 2 I).",
    ),
    "tRNA without header": ("a.txt", TRNA, [("1", PLAIN_TRNA, None)], "3 bases are modified"),
}

REFUSED = {  # name of the file, text, and what is said
    "protein": ("a.fa", ">a\nMKVLAAGIVGLLLAQWE\n", PROTEIN),
    "protein of few letters": ("a.fa", ">a\nGAGAGSGAAGAGAGSGAP\n", PROTEIN),
    "protein in lower case": ("a.fa", ">a\nmkvlaagivglllaqwe\n", PROTEIN),
    "protein without header": ("a.txt", "MKVLAAGIVGLLLAQWE\n", PROTEIN),
    "protein with a structure": ("a.dbn", ">a\nMKVLAAG\nHHHH...\n", PROTEIN),
    "protein in Stockholm": ("a.sto", "# STOCKHOLM 1.0\na MKVLA-AGIV\n//\n", PROTEIN),
    "protein below RNA": ("a.fa", f">a\n{S}\n>b\nMKVLAAGIV\n", "a.fa:4: position 4"),
    "symbols of modified bases": ("a.fa", ">a\nGCG7AUUUAGC\n", "a.fa:2: position 4 (from 1): '7' is not"),
    "structures of some": ("a.fa", f">a\n{S}\n{D}\n>b\nAC\n", "a.fa:4: record 'b': no structure after"),
    "structure of other length": ("a.fa", f">a\n{S}\n((....))\n", "a.fa:3: record 'a': the length of"),
    "further structure of other length": ("a", f">a\n{S}\n{D}\n((....))\n", "a:4: record 'a/2': the length"),
    "numbers below a sequence": (
        "a.dbn",
        ">a\nAC\n0.1 0.2\n..\n",
        "a.dbn:3: record 'a/1': the length of a structure is 3",
    ),
    "probabilities of pairs": (
        "a.dbn",
        f">a\n{S}\n(((,.|)))\n",
        "position 4 (from 1): ',' is not '.', a brac",
    ),
    "G-quadruplex": (
        "a.dbn",
        f">a\n{S}\n+++...+++\n",
        "a.dbn:3: record 'a': position 1 (from 1): '+' is not",
    ),
    "gaps": ("a.fa", ">a\nAC--GU\n>b\nACCCGU\n", "fold alignments with structune consensus"),
    "gaps as dots": ("a.fa", ">a\nAC..GU\n>b\nACCCGU\n", "position 3 (from 1): '.' is not one of"),
    "only the centroid": ("a.dbn", f">a\n{S}\n{D} {{ -1.20 d=0.25}}\n", "a.dbn:1: record 'a': no structure"),
    "RNALfold": ("a", f">a\n{S}\n{D} (-1.20) 1\n", "'(-1.20) 1' after the structure is not an energy"),
    "RNAduplex": ("a", ">a\n>b\n.((.&)). 1,4 : 3,5 (-2.10)\n", "has no sequence before it"),
    "three strands": ("a", ">a\nAC&GU&AC\n..&..&..\n", "& may occur only once"),
    ".seq without end": ("a.seq", f";\na\n{S}\n", "a.seq:2: the sequence 'a' does not end in 1"),
    ".seq of a circle": ("a.seq", f";\na\n{S}2\n", "a.seq:3: a 2 at the end marks a circular sequence"),
    ".seq and more": ("a.seq", f";\na\n{S}1\nACGU\n", "a.seq:4: expected a line ';' above the next"),
    ".seq of comments": ("a.seq", ";\n;\n", "a.seq: the file has no sequences"),
    "CT, cut off": ("a.ct", f"9 a\n{CT[:40]}\n", "a.ct:5: the line has 2 columns"),
    "CT of no bases": ("a.ct", f"9 a\n{CT}".replace("4 A", "4 ?"), "a.ct:5: position 1 (from 1): '?'"),
    "CT named .fa": ("a.fa", f"9 a\n{CT}", "The file looks like CT"),
    "BPSEQ, partly unknown": (
        "a.bpseq",
        BPSEQ.replace("4 A 0", "4 A -1"),
        "a.bpseq:4: the partner is unknown",
    ),
    "BPSEQ of two": ("a.bpseq", BPSEQ * 2, "a.bpseq:10: the index is 1, expected 10"),
    "BPP2SEQ, mixed": ("a.bpseq", EVIDENCE.replace("5 A e1 0.5", "5 A 0"), "a.bpseq:5: '5 A 0' is not an"),
    "BPP2SEQ without value": (
        "a.bpseq",
        EVIDENCE.replace("5 A e1 0.5", "5 A e1"),
        "a.bpseq:5: '5 A e1' is not",
    ),
    "BPP2SEQ of words": ("a.bpseq", EVIDENCE.replace("5 A e1 0.5", "5 A e1 x"), "'5 A e1 x': a value is not"),
    "riboswitch of EternaFold": ("a.bpseq", "k1.0 2.0 99\n1 G -1 -1 -1\n", "a.bpseq:1: this is a riboswitch"),
    "Stockholm, cut off": ("a.sto", STO.replace("//\n", ""), "the last line '//' is missing"),
    "UTF-16": ("a.fa", ">a\nACGU\n".encode("utf-16"), "save it as UTF-8 first"),
}


def found(path, **options):
    """The records of a file, and what is told."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        records = [(r.name, r.sequence, r.structure) for r in read_rna(path, **options)]
    return records, [str(each.message) for each in told]


def written(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def check(path, expected, told=""):
    records, messages = found(path)
    assert records == expected
    assert [told in message and str(path) in message for message in messages] == [True] * bool(told)
    sequences = list(dict.fromkeys((name.split("/")[0], bases) for name, bases, _ in expected))
    for source in (path, path.open("rb")):  # who folds needs each sequence once
        assert list(dict.fromkeys(record[:2] for record in found(source, live=True)[0])) == sequences


@pytest.mark.parametrize("case", READ)
def test_read(case, tmp_path):
    name, text, *expected = READ[case]
    check(written(tmp_path, name, text), *expected)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", " \t\n"),
        lambda text: text.rstrip("\n"),
        lambda text: text + "\n\n \n",
        lambda text: "\ufeff" + text.replace("\n", "\t\r\n") + "\r\n",
        lambda text: gzip.compress(text.encode()),
    ],
)
@pytest.mark.parametrize("case", READ)
def test_editors_change_nothing(case, change, tmp_path):
    name, text, *expected = READ[case]
    if isinstance(text, str):
        check(written(tmp_path, name, change(text)), *expected)


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, tmp_path):
    name, text, message = REFUSED[case]
    path = written(tmp_path, name, text)
    with pytest.raises(DataError, match=re.escape(message)) as error:
        found(path)
    assert str(error.value).startswith(str(path))


def test_what_is_told_is_told_once_although_records_are_skipped(tmp_path):
    path, skipped = written(tmp_path, "a.fa", f">a\n{TRNA}\n>b\nMKVLAAGIV\n>c\n{TRNA}\n"), []
    records, (told,) = found(path, skipped=skipped.append)
    assert [name for name, *_ in records] == ["a", "c"]
    assert "6 bases are modified" in told
    assert len(skipped) == 1


def test_values_of_probing_are_reactivities(tmp_path):
    (values,) = read_reactivities(written(tmp_path, "a.bpseq", EVIDENCE)).values()
    assert values[3:6].tolist() == [0.5] * 3
    assert values.letters == S
    assert str(values[0]) == "nan"  # 0 stands for none there


def test_parameters_of_probing_are_left_out(tmp_path):
    folder = RNAFolder(tuning=None, penalty=1.0).fit([S], [D])
    folder.to_contrafold(tmp_path / "a")
    with (tmp_path / "a").open("a") as file:
        file.write("log_score_evidence0_k_A0 0.3\nlog_score_evidence0_k_A1 0.9\n")
    with pytest.warns(UserWarning, match="2 parameters of probing data"):
        read = RNAFolder.from_contrafold(tmp_path / "a")
    assert read.coef_.tolist() == folder.coef_.tolist()


def test_stockholm_keeps_its_annotation(tmp_path):
    text = (
        "# STOCKHOLM 1.0\n#=GF ID fam\n#=GF AU One\n#=GF AU Two, T.\n#=GS a DE first\n\n"
        "a GGGA\n#=GR a PP 9999\nb GGG.\n#=GC RF xxxx\n#=GC SS_cons <<<.\n\n"
        "a AACCC\n#=GR a PP 88888\nb .ACCC\n#=GC RF xx..x\n#=GC SS_cons ..>>>\n//\n"
    )
    (alignment,) = read_alignments(written(tmp_path, "a.sto", text))
    assert (alignment.rows, alignment.structure) == ((S, "GGG--ACCC"), "<<<...>>>")
    again = stockholm_text(alignment, D, "mine")
    for line in ("#=GF AU One", "#=GF AU Two, T.", "#=GS a DE first"):
        assert line in again.splitlines()
    rows = dict(line.rsplit(maxsplit=1) for line in again.splitlines()[6:-1])
    assert [*rows] == ["a", "#=GR a PP", "b", "#=GC RF", "#=GC SS_cons"]
    assert [*rows.values()] == [S, "999988888", "GGG--ACCC", "xxxxxx..x", D]
    (read,) = read_alignments(written(tmp_path, "b.sto", again))
    assert stockholm_text(read, D, "mine") == again


def test_further_structures_can_be_written(tmp_path):
    path = written(tmp_path, "a", f">a\n{S}\n{D}\n{D}\n")
    with pytest.warns(UserWarning, match="1 further structure"):
        records = list(read_rna(path))
    write_rna(tmp_path / "b.ct", records)
    assert list(read_rna(tmp_path / "b.ct")) == records
