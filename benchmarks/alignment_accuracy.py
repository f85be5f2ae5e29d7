"""How well remote homologues are aligned: table 2 of Chapelle et al. 2008, on SABmark and PREFAB 4.

    python benchmarks/alignment_accuracy.py            # about an hour on two cores
    python benchmarks/alignment_accuracy.py --quick    # a pair of every eighth file, into a temporary folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). ProbCons, MUSCLE 5 and
MAFFT take part if they are installed (Debian has all three).

Two folds over SABmark by alignment file, and SABmark to PREFAB 4. Of a file at most 2 pairs, at random, are
for training, and at most 4 for tests. Q is the share of the reference's scored matches that were found, the
mean over pairs; identity is that of the scored matches. "CRF" has log loss, tuned by majorize-minimise, and
is decoded by Viterbi, as in the paper, and by maximum expected accuracy. "convex" is the margin loss relative
to the best alignment with all scored matches, "ramp" the ramp loss, both with 1 - Q as cost; of their
penalties the better one on a third of the training files, held out once. Matrices have the gap costs and ends
(global or free) of the highest Q on all training pairs; "BLOSUM62 11/1" is global, as it is. Intervals are
paired bootstraps over files. A run goes on where the results end.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import asked_to_be_quick, folder_for, log, pack, unpack, write
from structune import SequenceAligner
from structune.alignment import (
    ProteinAlignment,
    alignment_scores,
    load_protein_alignments,
    read_protein_alignments,
)
from structune.alignment.structure.rows import identity, parse_alignment, residues_of
from structune.learning import paired_difference
from structune.running import Run

Array = NDArray[Any]
Rows = tuple[str, str]
NAME = "alignment_accuracy"
MOST_TRAINING, MOST_TEST = 2, 4
PENALTIES = {"convex": (1000.0, 200.0), "ramp": (1000.0, 200.0)}
LOSSES = {"convex": "equivalent", "ramp": "ramp"}
HOLDOUT = 1 / 3
MATRICES = {"BLOSUM62": (9.0, 11.0, 13.0), "BLOSUM50": (10.0, 13.0, 16.0), "BLOSUM45": (11.0, 14.0, 17.0)}
EXTENSIONS, ENDS = (1.0, 2.0), ("global", "semi-global")
BASE = "BLOSUM62 11/1"
LEARNED = ("CRF, Viterbi", "CRF, MEA", "convex", "ramp")
BINS = {"0-10": (0.0, 0.1), "11-20": (0.1, 0.2), "21-30": (0.2, 0.3), "31+": (0.3, 1.0), "all": (-1.0, 1.0)}
PUBLISHED = {  # Q in the order of BINS, on another set
    "CRF, Viterbi": (0.111, 0.316, 0.634, 0.877, 0.430),
    "convex": (0.116, 0.369, 0.699, 0.891, 0.472),
    "ramp": (0.138, 0.387, 0.708, 0.905, 0.488),
}
COMPARED = (
    ("CRF, MEA", BASE),
    ("CRF, MEA", "BLOSUM62"),
    ("CRF, MEA", "ProbCons"),
    ("CRF, MEA", "MUSCLE 5"),
    ("CRF, MEA", "MAFFT"),
    ("CRF, MEA", "CRF, Viterbi"),
    ("convex", "CRF, Viterbi"),
    ("ramp", "CRF, Viterbi"),
    ("ramp", "convex"),
)


# --- data -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pairs:
    """Pairs of sequences with reference alignments, and the number of the file that each comes from."""

    rows: list[Rows]
    files: Array

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def sequences(self) -> list[Rows]:
        return [residues_of(rows) for rows in self.rows]

    def where(self, chosen: Array) -> Pairs:
        return Pairs([self.rows[k] for k in np.flatnonzero(chosen)], self.files[chosen])


def pairs_of(alignments: list[ProteinAlignment], most: int) -> Pairs:
    """At most so many pairs of each alignment, at random, of those with a scored match."""
    rng, rows, files = np.random.default_rng(0), [], []
    for number, alignment in enumerate(alignments):
        first, second = np.triu_indices(len(alignment.names), 1)
        drawn = (alignment.pair(first[k], second[k]) for k in rng.permutation(first.size).tolist())
        found = [pair for _, pair in zip(range(most), filter(has_scored, drawn), strict=False)]
        rows += found
        files += [number] * len(found)
    return Pairs(rows, np.array(files))


def has_scored(rows: Rows) -> bool:
    return bool(parse_alignment(rows, residues_of(rows), "reference").scored.any())


def identity_of(rows: Rows) -> float:
    """Of the scored matches."""
    pair = residues_of(rows)
    return identity(parse_alignment(rows, pair, "reference"), pair)


def half(files: Array, share: float, seed: int) -> Array:
    """Whether each pair is of a share of the files, drawn at random."""
    names = np.unique(files)
    chosen = np.random.default_rng(seed).permutation(names)[: round(share * names.size)]
    return np.isin(files, chosen)


# --- what is compared -------------------------------------------------------------------------------------


def recall(pairs: Pairs, found: list[Rows]) -> Array:
    return alignment_scores(pairs.rows, found).recall


def fit_crf(train: Pairs) -> tuple[SequenceAligner, dict[str, Any]]:
    model = SequenceAligner(tuning="majorize", run=Run(tolerance=1e-3)).fit(train.sequences, train.rows)
    return model, {"penalty": dict(zip(model.group_names_, model.penalty_.round(4).tolist(), strict=True))}


def fit_cost(loss: str, train: Pairs) -> tuple[SequenceAligner, dict[str, Any]]:
    """A fit by the better of two penalties."""
    out = half(train.files, HOLDOUT, 1)
    kept, held = train.where(~out), train.where(out)
    model, tried = SequenceAligner(loss=LOSSES[loss], warm_start=True), {}
    for penalty in PENALTIES[loss]:
        model.set_params(penalty=penalty).fit(kept.sequences, kept.rows)
        tried[penalty] = round(float(recall(held, model.predict(held.sequences)).mean()), 5)
        log(f"{loss}: penalty {penalty:g}, held-out Q {tried[penalty]}")
    best = max(tried, key=tried.__getitem__)
    model = SequenceAligner(loss=LOSSES[loss], penalty=best).fit(train.sequences, train.rows)
    return model, {"heldout": tried, "penalty": best}


def fit_matrix(matrix: str, train: Pairs) -> tuple[SequenceAligner, dict[str, Any]]:
    """Gap costs and ends of the highest Q."""

    def q(setting: tuple[float, float, str]) -> float:
        model = SequenceAligner.from_matrix(matrix, *setting)
        return float(recall(train, model.predict(train.sequences)).mean())

    best = max(product(MATRICES[matrix], EXTENSIONS, ENDS), key=q)
    return SequenceAligner.from_matrix(matrix, *best), {"gaps": best}


def run_program(command: Callable[[Path, Path], list[str]], pair: Rows) -> Rows:
    """What a program makes of a pair of sequences."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.fa"), Path(folder, "out.fa")
        source.write_text(f">x\n{pair[0]}\n>y\n{pair[1]}\n")
        done = subprocess.run(command(source, target), capture_output=True, check=True)
        if not target.exists():
            target.write_bytes(done.stdout)
        (alignment,) = read_protein_alignments(target)
    rows = dict(zip(alignment.names, alignment.rows, strict=True))
    return rows["x"], rows["y"]


