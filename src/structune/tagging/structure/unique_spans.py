"""The best labels of a sequence with at most one span of each type.

Lagrangian relaxation (Geoffrion 1974) bounds the scores of such labels, and A* search (Hart, Nilsson &
Raphael 1968) with these bounds finds the best ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.structure import FloatArray, IntArray
from structune.tagging.structure.labels import OUTSIDE, BoolArray, joins, span_parts, told_scheme

_STEPS, _MOST = 50, 200_000  # of the relaxation, and of the search


@dataclass(frozen=True)
class SpanTypes:
    """The types of which a sequence may have one span each."""

    n: int
    of: IntArray  # (n_labels,): the type of each label; -1 for labels that may repeat
    opens: BoolArray  # (n_labels + 1, n_labels): whether a label begins a span of its type after another one

    def opened(self, labels: IntArray) -> IntArray:
        """The types of the spans that the labels of a sequence begin."""
        before = np.concatenate(([self.of.size], labels[:-1]))
        return self.of[labels][self.opens[before, labels]]

    def repeating(self, labels: IntArray, offsets: IntArray) -> Iterator[int]:
        """Sequences with several spans of a type."""
        for s in range(offsets.size - 1):
            opened = self.opened(labels[offsets[s] : offsets[s + 1]])
            if np.unique(opened).size < opened.size:
                yield s


def span_types(labels: Sequence[str], unique: Any) -> SpanTypes:
    """The types that `unique` names: segment types of BIO and BIOES labels, or else labels."""
    parts = span_parts(labels, told_scheme(labels) is not None)
    known = list(dict.fromkeys(str(kind) for _, kind in parts if kind != OUTSIDE))
    if isinstance(unique, str) or not isinstance(unique, bool | Sequence | set | frozenset) or not unique:
        raise DataError(f"unique={unique!r}: expected True, or a list of labels or segment types")
    chosen = known if unique is True else list(map(str, unique))
    for kind in chosen:
        if kind not in known:
            raise DataError(f"unique: the model has no label or segment type {kind!r}. Allowed: {known}")
    numbers = {kind: k for k, kind in enumerate(chosen)}
    of = np.array([numbers.get(str(kind), -1) for _, kind in parts])
    begins = ~np.vstack((joins(parts), np.zeros(of.size, dtype=bool)))  # the last row: the first labels
    return SpanTypes(len(chosen), of, begins & (of >= 0))


def best_unique(
    scores: FloatArray, start: FloatArray, moves: FloatArray, end: FloatArray, spans: SpanTypes, sequence: int
) -> IntArray:
    """The best labels of one sequence, from scores of tokens (n_tokens, L) and moves as kernels take them."""
    multipliers, kept, least = np.zeros(spans.n), None, np.inf
    for step in range(_STEPS):
        # max over y of score(y) - sum_k u_k (n_k(y) - 1), where n_k are numbers of spans and u_k >= 0, is no
        # less than the score of any y with n_k <= 1. A subgradient step lowers it.
        relaxed = _Relaxed(scores, start, moves, end, spans, multipliers)
        if relaxed.bound == -np.inf:
            break
        labels = relaxed.best()
        excess = np.bincount(spans.opened(labels), minlength=spans.n) - 1
        if (excess <= 0).all() and not excess @ multipliers:
            return labels  # the bound is reached
        if relaxed.bound < least:
            kept, least = relaxed, relaxed.bound
        multipliers = np.maximum(multipliers + 2.0 / np.sqrt(1.0 + step) * excess, 0.0)
    found = None if kept is None else kept.search()
    if found is None:
        raise DataError(
            f"sequence {sequence}: no labels agree with the given ones, the rules, and unique spans"
            if kept is None or kept.is_done
            else f"sequence {sequence}: the search for labels with unique spans takes too long. Name fewer "
            "types in unique"
        )
    return found


@dataclass
class _Relaxed:
    """Scores of one sequence in which each span costs the multiplier of its type."""

    scores: FloatArray
    start: FloatArray
    moves: FloatArray
    end: FloatArray
    spans: SpanTypes
    multipliers: FloatArray
    is_done: bool = False  # whether a search has seen all labels

    def __post_init__(self) -> None:
        costs = np.where(self.spans.opens, np.append(self.multipliers, 0.0)[self.spans.of], 0.0)
        self._start, self._moves = self.start - costs[-1], self.moves - costs[:-1, None]
        # The best that can follow the state of a token, a context x and a label y: b_t(x, y) = max_z of
        # moves(y, x, z) + score_{t+1}(z) + b_{t+1}(c, z), where the next context c is y, or 0 for order 1.
        self.after = [self.end]
        for row in self.scores[:0:-1]:
            after = self.after[-1] if len(self.end) == 1 else self.after[-1][:-1]  # of z behind y
            self.after.append((self._moves + (row + after)[:, None]).max(axis=2).T)
        self.after.reverse()
        first = self._start + self.scores[0] + self.after[0][-1]
        self.bound = float(first.max() + self.multipliers.sum())

    def _next(self, t: int, y: int) -> tuple[int, FloatArray]:
        """The context of the token after t, whose label is y, and what follows each of its labels."""
        x = 0 if len(self.end) == 1 else y
        return x, self.after[t + 1][x]

    def best(self) -> IntArray:
        """The best labels by these scores."""
        x = len(self.end) - 1
        labels = [int((self._start + self.scores[0] + self.after[0][x]).argmax())]
        for t in range(len(self.scores) - 1):
            y = labels[-1]
            move = self._moves[y, x]
            x, after = self._next(t, y)
            labels.append(int((move + self.scores[t + 1] + after).argmax()))
        return np.array(labels)

    def search(self) -> IntArray | None:
        """The best labels with unique spans, by A*; None if there are none, or it takes too many steps."""
        spans, n_tokens, order = self.spans, len(self.scores), count()
        heap = list[Any]()

        def push(t: int, x: int, before: int, gains: FloatArray, after: Any, used: int, path: Any) -> None:
            """Add the states of token t with what they may reach: scores so far, and a bound of the rest."""
            for z in np.flatnonzero(gains + after > -np.inf).tolist():
                kind = 1 << int(spans.of[z]) if spans.opens[before, z] else 0
                if used & kind:
                    continue
                free = sum(u for k, u in enumerate(self.multipliers.tolist()) if not (used | kind) >> k & 1)
                reach = float(gains[z] + after[z]) + free
                heappush(heap, (-reach, next(order), t, x, z, float(gains[z]), used | kind, (path, z)))

        push(0, len(self.end) - 1, spans.of.size, self.start + self.scores[0], self.after[0][-1], 0, None)
        seen = set[tuple[int, int, int, int]]()
        for _ in range(_MOST):
            if not heap:
                self.is_done = True
                return None
            *_, t, x, y, gain, used, path = heappop(heap)
            if t == n_tokens:
                return np.array(list(_unwound(path)))[::-1]
            if (t, x, y, used) in seen:
                continue
            seen.add((t, x, y, used))
            if t == n_tokens - 1:
                heappush(heap, (-gain - self.end[x, y], next(order), n_tokens, x, y, gain, used, path))
                continue
            move = self.moves[y, x]
            x, after = self._next(t, y)
            push(t + 1, x, y, gain + move + self.scores[t + 1], after, used, path)
        return None


def _unwound(path: Any) -> Iterator[int]:
    """The labels of a path, the last one first."""
    while path is not None:
        path, z = path
        yield z
