"""Dot plots of two proteins, with the probabilities of all matches; guide trees of families."""

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
    """Dot plot: probabilities of the matches of two proteins, and the matches of an alignment outlined.

    Residues count from 1 on the axes.

    Parameters
    ----------
    x, y : str
        Sequences; x is drawn downward, y to the right.
    probabilities : array-like, shape (n, m)
        Of each match, as `SequenceAligner.posterior` gives them. Those below 0.001 are not drawn.
    alignment : two str, or array-like of int, shape (n,), optional
        Rows with ``-`` for gaps; or the residue of y that each of x is matched with, from 0, -1 for none.
    title : str, optional
    path : path, optional
        Where to save the figure; the ending tells the format. Without it pyplot can show the figure.

    Raises
    ------
    StructuneError
        matplotlib is not installed, a sequence is empty, sizes differ, or the alignment is not of x and y.
    """
    shape = len(x), len(y)
    if not all(shape):
        raise DataError(f"found sequences of {shape[0]} and {shape[1]} residues, expected at least one each")
    table = np.asarray(probabilities, dtype=np.float64)
    if table.shape != shape:
        raise DataError(
            f"found probabilities of shape {table.shape}, expected {shape}, one for each residue of x and y"
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
            f"found an alignment of shape {partner.shape} and type {partner.dtype}, expected two rows of "
            f"text, or {n} integers, one for each residue of x"
        )
    for value in partner[(partner < -1) | (partner >= m)][:1]:
        raise DataError(f"found the partner {value}, expected one in 0..{m - 1}, or -1 for none")
    if np.any(np.diff(partner[partner >= 0]) <= 0):
        raise DataError("found matches that cross or share a residue, expected partners that rise")
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
    """The tree along which groups of sequences were aligned.

    Parameters
    ----------
    alignment : MultipleAlignment
        Of two sequences at least.
    names : sequence of str, optional
        Of the sequences; by default their numbers, from 1. Those of more than 120 are left out.
    path : path, optional
        Where to save the figure; the ending tells the format. Without it pyplot can show the figure.

    Raises
    ------
    StructuneError
        matplotlib is not installed, there is one sequence only, or another number of names.
    """
    n = len(alignment)
    if n < 2:
        raise DataError(f"found {n} sequences, expected at least two for a tree")
    names = [str(k + 1) for k in range(n)] if names is None else names
    if len(names) != n:
        raise DataError(f"found {len(names)} names for {n} sequences")
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
    axes.set_xlabel("distance: 1 - expected share of right matches, or of words in common")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return finish(figure, path)
