"""What commands and estimators do with small inputs, recorded, so that a change of the house can be compared.

    python tests/frozen.py record FILE     run everything, and write what came out
    python tests/frozen.py compare FILE    run everything again, and show what differs

Record on the commit before a change and compare after it, on the same machine. Of each command: exit code,
standard output and error, and the files that it wrote; of each estimator: the fitted values and predictions.
Words must be equal, numbers to 1e-9 relative. Times are left out, and of pictures and pages only their
presence counts. A FILE that ends in .gz is compressed.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import json
import os
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import field_formats
import simulated_genes
import simulated_orfs
from commands import run
from gene_files import fasta
from shard_kinds import EXAMPLES
from structune import RNAFolder, SequenceAligner, load
from structune.genes import write_gff3
from structune.tagging.data.hmm import simulate_hmm
from works import WORKS

NUMBER = re.compile(r"(?<![A-Za-z0-9_.])-?\d+\.?\d*(?:[eE][-+]?\d+)?")
TIME = re.compile(
    r"seconds +[\d.]+|\d+(\.\d+)? (s|ms|seconds?|minutes?|h)\b|\d+:\d\d(:\d\d)?|\d\d\d\d-\d\d-\d\dT?[\d:.+Z]*"
)
TIMED = ("seconds", "time", "created", "date", "version", "elapsed")  # of headers and reports
TOLERANCE = 1e-9

COMMANDS = """
train tagging chunks.txt -m chunks.structune -q --test more.txt --penalty 1
train tagging chunks.txt -m chunks-l1.structune --l1 0.2 --penalty 0.5 --templates "w[-1..1] w[0].shape"
train tagging names.tsv -m names.structune --forbidden bio --columns token,label --separator tab --penalty 1
train tagging chunks.txt -m second.structune --order 2 --loss margin --jobs 1
train tagging chunks.txt -m limited.structune --constraints validation
train tagging chunks.txt -m states.structune --states all --report states.html --penalty 1
train rna known.dbn -m rna.structune --penalty 0.5 --test more.dbn
train rna known.dbn -m rna-margin.structune --loss margin --groups single
train ranking letor.txt -m ranking.structune --test letor.txt --penalty 1
train ranking letor.txt -m ranking-ramp.structune --loss ramp --k 3 --penalty 1
train alignment families -m alignment.structune --penalty 5 --most-pairs 3 --test families
train genes genes.gff3 -s genes.fa -m genes.structune --penalty 1 --test genes.gff3 --test-sequences genes.fa
train prokaryotic-genes orfs.gff3 -s orfs.fa -m orfs.structune --jobs 1 --penalty gaps=5
tune tagging chunks.txt -m tuned.structune --method majorize --test more.txt --plot tuned.png
tune tagging chunks.txt -m implicit.structune --cv 2 --seed 1 --groups single
tune rna known.dbn -m tuned-rna.structune --method majorize
tune ranking letor.txt -m tuned-ranking.structune --cv 2
tune alignment families -m tuned-alignment.structune --method majorize --most-pairs 2
tune genes genes.gff3 -s genes.fa -m tuned-genes.structune --method majorize --jobs 1
tune prokaryotic-genes orfs.gff3 -s orfs.fa -m tuned-orfs.structune --method majorize --jobs 1
predict chunks.structune more.txt
predict chunks.structune more.txt --marginals -o marginals.txt
predict chunks.structune more.txt --nbest 2
predict second.structune more.txt
predict names.structune names.tsv
predict ranking.structune letor.txt
weights chunks.structune --top 5
weights chunks-l1.structune
evaluate tagging chunks.structune more.txt
evaluate tagging chunks.structune more.txt --json --report chunks.html
evaluate rna pretrained more.dbn --curve --json
evaluate rna rna.structune more.dbn --plot rna.png
evaluate ranking ranking.structune letor.txt --json
evaluate alignment alignment.structune families --json
evaluate alignment pretrained families --multiple
evaluate genes genes.structune genes.gff3 -s genes.fa --margin 100 --json
evaluate genes genes.structune genes.gff3
evaluate prokaryotic-genes orfs.structune orfs.gff3 -s orfs.fa
fold rna.fa
fold rna.fa --format json
fold rna.fa --format ct -o out.ct
fold rna.fa --format bpseq -o bpseqs/
fold rna.fa --format bases --max-span 30 --window 8
fold rna.fa --method viterbi
fold rna.fa --method centroid --model rna.structune
fold rna.fa --nbest 3
fold rna.fa --samples 3 --seed 1
fold rna.fa --within 0.5
fold rna.fa --pseudoknots
fold rna.fa --circular
fold rna.fa --no-lonely-pairs --plot rna.svg --dot-plot dots.png
fold duplex.fa
fold constrained.fa --constraints
fold one.fa --shape one.shape
consensus family.sto
score more.dbn
fold - < rna.fa
fold wrong.fa
fold wrong.fa --skip-bad
fold rna.fa --samples 2 --nbest 3
fold rna.fa --circular --max-span 10
fold missing.fa
fold known.ct
align two.fa
align two.fa --method viterbi --format clustal
align two.fa --model BLOSUM62 --format json
align two.fa --plot matches.png
align family.fa
align family.fa --format stockholm
align family.fa --format phylip -o family.phy
align family.fa --format msf
align family.fa --pairs
align family.fa --which all --format clustal
align family.fa --report family.html
align families -o aligned --format fasta
align two.fa --band 5 --model alignment.structune
align dna.fa
align one.fa
rank ranking.structune letor.txt
rank ranking.structune letor.txt -o ranked.txt
genes genes.fa --model genes.structune
genes genes.fa --model genes.structune --closed --proteins proteins.faa --nucleotides cds.fna -o genes.gtf
genes genes.fa --model genes.structune --hints hints.gff --avoid avoid.bed
genes genes.fa --model genes.structune --format genbank
genes genes.fa --model fly
genes orfs.fa --model orfs.structune
genes orfs.fa --model pretrained --task e_coli
genes orfs.fa --model pretrained --meta
genes orfs.fa --model pretrained --code 4
genes wrong.fa --model orfs.structune --skip-bad
genes genes.fa --model chunks.structune
shard tagging chunks.txt shards-tagging --folds 2
shard rna known.dbn shards-rna
shard ranking letor.txt shards-ranking
shard alignment families shards-alignment
shard genes genes.gff3 -s genes.fa shards-genes
shard prokaryotic-genes orfs.gff3 -s orfs.fa shards-orfs
shard classifier classes.svm shards-classes
shard regressor numbers.svm shards-numbers
train tagging shards-tagging -m of-shards.structune --penalty 1
train rna shards-rna -m of-shards.structune --penalty 1
tune ranking shards-ranking -m of-shards.structune --cv 2
evaluate tagging chunks.structune known.dbn
train rna chunks.txt -m none.structune
train genes genes.gff3 -m none.structune
train tagging chunks.txt -m none.structune --penalty -1
train tagging chunks.txt -m none.structune --loss nothing
train tagging chunks.txt
tune tagging chunks.txt -m none.structune --method majorize --cv 3
predict rna.structune rna.fa
predict missing.structune more.txt
predict chunks.txt more.txt
nonsense
--version
"""


def corpus(folder: Path) -> None:
    """Write the inputs of the commands."""
    rng = np.random.default_rng(0)
    for name, n in (("chunks.txt", 20), ("more.txt", 6)):
        states, seen = simulate_hmm(n, 3, 4, length=6, agreement=0.8, random_state=rng)
        (folder / name).write_text("\n".join(_chunks(seen, states)))
    (folder / "names.tsv").write_text(
        "New York\tB-LOC\nis\tO\nbig\tO\n\nSan Jose\tB-LOC\nCity\tI-LOC\nfell\tO\n\n" * 4
    )
    (folder / "letor.txt").write_text("".join(_letor(rng)))
    structures = list(_hairpins(rng, 12))
    for name, part in (("known.dbn", structures[:8]), ("more.dbn", structures[8:])):
        (folder / name).write_text("".join(f">{k}\n{s}\n{d}\n" for k, s, d in part))
    (folder / "rna.fa").write_text("".join(f">{k} of four\n{s}\n" for k, s, _ in structures[8:]))
    (folder / "duplex.fa").write_text(">d\nGGGAAACGUC&GACGAAUCCC\n")
    (folder / "constrained.fa").write_text(
        ">a\nGGACUCAUCGGGUUGGCGCGGGAUUGGAGAGUUCUUCGAC\n" + "." * 19 + "|" + "." * 20 + "\n"
    )
    (folder / "one.fa").write_text(">one\nGGGGAAAACCCC\n")
    (folder / "one.shape").write_text(
        "".join(f"{k + 1} {v}\n" for k, v in enumerate([0.1] * 4 + [1.5] * 4 + [0.1] * 4))
    )
    (folder / "wrong.fa").write_text(">good\nGGGGAAAACCCC\n>bad\nGGJJ?GG\n>also good\nGGGAAACCC\n")
    (folder / "known.ct").write_bytes(field_formats.FORMATS[".ct"].data)
    (folder / "family.sto").write_bytes(field_formats.FORMATS["Stockholm of RNA"].data)
    (folder / "dna.fa").write_text(">a\nACGTACGTTGCARACGT\n>b\nACGTACGTGCAAACGT\n")
    (folder / "two.fa").write_text(">one\nMKVLAAGIVGLLLAQWERTY\n>two\nMKVLAGIVGLAQWEKTY\n")
    (folder / "family.fa").write_text("".join(f">p{k}\n{s}\n" for k, s in enumerate(_proteins(rng, 5))))
    (folder / "families").mkdir()
    for k in range(3):
        (folder / "families" / f"f{k}.fa").write_text(
            "".join(f">r{i}\n{row}\n" for i, row in enumerate(_rows(rng, 3)))
        )
    for name, genome in (("genes", simulated_genes.genome(0)), ("orfs", simulated_orfs.genome(0))):
        (folder / f"{name}.fa").write_text(fasta(genome))
        write_gff3(folder / f"{name}.gff3", (gene for contig in genome for gene in contig.transcripts))
    (folder / "hints.gff").write_text(
        "c0\tx\tintron\t60\t100\t5\t+\t.\tmult=5\nc1\tx\tep\t10\t20\t.\t+\t.\tsrc=E\n"
    )
    (folder / "avoid.bed").write_text("c0\t100\t160\nc9\t1\t5\n")
    values = rng.normal(size=(30, 3)).round(2)
    for name, of in (("classes.svm", (values[:, 0] > 0).astype(int)), ("numbers.svm", values @ [1, 2, 3])):
        (folder / name).write_text(
            "".join(f"{y:g} 1:{a} 2:{b} 3:{c}\n" for y, (a, b, c) in zip(of, values, strict=True))
        )


def _chunks(seen: Any, states: Any) -> Iterator[str]:
    for words, labels in zip(seen, states, strict=True):
        yield from (
            f"w{''.join(map(str, word))} {'XYZ'[label]}" for word, label in zip(words, labels, strict=True)
        )
        yield ""
    yield ""


def _letor(rng: np.random.Generator) -> Iterator[str]:
    for query in range(8):
        for _ in range(5):
            a, b = rng.normal(size=2).round(3)
            yield f"{int(a + rng.normal() / 2 > 0) + int(a > 1)} qid:{query} 1:{a} 2:{b}\n"


def _hairpins(rng: np.random.Generator, n: int) -> Iterator[tuple[str, str, str]]:
    for k in range(n):
        stem = "".join(rng.choice(list("ACGU"), 5))
        paired = stem[::-1].translate(str.maketrans("ACGU", "UGCA"))
        loop, tail = ("".join(rng.choice(list("ACGU"), m)) for m in (int(rng.integers(4, 8)), 4))
        yield f"h{k}", stem + loop + paired + tail, "(" * 5 + "." * len(loop) + ")" * 5 + "." * 4


def _proteins(rng: np.random.Generator, n: int) -> list[str]:
    return [row.replace("-", "") for row in _rows(rng, n)]


def _rows(rng: np.random.Generator, n: int) -> list[str]:
    """Rows of an alignment: copies of one protein with changes and gaps."""
    ancestor = rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 40)
    rows = []
    for _ in range(n):
        row = np.where(rng.random(40) < 0.2, rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 40), ancestor)
        start = int(rng.integers(5, 30))
        row[start : start + int(rng.integers(0, 4))] = "-"
        rows.append("".join(row))
    return rows


def of_commands() -> Iterator[tuple[str, Any]]:
    """What each command did, in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder, here = Path(name), Path.cwd()
        corpus(folder)
        os.chdir(folder)
        try:
            for line in filter(None, COMMANDS.splitlines()):
                words, _, source = line.partition(" < ")
                before = set(folder.rglob("*"))
                result = run(*shlex.split(words), stdin=Path(source).read_text() if source else None)
                crash = None if isinstance(result.exception, SystemExit | None) else repr(result.exception)
                yield (
                    line,
                    {
                        "exit": result.exit_code,
                        "crash": crash,
                        "stdout": TIME.sub("TIME", result.stdout).replace(name, "FOLDER"),
                        "stderr": TIME.sub("TIME", result.stderr).replace(name, "FOLDER"),
                        "files": {
                            str(path.relative_to(folder)): content(path)
                            for path in sorted(set(folder.rglob("*")) - before)
                            if path.is_file()
                        },
                    },
                )
        finally:
            os.chdir(here)


