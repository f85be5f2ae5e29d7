"""Plots of genes along a sequence: an annotation and predictions below each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from structune.errors import DataError
from structune.genes.formats.record import Transcript, by_position
from structune.plots.figure import ACCENT, CONTRAST, LABEL_SIZE, Path, finish, new_figure, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 7.0  # inches
_ROW = 0.3  # inches of a row of genes
_FRAME = 1.0  # inches of the axis and the title
_NAME = 0.5  # rows above a track, for its name
_BOX, _TIP = 0.5, 0.06  # height of an exon in rows; length of its tip in inches
_LETTER = 0.062  # inches of a letter of a gene's name
_EXON, _INTRON = "exon", "intron"
Rows = list[list[Transcript]]
Part = tuple[str, str, int, int]


def plot_genes(
    tracks: Mapping[str, Iterable[Transcript]],
    start: int,
    end: int,
    title: str | None = None,
    path: Path = None,
) -> Figure:
    """Plot tracks of genes: boxes are coding parts, lines are introns, arrow tips show the strand.

    Coding parts and introns that differ between the tracks have another color. Genes outside of [start, end)
    are not shown.

    Parameters
    ----------
    tracks : mapping of str to iterables of Transcript
        Genes of one sequence by track, such as ``{"annotated": ..., "predicted": ...}``.
    start, end : int
        Interval to show, 0-based and half-open. The axis counts from 1.
    title : str, optional
        Title of the figure.
    path : path, optional
        File to save the figure to; the file name extension gives the format.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. Without a path, pyplot can show it.

    Raises
    ------
    StructuneError
        matplotlib is not installed, there are no tracks, or the interval is empty.
    """
    if not tracks or not 0 <= start < end:
        raise DataError(f"give at least one track and start < end, not {len(tracks)} and {start} to {end}")
    inside = {name: [t for t in of if t.end > start and t.start < end] for name, of in tracks.items()}
    shared = set.intersection(*({part for t in of for part in _parts(t)} for of in inside.values()))
    rows = {name: _rows(of, 0.02 * (end - start)) for name, of in inside.items()}
    n_rows = sum(_NAME + max(len(of), 1) for of in rows.values())
    figure = new_figure(path, _WIDTH, _FRAME + _ROW * n_rows)  # first: it tells if matplotlib is missing
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axes = figure.subplots()
    unit = (end - start) / _WIDTH  # bases an inch
    top = 0.0
    for name, of in rows.items():
        axes.text(0, top + _NAME, printable(name), fontsize=LABEL_SIZE, fontweight="bold", va="center")
        axes.texts[-1].set(transform=axes.get_yaxis_transform(), parse_math=False)
        for k, row in enumerate(of):
            for t in row:
                _draw(axes, t, top + _NAME + 0.6 + k, shared, unit)
        top += _NAME + max(len(of), 1)
    axes.set(xlim=(start + 0.5, end + 0.5), ylim=(top + 0.4, 0), yticks=[], xlabel="position")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.grid(axis="x", alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    if title is not None:
        axes.set_title(printable(title), loc="left", fontsize=10, parse_math=False)
    return finish(figure, path)


def _parts(t: Transcript) -> list[Part]:
    """Coding parts and introns, as they are compared."""
    parts = ((_EXON, t.exons), (_INTRON, t.introns))
    return [(part, t.strand, a, b) for part, of in parts for a, b in of]


def _rows(transcripts: Sequence[Transcript], gap: float) -> Rows:
    """As few rows as it takes for no two to overlap."""
    rows: Rows = []
    for t in by_position(transcripts):
        # the first row that is free: by start, this takes as few as overlap at one place
        row = next((row for row in rows if row[-1].end + gap <= t.start), None)
        if row is None:
            rows.append(row := [])
        row.append(t)
    return rows


def _draw(axes: Axes, t: Transcript, y: float, shared: set[Part], unit: float) -> None:
    """Draw a transcript at a height, its `shared` parts in another color."""
    from matplotlib.collections import PolyCollection

    last = t.exons[-1] if t.strand == "+" else t.exons[0]
    for part in _parts(t):
        shape, _, start, end = part
        color = ACCENT if part in shared else CONTRAST
        a, b, half = start + 0.5, end + 0.5, _BOX / 2
        if shape == _INTRON:
            axes.plot([a, b], [y, y], color=color, linewidth=0.9, zorder=1)
            continue
        tip = min(unit * _TIP, b - a) if (start, end) == last else 0.0
        if t.strand == "-":
            a, b, tip = b, a, -tip
        box: Any = [(a, y - half), (b - tip, y - half), (b, y), (b - tip, y + half), (a, y + half)]
        axes.add_collection(PolyCollection([box], facecolors=color, linewidths=0, zorder=2))
    if len(t.gene) * _LETTER * unit < t.end - t.start:
        place, name = ((t.start + t.end) / 2, y + 0.48), printable(t.gene)
        how: dict[str, Any] = {"ha": "center", "va": "center", "clip_on": True, "parse_math": False}
        axes.text(*place, name, fontsize=LABEL_SIZE - 2, color="0.35", **how)
