"""Which candidate genes there are, which may lie beside each other, and what is seen of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.formats.record import genetic_code
from structune.genes.kernels.words import words
from structune.genes.nucleotides import LETTERS, Letters, encode_letters, reverse_complement
from structune.genes.prokaryotes.kernels.ribosome_sites import (
    MOST_SPACING,
    RUNS,
    SHORTEST_RUN,
    SPACING_STARTS,
    SPACINGS,
)
from structune.structure import Array, IntArray

BASES = "ACGT"
CODON, WORD = 3, 6
STARTS = ("ATG", "GTG", "TTG")
EDGE = "Edge"  # in place of the start codon of a gene that begins before its sequence
BACTERIAL, WITHOUT_TGA = 11, 4  # genetic codes: that of nearly all, and that by which TGA is no stop codon
# upstream as far as promoters reach, and four codons behind the start codon, which itself is in no context
CONTEXT = np.concatenate((np.arange(-40, 0), np.arange(3, 15)))  # of a start codon
LENGTHS = np.array([0, 120, 150, 200, 300, 450, 700, 1000, 1500, 2200])
N_SIGNALS = 3 + CONTEXT.size  # of a candidate: start codon, ribosome site, length, and bases around
# the first place of each kind among their weights, and behind all the one of what is not known
_FIRST = np.cumsum([0, len(STARTS), RUNS * SPACINGS + 1, len(LENGTHS)])
UNKNOWN = int(_FIRST[3]) + CONTEXT.size * len(BASES)


def count_words(letters: Letters) -> IntArray:
    """How often each word of two codons is at any place of both strands, by number."""
    found = np.empty((2, letters.size), np.int16)
    words(letters, WORD, *found)
    return np.asarray(np.sum([np.bincount(each, minlength=4**WORD + 1) for each in found], axis=0)[:-1])


def numbers_at(letters: Letters, places: IntArray, length: int) -> NDArray[np.int16]:
    """Words of up to six from some places on as numbers in base 4; ``4 ** length`` for an unknown base."""
    found, is_known = np.zeros(places.size, np.int16), np.ones(places.size, bool)
    for k in range(length):
        letter = letters[k:][places]
        found = len(BASES) * found + letter
        is_known &= letter < len(BASES)
    found[~is_known] = len(BASES) ** length
    return found


def codons_at(letters: Letters, codons: Iterable[str]) -> NDArray[np.bool_]:
    """Whether one of the codons begins at each position."""
    a, b, c = letters[:-2], letters[1:-1], letters[2:]
    found = np.zeros(a.size, bool)
    for x, y, z in (map(LETTERS.index, codon) for codon in codons):
        found |= (a == x) & (b == y) & (c == z)
    return found


def _by_codon(codons: Sequence[str]) -> NDArray[np.int8]:
    """Place among the codons by the number of a codon, or -1; shape (65,)."""
    found = np.full(len(BASES) ** CODON + 1, -1, np.int8)
    letters = encode_letters("".join(codons), "codons")
    found[numbers_at(letters, CODON * np.arange(len(codons)), CODON)] = range(len(codons))
    return found


START_KIND = _by_codon(STARTS)


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
        return _by_codon(genetic_code(self.code).stop_codons) >= 0

    def has_stops(self, code: int) -> bool:
        """Whether the stop codons are those of another genetic code."""
        return set(genetic_code(self.code).stop_codons) == set(genetic_code(code).stop_codons)

    def ends(self, letters: Letters, strand: str) -> tuple[tuple[bool, bool], str]:
        """Whether a gene goes on before and behind its letters on the contig; its start, or ``Edge``."""
        along = reverse_complement(letters) if strand == "-" else letters
        first, last = numbers_at(along, np.array([0, along.size - CODON]), CODON)
        kind = int(START_KIND[first])
        lacks = kind < 0, along.size % CODON != 0 or not self.is_stop[last]
        return (lacks[::-1] if strand == "-" else lacks), EDGE if kind < 0 else STARTS[kind]


# --- signals: places of what candidates have among the weights of start codons, sites, lengths and bases ---


def signals_of(kinds: Array, sites: Array, lengths: Array, context: Array) -> NDArray[np.uint8]:
    """Signals of candidates, shape (n, N_SIGNALS); lengths are -1 where they are not known, and the context
    has letters at `CONTEXT`, shape (n, n_places).
    """
    # A candidate's signals are places in one table of weights: its start codon, ribosome site, length, and
    # the letter at each place around. What is not known has a place of its own behind all others, with the
    # score 0. There are fewer than 256 places, so a byte is enough.
    bins = np.searchsorted(LENGTHS, lengths, side="right") - 1
    firsts = (_FIRST[3] + len(BASES) * np.arange(CONTEXT.size)).astype(np.uint8)
    bases = firsts + context.astype(np.uint8)
    bases[context == len(BASES)] = UNKNOWN
    of_length = np.where(lengths < 0, UNKNOWN, _FIRST[2] + bins)
    others = np.column_stack((kinds, _FIRST[1] + sites, of_length))
    return np.column_stack((others.astype(np.uint8), bases))


def read_signals(signals: NDArray[np.uint8]) -> tuple[IntArray, IntArray, NDArray[np.int8]]:
    """Kinds of start codons, ribosome sites, and letters at `CONTEXT`, of what `signals_of` made."""
    letters = signals[:, 3:].astype(np.int16) - _FIRST[3] - len(BASES) * np.arange(CONTEXT.size)
    letters[signals[:, 3:] == UNKNOWN] = len(BASES)
    kinds, sites = (signals[:, :2].astype(np.int64) - _FIRST[:2]).T
    return kinds, sites, letters.astype(np.int8)


def forget(signals: NDArray[np.uint8], before: NDArray[np.bool_], behind: NDArray[np.bool_]) -> None:
    """Leave out what is not known of genes that begin before their sequence or end behind it."""
    signals[before | behind, 2] = UNKNOWN
    signals[before, 3:] = UNKNOWN


def site_notes(signals: NDArray[np.uint8]) -> tuple[tuple[str, str], ...]:
    """The ribosome-binding site of a candidate: bases that match, and their distance from the start."""
    site = int(signals[1]) - _FIRST[1]
    if site == RUNS * SPACINGS:
        return (("rbs_match", "none"),)
    run, spacing = divmod(site, SPACINGS)
    first, end = [*SPACING_STARTS, MOST_SPACING][spacing : spacing + 2]
    return ("rbs_match", f"{SHORTEST_RUN + run}bp"), ("rbs_spacer", f"{first}-{end - 1}bp")
