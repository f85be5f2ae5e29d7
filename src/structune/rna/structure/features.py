"""The features of RNA models, and the tables that the kernels read them from.

A table cell is the score of a piece of a loop: a sum of weights, given by one row of a sparse matrix. Scores
of cells are ``matrix @ w``, and expected features ``matrix.T @ expected cells``. A feature set is such a
matrix and the names of its columns; kernels see the cells only, as scores or as `Potentials` of these.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from math import prod

import numpy as np
import scipy

from structune.errors import DataError
from structune.rna.kernels.loops import ABSENT, LOOP, N_LETTERS, SPANS
from structune.structure import Array, FloatArray, IntArray

LETTERS = "ACGU"
CANONICAL = ("AU", "UA", "CG", "GC", "GU", "UG")
FEATURE_SETS = ("contrafold", "extended")
MAX_LOOP = LOOP - 1
# Limits of CONTRAfold's features (Do, Woods & Batzoglou 2006); the last one is of the extended set.
_MAX_ASYMMETRY, _MAX_SYMMETRIC, _MAX_EXPLICIT, _MAX_SIDES = 28, 15, 4, 10
UNKNOWN = 4  # letter of a base that is none of the four; ABSENT is that of one beyond a strand's end

SHAPES: dict[str, tuple[int, ...]] = {
    "base_pair": (N_LETTERS,) * 2,
    "span": (len(SPANS) + 1,),
    "stack": (N_LETTERS,) * 6,
    "hairpin_mismatch": (N_LETTERS,) * 4,
    "interior_mismatch": (N_LETTERS,) * 4,
    "multi_dangle": (N_LETTERS,) * 4,
    "external_dangle": (N_LETTERS,) * 4,
    "hairpin": (LOOP,),
    "hairpin_3": (N_LETTERS,) * 3,
    "hairpin_4": (N_LETTERS,) * 4,
    "loop": (LOOP + 1, LOOP),  # a row more than there are sizes, which kernels may read
    "bulge_0x1": (N_LETTERS,),
    "internal_1x1": (N_LETTERS,) * 2,
    "multi_base": (1,),
    "multi_unpaired": (1,),
    "multi_paired": (1,),
    "external_unpaired": (1,),
    "external_paired": (1,),
    "strands": (1,),  # of two that a pair joins: a constant, no weight's
}
Starts = namedtuple("Starts", list(SHAPES))  # type: ignore[misc]
_ENDS = np.cumsum([0, *(prod(shape) for shape in SHAPES.values())])
TABLES = {name: slice(int(a), int(b)) for name, a, b in zip(SHAPES, _ENDS[:-1], _ENDS[1:], strict=True)}
N_CELLS = int(_ENDS[-1])
STARTS = Starts(*(place.start for place in TABLES.values()))


def _unordered(a: str, b: str) -> str:
    """Two words in the one order that names have."""
    return min(a + b, b + a)


# Lengths are scored by sums of steps, "at least k": the weight of a step is what one base more changes, and a
# Gaussian prior of steps makes neighbouring lengths alike.
def _steps(name: str, first: int, last: int) -> list[str]:
    """Names of the weights of lengths `first` to `last`, each of which a longer loop has too."""
    return [f"{name}_at_least_{k}" for k in range(first, last + 1)]


def _words(length: int) -> list[str]:
    """All words of so many letters."""
    return ["".join(word) for word in product(LETTERS, repeat=length)]


def _contrafold_names() -> Iterator[str]:
    """The 708 weights, as CONTRAfold names them and in its order."""
    pairs = sorted({_unordered(a, b) for a, b in product(LETTERS, repeat=2)})
    yield from (f"base_pair_{pair}" for pair in pairs)
    yield from (f"terminal_mismatch_{word}" for word in _words(4))
    yield from _steps("hairpin_length", 0, MAX_LOOP)
    yield from (f"internal_explicit_{a}_{b}" for a, b in _sides(_MAX_EXPLICIT))
    yield from _steps("bulge_length", 1, MAX_LOOP)
    yield from _steps("internal_length", 2, MAX_LOOP)
    yield from _steps("internal_symmetric_length", 1, _MAX_SYMMETRIC)
    yield from _steps("internal_asymmetry", 1, _MAX_ASYMMETRY)
    yield from (f"bulge_0x1_nucleotides_{a}" for a in LETTERS)
    yield from (f"internal_1x1_nucleotides_{pair}" for pair in pairs)
    yield from (f"helix_stacking_{word}" for word in _words(4) if word <= word[::-1])
    yield from (f"helix_closing_{word}" for word in _words(2))
    yield from ("multi_base", "multi_unpaired", "multi_paired")
    yield from (f"dangle_left_{word}" for word in _words(3))
    yield from (f"dangle_right_{word}" for word in _words(3))
    yield from ("external_unpaired", "external_paired")


def _further_names() -> Iterator[str]:
    """What the extended set has beside CONTRAfold's."""
    for loop in ("hairpin", "multi", "external"):
        yield from (f"{loop}_closing_{word}" for word in _words(2))
        yield from (f"{loop}_mismatch_{word}" for word in _words(4))
    yield from (f"triloop_{word}" for word in _words(3))
    yield from (f"tetraloop_{word}" for word in _words(4))
    yield from (f"internal_sides_{a}_{b}" for a, b in _sides(_MAX_SIDES) if b > _MAX_EXPLICIT)
    yield from (f"stack_context_{a}{b}{c}" for a, b, c in product(CANONICAL, CANONICAL, _words(2)))
    yield from (f"span_at_least_{span}" for span in SPANS)


