"""Which candidate genes there are, and which may lie beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.formats.record import genetic_code
from structune.genes.nucleotides import Letters, reverse_complement

CODON, WORD = 3, 6
STARTS = ("ATG", "GTG", "TTG")
EDGE = "Edge"  # in place of the start codon of a gene that begins before its sequence
BACTERIAL, WITHOUT_TGA = 11, 4  # genetic codes: that of nearly all, and that by which TGA is no stop codon
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
    return _number(np.array(["ACGT".index(base) for base in text], np.int8))


def _number(codon: Letters) -> int:
    return int(codon @ np.array([16, 4, 1])) if codon.max() < 4 else _NO_CODON
