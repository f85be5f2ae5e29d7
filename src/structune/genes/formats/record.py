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
from structune.files.text import shown, some_of
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
    exons : tuple of (int, int)
        Start and end of each coding part, start and stop codon included, untranslated parts left out;
        0-based, half-open, ascending along the contig on either strand.
    name, gene : str
        Transcripts of one gene share the latter.
    score : float, optional
        How sure a prediction is.
    partial : (bool, bool)
        Whether a prediction goes on before its start and behind its end, along the contig, as at ends of it.
    notes : tuple of (str, str)
        What else is known of it, by name, as in the last column of GFF3.
    phase : int
        Bases at its beginning, by strand, of a codon that begins before it, if it is partial there.
    code : int, optional
        NCBI's number of its genetic code, where a file says so, or predictions have another than 11.
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
            raise self._refused(f"found the strand {shown(str(self.strand))}, expected '+' or '-'")
        if not self.exons:
            raise self._refused("found no coding parts")
        if self.start < 0:
            raise self._refused(f"found its start at {self.start}, expected 0 or more")
        for a, b in self.exons:
            if a >= b:
                raise self._refused(f"found a part from {a} to {b}, expected its start below its end")
        for a, b in self.introns:
            if b < a:
                raise self._refused(
                    f"found a part that starts at {b} after one that ends at {a}, expected them apart"
                )

    def _refused(self, problem: str) -> DataError:
        return DataError(f"transcript {shown(self.name)}: {problem}")

    @property
    def start(self) -> int:
        """First position of the coding parts, from 0."""
        return self.exons[0][0]

    @property
    def end(self) -> int:
        """Position behind the coding parts."""
        return self.exons[-1][1]

    @property
    def introns(self) -> Exons:
        """What lies between the coding parts, ascending along the contig."""
        return tuple((a, b) for (_, a), (b, _) in pairwise(self.exons))

    @property
    def length(self) -> int:
        """Number of coding bases."""
        return sum(b - a for a, b in self.exons)

    @property
    def phases(self) -> tuple[int, ...]:
        """For each of `exons`, how many bases at its beginning, by strand, belong to the codon before it."""
        # after `before` coding bases (before - phase) % 3 of a codon are read: it lacks the rest, modulo 3
        lengths = [b - a for a, b in (self.exons if self.strand == "+" else reversed(self.exons))]
        phases = tuple((self.phase - before) % 3 for before in accumulate(lengths[:-1], initial=0))
        return phases if self.strand == "+" else phases[::-1]

    def coding_sequence(self, sequence: str) -> str:
        """The coding parts of `sequence`, that of the contig, joined and read along the strand."""
        joined = "".join(sequence[a:b] for a, b in self.exons)
        return along_strand(joined, self.strand)

    def protein(self, sequence: str, code: int = 1, starts: Collection[str] | None = None) -> str:
        """Translation of the whole codons, without the stop codon at the end.

        A start codon at the beginning gives M, unless it goes on before it. An unknown residue is X. Bases
        before the first and behind the last whole codon are left out.

        Parameters
        ----------
        sequence : str
            That of the contig.
        code : int
            NCBI's number of the genetic code: 1 the standard code, 11 that of bacteria and archaea.
        starts : collection of str, optional
            Start codons, in upper case; by default all those of the code.
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
    """A transcript of a file that was left out, and why; its start and end, where it lies in one place: the
    end is beyond that of the sequence if it goes across the origin of a circle."""

    contig: str
    name: str
    reason: str
    span: tuple[int, int] | None = None


def skipped_text(skipped: Iterable[Skipped]) -> str:
    """How many transcripts were skipped for each reason, with the first names: a text for warnings."""
    names: dict[str, list[str]] = defaultdict(list)
    for one in skipped:
        names[one.reason].append(one.name)
    return "; ".join(f"{len(of)}: {reason} ({some_of(of, _SHOWN)})" for reason, of in names.items())


@dataclass(frozen=True)
class AnnotatedSequence:
    """A sequence of DNA and the transcripts on it.

    Attributes
    ----------
    name : str
    sequence : str
        In the letters of the file: lower case, which often marks repeats, is kept.
    transcripts : tuple of Transcript
        By start.
    skipped : tuple of Skipped
        Transcripts of the file that could not be used.
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
                    f"transcript {shown(transcript.name)}: found its end at {transcript.end}, expected it "
                    f"within the {len(self.sequence)} bases of {shown(self.name)}"
                )


def check_name(text: str) -> None:
    """Refuse a name that is empty, or holds what is no text."""
    if not text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise DataError(f"found the name {shown(text)}, expected UTF-8 text")


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
        raise DataError(f"found the genetic code {code!r}, expected one of {', '.join(map(str, tables))}")
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
        NCBI's number of the genetic code, for the stop codons; a `DataError` if there is none.
    starts : collection of str
        Start codons, in upper case.
    donors : collection of str
        First two bases of introns; the last two are AG.
    min_intron : int
        Least length of an intron.
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
    """Pairs of genes whose spans overlap, in the order of where they begin.

    The span of a gene goes from the first to the last coding base of its transcripts, introns included.

    Parameters
    ----------
    transcripts : iterable of Transcript
        On any number of contigs.
    strands_apart : bool
        Whether genes on different strands never overlap.
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
