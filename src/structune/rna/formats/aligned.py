"""Alignments of RNA sequences: Stockholm, Clustal and aligned FASTA in, Stockholm out."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from structune.errors import DataError
from structune.files.text import Lines, Source, distinct, one_word, shown
from structune.rna.formats.record import GAPS, clean_sequence

_LOOKS = {"Stockholm", "Clustal", "FASTA", "aligned FASTA", "A2M"}  # names of `looks_like` that are read here
_ADVICE = "alignments are read from Stockholm, Clustal and aligned FASTA"
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
    with lines.told_by_look(_LOOKS, _ADVICE):
        yield from _read(lines)


def _read(lines: Lines) -> Iterator[RNAAlignment]:
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
