"""Genes of whole genomes of bacteria and archaea, beside Prodigal's.

    python benchmarks/prokaryotic_genes.py            thirteen genomes: some minutes
    python benchmarks/prokaryotic_genes.py --quick    two genomes, to a temporary folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout), and for Prodigal ``pip
install pyrodigal`` (GPL, so no dependency of ours). `ProkaryoticGeneFinder` learns from the annotation of the
first thousand genes of a genome: by its log loss with default penalties and with majorised ones, and by its
ramp loss, with default penalties that were chosen on these genomes; with starts that are learned, the weights
of whose signals were chosen on verified starts of six of them, and as annotated. pyrodigal trains itself on
the whole genome, without annotation. All are scored on what lies behind the thousandth gene: sensitivity and
precision of genes by their stop codons, and by both ends. "Verified" are genes there whose starts were
verified by experiment: the share that is found with that start. Speeds are those of predictions on one
thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from common import asked_to_be_quick, folder_for, write
from structune import ProkaryoticGeneFinder
from structune.errors import DataError
from structune.genes import (
    AnnotatedSequence,
    Transcript,
    gene_scores,
    load_genes,
    load_verified_genes,
    stop_codons,
)

try:
    import pyrodigal
except ImportError:
    pyrodigal = None

NAME = "prokaryotic_genes"
GENOMES = (
    "e_coli",
    "p_aeruginosa",
    "p_fluorescens",
    "c_crescentus",
    "b_subtilis",
    "m_tuberculosis",
    "synechocystis",
    "h_salinarum",
    "n_pharaonis",
    "m_mazei",
    "p_furiosus",
    "a_pernix",
    "s_acidocaldarius",
)
QUICK = ("e_coli", "h_salinarum")
TRAIN_GENES, GAP = 1000, 20
LEVELS = ("stop", "gene")
MODELS: dict[str, dict[str, Any]] = {
    "structune": {},
    "structune, majorised": {"tuning": "majorize"},
    "structune, ramp": {"loss": "ramp"},
    "structune, ramp, starts as annotated": {"loss": "ramp", "starts": "annotated"},
}
Prediction = Callable[[AnnotatedSequence], Sequence[Transcript]]


def parts_of(name: str) -> tuple[AnnotatedSequence, AnnotatedSequence, AnnotatedSequence]:
    """The chromosome, its first thousand genes, and what lies behind them."""
    whole = chromosome(name)
    cut = sorted(t.end for t in whole.transcripts)[TRAIN_GENES - 1] + GAP
    return whole, window(whole, 0, cut), window(whole, cut, len(whole.sequence))


def chromosome(name: str) -> AnnotatedSequence:
    return max(load_genes(name), key=lambda each: len(each.sequence))


def window(whole: AnnotatedSequence, start: int, end: int) -> AnnotatedSequence:
    inside = [moved(t, start) for t in whole.transcripts if start <= t.start and t.end <= end]
    return AnnotatedSequence(whole.name, whole.sequence[start:end], tuple(inside))


def moved(t: Transcript, by: int) -> Transcript:
    return replace(t, exons=tuple((a - by, b - by) for a, b in t.exons))


def prodigal(whole: AnnotatedSequence) -> Prediction:
    """Trained on the whole genome."""
    finder = pyrodigal.GeneFinder()
    finder.train(whole.sequence)

    def predict(sequence: AnnotatedSequence) -> list[Transcript]:
        genes = finder.find_genes(sequence.sequence)
        return [gene(sequence.name, k, g.begin - 1, g.end, "-+"[g.strand == 1]) for k, g in enumerate(genes)]

    return predict


def gene(contig: str, k: int, start: int, end: int, strand: str) -> Transcript:
    return Transcript(contig, strand, ((start, end),), f"g{k}", f"g{k}")


def ours(train: AnnotatedSequence, settings: dict[str, Any]) -> Prediction:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finder = ProkaryoticGeneFinder(**{"tuning": None, **settings}, n_jobs=1).fit([train])
    return by(finder)


def by(finder: ProkaryoticGeneFinder) -> Prediction:
    return lambda sequence: finder.predict([sequence])[0]


def warm_up() -> None:
    """Compile all kernels."""
    _, train, test = parts_of(QUICK[0])
    for settings in MODELS.values():
        ours(window(train, 0, 30_000), settings)(window(test, 0, 30_000))


def verified(name: str, start: int) -> list[Transcript]:
    """Those whose starts are known, behind a position; none of most genomes."""
    try:
        return [moved(t, start) for t in load_verified_genes(name) if t.start >= start]
    except DataError:
        return []


def measured(
    learn: Callable[[], Prediction], test: AnnotatedSequence, known: Iterable[Transcript]
) -> dict[str, Any]:
    begin = time.perf_counter()
    predict = learn()
    trained = time.perf_counter()
    found = list(predict(test))
    end = time.perf_counter()
    true, places = {test.name: test.transcripts}, {(t.strand, t.exons) for t in found}
    of_known = [(t.strand, t.exons) in places for t in known]
    return {
        "stop": gene_scores(stop_codons(true), stop_codons({test.name: found})).exon._asdict(),
        "gene": gene_scores(true, {test.name: found}).exon._asdict(),
        "verified": float(np.mean(of_known)) if of_known else None,
        "training seconds": trained - begin,
        "Mb/s": len(test.sequence) / 1e6 / (end - trained),
    }


def summary(genomes: dict[str, Any]) -> dict[str, Any]:
    """Means over genomes; of verified starts over those that have them."""
    methods = next(iter(genomes.values()))["methods"]
    found = {}
    for method in methods:
        rows = [row["methods"][method] for row in genomes.values()]
        found[method] = {
            **{f"{level} F1": float(np.mean([r[level]["f1"] for r in rows])) for level in LEVELS},
            "verified": float(np.mean([r["verified"] for r in rows if r["verified"] is not None])),
            "Mb/s": float(np.median([r["Mb/s"] for r in rows])),
        }
    return found


def compared(name: str) -> dict[str, Any]:
    """All methods on one genome."""
    whole, train, test = parts_of(name)
    known = verified(name, len(train.sequence))
    methods = {m: measured(partial(ours, train, settings), test, known) for m, settings in MODELS.items()}
    if pyrodigal is not None:
        methods["pyrodigal"] = measured(partial(prodigal, whole), test, known)
    told(name, methods)
    return {"genes": len(test.transcripts), "verified genes": len(known), "methods": methods}


def told(name: str, methods: dict[str, dict[str, Any]]) -> None:
    for method, row in methods.items():
        text = ", ".join(f"{k} {row[k]['sensitivity']:.3f}/{row[k]['precision']:.3f}" for k in LEVELS)
        print(f"{name}, {method}: {text}, verified {row['verified']}, {row['Mb/s']:.1f} Mb/s", flush=True)


def save(name: str, quick: bool, genomes: dict[str, Any]) -> None:
    folder = folder_for(name, quick)
    packages = [] if pyrodigal is None else ["pyrodigal"]
    write(str(folder / name), {"genomes": genomes, "means": summary(genomes)}, *packages)
    print(f"written to {folder}")


def main() -> None:
    quick = asked_to_be_quick(__doc__ or "")
    warm_up()
    genomes = {name: compared(name) for name in (QUICK if quick else GENOMES)}
    save(NAME, quick, genomes)


if __name__ == "__main__":
    main()
