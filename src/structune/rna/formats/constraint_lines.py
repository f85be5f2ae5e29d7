"""Constraints of letters alone below sequences, in files that are read without constraints: no bases."""

from __future__ import annotations

from collections.abc import Iterator

from structune.errors import DataError
from structune.files.text import Lines, shown
from structune.rna.formats.strands import STRANDS

_LETTERS = set("x" + STRANDS)
_HEAD, _MOST = 1000, 300  # lines and records looked at
_ADVICE = (
    "expected bases: constraints are read with --constraints, and masked bases with --input-format fasta "
    "(format='fasta')"
)


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
        raise DataError(f"{lines.name}: found {shown(last)} below each sequence, {_ADVICE}")


def refuse_constraints(lines: Lines) -> Iterator[tuple[int, str]]:
    """The same lines; refuses such lines where bases are in upper case, or have no headers.

    Bases that are masked have the case of others, and stay.
    """
    record: list[str] = []
    has_headers, found = False, 0
    for number, text in lines:
        if text.startswith(">"):
            _check(lines, found, record)
            record, has_headers, found = [], True, 0
        elif text and not text.startswith("#"):
            found = number if len(record) == 1 and are_constraints(record[0], text) else 0
            if found and not has_headers:
                _check(lines, found, [record[0].upper(), text])
            record = [*record[:2], text] if has_headers else [text]
        yield number, text
    _check(lines, found, record)


def _check(lines: Lines, number: int, record: list[str]) -> None:
    if number and len(record) == 2 and not record[0].islower():
        raise lines.refuse(number, f"found {shown(record[1])} below a sequence of its length, {_ADVICE}")
