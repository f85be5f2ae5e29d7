"""Dot plots of two proteins: the probabilities of all matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structune.alignment.structure.rows import parse_alignment
from structune.errors import DataError
from structune.plots.dots import ON_TOP, DotPlot, within_unit
from structune.plots.figure import FloatArray, Path, finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IntArray = NDArray[np.int64]


def plot_match_probabilities(
    x: str,
    y: str,
    probabilities: ArrayLike,
    alignment: Sequence[str] | ArrayLike | None = None,
    title: str | None = None,
    path: Path = None,
) -> Figure:
    """Dot plot: probabilities of the matches of two proteins, and the matches of an alignment outlined.

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
        Where to save the figure; the ending tells the format.

    Returns
    -------
    matplotlib.figure.Figure
        For pyplot to show, if there is no path. Residues count from 1.

    Raises
    ------
    StructuneError
        matplotlib is not installed, a sequence is empty, sizes differ, or the alignment is not one of x and
        y.
    """
    table = _checked(probabilities, (len(x), len(y)))
    partner = None if alignment is None else _partners(alignment, (x, y))
    plot = DotPlot(path, x, y)
    plot.axes.set(xlabel="residue of y", ylabel="residue of x")
    plot.probabilities(table, "probability of the match")
    if partner is not None:
        _draw_matches(plot, partner)
        plot.axes.set_xlabel("residue of y (outlined: the alignment)")
    plot.title(title)
    return finish(plot.figure, path)


def _checked(probabilities: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    if not all(shape):
        raise DataError(f"found sequences of {shape[0]} and {shape[1]} residues, expected at least one each")
    table = np.asarray(probabilities, dtype=np.float64)
    if table.shape != shape:
        raise DataError(
            f"found probabilities of shape {table.shape}, expected {shape}, one for each residue of x and y"
        )
    return within_unit(table)


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
    ends = np.flatnonzero(np.any(np.diff(matches, axis=0) != 1, axis=1))
    runs = np.array_split(matches + 1.0, ends + 1) if i.size else []
    first, last = [[-1, 1], [-1, -1], [1, -1]], [[1, -1], [1, 1], [-1, 1]]
    outlines = [np.vstack([run[0] + plot.half * first, run[-1] + plot.half * last]) for run in runs]
    style: Any = {"facecolors": "none", "edgecolors": ON_TOP, "linewidths": 0.8}
    plot.axes.add_collection(PolyCollection(outlines, zorder=3, **style))
