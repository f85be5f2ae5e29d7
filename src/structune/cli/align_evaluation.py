"""``structune evaluate align``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import typer

from structune.cli.align_data import Aligned, check_gamma, open_aligner, read_aligned
from structune.cli.tables import numbers_table, print_tables, record_table
from structune.estimators.aligner import SequenceAligner
from structune.metrics import AlignmentScores, alignment_scores
from structune.structures.alignment_rows import identity

_IDENTITIES = (0.1, 0.2, 0.3, 1.0)


@dataclass(frozen=True)
class Evaluation:
    """Matches found, by how many of the scored ones are of identical residues."""

    scores: AlignmentScores
    identity: np.ndarray[Any, np.dtype[np.float64]]

    def _bins(self) -> Iterator[tuple[str, Any]]:
        bins = np.searchsorted(_IDENTITIES, self.identity)
        for k, (low, high) in enumerate(pairwise((0.0, *_IDENTITIES))):
            if np.any(bins == k):
                yield f"identity {low:.0%} to {high:.0%}", bins == k
        yield "all", np.ones(self.identity.size, bool)

    def show(self) -> None:
        """Print it as tables."""
        rows = [
            (
                f"{name} ({inside.sum():,})",
                [self.scores.recall[inside].mean(), self.scores.precision[inside].mean()],
            )
            for name, inside in self._bins()
        ]
        record = [
            ("recall (Q)", "share of the known matches that were found, mean over pairs"),
            ("precision", "share of the matches found that are known to be right, mean over pairs"),
        ]
        print_tables(
            numbers_table("Alignments", "pairs", ["recall", "precision"], rows),
            record_table("What was compared", record),
        )

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            name: {
                "pairs": int(inside.sum()),
                "recall": float(self.scores.recall[inside].mean()),
                "precision": float(self.scores.precision[inside].mean()),
            }
            for name, inside in self._bins()
        }


def run(model: str, files: list[Path], gamma: float | None, n_jobs: int, as_json: bool) -> None:
    """Show how well a model aligns the sequences of alignments."""
    aligner = open_aligner(model, n_jobs)
    check_gamma(aligner, gamma)
    evaluation = evaluate(aligner, read_aligned(files), gamma)
    if as_json:
        typer.echo(json.dumps(evaluation.as_dict(), indent=2))
    else:
        evaluation.show()


def evaluate(aligner: SequenceAligner, data: Aligned, gamma: float | None = None) -> Evaluation:
    """Compare predicted with known alignments."""
    scores = alignment_scores(data.rows, aligner.predict(data.pairs, gamma))
    return Evaluation(
        scores, np.array([identity(*each) for each in zip(data.known, data.pairs, strict=True)])
    )
