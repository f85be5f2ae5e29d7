"""Stockholm files, of any number of alignments."""

from __future__ import annotations

from collections.abc import Iterator

from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.rows import Rows
from structune.files.text import Lines, shown


def read_stockholm(lines: Lines) -> Iterator[ProteinAlignment]:
    rows, number = Rows(lines), 0
    for number, text in lines:
        words = text.split()
        if text == "//":
            yield rows.alignment()
            rows = Rows(lines)
        elif not text:
            rows.end_block()
        elif len(words) == 2 and not text.startswith("#"):
            rows.add_to_block(number, words[0], words[1])
        elif not text.startswith("#"):
            raise lines.refuse(number, f"found {shown(text)}, expected a name and residues")
    if len(rows):
        raise lines.refuse(number, "found the end of the file, expected '//'")
