"""Matplotlib figures as pictures in a page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from structune.html_reports.page import Picture
from structune.plots.figure import ACCENT, DPI, finish, integer_ticks, new_figure, tidy
from structune.structure import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INCH = 96  # pixels, as in style sheets
_MOST_BYTES = 60_000  # of a picture of lines; one of pixels takes less then
_MOST_PIXELS = 16_383  # of a side in WebP
_N_BARS, _N_STEPS = 20, 100  # of histograms; of probabilities that are counted


def picture(plot: Callable[..., Figure], alt: str, caption: str = "", scrolls: bool = False) -> Picture:
    """A picture of what `plot` saves to its argument `path`; `alt` describes it in words."""
    with TemporaryDirectory(prefix="structune-") as folder:
        # as SVG, which stays sharp, unless there is so much to draw that pixels take less
        path, mime = Path(folder) / "figure.svg", "svg+xml"
        figure = plot(path=path)
        fits = DPI * max(figure.get_size_inches()) <= _MOST_PIXELS
        if path.stat().st_size > _MOST_BYTES and fits:
            path, mime = path.with_suffix(".webp"), "webp"
            finish(figure, path)
        data = b64encode(path.read_bytes()).decode()
    # the size at which its texts are as large as those of the page
    width = round(_INCH * float(figure.get_size_inches()[0]))
    return Picture(f"data:image/{mime};base64,{data}", alt, width, caption, scrolls)


def scatter(x: ArrayLike, y: ArrayLike, xlabel: str, ylabel: str, caption: str = "", **style: Any) -> Picture:
    """A plot of scores in [0, 1], one point per example."""

    def draw(axes: Axes) -> None:
        how: dict[str, Any] = {"ls": "none", "alpha": 0.5} | style
        axes.plot(x, y, marker="o", color=ACCENT, ms=4, clip_on=False, **how)
        axes.set_ylim(0, 1)

    return chart(draw, xlabel, ylabel, caption)


line = partial(scatter, ls="-", alpha=1.0)  # scores that follow each other


def histogram(
    values: ArrayLike, xlabel: str, ylabel: str, caption: str = "", weights: ArrayLike | None = None
) -> Picture:
    """A histogram of scores in [0, 1], which may have weights, such as counts."""

    def draw(axes: Axes) -> None:
        bins = np.linspace(0, 1, _N_BARS + 1).tolist()
        axes.hist(values, bins, weights=weights, color=ACCENT, rwidth=0.9)
        axes.set_xlim(0, 1)
        integer_ticks(axes.yaxis)

    return chart(draw, xlabel, ylabel, caption)


class Probabilities:
    """Counts of probabilities, however many there are, for a histogram."""

    def __init__(self) -> None:
        self._counts = np.zeros(_N_STEPS)

    def add(self, values: ArrayLike) -> None:
        steps = np.minimum((_N_STEPS * np.asarray(values)).astype(np.int64), _N_STEPS - 1)
        self._counts += np.bincount(steps, minlength=_N_STEPS)

    def histogram(self, ylabel: str, caption: str) -> Picture:
        middles = (np.arange(_N_STEPS) + 0.5) / _N_STEPS
        return histogram(middles, "probability", ylabel, caption, self._counts)


def chart(
    draw: Callable[[Axes], None], xlabel: str, ylabel: str, caption: str, height: float = 3.2
) -> Picture:
    """A picture of what `draw` draws on axes; `height` is in inches."""

    def plot(path: Path) -> Figure:
        figure = new_figure(path, 4.5, height)
        axes = figure.subplots()
        draw(axes)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        tidy(axes)
        return finish(figure, path)

    return picture(plot, f"{ylabel} by {xlabel}", caption)


def reliability(predicted: FloatArray, observed: FloatArray, counts: IntArray, what: str) -> Picture:
    """Shares of right predictions by their probability, with 95% intervals (Wilson) and counts."""

    def draw(axes: Axes) -> None:
        scale = 1 + 1.96**2 / counts
        middle = (observed + (scale - 1) / 2) / scale
        half = 1.96 / scale * np.sqrt(observed * (1 - observed) / counts + (1.96 / counts) ** 2 / 4)
        axes.plot([0, 1], [0, 1], color="gray", lw=0.8, ls="--")
        axes.vlines(predicted, middle - half, middle + half, color=ACCENT, lw=1)
        axes.plot(predicted, observed, "o-", color=ACCENT, ms=4, lw=1, clip_on=False)
        for x, y, n in zip(predicted, middle - half, counts.tolist(), strict=True):
            axes.annotate(f"{n:,}", (x, y), (0, -9), textcoords="offset points", ha="center", fontsize=7)
        axes.set(xlim=(0, 1), ylim=(0, 1))

    return chart(draw, "predicted probability", "share right", what[:1].upper() + what[1:])
