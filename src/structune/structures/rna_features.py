"""The features of CONTRAfold's RNA model, and the tables that the kernels read them from.

A table cell is the score of a piece of a loop: a sum of weights, given by one row of a sparse matrix. Scores
of cells are ``matrix @ w``, and expected features ``matrix.T @ expected cells``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import prod

import numpy as np
import scipy.sparse as sp

from structune.structures.base import FloatArray

LETTERS = "ACGU"
MAX_LOOP = 30
_MAX_ASYMMETRY, _MAX_SYMMETRIC, _MAX_EXPLICIT = 28, 15, 4
UNKNOWN, ABSENT = 4, 5  # letters of a base that is none of the four, and of one beyond the sequence's end

SHAPES: dict[str, tuple[int, ...]] = {
    "base_pair": (4, 4),
    "stack": (4, 4, 4, 4),
    "junction_b": (4, 4, 5, 5),
    "junction_a": (4, 4, 6, 6),
    "hairpin": (MAX_LOOP + 1,),
    "loop": (MAX_LOOP + 1, MAX_LOOP + 1),
    "bulge_0x1": (5,),
    "internal_1x1": (5, 5),
    "multi_base": (1,),
    "multi_unpaired": (1,),
    "multi_paired": (1,),
    "external_unpaired": (1,),
    "external_paired": (1,),
}
_ENDS = np.cumsum([0, *(prod(shape) for shape in SHAPES.values())])
TABLES = {name: slice(int(a), int(b)) for name, a, b in zip(SHAPES, _ENDS[:-1], _ENDS[1:], strict=True)}
N_CELLS = int(_ENDS[-1])


def _unordered(a: str, b: str) -> str:
    return min(a + b, b + a)


def _steps(name: str, first: int, last: int) -> list[str]:
    """Names of the weights of lengths `first` to `last`, each of which a longer loop has too."""
    return [f"{name}_at_least_{k}" for k in range(first, last + 1)]


@cache
def weight_names() -> tuple[str, ...]:
    """The 708 weights, as CONTRAfold names them and in its order."""
    words = ["".join(word) for word in product(LETTERS, repeat=4)]
    pairs = sorted({_unordered(a, b) for a, b in product(LETTERS, repeat=2)})
    explicit = [(a, b) for a in range(1, _MAX_EXPLICIT + 1) for b in range(a, _MAX_EXPLICIT + 1)]
    return (
        *(f"base_pair_{pair}" for pair in pairs),
        *(f"terminal_mismatch_{word}" for word in words),
        *_steps("hairpin_length", 0, MAX_LOOP),
        *(f"internal_explicit_{a}_{b}" for a, b in explicit),
        *_steps("bulge_length", 1, MAX_LOOP),
        *_steps("internal_length", 2, MAX_LOOP),
        *_steps("internal_symmetric_length", 1, _MAX_SYMMETRIC),
        *_steps("internal_asymmetry", 1, _MAX_ASYMMETRY),
        *(f"bulge_0x1_nucleotides_{a}" for a in LETTERS),
        *(f"internal_1x1_nucleotides_{pair}" for pair in pairs),
        *(f"helix_stacking_{word}" for word in words if word <= word[::-1]),
        *(f"helix_closing_{a}{b}" for a, b in product(LETTERS, repeat=2)),
        "multi_base",
        "multi_unpaired",
        "multi_paired",
        *(f"dangle_left_{''.join(word)}" for word in product(LETTERS, repeat=3)),
        *(f"dangle_right_{''.join(word)}" for word in product(LETTERS, repeat=3)),
        "external_unpaired",
        "external_paired",
    )


def _loop(l1: int, l2: int) -> list[str]:
    """Weights of a bulge or an internal loop with l1 and l2 unpaired bases, but for its nucleotides."""
    total, difference = l1 + l2, abs(l1 - l2)
    if min(l1, l2) == 0:
        return _steps("bulge_length", 1, total)
    names = _steps("internal_length", 2, total)
    names += _steps("internal_asymmetry", 1, min(difference, _MAX_ASYMMETRY))
    if l1 == l2:
        names += _steps("internal_symmetric_length", 1, min(l1, _MAX_SYMMETRIC))
    if max(l1, l2) <= _MAX_EXPLICIT:
        names.append(f"internal_explicit_{min(l1, l2)}_{max(l1, l2)}")
    return names


def _cells() -> Iterator[tuple[str, tuple[int, ...], list[str]]]:
    """Every table cell that has weights: table, place, names."""
    letters = list(enumerate(LETTERS))
    for (x, a), (y, b) in product(letters, repeat=2):
        yield "base_pair", (x, y), [f"base_pair_{_unordered(a, b)}"]
        yield "internal_1x1", (x, y), [f"internal_1x1_nucleotides_{_unordered(a, b)}"]
        closing = f"helix_closing_{a}{b}"
        for z, u in product(range(5), repeat=2):
            mismatch = [f"terminal_mismatch_{a}{b}{LETTERS[z]}{LETTERS[u]}"] if max(z, u) < UNKNOWN else []
            yield "junction_b", (x, y, z, u), [closing, *mismatch]
        for z, u in product(range(6), repeat=2):
            left = [f"dangle_left_{a}{b}{LETTERS[z]}"] if z < UNKNOWN else []
            right = [f"dangle_right_{a}{b}{LETTERS[u]}"] if u < UNKNOWN else []
            yield "junction_a", (x, y, z, u), [closing, *left, *right]
        for (z, c), (u, d) in product(letters, repeat=2):
            word = a + b + c + d
            yield "stack", (x, y, z, u), [f"helix_stacking_{min(word, word[::-1])}"]
    for x, a in letters:
        yield "bulge_0x1", (x,), [f"bulge_0x1_nucleotides_{a}"]
    for length in range(MAX_LOOP + 1):
        yield "hairpin", (length,), _steps("hairpin_length", 0, length)
    for l1 in range(MAX_LOOP + 1):
        for l2 in range(MAX_LOOP + 1 - l1):
            if l1 + l2:
                yield "loop", (l1, l2), _loop(l1, l2)
    for name in ("multi_base", "multi_unpaired", "multi_paired", "external_unpaired", "external_paired"):
        yield name, (0,), [name]


@cache
def cell_matrix() -> sp.csr_array:
    """Which weights each table cell sums, shape (N_CELLS, 708)."""
    number = {name: i for i, name in enumerate(weight_names())}
    rows, columns = [], []
    for table, place, names in _cells():
        row = TABLES[table].start + int(np.ravel_multi_index(place, SHAPES[table]))
        rows += [row] * len(names)
        columns += [number[name] for name in names]
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(N_CELLS, len(number)))


def tables(cells: FloatArray) -> dict[str, FloatArray]:
    """The cells as arrays of their shapes."""
    return {name: cells[place].reshape(SHAPES[name]) for name, place in TABLES.items()}


_GROUPS = (
    ("hairpin lengths", ("hairpin_length",)),
    ("helix closing pairs", ("helix_closing",)),
    ("symmetric internal lengths", ("internal_symmetric",)),
    ("external lengths", ("external",)),
    ("bulge lengths", ("bulge_length",)),
    ("base pairings", ("base_pair",)),
    ("internal asymmetry", ("internal_asymmetry",)),
    ("explicit internal sizes", ("internal_explicit",)),
    ("terminal mismatches", ("terminal_mismatch",)),
    ("dangles", ("dangle",)),
    ("1x1 nucleotides", ("internal_1x1",)),
    ("single base bulge nucleotides", ("bulge_0x1",)),
    ("internal lengths", ("internal_length",)),
    ("multi-branch", ("multi",)),
    ("helix stacking", ("helix_stacking",)),
)


def group_of(name: str) -> str:
    """The group, of the 15 of Do, Foo & Ng 2007, that a weight belongs to."""
    return next(group for group, prefixes in _GROUPS if name.startswith(prefixes))
