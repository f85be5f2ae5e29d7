"""Whether transcripts make sense as genes: checks before a model learns from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from enum import StrEnum

from structune.genes.formats.dna import without_u
from structune.genes.formats.record import Transcript, along_strand, genetic_code

_CODON = 3


class CodingProblem(StrEnum):
    """What a transcript lacks."""

    LENGTH = "length no multiple of three"
    START = "no start codon"
    STOP = "no stop codon"
    STOP_WITHIN = "a stop codon within"
    SHORT_INTRON = "a short intron"
    SPLICE_SITES = "an intron without its splice sites"


def coding_problems(
    transcript: Transcript,
    sequence: str,
    code: int = 1,
    starts: Collection[str] = ("ATG",),
    donors: Collection[str] = ("GT", "GC"),
    min_intron: int = 4,
) -> list[CodingProblem]:
    """What keeps a transcript from being a gene, in the order of `CodingProblem`.

    Parameters
    ----------
    transcript : Transcript
    sequence : str
        That of the contig, in upper or lower case.
    code : int
        NCBI's number of the genetic code; it says what the stop codons are.
    starts : collection of str
        Start codons, in upper case.
    donors : collection of str
        First two bases of introns; the last two are AG.
    min_intron : int
        Least length of an intron.

    Raises
    ------
    DataError
        There is no such genetic code.
    """
    coding = transcript.coding_sequence(sequence).upper()
    stops = genetic_code(code).stop_codons
    introns = [along_strand(sequence[a:b], transcript.strand).upper() for a, b in transcript.introns]
    found = {
        CodingProblem.LENGTH: len(coding) % 3 != 0,
        CodingProblem.START: coding[:3] not in starts,
        CodingProblem.STOP: coding[-3:] not in stops,
        CodingProblem.STOP_WITHIN: any(coding[k : k + 3] in stops for k in range(0, len(coding) - 3, 3)),
        CodingProblem.SHORT_INTRON: any(len(intron) < min_intron for intron in introns),
        CodingProblem.SPLICE_SITES: any(i[:2] not in donors or i[-2:] != "AG" for i in introns),
    }
    return [problem for problem, is_there in found.items() if is_there]


def is_cut(t: Transcript, sequence: str) -> bool:
    """Whether a transcript reaches an end of its sequence without the codon that a whole gene has there."""
    # within a codon of an end no start or stop may lie beyond; by strand, the start is at the other end
    coding, code = t.coding_sequence(sequence).upper(), genetic_code(11 if t.code is None else t.code)
    at_start, at_stop = t.start < _CODON, len(sequence) - t.end < _CODON
    if t.strand == "-":
        at_start, at_stop = at_stop, at_start
    no_start = without_u(coding[:_CODON]) not in code.start_codons
    return (at_start and no_start) or (at_stop and without_u(coding[-_CODON:]) not in code.stop_codons)


def overlapping_genes(transcripts: Iterable[Transcript], strands_apart: bool = True) -> list[tuple[str, str]]:
    """Pairs of genes whose spans overlap, introns included, in the order of where they begin.

    The span of a gene goes from the first to the last coding base of its transcripts.

    Parameters
    ----------
    transcripts : iterable of Transcript
        On any number of contigs.
    strands_apart : bool
        Whether genes on different strands never overlap.
    """
    spans: dict[tuple[str, str, str], tuple[int, int]] = {}
    for t in transcripts:
        key = (t.contig, t.strand if strands_apart else "", t.gene)
        start, end = spans.get(key, (t.start, t.end))
        spans[key] = min(start, t.start), max(end, t.end)
    by_place = defaultdict(list)
    for (contig, strand, gene), (start, end) in spans.items():
        by_place[contig, strand].append((start, end, gene))
    pairs = []
    for genes in by_place.values():
        # genes by start: those of which the end is behind the next start overlap with that
        reaching = list[tuple[int, str]]()
        for start, end, gene in sorted(genes):
            reaching = [(other_end, other) for other_end, other in reaching if other_end > start]
            pairs += [(other, gene) for _, other in reaching]
            reaching.append((end, gene))
    return pairs
