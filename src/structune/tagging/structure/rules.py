"""Which labels may follow which: rules given as a list or derived from the label names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError

Rules = str | Iterable[tuple[str | None, str | None]] | None
BoolArray = NDArray[np.bool_]
_PREFIXES = {"bio": "BIO", "bioes": "BIOES"}
Moves = tuple[BoolArray, BoolArray, BoolArray]  # transitions (L, L), starts (L,), ends (L,)


def allowed_moves(labels: Sequence[str], forbidden: Rules) -> Moves:
    """Allowed transitions (L, L), starts (L,) and ends (L,).

    Parameters
    ----------
    labels : sequence of str
    forbidden : None, "bio", "bioes", or iterable of (from, to)
        In a list, None as `from` forbids a start with `to`, and None as `to` an end with `from`. "bio" lets
        ``I-x`` follow only ``B-x`` and ``I-x``; "bioes" also closes every segment with ``E-x`` or ``S-x``.
        Labels are a prefix, a hyphen and a type, or the prefix alone.

    Raises
    ------
    DataError
        An unknown scheme or label, or a label that the scheme cannot read.
    """
    forbidden = as_rules(forbidden)
    if isinstance(forbidden, str):
        return _scheme(labels, forbidden)
    moves = np.ones(
        (len(labels) + 1, len(labels) + 1), dtype=bool
    )  # the last row: start; the last column: end
    index: dict[str | None, int] = {label: y for y, label in enumerate(labels)}
    index[None] = len(labels)
    for move in forbidden or ():
        for label in move:
            if label not in index:
                raise DataError(
                    f"forbidden transition {move!r}: the label {label!r} is not among {list(labels)}"
                )
        moves[index[move[0]], index[move[1]]] = False
    return moves[:-1, :-1], moves[-1, :-1], moves[:-1, -1]


def moves_of_readable(labels: Sequence[str], forbidden: Rules) -> tuple[Moves, dict[str, str]]:
    """`allowed_moves`, with no moves of labels that a scheme cannot read; and why it cannot, by label."""
    strange = dict[str, str]()
    is_scheme = isinstance(forbidden, str) and forbidden in _PREFIXES
    for label in labels if is_scheme else ():
        try:
            allowed_moves([label], forbidden)
        except DataError as error:
            strange[label] = str(error)
    known = [y for y, label in enumerate(labels) if label not in strange]
    n, found = len(labels), allowed_moves([labels[y] for y in known], forbidden)
    transition, start, end = np.zeros((n, n), bool), np.zeros(n, bool), np.zeros(n, bool)
    transition[np.ix_(known, known)], start[known], end[known] = found
    return (transition, start, end), strange


def as_rules(forbidden: Rules) -> str | list[tuple[str | None, str | None]] | None:
    """The rules as a value to keep and compare, each checked to be a pair; reads an iterator."""
    if forbidden is None or isinstance(forbidden, str):
        return forbidden
    rules = list(forbidden)
    for move in rules:
        if not isinstance(move, tuple | list) or len(move) != 2:
            raise DataError(f"forbidden transition {move!r}: expected a pair of labels (from, to)")
    return [(a, b) for a, b in rules]


def possible_lengths(moves: Moves, longest: int) -> BoolArray:
    """Whether sequences of 0, 1, ..., `longest` tokens have an allowed labelling."""
    transition, reach, end = moves
    possible = np.zeros(longest + 1, dtype=bool)
    for length in range(1, longest + 1):
        possible[length] = (reach & end).any()
        before, reach = reach, reach @ transition
        if (reach == before).all():
            possible[length:] = possible[length]
            break
    return possible


def _scheme(labels: Sequence[str], scheme: str) -> Moves:
    prefixes = _PREFIXES.get(scheme)
    if prefixes is None:
        raise DataError(f"forbidden={scheme!r}: expected 'bio', 'bioes', or a list of pairs of labels")
    parts = [_split(label, prefixes, scheme) for label in labels]
    outside = ("O", "")
    moves = np.array(
        [[_fits(a, b, scheme) for b in [*parts, outside]] for a in [*parts, outside]], dtype=bool
    )
    return moves[:-1, :-1], moves[-1, :-1], moves[:-1, -1]


def _split(label: str, prefixes: str, scheme: str) -> tuple[str, str]:
    prefix, _, segment = str(label).partition("-")
    if prefix not in tuple(prefixes):
        raise DataError(
            f"the label {label!r} does not fit the scheme {scheme!r}: expected one of {list(prefixes)} first"
        )
    return prefix, segment


def _fits(before: tuple[str, str], after: tuple[str, str], scheme: str) -> bool:
    if scheme == "bio":
        return after[0] != "I" or (before[0] in "BI" and before[1] == after[1])
    if before[0] in "BI":  # an open segment goes on
        return after[0] in "IE" and before[1] == after[1]
    return after[0] not in "IE"


def mixing_steps(allowed: BoolArray, limit: int = 8) -> int | None:
    """Fewest steps after which every label can follow every label; None if `limit` steps do not do."""
    step = allowed.astype(np.float32)  # products of whole numbers are many times slower
    reach = allowed
    for steps in range(1, limit + 1):
        if reach.all():
            return steps
        reach = reach.astype(np.float32) @ step > 0
    return None
