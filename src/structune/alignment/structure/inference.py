"""What is asked of the alignments of one pair: sums in whatever domain holds them, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from structune.alignment.kernels import best as best_kernels
from structune.alignment.structure.best import best
from structune.alignment.structure.features import Uses
from structune.alignment.structure.pair import Pair, block_shape, cells_near, n_tables, widest
from structune.alignment.structure.sums import Inference, LogInference, RangeError
from structune.running.memory import held_memory, require_memory
from structune.structure import Array, FloatArray, IntArray

_MOST_KEPT = 1 << 25  # posteriors of a pair: a quarter of a gigabyte
_RESIDUE = 1000  # bytes for its features
_LESS = "shorter sequences, or a band (--band, band=)"  # take less memory
_BLOCKS = 2  # whose tables are in memory at once
_MATCHES = 4  # numbers of a match, those of decoding among them

T = TypeVar("T")


def _soundly(pair: Pair, collect: Callable[[Inference | LogInference], T]) -> T:
    """What is collected in the linear domain if its range allows it, as it is or tilted."""
    try:
        return collect(Inference(pair))
    except RangeError:
        pass
    try:
        return collect(Inference(pair, _diagonal_tilt(pair)))
    except RangeError:
        return collect(LogInference(pair))


def _diagonal_tilt(pair: Pair) -> float:
    """A share of the best score for each residue, so that about as much is left all along the diagonal."""
    real = pair.real
    score = best(real)[1] - real.base
    return float(max(0.0, score) / max(1, pair.n + pair.m))


def _blocks(inference: Inference | LogInference) -> Iterator[tuple[slice, Array]]:
    """Posteriors of the blocks, whatever gaps are used."""
    pair = inference.pair
    return inference.posteriors(pair.features.no_uses(pair.n, pair.m, pair.dtype))


def log_partition(pair: Pair) -> Any:
    """Log of the sum of exp(score) over all alignments."""

    def collect(inference: Inference | LogInference) -> Any:
        for _ in _blocks(inference):  # the backward sums tell whether the forward ones are sound
            pass
        return inference.log_partition

    return _soundly(pair, collect)


def expected(pair: Pair) -> tuple[Any, Uses]:
    """Log-partition, and how often everything is used in the mean."""

    def collect(inference: Inference | LogInference) -> tuple[Any, Uses]:
        used, blocks = pair.features.no_uses(pair.n, pair.m, pair.dtype), pair.features.blocks
        sizes = [len(block.labels) for block in blocks]
        products = [np.zeros((size, size), pair.dtype) for size in sizes]
        matched = np.zeros(pair.n, pair.dtype), np.zeros(pair.m, pair.dtype)
        for rows, posterior in inference.posteriors(used):
            columns = pair.columns(rows)
            right = posterior @ pair.y.pairing[columns]
            for block, sums in zip(blocks, products, strict=True):
                sums += pair.x.pairing[rows, block.columns].T @ right[:, block.columns]
            matched[0][rows] = posterior.sum(axis=1)
            matched[1][columns] += posterior.sum(axis=0)
        return inference.log_partition, Uses(products, used, matched, inference.no_match)

    return _soundly(pair, collect)


def check_room(needed: float, n: int, m: int, name: str) -> None:
    """Refuse two sequences of n and m residues if there is not so much memory."""
    require_memory(needed, f"{name}: {n:,} and {m:,} residues", _LESS)


def held_for(needed: float, n: int, m: int, name: str) -> AbstractContextManager[None]:
    """The same; two such pairs of sequences on two threads wait for each other where both do not fit."""
    return held_memory(needed, f"{name}: {n:,} and {m:,} residues", _LESS)


def memory_of(n: int, m: int, band: int | None, n_steps: int, keep: bool = False) -> float:
    """Bytes that the alignments of sequences of n and m residues take, with their probabilities.

    Parameters
    ----------
    keep : bool
        Whether the probabilities of all matches are wanted.
    """
    posteriors = n * m if keep or n * m <= _MOST_KEPT else 0
    return sums_memory(n, m, band, n_steps) + 8.0 * posteriors


def sums_memory(n: int, m: int, band: int | None, n_steps: int) -> float:
    """The same where probabilities are looked at in blocks of rows."""
    cells = cells_near(n, m, band)
    size, wide = block_shape(cells, n_steps)
    tables = (n_tables(n_steps) * min(_BLOCKS * size, n) + _MATCHES * size) * wide
    first_rows = n_tables(n_steps) * n / size * widest(cells)
    return 8.0 * (tables + first_rows) + n * wide + _RESIDUE * (n + m)  # choices are bytes


class Posteriors:
    """Probabilities of matches in blocks of rows, the last one first: kept, or found again each time.

    Each block has the columns that `Pair.columns` tells.

    Parameters
    ----------
    inference : Inference or LogInference
    keep : bool
        Keep them even if they are many.
    """

    def __init__(self, inference: Inference | LogInference, keep: bool = False) -> None:
        self.pair, self._inference, self._keep = inference.pair, inference, keep

    @cached_property
    def table(self) -> Array | None:
        """All of them, shape (n, m), if they are kept."""
        fits = self._keep or self.pair.n * self.pair.m <= _MOST_KEPT
        return _table(self._inference) if fits else None

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        if self.table is None:
            yield from _blocks(self._inference)
        else:
            for rows in reversed(self.pair.blocks):
                yield rows, self.table[rows, self.pair.columns(rows)]

    def most_accurate(self, gamma: float) -> IntArray:
        """The alignment of maximum expected accuracy."""
        n, m = self.pair.n, self.pair.m
        partner = np.full(n, -1)
        if not gamma:
            return partner
        free_x, free_y = np.ones(n), np.ones(m)
        for rows, part in self:
            free_x[rows] -= part.sum(axis=1)
            free_y[self.pair.columns(rows)] -= part.sum(axis=0)
        below, chosen = np.zeros(m + 1), []
        for rows, part in self:
            columns = self.pair.columns(rows)
            worth = part - (free_x[rows, None] + free_y[columns]) / (2 * gamma)
            left, choices = columns.start, np.empty(worth.shape, np.uint8)
            best_kernels.accuracy_rows(worth, below[left : columns.stop + 1], choices)
            below[:left] = below[left]
            chosen.append((choices, rows.start, left))
        j = 0
        for choices, first, left in reversed(chosen):
            j = best_kernels.accuracy_trace(choices, first, left, j, partner)
        return partner

    def of(self, partner: IntArray) -> FloatArray:
        """Those of the matches of an alignment, shape (n,); nan for residues without one."""
        found = np.full(self.pair.n, np.nan)
        for rows, part in self:
            i = np.flatnonzero(partner[rows] >= 0)
            found[rows][i] = part[i, partner[rows][i] - self.pair.columns(rows).start]
        return found


def _table(inference: Inference | LogInference) -> Array:
    pair = inference.pair
    out = np.zeros((pair.n, pair.m), pair.dtype)
    for rows, part in _blocks(inference):
        out[rows, pair.columns(rows)] = part
    return out


def posterior(pair: Pair) -> Array:
    """Probabilities of all matches, shape (n, m)."""
    return _soundly(pair, _table)


def likely_matches(pair: Pair, least: float) -> tuple[IntArray, IntArray, FloatArray]:
    """Residues of x and y whose match has this probability at least, by both, and the probabilities."""

    def collect(inference: Inference | LogInference) -> tuple[IntArray, IntArray, FloatArray]:
        found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
        for rows, part in _blocks(inference):
            i, j = np.nonzero(part >= least)
            found.append((i + rows.start, j + pair.columns(rows).start, part[i, j]))
        i, j, values = (np.concatenate(parts) for parts in zip(*reversed(found), strict=True))
        return i, j, values

    return _soundly(pair, collect)


def most_accurate(pair: Pair, gamma: float) -> IntArray:
    """The alignment of maximum expected accuracy: the partner of each residue of x, -1 for none.

    Parameters
    ----------
    gamma : float
        How much a right match counts beside two residues rightly left out; inf to count nothing else.
    """
    return _soundly(pair, lambda inference: Posteriors(inference).most_accurate(gamma))


class Decoded(NamedTuple):
    """An alignment and its probabilities.

    ``partner`` (n,): the residue of y that each of x is matched with, -1 for none; ``confidence`` (n,): the
    probability of that match, nan for none; ``posterior`` (n, m): those of all matches, or None.
    """

    partner: IntArray
    confidence: FloatArray
    posterior: Array | None


def decode(pair: Pair, gamma: float | None, keep: bool) -> Decoded:
    """An alignment with its probabilities, from one pass over the tables where its posteriors can be kept.

    Parameters
    ----------
    gamma : float or None
        Of `most_accurate`; None for the alignment of the highest score.
    keep : bool
        Whether the probabilities of all matches are wanted.
    """

    def collect(inference: Inference | LogInference) -> Decoded:
        posteriors = Posteriors(inference, keep)
        partner = best(pair)[0] if gamma is None else posteriors.most_accurate(gamma)
        return Decoded(partner, posteriors.of(partner), posteriors.table if keep else None)

    return _soundly(pair, collect)
