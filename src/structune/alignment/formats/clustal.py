"""Clustal files, of any number of alignments."""

from __future__ import annotations

from collections.abc import Iterator

from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.rows import Rows
from structune.errors import DataError
from structune.files.text import Lines, shown

PROGRAMS = ("CLUSTAL", "MUSCLE", "PROBCONS", "MSAPROBS", "T-COFFEE")  # that write the format
_MARKS = set("*:. ")


def read_clustal(lines: Lines) -> Iterator[ProteinAlignment]:
    rows = Rows(lines)
    for number, text in lines.filled():
        words = text.split()
        is_row = len(words) == 2 or (len(words) == 3 and words[2].isdigit())
        if text.upper().startswith(PROGRAMS) and (not is_row or not len(rows)):
            if len(rows):  # the header of another one
                yield rows.alignment()
            rows = Rows(lines)
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
