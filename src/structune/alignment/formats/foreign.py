"""What files of other formats look like, and their errors."""

from __future__ import annotations

from structune.errors import DataError
from structune.files.looks_like import looks_like
from structune.files.text import Lines, shown

HEAD = 100  # lines that may come before what tells the format
_LONGEST = 4000  # characters of a line that are looked at


def first_line(lines: Lines) -> str:
    """The first that is neither blank nor a comment; empty if there is none."""
    return next((text for text in lines.head(HEAD) if text and not text.startswith("#")), "")


def looks(lines: Lines) -> str | None:
    """The format that the first lines seem to have."""
    return looks_like("\n".join(text[:_LONGEST] for text in lines.head(HEAD)))


def foreign(lines: Lines, expected: str) -> DataError:
    """The error of a file that is not what was expected."""
    first = next((text for text in lines.head(HEAD) if text), None)
    if first is None:
        return DataError(f"{lines.name}: found an empty file, expected {expected}")
    found = looks(lines)
    if found is None:
        return DataError(f"{lines.name}: found {shown(first)}, expected {expected}")
    return DataError(f"{lines.name}: the file looks like {found}, expected {expected}: convert it first")
