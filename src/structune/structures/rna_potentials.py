"""Inside and outside of one RNA sequence, from weights to expected features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.kernels import rna as kernels
from structune.kernels._vectors import all_lanes
from structune.structures.base import Array, IntArray
from structune.structures.rna_features import ABSENT, MAX_LOOP, N_CELLS, SHAPES, TABLES, cell_matrix, tables

_SIDES = MAX_LOOP + 1
_LENGTHS = np.add.outer(np.arange(_SIDES), np.arange(_SIDES))
_RESCALINGS = 8
_LONG = 800  # bases: beyond, the beginning tells how to scale the whole
_SPAN = 300.0  # largest log of a suffix's scaled partition function that is trusted, either way


@dataclass(frozen=True)
class Tables:
    """Potentials as the kernels read them, scaled by exp(-log_scale) for every base."""

    flat: tuple[Array, ...]
    scalars: Array


class Potentials:
    """The table cells of a weight vector.

    Parameters
    ----------
    w : ndarray, shape (708,), real or complex
    allowed : ndarray of bool, shape (4, 4)
        Bases that may pair.
    """

    def __init__(self, w: Array, allowed: Array) -> None:
        scores = tables(cell_matrix() @ w)
        with np.errstate(over="ignore"):
            self.cells = {name: np.exp(score) for name, score in scores.items()}
        self.cells["base_pair"] = np.where(allowed, self.cells["base_pair"], 0.0)
        self.dtype = w.dtype

    def scaled(self, n: int, log_scale: float) -> Tables:
        """For a sequence of n bases."""
        cells, scale = self.cells, float(np.exp(-log_scale))
        loop = np.where(_LENGTHS <= MAX_LOOP, cells["loop"] * scale**_LENGTHS, 0.0)
        small = cells["bulge_0x1"] * loop[0, 1], cells["internal_1x1"] * loop[1, 1]
        loop[:2, :2] = 0.0
        lengths = np.arange(n + 1)
        hairpin = cells["hairpin"][np.minimum(lengths, MAX_LOOP)] * scale**lengths
        flat = (
            _over_six(cells["base_pair"] * scale**2),
            *(_over_six(cells[name]) for name in ("stack", "junction_b", "junction_a")),
            hairpin,
            loop.reshape(-1),
            *(_over_six(table) for table in small),
        )
        one = {name: cells[name][0] for name in SHAPES if SHAPES[name] == (1,)}
        scalars = (
            one["multi_base"] * one["multi_paired"],
            one["multi_paired"],
            one["multi_unpaired"] * scale,
            one["external_paired"],
            one["external_unpaired"] * scale,
        )
        return Tables(flat, np.array(scalars, self.dtype))


def score_tables(w: Array, allowed: Array, n: int) -> Tables:
    """The logarithms of `Potentials`, unscaled: -inf for what cannot be."""
    cells = tables(cell_matrix() @ w)
    loop = np.where(_LENGTHS <= MAX_LOOP, cells["loop"], -np.inf)
    small = cells["bulge_0x1"] + loop[0, 1], cells["internal_1x1"] + loop[1, 1]
    loop[:2, :2] = -np.inf
    flat = (
        _over_six(np.where(allowed, cells["base_pair"], -np.inf), -np.inf),
        *(_over_six(cells[name], -np.inf) for name in ("stack", "junction_b", "junction_a")),
        cells["hairpin"][np.minimum(np.arange(n + 1), MAX_LOOP)],
        loop.reshape(-1),
        *(_over_six(table, -np.inf) for table in small),
    )
    one = {name: cells[name][0] for name in SHAPES if SHAPES[name] == (1,)}
    scalars = (
        one["multi_base"] + one["multi_paired"],
        one["multi_paired"],
        one["multi_unpaired"],
        one["external_paired"],
        one["external_unpaired"],
    )
    return Tables(flat, np.array(scalars))


def _over_six(table: Array, fill: float = 0.0) -> Array:
    """The same table over six letters a place, flat; `fill` where there was nothing."""
    out = np.full((kernels.N_LETTERS,) * table.ndim, fill, table.dtype)
    out[tuple(slice(k) for k in table.shape)] = table
    return out.reshape(-1)


def with_ends(letters: Array) -> IntArray:
    """Letters as the kernels read them, with one that is absent at both ends."""
    out = np.full(letters.size + 2, ABSENT, np.int64)
    out[1:-1] = letters
    return out


class RangeError(ArithmeticError):
    """Partition functions that leave the range of a double, however they are scaled."""


class Inference:
    """Inside tables of one sequence, and what follows from them.

    Parameters
    ----------
    letters : ndarray, shape (n,)
        0-3 for ACGU, 4 for any other base.

    Raises
    ------
    RangeError
    """

    def __init__(self, potentials: Potentials, letters: Array, min_hairpin: int) -> None:
        self.n, self.min_hairpin, self.dtype = letters.size, min_hairpin, potentials.dtype
        self.letters = with_ends(letters)
        self.lanes = all_lanes(self.dtype)
        self._allocate()
        self.log_scale = self._first_scale(potentials, letters)
        for _ in range(_RESCALINGS):
            logs = self._inside(potentials)
            if np.all(np.abs(logs) < _SPAN):
                return
            usable = np.flatnonzero(np.abs(logs[:-1]) < 2 * _SPAN)
            if not usable.size:
                break
            self.log_scale += float(logs[usable[0]] / (self.n - usable[0]))
        raise RangeError(f"the partition function of {self.n} bases leaves the range of a double")

    def _first_scale(self, potentials: Potentials, letters: Array) -> float:
        """Log-partition per base: of the beginning of a long sequence, 0 for a short one."""
        if self.n <= _LONG:
            return 0.0
        beginning = Inference(potentials, letters[: _LONG // 2], self.min_hairpin)
        return float(beginning.log_partition.real) / beginning.n

    def _allocate(self) -> None:
        n_cells = self.n * (self.n + 1) // 2 + 16
        self.pairs, self.multi, self.multi_2 = (np.zeros(n_cells, self.dtype) for _ in range(3))
        self.suffixes = np.zeros(self.n + 1, self.dtype)
        self.partners = np.empty(self.n, np.int64)

    def _rows(self, n: int) -> Array:
        return np.zeros((n, self.n + kernels.RIGHT), self.dtype)

    def _ring(self) -> Array:
        return np.zeros((kernels.RING, kernels.LEFT + self.n + kernels.RIGHT), self.dtype)

    def _inside(self, potentials: Potentials) -> Array:
        """Fill the tables; logs of the scaled partition functions of all suffixes."""
        self.tables = potentials.scaled(self.n, self.log_scale)
        kernels.inside(
            self.letters, self.tables.flat, self.tables.scalars, self.min_hairpin, self.lanes, self.pairs,
            self.multi, self.multi_2, self.suffixes, self._ring(), self._rows(2), self.partners,
        )  # fmt: skip
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(np.abs(self.suffixes)))

    @property
    def log_partition(self) -> Any:
        return np.log(self.suffixes[0]) + self.log_scale * self.n

    def expected_cells(self) -> Array:
        """Expected number of times that each table cell is used, shape (N_CELLS,).

        Turns `pairs` into pair probabilities; call it once.
        """
        flat, scalars = self.tables.flat, self.tables.scalars
        counts = tuple(np.zeros_like(table) for table in flat)
        loops = np.zeros((_SIDES * _SIDES, self.lanes.width), self.dtype)
        scalar_counts = np.zeros_like(scalars)
        kernels.outside(
            self.letters, flat, scalars, self.min_hairpin, self.lanes, self.pairs, self.multi, self.multi_2,
            self.suffixes, np.zeros(self.n + 1, self.dtype), np.zeros_like(self.multi), self._ring(),
            self._rows(8), self.partners, counts, loops, scalar_counts,
        )  # fmt: skip
        return self._gather(counts, loops.sum(axis=1) * flat[5], scalar_counts)

    def _gather(self, counts: tuple[Array, ...], loops: Array, scalars: Array) -> Array:
        out = np.zeros(N_CELLS, self.dtype)
        cells = {name: out[place].reshape(SHAPES[name]) for name, place in TABLES.items()}
        seven = ("base_pair", "stack", "junction_b", "junction_a", "bulge_0x1", "internal_1x1")
        for name, count in zip(seven, (*counts[:4], *counts[6:]), strict=True):
            sides = SHAPES[name]
            cells[name] += count.reshape((kernels.N_LETTERS,) * len(sides))[tuple(slice(k) for k in sides)]
        np.add.at(cells["hairpin"], np.minimum(np.arange(counts[4].size), MAX_LOOP), counts[4])
        cells["loop"] += loops.reshape(_SIDES, _SIDES)
        cells["loop"][0, 1] += cells["bulge_0x1"].sum()
        cells["loop"][1, 1] += cells["internal_1x1"].sum()
        closing, branches, _, outer, free = scalars
        cells["multi_base"][0], cells["multi_paired"][0] = closing, closing + branches
        cells["external_paired"][0], cells["external_unpaired"][0] = outer, free
        # every base is paired, or unpaired in a loop of some kind
        elsewhere = 2 * cells["base_pair"].sum() + np.arange(counts[4].size) @ counts[4] + free
        cells["multi_unpaired"][0] = self.n - elsewhere - np.sum(_LENGTHS * cells["loop"])
        return out
