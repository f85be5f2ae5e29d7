"""What else is known of genes: junctions of RNA reads, alignments of proteins."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote

from structune.errors import DataError
from structune.files.text import Lines, Source, shown
from structune.genes.formats.gff3 import attributes_of, features_of
from structune.genes.formats.parts import columns_of, part_of

HINTS = ("intron", "CDS", "start", "stop", "donor", "acceptor")
_KINDS = {  # by the words of GFF files, in lower case: those of AUGUSTUS, ProtHint and aligners of proteins
    "intron": "intron",
    "cds": "CDS",
    "cdspart": "CDS",
    "start": "start",
    "start_codon": "start",
    "stop": "stop",
    "stop_codon": "stop",
    "dss": "donor",
    "ass": "acceptor",
}
_MESSENGERS = ("mrna", "lnc_rna", "lncrna", "lincrna", "antisense_rna")  # ends of kinds that may be of genes
_TRANSCRIPT = re.compile(r'(?:^|[; ])transcript_id "([^"]+)"')
_FLAGS = ("0", "1")
_STRANDS = {"0": ".", "1": "+", "2": "-"}  # of STAR
_UNIQUE, _SEVERAL = 6, 7  # its columns of reads
_SHORTEST_INTRON = 20  # between parts of an alignment; what is shorter are gaps or frameshifts


class Hint(NamedTuple):
    """What else is known of a gene.

    Attributes
    ----------
    contig : str
    kind : {"intron", "CDS", "start", "stop", "donor", "acceptor"}
        A CDS is a part of one, whose ends need not be those of an exon. Donors and acceptors are where an
        intron begins and ends.
    start, end : int
        0-based, half-open.
    strand : {"+", "-", "."}
    support : float
        Such as the number of reads.
    """

    contig: str
    kind: str
    start: int
    end: int
    strand: str = "."
    support: float = 1.0


def read_hints(source: Source) -> dict[str, list[Hint]]:
    """Read hints from GFF, or from junctions of STAR (``SJ.out.tab``), compressed by gzip or not.

    Of GFF the features ``intron``, ``CDS``, ``CDSpart``, ``start``, ``start_codon``, ``stop``,
    ``stop_codon``, ``dss`` and ``ass`` count, as AUGUSTUS, ProtHint (``prothint_augustus.gff``) or miniprot
    have them, and others do not. ``mult`` is the support, 1 by default. Between the CDS of one ``Parent``, or
    ``transcript_id``, there are introns. Of STAR the support is the number of reads.

    Parameters
    ----------
    source : path or file object

    Returns
    -------
    dict of str to list of Hint
        By contig.

    Raises
    ------
    DataError
        Names the file and line that is malformed, and the file that has features, but no hint.
    """
    lines = Lines(source)
    found: dict[str, list[Hint]] = defaultdict(list)
    aligned: dict[tuple[str, str, str], list[Hint]] = defaultdict(list)  # by contig, strand and parent
    number = 0
    for number, text in features_of(lines):
        with lines.at(number):
            hint, parent = _of_line(number, text)
        if hint is not None:
            found[hint.contig].append(hint)
            for name in parent.split(",") if hint.kind == "CDS" and parent else []:
                aligned[hint.contig, hint.strand, name].append(hint)
    for intron in dict.fromkeys(intron for parts in aligned.values() for intron in _introns(parts)):
        found[intron.contig].append(intron)
    if number and not found:
        raise DataError(f"{lines.name}: found no hint, expected features such as {', '.join(_KINDS)}")
    return dict(found)


def read_regions(source: Source) -> dict[str, list[tuple[int, int]]]:
    """Read from GFF what genes are to keep away from: RNA but messengers, and repeats.

    Features are those whose kind ends in ``RNA``, as tRNAscan-SE and barrnap write them, but ``mRNA`` and
    long ones that are not coding, and ``repeat_region``.

    Parameters
    ----------
    source : path or file object
        Compressed by gzip or not.

    Returns
    -------
    dict of str to list of (int, int)
        0-based, half-open, by contig.

    Raises
    ------
    DataError
        Names the file and line that is malformed, and the file that has features, but none of these.
    """
    lines = Lines(source)
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    number = 0
    for number, text in features_of(lines):
        with lines.at(number):
            columns = columns_of(text)
            part = part_of(number, columns, unquote(columns[0]), {})
        kind = columns[2].lower()
        if kind == "repeat_region" or (kind.endswith("rna") and not kind.endswith(_MESSENGERS)):
            found[part.contig].append((part.start, part.end))
    if number and not found:
        raise DataError(f"{lines.name}: found nothing to avoid, expected features such as tRNA or rRNA")
    return dict(found)


def _of_line(number: int, text: str) -> tuple[Hint | None, str]:
    """The hint of a line, if it is one, and its parent."""
    columns = columns_of(text)
    if columns[2].isdigit() and columns[3] in _STRANDS and columns[4].isdigit() and columns[5] in _FLAGS:
        return _of_star(number, columns), ""
    attributes = attributes_of(columns[8])
    named = _TRANSCRIPT.search(columns[8])  # of GTF
    parent = named[1] if named else attributes.get("Parent", "")
    part = part_of(number, columns, unquote(columns[0]), attributes)
    kind = _KINDS.get(columns[2].lower())
    if kind is None:
        return None, ""
    if part.strand not in ("+", "-", "."):
        raise DataError(f"found the strand {shown(part.strand)}, expected '+', '-' or '.'")
    support = _number(attributes.get("mult", "1"))
    return Hint(part.contig, kind, part.start, part.end, part.strand, support), parent


def _of_star(number: int, cells: list[str]) -> Hint:
    part = part_of(number, [*cells[:1], "", "", *cells[1:3], ".", "."], cells[0], {})
    reads = _number(cells[_UNIQUE]) + _number(cells[_SEVERAL])
    return Hint(part.contig, "intron", part.start, part.end, _STRANDS[cells[3]], reads)


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise DataError(f"found the support {shown(text)}, expected a number >= 0")
    return found


def _introns(parts: list[Hint]) -> list[Hint]:
    """What lies between the parts of an alignment."""
    ordered = sorted(parts, key=lambda part: part.start)
    return [
        Hint(a.contig, "intron", a.end, b.start, a.strand, min(a.support, b.support))
        for a, b in pairwise(ordered)
        if b.start - a.end >= _SHORTEST_INTRON
    ]
