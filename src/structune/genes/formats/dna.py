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
    """Read the sequences of a FASTA file one at a time.

    Parameters
    ----------
    source : path or file object
        FASTA file, compressed or not. A file object may be binary or text; it is left open.

    Yields
    ------
    name, sequence : str
        The name is the first word of the header or, if that is empty, the number of the record, from 1. In
        the sequence, U becomes T and lower case is kept.

    Raises
    ------
    DataError
        A letter is not a nucleotide, a sequence has no header, a name occurs twice, or there are no
        sequences. The message names the file and the line.
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
                    raise lines.refuse(number, f"{shown(text)} is a PIR header; the format must be FASTA")
                name, parts = header_name(text, len(first) + 1), []
                if name in first:
                    again = f"the name {shown(name)} was already used in line {first[name]}"
                    raise lines.refuse(number, again)
                first[name] = number
            elif not first:
                raise lines.refuse(number, f"{shown(text)} comes before the first header '>name'")
            else:
                try:
                    check_dna(text)
                except DataError as error:  # `lines.at` would take half of the time of a line
                    raise lines.refuse(number, str(error)) from error
                parts.append(text)
        if not first:
            raise DataError(f"{lines.name}: the file has no sequences{where}")
        yield name, without_u("".join(parts))


def without_u(text: str) -> str:
    """Bases as those of DNA."""
    return text.replace("U", "T").replace("u", "t")


def check_dna(text: str) -> None:
    """Refuse what is no base, by its position."""
    if found := _UNKNOWN.search(text):
        position = found.start() + 1
        hint = _HINTS.get(found[0].upper(), "")
        raise DataError(f"position {position} (from 1): {found[0]!r} is not one of {_LETTERS}{hint}")
