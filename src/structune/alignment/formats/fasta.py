"""FASTA files, of sequences and of alignments (also A2M)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.rows import Rows
from structune.files.text import Lines, Source, header_name, shown


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


def read_fasta(lines: Lines) -> Iterator[ProteinAlignment]:
    rows = Rows(lines)
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
