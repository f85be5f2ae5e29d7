"""Examples that are given in memory, of whatever type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from structune.errors import DataError


def as_list(values: Any, what: str) -> list[Any]:
    """The examples that were given, as a list; `DataError` for what is not several.

    Of a mapping, or a table of pandas, the names of columns would be taken for the examples.
    """
    is_table = isinstance(values, Mapping) or hasattr(values, "columns")
    if isinstance(values, str) or is_table or not isinstance(values, Iterable):
        raise DataError(f"found one {type(values).__name__}, expected a list of {what}")
    return list(values)
