"""Trains the model of `SequenceAligner.pretrained()`, on SABmark 1.65 (remote homologues).

    python training/alignment.py            about ten minutes on two cores
    python training/alignment.py --quick    on every eighth alignment, to a file in the current folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout).

At most two pairs of each alignment, at random; a pair weighs less the more there are of its alignment. The
precisions of the prior, one for each kind of feature, by majorize-minimise; gamma, by the sum of recall and
precision that a fit without a quarter of the alignments has there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from asking import asked_to_be_quick
from numpy.typing import NDArray

from structune import SequenceAligner
from structune.alignment import ProteinAlignment, alignment_scores, load_protein_alignments
from structune.alignment.structure.rows import parse_alignment, residues_of
from structune.running import Run

MODEL = Path(__file__).parents[1] / "src" / "structune" / "alignment" / "pretrained.structune"
GAMMAS = (1.0, 2.0, 4.0, 8.0, 16.0)
MOST, HOLDOUT = 2, 0.25


@dataclass(frozen=True)
class Pairs:
    """Reference alignments, and which alignment of several each is from."""

    rows: list[tuple[str, str]]
    family: NDArray[np.int64]

    @property
    def sequences(self) -> list[tuple[str, str]]:
        return [residues_of(rows) for rows in self.rows]

    @property
    def weights(self) -> NDArray[np.float64]:
        return 1.0 / np.sqrt(np.bincount(self.family)[self.family])

    def where(self, chosen: NDArray[np.bool_]) -> Pairs:
        return Pairs([self.rows[k] for k in np.flatnonzero(chosen)], self.family[chosen])


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    pairs = drawn(list(load_protein_alignments("sabre").values())[:: 8 if quick else 1])
    gamma = choose_gamma(pairs)
    aligner = fit(pairs, gamma)
    path = Path("alignment.structune") if quick else MODEL
    aligner.save(path, extra={"trained_on": "sabre"})
    say(f"wrote {path}, {path.stat().st_size} bytes")


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def drawn(alignments: Sequence[ProteinAlignment]) -> Pairs:
    """Some pairs of each alignment that have a known match."""
    rng, rows, family = np.random.default_rng(0), [], []
    for number, alignment in enumerate(alignments):
        first, second = np.triu_indices(len(alignment.names), 1)
        found = (alignment.pair(first[k], second[k]) for k in rng.permutation(first.size)[:MOST].tolist())
        known = [pair for pair in found if has_known(pair)]
        rows += known
        family += [number] * len(known)
    return Pairs(rows, np.array(family))


def has_known(rows: tuple[str, str]) -> bool:
    return bool(parse_alignment(rows, residues_of(rows), "reference").scored.any())


def fit(pairs: Pairs, gamma: float = GAMMAS[0], tolerance: float = 1e-3) -> SequenceAligner:
    aligner = SequenceAligner(
        tuning="majorize", run=Run(tolerance=tolerance), gamma=gamma, verbose=1, n_jobs=-1
    )
    aligner.fit(pairs.sequences, pairs.rows, sample_weight=pairs.weights)
    say(f"fitted to {len(pairs.rows)} pairs: {aligner.status_}, {aligner.passes_:.0f} passes")
    return aligner


def choose_gamma(pairs: Pairs) -> float:
    """That of the highest sum of recall and precision on alignments that were held out."""
    n = pairs.family.max() + 1
    out = np.isin(pairs.family, np.random.default_rng(1).permutation(n)[: round(HOLDOUT * n)])
    held = pairs.where(out)
    aligner, found = fit(pairs.where(~out)), {}
    for gamma in GAMMAS:
        scores = alignment_scores(held.rows, aligner.predict(held.sequences, gamma))
        found[gamma] = float(scores.recall.mean()), float(scores.precision.mean())
    say(f"recall and precision of {len(held.rows)} held-out pairs by gamma: {found}")
    return max(GAMMAS, key=lambda gamma: sum(found[gamma]))


if __name__ == "__main__":
    main()
