"""Peak memory of predictions by the size of their input, in default settings.

    python benchmarks/memory.py            an hour, on a machine with 8 GB
    python benchmarks/memory.py --quick    small inputs, to a temporary folder

Each command runs in a process of its own, and tells the most memory that it had. Inputs are real where there
are such: chunks of CoNLL-2000, structures of ArchiveII, references of SABmark, genomes, OHSUMED, several
times over where they are to be larger; and random ones of a fixed seed. Beside it is what the program
itself says that the one example of an input needs: beyond Python, the libraries and the model, which the
smallest input of its kind tells of.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from common import asked_to_be_quick, keep
from structune import RNAFolder, SequenceAligner
from structune.alignment.data import load_protein_alignments
from structune.genes.data import load_genes
from structune.ranking.data import load_ohsumed
from structune.ranking.letor import LetorData, write_letor
from structune.rna.data import load_rna
from structune.tagging.conll import ConllData, write_conll
from structune.tagging.data.conll2000 import load_conll2000

NAME = "memory"
RESIDUES, BASES = "ARNDCQEGHILKMFPSTWYV", "ACGU"
T_RNA = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"
MAIN = "from structune.cli import main; main()"
SMALL = """
import os, sys
pid = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss, file=sys.stderr)
"""  # a process's peak begins at that of the one that starts it
Needed = Callable[[], float] | None


@dataclass(frozen=True)
class Run:
    """A command, and its input.

    Attributes
    ----------
    kind : str
        Runs of one are compared with each other.
    size : str
        Of the input, as it is told.
    words : list of str
        Of the command line, but for the input.
    make : function of a path
        Writes the input.
    needs : function, optional
        Bytes that the program says its one example needs.
    """

    kind: str
    size: str
    words: list[str]
    make: Callable[[Path], None]
    needs: Needed = None


# --- inputs -----------------------------------------------------------------------------------------------


def drawn(letters: str, lengths: Iterable[int]) -> Iterator[str]:
    rng = np.random.default_rng(0)
    alphabet = np.array(list(letters))
    return ("".join(rng.choice(alphabet, n)) for n in lengths)


def between(low: int, high: int, n: int) -> list[int]:
    return np.random.default_rng(1).integers(low, high + 1, n).tolist()


def fasta(sequences: Callable[[], Iterable[str]]) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with path.open("w") as file:
            file.writelines(f">s{k}\n{sequence}\n" for k, sequence in enumerate(sequences(), 1))

    return make


def chunks(times: int) -> Callable[[Path], None]:
    """The test sentences of CoNLL-2000, so many times over."""

    def make(path: Path) -> None:
        data = load_conll2000("test")
        columns = {name: values * times for name, values in data.columns.items()}
        write_conll(path, ConllData(columns, np.tile(data.lengths, times)))

    return make


def documents(times: int) -> Callable[[Path], None]:
    """The queries of OHSUMED's first fold, so many times over."""

    def make(path: Path) -> None:
        X, relevance, queries = training_of_ohsumed()
        write_letor(
            path,
            LetorData(
                np.tile(X, (times, 1)),
                np.tile(relevance, times),
                [f"{query}-{k}" for k in range(times) for query in queries],
                np.arange(1, X.shape[1] + 1),
                [""] * (times * len(queries)),
            ),
        )

    return make


def training_of_ohsumed() -> tuple[Any, Any, list[str]]:
    part = load_ohsumed(1).train
    return part.X, part.relevance, part.queries


