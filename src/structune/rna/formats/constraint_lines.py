"""Constraints of letters alone below sequences, in files that are read without constraints: no bases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from structune.errors import DataError, warn
from structune.files.text import Lines, shown
from structune.rna.formats.strands import STRANDS

_LETTERS = frozenset("x" + STRANDS)
_HEAD, _MOST = 1000, 300  # lines and records looked at
_ADVICE = "expected bases: constraints are read with --constraints, and masked bases with --input-format"


class _Marks:
    """How many letters of a record are bases, and how many are constraints in lines below them."""

    def __init__(self, letters: frozenset[str] = _LETTERS) -> None:
        self._letters = letters
        self.n_bases = self.n_marks = 0

    def add(self, text: str) -> None:
        """The next line: such lines before one of bases are masked bases."""
        if self._letters.issuperset(text):
            self.n_marks += len(text)
        else:
            self.n_bases, self.n_marks = self.n_bases + self.n_marks + len(text), 0

    @property
    def are_of_all(self) -> bool:
        """Whether there is one below each base."""
        return self.n_marks == self.n_bases > 0


def end_in_constraints(parts: Iterable[str], letters: frozenset[str] = _LETTERS) -> bool:
    """Whether the last lines of a sequence have letters of constraints only, as many as the bases above."""
    marks = _Marks(letters)
    for part in parts:
        marks.add(part)
    return marks.are_of_all


def check_masked(lines: Lines) -> None:
    """Refuse a file of which each record is a sequence and such lines: they are not read, and stay."""
    head = (text for text in lines.head(_HEAD) if text and not text.startswith("#"))
    marks, last, n_found = None, "", 0
    for text in chain(head, [">"]):  # one by one: a program may wait for an answer
        if text.startswith(">"):
            if marks is not None and not marks.are_of_all:
                return
            n_found += marks is not None
            marks = _Marks()
            if n_found == _MOST:
                break
        elif marks is None:
            return
        else:
            marks.add(text)
            last = text
    if n_found:
        raise DataError(f"{lines.name}: found {shown(last)} below each sequence, {_ADVICE} fasta")


def checked_masks(lines: Lines) -> Iterator[tuple[int, str]]:
    """The same lines; refuses such lines below sequences without headers, which are a line each.

    Below headers some records may be so, and others not: these are masked, and told.
    """
    marks, before, n_masked = None, "", 0
    for number, text in lines:
        if text.startswith(">"):
            n_masked += marks is not None and marks.are_of_all
            marks = _Marks()
        elif text and not text.startswith("#"):
            if marks is not None:
                marks.add(text)
            elif end_in_constraints([before, text]):
                raise lines.refuse(
                    number, f"found {shown(text)} below a sequence of its length, {_ADVICE} plain"
                )
            before = text
        yield number, text
    if n_masked := n_masked + (marks is not None and marks.are_of_all):
        warn(
            f"{lines.name}: read the lines of x below {n_masked:,} sequences, of the same length, as masked "
            "bases, because other sequences have none; constraints are read with --constraints"
        )
