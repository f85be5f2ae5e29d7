"""Genes in GFF3 files."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from structune.errors import DataError
from structune.files.text import Lines, Source, shown
from structune.genes.formats.parts import (
    GeneAnnotation,
    Key,
    Part,
    annotation_of,
    coding,
    columns_of,
    is_coding,
    part_of,
    pseudo,
    tell_without_coding,
)

_FASTA = "##FASTA"
_TRANSCRIPTS = ("mRNA", "transcript")
_GTF = re.compile(r'(gene|transcript)_id "')
_CODONS = ("start_codon", "stop_codon")
_PREFIX = re.compile(r"\A(gene|transcript|cds):(?!\Z)", re.IGNORECASE)


class _Parent(NamedTuple):
    """What a feature that others may belong to says of itself; an mRNA without a gene is its own."""

    gene: str
    score: float | None
    problem: str  # why it is no whole gene, if it says so


@dataclass
class _Features:
    """What the lines of a file hold: the parts of transcripts, and the parents of other features."""

    parts: list[Part] = field(default_factory=list)
    parents: dict[str, _Parent] = field(default_factory=dict)
    proteins: set[str] = field(default_factory=set)
    codons: dict[str, set[str]] = field(default_factory=lambda: {kind: set() for kind in _CODONS})
    circular: set[str] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)


def read_gff3(source: Source) -> GeneAnnotation:
    """Read the genes of a GFF3 file, compressed by gzip or not.

    A transcript is made of the CDS lines of one parent that has a parent itself, its gene, or is an ``mRNA``
    or ``transcript`` without one. CDS lines whose parent is a gene are one transcript where they share their
    ID; so are those of files in which no CDS has its parent in the file. CDS lines of neither parent nor ID
    are one each. Features without CDS are no genes, and left out; a file of these alone is warned of. Names
    lose the ``gene:``, ``transcript:`` or ``CDS:`` that Ensembl and WormBase begin IDs with. A tab within the
    last column, and attributes without ``=``, are let pass; a ``codon_start`` that is also in the column of
    the phase, as bp_genbank2gff3 writes
    it, is the phase plus one.

    These are skipped by name: pseudogenes (``pseudo=true``), parts of genes (``partial=true``,
    ``start_range``, ``end_range``, a phase other than 0 at the start, no ``start_codon`` or ``stop_codon``
    where others in the file have them, or a parent that is not in the file while others are), trans-splicing
    (``exception=trans-splicing``, or parts on two contigs or strands), parts that overlap (programmed
    frameshifts), and phases that do not follow from the lengths of the parts.

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
    for number, text in features_of(lines):
        with lines.at(number):
            _add_line(found, number, text)
    if not found.parts:
        tell_without_coding(lines.name, found.kinds)
    return annotation_of(lines, _grouped(found), frozenset(found.circular))


def features_of(lines: Lines) -> Iterator[tuple[int, str]]:
    """Numbers and texts of the lines of features, which end before sequences."""
    for number, text in lines.filled():
        if text.startswith(_FASTA):
            return
        if text.startswith(">"):
            raise lines.refuse(number, f"found {shown(text)}, expected {_FASTA} before sequences")
        if not text.startswith("#"):
            yield number, text


def _add_line(found: _Features, number: int, text: str) -> None:
    columns = columns_of(text)
    part = part_of(number, columns, unquote(columns[0]), attributes := attributes_of(columns[8]))
    found.kinds[columns[2]] += 1
    if is_coding(columns[2]):
        if _GTF.match(columns[8]):  # each part would be a gene
            raise DataError(f"found {shown(columns[8])}, which is GTF, expected GFF3: key=value;key=value")
        found.parts.append(coding(part, columns[7]))
    elif columns[2] in _CODONS:
        found.codons[columns[2]].update(_parents(part))
    elif name := attributes.get("ID"):
        gene = attributes.get("Parent") or (name if columns[2] in _TRANSCRIPTS else "")
        found.parents[name] = _Parent(gene, part.score, pseudo(attributes))
        if columns[2] in ("protein", "polypeptide"):
            found.proteins.add(name)
    if attributes.get("Is_circular", "").lower() == "true":
        found.circular.add(part.contig)


def attributes_of(text: str) -> dict[str, str]:
    """By key; a value of several has its commas still, and escapes of those."""
    pairs = (item.partition("=") for item in text.split(";"))
    return {key.strip(): value.strip() for key, is_pair, value in pairs if is_pair}


def _grouped(found: _Features) -> dict[Key, list[Part]]:
    """The parts of each transcript."""
    groups: dict[Key, list[Part]] = defaultdict(list)
    coding_parents = {parent for part in found.parts for parent in _parents(part)}
    for of in found.codons.values():
        of &= coding_parents  # others have them at genes, or at coding parts
    cds_only = not any(parent in found.parents for part in found.parts for parent in _parents(part))
    for part in found.parts:
        for key in _keys(part, found, cds_only):
            groups[key].append(part)
    return groups


def _keys(part: Part, found: _Features, cds_only: bool) -> Iterator[Key]:
    own = _name(part.attributes.get("ID", ""))
    parents = [parent for parent in _parents(part) if parent not in found.proteins]
    for parent in parents:
        above = found.parents.get(parent)
        if above is not None and above.gene:
            lacks = any(of and parent not in of for of in found.codons.values())
            of_gene = found.parents.get(above.gene)
            problem = above.problem or (of_gene.problem if of_gene else "") or ("not whole" if lacks else "")
            yield Key(_name(parent), _name(above.gene), above.score, problem)
        elif above is not None or cds_only:
            yield Key(own or _name(parent), _name(parent), problem=above.problem if above else "")
        else:
            yield Key(_name(parent), _name(parent), problem="its parent is not in the file")
    if not parents:
        name = own or f"{part.contig}:{part.start + 1}-{part.end}({part.strand})"
        yield Key(name, name)


def _parents(part: Part) -> list[str]:
    """As they are escaped in the file."""
    return [parent for parent in part.attributes.get("Parent", "").split(",") if parent]


def _name(escaped: str) -> str:
    return _PREFIX.sub("", unquote(escaped))
