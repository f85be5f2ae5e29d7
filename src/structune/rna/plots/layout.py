"""Where the bases of a secondary structure are drawn.

The classic drawing: helices are ladders, and loops are polygons inscribed in circles, whose sides are
backbone of length 1 and pairs. Three changes keep parts from being drawn over each other: the two helices of
a bulge or internal loop stay in line; the branches of a loop get angles that hold what they carry, on a wider
circle where that is too much; and the exterior loop is a line, or a circle if the line would be long.
(RNApuzzler moves branches apart more cleverly: Wiegreffe, Alexander, Stadler & Zeckzer, Bioinformatics
35:1342, 2019.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
IntArray = NDArray[np.int64]

PAIR_LENGTH = 1.6
_MARGIN = 0.8  # between the parts of different branches
_LOW = 0.6  # what is lower than this above a loop needs room between the bases of the loop
_STEM_MARGIN = 2.0  # between a branch and the stem of its loop, which has bulges further down
_LEAST_TURN = 0.9  # radians between a stem and a branch, so that what is long does not point back along it
_MOST_BEND = 6  # a loop of two helices bends if its sides differ by more
_WIDEST = 6.0  # circles grow by this factor, no more
_LONG = 60.0  # length of an exterior loop that is drawn as a circle, unless what hangs on it is as large


@dataclass(frozen=True)
class _Loop:
    """Pairs of a loop as their first bases and their last, and what is between neighbouring pairs.

    That is backbone edges, and the lengths at both ends, shape (n_gaps, 2), that branches overhang.
    """

    first: IntArray
    last: IntArray
    edges: FloatArray
    overhangs: FloatArray


def layout(partners: IntArray, circular: bool = False) -> FloatArray:
    """Coordinates at which to draw a structure; from 5' to 3' it runs clockwise.

    Parameters
    ----------
    partners : ndarray of int, shape (n,)
        The partner of each base, -1 where it has none. No two pairs cross (see `largest_nested`).
    circular : bool
        Whether the last base is followed by the first.

    Returns
    -------
    ndarray, shape (n, 2)
        Pairs are `PAIR_LENGTH` long; the backbone is of length 1 in helices, and at least that elsewhere.
    """
    z = np.zeros(partners.size, dtype=np.complex128)
    opening = np.flatnonzero(partners > np.arange(partners.size))
    apart = (np.diff(opening) != 1) | (np.diff(partners[opening]) != -1)
    helices = [run for run in np.split(opening, np.flatnonzero(apart) + 1) if run.size]
    for i in reversed(helices):  # inner ones first: the first pair on the real axis around 0, the rest above
        end, rungs = int(i[-1]), 1j * (i - i[0])
        loop = _loop(z, partners, end + 1, int(partners[end]) - 1)
        # Two helices stay in line: both sides of the loop get half of the circle.
        if loop.first.size == 1 and abs(loop.edges[0] - loop.edges[1]) <= _MOST_BEND:
            radius = _radius(2 * float((loop.edges + loop.overhangs.sum(axis=1)).max()), 2.0)
            gaps = np.full(2, np.pi)
        else:
            radius, gaps = _open(z, loop)
        _place_on_circle(z, loop, radius, gaps, end, int(partners[end]))
        z[end + 1 : partners[end]] += rungs[-1]
        z[i], z[partners[i]] = rungs - PAIR_LENGTH / 2, rungs + PAIR_LENGTH / 2
    if circular:
        _place_ring(z, partners)
    else:
        _place_exterior(z, partners)
    return np.column_stack([z.real, z.imag])


def _loop(z: ComplexArray, partners: IntArray, start: int, stop: int) -> _Loop:
    """The loop whose bases and pairs lie from `start` to `stop`; what its pairs close is placed."""
    first, i = [], start
    while i <= stop:
        if partners[i] > i:
            first.append(i)
            i = int(partners[i])
        i += 1
    begins = np.array(first, dtype=np.int64)
    ends = partners[begins]
    edges = np.append(begins, stop + 1) - np.append(start - 1, ends)
    overhangs = np.zeros((edges.size, 2))
    for k, (a, b) in enumerate(zip(begins, ends, strict=True)):
        low = z[a + 1 : b][z[a + 1 : b].imag < _LOW].real
        overhangs[k, 1], overhangs[k + 1, 0] = _overhang(-low, edges[k]), _overhang(low, edges[k + 1])
    return _Loop(begins, ends, edges.astype(np.float64), overhangs)


def _overhang(low: FloatArray, n_edges: int) -> float:
    """How much further than one edge a branch reaches above the bases beside it, where it is low."""
    above = low[low < PAIR_LENGTH / 2 + n_edges - 1 + _MARGIN] if n_edges > 1 else low[:0]
    return float(np.max(above + _MARGIN - PAIR_LENGTH / 2 - 1, initial=0.0))


def _place_on_circle(
    z: ComplexArray, loop: _Loop, radius: float, gaps: FloatArray, before: int, after: int
) -> None:
    """Place branches and single bases on a circle around the point above 0; `gaps` are angles between pairs.

    The loop is what lies between the bases `before` and `after`, which are a pair (or as far apart as one).
    """
    # Points are complex numbers: exp(i angle) turns, and sums move.
    half = _half_angle(radius, PAIR_LENGTH)
    depth = np.sqrt(max(radius**2 - (PAIR_LENGTH / 2) ** 2, 0.0))
    center = 1j * depth
    middles = -np.pi / 2 - np.append(0.0, np.cumsum(gaps))  # clockwise, from the closing pair below
    for a, b, middle in zip(loop.first, loop.last, middles[1:-1], strict=True):
        outward = np.exp(1j * middle)
        z[a : b + 1] = center + outward * (depth + z[a : b + 1] / 1j)
    begins, ends = np.append(before, loop.last), np.append(loop.first, after)
    starts = middles[:-1] - half - loop.overhangs[:, 0] / radius
    widths = gaps - 2 * half - loop.overhangs.sum(axis=1) / radius
    for a, b, start, width in zip(begins, ends, starts, widths, strict=True):
        angles = start - width * np.arange(1, b - a) / (b - a)
        z[a + 1 : b] = center + radius * np.exp(1j * angles)


def _open(z: ComplexArray, loop: _Loop) -> tuple[float, FloatArray]:
    """Radius of a loop, and the angles between its pairs, such that no branch reaches into another's."""
    least = _radius(float(loop.edges.sum() + loop.overhangs.sum()), loop.first.size + 1.0)
    best, gaps = least, _gaps(z, loop, least)
    radius = least
    # Branches that take more than the circle: it grows until they fit, or as far as it may.
    while gaps.sum() > 2 * np.pi * (1 + 1e-9) and radius < _WIDEST * least:
        radius *= 1.05
        wider = _gaps(z, loop, radius)
        if wider.sum() < gaps.sum():
            best, gaps = radius, wider
    return best, _shared(gaps, _edge_angles(loop, best), loop.edges)


