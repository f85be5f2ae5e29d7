"""Constraints on the predictions for validation sets during training (Chen et al. 2009, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from structune.errors import DataError
from structune.learning.margin_losses import PerceptronLoss
from structune.learning.risk import Risk
from structune.learning.solvers.saddle_point import fit_constrained
from structune.learning.tuning.problem import PassCount, TuningProblem, TuningResult
from structune.running.executors import Executor, PreparedRun
from structune.running.monitor import STOPPED, Monitor
from structune.structure import IntArray, Shard, Structure


@dataclass(frozen=True)
class ValidationConstraints:
    """Constraints that the model predicts parts of the training data almost as annotated.

    The parts (validation sets) are random, and all of them remain training data: "single training, multiple
    validation" in Chen et al. 2009, section 3.

    Parameters
    ----------
    n_sets : int
        Number of parts. Examples are not split, so cut a single long one into several.
    gamma : float
        For each part, upper bound of the summed score of the best outputs minus that of the annotated
        outputs.

    Examples
    --------
    >>> from structune import SequenceTagger
    >>> from structune.learning import ValidationConstraints
    >>> tagger = SequenceTagger(constraints=ValidationConstraints(n_sets=2, gamma=0.1))
    """

    n_sets: int = 3
    gamma: float = 0.01


@dataclass(frozen=True)
class Constraints:
    """Functions of the weights, none of which may exceed `gamma`."""

    functions: Sequence[Risk]
    gamma: float

    def meet(
        self, problem: TuningProblem, result: TuningResult, run: PreparedRun, monitor: Monitor
    ) -> TuningResult:
        """Go on from a fit to one that meets the constraints, with the same precisions."""
        # Precisions stay: a tuner differentiates through the optimum, and the constraints have kinks.
        stopped, risk = result.status in STOPPED, problem.full
        passes = PassCount.of(monitor, risk, *self.functions)
        fit = fit_constrained(
            risk,
            problem.groups.spread(np.exp(result.log_precision)),
            self.functions,
            result.w,
            gamma=self.gamma,
            tolerance=run.tolerance,
            max_iterations=run.max_iterations,
            monitor=Monitor(max_seconds=0.0) if stopped else monitor,  # only say by how much they are missed
        )
        told = {"constraint_values": fit.constraint_values.tolist(), "multipliers": fit.multipliers.tolist()}
        monitor.record("constrained fit", objective=fit.objective, passes=passes.spent, **told)
        status = result.status if stopped else fit.status
        return replace(result, w=fit.w, status=status, passes=passes.spent, history=monitor.history)


def validation_constraints(
    structure: Structure,
    shard: Shard,
    n_sets: int = 3,
    random_state: int = 0,
    executor: Executor | None = None,
) -> list[Risk]:
    """Return one constraint function per validation set, for `structune.learning.solvers.saddle_point`.

    The function is h_j of Chen et al. 2009 (equation 6): the best score minus the score of the annotated
    output, summed over the set. It is convex. It is zero at w = 0, and if the whole set is predicted
    correctly. The sets are a random partition of the training examples into sets of similar length (section
    3.1). Examples are not split; the caller must cut long sequences into several.

    Parameters
    ----------
    structure : Structure
        Structure with the capability "best".
    shard : Shard
        All training examples.
    n_sets : int
        Number of validation sets.
    random_state : int
        Random seed of the partition.
    executor : Executor, optional
        Executor that computes the functions; one thread by default.

    Returns
    -------
    list of Risk
        One function per set.

    Raises
    ------
    DataError
        There are fewer examples than sets, or some outputs are only partially known.
    """
    if shard.is_partly_known:
        raise DataError("constraints need complete labels, but some outputs are only partially known")
    parts = _partition(shard.sizes(), n_sets, random_state)
    return [Risk.over(structure, PerceptronLoss(), shard.take(part), executor) for part in parts]


def _partition(sizes: IntArray, n_sets: int, random_state: int) -> list[IntArray]:
    """Examples of each set: in random order, each goes to the set that has least."""
    if not isinstance(n_sets, int | np.integer) or not 1 <= n_sets <= sizes.size:
        raise DataError(
            f"{n_sets!r} validation sets are impossible with {sizes.size} examples: expected from 1 to "
            f"{sizes.size} sets. Use fewer sets, or cut long examples into several"
        )
    # lengths differ by one example at most: the fullest set was the emptiest before it got its last
    set_of, filled = np.empty(sizes.size, np.int64), np.zeros(n_sets)
    for i in np.random.default_rng(random_state).permutation(sizes.size):
        set_of[i] = np.argmin(filled)
        filled[set_of[i]] += sizes[i]
    return [np.flatnonzero(set_of == j) for j in range(n_sets)]
