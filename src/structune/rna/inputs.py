"""Checks of what folders are given, training structures outside the model's space, and predictions."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

import numpy as np

from structune.errors import DataError, warn
from structune.files.inputs import as_list
from structune.files.text import plural
from structune.rna.formats.brackets import STRANDS, bases_of, check_cut, cut_as, drop_pseudoknots, partners
from structune.rna.structure.constraints import Constraints
from structune.rna.structure.rna import RNA
from structune.rna.structure.shard import Output, RNAShard
from structune.rna.structure.space import dot_bracket
from structune.structure import Array, FloatArray, IntArray

_NO_BASE = re.compile(r"[^ACGU&]")
_DECODINGS = ("mea", "centroid")
OUTSIDE = ("skip", "trim", "error")
_MOST_NAMED, _MOST_KEPT = 5, 1000


def checked_strings(X: Any, what: str) -> list[str]:
    return _checked(X, what, str, "a string")


def checked_outputs(y: Any) -> list[Output]:
    """Structures, and what is known of some."""
    return _checked(y, "structure", str | Constraints, "a string or Constraints")


def _checked(values: Any, what: str, kinds: Any, expected: str) -> list[Any]:
    found = as_list(values, f"{what}s")
    for s, value in enumerate(found):
        if not isinstance(value, kinds):
            raise DataError(f"{what} {s}: {value!r} is not {expected}")
    return found


def checked_number(n: Any, name: str = "n") -> int:
    """A number of at least one that kernels can hold."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise DataError(f"{name}={n!r}: expected a whole number of at least 1")
    return min(int(n), sys.maxsize)


def checked_gammas(gammas: Any) -> list[float]:
    given = gammas.item() if getattr(gammas, "ndim", 1) == 0 else gammas  # an array of one number
    return [checked_gamma(gamma) for gamma in as_list(given, "numbers, such as [4.0], for gamma")]


def checked_gamma(gamma: float, name: str = "gamma") -> float:
    return checked_within(gamma, name, sys.float_info.max, "a finite number >= 0")


def checked_threshold(threshold: Any) -> float:
    return checked_within(threshold, "threshold", 1.0, "a number within [0, 1]")


def checked_within(value: Any, name: str, most: float, expected: str) -> float:
    """A number from 0 to `most`."""
    number: Any = value
    if isinstance(value, bool) or not (isinstance(value, Real) and 0.0 <= number <= most):
        raise DataError(f"{name}={value!r}: expected {expected}")
    return float(value)


def checked_decoding(decoding: Any) -> str:
    if decoding not in _DECODINGS:
        raise DataError(f"decoding={decoding!r}: expected one of {_DECODINGS}")
    return str(decoding)


# --- training structures and the space of the model: most references fit into it, some do not --------------


class OutsideSpaceWarning(UserWarning):
    """Warning that the model cannot produce some of the training structures."""


@dataclass
class FittingExamples:
    """The training examples that the model can produce."""

    kept: list[int] = field(default_factory=list)  # which of the examples these are
    structures: list[Output] = field(default_factory=list)  # of each of them
    skipped: list[tuple[int, str]] = field(default_factory=list)  # the others, and why
    # of an example, the number of pairs that were dropped, because of pseudoknots and otherwise
    unknotted: dict[int, int] = field(default_factory=dict)
    trimmed: dict[int, int] = field(default_factory=dict)

    def shard(self, rna: RNA, sequences: Sequence[str], weights: FloatArray | None = None) -> RNAShard:
        """Those of all the sequences that are kept, which errors name by their number."""
        given = None if weights is None else weights[self.kept]
        shard = rna.encode([sequences[s] for s in self.kept], self.structures, given)
        return replace(shard, numbers=np.array(self.kept, np.int64))


@dataclass
class LeftOut:
    """What was skipped or removed from examples that come in blocks; examples are numbered across blocks."""

    n_examples: int = 0
    n_kept: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)  # a thousand that were skipped, and why
    # of examples that were skipped, with pseudoknots, with other pairs: how many there are, their pairs, and
    # the first of them
    _counts: list[list[int]] = field(default_factory=lambda: [[0, 0], [0, 0], [0, 0]])
    _named: list[list[str]] = field(default_factory=lambda: [[], [], []])

    def add(self, examples: FittingExamples, names: Sequence[str] | None = None) -> None:
        """Those of one more block, by name if they have any."""
        start = self.n_examples
        told = [[(0, f"{_called(s, names, start)} ({reason})") for s, reason in examples.skipped]]
        for dropped in (examples.unknotted, examples.trimmed):
            told.append([(n, f"{n:,} in {_called(s, names, start)}") for s, n in dropped.items()])
        for counts, named, of_kind in zip(self._counts, self._named, told, strict=True):
            counts[:] = counts[0] + len(of_kind), counts[1] + sum(n for n, _ in of_kind)
            named += [name for _, name in of_kind[: _MOST_NAMED - len(named)]]
        room = _MOST_KEPT - len(self.first)
        self.first += [(start + s, reason) for s, reason in examples.skipped[:room]]
        self.n_kept += len(examples.kept)
        self.n_examples += len(examples.kept) + len(examples.skipped)

    def report(self) -> None:
        """Give one `OutsideSpaceWarning` for all that was left out; raise `DataError` if nothing is left."""
        if not self.n_kept:
            raise DataError(
                f"the model cannot produce any of the {self.n_examples:,} structures: {self._some(0)}; "
                "outside='trim' removes the offending pairs"
            )
        parts = []
        if self._counts[0][0]:
            parts.append(f"skipped {plural(self._counts[0][0], 'sequence')}: {self._some(0)}")
        for k, what in ((1, "pairs in pseudoknots"), (2, "impossible pairs")):
            if self._counts[k][0]:
                parts.append(f"removed {self._counts[k][1]:,} {what}: {self._some(k)}")
        if parts:
            warn(f"the model cannot produce some structures; {'; '.join(parts)}", OutsideSpaceWarning)

    def _some(self, k: int) -> str:
        """The named examples of a kind, and how many more there are."""
        more = self._counts[k][0] - len(self._named[k])
        return ", ".join(self._named[k] + [f"and {more:,} more"] * (more > 0))


