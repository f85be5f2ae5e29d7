"""Reactivities of probed bases: tables of one sequence, or a line of numbers below each name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from structune.errors import DataError
from structune.files.text import Lines, Source, header_name, shown
from structune.structure import FloatArray

_MISSING = frozenset(("NA", "NAN", "N/A", "-", ""))
_MOST_PLACES = 10_000_000
_NONE = -500.0  # and less: RNAstructure writes -999 where there is none


def read_reactivities(source: Source) -> dict[str, FloatArray]:
    """Read reactivities, by the name of their sequence, in the order of the file.

    Parameters
    ----------
    source : path or file object
        A table, as ViennaRNA and RNAstructure read it: a line a base, its place, from 1, perhaps its
        letter, and its reactivity. Or, for many sequences, a line ``>name`` and the reactivities of all
        bases below it, on any number of lines, separated by blanks, tabs or commas; lines of letters (the
        sequence) are passed over.

    Returns
    -------
    dict of str to ndarray
        nan where there is none: NA, nan, -999, or a place that is left out. That of a table, which ends
        with its last place, has the name "".

    Raises
    ------
    DataError
        Names the file and line of what is no number or no place.
    """
    lines = Lines(source)
    first = next((text for text in lines.head(1000) if text and not text.startswith("#")), "")
    if not first:
        raise DataError(f"{lines.name}: found no reactivities")
    if not first.startswith(">"):
        return {"": _table(lines)}
    found: dict[str, list[float]] = {}
    name = ""
    for number, text in _filled(lines):
        if text.startswith(">"):
            name = header_name(text, len(found) + 1)
            if name in found:
                raise lines.refuse(number, f"found the name {shown(name)} a second time")
            found[name] = []
            continue
        words = text.replace(",", " ").split()
        if not all(word.isalpha() and word.upper() not in _MISSING for word in words):
            found[name] += [_number(lines, number, word) for word in words]
    return {name: np.array(values) for name, values in found.items()}


def _filled(lines: Lines) -> Iterator[tuple[int, str]]:
    return ((number, text) for number, text in lines.filled() if not text.startswith("#"))


def _table(lines: Lines) -> FloatArray:
    values: dict[int, float] = {}
    for number, text in _filled(lines):
        words = text.replace(",", " ").split()
        if not 2 <= len(words) <= 4 or not _is_place(words[0]):
            raise lines.refuse(number, f"found {shown(text)}, expected a place, from 1, and a reactivity")
        letter = len(words) > 2 and words[1].isalpha() and words[1].upper() not in _MISSING
        if int(words[0]) in values:
            raise lines.refuse(number, f"found the place {words[0]} a second time")
        values[int(words[0])] = _number(lines, number, words[2 if letter else 1])
    row = np.full(max(values), np.nan)
    row[np.array(list(values)) - 1] = list(values.values())
    return row


def _is_place(word: str) -> bool:
    return word.isdecimal() and 0 < int(word) <= _MOST_PLACES


def _number(lines: Lines, number: int, word: str) -> float:
    if word.upper() in _MISSING:
        return np.nan
    try:
        value = float(word)
    except ValueError:
        raise lines.refuse(number, f"found {shown(word)}, expected a reactivity") from None
    return value if _NONE < value < np.inf else np.nan