def _shared(gaps: FloatArray, least: FloatArray, edges: FloatArray) -> FloatArray:
    """Gaps that fill the circle: what is left goes to backbone edges, what lacks is taken from the excess."""
    left = 2 * np.pi - gaps.sum()
    if left > -1e-6:
        return np.asarray(gaps + left * edges / edges.sum())
    excess = gaps - least
    return np.asarray(gaps + left * excess / excess.sum())


def _gaps(z: ComplexArray, loop: _Loop, radius: float) -> FloatArray:
    """The least angle between each two neighbouring pairs, the closing one being the first and last."""
    depth = np.sqrt(max(radius**2 - (PAIR_LENGTH / 2) ** 2, 0.0))
    least = _LEAST_TURN if loop.first.size > 1 else 0.0
    stem = max(least, float(np.arctan2(PAIR_LENGTH / 2 + _STEM_MARGIN, depth)))
    left, right = [], []
    for a, b in zip(loop.first, loop.last, strict=True):
        x, y = z[a : b + 1].real, z[a : b + 1].imag + depth
        left.append(np.max(np.arctan2(_MARGIN / 2 - x, y)))
        right.append(np.max(np.arctan2(_MARGIN / 2 + x, y)))
    reach = np.append(stem, right) + np.append(left, stem)
    return np.asarray(np.maximum(_edge_angles(loop, radius), reach))


def _edge_angles(loop: _Loop, radius: float) -> FloatArray:
    """Angles between neighbouring pairs if the bases between them are at distance 1."""
    bases = 2 * loop.edges * _half_angle(radius, 1.0) + loop.overhangs.sum(axis=1) / radius
    return np.asarray(2 * _half_angle(radius, PAIR_LENGTH) + bases)


