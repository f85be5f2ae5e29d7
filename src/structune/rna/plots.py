"""Plots of RNA secondary structures, pair probabilities, and sensitivity and PPV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structune.errors import DataError
from structune.plots.dots import ON_TOP, PROBABILITY_MAP, DotPlot, within_unit
from structune.plots.figure import (
    COLORS,
    CONTRAST,
    MARKERS,
    FloatArray,
    Path,
    check_number,
    finish,
    new_figure,
    printable,
    put_legend,
    tidy,
)
from structune.rna.formats import brackets
from structune.rna.metrics import Structure, along_ppv, roc_area
from structune.running.memory import require_memory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ComplexArray = NDArray[np.complex128]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
PAIR_LENGTH = 1.6
_MARGIN = 0.8  # between the parts of different branches
_LOW = 0.6  # what is lower than this above a loop needs room between the bases of the loop
_STEM_MARGIN = 2.0  # between a branch and the stem of its loop, which has bulges further down
_LEAST_TURN = 0.9  # radians between a stem and a branch, so that what is long does not point back along it
_MOST_BEND = 6  # a loop of two helices bends if its sides differ by more
_WIDEST = 6.0  # circles grow by this factor, no more
_BETWEEN = 2  # bases that two strands are apart
_LONG = 60.0  # length of an exterior loop that is drawn as a circle, unless what hangs on it is as large
_LETTER_COLORS = {"A": "#8cc7ee", "C": "#f5dc7a", "G": "#5fbf9f", "U": "#dd92b8", "other": "#d0d0d0"}
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


def _checked_partners(sequence: str, structure: Structure) -> IntArray:
    brackets.check_strands(sequence)
    found, n = brackets.as_partners(structure), len(brackets.bases_of(sequence))
    if found.size != n:
        raise DataError(f"the structure has {found.size:,} bases, but the sequence has {n:,}")
    if isinstance(structure, str) and brackets.STRANDS in structure:
        brackets.check_cut(structure, n, sequence.find(brackets.STRANDS), "a structure")
    if not found.size:
        raise DataError("an empty sequence cannot be drawn")
    return found


def _checked_probabilities(probabilities: Any, n: int) -> FloatArray:
    """Probabilities of pairs, symmetric, shape (n, n), sparse or not; or those of bases, shape (n,)."""
    if hasattr(probabilities, "toarray"):  # sparse
        require_memory(24.0 * n * n, f"the cells of a drawing of {n:,} bases", "a shorter sequence")
        probabilities = probabilities.toarray()
    given = np.asarray(probabilities, dtype=np.float64)
    if given.shape not in ((n, n), (n,)):
        expected = f"expected {(n, n)}, one for each pair of bases"
        raise DataError(f"probabilities have shape {given.shape}, {expected}")
    checked = within_unit(given)
    return checked if given.ndim == 1 else np.maximum(checked, checked.T)


class Arrangement(NamedTuple):
    """Where the parts of a drawing are, in lengths of the backbone."""

    letters: str
    partners: IntArray
    certainty: FloatArray | None  # the probability of each base to have the partner that it has, or none
    xy: FloatArray
    joins: list[tuple[IntArray, IntArray]]  # what lines join: the backbone, pairs, and pairs that cross those
    ends: list[tuple[int, str, int]]  # of strands
    side: int  # where the outside is

    def labels(self, step: int, height: float) -> Iterator[tuple[str, FloatArray, FloatArray | None]]:
        """The labels of ends and of every `step`-th base, see `_place_labels`."""
        return _place_labels(self.xy, np.hstack(self.joins), self.ends, self.side, step, height)


def arrange(
    sequence: str, structure: Structure, probabilities: Any = None, circular: bool = False
) -> Arrangement:
    """Arrange the parts of a drawing; arguments are those of `plot_structure`."""
    letters, found = brackets.bases_of(sequence).upper(), _checked_partners(sequence, structure)
    n, nick = found.size, sequence.find(brackets.STRANDS)
    if circular and nick >= 0:
        raise DataError("two strands cannot be combined with circular=True")
    certainty = None
    if probabilities is not None:
        certainty = _checked_probabilities(probabilities, n)
        if certainty.ndim == 2:
            paired = certainty[np.arange(n), found]
            certainty = np.where(found >= 0, paired, np.clip(1 - certainty.sum(axis=1), 0, 1))
    nested = brackets.largest_nested(found)
    xy, side = _turned(layout(nested, circular, nick), nested)
    bases = np.arange(n)
    first = bases[(bases != nick - 1) & (circular | (bases < n - 1))]
    i, knots = np.flatnonzero(nested > bases), np.flatnonzero((found > bases) & (nested < 0))
    joins = [(first, (first + 1) % n), (i, nested[i]), (knots, found[knots])]
    strands = [(0, n - 1)] if nick < 0 else [(0, nick - 1), (nick, n - 1)]
    ends = [end for a, b in strands for end in ((a, "5'", -1), (b, "3'", 1))]
    if circular:  # a circle has none; its first base is where it begins
        ends = [(0, "1", -1)]
    return Arrangement(letters, found, certainty, xy, joins, ends, side)


def disc_colors(letters: str, certainty: FloatArray | None) -> tuple[FloatArray, BoolArray]:
    """The colors of bases, shape (n, 4), by probability or else by letter; and which of them are dark."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba_array

    if certainty is None:
        colors: FloatArray = to_rgba_array([_LETTER_COLORS[_letter_kind(letter)] for letter in letters])
    else:
        colors = np.asarray(colormaps[PROBABILITY_MAP](certainty))
    # Luma by the weights of ITU-R BT.601: letters are dark on light discs, and white on dark ones.
    return colors, colors[:, :3] @ [0.299, 0.587, 0.114] <= 0.45


