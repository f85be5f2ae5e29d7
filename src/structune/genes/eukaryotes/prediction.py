"""Predictions of sequences of any length: in pieces that overlap, and with genes that go beyond their ends.

The graph begins and ends between genes. So what a gene may begin or end with is put before and behind a
sequence, of both strands and all frames, and unknown bases between: a start codon and donors, acceptors and
a stop codon. What a gene has there is cut off again, and it is marked as partial.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from Bio.Seq import reverse_complement

from structune.genes.eukaryotes.hints import Hints
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.paths import path_genes
from structune.genes.eukaryotes.structure.weights import SIGNALS, START, STOPS
from structune.genes.formats.dna import without_u
from structune.genes.formats.record import Exons, Transcript
from structune.structure import FloatArray

_CODON = 3
_REVERSE = {reverse_complement(START)}, {reverse_complement(stop) for stop in STOPS}
_CODONS = ({START}, set(STOPS)), _REVERSE  # at ends of genes, of either strand
_MOST, _OVERLAP = 1 << 19, 1 << 16  # bases: of a piece, and of two that follow each other
# Log odds of a start or stop beyond an end beside elsewhere, chosen as benchmarks/cut_genes.py says.
_LIKELY = 1.0
_LEAST = 60  # known coding bases of a gene that is cut
_SPACE, _EXON, _BETWEEN = "N" * 20, "N" * 100, "N" * 50  # the last is longer where introns are
_STOP = STOPS[0]
# with one letter between, three codons in a row are in all three frames; two letters after GT or AG do the
# same
_BEGIN = f"{_SPACE}{START}N{START}N{START}{_EXON}GTNNGTNNGT"
_END = f"AGNNAGNNAG{_EXON}{_STOP}N{_STOP}N{_STOP}{_SPACE}"


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

    def named(self, contig: str, k: int) -> Transcript:
        """The same as the one transcript of gene k of a sequence."""
        name, how = f"{contig}.g{k}", (self.score, self.partial)
        return Transcript(contig, self.strand, self.exons, f"{name}.t1", name, *how, phase=self.phase)


@dataclass(frozen=True)
class Piece:
    """A part of a sequence, from `start` on, with its tracks if there are any."""

    sequence: int
    start: int
    text: str
    tracks: FloatArray | None


def found_genes(
    graph: ExonGraph,
    w: FloatArray,
    hints: Sequence[Hints] | None,
    has_probabilities: bool,
    spans: Sequence[tuple[int, int]],
    pieces: Sequence[Piece],
) -> list[tuple[Piece, list[Gene], set[int]]]:
    """Those of pieces that are worked off at once, and the numbers of the hints that have an effect there.

    Hints, and spans whose bases count, are by sequence. The score of a gene is the mean probability of its
    bases being coding.
    """
    inputs: list[Any] = [each.text if each.tracks is None else (each.text, each.tracks) for each in pieces]
    shard = graph.encode(inputs)
    evidence, used = None, [set[int]() for _ in pieces]
    if hints is not None:
        known = [
            hints[piece.sequence].evidence(piece.start, len(piece.text), shard.nodes.of(s))
            for s, piece in enumerate(pieces)
        ]
        evidence, used = [each for each, _ in known], [set(numbers.tolist()) for _, numbers in known]
    paths, _ = graph.best(w, shard, None, evidence)
    columns = graph.marginals(w, shard, evidence) if has_probabilities else None
    found = []
    for piece, own, (first, end) in zip(pieces, used, pairwise(shard.starts.tolist()), strict=True):
        inside = [place - piece.start for place in spans[piece.sequence]]
        genes = []
        for strand, exons in path_genes(graph.weights, paths[first:end]):
            score, counted = None, within(exons, *inside)
            if columns is not None and counted:
                k = 3 * graph.rules.signs.index(strand)
                parts = [columns[first + a : first + b, k : k + 3].sum(axis=1) for a, b in counted]
                score = float(min(1.0, np.concatenate(parts).mean()))
            genes.append(Gene(strand, exons, score))
        found.append((piece, genes, own))
    return found


# --- pieces -----------------------------------------------------------------------------------------------


def may_have_gene(text: str, shortest_intron: int) -> bool:
    """Whether there are start and stop codons on a strand, or room for introns that split them."""
    if len(text) >= 2 * _CODON + shortest_intron:
        return True
    # a shorter gene has no intron, so its codons are within the text
    bases = without_u(text).upper()
    codons = {bases[k : k + _CODON] for k in range(len(bases))}
    return any(not codons.isdisjoint(starts) and not codons.isdisjoint(stops) for starts, stops in _CODONS)


def pieces_of(s: int, text: str, tracks: FloatArray | None) -> Iterator[Piece]:
    """Those of sequence s."""
    # pieces begin every _MOST - _OVERLAP bases; one is the last once the overlap reaches the end
    for start in range(0, max(1, len(text) - _OVERLAP), _MOST - _OVERLAP):
        part = slice(start, start + _MOST)
        yield Piece(s, start, text[part], None if tracks is None else tracks[part])


def join_genes(found: list[Gene], genes: list[Gene], piece: Piece) -> None:
    """Add the genes of a piece to those before it: where they overlap, from a place between genes on.

    Genes count from the start of the piece. What reaches across the overlap is lost if no such place is left.
    """
    # the place that is nearest to the middle of the overlap: there both pieces know the most around
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


# --- ends -------------------------------------------------------------------------------------------------


class Ends:
    """What is put before and behind a sequence, for a model whose introns have so many bases at least."""

    def __init__(self, shortest: int) -> None:
        self.before: str = _BEGIN + reverse_complement(_END) + "N" * max(shortest, len(_BETWEEN))
        self.behind: str = reverse_complement(self.before)

    def hints(self, hints: Hints, n: int) -> Hints:
        """Those of a sequence of n bases at their new places, and those of its ends."""
        # signals of the ends have the number -1: they are no hints, and are not told as unused
        lead = len(self.before)
        added = [*_sites(self.before, 0), *_sites(self.behind, lead + n)]
        sites, parts = hints.sites[hints.sites[:, 2] <= n], hints.parts.copy()
        parts[:, :2] = np.minimum(parts[:, :2], n) + lead
        return replace(
            hints, sites=np.concatenate([sites + np.array([0, 0, lead, 0, 0]), np.array(added)]), parts=parts
        )

    def cut(self, genes: Iterable[Gene], text: str) -> Iterator[Gene]:
        """Genes at their places in the sequence, without what is beyond it."""
        lead, n = len(self.before), len(text)
        for gene in genes:
            moved = gene.moved(-lead)
            partial = moved.start < 0, moved.end > n
            if not any(partial):
                yield moved
                continue
            # its phase: bases of the first codon that are in the sequence, where others of it are beyond
            exons, first = within(moved.exons, 0, n), moved.strand == "-"
            beyond = [max(0, b - max(a, n)) if first else max(0, min(b, 0) - a) for a, b in moved.exons]
            if may_be_open("".join(text[a:b] for a, b in exons)):
                yield replace(moved, exons=exons, partial=partial, phase=-sum(beyond) % 3)


def within(exons: Exons, start: int, end: int) -> Exons:
    """The parts of exons between two places."""
    return tuple((max(a, start), min(b, end)) for a, b in exons if b > start and a < end)


def may_be_open(text: str) -> bool:
    """Whether so many bases are known that a gene may be cut there."""
    return sum(map(text.upper().count, "ACGTU")) >= _LEAST


def _sites(text: str, offset: int) -> Iterator[tuple[float, ...]]:
    """Starts and stops of both strands, as `Hints` has them."""
    for reverse in (False, True):
        for signal, codon in (("start", START), ("stop", _STOP)):
            letters = reverse_complement(codon) if reverse else codon
            behind = (signal == "stop") != reverse  # the end of the codon is that of the gene
            for found in re.finditer(letters, text):
                yield SIGNALS.index(signal), reverse, offset + found.span()[behind], _LIKELY, -1
