"""Constraints of letters alone below sequences, in files that are read without constraints: no bases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from structune.errors import DataError, warn
from structune.files.text import Lines, shown
from structune.rna.formats.strands import STRANDS

_LETTERS = set("x" + STRANDS)
_HEAD, _MOST = 1000, 300  # lines and records looked at
_ADVICE = "expected bases: constraints are read with --constraints, and masked bases with --input-format"


def are_constraints(sequence: str, text: str) -> bool:
    """Whether a line below a sequence has its length, and letters of constraints only."""
    return len(text) == len(sequence) and set(text) <= _LETTERS and not set(sequence) <= _LETTERS


class _Marks:
    """How many letters of a record are bases, and how many in lines of constraint letters below them."""

    def __init__(self) -> None:
        self.n_bases = self.n_marks = 0

    def add(self, text: str) -> None:
        if self.n_bases and set(text) <= _LETTERS:
            self.n_marks += len(text)
        elif set(text) <= _LETTERS and not self.n_marks:
            self.n_marks = -1  # a record that begins so has masked bases
        else:
            self.n_bases, self.n_marks = self.n_bases + max(self.n_marks, 0) + len(text), 0

    @property
    def are_of_all(self) -> bool:
        """Whether there is one below each base."""
        return self.n_marks == self.n_bases > 0


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
            elif before and are_constraints(before, text):
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