def _letter_kind(letter: str) -> str:
    letter = letter.replace("T", "U")
    return letter if letter in _LETTER_COLORS else "other"


def plot_structure(
    sequence: str,
    structure: Structure,
    probabilities: Any = None,
    title: str | None = None,
    path: Path = None,
    circular: bool = False,
) -> Figure:
    """Draw a secondary structure: bases on a backbone, pairs, 5' and 3' ends, and every tenth base number.

    Pairs that cross others (pseudoknots) are dashed lines and do not change the layout. Letters are omitted
    where they would be too small to read.

    Parameters
    ----------
    sequence : str
        Sequence. Two strands are separated by ``&``; their bases are numbered consecutively.
    structure : str or array-like of int, shape (n_bases,)
        Structure in dot-bracket notation, or the partner of each base (from 0; -1 if unpaired).
    probabilities : array-like, shape (n_bases, n_bases) or (n_bases,), optional
        Base-pair probability matrix, dense or sparse, symmetric or its upper triangle; or the probability of
        each base to be as drawn. Bases are colored by probability if given, otherwise by letter.
    title : str, optional
    path : path, optional
        File to save the figure to; its ending sets the format. Without it, pyplot shows the figure.
    circular : bool
        Whether the last base is followed by the first.

    Raises
    ------
    StructuneError
        matplotlib is not installed, the structure is malformed, or the arguments differ in length.
    """
    drawn = arrange(sequence, structure, probabilities, circular)
    letters, certainty, xy = drawn.letters, drawn.certainty, drawn.xy
    n = len(letters)
    # The length of the backbone in inches is as large as the page allows.
    size = np.ptp(xy, axis=0) + 2 * _ROOM
    unit = float(min(_MOST_UNIT, *(np.array(_MOST_INCHES) / size)))
    extra = np.array([0.0 if certainty is None else 1.0, 0.5])
    figure = new_figure(path, *np.maximum(unit * size + extra, (3.0, 2.0)))
    axes = figure.subplots()
    low, high = xy.min(axis=0) - _ROOM, xy.max(axis=0) + _ROOM
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.axis("off")
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import EllipseCollection, LineCollection
    from matplotlib.colors import Normalize
    from matplotlib.font_manager import FontProperties
    from matplotlib.lines import Line2D
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Shape
    from matplotlib.textpath import TextPath

    points = 72 * unit  # of a length of the backbone
    styles: list[dict[str, Any]] = [
        {"colors": "0.6", "linewidths": 0.08 * points, "zorder": 2},
        {"colors": "0.25", "linewidths": 0.09 * points, "zorder": 2},
        {"colors": CONTRAST, "linewidths": max(0.06 * points, 0.5), "linestyles": (0, (3, 2)), "zorder": 1},
    ]
    for (a, b), style in zip(drawn.joins, styles, strict=True):
        lines: Any = np.stack([xy[a], xy[b]], axis=1)
        axes.add_collection(LineCollection(lines, **style))
    colors, is_dark = disc_colors(letters, certainty)
    if certainty is not None:
        shades = ScalarMappable(Normalize(0, 1), colormaps[PROBABILITY_MAP])
        figure.colorbar(shades, ax=axes, shrink=0.6, aspect=25, label="probability of being as drawn")
    sizes, edge = np.full(n, _DISC), {"edgecolors": "0.35", "linewidths": 0.4}
    place: dict[str, Any] = {"units": "xy", "offsets": xy, "offset_transform": axes.transData} | edge
    discs = EllipseCollection(sizes, sizes, sizes * 0, facecolors=colors, zorder=3, **place)
    axes.add_collection(discs)
    readable = points * _LETTER >= _LEAST_LETTER
    if readable:  # letters as shapes keep their proportion to the discs at any size of the figure
        names = np.array(list(letters))
        for letter, on_dark in sorted(set(zip(letters, is_dark.tolist(), strict=True))):
            chosen = xy[(names == letter) & (is_dark == on_dark)]
            outline = TextPath((0, 0), letter, _LETTER, FontProperties(weight="bold"), usetex=False)
            middle = (outline.vertices.min(axis=0) + outline.vertices.max(axis=0)) / 2
            vertices = (chosen[:, None] + (outline.vertices - middle)).reshape(-1, 2)
            shape, color = Shape(vertices, np.tile(outline.codes, len(chosen))), "white" if on_dark else "0.1"
            axes.add_patch(PathPatch(shape, facecolor=color, linewidth=0, zorder=4))
    elif certainty is None:
        kinds = set(map(_letter_kind, letters))
        used = [kind for kind in _LETTER_COLORS if kind in kinds]
        dot: dict[str, Any] = {"ls": "none", "marker": "o", "markeredgecolor": "0.35", "markersize": 6}
        key = [Line2D([], [], color=_LETTER_COLORS[kind], label=kind, **dot) for kind in used]
        figure.legend(handles=key, loc="outside lower center", ncols=len(key), frameon=False, fontsize=9)
    font = max(_LEAST_NUMBER, points * 0.5)
    step = 10 if readable else 50 if n <= 1500 else 100
    centered: dict[str, Any] = {"ha": "center", "va": "center", "color": "0.25", "zorder": 5, "size": font}
    for text, at, line in drawn.labels(step, font / points):
        axes.text(at[0], at[1], text, fontweight=None if line is not None else "bold", **centered)
        if line is not None:
            axes.plot(*line.T, color="0.5", linewidth=0.6, zorder=2)
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


