"""What held-out data are judged by: the loss of the fits, or a smooth score of what is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structune.errors import CapabilityError, DataError
from structune.learning.losses import ExpectedCount, LogLoss
from structune.learning.risk import Risk
from structune.learning.tuning.problem import TuningProblem
from structune.structure import FloatArray, HessianProduct

CRITERIA = {"loss": (), "accuracy": ("cost",), "f1": ("right", "predicted")}  # and what has to be counted


@dataclass(frozen=True)
class Criterion:
    """A score, and what it is multiplied by."""

    name: str
    unit: float = 1.0

    def of(self, heldout: Risk) -> HeldOutScore:
        """The score of held-out data, in nats."""
        return HeldOutScore(heldout, self)


class HeldOutScore:
    """What is lost by a score, for tuners that would else minimise the held-out loss.

    "accuracy": the expected cost E[Delta], summed over examples. "f1": 1 - 2 E[right] / (E[predicted] + true)
    of the parts of all examples together. Both times the criterion's unit.
    """

    def __init__(self, heldout: Risk, criterion: Criterion) -> None:
        self._loss, self._criterion = heldout, criterion
        self._counts = [
            heldout.under(ExpectedCount(count), np.zeros(heldout.n_weights))
            for count in CRITERIA[criterion.name]
        ]
        self._true = heldout.n_true_parts() if criterion.name == "f1" else 0.0

    def value(self, w: FloatArray) -> float:
        """What is lost at `w`."""
        return self._lost([risk.value(w) for risk in self._counts])[0]

    def value_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The same, and its gradient, shape (n_weights,)."""
        values, gradients = zip(*(risk.value_and_gradient(w) for risk in self._counts), strict=True)
        value, slopes = self._lost(values)
        return value, np.sum([slope * each for slope, each in zip(slopes, gradients, strict=True)], axis=0)

    def _lost(self, counts: Sequence[float]) -> tuple[float, list[float]]:
        """The value by the expected counts, and its slopes in them."""
        unit = self._criterion.unit
        if self._criterion.name == "accuracy":
            return unit * counts[0], [unit]
        right, every = counts[0], counts[1] + self._true
        if every == 0.0:  # nothing is there, and nothing predicted
            return 0.0, [0.0, 0.0]
        return unit * (1.0 - 2.0 * right / every), [-2.0 * unit / every, 2.0 * unit * right / every**2]

    # The curvature of a score may be of either sign. That of the loss stands in for it, in the same unit:
    # models of moves need one that is positive, and about as large.

    def linearize(self, w: FloatArray) -> HessianProduct:
        """Products with the Hessian of the held-out loss."""
        return self._loss.linearize(w)

    def variance(self, w: FloatArray) -> FloatArray:
        """A stand-in for its diagonal."""
        return self._loss.variance(w)


def criterion_of(problem: TuningProblem, name: str) -> Criterion | None:
    """The criterion of this name, or None for the loss.

    Its unit is that at which the score and the held-out loss are the same at w = 0: nats, as those of the
    prior that they are weighed against.

    Raises
    ------
    DataError
        An unknown name.
    CapabilityError
        A loss that is no probability's, or a structure that cannot count what the score is made of.
    """
    if name not in tuple(CRITERIA):
        raise DataError(f"criterion={name!r}: expected one of {tuple(CRITERIA)}")
    if name == "loss":
        return None
    if not isinstance(problem.full.loss, LogLoss):
        raise CapabilityError(
            f"criterion={name!r} needs the probabilities of the log loss, found {problem.full.loss.name!r}"
        )
    for count in CRITERIA[name]:
        problem.full.structure.require(ExpectedCount(count).needs, f"criterion={name!r}")
    zeros, plain = np.zeros(problem.full.n_weights), Criterion(name)
    risks = [split.heldout for split in problem.splits]
    loss, score = (sum(judge.value(zeros) for judge in judges) for judges in (risks, map(plain.of, risks)))
    return Criterion(name, loss / score if loss > 0.0 and score > 0.0 else 1.0)
