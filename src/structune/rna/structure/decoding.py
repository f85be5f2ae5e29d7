"""Structures of one RNA sequence: the best by score, by expected accuracy, and at random."""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any

import numpy as np

from structune.kernels.vectors import all_lanes
from structune.rna.kernels import grammar
from structune.rna.kernels import mea as rna_mea
from structune.rna.kernels import sums as kernels
from structune.rna.kernels.sums import row as place_of_row
from structune.rna.kernels.viterbi import viterbi
from structune.rna.structure.inference import (
    LogInference,
    ScaledInference,
    grammar_choices,
    grammar_model,
    rows,
)
from structune.rna.structure.potentials import Scores, with_ends
from structune.structure import Array, FloatArray, IntArray

Item = tuple[int, int, int]


class Viterbi:
    """The best way to fill in every part of a sequence.

    Attributes
    ----------
    score : float
        Of the best structure.
    """

    def __init__(self, scores: Scores, letters: Array, min_hairpin: int, extra: FloatArray) -> None:
        n = letters.size
        tables, scalars = scores.tables(n)
        pairs, multi, multi_2 = np.full((3, n * (n + 1) // 2 + 16), -np.inf)
        suffixes, rows = np.zeros(n + 1), np.zeros((2, n + kernels.RIGHT))
        ring = np.full((kernels.RING, kernels.LEFT + n + kernels.RIGHT), -np.inf)
        viterbi(
            with_ends(letters), tables, scalars, extra, min_hairpin, all_lanes(float),
            pairs, multi, multi_2, suffixes, ring, rows, np.empty(n, np.int64),
        )  # fmt: skip
        self.n, self.score = n, float(suffixes[0])
        self._model = grammar_model(scores, letters, min_hairpin, extra)
        self._chart = grammar.Chart(pairs, multi, multi_2, suffixes)

    def best(self) -> IntArray:
        """Partners of the bases, -1 for none."""
        return derive(self._model, self._chart, self.n, np.empty(0))

    def n_best(self, n: int, least: float) -> tuple[IntArray, FloatArray]:
        """Up to `n` structures of highest score, falling: partners, shape (n, n_bases), and scores.

        None that scores less than `least`.

        Best first: what the chart says that an unfinished structure can reach, one of its choices reaches.
        """
        order = count(0, -1)  # of equal ones the latest first, which is soon finished
        found: list[tuple[list[Item], float]] = []
        waiting: list[tuple[float, int, list[Item], list[Item]]] = [
            (-self.score, next(order), [(grammar.EXTERIOR, 0, self.n - 1)], [])
        ]
        while waiting and len(found) < n:
            loss, _, todo, pairs = heapq.heappop(waiting)
            if -loss < least:
                break
            if not todo:
                found.append((pairs, -loss))
                continue
            item, rest = todo[-1], todo[:-1]
            for value, left in self._choices(item, n):
                more = [*pairs, item] if item[0] == grammar.PAIR else pairs
                reached = loss + float(grammar.value_of(self._chart, self.n, *item)) - value
                heapq.heappush(waiting, (reached, next(order), rest + left, more))
        return self._partners([pairs for pairs, _ in found]), np.array([score for _, score in found])

    def _choices(self, item: Item, n: int) -> list[tuple[float, list[Item]]]:
        """The `n` best choices for an item: their values, and the items that they leave."""
        if item[0] == grammar.EXTERIOR and item[1] == self.n:
            return [(0.0, [])]
        room = grammar_choices(self.n, float)
        n_choices = grammar.choices(self._model, self._chart, *item, room)
        best = np.argsort(-room.values[:n_choices], kind="stable")[:n]
        return [(float(room.values[k]), _items(room.items[6 * k : 6 * k + 6])) for k in best]

    def _partners(self, structures: list[list[Item]]) -> IntArray:
        partners = np.full((len(structures), self.n), -1, np.int64)
        for row, pairs in zip(partners, structures, strict=True):
            for _, i, j in pairs:
                row[i], row[j] = j, i
        return partners


def _items(six: Array) -> list[Item]:
    a, b = tuple(six[:3].tolist()), tuple(six[3:].tolist())
    return [item for item in (a, b) if item[0] != grammar.NONE]


def derive(model: grammar.Model, chart: grammar.Chart, n: int, uniforms: FloatArray) -> IntArray:
    """Partners of a structure: the best, or the one that `uniforms` fall on."""
    partner = np.empty(n, np.int64)
    todo = np.empty((n + 3, 3), np.int64)
    grammar.derive(model, chart, uniforms, grammar_choices(n, float), todo, partner)
    return partner


def samples(
    inference: ScaledInference | LogInference, model: grammar.Model, n_samples: int, rng: np.random.Generator
) -> IntArray:
    """Structures drawn by their probabilities, shape (n_samples, n_bases)."""
    chart, n = inference.chart(), inference.n
    drawn = [derive(model, chart, n, rng.random(3 * n + 3)) for _ in range(n_samples)]
    return np.array(drawn, np.int64).reshape(n_samples, n)


def mea_structure(pairs: FloatArray, n: int, gamma: float) -> IntArray:
    """Partners that maximise the sum of 2 gamma p over pairs, and of the probability to have none elsewhere.

    Parameters
    ----------
    pairs : ndarray
        Pair probabilities, triangular: (0, 0..n-1), (1, 1..n-1), ...

    Notes
    -----
    Do, Woods & Batzoglou 2006, section 2.5.
    """
    paired = np.zeros(n)
    for i, row in enumerate(rows(pairs, n)):
        paired[i] += row.sum()
        paired[i:] += row
    return _best_sum(2.0 * gamma * pairs, np.maximum(1.0 - paired, 0.0))


def centroid_structure(pairs: FloatArray, n: int, threshold: float) -> IntArray:
    """Partners that maximise the sum of p - threshold over pairs.

    From a threshold of 1/2 on these are all pairs that are more probable: the centroid (Ding, Chan & Lawrence
    2005), and below it the gamma-centroid of Hamada et al. (2009), gamma = 1 / threshold - 1.
    """
    return _best_sum(pairs - threshold, np.zeros(n))


def _best_sum(pairs: Any, unpaired: FloatArray) -> IntArray:
    """Partners of highest total value; pairs are triangular, and of no use unless their value is positive."""
    n = unpaired.size
    table, scratch, partner = np.zeros(n * (n + 1) // 2 + 16), np.zeros(n + 8), np.empty(n, np.int64)
    rna_mea.accuracies(pairs, unpaired, all_lanes(float), scratch, table)
    rna_mea.trace(pairs, unpaired, table, np.empty((n + 1, 2), np.int64), partner)
    return partner


def add_to_pairs(scores: Array, partner: IntArray, bonus: Any) -> Array:
    """Triangular scores of pairs with those of one structure raised."""
    n, dtype = partner.size, np.result_type(scores, bonus)
    out = scores.astype(dtype) if scores.size else np.zeros(n * (n + 1) // 2, dtype)
    for i in np.flatnonzero(partner > np.arange(n)):
        out[place_of_row(i, n) + partner[i]] += bonus
    return out
