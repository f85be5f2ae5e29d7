"""Alignments on pages: pairs beside the known ones, and families by the confidence of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

import numpy as np

from structune.alignment.aligner import SequenceAligner
from structune.alignment.metrics import AlignmentScores
from structune.alignment.multiple import MultipleAlignment
from structune.alignment.plots import plot_guide_tree, plot_match_probabilities
from structune.html_reports.page import Block, Columns, Fold, Section, Text, Verbatim, make_table
from structune.html_reports.pictures import histogram, picture, scatter
from structune.plots.figure import shortened

_MOST_ROWS, _MOST_DRAWN, _LONGEST_DRAWN, _COLUMNS = 200, 12, 1000, 60
_FAMILY_COLUMNS, _LONGEST_NAME, _STEPS = 80, 24, 10
_LOW, _HIGH = np.array([255, 255, 255]), np.array([110, 175, 225])  # colours, red, green and blue
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
    folds = list[Block]()
    for p in drawn:
        blocks: list[Block] = [Text("Known:"), Verbatim(_wrapped(known[p]))]
        blocks += [Text("Predicted:"), Verbatim(_wrapped(predicted[p]))]
        if aligner.has_probabilities:
            x, y = pairs[p]
            plot = partial(plot_match_probabilities, x, y, aligner.posterior(x, y), known[p])
            caption = "Probabilities of matches, and the known alignment."
            blocks.append(picture(plot, f"probabilities of the matches of {names[p]}", caption))
        folds.append(Fold(f"{names[p]}: recall {scores.recall[p]:.3f}", blocks, is_open=p == drawn[0]))
    if folds:
        told = (
            f"Of at most {_LONGEST_DRAWN:,} residues, the worst first. Residues in lower case are not scored."
        )
        yield Section("Alignments", [Text(told), *folds])


def _wrapped(rows: Rows) -> str:
    """Both rows, some columns at a time."""
    starts = range(0, max(len(rows[0]), 1), _COLUMNS)
    return "\n\n".join("\n".join(row[k : k + _COLUMNS] for row in rows) for k in starts)


def family_section(title: str, names: Sequence[str], found: MultipleAlignment) -> Section:
    """A multiple alignment, coloured by confidence, with its guide tree and what it is like."""
    confidence = found.confidence
    known = confidence[~np.isnan(confidence)]
    numbers = [
        ("sequences", f"{len(found):,}"),
        ("columns", f"{confidence.size:,}"),
        ("of confidence 0.9 or more", f"{(known >= 0.9).sum():,}"),
        ("of confidence 0.5 to 0.9", f"{((known >= 0.5) & (known < 0.9)).sum():,}"),
        ("value: the sum of its consistent probabilities", f"{found.value:,.1f}"),
    ]
    told = (
        "The darker a column, the surer it is that its residues belong together: its confidence is how many "
        "of its matches are right, as far as the model and the other sequences tell."
    )
    scale = Columns(["confidence"], ["0123456789"], [(1, _colour(k)) for k in range(_STEPS)])
    blocks: list[Block] = [make_table("", [""], [""], numbers, len(numbers)), Text(told), scale]
    # digits, as in Stockholm files
    steps = np.minimum(np.floor(_STEPS * np.nan_to_num(confidence)), _STEPS - 1.0)
    short = [shortened(name, _LONGEST_NAME) for name in names]
    for first in range(0, steps.size, _FAMILY_COLUMNS):
        part = slice(first, first + _FAMILY_COLUMNS)
        runs = [(len(list(run)), _colour(k)) for k, run in groupby(steps[part].tolist())]
        blocks.append(Columns(short, [row[part] for row in found.rows], runs))
    if known.size:
        blocks.append(histogram(known, "confidence", "columns", "How many columns have which confidence."))
    if len(found) > 1:
        tree = picture(partial(plot_guide_tree, found, names), "the guide tree", "The guide tree.")
        blocks.append(Fold("Guide tree", [tree]))
    return Section(title, blocks)


def _colour(step: float) -> str:
    share = step / (_STEPS - 1)
    return "#" + "".join(f"{round(c):02x}" for c in (1.0 - share) * _LOW + share * _HIGH)
