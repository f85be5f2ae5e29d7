"""Labels as arrays, rules of which label may follow which, labels that break these rules; segments."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import DataError, warn
from structune.files.text import plural, some_of
from structune.structure import Array, IntArray, check_range, offsets_of, place_of

Rules = str | Iterable[tuple[str | None, str | None]] | None
BoolArray = NDArray[np.bool_]
_PREFIXES = {"bio": "BIO", "bioes": "BIOES"}
Moves = tuple[BoolArray, BoolArray, BoolArray]  # of `allowed_moves`
_CHOICE = (set, frozenset, list, tuple)
_NAME = (str, int, np.integer)
_BREAKS = ("skip", "trim", "error")
OUTSIDE = "O"  # the label of tokens that are in no segment: each is one of its own, of one token
_SEGMENT = re.compile(r"(O)|([BIES])(?:-(?!O$)(.+))?")  # no segment is of the type O
_MOST_NAMED, _MOST_KEPT = 5, 1000


def allowed_moves(labels: Sequence[str], forbidden: Rules, strange: dict[str, str] | None = None) -> Moves:
    """Allowed transitions (L, L), starts (L,) and ends (L,).

    Parameters
    ----------
    labels : sequence of str
    forbidden : None, "bio", "bioes", or iterable of (from, to)
        In a list, None as `from` forbids a start with `to`, and None as `to` an end with `from`. "bio" lets
        ``I-x`` follow only ``B-x`` and ``I-x``; "bioes" also closes every segment with ``E-x`` or ``S-x``.
        Labels are a prefix, a hyphen and a type, or the prefix alone.
    strange : dict, optional
        Gets the labels that the scheme cannot read, and why; these then have no moves.

    Raises
    ------
    DataError
        An unknown scheme or label, or, without `strange`, a label that the scheme cannot read.
    """
    forbidden = as_rules(forbidden)
    if isinstance(forbidden, str):
        prefixes, parts = _PREFIXES.get(forbidden), list[tuple[str, str]]()
        if prefixes is None:
            raise DataError(f"forbidden={forbidden!r}: expected 'bio', 'bioes', or a list of pairs of labels")
        for label in labels:
            prefix, _, segment = str(label).partition("-")
            if prefix not in tuple(prefixes):
                told = f"the label {label!r} does not fit the scheme {forbidden!r}: "
                told += f"it must begin with one of {list(prefixes)}"
                if strange is None:
                    raise DataError(told)
                strange[label], prefix = told, ""
            parts.append((prefix, segment))
        parts.append(("O", ""))  # the start and the end
        moves = np.array([[fits(a, b, forbidden) for b in parts] for a in parts], dtype=bool)
    else:
        moves = np.ones((len(labels) + 1, len(labels) + 1), dtype=bool)
        index: dict[str | None, int] = {label: y for y, label in enumerate(labels)}
        index[None] = len(labels)
        for move in forbidden or ():
            for end in move:
                if end not in index:
                    raise DataError(
                        f"forbidden transition {move!r}: there is no label {end!r}. Allowed: {list(labels)}"
                    )
            moves[index[move[0]], index[move[1]]] = False
    return moves[:-1, :-1], moves[-1, :-1], moves[:-1, -1]  # the last row: start; the last column: end


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
    """Whether sequences of 0, 1, ..., `longest` tokens have an allowed labeling."""
    transition, reach, end = moves
    possible = np.zeros(longest + 1, dtype=bool)
    # `reach` are the labels that some allowed labelling of so many tokens ends with; once it stays the same,
    # it stays for good.
    for length in range(1, longest + 1):
        possible[length] = (reach & end).any()
        before, reach = reach, reach @ transition
        if (reach == before).all():
            possible[length:] = possible[length]
            break
    return possible


def fits(before: tuple[str, str], after: tuple[str, str], scheme: str) -> bool:
    """Whether one label may follow another, each a position in a segment and a type."""
    # "bio": I-x goes on with B-x or I-x. "bioes": an open segment (B, I) has to go on (I, E) with its type,
    # and nothing else may. Start and end are as O. Labels that the scheme cannot read have no prefix.
    if not (before[0] and after[0]):
        return False
    if scheme == "bio":
        return after[0] != "I" or (before[0] in "BI" and before[1] == after[1])
    if before[0] in "BI":  # an open segment goes on
        return after[0] in "IE" and before[1] == after[1]
    return after[0] not in "IE"


def mixing_steps(allowed: BoolArray, limit: int = 8) -> int | None:
    """Fewest steps after which every label can follow every label; None if `limit` steps do not do."""
    step = allowed.astype(np.float32)  # products of whole numbers are many times slower
    reach = allowed
    # reach[a, b] says whether b can be the label so many steps after a.
    for steps in range(1, limit + 1):
        if reach.all():
            return steps
        reach = reach.astype(np.float32) @ step > 0
    return None


def _keys(counts: Any) -> IntArray:
    """Rising ``row * n_columns + column`` of what is not 0."""
    rows, columns = counts.nonzero()
    return np.sort(rows.astype(np.int64) * counts.shape[1] + columns)


@dataclass(frozen=True)
class Labelling:
    """Labels of the tokens of a batch."""

    names: list[str]  # the label set
    labels: IntArray  # (n_tokens,) or (0,); -1 where the label is not known to one
    allowed: BoolArray  # (n_tokens, n_labels) or (0, n_labels): labels that each token may have, if not known

    @property
    def is_partly_known(self) -> bool:
        return bool(self.allowed.shape[0])

    def _possible(self) -> Any:
        """A sparse table, (n_tokens, n_labels): 1 where a token may have a label."""
        if self.is_partly_known:
            return scipy.sparse.csr_array(self.allowed)
        n = self.labels.size
        shape = (n, len(self.names))
        return scipy.sparse.csr_array((np.ones(n, bool), self.labels, np.arange(n + 1)), shape)

    def seen_pairs(self, indptr: IntArray, indices: Any, n_attributes: int) -> IntArray:
        """Rising ``attribute * n_labels + label`` of those that occur, or may, of CSR rows of attributes."""
        shape = (indptr.size - 1, n_attributes)
        attributes = scipy.sparse.csr_array((np.ones(len(indices), bool), indices, indptr), shape)
        return _keys(attributes.T @ self._possible())

    def seen_transitions(self, lengths: IntArray) -> IntArray:
        """Rising ``from * n_labels + to`` of transitions that occur, or may under partial labels."""
        possible = self._possible()
        later = np.setdiff1d(np.arange(possible.shape[0]), np.cumsum(lengths) - lengths)
        return _keys(possible[later - 1].T @ possible[later])

    def seen_trigrams(self, lengths: IntArray) -> IntArray:
        """Keys of trigrams that occur, or may under partial labels; see `trigram_keys`."""
        offsets = offsets_of(lengths)
        if not self.is_partly_known:
            return np.unique(trigram_keys(self.labels, offsets, len(self.names)))
        n = len(self.names)
        seen = np.zeros((n + 1, n, n + 1), dtype=bool)
        outside = np.append(np.zeros(n, bool), True)
        # Under partial labels, trigram (a, y, c) may occur where a token may have y, the one before a, the
        # next c: a product of Boolean matrices for each y.
        padded = np.hstack((self.allowed, np.zeros((len(self.allowed), 1), bool)))
        before, after = _neighbours(padded, offsets, outside)
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
            raise DataError("a token has an empty set of possible labels")
        if self.is_partly_known and not np.array_equal(self.labels, single_labels(self.allowed)):
            raise DataError("the known labels and the sets of possible labels differ")

    def check_moves(self, offsets: IntArray, moves: Moves) -> None:
        """Raise `DataError` for the first sequence that only forbidden transitions could label."""
        for s, t, reason in self.offences(offsets, moves):
            raise DataError(f"sequence {s}, token {t}: {reason}")

    def offences(self, offsets: IntArray, moves: Moves) -> Iterator[tuple[int, int, str]]:
        """Sequences that only forbidden transitions could label, the first token that needs one, and why."""
        if all(m.all() for m in moves):
            return
        # Where all labels are known, a look at neighbouring pairs finds the few sequences that a search is
        # worth.
        suspects = range(offsets.size - 1) if self.is_partly_known else self._suspects(offsets, moves)
        for s in suspects:
            tokens = slice(int(offsets[s]), int(offsets[s + 1]))
            allowed = self.rows(tokens)
            t = first_offence(allowed, moves)
            if t is not None:
                found, before = (
                    [self.names[y] for y in np.flatnonzero(row)] for row in (allowed[t], allowed[t - 1])
                )
                told = f"the label {_show(found)} after {_show(before) if t else 'the start'}"
                at_end = " and before the end of the sequence" if t == len(allowed) - 1 else ""
                yield s, t, f"{told}{at_end} needs a forbidden transition"

    def _suspects(self, offsets: IntArray, moves: Moves) -> list[int]:
        """Sequences with a forbidden transition, where all labels are known."""
        n = len(self.names)
        allowed = np.ones((n + 1, n + 1), dtype=bool)  # the last row: start; the last column: end
        allowed[:n, :n], allowed[n, :n], allowed[:n, n] = moves
        before, after = _neighbours(self.labels, offsets, n)
        bad = ~(allowed[before, self.labels] & allowed[self.labels, after])
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
    # `reach`: labels of this token to which some allowed labelling of the tokens so far leads.
    for t, row in enumerate(allowed):
        reach = (reach if t == 0 else reach.astype(np.int64) @ transition.astype(np.int64) > 0) & row
        if not reach.any():
            return t
    return None if not len(allowed) or (reach & end).any() else len(allowed) - 1


def _show(labels: list[str]) -> str:
    return repr(labels[0]) if len(labels) == 1 else f"one of {labels}"


def encode_labels(outputs: Any, lengths: IntArray, names: Sequence[str] | None = None) -> Labelling:
    """Number the labels of tokens, which may be known in part, by their places in a set of names.

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
        Lengths differ, a label is not in the set or has another type, a choice is empty, or there are no
        labels.
    """
    check_lengths(outputs, lengths)
    flat = [label for sequence in outputs for label in sequence]
    if names is None:
        names = _label_set(flat, lengths)
    ids = {name: y for y, name in enumerate(names)}
    if len(ids) != len(names):
        raise DataError(f"the labels {list(names)} contain duplicates; list each label once")
    try:
        labels = np.fromiter(map(ids.__getitem__, flat), np.int64, len(flat))
        return Labelling(list(names), labels, np.empty((0, len(ids)), bool))
    except (KeyError, TypeError):  # partial, or wrong: look closer
        return _partial(flat, lengths, list(names), ids)


def _partial(flat: list[Any], lengths: IntArray, names: list[str], ids: dict[str, int]) -> Labelling:
    """A labeling where a token may have several labels, or any (None)."""
    allowed = np.zeros((len(flat), len(names)), dtype=bool)
    for t, label in enumerate(flat):
        for choice in names if label is None else choices(label):
            if not isinstance(choice, Hashable) or choice not in ids:
                raise DataError(f"{_where(t, lengths)}: unknown label {choice!r}. Allowed: {names}")
            allowed[t, ids[choice]] = True
        if not allowed[t].any():
            raise DataError(
                f"{_where(t, lengths)}: the set of labels is empty. Use None for an unknown label"
            )
    return Labelling(names, single_labels(allowed), allowed)


def trigram_keys(labels: IntArray, offsets: IntArray, n_labels: int) -> IntArray:
    """For each token, the key of the labels before it, its own, and after it.

    The key of a, b, c is ``(a * n_labels + b) * (n_labels + 1) + c``; `n_labels` stands for the start and the
    end.
    """
    before, after = _neighbours(labels, offsets, n_labels)
    return (before * n_labels + labels) * (n_labels + 1) + after


def _neighbours(tokens: Array, offsets: IntArray, outside: Any) -> tuple[Array, Array]:
    """What the tokens before and after each have; `outside` at the start and end of sequences."""
    # Neighbours of first and last tokens lie in other sequences, and are overwritten.
    before, after = np.roll(tokens, 1, axis=0), np.roll(tokens, -1, axis=0)
    full = np.diff(offsets) > 0
    before[offsets[:-1][full]] = after[offsets[1:][full] - 1] = outside
    return before, after


def single_labels(allowed: BoolArray) -> IntArray:
    """The label of each token that may have but one; -1 for others."""
    return np.where(allowed.sum(axis=1) == 1, allowed.argmax(axis=1), -1)


def _label_set(flat: list[Any], lengths: IntArray) -> list[Any]:
    """The labels that occur, sorted by their text, as plain str and int."""
    found, distinct = set[Any](), flat
    with suppress(TypeError):  # lists and sets of labels
        distinct = list(dict.fromkeys(flat))
    for label in distinct:
        for choice in choices(label):
            if not isinstance(choice, _NAME):
                t = next(t for t, other in enumerate(flat) if other is label)
                raise DataError(f"{_where(t, lengths)}: the label {choice!r} is not a string or an integer")
            found.add(str(choice) if isinstance(choice, str) else int(choice))
    if not found:
        raise DataError("no token has a known label: at least one is needed")
    return sorted(found, key=str)


def choices(label: Any) -> Iterable[Any]:
    """The labels that a token may have by its label, which may be a set; none if it is unknown."""
    if label is None:
        return ()
    return label if isinstance(label, _CHOICE) else (label,)


def check_lengths(outputs: Any, lengths: IntArray) -> None:
    if not isinstance(outputs, Collection) or hasattr(outputs, "columns"):  # a table, by its columns
        raise DataError(f"the labels must be a list of sequences of labels, not {outputs!r}")
    if len(outputs) != lengths.size:
        raise DataError(f"y has labels for {len(outputs)} sequences, but X has {lengths.size}")
    if set(map(type, outputs)) <= {list, tuple} and list(map(len, outputs)) == lengths.tolist():
        return
    for s, (sequence, length) in enumerate(zip(outputs, lengths.tolist(), strict=True)):
        if isinstance(sequence, str) or not isinstance(sequence, Collection):
            kind = "the string " if isinstance(sequence, str) else ""
            raise DataError(f"sequence {s}: the labels must be a list, not {kind}{sequence!r}")
        if len(sequence) != length:
            raise DataError(
                f"sequence {s} has {plural(len(sequence), 'label')}, but {plural(length, 'token')}"
            )


def _where(token: int, lengths: IntArray) -> str:
    return named_place(*place_of(token, lengths))


class ForbiddenLabelsWarning(UserWarning):
    """Training labels need forbidden transitions; these sequences are skipped, or the labels ignored."""


def named_place(sequence: int, token: int) -> str:
    """A token, counted from 0."""
    return f"sequence {sequence}, token {token}"


@dataclass
class LeftOut:
    """Collects the training sequences that were skipped, and the labels that were made unknown."""

    n_sequences: int = 0  # that were looked at
    n_skipped: int = 0
    n_trimmed: int = 0  # labels that were taken for unknown
    skipped: list[tuple[int, str]] = field(default_factory=list)  # sequences and why; the first thousand
    _named: list[str] = field(default_factory=list)  # the first places
    _n_named: int = 0

    def add(self, sequence: int, place: str, reason: str, n_trimmed: int = 0) -> None:
        """Add a sequence that breaks the rules, first at `place`; without labels to trim it is skipped."""
        self.n_trimmed += n_trimmed
        self._n_named += 1
        if len(self._named) < _MOST_NAMED:
            self._named.append(f"{place} ({reason})")
        if not n_trimmed:
            self.n_skipped += 1
            if len(self.skipped) < _MOST_KEPT:
                self.skipped.append((self.n_sequences + sequence, reason))

    def report(self, forbidden: Rules) -> None:
        """Warn once of all that was skipped; raise `DataError` if nothing is left."""
        rules = f"forbidden={forbidden!r:.60}"
        named = some_of(self._named, _MOST_NAMED, self._n_named)
        if self.n_skipped == self.n_sequences > 0:
            raise DataError(f"the labels of all {self.n_sequences:,} sequences break {rules}: {named}")
        skipped = [f"skipped {self.n_skipped:,} of {self.n_sequences:,} sequences"] if self.n_skipped else []
        trimmed = [f"treated {plural(self.n_trimmed, 'label')} as unknown"] if self.n_trimmed else []
        if told := "; ".join(skipped + trimmed):
            warn(f"some labels break {rules}; {told}: {named}", ForbiddenLabelsWarning)


def fit_to_rules(
    outputs: Any,
    lengths: IntArray,
    forbidden: Rules,
    outside: str,
    left_out: LeftOut,
    place: Callable[[int, int], str] = named_place,
) -> tuple[IntArray, Any]:
    """The sequences whose labels keep to the rules, or can be made to; and the labels of these.

    Sequences that break the rules are left out ("skip"), lose the labels that do ("trim"), or are an error;
    `left_out` counts them, and `place` names a token. A label that a scheme cannot read breaks it, too.

    Raises
    ------
    DataError
        Labels that break the rules, if that is an error, and what `encode_labels` refuses.
    """
    if outside not in _BREAKS:
        raise DataError(f"outside={outside!r}: expected one of {_BREAKS}")
    check_lengths(outputs, lengths)
    if forbidden is None or not lengths.any():
        return np.arange(lengths.size), outputs
    labelling, offsets = encode_labels(outputs, lengths), offsets_of(lengths)
    strange = dict[str, str]()
    moves = allowed_moves(labelling.names, forbidden, strange)
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
        # The token at which no labelling goes on, or, if that is unknown already, the last known one before
        # it.
        known = [k for k in range(t, -1, -1) if k not in unknown]
        if not known:
            return []
        unknown.append(known[0])
        allowed[known[0]] = anything
    return unknown


@dataclass(frozen=True)
class Segmentation:
    """Segments of a batch of sequences, one after the other; tokens outside are segments of one token."""

    offsets: IntArray  # tokens of sequence s are offsets[s]:offsets[s + 1]
    starts: IntArray  # tokens of each segment, counted over all sequences
    stops: IntArray
    types: list[str]  # "O" outside; empty for segments whose labels are B and I alone
    scheme: str  # "bioes" if some label begins with E or S, else "bio"

    def place(self, segment: int) -> tuple[int, int, int]:
        """The sequence of a segment, and its start and stop there."""
        sequence, start = place_of(int(self.starts[segment]), np.diff(self.offsets))
        return sequence, start, start + int(self.stops[segment] - self.starts[segment])


def read_segments(
    outputs: Any, lengths: IntArray, place: Callable[[int, int], str] | None = None
) -> Segmentation:
    """The segments that labels spell, read as conlleval does: an ``I-x`` that continues nothing begins one.

    Parameters
    ----------
    outputs : sequence of sequences of str
        ``O``, or one such as ``B-x``, ``I-x``, ``E-x``, ``S-x``.
    lengths : ndarray of int64, shape (n_sequences,)
        Tokens expected in each sequence.
    place : callable, optional
        Returns the text of errors for a sequence and a token, such as a file and its line.

    Raises
    ------
    DataError
        Names the sequence and token of a label that is unknown, partial or of no scheme.
    """
    check_lengths(outputs, lengths)
    flat = [label for sequence in outputs for label in sequence]
    known: dict[Any, tuple[str, str]] = {}
    for t, label in enumerate(flat):
        if not isinstance(label, str) or label not in known:
            found = split_label(label)
            if found is None:
                where = (place or named_place)(*place_of(t, lengths))
                raise DataError(
                    f"{where}: the label {label!r} is not BIO or BIOES. Allowed: O, B-x, I-x, E-x, S-x, "
                    "where x is a segment type"
                )
            known[label] = found
    parts, offsets = [known[label] for label in flat], offsets_of(lengths)
    firsts = set(offsets.tolist())
    starts = [t for t, own in enumerate(parts) if t in firsts or not goes_on(parts[t - 1], own)]
    return Segmentation(
        offsets,
        np.array(starts, dtype=np.int64),
        np.array([*starts[1:], len(flat)][: len(starts)], dtype=np.int64),
        [parts[t][1] for t in starts],
        scheme_of(known),
    )


def split_label(label: Any) -> tuple[str, str] | None:
    """Prefix and type of a BIO or BIOES label, both O for ``O``; None for other labels."""
    match = _SEGMENT.fullmatch(label) if isinstance(label, str) else None
    return match and ((OUTSIDE, OUTSIDE) if match[1] else (match[2], match[3] or ""))


def goes_on(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether a label, by its parts, is of the same segment as the label before it."""
    return before[0] in "BI" and after[0] in "IE" and before[1] == after[1]


