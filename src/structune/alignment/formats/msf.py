"""MSF files, as GCG's programs, BAliBASE and others write them: one alignment each."""

from __future__ import annotations

from collections.abc import Iterator

from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.rows import Rows
from structune.files.text import Lines, shown

_END_OF_NAMES = "//"
_DROP = str.maketrans("~", ".")  # gaps at ends


def is_msf_header(text: str) -> bool:
    return "MSF:" in text and text.endswith("..")


def read_msf(lines: Lines) -> Iterator[ProteinAlignment]:
    rows, number, in_header = Rows(lines), 0, True
    for number, text in lines.filled():
        words = text.split()
        if text == _END_OF_NAMES:
            in_header = False
        elif in_header:
            if words[0] == "Name:" and len(words) > 1:
                rows.begin(number, words[1])
        elif words[0] in rows:
            rows.add(number, words[0], "".join(words[1:]).translate(_DROP))
        elif not all(word.isdigit() for word in words):  # the numbers of columns
            raise lines.refuse(number, f"found {shown(text)}, expected a name from above '//'")
    if in_header:
        raise lines.refuse(number, "found the end of the file, expected '//' after the names")
    yield rows.alignment()
