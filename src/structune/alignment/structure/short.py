"""Alignments of short pairs, of which the calls for each would cost more than the work."""

from __future__ import annotations

import numpy as np

from structune.alignment.kernels import short as kernel
from structune.alignment.kernels.sums import Side
from structune.alignment.structure.features import FeatureSet
from structune.alignment.structure.shard import AlignmentShard
from structune.alignment.structure.sums import LOST, MOST_SCORE
from structune.structure import FloatArray, IntArray

_SHORT = 60  # residues: of longer pairs the work is most of it


def best_short(
    features: FeatureSet, w: FloatArray, shard: AlignmentShard, gamma: float, band: int | None
) -> tuple[IntArray, IntArray]:
    """Partners of all residues of x, as `Alignment.best_accuracy` has them, and the pairs that are left.

    Those are long, have a band or profiles, or sums that leave the range of a double unless they are tilted.
    """
    partners, left = np.full(shard.n_parts, -1, np.int64), np.arange(len(shard))
    is_short = np.all(shard.lengths <= _SHORT, axis=1)
    if band is not None or features.profile or not is_short.any():
        return partners, left
    some = shard.take(np.flatnonzero(is_short))
    described = features.describe_joined(some.letters, some.annotation, some.offsets)
    sides, terminal = features.sides(w, described, some.offsets)
    scores = np.concatenate((*sides, w[features.steps], features.both_scores(w)))
    most = np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
    most_match = features.most_match(w, described, described) + 2.0 * np.abs(terminal).max(initial=0.0)
    if max(most, most_match) > MOST_SCORE:
        return partners, left
    found, is_known = np.empty(some.n_parts, np.int64), np.empty(len(some), bool)
    kernel.align(
        some.sequences, some.offsets, described.pairing @ features.bilinear(w), described.pairing, terminal,
        Side(*map(np.exp, sides)), np.exp(w[features.steps]), np.exp(features.both_scores(w)), gamma, LOST,
        some.starts, found, is_known,
    )  # fmt: skip
    partners[np.repeat(is_short, shard.lengths[:, 0])] = found
    is_left = ~is_short
    is_left[is_short] = ~is_known
    return partners, np.flatnonzero(is_left)
