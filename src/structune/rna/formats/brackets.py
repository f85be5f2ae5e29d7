"""Structures as text: dot-bracket notation, pseudoknots, and two strands, ``A&B``."""

from __future__ import annotations

from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.text import shown
from structune.running.memory import require_memory

IntArray = NDArray[np.int64]
STRANDS = "&"  # between two
OPENING = "([{<" + ascii_uppercase
CLOSING = ")]}>" + ascii_lowercase
_OPENED_BY = dict(zip(CLOSING, OPENING, strict=True))


def bases_of(text: str) -> str:
    """The bases of all strands, or what is said of them."""
    return text.replace(STRANDS, "")


def cut_as(cut: str, text: str) -> str:
    """What is said of bases, cut into strands as another text is."""
    for nick in (k for k, character in enumerate(cut) if character == STRANDS):
        text = text[:nick] + STRANDS + text[nick:]
    return text


def check_strands(sequence: str) -> None:
    """Refuse more strands than two, and empty ones."""
    strands = sequence.split(STRANDS)
    if len(strands) > 2 or (len(strands) == 2 and not all(strands)):
        raise DataError(f"{shown(sequence)}: {STRANDS} may occur only once, between two strands")


def check_cut(text: str, n: int, nick: int, what: str) -> None:
    """Refuse a text that does not have n bases, or is not cut at `nick`, -1 for one strand."""
    if (found := len(bases_of(text))) != n:
        raise DataError(f"the length of {what} is {found}, but there are {n} bases")
    if (places := [k for k, character in enumerate(text) if character == STRANDS]) != [nick] * (nick >= 0):
        expected = f"the sequence has it at {nick + 1}" if nick >= 0 else "the sequence has only one strand"
        told = f"{STRANDS} at {', '.join(str(k + 1) for k in places)} (from 1)" if places else f"no {STRANDS}"
        raise DataError(f"{what}: {told}, but {expected}")


def ends_of(partners: IntArray) -> IntArray:
    """The partner of each base; of an unpaired base, itself."""
    return np.where(partners < 0, np.arange(partners.size), partners)


def is_crossed(ends: IntArray, i: int, j: int) -> bool:
    """Whether a base between i and j has its partner outside."""
    inside = ends[i + 1 : j]
    return bool(inside.size) and bool(inside.min() < i or inside.max() > j)


def pairs_of(partners: IntArray) -> list[tuple[int, int]]:
    """The pairs (i, j) with i < j, from the left."""
    return [(i, j) for i, j in enumerate(partners.tolist()) if j > i]


def largest_nested(partners: IntArray) -> IntArray:
    """Reduce a structure to a largest set of pairs that do not cross. Bases of removed pairs get -1.

    Among several largest sets, the one with pairs further left is chosen. Time and memory grow with the
    square of the number of pairs that cross others: 100 MB for 5000 of them. Other pairs cost little.

    Parameters
    ----------
    partners : ndarray of int64, shape (n,)
        0-based position of the partner of each base; -1 for unpaired bases. The array is not changed.
    """
    nested, bases = partners.copy(), np.arange(partners.size)
    first = np.flatnonzero(partners > bases)
    # Both bases of a pair have the same random number. A pair (i, j) is crossed where the numbers between i
    # and j do not cancel: some are there once. That they cancel nevertheless has a chance of 2^-64.
    numbers = np.random.default_rng(0).integers(2**64, size=bases.size, dtype=np.uint64)
    numbers = np.where(partners < 0, np.uint64(0), numbers[np.minimum(partners, bases)])
    sums = np.bitwise_xor.accumulate(numbers)
    crossed = first[sums[first] != sums[partners[first] - 1]]
    bases = np.sort(np.concatenate([crossed, partners[crossed]]))
    nested[bases] = -1
    # The dynamic programme sees only the bases of crossed pairs, numbered anew: all of them are paired.
    other, n = np.searchsorted(bases, partners[bases]).tolist(), bases.size
    dtype = np.int16 if n // 2 <= np.iinfo(np.int16).max else np.int32  # entries are numbers of pairs
    needed = np.dtype(dtype).itemsize * n * (n / 2)
    require_memory(needed, f"{n // 2:,} pairs that cross others", "fewer of them")
    # Entry j of row i is the largest number of nested pairs between the bases i and j:
    # N(i, j) = max(N(i + 1, j), 1 + N(i + 1, p - 1) + N(p + 1, j)) with p the partner of i, if i < p <= j:
    # all j of a row at once, from the last base to the first.
    rows: list[NDArray[Any]] = [np.zeros(n, dtype)] * (n + 1)
    for i in range(n - 1, -1, -1):
        p, below = other[i], rows[i + 1]
        rows[i] = below  # if the pair lies outside, the same row again, and no copy
        if p > i:
            rows[i] = row = below.copy()
            np.maximum(row[p:], rows[p + 1][p:] + (below[p - 1] + 1), out=row[p:])
    # Trace back: a pair is kept where the row says that it can be, else its left base is passed over.
    intervals = [(0, n - 1)]
    while intervals:
        i, j = intervals.pop()
        while i < j:
            p = other[i]
            if i < p <= j and rows[i][j] == 1 + rows[i + 1][p - 1] + rows[p + 1][j]:
                nested[bases[i]], nested[bases[p]] = bases[p], bases[i]
                intervals.append((p + 1, j))
                j = p - 1
            i += 1
    return nested


