"""FASTA files, of sequences and of alignments (also A2M)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.rows import Rows
from structune.files.text import Lines, Source, header_name, shown

_LOWER, _OTHER = re.compile("[^a-z]"), re.compile("[a-z]")
_NO_SEQUENCES = (  # headers of what would be read as residues
    (
        re.compile(r">(?:P1|F1|D[LC]|R[LC]|N[13]|XX);(?!.*=)"),
        "a header of PIR: convert the file to FASTA first",
    ),
    (re.compile(r">(?:ss|sa|aa)_(?:pred|conf|dssp)\b|>.*:secstr\b"), "annotation of residues: remove it"),
)

_LOOKS = ("FASTA", "aligned FASTA", "A2M", "A3M", "PIR")  # names of `looks_like`, the last told by itself
_BRACKET = re.compile(r"[][(){}<]")  # of structures of RNA


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
    records = [(number, header, "".join(pieces)) for number, header, pieces in _fasta_records(lines)]
    rows, texts = Rows(lines), [text for _, _, text in records]
    if _is_a3m(lines.name, texts):
        texts = _filled(texts)
    for (number, header, _), text in zip(records, texts, strict=True):
        name = header_name(header, len(rows) + 1)
        rows.begin(number, name)
        rows.add(number, name, text)
    yield rows.alignment()


def _is_a3m(name: str, rows: list[str]) -> bool:
    """Whether residues in lower case have no columns: then all rows have as many others."""
    others = {len(_OTHER.sub("", row)) for row in rows}
    is_named = name.removesuffix(".gz").lower().endswith(".a3m")
    differ = is_named or len(set(map(len, rows))) > 1
    return differ and len(others) == 1 and others != {0} and not any("." in row for row in rows)


def _filled(rows: list[str]) -> list[str]:
    """Rows of A3M as those of A2M, with ``.`` where others have residues in lower case."""
    inserted, columns = [_LOWER.split(row) for row in rows], [[*_OTHER.sub("", row), ""] for row in rows]
    widths = [max(map(len, between)) for between in zip(*inserted, strict=True)]
    out = []
    for texts, others in zip(inserted, columns, strict=True):
        cells = zip(texts, widths, others, strict=True)
        out.append("".join(f"{text:.<{width}}{column}" for text, width, column in cells))
    return out


def _fasta_records(lines: Lines) -> Iterator[tuple[int, str, list[str]]]:
    """The number of the line of each header, the header, and the lines after it without white space."""
    with lines.told_by_look(_LOOKS, "convert it to FASTA first"):
        yield from _records(lines)


def _records(lines: Lines) -> Iterator[tuple[int, str, list[str]]]:
    number, header, pieces = 0, "", list[str]()
    for k, text in lines.filled():
        if text.startswith(">"):
            for pattern, found in _NO_SEQUENCES:
                if pattern.match(text):
                    raise lines.refuse(k, f"found {shown(text)}, {found}")
            if header:
                yield number, header, pieces
            number, header, pieces = k, text, []
        elif not header:
            if not text.startswith("#"):
                raise lines.refuse(k, f"found {shown(text)}, expected a header '>name'")
        elif _BRACKET.search(text):
            raise lines.refuse(k, f"found {shown(text)}, expected residues")
        else:
            pieces.append("".join(text.split()))
    if header:
        yield number, header, pieces
