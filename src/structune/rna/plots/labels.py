"""Where to write the numbers of bases, and the ends, such that they are on nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structune.rna.plots.backbone import Backbone

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_DISC = 0.45  # radius kept free around a base
_TURNS = np.deg2rad([0, 25, -25, 50, -50, 75, -75, 100, -100])
_GAPS = (0.35, 0.9, 1.5)  # between a base and its label
_ASPECT = 0.64  # of a digit


@dataclass(frozen=True)
class Label:
    """A text, its middle, and the line that joins it to its base."""

    text: str
    at: FloatArray
    start: FloatArray
    stop: FloatArray
    is_end: bool


def place_labels(
    xy: FloatArray, partners: IntArray, backbone: Backbone, side: int, step: int, height: float
) -> list[Label]:
    """The labels of ends, 5' and 3', and numbers of every `step`-th base; those without room are left out.

    Parameters
    ----------
    xy : ndarray, shape (n, 2)
    partners : ndarray of int, shape (n,)
    side : int
        1 if the outside is left of the way from 5' to 3', -1 if right.
    step : int
    height : float
        Of a character, in the units of `xy`.
    """
    out = _outward(xy, side)
    along = _directions(xy)
    outwards = out * (len(xy) > 1)
    wanted = [(k, text, outwards[k] + way * along[k], True) for k, text, way in backbone.ends]
    wanted += [(k - 1, str(k), out[k - 1], False) for k in range(step, len(xy) + 1, step)]
    taken = _obstacles(xy, backbone.segments, partners)
    labels: list[Label] = []
    for base, text, direction, is_end in wanted:
        label = _place(xy[base], text, direction, height, taken, is_end)
        if label is not None:
            labels.append(label)
            half = np.array([_ASPECT * height * len(text), height]) / 2
            taken = np.vstack([taken, _box_points(label.at, half)])
    return labels


def _directions(xy: FloatArray) -> FloatArray:
    """Unit vectors along the way from 5' to 3', shape (n, 2)."""
    if len(xy) == 1:
        return np.array([[1.0, 0.0]])
    steps = np.gradient(xy, axis=0)
    lengths = np.hypot(*steps.T)[:, None]
    return np.where(lengths > 1e-9, steps / np.maximum(lengths, 1e-9), [1.0, 0.0])


def _outward(xy: FloatArray, side: int) -> FloatArray:
    along = _directions(xy)
    return side * np.column_stack([-along[:, 1], along[:, 0]])


def _obstacles(xy: FloatArray, segments: IntArray, partners: IntArray) -> FloatArray:
    """Points on bases and lines, close enough together that no text fits between them."""
    i = np.flatnonzero(partners > np.arange(partners.size))
    starts = np.vstack([xy[segments[:, 0]], xy[i]])
    stops = np.vstack([xy[segments[:, 1]], xy[partners[i]]])
    n = np.maximum(np.hypot(*(stops - starts).T), 1e-9) // 0.5 + 1
    line = np.repeat(np.arange(len(n)), n.astype(int))
    share = (np.arange(line.size) - np.repeat(np.cumsum(n) - n, n.astype(int))) / n[line]
    return np.vstack([xy, starts[line] + share[:, None] * (stops - starts)[line]])


def _place(
    base: FloatArray, text: str, direction: FloatArray, height: float, taken: FloatArray, is_end: bool
) -> Label | None:
    """The first place of a label, near its base and to the outside, that is free."""
    half = np.array([_ASPECT * height * len(text), height]) / 2
    reach = 2 * _DISC + max(_GAPS) + 2 * float(half.max()) + 1
    near = taken[np.all(np.abs(taken - base) < reach, axis=1)]
    angle = np.arctan2(direction[1], direction[0])
    for gap in _GAPS:
        for turn in _TURNS:
            way = np.array([np.cos(angle + turn), np.sin(angle + turn)])
            extent = float(np.min(half / np.maximum(np.abs(way), 1e-9)))  # of the box, that way
            at = base + way * (_DISC + gap + extent)
            stop = at - way * (extent + 0.1)
            start = base + way * _DISC
            if _is_free(at, half, near) and _is_clear(base, start, stop, near):
                return Label(text, at, start, stop, is_end)
    return None


def _is_free(at: FloatArray, half: FloatArray, near: FloatArray) -> bool:
    """Whether no point is in a box or close to it."""
    outside = np.maximum(np.abs(near - at) - half, 0)
    return not near.size or bool(np.hypot(*outside.T).min() > _DISC)


def _is_clear(base: FloatArray, start: FloatArray, stop: FloatArray, near: FloatArray) -> bool:
    """Whether a line touches nothing but its own base."""
    others = near[np.hypot(*(near - base).T) > _DISC + 0.05]
    spots = start + np.linspace(0, 1, 5)[:, None] * (stop - start)
    return not others.size or bool(np.hypot(*(others[:, None] - spots).T).min() > _DISC)


def _box_points(at: FloatArray, half: FloatArray) -> FloatArray:
    """Points that stand for a box."""
    x = np.linspace(-1, 1, 5)[:, None]
    ends = np.column_stack([x, 0 * x]) * np.maximum(half - 0.25, 0)
    return np.asarray(at + ends)
