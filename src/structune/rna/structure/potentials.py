"""The scores of table cells as the kernels of RNA read them, and their exponentials."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structune.rna.kernels.loops import ABSENT, SPANS
from structune.rna.kernels.sums import N_LETTERS
from structune.rna.structure.features import MAX_LOOP, tables
from structune.structure import Array, IntArray

SIDES = MAX_LOOP + 1
LOOP_LENGTHS = np.add.outer(np.arange(SIDES), np.arange(SIDES))
_FIXED = (
    "stack",
    "hairpin_mismatch",
    "interior_mismatch",
    "multi_dangle",
    "external_dangle",
    "hairpin_3",
    "hairpin_4",
)


class Tables(NamedTuple):
    """Tables over six letters a place, flat; spans and hairpins over lengths 0..n, loops over their sides."""

    base_pair: Any
    span: Any
    stack: Any
    hairpin_mismatch: Any
    interior_mismatch: Any
    multi_dangle: Any
    external_dangle: Any
    hairpin: Any
    hairpin_3: Any
    hairpin_4: Any
    loop: Any
    bulge_0x1: Any
    internal_1x1: Any


class Scores:
    """The table cells of one weight vector.

    Parameters
    ----------
    cells : ndarray, shape (N_CELLS,), real or complex
    allowed : ndarray of bool, shape (4, 4)
        Bases that may pair.
    """

    def __init__(self, cells: Array, allowed: Array) -> None:
        self.cells, self.dtype, self.most = cells, cells.dtype, np.max(cells.real)
        self.allowed = over_six(allowed, False)
        self._tables = tables(cells)
        self._base_pair = over_six(np.where(allowed, self._tables["base_pair"], -np.inf), -np.inf)
        self._fixed = {name: over_six(self._tables[name], -np.inf) for name in _FIXED}

    def tables(self, n: int, log_scale: float = 0.0) -> tuple[Tables, Array]:
        """Tables, and six scalars, for a sequence of n bases; every base scores `log_scale` less.

        -inf is the score of what cannot be. The scalars: a multi-branch loop and the pair that closes it, a
        branch, an unpaired base of it; a branch, an unpaired base of the exterior; that two strands meet.
        """
        cells, lengths = self._tables, np.arange(n + 1)
        # Unpaired bases carry the scale of their number. 0x1, 1x0 and 1x1 have tables of their own, which see
        # letters, and stacks are not loops: the four smallest sizes are none here.
        loop = np.where(LOOP_LENGTHS <= MAX_LOOP, cells["loop"] - log_scale * LOOP_LENGTHS, -np.inf)
        bulge, one_by_one = cells["bulge_0x1"] + loop[0, 1], cells["internal_1x1"] + loop[1, 1]
        loop[:2, :2] = -np.inf
        filled = Tables(
            # The two bases of a pair carry the scale in the pair, all others in their loop.
            base_pair=self._base_pair - 2 * log_scale,
            span=cells["span"][spans(n)],
            hairpin=cells["hairpin"][np.minimum(lengths, MAX_LOOP)] - log_scale * lengths,
            loop=np.append(loop, np.full(SIDES, -np.inf)),  # kernels look one row ahead
            bulge_0x1=over_six(bulge, -np.inf),
            internal_1x1=over_six(one_by_one, -np.inf),
            **self._fixed,
        )
        scalars = (
            cells["multi_base"][0] + cells["multi_paired"][0],
            cells["multi_paired"][0],
            cells["multi_unpaired"][0] - log_scale,
            cells["external_paired"][0],
            cells["external_unpaired"][0] - log_scale,
            cells["strands"][0],
        )
        return filled, np.array(scalars, self.dtype)


class Potentials(Scores):
    """The same as factors: the exponentials of the scores."""

    def __init__(self, cells: Array, allowed: Array) -> None:
        super().__init__(cells, allowed)
        with np.errstate(over="ignore", invalid="ignore"):
            self._factors = {name: np.exp(table) for name, table in self._fixed.items()}
        self._last: tuple[int, tuple[Tables, Array]] | None = None

    def factors(self, n: int, log_scale: float) -> tuple[Tables, Array]:
        """`tables`, exponentiated; those of the last length are kept, for sequences that come one by one."""
        if log_scale:
            return self._made_factors(n, log_scale)
        last = self._last
        if last is None or last[0] != n:
            last = self._last = n, self._made_factors(n, 0.0)
        return last[1]

    def _made_factors(self, n: int, log_scale: float) -> tuple[Tables, Array]:
        filled, scalars = self.tables(n, log_scale)
        with np.errstate(over="ignore", invalid="ignore"):
            rest = {name: np.exp(t) for name, t in filled._asdict().items() if name not in _FIXED}
            return Tables(**self._factors, **rest), np.exp(scalars)


def spans(n: int) -> IntArray:
    """Place in the table of spans of the pairs (i, i), .., (i, i + n)."""
    return np.searchsorted(SPANS, np.arange(n + 1), side="right")


def over_six(table: Array, fill: Any) -> Array:
    """The same table over six letters a place, flat; `fill` where there was nothing."""
    out = np.full((N_LETTERS,) * table.ndim, fill, table.dtype)
    out[tuple(slice(k) for k in table.shape)] = table
    return out.reshape(-1)


def with_ends(letters: Array, circular: bool = False) -> IntArray:
    """Letters as the kernels read them: between absent ones, or those of a circle twice in a row."""
    inner, ends = np.asarray(letters, np.int64), np.array([ABSENT])
    if circular and inner.size:
        return np.concatenate([inner[-1:], inner, inner, inner[:1]])
    return np.concatenate([ends, inner, ends])
