"""Figures, and labels that do not overlap."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import DataError, StructuneError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]
Path = str | os.PathLike[str] | None
LABEL_SIZE = 8
ACCENT = "#3b6ea5"
CONTRAST = "#b3541e"
# Okabe & Ito's colours, which the colour-blind tell apart, without yellow; markers tell more.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00")
MARKERS = "osD^vPX"
_LABEL_INCHES = 1.4 * LABEL_SIZE / 72
_FRAME_INCHES = 1.0  # what the axis below and the title take
DPI = 150  # of figures that are saved as pixels
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff]")  # most of them make SVG invalid


def new_figure(path: Path, width: float, height: float) -> Figure:
    """A new figure to save; or, without a path, one that pyplot can show."""
    if path is not None:
        check_path(path)
    pyplot, figure = _matplotlib()
    # pyplot keeps its figures until they are closed, which nobody does with those of commands
    make: Any = pyplot.figure if path is None else figure
    return make(figsize=(width, height), layout="constrained")  # type: ignore[no-any-return]


def check_path(path: str | os.PathLike[str]) -> None:
    """Raise `StructuneError` if matplotlib is not installed or cannot write a file with this ending."""
    _, figure = _matplotlib()
    known = figure().canvas.get_supported_filetypes()
    ending = os.path.splitext(path)[1].removeprefix(".").lower()
    if ending not in known:
        raise DataError(f"{os.fspath(path)}: the name must end in one of {', '.join(sorted(known))}")


def _matplotlib() -> tuple[Any, Any]:
    """The module pyplot, and the class of figures that it does not keep."""
    try:
        from matplotlib import pyplot
        from matplotlib.figure import Figure
    except ImportError:
        raise StructuneError("plots need matplotlib. Run: pip install 'structune[plots]'") from None
    return pyplot, Figure


def finish(figure: Figure, path: Path) -> Figure:
    if path is not None:
        figure.savefig(path, dpi=DPI)
    return figure


def printable(text: str) -> str:
    """A text without what no font has: control characters, lone surrogates of bytes that were not UTF-8."""
    return _CONTROL.sub("?", text.encode("utf-8", "replace").decode())


def shortened(text: str, most: int) -> str:
    """A printable text of at most so many characters."""
    text = printable(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def tidy(axes: Axes) -> None:
    """No box, a light grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)


def integer_ticks(axis: Axis) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def height_for(n_labels: int, least: float) -> float:
    """Inches for a figure with this many labels above each other, with room to move them."""
    return max(least, _FRAME_INCHES + 1.3 * n_labels * _LABEL_INCHES)


def label_gap(figure_height: float) -> float:
    """Height of a label, as a share of the axes'."""
    return _LABEL_INCHES / (figure_height - _FRAME_INCHES)


def spread(wanted: FloatArray, gap: float) -> FloatArray:
    """Positions within [0, 1] as near to `wanted` as can be that are `gap` apart.

    Least squares: isotonic regression of what is left when the gaps are taken out.
    """
    # p_k + gap <= p_(k+1) is q_k <= q_(k+1) for q_k = p_k - k gap; clipping q to a range keeps its order
    order = np.argsort(wanted, kind="stable")
    offsets = gap * np.arange(wanted.size)
    fitted = scipy.optimize.isotonic_regression(wanted[order] - offsets).x
    positions = np.empty(wanted.size)
    positions[order] = np.clip(fitted, 0.0, max(0.0, 1.0 - gap * (wanted.size - 1))) + offsets
    return positions


def check_number(n: int, what: str) -> None:
    """Refuse more than there are colors, or none."""
    if not 1 <= n <= len(COLORS):
        raise DataError(f"this figure can show 1 to {len(COLORS)} {what}, not {n}")


def put_legend(figure: Figure) -> None:
    legend = figure.legend(loc="outside lower center", frameon=False, fontsize=LABEL_SIZE + 1)
    for text in legend.get_texts():
        text.set_parse_math(False)
