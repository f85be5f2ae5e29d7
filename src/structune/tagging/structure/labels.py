"""Label sequences as arrays: known labels, unknown ones, and sets of labels."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.structure import check_range, offsets_of, place_of
from structune.tagging.structure.rules import BoolArray, Moves

IntArray = NDArray[np.int64]
_CHOICE = (set, frozenset, list, tuple)
_NAME = (str, int, np.integer)


@dataclass(frozen=True)
class Labelling:
    """Labels of the tokens of a batch.

    Attributes
    ----------
    names : list of str
        The label set.
    labels : ndarray of int64, shape (n_tokens,) or (0,)
        -1 where the label is not known to one.
    allowed : ndarray of bool, shape (n_tokens, n_labels) or (0, n_labels)
        Labels that each token may have; empty if every label is known.
    """

    names: list[str]
    labels: IntArray
    allowed: BoolArray

    @property
    def is_partly_known(self) -> bool:
        return bool(self.allowed.shape[0])

    @classmethod
    def unknown(cls, names: list[str]) -> Labelling:
        """Of sequences that come without outputs."""
        return cls(names, np.empty(0, np.int64), np.empty((0, len(names)), bool))

    def seen_pairs(self, indptr: IntArray, indices: Any, n_attributes: int) -> IntArray:
        """Rising ``attribute * n_labels + label`` of those that occur, or may, of CSR rows of attributes."""
        token = np.repeat(np.arange(indptr.size - 1, dtype=np.int32), np.diff(indptr))
        seen = np.zeros((n_attributes, len(self.names)), dtype=bool)
        if self.is_partly_known:
            for y in range(len(self.names)):
                seen[indices[self.allowed[token, y]], y] = True
        else:
            seen[indices, self.labels[token]] = True
        return np.flatnonzero(seen)

    def seen_transitions(self, lengths: IntArray) -> BoolArray:
        """Transitions that occur, or may under partial labels, shape (n_labels, n_labels)."""
        is_later = np.ones(int(lengths.sum()), dtype=bool)
        is_later[(np.cumsum(lengths) - lengths)[lengths > 0]] = False
        later = np.flatnonzero(is_later)
        seen = np.zeros((len(self.names), len(self.names)), dtype=bool)
        if self.is_partly_known:
            before, after = self.allowed[later - 1].astype(np.int64), self.allowed[later].astype(np.int64)
            return np.asarray(before.T @ after > 0)
        seen[self.labels[later - 1], self.labels[later]] = True
        return seen

    def seen_trigrams(self, lengths: IntArray) -> IntArray:
        """Keys of trigrams that occur, or may under partial labels; see `trigram_keys`."""
        offsets = offsets_of(lengths)
        if not self.is_partly_known:
            return np.unique(trigram_keys(self.labels, offsets, len(self.names)))
        n = len(self.names)
        seen = np.zeros((n + 1, n, n + 1), dtype=bool)
        outside = np.append(np.zeros(n, bool), True)
        padded = np.hstack((self.allowed, np.zeros((len(self.allowed), 1), bool)))
        before, after = np.roll(padded, 1, axis=0), np.roll(padded, -1, axis=0)
        full = lengths > 0
        before[offsets[:-1][full]] = after[offsets[1:][full] - 1] = outside
        for y in range(n):
            own = self.allowed[:, y]
            seen[:, y] = before[own].T.astype(np.float32) @ after[own].astype(np.float32) > 0
        return np.flatnonzero(seen)

    def check(self, n_tokens: int) -> None:
        """Raise `DataError` for labels from a file that are not sound."""
        n = len(self.names)
        check_range("labels", self.labels, np.int64, (n_tokens,), -1 if self.is_partly_known else 0, n)
        check_range("labels", self.allowed, bool, (self.is_partly_known * n_tokens, n), 0, 2)
        if self.is_partly_known and not self.allowed.any(axis=1).all():
            raise DataError("found a token without a label that it may have")
        if self.is_partly_known and not np.array_equal(self.labels, single_labels(self.allowed)):
            raise DataError("found labels that are not those that tokens may have")

    def check_moves(self, offsets: IntArray, moves: Moves) -> None:
        """Raise `DataError` for the first sequence that only forbidden transitions could label."""
        for s, t, reason in self.offences(offsets, moves):
            raise DataError(f"sequence {s}, token {t}: {reason}")

    def offences(self, offsets: IntArray, moves: Moves) -> Iterator[tuple[int, int, str]]:
        """Sequences that only forbidden transitions could label, the first token that needs one, and why."""
        if all(m.all() for m in moves):
            return
        suspects = range(offsets.size - 1) if self.is_partly_known else self._suspects(offsets, moves)
        for s in suspects:
            tokens = slice(int(offsets[s]), int(offsets[s + 1]))
            allowed = self.rows(tokens)
            t = first_offence(allowed, moves)
            if t is not None:
                found, before = (
                    [self.names[y] for y in np.flatnonzero(row)] for row in (allowed[t], allowed[t - 1])
                )
                told = f"found the label {_show(found)} after {_show(before) if t else 'the start'}"
                at_end = " and before the end of the sequence" if t == len(allowed) - 1 else ""
                yield s, t, f"{told}{at_end}, which the forbidden transitions rule out"

    def _suspects(self, offsets: IntArray, moves: Moves) -> list[int]:
        """Sequences with a forbidden transition, where all labels are known."""
        transition, start, end = moves
        y, later = self.labels, np.ones(self.labels.size, dtype=bool)
        full = np.diff(offsets) > 0
        firsts, lasts = offsets[:-1][full], offsets[1:][full] - 1
        later[firsts] = False
        bad = np.zeros(y.size, dtype=bool)
        bad[later] = ~transition[y[:-1][later[1:]], y[later]]
        bad[firsts] |= ~start[y[firsts]]
        bad[lasts] |= ~end[y[lasts]]
        found: list[int] = np.unique(np.searchsorted(offsets, np.flatnonzero(bad), side="right") - 1).tolist()
        return found

    def rows(self, tokens: slice) -> BoolArray:
        """Labels that some tokens may have, shape (n_tokens, n_labels)."""
        if self.is_partly_known:
            return self.allowed[tokens]
        return np.eye(len(self.names), dtype=bool)[self.labels[tokens]]


def first_offence(allowed: BoolArray, moves: Moves) -> int | None:
    """The first token of a sequence at which no labels that tokens may have keep to the moves."""
    transition, start, end = moves
    reach = start
    for t, row in enumerate(allowed):
        reach = (reach if t == 0 else reach.astype(np.int64) @ transition.astype(np.int64) > 0) & row
        if not reach.any():
            return t
    return None if not len(allowed) or (reach & end).any() else len(allowed) - 1


def _show(labels: list[str]) -> str:
    return repr(labels[0]) if len(labels) == 1 else f"one of {labels}"


def encode_labels(outputs: Any, lengths: IntArray, names: Sequence[str] | None = None) -> Labelling:
    """Label names to a `Labelling`.

    Parameters
    ----------
    outputs : sequence of sequences
        One label a token: a str or int, None if unknown, or a set or list of these if it is one of them.
    lengths : ndarray of int64
        Tokens expected in each sequence.
    names : sequence of str, optional
        The label set; by default the sorted labels that occur.

    Raises
    ------
    DataError
        Ragged lengths, a label outside the set or of another type, an empty choice, or no label at all.
    """
    check_lengths(outputs, lengths)
    flat = [label for sequence in outputs for label in sequence]
    if names is None:
        names = _label_set(flat, lengths)
    ids = {name: y for y, name in enumerate(names)}
    if len(ids) != len(names):
        raise DataError(f"found the labels {list(names)}, expected no two alike")
    try:
        labels = np.fromiter(map(ids.__getitem__, flat), np.int64, len(flat))
        return Labelling(list(names), labels, np.empty((0, len(ids)), bool))
    except (KeyError, TypeError):  # partial, or wrong: look closer
        return _partial(flat, lengths, list(names), ids)


def _partial(flat: list[Any], lengths: IntArray, names: list[str], ids: dict[str, int]) -> Labelling:
    allowed = np.zeros((len(flat), len(names)), dtype=bool)
    for t, label in enumerate(flat):
        choices: Iterable[Any] = names if label is None else label if isinstance(label, _CHOICE) else (label,)
        for choice in choices:
            if not isinstance(choice, Hashable) or choice not in ids:
                raise DataError(f"{_where(t, lengths)}: found the label {choice!r}, expected one of {names}")
            allowed[t, ids[choice]] = True
        if not allowed[t].any():
            raise DataError(f"{_where(t, lengths)}: found an empty set of labels, expected at least one")
    return Labelling(names, single_labels(allowed), allowed)


def trigram_keys(labels: IntArray, offsets: IntArray, n_labels: int) -> IntArray:
    """For each token, the key of the labels before it, its own, and after it.

    The key of a, b, c is ``(a * n_labels + b) * (n_labels + 1) + c``; `n_labels` stands for the start and the
    end.
    """
    before, after = np.roll(labels, 1), np.roll(labels, -1)
    full = np.diff(offsets) > 0
    before[offsets[:-1][full]] = after[offsets[1:][full] - 1] = n_labels
    return (before * n_labels + labels) * (n_labels + 1) + after


def single_labels(allowed: BoolArray) -> IntArray:
    """The label of each token that may have but one; -1 for others."""
    return np.where(allowed.sum(axis=1) == 1, allowed.argmax(axis=1), -1)


def _label_set(flat: list[Any], lengths: IntArray) -> list[Any]:
    """The labels that occur, sorted by their text, as plain str and int."""
    try:
        found = {choice for label in _distinct(flat) for choice in _choices(label)}
    except TypeError:
        found = {None}  # something that cannot be hashed: the search below names it
    if not found:
        raise DataError("no token has a label: expected at least one known label")
    if not all(isinstance(name, _NAME) for name in found):
        _refuse_strange(flat, lengths)
    return sorted((str(name) if isinstance(name, str) else int(name) for name in found), key=str)


def _distinct(flat: list[Any]) -> Iterable[Any]:
    try:
        return set(flat)
    except TypeError:  # lists and sets of labels
        return flat


def _refuse_strange(flat: list[Any], lengths: IntArray) -> None:
    for t, label in enumerate(flat):
        for choice in _choices(label):
            if not isinstance(choice, _NAME):
                raise DataError(
                    f"{_where(t, lengths)}: found the label {choice!r}, expected a string or an integer"
                )


def _choices(label: Any) -> Iterable[Any]:
    if label is None:
        return ()
    return label if isinstance(label, _CHOICE) else (label,)


def check_lengths(outputs: Any, lengths: IntArray) -> None:
    if not isinstance(outputs, Collection):
        raise DataError(f"found {outputs!r} for the labels, expected a list of label sequences")
    if len(outputs) != lengths.size:
        raise DataError(f"found labels for {len(outputs)} sequences, expected {lengths.size}")
    if set(map(type, outputs)) <= {list, tuple} and list(map(len, outputs)) == lengths.tolist():
        return
    for s, (sequence, length) in enumerate(zip(outputs, lengths.tolist(), strict=True)):
        if isinstance(sequence, str) or not isinstance(sequence, Collection):
            kind = "the string " if isinstance(sequence, str) else ""
            raise DataError(f"sequence {s}: found {kind}{sequence!r}, expected a list of labels")
        if len(sequence) != length:
            raise DataError(f"sequence {s}: found {len(sequence)} labels for {length} tokens")


def _where(token: int, lengths: IntArray) -> str:
    s, t = place_of(token, lengths)
    return f"sequence {s}, token {t}"