def _place_labels(
    xy: FloatArray, joined: IntArray, ends: list[tuple[int, str, int]], side: int, step: int, height: float
) -> Iterator[tuple[str, FloatArray, FloatArray | None]]:
    """The labels of ends, 5' and 3', and numbers of every `step`-th base, with the line from it to its base.

    The outside is left (`side` is 1) or right (-1) of the way from 5' to 3'; labels of ends are behind (1) or
    before (-1) their bases; `height` is that of a character. Those without room are left out.
    """
    along = np.array([[1.0, 0.0]])
    if len(xy) > 1:
        steps = np.gradient(xy, axis=0)
        lengths = np.hypot(*steps.T)[:, None]
        along = np.where(lengths > 1e-9, steps / np.maximum(lengths, 1e-9), [1.0, 0.0])
    out = side * np.column_stack([-along[:, 1], along[:, 0]])
    outwards = out * (len(xy) > 1)
    wanted = [(k, text, outwards[k] + way * along[k], True) for k, text, way in ends]
    wanted += [(k - 1, str(k), out[k - 1], False) for k in range(step, len(xy) + 1, step)]
    # What is taken: points on bases and lines, close enough together that no text fits between them.
    starts, stops = xy[joined]
    n = np.maximum(np.hypot(*(stops - starts).T), 1e-9) // 0.5 + 1
    line = np.repeat(np.arange(len(n)), n.astype(int))
    share = (np.arange(line.size) - np.repeat(np.cumsum(n) - n, n.astype(int))) / n[line]
    taken = np.vstack([xy, starts[line] + share[:, None] * (stops - starts)[line]])
    for base, text, direction, is_end in wanted:
        half = np.array([_ASPECT * height * len(text), height]) / 2
        reach = 2 * _FREE + max(_GAPS) + 2 * float(half.max()) + 1
        near = taken[np.all(np.abs(taken - xy[base]) < reach, axis=1)]
        others = near[np.hypot(*(near - xy[base]).T) > _FREE + 0.05]  # what a label's line must not touch
        angle = np.arctan2(direction[1], direction[0])
        for gap, turn in product(_GAPS, _TURNS):  # the first free place, to the outside
            way = np.array([np.cos(angle + turn), np.sin(angle + turn)])
            extent = float(np.min(half / np.maximum(np.abs(way), 1e-9)))  # of the box, that way
            at = xy[base] + way * (_FREE + gap + extent)
            start, stop = xy[base] + way * _FREE, at - way * (extent + 0.1)
            beside = np.maximum(np.abs(near - at) - half, 0)
            spots = start + np.linspace(0, 1, 5)[:, None] * (stop - start)
            is_free = not near.size or np.hypot(*beside.T).min() > _FREE
            if is_free and (not others.size or np.hypot(*(others[:, None] - spots).T).min() > _FREE):
                yield text, at, None if is_end else np.array([start, stop])
                x = np.linspace(-1, 1, 5)[:, None]  # points that stand for the box of the text
                box = at + np.column_stack([x, 0 * x]) * np.maximum(half - 0.25, 0)
                taken = np.vstack([taken, box])
                break


