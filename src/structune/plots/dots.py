"""Dot plots: a square for each pair of residues of two sequences, or of one with itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from structune.errors import DataError
from structune.plots.figure import CONTRAST, FloatArray, Path, new_figure, printable

if TYPE_CHECKING:
    from matplotlib.axis import Axis

# its lightness falls steadily, and it keeps to hues that the colour-blind tell apart
PROBABILITY_MAP = "YlGnBu"
LEAST_PROBABILITY = 1e-3
ON_TOP = CONTRAST  # of what is known or predicted, beside the probabilities
_SIDE, _LEAST_SIDE = 6.0, 1.6  # inches of the longer side, about, and of the other at least
_LEAST_POINTS = 2.0  # side of a square
_LEAST_LETTER = 5.0
_MOST_VECTORS = 500  # residues of a sequence


def within_unit(probabilities: FloatArray) -> FloatArray:
    """Probabilities, checked, without what rounding added to them."""
    if not np.all((probabilities >= -1e-6) & (probabilities <= 1 + 1e-6)):
        raise DataError("all probabilities must be numbers from 0 to 1")
    return np.clip(probabilities, 0, 1)


class DotPlot:
    """Axes of two sequences: the first one downward, the second to the right, both from 1."""

    def __init__(self, path: Path, down: str, right: str) -> None:
        n, m = len(down), len(right)
        self._rasterized = max(n, m) > _MOST_VECTORS
        height, width = (max(_LEAST_SIDE, _SIDE * k / max(n, m)) for k in (n, m))
        # half of the width and height of a square: those of a residue's cell, or what is seen on paper
        points = 72 * np.array([width, height])
        self.half: FloatArray = np.maximum(0.5, _LEAST_POINTS / 2 * np.array([m, n]) / points)
        self.figure = new_figure(path, width + 1.6, height + 0.8)
        self.figure.set_layout_engine("compressed")  # else labels of axes of fixed shape are cut off
        self.axes = self.figure.subplots()
        # squares are square unless one sequence is so much longer that the other side would be a line
        aspect = "equal" if _SIDE * min(n, m) >= _LEAST_SIDE * max(n, m) else "auto"
        self.axes.set(xlim=(0.5, m + 0.5), ylim=(n + 0.5, 0.5), aspect=aspect)
        self.axes.grid(alpha=0.25, linewidth=0.6)
        self.axes.set_axisbelow(True)
        _set_ticks(self.axes.yaxis, n, height)
        _set_ticks(self.axes.xaxis, m, width)
        self._write_letters(down, height, -1)
        self._above = self._write_letters(right, width)

    def probabilities(self, table: FloatArray, label: str) -> None:
        """Draw what is probable enough in shades, the most probable on top."""
        from matplotlib import colormaps
        from matplotlib.colors import ListedColormap

        # drawn in the order of their probabilities, so that the most probable are on top
        i, j = np.nonzero(table >= LEAST_PROBABILITY)
        order = np.argsort(table[i, j], kind="stable")
        i, j = i[order], j[order]
        shades = ListedColormap(colormaps[PROBABILITY_MAP](np.linspace(0.15, 1, 256)))  # that show on white
        squares = self.squares(i, j, array=table[i, j], cmap=shades, clim=(0, 1))
        self.figure.colorbar(squares, ax=self.axes, shrink=0.6, aspect=25, label=label)

    def squares(self, row: ArrayLike, column: ArrayLike, **style: Any) -> Any:
        """Draw a square at each of these residues, from 0."""
        from matplotlib.collections import PolyCollection

        # one collection, not an artist for each of perhaps thousands of pairs
        corners = self.half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        centers: FloatArray = np.column_stack([column, row]) + 1.0
        outlines: Any = centers[:, None] + corners
        squares = PolyCollection(outlines, linewidths=0, rasterized=self._rasterized, zorder=2, **style)
        self.axes.add_collection(squares)
        return squares

    def title(self, text: str | None) -> None:
        """Write a title as it is, above the letters."""
        if text is not None:
            above = 6 + self._above
            self.axes.set_title(printable(text), loc="left", fontsize=10, pad=above, parse_math=False)

    def _write_letters(self, sequence: str, inches: float, turn: int = 1) -> float:
        """The letters, above or (for -1) to the right, where they can be read; points that they take."""
        size = min(10.0, 0.7 * 72 * inches / len(sequence))
        if size < _LEAST_LETTER:
            return 0.0
        style: dict[str, Any] = {"fontsize": size, "color": "0.3", "ha": "center", "va": "center"}
        style |= {"xycoords": ("data", "axes fraction")[::turn], "textcoords": "offset points"}
        for k, letter in enumerate(sequence, 1):
            at: Any = (k, 1)[::turn], (0, size)[::turn]
            self.axes.annotate(letter, *at, parse_math=False, **style)
        return 1.5 * size


def _set_ticks(axis: Axis, n: int, inches: float) -> None:
    """Put ticks at the first residue and at round numbers."""
    from matplotlib.ticker import MaxNLocator

    # about nine ticks on the longer side; none so near to the first that their numbers would overlap
    n_bins = round(9 * inches / _SIDE)
    inner = MaxNLocator(nbins=n_bins, integer=True, steps=[1, 2, 5, 10]).tick_values(1, n)
    room = 0.04 * _SIDE / inches * n
    axis.set_ticks([1, *(int(tick) for tick in inner if room + 1 < tick <= n)])
