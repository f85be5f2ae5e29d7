"""Families on pages, by the confidence of their columns."""

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