def _called(s: int, names: Sequence[str] | None, start: int = 0) -> str:
    """What errors call an example."""
    return f"sequence {start + s}" if names is None else names[s]


def fit_into_space(
    rna: RNA,
    sequences: Sequence[str],
    structures: Sequence[Output],
    outside: str,
    names: Sequence[str] | None = None,
) -> FittingExamples:
    """Select or trim the examples that the model can produce; errors use their names or numbers.

    `outside` says what happens to the other structures: skip them, remove the offending pairs, or an error.
    """
    if outside not in OUTSIDE:
        raise DataError(f"outside={outside!r}: expected one of {OUTSIDE}")
    if len(structures) != len(sequences):
        raise DataError(f"there are {len(structures)} structures, but {len(sequences)} sequences")
    found = FittingExamples()
    for s, (sequence, structure) in enumerate(zip(sequences, structures, strict=True)):
        try:
            _add(found, s, rna, sequence, structure, outside)
        except DataError as error:
            raise DataError(f"{_called(s, names)}: {str(error).removeprefix('sequence 0: ')}") from None
    return found


def _add(found: FittingExamples, s: int, rna: RNA, sequence: str, structure: Output, outside: str) -> None:
    if isinstance(structure, Constraints):
        rna.encode([sequence], [structure])  # refuses what is none
    else:
        check_cut(structure, len(bases_of(sequence)), sequence.find(STRANDS), "a structure")
        # Pseudoknots first: what is left is nested, and then judged by the space of the model.
        structure, n_knots = drop_pseudoknots(structure)
        offences = rna.offences(sequence, structure)
        if outside == "error" and n_knots:
            told = "outside='error' allows nested pairs only"
            raise DataError(f"{plural(n_knots, 'pair')} in pseudoknots; {told}")
        if offences and outside != "trim":
            reason = f"bases {offences[0].i} and {offences[0].j} (from 0): {offences[0].reason}"
            if outside == "error":
                raise DataError(reason)
            found.skipped.append((s, reason))
            return
        structure, n_trimmed = _trim(rna, sequence, structure)
        found.unknotted |= {s: n_knots} if n_knots else {}
        found.trimmed |= {s: n_trimmed} if n_trimmed else {}
    found.kept.append(s)
    found.structures.append(structure)


def _trim(rna: RNA, sequence: str, structure: str) -> tuple[str, int]:
    """The structure without its offending pairs, and their number."""
    n_dropped = 0
    while offences := rna.offences(sequence, structure):  # without one pair, another may offend, or no longer
        first = offences[0]
        pairs = [(o.i, o.j) for o in offences if not o.in_long_loop]  # whatever others there are
        if rna.circular:
            pairs = [(first.i, first.j)]  # one at a time: two pairs may close one loop
        elif not pairs:
            # A loop is too long: drop the pair that closes it, or the other one if its helix has fewer pairs.
            i, j, partner = first.i, first.j, partners(structure)
            p = i + 1 + int(np.argmax(partner[i + 1 :] >= 0))
            q = int(partner[p])
            pairs = [(p, q) if _helix(partner, p, q, 1) < _helix(partner, i, j, -1) else (i, j)]
        dropped = {k for pair in pairs for k in pair}
        kept = "".join("." if k in dropped else mark for k, mark in enumerate(bases_of(structure)))
        structure = cut_as(structure, kept)
        n_dropped += len(dropped) // 2
    return structure, n_dropped


def _helix(partner: IntArray, i: int, j: int, step: int) -> int:
    """Pairs stacked upon one another from (i, j) inwards, or outwards where `step` is -1."""
    n = 0
    while 0 <= i < partner.size and partner[i] == j:
        i, j, n = i + step, j - step, n + 1
        if i >= j:
            break
    return n


# --- predictions --------------------------------------------------------------------------------------------


class Draws:
    """Generators of random numbers for sequences, one after the other.

    Each depends on the seed, on the bases of its sequence, and on how often the same bases came before, not
    on what other sequences there are.
    """

    def __init__(self, random_state: Any) -> None:
        self._key = np.random.default_rng(random_state).integers(1 << 32, size=4).tolist()
        self._seen: Counter[int] = Counter()

    def of(self, sequence: str) -> np.random.Generator:
        """The generator for this sequence, another each time."""
        # What counts is what the model sees: case, T or U, and which unknown letter do not matter.
        bases = _NO_BASE.sub("N", sequence.upper().replace("T", "U"))
        digest = int.from_bytes(blake2b(bases.encode(), digest_size=8).digest(), "little")
        self._seen[digest] += 1
        return np.random.default_rng([*self._key, digest, self._seen[digest]])


@dataclass(frozen=True)
class Structures:
    """Structures of one sequence, converted to dot-bracket notation on access: there may be millions."""

    partners: IntArray  # shape (n_structures, n_bases), -1 for none
    letters: Array

    def __len__(self) -> int:
        return len(self.partners)

    def __getitem__(self, k: int) -> str:
        return dot_bracket(self.partners[k], self.letters)

    def __iter__(self) -> Iterator[str]:
        return (dot_bracket(row, self.letters) for row in self.partners)
