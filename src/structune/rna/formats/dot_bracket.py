"""Dot-bracket files as the Vienna RNA package writes them: header, sequence and structure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from structune.files.text import Lines, Source, header_description, header_name, save, shown
from structune.rna.formats.brackets import as_partners, drop_pseudoknots, partners, to_dot_bracket
from structune.rna.formats.nested import largest_nested
from structune.rna.formats.record import RNARecord, clean_strands, need_structure
from structune.rna.formats.strands import cut_as

__all__ = [
    "as_partners",
    "drop_pseudoknots",
    "largest_nested",
    "partners",
    "read_dot_bracket",
    "to_dot_bracket",
    "write_dot_bracket",
]

STRUCTURE = re.compile(r"[][(){}<>.]")
_ENERGY = re.compile(r"\(\s*[-+]?\d+(\.\d*)?\s*\)")


def read_dot_bracket(source: Source) -> Iterator[RNARecord]:
    """Read a dot-bracket file, compressed by gzip or not, one record at a time.

    A record is a header ``>name``, which may be missing, its sequence, and its structure with or without an
    energy in parentheses. Sequence and structure may take several lines each. Blank lines and lines that
    start with ``#`` are skipped. Records without a name are named by their number, from 1.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it is left open.

    Yields
    ------
    RNARecord

    Raises
    ------
    DataError
        Names the file and line of what is no base, no structure, or a structure of another length than its
        sequence.
    """
    return parse_dot_bracket(Lines(source))


def parse_dot_bracket(lines: Lines) -> Iterator[RNARecord]:
    entry, count = _Entry(lines), 0
    for number, text in lines.filled():
        if text.startswith("#") or (
            text == ">structure" and entry.awaits_structure()
        ):  # as CONTRAfold writes
            continue
        if (header := text.startswith(">")) or entry.is_complete():
            if entry.number:
                yield entry.record()
            count += 1
            told = text if header else ">"
            entry = _Entry(lines, number, header_name(told, count), header_description(told))
        if not header:
            entry.add(number, text)
    if entry.number:
        yield entry.record()


def write_dot_bracket(target: Source, records: Iterable[RNARecord]) -> None:
    """Write headers, sequences and structures, a line each, compressed by gzip where paths end in ``.gz``.

    A structure of letters only would look like a sequence: its pairs are written in brackets.

    Parameters
    ----------
    target : path or file object
        A file object may be binary or text.
    records : iterable of RNARecord

    Raises
    ------
    DataError
        A record without a structure.
    """
    save(target, "".join(_lines_of(record) for record in records))


@dataclass
class _Entry:
    """The lines of one record; number 0 before the first."""

    lines: Lines
    number: int = 0
    name: str = ""
    description: str = ""
    sequence: list[str] = field(default_factory=list)
    structure: list[str] = field(default_factory=list)
    structure_number: int = 0
    n_missing: int = 0  # characters of the structure

    def is_complete(self) -> bool:
        return not self.number or (bool(self.structure) and self.n_missing <= 0)

    def awaits_structure(self) -> bool:
        return bool(self.sequence) and not self.structure

    def add(self, number: int, text: str) -> None:
        if not self.structure and not STRUCTURE.search(text):
            with self.lines.at(number):
                self.sequence.append(clean_strands(text))
            self.n_missing += len(self.sequence[-1])
            return
        if not self.sequence:
            raise self.lines.refuse(number, f"found the structure {shown(text)}, expected a sequence first")
        self.structure_number = self.structure_number or number
        self.structure.append(without_energy(self.lines, number, text))
        self.n_missing -= len(self.structure[-1])

    def record(self) -> RNARecord:
        if self.sequence and not self.structure:
            raise self.lines.refuse(
                self.number, f"record {shown(self.name)}: found no structure, expected one after the sequence"
            )
        with self.lines.at(self.structure_number or self.number):
            return RNARecord(self.name, "".join(self.sequence), "".join(self.structure), self.description)


def without_energy(lines: Lines, number: int, text: str) -> str:
    """A line's structure alone."""
    structure, *energy = text.split(maxsplit=1)
    if energy and not _ENERGY.fullmatch(energy[0]):
        raise lines.refuse(
            number, f"found {shown(energy[0])} after the structure, expected an energy in parentheses"
        )
    return structure


def _lines_of(record: RNARecord) -> str:
    structure = need_structure(record)
    if not STRUCTURE.search(structure):
        structure = cut_as(structure, to_dot_bracket(partners(structure)))
    return f">{record.header}\n{record.sequence}\n{structure}\n"
