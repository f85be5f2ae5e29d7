"""Sums over the paths of a state machine, and the best path, of one sequence, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.eukaryotes.kernels import best as viterbi
from structune.genes.eukaryotes.kernels import log_domain
from structune.genes.eukaryotes.kernels import sums as linear
from structune.genes.eukaryotes.kernels.paths import count_path, count_sites, score_sites
from structune.genes.eukaryotes.kernels.sums import Counts, Factors, Letters, Rows, Scratch
from structune.genes.eukaryotes.machine.tally import Tally
from structune.genes.eukaryotes.machine.weights import MachineWeights
from structune.structure import Array, FloatArray

BLOCK = 1 << 14  # positions that are worked on at a time
_MOST_WORTH = 1e270  # of paths from a row on, with complex steps
_LEAST = -230.0  # logs of factors of which three do not underflow


@dataclass(frozen=True)
class Sequence:
    """One sequence of a shard: views of its arrays; ``extra`` (n or 0, C): scores of columns."""

    letter: NDArray[np.int8]
    word: NDArray[np.int16]
    reverse_word: NDArray[np.int16]
    gates: NDArray[np.uint16]
    tracks: FloatArray
    extra: Array

    def __len__(self) -> int:
        return self.letter.size


@dataclass(frozen=True)
class Block:
    """Positions ``first:end``, with ``letters`` from ``low`` on, where what comes before them is found."""

    first: int
    end: int
    low: int
    letters: Letters

    @property
    def size(self) -> int:
        return self.end - self.first

    @property
    def local(self) -> int:
        """The first position, counted from `low`."""
        return self.first - self.low


class Paths:
    """What all sums over the paths of a sequence share.

    Parameters
    ----------
    weights : MachineWeights
    w : ndarray, shape (n_weights,)
    """

    kernels: Any = linear
    in_logs = False

    def __init__(self, weights: MachineWeights, w: Array) -> None:
        self.weights, self.w, self.graph = weights, w, weights.machine.graph
        self.history = self.graph.longest + 1
        logs = weights.logs(w)
        self.factors = logs if self.in_logs else self._exponentials(logs)

    def _exponentials(self, logs: Factors) -> Factors:
        with np.errstate(over="ignore"):
            return Factors(np.exp(logs.table), logs.logs, np.exp(logs.edges), logs.lengths)

    # --- blocks -------------------------------------------------------------------------------------------

    def blocks(self, sequence: Sequence) -> list[tuple[int, int]]:
        ends = [*range(BLOCK, len(sequence), BLOCK), len(sequence)]
        return list(zip([0, *ends[:-1]], ends, strict=True))

    def block(self, sequence: Sequence, first: int, end: int) -> Block:
        """Some positions with the scores of their gates."""
        low = max(0, first - self.history)
        return Block(
            first, end, low, self._letters(sequence, slice(low, end), self._sites(sequence, low, end))
        )

    def _letters(self, sequence: Sequence, some: slice, sites: Array) -> Letters:
        gates = sequence.gates[some]
        openings = [np.flatnonzero(gates >> int(bit) & 1) for bit in self.graph.jump_open]
        return Letters(
            sequence.letter[some],
            sequence.word[some],
            sequence.reverse_word[some],
            gates,
            sites,
            sequence.extra[some],
            np.concatenate([*openings, np.empty(0, np.int64)]),
            np.cumsum([0] + [o.size for o in openings]),
        )

    def _sites(self, sequence: Sequence, low: int, end: int) -> Array:
        machine, weights = self.weights.machine, self.weights
        scores = np.zeros((len(machine.gates), end - low), self.w.dtype)
        for g, gate in enumerate(machine.gates):
            for signal, place in gate.signals:
                if signal in weights.windows:
                    window, first = weights.part(self.w, signal), weights.windows[signal][0]
                    score_sites(*self._site(sequence, g, place), first, window, low, scores[g])
        return scores

    def _site(self, sequence: Sequence, g: int, place: int) -> tuple[Any, ...]:
        """What `score_sites` and `count_sites` want to know of a gate."""
        gate = self.weights.machine.gates[g]
        reverse = gate.strand == "-"
        word = sequence.reverse_word if reverse else sequence.word
        return sequence.gates, g, place, reverse, word, 4**self.weights.word_length

    def _empty_rows(self, size: int) -> Rows:
        """Those of a block, with nothing before it."""
        n, graph = self.history + size, self.graph
        nothing = -np.inf if self.in_logs else 0.0
        cell = np.full((n, len(self.weights.machine.states)), nothing, self.w.dtype)
        return Rows(cell, np.zeros(n), np.zeros((n, graph.jump_open.size), self.w.dtype))

    def _first_rows(self, size: int) -> Rows:
        rows = self._empty_rows(size)
        rows.cell[self.history - 1, self.graph.begins] = 0.0 if self.in_logs else 1.0
        return rows

    def _lent(self, size: int) -> Scratch:
        """What kernels are lent; for backward, of a block of a size."""
        dtype, n_jumps = self.w.dtype, self.graph.jump_open.size
        to = self._empty_rows(size).cell
        ending = np.zeros((len(to), n_jumps), dtype)
        factor, value = np.empty(self.graph.label.size, dtype), np.empty(to.shape[1], dtype)
        return Scratch(factor, value, np.empty(n_jumps, np.int64), to, ending)

    def _history(self, rows: Rows) -> Rows:
        """A copy of the last rows: what the next block begins with."""
        return Rows(*(part[-self.history :].copy() for part in rows))

    def _rows_after(self, before: Rows, size: int) -> Rows:
        """The rows of a block, with those of the block before it as its history."""
        rows = self._empty_rows(size)
        for to, source in zip(rows, before, strict=True):
            to[: self.history] = source[-self.history :]
        return rows


@dataclass(frozen=True)
class Wanted:
    """Probabilities of sets of columns, `which` (n_sets, C), at each position: they go to `out`."""

    which: NDArray[np.bool_]
    out: FloatArray


@dataclass
class Forward:
    """What is kept of a forward pass: its value; the rows before each block, and those of the last one."""

    value: Any
    histories: list[Rows]
    rows: Rows
    block: Block


class Sums(Paths):
    """The log partition function and expected features, in the linear domain."""

    @cached_property
    def counted(self) -> Tally:
        """Of one sequence."""
        return Tally.empty(self.weights, self.w.dtype)

    def forward(self, sequence: Sequence) -> Forward | None:
        """None if a number left the range of a double."""
        histories, rows = list[Rows](), self._first_rows(0)
        for first, end in self.blocks(sequence):
            histories.append(self._history(rows))
            rows = self._rows_after(rows, end - first)
            block = self.block(sequence, first, end)
            if not (self._multiplies(block.letters) and self._fill(block, rows)):
                return None
        ends = rows.cell[-1, self.graph.ends]
        with np.errstate(all="ignore"):
            value = self._log_sum(ends) + rows.logs[-1]
        return Forward(value, histories, rows, block) if np.isfinite(value) else None

    @cached_property
    def _least_shared(self) -> float:
        """The smallest log of a factor that all sequences share."""
        return min(_least(self.factors.logs), _least(self.weights.part(self.w, "edges")))

    def _multiplies(self, letters: Letters) -> bool:
        """Whether no product of factors underflows before the last, which may make up for what is lost."""
        return all(
            least > _LEAST for least in (self._least_shared, _least(letters.sites), _least(letters.extra))
        )

    def _fill(self, block: Block, rows: Rows) -> bool:
        arguments = self.graph, self.factors, block.letters, block.local, block.size, rows
        return bool(self.kernels.forward(*arguments, self._lent(0)))

    def _log_sum(self, ends: Array) -> Any:
        return np.log(ends.sum())

    def expected(
        self, sequence: Sequence, done: Forward, tally: Tally, factor: float, wanted: Wanted | None = None
    ) -> bool:
        """Add ``factor`` times the expected features to `tally`; False, and nothing, if digits were lost."""
        self.counted.clear()
        rows, block, lent, inside = done.rows, done.block, self._ends(done), self._no_jumps()
        spans = self.blocks(sequence)
        for (first, end), history in zip(reversed(spans), reversed(done.histories), strict=True):
            if end != len(sequence):
                block, rows = self.block(sequence, first, end), self._rows_after(history, end - first)
                self._fill(block, rows)
                lent = self._lent_before(lent, end - first)
            n = end - block.low
            counts = self.counted.at_positions(n, 0 if wanted is None and not self.weights.n_tracks else n)
            arguments = self.graph, self.factors, block.letters, block.local, block.size, rows
            if not (self.kernels.backward(*arguments, inside, counts, lent) and self._steps_kept(lent.to)):
                return False
            self._count_positions(sequence, counts, block.low)
            if wanted is not None:
                wanted.out[first:end] = counts.columns[block.local :].real @ wanted.which.T
        return tally.add(self.counted, factor)

    def _steps_kept(self, to: Array) -> bool:
        """Whether no imaginary part of a complex step underflowed that matters: they are smaller by 1e20."""
        return to.dtype != np.complex128 or bool(np.abs(to.real).max() < _MOST_WORTH)

    def _no_jumps(self) -> Array:
        return np.zeros(self.graph.jump_open.size, self.w.dtype)

    def _ends(self, done: Forward) -> Scratch:
        """What backward is lent for the last block: the share of the states that a path may end in."""
        lent = self._lent(done.block.size)
        with np.errstate(all="ignore"):
            lent.to[-1, self.graph.ends] = self._share(done)
        return lent

    def _lent_before(self, after: Scratch, size: int) -> Scratch:
        """What backward is lent for a block before one that is done."""
        lent = self._lent(size)
        lent.to[size:], lent.ending[size:] = after.to[: self.history], after.ending[: self.history]
        return lent

    def _share(self, done: Forward) -> Any:
        return 1.0 / done.rows.cell[-1, self.graph.ends].sum()

    def _count_positions(self, sequence: Sequence, counts: Counts, low: int) -> None:
        """Count the features of what is at positions, from `low` on."""
        weights, parts = self.weights, self.counted.parts
        for g, gate in enumerate(weights.machine.gates):
            for signal, place in gate.signals:
                if signal in weights.windows:
                    first, window = weights.windows[signal][0], parts[signal]
                    count_sites(*self._site(sequence, g, place), first, counts.sites[g], low, window)
        if weights.n_tracks:
            used = sequence.tracks[low : low + len(counts.columns)].T @ counts.columns
            np.add.at(parts["tracks"], self.graph.label, used.T)

    def add_path(self, sequence: Sequence, path: NDArray[np.int8], tally: Tally, factor: float) -> int:
        """Add ``factor`` times a path's features; the first position that it cannot come to, or -1."""
        n, machine = len(sequence), self.weights.machine
        self.counted.clear()
        counts = self.counted.at_positions(n, n if self.weights.n_tracks else 0)
        letters = self._letters(sequence, slice(0, n), counts.sites)  # to count takes no scores
        wrong = int(count_path(self.graph, machine.state_column, letters, path, factor, counts))
        self._count_positions(sequence, counts, 0)
        tally.add(self.counted)
        return wrong


