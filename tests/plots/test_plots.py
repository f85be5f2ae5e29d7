"""Figures say what they should; whether they look good was for eyes to judge."""

import sys
from itertools import pairwise

import numpy as np
import pytest

from structune.errors import DataError, StructuneError
from structune.genes import plot_genes
from structune.learning.tuning.problem import mark_chosen
from structune.plots import (
    plot_learning_curve,
    plot_penalties,
    plot_precision_course,
    plot_precisions_by_method,
    plot_sensitivity,
    plot_tuning,
)
from structune.plots.figure import check_path

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")
NAMES = ["w[0]", "$5 : B-NP", "transitions"]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


def steps(stage, n, **values):
    """Records of as many steps as asked for, each with the values that functions of its number have."""
    return [{"stage": stage, **{name: value(t) for name, value in values.items()}} for t in range(n)]


def implicit(n_groups=3):
    told = {"heldout_loss": lambda t: 9.0 - t % 3, "log_precision": lambda t: [t / 9] * n_groups}
    tuned = steps("implicit", 4, passes=lambda t: 10.0 * t, **told)
    return [*tuned, {"stage": "refit", "passes": 99.0, "objective": 3.0}]


def majorize():
    told = {"objective": lambda t: 9.0 - t, "log_precision": lambda t: [t, -t, 0.0]}
    return steps("majorize", 3, passes=lambda t: 10.0 * t, **told)


def grid(constant=True):
    told = {"heldout_loss": lambda t: (t - 2) ** 2 + 1.0}
    return steps("grid", 5, passes=float, log_precision=lambda t: [t - 2, t - 2, (t - 2) * constant], **told)


def texts(axes):
    return {text.get_text() for text in axes.texts}


@pytest.mark.parametrize(
    ("history", "loss"),
    [(implicit(), "held-out loss"), (majorize(), "objective"), (grid(constant=False), "held-out loss")],
)
def test_plot_tuning(history, loss):
    left, right = plot_tuning(history, NAMES).axes
    assert left.get_ylabel() == loss
    assert texts(right) == set(NAMES)


def test_the_chosen_step_is_marked():
    figure = plot_tuning(implicit(), NAMES)  # losses 9, 8, 7, 9
    assert figure.axes[1].get_lines()[-1].get_xdata()[0] == 2
    assert plot_tuning(majorize(), NAMES).axes[1].get_lines()[-1].get_xdata()[0] == 2
    history = implicit()
    mark_chosen(history, np.full(3, 1 / 9))
    assert plot_tuning(history, NAMES).axes[1].get_lines()[-1].get_xdata()[0] == 1


def test_a_grid_of_one_precision_is_drawn_over_it():
    (axes,) = plot_tuning(grid(), NAMES).axes
    assert "held-out loss: 1 at penalty 1" in axes.get_title("left")


def test_without_precisions_there_is_one_panel():
    assert len(plot_tuning([{"stage": "direct", "passes": 5.0, "objective": 3.0}], NAMES).axes) == 1


def test_many_groups_are_drawn_as_percentiles():
    names = [f"group {j}" for j in range(50)]
    assert texts(plot_tuning(implicit(50), names).axes[1]) == {"5 %", "25 %", "median", "75 %", "95 %"}


def fit():
    """With constraints, and fits within whose objective is another."""
    fitted = steps("fit", 3, passes=float, objective=lambda t: 9.0 - t)
    rounds = [{"stage": "saddle point", "objective": 7.0, "violation": v} for v in (2.0, 0.0)]
    end = {"stage": "constrained fit", "passes": 99.0, "objective": 7.0, "constraint_values": [0.0]}
    return [*fitted, *rounds, end]


def test_learning_curves():
    for history, passes in ((implicit(), [0, 10, 20, 30]), (majorize(), [0, 10, 20]), (fit(), [0, 1, 2])):
        axes = plot_learning_curve(history).axes[0]
        assert axes.get_lines()[0].get_xdata().tolist() == passes
    _, below = plot_learning_curve(fit()).axes
    assert below.get_lines()[0].get_ydata().tolist() == [2.0, 0.0]
    within = [{"stage": "cccp", "passes": 1.0, "objective": 5.0}, *majorize()]
    assert len(plot_learning_curve(within).axes[0].get_lines()[0].get_xdata()) == 3
    with pytest.raises(DataError, match="neither a held-out loss nor an objective"):
        plot_learning_curve([])


