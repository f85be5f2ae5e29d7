"""Ridge regression that chooses its own regularisation."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from structune.errors import DataError, ModelFileError
from structune.flat.flat_estimator import FlatEstimator
from structune.flat.structure.linear import Linear
from structune.learning.estimator_file import Arrays
from structune.learning.losses import SquaredLoss
from structune.learning.parameters import parameters
from structune.structure import FloatArray, Groups

# standard deviation of the outputs while a model is fitted: the prior's rate is little beside it
_SPREAD = 10.0


@parameters
class Regressor(RegressorMixin, FlatEstimator):  # type: ignore[misc]
    """Ridge regression with one penalty a group of features, learned from the training data.

    Parameters
    ----------
    tuning : None, "implicit", "majorize", "direct", "grid", or a tuner
        How to choose the penalties; None fits with `penalty`. "majorize" and "direct" integrate out both the
        precisions of the weights and the variance of the noise.
    penalty : float or dict
        On half the squares of the weights, beside half the squares of the residuals: scikit-learn's alpha.
        One number, or one by group name (1 for groups not named). Ignored under `tuning`.
    groups : {"single", "feature", "prefix"}, callable, or list
        Which features share a penalty: all; none (automatic relevance determination); those of one prefix,
        the text before ``__`` as in the names of a `ColumnTransformer`, or before ``=``; by a function from a
        feature's name to its group's; or one group name a feature.
    folds : int, optional
        Number of folds that "implicit" and "grid" hold out in turn; None for one held-out part.
    holdout : float
        Share of the examples in that part.
    hessian : {"auto", "exact", "dense"}
        "dense" factors the matrix of the normal equations, "exact" multiplies with it in conjugate gradients,
        "auto" does what is faster.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
    intercept_ : float
    penalty_ : ndarray, shape (n_groups,)
        As `penalty`; what "majorize" learns is the precision of the weights times the variance of the noise.
    noise_variance_ : float
        As "majorize" and "direct" learn it; else the mean square of the residuals in training.
    history_ : list of dict
        Losses are those of outputs scaled to a standard deviation of 10.

    Notes
    -----
    "majorize" is section 4 of Foo, Do & Ng (ICML 2009), on outputs scaled to a standard deviation of 10: so
    their unit does not matter, and the prior's rate is little beside them. With fewer than ten examples a
    weight it counts weights and noise as MacKay (1992) does, see `structune.learning.MajorizeTuner`. Weights
    of examples stand for numbers of them. Scale features to similar ranges: features of one group share a
    prior, and large ones may end a fit early.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from structune import Regressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(Regressor().fit(scale(X), y).score(scale(X), y), 1)
    0.5
    """

    _n_scores = 1

    loss: str = field(default="squared", init=False)
    _unit: float = field(default=1.0, init=False)  # of outputs while the model is fitted

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from examples.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_examples, n_features)
        y : array-like, shape (n_examples,)
        sample_weight : array-like, shape (n_examples,), optional
        groups : array-like, shape (n_examples,), optional
            Examples of one group stay on one side of every held-out split.

        Raises
        ------
        ValueError
            Input as scikit-learn refuses it.
        """
        before = self._before()
        X, y = self._check_fit(X, y, y_numeric=True)
        if y.dtype.kind not in "biuf":
            raise DataError("found outputs that are strings, expected numbers")
        y = np.asarray(y, dtype=np.float64)
        weights = self._check_weights(sample_weight, y.size)
        centred, mean = self._centred(X, weights)
        offset, scale = _location(y, weights, self.fit_intercept)
        structure = self._structure
        shard = structure.encode(centred, (y - offset) / scale, weights)
        start = self._start_at(before, mean)
        if start is not None:
            start /= scale
            start[-1:] -= self.fit_intercept * offset / scale
        self._unit = scale
        result = self._learn(structure, SquaredLoss(), shard, start, groups)
        self.l1_ = scale * self.l1_
        self.coef_ = scale * self.coef_[0]
        self.intercept_ = float(scale * self.intercept_[0] + offset - self.coef_ @ mean)
        if result.noise is None:
            residuals = y - X @ self.coef_ - self.intercept_
            self.noise_variance_ = float(np.average(residuals**2, weights=weights))
        else:
            self.noise_variance_ = scale**2 * result.noise
        return self

    def _l1(self, groups: Groups) -> FloatArray:
        return super()._l1(groups) / self._unit

    @property
    def _structure(self) -> Linear:
        return Linear(self._names, self.fit_intercept)

    # --- prediction ---------------------------------------------------------------------------------------

    def predict(self, X: Any) -> FloatArray:
        """The expected output of each example, shape (n_examples,)."""
        return self._scores(X)[:, 0]

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = super()._pack()
        return header | {"noise_variance": self.noise_variance_}, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> Regressor:
        model = cls()
        model._unpack(header, arrays)
        model.coef_, model.intercept_ = model.coef_[0], float(model.intercept_[0])
        model.noise_variance_ = float(header["noise_variance"])
        if not 0.0 <= model.noise_variance_ < np.inf:
            raise ModelFileError(f"found the noise variance {model.noise_variance_}, expected a number >= 0")
        return model


def _location(y: FloatArray, weights: FloatArray, has_intercept: bool) -> tuple[float, float]:
    """Mean of the outputs, 0 without an intercept, and the unit in which they spread as they should."""
    mean = float(np.average(y, weights=weights)) if has_intercept else 0.0
    spread = float(np.sqrt(np.average((y - mean) ** 2, weights=weights)))
    return mean, spread / _SPREAD if spread > np.finfo(float).eps * abs(mean) else 1.0
