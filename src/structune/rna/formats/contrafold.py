"""Parameter files of CONTRAfold and EternaFold: one name and number per line."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from structune.errors import DataError, warn
from structune.files.text import plural

_EVIDENCE = "log_score_evidence"  # distributions of reactivities of paired and unpaired bases


def read_contrafold(path: str | os.PathLike[str]) -> dict[str, float]:
    """Read a parameter file of CONTRAfold or EternaFold, as a dict from names to numbers.

    Parameters of probing data, ``log_score_evidence...`` in EternaFold's ``PLUS_POTENTIALS``, are left out,
    and a warning tells their number.

    Raises
    ------
    DataError
        A line is not a name and a finite number, or a name occurs twice. The error names file and line.
    """
    found: dict[str, float] = {}
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path}: the file is not text; expected a name and a number per line") from None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        value = math.nan  # of more words, or fewer, too
        with suppress(ValueError):
            name, word = line.split()
            value = float(word)
        if not math.isfinite(value):
            raise DataError(f"{path}:{number}: {line!r} is not a name and a finite number")
        if name in found:
            raise DataError(f"{path}:{number}: the name {name!r} occurs twice")
        found[name] = value
    weights = {name: value for name, value in found.items() if not name.startswith(_EVIDENCE)}
    if n := len(found) - len(weights):
        told = f"left out {plural(n, 'parameter')} of probing data ({_EVIDENCE}...). To fold with such data"
        warn(f"{path}: {told}, use --shape or ReactivityModel.")
    return weights


def write_contrafold(path: str | os.PathLike[str], parameters: Mapping[str, float]) -> None:
    """Write named parameters to a CONTRAfold parameter file, at full precision."""
    lines = [f"{name} {float(value)!r}\n" for name, value in parameters.items()]
    Path(path).write_text("".join(lines), encoding="utf-8")
