"""Drawings of predicted numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from structune.plots.figure import ACCENT, finish, new_figure, tidy
from structune.structure import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_predictions(known: FloatArray, predicted: FloatArray, path: Path | None = None) -> Figure:
    """Draw predicted numbers by known ones; on the line both are the same.

    Parameters
    ----------
    known, predicted : ndarray, shape (n_examples,)
    path : path, optional
        Where to save the figure.
    """
    figure = new_figure(path, 4.5, 4.5)
    axes = figure.subplots()
    axes.plot(known, predicted, "o", color=ACCENT, markersize=3, alpha=0.5)
    both = [float(min(known.min(), predicted.min())), float(max(known.max(), predicted.max()))]
    axes.plot(both, both, color="0.6", linewidth=1)
    axes.set(xlabel="known", ylabel="predicted")
    tidy(axes)
    return finish(figure, path)
