"""Parameter files of CONTRAfold and EternaFold: a name and a number a line."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

from structune.errors import DataError


def read_contrafold(path: str | os.PathLike[str]) -> dict[str, float]:
    """The parameters of a file, by name.

    Raises
    ------
    DataError
        A line that is not a name and a finite number, or a name that comes twice. Names file and line.
    """
    found: dict[str, float] = {}
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(
            f"{path}: found bytes that are no text, expected a name and a number a line"
        ) from None
    for number, line in enumerate(text.splitlines(), 1):
        if not (words := line.split()):
            continue
        value = _number(words[1]) if len(words) == 2 else None
        if value is None:
            raise DataError(f"{path}:{number}: found {line!r}, expected a name and a finite number")
        if words[0] in found:
            raise DataError(f"{path}:{number}: found {words[0]!r} a second time")
        found[words[0]] = value
    return found


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def write_contrafold(path: str | os.PathLike[str], parameters: Mapping[str, float]) -> None:
    """Write parameters, with all their digits."""
    lines = [f"{name} {float(value)!r}\n" for name, value in parameters.items()]
    Path(path).write_text("".join(lines), encoding="utf-8")
