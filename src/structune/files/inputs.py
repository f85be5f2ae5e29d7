"""Examples that are given in memory, of whatever type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from structune.errors import DataError


def as_list(values: Any, what: str) -> list[Any]:
    """The examples that were given, as a list; `DataError` for what is not several."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DataError(f"found one {type(values).__name__}, expected a list of {what}")
    return list(values)
