"""Linear ranking by NDCG, with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from structune.errors import DataError, warn
from structune.files.models import Arrays
from structune.flat.feature_estimator import FeatureEstimator
from structune.learning.estimator import Blocks, Encoded
from structune.learning.losses import Loss
from structune.learning.parameters import parameters
from structune.ranking.metrics import ndcg
from structune.ranking.structure.queries import (
    Ndcg,
    brought_together,
    check_queries,
    positions_of,
    sorted_by_score,
)
from structune.ranking.structure.ranking import Ranking, RankingShard
from structune.structure import Array, FloatArray, IntArray, as_weights, check_weights

if TYPE_CHECKING:
    from structune.learning.tuning.problem import Tuner, TuningProblem, TuningResult

_GRID = tuple(8.0**k for k in range(-3, 4))  # costs of a few queries tell no finer steps apart


class ZeroWeightsWarning(UserWarning):
    """All weights are zero, so the model leaves documents in the order given."""


class OneQueryWarning(UserWarning):
    """No queries were given, so all documents are treated as one query."""


@parameters
class Ranker(FeatureEstimator):
    """Rank the documents of each query by a linear score that is trained to maximize NDCG@k.

    Parameters
    ----------
    loss : {"ramp", "equivalent", "margin"}, or a loss
        Loss function that training minimizes: a bound on 1 - NDCG@k, summed over queries. "ramp": the ramp
        loss (Chapelle et al. 2008). "equivalent": the margin loss relative to the best order that sorts by
        relevance. "margin": the margin loss relative to one such order, in which documents of equal relevance
        stay in the order given. "margin" is convex; the others are minimized by a convex-concave procedure.
        With "equivalent" and "margin" all weights often end at 0.
    tuning : "auto", None, "grid", "majorize", or a tuner
        Method that chooses the regularization strength of each group of weights. "auto" means "grid", or None
        if `penalty` is given. "grid" tries 8^-3 .. 8^3, and keeps the value of the highest NDCG@k on held-out
        queries. "majorize" needs no held-out queries; it may drive the weights to 0. None uses `penalty`.
    penalty : float or dict, optional
        L2 regularization strength: each weight w adds ``penalty * w**2 / 2`` to the loss. One number, or one
        per group name (1 for other groups). By default the strength is tuned;
        without tuning it is 1.
    k : int, optional
        Number of first positions that the NDCG counts. None counts all.
    convention : {"letor", "burges", "scikit-learn"}
        Gain of a relevance r and discount of a position i in the NDCG. "letor": 2^r - 1, 1 / log2(max(i, 2)).
        "burges": 2^r - 1, 1 / log2(1 + i). "scikit-learn": r, 1 / log2(1 + i). A query without relevant
        documents has an NDCG of 0 in all three.
    cv : int, float, or splitter, optional
        Number of cross-validation folds of the queries for tuning="grid", such as 5, or share of the queries
        that it holds out, such as 0.2; by default 2 folds. Or a scikit-learn splitter, or a list of its
        splits.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
        Weight of each feature.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        Results of every fit: see `structune.learning.StructuredEstimator`.

    Notes
    -----
    The model is that of Le & Smola (2007): an order has the features sum_j (p_j + 1)^(-1/4) x_j, with p_j the
    position of document j, from 1. Adding a constant to a feature of all documents of a query changes
    nothing. Features are not scaled: give them similar ranges, because they share a penalty.

    The convex bound often has its minimum at w = 0, where all orders tie. Fits of "ramp" and "equivalent"
    therefore start from a ridge regression of the documents' gains, or, with `warm_start`, from the previous
    weights unless those are all 0. In tuning, the regression uses the training part only. It centers features
    within queries, unless they are a sparse matrix of more than 2^26 cells.

    Examples
    --------
    >>> import numpy as np
    >>> from structune import Ranker
    >>> X = np.array([[0.9, 0.1], [0.2, 0.3], [0.1, 0.9], [0.7, 0.4], [0.4, 0.2], [0.1, 0.6]])
    >>> y, queries = [2, 1, 0, 2, 1, 0], ["a", "a", "a", "b", "b", "b"]
    >>> Ranker(tuning=None).fit(X, y, queries).rank(X, queries).tolist()
    [1, 2, 3, 1, 2, 3]
    """

    _auto = "grid", "highest held-out NDCG"
    _tolerance = 1e-3  # measures of rankings do not tell finer gaps apart

    loss: str | Loss = "ramp"
    k: int | None = 10
    convention: str = "letor"
    l1: float = field(default=0.0, init=False)  # it needs a smooth loss, which rankings have none of

    _scores_one_query: bool = field(default=False, init=False)  # as it was fitted without queries

    # --- fitting ------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any, queries: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to documents with known relevances.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_documents, n_features)
            Features of the documents.
        y : array-like, shape (n_documents,)
            Relevance of each document, a number >= 0.
        queries : array-like, shape (n_documents,), optional
            Query id of each document, a number or a string; documents may be in any order. Queries whose
            documents all have the same relevance are skipped. None treats all documents as those of one
            query, with a warning; tuning="grid" needs several queries.
        sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
            Weight of each query, in the order in which the queries first occur; or, for each document, the
            weight of its query. 1 by default.

        Raises
        ------
        ValueError
            scikit-learn refuses the input, for example because of nan, which an imputer can replace.
        DataError
            A query id, relevance or weight cannot be used; no query has documents of different relevance;
            there are fewer queries than folds; or weights are all zero, or differ within a query.
        CapabilityError
            The loss cannot be used for rankings, for example "log".

        Warns
        -----
        OneQueryWarning
            `queries` is None.
        ZeroWeightsWarning
            All weights are 0, or the NDCG does not depend on the order of documents.
        """
        loss = self._make_loss()
        Ranking([], self.k, self.convention).require(loss.needs, f"loss={self.loss!r}")
        # weights are those of features by their place: of another number of features they are of no use
        before = getattr(self, "coef_", None) if self.warm_start else None
        self._scores_one_query = queries is None
        examples = self._encode_training(X, y, queries, sample_weight)
        start = before if before is not None and before.size == self.n_features_in_ else None
        self._learn(examples.structure, loss, examples.shard, start, None)
        return self

    def _encode_training(self, X: Any, y: Any, queries: Any = None, sample_weight: Any = None) -> Encoded:
        if queries is None and self._chosen_tuning(False)[0] == "grid":
            raise DataError(
                "queries are missing: tuning='grid', the default, holds some out. Give the query of each "
                "document as queries, or tuning=None if all documents belong to one query"
            )
        shard, ids = self._checked(X, y, queries, sample_weight)
        if queries is None:
            told = f"queries are missing: all {len(ids):,} documents are treated as one query"
            warn(f"{told}. Give the query of each document as queries", OneQueryWarning)
        if not len(shard):
            raise _no_uneven(len(ids))
        discounts = Ndcg(self.convention, self.k).discounts(int(shard.sizes().max()))
        if not discounts[0] > discounts[-1]:
            alike = f"the NDCG of convention={self.convention!r} is the same for all orders of two documents"
            told = f"{alike}, and no query has more. Use convention='burges', in which the order counts"
            warn(told, ZeroWeightsWarning)
        return Encoded(self._structure, shard)

    def _encoded_blocks(self, blocks: Blocks) -> Iterator[tuple[RankingShard, None]]:
        seen, n_queries, n_documents = set[Any](), 0, 0
        for number, (shard, ids) in enumerate(self._checked_blocks(blocks())):
            for query in dict.fromkeys(ids.tolist()):
                if query in seen:
                    raise DataError(
                        f"block {number}: the query {query} is already in an earlier block. Put all "
                        "documents of a query into one block"
                    )
                seen.add(query)
            n_queries, n_documents = n_queries + len(shard), n_documents + len(ids)
            yield shard, None
        if not n_queries:
            raise _no_uneven(n_documents)

    def _checked(
        self, X: Any, y: Any, queries: Any = None, sample_weight: Any = None, *, reset: bool = True
    ) -> tuple[RankingShard, Array]:
        """The queries with documents of different relevance, encoded, and the query of each document."""
        X, y = self._check_fit(X, y, y_numeric=True, reset=reset)
        if y.dtype.kind not in "biuf":
            raise DataError("relevances must be numbers, not strings")
        ids, order = _arranged(queries, X)
        Ndcg(self.convention, self.k).gains(y, ids)  # refuses a document by its place in the order given
        weights = _query_weights(sample_weight, ids, order)
        shard = self._structure.encode((X[order], ids[order]), y[order], weights)
        low, high = (reduce.reduceat(shard.gains, shard.offsets[:-1]) for reduce in (np.minimum, np.maximum))
        return shard.take(np.flatnonzero(low < high)), ids  # there is nothing to learn from others

    def _learn(self, structure: Any, loss: Loss, *data: Any) -> TuningResult:
        result = super()._learn(structure, loss, *data)
        if self.status_ == "converged" and not self.coef_.any():
            message = f"all weights are 0, which gives the lowest {loss.name} loss plus penalty"
            order = "so documents stay in the order given. Try loss='ramp' or k=None"
            warn(f"{message}, {order}", ZeroWeightsWarning)
        return result

    def _adopt(self, model: Self) -> None:
        super()._adopt(model)
        self.k, self.convention = model.k, model.convention  # of the gains in the folder
        self._scores_one_query = False

    @property
    def _prepare(self) -> Callable[[TuningProblem, FloatArray | None], TuningProblem]:
        from structune.ranking.first_weights import begin_at_regression

        return begin_at_regression

    @property
    def _structure(self) -> Ranking:
        return Ranking(self._names, self.k, self.convention)

    def _make_tuner(self, tuning: str | Tuner) -> Tuner:
        """As in other estimators, but "grid" tries penalties that suit rankings."""
        from structune.learning.tuning.grid import GridTuner

        if tuning == "grid":
            return GridTuner(_GRID, fit_tolerance=self._fit_tolerance)
        return super()._make_tuner(tuning)

    # --- prediction ---------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> FloatArray:
        """Compute the score of each document, ``coef_ . x``, shape (n_documents,); higher is better."""
        return np.asarray(self._check_features(X) @ self.coef_)

    def predict(self, X: Any) -> FloatArray:
        """Compute the score of each document; the same as `decision_function`."""
        return self.decision_function(X)

    def rank(self, X: Any, queries: Any = None) -> IntArray:
        """Compute the position of each document in its query, from 1 (best), shape (n_documents,).

        Documents with equal scores stay in the order given. Without `queries`, all belong to one query.
        """
        scores = self.decision_function(X)
        ids, order = _arranged(queries, scores)
        ranks = np.empty_like(order)
        offsets = check_queries(ids[order])[1]
        ranks[order] = 1 + positions_of(offsets, sorted_by_score(offsets, scores[order]))
        return ranks

    def score(self, X: Any, y: Any, queries: Any = None, sample_weight: Any = None) -> float:
        """Compute the mean NDCG@k over queries. A query without relevant documents counts as 0.

        `queries` and `sample_weight` are as in `fit`. A ranker that was fitted with queries needs `queries`
        here, too, and raises DataError without them.
        """
        scores = self.decision_function(X)
        if queries is None and not self._scores_one_query:
            raise DataError(
                "queries are missing: give the query of each document, as in fit. In cross-validation, call "
                "set_score_request(queries=True) and sklearn.set_config(enable_metadata_routing=True), so "
                "that scikit-learn passes them on"
            )
        ids, order = _arranged(queries, scores)
        Ndcg(self.convention, self.k).gains(y, ids)
        found = ndcg(np.asarray(y)[order], scores[order], ids[order], self.k, self.convention)
        return float(np.average(found, weights=_query_weights(sample_weight, ids, order)))

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = super()._pack()
        return header | {"one_query": self._scores_one_query}, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> Ranker:
        model = cls()
        header["parameters"].pop("l1", None)  # of earlier versions: it was 0
        model._unpack(header, arrays)
        model._scores_one_query = header["one_query"] is True
        return model