def plot_sensitivity_ppv(curves: Mapping[str, tuple[ArrayLike, ArrayLike]], path: Path = None) -> Figure:
    """Plot sensitivity against PPV for several methods, with areas (figure 3c of Do, Foo & Ng, NIPS 2007).

    Dotted lines complete the areas that `structune.rna.roc_area` measures.

    Parameters
    ----------
    curves : mapping of str to (sensitivity, ppv), each of shape (n_points,)
        Curve of each method, as from `structune.rna.sensitivity_ppv_curve`. A single point has no area.
    path : path, optional
        File to save the figure to; its ending sets the format. Without it, pyplot shows the figure.

    Raises
    ------
    StructuneError
        matplotlib is not installed, there are no curves or more than 7, or a curve has no points.
    """
    check_number(len(curves), "curves")
    points = {name: along_ppv(*curve) for name, curve in curves.items()}
    for name, (s, _) in points.items():
        if not s.size:
            raise DataError(f"the curve {name!r} has no points")
    figure = new_figure(path, 5.5, 5.3 + 0.22 * len(curves))
    axes = figure.subplots()
    for k, (name, (s, p)) in enumerate(points.items()):
        label = f"{name} (area {roc_area(s, p):.3f})" if s.size > 1 else name
        style: dict[str, Any] = {"color": COLORS[k], "clip_on": False}
        axes.plot(p, s, "-", marker=MARKERS[k], markersize=4.5, linewidth=1.4, label=label, zorder=3, **style)
        if s.size > 1:
            ends = [0, p[0]], [s[0], s[0]], ":", [p[-1], p[-1]], [s[-1], 0], ":"
            axes.plot(*ends, linewidth=1, zorder=2, **style)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="PPV", ylabel="sensitivity")
    tidy(axes)
    put_legend(figure)
    return finish(figure, path)


