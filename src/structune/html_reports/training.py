"""Sections of a report about training: its course, and the penalties."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from structune.html_reports.page import Block, Section, Table, Text, bars_of
from structune.html_reports.pictures import picture
from structune.learning.estimator import StructuredEstimator
from structune.plots import plot_learning_curve, plot_precision_course

_MOST_ROWS = 200
_MEANING = (
    "The penalty is the L2 regularization strength of a group of weights (the inverse variance of their "
    "Gaussian prior): the higher it is, the closer to zero the weights are. Bars start at 1; the scale is "
    "logarithmic."
)


def training_sections(model: StructuredEstimator) -> Iterator[Section]:
    history, names, course = model.history_, model.group_names_, list[Block]()
    # fits of a grid are one after the other, so their passes say nothing; the losses by precision do
    if any("passes" in record and record["stage"] != "grid" for record in history):
        told = "the loss by passes over the data"
        course.append(picture(partial(plot_learning_curve, history), told, "The course of training."))
    if any("log_precision" in record for record in history):
        told, plot = "The penalties that were tried.", partial(plot_precision_course, history, names)
        course.append(picture(plot, "the penalties of all groups, step by step", told))
    if course:
        yield Section("Course of training", course)
    # All groups, falling; of very many, the highest and the lowest.
    order = np.argsort(-model.penalty_, kind="stable")
    title, half = "Penalties", _MOST_ROWS // 2
    if order.size > _MOST_ROWS:
        title += f": the {half} highest and the {half} lowest of {order.size:,} groups"
        order = np.concatenate([order[:half], order[-half:]])
    rows = [(names[g], f"{model.group_sizes_[g]:,}", f"{model.penalty_[g]:.4g}") for g in order]
    # On a logarithmic scale whose origin is 1, the precision of a standard Gaussian. A precision of 0 has no
    # logarithm, and no bar.
    bars = bars_of(np.log2(np.where(model.penalty_ > 0, model.penalty_, 1.0)[order]).tolist())
    table = Table(title, ["group", "weights", "L2 penalty"], rows, [False, True, True], bars)
    yield Section("Regularization by group", [Text(_MEANING), table])
