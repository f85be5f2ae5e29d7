"""Methods beside each other, and what the prior of the precisions does to accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from structune.errors import DataError
from structune.plots.figure import LABEL_SIZE, FloatArray, Path, finish, height_for, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's colours, which the colour-blind tell apart, without yellow; markers tell more.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00")
MARKERS = "osD^vPX"
MOST_METHODS = len(COLORS)
_COLUMNS, _PANEL = 3, 2.6


def plot_precisions_by_method(
    group_names: Sequence[str], precisions: Mapping[str, ArrayLike], path: Path = None
) -> Figure:
    """Learned precisions of each group for several methods or folds (figure 3b of Do, Foo & Ng, NIPS 2007).

    Parameters
    ----------
    group_names : sequence of str
        The ``group_names_`` of the estimators.
    precisions : mapping of str to array-like, shape (n_groups,) or (n_folds, n_groups)
        The ``penalty_`` of each method. Of several folds each is a faint point, and their geometric mean
        the marker.
    path : path, optional
        Where to save the figure; the ending tells the format.

    Returns
    -------
    matplotlib.figure.Figure
        For pyplot to show, if there is no path. The first group is at the top, the scale is logarithmic.

    Raises
    ------
    StructuneError
        matplotlib is not installed, there are no methods or more than 7, or not one positive precision for
        each name.
    """
    check_number(len(precisions), "methods")
    logs = {name: _log2(name, values, len(group_names)) for name, values in precisions.items()}
    rows = np.arange(len(group_names))
    # methods of a group stand below each other within half of its band
    offsets = 0.5 * (np.arange(len(logs)) - (len(logs) - 1) / 2) / len(logs)
    # a third of a label for each method, beside two for what is between groups, and a line of the legend
    figure = new_figure(path, 7, height_for(rows.size * (len(logs) + 2) // 3, 2.0) + 0.22 * len(logs))
    axes = figure.subplots()
    for k, (name, values) in enumerate(logs.items()):
        style: dict[str, Any] = {"color": COLORS[k], "marker": MARKERS[k], "linestyle": "none"}
        places = rows + offsets[k]
        # the mean of logarithms is the geometric mean
        axes.plot(2 ** values.mean(axis=0), places, markersize=5, label=name, zorder=3, **style)
        if len(values) > 1:
            axes.plot(2**values.T, places, markersize=3, alpha=0.35, zorder=2, **style)
    for row in range(0, rows.size, 2):  # a band for each group, every other one shaded
        axes.axhspan(row - 0.5, row + 0.5, color="0.95", linewidth=0, zorder=0)
    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    axes.set_xlim(low / 1.3, high * 1.3)
    axes.axvline(1, color="0.3", linewidth=0.8, zorder=1)
    axes.set_yticks(rows, group_names, fontsize=LABEL_SIZE, parse_math=False)
    axes.set_ylim(rows.size - 0.5, -0.5)
    axes.set_xlabel("precision (more is stronger regularisation)")
    tidy(axes)
    axes.grid(visible=False, axis="y")
    put_legend(figure, axes)
    return finish(figure, path)


def plot_sensitivity(
    accuracy: Mapping[str, ArrayLike], alpha: Sequence[float], beta: Sequence[float], path: Path = None
) -> Figure:
    """Accuracy over the shape and rate of the Gamma prior (section 4 of Foo, Do & Ng, ICML 2009).

    Parameters
    ----------
    accuracy : mapping of str to array-like, shape (n_alpha, n_beta)
        By data set; a panel each.
    alpha, beta : sequences of float
        Powers of two.
    path : path, optional
        Where to save the figure; the ending tells the format.

    Returns
    -------
    matplotlib.figure.Figure
        Colours are accuracies below the best of a panel, in points.

    Raises
    ------
    StructuneError
        matplotlib is not installed, there is no panel, or a table has another shape.
    """
    if not accuracy:
        raise DataError("found no tables of accuracy, expected at least one")
    n_rows = -(-len(accuracy) // _COLUMNS)
    figure = new_figure(path, _PANEL * _COLUMNS + 1.2, _PANEL * n_rows + 0.4)
    panels = figure.subplots(n_rows, _COLUMNS, squeeze=False, sharex=True, sharey=True)
    for axes in panels.flat[len(accuracy) :]:
        axes.set_visible(False)
    for axes, (name, rows) in zip(panels.flat, accuracy.items(), strict=False):
        table = np.asarray(rows, dtype=np.float64)
        if table.shape != (len(alpha), len(beta)):
            raise DataError(f"{name}: found shape {table.shape}, expected {(len(alpha), len(beta))}")
        # in points below the best of the panel, so that panels share a scale
        image = axes.imshow(100 * (table - table.max()), origin="lower", vmin=-20, vmax=0, cmap="YlGnBu_r")
        axes.set_title(f"{name}, best {100 * table.max():.1f} %", fontsize=9)
        axes.set_xticks(range(0, len(beta), 2), [f"$2^{{{np.log2(b):.0f}}}$" for b in beta[::2]])
        axes.set_yticks(range(0, len(alpha), 2), [f"$2^{{{np.log2(a):.0f}}}$" for a in alpha[::2]])
    figure.supxlabel("beta")
    figure.supylabel("alpha")
    figure.colorbar(image, ax=panels, label="points below the best", extend="min", shrink=0.6)
    return finish(figure, path)


def check_number(n: int, what: str) -> None:
    """Refuse more than there are colours, or none."""
    if not 1 <= n <= MOST_METHODS:
        raise DataError(f"found {n} {what}, expected 1 to {MOST_METHODS}")


def _log2(name: str, values: ArrayLike, n_groups: int) -> FloatArray:
    """Shape (n_folds, n_groups)."""
    given = np.asarray(values, dtype=np.float64)
    table = np.atleast_2d(given)
    if table.ndim != 2 or not table.size or table.shape[1] != n_groups:
        raise DataError(f"found precisions of shape {given.shape} for {name!r}, expected {n_groups} groups")
    if not np.all(np.isfinite(table) & (table > 0)):
        raise DataError(f"found a precision for {name!r} that is not a finite number > 0")
    return np.asarray(np.log2(table))


def put_legend(figure: Figure, axes: Axes) -> None:
    """Below the plot, where it hides nothing."""
    handles, labels = axes.get_legend_handles_labels()
    legend = figure.legend(
        handles, labels, loc="outside lower center", frameon=False, fontsize=LABEL_SIZE + 1
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
