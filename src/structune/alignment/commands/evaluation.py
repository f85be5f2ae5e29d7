"""``structune evaluate alignment``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from structune.alignment.aligner import SequenceAligner
from structune.alignment.commands import columns
from structune.alignment.commands.data import Aligned, check_gamma, open_aligner, read_aligned
from structune.alignment.metrics import AlignmentScores, alignment_scores
from structune.alignment.structure.rows import identity
from structune.cli.checks import check_apart, check_targets, short_warnings
from structune.cli.reports import tell
from structune.cli.settings import Telling
from structune.cli.tables import numbers_table, record_table
from structune.errors import DataError

if TYPE_CHECKING:
    from structune.html_reports import Section

_IDENTITIES = (0.1, 0.2, 0.3, 1.0)


@dataclass(frozen=True)
class Evaluation:
    """Matches found, by how many of the scored ones are of identical residues."""

    aligner: SequenceAligner
    data: Aligned
    predicted: list[tuple[str, str]]
    scores: AlignmentScores
    identity: np.ndarray[Any, np.dtype[np.float64]]

    def _bins(self) -> Iterator[tuple[str, Any]]:
        bins = np.searchsorted(_IDENTITIES, self.identity)
        for k, (low, high) in enumerate(pairwise((0.0, *_IDENTITIES))):
            if np.any(bins == k):
                yield f"identity {low:.0%} to {high:.0%}", bins == k
        yield "all", np.ones(self.identity.size, bool)

    def tables(self) -> list[Table]:
        """As the terminal shows it."""
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
        return [
            numbers_table("Alignments", "pairs", ["recall", "precision"], rows),
            record_table("What was compared", record),
        ]

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

    def sections(self) -> Iterator[Section]:
        """As a page shows it."""
        from structune.alignment.report import aligning_sections

        data = self.data
        return aligning_sections(
            self.aligner, data.names, data.rows, self.predicted, data.pairs, self.identity, self.scores
        )


def run(
    model: str, files: list[Path], multiple: bool, gamma: float | None, n_jobs: int, telling: Telling
) -> None:
    """Show how well a model aligns the sequences of alignments, or what alignments are worth."""
    check_targets([], [], telling.report)
    check_apart([model, *files], [telling.report])
    if multiple or columns.is_alignments(model):
        if gamma is not None:
            raise DataError("found --gamma with whole families, which have no use for it")
        with short_warnings():
            found = columns.evaluate(model, files, n_jobs)
        tell(found, telling)
        return
    aligner = open_aligner(model, n_jobs)
    check_gamma(aligner, gamma)
    with short_warnings():
        evaluation = evaluate(aligner, read_aligned(files, aligner.alphabet), gamma)
    tell(evaluation, telling)


def evaluate(aligner: SequenceAligner, data: Aligned, gamma: float | None = None) -> Evaluation:
    """Compare predicted with known alignments."""
    predicted = aligner.predict(data.pairs, gamma)
    identities = np.array([identity(*each) for each in zip(data.known, data.pairs, strict=True)])
    return Evaluation(aligner, data, predicted, alignment_scores(data.rows, predicted), identities)
