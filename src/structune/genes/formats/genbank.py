"""Sequences with genes in GenBank files."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import StringIO
from itertools import pairwise

from Bio import BiopythonWarning
from Bio.Seq import UndefinedSequenceError
from Bio.SeqFeature import ExactPosition, SeqFeature
from Bio.SeqRecord import SeqRecord

from structune.errors import DataError
from structune.files.text import Lines, Source, shown
from structune.genes.formats.dna import check_dna, without_u
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript, by_position, code_of

_LENGTH = re.compile(r"LOCUS\s+\S+\s+(\d{1,18}) bp")
_FEATURES = re.compile(r"(?<=\n)(FEATURES.*\n)(?:[ \t].*\n|\s*\n)*+")
_COMMENT = re.compile(r"(?<=\n)COMMENT.*\n(?:[ \t].*\n|\s*\n)*+")
_STRANDS = {1: "+", -1: "-"}


def read_genbank(source: Source) -> Iterator[AnnotatedSequence]:
    """Read the annotated sequences of a GenBank file one at a time.

    A sequence is named by its version or, without one, by its LOCUS line. It is in upper case, with U as T.
    Each CDS is a transcript, named by ``/locus_tag`` or ``/gene``, else by its position; further transcripts
    of that name get ``-2``, ``-3``, and so on. Transcripts of one name belong to one gene if they overlap on
    one strand; copies elsewhere are other genes, with ``:`` and the start added to the name.

    These genes are skipped and listed in `AnnotatedSequence.skipped`: pseudogenes (``/pseudo``,
    ``/pseudogene``); incomplete genes (``<`` or ``>`` in the location, or a ``/codon_start`` other than 1);
    trans-splicing, parts on two strands or sequences, or in another order than on the strand, as across the
    origin; overlapping parts (programmed frameshifts); parts that are not joined (``order``); and locations
    that cannot be read.

    Parameters
    ----------
    source : path or file object
        Compressed or not. A file object may be binary or text; it is left open.

    Raises
    ------
    DataError
        A record is not GenBank, has no sequence or an invalid letter, differs in length from its LOCUS line,
        has a gene outside its sequence, or repeats a name; or there are no records. The message names the
        file and the line.
    """
    return parse_genbank(Lines(source, strip=False))


def parse_genbank(lines: Lines, with_genes: bool = True) -> Iterator[AnnotatedSequence]:
    """Read the records of unstripped lines; without `with_genes` features are ignored."""
    formats = "GenBank", "GFF3 with ##FASTA" if with_genes else "FASTA"
    begun: dict[str, int] = {}
    with lines.told_by_look(formats, {"EMBL": "convert it to GenBank first"}):
        for number, whole in _records(lines):
            text = _COMMENT.sub("", whole)  # Biopython takes quadratic time for long lines of comments
            text = text if with_genes else _FEATURES.sub(r"\1", text)
            with lines.at(number):
                found = _annotated(_parsed(text))
                said, n = _LENGTH.match(text), len(found.sequence)
                if said and int(said[1]) != n:
                    raise DataError(f"the record has {n:,} bases, but its LOCUS line says {int(said[1]):,}")
                if found.name in begun:
                    again = f"the name {shown(found.name)} was already used in line {begun[found.name]}"
                    raise DataError(again)
            begun[found.name] = number
            yield found
        if not begun:
            raise DataError(f"{lines.name}: the file has no records")


def _records(lines: Lines) -> Iterator[tuple[int, str]]:
    first, number = 0, 0
    texts: list[str] = []
    for number, text in lines:
        if not texts:
            if not text.strip():
                continue
            if not text.startswith("LOCUS"):  # not only once the whole file was read in search of an end
                hint = " (GFF3 must begin with ##gff-version, or be given with FASTA)" if "\t" in text else ""
                raise lines.refuse(number, f"{shown(text.rstrip())} is not the LOCUS line of a record{hint}")
            first = number
        texts.append(text)
        if text.startswith("//"):
            yield first, "".join(texts)
            texts = []
    if texts:
        raise lines.refuse(number, "the last record is cut off: it does not end with '//'")


def _parsed(text: str) -> SeqRecord:
    """The record of a text, as Biopython reads it; refuses what it cannot read."""
    from Bio import SeqIO  # here, because it is slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiopythonWarning)  # what matters of these is checked here
        try:
            record: SeqRecord = SeqIO.read(StringIO(text), "genbank")
        except Exception as error:  # Biopython raises many kinds for malformed text
            raise DataError(f"the record cannot be read: {shown(str(error))}") from error
    return record


def _annotated(record: SeqRecord) -> AnnotatedSequence:
    """The sequence of a record with its coding parts as transcripts, and those that are skipped."""
    contig = record.id
    try:
        sequence = str(record.seq)
    except UndefinedSequenceError:
        sequence = ""
    if not sequence:
        raise DataError(f"record {shown(contig)} has no sequence after ORIGIN")
    check_dna(sequence)
    transcripts, skipped, used = list[Transcript](), list[Skipped](), Counter[str]()
    for feature in record.features:
        if feature.type != "CDS":
            continue
        marks, location = feature.qualifiers, feature.location
        gene = next(filter(None, (*marks.get("locus_tag", ()), *marks.get("gene", ()))), "")
        if not gene and location is not None:  # as in GFF3
            place = f"{int(location.start) + 1}-{int(location.end)}"
            gene = f"{contig}:{place}({_STRANDS.get(location.strand, '?')})"
        gene = gene or f"{contig}:?"
        used[gene] += 1
        name = f"{gene}-{used[gene]}" if used[gene] > 1 else gene
        reason, span = _unusable(feature, len(sequence))
        if reason:
            skipped.append(Skipped(contig, name, reason, span))
        else:
            exons = tuple(sorted((int(part.start), int(part.end)) for part in location.parts))
            code = code_of(marks.get("transl_table", [None])[0])
            transcripts.append(Transcript(contig, _STRANDS[location.strand], exons, name, gene, code=code))
    apart = tuple(_with_copies_apart(transcripts))
    return AnnotatedSequence(contig, without_u(sequence), apart, tuple(skipped))


def _with_copies_apart(transcripts: Iterable[Transcript]) -> Iterator[Transcript]:
    """The transcripts by position; copies of a gene that share its name are genes of their own."""
    last, names = dict[tuple[str, str], tuple[int, str]](), set[str]()
    for t in by_position(transcripts):
        end, gene = last.get((t.gene, t.strand), (0, ""))
        if t.start >= end:
            gene = f"{t.gene}:{t.start + 1}" if t.gene in names else t.gene
        names.add(t.gene)
        last[t.gene, t.strand] = max(end, t.end), gene
        yield replace(t, gene=gene)


def _unusable(feature: SeqFeature, n_bases: int) -> tuple[str, tuple[int, int] | None]:
    """Why a transcript is skipped, if it is, and its span; beyond the end, if across the origin."""
    location, marks = feature.location, feature.qualifiers
    if location is None:
        return "a location that cannot be read", None
    parts, strands = location.parts, {part.strand for part in location.parts}
    # parts along the sequence, if they are in the order of the strand, and steps back among them
    ascending = parts if parts[0].strand == 1 else parts[::-1]
    back = [(int(a.end), int(b.start)) for a, b in pairwise(ascending) if b.start < a.start]
    scattered, place = "", None
    if any(part.ref is not None for part in parts):
        scattered = "parts on two sequences"
    elif len(strands) > 1 or not strands <= _STRANDS.keys():
        scattered = "parts on two strands"
    elif back:
        scattered = "parts in another order than on the strand (across the origin, or trans-splicing)"
        # one step back, from the last base to the first, is a circle; any other order is not a place
        if back == [(n_bases, 0)]:
            place = int(ascending[0].start), n_bases + int(ascending[-1].end)
    else:
        place = int(location.start), int(location.end)
    start = marks.get("codon_start", ["1"])[0]
    reasons = {
        "a pseudogene": bool({"pseudo", "pseudogene"} & set(marks)),
        "trans-splicing": "trans_splicing" in marks,
        scattered: bool(scattered),
        "parts that are not joined": getattr(location, "operator", "join") != "join",
        "incomplete": not all(isinstance(end, ExactPosition) for p in parts for end in (p.start, p.end)),
        "parts overlap (a programmed frameshift?)": any(b.start < a.end for a, b in pairwise(ascending)),
        f"incomplete: codon_start={start}": start != "1",
    }
    reason = next((reason for reason, is_so in reasons.items() if is_so), "")
    return reason, None if "trans_splicing" in marks else place
