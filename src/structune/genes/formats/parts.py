"""Coding parts of annotation files, and the transcripts that they make."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from structune.errors import DataError, warn
from structune.files.text import Lines, shown
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


class Key(NamedTuple):
    """What parts of one transcript have in common."""

    name: str
    gene: str
    score: float | None = None
    problem: str = ""  # why it cannot be used, if that is known


def is_coding(kind: str) -> bool:
    """Whether features of a type are coding parts."""
    return kind in ("CDS", "cds", "SO:0000316")


def tell_without_coding(name: str, kinds: Counter[str]) -> None:
    """Warn of a file that has features, but no gene."""
    if kinds:
        most = ", ".join(f"{n:,} {kind}" for kind, n in kinds.most_common(_MOST_TOLD))
        warn(f"{name}: found no CDS among {kinds.total():,} features, so no gene: {most}")


def columns_of(text: str) -> list[str]:
    """The columns of a line."""
    columns = text.split("\t", _N_COLUMNS - 1)
    if len(columns) == _N_COLUMNS - 1:
        columns.append("")  # the last one was empty, and the ends of lines are cut
    if len(columns) != _N_COLUMNS:
        raise DataError(f"found {len(columns)} columns, expected {_N_COLUMNS} between tabs")
    return columns


def part_of(number: int, columns: list[str], contig: str, attributes: dict[str, str]) -> Part:
    """What a line says, without its phase."""
    start, end = _span(columns[3], columns[4])
    return Part(number, contig, start, end, columns[6], _score(columns[5]), None, attributes)


def coding(part: Part, phase: str) -> Part:
    """A coding part, with its phase."""
    if part.strand not in ("+", "-"):
        raise DataError(f"found the strand {shown(part.strand)} of a CDS, expected '+' or '-'")
    if phase and phase == part.attributes.get("codon_start"):
        return part._replace(phase=_CODON_STARTS.get(phase))
    if phase not in _PHASES:
        raise DataError(f"found the phase {shown(phase)} of a CDS, expected 0, 1, 2 or '.'")
    return part._replace(phase=_PHASES[phase])


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


def annotation_of(
    lines: Lines, groups: Mapping[Key, list[Part]], circular: frozenset[str] = frozenset()
) -> GeneAnnotation:
    """The transcripts of parts that belong together."""
    by_contig: dict[str, list[Transcript]] = defaultdict(list)
    skipped = []
    for key, parts in groups.items():
        parts.sort(key=attrgetter("start", "end"))
        _refuse_repeats(lines, parts)
        if reason := key.problem or _unusable(parts):
            skipped.append(Skipped(parts[0].contig, key.name, reason, _place(parts)))
            continue
        with lines.at(parts[0].line):
            transcript = _transcript(key, parts)
        if reason := _wrong_phase(transcript, parts):
            skipped.append(Skipped(transcript.contig, key.name, reason, _place(parts)))
        else:
            by_contig[transcript.contig].append(transcript)
    ordered = {contig: by_position(of) for contig, of in by_contig.items()}
    return GeneAnnotation(ordered, tuple(skipped), circular)


def _refuse_repeats(lines: Lines, parts: list[Part]) -> None:
    for a, b in pairwise(parts):
        if a[1:5] == b[1:5]:  # contig, start, end, strand
            raise lines.refuse(
                max(a.line, b.line), f"found a part of a CDS again, first in {min(a.line, b.line)}"
            )


def marked(attributes: Mapping[str, str]) -> str:
    """Why a feature says of itself that it is no whole gene, if it does."""
    found = (reason for key, reason in _MARKS.items() if attributes.get(key, "false").lower() not in _NOT_SO)
    return next(found, "")


def pseudo(attributes: Mapping[str, str]) -> str:
    """The same of a gene or mRNA: RefSeq calls these partial, too, if only ends that are not coding lack."""
    return marked({key: value for key, value in attributes.items() if key.startswith("pseudo")})


def _unusable(parts: list[Part]) -> str:
    """Why a transcript is skipped, if it is."""
    if reason := next(filter(None, (marked(part.attributes) for part in parts)), ""):
        return reason
    if reason := _scattered(parts):
        return reason
    if any(b.start < a.end for a, b in pairwise(parts)):
        return "parts overlap (a programmed frameshift?)"
    return ""


def _scattered(parts: list[Part]) -> str:
    """Why parts are not of one place, if they are not."""
    if any(part.attributes.get("exception") == "trans-splicing" for part in parts):
        return "trans-splicing"
    is_one = len({(part.contig, part.strand) for part in parts}) == 1
    return "" if is_one else "parts on two contigs or strands"


def _place(parts: list[Part]) -> tuple[int, int] | None:
    """The span of parts of one place."""
    return None if _scattered(parts) else (parts[0].start, max(part.end for part in parts))


def _transcript(key: Key, parts: list[Part]) -> Transcript:
    exons = tuple((part.start, part.end) for part in parts)
    score = parts[0].score if key.score is None else key.score
    code = code_of(parts[0].attributes.get("transl_table"))
    return Transcript(parts[0].contig, parts[0].strand, exons, key.name, key.gene, score, code=code)


def _wrong_phase(transcript: Transcript, parts: list[Part]) -> str:
    first = parts[0] if transcript.strand == "+" else parts[-1]
    if first.phase:
        return f"not whole: phase {first.phase} at its start"
    for part, phase in zip(parts, transcript.phases, strict=True):
        if part.phase not in (None, phase):
            return f"phase {part.phase}, {phase} by the lengths of the parts"
    return ""