class LogSums(Sums):
    """The same in the log domain: slower, and right for all weights."""

    kernels: Any = log_domain
    in_logs = True

    def _multiplies(self, letters: Letters) -> bool:
        return True

    def _steps_kept(self, to: Array) -> bool:
        return True

    def _log_sum(self, ends: Array) -> Any:
        highest = ends[np.argmax(ends.real)]
        return highest + np.log(np.exp(ends - highest).sum())

    def _share(self, done: Forward) -> Any:
        return -done.value


class Best(Paths):
    """The path of the highest score."""

    in_logs = True

    def path(self, sequence: Sequence) -> tuple[NDArray[np.int8], float]:
        """The states, shape (n,), and the score; of several blocks all but the last are filled twice."""
        path, spans = np.empty(len(sequence), np.int8), self.blocks(sequence)
        histories, rows = list[Rows](), self._first_rows(0)
        for first, end in spans:
            histories.append(self._history(rows))
            rows = self._rows_after(rows, end - first)
            block = self.block(sequence, first, end)
            came_from = self._fill(block, rows)
        ends = rows.cell[-1, self.graph.ends]
        state, t = self.graph.ends[np.argmax(ends)], len(sequence) - 1
        for (first, end), history in zip(reversed(spans), reversed(histories), strict=True):
            if end != len(sequence):
                rows = self._rows_after(history, end - first)
                block = self.block(sequence, first, end)
                came_from = self._fill(block, rows)
            here = path[block.low : end]
            arguments = self.graph, self.factors, block.letters, block.local, rows, came_from
            state, t = viterbi.trace(*arguments, state, t - block.low, here)
            t += block.low
        return path, float(ends.max())

    def _fill(self, block: Block, rows: Rows) -> NDArray[np.int16]:
        came_from = np.zeros((block.size, len(self.weights.machine.states)), np.int16)
        arguments = self.graph, self.factors, block.letters, block.local, block.size, rows
        viterbi.best(*arguments, self._lent(0), came_from)
        return came_from


def soundly(
    sums: Sums, sequence: Sequence, tally: Tally, factor: float = 1.0, wanted: Wanted | None = None
) -> Any:
    """The log partition function, in the log domain where digits were lost in the linear one.

    Adds to `tally`, and finds what is `wanted`, as `Sums.expected` does: only that shows what was lost.
    """
    done = sums.forward(sequence)
    if done is None or not sums.expected(sequence, done, tally, factor, wanted):
        slow = LogSums(sums.weights, sums.w)
        done = slow.forward(sequence)
        if done is None or not slow.expected(sequence, done, tally, factor, wanted):
            raise DataError("the weights of the machine are not finite")
    return done.value


def _least(logs: Array) -> float:
    return float(logs.real.min(initial=0.0))
