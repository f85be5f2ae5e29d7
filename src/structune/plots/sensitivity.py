"""What the prior of the precisions does to accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from structune.errors import DataError
from structune.plots.figure import Path, finish, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS, _PANEL = 3, 2.6


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
        image = axes.imshow(100 * (table - table.max()), origin="lower", vmin=-20, vmax=0, cmap="YlGnBu_r")
        axes.set_title(f"{name}, best {100 * table.max():.1f} %", fontsize=9)
        axes.set_xticks(range(0, len(beta), 2), [f"$2^{{{np.log2(b):.0f}}}$" for b in beta[::2]])
        axes.set_yticks(range(0, len(alpha), 2), [f"$2^{{{np.log2(a):.0f}}}$" for a in alpha[::2]])
    figure.supxlabel("beta")
    figure.supylabel("alpha")
    figure.colorbar(image, ax=panels, label="points below the best", extend="min", shrink=0.6)
    return finish(figure, path)
