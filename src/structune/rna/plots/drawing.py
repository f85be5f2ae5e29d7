"""Drawings of secondary structures of RNA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structune.errors import DataError
from structune.plots.dots import PROBABILITY_MAP
from structune.plots.figure import CONTRAST, FloatArray, Path, finish, new_figure, printable
from structune.rna.formats.dot_bracket import largest_nested
from structune.rna.formats.strands import STRANDS, bases_of
from structune.rna.plots.backbone import Backbone
from structune.rna.plots.checked import Structure, checked_partners, checked_probabilities
from structune.rna.plots.labels import Label, place_labels
from structune.rna.plots.layout import IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = {"A": "#8cc7ee", "C": "#f5dc7a", "G": "#5fbf9f", "U": "#dd92b8", "other": "#d0d0d0"}
_DISC = 0.8  # diameters and sizes are in lengths of the backbone
_LETTER = 0.58
_MOST_INCHES = (13.0, 10.0)
_MOST_UNIT = 0.3  # inches for a length of the backbone
_LEAST_LETTER = 4.0  # points
_LEAST_NUMBER = 5.0
_ROOM = 2.5


def plot_structure(
    sequence: str,
    structure: Structure,
    probabilities: Any = None,
    title: str | None = None,
    path: Path = None,
    circular: bool = False,
) -> Figure:
    """Draw a secondary structure: letters on a backbone, pairs, all ends, every tenth base numbered.

    Pairs that cross others (pseudoknots) are dashed lines, and do not move bases. Letters are left out of
    structures too large to read them.

    Parameters
    ----------
    sequence : str
        Two strands have ``&`` between them; their bases are counted through.
    structure : str or array-like of int, shape (n_bases,)
        In dot-bracket notation, or the partner of each base, from 0, -1 for none.
    probabilities : array-like, shape (n_bases, n_bases) or (n_bases,), optional
        Of each pair, as a symmetric matrix, perhaps sparse, or its upper triangle; or of each base to be as
        drawn. It colours the bases, which otherwise have the colours of their letters.
    title : str, optional
    path : path, optional
        Where to save the figure; the ending tells the format.
    circular : bool
        Whether the last base is followed by the first.

    Returns
    -------
    matplotlib.figure.Figure
        For pyplot to show, if there is no path.

    Raises
    ------
    StructuneError
        matplotlib is not installed, the structure is malformed, or lengths differ.
    """
    letters, found = bases_of(sequence).upper(), checked_partners(sequence, structure)
    backbone = Backbone(found.size, sequence.find(STRANDS), circular)
    if circular and backbone.nick >= 0:
        raise DataError("found two strands and circular=True, expected one of them")
    certainty = None if probabilities is None else _as_drawn(probabilities, found)
    nested = largest_nested(found)
    xy, side = _turned(backbone.layout(nested), nested)
    size = np.ptp(xy, axis=0) + 2 * _ROOM
    unit = float(min(_MOST_UNIT, *(np.array(_MOST_INCHES) / size)))
    extra = np.array([0.0 if certainty is None else 1.0, 0.5])
    figure = new_figure(path, *np.maximum(unit * size + extra, (3.0, 2.0)))
    axes = figure.subplots()
    _frame(axes, xy)
    _draw_lines(axes, xy, backbone.segments, found, nested, 72 * unit)
    colors = _draw_bases(axes, letters, xy, certainty)
    readable = 72 * unit * _LETTER >= _LEAST_LETTER
    if readable:
        _draw_letters(axes, letters, xy, colors)
    elif certainty is None:
        _key(figure, letters)
    font = max(_LEAST_NUMBER, 72 * unit * 0.5)
    step = 10 if readable else 50 if found.size <= 1500 else 100
    for label in place_labels(xy, found, backbone, side, step, font / (72 * unit)):
        _write(axes, label, font)
    if title is not None:
        figure.suptitle(printable(title), x=0.01, ha="left", fontsize=10, parse_math=False)
    return finish(figure, path)


def _as_drawn(probabilities: Any, found: IntArray) -> FloatArray:
    """The probability of each base to have the partner that it has, or none."""
    given = checked_probabilities(probabilities, found.size)
    if given.ndim == 1:
        return given
    paired = given[np.arange(found.size), found]
    return np.where(found >= 0, paired, np.clip(1 - given.sum(axis=1), 0, 1))


def _turned(xy: FloatArray, nested: IntArray) -> tuple[FloatArray, int]:
    """Coordinates turned to how such structures are drawn, and on which side of the way from 5' to 3' is out.

    Long ones lie; a clover leaf hangs on its stem; others stand. Out is left (1), or right (-1) in a mirror.
    """
    width, height = np.ptp(xy, axis=0)
    if height > max(1.5 * width, 25):
        return np.column_stack([xy[:, 1], -xy[:, 0]]), 1
    starts = np.flatnonzero(nested > np.arange(nested.size))
    if starts.size and _branches(nested, int(starts[0])) and nested[starts[0]] > starts[-1]:
        return xy * [1, -1], -1
    return xy, 1


def _branches(nested: IntArray, i: int) -> bool:
    """Whether the pair of i closes more than one hairpin."""
    inside = nested[i : nested[i] + 1]
    signs = np.sign((inside - np.arange(i, nested[i] + 1))[inside >= 0])
    return int(np.count_nonzero(np.diff(signs) < 0)) > 1


def _frame(axes: Axes, xy: FloatArray) -> None:
    low, high = xy.min(axis=0) - _ROOM, xy.max(axis=0) + _ROOM
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.axis("off")


def _draw_lines(
    axes: Axes, xy: FloatArray, segments: IntArray, found: IntArray, nested: IntArray, points: float
) -> None:
    """Backbone and pairs; `points` are those of a length of the backbone."""
    from matplotlib.collections import LineCollection

    lines: Any = xy[segments]
    axes.add_collection(LineCollection(lines, colors="0.6", linewidths=0.08 * points, zorder=2))
    i = np.flatnonzero(nested > np.arange(nested.size))
    rungs: Any = np.stack([xy[i], xy[nested[i]]], axis=1)
    axes.add_collection(LineCollection(rungs, colors="0.25", linewidths=0.09 * points, zorder=2))
    knots = np.flatnonzero((found > np.arange(found.size)) & (nested < 0))
    crossing: Any = np.stack([xy[knots], xy[found[knots]]], axis=1)
    dashes: dict[str, Any] = {"linestyles": (0, (3, 2)), "linewidths": max(0.06 * points, 0.5)}
    axes.add_collection(LineCollection(crossing, colors=CONTRAST, zorder=1, **dashes))


def _draw_bases(axes: Axes, letters: str, xy: FloatArray, certainty: FloatArray | None) -> FloatArray:
    """Draw discs, and return their colours, shape (n_bases, 4)."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import EllipseCollection
    from matplotlib.colors import Normalize, to_rgba_array

    if certainty is None:
        colors = to_rgba_array([COLORS[_kind(letter)] for letter in letters])
    else:
        shades = ScalarMappable(Normalize(0, 1), colormaps[PROBABILITY_MAP])
        colors = shades.to_rgba(certainty)
        label = "probability of being as drawn"
        axes.figure.colorbar(shades, ax=axes, shrink=0.6, aspect=25, label=label)
    sizes = np.full(len(xy), _DISC)
    place: dict[str, Any] = {"units": "xy", "offsets": xy, "offset_transform": axes.transData}
    edge: dict[str, Any] = {"edgecolors": "0.35", "linewidths": 0.4}
    axes.add_collection(
        EllipseCollection(sizes, sizes, sizes * 0, facecolors=colors, zorder=3, **edge, **place)
    )
    return np.asarray(colors)


