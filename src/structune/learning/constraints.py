"""Constraints that hold a model to validation sets while it trains (Chen et al. 2009, section 3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from structune.errors import DataError
from structune.learning.margin_losses import PerceptronLoss
from structune.learning.risk import Risk
from structune.learning.solvers.saddle_point import check_positive
from structune.running.executors import Executor
from structune.structure import FloatArray, IntArray, Shard, Structure

SUBGRADIENTS = ("exact", "printed", "weighted")


def validation_constraints(
    structure: Structure,
    shard: Shard,
    n_sets: int = 3,
    random_state: int = 0,
    executor: Executor | None = None,
    subgradient: str = "exact",
    clip: float = 1.0,
) -> list[Risk]:
    """One function a validation set: the best score minus that of the annotated output, summed over it.

    h_j of equation 6, for `structune.learning.solvers.saddle_point`. It is convex, zero at w = 0 and where
    all of the set is predicted right, and grows in proportion to w elsewhere; the difference of features is
    its exact subgradient.

    The sets are drawn from the training data, which all stay training data ("single training, multiple
    validation", section 3.1): a random partition of the examples, into sets of about the same length.
    Examples stay whole; a long sequence has to be cut into several by the caller.

    Parameters
    ----------
    structure : Structure
        With the capability "best".
    shard : Shard
        All training examples.
    n_sets : int
    random_state : int
    executor : Executor, optional
    subgradient : {"exact", "printed", "weighted"}
        "exact", or with the paper's approximation of how the best labels change with a weight: see
        `FlipConstraint`. It is there to be compared, and needs the capability "flips".
    clip : float
        Of the approximation: the largest size of its terms.

    Raises
    ------
    DataError
        Fewer examples than sets, or outputs that are known in part only.
    CapabilityError
        The approximation for a structure other than the linear chain.
    """
    if subgradient not in SUBGRADIENTS:
        raise DataError(f"subgradient={subgradient!r}: expected one of {SUBGRADIENTS}")
    if shard.partial:
        raise DataError("found outputs known in part, expected complete ones: constraints need their scores")
    parts = _partition(shard.sizes(), n_sets, random_state)
    if subgradient != "exact":
        weighted = subgradient == "weighted"
        return [FlipConstraint(structure, shard.take(part), weighted, clip, executor) for part in parts]
    return [Risk.over(structure, PerceptronLoss(), shard.take(part), executor) for part in parts]


class FlipConstraint(Risk):
    """h_j with the approximate derivative of Chen et al. 2009, equations 12 to 14; its values are exact.

    To the exact subgradient, the second term of equation 12, comes for each weight of a transition (y', y)
    what stands for the first one: the change in the counts of all features, divided by the change of the
    weight. That is the smallest rise, over tokens labelled y after another label than y', that would make
    y' the label before, or the smallest fall, over tokens labelled y after y', that would make another the
    label before, under the other weights and the forward scores as they are. Where a weight can do both,
    the smaller of the two changes counts alone. Ties, which take no change, do not count. Other weights get
    no term: only the paper's features of observation, y' and y could have one besides.

    Terms are clipped to [-clip, clip]. The paper prints min(clip, .), which leaves near-ties to pull down
    without bound.

    Parameters
    ----------
    structure : Structure
        With the capabilities "best" and "flips".
    shard : Shard
        A validation set.
    weighted : bool
        Multiply counts by their weights, as equation 13 does. All terms are then -1 where the smallest change
        is a rise and +1 where it is a fall, times the weight of the example. Equation 14 prints no weights.
    clip : float
        Positive.
    executor : Executor, optional
    """

    def __init__(
        self,
        structure: Structure,
        shard: Shard,
        weighted: bool,
        clip: float = 1.0,
        executor: Executor | None = None,
    ) -> None:
        structure.require(frozenset({"flips"}), "the approximate gradient of constraints")
        check_positive("clip", clip)
        super().__init__(structure, PerceptronLoss(), [shard], executor)
        self.chain: Any = structure
        self.weighted, self.clip = weighted, clip
        self._token_weights = np.repeat(shard.weights, shard.sizes())

    def value_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The constraint's value at `w`, and the approximation of its gradient."""
        value, gradient = super().value_and_gradient(w)
        found = self.chain.flips(w, self.shards[0], w if self.weighted else np.ones_like(w))
        slopes = self._token_weights[found.tokens] * found.gains / found.changes
        gradient[found.weights] += np.clip(slopes, -self.clip, self.clip)
        return value, gradient


def _partition(sizes: IntArray, n_sets: int, random_state: int) -> list[IntArray]:
    """Examples of each set: in random order, each goes to the set that has least."""
    if not isinstance(n_sets, int | np.integer) or not 1 <= n_sets <= sizes.size:
        raise DataError(
            f"found {sizes.size} examples and validation_sets={n_sets!r}, expected at least one set, and an "
            "example for each: ask for fewer sets, or cut long examples into several"
        )
    set_of, filled = np.empty(sizes.size, np.int64), np.zeros(n_sets)
    for i in np.random.default_rng(random_state).permutation(sizes.size):
        set_of[i] = np.argmin(filled)
        filled[set_of[i]] += sizes[i]
    return [np.flatnonzero(set_of == j) for j in range(n_sets)]
