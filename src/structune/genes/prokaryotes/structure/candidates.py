"""Which candidate genes there are, which may lie beside each other, and which weights they have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.formats.record import genetic_code
from structune.genes.kernels.words import words
from structune.genes.nucleotides import LETTERS, Letters, reverse_complement
from structune.genes.prokaryotes.kernels.ribosome_sites import (
    MOST_SPACING,
    RUNS,
    SHORTEST_RUN,
    SPACING_STARTS,
    SPACINGS,
)
from structune.structure import Array, Groups, IntArray

CODON, WORD = 3, 6
STARTS = ("ATG", "GTG", "TTG")
EDGE = "Edge"  # in place of the start codon of a gene that begins before its sequence
BACTERIAL, WITHOUT_TGA = 11, 4  # genetic codes: that of nearly all, and that by which TGA is no stop codon
# upstream as far as promoters reach, and four codons behind the start codon, which itself is in no context
CONTEXT = np.concatenate((np.arange(-40, 0), np.arange(3, 15)))  # of a start codon
LENGTHS = np.array([0, 120, 150, 200, 300, 450, 700, 1000, 1500, 2200])
_BASES = "ACGT"
_NO_CODON = 4**CODON
NEIGHBOURS = ("same strand", "convergent", "divergent")
N_SIGNALS = 3 + CONTEXT.size  # of a candidate: start codon, ribosome site, length, and bases around
# the first place of each kind among their weights, and behind all the one of what is not known
_FIRST = np.cumsum([0, len(STARTS), RUNS * SPACINGS + 1, len(LENGTHS)])
_UNKNOWN = int(_FIRST[3]) + CONTEXT.size * len(_BASES)
N_PLACES = _UNKNOWN + 1
_GAPS = np.array([-60, -28, -8, -4, -3, -1, 0, 5, 15, 30, 60, 100, 200])


@dataclass(frozen=True)
class OrfRules:
    """Which candidates there are, and which may lie beside each other.

    Parameters
    ----------
    code : int
        NCBI's number of the genetic code: its stop codons count; 11 or, for Mycoplasma, 4.
    shortest : int
        Bases of the shortest gene, from start to stop codon.
    overlap : int
        Bases that neighbours may have in common, fewer than the shortest gene has.
    far : int
        Distance from which on neighbours are far.
    """

    code: int = 11
    shortest: int = 90
    overlap: int = 60
    far: int = 300

    def __post_init__(self) -> None:
        genetic_code(self.code)
        if not 0 <= self.overlap < self.shortest:
            raise DataError(
                f"overlap={self.overlap!r}: expected 0 or more, and less than the shortest gene has, "
                f"{self.shortest}"
            )
        if self.shortest < 2 * CODON:
            raise DataError(
                f"shortest={self.shortest!r}: expected at least a start and a stop codon, 6 bases"
            )
        if self.far < 1:
            raise DataError(f"far={self.far!r}: expected 1 or more")

    @cached_property
    def is_stop(self) -> NDArray[np.bool_]:
        """By the number of the codon, shape (65,)."""
        found = np.zeros(_NO_CODON + 1, bool)
        found[[_codon(codon) for codon in genetic_code(self.code).stop_codons]] = True
        return found

    def has_stops(self, code: int) -> bool:
        """Whether the stop codons are those of another genetic code."""
        return set(genetic_code(self.code).stop_codons) == set(genetic_code(code).stop_codons)

    @cached_property
    def start_kind(self) -> NDArray[np.int8]:
        """Place in `STARTS` by the number of the codon, or -1; shape (65,)."""
        found = np.full(_NO_CODON + 1, -1, np.int8)
        found[[_codon(codon) for codon in STARTS]] = range(len(STARTS))
        return found

    def ends(self, letters: Letters, strand: str) -> tuple[tuple[bool, bool], str]:
        """Whether a gene goes on before and behind its letters on the contig; its start, or ``Edge``."""
        along = reverse_complement(letters) if strand == "-" else letters
        kind = int(self.start_kind[_number(along[:CODON])])
        lacks = kind < 0, letters.size % CODON != 0 or not self.is_stop[_number(along[-CODON:])]
        return (lacks[::-1] if strand == "-" else lacks), EDGE if kind < 0 else STARTS[kind]


def _codon(text: str) -> int:
    """The number of a codon by its text."""
    return _number(np.array([_BASES.index(base) for base in text], np.int8))


def _number(codon: Letters) -> int:
    """The number of a codon by its letters; one of its own if a base is unknown."""
    return int(codon @ np.array([16, 4, 1])) if codon.max() < 4 else _NO_CODON


@dataclass(frozen=True)
class OrfWeights:
    """The weights, in this order: of codons and words of two; of signals, which are start codons, ribosome
    sites, lengths and bases around a start; of gaps between neighbours.
    """

    rules: OrfRules

    @cached_property
    def gap_starts(self) -> IntArray:
        """The least distance of each bin, rising."""
        # overlaps of 4 bases, as in ATGA, and of 1, as in TAATG, have bins of their own: operons have many
        inside = (-self.rules.overlap < _GAPS) & (self.rules.far > _GAPS)
        return np.concatenate(([-self.rules.overlap], _GAPS[inside], [self.rules.far]))

    @cached_property
    def gap_bins(self) -> IntArray:
        """The bin of each distance from the largest overlap to before what is far."""
        distances = np.arange(-self.rules.overlap, self.rules.far)
        return np.searchsorted(self.gap_starts, distances, side="right") - 1

    @cached_property
    def labels(self) -> dict[str, list[str]]:
        """Names of the weights of each group, in order.

        Lengths, distances and spacings are those at which a bin begins; the longest run stands for longer
        ones.
        """
        runs = range(SHORTEST_RUN, SHORTEST_RUN + RUNS)
        sites = [f"run {run}, spacing {start}" for run in runs for start in SPACING_STARTS]
        return {
            "codons": _words(CODON),
            "hexamers": _words(WORD),
            "starts": list(STARTS),
            "ribosome site": [*sites, "none"],
            "lengths": list(map(str, LENGTHS)),
            "context": [f"{place:+d} {base}" for place in CONTEXT for base in _BASES],
            "gaps": [f"{kind} {start}" for kind in NEIGHBOURS for start in self.gap_starts],
        }

    @cached_property
    def _slices(self) -> dict[str, slice]:
        ends = np.cumsum([len(labels) for labels in self.labels.values()]).tolist()
        return dict(zip(self.labels, map(slice, [0, *ends], ends), strict=False))

    def __len__(self) -> int:
        return int(self._slices["gaps"].stop)

    def part(self, w: Array, name: str) -> Array:
        """A view of the weights of a group."""
        return w[self._slices[name]]

    def word_table(self, w: Array) -> Array:
        """Scores of words by number, that of their second codon included; 0 for one with an unknown base."""
        # A word of two codons scores by itself and by its second codon, on which rare words fall back. The
        # first codon is the second of the word before.
        words = self.part(w, "hexamers").reshape(4**CODON, 4**CODON) + self.part(w, "codons")
        return np.append(words.ravel(), 0.0)

    def add_words(self, counts: Array, out: Array) -> None:
        words = counts[:-1].reshape(4**CODON, 4**CODON)
        self.part(out, "hexamers")[:] += words.ravel()
        self.part(out, "codons")[:] += words.sum(axis=0)

    def signals(self, kinds: Array, sites: Array, lengths: Array, context: Array) -> NDArray[np.uint8]:
        """Places of what candidates have among the weights of signals, shape (n, N_SIGNALS).

        Lengths are -1 where they are not known; the context has letters at `CONTEXT`, shape (n, n_places).
        """
        # A candidate's signals are places in one table of weights: its start codon, ribosome site, length,
        # and the letter at each place around. What is not known has a place of its own behind all others,
        # with the score 0. There are fewer than 256 places, so a byte is enough.
        bins = np.searchsorted(LENGTHS, lengths, side="right") - 1
        bases = (_FIRST[3] + len(_BASES) * np.arange(CONTEXT.size)).astype(np.uint8) + context.astype(
            np.uint8
        )
        bases[context == len(_BASES)] = _UNKNOWN
        of_length = np.where(lengths < 0, _UNKNOWN, _FIRST[2] + bins)
        others = np.column_stack((kinds, _FIRST[1] + sites, of_length))
        return np.column_stack((others.astype(np.uint8), bases))

    def read_signals(self, signals: NDArray[np.uint8]) -> tuple[IntArray, IntArray, NDArray[np.int8]]:
        """Kinds of start codons, ribosome sites, and letters at `CONTEXT`, of what `signals` made."""
        letters = signals[:, 3:].astype(np.int16) - _FIRST[3] - len(_BASES) * np.arange(CONTEXT.size)
        letters[signals[:, 3:] == _UNKNOWN] = len(_BASES)
        others = signals[:, :2].astype(np.int64) - _FIRST[:2]
        return others[:, 0], others[:, 1], letters.astype(np.int8)

    def forget(
        self, signals: NDArray[np.uint8], before: NDArray[np.bool_], behind: NDArray[np.bool_]
    ) -> None:
        """Leave out what is not known of genes that begin before their sequence or end behind it."""
        signals[before | behind, 2] = _UNKNOWN
        signals[before, 3:] = _UNKNOWN

    def site_notes(self, signals: NDArray[np.uint8]) -> tuple[tuple[str, str], ...]:
        """The ribosome-binding site of a candidate: bases that match, and their distance from the start."""
        site = int(signals[1]) - _FIRST[1]
        if site == RUNS * SPACINGS:
            return (("rbs_match", "none"),)
        run, spacing = divmod(site, SPACINGS)
        ends = [*SPACING_STARTS[1:].tolist(), MOST_SPACING]
        spacer = f"{SPACING_STARTS[spacing]}-{ends[spacing] - 1}bp"
        return ("rbs_match", f"{SHORTEST_RUN + run}bp"), ("rbs_spacer", spacer)

    @property
    def _signals(self) -> slice:
        first = self._slices["starts"].start
        return slice(first, first + _UNKNOWN)

    def signal_table(self, w: Array) -> Array:
        """Scores of signals by place, with one of 0 for a base that is unknown."""
        return np.append(w[self._signals], 0.0)

    def add_signals(self, counts: Array, out: Array) -> None:
        out[self._signals] += counts[:-1]

    def names(self) -> list[str]:
        """A name for every weight; the text before the first ``:`` is its group's."""
        return [f"{group}: {label}" for group, labels in self.labels.items() for label in labels]

    def groups(self) -> Groups:
        return Groups.by_name([group for group, labels in self.labels.items() for _ in labels])