def span_parts(labels: Iterable[Any], is_segments: bool) -> list[tuple[str, Any]]:
    """As `split_label`; a label that is no segment's goes on with its own type, so runs of it are spans."""
    found = {label: split_label(label) if is_segments or label == OUTSIDE else None for label in set(labels)}
    return [found[label] or ("I", label) for label in labels]


def joins(parts: Sequence[tuple[str, Any]]) -> BoolArray:
    """`goes_on` for each label before and each after, shape (n_labels, n_labels)."""
    numbers = {kind: k for k, (_, kind) in enumerate(parts)}
    kinds = np.array([numbers[kind] for _, kind in parts])
    left_open, within = (np.array([prefix in letters for prefix, _ in parts]) for letters in ("BI", "IE"))
    return np.asarray(left_open[:, None] & within & (kinds[:, None] == kinds))


def segment_scheme(labels: Iterable[Any]) -> str | None:
    """Detect the scheme of labels: "bio", "bioes", or None if they do not describe segments.

    Some label begins with B or I. B alone needs another label, I or O; E and S alone may mean anything.
    """
    known = set(labels)
    inner = {own for own in map(split_label, known) if own and own[0] in "BI"}
    are_segments = any(kind for _, kind in inner) or (("B", "") in inner and not known.isdisjoint("IO"))
    return scheme_of(known) if are_segments and not _strange(known) else None


