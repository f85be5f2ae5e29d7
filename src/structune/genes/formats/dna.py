"""Sequences of DNA in FASTA files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from structune.errors import DataError
from structune.files.text import Lines, Source, header_name, shown

FASTA = "FASTA"
_LETTERS = "ACGTUNRYSWKMBDHVX"
_HINTS = {
    **dict.fromkeys("EFIJLOPQZ*", " (is it a protein?)"),
    **dict.fromkeys("-.", " (is it an alignment?)"),
}
_PIR = re.compile(r">(P1|F1|D[LC]|R[LC]|N[13]|XX);(?!.*=)")  # not the size= of vsearch
_UNKNOWN = re.compile(f"[^{_LETTERS}{_LETTERS.lower()}]")


def read_dna(source: Source) -> Iterator[tuple[str, str]]:
    """Read the sequences of a FASTA file, compressed by gzip or not, one at a time.

    Parameters
    ----------
    source : path or file object
        A file object may be binary or text; it is left open.

    Yields
    ------
    name, sequence : str
        The first word of the header, or its number from 1; and the letters, with U as T: lower case is kept.

    Raises
    ------
    DataError
        Names the file and line of a letter that is no base, of a sequence without a header, and of a name
        that is there twice; names the file without sequences.
    """
    return parse_dna(Lines(source))


def parse_dna(
    lines: Lines, where: str = "", formats: tuple[str, ...] = (FASTA,)
) -> Iterator[tuple[str, str]]:
    # a sequence is whole once the next header comes: one at a time is in memory
    name, parts = "", list[str]()
    first: dict[str, int] = {}
    with lines.told_by_look(formats):
        for number, text in lines.filled():
            if text.startswith(">"):
                if first:
                    yield name, without_u("".join(parts))
                if _PIR.match(text):  # its second line is no sequence
                    raise lines.refuse(number, f"found {shown(text)}, a header of PIR, expected FASTA")
                name, parts = header_name(text, len(first) + 1), []
                if name in first:
                    raise lines.refuse(number, f"found the name {shown(name)} again, first in {first[name]}")
                first[name] = number
            elif not first:
                raise lines.refuse(number, f"found {shown(text)}, expected a header '>name'")
            else:
                try:
                    check_dna(text)
                except DataError as error:  # `lines.at` would take half of the time of a line
                    raise lines.refuse(number, str(error)) from error
                parts.append(text)
        if not first:
            raise DataError(f"{lines.name}: found no sequences, expected some{where}")
        yield name, without_u("".join(parts))


def without_u(text: str) -> str:
    """Bases as those of DNA."""
    return text.replace("U", "T").replace("u", "t")


def check_dna(text: str) -> None:
    """Refuse what is no base, by its position."""
    if found := _UNKNOWN.search(text):
        position = found.start() + 1
        hint = _HINTS.get(found[0].upper(), "")
        raise DataError(f"position {position} (from 1): found {found[0]!r}, expected one of {_LETTERS}{hint}")
