"""Genes of genomes that nobody annotated: relatives and self-training, beside Prodigal.

    python benchmarks/new_genomes.py            thirteen genomes: three quarters of an hour
    python benchmarks/new_genomes.py --quick    two genomes, to a temporary folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout), and for Prodigal ``pip
install pyrodigal`` (GPL, so no dependency of ours). Each genome in turn is left out of the tree of organisms
that `training/prokaryotes.py` learns, here of 250 genes of each of the others. "nearest" is the model of the
node that `nearest_node` finds, "adapted" what `adapt` makes of it on the genome itself, and pyrodigal trains
itself on the genome. None sees its annotation, by which all are scored: sensitivity and precision of genes by
their stop codons, and by both ends. "Verified" are genes whose starts were verified by experiment: the share
that is found with that start. Speeds are those of predictions on one thread. What `nearest_node` and `adapt`
do, and the penalties, were chosen on these genomes, by their annotation, and how much signals of starts count
by the verified starts.
"""

from __future__ import annotations

from typing import Any

from common import asked_to_be_quick
from multitask_genes import drawn, pieces_of
from prokaryotic_genes import (
    GENOMES,
    QUICK,
    by,
    chromosome,
    measured,
    prodigal,
    pyrodigal,
    save,
    told,
    verified,
)
from structune import MultitaskEstimator, ProkaryoticGeneFinder, TaskTree, adapt, nearest_node
from structune.genes import PROKARYOTES

NAME = "new_genomes"
SIZE, GAMMA = 250, 0.9


def without(tree: TaskTree, leaf: str) -> TaskTree:
    """A tree without a leaf, and without inner nodes that had no other."""
    empty = {node for node in tree.nodes if tree.leaves_below(node) == (leaf,)}
    return TaskTree({node: tree.parent(node) for node in tree.nodes if node not in empty})


def of_others(name: str, data: dict[str, Any]) -> MultitaskEstimator:
    """The models of all organisms but one."""
    tree = without(TaskTree.from_nested(PROKARYOTES), name)
    finder = ProkaryoticGeneFinder(tolerance=1e-3, n_jobs=1)
    model = MultitaskEstimator(finder, tree, gammas=[GAMMA], factors=[1.0])
    return model.fit({task: given for task, given in data.items() if task != name})


def compared(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """All methods on one genome."""
    whole = chromosome(name)
    known, tree = verified(name, 0), of_others(name, data)
    nearest = nearest_node(tree, [whole])
    learners = {
        "nearest": lambda: by(tree.model(nearest)),
        "adapted": lambda: by(adapt(tree.model(nearest), [whole])),
    }
    if pyrodigal is not None:
        learners["pyrodigal"] = lambda: prodigal(whole)
    methods = {method: measured(learn, whole, known) for method, learn in learners.items()}
    print(f"{name}: nearest is {nearest}")
    told(name, methods)
    row = {"genes": len(whole.transcripts), "verified genes": len(known), "nearest": nearest}
    return {**row, "methods": methods}


def main() -> None:
    quick = asked_to_be_quick(__doc__ or "")
    data = {name: drawn(pieces_of(name)[0], SIZE, 0) for name in GENOMES}
    genomes = {name: compared(name, data) for name in (QUICK if quick else GENOMES)}
    save(NAME, quick, genomes)


if __name__ == "__main__":
    main()