def _kind(letter: str) -> str:
    letter = "U" if letter == "T" else letter
    return letter if letter in COLORS else "other"


def _draw_letters(axes: Axes, letters: str, xy: FloatArray, colors: FloatArray) -> None:
    """Draw letters as shapes, so that they keep their proportion to the discs at any size of the figure."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Shape

    light = colors[:, :3] @ [0.299, 0.587, 0.114] > 0.45
    names = np.array(list(letters))
    for letter in sorted(set(letters)):
        for chosen, color in (((names == letter) & light, "0.1"), ((names == letter) & ~light, "white")):
            if chosen.any():
                shape = _letter_shape(letter)
                vertices = (xy[chosen][:, None] + shape.vertices).reshape(-1, 2)
                codes = np.tile(shape.codes, int(chosen.sum()))
                axes.add_patch(PathPatch(Shape(vertices, codes), facecolor=color, linewidth=0, zorder=4))


def _letter_shape(letter: str) -> Any:
    """The outline of a letter around the origin."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.path import Path as Shape
    from matplotlib.textpath import TextPath

    outline = TextPath((0, 0), letter, size=_LETTER, prop=FontProperties(weight="bold"), usetex=False)
    middle = (outline.vertices.min(axis=0) + outline.vertices.max(axis=0)) / 2
    return Shape(outline.vertices - middle, outline.codes)


def _key(figure: Figure, letters: str) -> None:
    """Which colour is which base, where there are no letters."""
    from matplotlib.lines import Line2D

    kinds = [kind for kind in COLORS if kind in set(map(_kind, letters))]
    dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markeredgecolor": "0.35", "markersize": 6}
    handles = [Line2D([], [], color=COLORS[kind], label=kind, **dots) for kind in kinds]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(kinds), frameon=False, fontsize=9)


def _write(axes: Axes, label: Label, font: float) -> None:
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": font, "zorder": 5}
    axes.text(
        label.at[0],
        label.at[1],
        label.text,
        color="0.25",
        fontweight="bold" if label.is_end else None,
        **style,
    )
    if not label.is_end:
        axes.plot(*np.array([label.start, label.stop]).T, color="0.5", linewidth=0.6, zorder=2)
