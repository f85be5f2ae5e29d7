"""The structures of RNA that were predicted, beside the known ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from structune.html_reports.page import Block, Fold, Picture, Section, Text, make_table
from structune.html_reports.pictures import histogram, picture, scatter
from structune.rna.folder import RNAFolder
from structune.rna.formats.brackets import bases_of
from structune.rna.metrics import BasePairScores, SensitivityCurve
from structune.rna.plots.drawing import plot_structure
from structune.rna.plots.pairs import plot_pair_probabilities, plot_sensitivity_ppv

_MOST_ROWS, _MOST_DRAWN, _LONGEST_DRAWN = 200, 12, 1500


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
