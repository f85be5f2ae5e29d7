"""What joins the bases of a drawing: one strand, two, or a circle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from structune.rna.plots.layout import FloatArray, IntArray, layout

_BETWEEN = 2  # bases that two strands are apart


@dataclass(frozen=True)
class Backbone:
    """The backbone of n bases.

    Attributes
    ----------
    nick : int
        Where the second of two strands begins, -1 for one.
    """

    n: int
    nick: int
    circular: bool

    @cached_property
    def ends(self) -> list[tuple[int, str, int]]:
        """Bases at ends, their labels, and whether these are behind (1) or before (-1) them.

        A circle has none; its first base is where it begins.
        """
        if self.circular:
            return [(0, "1", -1)]
        strands = [(0, self.n - 1)] if self.nick < 0 else [(0, self.nick - 1), (self.nick, self.n - 1)]
        return [end for first, last in strands for end in ((first, "5'", -1), (last, "3'", 1))]

    @cached_property
    def segments(self) -> IntArray:
        """Bases that follow each other, shape (n_segments, 2)."""
        first = np.arange(self.n if self.circular else self.n - 1)
        first = first[first != self.nick - 1] if self.nick >= 0 else first
        return np.column_stack([first, (first + 1) % self.n])

    def layout(self, nested: IntArray) -> FloatArray:
        """Coordinates of the bases, shape (n, 2)."""
        if self.nick < 0:
            return layout(nested, self.circular)
        moved = np.where(nested >= self.nick, nested + _BETWEEN, nested)
        gap = np.full(_BETWEEN, -1)
        placed = layout(np.concatenate([moved[: self.nick], gap, moved[self.nick :]]))
        return np.delete(placed, np.arange(self.nick, self.nick + _BETWEEN), axis=0)
