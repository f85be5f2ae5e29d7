"""How well RNA was folded: scores of base pairs on the terminal, as JSON and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rich.table import Table

from structune.cli.terminal import Progress, numbers_table, record_table
from structune.errors import DataError
from structune.html_reports.page import Block, Fold, Picture, Section, Text, make_table
from structune.html_reports.pictures import histogram, picture, scatter
from structune.rna.examples import Example, in_order
from structune.rna.folder import RNAFolder
from structune.rna.formats.brackets import bases_of, largest_nested, partners
from structune.rna.metrics import (
    ROC_GAMMAS,
    BasePairScores,
    PairAccuracy,
    SensitivityCurve,
    base_pair_scores,
    roc_area,
    sensitivity_ppv_curve,
)
from structune.rna.plots import plot_pair_probabilities, plot_sensitivity_ppv, plot_structure

_MOST_ROWS, _MOST_DRAWN, _LONGEST_DRAWN = 200, 12, 1500


@dataclass(frozen=True)
class FoldingScores:
    """Scores of base pairs, exact and with a slip of one base."""

    folder: RNAFolder
    examples: Sequence[Example]
    predicted: list[str]
    gamma: float | None  # None for a model without probabilities: structures are of the highest score
    exact: BasePairScores
    slipped: BasePairScores
    knots: list[int]  # pairs in pseudoknots of those known structures that have some
    curve: SensitivityCurve | None = None  # for all of `ROC_GAMMAS`

    def tables(self) -> list[Table]:
        columns, told = ["sensitivity", "PPV", "F1"], self.as_dict()
        how = "Viterbi" if self.gamma is None else f"gamma {self.gamma:g}"
        tables = [numbers_table(f"Base pairs, {how}", "", columns, self._accuracies().items())]
        if self.curve is not None:
            points = [(f"{gamma:g}", values) for gamma, *values in zip(*self.curve, strict=True)]
            title = f"Sensitivity and PPV, area {told['roc_area']:.4f}"
            tables.append(numbers_table(title, "gamma", columns[:2], points))
        known = [
            ("data", "{sequences:,} sequences, {bases:,} bases, {pairs:,} pairs"),
            ("pseudoknots", "{pseudoknot_pairs:,} pairs in {sequences_with_pseudoknots:,} sequences"),
            ("predicted", "{predicted_pairs:,} pairs"),
        ]
        rows = [(name, text.format_map(told)) for name, text in known]
        return [*tables, record_table("Known structures", rows)]

    def as_dict(self) -> dict[str, Any]:
        curve = self.curve and {name: values.tolist() for name, values in self.curve._asdict().items()}
        return {
            "gamma": self.gamma,
            "sequences": len(self.examples),
            "bases": sum(example.record.n_bases for example in self.examples),
            "pairs": int(self.exact.n_true.sum()),
            "predicted_pairs": int(self.exact.n_predicted.sum()),
            "pseudoknot_pairs": sum(self.knots),
            "sequences_with_pseudoknots": len(self.knots),
            **{name.replace(" ", "_"): value._asdict() for name, value in self._accuracies().items()},
            "curve": curve,
            "roc_area": self.curve and roc_area(self.curve.sensitivity, self.curve.ppv),
        }

    def sections(self) -> Iterator[Section]:
        columns = ((each.record.name, each.record.sequence, each.structure) for each in self.examples)
        names, sequences, known = map(list, zip(*columns, strict=True))
        return folding_sections(self.folder, names, sequences, known, self.predicted, self.exact, self.curve)

    def _accuracies(self) -> dict[str, PairAccuracy]:
        """Of all pairs together, and means over sequences; exact, and with a slip."""
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
    known = [partners(example.structure) for example in examples]  # once, for all of gamma
    crossing = [np.count_nonzero(found != largest_nested(found)) // 2 for found in known]
    knots = [int(n) for n in crossing if n]
    exact, slipped = base_pair_scores(known, predicted), base_pair_scores(known, predicted, slip=1)
    curve = sensitivity_ppv_curve(known, dict(zip(ROC_GAMMAS, others, strict=True))) if with_curve else None
    return FoldingScores(folder, examples, predicted, gamma, exact, slipped, knots, curve)


def folding_sections(
    folder: RNAFolder,
    names: Sequence[str],
    sequences: Sequence[str],
    known: Sequence[str],
    predicted: Sequence[str],
    scores: BasePairScores,
    curve: SensitivityCurve | None = None,
) -> Iterator[Section]:
    """Scores of all sequences, and drawings of those that were folded worst."""
    lengths = np.array([len(bases_of(sequence)) for sequence in sequences])
    charts: list[Block] = [
        scatter(lengths, scores.f1, "bases", "F1", "Each sequence: F1 of its base pairs by its length."),
        histogram(scores.f1, "F1", "sequences", "How many sequences were folded how well."),
    ]
    if curve is not None:
        draw_curve = partial(plot_sensitivity_ppv, {"all gamma": (curve.sensitivity, curve.ppv)})
        charts.append(picture(draw_curve, "sensitivity over PPV", "From low to high gamma."))
    order = np.lexsort((lengths, scores.f1)).tolist()
    rows = []
    for s in order:
        counts = (lengths[s], scores.n_true[s], scores.n_predicted[s])
        shares = (scores.sensitivity[s], scores.ppv[s], scores.f1[s])
        rows.append([names[s], *(f"{n:,}" for n in counts), *(f"{share:.3f}" for share in shares)])
    columns = ["bases", "known pairs", "predicted", "sensitivity", "PPV", "F1"]
    table = make_table("Sequences, the worst first", ["sequence"], columns, rows, _MOST_ROWS)
    yield Section("Sequences", [*charts, table])
    drawn = [s for s in order if 0 < lengths[s] <= _LONGEST_DRAWN][:_MOST_DRAWN]
    folds = [
        Fold(
            f"{names[s]}: {lengths[s]:,} bases, F1 {scores.f1[s]:.3f}",
            list(_structure(folder, names[s], sequences[s], known[s], predicted[s])),
            is_open=s == drawn[0],
        )
        for s in drawn
    ]
    if folds:
        n = len(folds)
        which = "All sequences" if n == len(names) else f"{n} sequences of the lowest F1"
        text = f"{which} of at most {_LONGEST_DRAWN:,} bases, the worst first. Dashed lines are pseudoknots."
        yield Section("Structures", [Text(text), *folds])


def _structure(folder: RNAFolder, name: str, sequence: str, known: str, predicted: str) -> Iterator[Picture]:
    """Known and predicted structure, and probabilities if the model has some."""
    table = folder.pair_probabilities(sequence) if folder.has_probabilities else None
    draw = partial(plot_structure, sequence, circular=folder.circular)
    yield picture(partial(draw, known), f"known structure of {name}", "Known.")
    yield picture(partial(draw, predicted, table), f"predicted structure of {name}", "Predicted.")
    if table is not None:
        dots = partial(plot_pair_probabilities, sequence, table, known)
        caption = "Probabilities of pairs above the diagonal, the known pairs below it."
        yield picture(dots, f"dot plot of {name}", caption)
