"""Gene prediction: table 1 of Chen et al. 2009, with their features.

    python benchmarks/gene_prediction.py                 all sets, splits and methods: some hours
    python benchmarks/gene_prediction.py --sets fly      some of the sets
    python benchmarks/gene_prediction.py --splits 1      the first splits
    python benchmarks/gene_prediction.py --methods "CRF" "CRF, fixed"
    python benchmarks/gene_prediction.py --quick         40 genes of each, one split, to a temporary folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). Windows of one gene each:
those of the fly as they come, of which the first split is the given one (392 to train, 100 to test); those of
1 % of A. thaliana and of C. elegans cut between the genes. Other splits are random, a quarter to test. All
models predict on both strands. Of the fly windows the flanks may hold genes that are not annotated: scores
are given for whole windows, and for the annotated gene with 500 bases around it. `eukaryotic_genes.py` has
the features that are better, and AUGUSTUS.

"CRF" has no penalty but 1e-6, so that its likelihood has a maximum, and ends as any other fit, or after 200
steps. "fixed" has a variance of 100, "majorised" precisions by kind without held-out genes, "tuned" such from
the implicit gradient of the loss of held-out genes, after 5 evaluations from precisions of 30 on,
"constrained" three validation sets. Where the constraints cannot be met but by shrinking the weights, five
minutes end the search, with the best so far. Intervals are paired bootstraps over the test
windows of all splits, as if no window came twice. A run goes on where the results end.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from common import folder_for, log, parser_of, write
from structune import GeneFinder, running
from structune.genes import (
    GENE_LEVELS,
    AnnotatedSequence,
    GeneScores,
    Transcript,
    gene_difference,
    gene_regions,
    gene_scores,
    load_genes,
)
from structune.genes.examples import cut_examples
from structune.learning import ImplicitTuner, ValidationConstraints

NAME = "gene_prediction"
SETS = ("fly", "a_thaliana", "c_elegans")
SPLITS, FLANK, MARGIN, GAMMA = 3, 1000, 500, 0.01
BASE: dict[str, Any] = {"run": running.Run(max_iterations=200), "flank": FLANK}
TUNER = ImplicitTuner(start=30.0, max_evaluations=5, fit_tolerance=2e-4)
CONSTRAINED: dict[str, Any] = {
    "constraints": ValidationConstraints(gamma=GAMMA),
    "run": replace(BASE["run"], max_seconds=300.0),
}
REGULARISATION: dict[str, dict[str, Any]] = {
    "CRF": {"penalty": 1e-6},
    "CRF, fixed": {"penalty": 0.01},
    "CRF, majorised": {"tuning": "majorize"},
    "CRF, tuned": {"tuning": TUNER, "cv": 0.2},
    "CRF, constrained": {"penalty": 1e-6, **CONSTRAINED},
    "CRF, constrained and tuned": CONSTRAINED,  # with the precisions of "tuned"
}
COMPARED = (
    ("CRF, constrained", "CRF"),
    ("CRF, tuned", "CRF"),
    ("CRF, tuned", "CRF, majorised"),
    ("CRF, constrained", "CRF, tuned"),
    ("CRF, constrained and tuned", "CRF, tuned"),
)
Windows = list[AnnotatedSequence]


# --- data -------------------------------------------------------------------------------------------------


def splits(name: str, n: int) -> Iterator[tuple[Windows, Windows]]:
    """Training and test windows."""
    if name == "fly":
        train, test = load_genes("fly_train"), load_genes("fly_test")
        windows = [*train, *test]
        yield train, test
    else:
        windows = cut_windows(name)
    for seed in range(n - (name == "fly")):
        order = np.random.default_rng(seed).permutation(len(windows))
        n_test = len(windows) // 4
        yield [windows[k] for k in order[n_test:]], [windows[k] for k in order[:n_test]]


def cut_windows(name: str) -> Windows:
    """One gene each."""
    examples = cut_examples(load_genes(name), FLANK, "+-", ("GT",))
    return [
        window(f"{name}{k}", sequence, transcript)
        for k, (sequence, transcript) in enumerate(zip(examples.sequences, examples.transcripts, strict=True))
    ]


def window(name: str, sequence: str, transcript: Transcript) -> AnnotatedSequence:
    return AnnotatedSequence(name, sequence, (replace(transcript, contig=name),))


# --- what is compared -------------------------------------------------------------------------------------


def run(train: Windows, test: Windows, settings: dict[str, Any]) -> dict[str, Any]:
    finder = GeneFinder(features="paper", closed=True, **{**BASE, **settings})
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finder.fit(train)
    seconds = time.perf_counter() - start
    found = {w.name: genes for w, genes in zip(test, finder.predict(test), strict=True)}
    true = {w.name: w.transcripts for w in test}
    counts = {
        "windows": packed(gene_scores(true, found)),
        "margin": packed(gene_scores(true, found, gene_regions(true, MARGIN))),
    }
    told: dict[str, Any] = {"seconds": round(seconds, 1), "passes": finder.passes_, "status": finder.status_}
    if "constraints" in settings:
        rounds = [record for record in finder.history_ if "violation" in record]
        told |= {"rounds": len(rounds), "constraint_values": finder.constraint_values_.tolist()}
    if "tuning" in settings:
        told["penalty"] = dict(zip(finder.group_names_, finder.penalty_.round(4).tolist(), strict=True))
    return told | counts


def packed(found: GeneScores) -> list[str]:
    """The counts of each window as a line."""
    return [" ".join(map(str, row.ravel().tolist())) for row in found.counts]


def unpacked(lines: list[str]) -> np.ndarray:
    return np.array([line.split() for line in lines], dtype=int).reshape(len(lines), len(GENE_LEVELS), -1)


# --- the run ----------------------------------------------------------------------------------------------


class Run:
    """Results so far: by set, split and method; each is written as soon as it is known."""

    def __init__(self, file: Path, most_windows: int | None) -> None:
        self.file, self.most = file, most_windows
        self.result: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"sets": {}}

    def all(self, sets: list[str], methods: list[str], n_splits: int) -> None:
        for name in sets:
            for k, (train, test) in enumerate(splits(name, n_splits)):
                train, test = train[: self.most], test[: self.most]
                for method in methods:
                    found = self._place(name, k)
                    if method not in found:
                        settings = dict(REGULARISATION[method])
                        if method == "CRF, constrained and tuned":
                            settings["penalty"] = found["CRF, tuned"]["penalty"]
                        found[method] = run(train, test, settings)
                        self._save()
                        log(f"{name}, split {k}, {method}: {text(scores([found[method]]))}")
        known = self.result["sets"]
        self.result["summary"] = {name: summary(found) for name, found in known.items()}
        self.result["all sets"] = compared([row for found in known.values() for row in found])
        self._save()

    def _place(self, name: str, split: int) -> dict[str, Any]:
        found = self.result["sets"].setdefault(name, [])
        found += [{} for _ in range(len(found), split + 1)]
        place: dict[str, Any] = found[split]
        return place

    def _save(self) -> None:
        self.result.pop("machine", None)
        write(str(self.file.with_suffix("")), self.result)


def scores(rows: list[dict[str, Any]], what: str = "windows") -> GeneScores:
    """Of the test windows of some splits."""
    counts = np.concatenate([unpacked(row[what]) for row in rows])
    return GeneScores(tuple(map(str, range(len(counts)))), counts)


def text(found: GeneScores) -> str:
    parts = (f"{level} {100 * p.sensitivity:.1f}/{100 * p.precision:.1f}" for level, p in levels(found))
    return ", ".join(parts)


def levels(found: GeneScores) -> Iterator[tuple[str, Any]]:
    return ((level, found.pooled(level)) for level in GENE_LEVELS)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the splits that have a method: pooled accuracies, and differences in F1 to others that they have."""
    of = {m: [row[m] for row in rows if m in row] for m in REGULARISATION}
    return {
        "methods": {m: of_method(done) for m, done in of.items() if done},
        "differences": compared(rows),
    }


