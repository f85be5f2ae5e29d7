"""Two strands, ``A&B``, as one sequence: GAP places that are absent stand between them.

So no loop of two pairs spans both strands, and nothing but the loop between them has to know of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structune.errors import DataError
from structune.rna.formats.strands import STRANDS
from structune.rna.kernels.loops import ABSENT, GAP
from structune.structure import Array, IntArray


def nick_of(letters: Array) -> int:
    """Where the first of two strands ends; the number of bases of one strand."""
    return int(np.argmax(letters == ABSENT)) if _is_cut(letters) else letters.size


def _is_cut(letters: Array) -> bool:
    return bool(np.any(letters == ABSENT))


def check_strands(letters: Array) -> None:
    """Refuse letters from a file that are neither one strand nor two."""
    absent, last = np.flatnonzero(letters == ABSENT), letters.size - 1
    if absent.size and not (np.ptp(absent) == absent.size - 1 == GAP - 1 and 0 < absent[0] <= last - GAP):
        raise DataError(f"found absent letters, expected none, or {GAP} between two strands")


def is_base(letters: Array) -> Any:
    """Of each place, whether a base is there."""
    return letters != ABSENT


def places(letters: Array) -> IntArray:
    """The places of all bases."""
    return np.flatnonzero(is_base(letters))


def shown_base(k: int, nick: int) -> int:
    """The number of the base at a place, counted through both strands, of which the first ends at `nick`."""
    return k if k < nick else k - GAP


def strands_of(letters: Array) -> tuple[int, int]:
    """The number of bases, and that of the first strand, or -1 if there is one."""
    n, nick = int(np.count_nonzero(is_base(letters))), nick_of(letters)
    return n, nick if nick < letters.size else -1


def places_of(text: str) -> list[int]:
    """The place of each character of a notation."""
    nick = text.find(STRANDS)
    return [k if nick < 0 or k <= nick else k + GAP - 1 for k in range(len(text))]


def opened(text: str) -> str:
    """A notation with all places between two strands."""
    return text.replace(STRANDS, GAP * ".")
