"""Trains the tree of models of `ProkaryoticGeneFinder.pretrained()`, on thirteen genomes.

    python training/prokaryotes.py            about ten minutes on two cores
    python training/prokaryotes.py --quick    on 30,000 bases of each, to a file in the current folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout).

Default penalties, and the gamma that `benchmarks/multitask_genes.py` chooses most often for 250 genes: a
grid along the tree would choose among models that `adapt` leaves behind anyway.
"""

from __future__ import annotations

from pathlib import Path

from asking import asked_to_be_quick

from structune import MultitaskEstimator, ProkaryoticGeneFinder, TaskTree
from structune.genes import PROKARYOTES, AnnotatedSequence, Transcript, load_genes
from structune.running import Run

MODEL = Path(__file__).parents[1] / "src/structune/genes/prokaryotes/pretrained.structune"
GAMMA, FEW = 0.9, 30_000


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    tree = TaskTree.from_nested(PROKARYOTES)
    finder, run = ProkaryoticGeneFinder(n_jobs=1), Run(tolerance=1e-3)
    model = MultitaskEstimator(finder, tree, gammas=[GAMMA], factors=[1.0], verbose=1, run=run)
    model.fit({name: examples(name, quick) for name in tree.leaves})
    path = Path("prokaryotes.structune") if quick else MODEL
    model.save(path)
    print(f"wrote {path}, {path.stat().st_size} bytes")


def examples(name: str, quick: bool) -> tuple[list[AnnotatedSequence], list[tuple[Transcript, ...]]]:
    """A genome, or some of it, and its genes."""
    genome = [beginning(each) for each in load_genes(name)] if quick else load_genes(name)
    return genome, [each.transcripts for each in genome]


def beginning(of: AnnotatedSequence) -> AnnotatedSequence:
    return AnnotatedSequence(of.name, of.sequence[:FEW], tuple(t for t in of.transcripts if t.end <= FEW))


if __name__ == "__main__":
    main()
