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
        pieces = [word for word in text.split() if not word.isdigit()]  # numbers are those of columns
        if not pieces:
            rows.end_block()
        elif pieces[0] in rows:
            rows.add_to_block(number, pieces[0], "".join(pieces[1:]).translate(_DROP))
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
