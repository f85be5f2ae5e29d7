"""What a gene is to a model: strands, splice sites, lengths of introns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structune.errors import DataError

START, STOPS, ACCEPTOR = "ATG", ("TAA", "TAG", "TGA"), "AG"
STRANDS, DONORS = ("both", "forward"), ("GT", "GC")
SHORTEST_INTRON = 4  # that has both its ends
MOST_INTRON = 10**4  # of the shortest and the longest that is scored: tables grow with them


@dataclass(frozen=True)
class GeneRules:
    """Where genes may be, and their introns.

    Parameters
    ----------
    strands : {"both", "forward"}
    donors : sequence of {"GT", "GC"}
        First two bases of introns.
    introns : (int, int)
        The shortest intron, and the longest whose length has a score of its own.

    Raises
    ------
    DataError
        Names what is none of these.
    """

    strands: str = "both"
    donors: Sequence[str] = ("GT",)
    introns: tuple[int, int] = (SHORTEST_INTRON, SHORTEST_INTRON)

    def __post_init__(self) -> None:
        if self.strands not in STRANDS:
            raise DataError(f"strands={self.strands!r}: expected one of {STRANDS}")
        is_list = isinstance(self.donors, Sequence) and not isinstance(self.donors, str)
        if not is_list or not self.donors or any(donor not in DONORS for donor in self.donors):
            raise DataError(f"donors={self.donors!r}: expected some of {', '.join(map(repr, DONORS))}")
        if not SHORTEST_INTRON <= self.introns[0] <= self.introns[1]:
            raise DataError(
                f"introns={self.introns!r}: expected the shortest, {SHORTEST_INTRON} or more, and the longest"
            )

    @property
    def signs(self) -> str:
        """The strands, as annotations call them."""
        return "+-" if self.strands == "both" else "+"
