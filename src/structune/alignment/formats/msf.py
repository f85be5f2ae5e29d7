"""MSF files, as GCG's programs, BAliBASE and others write them: one alignment each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.rows import Rows
from structune.files.text import Lines, shown

_HEADER = re.compile(r".*MSF:\s*(\d{1,9})\b.*\.\.")
_END_OF_NAMES = "//"
_DROP = str.maketrans("~", ".")  # gaps at ends


def is_msf_header(text: str) -> bool:
    return _HEADER.fullmatch(text) is not None


def read_msf(lines: Lines) -> Iterator[ProteinAlignment]:
    number, rows = _names(lines)
    for number, text in lines:
        words = text.split()
        if all(map(str.isdigit, words)):  # blank, or the numbers of columns
            rows.end_block()
        elif words[0] in rows:
            pieces = [word for word in words[1:] if not word.isdigit()]
            rows.add_to_block(number, words[0], "".join(pieces).translate(_DROP))
        else:
            raise lines.refuse(number, f"found {shown(text)}, expected a name from above '//'")
    if not len(rows):
        raise lines.refuse(number, "found no names before '//'")
    yield rows.alignment()


def _names(lines: Lines) -> tuple[int, Rows]:
    """The rows that there will be, from the lines up to the one that ends their names."""
    rows, number = Rows(lines), 0
    for number, text in lines:
        if header := _HEADER.fullmatch(text):
            rows = Rows(lines, int(header[1]))
        elif text == _END_OF_NAMES:
            return number, rows
        elif text.startswith("Name:") and len(words := text.split()) > 1:
            rows.begin(number, words[1])
    raise lines.refuse(number, "found the end of the file, expected '//' after the names")
