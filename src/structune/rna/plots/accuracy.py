"""How well methods find base pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from structune.errors import DataError
from structune.plots.comparison import COLORS, MARKERS, check_number, put_legend
from structune.plots.figure import FloatArray, Path, finish, new_figure, tidy
from structune.rna.metrics import roc_area

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_sensitivity_ppv(curves: Mapping[str, tuple[ArrayLike, ArrayLike]], path: Path = None) -> Figure:
    """Sensitivity over PPV for several methods, with the area below (figure 3c of Do, Foo & Ng, NIPS 2007).

    Parameters
    ----------
    curves : mapping of str to (sensitivity, ppv), each of shape (n_points,)
        Such as `structune.rna.sensitivity_ppv_curve` gives. A method of one point has no area.
    path : path, optional
        Where to save the figure; the ending tells the format.

    Returns
    -------
    matplotlib.figure.Figure
        For pyplot to show, if there is no path. Dotted lines complete what `structune.rna.roc_area`
        measures.

    Raises
    ------
    StructuneError
        matplotlib is not installed, or there are no curves, more than 7, or one without points.
    """
    check_number(len(curves), "curves")
    areas = {name: roc_area(*curve) for name, curve in curves.items()}
    for name, (sensitivity, _) in curves.items():
        if not np.size(sensitivity):
            raise DataError(f"found no points for {name!r}, expected at least one")
    figure = new_figure(path, 5.5, 5.3 + 0.22 * len(curves))
    axes = figure.subplots()
    for k, (name, (sensitivity, ppv)) in enumerate(curves.items()):
        s, p = np.asarray(sensitivity, dtype=np.float64), np.asarray(ppv, dtype=np.float64)
        order = np.lexsort((-s, p))
        _draw_curve(axes, s[order], p[order], f"{name} (area {areas[name]:.3f})" if s.size > 1 else name, k)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="PPV", ylabel="sensitivity")
    tidy(axes)
    put_legend(figure, axes)
    return finish(figure, path)


def _draw_curve(axes: Axes, s: FloatArray, p: FloatArray, label: str, k: int) -> None:
    style: dict[str, Any] = {"color": COLORS[k], "clip_on": False}
    axes.plot(p, s, "-", marker=MARKERS[k], markersize=4.5, linewidth=1.4, label=label, zorder=3, **style)
    if s.size > 1:
        axes.plot(
            [0, p[0]], [s[0], s[0]], ":", [p[-1], p[-1]], [s[-1], 0], ":", linewidth=1, zorder=2, **style
        )
