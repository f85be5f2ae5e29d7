"""Rows that come in pieces."""

from __future__ import annotations

from structune.alignment.formats.record import ProteinAlignment
from structune.files.text import Lines, shown


class Rows:
    """Rows in the order of their names, which may come in pieces.

    They must have as many columns as the first, if their number is not given.
    """

    def __init__(self, lines: Lines, n_columns: int | None = None) -> None:
        self._lines, self._n_columns = lines, n_columns
        self._pieces: dict[str, list[str]] = {}
        self._first: dict[str, int] = {}
        self._block: set[str] = set()

    def __len__(self) -> int:
        return len(self._pieces)

    def __contains__(self, name: str) -> bool:
        return name in self._pieces

    def begin(self, number: int, name: str) -> None:
        """A name that must be new."""
        if name in self:
            raise self._lines.refuse(
                number, f"found the name {shown(name)} again, first in {self._first[name]}"
            )
        self._pieces[name], self._first[name] = [], number

    def end_block(self) -> None:
        """From here on names may be there again."""
        self._block = set()

    def add_to_block(self, number: int, name: str, piece: str) -> None:
        """The next piece of a row, of which a block has one."""
        if name in self._block:
            raise self._lines.refuse(number, f"found the name {shown(name)} again in a block")
        self._block.add(name)
        self.add(number, name, piece)

    def add(self, number: int, name: str, piece: str) -> None:
        if name not in self:
            self.begin(number, name)
        self._pieces[name].append(piece)

    def alignment(self) -> ProteinAlignment:
        rows = {name: "".join(pieces) for name, pieces in self._pieces.items()}
        length = self._n_columns
        if length is None:
            length = len(next(iter(rows.values()), ""))
        for name, row in rows.items():
            if len(row) != length:
                raise self._lines.refuse(
                    self._first[name],
                    f"found a row of {len(row)} columns for {shown(name)}, expected {length} as in all rows: "
                    "is it an alignment?",
                )
        return ProteinAlignment(list(rows), list(rows.values()))