def known_structures(n: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        data = load_rna("archiveii")
        rows = list(zip(data.names, data.sequences, data.structures, strict=True))[:n]
        path.write_text("".join(f">{name}\n{sequence}\n{structure}\n" for name, sequence, structure in rows))

    return make


def known_alignments(n: int) -> Callable[[Path], None]:
    """A folder of a file a reference."""

    def make(path: Path) -> None:
        path.mkdir()
        for name, found in list(load_protein_alignments("sabre").items())[:n]:
            rows = "".join(f">{k}\n{row}\n" for k, row in zip(found.names, found.rows, strict=True))
            (path / f"{Path(name).name}.fa").write_text(rows)

    return make


def genome(name: str, times: int = 1) -> Callable[[], Iterable[str]]:
    return lambda: [each.sequence for each in load_genes(name)] * times


# --- commands ---------------------------------------------------------------------------------------------


def of_rna(quick: bool) -> Iterator[Run]:
    rna = RNAFolder.pretrained()._structure
    limited = rna.like(300, False, rna.initiation)
    many = 10_000 if quick else 1_000_000
    for how in ([], ["--nbest", str(many)], ["--samples", str(many // 10)]):
        yield Run("fold", "a tRNA, 76 bases", ["fold", *how], fasta(lambda: [T_RNA]))
    n = 3000 if quick else 300_000
    few = fasta(lambda: drawn(BASES, between(1, 20, n)))
    yield Run("fold", f"{n:,} sequences of 1 to 20 bases", ["fold"], few)
    for n in (1000, 2000) if quick else (1000, 2000, 5000, 10_000):
        one = fasta(lambda n=n: drawn(BASES, [n]))
        yield Run("fold", f"{n:,} bases", ["fold"], one, lambda n=n: rna.memory_of(n))
    for n in (2000,) if quick else (10_000, 100_000):
        one = fasta(lambda n=n: drawn(BASES, [n]))
        how = ["fold", "--max-span", "300"]
        yield Run("fold", f"{n:,} bases", how, one, lambda n=n: limited.memory_of(n))
    n = 50 if quick else 1000
    yield Run("evaluate rna", f"{n:,} of ArchiveII", ["evaluate", "rna", "pretrained"], known_structures(n))


def of_alignments(quick: bool) -> Iterator[Run]:
    structure = SequenceAligner.pretrained()._structure

    def of_two(n: int, band: int | None = None) -> Run:
        two = fasta(lambda: drawn(RESIDUES, [n, n]))
        how = ["align"] if band is None else ["align", "--band", str(band)]
        held = structure.with_band(band)
        return Run("align", f"2 proteins of {n:,} residues", how, two, lambda: held.memory_of(n, n))

    n = 10 if quick else 300
    pairs = fasta(lambda: drawn(RESIDUES, between(800, 1200, 2 * n)))
    yield Run("align", f"{n} pairs of 800 to 1,200 residues", ["align", "--pairs"], pairs)
    yield from map(of_two, (1000, 2000) if quick else (1000, 2000, 5000, 10_000, 20_000))
    if not quick:
        yield of_two(20_000, 300)
    for n, length in ((20, 100),) if quick else ((25, 300), (100, 300), (300, 300)):
        family = fasta(lambda n=n, length=length: relatives(n, length))
        yield Run("align --multiple", f"{n} of {length} residues", ["align", "--multiple"], family)
    n = 20 if quick else 400
    how = ["evaluate", "alignment", "pretrained"]
    yield Run("evaluate alignment", f"{n} references of SABmark", how, known_alignments(n))


def relatives(n: int, length: int) -> list[str]:
    """The same sequence with a third of others."""
    rng = np.random.default_rng(0)
    letters = np.array(list(RESIDUES))
    first = rng.choice(letters, length)
    return [
        "".join(np.where(rng.random(length) < 0.33, rng.choice(letters, length), first)) for _ in range(n)
    ]


def of_genes(quick: bool) -> Iterator[Run]:
    own = ["genes", "--model", "pretrained"]
    one = fasta(genome("p_furiosus" if quick else "e_coli"))
    size = "P. furiosus, 1.9 Mb" if quick else "E. coli, 4.6 Mb"
    for how in ([], ["--meta"]) if quick else ([], ["--meta"], ["--adapt", "20"]):
        yield Run("genes", size, [*own, *how], one)
    if not quick:
        eight = fasta(genome("e_coli", 8))
        yield Run("genes", "8 genomes, 37 Mb", [*own, "--meta"], eight)
        thaliana = fasta(genome("a_thaliana"))
        yield Run("genes", "A. thaliana, regions", ["genes", "--model", "a_thaliana"], thaliana)


def of_tokens(quick: bool, folder: Path) -> Iterator[Run]:
    model = str(folder / "chunker.structune")
    train = folder / "train.txt"
    data = load_conll2000("train")
    lengths = data.lengths[:500]
    columns = {name: values[: int(lengths.sum())] for name, values in data.columns.items()}
    write_conll(train, ConllData(columns, lengths))
    ran(["train", str(train), "--model", model, "--penalty", "1"])
    for times in (1,) if quick else (1, 10, 30):
        size = f"{47_377 * times:,} tokens"
        for how in ([], ["--marginals"]):
            yield Run("predict", size, ["predict", model, *how], chunks(times))
        yield Run("evaluate", size, ["evaluate", model], chunks(times))


def of_queries(quick: bool, folder: Path) -> Iterator[Run]:
    model, train = str(folder / "ranker.structune"), folder / "train.letor"
    documents(1)(train)
    ran(["train", "ranking", str(train), "--model", model, "--penalty", "1"])
    n = len(training_of_ohsumed()[1])
    for times in (1,) if quick else (1, 10, 30):
        for how in ("rank", "evaluate ranking"):
            yield Run(how, f"{n * times:,} documents", [*how.split(), model], documents(times))


def too_large(quick: bool) -> Iterator[Run]:
    """What no machine of ours holds."""
    n = 1_000_000
    yield Run("fold", "100,000 bases", ["fold"], fasta(lambda: drawn(BASES, [100_000])))
    yield Run(
        "align", "2 proteins of 200,000 residues", ["align"], fasta(lambda: drawn(RESIDUES, [200_000] * 2))
    )
    yield Run(
        "fold",
        f"an alignment of {n:,} columns",
        ["consensus"],
        fasta(lambda: drawn(BASES, [n] * 2)),
    )


# --- measuring --------------------------------------------------------------------------------------------


def ran(words: list[str]) -> tuple[int, int, str]:
    """Exit code, bytes at the peak, and what it said before."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", SMALL, sys.executable, "-c", MAIN, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    *said, last = done.stderr.splitlines()
    code, kilobytes = map(int, last.split())
    if code not in (0, 2):
        raise RuntimeError(f"structune {' '.join(words)}: {done.stderr[-2000:]}")
    return code, 1024 * kilobytes, "\n".join(said)


def measured(run: Run, folder: Path) -> dict[str, Any]:
    path = folder / "input"
    run.make(path)
    code, peak, said = ran([*run.words, str(path)])
    if path.is_dir():
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    else:
        path.unlink()
    words = [Path(word).stem if "/" in word else word for word in run.words]
    needs = None if run.needs is None else run.needs() / 1e6
    found = {
        "kind": run.kind,
        "command": " ".join(words),
        "input": run.size,
        "megabytes": peak / 1e6,
        "needs": needs,
    }
    print(code, found, flush=True)
    if code == 2:
        return found | {"refused": said.replace(str(path), "FILE").splitlines()[-1]}
    return found


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = [*of_tokens(quick, folder), *of_queries(quick, folder), *of_genes(quick)]
        runs += [*of_rna(quick), *of_alignments(quick)]
        ran(["warm"])
        rows = [measured(run, folder) for run in runs]
        refused = [measured(run, folder) for run in too_large(quick)]
    keep(NAME, quick, {"runs": rows, "refused": refused})


if __name__ == "__main__":
    main()
