"""Transcripts of protein-coding genes, and sequences with those that lie on them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate, pairwise
from numbers import Integral
from typing import NamedTuple

from Bio.Data import CodonTable
from Bio.Seq import reverse_complement, translate

from structune.errors import DataError
from structune.files.text import plural, shown, some_of
from structune.genes.formats.dna import without_u

_SHOWN = 3
_CODON = 3
_CODE = re.compile("[0-9]{1,3}")

Exons = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Transcript:
    """The coding parts of a transcript.

    Attributes
    ----------
    contig : str
        Name of the sequence that it lies on.
    strand : {"+", "-"}
        Strand of the gene.
    exons : tuple of (int, int)
        Start and end of each coding part, with start and stop codon, but without untranslated parts; 0-based,
        half-open, ascending along the contig on either strand.
    name, gene : str
        Names of the transcript and of its gene, which several transcripts may share.
    score : float, optional
        Probability of a predicted gene, from 0 to 1; for genes of a file, the score there.
    partial : (bool, bool)
        Whether the gene continues before its start and after its end, along the contig, such as beyond an end
        of the contig.
    notes : tuple of (str, str)
        Further attributes, as names and values, as in the last column of GFF3.
    phase : int
        Number of bases at its 5' end that belong to a codon that begins before it (0 to 2). Always 0 if its
        5' end is complete.
    code : int, optional
        NCBI number of its genetic code, if the file gives it, or if a prediction uses another one than 11.
    """

    contig: str
    strand: str
    exons: Exons
    name: str
    gene: str
    score: float | None = None
    partial: tuple[bool, bool] = (False, False)
    notes: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    code: int | None = field(default=None, compare=False)
    phase: int = 0

    def __post_init__(self) -> None:
        for text in (self.contig, self.name, self.gene):
            check_name(text)
        if self.strand not in ("+", "-"):
            raise self._refused(f"the strand must be '+' or '-', not {shown(str(self.strand))}")
        if not self.exons:
            raise self._refused("there are no coding parts")
        if self.start < 0:
            raise self._refused(f"the start must be 0 or more, not {self.start}")
        for a, b in self.exons:
            if a >= b:
                raise self._refused(f"the start of each part must be below its end, not {a} and {b}")
        for a, b in self.introns:
            if b < a:
                raise self._refused(
                    f"parts must be in order without overlap, but one ends at {a} and the next starts at {b}"
                )

    def _refused(self, problem: str) -> DataError:
        return DataError(f"transcript {shown(self.name)}: {problem}")

    @property
    def start(self) -> int:
        """Start of the first coding part, 0-based."""
        return self.exons[0][0]

    @property
    def end(self) -> int:
        """End of the last coding part, 0-based and half-open."""
        return self.exons[-1][1]

    @property
    def introns(self) -> Exons:
        """Start and end of each gap between coding parts, ascending along the contig."""
        return tuple((a, b) for (_, a), (b, _) in pairwise(self.exons))

    @property
    def length(self) -> int:
        """Number of coding bases."""
        return sum(b - a for a, b in self.exons)

    @property
    def phases(self) -> tuple[int, ...]:
        """For each of `exons`, the number of bases at its 5' end that complete a codon of the exon before."""
        # after `before` coding bases (before - phase) % 3 of a codon are read: it lacks the rest, modulo 3
        lengths = [b - a for a, b in (self.exons if self.strand == "+" else reversed(self.exons))]
        phases = tuple((self.phase - before) % 3 for before in accumulate(lengths[:-1], initial=0))
        return phases if self.strand == "+" else phases[::-1]

    def coding_sequence(self, sequence: str) -> str:
        """Return the coding parts of the contig's `sequence`, joined and read along the strand."""
        joined = "".join(sequence[a:b] for a, b in self.exons)
        return along_strand(joined, self.strand)

    def protein(self, sequence: str, code: int = 1, starts: Collection[str] | None = None) -> str:
        """Translate the whole codons, without the stop codon at the end.

        A start codon at the beginning gives M, unless the gene continues before it. Unknown residues are X.
        Bases before the first and after the last whole codon are ignored.

        Parameters
        ----------
        sequence : str
            Sequence of the contig.
        code : int
            NCBI number of the genetic code: 1 is the standard code, 11 that of bacteria and archaea.
        starts : collection of str, optional
            Start codons, in upper case; by default all start codons of the genetic code.
        """
        table = genetic_code(code)
        coding = self.coding_sequence(sequence).upper()[self.phase :]
        residues: str = translate(coding[: len(coding) // 3 * 3], table=code)
        # whatever start codon a gene begins with, the initiator tRNA carries methionine
        begins = not self.partial[0 if self.strand == "+" else 1]
        if begins and coding[:3] in (table.start_codons if starts is None else starts):
            residues = "M" + residues[1:]
        return residues.removesuffix("*")


class Skipped(NamedTuple):
    """A transcript that was skipped, with the reason.

    `span` is its start and end, 0-based and half-open. If it crosses the origin of a circular sequence, the
    end exceeds the sequence length. None if its parts lie on several contigs or strands, or are unknown.
    """

    contig: str
    name: str
    reason: str
    span: tuple[int, int] | None = None


def skipped_text(skipped: Iterable[Skipped]) -> str:
    """Return a text for warnings: the number of skipped transcripts by reason, and some of their names."""
    names: dict[str, list[str]] = defaultdict(list)
    for one in skipped:
        names[one.reason].append(one.name)
    return "; ".join(f"{len(of):,}: {reason} ({some_of(of, _SHOWN)})" for reason, of in names.items())


@dataclass(frozen=True)
class AnnotatedSequence:
    """A DNA sequence and the transcripts on it.

    Attributes
    ----------
    name : str
    sequence : str
        Nucleotides; lower case, which often marks repeats, is kept.
    transcripts : tuple of Transcript
        Transcripts, sorted by start.
    skipped : tuple of Skipped
        Transcripts of the file that could not be used, with the reasons.
    """

    name: str
    sequence: str
    transcripts: tuple[Transcript, ...] = field(default=())
    skipped: tuple[Skipped, ...] = field(default=())

    def __post_init__(self) -> None:
        check_name(self.name)
        for transcript in self.transcripts:
            if transcript.end > len(self.sequence):
                raise DataError(
                    f"transcript {shown(transcript.name)} ends at {transcript.end:,}, but "
                    f"{shown(self.name)} has only {plural(len(self.sequence), 'base')}"
                )


def check_name(text: str) -> None:
    """Refuse a name that is empty, or holds what is no text."""
    if not text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise DataError(f"the name {shown(text)} is empty or not UTF-8 text")


def along_strand(bases: str, strand: str) -> str:
    """Bases as they are read along a strand."""
    along: str = bases if strand == "+" else reverse_complement(bases)
    return along


def code_of(text: str | None) -> int | None:
    """The genetic code that a file has as ``transl_table``, if it is one that there is."""
    is_number = text is not None and _CODE.fullmatch(text)
    return int(text) if text and is_number and int(text) in CodonTable.unambiguous_dna_by_id else None


def genetic_code(code: int) -> CodonTable.CodonTable:
    """NCBI's genetic code of a number; refuses one that there is not."""
    tables = CodonTable.unambiguous_dna_by_id
    if not isinstance(code, Integral) or isinstance(code, bool) or code not in tables:
        raise DataError(f"there is no genetic code {code!r}. Codes: {', '.join(map(str, tables))}")
    return tables[code]


def by_position(transcripts: Iterable[Transcript]) -> tuple[Transcript, ...]:
    """Transcripts by start, then by end, then as they were given."""
    return tuple(sorted(transcripts, key=lambda t: (t.start, t.end)))


def by_gene(transcripts: Iterable[Transcript]) -> dict[str, list[Transcript]]:
    """The transcripts of each gene, in the order in which they come."""
    found: dict[str, list[Transcript]] = defaultdict(list)
    for t in transcripts:
        found[t.gene].append(t)
    return found


class CodingProblem(StrEnum):
    """A reason why a transcript cannot be a complete gene."""

    LENGTH = "length is not a multiple of three"
    START = "no start codon"
    STOP = "no stop codon"
    STOP_WITHIN = "an internal stop codon"
    SHORT_INTRON = "an intron that is too short"
    SPLICE_SITES = "an intron without splice sites"


def coding_problems(
    transcript: Transcript,
    sequence: str,
    code: int = 1,
    starts: Collection[str] = ("ATG",),
    donors: Collection[str] = ("GT", "GC"),
    min_intron: int = 4,
) -> list[CodingProblem]:
    """Return the reasons why a transcript cannot be a complete gene, in the order of `CodingProblem`.

    Parameters
    ----------
    transcript : Transcript
    sequence : str
        Sequence of the contig, in upper or lower case.
    code : int
        NCBI number of the genetic code, which gives the stop codons. Unknown numbers raise `DataError`.
    starts : collection of str
        Allowed start codons, in upper case.
    donors : collection of str
        Allowed first two bases of introns; the last two must be AG.
    min_intron : int
        Smallest length of an intron, in bases.
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
    """Return the pairs of genes whose spans overlap, sorted by start.

    The span of a gene goes from the first to the last coding base of its transcripts, introns included.

    Parameters
    ----------
    transcripts : iterable of Transcript
        Transcripts on any number of contigs.
    strands_apart : bool
        If True, genes on different strands do not count as overlapping.
    """
    by_place: dict[tuple[str, str], list[Transcript]] = defaultdict(list)
    for t in transcripts:
        by_place[t.contig, t.strand if strands_apart else ""].append(t)
    pairs = []
    for some in by_place.values():
        genes = by_gene(some).items()
        spans = [(min(t.start for t in of), max(t.end for t in of), gene) for gene, of in genes]
        # genes by start: those of which the end is behind the next start overlap with that
        reaching = list[tuple[int, str]]()
        for start, end, gene in sorted(spans):
            reaching = [(other_end, other) for other_end, other in reaching if other_end > start]
            pairs += [(other, gene) for _, other in reaching]
            reaching.append((end, gene))
    return pairs
