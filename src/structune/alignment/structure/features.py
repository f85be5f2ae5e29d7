"""What scores of alignments are made of: names of weights, tables of residues, features of sequences."""

from __future__ import annotations

from collections.abc import Iterator
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
    # (n + 1, 7): whether none, one, ... of the six residues around each place between two are hydrophilic
    hydrophilic: FloatArray

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
            raise DataError(f"profile={profile!r}: expected a number of columns >= 0")
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
        if profile:
            self._block("profile", tuple(map(str, range(profile))))
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
        n_places = n + number.size
        parts = {name: np.zeros(n, w.dtype) for name in ("residue", "opens", "closes")}
        parts |= {name: np.zeros(n_places, w.dtype) for name in ("site", "site_open")}
        for weights, part, features in self._of_gaps(sequence, offsets):
            parts[part] += features @ w[weights]
        terminal = np.full(n, w[self.terminal][1])
        if self.linear:
            terminal = terminal + sequence.residues @ w[self.linear["terminal residue"]]
        ends = np.full(n_places, w[self.terminal][0])
        begins = ends.copy()
        begins[offsets[:-1] + number] = ends[offsets[1:] + number] = 0.0
        parts["residue"] -= terminal
        return Side(**parts, begins=begins, ends=ends), terminal

    def _of_gaps(
        self, sequence: SequenceFeatures, offsets: IntArray
    ) -> Iterator[tuple[slice, str, FloatArray]]:
        """Weights of gaps, the part of a `Side` that each kind of them is of, and the features there."""
        if self.linear:
            yield self.linear["gap residue"], "residue", sequence.residues
        if self._sees_hydrophilic:
            near, sizes = sequence.hydrophilic, np.diff(offsets)
            before = np.arange(len(sequence)) + np.repeat(np.arange(sizes.size), sizes)
            yield self.linear["gap within"], "residue", near[before]
            yield self.linear["gap opens"], "opens", near[before]
            yield self.linear["gap closes"], "closes", near[before + 1]
            yield self.linear["gap opposite"], "site", near
            yield self.linear["gap opens opposite"], "site_open", near
        if self._secondary is not None:
            yield self._secondary_gap, "residue", sequence.pairing[:, self._secondary.columns]

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
        if self.linear:
            out[self.linear["terminal residue"]] += weight * (sequence.residues.T @ terminal)
        for weights, part, features in self._of_gaps(sequence, np.array([0, len(sequence)])):
            out[weights] += weight * (features.T @ getattr(side, part))


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
    _count_gaps(used.x, used.y, used.steps, i[:-1] + 1, i[1:], j[:-1] + 1)
    _count_gaps(used.y, used.x, used.steps, j[:-1] + 1, j[1:], i[1:])
    used.both[0] += np.sum((np.diff(i) > 1) & (np.diff(j) > 1))
    if i.size:
        used.both[1] += i[0] > 0 and j[0] > 0
        used.both[1] += i[-1] < len(x) - 1 and j[-1] < len(y) - 1
    return Uses(products, used, matched, float(not i.size))


def _count_gaps(
    side: Side, other: Side, steps: Array, first: IntArray, end: IntArray, place: IntArray
) -> None:
    """Gaps of the residues from each first one to before its end, at places of the other sequence."""
    first, end, place = (numbers[end > first] for numbers in (first, end, place))
    lengths, n_steps, n = end - first, steps.size - 1, side.residue.size
    side.residue[:] += np.cumsum(np.bincount(first, minlength=n) - np.bincount(end, minlength=n))
    side.opens[first] += 1
    side.closes[end - 1] += 1
    other.site[place] += lengths
    other.site_open[place] += 1
    steps[:n_steps] += np.sum(lengths > np.arange(n_steps)[:, None], axis=1)
    steps[n_steps] += np.sum(np.maximum(0, lengths - n_steps))


def _shifted(features: FloatArray, sequence: IntArray, by: int) -> FloatArray:
    """Features of the residue so many places further on; 0 beyond the ends of its sequence."""
    # sequences lie one after the other: what is taken from another one is left 0
    out, n = np.zeros_like(features), len(features)
    if abs(by) < n:
        to, of = slice(max(0, -by), n - max(0, by)), slice(max(0, by), n - max(0, -by))
        is_within = sequence[to] == sequence[of]
        out[to][is_within] = features[of][is_within]
    return out


def _places(hydrophilic: FloatArray, offsets: IntArray) -> FloatArray:
    """Around each place of each sequence, one more than it has residues."""
    # differences of running sums; letters that may be several residues count in part, so it is rounded
    sums, n_places = np.concatenate(([0.0], np.cumsum(hydrophilic))), np.diff(offsets) + 1
    first, last = np.repeat(offsets[:-1], n_places), np.repeat(offsets[1:], n_places)
    places = np.arange(first.size) - np.repeat(np.arange(n_places.size), n_places)
    counts = sums[np.minimum(places + _WINDOW, last)] - sums[np.maximum(places - _WINDOW, first)]
    return np.asarray(np.eye(_N_COUNTS)[np.rint(counts).astype(np.int64)])
