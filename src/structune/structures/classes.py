"""Multiclass log-linear models: one label an example, scored by sparse features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from structune.errors import DataError
from structune.features.attributes import template_of
from structune.kernels import classes as kernels
from structune.structures.attribute_weights import AttributeRows, AttributeWeights
from structune.structures.base import (
    Array,
    FloatArray,
    Groups,
    HessianProduct,
    IntArray,
    Shard,
    Structure,
    check_weights,
)


@dataclass(frozen=True)
class ClassesShard(Shard):
    """Encoded examples: sparse feature rows, and class indices (empty without outputs)."""

    rows: AttributeRows
    labels: IntArray

    @property
    def n_parts(self) -> int:
        return len(self)

    def sizes(self) -> IntArray:
        return np.ones(len(self), dtype=np.int64)

    def take(self, indices: Any) -> ClassesShard:
        chosen = np.arange(len(self))[indices]
        labels = self.labels[chosen] if self.labels.size else self.labels
        return ClassesShard(self.weights[chosen], self.rows.take(chosen), labels)


class Classes(Structure):
    """Multinomial logistic models over CSR features with real values.

    The weights are feature x class, row by row, then one bias a class.

    Parameters
    ----------
    labels : sequence
        The classes.
    features : sequence of str
        Names; the text before the first ``=`` is the group.
    bias : bool
        Whether classes have a bias, a group of its own.
    """

    kind = "classes"
    capabilities = frozenset({"log_partition", "hessian", "best", "cost", "complex", "marginals"})

    def __init__(self, labels: Sequence[Any], features: Sequence[str], bias: bool = True) -> None:
        if len(set(labels)) != len(labels) or not len(labels):
            raise DataError(f"found the classes {list(labels)}, expected at least one and no two alike")
        self.labels, self.feature_names, self.bias = list(labels), list(features), bias
        self._ids = {label: y for y, label in enumerate(self.labels)}
        n_pairs = len(self.feature_names) * self.n_labels
        self.pairs = AttributeWeights(np.arange(n_pairs), len(self.feature_names), self.n_labels)
        self._bias = slice(n_pairs, n_pairs + self.n_labels * bias)

    @property
    def n_labels(self) -> int:
        return len(self.labels)

    @property
    def n_weights(self) -> int:
        return self._bias.stop

    def weight_names(self) -> list[str]:
        names = [f"{name} : {label}" for name in self.feature_names for label in self.labels]
        return names + [f"(bias) : {label}" for label in self.labels if self.bias]

    def groups(self) -> Groups:
        """One group per feature-name prefix, and the biases."""
        prefixes = [template_of(name) for name in self.feature_names]
        repeated = [prefix for prefix in prefixes for _ in self.labels]
        return Groups.by_name(repeated + ["bias"] * (self.n_labels * self.bias))

    def encode(self, inputs: Any, outputs: Any = None, weights: Any = None) -> ClassesShard:
        """Lay out a feature matrix, shape (n_examples, n_features), and class labels as a shard.

        Raises
        ------
        DataError
            No examples, a wrong number of features or labels, a value that is not finite, an unknown class.
        """
        matrix = sp.csr_array(inputs)
        if not matrix.shape[0]:
            raise DataError("found no examples, expected at least one")
        if matrix.shape[1] != len(self.feature_names):
            raise DataError(f"found {matrix.shape[1]} features, expected {len(self.feature_names)}")
        values = np.asarray(matrix.data, dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
            name = self.feature_names[matrix.indices[bad[0]]]
            raise DataError(
                f"example {row}, feature {name!r}: found {values[bad[0]]}, expected a finite number"
            )
        rows = self.pairs.layout(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), values)
        labels = np.empty(0, np.int64) if outputs is None else self._encode_labels(outputs, matrix.shape[0])
        return ClassesShard(check_weights(weights, matrix.shape[0]), rows, labels)

    def _encode_labels(self, outputs: Any, n_examples: int) -> IntArray:
        if len(outputs) != n_examples:
            raise DataError(f"found {len(outputs)} labels for {n_examples} examples")
        for i, label in enumerate(outputs):
            if label not in self._ids:
                raise DataError(f"example {i}: found the class {label!r}, expected one of {self.labels}")
        return np.fromiter((self._ids[label] for label in outputs), np.int64, n_examples)

    def _scores(self, w: Array, shard: ClassesShard) -> Array:
        scores = self.pairs.scores(self.pairs.open(w), shard.rows, 0, len(shard))
        if self.bias:
            scores += w[self._bias]
        return scores

    def _add_rows(self, out: Array, shard: ClassesShard, rows: Array, power: int = 1) -> None:
        counts = self.pairs.open_counts(out)
        self.pairs.add_counts(counts, shard.rows, 0, rows, power)
        self.pairs.close_counts(counts)
        if self.bias:
            out[self._bias] += rows.sum(axis=0)

    def _labels_of(self, shard: ClassesShard, outputs: Any) -> IntArray:
        labels = shard.labels if outputs is None else np.asarray(outputs)
        if labels.size != len(shard):
            raise DataError("the shard has no labels")
        return labels

    def features(
        self, shard: ClassesShard, out: FloatArray, weights: FloatArray | None = None, outputs: Any = None
    ) -> None:
        rows = np.zeros((len(shard), self.n_labels))
        rows[np.arange(len(shard)), self._labels_of(shard, outputs)] = (
            shard.weights if weights is None else weights
        )
        self._add_rows(out, shard, rows)

    def feature_rows(self, shard: ClassesShard, outputs: Any = None) -> sp.csr_array:
        labels = self._labels_of(shard, outputs)
        row, columns, values = self.pairs.observed(shard.rows, labels)
        if self.bias:
            row = np.concatenate((row, np.arange(len(shard))))
            columns = np.concatenate((columns, self._bias.start + labels))
            values = np.concatenate((values, np.ones(len(shard))))
        return sp.coo_array((values, (row, columns)), shape=(len(shard), self.n_weights)).tocsr()

    def _refuse_partial(self, within: bool) -> None:
        if within:
            raise self._cannot("within")

    def marginals(self, w: FloatArray, shard: ClassesShard) -> FloatArray:
        """Probability of each class, shape (n_examples, n_classes)."""
        p = self._scores(w, shard)
        kernels.softmax(p, np.empty(len(shard)))
        return np.asarray(p)

    def log_partition(
        self,
        w: Array,
        shard: ClassesShard,
        expected: Array | None = None,
        weights: FloatArray | None = None,
        within: bool = False,
    ) -> Array:
        self._refuse_partial(within)
        p, log_z = self._scores(w, shard), np.empty(len(shard), w.dtype)
        kernels.softmax(p, log_z)
        if expected is not None:
            self._add_rows(expected, shard, p * (shard.weights if weights is None else weights)[:, None])
        return log_z

    def best(
        self, w: FloatArray, shard: ClassesShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        scores = self._scores(w, shard)
        if cost is not None:
            scores += cost[:, None]
            scores[np.arange(len(shard)), self._labels_of(shard, None)] -= cost
        return scores.argmax(axis=1), scores.max(axis=1)

    def cost(self, shard: ClassesShard, outputs: Any) -> FloatArray:
        """0/1 cost."""
        return np.asarray(self._labels_of(shard, None) != outputs, dtype=np.float64)

    def linearize(self, w: FloatArray, shard: ClassesShard, within: bool = False) -> HessianProduct:
        self._refuse_partial(within)
        p = self.marginals(w, shard)

        def product(v: FloatArray) -> FloatArray:
            rows, out = self._scores(v, shard), np.zeros(self.n_weights)
            kernels.tangent(p, shard.weights, rows)
            self._add_rows(out, shard, rows)
            return out

        return product

    def variance(self, w: FloatArray, shard: ClassesShard) -> FloatArray:
        p, out = self.marginals(w, shard), np.zeros(self.n_weights)
        self._add_rows(out, shard, shard.weights[:, None] * p * (1.0 - p), power=2)
        return out
