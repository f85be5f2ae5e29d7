"""What tuning did, and the precisions that it chose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structune.errors import DataError
from structune.plots.figure import (
    ACCENT,
    LABEL_SIZE,
    FloatArray,
    Path,
    finish,
    height_for,
    integer_ticks,
    label_gap,
    new_figure,
    spread,
    tidy,
)
from structune.plots.learning import (
    History,
    chosen_step,
    draw_loss,
    label_of,
    measure_of,
    steps_of,
    values_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MOST_NAMES = 40
_LONGEST_NAME = 30  # letters beside a line
_PERCENTILES = (5, 25, 50, 75, 95)
_PRECISION = "precision (more is stronger regularisation)"


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
        return _grid_figure(path, (6.5, 4.5), measure, steps, tried)
    names, lines = _lines(tried, group_names)
    height = height_for(len(names), 4.5)
    if not lines.size:
        figure = new_figure(path, 6.5, height)
        draw_loss(figure.subplots(), steps, measure)
        return finish(figure, path)
    figure = new_figure(path, 12, height)
    left, right = figure.subplots(1, 2)
    draw_loss(left, steps, measure)
    _draw_precisions(right, lines, names, label_gap(height))
    _mark_step(right, _chosen(steps, measure))
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
        return _grid_figure(path, (4.5, 3.2), measure, steps, tried)
    names, lines = _lines(tried, group_names)
    height = height_for(len(names), 3.2)
    figure = new_figure(path, 4.5, height)
    axes = figure.subplots()
    _draw_precisions(axes, lines, names, label_gap(height))
    axes.set_ylabel("precision")  # more is longer than the axis
    _mark_step(axes, _chosen(steps, measure))
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
    if order.size > MOST_NAMES:
        title = f"{MOST_NAMES} of {order.size} precisions: the lowest and the highest"
        order = np.concatenate([order[: MOST_NAMES // 2], order[-(MOST_NAMES // 2) :]])
    figure = new_figure(path, 7, height_for(order.size, 2.0))
    axes = figure.subplots()
    _draw_bars(axes, values[order], [group_names[j] for j in order])
    axes.set_title(title, loc="left", fontsize=10)
    return finish(figure, path)


def _tried(history: History, group_names: Sequence[str]) -> tuple[str, History, FloatArray]:
    """What the history measured, the steps, and their precisions, as `_log2_precisions` gives them."""
    measure = measure_of(history)
    steps = steps_of(history, measure)
    return measure, steps, _log2_precisions(steps, group_names)


def _grid_figure(
    path: Path, inches: tuple[float, float], measure: str, steps: History, tried: FloatArray
) -> Figure:
    figure = new_figure(path, *inches)
    _draw_grid(figure.subplots(), tried[:, 0], values_of(steps, measure), label_of(measure))
    return finish(figure, path)


def _chosen(steps: History, measure: str) -> int:
    """The step whose precisions were kept; of those without held-out losses the last."""
    return chosen_step(steps) if measure == "heldout_loss" else len(steps) - 1


def _log2_precisions(steps: History, group_names: Sequence[str]) -> FloatArray:
    """Shape (n_steps, n_groups); no rows where the tuner does not report precisions."""
    rows = [record["log_precision"] for record in steps if "log_precision" in record]
    if any(len(row) != len(group_names) for row in rows):
        raise DataError(f"found {len(group_names)} group names, expected {len(rows[0])}, as in the history")
    return np.asarray(np.reshape(rows, (-1, len(group_names))) / np.log(2))


def _is_grid(steps: History, tried: FloatArray) -> bool:
    """Whether the steps are values of one precision."""
    return steps[0]["stage"] == "grid" and bool(np.all(tried == tried[:, :1]))


def _lines(tried: FloatArray, group_names: Sequence[str]) -> tuple[list[str], FloatArray]:
    """The lines to draw: all groups, or percentiles of many."""
    if tried.shape[1] <= MOST_NAMES:
        return list(group_names), tried
    names = ["median" if p == 50 else f"{p} %" for p in _PERCENTILES]
    return names, np.percentile(tried, _PERCENTILES, axis=1).T if tried.size else tried


def _draw_grid(axes: Axes, log2_precision: FloatArray, loss: FloatArray, label: str) -> None:
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


def _draw_precisions(axes: Axes, lines: FloatArray, names: Sequence[str], gap: float) -> None:
    colors = _colors(lines[-1])
    for line, color in zip(lines.T, colors, strict=True):
        axes.plot(line, "o-", color=color, linewidth=1.3, markersize=2.5)
    _set_log2_ticks(axes.yaxis)
    _widen(axes, 2.0)
    integer_ticks(axes.xaxis)
    axes.set_xlim(right=max(len(lines) - 1, 0.5))
    axes.set_ylabel(_PRECISION)
    tidy(axes)
    low, high = axes.get_ylim()
    _label_ends(axes, (lines[-1] - low) / (high - low), names, colors, gap)


def _mark_step(axes: Axes, step: int) -> None:
    axes.axvline(step, color="0.3", linewidth=0.8, linestyle="--", zorder=0)
    axes.set_xlabel("step (dashed: the one chosen)")


def _widen(axes: Axes, least: float) -> None:
    """Make the vertical axis span at least this much, so that it has ticks."""
    low, high = axes.get_ylim()
    margin = max(0.0, least - (high - low)) / 2
    axes.set_ylim(low - margin, high + margin)


def _colors(ends: FloatArray) -> list[Any]:
    """A colour for each line, unlike that of the lines that end beside it."""
    ranks = np.argsort(np.argsort(ends, kind="stable"))
    return [f"C{rank % 10}" for rank in ranks]


def _label_ends(
    axes: Axes, heights: FloatArray, names: Sequence[str], colors: Sequence[Any], gap: float
) -> None:
    """Each line's name to its right, moved apart, and joined to the line."""
    places = spread(heights, gap, 0.0, 1.0)
    for name, height, place, color in zip(names, heights, places, colors, strict=True):
        leader = {"color": color, "linewidth": 0.7, "clip_on": False, "transform": axes.transAxes}
        axes.plot([1.0, 1.06], [height, place], **leader)
        axes.text(
            1.07,
            place,
            name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…",
            color=color,
            fontsize=LABEL_SIZE,
            va="center",
            transform=axes.transAxes,
            parse_math=False,
        )


def _draw_bars(axes: Axes, values: FloatArray, names: Sequence[str]) -> None:
    """Bars from 1: to the right is more than a standard Gaussian prior, to the left less."""
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


def _set_log2_ticks(axis: Axis) -> None:
    """Write precisions on an axis that holds their binary logarithms."""
    integer_ticks(axis)
    axis.set_major_formatter(lambda value, _: f"$2^{{{value:g}}}$")