PROGRAMS: dict[str, Callable[[Path, Path], list[str]]] = {
    "ProbCons": lambda source, target: ["probcons", str(source)],
    "MUSCLE 5": lambda source, target: [
        "muscle", "-align", str(source), "-output", str(target), "-threads", "1",
    ],
    "MAFFT": lambda source, target: ["mafft", "--quiet", "--auto", str(source)],
}  # fmt: skip


def align_with(name: str, pairs: Pairs) -> list[Rows]:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(partial(run_program, PROGRAMS[name]), pairs.sequences))


# --- the run ----------------------------------------------------------------------------------------------


class Results:
    """Results so far; each method on each part of a test set is written as soon as it is known."""

    def __init__(self, file: Path, quick: bool) -> None:
        self.file, every, most = file, 8 if quick else 1, (1, 1) if quick else (MOST_TRAINING, MOST_TEST)
        sabre, prefab = (
            list(load_protein_alignments(name).values())[::every] for name in ("sabre", "prefab4")
        )
        self.train, tests = pairs_of(sabre, most[0]), {"sabre": pairs_of(sabre, most[1])}
        self.tests = tests | {"prefab4": pairs_of(prefab, 1)}
        self.result: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"parts": {}}
        self.result |= {"published": PUBLISHED, "training_pairs": len(self.train)}

    def parts(self) -> dict[str, tuple[Pairs, Pairs]]:
        """Training and test pairs; the folds have the same halves of the files."""
        sabre, first = self.tests["sabre"], half(self.train.files, 0.5, 0)
        other = np.isin(sabre.files, self.train.files[first])
        return {
            "sabre, fold 1": (self.train.where(first), sabre.where(~other)),
            "sabre, fold 2": (self.train.where(~first), sabre.where(other)),
            "prefab4": (self.train, self.tests["prefab4"]),
        }

    def all(self) -> None:
        for name, (train, test) in self.parts().items():
            found = self.result["parts"].setdefault(name, {})
            log(f"{name}: {len(train)} pairs to train, {len(test)} to test")
            self._add(found, test, BASE, lambda: (SequenceAligner.from_matrix(), {}))
            for matrix in MATRICES:
                self._add(found, test, matrix, partial(fit_matrix, matrix, train))
            self._add(found, test, "CRF", partial(fit_crf, train))
            for program in PROGRAMS:
                if program not in found and shutil.which(PROGRAMS[program](Path(), Path())[0]):
                    found[program] = scores(test, align_with(program, test))
                    self._save(f"{name}: {program}")
            for loss in LOSSES:
                self._add(found, test, loss, partial(fit_cost, loss, train))
        self.result["summary"] = {name: self._summary(name) for name in self.tests}
        self._save("done")

    def _add(self, found: dict[str, Any], test: Pairs, name: str, make: Callable[[], Any]) -> None:
        last = f"{name}, MEA" if name == "CRF" else name
        if last in found:
            return
        start = time.perf_counter()
        model, told = make()
        told |= {"seconds": round(time.perf_counter() - start, 1), "passes": getattr(model, "passes_", 0)}
        if name == "CRF":
            found[f"{name}, Viterbi"] = told | scores(test, model.predict_viterbi(test.sequences))
        found[last] = told | scores(test, model.predict(test.sequences))
        self._save(f"{name}: {told}")

    def _save(self, text: str) -> None:
        self.result.pop("machine", None)
        write(str(self.file.with_suffix("")), self.result)
        log(text)

    # --- what it says -------------------------------------------------------------------------------------

    def _summary(self, test: str) -> dict[str, Any]:
        """Of all methods that every part has: mean recall and precision by identity, and differences."""
        names = [name for name in self.result["parts"] if name.startswith(test)]
        pairs = [self.parts()[name][1] for name in names]
        parts = [self.result["parts"][name] for name in names]
        files = np.concatenate([part.files for part in pairs])
        bins = np.array([identity_of(rows) for part in pairs for rows in part.rows])
        inside = {name: (bins <= high) & (bins > low) for name, (low, high) in BINS.items()}
        inside["0-10"] |= bins == 0.0
        methods = [name for name in parts[0] if all(name in part for part in parts)]
        counts = {
            name: np.concatenate(
                [unpack(p[name]["q"], "f4", len(k)) for p, k in zip(parts, pairs, strict=True)]
            )
            for name in methods
        }
        return {
            "pairs": {name: int(chosen.sum()) for name, chosen in inside.items()},
            "files": int(np.unique(files).size),
            "methods": {name: means(values, inside) for name, values in counts.items()},
            "differences": {
                f"{better} minus {base}": difference(counts[base][:, 0], counts[better][:, 0], files)
                for better, base in COMPARED
                if {better, base} <= counts.keys()
            },
        }


