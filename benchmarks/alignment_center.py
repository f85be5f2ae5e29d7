"""Alignments learned from few references, with priors around zero and around BLOSUM62.

    python benchmarks/alignment_center.py            the files in results/, about half an hour
    python benchmarks/alignment_center.py --quick    two sizes, one draw, to a temporary folder

Training pairs are drawn from one half of the alignments of SABmark 1.65, one of each, and evaluated on one
pair of each of the others. Precisions by `majorize`; alignments of maximum expected accuracy; Q is the share
of the reference's matches that is found. Deviations are over draws; intervals of differences are paired
bootstraps over test pairs, of the mean over draws.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from alignment_accuracy import Pairs, half, pairs_of, recall
from common import asked_to_be_quick, folder_for, mean_difference, write
from structune import SequenceAligner
from structune.alignment import load_protein_alignments
from structune.running import Run

NAME = "alignment_center"
SIZES, DRAWS = (5, 10, 20, 40, 80, 160), 4
CENTERS = {"around zero": None, "around BLOSUM62": "BLOSUM62"}
BASE = "BLOSUM62 11/1"


def drawn(pairs: Pairs, size: int, seed: int) -> Pairs:
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:size]
    return Pairs([pairs.rows[k] for k in chosen], pairs.files[chosen])


def fit(train: Pairs, center: str | None) -> SequenceAligner:
    model = SequenceAligner(tuning="majorize", center=center, run=Run(tolerance=1e-3))
    return model.fit(train.sequences, train.rows)


def run(size: int, draws: int, train: Pairs, test: Pairs) -> dict[str, Any]:
    """Q of both priors with one number of training pairs."""
    found: dict[str, list[Any]] = {name: [] for name in CENTERS}
    for draw in range(draws):
        some = drawn(train, size, draw)
        for name, center in CENTERS.items():
            start = time.perf_counter()
            found[name].append(recall(test, fit(some, center).predict(test.sequences)))
            text = f"{size} pairs, draw {draw}, {name}: Q {found[name][-1].mean():.4f}"
            print(text, f"{time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    means = {name: np.mean(q, axis=1) for name, q in found.items()}
    zero, centered = (np.mean(found[name], axis=0) for name in CENTERS)
    return {
        "size": size,
        "q": {name: float(q.mean()) for name, q in means.items()},
        "deviation": {name: float(q.std(ddof=1)) if draws > 1 else 0.0 for name, q in means.items()},
        "difference": mean_difference(zero, centered),
    }


def plot(result: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 4), layout="constrained")
    for name, marker in zip(CENTERS, "so", strict=True):
        rows = result["sizes"]
        q, deviation = ([row[kind][name] for row in rows] for kind in ("q", "deviation"))
        sizes = [row["size"] for row in rows]
        axes.errorbar(sizes, q, deviation, label=f"prior {name}", marker=marker, capsize=2, markersize=4)
    axes.axhline(result["base"], color="0.5", linestyle=":", label=f"Needleman & Wunsch, {BASE}")
    axes.set(xlabel="training pairs", ylabel="Q", xscale="log")
    axes.set_xticks(sizes, [str(size) for size in sizes], minor=False)
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    folder = folder_for(NAME, quick)
    pairs = pairs_of(list(load_protein_alignments("sabre").values()), 1)
    first = half(pairs.files, 0.5, 0)
    train, test = pairs.where(first), pairs.where(~first)
    base = recall(test, SequenceAligner.from_matrix().predict(test.sequences)).mean()
    sizes, draws = (SIZES[1:3], 1) if quick else (SIZES, DRAWS)
    rows = [run(size, draws, train, test) for size in sizes]
    result = {"draws": draws, "test_pairs": len(test), "base": float(base), "sizes": rows}
    write(str(folder / NAME), result)
    plot(result, folder / f"{NAME}.png")
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
