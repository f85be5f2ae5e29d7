"""Evidence for genes: splice junctions of RNA reads, alignments of proteins, and regions to avoid."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote

from structune.errors import DataError, warn
from structune.files.text import Lines, Source, shown
from structune.genes.formats.gff import attributes_of, columns_of, features_of, part_of

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
_MESSENGERS = re.compile(r"(?<!t)mrna\Z|lnc_?rna\Z|lincrna\Z|antisense_rna\Z")  # kinds that may be of genes
_REPEAT = re.compile(
    "repeat|transpos|satellite|helitron|mobile_genetic_element|low_complexity|crispr|[ls]ine_element"
)
_REPEAT_FINDER = re.compile(r"repeat|\A(trf|s?dust|windowmasker|red|edta|tantan)\Z")  # the second column
_TRANSCRIPT = re.compile(r'(?:^|[; ])transcript_id "([^"]+)"')
_FLAGS = ("0", "1")
_STRANDS = {"0": ".", "1": "+", "2": "-"}  # of STAR
_UNIQUE, _SEVERAL = 6, 7  # its columns of reads
_OF_HINTS = ("AUGUSTUS hints", "GFF3", "GTF", "GFF2", "SJ.out.tab of STAR")
_OF_REGIONS = ("GFF3", "GTF", "GFF2", "BED", "AUGUSTUS hints")
_EMBL = {"EMBL": "convert it to GFF3 first"}
_CURES = _EMBL | {  # of other files with regions
    "SJ.out.tab of STAR": "junctions are read by --hints (read_hints)",
    "a table of RepeatMasker at UCSC": "convert it to BED with `cut -f 6-8`",
    "a table of RepeatMasker (.out)": "run RepeatMasker -gff, which writes GFF",
}
_EMPTY = "BED features of length 0"
_MOST_TOLD = 6  # kinds of features that are not used
BEYOND = "beyond the end of their sequence"
CUT = "reach beyond the end of their sequence, and are used only within it"
_SETTINGS = re.compile(r"(track|browser)(\s|\Z)")  # lines of BED files
_SHORTEST_INTRON = 20  # between parts of an alignment; what is shorter are gaps or frameshifts


class UnusedEvidenceWarning(UserWarning):
    """Warns that some hints, or regions to avoid, have no effect."""


class Hint(NamedTuple):
    """Evidence for a part of a gene.

    Attributes
    ----------
    contig : str
        Name of the sequence.
    kind : {"intron", "CDS", "start", "stop", "donor", "acceptor"}
        Type of the part. Introns begin at donors and end at acceptors. A CDS need not cover a whole exon.
    start, end : int
        Start and end of the part, 0-based and half-open.
    strand : {"+", "-", "."}
        Strand of the gene; "." stands for both.
    support : float
        Strength of the evidence, such as the number of reads.
    """

    contig: str
    kind: str
    start: int
    end: int
    strand: str = "."
    support: float = 1.0


def read_hints(source: Source) -> dict[str, list[Hint]]:
    """Read hints, by contig, from GFF or from splice junctions of STAR (``SJ.out.tab``).

    Used features of GFF are ``intron``, ``CDS``, ``CDSpart``, ``start``, ``start_codon``, ``stop``,
    ``stop_codon``, ``dss`` and ``ass``, as written by AUGUSTUS, ProtHint (``prothint_augustus.gff``) and
    miniprot. Others, such as ``exonpart``, are ignored. The attribute ``mult`` gives the support, 1 by
    default. Gaps of at least 20 bases between the CDS of one ``Parent`` or ``transcript_id`` become intron
    hints. For STAR the support is the number of reads.

    Parameters
    ----------
    source : path or file object
        Compressed or not.

    Raises
    ------
    DataError
        A line is malformed, or the file has features, but no hints. The message names the file and the line.

    Warns
    -----
    UnusedEvidenceWarning
        Some features are of other types, or there are no features.
    """
    lines = Lines(source)
    found: dict[str, list[Hint]] = defaultdict(list)
    aligned: dict[tuple[str, str, str], list[Hint]] = defaultdict(list)  # by contig, strand and parent
    used, unused = Counter[str](), Counter[str]()
    with lines.told_by_look(_OF_HINTS, _EMBL):
        for number, text in features_of(lines):
            with lines.at(number):
                hint, parent, kind = _of_line(number, text)
            if hint is None:
                unused[kind] += 1
                continue
            used[hint.kind] += 1
            found[hint.contig].append(hint)
            for name in parent.split(",") if hint.kind == "CDS" and parent else []:
                aligned[hint.contig, hint.strand, name].append(hint)
        introns = dict[Hint, None]()  # alignments may share some
        for parts in aligned.values():
            for a, b in pairwise(sorted(parts, key=lambda part: part.start)):
                if b.start - a.end >= _SHORTEST_INTRON:
                    support = min(a.support, b.support)
                    introns[Hint(a.contig, "intron", a.end, b.start, a.strand, support)] = None
        for intron in introns:
            found[intron.contig].append(intron)
        rule = f"Hints must have one of the types {', '.join(_KINDS)}."
        _tell_unused(lines.name, "hint", used, unused, rule)
    return dict(found)


def read_regions(source: Source) -> dict[str, list[tuple[int, int]]]:
    """Read regions where no genes are predicted, by contig: RNA and repeats in GFF, all regions in BED.

    A feature of GFF is used if its type ends in ``RNA``, as written by tRNAscan-SE and barrnap (but not
    ``mRNA`` and long non-coding RNA); if its type names repeats or transposons, such as ``repeat_region`` and
    ``dispersed_repeat``; or if its source is a repeat finder, such as RepeatMasker.

    Parameters
    ----------
    source : path or file object
        Compressed or not.

    Returns
    -------
    dict of str to list of (int, int)
        Start and end of each region, 0-based and half-open, by contig.

    Raises
    ------
    DataError
        A line is malformed, or the file has features, but none of these. The message names file and line.

    Warns
    -----
    UnusedEvidenceWarning
        Some features are of other types, or there are no features.
    """
    lines = Lines(source)
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    used, unused = Counter[str](), Counter[str]()
    with lines.told_by_look(_OF_REGIONS, _CURES):
        for number, text in features_of(lines):
            columns = text.split("\t") if "\t" in text else text.split()
            is_bed = len(columns) > 2 and columns[1].isdigit() and columns[2].isdigit()
            is_bed &= len(columns) < 6 or columns[5] in ("+", "-", ".")
            if not is_bed and _SETTINGS.match(text):
                continue
            if is_bed and columns[1] == columns[2]:
                unused[_EMPTY] += 1  # such as insertions
                continue
            with lines.at(number):
                if is_bed:
                    columns = [columns[0], "", "BED", str(int(columns[1]) + 1), columns[2], ".", "."]
                else:
                    columns = columns_of(text)
                part = part_of(number, columns, unquote(columns[0]), {})
            kind = columns[2].lower()
            is_rna = kind.endswith("rna") and not _MESSENGERS.search(kind)
            is_repeat = _REPEAT.search(kind) or _REPEAT_FINDER.search(columns[1].lower())
            is_used = is_bed or is_rna or bool(is_repeat)
            (used if is_used else unused)[_told(columns)] += 1
            if is_used:
                found[part.contig].append((part.start, part.end))
        rule = "Regions to avoid are RNA (such as tRNA, rRNA) and repeats, or all regions of a BED file."
        _tell_unused(lines.name, "region to avoid", used, unused, rule)
    return dict(found)


def _told(columns: list[str]) -> str:
    return f"{columns[2]} ({columns[1]})" if columns[1] else columns[2]


def _tell_unused(name: str, what: str, used: Counter[str], unused: Counter[str], rule: str) -> None:
    """Warn of features that are not used; refuse a file without used features."""
    n = unused.total()
    most = [f"{count:,} {kind}" for kind, count in unused.most_common(_MOST_TOLD)]
    more = [f"{len(unused) - _MOST_TOLD} other types"] if len(unused) > _MOST_TOLD else []
    if not used and unused:
        raise DataError(f"{name}: none of {n:,} features is a {what}: {', '.join(most + more)}. {rule}")
    if not used:
        warn(f"{name}: the file has no features and is ignored: no {what} was found", UnusedEvidenceWarning)
    elif unused:
        warn(
            f"{name}: {n:,} of {n + used.total():,} lines are not used: {', '.join(most + more)}. "
            f"Used: {', '.join(used)}.",
            UnusedEvidenceWarning,
        )


def _of_line(number: int, text: str) -> tuple[Hint | None, str, str]:
    """The hint of a line, if it is one, its parent, and what the line is."""
    columns = columns_of(text)
    if columns[2].isdigit() and columns[3] in _STRANDS and columns[4].isdigit() and columns[5] in _FLAGS:
        # columns of STAR: contig, first and last base of the intron, strand, motif, annotated, unique reads
        # and those of several places, overhang
        part = part_of(number, [*columns[:1], "", "", *columns[1:3], ".", "."], columns[0], {})
        reads = _read_support(columns[_UNIQUE]) + _read_support(columns[_SEVERAL])
        return Hint(part.contig, "intron", part.start, part.end, _STRANDS[columns[3]], reads), "", ""
    attributes = attributes_of(columns[8])
    named = _TRANSCRIPT.search(columns[8])  # of GTF
    parent = named[1] if named else attributes.get("Parent", "")
    part = part_of(number, columns, unquote(columns[0]), attributes)
    kind = _KINDS.get(columns[2].lower())
    if kind is None:
        return None, "", _told(columns)
    if part.strand not in ("+", "-", "."):
        raise DataError(f"the strand must be '+', '-' or '.', not {shown(part.strand)}")
    support = _read_support(attributes.get("mult", "1"))
    return Hint(part.contig, kind, part.start, part.end, part.strand, support), parent, kind


def _read_support(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise DataError(f"the support must be a number >= 0, not {shown(text)}")
    return found


def place_of(start: int, end: int, n: int) -> str:
    """The problem of a span on a sequence of n bases; "" if it lies within."""
    return BEYOND if start >= n else CUT if end > n else ""


def misplaced_text(found: Counter[str], n: int) -> str:
    """The text of a warning: how many of n hints or regions have no effect, by reason; "" for none."""
    without = Counter({reason: count for reason, count in found.items() if reason != CUT and count})
    each = ", ".join(f"{count:,} {reason}" for reason, count in without.most_common())
    told = [f"{without.total():,} of {n:,} have no effect: {each}"] if without else []
    told += [f"{found[CUT]:,} of {n:,} {CUT}"] if found[CUT] else []
    return ". ".join([*told, "Do they fit this assembly, and do positions count from 1?"] if told else [])


def tell_misplaced(what: str, found: Counter[str], n: int, unused: dict[str, Counter[str]] | None) -> None:
    """Add the counts to `unused`, or warn of them if it is None."""
    if unused is not None:
        unused.setdefault(what, Counter()).update(found)
    elif text := misplaced_text(found, n):
        warn(f"{what}: {text}", UnusedEvidenceWarning)