def plot_pair_probabilities(
    sequence: str,
    probabilities: Any,
    structure: Structure | None = None,
    title: str | None = None,
    path: Path = None,
) -> Figure:
    """Draw a dot plot: pair probabilities above the diagonal, and the pairs of a structure below it.

    Parameters
    ----------
    sequence : str
        Sequence; the axes number its bases from 1. Two strands are separated by ``&``, drawn as a line, and
        numbered consecutively.
    probabilities : array-like, shape (n_bases, n_bases)
        Base-pair probability matrix, dense or sparse, symmetric or its upper triangle. Probabilities below
        0.001 are not drawn.
    structure : str or array-like of int, shape (n_bases,), optional
        Structure in dot-bracket notation, or the partner of each base (from 0; -1 if unpaired).
    title : str, optional
    path : path, optional
        File to save the figure to; its ending sets the format. Without it, pyplot shows the figure.

    Raises
    ------
    StructuneError
        matplotlib is not installed, the structure is malformed, or the arguments differ in length.
    """
    letters = brackets.bases_of(sequence)
    n = len(letters)
    table = _checked_probabilities(probabilities, n)
    if not n or table.ndim == 1:
        raise DataError(f"probabilities have shape {table.shape}, expected a matrix for at least one base")
    found = None if structure is None else _checked_partners(sequence, structure)
    plot = DotPlot(path, letters, letters)
    if (nick := sequence.find(brackets.STRANDS)) >= 0:
        for draw in (plot.axes.axhline, plot.axes.axvline):
            draw(nick + 0.5, color="0.7", linewidth=0.8, zorder=1)
    plot.axes.plot([0.5, n + 0.5], [0.5, n + 0.5], color="0.7", linewidth=0.8, zorder=1)
    plot.axes.set(xlabel="base", ylabel="base")
    plot.probabilities(np.triu(table, 1), "probability of the pair")
    if found is not None:
        i = np.flatnonzero(found > np.arange(n))
        plot.squares(found[i], i, facecolors=ON_TOP)
        plot.axes.set_xlabel("base (above the diagonal: probabilities; below: the structure)")
    plot.title(title)
    return finish(plot.figure, path)


# --- where bases lie ----------------------------------------------------------------------------------------

# The classic drawing: helices are ladders, and loops are polygons inscribed in circles, whose sides are
# backbone of length 1 and pairs. Three changes keep parts from being drawn over each other: the two helices
# of a bulge or internal loop stay in line; the branches of a loop get angles that hold what they carry, on a
# wider circle where that is too much; and the exterior loop is a line, or a circle if the line would be long.
# (RNApuzzler moves branches apart more cleverly: Wiegreffe, Alexander, Stadler & Zeckzer, Bioinformatics
# 35:1342, 2019.)


class _Loop(NamedTuple):
    """What lies between neighboring pairs of a loop: backbone edges, and lengths that branches overhang."""

    first: IntArray  # bases of the pairs
    last: IntArray
    edges: FloatArray
    overhangs: FloatArray  # at both ends, shape (n_gaps, 2)


def layout(partners: IntArray, circular: bool = False, nick: int = -1) -> FloatArray:
    """Coordinates at which to draw a structure, shape (n, 2); from 5' to 3' it runs clockwise.

    No two pairs cross (see `largest_nested`), and -1 is no partner. Pairs are `PAIR_LENGTH` long; the
    backbone is of length 1 in helices, and no less elsewhere. The second of two strands begins at `nick`.
    """
    if nick >= 0:
        moved = np.where(partners >= nick, partners + _BETWEEN, partners)
        placed = layout(np.concatenate([moved[:nick], np.full(_BETWEEN, -1), moved[nick:]]))
        return np.delete(placed, np.arange(nick, nick + _BETWEEN), axis=0)
    z = np.zeros(partners.size, dtype=np.complex128)
    opening = np.flatnonzero(partners > np.arange(partners.size))
    apart = (np.diff(opening) != 1) | (np.diff(partners[opening]) != -1)
    helices = [run for run in np.split(opening, np.flatnonzero(apart) + 1) if run.size]
    for i in reversed(helices):  # inner ones first: the first pair on the real axis around 0, the rest above
        end, rungs = int(i[-1]), 1j * (i - i[0])
        loop = _loop(z, partners, end + 1, int(partners[end]) - 1)
        # Two helices stay in line: both sides of the loop get half of the circle.
        if loop.first.size == 1 and abs(loop.edges[0] - loop.edges[1]) <= _MOST_BEND:
            radius = _radius(2 * float((loop.edges + loop.overhangs.sum(axis=1)).max()), 2.0)
            gaps = np.full(2, np.pi)
        else:
            radius, gaps = _open(z, loop)
        _place_on_circle(z, loop, radius, gaps, end, int(partners[end]))
        z[end + 1 : partners[end]] += rungs[-1]
        z[i], z[partners[i]] = rungs - PAIR_LENGTH / 2, rungs + PAIR_LENGTH / 2
    (_place_ring if circular else _place_exterior)(z, _loop(z, partners, 0, partners.size - 1))
    return np.column_stack([z.real, z.imag])


