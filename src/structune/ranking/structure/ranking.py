"""Linear ranking: orders of the documents of a query, scored by features and positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from structune.errors import DataError
from structune.flat.structure.shard import Design
from structune.ranking.structure.queries import (
    LARGEST_GAIN,
    Ndcg,
    check_queries,
    positions_of,
    ratio,
    sorted_by_score,
    sorted_positions,
)
from structune.structure import (
    Array,
    FloatArray,
    Groups,
    IntArray,
    SequenceShard,
    Structure,
    check_finite,
    check_offsets,
    check_range,
    check_weights,
    offsets_of,
    segment_indices,
    template_of,
)


@dataclass(frozen=True)
class RankingShard(SequenceShard):
    """Encoded queries, one per example. Gains, ideal and outputs are empty if relevances are unknown."""

    offsets: IntArray  # documents of query q are ``offsets[q]:offsets[q + 1]``
    design: Design  # the features of each document
    gains: FloatArray  # of each document's relevance
    ideal: FloatArray  # of each query: the DCG of documents sorted by relevance
    outputs: IntArray  # position of each document, from 0, when they are sorted by relevance

    @property
    def bounds(self) -> IntArray:
        """First document of each query, and the number of all documents."""
        return self.offsets

    def take(self, indices: Any) -> RankingShard:
        chosen = self._chosen(indices)
        documents: IntArray | slice = segment_indices(self.offsets, chosen)
        if chosen.size and np.all(np.diff(chosen) == 1):  # a slice shares memory
            documents = slice(int(self.offsets[chosen[0]]), int(self.offsets[chosen[-1] + 1]))
        known = self.outputs.size > 0
        return RankingShard(
            self.weights[chosen],
            offsets_of(self.sizes()[chosen]),
            self.design.take(documents),
            self.gains[documents] if known else self.gains,
            self.ideal[chosen] if known else self.ideal,
            self.outputs[documents] if known else self.outputs,
        )


class Ranking(Structure):
    """The structured model of rankings: orders of the documents of a query (Le & Smola 2007).

    An output is a permutation, given as the 0-based position of each document. Documents x_j at positions p_j
    have the features ``F(x, p) = sum_j (p_j + 2)^(-1/4) x_j``. The best order sorts documents by w . x_j, and
    keeps equal ones in the given order. The cost is 1 - NDCG@k; it is 0 for all orders of a query without
    relevant documents. There is no log-partition function: it would be a permanent.

    Parameters
    ----------
    features : sequence of str
        Names of the features; the text before the first ``=`` is the group.
    k, convention
        Number of positions that the NDCG counts, and its gains and discounts: see `structune.ranking.ndcg`.
    """

    name = "ranking"
    capabilities = frozenset({"best", "cost", "equivalent"})

    def __init__(self, features: Sequence[str], k: int | None = 10, convention: str = "letor") -> None:
        self.feature_names, self.ndcg = list(features), Ndcg(convention, k)

    @property
    def n_weights(self) -> int:
        return len(self.feature_names)

    def weight_names(self) -> list[str]:
        return list(self.feature_names)

    def groups(self) -> Groups:
        """Return the groups of weights: one for each prefix of feature names."""
        return Groups.by_name([template_of(name) for name in self.feature_names])

    def encode(self, inputs: Any, outputs: Any = None, weights: Any = None) -> RankingShard:
        """Encode queries and their documents as a shard.

        The true output of a query is its documents sorted by relevance.

        Parameters
        ----------
        inputs : tuple of a matrix, shape (n_documents, n_features), and query ids, shape (n_documents,)
            The matrix is dense or sparse; the documents of a query are adjacent.
        outputs : array-like, shape (n_documents,), optional
            Relevance of each document, >= 0. Documents of equal relevance stay in the order given.
        weights : array-like, shape (n_queries,), optional
            Weight of each query; 1 by default.
        """
        if not isinstance(inputs, tuple) or len(inputs) != 2:
            raise DataError(
                f"inputs must be a pair of a feature matrix and query ids, not {type(inputs).__name__}"
            )
        try:
            design = Design.check(inputs[0], self.feature_names, bias=False)
        except DataError as error:
            raise DataError(f"feature matrix (one document per row): {error}") from error
        queries, offsets = check_queries(inputs[1])
        if queries.size != len(design):
            raise DataError(f"there are {queries.size:,} query ids, but {len(design):,} documents")
        weights = check_weights(weights, offsets.size - 1)
        if outputs is None:
            return RankingShard(weights, offsets, design, np.empty(0), np.empty(0), np.empty(0, np.int64))
        gains = self.ndcg.gains(outputs, queries)
        own = sorted_positions(offsets, -gains)
        return RankingShard(weights, offsets, design, gains, self.ndcg.dcg(gains, own, offsets), own)

    def check_shard(self, shard: RankingShard) -> None:
        n_documents = shard.outputs.size
        check_offsets(shard.offsets, len(shard), n_documents)
        shard.design.check_stored(n_documents, len(self.feature_names), False)
        check_range("positions", shard.outputs, np.int64, (n_documents,), 0, n_documents)
        check_finite("gains", shard.gains, (n_documents,), LARGEST_GAIN)
        check_finite("ideal gains", shard.ideal, shard.weights.shape)
        if np.any(np.diff(shard.offsets) < 1) or np.any(shard.gains < 0.0):
            raise DataError("a query has no documents, or gains are below 0")
        sound = np.array_equal(shard.outputs, sorted_positions(shard.offsets, -shard.gains))
        ideal = self.ndcg.dcg(shard.gains, shard.outputs, shard.offsets)
        if not sound or not np.allclose(shard.ideal, ideal, rtol=1e-9, atol=0.0):
            raise DataError("the positions do not sort documents by gain, or do not fit the ideal DCG")

    def scores(self, w: Array, shard: RankingShard) -> Array:
        """Return the score w . x of each document, shape (n_documents,)."""
        return shard.design.times(w[:, None])[:, 0]

    def _positions_of(self, shard: RankingShard, outputs: Any) -> IntArray:
        if outputs is None:
            return self._with_relevances(shard).outputs
        positions = np.asarray(outputs)
        if positions.shape != (shard.n_parts,):
            raise DataError(f"positions must have the shape {(shard.n_parts,)}, not {positions.shape}")
        return positions

    def _with_relevances(self, shard: RankingShard) -> RankingShard:
        if not shard.outputs.size:
            raise DataError("the shard has no relevances")
        return shard

    def features(
        self, shard: RankingShard, out: FloatArray, weights: FloatArray | None = None, outputs: Any = None
    ) -> None:
        per_query = shard.weights if weights is None else weights
        shares = np.repeat(per_query, shard.sizes()) * _position_weights(self._positions_of(shard, outputs))
        out += shard.design.adjoint(shares[:, None])[:, 0]

    def feature_rows(self, shard: RankingShard, outputs: Any = None) -> scipy.sparse.csr_array:
        shares = _position_weights(self._positions_of(shard, outputs))
        shape = (len(shard), shard.n_parts)
        sums = scipy.sparse.csr_array((shares, np.arange(shard.n_parts), shard.offsets), shape=shape)
        return scipy.sparse.csr_array(sums @ shard.design.matrix)

    def cost(self, shard: RankingShard, outputs: Any) -> FloatArray:
        """Return 1 - NDCG@k of each query, shape (n_queries,); 0 for queries without relevant documents."""
        gains = self._with_relevances(shard).gains
        found = self.ndcg.dcg(gains, self._positions_of(shard, outputs), shard.offsets)
        return (shard.ideal > 0.0) - ratio(found, shard.ideal)

    def best(
        self, w: FloatArray, shard: RankingShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        scores = self.scores(w, shard)
        if cost is None:
            order = sorted_by_score(shard.offsets, scores)
            return self._scored(scores, shard, positions_of(shard.offsets, order))
        # score + cost = sum_j c_p(j) w.x_j - rate * gain_j d_p(j) / ideal + rate: documents with a gain are
        # penalised in the positions that count (Le & Smola 2007; a linear assignment)
        sizes = shard.sizes()
        gains = self._with_relevances(shard).gains
        penalties = np.repeat(cost, sizes) * ratio(gains, np.repeat(shard.ideal, sizes))
        positions, total = self._scored(scores, shard, self._assign(scores, penalties, shard.offsets))
        return positions, total + cost * self.cost(shard, positions)

    def best_equivalent(self, w: FloatArray, shard: RankingShard) -> tuple[IntArray, FloatArray]:
        """Return the highest-scoring order that is sorted by relevance.

        Documents of equal relevance are sorted by score. Orders that differ only after position k also have
        cost 0. With convention="letor", so do orders that differ only in positions 1 and 2.
        """
        scores, gains = self.scores(w, shard), self._with_relevances(shard).gains
        return self._scored(scores, shard, sorted_positions(shard.offsets, -gains, -scores))

    def _scored(
        self, scores: FloatArray, shard: RankingShard, positions: IntArray
    ) -> tuple[IntArray, FloatArray]:
        return positions, np.add.reduceat(_position_weights(positions) * scores, shard.offsets[:-1])

    def _assign(self, scores: FloatArray, penalties: FloatArray, offsets: IntArray) -> IntArray:
        """Positions that maximise the sum of scores, less penalties times discounts, query by query."""
        from structune.ranking.kernels.orders import penalised_orders

        n_most = int(np.diff(offsets).max(initial=0))
        weights, discounts = _position_weights(np.arange(n_most)), self.ndcg.discounts(n_most)
        positions = np.empty(scores.size, dtype=np.int64)
        order = sorted_by_score(offsets, scores)
        penalised_orders(scores, penalties, offsets, order, weights, discounts, positions)
        for q in np.flatnonzero(positions[offsets[:-1]] < 0):  # many grades, or many positions that count
            own = np.arange(offsets[q], offsets[q + 1])
            # documents that find their price right come first, then those that they have to make way for
            own = own[np.lexsort((scores[own], penalties[own]))]
            positions[own] = _assignment(scores[own], penalties[own], discounts[: own.size])
        return positions


def _position_weights(positions: IntArray) -> FloatArray:
    table = (np.arange(positions.max(initial=0) + 1) + 2.0) ** -0.25
    return np.asarray(table[positions])


def _assignment(scores: FloatArray, penalties: FloatArray, discounts: FloatArray) -> IntArray:
    """Positions of the documents of one query, by a solver of assignments."""
    # Without penalties documents sorted by score are the solution. The prices of positions that prove it are
    # subtracted, which changes no optimum but leaves the solver little to do: seven times faster at k = 10.
    weights = _position_weights(np.arange(scores.size))
    in_order = np.sort(scores)[::-1]
    # the prices of `ranking.kernels.orders`: any between two bounds prove that sorted documents are optimal
    steps = 0.5 * (in_order[:-1] + in_order[1:]) * np.diff(weights)
    prices = np.concatenate(([0.0], np.cumsum(steps)))
    losses = np.outer(penalties, discounts) + prices - np.outer(scores, weights)
    return np.asarray(scipy.optimize.linear_sum_assignment(losses)[1])
