"""Dot plots: the probabilities of all pairs of an RNA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structune.errors import DataError
from structune.plots.dots import ON_TOP, DotPlot
from structune.plots.figure import Path, finish
from structune.rna.formats.strands import STRANDS, bases_of
from structune.rna.plots.checked import Structure, checked_partners, checked_probabilities

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_pair_probabilities(
    sequence: str,
    probabilities: Any,
    structure: Structure | None = None,
    title: str | None = None,
    path: Path = None,
) -> Figure:
    """Dot plot: probabilities of pairs above the diagonal, the pairs of a structure below it.

    Parameters
    ----------
    sequence : str
        Two strands have ``&`` between them, where a line is drawn; their bases are counted through.
    probabilities : array-like, shape (n_bases, n_bases)
        Of each pair, as a symmetric matrix or its upper triangle, perhaps sparse. Those below 0.001 are not
        drawn.
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
    letters = bases_of(sequence)
    n = len(letters)
    table = checked_probabilities(probabilities, n)
    if not n or table.ndim == 1:
        raise DataError(
            f"found probabilities of shape {table.shape}, expected a matrix for at least one base"
        )
    found = None if structure is None else checked_partners(sequence, structure)
    plot = DotPlot(path, letters, letters)
    if (nick := sequence.find(STRANDS)) >= 0:
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
