"""How many matches of columns are right, by the confidence that `SequenceAligner.align` gives the columns.

    python benchmarks/multiple_alignment_confidence.py            some minutes
    python benchmarks/multiple_alignment_confidence.py --quick    few sets, nothing is written

All sets of SABmark, by models that have learned from the other one of two folds, and every 32nd of PREFAB 4,
as in ``multiple_alignment.py``. Of the columns that were found, the matches of two residues scored in
the reference; each set counts as much.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import asked_to_be_quick, folder_for, write
from multiple_alignment import folds, inputs, model
from structune import SequenceAligner
from structune.alignment import ProteinAlignment, load_protein_alignments
from structune.alignment.metrics import found_columns

NAME = "multiple_alignment_confidence"
EVERY = {"sabre": 1, "prefab4": 32}
N_BINS = 10
FloatArray = NDArray[np.float64]


def counted(name: str, every: int) -> list[dict[str, float]]:
    """Mean confidence and share of right matches of bins of confidence."""
    references, found = load_protein_alignments(name), []
    for key, sequences in list(inputs(name).items())[::every]:
        aligner = model(folds()[key]) if name == "sabre" else SequenceAligner.pretrained()
        family = aligner.set_params(n_jobs=-1).align(list(sequences.values()))
        pairs, right = right_matches(references[key], ProteinAlignment(list(sequences), family.rows))
        inside = pairs > 0
        found.append(np.array([family.confidence, pairs, right])[:, inside] / [[1.0], *[[pairs.sum()]] * 2])
    confidence, weight, right = np.concatenate(found, axis=1)
    number = np.minimum((N_BINS * confidence).astype(int), N_BINS - 1)
    sums = [np.bincount(number, v, minlength=N_BINS) for v in (weight, weight * confidence, right)]
    return [
        {"confidence": c / w, "right": r / w, "share": w / weight.sum()}
        for w, c, r in zip(*sums, strict=True)
        if w > 0.0
    ]


def right_matches(reference: ProteinAlignment, found: ProteinAlignment) -> tuple[FloatArray, FloatArray]:
    """Of each column that was found its matches that are scored, and those of them that are right."""
    columns, width = found_columns(reference, found), len(found.rows[0])
    _, wanted = there = np.nonzero(columns >= 0)
    both, counts = np.unique(np.stack([columns[there], wanted]), axis=1, return_counts=True)
    right = np.bincount(both[0], counts * (counts - 1) / 2, minlength=width)
    sizes = np.bincount(columns[there], minlength=width)
    return sizes * (sizes - 1) / 2, right


def figure(result: dict[str, list[dict[str, float]]], path: Path) -> None:
    from matplotlib.figure import Figure

    drawing = Figure((5, 4.5), layout="constrained")
    axes = drawing.subplots()
    axes.plot([0, 1], [0, 1], ":", color="gray")
    for name, bins in result.items():
        axes.plot([b["confidence"] for b in bins], [b["right"] for b in bins], "o-", label=name)
    axes.set(xlabel="confidence of columns", ylabel="share of their matches that are right")
    axes.grid(alpha=0.25)
    axes.legend()
    drawing.savefig(path, dpi=110)


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    result: dict[str, Any] = {
        name: counted(name, every * (16 if quick else 1)) for name, every in EVERY.items()
    }
    path = write(str(folder_for(NAME, quick) / NAME), result)
    figure(result, path.with_suffix(".png"))
    print("written to", path)


if __name__ == "__main__":
    main()
