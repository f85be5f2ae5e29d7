"""Plots of training, RNA structures, alignments and genes; they need matplotlib.

Which comes with ``pip install structune[plots]``.
"""

from structune.alignment.plots import plot_match_probabilities
from structune.genes.plots import plot_genes
from structune.plots.comparison import plot_precisions_by_method
from structune.plots.figure import check_path
from structune.plots.learning import plot_learning_curve
from structune.plots.sensitivity import plot_sensitivity
from structune.plots.tuning import plot_penalties, plot_precision_course, plot_tuning
from structune.rna.plots.accuracy import plot_sensitivity_ppv
from structune.rna.plots.drawing import plot_structure
from structune.rna.plots.pairs import plot_pair_probabilities

__all__ = [
    "check_path",
    "plot_genes",
    "plot_learning_curve",
    "plot_match_probabilities",
    "plot_pair_probabilities",
    "plot_penalties",
    "plot_precision_course",
    "plot_precisions_by_method",
    "plot_sensitivity",
    "plot_sensitivity_ppv",
    "plot_structure",
    "plot_tuning",
]
