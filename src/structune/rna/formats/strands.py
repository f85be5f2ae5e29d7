"""Two strands as text, ``A&B``: in sequences, structures and constraints."""

from __future__ import annotations

from structune.errors import DataError
from structune.files.text import shown

STRANDS = "&"  # between two


def bases_of(text: str) -> str:
    """The bases of all strands, or what is said of them."""
    return text.replace(STRANDS, "")


def cut_as(cut: str, text: str) -> str:
    """What is said of bases, cut into strands as another text is."""
    for nick in (k for k, character in enumerate(cut) if character == STRANDS):
        text = text[:nick] + STRANDS + text[nick:]
    return text


def check_strands(sequence: str) -> None:
    """Refuse more strands than two, and empty ones."""
    strands = sequence.split(STRANDS)
    if len(strands) > 2 or (len(strands) == 2 and not all(strands)):
        raise DataError(f"found {STRANDS} in {shown(sequence)}, expected it once, between two strands")


def check_cut(text: str, n: int, nick: int, what: str) -> None:
    """Refuse what is said of another number of bases than n, or not cut at `nick`, -1 for one strand."""
    if (found := len(bases_of(text))) != n:
        raise DataError(f"found {what} of length {found} for {n} bases")
    if (places := [k for k, character in enumerate(text) if character == STRANDS]) != [nick] * (nick >= 0):
        expected = f"{nick + 1}, as in the sequence" if nick >= 0 else "none, for the sequence has one strand"
        told = ", ".join(str(k + 1) for k in places) or "none"
        raise DataError(f"found {STRANDS} in {what} at the positions {told} (from 1), expected {expected}")
