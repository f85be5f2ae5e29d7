"""Dot plots of the match probabilities of two proteins; guide trees of families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from structune.alignment.structure.rows import parse_alignment
from structune.errors import DataError
from structune.plots.dots import ON_TOP, DotPlot, within_unit
from structune.plots.figure import ACCENT, LABEL_SIZE, Path, finish, height_for, new_figure, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from structune.alignment.multiple import MultipleAlignment

IntArray = NDArray[np.int64]
_MOST_NAMES, _LONGEST_NAME = 120, 40
_LEAST = 1e-9  # distance: all the same would be an axis of one place


def plot_match_probabilities(
    x: str,
    y: str,
    probabilities: ArrayLike,
    alignment: Sequence[str] | ArrayLike | None = None,
    title: str | None = None,
    path: Path = None,
) -> Figure:
    """Draw a dot plot of the match probabilities of two proteins, and outline an alignment on it.

    The axes number residues from 1.

    Parameters
    ----------
    x, y : str
        Sequences; x is drawn downward, y to the right.
    probabilities : array-like, shape (n, m)
        Probability of each match, as from `SequenceAligner.posterior`. Those below 0.001 are not drawn.
    alignment : two str, or array-like of int, shape (n,), optional
        Two rows with ``-`` for gaps; or, for each residue of x, the 0-based index of its match in y, -1 for
        none.
    title : str, optional
        Title of the figure.
    path : path, optional
        File to save the figure to; its ending sets the format. Without it, pyplot can show the figure.

    Raises
    ------
    StructuneError
        matplotlib is not installed, a sequence is empty, shapes differ, or the alignment is not of x and y.
    """
    shape = len(x), len(y)
    if not all(shape):
        raise DataError(f"x and y must not be empty, but have {shape[0]} and {shape[1]} residues")
    table = np.asarray(probabilities, dtype=np.float64)
    if table.shape != shape:
        raise DataError(
            f"probabilities must have the shape {shape}, a row per residue of x, not {table.shape}"
        )
    table = within_unit(table)
    partner = None if alignment is None else _partners(alignment, (x, y))
    plot = DotPlot(path, x, y)
    plot.axes.set(xlabel="residue of y", ylabel="residue of x")
    plot.probabilities(table, "probability of the match")
    if partner is not None:
        _draw_matches(plot, partner)
        plot.axes.set_xlabel("residue of y (outlined: the alignment)")
    plot.title(title)
    return finish(plot.figure, path)


def _partners(alignment: Sequence[str] | ArrayLike, pair: tuple[str, str]) -> IntArray:
    """The residue of y that each of x is matched with, -1 for none."""
    match alignment:
        case (str() as first, str() as second):
            return parse_alignment((first, second), pair, "alignment").partner
    n, m = map(len, pair)
    partner = np.asarray(alignment)
    if partner.shape != (n,) or partner.dtype.kind not in "iu":
        raise DataError(
            f"alignment must be two rows of text, or {n} integers, one for each residue of x; it has the "
            f"shape {partner.shape} and the type {partner.dtype}"
        )
    for value in partner[(partner < -1) | (partner >= m)][:1]:
        raise DataError(f"alignment has the value {value}, but must be from 0 to {m - 1}, or -1 for no match")
    if np.any(np.diff(partner[partner >= 0]) <= 0):
        raise DataError("alignment has matches that cross or share a residue: its values must rise")
    return partner.astype(np.int64)


def _draw_matches(plot: DotPlot, partner: IntArray) -> None:
    """A line around each run of matches."""
    from matplotlib.collections import PolyCollection

    i = np.flatnonzero(partner >= 0)
    matches = np.column_stack([partner[i], i])
    # a run of matches goes along the diagonal, both residues by one; it ends where either jumps
    ends = np.flatnonzero(np.any(np.diff(matches, axis=0) != 1, axis=1))
    runs = np.array_split(matches + 1.0, ends + 1) if i.size else []
    first, last = [[-1, 1], [-1, -1], [1, -1]], [[1, -1], [1, 1], [-1, 1]]
    outlines = [np.vstack([run[0] + plot.half * first, run[-1] + plot.half * last]) for run in runs]
    style: Any = {"facecolors": "none", "edgecolors": ON_TOP, "linewidths": 0.8}
    plot.axes.add_collection(PolyCollection(outlines, zorder=3, **style))


def plot_guide_tree(
    alignment: MultipleAlignment, names: Sequence[str] | None = None, path: Path = None
) -> Figure:
    """Draw the guide tree of a multiple alignment.

    Parameters
    ----------
    alignment : MultipleAlignment
        Alignment of at least two sequences.
    names : sequence of str, optional
        Names of the sequences; by default their numbers, from 1. More than 120 names are not drawn.
    path : path, optional
        File to save the figure to; its ending sets the format. Without it, pyplot can show the figure.

    Raises
    ------
    StructuneError
        matplotlib is not installed, there is only one sequence, or the number of names is wrong.
    """
    n = len(alignment)
    if n < 2:
        raise DataError(f"a tree needs at least two sequences, but the alignment has {n}")
    names = [str(k + 1) for k in range(n)] if names is None else names
    if len(names) != n:
        raise DataError(f"there are {len(names)} names, but {n} sequences. Give one name per sequence.")
    shown = n <= _MOST_NAMES
    figure = new_figure(path, 7.0, height_for(n, 2.0) if shown else 9.0)
    axes = figure.subplots()
    from matplotlib.collections import LineCollection

    # a group is at the mean of its two parts, and its lines at their distances; SciPy limits the depth
    leaves: list[int] = scipy.cluster.hierarchy.leaves_list(alignment.tree).tolist()  # from below
    place, distance, lines = np.empty(2 * n - 1), np.zeros(2 * n - 1), []
    place[leaves] = np.arange(n)
    for k, (a, b, away, _) in enumerate(alignment.tree.tolist(), n):
        ends, groups = (place[int(a)], place[int(b)]), (distance[int(a)], distance[int(b)])
        place[k], distance[k] = np.mean(ends), away
        lines.append([(groups[0], ends[0]), (away, ends[0]), (away, ends[1]), (groups[1], ends[1])])
    axes.add_collection(LineCollection(lines, colors=ACCENT))
    axes.set(xlim=(max(distance[-1], _LEAST) * 1.05, 0.0), ylim=(-0.5, n - 0.5))
    if shown:
        axes.set_yticks(range(n), [shortened(names[k], _LONGEST_NAME) for k in leaves], fontsize=LABEL_SIZE)
    else:
        axes.set_yticks([])
    axes.yaxis.tick_right()
    axes.tick_params(axis="y", length=0)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_xlabel("distance: 1 - expected share of correct matches, or 1 - share of common words")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return finish(figure, path)
