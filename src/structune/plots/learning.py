"""How training and tuning went on, and the precisions that were chosen."""

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
    height_for,
    integer_ticks,
    label_gap,
    new_figure,
    shortened,
    spread,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

History = Sequence[Mapping[str, Any]]
_MEASURES = {"heldout_loss": "held-out loss", "objective": "objective"}
MOST_NAMES = 40
_LONGEST_NAME = 30  # letters beside a line
_PERCENTILES = (5, 25, 50, 75, 95)
_PRECISION = "precision (more is stronger regularisation)"


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
    rounds = [record for record in history if record["stage"] == "saddle point"]
    figure = new_figure(path, 4.5, 5.6 if rounds else 3.2)
    first, *below = figure.subplots(1 + bool(rounds), squeeze=False)[:, 0]
    _draw_loss(first, steps_of(history, measure), measure)
    # rounds of the saddle point search are counted, not measured in passes: they have axes of their own
    for axes in below:
        axes.plot(
            np.arange(1, len(rounds) + 1), _values_of(rounds, "violation"), "o-", color=CONTRAST, markersize=4
        )
        axes.set_xlabel("round of the saddle point search")
        axes.set_ylabel("violation of constraints")
        axes.set_ylim(bottom=0)
        integer_ticks(axes.xaxis)
        tidy(axes)
    return finish(figure, path)


