"""Plots of what tuning did and what it chose; they need matplotlib (``pip install structune[plots]``)."""

from structune.plots.tuning import plot_penalties, plot_tuning

__all__ = ["plot_penalties", "plot_tuning"]
