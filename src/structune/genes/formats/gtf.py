"""Genes in GTF files, such as those of AUGUSTUS, BRAKER and Ensembl."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

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
    tell_without_coding,
)

# begins where words do, and does not go back: the time is in proportion to the text, whatever that is
_ATTRIBUTE = re.compile(r'(?<![^\s;"])([^\s;]++) ++(?:"([^"]*)"|([^\s;"]+))')
_CUT = re.compile("cds_(start|end)_NF")  # Ensembl's tags of what goes on beyond what is known
_Name = tuple[str, str]  # of a transcript, and of its gene


@dataclass
class _Features:
    """The lines of each transcript, by kind, and the scores of transcripts."""

    parts: dict[_Name, list[Part]] = field(default_factory=lambda: defaultdict(list))
    cut: set[_Name] = field(default_factory=set)
    starts: set[_Name] = field(default_factory=set)
    stops: dict[_Name, list[Part]] = field(default_factory=lambda: defaultdict(list))
    scores: dict[str, float | None] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)


def read_gtf(source: Source) -> GeneAnnotation:
    """Read the genes of a GTF file, compressed by gzip or not.

    A transcript is made of the CDS lines of one ``transcript_id``, and of its ``stop_codon`` lines, where
    those are beside the coding parts, as the format wants it, and not within them, as AUGUSTUS has them.
    Features without CDS are no genes, and left out; a file of these alone is warned of.

    These are skipped by name: parts of genes (a phase other than 0 at the start, tags of Ensembl that say so,
    or no ``start_codon`` or ``stop_codon`` where others in the file have them), parts on two contigs or
    strands, parts that overlap, and phases that do not follow from the lengths of the parts.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it is left open.

    Returns
    -------
    GeneAnnotation

    Raises
    ------
    DataError
        Names the file and line that is malformed: less than nine columns, a start beyond its end, a strand,
        score or phase that is none, a part that is there twice, a CDS without the names of transcript and
        gene.
    """
    return parse_gtf(Lines(source))


def parse_gtf(lines: Lines) -> GeneAnnotation:
    found = _Features()
    for number, text in lines.filled():
        if not text.startswith("#"):
            with lines.at(number):
                _add_line(found, number, text)
    if not found.parts:
        tell_without_coding(lines.name, found.kinds)
    groups = {
        _key(found, name): _with_stops(parts, found.stops.get(name, []))
        for name, parts in found.parts.items()
    }
    return annotation_of(lines, groups)


def _add_line(found: _Features, number: int, text: str) -> None:
    columns = columns_of(text)
    attributes = {key: text or bare for key, text, bare in _ATTRIBUTE.findall(columns[8])}
    part, kind = part_of(number, columns, columns[0], attributes), columns[2]
    found.kinds[kind] += 1
    if kind in ("transcript", "mRNA"):
        found.scores[attributes.get("transcript_id", columns[8])] = part.score  # AUGUSTUS has the name alone
    elif is_coding(kind) or kind in ("start_codon", "stop_codon"):
        name = attributes.get("transcript_id", ""), attributes.get("gene_id", "")
        if not all(name):
            raise DataError(f'found {shown(columns[8])}, expected transcript_id "..."; gene_id "..."')
        if is_coding(kind):
            found.parts[name].append(coding(part, columns[7]))
            if _CUT.search(columns[8]):
                found.cut.add(name)
        elif kind == "stop_codon":
            found.stops[name].append(coding(part, "."))
        else:
            found.starts.add(name)


def _key(found: _Features, name: _Name) -> Key:
    lacks = any(of and name not in of for of in (found.starts, found.stops))
    return Key(*name, found.scores.get(name[0]), "not whole" if name in found.cut or lacks else "")


def _with_stops(parts: list[Part], stops: list[Part]) -> list[Part]:
    """Coding parts with the stop codon, if that is not within them."""
    beside = [s for s in stops if not any(p.start <= s.start and s.end <= p.end for p in parts)]
    joined: list[Part] = []
    for part in sorted([*parts, *beside], key=lambda part: (part.start, part.end)):
        before = joined[-1] if joined else None
        if before is not None and before.end == part.start and (part in beside or before in beside):
            joined[-1] = before._replace(end=part.end, phase=part.phase if before in beside else before.phase)
        else:
            joined.append(part)
    return joined