def plot_tuning(history: History, group_names: Sequence[str], path: Path = None) -> Figure:
    """Held-out loss (or objective) as tuning went on, and the precisions that it tried.

    Parameters
    ----------
    history : list of dict
        The ``history_`` of an estimator.
    group_names : sequence of str
        Its ``group_names_``. More than 40 groups are drawn as percentiles.
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
    measure, steps, tried = _tried(history, group_names)
    if _is_grid(steps, tried):
        return _plot_grid(path, (6.5, 4.5), measure, steps, tried)
    height = _height(tried, 4.5)
    figure = new_figure(path, 12 if tried.size else 6.5, height)
    left, *right = figure.subplots(1, 1 + bool(tried.size), squeeze=False)[0]
    _draw_loss(left, steps, measure)
    for axes in right:
        _draw_precisions(axes, tried, group_names, label_gap(height), _chosen(steps, measure))
    return finish(figure, path)


def plot_precision_course(history: History, group_names: Sequence[str], path: Path = None) -> Figure:
    """The precisions that tuning tried, step by step; of the grid, the held-out loss of each.

    Parameters
    ----------
    history : list of dict
        The ``history_`` of an estimator.
    group_names : sequence of str
        Its ``group_names_``. More than 40 groups are drawn as percentiles.
    path : path, optional
        Where to save the figure; the ending tells the format.

    Returns
    -------
    matplotlib.figure.Figure
        For pyplot to show, if there is no path.

    Raises
    ------
    StructuneError
        matplotlib is not installed, or the history holds no precisions.
    """
    measure, steps, tried = _tried(history, group_names)
    if not tried.size:
        raise DataError("the history holds no precisions")
    if _is_grid(steps, tried):
        return _plot_grid(path, (4.5, 3.2), measure, steps, tried)
    height = _height(tried, 3.2)
    figure = new_figure(path, 4.5, height)
    axes = figure.subplots()
    _draw_precisions(axes, tried, group_names, label_gap(height), _chosen(steps, measure))
    axes.set_ylabel("precision")  # more is longer than the axis
    return finish(figure, path)


def plot_penalties(penalty: Any, group_names: Sequence[str], path: Path = None) -> Figure:
    """Learned precisions as bars on a logarithmic scale, the most regularised group at the top.

    Parameters
    ----------
    penalty : array-like, shape (n_groups,)
        The ``penalty_`` of an estimator.
    group_names : sequence of str
        Its ``group_names_``. Of more than 40 groups the 20 highest and the 20 lowest are drawn.
    path : path, optional
        Where to save the figure; the ending tells the format.

    Returns
    -------
    matplotlib.figure.Figure
        For pyplot to show, if there is no path.

    Raises
    ------
    StructuneError
        matplotlib is not installed, or there is not one positive precision for each name.
    """
    values = np.asarray(penalty, dtype=np.float64)
    if values.shape != (len(group_names),) or not np.all(np.isfinite(values) & (values > 0)):
        raise DataError(f"found precisions {penalty!r}, expected {len(group_names)} finite numbers > 0")
    order = np.argsort(values, kind="stable")
    title = "precisions"
    # the extremes tell most: what is held down, and what is free
    if order.size > MOST_NAMES:
        title = f"{MOST_NAMES} of {order.size} precisions: the lowest and the highest"
        order = np.concatenate([order[: MOST_NAMES // 2], order[-(MOST_NAMES // 2) :]])
    figure = new_figure(path, 7, height_for(order.size, 2.0))
    axes = figure.subplots()
    values, names = values[order], [group_names[j] for j in order]
    # bars from 1: to the right is more than a standard Gaussian prior, to the left less
    bars = axes.barh(range(len(names)), values - 1, left=1, color=ACCENT, height=0.7)
    axes.bar_label(bars, [f"{value:.3g}" for value in values], padding=3, fontsize=LABEL_SIZE)
    axes.axvline(1, color="0.3", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xlim(min(values.min(), 1) / 3, max(values.max(), 1) * 3)
    axes.set_yticks(range(len(names)), names, fontsize=LABEL_SIZE, parse_math=False)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlabel(_PRECISION)
    tidy(axes)
    axes.grid(visible=False, axis="y")
    axes.set_title(title, loc="left", fontsize=10)
    return finish(figure, path)


# --- what the history holds -------------------------------------------------------------------------------


def measure_of(history: History) -> str:
    """What the history measured."""
    for key in _MEASURES:
        if any(key in record for record in history):
            return key
    raise DataError("the history holds neither a held-out loss nor an objective")


def steps_of(history: History, measure: str) -> History:
    """The steps of the tuner, or of the fit if there was none: not those of fits within, nor constraints."""
    # tuners record precisions beside losses; without a tuner, the records are those of the fit
    measured = [record for record in history if measure in record and "passes" in record]
    of_tuner = [record for record in measured if "log_precision" in record]
    return of_tuner or [record for record in measured if "constraint_values" not in record]


def _values_of(records: History, key: str) -> FloatArray:
    return np.array([record[key] for record in records], dtype=np.float64)


def chosen_step(steps: History) -> int:
    """Of records with held-out losses the one whose precisions were kept: the lowest, if none is marked."""
    marked = [k for k, step in enumerate(steps) if "chosen" in step]
    losses = [step["heldout_loss"] for step in steps]
    return marked[-1] if marked else losses.index(min(losses))


def _tried(history: History, group_names: Sequence[str]) -> tuple[str, History, FloatArray]:
    """What the history measured, the steps, and the binary logarithms of their precisions.

    These have the shape (n_steps, n_groups), with no rows where the tuner does not report precisions.
    """
    measure = measure_of(history)
    steps = steps_of(history, measure)
    rows = [record["log_precision"] for record in steps if "log_precision" in record]
    if any(len(row) != len(group_names) for row in rows):
        raise DataError(f"found {len(group_names)} group names, expected {len(rows[0])}, as in the history")
    return measure, steps, np.asarray(np.reshape(rows, (-1, len(group_names))) / np.log(2))


def _chosen(steps: History, measure: str) -> int:
    """The step whose precisions were kept; of those without held-out losses the last."""
    return chosen_step(steps) if measure == "heldout_loss" else len(steps) - 1


def _is_grid(steps: History, tried: FloatArray) -> bool:
    """Whether the steps are values of one precision."""
    return steps[0]["stage"] == "grid" and bool(np.all(tried == tried[:, :1]))


def _height(tried: FloatArray, least: float) -> float:
    n_groups = tried.shape[1]
    return height_for(n_groups if n_groups <= MOST_NAMES else len(_PERCENTILES), least)


# --- what is drawn of it ----------------------------------------------------------------------------------


def _draw_loss(axes: Axes, steps: History, measure: str) -> None:
    values, passes = _values_of(steps, measure), _values_of(steps, "passes")
    axes.plot(passes, values, "o", color="0.6", markersize=4, label="each step")
    axes.step(passes, np.minimum.accumulate(values), "-", where="post", color=ACCENT, label="lowest so far")
    if measure == "heldout_loss":
        k = chosen_step(steps)
        axes.plot(passes[k], values[k], "o", color=ACCENT, fillstyle="none", markersize=9, label="chosen")
    axes.set_xlabel("passes over the data")
    axes.set_ylabel(_MEASURES[measure])
    axes.set_xlim(left=0)
    if len(steps) > 1:
        axes.legend(frameon=False, fontsize=LABEL_SIZE + 1)
    tidy(axes)


def _plot_grid(
    path: Path, inches: tuple[float, float], measure: str, steps: History, tried: FloatArray
) -> Figure:
    """The loss over the precision that all groups share."""
    figure = new_figure(path, *inches)
    axes = figure.subplots()
    log2_precision, loss, label = tried[:, 0], _values_of(steps, measure), _MEASURES[measure]
    best = int(np.argmin(loss))
    axes.plot(log2_precision, loss, "o-", color=ACCENT, markersize=4)
    axes.plot(log2_precision[best], loss[best], "o", color=ACCENT, markersize=11, fillstyle="none")
    axes.set_title(
        f"{label}: {loss[best]:.5g} at precision {2 ** log2_precision[best]:.3g}", loc="left", fontsize=10
    )
    _set_log2_ticks(axes.xaxis)
    axes.set_xlabel(_PRECISION)
    axes.set_ylabel(label)
    tidy(axes)
    return finish(figure, path)


def _draw_precisions(axes: Axes, lines: FloatArray, names: Sequence[str], gap: float, chosen: int) -> None:
    """A line for each group, or percentiles of many, with names at their ends that are `gap` apart."""
    # more names than would fit beside the axes
    if lines.shape[1] > MOST_NAMES:
        names = ["median" if p == 50 else f"{p} %" for p in _PERCENTILES]
        lines = np.percentile(lines, _PERCENTILES, axis=1).T
    # ten colours, by the rank of a line's end, so that lines that end beside each other have different ones
    colors = [f"C{rank % 10}" for rank in np.argsort(np.argsort(lines[-1], kind="stable"))]
    for line, color in zip(lines.T, colors, strict=True):
        axes.plot(line, "o-", color=color, linewidth=1.3, markersize=2.5)
    # heights of names are shares of the axis, so its limits must be known and not change any more
    _set_log2_ticks(axes.yaxis)
    low, high = axes.get_ylim()
    margin = max(0.0, 2.0 - (high - low)) / 2  # two powers of two at least, so that there are ticks
    low, high = low - margin, high + margin
    axes.set_ylim(low, high)
    integer_ticks(axes.xaxis)
    axes.set_xlim(right=max(len(lines) - 1, 0.5))
    axes.set_ylabel(_PRECISION)
    tidy(axes)
    heights = (lines[-1] - low) / (high - low)
    for name, height, place, color in zip(names, heights, spread(heights, gap), colors, strict=True):
        style: dict[str, Any] = {"color": color, "transform": axes.transAxes}
        axes.plot([1.0, 1.06], [height, place], linewidth=0.7, clip_on=False, **style)
        style |= {"fontsize": LABEL_SIZE, "va": "center", "parse_math": False}
        axes.text(1.07, place, shortened(name, _LONGEST_NAME), **style)
    axes.axvline(chosen, color="0.3", linewidth=0.8, linestyle="--", zorder=0)
    axes.set_xlabel("step (dashed: the one chosen)")


def _set_log2_ticks(axis: Axis) -> None:
    """Write precisions on an axis that holds their binary logarithms."""
    integer_ticks(axis)
    axis.set_major_formatter(lambda value, _: f"$2^{{{value:g}}}$")
