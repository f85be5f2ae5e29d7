"""Alignments that were predicted, beside the known ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from structune.alignment.aligner import SequenceAligner
from structune.alignment.metrics import AlignmentScores
from structune.alignment.plots import plot_match_probabilities
from structune.html_reports.page import Block, Fold, Section, Text, Verbatim
from structune.html_reports.pictures import histogram, picture, scatter
from structune.html_reports.tables import make_table

_MOST_ROWS, _MOST_DRAWN, _LONGEST_DRAWN, _COLUMNS = 200, 12, 1000, 60
Rows = tuple[str, str]


def aligning_sections(
    aligner: SequenceAligner,
    names: Sequence[str],
    known: Sequence[Rows],
    predicted: Sequence[Rows],
    pairs: Sequence[Rows],
    identity: np.ndarray,
    scores: AlignmentScores,
) -> Iterator[Section]:
    """Scores of all pairs, and those that were aligned worst."""
    order = np.lexsort((identity, scores.recall)).tolist()
    rows = [
        (
            names[p],
            f"{len(pairs[p][0]):,} and {len(pairs[p][1]):,}",
            f"{identity[p]:.0%}",
            f"{scores.recall[p]:.3f}",
            f"{scores.precision[p]:.3f}",
        )
        for p in order
    ]
    numbers = ["residues", "identity", "recall", "precision"]
    yield Section(
        "Pairs",
        [
            scatter(identity, scores.recall, "identity", "recall", "Each pair: its recall by its identity."),
            histogram(scores.recall, "recall", "pairs", "How many pairs were aligned how well."),
            make_table("Pairs, the worst first", ["pair"], numbers, rows, _MOST_ROWS),
        ],
    )
    drawn = [p for p in order if 0 < max(map(len, pairs[p])) <= _LONGEST_DRAWN][:_MOST_DRAWN]
    folds = [
        Fold(
            f"{names[p]}: recall {scores.recall[p]:.3f}",
            list(_alignment(aligner, names[p], pairs[p], known[p], predicted[p])),
            is_open=p == drawn[0],
        )
        for p in drawn
    ]
    if folds:
        yield Section("Alignments", [Text(_TOLD), *folds])


_TOLD = f"Of at most {_LONGEST_DRAWN:,} residues, the worst first. Residues in lower case are not scored."


def _alignment(
    aligner: SequenceAligner, name: str, pair: Rows, known: Rows, predicted: Rows
) -> Iterator[Block]:
    yield Text("Known:")
    yield Verbatim(_wrapped(known))
    yield Text("Predicted:")
    yield Verbatim(_wrapped(predicted))
    if aligner.has_probabilities:
        plot = partial(plot_match_probabilities, *pair, aligner.posterior(*pair), known)
        caption = "Probabilities of matches, and the known alignment."
        yield picture(plot, f"probabilities of the matches of {name}", caption)


def _wrapped(rows: Rows) -> str:
    """Both rows, some columns at a time."""
    starts = range(0, max(len(rows[0]), 1), _COLUMNS)
    return "\n\n".join("\n".join(row[k : k + _COLUMNS] for row in rows) for k in starts)
