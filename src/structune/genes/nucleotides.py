"""Nucleotides as numbers, as all gene models see them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError

LETTERS = "ACGTN"
Letters = NDArray[np.int8]
_CODES = np.full(256, -1, np.int8)
for _letters, _code in zip((*"ACGT", "NRYSWKMBDHVX"), range(5), strict=True):
    for _letter in _letters:
        _CODES[ord(_letter)] = _CODES[ord(_letter.lower())] = _code
_CODES[ord("U")] = _CODES[ord("u")] = 3


def encode_letters(text: str, name: str) -> NDArray[np.int8]:
    """Places in `LETTERS`; `name` is for errors."""
    if not isinstance(text, str):
        raise DataError(f"{name} must be a string of nucleotides, not {type(text).__name__}")
    codes = _CODES[np.frombuffer(text.encode("latin-1", "replace"), np.uint8)]
    wrong = np.flatnonzero(codes < 0)
    if wrong.size:
        told = f"{text[wrong[0]]!r} is not a nucleotide. Allowed: ACGTU and IUPAC codes"
        raise DataError(f"{name}, position {wrong[0] + 1}: {told}")
    return codes


def reverse_complement(letters: Letters) -> Letters:
    """The other strand."""
    # A, C, G, T are 0 to 3, so that 3 - a is the complement
    return np.ascontiguousarray(np.where(letters < 4, 3 - letters, 4).astype(np.int8)[::-1])
