"""Blending of models of one structure by averaging their weights."""

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
    """Result of `blend`.

    Attributes
    ----------
    model : estimator
        Blended model.
    shares : ndarray, shape (n_models,)
        Share of each model in the blend.
    score, scores : float, and ndarray of shape (n_models,)
        Score of the blend, and of each single model, on the examples given to `blend`.
    """

    model: Any
    shares: FloatArray
    score: float
    scores: FloatArray


def average_models(models: Sequence[E], shares: Any = None) -> E:
    """Return a model whose weights are the mean of the weights of several models.

    It predicts as exactly and as fast as a single model.

    Parameters
    ----------
    models : sequence of fitted estimators
        Models of one class and one structure, so that their weights have the same names. They may be fitted
        differently, for example to other examples or with other penalties, losses or prior means.
    shares : array-like, shape (n_models,), optional
        Share of each model, at least 0, with a sum of 1; equal shares by default.

    Raises
    ------
    DataError
        The models have different structures, or the shares are invalid.
    """
    models = _of_one_structure(models)
    given = np.full(len(models), 1.0 / len(models)) if shares is None else np.asarray(shares, np.float64)
    if given.shape != (len(models),) or not (np.all(given >= 0.0) and np.isclose(given.sum(), 1.0)):
        raise DataError(f"shares must be one number >= 0 for each model, with a sum of 1, not {given}")
    return _mean(models, given)


def blend(models: Sequence[Any], X: Any, y: Any, steps: int = 10) -> Blend:
    """Choose the weighted mean of models that scores best on held-out examples.

    Parameters
    ----------
    models : sequence of fitted estimators
        Models of one class and one structure.
    X, y : arguments of the models' `score`
        Examples that no model has seen. Use groups (families, documents, organisms) that no model was trained
        on if the blend is meant for such groups.
    steps : int
        Number of steps. Shares are multiples of 1 / k for some k up to `steps`. Each step scores one mean per
        model.

    Notes
    -----
    Each step adds the model that gives the mean with the highest score; a model may be added more than once.
    The best mean of all steps is returned. This is ensemble selection (Caruana et al. 2004) on weights
    instead of predictions.

    Raises
    ------
    DataError
        As in `average_models`, or `steps` is less than 1.
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
        raise DataError("there are no models. Give at least one.")
    for k, model in enumerate(found):
        check_is_fitted(model, "coef_", msg=f"model {k} is not fitted")
        # weights of the same names may be those of another space
        plain = {n: v for n, v in vars(model._structure).items() if isinstance(v, bool | int | float | str)}
        own = type(model), plain, model._structure.weight_names()
        first = first or own
        if own != first:
            raise DataError(
                f"model {k} has other weights than model 0: all models must have the same structure"
            )
    return found


def _mean(models: list[E], shares: FloatArray) -> E:
    # scores are linear in the weights: the mean of the weights has the mean of the models' scores
    mean, weighted = deepcopy(models[0]), zip(shares, models, strict=True)
    mean._import(np.sum([share * model._weights for share, model in weighted], axis=0))
    return mean