def _strange(labels: Collection[Any]) -> list[Any]:
    """Labels that are of no scheme: they cannot be split, or end segments of a type that no label begins."""
    parts = {label: split_label(label) for label in labels}
    begun = {own[1] for own in parts.values() if own and own[0] in "BI"}
    return [label for label, own in parts.items() if not own or (own[0] == "E" and own[1] not in begun)]


def told_scheme(labels: Iterable[Any]) -> str | None:
    """As `segment_scheme`; warns if most labels describe segments, but not all. A dict has their counts."""
    counts = labels if isinstance(labels, Mapping) else dict.fromkeys(labels, 0)
    strange = _strange(counts)
    others = counts.keys() - strange
    # Single letters may well mean others, and do so beside other capitals.
    weight = 1 if any("-" in str(label) for label in others) else 2
    are_letters = weight == 2 and any(re.fullmatch("[A-Z]", str(label)) for label in strange)
    are_few = weight * len(strange) <= len(others | {OUTSIDE})
    if strange and segment_scheme(others) and are_few and not are_letters:
        numbers = (f" ({plural(counts[label], 'token')})" * bool(counts[label]) for label in strange)
        named = [f"{label!r}{n}" for label, n in zip(strange, numbers, strict=True)]
        told = f"the label {named[0]} is" if len(named) == 1 else f"{some_of(named, _MOST_NAMED)} are"
        warn(f"the labels are not read as segments: {told} not BIO or BIOES")
    return segment_scheme(counts)


