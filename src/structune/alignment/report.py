"""The page of ``structune align --report``: alignments, colored by the confidence of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from structune.alignment.multiple import MultipleAlignment
from structune.alignment.plots import plot_guide_tree
from structune.cli.reports import Report, Results
from structune.files.text import plural
from structune.html_reports.page import Block, Columns, Fold, Section, Text, first_rows, make_table
from structune.html_reports.pictures import histogram, picture
from structune.plots.figure import shortened
from structune.structure import FloatArray

_MOST_DRAWN, _MOST_ROWS = 20, 300  # alignments, and rows of a table
_MOST_NAMES, _MOST_COLUMNS = 200, 2000  # of an alignment that is drawn
_WIDTH, _LONGEST_NAME, _STEPS = 80, 24, 10
_LOW, _HIGH = np.array([255, 255, 255]), np.array([110, 175, 225])  # colours, red, green and blue
_GAP = ord("-")
_OF_FAMILIES = (
    "The darker a column, the more reliable it is. The confidence of a column is the expected share of "
    "correct matches among its pairs of residues, as estimated from the model and the other sequences."
)
_OF_PAIRS = "The darker a column, the more reliable it is. The confidence of a match is its probability."
_IDENTITY = "Identity is the share of identical residues among those that are matched."


class AlignmentReport(Report):
    """Collects alignments, of pairs or of families, for a page."""

    def __init__(self, model: str, are_pairs: bool) -> None:
        self.results, self._are_pairs = Results(model), are_pairs
        self._rows, self._drawn = list[list[str]](), list[Section]()
        self._n, self._n_sequences, self._n_columns = 0, 0, 0
        self._sum, self._n_known = 0.0, 0  # of the confidences of columns

    def add(
        self,
        title: str,
        names: Sequence[str],
        rows: Sequence[str],
        confidence: FloatArray | None,
        family: MultipleAlignment | None = None,
    ) -> None:
        """Add an alignment; only the first ones are drawn, and listed."""
        known = np.zeros(0) if confidence is None else confidence[~np.isnan(confidence)]
        self._n, self._n_sequences = self._n + 1, self._n_sequences + len(names)
        self._n_columns += len(rows[0])
        self._sum, self._n_known = self._sum + known.sum(), self._n_known + known.size
        if self._n > _MOST_ROWS:
            return
        members = _members(rows, confidence)
        mean = _share(known.mean() if known.size else np.nan)
        lengths = [f"{n:,}" for n, _, _ in members] if self._are_pairs else [f"{len(names):,}"]
        matched, same = (sum(each[1][k] for each in members) for k in (1, 0))
        shares = [_percent(same, matched), mean]
        who = [shortened(name, _LONGEST_NAME) for name in (names if self._are_pairs else [title])]
        self._rows.append([*who, *lengths, f"{len(rows[0]):,}", *shares])
        if self._n <= _MOST_DRAWN:
            blocks = list(_drawn(names, rows, confidence, _OF_PAIRS if self._are_pairs else _OF_FAMILIES))
            if family is not None:
                blocks += _of_family(names, members, known, family)
            if self._are_pairs:
                told = [f"identity {shares[0]}" * bool(shares[0]), f"confidence {mean}" * bool(mean)]
                title = ", ".join(filter(None, [title, *told]))
            self._drawn.append(Section(title, blocks))

    def headline(self) -> str:
        told = f"{self._n:,} families of {plural(self._n_sequences, 'sequence')} aligned"
        if self._n == 1:
            told = f"{plural(self._n_sequences, 'sequence')} aligned in {plural(self._n_columns, 'column')}"
        elif self._are_pairs:
            told = f"{plural(self._n, 'pair')} of sequences aligned"
        if self._n_known:
            told += f", mean column confidence {self._sum / self._n_known:.2f}"
        return told

    def sections(self) -> Iterator[Section]:
        if self._n > 1 or self._are_pairs:
            yield self._listed("pairs" if self._are_pairs else "families")
        if self._are_pairs:
            folds = [Fold(each.title, each.blocks, is_open=not k) for k, each in enumerate(self._drawn)]
            yield Section("Alignments", folds)
        else:
            yield from self._drawn

    def _listed(self, unit: str) -> Section:
        """The table of all alignments."""
        texts = ["first", "second"] if self._are_pairs else ["family"]
        numbers = ["residues (first)", "residues (second)"] if self._are_pairs else ["sequences"]
        numbers += ["columns", "identity", "confidence"]
        blocks: list[Block] = [Text(_IDENTITY), *first_rows(len(self._rows), self._n, unit)]
        if self._n > _MOST_DRAWN:
            blocks.append(Text(f"The first {_MOST_DRAWN} of {self._n:,} {unit} are drawn below."))
        return Section(unit.title(), [*blocks, make_table("", texts, numbers, self._rows, _MOST_ROWS)])


Member = tuple[int, tuple[float, float], float]  # residues; identical and matched ones; mean confidence


def _members(rows: Sequence[str], confidence: FloatArray | None) -> list[Member]:
    """The numbers of each row, compared with all others."""
    text = "".join(rows).upper().encode("ascii", "replace")
    cells = np.frombuffer(text, np.uint8).reshape(len(rows), -1 if text else 0)
    inside, same = (cells != _GAP).astype(np.float64), np.zeros(len(rows))
    for letter in set(text) - {_GAP}:
        is_letter = (cells == letter).astype(np.float64)
        same += is_letter @ (is_letter.sum(axis=0) - 1)
    matched = inside @ np.maximum(inside.sum(axis=0) - 1, 0)
    known = np.zeros(cells.shape[1], bool) if confidence is None else ~np.isnan(confidence)
    sums = inside @ (np.where(known, confidence, 0.0) if confidence is not None else known)
    with np.errstate(invalid="ignore"):
        means = sums / (inside @ known)
    lengths = inside.sum(axis=1).astype(np.int64).tolist()
    return list(zip(lengths, zip(same.tolist(), matched.tolist(), strict=True), means.tolist(), strict=True))


def _drawn(
    names: Sequence[str], rows: Sequence[str], confidence: FloatArray | None, told: str
) -> Iterator[Block]:
    """Rows, colored by the confidence of columns if it is known."""
    n_columns = len(rows[0])
    if confidence is not None:
        yield Text(told)
        yield Columns(["confidence"], ["0123456789"], [(1, _colour(k)) for k in range(_STEPS)])
    if len(names) > _MOST_NAMES or n_columns > _MOST_COLUMNS:
        yield Text(
            f"The first {min(len(names), _MOST_NAMES):,} of {len(names):,} sequences and "
            f"{min(n_columns, _MOST_COLUMNS):,} of {n_columns:,} columns."
        )
    # digits, as in Stockholm files
    values = np.zeros(n_columns) if confidence is None else np.nan_to_num(confidence)
    steps = np.minimum(np.floor(_STEPS * values), _STEPS - 1.0)
    short = [shortened(name, _LONGEST_NAME) for name in names[:_MOST_NAMES]]
    for first in range(0, min(n_columns, _MOST_COLUMNS), _WIDTH):
        part = slice(first, first + _WIDTH)
        runs = [(len(list(run)), _colour(k)) for k, run in groupby(steps[part].tolist())]
        yield Columns(short, [row[part] for row in rows[:_MOST_NAMES]], runs)


def _of_family(
    names: Sequence[str], members: Sequence[Member], known: FloatArray, found: MultipleAlignment
) -> Iterator[Block]:
    """Numbers of a family and of its members, the confidences of its columns, and its guide tree."""
    numbers = [
        ("columns of confidence 0.9 or more", f"{(known >= 0.9).sum():,}"),
        ("columns of confidence 0.5 to 0.9", f"{((known >= 0.5) & (known < 0.9)).sum():,}"),
        ("columns of confidence below 0.5", f"{(known < 0.5).sum():,}"),
        ("columns without a confidence", f"{found.confidence.size - known.size:,}"),
        ("sum of the consistent match probabilities", f"{found.value:,.1f}"),
    ]
    yield make_table("", [""], [""], numbers, len(numbers))
    if known.size:
        yield histogram(known, "confidence", "columns", "Number of columns by confidence.")
    listed = [
        (shortened(name, _LONGEST_NAME), f"{n:,}", _percent(same, matched), _share(mean))
        for name, (n, (same, matched), mean) in zip(names, members, strict=True)
    ]
    table = make_table("", ["sequence"], ["residues", "identity", "confidence"], listed, _MOST_ROWS)
    told = f"{_IDENTITY} The confidence of a sequence is the mean confidence of the columns of its residues."
    yield Fold("Sequences", [Text(told), table], is_open=True)
    if len(found) > 1:
        tree = picture(partial(plot_guide_tree, found, names), "the guide tree")
        yield Fold("Guide tree", [tree], is_open=True)


def _percent(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _share(value: Any) -> str:
    return "" if np.isnan(value) else f"{value:.2f}"


def _colour(step: float) -> str:
    share = step / (_STEPS - 1)
    return "#" + "".join(f"{round(c):02x}" for c in (1.0 - share) * _LOW + share * _HIGH)
