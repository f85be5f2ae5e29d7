"""Reactivities of probed bases: tables of one sequence, or a line of numbers below each name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.files.text import Lines, Source, header_name, shown

_MISSING = frozenset(("NA", "NAN", "N/A", "-", ""))
_MOST_PLACES = 10_000_000
_NONE = -500.0  # and less: RNAstructure writes -999 where there is none
_KNOWN = set("ACGU")  # letters that are compared
_LOOKS = {"reactivities", "BPSEQ", "FASTA"}  # names of `looks_like` that tables and lists may have
_ADVICE = "reactivities are read from tables of places and values, or from lists below lines '>name'"


class Reactivities(np.ndarray[Any, np.dtype[np.float64]]):
    """Those of the bases of a sequence, and its letters, where a file has them.

    What is computed from them has no letters.
    """

    letters = ""

    @classmethod
    def of(cls, values: Any, letters: str) -> Reactivities:
        """Values, and a letter for each, N where there is none."""
        found = np.array(values, np.float64).view(cls)
        found.letters = letters.upper().replace("T", "U")
        return found


def check_letters(sequence: str, reactivities: Any) -> None:
    """Refuse reactivities whose file has other letters than the sequence; N and the like are not compared."""
    letters, bases = getattr(reactivities, "letters", ""), sequence.upper().replace("T", "U").replace("&", "")
    if len(letters) > len(bases):
        raise DataError(f"found reactivities of {len(letters)} bases for {len(bases)}")
    pairs = list(enumerate(zip(letters, bases, strict=False), 1))
    if wrong := [k for k, (one, other) in pairs if one != other and {one, other} <= _KNOWN]:
        place = wrong[0]
        raise DataError(
            f"found reactivities of another sequence, or shifted ones: base {place} (from 1) is "
            f"{letters[place - 1]} in their file and {bases[place - 1]} in the sequence, and {len(wrong)} of "
            f"{len(pairs)} letters differ"
        )


def read_reactivities(source: Source) -> dict[str, Reactivities]:
    """Read reactivities, by the name of their sequence, in the order of the file.

    Parameters
    ----------
    source : path or file object
        A table, as ViennaRNA and RNAstructure read it: a line a base, its place, from 1, its reactivity,
        and perhaps its letter and an error. Or, for many sequences, a line ``>name`` and the reactivities of
        all bases below it, on any number of lines, separated by blanks, tabs or commas; lines of letters
        are the sequence.

    Returns
    -------
    dict of str to ndarray
        nan where there is none: NA, nan, -999, or a place that is left out. That of a table, which ends
        with its last place, has the name "". Letters of the file are in the attribute ``letters`` of each,
        and are compared with the sequence where both are used (`ReactivityModel.paired`).

    Raises
    ------
    DataError
        Names the file and line of what is no number or no place, and of pairs in place of reactivities.
    """
    lines = Lines(source)
    with lines.told_by_look(_LOOKS, _ADVICE):
        return dict(_read(lines))


def _read(lines: Lines) -> Iterator[tuple[str, Reactivities]]:
    first = next((text for text in lines.head(1000) if text and not text.startswith("#")), "")
    if not first:
        raise DataError(f"{lines.name}: found no reactivities")
    if not first.startswith(">"):
        yield "", _table(lines)
        return
    names = set[str]()
    has_values = False
    for piece in lines.checked(_filled).pieces(lambda text: text.startswith(">")):
        name, found = _list(piece, len(names) + 1, names)
        names.add(name)
        has_values = has_values or found.size > 0
        yield name, found
    if not has_values:
        raise DataError(f"{lines.name}: found names, and no reactivities below them")


def _list(lines: Lines, count: int, names: set[str]) -> tuple[str, Reactivities]:
    """The name and the reactivities of one sequence."""
    (first, header), *rest = lines
    if (name := header_name(header, count)) in names:
        raise lines.refuse(first, f"found the name {shown(name)} a second time")
    values, letters = list[float](), ""
    for number, text in rest:
        words = text.replace(",", " ").split()
        if all(word.isalpha() and word.upper() not in _MISSING for word in words):
            letters += "".join(words)
        else:
            values += [_number(lines, number, word) for word in words]
    if values and letters and len(values) != len(letters):
        found = f"found {len(letters)} letters and {len(values)} reactivities of {shown(name)}"
        raise lines.refuse(first, f"{found}, expected as many (NA where there is none)")
    return name, Reactivities.of(values, letters)


def _filled(lines: Lines) -> Iterator[tuple[int, str]]:
    return ((number, text) for number, text in lines.filled() if not text.startswith("#"))


def _table(lines: Lines) -> Reactivities:
    rows: dict[int, tuple[float, str]] = {}
    for number, text in _filled(lines):
        place, *words = text.replace(",", " ").split()
        letters = [word for word in words if len(word) == 1 and word.isalpha()]
        numbers = [word for word in words if word not in letters] or words[-1:]
        if not (1 <= len(numbers) <= 2 and len(letters) <= 1 and _is_place(place)):
            raise lines.refuse(number, f"found {shown(text)}, expected a place, from 1, and a reactivity")
        if int(place) in rows:
            raise lines.refuse(number, f"found the place {place} a second time")
        value, *_error = [_number(lines, number, word) for word in numbers]
        rows[int(place)] = value, letters[0] if letters else "N"
    n = max(rows)
    if _are_pairs({place: value for place, (value, _) in rows.items()}):
        raise DataError(f"{lines.name}: found pairs of bases, as BPSEQ has them, expected reactivities")
    values = [rows.get(place, (np.nan,))[0] for place in range(1, n + 1)]
    letters_of_all = "".join(rows[place][1] if place in rows else "N" for place in range(1, n + 1))
    return Reactivities.of(values, letters_of_all)


def _are_pairs(values: dict[int, float]) -> bool:
    """Whether all values but 0 are places, each that of the other of a pair."""
    partners = {place: int(value) for place, value in values.items() if np.isfinite(value) and value != 0.0}
    return bool(partners) and all(
        values[place] == other != place and partners.get(other) == place for place, other in partners.items()
    )


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
