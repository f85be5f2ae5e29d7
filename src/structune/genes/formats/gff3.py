"""Genes in GFF3 files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple
from urllib.parse import unquote

from structune.errors import DataError
from structune.files.text import Lines, Source, shown
from structune.genes.formats.record import Skipped, Transcript, by_position

_N_COLUMNS = 9
_FASTA = "##FASTA"
_NUMBER = re.compile("[0-9]{1,18}")
_PHASES = {"0": 0, "1": 1, "2": 2, ".": None}
_CODON_STARTS = {"1": None, "2": 1, "3": 2}  # bp_genbank2gff3 writes that of the gene as phase of all parts
_TRANSCRIPTS = ("mRNA", "transcript")
_GTF = re.compile(r'(gene|transcript)_id "')
_PREFIX = re.compile(r"\A(gene|transcript|cds):(?!\Z)", re.IGNORECASE)
_MARKS = {  # attributes of features that are no whole genes
    "pseudo": "a pseudogene",
    "pseudogene": "a pseudogene",
    "partial": "not whole",
    "start_range": "not whole",
    "end_range": "not whole",
}


@dataclass(frozen=True)
class GeneAnnotation:
    """What a file of genes without their sequences holds.

    Attributes
    ----------
    transcripts : dict of str to tuple of Transcript
        By contig, in the order of the file; on each by start.
    skipped : tuple of Skipped
        Transcripts of the file that could not be used.
    circular : frozenset of str
        Contigs of which the file says so.
    """

    transcripts: dict[str, tuple[Transcript, ...]]
    skipped: tuple[Skipped, ...]
    circular: frozenset[str] = frozenset()


class _Parent(NamedTuple):
    """What a feature that others may belong to says of itself; an mRNA without a gene is its own."""

    gene: str
    score: float | None


class _Part(NamedTuple):
    """A line: of a coding part, or of another feature."""

    line: int
    contig: str
    start: int
    end: int
    strand: str
    score: float | None
    phase: int | None
    attributes: dict[str, str]

    @property
    def parents(self) -> list[str]:
        """As they are escaped in the file."""
        return [parent for parent in self.attributes.get("Parent", "").split(",") if parent]


class _Key(NamedTuple):
    """What parts of one transcript have in common."""

    name: str
    gene: str
    score: float | None = None
    is_orphan: bool = False


@dataclass
class _Features:
    """What the lines of a file hold: the parts of transcripts, and the parents of other features."""

    parts: list[_Part] = field(default_factory=list)
    parents: dict[str, _Parent] = field(default_factory=dict)
    proteins: set[str] = field(default_factory=set)
    circular: set[str] = field(default_factory=set)


def read_gff3(source: Source) -> GeneAnnotation:
    """Read the genes of a GFF3 file, compressed by gzip or not.

    A transcript is made of the CDS lines of one parent that has a parent itself, its gene, or is an ``mRNA``
    or ``transcript`` without one. CDS lines whose parent is a gene are one transcript where they share their
    ID; so are those of files in which no CDS has its parent in the file. CDS lines of neither parent nor ID
    are one each. Features without CDS are no genes, and left out. Names lose the ``gene:``, ``transcript:``
    or ``CDS:`` that Ensembl and WormBase begin IDs with. A tab within the last column, and attributes without
    ``=``, are let pass; a ``codon_start`` that is also in the column of the phase, as bp_genbank2gff3 writes
    it, is the phase plus one.

    These are skipped by name: pseudogenes (``pseudo=true``), parts of genes (``partial=true``,
    ``start_range``, ``end_range``, a phase other than 0 at the start, or a parent that is not in the file
    while others are), trans-splicing (``exception=trans-splicing``, or parts on two contigs or strands),
    parts that overlap (programmed frameshifts), and phases that do not follow from the lengths of the parts.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it is left open. Reading ends at ``##FASTA``.

    Returns
    -------
    GeneAnnotation

    Raises
    ------
    DataError
        Names the file and line that is malformed: less than nine columns, a start beyond its end, a strand,
        score or phase that is none, a part that is there twice, attributes of GTF.
    """
    return parse_gff3(Lines(source))


def parse_gff3(lines: Lines) -> GeneAnnotation:
    found = _Features()
    for number, text in lines.filled():
        if text.startswith(_FASTA):
            break
        if text.startswith(">"):
            raise lines.refuse(number, f"found {shown(text)}, expected {_FASTA} before sequences")
        if not text.startswith("#"):
            with lines.at(number):
                _add_line(found, number, text)
    return _annotation(lines, found)


def _add_line(found: _Features, number: int, text: str) -> None:
    columns = text.split("\t", _N_COLUMNS - 1)
    if len(columns) == _N_COLUMNS - 1:
        columns.append("")  # the last one was empty, and the ends of lines are cut
    if len(columns) != _N_COLUMNS:
        raise DataError(f"found {len(columns)} columns, expected {_N_COLUMNS} between tabs")
    attributes = _attributes(columns[8])
    part = _part(number, columns, attributes)
    if columns[2] == "CDS":
        if _GTF.match(columns[8]):  # each part would be a gene
            raise DataError(f"found {shown(columns[8])}, which is GTF, expected GFF3: key=value;key=value")
        found.parts.append(_coding(part, columns[7]))
    elif name := attributes.get("ID"):
        gene = attributes.get("Parent") or (name if columns[2] in _TRANSCRIPTS else "")
        found.parents[name] = _Parent(gene, part.score)
        if columns[2] in ("protein", "polypeptide"):
            found.proteins.add(name)
    if attributes.get("Is_circular", "").lower() == "true":
        found.circular.add(part.contig)


def _part(number: int, columns: list[str], attributes: dict[str, str]) -> _Part:
    start, end = _span(columns[3], columns[4])
    return _Part(number, unquote(columns[0]), start, end, columns[6], _score(columns[5]), None, attributes)


def _coding(part: _Part, phase: str) -> _Part:
    if part.strand not in ("+", "-"):
        raise DataError(f"found the strand {shown(part.strand)} of a CDS, expected '+' or '-'")
    if phase and phase == part.attributes.get("codon_start"):
        return part._replace(phase=_CODON_STARTS.get(phase))
    if phase not in _PHASES:
        raise DataError(f"found the phase {shown(phase)} of a CDS, expected 0, 1, 2 or '.'")
    return part._replace(phase=_PHASES[phase])


def _attributes(text: str) -> dict[str, str]:
    """By key; a value of several has its commas still, and escapes of those."""
    pairs = (item.partition("=") for item in text.split(";"))
    return {key.strip(): value.strip() for key, is_pair, value in pairs if is_pair}


def _span(start: str, end: str) -> tuple[int, int]:
    if not (_NUMBER.fullmatch(start) and _NUMBER.fullmatch(end)):
        raise DataError(f"found the span {shown(start)} to {shown(end)}, expected two whole numbers from 1")
    a, b = int(start) - 1, int(end)
    if a < 0 or a >= b:
        raise DataError(f"found the span {start} to {end}, expected a start from 1 to the end")
    return a, b


def _score(text: str) -> float | None:
    try:
        return None if text == "." else float(text)
    except ValueError:
        raise DataError(f"found the score {shown(text)}, expected a number or '.'") from None


def _annotation(lines: Lines, found: _Features) -> GeneAnnotation:
    by_contig: dict[str, list[Transcript]] = defaultdict(list)
    skipped = []
    for key, parts in _grouped(found).items():
        parts.sort(key=attrgetter("start", "end"))
        _refuse_repeats(lines, parts)
        reason = "its parent is not in the file" if key.is_orphan else _unusable(parts)
        if reason:
            skipped.append(Skipped(parts[0].contig, key.name, reason, _place(parts)))
            continue
        with lines.at(parts[0].line):
            transcript = _transcript(key, parts)
        if reason := _wrong_phase(transcript, parts):
            skipped.append(Skipped(transcript.contig, key.name, reason, _place(parts)))
        else:
            by_contig[transcript.contig].append(transcript)
    ordered = {contig: by_position(of) for contig, of in by_contig.items()}
    return GeneAnnotation(ordered, tuple(skipped), frozenset(found.circular))


def _grouped(found: _Features) -> dict[_Key, list[_Part]]:
    """The parts of each transcript."""
    groups: dict[_Key, list[_Part]] = defaultdict(list)
    cds_only = not any(parent in found.parents for part in found.parts for parent in part.parents)
    for part in found.parts:
        for key in _keys(part, found, cds_only):
            groups[key].append(part)
    return groups


def _keys(part: _Part, found: _Features, cds_only: bool) -> Iterator[_Key]:
    own = _name(part.attributes.get("ID", ""))
    parents = [parent for parent in part.parents if parent not in found.proteins]
    for parent in parents:
        above = found.parents.get(parent)
        if above is not None and above.gene:
            yield _Key(_name(parent), _name(above.gene), above.score)
        elif above is not None or cds_only:
            yield _Key(own or _name(parent), _name(parent))
        else:
            yield _Key(_name(parent), _name(parent), is_orphan=True)
    if not parents:
        name = own or f"{part.contig}:{part.start + 1}-{part.end}({part.strand})"
        yield _Key(name, name)


def _name(escaped: str) -> str:
    return _PREFIX.sub("", unquote(escaped))


def _refuse_repeats(lines: Lines, parts: list[_Part]) -> None:
    for a, b in pairwise(parts):
        if a[1:5] == b[1:5]:  # contig, start, end, strand
            raise lines.refuse(
                max(a.line, b.line), f"found a part of a CDS again, first in {min(a.line, b.line)}"
            )


def _unusable(parts: list[_Part]) -> str:
    """Why a transcript is skipped, if it is."""
    for part in parts:
        for key, reason in _MARKS.items():
            if part.attributes.get(key, "false") != "false":
                return reason
    if reason := _scattered(parts):
        return reason
    if any(b.start < a.end for a, b in pairwise(parts)):
        return "parts overlap (a programmed frameshift?)"
    return ""


def _scattered(parts: list[_Part]) -> str:
    """Why parts are not of one place, if they are not."""
    if any(part.attributes.get("exception") == "trans-splicing" for part in parts):
        return "trans-splicing"
    is_one = len({(part.contig, part.strand) for part in parts}) == 1
    return "" if is_one else "parts on two contigs or strands"


def _place(parts: list[_Part]) -> tuple[int, int] | None:
    """The span of parts of one place."""
    return None if _scattered(parts) else (parts[0].start, max(part.end for part in parts))


def _transcript(key: _Key, parts: list[_Part]) -> Transcript:
    exons = tuple((part.start, part.end) for part in parts)
    score = parts[0].score if key.score is None else key.score
    return Transcript(parts[0].contig, parts[0].strand, exons, key.name, key.gene, score)


def _wrong_phase(transcript: Transcript, parts: list[_Part]) -> str:
    first = parts[0] if transcript.strand == "+" else parts[-1]
    if first.phase:
        return f"not whole: phase {first.phase} at its start"
    for part, phase in zip(parts, transcript.phases, strict=True):
        if part.phase not in (None, phase):
            return f"phase {part.phase}, {phase} by the lengths of the parts"
    return ""