def _half_angle(radius: float, chord: float) -> float:
    return float(np.arcsin(min(chord / (2 * radius), 1.0)))


def _radius(n_edges: float, n_pairs: float) -> float:
    """Radius of the circle around a polygon of so many edges of length 1 and pairs.

    Where its center would lie outside (one base, or none, between two that pair), half a pair's length.
    """
    low, high = PAIR_LENGTH / 2, (n_edges + n_pairs * PAIR_LENGTH) / 4 + 1
    # Bisection: the angles of all edges and pairs are to add up to 2 pi, half angles to pi. 50 halvings
    # narrow the interval to about the precision of a double.
    for _ in range(50):
        radius = (low + high) / 2
        turn = n_edges * _half_angle(radius, 1.0) + n_pairs * _half_angle(radius, PAIR_LENGTH)
        low, high = (radius, high) if turn > np.pi else (low, radius)
    return high


def _place_exterior(z: ComplexArray, partners: IntArray) -> None:
    """Place the exterior loop: on a line if that is short, else on a circle."""
    loop = _loop(z, partners, 0, partners.size - 1)
    clear = _below(z, loop) > -_MARGIN
    if not clear and loop.first.size == 1:
        # The bases before and after the only branch hang below it: nothing of a branch is below its stem.
        first, last = int(loop.first[0]), int(loop.last[0])
        z[:first] = -PAIR_LENGTH / 2 - 1j * np.arange(first, 0, -1)
        z[last + 1 :] = PAIR_LENGTH / 2 - 1j * np.arange(1, z.size - last)
        return
    line = z.copy()
    _place_on_line(line, loop)
    width, height = (float(np.ptp(part)) if part.size else 0.0 for part in (line.real, line.imag))
    if clear and width <= max(_LONG, 2 * height):
        z[:] = line
    else:
        _place_on_circle(z, loop, *_open(z, loop), -1, z.size)


def _place_ring(z: ComplexArray, partners: IntArray) -> None:
    """Place the loop that no pair of a circle encloses, without a gap between its last base and its first."""
    loop = _loop(z, partners, 0, partners.size - 1)
    radius, gaps = _open(z, loop)
    _place_on_circle(z, loop, radius, gaps, -1, z.size)
    z -= 1j * np.sqrt(max(radius**2 - (PAIR_LENGTH / 2) ** 2, 0.0))
    first, last = (int(loop.first[0]), int(loop.last[-1])) if loop.first.size else (0, -1)
    ends = np.append(np.arange(last + 1, z.size), np.arange(first))
    start, turn, n_edges = -np.pi / 2, 2 * np.pi, ends.size
    if loop.first.size:
        start, n_edges = float(np.angle(z[last])), ends.size + 1
        turn = float((start - np.angle(z[first])) % (2 * np.pi))
    z[ends] = radius * np.exp(1j * (start - turn * np.arange(1, ends.size + 1) / n_edges))


def _below(z: ComplexArray, loop: _Loop) -> float:
    """How low the branches reach, when their own pairs are at 0."""
    return min((z[a : b + 1].imag.min() for a, b in zip(loop.first, loop.last, strict=True)), default=0.0)


def _place_on_line(z: ComplexArray, loop: _Loop) -> None:
    """Place branches above the real axis, each as near to those before as they leave room."""
    # A skyline: how far to the right each height is taken, in rows of one length. A branch goes as far to the
    # left as its own rows allow.
    rows = np.floor(z.imag - _below(z, loop)).astype(np.int64)
    skyline = np.full(int(rows.max(initial=0)) + 2, -np.inf)
    x, previous = 0.0, -1
    for a, b, (before, after) in zip(loop.first, loop.last, loop.overhangs, strict=False):
        n = int(a) - previous
        row, branch = rows[a : b + 1], z[a : b + 1]
        room = np.max(np.maximum(skyline[row], skyline[row + 1]) + _MARGIN - branch.real)
        middle = max(x + before + n + after + PAIR_LENGTH / 2, float(room))
        last = middle - PAIR_LENGTH / 2 - after
        z[previous + 1 : a] = np.linspace(x + before, last, n, endpoint=False)[1:]
        branch += middle
        np.maximum.at(skyline, row, branch.real)
        np.maximum.at(skyline, row + 1, branch.real)
        x, previous = middle + PAIR_LENGTH / 2, int(b)
    z[previous + 1 :] = x + loop.overhangs[-1, 0] + np.arange(1, z.size - previous)


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
