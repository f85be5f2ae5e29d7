"""Checks of examples that are given in memory, in any type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

from structune.errors import DataError


def as_list(values: Any, what: str) -> list[Any]:
    """Examples as a list; raises `DataError` for a single value, a mapping or a table.

    In a mapping or a table of pandas or Polars, the names of columns would be taken for the examples, and in
    a grouped table pairs of a name and a table. A Series, also of Series, becomes a list of lists.
    """
    if type(values) is list:
        return values.copy()
    if hasattr(values, "to_list"):
        return list(values.to_list())
    is_table = isinstance(values, Mapping) or any(hasattr(type(values), name) for name in ("columns", "agg"))
    is_one = isinstance(values, str | bytes) or getattr(values, "ndim", 1) == 0
    if is_one or is_table or not isinstance(values, Iterable):
        raise DataError(f"give a list of {what}, not one {type(values).__name__}")
    return list(values)


def checked_length(n: Any, name: str = "n") -> int:
    """A length as an int; raises `DataError` for anything else, such as a sequence."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 0:
        raise DataError(f"{name}={n!r:.60}: expected the length of a sequence, a whole number >= 0")
    return int(n)
