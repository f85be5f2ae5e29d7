"""Plots of tuning, and of RNA structures; they need matplotlib (``pip install structune[plots]``)."""

from structune.plots._figure import check_path
from structune.plots.comparison import plot_precisions_by_method, plot_sensitivity_ppv
from structune.plots.rna import plot_structure
from structune.plots.rna_pairs import plot_pair_probabilities
from structune.plots.sensitivity import plot_sensitivity
from structune.plots.tuning import plot_penalties, plot_tuning

__all__ = [
    "check_path",
    "plot_pair_probabilities",
    "plot_penalties",
    "plot_precisions_by_method",
    "plot_sensitivity",
    "plot_sensitivity_ppv",
    "plot_structure",
    "plot_tuning",
]
