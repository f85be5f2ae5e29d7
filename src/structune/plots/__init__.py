"""Plots of what tuning did and what it chose; they need matplotlib (``pip install structune[plots]``)."""

from structune.plots._figure import check_path
from structune.plots.tuning import plot_penalties, plot_tuning

__all__ = ["check_path", "plot_penalties", "plot_tuning"]
