"""PHYLIP files, of any number of alignments.

Names end at the first blank ("relaxed") or have ten characters, blanks among them ("strict"); the rows of all
sequences take turns ("interleaved"), or each is whole before the next ("sequential"). Files do not say which:
it is the first of these that gives each sequence the columns that the header says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product

from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.rows import Rows
from structune.errors import DataError
from structune.files.text import Lines

_HEADER = re.compile(r"([1-9]\d{0,8})\s+(\d{1,9})(\s+[A-Za-z]+)?")
STRICT_NAME = 10  # characters

Numbered = list[tuple[int, str]]
Split = Callable[[str], tuple[str, str]]  # a row into its name and residues


def is_phylip_header(text: str) -> bool:
    return _HEADER.fullmatch(text) is not None


def read_phylip(lines: Lines) -> Iterator[ProteinAlignment]:
    for piece in lines.pieces(is_phylip_header):
        (number, header), *rest = piece.filled()
        n_rows, n_columns = map(int, header.split()[:2])
        found = _alignment(piece, number, rest, n_rows, n_columns)
        if any("." in row for row in found.rows):
            raise lines.refuse(
                number,
                "found '.' in an alignment in PHYLIP, where it is the residue of the first sequence to some "
                "programs and a gap to others: write residues, and '-' for gaps",
            )
        yield found


def _alignment(lines: Lines, number: int, rest: Numbered, n_rows: int, n_columns: int) -> ProteinAlignment:
    refused = []
    for split, layout in product((_relaxed, _strict), (_interleaved, _sequential)):
        rows = Rows(lines, n_columns)
        try:
            layout(rows, rest, split, n_rows, n_columns)
            if len(rows) == n_rows:
                return rows.alignment()
        except DataError as error:
            refused.append(error)
    if len(rest) % n_rows == 0 and refused:
        raise refused[0]
    raise lines.refuse(
        number, f"found {len(rest)} lines after it, expected {n_rows} sequences of {n_columns} columns"
    )


def _interleaved(rows: Rows, rest: Numbered, split: Split, n_rows: int, _: int) -> None:
    names = list[str]()
    for k, (number, text) in enumerate(rest):
        if k < n_rows:
            name, text = split(text)
            rows.begin(number, name)
            names.append(name)
        rows.add(number, names[k % n_rows], _joined(text))


def _sequential(rows: Rows, rest: Numbered, split: Split, _: int, n_columns: int) -> None:
    name, missing = "", 0
    for number, text in rest:
        if not missing:
            name, text = split(text)
            rows.begin(number, name)
            missing = n_columns
        rows.add(number, name, piece := _joined(text))
        missing = max(0, missing - len(piece))


def _relaxed(text: str) -> tuple[str, str]:
    name, *row = text.split(maxsplit=1)
    return name, "".join(row)


def _strict(text: str) -> tuple[str, str]:
    return text[:STRICT_NAME].strip(), text[STRICT_NAME:]


def _joined(text: str) -> str:
    return "".join(text.split())
