"""How training went on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structune.errors import DataError
from structune.plots.figure import (
    ACCENT,
    CONTRAST,
    LABEL_SIZE,
    FloatArray,
    Path,
    finish,
    integer_ticks,
    new_figure,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

History = Sequence[Mapping[str, Any]]
_MEASURES = {"heldout_loss": "held-out loss", "objective": "objective"}
_CONSTRAINED = "saddle point"


def plot_learning_curve(history: History, path: Path = None) -> Figure:
    """Held-out loss of tuning, or objective of training, over the passes; with constraints, their violation.

    Parameters
    ----------
    history : list of dict
        The ``history_`` of an estimator.
    path : path, optional
        Where to save the figure; the ending tells the format.

    Returns
    -------
    matplotlib.figure.Figure
        For pyplot to show, if there is no path.

    Raises
    ------
    StructuneError
        matplotlib is not installed, or the history holds nothing to draw.
    """
    measure = measure_of(history)
    rounds = [record for record in history if record["stage"] == _CONSTRAINED]
    figure = new_figure(path, 4.5, 5.6 if rounds else 3.2)
    axes = figure.subplots(1 + bool(rounds), squeeze=False)[:, 0]
    draw_loss(axes[0], steps_of(history, measure), measure)
    if rounds:
        _draw_violation(axes[1], values_of(rounds, "violation"))
    return finish(figure, path)


def measure_of(history: History) -> str:
    """What the history measured."""
    for key in _MEASURES:
        if any(key in record for record in history):
            return key
    raise DataError("the history holds neither a held-out loss nor an objective")


def label_of(measure: str) -> str:
    return _MEASURES[measure]


def steps_of(history: History, measure: str) -> History:
    """The steps of the tuner, or of the fit if there was none: not those of fits within, nor constraints."""
    measured = [record for record in history if measure in record and "passes" in record]
    of_tuner = [record for record in measured if "log_precision" in record]
    return of_tuner or [record for record in measured if "constraint_values" not in record]


def values_of(records: History, key: str) -> FloatArray:
    return np.array([record[key] for record in records], dtype=np.float64)


def chosen_step(steps: History) -> int:
    """Of records with held-out losses the one whose precisions were kept: the lowest, if none is marked."""
    marked = [k for k, step in enumerate(steps) if "chosen" in step]
    losses = [step["heldout_loss"] for step in steps]
    return marked[-1] if marked else losses.index(min(losses))


def draw_loss(axes: Axes, steps: History, measure: str) -> None:
    values, passes = values_of(steps, measure), values_of(steps, "passes")
    axes.plot(passes, values, "o", color="0.6", markersize=4, label="each step")
    axes.step(passes, np.minimum.accumulate(values), "-", where="post", color=ACCENT, label="lowest so far")
    if measure == "heldout_loss":
        k = chosen_step(steps)
        axes.plot(passes[k], values[k], "o", color=ACCENT, fillstyle="none", markersize=9, label="chosen")
    axes.set_xlabel("passes over the data")
    axes.set_ylabel(label_of(measure))
    axes.set_xlim(left=0)
    if len(steps) > 1:
        axes.legend(frameon=False, fontsize=LABEL_SIZE + 1)
    tidy(axes)


def _draw_violation(axes: Axes, violation: FloatArray) -> None:
    axes.plot(np.arange(1, violation.size + 1), violation, "o-", color=CONTRAST, markersize=4)
    axes.set_xlabel("round of the saddle point search")
    axes.set_ylabel("violation of constraints")
    axes.set_ylim(bottom=0)
    integer_ticks(axes.xaxis)
    tidy(axes)