def compared(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Differences of methods, over the splits that have both."""
    found: dict[str, Any] = {}
    for a, b in COMPARED:
        both = [row for row in rows if {a, b} <= row.keys()]
        if both:
            found[f"{a} minus {b}"] = differences(both, a, b)
    return found


def of_method(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "splits": len(rows),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
        "passes": float(np.mean([row["passes"] for row in rows])),
        **of_constraints(rows),
        **{
            what: {level: list(p) for level, p in levels(scores(rows, what))}
            for what in ("windows", "margin")
        },
    }


def of_constraints(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The most rounds of the search, and in how many splits it met the constraints."""
    if "rounds" not in rows[0]:
        return {}
    met = [max(row["constraint_values"]) <= 1.01 * GAMMA for row in rows]
    return {"rounds": max(row["rounds"] for row in rows), "met": sum(met)}


def differences(rows: list[dict[str, Any]], a: str, b: str) -> dict[str, Any]:
    """In F1 at the gene, of method a minus b."""
    left, right = (scores([row[name] for row in rows], "margin") for name in (b, a))
    return {level: vars(gene_difference(left, right, level, "f1")) for level in ("exon", "gene")}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=list(REGULARISATION), default=list(REGULARISATION))
    parser.add_argument("--splits", type=int, default=SPLITS)
    arguments = parser.parse_args()
    folder = folder_for(NAME, arguments.quick)
    whole = Run(folder / f"{NAME}.json", 40 if arguments.quick else None)
    whole.all(arguments.sets, arguments.methods, 1 if arguments.quick else arguments.splits)
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