def _arranged(queries: Any, rows: Any) -> tuple[Array, IntArray]:
    """Query ids, and an order of the rows in which the documents of each query are adjacent."""
    ids, order = brought_together(np.zeros(rows.shape[0], np.int64) if queries is None else queries)
    if ids.size != rows.shape[0]:
        raise DataError(f"there are {ids.size:,} query ids, but {rows.shape[0]:,} documents")
    return ids, order


def _query_weights(sample_weight: Any, ids: Array, order: IntArray) -> FloatArray | None:
    """The weight of each query, in the order of their first documents."""
    if sample_weight is None:
        return None
    offsets = check_queries(ids[order])[1]
    starts, sizes = offsets[:-1], np.diff(offsets)
    weights = as_weights(sample_weight)
    if weights.shape == ids.shape:
        given = weights[order]
        weights = given[starts]
        for j in np.flatnonzero(given != np.repeat(weights, sizes))[:1]:
            raise DataError(
                f"document {order[j]}, query {ids[order[j]]}: the weight {given[j]} differs from that of the "
                "query's first document, but all documents of a query have one weight"
            )
    weights = check_weights(weights, starts.size)
    if not weights.any():
        raise DataError("the weights of all queries are zero: at least one must be positive")
    return weights


def _no_uneven(n_documents: int) -> DataError:
    told = f"no query has documents of different relevance (n_samples = {n_documents})"
    return DataError(f"{told}, but training needs at least one such query")
