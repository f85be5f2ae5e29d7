"""Alignments of proteins in FASTA (also A2M), Clustal and Stockholm files; PHYLIP and MSF are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from structune.errors import DataError
from structune.files.text import Lines, Source, header_name, one_word, save, shown

_GAPS = "-."
_CLUSTAL = ("CLUSTAL", "MUSCLE", "PROBCONS", "MSAPROBS", "T-COFFEE")  # programs that write its format
_MARKS = set("*:. ")
_WIDTH = 60


class ProteinAlignment(NamedTuple):
    """Rows of the same length with ``-`` or ``.`` for gaps, and their names."""

    names: list[str]
    rows: list[str]

    def pair(self, a: int, b: int) -> tuple[str, str]:
        """Rows of two sequences, without the columns where both have gaps."""
        columns = zip(self.rows[a], self.rows[b], strict=True)
        kept = [(x, y) for x, y in columns if x not in _GAPS or y not in _GAPS]
        x, y = zip(*kept, strict=True) if kept else ((), ())
        return "".join(x), "".join(y)


def read_protein_alignments(source: Source) -> Iterator[ProteinAlignment]:
    """Read the alignments of a file, compressed by gzip or not; its beginning tells the format.

    A FASTA file holds one alignment, a Clustal or Stockholm file any number. In A2M files, which are FASTA
    files, residues in lower case are unaligned, and ``.`` fills the columns that they take.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it is left open.

    Yields
    ------
    ProteinAlignment

    Raises
    ------
    DataError
        Names the file and line of what fits no format, of a name without a row, and of a row of another
        length than the first.
    """
    lines = Lines(source)
    if (read := _reader(lines)) is None:
        found = shown(next((text for text in lines.head(100) if text), ""))
        raise DataError(f"{lines.name}: found {found}, expected an alignment in FASTA, Clustal or Stockholm")
    return read(lines)


def is_alignment_file(path: Path) -> bool:
    """Whether a file begins as one of the formats that `read_protein_alignments` reads."""
    try:
        return _reader(Lines(path)) is not None
    except DataError:  # no text
        return False


def _reader(lines: Lines) -> Callable[[Lines], Iterator[ProteinAlignment]] | None:
    head = next((text for text in lines.head(100) if text), "")
    if head.startswith("# STOCKHOLM"):
        return _stockholm
    if head.startswith(">"):
        return _fasta
    return _clustal if head.upper().startswith(_CLUSTAL) else None


class _Rows:
    """Rows in the order of their names, which may come in pieces."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._pieces: dict[str, list[str]] = {}
        self._first: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._pieces)

    def begin(self, number: int, name: str) -> None:
        """A name that must be new."""
        if name in self._pieces:
            raise self._lines.refuse(
                number, f"found the name {shown(name)} again, first in {self._first[name]}"
            )
        self._pieces[name], self._first[name] = [], number

    def add(self, number: int, name: str, piece: str) -> None:
        if name not in self._pieces:
            self.begin(number, name)
        self._pieces[name].append(piece)

    def joined(self) -> dict[str, str]:
        return {name: "".join(pieces) for name, pieces in self._pieces.items()}

    def alignment(self) -> ProteinAlignment:
        rows = self.joined()
        length = len(next(iter(rows.values()), ""))
        for name, row in rows.items():
            if len(row) != length:
                raise self._lines.refuse(
                    self._first[name],
                    f"found a row of {len(row)} columns for {shown(name)}, expected {length}",
                )
        return ProteinAlignment(list(rows), list(rows.values()))


class NamedProtein(NamedTuple):
    """A sequence of a FASTA file; its name is the first word of the header, or its number without one."""

    name: str
    residues: str
    header: str


def read_proteins(source: Source) -> list[NamedProtein]:
    """Sequences of a FASTA file, compressed by gzip or not, without a ``*`` at their ends.

    Raises
    ------
    DataError
        Names the file and line of a sequence without a header.
    """
    found = [(header, "".join(pieces)) for _, header, pieces in _fasta_records(Lines(source))]
    return [
        NamedProtein(header_name(header, number), residues.removesuffix("*"), header[1:].strip())
        for number, (header, residues) in enumerate(found, 1)
    ]


def _fasta(lines: Lines) -> Iterator[ProteinAlignment]:
    rows = _Rows(lines)
    for number, header, pieces in _fasta_records(lines):
        name = header_name(header, len(rows) + 1)
        rows.begin(number, name)
        rows.add(number, name, "".join(pieces))
    yield rows.alignment()


def _fasta_records(lines: Lines) -> Iterator[tuple[int, str, list[str]]]:
    """The number of the line of each header, the header, and the lines after it without white space."""
    number, header, pieces = 0, "", list[str]()
    for k, text in lines.filled():
        if text.startswith(">"):
            if header:
                yield number, header, pieces
            number, header, pieces = k, text, []
        elif not header:
            raise lines.refuse(k, f"found {shown(text)}, expected a header '>name'")
        else:
            pieces.append("".join(text.split()))
    if header:
        yield number, header, pieces


def _clustal(lines: Lines) -> Iterator[ProteinAlignment]:
    rows = _Rows(lines)
    for number, text in lines.filled():
        words = text.split()
        is_row = len(words) == 2 or (len(words) == 3 and words[2].isdigit())
        if text.upper().startswith(_CLUSTAL) and (not is_row or not len(rows)):
            if len(rows):  # the header of another one
                yield rows.alignment()
            rows = _Rows(lines)
            continue
        if set(text) <= _MARKS:
            continue
        if not is_row:
            raise lines.refuse(
                number, f"found {shown(text)}, expected a name, residues, and maybe their number"
            )
        rows.add(number, words[0], words[1])
    if not len(rows):
        raise DataError(f"{lines.name}: found no rows after the header")
    yield rows.alignment()


