"""Alignments of RNA sequences, such as Rfam's: their sequences one by one, or whole for a consensus."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from structune.errors import DataError
from structune.files.text import Lines, Source, distinct, one_word, shown
from structune.rna.formats.record import GAPS, RNARecord, clean_sequence

_GAPS_TO_N = str.maketrans(GAPS, "NNNN")
_UNPAIRED = ".,:_-~"
_BRACKETS = dict(zip(">)}]", "<({[", strict=True))


def read_stockholm(source: Source) -> Iterator[RNARecord]:
    """Read the sequences of Stockholm alignments, compressed by gzip or not, one alignment at a time.

    Gaps are taken out of the sequences. A sequence's structure is its own, ``#=GR name SS``, or else the
    consensus, ``#=GC SS_cons``, without the pairs of which one side is a gap; None where there is neither. Of
    the WUSS notation all kinds of nested pairs become ``()``, and pseudoknots stay letters.

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
        Names the file and line of what is no base or structure, of rows of different lengths, and of a
        missing first or last line.
    """
    return parse_stockholm(Lines(source))


def parse_stockholm(lines: Lines) -> Iterator[RNARecord]:
    alignment, number = None, 0
    for number, text in lines.filled():
        if alignment is None:
            if not text.startswith("# STOCKHOLM"):
                raise lines.refuse(number, f"found {shown(text)}, expected '# STOCKHOLM 1.0'")
            alignment = _Alignment(lines)
        elif text == "//":
            yield from alignment.records()
            alignment = None
        else:
            alignment.add(number, text)
    if alignment is not None:
        raise lines.refuse(number, "found the end of the file, expected '//'")


@dataclass
class _Row:
    """A row of an alignment, in pieces where the alignment is cut into blocks."""

    lines: Lines
    numbers: list[int] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "".join(self.pieces)

    def refuse(self, column: int, message: str) -> DataError:
        """The error of a column: names the line of its piece, and its position there."""
        for number, piece in zip(self.numbers, self.pieces, strict=True):
            if column < len(piece):
                return self.lines.refuse(number, f"column {column + 1} (from 1): {message}")
            column -= len(piece)
        raise IndexError(column)


class _Alignment:
    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._rows: dict[str, _Row] = {}
        self._structures: dict[str, _Row] = {}
        self._consensus: dict[str, _Row] = {}

    def add(self, number: int, text: str) -> None:
        match text.split():
            case ["#=GC", "SS_cons", piece]:
                self._extend(self._consensus, "", number, piece)
            case ["#=GR", name, "SS", piece]:
                self._extend(self._structures, name, number, piece)
            case ["#=GC", "SS_cons", *_] | ["#=GR", _, "SS", *_]:
                raise self._lines.refuse(number, f"found {shown(text)}, expected a structure without spaces")
            case [name, piece] if not text.startswith("#"):
                with self._lines.at(number):
                    clean_sequence(piece.translate(_GAPS_TO_N))
                self._extend(self._rows, name, number, piece)
            case _ if not text.startswith("#"):
                raise self._lines.refuse(
                    number, f"found {shown(text)}, expected a name and its aligned sequence"
                )

    def _extend(self, rows: dict[str, _Row], name: str, number: int, piece: str) -> None:
        row = rows.setdefault(name, _Row(self._lines))
        row.numbers.append(number)
        row.pieces.append(piece)

    def records(self) -> Iterator[RNARecord]:
        self._check_rows()
        consensus = _pairs(self._consensus[""]) if self._consensus else None
        for name, row in self._rows.items():
            own = self._structures.get(name)
            pairs = _pairs(own) if own else consensus
            sequence = str(row)
            kept = [k for k, base in enumerate(sequence) if base not in GAPS]
            structure = None if pairs is None else _project(pairs, kept, len(sequence))
            with self._lines.at(row.numbers[0]):
                record = RNARecord(name, "".join(sequence[k] for k in kept), structure)
            yield record

    def _check_rows(self) -> None:
        for name, own in self._structures.items():
            if name not in self._rows:
                raise self._lines.refuse(
                    own.numbers[0], f"found the structure of {shown(name)}, which has no sequence"
                )
        rows = [*self._rows.values(), *self._structures.values(), *self._consensus.values()]
        for row in rows:
            if len(str(row)) != len(str(rows[0])):
                raise self._lines.refuse(
                    row.numbers[0],
                    f"found a row of {len(str(row))} columns, expected {len(str(rows[0]))}, "
                    f"as in line {rows[0].numbers[0]}",
                )


def _pairs(row: _Row) -> list[tuple[int, int, str]]:
    """The pairs of columns of a structure in WUSS notation, with the opening character."""
    pairs = []
    stacks: dict[str, list[tuple[int, str]]] = {}  # brackets share one: pairs of different kinds must nest
    for column, character in enumerate(str(row)):
        if opening := _opening(character):
            stack = stacks.setdefault(opening if opening.isupper() else "nested", [])
            if character == opening:
                stack.append((column, opening))
            elif stack and stack[-1][1] == opening:
                pairs.append((stack.pop()[0], column, opening))
            else:
                raise row.refuse(column, f"found {character!r} without its {opening!r}")
        elif character not in _UNPAIRED:
            raise row.refuse(column, f"found {character!r}, expected a character of the WUSS notation")
    if unmatched := [stack[-1] for stack in stacks.values() if stack]:
        column, opening = min(unmatched)
        raise row.refuse(column, f"found {opening!r} without its closing character")
    return pairs


def _opening(character: str) -> str:
    """The character that opens pairs of this kind; empty where it is none of a pair."""
    if character in _BRACKETS.values():
        return character
    if character.isascii() and character.isalpha():
        return character.upper()
    return _BRACKETS.get(character, "")


def _project(pairs: list[tuple[int, int, str]], kept: list[int], n_columns: int) -> str:
    """Dot-bracket notation of the pairs of which both columns are kept."""
    text, has_base = ["."] * n_columns, set(kept)
    for i, j, opening in pairs:
        if i in has_base and j in has_base:
            text[i], text[j] = (opening, opening.lower()) if opening.isupper() else ("(", ")")
    return "".join(text[k] for k in kept)


_ALIGNED_LOOKS = {
    "Stockholm",
    "Clustal",
    "FASTA",
    "aligned FASTA",
    "A2M",
}  # names of `looks_like` that are read here
_ALIGNED_ADVICE = "alignments are read from Stockholm, Clustal and aligned FASTA"
_TO_GAP = str.maketrans(GAPS, "-" * len(GAPS))
_TO_N = str.maketrans("-", "N")
_BLOCK = re.compile(r"^//\s*$", re.MULTILINE)
_NAME = re.compile(r"^#=GF\s+ID\s+(\S.*)", re.MULTILINE)


@dataclass(frozen=True)
class RNAAlignment:
    """Sequences of one family, column by column.

    Attributes
    ----------
    name : str
    names : tuple of str
        Of the rows.
    rows : tuple of str
        Of one length: ACGU and other letters of the IUPAC code, ``-`` for gaps.
    structure : str, optional
        Of all of them, as the file has it (WUSS notation).
    """

    name: str
    names: tuple[str, ...]
    rows: tuple[str, ...]
    structure: str | None = None


def read_alignments(source: Source) -> Iterator[RNAAlignment]:
    """Read alignments: many of a Stockholm file, one of Clustal or of FASTA, compressed by gzip or not.

    Parameters
    ----------
    source : path or file object

    Yields
    ------
    RNAAlignment

    Raises
    ------
    DataError
        Names the file, and the alignment with rows of several lengths or a character that is no base.
    """
    lines = Lines(source, strip=False)
    with lines.told_by_look(_ALIGNED_LOOKS, _ALIGNED_ADVICE):
        yield from _read_aligned(lines)


def _read_aligned(lines: Lines) -> Iterator[RNAAlignment]:
    from Bio import AlignIO  # slow to import

    first = next((text for text in lines.head(1000) if text.strip()), "").strip()
    if not first:
        raise DataError(f"{lines.name}: found no text, expected an alignment")
    format = "stockholm" if first.startswith("# STOCKHOLM") else "fasta" if first[0] == ">" else "clustal"
    marks = format == "clustal"  # below the blocks, of which editors may have cut off blanks
    text = "".join(line for _, line in lines if not (marks and line[:1].isspace() and line.strip()))
    blocks = [*filter(str.strip, _BLOCK.split(text) if format == "stockholm" else [text])]
    if not blocks:
        raise DataError(f"{lines.name}: found no alignment")
    try:
        for k, block in enumerate(blocks):
            name = _NAME.search(block)
            found = AlignIO.read(
                io.StringIO(f"{block.lstrip()}\n//\n" if format == "stockholm" else block), format
            )
            yield _alignment(lines.name, found, one_word(name[1]) if name else str(k + 1))
    except (ValueError, AssertionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{lines.name}: found no alignment in {format.capitalize()} format ({error})"
        ) from None


def _alignment(file: str, found: Any, name: str) -> RNAAlignment:
    rows = []
    for record in found:
        row = str(record.seq).translate(_TO_GAP)
        try:
            rows.append(
                "".join("-" if gap == "-" else base for gap, base in zip(row, _clean(row), strict=True))
            )
        except DataError as error:
            raise DataError(f"{file}: alignment {shown(name)}: row {shown(record.id)}: {error}") from None
    if all(re.fullmatch(r"([^-]+)-+", row) and row.count("-") * 2 == len(row) for row in rows):
        raise DataError(
            f"{file}: alignment {shown(name)}: found unpaired bases below each sequence, as in dot-bracket, "
            "expected aligned sequences"
        )
    structure = found.column_annotations.get("secondary_structure")
    return RNAAlignment(name, tuple(one_word(record.id) for record in found), tuple(rows), structure)


def _clean(row: str) -> str:
    return clean_sequence(row.translate(_TO_N))


def stockholm_text(alignment: RNAAlignment, structure: str) -> str:
    """An alignment with a consensus structure, as Stockholm has it, where no name may be there twice."""
    names = [*distinct(alignment.names), "#=GC SS_cons"]
    width = max(map(len, names))
    lines = [f"{name:<{width}} {row}" for name, row in zip(names, [*alignment.rows, structure], strict=True)]
    return "\n".join(["# STOCKHOLM 1.0", f"#=GF ID {alignment.name}", *lines, "//", ""])
