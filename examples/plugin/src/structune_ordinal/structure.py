"""Ordered labels: scores, features and inference; see docs/extending.md."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp, softmax

from structune.errors import DataError
from structune.structure import Groups, Shard, Structure, check_finite, check_range, check_weights


@dataclass(frozen=True)
class OrdinalShard(Shard):
    """Rows of features, and the label of each."""

    rows: np.ndarray
    labels: np.ndarray

    @property
    def n_parts(self):
        return len(self)

    def sizes(self):
        return np.ones(len(self), dtype=np.int64)

    def take(self, indices):
        return OrdinalShard(self.weights[indices], self.rows[indices], self.labels[indices])


class Ordinal(Structure):
    """Ordered labels, scored by weighted features and a threshold for each step."""

    name = "ordinal"
    capabilities = frozenset({"log_partition", "hessian", "best", "cost"})

    def __init__(self, features, n_labels):
        self.feature_names, self.n_labels = list(features), n_labels

    # --- the weights ---------------------------------------------------------------------------

    @property
    def n_weights(self):
        return len(self.feature_names) + self.n_labels - 1

    def weight_names(self):
        return self.feature_names + [f"step to {k}" for k in range(1, self.n_labels)]

    def groups(self):
        blocks = [name.partition("=")[0] for name in self.feature_names]
        return Groups.by_name([*blocks, *["steps"] * (self.n_labels - 1)])

    # --- the examples --------------------------------------------------------------------------

    def encode(self, inputs, outputs=None, weights=None):
        rows = np.asarray(inputs, dtype=float)
        if rows.shape[1:] != (len(self.feature_names),) or not np.isfinite(rows).all():
            raise DataError(
                f"the inputs have shape {rows.shape}, but need {len(self.feature_names)} finite columns"
            )
        labels = np.full(len(rows), -1) if outputs is None else np.asarray(outputs, dtype=np.int64)
        if labels.shape != (len(rows),):
            raise DataError(f"the labels have shape {labels.shape}, but need ({len(rows)},)")
        if outputs is not None:
            for i in np.flatnonzero((labels < 0) | (labels >= self.n_labels))[:1]:
                raise DataError(f"example {i} has the label {labels[i]}; labels are 0 to {self.n_labels - 1}")
        return OrdinalShard(check_weights(weights, len(rows)), rows, labels)

    def check_shard(self, shard):
        check_finite("rows", shard.rows, (len(shard), len(self.feature_names)))
        check_range("labels", shard.labels, np.int64, (len(shard),), 0, self.n_labels)

    # --- scores and features -------------------------------------------------------------------

    def _scores(self, w, shard):
        """Score of each label, shape (n_examples, n_labels)."""
        v, steps = np.split(w, [len(self.feature_names)])
        return np.outer(shard.rows @ v, np.arange(self.n_labels)) + np.append(0.0, np.cumsum(steps))

    def _add(self, out, shard, shares):
        """Add the features of every label, times its share, shape (n_examples, n_labels)."""
        n = len(self.feature_names)
        out[:n] += shard.rows.T @ (shares @ np.arange(self.n_labels))
        out[n:] += shares[:, ::-1].cumsum(axis=1)[:, -2::-1].sum(axis=0)

    def _one_hot(self, shard, outputs=None):
        labels = shard.labels if outputs is None else np.asarray(outputs)
        return np.eye(self.n_labels)[labels]

    def features(self, shard, out, weights=None, outputs=None):
        weights = shard.weights if weights is None else weights
        self._add(out, shard, weights[:, None] * self._one_hot(shard, outputs))

    def feature_rows(self, shard, outputs=None):
        labels = shard.labels if outputs is None else np.asarray(outputs)
        steps = labels[:, None] >= np.arange(1, self.n_labels)
        return sp.csr_array(np.hstack((labels[:, None] * shard.rows, steps)))

    # --- inference -----------------------------------------------------------------------------

    def log_partition(self, w, shard, expected=None, weights=None, within=False):
        scores = self._scores(w, shard)
        if expected is not None:
            weights = shard.weights if weights is None else weights
            self._add(expected, shard, weights[:, None] * softmax(scores, axis=1))
        return logsumexp(scores, axis=1)

    def best(self, w, shard, cost=None):
        scores = self._scores(w, shard)
        if cost is not None:
            far = np.abs(np.arange(self.n_labels) - shard.labels[:, None])
            scores += cost[:, None] * far
        return scores.argmax(axis=1), scores.max(axis=1)

    def cost(self, shard, outputs):
        return np.abs(shard.labels - outputs).astype(float)

    # --- second derivatives --------------------------------------------------------------------

    def linearize(self, w, shard, within=False):
        p = softmax(self._scores(w, shard), axis=1)

        def product(v):
            change, out = self._scores(v, shard), np.zeros(self.n_weights)
            mean = (p * change).sum(axis=1, keepdims=True)
            self._add(out, shard, shard.weights[:, None] * p * (change - mean))
            return out

        return product

    def variance(self, w, shard):
        p = softmax(self._scores(w, shard), axis=1)
        y = np.arange(self.n_labels)
        of_label = p @ y**2 - (p @ y) ** 2
        above = p[:, ::-1].cumsum(axis=1)[:, -2::-1]
        squares = (shard.weights * of_label) @ shard.rows**2
        return np.append(squares, shard.weights @ (above * (1 - above)))