def content(path: Path) -> Any:
    """What of a file is compared."""
    if path.suffix == ".structune":
        model = load(path)
        return {"type": type(model).__name__, "fitted": fitted(model)}
    if path.suffix == ".json" and path.name != "shards.json":
        return without_times(json.loads(path.read_text()))
    if path.suffix in (".png", ".svg", ".html", ".bin") or path.name == "shards.json":
        return "present"
    return TIME.sub("TIME", path.read_text())


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if not any(word in k for word in TIMED)}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def fitted(model: Any) -> dict[str, Any]:
    """The arrays of numbers that an estimator or a tree learned."""
    if hasattr(model, "models_"):
        return {str(name): fitted(each) for name, each in model.models_.items()}
    names = ("coef_", "penalty_", "l1_")
    return {name: np.asarray(getattr(model, name)).tolist() for name in names if hasattr(model, name)}


def of_estimators() -> Iterator[tuple[str, Any]]:
    """The fits of every kind by every loss, and of every solver and tuner."""
    for kind, example in EXAMPLES.items():
        for options in example.with_losses():
            model = example.estimator.set_params(**options).fit(*example.data)
            yield f"{kind} {options}", {**fitted(model), "predicted": plain(model.predict(example.data[0]))}
    for name, (work, _) in WORKS.items():
        yield f"work: {name}", fitted(work(None))
    yield "pretrained RNAFolder", plain(RNAFolder.pretrained().predict(EXAMPLES["rna"].data[0]))
    pairs = [("MKVLAAGIVGLLLAQWERTY", "MKVLAGIVGLAQWEKTY")]
    yield "pretrained SequenceAligner", plain(SequenceAligner.pretrained().predict(pairs))


