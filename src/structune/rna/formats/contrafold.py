"""Parameter files of CONTRAfold and EternaFold: a name and a number a line."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
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
        told = "found bytes that are no text, expected a name and a number a line"
        raise DataError(f"{path}: {told}") from None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        value = math.nan  # of more words, or fewer, too
        with suppress(ValueError):
            name, word = line.split()
            value = float(word)
        if not math.isfinite(value):
            raise DataError(f"{path}:{number}: found {line!r}, expected a name and a finite number")
        if name in found:
            raise DataError(f"{path}:{number}: found {name!r} a second time")
        found[name] = value
    return found


def write_contrafold(path: str | os.PathLike[str], parameters: Mapping[str, float]) -> None:
    """Write parameters, with all their digits."""
    lines = [f"{name} {float(value)!r}\n" for name, value in parameters.items()]
    Path(path).write_text("".join(lines), encoding="utf-8")
