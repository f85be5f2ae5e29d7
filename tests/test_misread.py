"""No command reads a file as what it is not: it is read right, or refused by the name of its format.

Every command gets one small file of every format of `field_formats`.
"""

import re
import shutil
from functools import cache

import pytest

import simulated_genes
from commands import run, succeed
from field_formats import FORMATS
from structune import GeneFinder, MetagenomeFinder, RNAFolder, SequenceAligner
from structune.learning import StructuredEstimator
from structune.running import Run

NUCLEOTIDES = {"FASTA of RNA", "masked FASTA", "FASTA of DNA"}
MASKED = NUCLEOTIDES | {"constraints below sequences"}  # x is an unknown base or residue there
COLUMNS = {
    "CRF++", "Wapiti", "CoNLL-2000", "CoNLL-2003", "CoNLL-U", "CoNLL of MultiCoNER",
    "tab-separated tokens", "TSV", "GermEval",
}  # fmt: skip
KNOWN = {
    "dot-bracket", "RNAfold", "RNAfold -p", "RNAcofold", "RNAsubopt", ".ct", "BPSEQ", "Stockholm of RNA",
    ".ct of two structures",
}  # fmt: skip
ALIGNED = {"aligned FASTA", "A3M", "Clustal", "MSF", "PileUp", "PHYLIP", "Stockholm of RNA"} | {
    "FASTA of DNA"  # two rows of as many letters
}
GAPPED = {"aligned FASTA", "A3M"}  # whose gaps are left out, and told
READ = {
    "fold": NUCLEOTIDES | KNOWN | {".seq"},
    "fold -": NUCLEOTIDES | KNOWN | {".seq"},
    "fold --shape": {".react", ".map"},
    "fold --constraints": MASKED | {"dot-bracket", "RNAfold", "RNAfold -p", "RNAcofold", "nothing"},
    "align": MASKED | GAPPED | {"FASTA of proteins"},
    "align -": MASKED | GAPPED | {"FASTA of proteins"},
    "genes": MASKED | {"GenBank"},
    "genes -": MASKED | {"GenBank"},
    "genes --hints": {"GFF3", "GTF", "hints of AUGUSTUS", "SJ.out.tab", "nothing"},
    "genes --avoid": {"GFF2", "BED", "BED with blanks", "bedGraph", "nothing"},
    "rank": {"LETOR"},
    "rank -": {"LETOR"},
    "predict": COLUMNS | {"JSONL"},
    "predict -": COLUMNS | {"JSONL"},
    "evaluate tagging": COLUMNS - {"CoNLL-U"} | {"JSONL"},  # whose first columns are not those of the model
    "evaluate rna": KNOWN,
    "evaluate alignment": ALIGNED,
    "evaluate genes": {"GenBank"},
    "evaluate ranking": {"LETOR"},
    "train tagging": COLUMNS | {"JSONL"},
    "train rna": KNOWN,
    "train alignment": ALIGNED,
    "train genes": {"GenBank"},
    "train prokaryotic-genes": {"GenBank"},
    "train genes --sequences": {"FASTA of DNA"},  # which has the annotated sequence
    "train ranking": {"LETOR"},
    "shard tagging": COLUMNS | {"JSONL"},
    "shard rna": KNOWN,
    "shard alignment": ALIGNED,
    "shard ranking": {"LETOR"},
    "shard classifier": {"SVMlight"},
    "shard regressor": {"SVMlight"},
}


class Read(Exception):  # noqa: N818
    """All that there is to learn from has been read."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of small models, and what else commands need; from here on nothing is learned or loaded twice."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "conll").write_text("a X\nb Y\n\na X\nb Y\n\n" * 5)
    (folder / "letor").write_text("1 qid:1 1:1 2:0\n0 qid:1 1:0 2:1\n1 qid:2 1:2 2:1\n0 qid:2 1:0 2:1\n")
    for kind, file in (("tagging", "conll"), ("ranking", "letor")):
        succeed("train", kind, folder / file, "-m", folder / f"{kind}.structune", "-q")
    finder = GeneFinder(penalty=0.1, n_jobs=1, run=Run(max_iterations=2))
    finder.fit(simulated_genes.genome(0)).save(folder / "genes.structune")
    (folder / "rna.fa").write_text(">one\nGGGGAAAACCCC\n")
    (folder / "dna.fa").write_bytes(FORMATS["FASTA of DNA"].data)
    (folder / "genes.gff3").write_bytes(FORMATS["GFF3"].data)

    def stop(*_, **__):
        raise Read

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StructuredEstimator, "_learn", stop)
        for cls in (RNAFolder, SequenceAligner, MetagenomeFinder):
            patch.setattr(cls, "pretrained", cache(cls.pretrained))
        yield folder


def words(command, file, folder, target):
    """The command line, with a file to read."""
    name, *rest = command.split()
    if name == "fold" and rest and rest != ["-"]:
        return ["fold", folder / "rna.fa", *rest, file]
    if name == "genes" and rest and rest != ["-"]:
        return ["genes", folder / "dna.fa", "--model", folder / "genes.structune", *rest, file]
    if name in ("train", "shard"):
        out = ["--model", target / "model"] if name == "train" else []
        end = [] if name == "train" else [target / "shards"]
        if rest[-1] == "--sequences":
            return [name, rest[0], folder / "genes.gff3", "-s", file, *out]
        return [name, *rest, file, *out, *end]
    model = {"rank": "ranking", "predict": "tagging"}.get(name, rest[0] if rest else "")
    path = folder / f"{model}.structune"
    if name == "genes":
        return [name, "--model", "pretrained", *(rest or [file])]
    if name in ("fold", "align"):
        return [name, *rest] if rest else [name, file]
    return [
        name,
        *(rest if name == "evaluate" else []),
        path if path.exists() else "pretrained",
        *(rest if rest == ["-"] else [file]),
    ]


@pytest.mark.parametrize("command", READ)
def test_files_are_read_right_or_refused_by_name(command, folder, tmp_path):
    faults = []
    for name, sample in FORMATS.items():
        file = tmp_path / sample.file
        file.write_bytes(sample.data)
        target = tmp_path / "target"
        target.mkdir()
        line = words(command, file, folder, target)
        result = run(*line, stdin=sample.data if line[-1] == "-" else None)
        fault = fault_of(
            result, result.stderr.replace(str(file), "FILE").strip(), sample, name in READ[command]
        )
        if fault:
            faults.append(f"{name}: {fault}")
        shutil.rmtree(target)
    assert not faults, "\n" + "\n".join(faults)


def fault_of(result, told, sample, is_read):
    """What is wrong with what became of a file; nothing if it is as it should be."""
    if isinstance(result.exception, Read):
        return "" if is_read else f"accepted: {told}"
    if result.exit_code not in (0, 1, 2) or (
        result.exception and not isinstance(result.exception, SystemExit)
    ):
        return f"{result.exception!r} {told}"
    if result.exit_code == 0:
        return "" if is_read else f"accepted: {result.stdout[:80]!r} {told}"
    if is_read:
        return f"refused: {told}"
    named = rf"{sample.names}|no structure|no reactivities below|an alignment\?|aligned\?|at least two"
    return "" if re.search(named, told, re.IGNORECASE) else f"not named: {told}"
