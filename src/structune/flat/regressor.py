"""Ridge regression that tunes its regularization."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from structune.errors import DataError, ModelFileError
from structune.files.models import Arrays, check_array
from structune.flat.flat_estimator import Centre, Examples, FlatEstimator, Location
from structune.flat.structure.linear import Linear
from structune.flat.structure.shard import FlatShard
from structune.learning.losses import Loss, SquaredLoss
from structune.learning.parameters import parameters
from structune.learning.solvers.newton import FactoredSystem
from structune.structure import FloatArray, Groups, check_weights

if TYPE_CHECKING:
    from structune.learning.tuning.problem import TuningResult

MOST_CELLS = 1 << 20  # of the roots of all outputs, eight megabytes
_AT_A_TIME = 1 << 22  # cells of a product
# standard deviation of the outputs while a model is fitted: the prior's rate is little beside it
_SPREAD = 10.0


@parameters
class Regressor(RegressorMixin, FlatEstimator):  # type: ignore[misc]
    """Ridge regression that tunes one regularization strength per group of features.

    Scale features to similar ranges before fitting: features of one group share a regularization strength.
    With very large values the optimizer may stop before the minimum (`status_` is then "stalled").

    Parameters
    ----------
    tuning : "auto", None, "implicit", "majorize", "direct", "grid", or a tuner
        Method that chooses the regularization strength of each group of features; see `StructuredEstimator`.
        "auto" means "majorize", or None if `penalty` or `l1` is given. None uses `penalty`. "majorize" and
        "direct" integrate out both the strengths and the variance of the noise.
    penalty : float or dict, optional
        L2 regularization strength: each weight w adds ``penalty * w**2 / 2`` to the loss, and each residual r
        adds ``r**2 / 2``. It is scikit-learn's alpha. A dict maps names of groups to numbers; groups that it
        does not name get 1. By default the strengths are tuned, or 1 without tuning. A value of 0 is allowed
        only for groups with an `l1` above 0.
    l1 : float or dict
        L1 regularization strength, which makes some weights exactly zero: each weight w adds ``l1 * abs(w)``.
        One number for all groups of features, or one per group name (0 for other groups). Works without
        tuning or with tuning="grid".
    fit_intercept : bool
        Fit an intercept. It has no penalty.
    cv : int, float, or splitter
        Number of cross-validation folds for the tuners "implicit" and "grid", such as 5, or share of the
        examples that they hold out, such as 0.2. Or a scikit-learn splitter, or a list of its splits.
    hessian : {"auto", "exact", "dense"}
        Solver. "dense": factors the matrix of the normal equations. "exact": conjugate gradients, without
        that matrix. "auto": the faster of the two.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,), or (n_outputs, n_features) if `y` had columns
        Weights of the features.
    intercept_ : float, or ndarray, shape (n_outputs,)
        Intercept of each output.
    penalty_ : ndarray, shape (n_groups,)
        L2 regularization strengths, on the scale of `penalty`. Those of "majorize" are the precision of the
        weights times the variance of the noise. If `y` has columns, each column has its own groups, named
        "0: all", "1: all" and so on.
    noise_variance_ : float, or ndarray, shape (n_outputs,)
        Variance of the noise: the estimate of "majorize" or "direct", or else the mean squared residual in
        training.
    history_ : list of dict
        One record per step of the fit. Losses are for outputs that are scaled to a standard deviation of 10.
        With several outputs, ``output`` is the 0-based number of the output.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    l1_, group_names_, group_sizes_, status_, passes_, extra_
        Results that all estimators have: see `structune.learning.StructuredEstimator`.

    Notes
    -----
    "majorize" is section 4 of Foo, Do & Ng (ICML 2009). It scales the outputs to a standard deviation of 10,
    so that their unit does not matter and the rate of the prior is small in comparison. With fewer than ten
    examples per weight it uses the effective number of weights of MacKay (1992); see
    `structune.learning.MajorizeTuner`. An example of weight 2 counts as two examples.

    Several outputs are fitted as separate regressions: each has its own penalties and noise. Correlations
    between outputs are not modeled.

    Predictive standard deviations combine the noise with the Gaussian posterior of weights and intercept.
    Penalties and noise are taken as known, as in `sklearn.linear_model.BayesianRidge`, which ignores the
    uncertainty of the intercept. Standard deviations need a dense Hessian and at most 1023 features (fewer
    with several outputs).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from structune import Regressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(Regressor().fit(scale(X), y).score(scale(X), y), 1)
    0.5
    """

    noise_variance_: Any = field(init=False)

    loss: str = field(default="squared", init=False)
    # The Gaussian of the weights about the fitted ones, in units of the noise, of each output: R, lower
    # triangular, shape (n_outputs, n_weights, n_weights), with the covariance R' R, and what features are
    # less by, shape (n_outputs, n_features). Another weight is the intercept's.
    _posterior: tuple[FloatArray, FloatArray] | None = field(default=None, init=False)

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model to examples with known outputs.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_examples, n_features)
            Features.
        y : array-like, shape (n_examples,) or (n_examples, n_outputs)
            Numbers to predict.
        sample_weight : array-like, shape (n_examples,), optional
            Weight of each example.
        groups : array-like, shape (n_examples,), optional
            Group of each example. Examples of one group are never split between training and held-out data.

        Raises
        ------
        ValueError
            scikit-learn refuses the input.
        DataError
            `y` has several columns and `run` has a checkpoint, which can hold only one fit.
        """
        before = self._before()
        examples = self._checked(X, y, sample_weight, groups)
        outputs = examples[1]
        self._n_outputs = outputs.shape[1] if outputs.ndim == 2 else None
        if self._n_outputs is not None:
            return self._fit_columns(X, outputs, sample_weight, groups, before)
        return self._fit_located(self._make_loss(), self._encoded(examples), before)

    def _make_loss(self) -> Loss:
        return SquaredLoss()

    def _checked(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, reset: bool = True
    ) -> Examples:
        X, y = self._check_fit(X, y, y_numeric=True, multi_output=True, reset=reset)
        if y.dtype.kind not in "biuf":
            raise DataError("the outputs are strings, but a regressor needs numbers")
        return X, np.asarray(y, dtype=np.float64), check_weights(sample_weight, len(y)), groups

    def _survey(self, blocks: Iterable[Examples]) -> Location:
        from sklearn.preprocessing import StandardScaler  # slow to import, and of no use to predictions

        centre, outputs, self._n_outputs = Centre(self.fit_intercept), StandardScaler(), None
        for X, y, weights, _ in blocks:
            if y.ndim == 2:
                raise DataError(f"found {y.shape[1]} columns of outputs: shards can hold only one")
            centre.add(X, weights)
            if weights.any():
                outputs.partial_fit(y[:, None], sample_weight=weights)
        if not hasattr(outputs, "mean_"):
            raise DataError("the weight of every example is zero: at least one must be positive")
        # the deviation from the mean with an intercept, else from 0: E (y - o)^2 = var(y) + (mean - o)^2
        mean, variance = float(outputs.mean_[0]), float(outputs.var_[0])
        offset = mean if self.fit_intercept else 0.0
        spread = float(np.sqrt(variance + (mean - offset) ** 2))
        # outputs that differ by rounding alone are constant, and stay in their unit
        is_spread = spread > np.finfo(float).eps * abs(offset)
        return Location(centre.mean(), offset, spread / _SPREAD if is_spread else 1.0)

    def _shard(self, examples: Examples, location: Location) -> FlatShard:
        X, y, weights, _ = examples
        # the prior's rate beta has the unit of squared outputs: these get a fixed standard deviation
        outputs = (y - location.offset) / location.unit
        return self._structure.encode(location.centred(X), outputs, weights)

    def _start_at(
        self, before: tuple[FloatArray, FloatArray] | None, location: Location
    ) -> FloatArray | None:
        # the weights of (y - offset) / unit are those of y by the unit, and the intercept loses the offset
        start = super()._start_at(before, location)
        if start is not None:
            start /= location.unit
            start[-1:] -= self.fit_intercept * location.offset / location.unit
        return start

    def _put_back(self, location: Location, result: TuningResult, shards: list[FlatShard]) -> None:
        structure, unit, noise = self._structure, location.unit, result.noise
        if noise is None:  # the mean square of the residuals
            w = self._weights[: structure.n_weights]
            squares = sum(float(shard.weights @ structure.squared_error(w, shard)) for shard in shards)
            noise = squares / sum(float(shard.weights.sum()) for shard in shards)
        # Back to the unit of y: w and the intercept are multiplied by it, variances by its square. The
        # penalty stays, as |r|^2 and |w|^2 scale alike; l1 |w| is of the first power, so l1 has the unit.
        self.noise_variance_ = unit**2 * noise
        self.l1_ = unit * self.l1_
        self.coef_ = unit * self.coef_[0]
        self.intercept_ = float(unit * self.intercept_[0] + location.offset - self.coef_ @ location.mean)
        self._posterior, risk = None, result.risk
        if risk is None or not risk.dense or structure.n_weights**2 > MOST_CELLS:
            return  # without the matrix of the Hessian this would cost more than the fit
        precision = self._weight_groups(structure).spread(self.penalty_)
        root = FactoredSystem(risk, precision, np.zeros(risk.n_weights)).inverse_root()
        self._posterior = root[None], location.mean[None]

    def _import(self, w: FloatArray) -> None:
        super()._import(w)
        self.noise_variance_, self._posterior = 0.0, None

    def _adopt(self, model: Self) -> None:
        super()._adopt(model)
        self._n_outputs = None

    def _check_ranges(self) -> None:
        super()._check_ranges()
        # a usual weight of the penalty, from which to begin, is known for log losses only
        if self._learns_l1:
            raise DataError("l1='auto' is not available for regression: give l1 a number, or leave it out")

    def _l1(self, groups: Groups) -> FloatArray:
        return super()._l1(groups) / self._unit

    def _fit_columns(self, X: Any, y: FloatArray, weights: Any, groups: Any, before: Any) -> Self:
        if self.run is not None and self.run.checkpoint is not None:
            told = f"a checkpoint holds one fit, but the outputs have {y.shape[1]} columns"
            raise DataError(f"{told}: fit one column at a time, or without a checkpoint")
        # what is learned of each is put side by side; groups are called after the number of their output
        parts = [self.__sklearn_clone__() for _ in y.T]
        for k, part in enumerate(parts):
            if before is not None and len(before[0]) == len(parts):
                part.coef_, part.intercept_ = before[0][k], before[1][k]
            part.fit(X, y[:, k], weights, groups)
        for name in ("coef_", "intercept_", "noise_variance_"):
            setattr(self, name, np.array([getattr(part, name) for part in parts]))
        for name in ("penalty_", "l1_", "group_sizes_"):
            setattr(self, name, np.concatenate([getattr(part, name) for part in parts]))
        self.group_names_ = tuple(f"{k}: {name}" for k, p in enumerate(parts) for name in p.group_names_)
        # precisions of one output are some of those of the model, so they have another name
        other = {"log_precision": "output_log_precision"}
        self.history_ = [
            {"output": k} | {other.get(name, name): value for name, value in record.items()}
            for k, part in enumerate(parts)
            for record in part.history_
        ]
        self.status_ = next((p.status_ for p in parts if p.status_ != "converged"), "converged")
        self.passes_, self.extra_ = sum(part.passes_ for part in parts), {}
        found = [part._posterior for part in parts if part._posterior is not None]
        is_kept = len(found) == len(parts) and sum(root.size for root, _ in found) <= MOST_CELLS
        roots, means = ([one[k] for one in found] for k in (0, 1))
        self._posterior = (np.concatenate(roots), np.concatenate(means)) if is_kept else None
        return self

    @property
    def _n_scores(self) -> int:
        return self._n_outputs or 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def _structure(self) -> Linear:
        return Linear(self._names, self.fit_intercept)

    # --- prediction ---------------------------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the output of each example, shape (n_examples,) or (n_examples, n_outputs).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_examples, n_features)
            Features.
        return_std : bool
            Also return the predictive standard deviations, an array of the same shape.

        Raises
        ------
        DataError
            `return_std` is True, but the model has no covariances of the weights: it was not fitted with a
            dense Hessian, or has more than 1023 features (fewer with several outputs).
        """
        X = self._check_features(X)
        mean = self._scores(X)
        if not return_std:
            return mean if self._n_outputs else mean[:, 0]
        if self._posterior is None:
            raise DataError(
                "return_std=True needs the covariances of the weights. Fit with hessian='dense' and at most "
                f"{math.isqrt(MOST_CELLS) - 1:,} features (fewer with several outputs)"
            )
        # the covariance of the weights is noise (C + X'X)^-1, in which the noise is a factor
        noise = np.atleast_1d(self.noise_variance_)
        spread = [_posterior_variance(X, root, mean) for root, mean in zip(*self._posterior, strict=True)]
        std = np.sqrt(noise * (1.0 + np.transpose(spread)))
        return (mean, std) if self._n_outputs else (mean[:, 0], std[:, 0])

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = super()._pack()
        header |= {"noise_variance": np.asarray(self.noise_variance_).tolist(), "n_outputs": self._n_outputs}
        if self._posterior is not None:
            arrays["posterior_root"], arrays["posterior_mean"] = self._posterior
        return header, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> Regressor:
        model = cls()
        model._n_outputs = n = header["n_outputs"]
        if n is not None and (type(n) is not int or n < 1):
            raise ModelFileError(f"n_outputs must be a whole number >= 1 or None, not {n!r}")
        model._unpack(header, arrays)
        noise = np.array(header["noise_variance"], dtype=np.float64)
        if noise.shape != (() if n is None else (n,)) or not np.all((noise >= 0.0) & (noise < np.inf)):
            raise ModelFileError(f"the noise variance must be a number >= 0 for each output, not {noise}")
        model.noise_variance_ = float(noise) if n is None else noise
        if n is None:
            model.coef_, model.intercept_ = model.coef_[0], float(model.intercept_[0])
        if "posterior_root" in arrays:
            n_outputs, n_features = n or 1, model.n_features_in_
            n_rows = n_features + (arrays["posterior_root"].shape[-1:] == (n_features + 1,))  # an intercept
            check_array(arrays, "posterior_root", np.float64, (n_outputs, n_rows, n_rows))
            check_array(arrays, "posterior_mean", np.float64, (n_outputs, n_features))
            model._posterior = arrays["posterior_root"], arrays["posterior_mean"]
        return model


def _posterior_variance(X: Any, root: FloatArray, mean: FloatArray) -> FloatArray:
    """Of the score of each row of features, dense or sparse, shape (n_examples,)."""
    # The variance is |R z|^2 for z = (x - mean, 1), the 1 for the intercept. R z is one product with the
    # features as they are, and a shift that is the same for all examples.
    columns = root[:, : mean.size].T
    shift = root[:, mean.size :].sum(axis=1) - mean @ columns
    step, found = max(1, _AT_A_TIME // max(1, len(root))), np.empty(X.shape[0])
    for k in range(0, X.shape[0], step):
        found[k : k + step] = np.square(X[k : k + step] @ columns + shift).sum(axis=1)
    return found
