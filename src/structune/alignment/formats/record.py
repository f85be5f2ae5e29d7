"""An alignment as files hold it."""

from __future__ import annotations

from typing import NamedTuple

from structune.alignment.structure.rows import GAPS


class ProteinAlignment(NamedTuple):
    """Rows of the same length with ``-`` or ``.`` for gaps, and their names."""

    names: list[str]
    rows: list[str]

    def pair(self, a: int, b: int) -> tuple[str, str]:
        """Rows of two sequences, without the columns where both have gaps."""
        columns = zip(self.rows[a], self.rows[b], strict=True)
        kept = [(x, y) for x, y in columns if x not in GAPS or y not in GAPS]
        x, y = zip(*kept, strict=True) if kept else ((), ())
        return "".join(x), "".join(y)
