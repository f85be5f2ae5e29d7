"""Genes on short contigs of genomes that nobody annotated, beside Prodigal's metagenomic mode.

    python benchmarks/metagenomes.py            thirteen genomes: a quarter of an hour
    python benchmarks/metagenomes.py --quick    two genomes and two sizes, to a temporary folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout), and for Prodigal ``pip
install pyrodigal`` (GPL, so no dependency of ours). Pieces are drawn at random from each genome. Ours are
found by the models of the twelve others: by `MetagenomeFinder`, as ``genes --meta`` has it, and "one node" by
that which `nearest_node` takes for the whole genome. How near shares of G and C count was chosen on pieces of
four of these genomes, and that genes that end behind a piece count as a thousand bases long. pyrodigal has
its fifty models, some of which are of these genomes. Measured are coding bases, by strand, against the
annotation of the genome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import asked_to_be_quick, folder_for, write
from multitask_genes import drawn, pieces_of
from new_genomes import SIZE, of_others
from prokaryotic_genes import GENOMES, QUICK, chromosome, pyrodigal
from structune import ProkaryoticGeneFinder, nearest_node
from structune.genes import AnnotatedSequence, MetagenomeFinder, Transcript

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


def by(finder: ProkaryoticGeneFinder) -> Find:
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


def compared(name: str, data: dict[str, Any], sizes: dict[int, int]) -> dict[str, Any]:
    """All methods on pieces of a genome."""
    tree, whole, rows = of_others(name, data), chromosome(name), {}
    methods = {
        "one node": by(tree.model(nearest_node(tree, [whole]))),
        "--meta": by(MetagenomeFinder.of(tree)),
    }
    if pyrodigal is not None:
        methods["pyrodigal, meta"] = by_pyrodigal
    for size, n in sizes.items():
        texts, true = cut(whole, size, n)
        rows[str(size)] = {method: accuracy(true, find(texts)) for method, find in methods.items()}
        print(
            name, size, {method: round(row["f1"], 3) for method, row in rows[str(size)].items()}, flush=True
        )
    return rows


def means(genomes: dict[str, Any]) -> dict[str, Any]:
    """F1 of each size and method, over the genomes."""
    first = next(iter(genomes.values()))
    return {
        size: {method: float(np.mean([of[size][method]["f1"] for of in genomes.values()])) for method in row}
        for size, row in first.items()
    }


def main() -> None:
    quick = asked_to_be_quick(__doc__ or "")
    data = {name: drawn(pieces_of(name)[0], SIZE, 0) for name in GENOMES}
    sizes = QUICK_SIZES if quick else SIZES
    genomes = {name: compared(name, data, sizes) for name in (QUICK if quick else GENOMES)}
    result = {"means": means(genomes), "genomes": genomes}
    write(str(folder_for(NAME, quick) / NAME), result)
    for size, row in result["means"].items():
        print(size, {method: round(f1, 3) for method, f1 in row.items()})


if __name__ == "__main__":
    main()