def partners(structure: str) -> IntArray:
    """Convert dot-bracket notation to the partner of each base, from 0; -1 for an unpaired base.

    Parameters
    ----------
    structure : str
        ``.`` for an unpaired base; ``()``, ``[]``, ``{}``, ``<>`` and ``Aa`` to ``Zz`` for pairs. Pairs with
        different brackets may cross. ``&`` separates two strands and is not counted as a base.

    Raises
    ------
    DataError
        A character is unknown or a bracket has no match; the message names its position, from 1.
    """
    if STRANDS in structure:  # bases are counted through
        is_base = np.array([character != STRANDS for character in structure])
        found = partners(structure.replace(STRANDS, "."))[is_base]
        return np.where(found < 0, -1, (np.cumsum(is_base) - 1)[found])
    found = np.full(len(structure), -1, np.int64)
    stacks: dict[str, list[int]] = {opening: [] for opening in OPENING}
    # One stack for each kind of bracket: pairs of one kind are nested, those of two may cross.
    for j, character in enumerate(structure):
        if character in stacks:
            stacks[character].append(j)
        elif opening := _OPENED_BY.get(character):
            if not stacks[opening]:
                raise DataError(f"position {j + 1} (from 1): {character!r} has no matching {opening!r}")
            i = stacks[opening].pop()
            found[i], found[j] = j, i
        elif character != ".":
            raise DataError(f"position {j + 1} (from 1): {character!r} is not '.', a bracket or a letter")
    if open_bases := [stack[-1] for stack in stacks.values() if stack]:
        i = min(open_bases)
        closing = CLOSING[OPENING.index(structure[i])]
        raise DataError(f"position {i + 1} (from 1): {structure[i]!r} has no matching {closing!r}")
    return found


def to_dot_bracket(partners: Any) -> str:
    """Convert the partners of bases to dot-bracket notation, with one character per base.

    A largest set of nested pairs is written as ``()``. Each other helix, from the left, gets the first of
    ``[]``, ``{}``, ``<>``, ``Aa``, ..., ``Zz`` whose pairs it does not cross.

    Parameters
    ----------
    partners : array-like of int, shape (n,)
        Partner of each base, counted from 0; -1 for unpaired bases.

    Raises
    ------
    DataError
        Partners are not mutual, or pairs cross so often that 30 types of brackets do not suffice.
    """
    given = as_partners(partners)
    nested = largest_nested(given)
    pairs, text = pairs_of(np.where(nested < 0, given, -1)), ["."] * given.size
    # Helices are runs of stacked pairs: a layer takes all pairs of a helix or none, so that they stay
    # together. The nested pairs are the first layer, and no other.
    starts = [k for k, ((i, j), (p, q)) in enumerate(pairwise(pairs), 1) if (p, q) != (i + 1, j - 1)]
    helices = [pairs_of(nested), *(pairs[a:b] for a, b in pairwise([0, *starts, len(pairs)]))]
    layers = list[IntArray]()  # the partner of each base, or itself
    for helix in helices:
        others = enumerate(layers[1:], 1)
        is_free = (k for k, ends in others if not any(is_crossed(ends, i, j) for i, j in helix))
        layer = next(is_free, len(layers))
        if layer == len(OPENING):
            most = f"{len(OPENING)} types of brackets do not suffice"
            raise DataError(f"too many pairs cross each other: {most}")
        if layer == len(layers):
            layers.append(np.arange(given.size))
        for i, j in helix:
            layers[layer][i], layers[layer][j] = j, i
            text[i], text[j] = OPENING[layer], CLOSING[layer]
    return "".join(text)


def drop_pseudoknots(structure: str) -> tuple[str, int]:
    """Remove the pairs in pseudoknots; return the structure, of ``.()&`` only, and the number of those pairs.

    Only the ``()`` pairs are kept, because authors use them for the nested part. A structure without ``()``
    is reduced to a largest set of nested pairs.

    Parameters
    ----------
    structure : str
        Structure in dot-bracket notation, as in `partners`.
    """
    found = partners(structure)
    # Authors write the nested part in round brackets, even where another set of pairs would be larger.
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
        told = "partners must be a one-dimensional array of integers"
        raise DataError(f"{told}, not of shape {given.shape} and type {given.dtype}")
    given = given.astype(np.int64)
    bases = np.arange(given.size)
    possible = (given >= 0) & (given < given.size) & (given != bases)
    mutual = possible & (given[np.where(possible, given, 0)] == bases)
    for i in np.flatnonzero(~mutual & (given != -1))[:1]:
        raise DataError(f"base {i} (from 0): the partner {given[i]} is neither -1 nor a base paired with {i}")
    return given
