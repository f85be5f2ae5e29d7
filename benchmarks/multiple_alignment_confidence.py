"""How many matches are right, by the confidence that `SequenceAligner.align` has.

    python benchmarks/multiple_alignment_confidence.py            some minutes
    python benchmarks/multiple_alignment_confidence.py --quick    few sets, nothing is written

Every other set of SABmark, by models that have learned from the other one of two folds, and every 32nd of
PREFAB 4; ``training/family_confidence.py`` has fitted the confidence to others. Matches that were found of
residues whose match in the reference is known, by the mean confidence of their column, and by their own: on
PREFAB two of fifty sequences are judged, most remote ones. Each set counts as much.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import asked_to_be_quick, keep
from structune.alignment import ProteinAlignment, load_protein_alignments
from structune.alignment.multiple import confidence

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
from families import aligner_for, inputs, judged
from family_confidence import of_family

NAME = "multiple_alignment_confidence"
SETS = {"sabre": slice(1, None, 2), "prefab4": slice(0, None, 32)}
N_BINS, LEAST = 10, 0.005  # share of the matches that a point needs
FloatArray = NDArray[np.float64]


def counted(name: str, chosen: slice) -> dict[str, list[dict[str, float]]]:
    """Mean confidence and share of right matches of bins of confidence, of columns and of single matches."""
    references = load_protein_alignments(name)
    of_columns, of_matches = [], []
    for key, sequences in list(inputs(name).items())[chosen]:
        family, names = aligner_for(name, key).align(list(sequences.values())), list(sequences)
        pairs, right = right_matches(references[key], ProteinAlignment(names, family.rows))
        inside = pairs > 0
        of_columns.append(np.array([family.confidence, right, pairs])[:, inside])
        x, is_right = of_family(references[key], names, family)
        of_matches.append(np.array([confidence(x), is_right, np.ones(is_right.size)]))
    return {f"{name}, columns": binned(of_columns), f"{name}, matches": binned(of_matches)}


def binned(sets: list[FloatArray]) -> list[dict[str, float]]:
    """From the confidence, right ones and number of matches, of each set; each counts as much."""
    weighed = [one / [[1.0], *[[one[2].sum()]] * 2] for one in sets if one.size]
    sure, right, weight = np.concatenate(weighed, axis=1)
    number = np.minimum((N_BINS * sure).astype(int), N_BINS - 1)
    sums = [np.bincount(number, v, minlength=N_BINS) for v in (weight, weight * sure, right)]
    return [
        {"confidence": c / w, "right": r / w, "share": w / weight.sum()}
        for w, c, r in zip(*sums, strict=True)
        if w > 0.0
    ]


def right_matches(reference: ProteinAlignment, found: ProteinAlignment) -> tuple[FloatArray, FloatArray]:
    """Of each column its matches of residues whose match is known, and how many of them are right."""
    width = len(found.rows[0])
    pairs, right = np.zeros(width), np.zeros(width)
    for a, b in combinations(range(len(reference.names)), 2):
        match = judged(reference, found, a, b)
        pairs += np.bincount(match.column, minlength=width)
        right += np.bincount(match.column, match.right, minlength=width)
    return pairs, right


def figure(result: dict[str, list[dict[str, float]]], path: Path) -> None:
    from matplotlib.figure import Figure

    drawing = Figure((5, 4.5), layout="constrained")
    axes = drawing.subplots()
    axes.plot([0, 1], [0, 1], ":", color="gray")
    for name, bins in result.items():
        drawn = [b for b in bins if b["share"] >= LEAST]
        style = "o-" if name.endswith("matches") else "s--"
        axes.plot([b["confidence"] for b in drawn], [b["right"] for b in drawn], style, label=name)
    axes.set(xlabel="confidence", ylabel="share of matches that are right")
    axes.grid(alpha=0.25)
    axes.legend()
    drawing.savefig(path, dpi=110)


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    result: dict[str, Any] = {}
    for name, chosen in SETS.items():
        result |= counted(name, slice(chosen.start, None, chosen.step * (16 if quick else 1)))
    figure(result, keep(NAME, quick, result).with_suffix(".png"))


if __name__ == "__main__":
    main()
