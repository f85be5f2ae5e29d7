"""How well RNA was folded: scores of base pairs on the terminal, as JSON and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from structune.cli.terminal import Progress, numbers_table, record_table
from structune.errors import DataError
from structune.rna.examples import Example, in_order
from structune.rna.folder import RNAFolder
from structune.rna.formats.brackets import largest_nested, partners
from structune.rna.metrics import (
    ROC_GAMMAS,
    BasePairScores,
    PairAccuracy,
    SensitivityCurve,
    base_pair_scores,
    roc_area,
    sensitivity_ppv_curve,
)

if TYPE_CHECKING:
    from structune.html_reports import Section


@dataclass(frozen=True)
class FoldingScores:
    """Scores of base pairs, exact and with a slip of one base.

    Attributes
    ----------
    gamma : float, optional
        None for a model without probabilities, whose structures are those of the highest score.
    knots : dict of int to int
        Number of pairs in pseudoknots of those known structures that have some.
    curve : SensitivityCurve, optional
        For all of `ROC_GAMMAS`.
    """

    folder: RNAFolder
    examples: Sequence[Example]
    predicted: list[str]
    gamma: float | None
    exact: BasePairScores
    slipped: BasePairScores
    knots: dict[int, int]
    curve: SensitivityCurve | None = None

    @property
    def area(self) -> float | None:
        """Below the curve."""
        return None if self.curve is None else roc_area(self.curve.sensitivity, self.curve.ppv)

    @property
    def _n_bases(self) -> int:
        return sum(example.record.n_bases for example in self.examples)

    def tables(self) -> list[Table]:
        """As the terminal shows it."""
        rows = [(name, accuracy) for name, accuracy in self._accuracies().items()]
        columns = ["sensitivity", "PPV", "F1"]
        how = "Viterbi" if self.gamma is None else f"gamma {self.gamma:g}"
        tables = [numbers_table(f"Base pairs, {how}", "", columns, rows)]
        if self.curve is not None:
            points = [(f"{gamma:g}", values) for gamma, *values in zip(*self.curve, strict=True)]
            title = f"Sensitivity and PPV, area {self.area:.4f}"
            tables.append(numbers_table(title, "gamma", columns[:2], points))
        n_pairs, n_knotted = int(self.exact.n_true.sum()), sum(self.knots.values())
        known = [
            ("data", f"{len(self.exact.n_true):,} sequences, {self._n_bases:,} bases, {n_pairs:,} pairs"),
            ("pseudoknots", f"{n_knotted:,} pairs in {len(self.knots):,} sequences"),
            ("predicted", f"{int(self.exact.n_predicted.sum()):,} pairs"),
        ]
        return [*tables, record_table("Known structures", known)]

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        curve = self.curve and {name: values.tolist() for name, values in self.curve._asdict().items()}
        return {
            "gamma": self.gamma,
            "sequences": len(self.exact.n_true),
            "bases": self._n_bases,
            "pairs": int(self.exact.n_true.sum()),
            "predicted_pairs": int(self.exact.n_predicted.sum()),
            "pseudoknot_pairs": sum(self.knots.values()),
            "sequences_with_pseudoknots": len(self.knots),
            **{name.replace(" ", "_"): value._asdict() for name, value in self._accuracies().items()},
            "curve": curve,
            "roc_area": self.area,
        }

    def sections(self) -> Iterator[Section]:
        """As a page shows it."""
        from structune.rna.report import folding_sections

        records = [example.record for example in self.examples]
        names, sequences = [record.name for record in records], [record.sequence for record in records]
        known = [example.structure for example in self.examples]
        return folding_sections(self.folder, names, sequences, known, self.predicted, self.exact, self.curve)

    def plot_curve(self, path: Path) -> None:
        """Draw sensitivity over PPV for all gamma."""
        from structune.rna.plots import plot_sensitivity_ppv

        if self.curve is not None:
            plot_sensitivity_ppv({"model": (self.curve.sensitivity, self.curve.ppv)}, path)

    def _accuracies(self) -> dict[str, PairAccuracy]:
        both = {"": self.exact, " slip 1": self.slipped}
        means = {
            f"mean{slip}": PairAccuracy(*(float(np.mean(x)) for x in (of.sensitivity, of.ppv, of.f1)))
            for slip, of in both.items()
        }
        return {f"pooled{slip}": of.pooled for slip, of in both.items()} | means


def evaluate(
    folder: RNAFolder,
    examples: Sequence[Example],
    gamma: float | None = None,
    with_curve: bool = False,
    n_jobs: int | None = -1,
    quiet: bool = False,
) -> FoldingScores:
    """Compare predicted with known structures; `gamma` is that of the model, if it is not given."""
    if not folder.has_probabilities and (gamma is not None or with_curve):
        raise DataError(
            f"a model fitted with loss={folder.loss!r} has no probabilities, and no use for gamma"
        )
    gamma = folder.gamma if gamma is None and folder.has_probabilities else gamma
    gammas: list[Any] = [gamma, *(ROC_GAMMAS if with_curve else ())]

    def work(batch: list[Example]) -> list[tuple[str, ...]]:
        """Structures for each gamma; None is for those of the highest score."""
        sequences = [example.record.sequence for example in batch]
        if gammas == [None]:
            return [(structure,) for structure in folder.predict_viterbi(sequences)]
        return list(zip(*folder.predict_gammas(sequences, gammas), strict=True))

    rows = list[tuple[str, ...]]()
    with closing(in_order(examples, work, n_jobs)) as results, Progress(not quiet, len(examples)) as progress:
        for batch in results:
            rows += batch
            progress.advance(len(batch))
    predicted, *others = (list(column) for column in zip(*rows, strict=True))
    known, knots = [example.structure for example in examples], dict[int, int]()
    for s, structure in enumerate(known):
        found = partners(structure)
        if n := int(np.count_nonzero(found != largest_nested(found))) // 2:
            knots[s] = n
    exact, slipped = base_pair_scores(known, predicted), base_pair_scores(known, predicted, slip=1)
    curve = sensitivity_ppv_curve(known, dict(zip(ROC_GAMMAS, others, strict=True))) if with_curve else None
    return FoldingScores(folder, examples, predicted, gamma, exact, slipped, knots, curve)