def plain(value: Any) -> Any:
    """Predictions as JSON has them."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if isinstance(value, int | float | str | None) else repr(value)


def everything() -> dict[str, Any]:
    warnings.simplefilter("ignore")
    found = {}
    for parts in (of_commands, of_estimators):
        for name, what in parts():
            print(name, file=sys.stderr, flush=True)
            found[name] = json.loads(json.dumps(what))
    return found


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Where two records differ, a line each."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if key not in old or key not in new:
                yield f"{where}/{key}: only {'before' if key in old else 'after'}"
            else:
                yield from differences(old[key], new[key], f"{where}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for k, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from differences(a, b, f"{where}/{k}")
    elif isinstance(old, str) and isinstance(new, str):
        old, new = (re.sub("TIME +", "TIME ", text) for text in (old, new))  # as wide as the seconds were
        same = NUMBER.sub("#", old) == NUMBER.sub("#", new)
        if not same or not all(map(close, NUMBER.findall(old), NUMBER.findall(new))):
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
            yield f"{where}:\n  " + "\n  ".join(list(lines)[2:])
    elif (
        not (isinstance(old, int | float) and isinstance(new, int | float) and close(old, new)) and old != new
    ):
        yield f"{where}: before {old!r}, after {new!r}"


def close(a: Any, b: Any) -> bool:
    return abs(float(a) - float(b)) <= TOLERANCE * max(1.0, abs(float(a)))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    opened = gzip.open if options.file.suffix == ".gz" else open
    found = everything()
    if options.action == "record":
        with opened(options.file, "wt") as stream:
            json.dump(found, stream, indent=1)
        return 0
    with opened(options.file, "rt") as stream:
        different = list(differences(json.load(stream), found))
    print("\n".join(different))
    print(f"{len(different)} differences in {len(found)} records")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
