"""The page of ``structune fold --report``: structures, drawn so that each base tells its partners."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structune.cli.reports import Report, Results
from structune.files.text import plural
from structune.html_reports.page import Block, Fold, Section, Text, Verbatim, Widget, first_rows, make_table
from structune.html_reports.pictures import picture
from structune.plots.figure import printable, shortened
from structune.rna.formats.brackets import as_partners, bases_of
from structune.rna.metrics import expected_accuracy, unpaired
from structune.rna.plots import Arrangement, arrange, disc_colors, plot_pair_probabilities
from structune.structure import FloatArray

if TYPE_CHECKING:
    from structune.rna.folded import Folded

_SCRIPT = Path(__file__).with_suffix(".js")
_MOST_DRAWN, _MOST_STRUCTURES, _MOST_ROWS = 20, 20, 300  # sequences, structures of each, rows of the table
_LONGEST_DRAWN, _MOST_BASES = 1500, 100_000  # bases: of a sequence, and about as many of all drawings
_LONGEST_NAME, _MOST_PARTNERS, _LEAST = 40, 4, 0.01
_UNIT, _ROOM, _WIDEST, _HIGHEST = 22, 1.2, 1000, 560  # pixels: the backbone, all; room around the bases
_DISC, _LABEL, _N_SHADES = 0.4, 0.55, 11
_MEANING = (
    "Expected PPV is the mean probability of the predicted pairs. Expected sensitivity is the sum of their "
    "probabilities divided by the expected number of pairs."
)
_HINT = "Point at a base, or use the arrow keys, to see its partners. Enter goes to the partner."


class FoldReport(Report):
    """Collects folded sequences for a page."""

    def __init__(self, model: str, circular: bool = False) -> None:
        self.results, self._circular = Results(model), circular
        self._rows, self._folds, self._kind = list[list[str]](), list[Fold](), ""
        self._n, self._n_structures, self._n_bases = 0, 0, 0  # of all, and of the drawings
        self._ppvs = 0.0, 0  # sum, and of how many sequences

    def add(self, folded: Folded) -> None:
        """Add a sequence; only the first ones are drawn, and listed."""
        record, pairs, self._kind = folded.record, folded.pairs, folded.kind
        n_structures, n = len(folded.structures), len(bases_of(record.sequence))
        self._n, self._n_structures = self._n + 1, self._n_structures + n_structures
        first = folded.structures[0]
        n_pairs = int(np.count_nonzero(as_partners(first) >= 0)) // 2
        cells = [f"{n_structures:,}"] * bool(self._kind)
        title = f"{shortened(record.name, _LONGEST_NAME)}: {plural(n, 'base')}"
        if self._kind == "sample":
            cells.append("" if pairs is None else f"{pairs.sum() / 2:.1f}")
        else:
            ppv, sensitivity = "", ""
            if pairs is not None and n_pairs:
                x, y, _ = expected_accuracy(first, pairs)
                ppv, sensitivity = f"{x:.3f}", f"{y:.3f}"
                self._ppvs = self._ppvs[0] + x, self._ppvs[1] + 1
                title += f", expected PPV {ppv}"
            p = [] if folded.probabilities is None else [f"{folded.probabilities[0]:.3g}"]
            cells += [f"{n_pairs:,}", ppv, sensitivity, *p]
        if self._n <= _MOST_ROWS:
            self._rows.append([shortened(record.name, _LONGEST_NAME), f"{n:,}", *cells])
        if len(self._folds) < _MOST_DRAWN and 0 < n <= _LONGEST_DRAWN:
            self._folds.append(Fold(title, list(self._drawn(folded, n)), is_open=not self._folds))

    def headline(self) -> str:
        told = f"{plural(self._n, 'sequence')} folded"
        if self._kind:
            told += f", {plural(self._n_structures, 'structure')}" + " sampled" * (self._kind == "sample")
        total, n = self._ppvs
        if n:
            which = " of the most probable structures" if self._kind and self._n_structures > self._n else ""
            told += f", {'mean ' * (n > 1)}expected PPV{which} {total / n:.2f}"
        return told

    def sections(self) -> Iterator[Section]:
        yield self._listed()
        if self._folds:
            yield Section("Structures", [*self._explained(), *self._folds])

    def _listed(self) -> Section:
        """The table of all sequences."""
        numbers, told = ["bases", *["structures"] * bool(self._kind)], list[Block]()
        if self._kind == "sample":
            numbers.append("expected pairs")
        else:
            numbers += ["pairs", "expected PPV", "expected sensitivity", *["probability"] * bool(self._kind)]
            told.append(Text(_MEANING))
        if self._kind == "rank":
            told.append(Text("The numbers are those of the most probable structure of each sequence."))
        told += first_rows(len(self._rows), self._n, "sequences")
        return Section("Sequences", [*told, make_table("", ["sequence"], numbers, self._rows, _MOST_ROWS)])

    def _explained(self) -> Iterator[Block]:
        if (n := len(self._folds)) < self._n:
            drawn = f"the first {n:,} of {self._n:,} sequences" if n > 1 else f"one of {self._n:,} sequences"
            yield Text(f"Drawings of {drawn}, without those of more than {_LONGEST_DRAWN:,} bases.")

    def _drawn(self, folded: Folded, n: int) -> Iterator[Block]:
        """Structures to explore, a dot plot, and the text."""
        record, pairs = folded.record, folded.pairs
        # each sequence may take half of what is left of the page
        most = min(_MOST_STRUCTURES, max(1, (_MOST_BASES - self._n_bases) // (2 * n)))
        chosen = list(islice(folded.choices(), most))
        self._n_bases += len(chosen) * n
        if folded.dimer is not None:
            yield Text(f"The probability that a pair joins the two strands is {folded.dimer:.3g}.")
        if len(chosen) < len(folded.structures):
            yield Text(f"The first {len(chosen):,} of {len(folded.structures):,} structures.")
        drawings, dense = [], pairs if pairs is None or isinstance(pairs, np.ndarray) else pairs.toarray()
        for structure, k, p, _ in chosen:
            caption = f"{folded.kind.title()} {k}" + ("" if p is None else f", probability {p:.3g}")
            arranged = arrange(record.sequence, structure, dense, self._circular)
            drawings.append(_Drawing(arranged, caption if folded.kind else ""))
        yield Widget(_markup(printable(record.name), drawings, dense), _SCRIPT.read_text(encoding="utf-8"))
        if dense is not None:
            dots = partial(plot_pair_probabilities, record.sequence, dense, folded.structures[0])
            which = "first structure" if folded.kind else "structure"
            told = f"Pair probabilities above the diagonal, pairs of the {which} below it."
            yield picture(dots, f"dot plot of {printable(record.name)}", told)
        text = "\n".join([record.sequence, *(structure for structure, *_ in chosen)])
        yield Fold("Dot-bracket", [Verbatim(text)], is_open=len(chosen) == 1)


# --- drawings -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Drawing:
    arranged: Arrangement
    caption: str


def _markup(name: str, drawings: list[_Drawing], pairs: FloatArray | None) -> str:
    """Drawings of a sequence, of which the first is shown, and what the script needs; see fold_report.js."""
    likely = "" if pairs is None else f' data-likely="{_json(_likely(pairs))}"'
    buttons = "".join(
        f'<button type="button" data-choice aria-pressed="{str(not k).lower()}"'
        f' title="{escape(drawing.caption)}">{k + 1}</button>'
        for k, drawing in enumerate(drawings)
    )
    group = f'<span role="group" aria-label="Structure">{buttons}</span>' if len(drawings) > 1 else ""
    zoom = "".join(
        f'<button type="button" data-zoom="{factor}" aria-label="{told}">{sign}</button>'
        for factor, told, sign in ((1 / 1.5, "Zoom out", "&minus;"), (1.5, "Zoom in", "+"))
    )
    boxes = "".join(
        f'<div class="drawing" data-partners="{_json(drawing.arranged.partners.tolist())}"'
        f'{" hidden" * bool(k)}><div class="scroll">{_svg(name, drawing)}</div>'
        f"{f'<p>{escape(drawing.caption)}</p>' * bool(drawing.caption)}</div>"
        for k, drawing in enumerate(drawings)
    )
    return (
        f'<div class="rna" data-letters="{escape(drawings[0].arranged.letters)}"{likely}>'
        f'<div class="tools" hidden>{group}<span role="group" aria-label="Zoom">{zoom}</span></div>'
        f'{boxes}<p class="told tools" aria-live="polite" hidden>{_HINT}</p>{_scale() * bool(likely)}</div>'
    )


def _svg(name: str, drawing: _Drawing) -> str:
    """A drawing in pixels, y downward; circles are the bases in their order."""
    arranged = drawing.arranged
    labels = list(arranged.labels(10, _LABEL))
    points = np.vstack([arranged.xy, *(at for _, at, _ in labels)]) * [1, -1] * _UNIT
    low = points.min(axis=0) - _ROOM * _UNIT
    width, height = (np.ptp(points, axis=0) + 2 * _ROOM * _UNIT).tolist()

    def pixels(at: Any) -> Any:
        return np.rint(at * np.array([1, -1]) * _UNIT - low).astype(np.int64)

    def lines(kind: str, starts: Any, stops: Any) -> str:
        ends = np.hstack([pixels(starts), pixels(stops)]).reshape(-1, 4).tolist()
        return f'<path class="{kind}" d="{"".join(f"M{a} {b}L{c} {d}" for a, b, c, d in ends)}"/>'

    xy, (colors, is_dark) = arranged.xy, disc_colors(arranged.letters, arranged.certainty)
    parts = [lines(k, xy[a], xy[b]) for k, (a, b) in zip(_LINES, arranged.joins, strict=True)]
    parts += [lines("backbone", *line[:, None]) for *_, line in labels if line is not None]
    radius = round(_DISC * _UNIT)
    parts += [
        f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{_hex(color)}"/>'
        for (x, y), color in zip(pixels(xy).tolist(), colors, strict=True)
    ]
    for kind, where in (("light", ~is_dark), ("dark", is_dark)):
        texts = zip(pixels(xy[where]).tolist(), np.array(list(arranged.letters))[where].tolist(), strict=True)
        parts.append(_texts(f"letters {kind}", texts))
    parts.append(_texts("labels", ((pixels(at).tolist(), text) for text, at, _ in labels)))
    told = escape(f"Structure of {name}" + f", {drawing.caption}" * bool(drawing.caption))
    wide = round(width * min(1.0, _WIDEST / width, _HIGHEST / height))
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" style="--width:{wide}px" tabindex="0" '
        f'role="application" aria-label="{told}">{"".join(parts)}</svg>'
    )


_LINES = ("backbone", "pairs", "knots")


def _texts(kind: str, texts: Iterable[tuple[list[int], str]]) -> str:
    inside = "".join(f'<text x="{x}" y="{y}">{escape(text)}</text>' for (x, y), text in texts)
    return f'<g class="{kind}">{inside}</g>'


def _scale() -> str:
    """What the colors of the bases mean."""
    colors, _ = disc_colors("", np.linspace(0, 1, _N_SHADES))
    boxes = "".join(
        f'<rect x="{16 * k}" width="16" height="14" fill="{_hex(c)}"/>' for k, c in enumerate(colors)
    )
    size = f'width="{16 * _N_SHADES}" height="14"'
    scale = f'<svg {size} aria-hidden="true">{boxes}</svg>'
    return f'<p class="scale">Probability of being as drawn: 0 {scale} 1</p>'


def _hex(color: FloatArray) -> str:
    return "#" + "".join(f"{round(255 * float(c)):02x}" for c in color[:3])


def _likely(pairs: FloatArray) -> Iterator[list[tuple[int, float]]]:
    """The most probable partners of each base, from 0, and their probabilities; -1 is none."""
    table = np.column_stack([unpaired(pairs), np.maximum(pairs, pairs.T)])
    best = np.argsort(-table, axis=1, kind="stable")[:, :_MOST_PARTNERS]
    for row, columns in zip(table, best.tolist(), strict=True):
        # the best in any case: where all are improbable, it tells that
        yield [(j - 1, round(float(row[j]), 3)) for j in columns if row[j] >= _LEAST or j == columns[0]]


def _json(value: Any) -> str:
    plain = list(value) if isinstance(value, Iterator) else value
    return escape(json.dumps(plain, separators=(",", ":")))
