"""Long sequences, cut into pieces that overlap, and their genes, joined again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from Bio.Seq import reverse_complement

from structune.genes.eukaryotes.structure.rules import START, STOPS
from structune.genes.formats.dna import without_u
from structune.genes.formats.record import Exons, Transcript
from structune.structure import FloatArray

_CODON = 3
_REVERSE = {reverse_complement(START)}, {reverse_complement(stop) for stop in STOPS}
_ENDS = ({START}, set(STOPS)), _REVERSE  # codons at ends of genes, of either strand
_MOST, _OVERLAP = 1 << 19, 1 << 16  # bases: of a piece, and of two that follow each other


@dataclass(frozen=True)
class Gene:
    """A predicted gene: strand, coding parts and score, and as `Transcript` where and how it is cut."""

    strand: str
    exons: Exons
    score: float | None
    partial: tuple[bool, bool] = (False, False)
    phase: int = 0

    @property
    def start(self) -> int:
        return self.exons[0][0]

    @property
    def end(self) -> int:
        return self.exons[-1][1]

    def moved(self, by: int) -> Gene:
        return replace(self, exons=tuple((a + by, b + by) for a, b in self.exons))


def named_genes(contig: str, genes: Iterable[Gene]) -> tuple[Transcript, ...]:
    """Predicted genes of one transcript each."""
    return tuple(
        Transcript(
            contig,
            each.strand,
            each.exons,
            f"{contig}.g{k}.t1",
            f"{contig}.g{k}",
            each.score,
            each.partial,
            phase=each.phase,
        )
        for k, each in enumerate(genes, 1)
    )


@dataclass(frozen=True)
class Piece:
    """A part of a sequence, from `start` on, with its tracks if there are any."""

    sequence: int
    start: int
    text: str
    tracks: FloatArray | None

    @property
    def input(self) -> Any:
        """As `ExonGraph.encode` wants it."""
        return self.text if self.tracks is None else (self.text, self.tracks)


def may_have_gene(text: str, shortest_intron: int) -> bool:
    """Whether there are start and stop codons on a strand, or room for introns that split them."""
    if len(text) >= 2 * _CODON + shortest_intron:
        return True
    bases = without_u(text).upper()
    codons = {bases[k : k + _CODON] for k in range(len(bases))}
    return any(not codons.isdisjoint(starts) and not codons.isdisjoint(stops) for starts, stops in _ENDS)


def pieces_of(s: int, text: str, tracks: FloatArray | None) -> Iterator[Piece]:
    """Those of sequence s."""
    start, n = 0, len(text)
    while True:
        end = min(n, start + _MOST)
        yield Piece(s, start, text[start:end], None if tracks is None else tracks[start:end])
        if end == n:
            return
        start = end - _OVERLAP


def join(found: list[Gene], genes: list[Gene], piece: Piece) -> None:
    """Add the genes of a piece to those before it: where they overlap, from a place between genes on.

    Genes count from the start of the piece. What reaches across the overlap is lost if no such place is left.
    """
    moved = [gene.moved(piece.start) for gene in genes]
    if piece.start:
        covered = np.zeros(_OVERLAP + 1, bool)
        for gene in (*found, *moved):
            covered[max(0, gene.start - piece.start) : max(0, gene.end - piece.start)] = True
        free = np.flatnonzero(~covered)
        middle = _OVERLAP // 2
        cut = piece.start + int(free[np.argmin(abs(free - middle))] if free.size else middle)
        found[:] = [gene for gene in found if gene.end <= cut]
        moved = [gene for gene in moved if gene.start > cut]
    found += moved
