"""Dot plots: the probabilities of all pairs of an RNA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from structune.errors import DataError
from structune.plots._figure import FloatArray, Path, finish, new_figure
from structune.plots._rna_input import PROBABILITY_MAP, Structure, checked_partners, checked_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_PROBABILITY = 1e-3
_SIDE = 6.0  # inches of the plot, about
_LEAST_POINTS = 2.0  # side of a square
_MOST_LETTERS = 60
_STRUCTURE = "#b3541e"


def plot_pair_probabilities(
    sequence: str,
    probabilities: ArrayLike,
    structure: Structure | None = None,
    title: str | None = None,
    path: Path = None,
) -> Figure:
    """Dot plot: probabilities of pairs above the diagonal, the pairs of a structure below it.

    Parameters
    ----------
    sequence : str
    probabilities : array-like, shape (n_bases, n_bases)
        Of each pair, as a symmetric matrix or its upper triangle. Those below 0.001 are not drawn.
    structure : str or array-like of int, shape (n_bases,), optional
        In dot-bracket notation, or the partner of each base, from 0, -1 for none.
    title : str, optional
    path : path, optional
        Where to save the figure; the ending tells the format.

    Returns
    -------
    matplotlib.figure.Figure
        For pyplot to show, if there is no path. Bases count from 1.

    Raises
    ------
    StructuneError
        matplotlib is not installed, the structure is malformed, or sizes differ.
    """
    n = len(sequence)
    table = checked_probabilities(probabilities, n)
    if not n or table.ndim == 1:
        raise DataError(
            f"found probabilities of shape {table.shape}, expected a matrix for at least one base"
        )
    found = None if structure is None else checked_partners(sequence, structure)
    figure = new_figure(path, _SIDE + 1.6, _SIDE + 0.8)
    axes = figure.subplots()
    _frame(axes, sequence)
    i, j = np.nonzero(np.triu(table, 1) >= LEAST_PROBABILITY)
    order = np.argsort(table[i, j], kind="stable")  # the probable ones on top
    i, j = i[order], j[order]
    squares = _draw_squares(axes, j, i, n, array=table[i, j], cmap=_shades(), clim=(0, 1))
    figure.colorbar(squares, ax=axes, shrink=0.6, aspect=25, label="probability of the pair")
    if found is not None:
        i = np.flatnonzero(found > np.arange(n))
        _draw_squares(axes, i, found[i], n, facecolors=_STRUCTURE)
        axes.set_xlabel("base (above the diagonal: probabilities; below: the structure)")
    if title is not None:
        axes.set_title(title, loc="left", fontsize=10, parse_math=False)
    return finish(figure, path)


def _shades() -> Any:
    """The map of probabilities, from a shade that shows on white."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[PROBABILITY_MAP](np.linspace(0.15, 1, 256)))


def _draw_squares(axes: Axes, column: Any, row: Any, n: int, **style: Any) -> Any:
    """Draw a square at each base of a pair, never too small to be seen."""
    from matplotlib.collections import PolyCollection

    half = max(0.5, _LEAST_POINTS / 2 * n / (72 * _SIDE))
    corners = half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    centers: FloatArray = np.column_stack([column, row]) + 1.0
    outlines: Any = centers[:, None] + corners
    squares = PolyCollection(outlines, linewidths=0, rasterized=n > 500, zorder=2, **style)
    axes.add_collection(squares)
    return squares


def _frame(axes: Axes, sequence: str) -> None:
    """Both axes are the sequence, the first base at the upper left."""
    from matplotlib.ticker import MaxNLocator

    n = len(sequence)
    axes.set(xlim=(0.5, n + 0.5), ylim=(n + 0.5, 0.5), aspect="equal", xlabel="base", ylabel="base")
    axes.plot([0.5, n + 0.5], [0.5, n + 0.5], color="0.7", linewidth=0.8, zorder=1)
    inner = MaxNLocator(nbins=9, integer=True, steps=[1, 2, 5, 10]).tick_values(1, n)
    ticks = [1, *(int(tick) for tick in inner if 0.04 * n + 1 < tick <= n)]
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    if n <= _MOST_LETTERS:
        _write_letters(axes, sequence)


def _write_letters(axes: Axes, sequence: str) -> None:
    """The letters, above and to the right."""
    size = min(10.0, 0.7 * 72 * _SIDE / len(sequence))
    style: dict[str, Any] = {
        "fontsize": size,
        "color": "0.3",
        "ha": "center",
        "va": "center",
        "parse_math": False,
    }
    for k, letter in enumerate(sequence, 1):
        axes.annotate(letter, (k, 1), (0, size), ("data", "axes fraction"), "offset points", **style)
        axes.annotate(letter, (1, k), (size, 0), ("axes fraction", "data"), "offset points", **style)