def _loop(z: ComplexArray, partners: IntArray, start: int, stop: int) -> _Loop:
    """The loop whose bases and pairs lie from `start` to `stop`; what its pairs close is placed."""
    first, i = [], start
    while i <= stop:
        if partners[i] > i:
            first.append(i)
            i = int(partners[i])
        i += 1
    begins = np.array(first, dtype=np.int64)
    ends = partners[begins]
    edges = (np.append(begins, stop + 1) - np.append(start - 1, ends)).astype(np.float64)
    overhangs = np.zeros((edges.size, 2))
    # How much further than one edge a branch reaches above the bases beside it, where it is low.
    for k, (a, b) in enumerate(zip(begins, ends, strict=True)):
        low = z[a + 1 : b][z[a + 1 : b].imag < _LOW].real
        for gap, side, reach in ((k, 1, -low), (k + 1, 0, low)):
            above = reach[reach < PAIR_LENGTH / 2 + edges[gap] - 1 + _MARGIN] if edges[gap] > 1 else reach[:0]
            overhangs[gap, side] = np.max(above + _MARGIN - PAIR_LENGTH / 2 - 1, initial=0.0)
    return _Loop(begins, ends, edges, overhangs)


def _place_on_circle(
    z: ComplexArray, loop: _Loop, radius: float, gaps: FloatArray, before: int, after: int
) -> None:
    """Place branches and bases, between those `before` and `after`, on a circle around a point above 0.

    `gaps` are the angles between neighboring pairs; `before` and `after` pair, or are as far apart.
    """
    # Points are complex numbers: exp(i angle) turns, and sums move.
    half = _half_angle(radius, PAIR_LENGTH)
    depth = _depth(radius)
    center = 1j * depth
    middles = -np.pi / 2 - np.append(0.0, np.cumsum(gaps))  # clockwise, from the closing pair below
    for a, b, middle in zip(loop.first, loop.last, middles[1:-1], strict=True):
        outward = np.exp(1j * middle)
        z[a : b + 1] = center + outward * (depth + z[a : b + 1] / 1j)
    begins, ends = np.append(before, loop.last), np.append(loop.first, after)
    starts = middles[:-1] - half - loop.overhangs[:, 0] / radius
    widths = gaps - 2 * half - loop.overhangs.sum(axis=1) / radius
    for a, b, start, width in zip(begins, ends, starts, widths, strict=True):
        angles = start - width * np.arange(1, b - a) / (b - a)
        z[a + 1 : b] = center + radius * np.exp(1j * angles)


def _open(z: ComplexArray, loop: _Loop) -> tuple[float, FloatArray]:
    """Radius of a loop, and the angles between its pairs, such that no branch reaches into another's."""
    branches = [z[a : b + 1] for a, b in zip(loop.first, loop.last, strict=True)]
    turn = _LEAST_TURN if len(branches) > 1 else 0.0

    def angles(radius: float) -> tuple[FloatArray, FloatArray]:
        """Between neighboring pairs, the closing one first and last: the least; those of the edges alone."""
        depth, overhangs = _depth(radius), loop.overhangs.sum(axis=1)
        bases = 2 * loop.edges * _half_angle(radius, 1.0) + overhangs / radius
        alone = 2 * _half_angle(radius, PAIR_LENGTH) + bases
        stem = max(turn, float(np.arctan2(PAIR_LENGTH / 2 + _STEM_MARGIN, depth)))
        left, right = (
            [np.max(np.arctan2(_MARGIN / 2 + way * branch.real, branch.imag + depth)) for branch in branches]
            for way in (-1, 1)
        )
        return np.maximum(alone, np.append(stem, right) + np.append(left, stem)), alone

    least = _radius(float(loop.edges.sum() + loop.overhangs.sum()), len(branches) + 1.0)
    radius, (gaps, alone) = least, angles(least)
    wider = least
    # Branches that take more than the circle: it grows until they fit, or as far as it may.
    while gaps.sum() > 2 * np.pi * (1 + 1e-9) and wider < _WIDEST * least:
        wider *= 1.05
        if (found := angles(wider))[0].sum() < gaps.sum():
            radius, (gaps, alone) = wider, found
    # Gaps fill the circle: what is left goes to backbone edges, what lacks is taken from the excess.
    left = 2 * np.pi - gaps.sum()
    excess = loop.edges if left > -1e-6 else gaps - alone
    return radius, gaps + left * excess / excess.sum()


