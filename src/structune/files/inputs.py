"""Examples that are given in memory, of whatever type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

from structune.errors import DataError


def as_list(values: Any, what: str) -> list[Any]:
    """The examples that were given, as a list; `DataError` for what is not several.

    Of a mapping, or a table of pandas, the names of columns would be taken for the examples.
    """
    is_table = isinstance(values, Mapping) or hasattr(values, "columns")
    is_one = isinstance(values, str | bytes) or getattr(values, "ndim", 1) == 0
    if is_one or is_table or not isinstance(values, Iterable):
        raise DataError(f"found one {type(values).__name__}, expected a list of {what}")
    return list(values)


def checked_length(n: Any, name: str = "n") -> int:
    """A length, of which a sequence is none."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 0:
        raise DataError(f"{name}={n!r:.60}: expected the length of a sequence, a whole number >= 0")
    return int(n)