def scores(test: Pairs, found: list[Rows]) -> dict[str, Any]:
    """Recall and precision of each pair, packed."""
    both = alignment_scores(test.rows, found)
    log(f"Q {both.recall.mean():.4f}, precision {both.precision.mean():.4f}")
    return {"q": pack(np.column_stack([both.recall, both.precision]).astype("f4"))}


def means(values: Array, inside: dict[str, Array]) -> dict[str, Any]:
    kinds = {"recall": values[:, 0], "precision": values[:, 1]}
    return {
        kind: {name: float(column[chosen].mean()) for name, chosen in inside.items() if chosen.any()}
        for kind, column in kinds.items()
    }


def difference(base: Array, other: Array, files: Array) -> dict[str, Any]:
    """Of the means over pairs, with an interval over files."""
    number = np.unique(files, return_inverse=True)[1]
    a, b = (np.column_stack([np.bincount(number, q), np.bincount(number)]) for q in (base, other))
    found = paired_difference(a, b, lambda sums: sums[..., 0] / sums[..., 1])
    return {**vars(found), "text": str(found)}


def report(summary: dict[str, Any]) -> None:
    for test, found in summary.items():
        print(f"{test}: {found['pairs']}")
        for name, row in found["methods"].items():
            by_bin = "  ".join(f"{value:.3f}" for value in row["recall"].values())
            print(f"{name:15s} {by_bin}   precision {row['precision']['all']:.3f}")
        for pair, row in found["differences"].items():
            print(f"{pair}: {row['text']}")


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    folder = folder_for(NAME, quick)
    run = Results(folder / f"{NAME}.json", quick)
    run.all()
    report(run.result["summary"])


if __name__ == "__main__":
    main()
