"""Figures of training and tuning, of the chosen penalties, and of comparisons between methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from structune.errors import DataError
from structune.plots.figure import (
    ACCENT,
    COLORS,
    CONTRAST,
    LABEL_SIZE,
    MARKERS,
    FloatArray,
    Path,
    check_number,
    finish,
    height_for,
    integer_ticks,
    label_gap,
    new_figure,
    put_legend,
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
_COLUMNS, _PANEL = 3, 2.6  # panels in a row, and inches of one
_PRECISION = "penalty (higher: stronger regularization)"


def plot_learning_curve(history: History, path: Path = None) -> Figure:
    """Plot the held-out loss of tuning, or the objective of training, against passes over the data.

    With constraints, their violation is plotted below.

    Parameters
    ----------
    history : list of dict
        The ``history_`` of an estimator.
    path : path, optional
        File to save the figure to; its ending sets the format. Without it, pyplot can show the figure.

    Raises
    ------
    StructuneError
        matplotlib is not installed, or the history holds nothing to draw.
    """
    measure, steps = _measured(history)
    rounds = [record for record in history if record["stage"] == "saddle point"]
    figure = new_figure(path, 4.5, 5.6 if rounds else 3.2)
    first, *below = figure.subplots(1 + bool(rounds), squeeze=False)[:, 0]
    _draw_loss(first, steps, measure)
    # rounds of the saddle point search are counted, not measured in passes: they have axes of their own
    for axes in below:
        violations = _values_of(rounds, "violation")
        axes.plot(np.arange(1, len(rounds) + 1), violations, "o-", color=CONTRAST, markersize=4)
        axes.set(xlabel="round of the saddle point search", ylabel="violation of constraints")
        axes.set_ylim(bottom=0)
        integer_ticks(axes.xaxis)
        tidy(axes)
    return finish(figure, path)


def plot_tuning(history: History, group_names: Sequence[str], path: Path = None) -> Figure:
    """Plot the held-out loss (or objective) of tuning, and the penalties that it tried.

    Parameters
    ----------
    history : list of dict
        The ``history_`` of an estimator.
    group_names : sequence of str
        Its ``group_names_``. For more than 40 groups, percentiles are drawn.
    path : path, optional
        File to save the figure to; its ending sets the format. Without it, pyplot can show the figure.

    Raises
    ------
    StructuneError
        matplotlib is not installed, or the history holds nothing to draw.
    """
    return _plot_steps(history, group_names, path, with_loss=True)


def plot_precision_course(history: History, group_names: Sequence[str], path: Path = None) -> Figure:
    """Plot the penalties of each tuning step or, for tuning="grid", the held-out loss of each penalty.

    Parameters
    ----------
    history, group_names, path
        As in `plot_tuning`.

    Raises
    ------
    StructuneError
        matplotlib is not installed, or the history holds no penalties.
    """
    return _plot_steps(history, group_names, path, with_loss=False)


def plot_penalties(penalty: Any, group_names: Sequence[str], path: Path = None) -> Figure:
    """Plot tuned penalties as bars on a logarithmic scale, with the most regularized group at the top.

    Parameters
    ----------
    penalty : array-like, shape (n_groups,)
        The ``penalty_`` of an estimator.
    group_names : sequence of str
        Its ``group_names_``. For more than 40 groups, the 20 highest and the 20 lowest are drawn.
    path : path, optional
        File to save the figure to; its ending sets the format. Without it, pyplot can show the figure.

    Raises
    ------
    StructuneError
        matplotlib is not installed, or `penalty` does not have one finite number > 0 for each name.
    """
    values = np.asarray(penalty, dtype=np.float64)
    if values.shape != (len(group_names),) or not np.all(np.isfinite(values) & (values > 0)):
        raise DataError(f"penalty must have one finite number > 0 for each group name, not {penalty!r}")
    order = np.argsort(values, kind="stable")
    title = "penalties"
    # the extremes tell most: what is held down, and what is free
    if order.size > MOST_NAMES:
        title = f"{MOST_NAMES} of {order.size} penalties: the lowest and the highest"
        order = np.concatenate([order[: MOST_NAMES // 2], order[-(MOST_NAMES // 2) :]])
    figure = new_figure(path, 7, height_for(order.size, 2.0))
    axes = figure.subplots()
    values, names = values[order], [group_names[j] for j in order]
    # bars from 1: to the right is more than a standard Gaussian prior, to the left less
    bars = axes.barh(range(len(names)), values - 1, left=1, color=ACCENT, height=0.7)
    axes.bar_label(bars, [f"{value:.3g}" for value in values], padding=3, fontsize=LABEL_SIZE)
    _set_precision_axes(axes, names)
    axes.set_xlim(min(values.min(), 1) / 3, max(values.max(), 1) * 3)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_title(title, loc="left", fontsize=10)
    return finish(figure, path)


def plot_precisions_by_method(
    group_names: Sequence[str], precisions: Mapping[str, ArrayLike], path: Path = None
) -> Figure:
    """Plot the penalties of each group for several methods (figure 3b of Do, Foo & Ng, NIPS 2007).

    The first group is at the top; the scale is logarithmic.

    Parameters
    ----------
    group_names : sequence of str
        The ``group_names_`` of the estimators.
    precisions : mapping of str to array-like, shape (n_groups,) or (n_folds, n_groups)
        The ``penalty_`` of each method. Several folds are faint points; the marker is their geometric mean.
    path : path, optional
        File to save the figure to; its ending sets the format. Without it, pyplot can show the figure.

    Raises
    ------
    StructuneError
        matplotlib is not installed, there are no methods or more than 7, or the penalties of a method have
        another shape or are not finite numbers > 0.
    """
    check_number(len(precisions), "methods")
    logs = dict[str, FloatArray]()
    for name, values in precisions.items():
        given = np.asarray(values, dtype=np.float64)
        table = np.atleast_2d(given)  # a row for each fold
        if table.ndim != 2 or not table.size or table.shape[1] != len(group_names):
            raise DataError(
                f"penalties of {name!r}: the shape is {given.shape} for {len(group_names)} groups"
            )
        if not np.all(np.isfinite(table) & (table > 0)):
            raise DataError(f"penalties of {name!r}: all must be finite numbers > 0")
        logs[name] = np.log2(table)
    rows = np.arange(len(group_names))
    # methods of a group stand below each other within half of its band
    offsets = 0.5 * (np.arange(len(logs)) - (len(logs) - 1) / 2) / len(logs)
    # a third of a label for each method, beside two for what is between groups, and a line of the legend
    figure = new_figure(path, 7, height_for(rows.size * (len(logs) + 2) // 3, 2.0) + 0.22 * len(logs))
    axes = figure.subplots()
    for k, (name, log2) in enumerate(logs.items()):
        style: dict[str, Any] = {"color": COLORS[k], "marker": MARKERS[k], "linestyle": "none"}
        places = rows + offsets[k]
        # the mean of logarithms is the geometric mean
        axes.plot(2 ** log2.mean(axis=0), places, markersize=5, label=name, zorder=3, **style)
        if len(log2) > 1:
            axes.plot(2**log2.T, places, markersize=3, alpha=0.35, zorder=2, **style)
    for row in range(0, rows.size, 2):  # a band for each group, every other one shaded
        axes.axhspan(row - 0.5, row + 0.5, color="0.95", linewidth=0, zorder=0)
    axes.set_xscale("log", base=2)  # first: limits are those of points, not of the line at 1
    low, high = axes.get_xlim()
    axes.set_xlim(low / 1.3, high * 1.3)
    _set_precision_axes(axes, group_names)
    axes.set_ylim(rows.size - 0.5, -0.5)
    put_legend(figure)
    return finish(figure, path)


def plot_sensitivity(
    accuracy: Mapping[str, ArrayLike], alpha: Sequence[float], beta: Sequence[float], path: Path = None
) -> Figure:
    """Plot accuracies by shape and rate of the Gamma prior (section 4 of Foo, Do & Ng, ICML 2009).

    Colors show the difference from the best accuracy of each panel, in percentage points.

    Parameters
    ----------
    accuracy : mapping of str to array-like, shape (n_alpha, n_beta)
        Accuracies by name of the data set; each gets a panel.
    alpha, beta : sequences of float
        Shapes and rates of the prior, powers of two.
    path : path, optional
        File to save the figure to; its ending sets the format. Without it, pyplot can show the figure.

    Raises
    ------
    StructuneError
        matplotlib is not installed, `accuracy` is empty, or a table has the wrong shape.
    """
    if not accuracy:
        raise DataError("accuracy is empty: give at least one table")
    n_rows = -(-len(accuracy) // _COLUMNS)
    figure = new_figure(path, _PANEL * _COLUMNS + 1.2, _PANEL * n_rows + 0.4)
    panels = figure.subplots(n_rows, _COLUMNS, squeeze=False, sharex=True, sharey=True)
    for axes in panels.flat[len(accuracy) :]:
        axes.set_visible(False)
    for axes, (name, rows) in zip(panels.flat, accuracy.items(), strict=False):
        table = np.asarray(rows, dtype=np.float64)
        if table.shape != (len(alpha), len(beta)):
            raise DataError(f"{name}: the shape must be {(len(alpha), len(beta))}, not {table.shape}")
        # in points below the best of the panel, so that panels share a scale
        image = axes.imshow(100 * (table - table.max()), origin="lower", vmin=-20, vmax=0, cmap="YlGnBu_r")
        axes.set_title(f"{name}, best {100 * table.max():.1f} %", fontsize=9)
        axes.set_xticks(range(0, len(beta), 2), [f"$2^{{{np.log2(b):.0f}}}$" for b in beta[::2]])
        axes.set_yticks(range(0, len(alpha), 2), [f"$2^{{{np.log2(a):.0f}}}$" for a in alpha[::2]])
    figure.supxlabel("beta")
    figure.supylabel("alpha")
    figure.colorbar(image, ax=panels, label="points below the best", extend="min", shrink=0.6)
    return finish(figure, path)


# --- steps --------------------------------------------------------------------------------------------------


def chosen_step(steps: History) -> int:
    """Index of the record whose penalties were kept: the last one marked, or that of the lowest loss."""
    marked = [k for k, step in enumerate(steps) if "chosen" in step]
    losses = [step["heldout_loss"] for step in steps]
    return marked[-1] if marked else losses.index(min(losses))


def _measured(history: History) -> tuple[str, History]:
    """The name of the measure, and the records of the tuner, or of the fit without one."""
    measure = next((key for key in _MEASURES if any(key in record for record in history)), None)
    if measure is None:
        raise DataError("history has neither a held-out loss nor an objective")
    # tuners record precisions beside losses; without a tuner, the records are those of the fit
    measured = [record for record in history if measure in record and "passes" in record]
    of_tuner = [record for record in measured if "log_precision" in record]
    return measure, of_tuner or [record for record in measured if "constraint_values" not in record]


def _values_of(records: History, key: str) -> FloatArray:
    return np.array([record[key] for record in records], dtype=np.float64)


def _plot_steps(history: History, group_names: Sequence[str], path: Path, with_loss: bool) -> Figure:
    """Plot the penalties of each step, and optionally the loss; for a grid, only its losses."""
    measure, steps = _measured(history)
    rows = [record["log_precision"] for record in steps if "log_precision" in record]
    if any(len(row) != len(group_names) for row in rows):
        raise DataError(f"there are {len(group_names)} group names, but {len(rows[0])} groups in history")
    if not (rows or with_loss):
        raise DataError("history has no penalties")
    # binary logarithms, shape (n_steps, n_groups); no rows where the tuner does not report precisions
    tried: FloatArray = np.reshape(rows, (-1, len(group_names))) / np.log(2)
    width, height = (6.5, 4.5) if with_loss else (4.5, 3.2)
    if steps[0]["stage"] == "grid" and np.all(tried == tried[:, :1]):
        figure = new_figure(path, width, height)
        axes, log2, label = figure.subplots(), tried[:, 0], _MEASURES[measure]
        loss = _values_of(steps, measure)
        best = int(np.argmin(loss))
        axes.plot(log2, loss, "o-", color=ACCENT, markersize=4)
        axes.plot(log2[best], loss[best], "o", color=ACCENT, markersize=11, fillstyle="none")
        title = f"{label}: {loss[best]:.5g} at penalty {2 ** log2[best]:.3g}"
        axes.set_title(title, loc="left", fontsize=10)
        _set_log2_ticks(axes.xaxis)
        axes.set(xlabel=_PRECISION, ylabel=label)
        tidy(axes)
        return finish(figure, path)
    n_names = tried.shape[1] if tried.shape[1] <= MOST_NAMES else len(_PERCENTILES)
    height = height_for(n_names, height)
    figure = new_figure(path, 12 if rows and with_loss else width, height)
    panels = figure.subplots(1, with_loss + bool(rows), squeeze=False)[0].tolist()
    if with_loss:
        _draw_loss(panels.pop(0), steps, measure)
    for axes in panels:
        chosen = chosen_step(steps) if measure == "heldout_loss" else len(steps) - 1
        _draw_precisions(axes, tried, group_names, label_gap(height), chosen)
        axes.set_ylabel(_PRECISION if with_loss else "penalty")  # the long label is longer than a low axis
    return finish(figure, path)


def _draw_loss(axes: Axes, steps: History, measure: str) -> None:
    values, passes = _values_of(steps, measure), _values_of(steps, "passes")
    axes.plot(passes, values, "o", color="0.6", markersize=4, label="each step")
    axes.step(passes, np.minimum.accumulate(values), "-", where="post", color=ACCENT, label="lowest so far")
    if measure == "heldout_loss":
        k = chosen_step(steps)
        axes.plot(passes[k], values[k], "o", color=ACCENT, fillstyle="none", markersize=9, label="chosen")
    axes.set(xlabel="passes over the data", ylabel=_MEASURES[measure])
    axes.set_xlim(left=0)
    if len(steps) > 1:
        axes.legend(frameon=False, fontsize=LABEL_SIZE + 1)
    tidy(axes)


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
    tidy(axes)
    heights = (lines[-1] - low) / (high - low)
    for name, height, place, color in zip(names, heights, spread(heights, gap), colors, strict=True):
        style: dict[str, Any] = {"color": color, "transform": axes.transAxes}
        axes.plot([1.0, 1.06], [height, place], linewidth=0.7, clip_on=False, **style)
        style |= {"fontsize": LABEL_SIZE, "va": "center", "parse_math": False}
        axes.text(1.07, place, shortened(name, _LONGEST_NAME), **style)
    axes.axvline(chosen, color="0.3", linewidth=0.8, linestyle="--", zorder=0)
    axes.set_xlabel("step (dashed: chosen)")


def _set_precision_axes(axes: Axes, names: Sequence[str]) -> None:
    """Precisions to the right on a logarithmic scale, groups below each other."""
    axes.set_xscale("log", base=2)
    axes.axvline(1, color="0.3", linewidth=0.8, zorder=1)  # the precision of a standard Gaussian prior
    axes.set_yticks(range(len(names)), names, fontsize=LABEL_SIZE, parse_math=False)
    axes.set_xlabel(_PRECISION)
    tidy(axes)
    axes.grid(visible=False, axis="y")


def _set_log2_ticks(axis: Axis) -> None:
    """Write precisions on an axis that holds their binary logarithms."""
    integer_ticks(axis)
    axis.set_major_formatter(lambda value, _: f"$2^{{{value:g}}}$")