def _words(length: int) -> list[str]:
    """All words of a length, in the order of their numbers."""
    return ["".join(letters) for letters in product(_BASES, repeat=length)]


def numbers(letters: Letters, length: int) -> NDArray[np.int16]:
    """Words of up to six from each position on as numbers in base 4; ``4 ** length`` for an unknown base."""
    return _both_strands(letters, length)[0, length - 1 :]


def codons_at(letters: Letters, codons: Iterable[str]) -> NDArray[np.bool_]:
    """Whether one of the codons begins at each position."""
    a, b, c = letters[:-2], letters[1:-1], letters[2:]
    found = np.zeros(a.size, bool)
    for x, y, z in (map(LETTERS.index, codon) for codon in codons):
        found |= (a == x) & (b == y) & (c == z)
    return found


def numbers_at(letters: Letters, places: IntArray, length: int) -> NDArray[np.int16]:
    """The same as `numbers` at some places, without memory for all."""
    found, is_known = np.zeros(places.size, np.int16), np.ones(places.size, bool)
    for k in range(length):
        letter = letters[k:][places]
        found = len(_BASES) * found + letter
        is_known &= letter < len(_BASES)
    found[~is_known] = len(_BASES) ** length
    return found


def _both_strands(letters: Letters, length: int) -> NDArray[np.int16]:
    """Words of both strands, as numbers: those that end at each position, and that end there on the other."""
    found = np.empty((2, letters.size), np.int16)
    words(letters, length, *found)
    return found


def count_words(letters: Letters) -> IntArray:
    """How often each word of two codons is at any place of both strands, by number."""
    counts = [np.bincount(strand, minlength=4**WORD + 1) for strand in _both_strands(letters, WORD)]
    return np.asarray(np.sum(counts, axis=0)[:-1])
