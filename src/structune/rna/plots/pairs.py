"""Dot plots of the probabilities of pairs, and how well methods find pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from structune.errors import DataError
from structune.plots.dots import ON_TOP, DotPlot
from structune.plots.figure import COLORS, MARKERS, Path, check_number, finish, new_figure, put_legend, tidy
from structune.rna.formats.brackets import STRANDS, bases_of
from structune.rna.metrics import roc_area
from structune.rna.plots.drawing import Structure, checked_partners, checked_probabilities

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_sensitivity_ppv(curves: Mapping[str, tuple[ArrayLike, ArrayLike]], path: Path = None) -> Figure:
    """Sensitivity over PPV for several methods, with the area below (figure 3c of Do, Foo & Ng, NIPS 2007).

    Parameters
    ----------
    curves : mapping of str to (sensitivity, ppv), each of shape (n_points,)
        Such as `structune.rna.sensitivity_ppv_curve` gives. A method of one point has no area.
    path : path, optional
        Where to save the figure; the ending tells the format.

    Returns
    -------
    matplotlib.figure.Figure
        For pyplot to show, if there is no path. Dotted lines complete what `structune.rna.roc_area`
        measures.

    Raises
    ------
    StructuneError
        matplotlib is not installed, or there are no curves, more than 7, or one without points.
    """
    check_number(len(curves), "curves")
    areas = {name: roc_area(*curve) for name, curve in curves.items()}
    for name, (sensitivity, _) in curves.items():
        if not np.size(sensitivity):
            raise DataError(f"found no points for {name!r}, expected at least one")
    figure = new_figure(path, 5.5, 5.3 + 0.22 * len(curves))
    axes = figure.subplots()
    for k, (name, (sensitivity, ppv)) in enumerate(curves.items()):
        s, p = np.asarray(sensitivity, dtype=np.float64), np.asarray(ppv, dtype=np.float64)
        order = np.lexsort((-s, p))
        s, p, label = s[order], p[order], f"{name} (area {areas[name]:.3f})" if s.size > 1 else name
        style: dict[str, Any] = {"color": COLORS[k], "clip_on": False}
        axes.plot(p, s, "-", marker=MARKERS[k], markersize=4.5, linewidth=1.4, label=label, zorder=3, **style)
        if s.size > 1:
            ends = [0, p[0]], [s[0], s[0]], ":", [p[-1], p[-1]], [s[-1], 0], ":"
            axes.plot(*ends, linewidth=1, zorder=2, **style)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="PPV", ylabel="sensitivity")
    tidy(axes)
    put_legend(figure, axes)
    return finish(figure, path)


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
