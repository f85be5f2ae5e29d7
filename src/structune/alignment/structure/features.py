"""What scores of alignments are made of: names of weights, tables of residues, features of sequences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from structune.alignment.kernels.sums import Factors, Side
from structune.alignment.structure.alphabets import find_alphabet
from structune.alignment.structure.proteins import STATES
from structune.errors import DataError
from structune.structure import Array, FloatArray, IntArray

_WINDOW = 3  # residues on either side of a place between two
_N_COUNTS = 2 * _WINDOW + 1
_SHIFTS = (-2, -1, 1, 2)  # from a match to the residues around it whose classes count
STEPS = {"affine": 1, "full": 4}  # lengths of gaps that have weights of their own


class Block(NamedTuple):
    """Columns of the pairing features whose products have weights, the same both ways round."""

    labels: tuple[str, ...]
    columns: slice
    weights: slice
    upper: tuple[IntArray, IntArray]  # of their matrix: the pair of columns of each weight


@dataclass(frozen=True)
class SequenceFeatures:
    """Features of one sequence of n residues."""

    pairing: FloatArray  # (n, n_columns): a match scores the products of these columns of both residues
    residues: FloatArray  # (n, n_residues)
    hydrophilic: IntArray  # (n + 1,): how many of the six residues around each place between two are

    def __len__(self) -> int:
        return len(self.residues)


class FeatureSet:
    """The weights of a model of alignments; the parameters are those of `Alignment`."""

    def __init__(
        self,
        name: str = "full",
        overhangs: str = "both",
        profile: int = 0,
        secondary: bool = False,
        alphabet: str = "protein",
    ) -> None:
        if overhangs not in ("both", "one"):
            raise DataError(f"overhangs={overhangs!r}: expected 'both' or 'one'")
        if name not in STEPS:
            raise DataError(f"features={name!r}: expected one of {list(STEPS)}")
        if profile < 0:
            raise DataError(f"profile={profile!r}: expected a number of columns")
        self.name, self.overhangs, self.n_steps = name, overhangs, STEPS[name]
        self.profile, self.secondary, self.alphabet = profile, secondary, find_alphabet(alphabet)
        self.names: list[str] = []
        self.groups: list[str] = []
        self.shifts = _SHIFTS if name == "full" else ()
        self.blocks: list[Block] = []
        self._block("substitution", tuple(self.alphabet.residues))
        # classes of the residues near a match, each at the same distance in both sequences
        for shift in self.shifts:
            self._block(f"context {shift:+d}", tuple(self.alphabet.classes))
        self._profile = self._block("profile", tuple(map(str, range(profile)))) if profile else None
        self._secondary = self._block("secondary", tuple(STATES)) if secondary else None
        self.steps = self._add("gap length", [f"at least {k + 1}" for k in range(self.n_steps)] + ["further"])
        self.terminal = self._add("terminal gap", ["open", "residue"])
        self.both = self._add("gap both", ["between matches", "at an end"])
        self.linear: dict[str, slice] = {}
        if name == "full":
            for kind in ("gap residue", "terminal residue"):
                self.linear[kind] = self._add(kind, list(self.alphabet.residues))
        self._sees_hydrophilic = name == "full" and bool(self.alphabet.hydrophilic)
        if self._sees_hydrophilic:
            for kind in ("gap opens", "gap closes", "gap within", "gap opposite", "gap opens opposite"):
                self.linear[kind] = self._add(kind, [f"{k} hydrophilic" for k in range(_N_COUNTS)])
        self._secondary_gap = self._add("secondary gap", list(STATES) if secondary else [])

    def _add(self, group: str, labels: list[str]) -> slice:
        first = len(self.names)
        self.names += [f"{group}: {label}" for label in labels]
        self.groups += [group] * len(labels)
        return slice(first, len(self.names))

    def _block(self, group: str, labels: tuple[str, ...]) -> Block:
        first, upper = self.n_columns, np.triu_indices(len(labels))
        names = [f"{labels[a]} {labels[b]}" for a, b in zip(*upper, strict=True)]
        self.blocks.append(Block(labels, slice(first, first + len(labels)), self._add(group, names), upper))
        return self.blocks[-1]

    @property
    def n_columns(self) -> int:
        return sum(len(block.labels) for block in self.blocks)

    @property
    def n_annotations(self) -> int:
        """Columns of the annotation of a sequence."""
        return self.profile + len(STATES) * self.secondary

    @property
    def n_weights(self) -> int:
        return len(self.names)

    # --- of a sequence ------------------------------------------------------------------------------------

    def describe_all(
        self, letters: Array, annotation: FloatArray, offsets: IntArray
    ) -> list[SequenceFeatures]:
        """Features of sequences one after the other, by their letters and `proteins.annotation`."""
        joined = self.describe_joined(letters, annotation, offsets)
        return [
            SequenceFeatures(joined.pairing[a:b], joined.residues[a:b], joined.hydrophilic[a + s : b + s + 1])
            for s, (a, b) in enumerate(pairwise(offsets.tolist()))
        ]

    def describe_joined(self, letters: Array, annotation: FloatArray, offsets: IntArray) -> SequenceFeatures:
        """The same, one after the other: each sequence has one place more than it has residues."""
        alphabet, sizes = self.alphabet, np.diff(offsets)
        residues, classes = alphabet.residue_table[letters], alphabet.class_table[letters]
        sequence = np.repeat(np.arange(sizes.size), sizes)
        shifted = (_shifted(classes, sequence, shift) for shift in self.shifts)
        pairing = np.hstack([residues, *shifted, annotation])
        return SequenceFeatures(pairing, residues, _places(alphabet.hydrophilic_table[letters], offsets))

    # --- scores -------------------------------------------------------------------------------------------

    def bilinear(self, w: Array) -> Array:
        """The matrix between the pairing features of two residues, shape (n_columns, n_columns)."""
        # w . F of a match is x' B y for the pairing features of both: B is symmetric, so x and y may swap
        out = np.zeros((self.n_columns, self.n_columns), w.dtype)
        for block in self.blocks:
            part, upper = out[block.columns, block.columns], block.upper
            part[upper] = part.T[upper] = w[block.weights]
        return out

    def sides(
        self, w: Array, sequence: SequenceFeatures, offsets: IntArray | None = None
    ) -> tuple[Side, Array]:
        """Scores that sequences one after the other bring in, and those of their residues if terminal."""
        offsets = np.array([0, len(sequence)]) if offsets is None else offsets
        # Of a sequence of n residues there are n + 1 places: so that sequence s of several begins at residue
        # offsets[s], and at place offsets[s] + s.
        n, number = len(sequence), np.arange(offsets.size - 1)
        n_places, before = n + number.size, np.arange(n) + np.repeat(number, np.diff(offsets))
        terminal = np.full(n, w[self.terminal][1])
        residue, opens, closes = np.zeros((3, n), w.dtype)
        site, site_open = np.zeros((2, n_places), w.dtype)
        if self.linear:
            terminal = terminal + sequence.residues @ w[self.linear["terminal residue"]]
            residue = sequence.residues @ w[self.linear["gap residue"]]
        if self._sees_hydrophilic:
            places = sequence.hydrophilic
            residue = residue + w[self.linear["gap within"]][places[before]]
            opens = w[self.linear["gap opens"]][places[before]]
            closes = w[self.linear["gap closes"]][places[before + 1]]
            site = w[self.linear["gap opposite"]][places]
            site_open = w[self.linear["gap opens opposite"]][places]
        if self._secondary is not None:
            residue = residue + sequence.pairing[:, self._secondary.columns] @ w[self._secondary_gap]
        ends = np.full(n_places, w[self.terminal][0])
        begins = ends.copy()
        begins[offsets[:-1] + number] = ends[offsets[1:] + number] = 0.0
        return Side(residue - terminal, opens, closes, site, site_open, begins, ends), terminal

    def both_scores(self, w: Array) -> Array:
        """Of gaps in both sequences, between matches and at an end."""
        both = w[self.both].copy()
        if self.overhangs == "one":
            both[1] = -np.inf
        return np.asarray(both)

    # --- uses ---------------------------------------------------------------------------------------------

    def no_uses(self, n: int, m: int, dtype: Any) -> Factors:
        """Zeros, as the kernels count in them."""
        x, y = (Side(*np.zeros((3, k), dtype), *np.zeros((4, k + 1), dtype)) for k in (n, m))
        return Factors(x, y, np.zeros(self.n_steps + 1, dtype), np.zeros(2, dtype))

    def gather(self, uses: Uses, x: SequenceFeatures, y: SequenceFeatures, out: Array, weight: float) -> None:
        """Add the features of the uses of all factors, times `weight`."""
        for block in self.blocks:
            products, upper = uses.products[block.columns, block.columns], block.upper
            # a weight stands for two cells of the symmetric matrix, or for one on the diagonal
            both_ways = (products + products.T)[upper]
            out[block.weights] += weight * np.where(upper[0] == upper[1], 0.5 * both_ways, both_ways)
        out[self.steps] += weight * uses.factors.steps
        out[self.both] += weight * uses.factors.both
        for side, sequence, matched in zip(uses.factors[:2], (x, y), uses.matched, strict=True):
            if len(sequence):
                self._gather_side(side, sequence, matched, uses.none, out, weight)

    def _gather_side(
        self, side: Side, sequence: SequenceFeatures, matched: Array, none: Any, out: Array, weight: float
    ) -> None:
        """Add the features of the residues of one sequence, from how often each is matched."""
        # A residue is matched, in a gap, or terminal. Terminal gaps are open where the first and last
        # residues are not matched; an alignment without matches has one, and would count both.
        terminal = 1.0 - matched - side.residue
        opened = (1.0 - matched[0]) + (1.0 - matched[-1]) - none
        out[self.terminal] += weight * np.array([opened, terminal.sum()])
        if self._secondary is not None:
            states = sequence.pairing[:, self._secondary.columns]
            out[self._secondary_gap] += weight * (states.T @ side.residue)
        if not self.linear:
            return
        counted = {
            "terminal residue": sequence.residues.T @ terminal,
            "gap residue": sequence.residues.T @ side.residue,
        }
        if self._sees_hydrophilic:
            places = sequence.hydrophilic
            counted |= {
                "gap within": _tally(places[:-1], side.residue),
                "gap opens": _tally(places[:-1], side.opens),
                "gap closes": _tally(places[1:], side.closes),
                "gap opposite": _tally(places, side.site),
                "gap opens opposite": _tally(places, side.site_open),
            }
        for kind, count in counted.items():
            out[self.linear[kind]] += weight * count


class Uses(NamedTuple):
    """How often each part of the score is used."""

    products: Array  # of columns of one block of pairing features, the sum over matches of their products
    factors: Factors  # of gaps
    matched: tuple[Array, Array]  # of both sequences, how often each residue is matched
    none: Any  # how often there is no match at all


def uses_of(features: FeatureSet, x: SequenceFeatures, y: SequenceFeatures, partner: IntArray) -> Uses:
    """How often one alignment uses everything: the residue of y that each of x is matched with, or -1."""
    i = np.flatnonzero(partner >= 0)
    j = partner[i]
    products = x.pairing[i].T @ y.pairing[j]
    matched = np.zeros(len(x)), np.zeros(len(y))
    matched[0][i] = matched[1][j] = 1.0
    used = features.no_uses(len(x), len(y), np.float64)
    # between matches (a, b) and (c, d) the gap in x is first, at place b + 1 of y; that in y at place c of x
    for (a, b), (c, d) in pairwise(zip(i.tolist(), j.tolist(), strict=True)):
        _count_gap(used.x, used.y, used.steps, slice(a + 1, c), b + 1)
        _count_gap(used.y, used.x, used.steps, slice(b + 1, d), c)
        used.both[0] += c > a + 1 and d > b + 1
    if i.size:
        used.both[1] += i[0] > 0 and j[0] > 0
        used.both[1] += i[-1] < len(x) - 1 and j[-1] < len(y) - 1
    return Uses(products, used, matched, float(not i.size))


def _count_gap(side: Side, other: Side, steps: Array, residues: slice, place: int) -> None:
    """A gap of these residues at a place of the other sequence."""
    length, n_steps = residues.stop - residues.start, steps.size - 1
    if not length:
        return
    side.residue[residues] += 1
    side.opens[residues.start] += 1
    side.closes[residues.stop - 1] += 1
    other.site[place] += length
    other.site_open[place] += 1
    steps[: min(length, n_steps)] += 1
    steps[n_steps] += max(0, length - n_steps)


def _shifted(features: FloatArray, sequence: IntArray, by: int) -> FloatArray:
    """Features of the residue so many places further on; 0 beyond the ends of its sequence."""
    # sequences lie one after the other: what is taken from another one is left 0
    out, n = np.zeros_like(features), len(features)
    if abs(by) < n:
        to, of = slice(max(0, -by), n - max(0, by)), slice(max(0, by), n - max(0, -by))
        is_within = sequence[to] == sequence[of]
        out[to][is_within] = features[of][is_within]
    return out


def _tally(numbers: IntArray, values: Array) -> Array:
    """The sum of the values that have each number, shape (7,)."""
    out = np.zeros(_N_COUNTS, values.dtype)
    np.add.at(out, numbers, values)
    return out


def _places(hydrophilic: FloatArray, offsets: IntArray) -> IntArray:
    """Around each place of each sequence, one more than it has residues."""
    # differences of running sums; letters that may be several residues count in part, so it is rounded
    sums, n_places = np.concatenate(([0.0], np.cumsum(hydrophilic))), np.diff(offsets) + 1
    first, last = np.repeat(offsets[:-1], n_places), np.repeat(offsets[1:], n_places)
    places = np.arange(first.size) - np.repeat(np.arange(n_places.size), n_places)
    counts = sums[np.minimum(places + _WINDOW, last)] - sums[np.maximum(places - _WINDOW, first)]
    numbers: IntArray = np.rint(counts).astype(np.int64)
    return numbers
