"""The scores of table cells as the kernels of RNA read them, and their exponentials."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from structune.rna.kernels.loops import ABSENT, LOOP, N_LETTERS, SPANS
from structune.rna.structure.features import MAX_LOOP, tables
from structune.structure import Array, IntArray

LOOP_LENGTHS = np.add.outer(np.arange(LOOP + 1), np.arange(LOOP))  # of the cells of the table of loops


class Potentials:
    """The table cells of one weight vector, real or complex, as scores and as factors, their exponentials.

    `allowed`, shape (4, 4), are the bases that may pair.
    """

    def __init__(self, cells: Array, allowed: Array) -> None:
        self.cells, self.dtype, self.most = cells, cells.dtype, np.max(cells.real)
        self.allowed = np.zeros((N_LETTERS, N_LETTERS), bool)
        self.allowed[: len(allowed), : len(allowed)] = allowed
        self._last: tuple[int, Array] | None = None

    def scores(self, log_scale: float = 0.0) -> Array:
        """Of all cells, shape (N_CELLS,), -inf of what cannot be; every base scores `log_scale` less."""
        found = self.cells.copy()
        cells = tables(found)
        # The two bases of a pair carry the scale in the pair, all others in their loop.
        cells["base_pair"] -= 2 * log_scale
        cells["base_pair"][~self.allowed] = -np.inf
        # Unpaired bases carry the scale of their number. 0x1, 1x0 and 1x1 have tables of their own, which see
        # letters, and stacks are not loops: the four smallest sizes are none here.
        loop = cells["loop"]
        loop -= log_scale * LOOP_LENGTHS
        loop[LOOP_LENGTHS > MAX_LOOP] = -np.inf
        cells["bulge_0x1"] += loop[0, 1]
        cells["internal_1x1"] += loop[1, 1]
        loop[:2, :2] = -np.inf
        cells["multi_unpaired"] -= log_scale
        cells["external_unpaired"] -= log_scale
        return found

    def length_scores(self, n: int, log_scale: float = 0.0) -> Array:
        """Of spans and hairpins of lengths 0..n, shape (2, n + 1)."""
        cells, lengths = tables(self.cells), np.arange(n + 1)
        hairpins = cells["hairpin"][np.minimum(lengths, MAX_LOOP)] - log_scale * lengths
        return np.stack([cells["span"][spans(n)], hairpins])

    @cached_property
    def _factors(self) -> Array:
        return exponentials(self.scores())

    def factors(self, n: int, log_scale: float) -> tuple[Array, Array]:
        """Exponentials of `scores` and `length_scores`; the last are kept, for predictions one by one."""
        if log_scale:
            return exponentials(self.scores(log_scale)), exponentials(self.length_scores(n, log_scale))
        last = self._last
        if last is None or last[0] != n:
            last = self._last = n, exponentials(self.length_scores(n))
        return self._factors, last[1]


def exponentials(scores: Array) -> Array:
    """Exponentials, 0 or inf beyond the range of a double: the sums of them are checked."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.exp(scores))


def spans(n: int) -> IntArray:
    """Place in the table of spans of the pairs (i, i), .., (i, i + n)."""
    return np.searchsorted(SPANS, np.arange(n + 1), side="right")


def with_ends(letters: Array, circular: bool = False) -> IntArray:
    """Letters as the kernels read them: between absent ones, or those of a circle twice in a row."""
    inner, ends = np.asarray(letters, np.int64), np.array([ABSENT])
    if circular and inner.size:
        return np.concatenate([inner[-1:], inner, inner, inner[:1]])
    return np.concatenate([ends, inner, ends])
