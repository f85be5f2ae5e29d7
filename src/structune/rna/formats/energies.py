"""Files of nearest-neighbour energies as ViennaRNA has them (``.par``): tables of numbers below headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError, warn
from structune.files.text import Lines, Source, shown

Table = NDArray[np.float64]
_FIRST_LINE = re.compile(r"##\s*RNAfold parameter file v2")
_COMMENT = re.compile(r"/\*.*?\*/")
_WORDS = {"INF": np.inf, "NINF": -np.inf, "DEF": -50.0}
_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?")
_SHAPES: dict[
    str, tuple[int, ...]
] = {  # over pairs (CG, GC, GU, UG, AU, UA, any) and letters (any, A, C, G, U)
    "stack": (7, 7),
    "mismatch_hairpin": (7, 5, 5),
    "mismatch_internal": (7, 5, 5),
    "mismatch_internal_1n": (7, 5, 5),
    "mismatch_internal_23": (7, 5, 5),
    "mismatch_multi": (7, 5, 5),
    "mismatch_exterior": (7, 5, 5),
    "dangle5": (7, 5),
    "dangle3": (7, 5),
    "int11": (7, 7, 5, 5),
    "int21": (7, 7, 5, 5, 5),
    "int22": (6, 6, 4, 4, 4, 4),
    "hairpin": (31,),
    "bulge": (31,),
    "internal": (31,),
    "ML_params": (6,),
    "NINIO": (3,),
}
_LOOPS = ("Triloops", "Tetraloops", "Hexaloops")


def read_tables(source: Source) -> tuple[dict[str, Table], dict[str, float]]:
    """The tables of a file, and the energies of its special hairpins, in units of 0.01 kcal/mol.

    "Misc" has the initiation of two strands, its enthalpy, what an end of a helix costs that is not C-G, its
    enthalpy, and perhaps the slope of the logarithm of long loops.

    Raises
    ------
    DataError
        A section that is missing or of another size, or what is no number; names file and line.
    """
    lines, numbers, hairpins = Lines(source), dict[str, list[float]](), dict[str, float]()
    starts, section = dict[str, int](), ""
    for number, text in _filled(lines):
        if text.startswith("#"):
            section = text.lstrip("# ").strip()
            starts.setdefault(section, number)
            numbers.setdefault(section, [])
        elif section in _LOOPS:
            name, energy, *_ = [*text.split(), ""]
            hairpins[name] = _value(lines, number, section, energy)
        elif section in _SHAPES or section == "Misc":
            numbers[section] += [_value(lines, number, section, word) for word in text.split()]
    if missing := [name for name in (*_SHAPES, "Misc") if name not in numbers]:
        raise DataError(f"{lines.name}: found no section {missing[0]!r}")
    for name, shape in _SHAPES.items():
        if len(numbers[name]) != np.prod(shape):
            raise lines.refuse(
                starts[name], f"found {len(numbers[name])} numbers of {name}, expected {np.prod(shape)}"
            )
    if len(numbers["Misc"]) < 4:
        raise lines.refuse(
            starts["Misc"], f"found {len(numbers['Misc'])} numbers of Misc, expected at least 4"
        )
    tables = {name: np.array(numbers[name]).reshape(shape) for name, shape in _SHAPES.items()}
    _mend_stacks(tables["stack"], lines, starts["stack"])
    return {**tables, "Misc": np.array(numbers["Misc"])}, hairpins


def _filled(lines: Lines) -> Iterator[tuple[int, str]]:
    """Lines without comments that are not empty, after the first of the format."""
    is_first = True
    for number, text in lines.filled():
        if is_first and not _FIRST_LINE.match(text):
            raise lines.refuse(number, f"found {shown(text)}, expected '## RNAfold parameter file v2.0'")
        if not is_first and (rest := _COMMENT.sub("", text).strip()):
            yield number, rest
        is_first = False
    if is_first:
        raise DataError(f"{lines.name}: found no text, expected '## RNAfold parameter file v2.0'")


def _value(lines: Lines, number: int, section: str, word: str) -> float:
    if word in _WORDS:
        return _WORDS[word]
    if _NUMBER.fullmatch(word):
        return float(word)
    if section == "stack":
        return np.nan  # see `_mend_stacks`
    raise lines.refuse(number, f"found {shown(word)} in {section}, expected a number or INF")


def _mend_stacks(stack: Any, lines: Lines, number: int) -> None:
    """Take the other of two equal numbers for one that cannot be read: rna_turner2004.par has one."""
    unread = np.isnan(stack)
    if not unread.any():
        return
    if np.isnan(stack.T[unread]).any():
        raise lines.refuse(number, "found what are no numbers in stack")
    stack[unread] = stack.T[unread]
    warn(
        f"{lines.name}:{number}: found {np.count_nonzero(unread)} of stack that are no numbers; took those "
        "of the same stacks read from the other strand"
    )
