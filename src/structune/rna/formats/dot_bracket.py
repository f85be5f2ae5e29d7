"""Dot-bracket files as the Vienna RNA package writes them: header, sequence and structure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from structune.errors import DataError
from structune.files.text import Lines, Source, header_description, header_name, save, shown
from structune.rna.formats.brackets import as_partners, drop_pseudoknots, partners, to_dot_bracket
from structune.rna.formats.nested import largest_nested
from structune.rna.formats.record import RNARecord, clean_strands, need_structure, record_at
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

STRUCTURE = re.compile(r"[][(){}<>.|]")  # the last one of constraints, which are refused
_BRACKET = re.compile(r"[][(){}<>]")
_CONSTRAINTS = set(".x|<>()&")
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
    entry, count = Entry(lines), 0
    for number, text in lines.filled():
        if is_comment(text, entry):
            continue
        if (header := text.startswith(">")) or not entry.number:
            if entry.number:
                yield entry.record()
            count += 1
            told = text if header else ">"
            entry = Entry(lines, number, header_name(told, count), header_description(told))
        if not header:
            entry.add(number, text)
        if entry.number and entry.is_complete():  # at once: who writes to a pipe may wait for it
            yield entry.record()
            entry = Entry(lines)
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
class Entry:
    """The lines of one record; number 0 before the first."""

    lines: Lines
    number: int = 0
    name: str = ""
    description: str = ""
    has_header: bool = True
    sequence: list[str] = field(default_factory=list)
    structure: list[str] = field(default_factory=list)
    structure_number: int = 0
    n_missing: int = 0  # characters of the structure
    is_given: bool = False  # what there is of it, by `rest`

    def is_complete(self) -> bool:
        return not self.number or (bool(self.structure) and self.n_missing <= 0)

    def awaits_structure(self) -> bool:
        return bool(self.sequence) and not self.structure

    def ends_before(self, text: str) -> bool:
        """Whether a line is the sequence of the next record: without headers they are a line each."""
        return self.is_complete() or not (self.has_header or self.structure or STRUCTURE.search(text))

    def add(self, number: int, text: str) -> None:
        if not self.structure and not (
            STRUCTURE.match(text) if not self.sequence else STRUCTURE.search(text)
        ):
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
        structure = "".join(self.structure)
        with self.lines.at(self.structure_number or self.number):
            try:
                return RNARecord(self.name, "".join(self.sequence), structure, self.description)
            except DataError as error:
                raise DataError(f"{error}{self._advice(structure)}") from None

    def _advice(self, structure: str) -> str:
        """What else a structure that does not fit may be."""
        if not self.has_header:
            return ". Sequences of several lines, without headers, are read with --input-format dot_bracket"
        if set(structure) <= _CONSTRAINTS and _is_constraint(structure):
            return ". Constraints are read with --constraints"
        if structure and not _BRACKET.search(structure):
            return f": {shown(self.structure[0])} is neither bases nor a structure"
        return ""

    def rest(self) -> Iterator[RNARecord]:
        """The record, with or without a structure; if it was given before, its structure is checked."""
        if not self.number or (self.is_given and not self.structure):
            return
        found = self.record() if self.structure else self._bare()
        if not self.is_given:
            yield found
        self.is_given = True

    def _bare(self) -> RNARecord:
        return record_at(self.lines, self.number, self.name, self.sequence, self.description)


def _is_constraint(text: str) -> bool:
    """Whether marks are those of constraints: no structure has x and |, and in it < and > are pairs."""
    return not {"x", "|"}.isdisjoint(text) or text.count("<") != text.count(">")


def is_comment(text: str, entry: Entry) -> bool:
    """Whether a line is passed over: CONTRAfold writes ``>structure`` between sequence and structure."""
    return text.startswith("#") or (text == ">structure" and entry.awaits_structure())


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
