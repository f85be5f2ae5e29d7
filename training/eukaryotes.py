"""Trains the models of `GeneFinder.pretrained()`, on genes of three organisms, and what they have in common.

    python training/eukaryotes.py            five minutes on two cores
    python training/eukaryotes.py --quick    on 20 genes of each, to the current folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). Each is a `GeneFinder` with
its defaults, but without a center. What they have in common is the center of others, and to be adapted to
other genomes: it has tables of the genes of all, each organism with the same number, and the mean of what was
learned: scales, and how edges and lengths of exons deviate, and half of how signals do. That half was chosen,
of none, half and all, by genes that were found in one of the three after adapting what the two others have in
common.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
from asking import asked_to_be_quick

from structune import GeneFinder
from structune.files.models import load
from structune.genes import AnnotatedSequence, ExonGraph, load_genes
from structune.genes.eukaryotes.structure.weights import ExonWeights, GeneRules
from structune.genes.eukaryotes.training import Tally, encoded
from structune.genes.examples import SkippedGenesWarning, cut_examples

FOLDER = Path(__file__).parents[1] / "src/structune/genes/eukaryotes"
SETS = {"fly": ("fly_train", "fly_test"), "a_thaliana": ("a_thaliana",), "c_elegans": ("c_elegans",)}
INTRONS = 30, 400  # the shortest, and the longest that is scored
SIGNALS, SHARE = ("start", "stop", "donor", "acceptor"), 0.5
DIGITS = 4
FEW = 20


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    warnings.simplefilter("ignore", SkippedGenesWarning)
    data = {name: examples(name, FEW if quick else None) for name in SETS}
    finders = {
        name: GeneFinder(tuning=None, center=None, verbose=1).fit(known) for name, known in data.items()
    }
    for name, finder in {**finders, "eukaryotes": in_common(finders, data)}.items():
        write(finder, (Path() if quick else FOLDER) / f"{name}.structune")


def examples(name: str, most: int | None = None) -> list[AnnotatedSequence]:
    """Annotated sequences of an organism; of quick runs parts with a gene each."""
    known = [each for file in SETS[name] for each in load_genes(file)]
    if most is None:
        return known
    parts = cut_examples(known, 500, "+-", ("GT",))
    return [
        AnnotatedSequence(f"part{k}", text, (replace(gene, contig=f"part{k}"),))
        for k, (text, gene) in enumerate(zip(parts.sequences[:most], parts.transcripts, strict=False))
    ]


def in_common(
    finders: Mapping[str, GeneFinder], data: Mapping[str, Sequence[AnnotatedSequence]]
) -> GeneFinder:
    """What some finders and the genes that they were learned from have in common."""
    plain = ExonGraph(ExonWeights.of("full", GeneRules(introns=INTRONS)))
    parts = [cut_examples(known, GeneFinder.flank, "+-", ("GT",)) for known in data.values()]
    most = max(len(part.sequences) for part in parts)
    tally = Tally(plain)
    for part in parts:
        shard = encoded(plain, part, None, np.full(len(part.sequences), most / len(part.sequences)))
        tally.counted(shard, shard.tables)
    graph = tally.scaled_graph()
    known = [dict(zip(f.graph_.weight_names(), f.coef_.tolist(), strict=True)) for f in finders.values()]
    w = np.zeros(graph.n_weights)
    for k, name in enumerate(graph.weight_names()):
        kind = name.partition(":")[0]
        if kind != "intron lengths":  # their bins are not the same
            w[k] = np.mean([each[name] for each in known]) * (SHARE if kind in SIGNALS else 1.0)
    found = copy(next(iter(finders.values())))
    found._import(w)
    found._keep_graph(graph, INTRONS)
    return found


def write(finder: GeneFinder, path: Path) -> None:
    """Save it with tables that compress well."""
    scaling = finder.graph_.scaling
    assert scaling is not None
    finder.graph_ = ExonGraph(finder.graph_.weights, replace(scaling, tables=scaling.tables.round(DIGITS)))
    finder.save(path)
    load(path)
    print(f"wrote {path}, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
