"""Constraints of letters alone below sequences, in files that are read without constraints: no bases."""

from __future__ import annotations

from collections.abc import Iterator

from structune.errors import DataError, warn
from structune.files.text import Lines, shown
from structune.rna.formats.strands import STRANDS

_LETTERS = set("x" + STRANDS)
_HEAD, _MOST = 1000, 300  # lines and records looked at
_ADVICE = "expected bases: constraints are read with --constraints, and masked bases with --input-format"


def are_constraints(sequence: str, text: str) -> bool:
    """Whether a line below a sequence has its length, and letters of constraints only."""
    return len(text) == len(sequence) and set(text) <= _LETTERS and not set(sequence) <= _LETTERS


def check_masked(lines: Lines) -> None:
    """Refuse a file of which each record is a sequence and such a line: they are not read, and stay."""
    record: list[str] = []
    n_found = 0
    for text in lines.head(_HEAD):
        if not text or text.startswith("#"):
            continue
        if text.startswith(">") != (not record):
            return
        record.append(text)
        if len(record) == 3:
            if not are_constraints(*record[1:]):
                return
            record, last, n_found = [], text, n_found + 1
            if n_found == _MOST:
                break
    if n_found and not record:
        raise DataError(f"{lines.name}: found {shown(last)} below each sequence, {_ADVICE} fasta")


def checked_masks(lines: Lines) -> Iterator[tuple[int, str]]:
    """The same lines; refuses such lines below sequences without headers, which are a line each.

    Below headers some records may be so, and others not: these are masked, and told if their bases have
    another case than the mask.
    """
    record: list[str] = []
    has_headers, n_masked = False, 0
    for number, text in lines:
        if text.startswith(">"):
            n_masked += _is_masked(record)
            record, has_headers = [], True
        elif text and not text.startswith("#"):
            if not has_headers and record and are_constraints(record[0], text):
                raise lines.refuse(
                    number, f"found {shown(text)} below a sequence of its length, {_ADVICE} plain"
                )
            record = [*record[:2], text] if has_headers else [text]
        yield number, text
    if n_masked := n_masked + (has_headers and _is_masked(record)):
        warn(
            f"{lines.name}: read lines of x below {n_masked:,} sequences of their length as masked bases, as "
            "other sequences have none; constraints are read with --constraints"
        )


def _is_masked(record: list[str]) -> bool:
    return len(record) == 2 and not record[0].islower() and are_constraints(*record)
