"""Accuracy of folded RNA: scores of base pairs on the terminal, as JSON and in an HTML report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
from rich.table import Table

from structune.cli.terminal import Progress, numbers_table, record_table
from structune.errors import DataError, warn
from structune.files.text import plural
from structune.html_reports.page import Block, Fold, Section, Text, make_table
from structune.html_reports.pictures import histogram, picture, scatter
from structune.rna.examples import Example, in_order
from structune.rna.folder import RNAFolder
from structune.rna.formats.brackets import largest_nested, partners
from structune.rna.metrics import ROC_GAMMAS, PairAccuracy, base_pair_scores, roc_area, sensitivity_ppv_curve
from structune.rna.plots import plot_pair_probabilities, plot_sensitivity_ppv, plot_structure

_MOST_ROWS, _MOST_DRAWN, _LONGEST_DRAWN = 200, 12, 1500


class FoldingScores:
    """Accuracy of predicted base pairs, exact and with a slip of one base."""

    def __init__(
        self,
        folder: RNAFolder | None,  # None for predictions of another program
        examples: Sequence[Example],
        predicted: Sequence[str],
        gamma: float | None,  # None for a model without probabilities: structures are of the highest score
        by_gamma: Mapping[float, Sequence[str]] | None = None,  # structures for all of `ROC_GAMMAS`
    ) -> None:
        self.folder, self.examples, self.predicted, self.gamma = folder, examples, predicted, gamma
        known = [partners(example.structure) for example in examples]  # once, for all of gamma
        crossing = (int(np.count_nonzero(found != largest_nested(found))) // 2 for found in known)
        self.knots = [n for n in crossing if n]  # pairs in pseudoknots of structures that have some
        self.exact, self.slipped = (base_pair_scores(known, predicted, slip) for slip in (0, 1))
        self.curve = None if by_gamma is None else sensitivity_ppv_curve(known, by_gamma)

    def tables(self) -> list[Table]:
        columns, told = ["sensitivity", "PPV", "F1"], self.as_dict()
        how = ", Viterbi" if self.gamma is None else f", gamma {self.gamma:g}"
        title = f"Base pairs{'' if self.folder is None else how}"
        tables = [numbers_table(title, "", columns, self._accuracies().items())]
        if self.curve is not None:
            points = [(f"{gamma:g}", values) for gamma, *values in zip(*self.curve, strict=True)]
            title = f"Sensitivity and PPV, area {told['roc_area']:.4f}"
            tables.append(numbers_table(title, "gamma", columns[:2], points))
        n_sequences, n_pairs = plural(told["sequences"], "sequence"), plural(told["pairs"], "pair")
        n_knotted = plural(told["sequences_with_pseudoknots"], "sequence")
        rows = [
            ("data", f"{n_sequences}, {plural(told['bases'], 'base')}, {n_pairs}"),
            ("pseudoknots", f"{plural(told['pseudoknot_pairs'], 'pair')} in {n_knotted}"),
            ("predicted", plural(told["predicted_pairs"], "pair")),
        ]
        return [*tables, record_table("Known structures", rows)]

    def as_dict(self) -> dict[str, Any]:
        curve = self.curve and {name: values.tolist() for name, values in self.curve._asdict().items()}
        return {
            "gamma": self.gamma,
            "predictions": "of another program" if self.folder is None else "of the model",
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
        """Scores of all sequences, and drawings of those that were folded worst."""
        scores, curve = self.exact, self.curve
        names = [example.record.name for example in self.examples]
        lengths = np.array([example.record.n_bases for example in self.examples])
        charts: list[Block] = [
            scatter(lengths, scores.f1, "bases", "F1", "F1 of the base pairs of each sequence, by length."),
            histogram(scores.f1, "F1", "sequences", "Number of sequences by F1."),
        ]
        if curve is not None:
            draw_curve = partial(plot_sensitivity_ppv, {"all gamma": (curve.sensitivity, curve.ppv)})
            charts.append(picture(draw_curve, "sensitivity over PPV", "From low to high gamma."))
        order = np.lexsort((lengths, scores.f1)).tolist()
        counts = np.column_stack([lengths, scores.n_true, scores.n_predicted])
        shares = np.column_stack([scores.sensitivity, scores.ppv, scores.f1])
        rows = [
            [names[s], *(f"{n:,}" for n in counts[s]), *(f"{share:.3f}" for share in shares[s])]
            for s in order
        ]
        columns = ["bases", "known pairs", "predicted", "sensitivity", "PPV", "F1"]
        table = make_table("Sequences, lowest F1 first", ["sequence"], columns, rows, _MOST_ROWS)
        yield Section("Sequences", [*charts, table])
        drawn = [s for s in order if 0 < lengths[s] <= _LONGEST_DRAWN][:_MOST_DRAWN]
        folds = []
        for s in drawn:
            record, known, folder = self.examples[s].record, self.examples[s].structure, self.folder
            has_pairs, circular = (folder.has_probabilities, folder.circular) if folder else (False, False)
            pairs = folder.pair_probabilities(record.sequence) if folder and has_pairs else None
            draw = partial(plot_structure, record.sequence, circular=circular)
            found = partial(draw, self.predicted[s], pairs)
            blocks: list[Block] = [
                picture(partial(draw, known), f"known structure of {record.name}", "Known structure."),
                picture(found, f"predicted structure of {record.name}", "Predicted structure."),
            ]
            if pairs is not None:
                dots = partial(plot_pair_probabilities, record.sequence, pairs, known)
                caption = "Pair probabilities above the diagonal, known pairs below it."
                blocks.append(picture(dots, f"dot plot of {record.name}", caption))
            title = f"{record.name}: {lengths[s]:,} bases, F1 {shares[s, 2]:.3f}"
            folds.append(Fold(title, blocks, is_open=s == drawn[0]))
        if folds:
            n = len(folds)
            which = "All sequences" if n == len(names) else f"The {n} sequences with the lowest F1"
            bases = f"at most {_LONGEST_DRAWN:,} bases"
            text = f"{which}, of {bases} each, sorted by F1. Dashed lines are pseudoknots."
            yield Section("Structures", [Text(text), *folds])

    def _accuracies(self) -> dict[str, PairAccuracy]:
        """Pooled over all pairs, and means over sequences; exact and with slip."""
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
    with_knots: bool = False,
) -> FoldingScores:
    """Compare predicted with known structures; `gamma` is by default that of the model."""
    if not folder.has_probabilities and (gamma is not None or with_curve or with_knots):
        told = "gamma, curves and pseudoknots need a model with probabilities"
        raise DataError(f"{told}; this one was fitted with loss={folder.loss!r}")
    gamma = folder.gamma if gamma is None and folder.has_probabilities else gamma
    gammas: list[Any] = [gamma, *(ROC_GAMMAS if with_curve else ())]

    def work(batch: list[Example]) -> list[tuple[str, ...]]:
        """Structures for each gamma; None is for those of the highest score."""
        sequences = [example.record.sequence for example in batch]
        if gammas == [None]:
            return [(structure,) for structure in folder.predict_viterbi(sequences)]
        if with_knots:
            return list(zip(*(folder.predict_knotted(sequences, own) for own in gammas), strict=True))
        return list(zip(*folder.predict_gammas(sequences, gammas), strict=True))

    rows = list[tuple[str, ...]]()
    with closing(in_order(examples, work, n_jobs)) as results, Progress(not quiet, len(examples)) as progress:
        for batch in results:
            rows += batch
            progress.advance(len(batch))
    predicted, *others = (list(column) for column in zip(*rows, strict=True))
    by_gamma = dict(zip(ROC_GAMMAS, others, strict=True)) if with_curve else None
    return FoldingScores(folder, examples, predicted, gamma, by_gamma)


def compare(predictions: Iterable[Example], known: Sequence[Example]) -> FoldingScores:
    """Compare the structures of another program, in any order, with known ones of the same sequences."""
    by_sequence, names = defaultdict[str, list[Example]](list), dict[str, Example]()
    for example in predictions:
        by_sequence[example.record.sequence].append(example)
        names[example.record.name] = example
    found = list[str]()
    for example in known:
        of_same = by_sequence.get(example.record.sequence, [])
        named = [other for other in of_same if other.record.name == example.record.name] or of_same
        if not named:
            told = "there is no predicted structure of this sequence"
            if (other := names.get(example.record.name)) is not None:
                told += f"; {other.called} has another sequence"
            raise example.refuse(told)
        if len({other.structure for other in named}) > 1:
            raise example.refuse(f"there are several predicted structures, the first in {named[0].called}")
        found.append(named[0].structure)
    if unused := by_sequence.keys() - {example.record.sequence for example in known}:
        warn(f"ignored predicted structures of {plural(len(unused), 'sequence')} without a known structure")
    return FoldingScores(None, known, found, None)