def test_the_course_of_precisions():
    (axes,) = plot_precision_course(implicit(), NAMES).axes
    assert texts(axes) == set(NAMES)
    (axes,) = plot_precision_course(grid(), NAMES).axes
    assert "at penalty 1" in axes.get_title("left")
    with pytest.raises(DataError, match="history has no penalties"):
        plot_precision_course(fit(), NAMES)


def test_long_names_leave_room_for_lines():
    names = ["w[0]|" * 30, *NAMES[1:]]
    (axes,) = plot_precision_course(implicit(), names).axes
    assert ("w[0]|" * 30)[:29] + "…" in texts(axes)
    axes.figure.draw_without_rendering()
    assert axes.get_position().width > 0.4


def test_labels_do_not_overlap():
    names = [f"pos[{j}]" for j in range(40)]
    figure = plot_tuning(implicit(40), names)
    figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in figure.axes[1].texts), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))
    assert boxes[0].y0 >= 0
    assert boxes[-1].y1 <= figure.bbox.y1


def test_plot_penalties_sorts():
    axes = plot_penalties([4.0, 1.0, 0.5], NAMES).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [NAMES[2], NAMES[1], NAMES[0]]
    assert texts(axes) == {"4", "1", "0.5"}


def test_plot_penalties_of_many_groups():
    values = np.arange(1.0, 101.0)
    axes = plot_penalties(values, [str(value) for value in values]).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()][19:21] == ["20.0", "81.0"]
    assert "40 of 100" in axes.get_title("left")


def test_what_is_refused():
    for penalty in ([1.0, 2.0], [1.0, 2.0, 0.0], [1.0, np.nan, 1.0]):
        with pytest.raises(DataError, match="penalty must have one finite number > 0 for each group name"):
            plot_penalties(penalty, NAMES)
    with pytest.raises(DataError, match="neither"):
        plot_tuning([{"stage": "fit"}], NAMES)
    with pytest.raises(DataError, match="there are 2 group names, but 3"):
        plot_tuning(implicit(), NAMES[:2])
    with pytest.raises(DataError, match=r"a\.foo.*png"):
        check_path("a.foo")


def test_matplotlib_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(StructuneError, match=r"pip install 'structune\[plots\]'"):
        plot_penalties([1.0], ["all"])
    with pytest.raises(StructuneError, match=r"pip install 'structune\[plots\]'"):
        plot_genes({"known": []}, 0, 10)


def test_sensitivity_has_a_panel_for_each_set(tmp_path):
    table = np.array([[0.9, 0.8, 0.7], [0.5, 0.6, 0.7]])
    accuracy = dict.fromkeys(("iris", "wine", "glass", "dna"), table)
    figure = plot_sensitivity(accuracy, (0.5, 2.0), (1.0, 2.0, 4.0), tmp_path / "figure.png")
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in panels] == [f"{name}, best 90.0 %" for name in accuracy]
    np.testing.assert_allclose(panels[0].images[0].get_array(), 100 * (table - 0.9))
    assert (tmp_path / "figure.png").stat().st_size > 0
    for wrong, message in (({}, "accuracy is empty"), ({"iris": [[1.0]]}, r"iris: the shape .*not \(1, 1\)")):
        with pytest.raises(DataError, match=message):
            plot_sensitivity(wrong, (0.5, 2.0), (1.0, 2.0, 4.0))


def test_plot_precisions_by_method():
    names = ["hairpin $", "bulge"]
    figure = plot_precisions_by_method(names, {"A": [1.0, 4.0], "B": [[1.0, 2.0], [4.0, 2.0]]})
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    assert axes.get_lines()[1].get_xdata() == pytest.approx([2, 2])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A", "B"]
    figure.canvas.draw()


@pytest.mark.parametrize("values", [[1.0], [1.0, 0.0], [[1.0, 2.0, 3.0]], [np.inf, 1.0], np.ones((1, 1, 2))])
def test_wrong_precisions(values):
    with pytest.raises(DataError, match="'A'"):
        plot_precisions_by_method(["a", "b"], {"A": values})
