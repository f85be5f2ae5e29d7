"""Prediction on sequences of any length, in overlapping pieces, and with genes that continue beyond the ends.

The graph begins and ends between genes. To allow genes that are cut off, artificial signals are added before
and after a sequence, for both strands and all frames, with unknown bases between: a start codon and donors,
acceptors and a stop codon. Parts of genes there are removed again, and the genes are marked as partial.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from Bio.Seq import reverse_complement

from structune.genes.eukaryotes.hints import Hints
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.shard import path_genes
from structune.genes.eukaryotes.structure.weights import SIGNALS, START, STOPS
from structune.genes.formats.dna import without_u
from structune.genes.formats.record import AnnotatedSequence, Exons, Transcript
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


@dataclass
class SearchedSequence:
    """A sequence with what is put before it, of `lead` bases, and behind it; and what is found there."""

    sequence: AnnotatedSequence
    text: str
    lead: int
    tracks: FloatArray | None
    hints: Hints
    genes: list[Transcript] = field(default_factory=list)
    used: set[int] = field(default_factory=set)  # numbers of the hints that have an effect

    @property
    def end(self) -> int:
        return self.lead + len(self.sequence.sequence)

    def named_genes(self) -> tuple[Transcript, ...]:
        """Genes at their places in the sequence, without what is beyond it."""
        found, text, name = list[Transcript](), self.sequence.sequence, self.sequence.name
        for t in self.genes:
            partial = t.start < self.lead, t.end > self.end
            exons = tuple((a - self.lead, b - self.lead) for a, b in within(t.exons, self.lead, self.end))
            if any(partial) and not may_be_open("".join(text[a:b] for a, b in exons)):
                continue
            # its phase: bases of the first codon that are in the sequence, where others of it are beyond
            before, behind = (0, self.lead), (self.end, len(self.text))
            beyond = within(t.exons, *(behind if t.strand == "-" else before))
            phase, gene = -sum(b - a for a, b in beyond) % 3, f"{name}.g{len(found) + 1}"
            found.append(Transcript(name, t.strand, exons, f"{gene}.t1", gene, t.score, partial, phase=phase))
        return tuple(found)


@dataclass(frozen=True)
class Piece:
    """A part of a sequence, from `start` on, with its tracks if there are any."""

    of: SearchedSequence
    start: int
    text: str
    tracks: FloatArray | None


def found_genes(
    graph: ExonGraph, w: FloatArray, has_probabilities: bool, pieces: Sequence[Piece]
) -> list[tuple[Piece, list[Transcript], set[int]]]:
    """Those of pieces that are worked off at once, and the numbers of the hints that have an effect there.

    The score of a gene is the mean probability of its bases in the sequence being coding.
    """
    inputs: list[Any] = [each.text if each.tracks is None else (each.text, each.tracks) for each in pieces]
    shard = graph.encode(inputs)
    known = [
        piece.of.hints.evidence(piece.start, len(piece.text), shard.nodes.of(s))
        for s, piece in enumerate(pieces)
    ]
    evidence = [each for each, _ in known]
    paths, _ = graph.best(w, shard, None, evidence)
    columns = graph.marginals(w, shard, evidence) if has_probabilities else None
    found = []
    for piece, (_, used), (first, end) in zip(pieces, known, pairwise(shard.starts.tolist()), strict=True):
        genes = []
        for strand, exons in path_genes(graph.weights, paths[first:end]):
            score, counted = None, within(exons, piece.of.lead - piece.start, piece.of.end - piece.start)
            if columns is not None and counted:
                k = 3 * graph.rules.signs.index(strand)
                parts = [columns[first + a : first + b, k : k + 3].sum(axis=1) for a, b in counted]
                score = float(min(1.0, np.concatenate(parts).mean()))
            place = tuple((a + piece.start, b + piece.start) for a, b in exons)
            name = piece.of.sequence.name
            genes.append(Transcript(name, strand, place, name, name, score))
        found.append((piece, genes, set(used.tolist())))
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


def pieces_of(each: SearchedSequence) -> Iterator[Piece]:
    """A sequence in pieces, which overlap."""
    # pieces begin every _MOST - _OVERLAP bases; one is the last once the overlap reaches the end
    for start in range(0, max(1, len(each.text) - _OVERLAP), _MOST - _OVERLAP):
        part = slice(start, start + _MOST)
        yield Piece(each, start, each.text[part], None if each.tracks is None else each.tracks[part])


def join_genes(found: list[Transcript], genes: list[Transcript], start: int) -> None:
    """Add the genes of a piece to those before it: where they overlap, from a place between genes on.

    What reaches across the overlap is lost if no such place is left.
    """
    # the place that is nearest to the middle of the overlap: there both pieces know the most around
    if start:
        covered = np.zeros(_OVERLAP + 1, bool)
        for gene in (*found, *genes):
            covered[max(0, gene.start - start) : max(0, gene.end - start)] = True
        free = np.flatnonzero(~covered)
        middle = _OVERLAP // 2
        cut = start + int(free[np.argmin(abs(free - middle))] if free.size else middle)
        found[:] = [gene for gene in found if gene.end <= cut]
        genes = [gene for gene in genes if gene.start > cut]
    found += genes


# --- ends -------------------------------------------------------------------------------------------------


def searched(
    each: AnnotatedSequence, tracks: FloatArray | None, hints: Hints, shortest: int, closed: bool
) -> SearchedSequence:
    """A sequence with what genes may begin or end with around it, unless it is `closed`, for a model whose
    introns have `shortest` bases at least."""
    text, n = each.sequence, len(each.sequence)
    if closed or not may_be_open(text):
        return SearchedSequence(each, text, 0, tracks, hints)
    before: str = _BEGIN + reverse_complement(_END) + "N" * max(shortest, len(_BETWEEN))
    behind: str = reverse_complement(before)
    lead = len(before)
    # signals of the ends have the number -1: they are no hints, and are not told as unused
    added = np.array([*_sites(before, 0), *_sites(behind, lead + n)])
    sites = hints.sites[hints.sites[:, 2] <= n] + np.array([0, 0, lead, 0, 0])
    parts = hints.parts.copy()
    parts[:, :2] = np.minimum(parts[:, :2], n) + lead
    hints = replace(hints, sites=np.concatenate([sites, added]), parts=parts)
    tracks = None if tracks is None else np.pad(tracks, ((lead, lead), (0, 0)))
    return SearchedSequence(each, before + text + behind, lead, tracks, hints)


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