def _sides(most: int) -> list[tuple[int, int]]:
    """Sizes of the two sides of an internal loop, in rising order."""
    return [(a, b) for a in range(1, most + 1) for b in range(a, most + 1)]


def _loop(l1: int, l2: int) -> list[str]:
    """Weights of a bulge or an internal loop with l1 and l2 unpaired bases, but for its nucleotides."""
    total, difference, low, high = l1 + l2, abs(l1 - l2), min(l1, l2), max(l1, l2)
    if low == 0:
        return _steps("bulge_length", 1, total)
    names = _steps("internal_length", 2, total)
    names += _steps("internal_asymmetry", 1, min(difference, _MAX_ASYMMETRY))
    if l1 == l2:
        names += _steps("internal_symmetric_length", 1, min(l1, _MAX_SYMMETRIC))
    return [*names, f"internal_explicit_{low}_{high}", f"internal_sides_{low}_{high}"]


def _mismatch(loop: str, a: str, b: str, z: int, u: int) -> list[str]:
    """Weights of the pair ab beside a loop, with the letters z after a and u before b."""
    # A mismatch has a weight only if both letters are known; the closing pair always has one.
    both = f"{a}{b}{LETTERS[z]}{LETTERS[u]}" if max(z, u) < UNKNOWN else ""
    return [f"{loop}_closing_{a}{b}", f"{loop}_mismatch_{both}"]


def _cells() -> Iterator[tuple[str, tuple[int, ...], list[str]]]:
    """Every table cell: table, place, and the names of its weights in all feature sets."""
    letters = list(enumerate(LETTERS))
    for (x, a), (y, b) in product(letters, repeat=2):
        yield "base_pair", (x, y), [f"base_pair_{_unordered(a, b)}"]
        yield "internal_1x1", (x, y), [f"internal_1x1_nucleotides_{_unordered(a, b)}"]
        # Junctions: the pair, and the two bases beside it in the loop. A hairpin and an interior loop have a
        # mismatch of both bases; multi-branch and exterior loops have a dangle for each, which may be beyond
        # an end.
        closing = f"helix_closing_{a}{b}"
        for z, u in product(range(5), repeat=2):
            names = [closing, _mismatch("terminal", a, b, z, u)[1]]
            yield "hairpin_mismatch", (x, y, z, u), names + _mismatch("hairpin", a, b, z, u)
            yield "interior_mismatch", (x, y, z, u), names
        for z, u in product(range(6), repeat=2):
            left = [f"dangle_left_{a}{b}{LETTERS[z]}"] if z < UNKNOWN else []
            right = [f"dangle_right_{a}{b}{LETTERS[u]}"] if u < UNKNOWN else []
            for loop in ("multi", "external"):
                names = [closing, *left, *right, *_mismatch(loop, a, b, z, u)]
                yield f"{loop}_dangle", (x, y, z, u), names
        for (z, c), (u, d) in product(letters, repeat=2):
            word = a + b + c + d
            for v, t in product(range(6), repeat=2):
                around = [f"stack_context_{word}{LETTERS[v]}{LETTERS[t]}"] if max(v, t) < UNKNOWN else []
                # A stack reads the same from either strand: one weight for the word and its reverse.
                yield "stack", (x, y, z, u, v, t), [f"helix_stacking_{min(word, word[::-1])}", *around]
    for x, a in letters:
        yield "bulge_0x1", (x,), [f"bulge_0x1_nucleotides_{a}"]
    for length, name in ((3, "triloop"), (4, "tetraloop")):
        for place in product(range(len(LETTERS)), repeat=length):
            yield f"hairpin_{length}", place, [f"{name}_{''.join(LETTERS[x] for x in place)}"]
    for length in range(MAX_LOOP + 1):
        yield "hairpin", (length,), _steps("hairpin_length", 0, length)
    for k in range(len(SPANS) + 1):
        yield "span", (k,), [f"span_at_least_{span}" for span in SPANS[:k]]
    for l1 in range(MAX_LOOP + 1):
        for l2 in range(MAX_LOOP + 1 - l1):
            if l1 + l2:
                yield "loop", (l1, l2), _loop(l1, l2)
    for name in ("multi_base", "multi_unpaired", "multi_paired", "external_unpaired", "external_paired"):
        yield name, (0,), [name]


