"""Stockholm files, of any number of alignments."""

from __future__ import annotations

from collections.abc import Iterator

from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.rows import Rows
from structune.files.text import Lines, shown


def read_stockholm(lines: Lines) -> Iterator[ProteinAlignment]:
    rows, number = Rows(lines), 0
    for number, text in lines.filled():
        if text == "//":
            yield rows.alignment()
            rows = Rows(lines)
        elif not text.startswith("#"):
            words = text.split()
            if len(words) != 2:
                raise lines.refuse(number, f"found {shown(text)}, expected a name and residues")
            rows.add(number, words[0], words[1])
    if len(rows):
        raise lines.refuse(number, "found the end of the file, expected '//'")
