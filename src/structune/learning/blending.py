"""Models of one structure made one: the mean of their weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structune.errors import DataError
from structune.learning.estimator import StructuredEstimator
from structune.structure import FloatArray

E = TypeVar("E", bound=StructuredEstimator)


class Blend(NamedTuple):
    """What `blend` found.

    Attributes
    ----------
    model : estimator
    shares : ndarray, shape (n_models,)
        Of each model in it.
    score, scores : float, and ndarray of shape (n_models,)
        Of the model, and of each model alone, on the examples that chose it.
    """

    model: Any
    shares: FloatArray
    score: float
    scores: FloatArray


def average_models(models: Sequence[E], shares: Any = None) -> E:
    """One model whose weights are a mean of those of several: as exact, and as fast, as each of them.

    Parameters
    ----------
    models : sequence of fitted estimators
        Of one class and one structure: they have the same weights, by name. How they were fitted may
        differ: other examples, precisions, losses, a prior mean.
    shares : array-like, shape (n_models,), optional
        At least 0, with a sum of 1; by default all alike.

    Raises
    ------
    DataError
        Models of several structures, or shares that are none.
    """
    models = _of_one_structure(models)
    given = np.full(len(models), 1.0 / len(models)) if shares is None else np.asarray(shares, np.float64)
    if given.shape != (len(models),) or not (np.all(given >= 0.0) and np.isclose(given.sum(), 1.0)):
        raise DataError(f"found the shares {given}, expected {len(models)} of at least 0 with a sum of 1")
    return _mean(models, given)


def blend(models: Sequence[Any], X: Any, y: Any, steps: int = 10) -> Blend:
    """The mean of models that scores best on examples that none of them has seen.

    Parameters
    ----------
    X, y : as `score` of the models takes them
        Best of groups (families, documents, organisms) that none was trained on: the blend is for such.
    steps : int
        Shares are multiples of one over a number up to this. A step scores as many means as there are models.

    Notes
    -----
    Models are added one at a time, with replacement, each the one that makes the score of the mean highest,
    and the best of these means is taken (ensemble selection, Caruana et al. 2004, of weights in place of
    predictions).

    Raises
    ------
    DataError
        As `average_models`; or `steps` is less than 1.
    """
    if steps < 1:
        raise DataError(f"steps={steps}: expected at least 1")
    models = _of_one_structure(models)
    counts, found = np.zeros(len(models)), list[tuple[float, FloatArray]]()
    for step in range(1, steps + 1):
        tried = [(counts + one) / step for one in np.eye(len(models))]
        scores = [float(_mean(models, shares).score(X, y)) for shares in tried]
        best = int(np.argmax(scores))
        counts[best] += 1.0
        found.append((scores[best], tried[best]))
        if step == 1:
            alone = np.array(scores)
    score, shares = max(found, key=lambda pair: pair[0])  # of equal ones that of fewer models
    return Blend(_mean(models, shares), shares, score, alone)


def _of_one_structure(models: Iterable[E]) -> list[E]:
    """Fitted models, at least one, that have the same weights."""
    found, first = list(models), None
    if not found:
        raise DataError("found no models, expected at least one")
    for k, model in enumerate(found):
        check_is_fitted(model, "coef_", msg=f"model {k} is not fitted")
        # weights of the same names may be those of another space
        plain = {n: v for n, v in vars(model._structure).items() if isinstance(v, bool | int | float | str)}
        own = type(model), plain, model._structure.weight_names()
        first = first or own
        if own != first:
            raise DataError(
                f"found other weights in model {k} than in model 0, expected models of one structure"
            )
    return found


def _mean(models: list[E], shares: FloatArray) -> E:
    # scores are linear in the weights: the mean of the weights has the mean of the models' scores
    mean, weighted = deepcopy(models[0]), zip(shares, models, strict=True)
    mean._import(np.sum([share * model._weights for share, model in weighted], axis=0))
    return mean
