"""Reading gene annotations: GFF3, and GTF as written by AUGUSTUS, BRAKER and Ensembl."""

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
_MARKS = {  # attributes of features that are not complete genes
    "pseudo": "a pseudogene",
    "pseudogene": "a pseudogene",
    "partial": "incomplete",
    "start_range": "incomplete",
    "end_range": "incomplete",
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
    """The genes of an annotation file, without sequences.

    Attributes
    ----------
    transcripts : dict of str to tuple of Transcript
        Transcripts of each contig, sorted by start; contigs are in the order of the file.
    skipped : tuple of Skipped
        Transcripts of the file that could not be used, with the reasons.
    circular : frozenset of str
        Names of the circular contigs.
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
    """Read the genes of a GFF3 or GTF file. The format is detected from the first feature.

    Parameters
    ----------
    source : path or file object
        Compressed or not; a file object may be binary or text, and is left open.

    Raises
    ------
    DataError
        As for `read_gff3` and `read_gtf`.
    """
    lines = source if isinstance(source, Lines) else Lines(source)
    # the first feature tells: programs that write GTF may name no format in the first lines
    every = (text for text in lines.head(sys.maxsize) if text and not text.startswith("#"))
    with lines.told_by_look(("GFF3", "GTF")):
        columns = next(every, "").split("\t", 8)
        return read_gtf(lines) if len(columns) > 8 and _GTF.match(columns[8]) else read_gff3(lines)


def read_gff3(source: Source | Lines) -> GeneAnnotation:
    """Read the genes of a GFF3 file, up to ``##FASTA``.

    The CDS lines of one parent form a transcript if the parent is an ``mRNA`` or ``transcript``, or has a
    parent itself (the gene). If the parent is a gene, or if no parent is in the file, the CDS lines of one ID
    form a transcript. A CDS line with neither parent nor ID is a transcript of its own.
    Features without CDS are ignored; there is a warning if the file has nothing else. The prefixes ``gene:``,
    ``transcript:`` and ``CDS:`` of Ensembl and WormBase are removed from names. Tabs within the last column
    and attributes without ``=`` are tolerated. A ``codon_start`` that is repeated as phase, as written by
    bp_genbank2gff3, is read as the phase plus one.

    These genes are skipped and listed in `GeneAnnotation.skipped`: pseudogenes (``pseudo=true``); incomplete
    genes (``partial=true``, ``start_range``, ``end_range``, a phase other than 0 at the start, no
    ``start_codon`` or ``stop_codon`` although others in the file have them, or a missing parent although
    others are there); trans-splicing (``exception=trans-splicing``, or parts on two contigs or strands);
    overlapping parts (programmed frameshifts); and phases that contradict the lengths of the parts.

    Parameters
    ----------
    source : path or file object
        Compressed or not; a file object may be binary or text, and is left open.

    Raises
    ------
    DataError
        A line is malformed: less than nine columns, a start beyond the end, an invalid strand, score or
        phase, a part that occurs twice, or attributes of GTF. The message names the file and the line.
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
                        f"the attributes {shown(columns[8])} are GTF; GFF3 has key=value;key=value"
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
                problem = above.problem or of_gene.problem or "incomplete" * lacks
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
            raise lines.refuse(number, f"{shown(text)} is a sequence: ##FASTA must come before sequences")
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

    The CDS lines of one ``transcript_id`` form a transcript. In standard GTF the stop codon lies outside the
    CDS, and its ``stop_codon`` lines are added. In GTF from AUGUSTUS it lies inside the CDS, and
    nothing is added. Features without CDS are ignored; there is a warning if the file has nothing else.

    These genes are skipped and listed in `GeneAnnotation.skipped`: incomplete genes (a phase other than 0 at
    the start, an Ensembl tag such as ``cds_start_NF``, or no ``start_codon`` or ``stop_codon``
    although others in the file have them); parts on two contigs or strands; overlapping parts; and phases
    that contradict the lengths of the parts.

    Parameters
    ----------
    source : path or file object
        Compressed or not; a file object may be binary or text, and is left open.

    Raises
    ------
    DataError
        As for `read_gff3`. Also if a CDS has no transcript or gene name.
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
                    raise DataError(f'{shown(last)} lacks transcript_id "..." or gene_id "..."')
                if kind != "start_codon":
                    part = _coding(part, columns[7] if kind in _CODING else ".")
                found[kind if kind in _CODONS else "CDS"].setdefault(name, []).append(part)
                if kind in _CODING and _CUT.search(last):
                    cut.add(name)
    groups = dict[_Key, list[Part]]()
    for name, parts in found["CDS"].items():
        lacks = any(found[kind] and name not in found[kind] for kind in _CODONS)
        key = _Key(*name, scores.get(name[0]), "incomplete" if name in cut or lacks else "")
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
        raise DataError(f"a line must have {_N_COLUMNS} columns between tabs, not {len(columns)}")
    return columns


def part_of(number: int, columns: list[str], contig: str, attributes: dict[str, str]) -> Part:
    """A line as a part, of which the phase is not looked at; refuses spans and scores that are none."""
    start, end, score = columns[3:6]
    if not (_NUMBER.fullmatch(start) and _NUMBER.fullmatch(end)):
        raise DataError(f"start and end must be whole numbers from 1, not {shown(start)} and {shown(end)}")
    if not 1 <= int(start) <= int(end):
        raise DataError(f"the start must be at least 1 and at most the end; here they are {start} and {end}")
    try:
        value = None if score == "." else float(score)
    except ValueError:
        raise DataError(f"the score must be a number or '.', not {shown(score)}") from None
    return Part(number, contig, int(start) - 1, int(end), columns[6], value, None, attributes)


def _coding(part: Part, phase: str) -> Part:
    """A coding part with its phase; refuses strands and phases that are none."""
    if part.strand not in ("+", "-"):
        raise DataError(f"the strand of a CDS must be '+' or '-', not {shown(part.strand)}")
    # codon_start k means that k - 1 bases come before the first whole codon, which is what a phase is
    if phase and phase == part.attributes.get("codon_start"):
        return part._replace(phase=_CODON_STARTS.get(phase))
    if phase not in _PHASES:
        raise DataError(f"the phase of a CDS must be 0, 1, 2 or '.', not {shown(phase)}")
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
        warn(f"{lines.name}: there are no genes, since none of {kinds.total():,} features is a CDS: {most}")
    by_contig: dict[str, list[Transcript]] = defaultdict(list)
    skipped = []
    for key, parts in groups.items():
        parts.sort(key=attrgetter("start", "end"))
        for a, b in pairwise(parts):
            if a[1:5] == b[1:5]:  # contig, start, end, strand
                before, again = sorted((a.line, b.line))
                raise lines.refuse(again, f"the part of a CDS was already given in line {before}")
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
    """Why a feature is not a complete gene by its attributes; "" if it is."""
    found = (reason for key, reason in _MARKS.items() if attributes.get(key, "false").lower() not in _NOT_SO)
    return next(found, "")


def _wrong_phase(transcript: Transcript, parts: list[Part]) -> str:
    """How the phases of the parts contradict their lengths; "" if they do not."""
    # a whole gene begins with a codon; after that each phase is what its lengths leave, or is not given
    first = parts[0] if transcript.strand == "+" else parts[-1]
    if first.phase:
        return f"incomplete: phase {first.phase} at its start"
    for part, phase in zip(parts, transcript.phases, strict=True):
        if part.phase not in (None, phase):
            return f"phase {part.phase}, but {phase} by the lengths of the parts"
    return ""