def _half_angle(radius: float, chord: float) -> float:
    """Half the angle at the center that a chord of a circle spans."""
    return float(np.arcsin(min(chord / (2 * radius), 1.0)))


def _depth(radius: float) -> float:
    """How far a pair is from the center of its circle."""
    return float(np.sqrt(max(radius**2 - (PAIR_LENGTH / 2) ** 2, 0.0)))


def _radius(n_edges: float, n_pairs: float) -> float:
    """Radius of the circle around a polygon of so many edges of length 1 and pairs.

    Where its center would lie outside (one base, or none, between two that pair), half a pair's length.
    """
    low, high = PAIR_LENGTH / 2, (n_edges + n_pairs * PAIR_LENGTH) / 4 + 1
    # Bisection: the angles of all edges and pairs are to add up to 2 pi, half angles to pi. 50 halvings
    # narrow the interval to about the precision of a double.
    for _ in range(50):
        radius = (low + high) / 2
        turn = n_edges * _half_angle(radius, 1.0) + n_pairs * _half_angle(radius, PAIR_LENGTH)
        low, high = (radius, high) if turn > np.pi else (low, radius)
    return high


def _place_exterior(z: ComplexArray, loop: _Loop) -> None:
    """Place the exterior loop: on a line if that is short, else on a circle."""
    # how low the branches reach, when their own pairs are at 0
    below = min((z[a : b + 1].imag.min() for a, b in zip(loop.first, loop.last, strict=True)), default=0.0)
    clear = below > -_MARGIN
    if not clear and loop.first.size == 1:
        # The bases before and after the only branch hang below it: nothing of a branch is below its stem.
        first, last = int(loop.first[0]), int(loop.last[0])
        z[:first] = -PAIR_LENGTH / 2 - 1j * np.arange(first, 0, -1)
        z[last + 1 :] = PAIR_LENGTH / 2 - 1j * np.arange(1, z.size - last)
        return
    # A line: branches are above the real axis, each as near to those before as they leave room.
    line = z.copy()
    # A skyline: how far to the right each height is taken, in rows of one length. A branch goes as far to the
    # left as its own rows allow.
    rows = np.floor(line.imag - below).astype(np.int64)
    skyline = np.full(int(rows.max(initial=0)) + 2, -np.inf)
    x, previous = 0.0, -1
    for a, b, (before, after) in zip(loop.first, loop.last, loop.overhangs, strict=False):
        n = int(a) - previous
        row, branch = rows[a : b + 1], line[a : b + 1]
        room = np.max(np.maximum(skyline[row], skyline[row + 1]) + _MARGIN - branch.real)
        middle = max(x + before + n + after + PAIR_LENGTH / 2, float(room))
        stop = middle - PAIR_LENGTH / 2 - after
        line[previous + 1 : a] = np.linspace(x + before, stop, n, endpoint=False)[1:]
        branch += middle
        np.maximum.at(skyline, row, branch.real)
        np.maximum.at(skyline, row + 1, branch.real)
        x, previous = middle + PAIR_LENGTH / 2, int(b)
    line[previous + 1 :] = x + loop.overhangs[-1, 0] + np.arange(1, line.size - previous)
    width, height = (float(np.ptp(part)) if part.size else 0.0 for part in (line.real, line.imag))
    if clear and width <= max(_LONG, 2 * height):
        z[:] = line
    else:
        _place_on_circle(z, loop, *_open(z, loop), -1, z.size)


def _place_ring(z: ComplexArray, loop: _Loop) -> None:
    """Place the loop that no pair of a circle encloses, without a gap between its last base and its first."""
    radius, gaps = _open(z, loop)
    _place_on_circle(z, loop, radius, gaps, -1, z.size)
    z -= 1j * _depth(radius)
    first, last = (int(loop.first[0]), int(loop.last[-1])) if loop.first.size else (0, -1)
    ends = np.append(np.arange(last + 1, z.size), np.arange(first))
    start, turn, n_edges = -np.pi / 2, 2 * np.pi, ends.size
    if loop.first.size:
        start, n_edges = float(np.angle(z[last])), ends.size + 1
        turn = float((start - np.angle(z[first])) % (2 * np.pi))
    z[ends] = radius * np.exp(1j * (start - turn * np.arange(1, ends.size + 1) / n_edges))
