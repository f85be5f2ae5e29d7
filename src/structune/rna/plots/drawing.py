"""Drawings of secondary structures of RNA."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from structune.errors import DataError
from structune.plots.dots import PROBABILITY_MAP, within_unit
from structune.plots.figure import CONTRAST, FloatArray, Path, finish, new_figure, printable
from structune.rna.formats.brackets import (
    STRANDS,
    as_partners,
    bases_of,
    check_cut,
    check_strands,
    largest_nested,
)
from structune.rna.plots.layout import Backbone, IntArray
from structune.running.memory import require_memory

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
_FREE = 0.45  # radius kept free around a base
_TURNS = np.deg2rad([0, 25, -25, 50, -50, 75, -75, 100, -100])
_GAPS = (0.35, 0.9, 1.5)  # between a base and its label
_ASPECT = 0.64  # of a digit
Structure = str | ArrayLike


def checked_partners(sequence: str, structure: Structure) -> IntArray:
    """The partners of a structure of this sequence."""
    check_strands(sequence)
    found, n = as_partners(structure), len(bases_of(sequence))
    if found.size != n:
        raise DataError(f"found a structure of {found.size} bases, expected {n} as in the sequence")
    if isinstance(structure, str) and STRANDS in structure:
        check_cut(structure, n, sequence.find(STRANDS), "a structure")
    if not found.size:
        raise DataError("found an empty sequence, expected at least one base to draw")
    return found


def checked_probabilities(probabilities: Any, n: int) -> FloatArray:
    """Probabilities of pairs, symmetric, shape (n, n), sparse or not; or those of bases, shape (n,)."""
    given = probabilities
    if issparse(probabilities):
        require_memory(24.0 * n * n, f"the cells of a drawing of {n:,} bases", "a shorter sequence")
        given = given.toarray()
    given = np.asarray(given, dtype=np.float64)
    if given.shape not in ((n, n), (n,)):
        raise DataError(
            f"found probabilities of shape {given.shape}, expected {(n, n)}, one for each two bases"
        )
    checked = within_unit(given)
    return checked if given.ndim == 1 else np.maximum(checked, checked.T)


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
    certainty = None  # the probability of each base to have the partner that it has, or none
    if probabilities is not None:
        certainty = checked_probabilities(probabilities, found.size)
        if certainty.ndim == 2:
            paired = certainty[np.arange(found.size), found]
            certainty = np.where(found >= 0, paired, np.clip(1 - certainty.sum(axis=1), 0, 1))
    nested = largest_nested(found)
    xy, side = _turned(backbone.layout(nested), nested)
    # The length of the backbone in inches is as large as the page allows.
    size = np.ptp(xy, axis=0) + 2 * _ROOM
    unit = float(min(_MOST_UNIT, *(np.array(_MOST_INCHES) / size)))
    extra = np.array([0.0 if certainty is None else 1.0, 0.5])
    figure = new_figure(path, *np.maximum(unit * size + extra, (3.0, 2.0)))
    axes = figure.subplots()
    low, high = xy.min(axis=0) - _ROOM, xy.max(axis=0) + _ROOM
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.axis("off")
    from matplotlib.collections import LineCollection

    points = 72 * unit  # of a length of the backbone
    lines: Any = xy[backbone.segments]
    axes.add_collection(LineCollection(lines, colors="0.6", linewidths=0.08 * points, zorder=2))
    i = np.flatnonzero(nested > np.arange(nested.size))
    rungs: Any = np.stack([xy[i], xy[nested[i]]], axis=1)
    axes.add_collection(LineCollection(rungs, colors="0.25", linewidths=0.09 * points, zorder=2))
    knots = np.flatnonzero((found > np.arange(found.size)) & (nested < 0))
    crossing: Any = np.stack([xy[knots], xy[found[knots]]], axis=1)
    dashes: dict[str, Any] = {"linestyles": (0, (3, 2)), "linewidths": max(0.06 * points, 0.5)}
    axes.add_collection(LineCollection(crossing, colors=CONTRAST, zorder=1, **dashes))
    colors = _draw_bases(axes, letters, xy, certainty)
    readable = points * _LETTER >= _LEAST_LETTER
    if readable:
        _draw_letters(axes, letters, xy, colors)
    elif certainty is None:
        from matplotlib.lines import Line2D

        kinds = [kind for kind in COLORS if kind in set(map(_kind, letters))]
        dots: dict[str, Any] = {
            "linestyle": "none",
            "marker": "o",
            "markeredgecolor": "0.35",
            "markersize": 6,
        }
        key = [Line2D([], [], color=COLORS[kind], label=kind, **dots) for kind in kinds]
        figure.legend(handles=key, loc="outside lower center", ncols=len(kinds), frameon=False, fontsize=9)
    font = max(_LEAST_NUMBER, points * 0.5)
    step = 10 if readable else 50 if found.size <= 1500 else 100
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": font, "zorder": 5, "color": "0.25"}
    for label in _place_labels(xy, found, backbone, side, step, font / points):
        axes.text(label.at[0], label.at[1], label.text, fontweight="bold" if label.is_end else None, **style)
        if not label.is_end:
            axes.plot(*np.array([label.start, label.stop]).T, color="0.5", linewidth=0.6, zorder=2)
    if title is not None:
        figure.suptitle(printable(title), x=0.01, ha="left", fontsize=10, parse_math=False)
    return finish(figure, path)


def _turned(xy: FloatArray, nested: IntArray) -> tuple[FloatArray, int]:
    """Coordinates turned to how such structures are drawn, and on which side of the way from 5' to 3' is out.

    Long ones lie; a clover leaf hangs on its stem; others stand. Out is left (1), or right (-1) in a mirror.
    """
    width, height = np.ptp(xy, axis=0)
    if height > max(1.5 * width, 25):
        return np.column_stack([xy[:, 1], -xy[:, 0]]), 1
    starts = np.flatnonzero(nested > np.arange(nested.size))
    if starts.size and nested[starts[0]] > starts[-1]:  # one stem: does it close more than one hairpin?
        i = int(starts[0])
        inside = nested[i : nested[i] + 1]
        signs = np.sign((inside - np.arange(i, nested[i] + 1))[inside >= 0])
        if np.count_nonzero(np.diff(signs) < 0) > 1:
            return xy * [1, -1], -1
    return xy, 1


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
    from matplotlib.font_manager import FontProperties
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Shape
    from matplotlib.textpath import TextPath

    # Luma by the weights of ITU-R BT.601: letters are dark on light discs, and white on dark ones.
    light = colors[:, :3] @ [0.299, 0.587, 0.114] > 0.45
    names = np.array(list(letters))
    for letter in sorted(set(letters)):
        for chosen, color in (((names == letter) & light, "0.1"), ((names == letter) & ~light, "white")):
            if chosen.any():
                outline = TextPath((0, 0), letter, _LETTER, FontProperties(weight="bold"), usetex=False)
                middle = (outline.vertices.min(axis=0) + outline.vertices.max(axis=0)) / 2
                vertices = (xy[chosen][:, None] + (outline.vertices - middle)).reshape(-1, 2)
                codes = np.tile(outline.codes, int(chosen.sum()))
                axes.add_patch(PathPatch(Shape(vertices, codes), facecolor=color, linewidth=0, zorder=4))


class _Label(NamedTuple):
    """A text, its middle, and the line that joins it to its base."""

    text: str
    at: FloatArray
    start: FloatArray
    stop: FloatArray
    is_end: bool


def _place_labels(
    xy: FloatArray, partners: IntArray, backbone: Backbone, side: int, step: int, height: float
) -> Iterator[_Label]:
    """The labels of ends, 5' and 3', and numbers of every `step`-th base; those without room are left out.

    The outside is left (`side` is 1) or right (-1) of the way from 5' to 3'; `height` is that of a character.
    """
    if len(xy) == 1:
        along = np.array([[1.0, 0.0]])
    else:
        steps = np.gradient(xy, axis=0)
        lengths = np.hypot(*steps.T)[:, None]
        along = np.where(lengths > 1e-9, steps / np.maximum(lengths, 1e-9), [1.0, 0.0])
    out = side * np.column_stack([-along[:, 1], along[:, 0]])
    outwards = out * (len(xy) > 1)
    wanted = [(k, text, outwards[k] + way * along[k], True) for k, text, way in backbone.ends]
    wanted += [(k - 1, str(k), out[k - 1], False) for k in range(step, len(xy) + 1, step)]
    # What is taken: points on bases and lines, close enough together that no text fits between them.
    i = np.flatnonzero(partners > np.arange(partners.size))
    starts = np.vstack([xy[backbone.segments[:, 0]], xy[i]])
    stops = np.vstack([xy[backbone.segments[:, 1]], xy[partners[i]]])
    n = np.maximum(np.hypot(*(stops - starts).T), 1e-9) // 0.5 + 1
    line = np.repeat(np.arange(len(n)), n.astype(int))
    share = (np.arange(line.size) - np.repeat(np.cumsum(n) - n, n.astype(int))) / n[line]
    taken = np.vstack([xy, starts[line] + share[:, None] * (stops - starts)[line]])
    for base, text, direction, is_end in wanted:
        half = np.array([_ASPECT * height * len(text), height]) / 2
        if (place := _free_place(xy[base], half, direction, taken)) is not None:
            yield _Label(text, *place, is_end)
            x = np.linspace(-1, 1, 5)[:, None]  # points that stand for the box of the text
            taken = np.vstack([taken, place[0] + np.column_stack([x, 0 * x]) * np.maximum(half - 0.25, 0)])


def _free_place(
    base: FloatArray, half: FloatArray, direction: FloatArray, taken: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """The middle of a box, and the ends of its line: the first place near its base, to the outside, free."""
    reach = 2 * _FREE + max(_GAPS) + 2 * float(half.max()) + 1
    near = taken[np.all(np.abs(taken - base) < reach, axis=1)]
    others = near[np.hypot(*(near - base).T) > _FREE + 0.05]  # what the line of a label must not touch
    angle = np.arctan2(direction[1], direction[0])
    for gap, turn in product(_GAPS, _TURNS):
        way = np.array([np.cos(angle + turn), np.sin(angle + turn)])
        extent = float(np.min(half / np.maximum(np.abs(way), 1e-9)))  # of the box, that way
        at = base + way * (_FREE + gap + extent)
        start, stop = base + way * _FREE, at - way * (extent + 0.1)
        beside = np.maximum(np.abs(near - at) - half, 0)
        spots = start + np.linspace(0, 1, 5)[:, None] * (stop - start)
        is_free = not near.size or np.hypot(*beside.T).min() > _FREE
        if is_free and (not others.size or np.hypot(*(others[:, None] - spots).T).min() > _FREE):
            return at, start, stop
    return None
