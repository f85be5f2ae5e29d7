"""Binary and multinomial logistic regression that tunes its regularization."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from structune.errors import DataError, ModelFileError
from structune.files.models import Arrays
from structune.flat.flat_estimator import Centre, Examples, FlatEstimator, Location
from structune.flat.structure.classes import Classes
from structune.flat.structure.shard import FlatShard
from structune.learning.losses import LogLoss, Loss
from structune.learning.parameters import parameters
from structune.learning.tuning.majorize import MajorizeTuner
from structune.learning.tuning.problem import Tuner, TuningResult
from structune.structure import FloatArray, check_weights


def _has_probabilities(model: Classifier) -> bool:
    if not model.has_probabilities:
        told = f"a model fitted with loss={model.loss!r} has scores but no probabilities"
        raise AttributeError(f"{told}: fit with loss='log'")
    return True


@parameters
class Classifier(ClassifierMixin, FlatEstimator):  # type: ignore[misc]
    """Logistic regression that tunes one regularization strength per group of features.

    Scale features to similar ranges before fitting: features of one group share a regularization strength.
    With very large values the optimizer may stop before the minimum (`status_` is then "stalled").

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss function that training minimizes. "log": the logistic loss. "margin": the loss of the multiclass
        support vector machine of Crammer & Singer. "ramp": the ramp loss, which limits the influence of
        examples that the model cannot fit, such as those with wrong labels (Chapelle et al. 2008).
    tuning : "auto", None, "implicit", "majorize", "direct", "grid", or a tuner
        Method that chooses the regularization strength of each group of features; see `StructuredEstimator`.
        "auto" means "majorize", or None if `penalty` or a number for `l1` is given. None uses `penalty`.
        "implicit" and "direct" need the log loss.
    penalty : float or dict, optional
        L2 regularization strength: each weight w adds ``penalty * w**2 / 2`` to the loss. It is the inverse
        of scikit-learn's C. A dict maps names of groups to numbers; groups that it does not name get 1. By
        default the strengths are tuned, or 1 without tuning. A value of 0 is allowed only for groups with an
        `l1` above 0.
    fit_intercept : bool
        Fit intercepts. With the log loss they have no penalty. With other losses they have a hundredth of the
        mean penalty of the other weights.
    class_weight : dict or "balanced", optional
        Weight of the examples of each class. "balanced" gives all classes the same total weight.
    cv : int, float, or splitter
        Number of stratified cross-validation folds for tuning, such as 5, or share of the examples that it
        holds out, such as 0.2. Or a scikit-learn splitter, or a list of its splits. "implicit" and "grid" use
        all folds throughout. "majorize" uses folds only in its last step, and only until 250 examples have
        been held out.
    hessian : {"auto", "exact", "dense"}
        Optimizer. "dense": Newton steps with the full Hessian matrix. "exact": L-BFGS. "auto": the faster of
        the two.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Classes, sorted.
    coef_ : ndarray, shape (n_classes, n_features), or (1, n_features) with two classes
        Weights of the features.
    intercept_ : ndarray, shape (n_classes,) or (1,)
        Intercepts.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        Results that all estimators have: see `structune.learning.StructuredEstimator`.

    Notes
    -----
    "majorize" is algorithm 2 of Foo, Do & Ng (ICML 2009). With fewer than ten examples per weight it uses
    the effective number of weights of MacKay (1992); see `structune.learning.MajorizeTuner`. With three or
    more classes, or more features than examples, the penalties that it finds are too strong for good
    probabilities. All of them are then multiplied by the factor with the lowest held-out loss;
    `MajorizeTuner(calibrated=False)` switches this off. "implicit" follows the gradient of a held-out loss
    (Do, Foo & Ng, NIPS 2007). An example of weight 2 counts as two examples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from structune import Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(Classifier().fit(X, y).score(X, y), 2)
    0.98
    """

    class_weight: Any = None

    _calibrated: bool = field(default=False, init=False)  # whether "majorize" is, for the data at hand

    def _make_tuner(self, tuning: str | Tuner) -> Tuner:
        """The tuner; "majorize" is calibrated on held-out examples if the data need it."""
        tuner = super()._make_tuner(tuning)
        if tuning == "majorize" and isinstance(tuner, MajorizeTuner):
            return replace(tuner, calibrated=self._calibrated or None)
        return tuner

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model to labeled examples.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_examples, n_features)
            Features.
        y : array-like, shape (n_examples,)
            Classes.
        sample_weight : array-like, shape (n_examples,), optional
            Weight of each example.
        groups : array-like, shape (n_examples,), optional
            Group of each example. Examples of one group are never split between training and held-out data.

        Raises
        ------
        ValueError
            scikit-learn refuses the input, or `y` contains fewer than two classes.
        """
        loss, before = self._make_loss(), self._before()
        found = self._encode_training(X, y, sample_weight, groups)
        return self._fit_located(loss, found, before, strata=found.shard.outputs)

    def _checked(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, reset: bool = True
    ) -> Examples:
        X, y = self._check_fit(X, y, reset=reset)
        if y.dtype.kind not in "biuU":  # else they can be nothing but classes
            check_classification_targets(y)
        return X, y, check_weights(sample_weight, y.size), groups

    def _survey(self, blocks: Iterable[Examples]) -> Location:
        centre, totals, classes = Centre(self.fit_intercept), defaultdict[Any, float](float), None
        for X, y, weights, _ in blocks:
            labels, codes = np.unique(y, return_inverse=True)
            if classes is None:
                classes = labels
            elif (classes.dtype.kind == "U") != (labels.dtype.kind == "U"):
                both = f"{labels[:1].tolist()} beside {classes[:1].tolist()}"
                raise DataError(f"found the classes {both}: classes must be all numbers or all text")
            else:
                classes = np.union1d(classes, labels)
            # Weights of classes may depend on all examples ("balanced"), so means of classes are kept apart
            # until all have been seen. Without such weights one mean will do.
            if self.class_weight is None:
                centre.add(X, weights)
                continue
            for code, label in enumerate(labels.tolist()):
                rows = codes == code
                centre.add(X[rows], weights[rows], label)
                totals[label] += float(weights[rows].sum())
        if classes is None:
            raise DataError("there are no examples. Give at least one.")
        if classes.size < 2:
            raise DataError(
                f"y contains only one class, {classes.tolist()[0]!r}. A classifier needs at least two."
            )
        self.classes_ = classes
        if self.class_weight is None:
            return Location(centre.mean())
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            total = np.array([totals[label] for label in classes.tolist()])
            # n / (k n_c), as scikit-learn has it, by weights of examples in place of numbers; a class without
            # weight gets 0
            found = total.sum() / (total.size * np.where(total > 0, total, np.inf))
        else:
            found = compute_class_weight(self.class_weight, classes=classes, y=classes)
            if not np.all((found >= 0.0) & (found < np.inf)):
                raise DataError(f"class_weight={self.class_weight!r}: expected finite numbers >= 0")
        self._weight_of = np.asarray(found)
        return Location(centre.mean(dict(zip(classes.tolist(), found.tolist(), strict=True))))

    def _shard(self, examples: Examples, location: Location) -> FlatShard:
        X, y, weights, _ = examples
        if self.class_weight is not None:
            weights = weights * self._weight_of[np.searchsorted(self.classes_, y)]
        return self._structure.encode(location.centred(X), y.tolist(), weights)

    def _learn(self, structure: Any, loss: Loss, shard: Any, *more: Any) -> TuningResult:
        # where these hold, the evidence asks for too strong a penalty (see "Notes"); else for about as much
        # as held-out examples do
        many = self._n_scores > 1 or self.n_features_in_ > len(shard)
        self._calibrated = isinstance(loss, LogLoss) and many
        return super()._learn(structure, loss, shard, *more)

    def _put_back(self, location: Location, result: TuningResult, shards: list[FlatShard]) -> None:
        self.intercept_ -= self.coef_ @ location.mean  # w . (x - m) + b = w . x + (b - w . m)
        if self._n_scores > 1:
            self.intercept_ -= self.intercept_.mean()  # the same to all classes changes nothing

    @property
    def _n_scores(self) -> int:
        return 1 if self.classes_.size == 2 else int(self.classes_.size)

    @property
    def _structure(self) -> Classes:
        labels, binary = self.classes_.tolist(), self.classes_.size == 2
        return Classes(labels, self._names, self.fit_intercept, reference=binary)

    # --- prediction ---------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each class, shape (n_examples, n_classes).

        With two classes, return only the score of the second class, shape (n_examples,). With the log loss,
        it is the log odds.
        """
        scores = self._scores(self._check_features(X))
        return scores[:, 0] if self._n_scores == 1 else scores

    def predict(self, X: Any) -> Any:
        """Predict the class with the highest score for each example, shape (n_examples,)."""
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)]

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class, shape (n_examples, n_classes)."""
        return self._transformed(X, scipy.special.expit, scipy.special.softmax)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of each probability; it is finite even where `predict_proba` rounds to 0."""
        return self._transformed(X, scipy.special.log_expit, scipy.special.log_softmax)

    def _transformed(self, X: Any, of_odds: Any, of_scores: Any) -> FloatArray:
        # scores of two classes are log odds; neither probability is 1 minus the other, which would round
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack((of_odds(-scores), of_odds(scores)))
        return np.asarray(of_scores(scores, axis=1))

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        labels, dtype = self.classes_.tolist(), self.classes_.dtype
        is_time = dtype.kind in "mM"  # in nanoseconds they would be plain numbers
        if is_time or not _are_plain(labels):
            found = (dtype.type if is_time else type(labels[0])).__name__
            raise DataError(f"classes of type {found} cannot be saved: use text or numbers as classes")
        header, arrays = super()._pack()
        return header | {"classes": labels}, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> Classifier:
        # as `np.unique` made them in training: `searchsorted` and the order of probabilities rely on it
        model, labels = cls(), header["classes"]
        plain = isinstance(labels, list) and _are_plain(labels)
        if not plain or len(labels) < 2 or not all(a < b for a, b in pairwise(labels)):  # nor is one nan
            raise ModelFileError(f"the classes must be sorted strings or numbers, not {labels!r}")
        model.classes_ = np.array(labels)
        model._unpack(header, arrays)
        return model


def _are_plain(labels: list[Any]) -> bool:
    """Whether all are of one type that a model file can hold."""
    return {type(label) for label in labels} in ({str}, {int}, {float}, {bool})
