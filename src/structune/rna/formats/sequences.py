"""Sequences a line or below headers, perhaps with structures: FASTA, dot-bracket, and lines alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from structune.errors import DataError, warn
from structune.files.text import Lines, Source, header_description, header_name, save, shown
from structune.rna.formats.brackets import STRANDS, cut_as, partners, to_dot_bracket
from structune.rna.formats.record import RNARecord, clean_strands, need_structure, record_at

_MARKS = frozenset("x" + STRANDS)
_HEAD, _MOST = 1000, 300  # lines and records looked at
_ADVICE = "expected bases: constraints are read with --constraints, and masked bases with --input-format"
STRUCTURE = re.compile(r"[][(){}<>.|]")  # the last one of constraints, which are refused
_BRACKET = re.compile(r"[][(){}<>]")
_CONSTRAINTS = set(".x|<>()&")
_ENERGY = re.compile(r"\(\s*[-+]?\d+(\.\d*)?\s*\)")


def read_fasta(source: Source) -> Iterator[RNARecord]:
    """Read a FASTA file, compressed by gzip or not, one record at a time.

    The name is the first word of the header, or the number of the record, from 1, where there is none.

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
        Names the file and line of a character that is no base, or of a sequence without a header.
    """
    return parse_fasta(Lines(source))


def parse_fasta(lines: Lines) -> Iterator[RNARecord]:
    start, name, told, count = 0, "", "", 0
    parts: list[str] = []
    for number, text in lines.filled():
        if text.startswith(">"):
            if count:
                yield record_at(lines, start, name, parts, told)
            start, count, parts = number, count + 1, []
            name, told = header_name(text, count), header_description(text)
        elif not count:
            raise lines.refuse(number, f"found {shown(text)}, expected a header '>name'")
        else:
            with lines.at(number):
                parts.append(clean_strands(text))
    if count:
        yield record_at(lines, start, name, parts, told)


def write_fasta(target: Source, records: Iterable[RNARecord], width: int = 60) -> None:
    """Write names and sequences, compressed by gzip where the path ends in ``.gz``; structures are left out.

    Parameters
    ----------
    target : path or file object
        A file object may be binary or text.
    records : iterable of RNARecord
    width : int
        Bases a line.
    """
    texts = []
    for record in records:
        starts = range(0, len(record.sequence), width)
        texts += [f">{record.header}\n", *(f"{record.sequence[k : k + width]}\n" for k in starts)]
    save(target, "".join(texts))


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
        # A structure as long as its sequence ends the record: no look at the next line is needed.
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
    texts = []
    for record in records:
        structure = need_structure(record)
        if not STRUCTURE.search(structure):
            structure = cut_as(structure, to_dot_bracket(partners(structure)))
        texts.append(f">{record.header}\n{record.sequence}\n{structure}\n")
    save(target, "".join(texts))


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
            except DataError as error:  # tells what else a structure that does not fit may be
                # no structure has x and |, and in it < and > are pairs
                marked = not {"x", "|"}.isdisjoint(structure) or structure.count("<") != structure.count(">")
                advice = ""
                if not self.has_header:
                    how = "are read with --input-format dot_bracket"
                    advice = f". Sequences of several lines, without headers, {how}"
                elif marked and set(structure) <= _CONSTRAINTS:
                    advice = ". Constraints are read with --constraints"
                elif structure and not _BRACKET.search(structure):
                    advice = f": {shown(self.structure[0])} is neither bases nor a structure"
                raise DataError(f"{error}{advice}") from None

    def rest(self) -> Iterator[RNARecord]:
        """The record, with or without a structure; if it was given before, its structure is checked."""
        if not self.number or (self.is_given and not self.structure):
            return
        if self.structure:
            found = self.record()
        else:
            found = record_at(self.lines, self.number, self.name, self.sequence, self.description)
        if not self.is_given:
            yield found
        self.is_given = True


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


def parse_plain(
    lines: Lines, live: bool = False, unused: Callable[[], None] | None = None
) -> Iterator[RNARecord]:
    """Sequences, with their structures where there are some; `live` gives each as soon as it is whole.

    One without a header is a line, and is named by its number, from 1. Below a header ``>name`` it may take
    several lines, up to the next header or the end of its structure. Structures may be left out, and are
    checked where there are some; `unused` is called for each that its sequence was given without.
    """
    entry, count, paired, with_headers = Entry(lines), 0, False, False
    for number, text in lines.filled():
        if is_comment(text, entry):
            continue
        if (header := text.startswith(">")) or entry.ends_before(text):
            yield from entry.rest()
            _check_alike(entry, paired)
            with_headers = with_headers or header
            if with_headers and not header and not STRUCTURE.search(text):
                found = f"found {shown(text)} after a structure"
                raise lines.refuse(number, f"{found}, expected a header '>name'")
            count += 1
            told = text if header else ">"
            entry = Entry(lines, number, header_name(told, count), header_description(told), header)
        if not header:
            entry.add(number, text)
        if entry.is_complete():
            if entry.is_given and unused is not None:
                unused()
            yield from entry.rest()
            paired = paired or not entry.has_header
            entry = Entry(lines)
        elif live and not (entry.has_header or entry.structure):
            yield from entry.rest()
    yield from entry.rest()
    _check_alike(entry, paired)


def _check_alike(entry: Entry, paired: bool) -> None:
    """Without headers all sequences have structures or none has: other lines of letters may be no bases."""
    if paired and not entry.has_header and entry.awaits_structure():
        raise entry.lines.refuse(
            entry.number, f"record {shown(entry.name)}: found no structure below it, as others have one"
        )


# --- constraints below sequences, in files that are read without constraints: no bases ----------------------


def end_in_constraints(parts: Iterable[str], letters: frozenset[str] = _MARKS) -> bool:
    """Whether the last lines of a sequence have letters of constraints only, as many as the bases above."""
    n_bases = n_marks = 0
    for text in parts:
        if letters.issuperset(text):
            n_marks += len(text)
        else:  # such lines before one of bases are masked bases
            n_bases, n_marks = n_bases + n_marks + len(text), 0
    return n_marks == n_bases > 0


def check_masked(lines: Lines) -> None:
    """Refuse a file of which each record is a sequence and such lines: they are not read, and stay."""
    head = (text for text in lines.head(_HEAD) if text and not text.startswith("#"))
    record, last, n_found = None, "", 0
    for text in chain(head, [">"]):  # one by one: a program may wait for an answer
        if text.startswith(">"):
            if record is not None and not end_in_constraints(record):
                return
            n_found += record is not None
            record = list[str]()
            if n_found == _MOST:
                break
        elif record is None:
            return
        else:
            record.append(text)
            last = text
    if n_found:
        raise DataError(f"{lines.name}: found {shown(last)} below each sequence, {_ADVICE} fasta")


def checked_masks(lines: Lines) -> Iterator[tuple[int, str]]:
    """The same lines; refuses such lines below sequences without headers, which are a line each.

    Below headers some records may be so, and others not: these are masked, and told.
    """
    record, before, n_masked = None, "", 0
    for number, text in lines:
        if text.startswith(">"):
            n_masked += record is not None and end_in_constraints(record)
            record = list[str]()
        elif text and not text.startswith("#"):
            if record is not None:
                record.append(text)
            elif end_in_constraints([before, text]):
                raise lines.refuse(
                    number, f"found {shown(text)} below a sequence of its length, {_ADVICE} plain"
                )
            before = text
        yield number, text
    if n_masked := n_masked + (record is not None and end_in_constraints(record)):
        warn(
            f"{lines.name}: read the lines of x below {n_masked:,} sequences, of the same length, as masked "
            "bases, because other sequences have none; constraints are read with --constraints"
        )
