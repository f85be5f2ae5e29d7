"""What BPSEQ and CT files share: a base a line, with its index and its partner's."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import numpy as np

from structune.files.text import Lines, one_word, shown
from structune.rna.formats.brackets import to_dot_bracket
from structune.rna.formats.record import RNARecord, clean_sequence
from structune.rna.formats.strands import STRANDS, cut_as

_LABEL = re.compile(r"#?\s*(?:name\s*:|(file)(?:name)?\b\s*:?)\s*(\S.*)", re.IGNORECASE)
_ENDING = re.compile(r"\.(bpseq|ct|nopct)$", re.IGNORECASE)


class PairTable:
    """The bases of one structure, checked as they come."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._numbers: list[int] = []
        self._bases: list[str] = []
        self._partners: list[int] = []

    def __len__(self) -> int:
        return len(self._bases)

    def add(self, number: int, index: str, base: str, partner: str) -> None:
        """The next base, from line `number`; the partner is counted from 1, 0 for none."""
        if whole(self._lines, number, index) != len(self) + 1:
            raise self._lines.refuse(number, f"found the index {index}, expected {len(self) + 1}")
        if len(base) != 1:
            raise self._lines.refuse(number, f"found the base {shown(base)}, expected one letter")
        with self._lines.at(number):
            self._bases.append(clean_sequence(base))
        self._partners.append(whole(self._lines, number, partner))
        self._numbers.append(number)

    def record(self, number: int, name: str, ends: Collection[int] = ()) -> RNARecord:
        """The record; `number` is the line that has its name, `ends` are last bases of strands."""
        for i, j in enumerate(self._partners, 1):
            self._check_pair(i, j)
        with self._lines.at(number):
            structure = to_dot_bracket(np.array(self._partners, np.int64) - 1)
            sequence = "".join(base + STRANDS * (k in ends) for k, base in enumerate(self._bases, 1))
            return RNARecord(name, sequence, cut_as(sequence, structure))

    def _check_pair(self, i: int, j: int) -> None:
        if j == 0:
            return
        number = self._numbers[i - 1]
        if j > len(self):
            raise self._lines.refuse(number, f"found the partner {j}, expected 0 to {len(self)}")
        if j == i:
            raise self._lines.refuse(number, f"found base {i} paired with itself")
        if self._partners[j - 1] != i:
            raise self._lines.refuse(
                number,
                f"found base {i} paired with {j}, but base {j} with {self._partners[j - 1]} "
                f"in line {self._numbers[j - 1]}",
            )


def whole(lines: Lines, number: int, word: str) -> int:
    """A number of at most nine digits."""
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise lines.refuse(number, f"found {shown(word)}, expected a number from 0")
    return int(word)


def is_label(text: str) -> bool:
    """Whether a line is a comment, or one like ``Organism: ...`` above the bases."""
    return text.startswith("#") or (":" in text and not text[0].isdigit())


def label_name(text: str) -> str:
    """The name in a line like ``Filename: d.5.e.bpseq`` or ``#Name: d.5.e``; empty where there is none."""
    if not (match := _LABEL.match(text)):
        return ""
    return one_word(_ENDING.sub("", match[2]) if match[1] else match[2])


def file_stem(lines: Lines) -> str:
    """Name of the file without its ending; ``1`` for a source without a name."""
    if lines.name.startswith("<"):
        return "1"
    return one_word(Path(lines.name.removesuffix(".gz")).stem)
