"""Genes on short contigs of genomes that nobody annotated, beside Prodigal's metagenomic mode.

    python benchmarks/metagenomes.py            thirteen genomes: ten minutes
    python benchmarks/metagenomes.py --quick    two genomes and two sizes, to a temporary folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout), and for Prodigal ``pip
install pyrodigal`` (GPL, so no dependency of ours). Pieces are drawn at random from each genome. Ours are
found by a `MetagenomeFinder` that has learned from the twelve others, as ``genes --meta`` has it from all.
What it counts and how it goes about it was chosen on pieces of six of these genomes, each left out. pyrodigal
has its fifty models, some of which are of these genomes. Measured are coding bases, by strand, against the
annotation of the genome, and megabases a second on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import asked_to_be_quick, keep
from new_genomes import of_others
from prokaryotic_genes import GENOMES, QUICK, chromosome, pyrodigal
from structune import MetagenomeFinder
from structune.genes import AnnotatedSequence, Transcript

NAME = "metagenomes"
SIZES = {250: 800, 500: 600, 1000: 400, 3000: 200, 20_000: 40}  # bases, and pieces of each genome
QUICK_SIZES = {250: 100, 3000: 20}
Marks = NDArray[np.bool_]
Find = Callable[[list[str]], list[Marks]]


def marked(n: int, genes: Sequence[Transcript]) -> Marks:
    """Coding bases of either strand."""
    found = np.zeros((2, n), bool)
    for t in genes:
        for a, b in t.exons:
            found["+-".index(t.strand), a:b] = True
    return found


def cut(whole: AnnotatedSequence, size: int, n: int) -> tuple[list[str], list[Marks]]:
    """Pieces, and what is coding there."""
    starts = np.random.default_rng(size).integers(0, len(whole.sequence) - size, n).tolist()
    known = marked(len(whole.sequence), whole.transcripts)
    return [whole.sequence[a : a + size] for a in starts], [known[:, a : a + size] for a in starts]


def by(finder: MetagenomeFinder) -> Find:
    """What a finder finds in pieces."""
    return lambda texts: [
        marked(len(x), genes) for x, genes in zip(texts, finder.predict(texts), strict=True)
    ]


def by_pyrodigal(texts: list[str]) -> list[Marks]:
    finder, found = pyrodigal.GeneFinder(meta=True), []
    for text in texts:
        marks = np.zeros((2, len(text)), bool)
        for gene in finder.find_genes(text.encode()):
            marks[int(gene.strand < 0), gene.begin - 1 : gene.end] = True
        found.append(marks)
    return found


def accuracy(true: list[Marks], found: list[Marks]) -> dict[str, float]:
    both = sum(int((a & b).sum()) for a, b in zip(true, found, strict=True))
    annotated, predicted = (sum(int(a.sum()) for a in marks) for marks in (true, found))
    return {
        "sensitivity": both / annotated,
        "precision": both / max(1, predicted),
        "f1": 2 * both / (annotated + predicted),
    }


def measured(find: Find, texts: list[str], true: list[Marks]) -> dict[str, float]:
    begin = time.perf_counter()
    found = find(texts)
    seconds = time.perf_counter() - begin
    return {**accuracy(true, found), "Mb/s": sum(map(len, texts)) / 1e6 / seconds}


def compared(name: str, sizes: dict[int, int]) -> dict[str, Any]:
    """All methods on pieces of a genome."""
    whole, rows = chromosome(name), {}
    methods = {"--meta": by(of_others(name))}
    if pyrodigal is not None:
        methods["pyrodigal, meta"] = by_pyrodigal
    for find in methods.values():  # compiles all kernels
        find([whole.sequence[:1000]])
    for size, n in sizes.items():
        texts, true = cut(whole, size, n)
        rows[str(size)] = {method: measured(find, texts, true) for method, find in methods.items()}
        print(
            name, size, {method: round(row["f1"], 3) for method, row in rows[str(size)].items()}, flush=True
        )
    return rows


def means(genomes: dict[str, Any]) -> dict[str, Any]:
    """F1 of each size and method, over the genomes; speeds are medians."""
    first = next(iter(genomes.values()))

    def over(size: str, method: str, what: str) -> list[float]:
        return [of[size][method][what] for of in genomes.values()]

    return {
        size: {
            method: {
                "f1": float(np.mean(over(size, method, "f1"))),
                "Mb/s": float(np.median(over(size, method, "Mb/s"))),
            }
            for method in row
        }
        for size, row in first.items()
    }


def main() -> None:
    quick = asked_to_be_quick(__doc__ or "")
    sizes = QUICK_SIZES if quick else SIZES
    genomes = {name: compared(name, sizes) for name in (QUICK if quick else GENOMES)}
    result = {"means": means(genomes), "genomes": genomes}
    packages = [] if pyrodigal is None else ["pyrodigal"]
    keep(NAME, quick, result, *packages)
    for size, row in result["means"].items():
        print(size, {method: round(of["f1"], 3) for method, of in row.items()})


if __name__ == "__main__":
    main()
