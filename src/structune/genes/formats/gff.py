"""Genes in annotations: GFF3, and GTF as AUGUSTUS, BRAKER and Ensembl write it."""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple
from urllib.parse import unquote

from structune.errors import DataError, warn
from structune.files.text import Lines, Source, shown
from structune.genes.formats.record import Skipped, Transcript, by_position, code_of

_N_COLUMNS = 9
_NUMBER = re.compile("[0-9]{1,18}")
_PHASES = {"0": 0, "1": 1, "2": 2, ".": None}
_CODON_STARTS = {"1": None, "2": 1, "3": 2}  # bp_genbank2gff3 writes that of the gene as phase of all parts
_MOST_TOLD = 6  # types of features
_NOT_SO = ("false", "00")  # values of marks: the latter of Prodigal's partial
_MARKS = {  # attributes of features that are no whole genes
    "pseudo": "a pseudogene",
    "pseudogene": "a pseudogene",
    "partial": "not whole",
    "start_range": "not whole",
    "end_range": "not whole",
}
_CODING = ("CDS", "cds", "SO:0000316")
_TRANSCRIPTS = ("mRNA", "transcript")
_CODONS = ("start_codon", "stop_codon")
_PREFIX = re.compile(r"\A(gene|transcript|cds):(?!\Z)", re.IGNORECASE)
# the last column of GTF has key "value"; or, by AUGUSTUS, a name alone
_GTF = re.compile(r'(?!\.\Z)[^\s=]+( +[^=]*)?\Z|[^\s=]+ +"')
# begins where words do, and does not go back: the time is in proportion to the text, whatever that is
_ATTRIBUTE = re.compile(r'(?<![^\s;"])([^\s;]++) ++(?:"([^"]*)"|([^\s;"]+))')
_CUT = re.compile("cds_(start|end)_NF")  # Ensembl's tags of what goes on beyond what is known


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
        Contigs that are circles.
    """

    transcripts: dict[str, tuple[Transcript, ...]]
    skipped: tuple[Skipped, ...]
    circular: frozenset[str] = frozenset()


class Part(NamedTuple):
    """A line: of a coding part, or of another feature."""

    line: int
    contig: str
    start: int
    end: int
    strand: str
    score: float | None
    phase: int | None
    attributes: dict[str, str]


class _Key(NamedTuple):
    """What the parts of one transcript have in common; or what a feature with an ID says of itself."""

    name: str
    gene: str  # an mRNA without a gene is its own
    score: float | None = None
    problem: str = ""  # why it cannot be used, or is no whole gene, if that is known


def read_annotation(source: Source | Lines) -> GeneAnnotation:
    """Read the genes of a file as `read_gff3` does, or as `read_gtf` if its first feature is one of GTF.

    Parameters
    ----------
    source : path or file object
        Compressed by gzip or not; a file object may be binary or text, and is left open.
    """
    lines = source if isinstance(source, Lines) else Lines(source)
    # the first feature tells: programs that write GTF may name no format in the first lines
    every = (text for text in lines.head(sys.maxsize) if text and not text.startswith("#"))
    with lines.told_by_look(("GFF3", "GTF")):
        columns = next(every, "").split("\t", 8)
        return read_gtf(lines) if len(columns) > 8 and _GTF.match(columns[8]) else read_gff3(lines)


def read_gff3(source: Source | Lines) -> GeneAnnotation:
    """Read the genes of a GFF3 file up to ``##FASTA``.

    A transcript is made of the CDS lines of one parent that has a parent itself, its gene, or is an ``mRNA``
    or ``transcript`` without one. CDS lines whose parent is a gene are one transcript where they share their
    ID; so are those of files in which no CDS has its parent in the file. CDS lines of neither parent nor ID
    are one each. Features without CDS are left out; a file of these alone is warned of. Names lose the
    ``gene:``, ``transcript:`` or ``CDS:`` that Ensembl and WormBase begin IDs with. A tab within the last
    column, and attributes without ``=``, are let pass; a ``codon_start`` that is also in the column of the
    phase, as bp_genbank2gff3 writes it, is the phase plus one.

    These are skipped by name: pseudogenes (``pseudo=true``), parts of genes (``partial=true``,
    ``start_range``, ``end_range``, a phase other than 0 at the start, no ``start_codon`` or ``stop_codon``
    where others in the file have them, or a parent that is not in the file while others are), trans-splicing
    (``exception=trans-splicing``, or parts on two contigs or strands), parts that overlap (programmed
    frameshifts), and phases that do not follow from the lengths of the parts.

    Parameters
    ----------
    source : path or file object
        Compressed by gzip or not; a file object may be binary or text, and is left open.

    Raises
    ------
    DataError
        Names the file and line that is malformed: less than nine columns, a start beyond its end, a strand,
        score or phase that is none, a part that is there twice, attributes of GTF.
    """
    lines = source if isinstance(source, Lines) else Lines(source)
    parts, parents, kinds = list[Part](), dict[str, _Key](), Counter[str]()
    proteins, circular = set[str](), set[str]()
    codons: dict[str, set[str]] = {kind: set() for kind in _CODONS}  # parents of these features
    for number, text in features_of(lines):
        with lines.at(number):
            columns = columns_of(text)
            kind, attributes = columns[2], attributes_of(columns[8])
            part = part_of(number, columns, unquote(columns[0]), attributes)
            kinds[kind] += 1
            if kind in _CODING:
                if re.match(r'(gene|transcript)_id "', columns[8]):  # each part would be a gene
                    raise DataError(
                        f"found {shown(columns[8])}, which is GTF, expected GFF3: key=value;key=value"
                    )
                parts.append(_coding(part, columns[7]))
            elif kind in _CODONS:
                codons[kind].update(_parents_of(part))
            elif name := attributes.get("ID"):
                gene = attributes.get("Parent") or (name if kind in _TRANSCRIPTS else "")
                # RefSeq calls genes and mRNA partial, too, if only ends that are not coding lack
                marks = {key: text for key, text in attributes.items() if key.startswith("pseudo")}
                parents[name] = _Key(_name_of(name), gene, part.score, _marked(marks))
                if kind in ("protein", "polypeptide"):
                    proteins.add(name)
            if attributes.get("Is_circular", "").lower() == "true":
                circular.add(part.contig)
    # Only now is it known which parents are in the file, and in which order. A part belongs to each of its
    # parents; how transcripts and genes are named by these, `read_gff3` says.
    groups: dict[_Key, list[Part]] = defaultdict(list)
    coding_parents = {parent for part in parts for parent in _parents_of(part)}
    for of in codons.values():
        of &= coding_parents  # others have them at genes, or at coding parts
    cds_only = coding_parents.isdisjoint(parents)
    for part in parts:
        own = _name_of(part.attributes.get("ID", ""))
        of_part = [parent for parent in _parents_of(part) if parent not in proteins]
        for parent in of_part:
            above, name = parents.get(parent), _name_of(parent)
            if above and above.gene:
                lacks = any(of and parent not in of for of in codons.values())
                of_gene = parents.get(above.gene, _Key("", ""))
                problem = above.problem or of_gene.problem or "not whole" * lacks
                key = above._replace(gene=_name_of(above.gene), problem=problem)
            elif above or cds_only:
                key = _Key(own or name, name, problem=above.problem if above else "")
            else:
                key = _Key(name, name, problem="its parent is not in the file")
            groups[key].append(part)
        if not of_part:
            name = own or f"{part.contig}:{part.start + 1}-{part.end}({part.strand})"
            groups[_Key(name, name)].append(part)
    return _annotation_of(lines, groups, kinds, frozenset(circular))


def features_of(lines: Lines) -> Iterator[tuple[int, str]]:
    """Numbers and texts of the lines of features, which end before sequences."""
    for number, text in lines.filled():
        if text.startswith("##FASTA"):
            return
        if text.startswith(">"):
            raise lines.refuse(number, f"found {shown(text)}, expected ##FASTA before sequences")
        if not text.startswith("#"):
            yield number, text


def attributes_of(text: str) -> dict[str, str]:
    """By key; a value of several has its commas still, and escapes of those."""
    pairs = (item.partition("=") for item in text.split(";"))
    return {key.strip(): value.strip() for key, is_pair, value in pairs if is_pair}


def _parents_of(part: Part) -> list[str]:
    return [parent for parent in part.attributes.get("Parent", "").split(",") if parent]


def _name_of(escaped: str) -> str:
    """The name in an ID, without the kind that Ensembl and WormBase begin it with."""
    return _PREFIX.sub("", unquote(escaped))


def read_gtf(source: Source | Lines) -> GeneAnnotation:
    """Read the genes of a GTF file.

    A transcript is made of the CDS lines of one ``transcript_id``, and of its ``stop_codon`` lines, where
    those are beside the coding parts, as the format wants it, and not within them, as AUGUSTUS has them.
    Features without CDS are left out; a file of these alone is warned of.

    These are skipped by name: parts of genes (a phase other than 0 at the start, tags of Ensembl that say so,
    or no ``start_codon`` or ``stop_codon`` where others in the file have them), parts on two contigs or
    strands, parts that overlap, and phases that do not follow from the lengths of the parts.

    Parameters
    ----------
    source : path or file object
        Compressed by gzip or not; a file object may be binary or text, and is left open.

    Raises
    ------
    DataError
        As `read_gff3` does, and for a CDS without the names of transcript and gene.
    """
    lines = source if isinstance(source, Lines) else Lines(source)
    # parts by their kinds, and by the names of transcript and gene
    found: dict[str, dict[tuple[str, str], list[Part]]] = {kind: {} for kind in ("CDS", *_CODONS)}
    cut, scores, kinds = set[tuple[str, str]](), dict[str, float | None](), Counter[str]()
    for number, text in lines.filled():
        if text.startswith("#"):
            continue
        with lines.at(number):
            columns = columns_of(text)
            kind, last = columns[2], columns[8]
            attributes = {key: text or bare for key, text, bare in _ATTRIBUTE.findall(last)}
            part = part_of(number, columns, columns[0], attributes)
            kinds[kind] += 1
            if kind in _TRANSCRIPTS:
                scores[attributes.get("transcript_id", last)] = part.score  # AUGUSTUS has the name alone
            elif kind in _CODING or kind in _CODONS:
                name = attributes.get("transcript_id", ""), attributes.get("gene_id", "")
                if not all(name):
                    raise DataError(f'found {shown(last)}, expected transcript_id "..."; gene_id "..."')
                if kind != "start_codon":
                    part = _coding(part, columns[7] if kind in _CODING else ".")
                found[kind if kind in _CODONS else "CDS"].setdefault(name, []).append(part)
                if kind in _CODING and _CUT.search(last):
                    cut.add(name)
    groups = dict[_Key, list[Part]]()
    for name, parts in found["CDS"].items():
        lacks = any(found[kind] and name not in found[kind] for kind in _CODONS)
        key = _Key(*name, scores.get(name[0]), "not whole" if name in cut or lacks else "")
        groups[key] = _with_stops(parts, found["stop_codon"].get(name, []))
    return _annotation_of(lines, groups, kinds)


def _with_stops(parts: list[Part], stops: list[Part]) -> list[Part]:
    """Coding parts with the stop codon, if that is not within them."""
    # a stop codon beside the last part, or cut off by an intron, is coding, too
    beside = [s for s in stops if not any(p.start <= s.start and s.end <= p.end for p in parts)]
    joined: list[Part] = []
    for part in sorted([*parts, *beside], key=attrgetter("start", "end")):
        before = joined[-1] if joined else None
        if before is not None and before.end == part.start and (part in beside or before in beside):
            joined[-1] = before._replace(end=part.end, phase=part.phase if before in beside else before.phase)
        else:
            joined.append(part)
    return joined


def columns_of(text: str) -> list[str]:
    """The nine columns of a line; refuses another number."""
    columns = text.split("\t", _N_COLUMNS - 1)
    if len(columns) == _N_COLUMNS - 1:
        columns.append("")  # the last one was empty, and the ends of lines are cut
    if len(columns) != _N_COLUMNS:
        raise DataError(f"found {len(columns)} columns, expected {_N_COLUMNS} between tabs")
    return columns


def part_of(number: int, columns: list[str], contig: str, attributes: dict[str, str]) -> Part:
    """A line as a part, of which the phase is not looked at; refuses spans and scores that are none."""
    start, end, score = columns[3:6]
    if not (_NUMBER.fullmatch(start) and _NUMBER.fullmatch(end)):
        raise DataError(f"found the span {shown(start)} to {shown(end)}, expected two whole numbers from 1")
    if not 1 <= int(start) <= int(end):
        raise DataError(f"found the span {start} to {end}, expected a start from 1 to the end")
    try:
        value = None if score == "." else float(score)
    except ValueError:
        raise DataError(f"found the score {shown(score)}, expected a number or '.'") from None
    return Part(number, contig, int(start) - 1, int(end), columns[6], value, None, attributes)


def _coding(part: Part, phase: str) -> Part:
    """A coding part with its phase; refuses strands and phases that are none."""
    if part.strand not in ("+", "-"):
        raise DataError(f"found the strand {shown(part.strand)} of a CDS, expected '+' or '-'")
    # codon_start k means that k - 1 bases come before the first whole codon, which is what a phase is
    if phase and phase == part.attributes.get("codon_start"):
        return part._replace(phase=_CODON_STARTS.get(phase))
    if phase not in _PHASES:
        raise DataError(f"found the phase {shown(phase)} of a CDS, expected 0, 1, 2 or '.'")
    return part._replace(phase=_PHASES[phase])


def _annotation_of(
    lines: Lines,
    groups: Mapping[_Key, list[Part]],
    kinds: Counter[str],
    circular: frozenset[str] = frozenset(),
) -> GeneAnnotation:
    """The transcripts of parts that belong together; warns of a file that has features, but no gene."""
    if kinds and not groups:
        most = ", ".join(f"{n:,} {kind}" for kind, n in kinds.most_common(_MOST_TOLD))
        warn(f"{lines.name}: found no CDS among {kinds.total():,} features, so no gene: {most}")
    by_contig: dict[str, list[Transcript]] = defaultdict(list)
    skipped = []
    for key, parts in groups.items():
        parts.sort(key=attrgetter("start", "end"))
        for a, b in pairwise(parts):
            if a[1:5] == b[1:5]:  # contig, start, end, strand
                before, again = sorted((a.line, b.line))
                raise lines.refuse(again, f"found a part of a CDS again, first in {before}")
        first, is_one = parts[0], len({(part.contig, part.strand) for part in parts}) == 1
        scattered = "" if is_one else "parts on two contigs or strands"
        if any(part.attributes.get("exception") == "trans-splicing" for part in parts):
            scattered = "trans-splicing"
        overlaps = any(b.start < a.end for a, b in pairwise(parts))
        overlap = "parts overlap (a programmed frameshift?)" if overlaps else ""
        marks = (_marked(part.attributes) for part in parts)
        reason = next(filter(None, (key.problem, *marks, scattered, overlap)), "")
        if not reason:
            exons = tuple((part.start, part.end) for part in parts)
            score = first.score if key.score is None else key.score
            code = code_of(first.attributes.get("transl_table"))
            with lines.at(first.line):
                found = Transcript(first.contig, first.strand, exons, key.name, key.gene, score, code=code)
            reason = _wrong_phase(found, parts)
        if reason:
            place = None if scattered else (first.start, max(part.end for part in parts))
            skipped.append(Skipped(first.contig, key.name, reason, place))
        else:
            by_contig[first.contig].append(found)
    ordered = {contig: by_position(of) for contig, of in by_contig.items()}
    return GeneAnnotation(ordered, tuple(skipped), circular)


def _marked(attributes: Mapping[str, str]) -> str:
    """Why a feature says of itself that it is no whole gene, if it does."""
    found = (reason for key, reason in _MARKS.items() if attributes.get(key, "false").lower() not in _NOT_SO)
    return next(found, "")


def _wrong_phase(transcript: Transcript, parts: list[Part]) -> str:
    """How the phases of parts differ from those by their lengths, if they do."""
    # a whole gene begins with a codon; after that each phase is what its lengths leave, or is not given
    first = parts[0] if transcript.strand == "+" else parts[-1]
    if first.phase:
        return f"not whole: phase {first.phase} at its start"
    for part, phase in zip(parts, transcript.phases, strict=True):
        if part.phase not in (None, phase):
            return f"phase {part.phase}, {phase} by the lengths of the parts"
    return ""
