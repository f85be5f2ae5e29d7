"""Estimators that can be held to constraints while they learn (Chen et al. 2009)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from structune.errors import DataError
from structune.learning.estimator import StructuredEstimator
from structune.learning.losses import LogLoss, Loss
from structune.learning.parameters import parameters
from structune.learning.ranges import Range
from structune.running.executors import make_executor
from structune.structure import FloatArray, Shard, Structure

if TYPE_CHECKING:
    from structune.learning.constraints import Constraints


@parameters
class ConstrainedEstimator(StructuredEstimator):
    """An estimator with the parameters `constraints`, `validation_sets` and `gamma`.

    Parameters
    ----------
    constraints : None or "validation"
        Constrain the model to predict parts of the training data almost as annotated (Chen et al. 2009). In
        each of `validation_sets` parts the score of the best outputs is to exceed that of the annotated ones
        by `gamma` at most. Log loss only. With `tuning`,
        precisions are tuned first, without the constraints.
    validation_sets : int
        Number of random parts of the training data for `constraints`.
    gamma : float
        Bound on each part's summed score of the best outputs minus that of the annotated ones.

    Attributes
    ----------
    constraint_values_, multipliers_ : ndarray, shape (validation_sets,)
        With `constraints`: what `gamma` bounds, and the multipliers of its excess.
    status_ : str
        "converged", "iterations", "stalled", "budget" or "interrupted"; "infeasible" if constraints could not
        be met.
    """

    constraints: str | None = None
    validation_sets: int = 3
    gamma: float = 0.01

    _ranges: ClassVar = {"gamma": Range(0, open=True)}

    def _constraints(self, structure: Structure, loss: Loss, shard: Any) -> Constraints | None:
        """What `constraints` asks for, one function a validation set."""
        if self.constraints is None:
            return None
        from structune.learning.constraints import Constraints, validation_constraints

        if not isinstance(shard, Shard):
            raise DataError(
                f"constraints={self.constraints!r} needs examples in memory: found a folder of shards"
            )
        if self.constraints != "validation":
            raise DataError(f"constraints={self.constraints!r}: expected None or 'validation'")
        if not isinstance(loss, LogLoss):
            raise DataError(f"constraints='validation' with loss={self.loss!r}: expected loss='log'")
        executor = make_executor(self.n_jobs, self.run and self.run.executor)
        sets = validation_constraints(structure, shard, self.validation_sets, self.random_state, executor)
        return Constraints(sets, self.gamma)

    @property
    def constraint_values_(self) -> FloatArray:
        """How far each validation set's annotation scores below the best output, at the fitted weights."""
        return np.array(self._constrained_record["constraint_values"])

    @property
    def multipliers_(self) -> FloatArray:
        """Of each validation set's constraint; 0 where it never had to pull."""
        return np.array(self._constrained_record["multipliers"])

    @property
    def _constrained_record(self) -> dict[str, Any]:
        self._check_fitted("history_")
        for record in self.history_[-1:]:
            if record["stage"] == "constrained fit":
                return record
        raise AttributeError("the model was fitted without constraints")
