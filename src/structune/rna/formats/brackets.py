"""Dot-bracket notation of secondary structures, with pseudoknots."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.rna.formats.nested import IntArray, ends_of, is_crossed, largest_nested, pairs_of
from structune.rna.formats.strands import STRANDS, bases_of, cut_as

OPENING = "([{<" + ascii_uppercase
CLOSING = ")]}>" + ascii_lowercase
_OPENED_BY = dict(zip(CLOSING, OPENING, strict=True))


def partners(structure: str) -> IntArray:
    """Partner of each base of a structure in dot-bracket notation.

    Parameters
    ----------
    structure : str
        ``.`` for an unpaired base, and for pairs ``()``, ``[]``, ``{}``, ``<>`` and ``Aa`` to ``Zz``. Pairs
        of different kinds may cross. ``&`` between two strands is no base.

    Returns
    -------
    ndarray of int64, shape (n_bases,)
        From 0; -1 for an unpaired base.

    Raises
    ------
    DataError
        Names the position, from 1, of an unknown character or an unmatched bracket.
    """
    if STRANDS in structure:
        return _of_strands(structure)
    found = np.full(len(structure), -1, np.int64)
    stacks: dict[str, list[int]] = {opening: [] for opening in OPENING}
    for j, character in enumerate(structure):
        if character in stacks:
            stacks[character].append(j)
        elif opening := _OPENED_BY.get(character):
            if not stacks[opening]:
                raise DataError(f"position {j + 1} (from 1): found {character!r} without its {opening!r}")
            i = stacks[opening].pop()
            found[i], found[j] = j, i
        elif character != ".":
            raise DataError(
                f"position {j + 1} (from 1): found {character!r}, expected '.', a bracket or letter"
            )
    if open_bases := [stack[-1] for stack in stacks.values() if stack]:
        i = min(open_bases)
        closing = CLOSING[OPENING.index(structure[i])]
        raise DataError(f"position {i + 1} (from 1): found {structure[i]!r} without its {closing!r}")
    return found


def _of_strands(structure: str) -> IntArray:
    """Partners of the bases of strands, counted through."""
    is_base = np.array([character != STRANDS for character in structure])
    found = partners(structure.replace(STRANDS, "."))[is_base]
    return np.where(found < 0, -1, (np.cumsum(is_base) - 1)[found])


def to_dot_bracket(partners: Any) -> str:
    """Dot-bracket notation of a structure.

    A largest set of nested pairs is written ``()``. Helices of the other pairs take, from the left, the first
    of ``[]``, ``{}``, ``<>``, ``Aa``, ..., ``Zz`` whose pairs they do not cross.

    Parameters
    ----------
    partners : array-like of int, shape (n,)
        Partner of each base, from 0; -1 for none.

    Returns
    -------
    str

    Raises
    ------
    DataError
        Partners that are not mutual, or pairs that cross so often that 30 kinds of bracket do not suffice.
    """
    given = as_partners(partners)
    nested = largest_nested(given)
    rest = np.where(nested < 0, given, -1)
    layers = [nested]
    for helix in _helices(rest):
        layer = _layer_for(helix, layers)
        for i, j in helix:
            layer[i], layer[j] = j, i
    text = ["."] * given.size
    for layer, opening, closing in zip(layers, OPENING, CLOSING, strict=False):
        for i, j in pairs_of(layer):
            text[i], text[j] = opening, closing
    return "".join(text)


def drop_pseudoknots(structure: str) -> tuple[str, int]:
    """A structure without the pairs that form pseudoknots.

    The ``()`` pairs, which authors use for the nested part, are kept, and only these. A structure without any
    is reduced to a largest set of nested pairs.

    Parameters
    ----------
    structure : str
        Dot-bracket notation.

    Returns
    -------
    structure : str
        Of ``.``, ``(``, ``)`` and ``&`` only.
    n_dropped : int
        Number of pairs dropped.

    Raises
    ------
    DataError
        As `partners` does.
    """
    found = partners(structure)
    if "(" in structure:
        marks = np.frombuffer(bases_of(structure).encode(), np.uint8)
        kept = np.where((marks == ord("(")) | (marks == ord(")")), found, -1)
    else:
        kept = largest_nested(found)
    text = "".join("." if j < 0 else "(" if j > i else ")" for i, j in enumerate(kept.tolist()))
    return cut_as(structure, text), len(pairs_of(found)) - len(pairs_of(kept))


def as_partners(structure: Any) -> IntArray:
    """Partners, from dot-bracket notation or from themselves, -1 for none; these are checked."""
    if isinstance(structure, str):
        return partners(structure)
    given = np.asarray(structure)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise DataError(
            f"found partners of shape {given.shape} and type {given.dtype}, expected a row of integers"
        )
    given = given.astype(np.int64)
    bases = np.arange(given.size)
    possible = (given >= 0) & (given < given.size) & (given != bases)
    mutual = possible & (given[np.where(possible, given, 0)] == bases)
    for i in np.flatnonzero(~mutual & (given != -1))[:1]:
        raise DataError(f"base {i} (from 0): found the partner {given[i]}, expected -1 or a mutual partner")
    return given


def _helices(partners: IntArray) -> Iterator[list[tuple[int, int]]]:
    """Runs of pairs stacked upon each other."""
    if not (pairs := pairs_of(partners)):
        return
    starts = [k for k, ((i, j), (p, q)) in enumerate(pairwise(pairs), 1) if (p, q) != (i + 1, j - 1)]
    for start, end in pairwise([0, *starts, len(pairs)]):
        yield pairs[start:end]


def _layer_for(helix: list[tuple[int, int]], layers: list[IntArray]) -> IntArray:
    """The first layer above the nested one that a helix does not cross; a new one where it crosses all."""
    for layer in layers[1:]:
        ends = ends_of(layer)
        if not any(is_crossed(ends, i, j) for i, j in helix):
            return layer
    if len(layers) == len(OPENING):
        raise DataError(f"found pairs that cross too often, expected at most {len(OPENING)} kinds of bracket")
    layers.append(np.full(layers[0].size, -1, np.int64))
    return layers[-1]