@dataclass(frozen=True)
class FeatureSet:
    """The weights of a model, and the cells that sum them."""

    names: tuple[str, ...]
    rows: IntArray  # a cell, and a weight that it sums, in the order of the cells and then of the weights
    columns: IntArray

    def cells(self, w: Array) -> Array:
        """Scores of all cells, shape (N_CELLS,): `matrix` times weights, without scipy, to start at once."""
        # bincount is a sparse product by rows; it adds real numbers only.
        parts = (w.real, w.imag) if np.iscomplexobj(w) else (w,)
        sums = [np.bincount(self.rows, weights=part[self.columns], minlength=N_CELLS) for part in parts]
        return sums[0] if len(sums) == 1 else sums[0] + 1j * sums[1]

    @cached_property
    def matrix(self) -> scipy.sparse.csr_array:
        """Which weights each table cell sums, shape (N_CELLS, n_weights)."""
        entries = np.ones(self.rows.size), (self.rows, self.columns)
        return scipy.sparse.csr_array(entries, shape=(N_CELLS, len(self.names)))


@cache
def feature_set(name: str) -> FeatureSet:
    """The features of CONTRAfold ("contrafold"), or these and more ("extended")."""
    if name not in FEATURE_SETS:
        raise DataError(f"features={name!r}: expected one of {list(FEATURE_SETS)}")
    names = (*_contrafold_names(), *(_further_names() if name == "extended" else ()))
    number = {weight: i for i, weight in enumerate(names)}
    rows, columns = list[int](), list[int]()
    for table, place, weights in _cells():
        cell = 0
        # The place in a flat array, the last index the fastest.
        for k, size in zip(place, SHAPES[table], strict=True):
            cell = cell * size + k
        known = [number[weight] for weight in weights if weight in number]
        rows += [TABLES[table].start + cell] * len(known)
        columns += known
    # Sorted as a sparse matrix by rows is, so that sums have one order whoever adds them up.
    order = np.lexsort((columns, rows))
    return FeatureSet(names, np.array(rows)[order], np.array(columns)[order])


def tables(cells: FloatArray) -> dict[str, FloatArray]:
    """The cells as arrays of their shapes."""
    return {name: cells[place].reshape(SHAPES[name]) for name, place in TABLES.items()}


_GROUPS = (
    ("hairpin lengths", ("hairpin_length",)),
    ("helix closing pairs", ("helix_closing",)),
    ("symmetric internal lengths", ("internal_symmetric",)),
    ("external lengths", ("external_unpaired", "external_paired")),
    ("bulge lengths", ("bulge_length",)),
    ("base pairings", ("base_pair",)),
    ("internal asymmetry", ("internal_asymmetry",)),
    ("explicit internal sizes", ("internal_explicit",)),
    ("terminal mismatches", ("terminal_mismatch",)),
    ("dangles", ("dangle",)),
    ("1x1 nucleotides", ("internal_1x1",)),
    ("single base bulge nucleotides", ("bulge_0x1",)),
    ("internal lengths", ("internal_length",)),
    ("multi-branch", ("multi_base", "multi_unpaired", "multi_paired")),
    ("helix stacking", ("helix_stacking",)),
    ("hairpin closing pairs", ("hairpin_closing",)),
    ("hairpin mismatches", ("hairpin_mismatch",)),
    ("multi-branch closing pairs", ("multi_closing",)),
    ("multi-branch mismatches", ("multi_mismatch",)),
    ("external closing pairs", ("external_closing",)),
    ("external mismatches", ("external_mismatch",)),
    ("triloops", ("triloop",)),
    ("tetraloops", ("tetraloop",)),
    ("larger internal sizes", ("internal_sides",)),
    ("stack contexts", ("stack_context",)),
    ("pair spans", ("span",)),
)


def group_of(name: str) -> str:
    """The group that a weight belongs to: the 15 of Do, Foo & Ng 2007, and one for each further kind."""
    return next(group for group, prefixes in _GROUPS if name.startswith(prefixes))


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
