"""Which numbers parameters may be: declared beside them, and checked by each fit, as scikit-learn has it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.errors import DataError


@dataclass(frozen=True)
class Range:
    """Numbers from `least` on, or between `least` and `most`.

    Attributes
    ----------
    least, most : float
    open : bool
        Whether the ends are left out.
    whole : bool
        Whole numbers only.
    optional : bool
        None is allowed, too.
    """

    least: float = 0.0
    most: float = math.inf
    open: bool = False
    whole: bool = False
    optional: bool = False

    def __contains__(self, value: Any) -> bool:
        if value is None:
            return self.optional
        kinds = (int, np.integer) if self.whole else (int, float, np.integer, np.floating)
        if isinstance(value, bool) or not isinstance(value, kinds):
            return False
        number = float(value)
        return self.least < number < self.most if self.open else self.least <= number <= self.most

    def __str__(self) -> str:
        kind = "whole " if self.whole else "finite " if self.open and self.most == math.inf else ""
        if self.most < math.inf:
            before, amid = ("between", "and") if self.open else ("from", "to")
            where = f"{before} {self.least} {amid} {self.most}"
        else:
            where = f"{'>' if self.open else '>='} {self.least}"
        return f"{'None or ' if self.optional else ''}a {kind}number {where}"


def check_ranges(owner: Any, ranges: Mapping[str, Range]) -> None:
    """Raise a `DataError` for the first attribute outside its range; those that are not there are skipped."""
    for name, allowed in ranges.items():
        if hasattr(owner, name):
            check_number(name, getattr(owner, name), allowed)


def check_number(name: str, value: Any, allowed: Range) -> None:
    """Raise a `DataError` for a parameter or an argument outside its range."""
    if value not in allowed:
        raise DataError(f"{name}={value!r}: expected {allowed}")
