"""Formats by the names of files."""

import pytest

from commands import run

TWO = ">a\nMKV\n>b\nMV\n"
DNA = f">a\n{'ATGAAAGCTTAA' * 30}\n"
CASES = [
    ("fold", ">a\nGGGAAAUCCC\n", {".txt": "dbn", ".ct": "ct", ".BPSEQ": "bpseq", ".json": "json"}),
    ("align", TWO, {"": "fasta", ".aln": "clustal", ".stk": "stockholm", ".msf": "msf"}),
    ("align --multiple", TWO, {".phy": "phylip", ".json": "json"}),
    ("genes --model pretrained --meta", DNA, {".out": "gff3", ".gbk": "genbank", ".tsv": "tsv"}),
]


@pytest.mark.parametrize(("command", "text", "formats"), CASES)
def test_the_format_is_asked_for_or_that_of_the_name(tmp_path, command, text, formats):
    source, found = tmp_path / "in.fa", set()
    source.write_text(text)
    for ending, format in formats.items():
        written = []
        for name, *given in ((f"a{ending}",), ("b.ct", "--format", format)):
            assert run(*command.split(), source, "-q", "-o", tmp_path / name, *given).exit_code == 0
            written.append((tmp_path / name).read_text())
        assert written[0] == written[1]
        found.add(written[0])
    assert len(found) == len(formats)
