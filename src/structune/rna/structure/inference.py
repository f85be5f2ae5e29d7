"""Inside and outside of one RNA sequence: log-partition, pair probabilities, expected table cells."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from structune.errors import warn
from structune.kernels.vectors import all_lanes
from structune.rna.kernels import grammar
from structune.rna.kernels import sums as kernels
from structune.rna.kernels import windows as kernels_of_windows
from structune.rna.kernels.loops import ABSENT, LOOP
from structune.rna.structure.features import (
    LOOP_LENGTHS,
    MAX_LOOP,
    N_CELLS,
    STARTS,
    TABLES,
    Potentials,
    spans,
    tables,
    with_ends,
)
from structune.rna.structure.space import Space, n_cells, nick_of, row_of, rows_of
from structune.rna.structure.tiles import Tiles
from structune.structure import Array, FloatArray, IntArray

# How often scales are tried before sums go to the log domain.
_RESCALINGS = 8
_LONG = 800  # bases: beyond, pieces tell how to scale the whole
_PIECES = 16  # of the longest sequences
_SLOW = 2000  # bases of which sums of logarithms take minutes
# The range of a double is about exp(+-708). Two partition functions within exp(+-300) can be multiplied, and
# there is room for potentials.
SPAN = 300.0  # largest log of a scaled partition function that is trusted, either way
LEAST = 1e-300  # of a pair's scaled partition function: less has lost digits
# exp(150)^4 is about 1e260: products of four such potentials stay in range.
MOST_SCORE = 150.0  # of a cell: beyond, products of a few potentials leave the range
NO_FACTORS = np.empty(0)


class Counts:
    """Expected numbers of table cells, summed over sequences of at most n bases."""

    def __init__(self, n: int, dtype: Any) -> None:
        self.cells: Any = 0.0  # what the grammar counts, an array then
        self.scaled = np.zeros(N_CELLS, dtype)  # what `ScaledInference` counts
        self.lengths = np.zeros((2, n + 1), dtype)
        self.bases: Any = 0.0

    def gather(self) -> Array:
        """All counts by cell, shape (N_CELLS,)."""
        out = np.asarray(self.cells + self.scaled)
        cells, found, (by_span, hairpins) = tables(out), tables(self.scaled), self.lengths
        # 0x1 and 1x1 loops are counted by their letters alone; the sizes of these loops follow.
        loops = found["loop"].copy()
        loops[0, 1] += found["bulge_0x1"].sum()
        loops[1, 1] += found["internal_1x1"].sum()
        cells["loop"] += loops - found["loop"]
        # The tables of kernels go by length; cells are shared by all lengths beyond the last one of its own.
        lengths = np.arange(hairpins.size)
        np.add.at(cells["hairpin"], np.minimum(lengths, MAX_LOOP), hairpins)
        np.add.at(cells["span"], spans(by_span.size - 1), by_span)
        cells["multi_paired"] += found["multi_base"]
        # Every base is paired, or unpaired in a loop of some kind. Kernels do not count the unpaired bases of
        # multi-branch loops: they are what is left of all bases.
        elsewhere = 2 * found["base_pair"].sum() + lengths @ hairpins + np.sum(LOOP_LENGTHS * loops)
        cells["multi_unpaired"] += self.bases - elsewhere - found["external_unpaired"]
        return out


class RangeError(ArithmeticError):
    """Partition functions that leave the range of a double, however they are scaled."""


class ScaledInference:
    """In the linear domain, each base scaled by a constant; or `RangeError`.

    `scores` is a table of pairs, what each scores beside its own, or empty. Once `count` was called, `pairs`
    is the table of probabilities times its weight.
    """

    def __init__(
        self, potentials: Potentials, letters: Array, space: Space, scores: Array = NO_FACTORS
    ) -> None:
        self.n, self._space, self.dtype = letters.size, space, potentials.dtype
        self.reach, self._nick, self._bases = space.reach(self.n), nick_of(letters), letters != ABSENT
        self.letters, self.lanes = with_ends(letters, space.circular)[: self.n + 2], all_lanes(self.dtype)
        # Scores of pairs beside their own are factors here; -inf, for a pair that cannot be, is a factor of
        # 0.
        self._extra = np.exp(scores).astype(self.dtype, copy=False)  # of one type: kernels are compiled once
        # Runs of cells may end up to 16 beyond the last row.
        room = n_cells(self.n, self.reach) + 16
        self.pairs, self._multi, self._multi_2 = (np.zeros(room, self.dtype) for _ in range(3))
        self._suffixes, self._raised = np.zeros(self.n + 1, self.dtype), np.zeros(self.n + 1, np.int64)
        self._n_strands = 0 if self._nick == self.n else self.n + 1  # places of tables of two strands
        self._left, self._right = np.zeros((2, self._n_strands), self.dtype)
        self._tiles = Tiles(letters, potentials.allowed, space)
        self._scale(potentials, letters)
        self._chart_of = partial(Chart, potentials, letters, space, scores)
        self.log_partition = self._logs()[0] + self.log_scale * np.count_nonzero(self._bases)
        if space.circular:
            self.log_partition = self.chart.values[0]

    def _scale(self, potentials: Potentials, letters: Array) -> None:
        """Find a scale at which all partition functions are in range."""
        failed = RangeError(f"the partition function of {self.n} bases leaves the range of a double")
        if potentials.most > MOST_SCORE:
            raise failed
        # Every base divides by exp(log_scale), about the growth of log Z a base, so that partition functions
        # of long stretches stay near 1. Of long sequences it is found from pieces, and corrected below.
        self.log_scale = 0.0
        if self.n > _LONG:
            size, bases = max(_LONG // 2, self.n // _PIECES), letters[self._bases]
            starts = range(0, bases.size - size + 1, size)
            log_z = np.zeros(2)  # of all pieces, and of their halves
            for start in starts:
                for k, ends in enumerate(([0, size], [0, size // 2, size])):
                    for a, b in pairwise(ends):
                        part = bases[start + a : start + b]
                        piece = ScaledInference(potentials, part, self._space._replace(circular=False))
                        log_z[k] += piece.log_partition.real
            # Where a sequence is cut, log Z loses about as much for short pieces as for long ones.
            self.log_scale = float(2 * log_z[0] - log_z[1]) / (size * len(starts))
        # Each round moves the scale by what the longest suffix in range tells of the growth a base.
        for _ in range(_RESCALINGS):
            logs, in_range = self._inside(potentials)
            is_local = self.reach < self.n - 1  # then suffixes may be of any size: they are raised
            settled = bool(np.all(np.isfinite(logs) if is_local else np.abs(logs) < SPAN))
            if settled and in_range:
                return
            # With a limit of spans only pairs have to be in range, for suffixes are raised: the worst pair
            # tells.
            if is_local:
                self.log_scale += self._beyond / (self.reach + 1)
                continue
            # The longest suffix whose logarithm still has digits; beyond it all are 0 or inf.
            usable = np.flatnonzero(np.abs(logs[:-1]) < 2 * SPAN)
            if settled or not usable.size:
                break
            self.log_scale += float(logs[usable[0]] / (self.n - usable[0]))
        raise failed

    def _inside(self, potentials: Potentials) -> tuple[Array, bool]:
        """Fill the tables; logs of the suffixes' partition functions, and whether pairs are in range."""
        self._tables, self._lengths = potentials.factors(self.n, self.log_scale)
        tiles, dtype = self._tiles, self.dtype
        rings = tiles.rings(dtype)
        each = [(tiles.tile(dtype), tiles.panel(dtype), tiles.rows(3, dtype)) for _ in range(tiles.n_threads)]
        extents = [np.array([np.inf, 0.0]) for _ in each]

        def fill(own: int, last: int, thread: int, partners: IntArray) -> None:
            kernels.inside(
                self.letters, self._tables, self._lengths, STARTS, self._extra, self._space.min_hairpin,
                self.reach, self._nick, self._space.circular, tiles.blocks, own, last, self.lanes,
                self.pairs, self._multi, self._multi_2, self._left, self._right, *rings,
                *each[thread], partners, extents[thread], None,
            )  # fmt: skip

        tiles.fill("sums inside", fill)
        kernels.suffixes(
            self.letters, self._tables, STARTS, self.reach, self._nick, self.pairs, self._suffixes,
            self._raised, None,
        )  # fmt: skip
        extent = np.array([min(least for least, _ in extents), max(most for _, most in extents)])
        with np.errstate(divide="ignore"):
            # Logs of 0 and inf are clipped: they then mean "far below" and "far above".
            least, most = np.clip(np.log(extent), -2 * SPAN, 2 * SPAN)
        self._beyond = float(most if most >= SPAN else least)
        return self._logs().real, bool(extent[0] > LEAST and extent[1] < np.exp(SPAN))

    def _logs(self) -> Array:
        """Logs of the suffixes' partition functions, scaled."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(self._suffixes) + kernels.RAISE * self._raised)

    def count(self, counts: Counts | None = None, weight: float = 1.0) -> None:
        """Add the expected counts times `weight`, if they are wanted; once: `pairs` become probabilities."""
        if counts is None and not self._space.circular:
            self._multi_2 = self._multi_2[:0].copy()  # only counts need it
        self._outside(counts, weight)
        self._multi = self._multi_2 = self._multi[:0].copy()  # as large as the pairs, and of no more use

    def unpaired_windows(self, size: int) -> Array:
        """How probably the bases i..i + size - 1 are all unpaired, for each i; instead of `count`."""
        # `outside` turns P into probabilities, and windows need both.
        inside, out = self.pairs.copy(), np.zeros(self.n + 2)
        shares, d_multi = self._outside(None, 1.0)
        kernels_of_windows.windows(
            self.letters, self._tables, self._lengths, STARTS, self._extra, self.reach, size, inside,
            self.pairs, self._multi, self._multi_2, self._suffixes, self._raised, shares, d_multi,
            np.zeros((3, self.n + 1)), out,
        )  # fmt: skip
        return np.clip(out[: max(0, self.n - size + 1)], 0.0, 1.0)

    def _outside(self, wanted: Counts | None, weight: float) -> tuple[Array, Array]:
        """Count; gives the shares of the suffixes and the adjoints of M."""
        counts = Counts(self.n, self.dtype) if wanted is None else wanted
        shares, d_multi = np.zeros(self.n + 1, self.dtype), np.zeros_like(self._multi)
        d_strands = np.zeros((2, self._n_strands), self.dtype)
        outer_pairs = outer_multi_2 = np.zeros(0, self.dtype)  # adjoints of P, and of the last column of M2
        if self._space.circular:  # by the last loop of a circle, which is counted here
            outer = self.chart.shares(weight, counts, grammar.open_circle)
            # In that loop all bases are unpaired but those within its pairs and stretches of branches.
            counts.bases += sum(
                share @ np.arange(1, share.size + 1)
                for table in (outer.pairs, outer.multi_2)
                for share in rows_of(table, self.n, self.reach)
            )
            last = row_of(np.arange(self.n), self.n, self.reach) + self.n - 1
            # Shares become adjoints when they are divided by the values.
            outer_pairs, outer_multi_2 = (
                np.divide(share, value, out=np.zeros_like(value), where=value != 0.0)
                for share, value in ((outer.pairs, self.pairs), (outer.multi_2[last], self._multi_2[last]))
            )
        tiles, dtype, space = self._tiles, self.dtype, self._space
        kernels.shares(
            self.letters, self._tables, STARTS, weight, self.reach, self._nick, space.circular, self.pairs,
            self._suffixes, self._raised, shares, counts.scaled,
        )  # fmt: skip
        ring, branches, singles = tiles.rings(dtype)
        d_branches, edges = np.zeros_like(branches), np.zeros((2, tiles.n_rows), dtype)
        of_columns = np.zeros((2, self.n), dtype)
        scratch = [(tiles.tile(dtype), tiles.rows(6, dtype)) for _ in range(tiles.n_threads)]
        # Each block counts for itself, so that no bit depends on the number of threads. Loops have one
        # accumulator for each lane and size: no sum across lanes within the loop over pairs.
        counted = [
            (scaled, lengths, np.zeros((LOOP * LOOP, self.lanes.width), dtype))
            for scaled, lengths in [(counts.scaled, counts.lengths)]
            + [
                (np.zeros_like(counts.scaled), np.zeros_like(counts.lengths))
                for _ in range(1, tiles.n_threads if wanted is None else tiles.n_blocks)
            ]
        ]

        def fill(own: int, last: int, thread: int, partners: IntArray) -> None:
            kernels.outside(
                self.letters, self._tables, self._lengths, STARTS, self._extra, self.reach, self._nick,
                space.circular, tiles.blocks, own, last, self.lanes, self.pairs, self._multi, self._multi_2,
                self._suffixes, self._raised, self._left, self._right, shares, d_multi, *of_columns,
                d_strands, outer_pairs, outer_multi_2, ring, branches, d_branches, singles, edges,
                *scratch[thread], partners, *counted[thread if wanted is None else own], wanted is not None,
            )  # fmt: skip

        tiles.fill("sums outside", fill, inside=False)
        for scaled, lengths, _ in counted[1:]:
            counts.scaled += scaled
            counts.lengths += lengths
        loops = np.sum([of_block[2] for of_block in counted], axis=0)
        with np.errstate(invalid="ignore", over="ignore"):  # the caller looks for what is not finite
            start = TABLES["loop"].start
            sizes = slice(start, start + LOOP * LOOP)
            counts.scaled[sizes] += loops.sum(axis=1) * self._tables[sizes]
        if not self._space.circular:
            counts.bases += weight * np.count_nonzero(self._bases)
        return shares, d_multi

    @cached_property
    def chart(self) -> Chart:
        """Logs of the inside tables, unscaled; before `count` is called."""
        # before[i]: bases before place i. A stretch of m bases was divided by exp(m log_scale), which is
        # undone here.
        before, chart = np.append(0, np.cumsum(self._bases)), self._chart_of()
        chart.exterior[:] = self._logs() + self.log_scale * (before[-1] - before)
        with np.errstate(divide="ignore"):
            inside = (chart.pairs, self.pairs), (chart.multi, self._multi), (chart.multi_2, self._multi_2)
            for table, found in inside:
                np.log(found, out=table)
                for i, row in enumerate(rows_of(table, self.n, self.reach)):
                    row += self.log_scale * (before[i + 1 : i + 1 + row.size] - before[i])
            if chart.left.size:
                chart.left[:] = np.log(self._left) + self.log_scale * (self._nick - before)
                chart.right[:] = np.log(self._right) + self.log_scale * (before - self._nick)
        if self._space.circular:
            grammar.close_circle(chart.model, chart.values, False, chart.work)
        return chart


class LogInference:
    """The same in the log domain, for any weights; ten to two hundred times slower."""

    def __init__(self, scores: Potentials, letters: Array, space: Space, extra: Array = NO_FACTORS) -> None:
        self.chart = Chart(scores, letters, space, extra)
        grammar.log_inside(self.chart.model, self.chart.values, self.chart.work)
        if space.circular:
            grammar.close_circle(self.chart.model, self.chart.values, False, self.chart.work)
        self.log_partition = self.chart.values[0]

    def count(self, counts: Counts | None = None, weight: float = 1.0) -> None:
        """Add the expected counts times `weight`."""
        circle = [grammar.open_circle] * self.chart.model.circular
        self.pairs = self.chart.shares(weight, counts, *circle, grammar.log_outside).pairs


def infer(
    potentials: Potentials, letters: Array, space: Space, scores: Array = NO_FACTORS
) -> ScaledInference | LogInference:
    """In the linear domain if the numbers allow it."""
    # What must be is worth 1e6, far beyond the range: such sequences go to the log domain at once.
    if np.all((np.abs(scores) < MOST_SCORE) | (scores == -np.inf)):
        try:
            return ScaledInference(potentials, letters, space, scores)
        except RangeError:
            pass
    if (n := np.count_nonzero(letters != ABSENT)) >= _SLOW:
        why = "required pairs, or sums beyond the range of floating-point numbers, need sums of logarithms"
        warn(f"a sequence of {n:,} bases takes about 100 times as long as usual: {why}")
    return LogInference(potentials, letters, space, scores)


class Chart:
    """What all ways to fill in each item of `structune.rna.kernels.grammar` are worth together, or the best.

    `exterior`, `pairs`, `multi`, `multi_2`, `left` and `right` are views of `values`, a kind of item each.
    """

    def __init__(self, scores: Potentials, letters: Array, space: Space, extra: Array) -> None:
        n, nick = letters.size, nick_of(letters)
        reach = space.reach(n)
        # 16 cells more than a table has: runs of the last row may read and write beyond its end.
        of_pairs, of_strands = n_cells(n, reach) + 16, n + 1 if nick < n else 0
        sizes = n + 1, *[of_pairs] * 3, *[of_strands] * 2, of_pairs if space.circular else 0
        starts = tuple(accumulate(sizes, initial=0))
        ends, allowed = with_ends(letters, space.circular), scores.allowed.reshape(-1)
        self.model = grammar.Model(
            ends, STARTS, scores.cells, extra, allowed, starts, n, space.min_hairpin, reach, nick,
            bool(extra.size), space.circular,
        )  # fmt: skip
        most = grammar.most_choices(n)
        self.work = grammar.Choices(
            np.empty(most, scores.dtype), np.empty(6 * most, np.int64), np.empty(grammar.MOST_CELLS, np.int64)
        )
        self._fill(np.full(starts[-1], -np.inf, scores.dtype))

    def _fill(self, values: Array) -> None:
        self.values = values
        self.exterior, self.pairs, self.multi, self.multi_2, self.left, self.right, _ = (
            values[a:b] for a, b in pairwise(self.model.starts)
        )

    def shares(self, weight: float, counts: Counts | None, *outside: Callable[..., None]) -> Chart:
        """How often each item is expected to occur, times `weight`, by kernels that also count cells."""
        shares, found = copy(self), np.zeros(N_CELLS, self.values.dtype)
        shares._fill(np.zeros_like(self.values))
        shares.values[0] = weight
        for kernel in outside:
            kernel(self.model, self.values, shares.values, self.work, found)
        if counts is not None:
            counts.cells += found
        return shares

    def derive(self, uniforms: FloatArray = NO_FACTORS) -> IntArray:
        """Partners of a structure: the best, or the one that `uniforms` fall on."""
        partner, todo = np.empty(self.model.n, np.int64), np.empty((self.model.n + 3, 3), np.int64)
        grammar.derive(self.model, self.values, uniforms, self.work, todo, partner)
        return partner