def scheme_of(labels: Iterable[str]) -> str:
    """ "bioes" if some label begins with E or S, else "bio"."""
    return "bioes" if any(label[0] in "ES" for label in labels) else "bio"


def write_labels(types: Sequence[str], lengths: Sequence[int], scheme: str) -> list[str]:
    """The labels of segments that follow one another."""
    labels: list[str] = []
    for kind, n in zip(types, lengths, strict=True):
        if kind == OUTSIDE:
            labels.append(OUTSIDE)
            continue
        prefixes = ["B", *"I" * (n - 1)]
        if scheme == "bioes":
            prefixes[-1] = "S" if n == 1 else "E"
        labels += [label_of(prefix, kind) for prefix in prefixes]
    return labels


def label_of(prefix: str, kind: str) -> str:
    """Join a prefix and a segment type, such as ``B-x``; without a type, the prefix alone."""
    return f"{prefix}-{kind}" if kind else prefix


def tags_of(labels: Sequence[str], longest: IntArray) -> tuple[list[str], IntArray]:
    """The tags of segments of these labels, and the one each label begins with; the next one goes on."""
    tags, begin = list[str](), list[int]()
    for label, n in zip(labels, longest.tolist(), strict=True):
        begin.append(len(tags))
        tags.append(OUTSIDE if label == OUTSIDE else label_of("B", label))
        if n > 1:
            tags.append(label_of("I", label))
    return tags, np.array(begin, dtype=np.int64)
