"""Fewer features with the same scores, where a group has more features than there are examples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy

from structune.flat.structure.shard import Design
from structune.running.blas import one_thread
from structune.structure import FloatArray, IntArray

# An eigendecomposition of a larger Gram matrix, or of one that is hardly smaller than the features are many,
# costs more than it saves.
_LEAST_FEATURES, _MOST_EXAMPLES = 1025, 1000  # of a group, and of its Gram matrix: what pays
_WIDER = 2  # than high
_LEAST_EIGENVALUE = 1e-12  # relative to the largest


@dataclass(frozen=True)
class Rotation:
    """The features X of each wide group turned to X V, of which as many are left as there are examples.

    Weights with one precision that fit best lie in the span of the examples (the representer theorem), and
    V, orthonormal, spans it: the weights v of X V have the norm and the scores that V v have of X. So fits,
    held-out losses and their gradients in the precision are what they were; only norms that are not
    Euclidean differ, and what counts weights. With X X' = U L U', V is X' U L^-1/2, and X V is U L^1/2.
    """

    design: Design  # X V, group by group
    names: list[str]  # of its features
    labels: list[str]  # of the groups of these
    # features of each group, those of `design`, and U L^-1/2, (n_examples, n_kept), where they were turned
    parts: list[tuple[IntArray, slice, FloatArray | None]]
    given: Design  # X

    @staticmethod
    def may_pay(design: Design) -> bool:
        """Whether some group may be so wide, whatever the groups are."""
        n_features = int(design.matrix.shape[1])
        return len(design) <= _MOST_EXAMPLES and n_features >= _least_features(len(design))

    @classmethod
    def of(cls, design: Design, names: Sequence[str], labels: Sequence[str]) -> Self | None:
        """Of features with these names and groups; None where that would not pay."""
        least, groups = _least_features(len(design)), defaultdict[str, list[int]](list)
        for k, label in enumerate(labels):  # in one pass: there may be as many groups as features
            groups[label].append(k)
        if not cls.may_pay(design) or all(len(own) < least for own in groups.values()):
            return None
        blocks, found, of, parts = [], list[str](), list[str](), []
        # features of narrow groups stay as they are, beside those that were turned
        for label, own in groups.items():
            block, back, told = design.matrix[:, own], None, [names[k] for k in own]
            if len(own) >= least:
                block, back = _turned(block)
                told = [f"{label} {k}" for k in range(block.shape[1])]
            blocks.append(block)
            parts.append((np.array(own), slice(len(found), len(found) + len(told)), back))
            found += told
            of += [label] * len(told)
        if len(blocks) > 1 and design.is_sparse:
            matrix: Any = scipy.sparse.csr_array(scipy.sparse.hstack(blocks))
        else:
            matrix = np.hstack(blocks)
        return cls(Design(matrix, design.bias), found, of, parts, design)

    def turned(self, w: FloatArray) -> FloatArray:
        """Weights of the given features, shape (n_columns, n_scores), as those of `design`."""
        # V' w = L^-1/2 U' X w: only the part of w in the span of the examples counts for scores
        x = self.given.matrix
        rows = [w[own] if back is None else back.T @ (x[:, own] @ w[own]) for own, _, back in self.parts]
        return np.concatenate([*rows, w[x.shape[1] :]])

    def back(self, v: FloatArray) -> FloatArray:
        """The reverse."""
        # V v = X' U L^-1/2 v
        x, w = self.given.matrix, np.empty((self.given.n_columns, v.shape[1]))
        for own, there, back in self.parts:
            w[own] = v[there] if back is None else x[:, own].T @ (back @ v[there])
        w[x.shape[1] :] = v[len(self.names) :]
        return w


def _least_features(n_examples: int) -> int:
    """Of a group that is turned."""
    return max(_LEAST_FEATURES, _WIDER * n_examples)


def _turned(x: Any) -> tuple[FloatArray, FloatArray]:
    """U L^1/2 and U L^-1/2 of X X' = U L U'."""
    with one_thread():
        gram: Any = x @ x.T
        values, vectors = np.linalg.eigh(gram.toarray() if scipy.sparse.issparse(x) else gram)
    # eigenvalues rise; below this share of the largest they are rounding, and L^-1/2 would blow it up
    kept = values > _LEAST_EIGENVALUE * max(values[-1], 0.0)
    kept[-1] = True  # of features that are all 0 one is left, and with it their group
    roots = np.sqrt(np.maximum(values[kept], 0.0))
    return vectors[:, kept] * roots, vectors[:, kept] / np.where(roots > 0.0, roots, 1.0)
