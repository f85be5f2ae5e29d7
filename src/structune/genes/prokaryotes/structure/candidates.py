"""Candidate genes of a sequence without introns: every start codon with the next stop codon in its frame."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.formats.record import genetic_code
from structune.genes.kernels.words import words
from structune.structure import IntArray

CODON, WORD = 3, 6
STARTS = ("ATG", "GTG", "TTG")
_NO_CODON = 4**CODON


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
        found[[_number(codon) for codon in genetic_code(self.code).stop_codons]] = True
        return found

    @cached_property
    def start_kind(self) -> NDArray[np.int8]:
        """Place in `STARTS` by the number of the codon, or -1; shape (65,)."""
        found = np.full(_NO_CODON + 1, -1, np.int8)
        found[[_number(codon) for codon in STARTS]] = range(len(STARTS))
        return found


class Strand(NamedTuple):
    """Candidates of one strand, in positions along it; those of a frame share their stop, and starts rise."""

    stops: IntArray  # first base of the stop codon of each frame
    n_candidates: IntArray  # of each frame
    starts: IntArray  # first base of each candidate
    kinds: NDArray[np.int8]  # place of the start codon in `STARTS`


def candidates(letters: NDArray[np.int8], rules: OrfRules, is_open: bool = False) -> Strand:
    """The candidates on the strand that is given.

    Parameters
    ----------
    letters : ndarray of int8, shape (n,)
        0-3 for ACGT, 4 for an unknown base.
    rules : OrfRules
    is_open : bool
        Genes may begin before the sequence and end behind it. They count as if they began with ATG at the
        first whole codon, or had a stop codon behind the last one.
    """
    n, codons = letters.size, numbers(letters, CODON)
    stops, starts = np.flatnonzero(rules.is_stop[codons]), np.flatnonzero(rules.start_kind[codons] >= 0)
    parts = [_of_frame(stops, starts, n, f, rules, is_open) for f in range(CODON)]
    stop_of, found = (np.concatenate(of) for of in zip(*parts, strict=True))
    frames, first, counts = np.unique(stop_of, return_index=True, return_counts=True)
    order = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(found.size)
    found = found[order]
    kinds = np.maximum(rules.start_kind[codons[found]], 0).astype(np.int8)
    return Strand(frames, counts, found, kinds)


def _of_frame(
    stops: IntArray, starts: IntArray, n: int, frame: int, rules: OrfRules, is_open: bool
) -> tuple[IntArray, IntArray]:
    """Stop and start of each candidate, by start."""
    stops, starts = stops[stops % CODON == frame], starts[starts % CODON == frame]
    if is_open:
        stops = np.append(stops, n - (n - frame) % CODON)
        starts = np.union1d(starts, [frame])
    of = np.searchsorted(stops, starts)
    starts, of = starts[of < stops.size], of[of < stops.size]
    is_long = np.minimum(stops[of] + CODON, n) - starts >= rules.shortest
    return stops[of[is_long]], starts[is_long]


def numbers(letters: NDArray[np.int8], length: int) -> NDArray[np.int16]:
    """Words of up to six from each position on as numbers in base 4; ``4 ** length`` for an unknown base."""
    found = np.empty((2, letters.size), np.int16)
    words(letters, length, *found)
    return found[0, length - 1 :]


def frame_words(letters: NDArray[np.int8], strand: Strand) -> tuple[NDArray[np.int16], IntArray, IntArray]:
    """The two codons that begin at each codon of a frame, the stop left out.

    Returns
    -------
    words : ndarray of int16
        Of each frame from its first start on.
    n_words : ndarray of int64, shape (n_frames,)
    skipped : ndarray of int64, shape (n_candidates,)
        Words of its frame before each candidate's start.
    """
    ends = np.cumsum(strand.n_candidates)
    first = strand.starts[ends - strand.n_candidates]
    n_words = np.maximum((strand.stops - first) // CODON - 1, 0)
    before = np.repeat(np.cumsum(n_words) - n_words, n_words)
    places = np.repeat(first, n_words) + CODON * (np.arange(n_words.sum()) - before)
    return (
        numbers(letters, WORD)[places],
        n_words,
        (strand.starts - np.repeat(first, strand.n_candidates)) // CODON,
    )


def letters_at(letters: NDArray[np.int8], starts: IntArray, places: IntArray) -> NDArray[np.int8]:
    """The letters at `places` relative to each start, shape (n, n_places); 4 outside of the sequence."""
    before, after = max(0, -int(places.min())), max(0, int(places.max()) + 1)
    padded = np.pad(letters, (before, after), constant_values=4)
    windows = np.lib.stride_tricks.sliding_window_view(padded, before + after)
    return np.asarray(windows[starts][:, places + before])


def reverse_complement(letters: NDArray[np.int8]) -> NDArray[np.int8]:
    """The other strand."""
    return np.ascontiguousarray(np.where(letters < 4, 3 - letters, 4).astype(np.int8)[::-1])


def _number(codon: str) -> int:
    return int(sum("ACGT".index(base) * 4**k for k, base in enumerate(codon[::-1])))
