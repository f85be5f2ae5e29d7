"""What else is known of genes: junctions of RNA reads, alignments of proteins."""

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
    "a table of RepeatMasker at UCSC": "`cut -f 6-8` makes BED of it",
    "a table of RepeatMasker (.out)": "RepeatMasker -gff writes GFF, which is read",
}
_EMPTY = "BED features of length 0"
_MOST_TOLD = 6  # kinds of features that are not used
BEYOND = "beyond the end of their sequence"
CUT = "reach beyond the end of their sequence, and count within it"
_SETTINGS = re.compile(r"(track|browser)(\s|\Z)")  # lines of BED files
_SHORTEST_INTRON = 20  # between parts of an alignment; what is shorter are gaps or frameshifts


class UnusedEvidenceWarning(UserWarning):
    """Some hints, or regions to avoid, have no effect."""


class Hint(NamedTuple):
    """What else is known of a gene.

    Attributes
    ----------
    contig : str
    kind : {"intron", "CDS", "start", "stop", "donor", "acceptor"}
        The ends of a CDS need not be those of an exon; at donors introns begin, at acceptors they end.
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
    """Read hints from GFF, or from junctions of STAR (``SJ.out.tab``), by contig.

    Of GFF the features ``intron``, ``CDS``, ``CDSpart``, ``start``, ``start_codon``, ``stop``,
    ``stop_codon``, ``dss`` and ``ass`` count, as AUGUSTUS, ProtHint (``prothint_augustus.gff``) or miniprot
    have them, and no others, such as ``exonpart``. ``mult`` is the support, 1 by default. Between the CDS of
    one ``Parent``, or ``transcript_id``, are introns. The support of STAR is the number of reads.

    Parameters
    ----------
    source : path or file object
        Compressed by gzip or not.

    Raises
    ------
    DataError
        Names the file and line that is malformed, and the file that has features, but no hint.

    Warns
    -----
    UnusedEvidenceWarning
        Some features are of other types, or there are none.
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
        rule = f"Hints are features of the types {', '.join(_KINDS)}."
        _tell_unused(lines.name, "hint", used, unused, rule)
    return dict(found)


def read_regions(source: Source) -> dict[str, list[tuple[int, int]]]:
    """Read what genes are to keep away from, by contig: of GFF RNA and repeats; of BED everything.

    Features of GFF are used if their type ends in ``RNA``, as tRNAscan-SE and barrnap write them, but not
    ``mRNA`` and long ones that are not coding; if it names repeats or transposons, such as ``repeat_region``
    and ``dispersed_repeat``; or if their source is a finder of repeats, such as RepeatMasker.

    Parameters
    ----------
    source : path or file object
        Compressed by gzip or not.

    Returns
    -------
    dict of str to list of (int, int)
        0-based, half-open.

    Raises
    ------
    DataError
        Names the file and line that is malformed, and the file that has features, but none of these.

    Warns
    -----
    UnusedEvidenceWarning
        Some features are of other types, or there are none.
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
        rule = "Regions to avoid are RNA (such as tRNA, rRNA) and repeats, and all that BED files have."
        _tell_unused(lines.name, "region to avoid", used, unused, rule)
    return dict(found)


def _told(columns: list[str]) -> str:
    return f"{columns[2]} ({columns[1]})" if columns[1] else columns[2]


def _tell_unused(name: str, what: str, used: Counter[str], unused: Counter[str], rule: str) -> None:
    """Warn of features that count for nothing; refuse a file without any other."""
    n = unused.total()
    most = [f"{count:,} {kind}" for kind, count in unused.most_common(_MOST_TOLD)]
    more = [f"{len(unused) - _MOST_TOLD} other types"] if len(unused) > _MOST_TOLD else []
    if not used and unused:
        raise DataError(f"{name}: found no {what} among {n:,} features: {', '.join(most + more)}. {rule}")
    if not used:
        warn(f"{name}: found no {what}: the file has no features", UnusedEvidenceWarning)
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
        raise DataError(f"found the strand {shown(part.strand)}, expected '+', '-' or '.'")
    support = _read_support(attributes.get("mult", "1"))
    return Hint(part.contig, kind, part.start, part.end, part.strand, support), parent, kind


def _read_support(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise DataError(f"found the support {shown(text)}, expected a number >= 0")
    return found


def place_of(start: int, end: int, n: int) -> str:
    """What is to be told of where a span lies on a sequence of n bases: nothing if it is within."""
    return BEYOND if start >= n else CUT if end > n else ""


def misplaced_text(found: Counter[str], n: int) -> str:
    """How many of n hints or regions have no effect, by the reason, as warnings tell it; empty for none."""
    without = Counter({reason: count for reason, count in found.items() if reason != CUT and count})
    each = ", ".join(f"{count:,} {reason}" for reason, count in without.most_common())
    told = [f"{without.total():,} of {n:,} have no effect where they are: {each}"] if without else []
    told += [f"{found[CUT]:,} of {n:,} {CUT}"] if found[CUT] else []
    return ". ".join([*told, "Are they of this assembly, and do positions count from 1?"] if told else [])


def tell_misplaced(what: str, found: Counter[str], n: int, unused: dict[str, Counter[str]] | None) -> None:
    """Add what is found to what callers count, or warn of it where they count nothing."""
    if unused is not None:
        unused.setdefault(what, Counter()).update(found)
    elif text := misplaced_text(found, n):
        warn(f"{what}: {text}", UnusedEvidenceWarning)
