"""Report pages of families, coloured by the confidence of columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

import numpy as np

from structune.alignment.multiple import MultipleAlignment
from structune.alignment.plots import plot_guide_tree
from structune.html_reports.page import Block, Columns, Fold, Section, Text, make_table
from structune.html_reports.pictures import histogram, picture
from structune.plots.figure import shortened

_FAMILY_COLUMNS, _LONGEST_NAME, _STEPS = 80, 24, 10
_LOW, _HIGH = np.array([255, 255, 255]), np.array([110, 175, 225])  # colours, red, green and blue


def family_section(title: str, names: Sequence[str], found: MultipleAlignment) -> Section:
    """The section of a multiple alignment: summary, rows coloured by confidence, and guide tree."""
    confidence = found.confidence
    known = confidence[~np.isnan(confidence)]
    numbers = [
        ("sequences", f"{len(found):,}"),
        ("columns", f"{confidence.size:,}"),
        ("columns of confidence 0.9 or more", f"{(known >= 0.9).sum():,}"),
        ("columns of confidence 0.5 to 0.9", f"{((known >= 0.5) & (known < 0.9)).sum():,}"),
        ("sum of the consistent match probabilities", f"{found.value:,.1f}"),
    ]
    told = (
        "The darker a column, the more reliable it is. The confidence of a column is the expected share of "
        "correct matches among its pairs of residues, as estimated from the model and the other sequences."
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
        blocks.append(histogram(known, "confidence", "columns", "Number of columns by confidence."))
    if len(found) > 1:
        tree = picture(partial(plot_guide_tree, found, names), "the guide tree", "The guide tree.")
        blocks.append(Fold("Guide tree", [tree]))
    return Section(title, blocks)


def _colour(step: float) -> str:
    share = step / (_STEPS - 1)
    return "#" + "".join(f"{round(c):02x}" for c in (1.0 - share) * _LOW + share * _HIGH)