def _stockholm(lines: Lines) -> Iterator[ProteinAlignment]:
    rows, number = _Rows(lines), 0
    for number, text in lines.filled():
        if text == "//":
            yield rows.alignment()
            rows = _Rows(lines)
        elif not text.startswith("#"):
            words = text.split()
            if len(words) != 2:
                raise lines.refuse(number, f"found {shown(text)}, expected a name and residues")
            rows.add(number, words[0], words[1])
    if len(rows):
        raise lines.refuse(number, "found the end of the file, expected '//'")


def write_protein_alignments(
    target: Source, alignments: Iterable[ProteinAlignment], format: str = "fasta"
) -> None:
    """Write alignments, compressed by gzip where the path ends in ``.gz``.

    Parameters
    ----------
    target : path or file object
    alignments : iterable of ProteinAlignment
        In FASTA a blank line is between two; a file of several is not one that can be read back.
    format : {"fasta", "clustal", "stockholm", "phylip", "msf"}

    Raises
    ------
    DataError
        A format that is not known.
    """
    save(target, "\n".join(alignment_text(alignment, format) for alignment in alignments))


def alignment_text(
    alignment: ProteinAlignment, format: str, confidence: Sequence[float] | None = None
) -> str:
    """An alignment as the text of a file.

    Parameters
    ----------
    alignment : ProteinAlignment
    format : {"fasta", "clustal", "stockholm", "phylip", "msf"}
        PHYLIP's is the relaxed one, with names of any length. In all but FASTA white space in names becomes
        ``_``.
    confidence : sequence of float, optional
        Of each column, for Stockholm: a digit each, 9 from 0.9 on, ``.`` for nan.
    """
    if format not in _WRITERS:
        expected = ", ".join(map(repr, _WRITERS))
        raise DataError(f"format={format!r}: expected one of {expected}")
    if format != "fasta":
        alignment = alignment._replace(names=list(map(one_word, alignment.names)))
    return _WRITERS[format](alignment, confidence)


def _fasta_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    return "".join(
        f">{name}\n{_wrapped(row)}" for name, row in zip(alignment.names, alignment.rows, strict=True)
    )


def _clustal_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    width, blocks = _name_width(alignment), []
    for lines, pieces in _blocks(alignment.names, [row.replace(".", "-") for row in alignment.rows], width):
        blocks.append("".join([*lines, " " * width, _identities(pieces), "\n"]))
    return "CLUSTAL W (structune)\n\n" + "\n".join(blocks)


def _stockholm_text(alignment: ProteinAlignment, confidence: Sequence[float] | None) -> str:
    label, lines = "#=GC confidence", ["# STOCKHOLM 1.0\n"]
    width = max(_name_width(alignment), len(label) + 1)
    lines += [f"{name:{width}}{row}\n" for name, row in zip(alignment.names, alignment.rows, strict=True)]
    if confidence is not None:
        digits = "".join("." if p != p else str(min(9, int(10 * p))) for p in confidence)
        lines.append(f"{label:{width}}{digits}\n")
    return "".join([*lines, "//\n"])


def _phylip_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    width, n_columns = _name_width(alignment), max(map(len, alignment.rows), default=0)
    rows = zip(alignment.names, alignment.rows, strict=True)
    lines = [f"{name:{width}}{row.replace('.', '-')}\n" for name, row in rows]
    return "".join([f" {len(alignment.names)} {n_columns}\n", *lines])


def _msf_text(alignment: ProteinAlignment, _: Sequence[float] | None) -> str:
    width, n_columns = _name_width(alignment), max(map(len, alignment.rows), default=0)
    rows = [row.replace("-", ".") for row in alignment.rows]
    checks = [_gcg_checksum(row) for row in rows]
    head = f" structune.msf  MSF: {n_columns}  Type: P  Check: {sum(checks) % 10000}  ..\n\n"
    named = zip(alignment.names, checks, strict=True)
    listed = [f" Name: {name:{width}} Len: {n_columns}  Check: {c}  Weight: 1.00\n" for name, c in named]
    blocks = ["".join(lines) for lines, _ in _blocks(alignment.names, rows, width)]
    return "".join(["PileUp\n\n", head, *listed, "\n//\n\n", "\n".join(blocks)])


def _gcg_checksum(row: str) -> int:
    return sum((k % 57 + 1) * ord(letter) for k, letter in enumerate(row.upper())) % 10000


_WRITERS = {
    "fasta": _fasta_text,
    "clustal": _clustal_text,
    "stockholm": _stockholm_text,
    "phylip": _phylip_text,
    "msf": _msf_text,
}


def _name_width(alignment: ProteinAlignment) -> int:
    return max((len(name) for name in alignment.names), default=0) + 3


def _blocks(names: list[str], rows: list[str], width: int) -> Iterator[tuple[list[str], list[str]]]:
    """Lines of names and pieces of rows, and the pieces, some columns at a time."""
    for k in range(0, max(map(len, rows), default=0), _WIDTH):
        pieces = [row[k : k + _WIDTH] for row in rows]
        yield [f"{name:{width}}{piece}\n" for name, piece in zip(names, pieces, strict=True)], pieces


def _identities(pieces: Sequence[str]) -> str:
    columns = zip(*(piece.upper() for piece in pieces), strict=True)
    return "".join("*" if len(set(column)) == 1 and "-" not in column else " " for column in columns)


def _wrapped(row: str) -> str:
    return "".join(f"{row[k : k + _WIDTH]}\n" for k in range(0, len(row), _WIDTH)) or "\n"
