"""Training labels that break the rules of which may follow which: left out, or taken for unknown."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structune.errors import DataError, warn
from structune.files.text import some_of
from structune.structure import IntArray, offsets_of
from structune.tagging.structure.labels import check_lengths, encode_labels, first_offence
from structune.tagging.structure.rules import BoolArray, Moves, Rules, as_rules, moves_of_readable

OUTSIDE = ("skip", "trim", "error")
_MOST_NAMED, _MOST_KEPT = 5, 1000


class ForbiddenLabelsWarning(UserWarning):
    """Some training labels break the rules of which labels may follow which."""


def named_place(sequence: int, token: int) -> str:
    """A token, counted from 0."""
    return f"sequence {sequence}, token {token}"


@dataclass
class LeftOut:
    """What was left out of training sequences, which may come block by block.

    Attributes
    ----------
    n_sequences, n_trimmed : int
        Sequences that were looked at, and labels that were taken for unknown.
    skipped : list of (int, str)
        Sequences that were left out, and why; the first thousand.
    """

    n_sequences: int = 0
    n_skipped: int = 0
    n_trimmed: int = 0
    skipped: list[tuple[int, str]] = field(default_factory=list)
    _named: list[str] = field(default_factory=list)  # the first places
    _n_named: int = 0

    def add(self, sequence: int, place: str, reason: str, n_trimmed: int = 0) -> None:
        """One sequence that breaks the rules, first at a place; without labels to trim it is skipped."""
        self.n_trimmed += n_trimmed
        self._n_named += 1
        if len(self._named) < _MOST_NAMED:
            self._named.append(f"{place} ({reason})")
        if not n_trimmed:
            self.n_skipped += 1
            if len(self.skipped) < _MOST_KEPT:
                self.skipped.append((self.n_sequences + sequence, reason))

    def report(self, forbidden: Rules) -> None:
        """Warn once of all that was left out; raise `DataError` if nothing is left."""
        rules = f"forbidden={forbidden!r:.60}"
        named = some_of(self._named, _MOST_NAMED, self._n_named)
        if self.n_skipped == self.n_sequences > 0:
            raise DataError(f"{rules} rules out the labels of all {self.n_sequences} sequences: {named}")
        skipped = [f"skipped {self.n_skipped} of {self.n_sequences} sequences"] if self.n_skipped else []
        trimmed = [f"{self.n_trimmed} labels are taken for unknown"] if self.n_trimmed else []
        if told := "; ".join(skipped + trimmed):
            warn(f"found labels that {rules} rules out; {told}: {named}", ForbiddenLabelsWarning)


def fit_to_rules(
    outputs: Any,
    lengths: IntArray,
    forbidden: Rules,
    outside: str,
    left_out: LeftOut,
    place: Callable[[int, int], str] = named_place,
) -> tuple[IntArray, Any]:
    """The sequences whose labels keep to the rules, or can be made to; and the labels of these.

    Parameters
    ----------
    outputs : sequence of sequences of labels
    lengths : ndarray of int64
        Tokens in each sequence.
    forbidden : rules of `allowed_moves`
        A label that a scheme cannot read breaks it, too.
    outside : {"skip", "trim", "error"}
        Whether sequences that break the rules are left out, lose the labels that do, or are an error.
    left_out : LeftOut
        Where this is counted.
    place : callable
        What a token is called, by its sequence and its place there.

    Raises
    ------
    DataError
        Labels that break the rules, if that is an error, and what `encode_labels` refuses.
    """
    if outside not in OUTSIDE:
        raise DataError(f"outside={outside!r}: expected one of {OUTSIDE}")
    check_lengths(outputs, lengths)
    if forbidden is None or not lengths.any():
        return np.arange(lengths.size), outputs
    labelling, offsets = encode_labels(outputs, lengths), offsets_of(lengths)
    moves, strange = moves_of_readable(labelling.names, as_rules(forbidden))
    kept, outputs = np.ones(lengths.size, dtype=bool), list(outputs)
    for s, t, reason in labelling.offences(offsets, moves):
        why = strange.get(outputs[s][t], reason) if isinstance(outputs[s][t], Hashable) else reason
        if outside == "error":
            raise DataError(f"{place(s, t)}: {why}")
        unknown = _unknown(labelling.rows(slice(*offsets[s : s + 2])), moves) if outside == "trim" else []
        kept[s] = bool(unknown)
        outputs[s] = [None if k in unknown else label for k, label in enumerate(outputs[s])]
        left_out.add(s, place(s, t), why, len(unknown))
    left_out.n_sequences += lengths.size
    chosen = np.flatnonzero(kept)
    return chosen, [outputs[s] for s in chosen.tolist()]


def _unknown(allowed: BoolArray, moves: Moves) -> list[int]:
    """The tokens of a sequence whose labels are taken for unknown, so that the others keep to the rules.

    They are those at which the rules are broken, or the ones before, where these are unknown already; none if
    no labels keep to the rules.
    """
    unknown, anything = list[int](), moves[0].any(axis=0) | moves[1]
    while (t := first_offence(allowed, moves)) is not None:
        known = [k for k in range(t, -1, -1) if k not in unknown]
        if not known:
            return []
        unknown.append(known[0])
        allowed[known[0]] = anything
    return unknown
