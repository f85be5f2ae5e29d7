"""Clustal files, of any number of alignments."""

from __future__ import annotations

from collections.abc import Iterator

from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.rows import Rows
from structune.errors import DataError
from structune.files.text import Lines, shown

# that write the format
PROGRAMS = ("CLUSTAL", "MUSCLE", "PROBCONS", "MSAPROBS", "T-COFFEE", "KALIGN", "BIOPYTHON")
_MARKS = set("*:. ")


def is_clustal_header(text: str) -> bool:
    return text.upper().startswith(PROGRAMS) or "multiple sequence alignment" in text


def read_clustal(lines: Lines) -> Iterator[ProteinAlignment]:
    rows, is_first = Rows(lines), True
    for number, text in lines:
        words = text.split()
        is_row = len(words) == 2 or (len(words) == 3 and words[2].isdigit())
        if set(text) <= _MARKS:
            rows.end_block()
        elif is_first or (is_clustal_header(text) and not is_row):
            if len(rows):
                yield rows.alignment()
            rows, is_first = Rows(lines), False
        elif is_row:
            rows.add_to_block(number, words[0], words[1])
        else:
            raise lines.refuse(
                number, f"found {shown(text)}, expected a name, residues, and maybe their number"
            )
    if not len(rows):
        raise DataError(f"{lines.name}: found no rows after the header")
    yield rows.alignment()
