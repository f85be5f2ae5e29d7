"""Base class of models of features: matrices, names of features, and groups of features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from structune.errors import DataError, ModelFileError
from structune.files.models import Arrays, pack_names, unpack_names
from structune.learning.estimator import BlockEstimator, in_block
from structune.learning.losses import Loss
from structune.learning.parameters import parameters
from structune.structure import Groups, Structure

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder

GROUPS = ("single", "feature", "prefix")


@parameters
class FeatureEstimator(BlockEstimator):
    """A model with weights for named features, given as matrices or data frames.

    Parameters
    ----------
    groups : {"single", "feature", "prefix"}, callable, or list
        Groups of features that share a regularization strength. "single": one group for all features.
        "feature": one group per feature (automatic relevance determination). "prefix": one group per text
        before ``__``, as in the names of a `ColumnTransformer`, or before ``=``. A callable takes the name of
        a feature and returns the name of its group. In a list, there is one group name per feature.
    warm_start : bool
        Start from the weights of the previous fit. Has no effect with a tuner.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    groups: Any = "single"

    n_features_in_: int = field(init=False)

    @property
    def _n_scores(self) -> int:
        """Scores of an example that have weights."""
        return 1

    @property
    def _n_free(self) -> int:
        """Weights in model files that have no penalty."""
        return 0

    @property
    def _names(self) -> list[str]:
        given = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{k}" for k in range(self.n_features_in_)]
        return [str(name) for name in given]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_fit(self, X: Any, y: Any, **checks: Any) -> tuple[Any, Any]:
        from sklearn.utils.validation import validate_data

        return validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, **checks)  # type: ignore[no-any-return]

    def _check_features(self, X: Any) -> Any:
        """The features of a prediction, dense or CSR."""
        self._check_fitted()
        # what scikit-learn would leave as it is does without it: to import it takes longest of all
        if (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1] == self.n_features_in_ > 0
            and not hasattr(self, "feature_names_in_")
            and np.isfinite(X).all()
        ):
            return X
        from sklearn.utils.validation import validate_data

        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _feature_groups(self) -> list[str]:
        groups, names = self.groups, self._names
        if isinstance(groups, str) and groups in GROUPS:
            if groups != "prefix":
                return names if groups == "feature" else ["all"] * len(names)
            if not hasattr(self, "feature_names_in_"):
                raise DataError(
                    "groups='prefix' needs feature names: fit with a data frame "
                    "(a ColumnTransformer returns one after set_output(transform='pandas'))"
                )
            # a `ColumnTransformer` puts ``__`` behind the name of a block
            return [name.partition("__" if "__" in name else "=")[0] for name in names]
        if callable(groups):
            return [str(groups(name)) for name in names]
        if isinstance(groups, str) or np.ndim(groups) != 1:
            expected = f"expected one of {GROUPS}, a callable, or a list with one group name per feature"
            raise DataError(f"groups={groups!r}: {expected}")
        if len(groups) != len(names):
            raise DataError(f"groups has {len(groups)} names, but there are {len(names)} features")
        return [str(group) for group in groups]

    def _weight_groups(self, structure: Structure) -> Groups:
        # weights are feature x score; those behind them, intercepts, have no group (-1), and so no penalty
        labels = self._feature_groups()
        groups = Groups.by_name([label for label in labels for _ in range(self._n_scores)])
        free = np.full(structure.n_weights - groups.index.size, -1)
        return Groups(np.concatenate((groups.index, free)), groups.names)

    def _checked_blocks(self, blocks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Blocks of examples as `_checked` gives them, each with the features of the first."""
        for number, block in enumerate(blocks):
            with in_block(number):
                checked = self._checked(*block, reset=number == 0)
            yield checked

    @abstractmethod
    def _checked(self, X: Any, y: Any, more: Any = None, most: Any = None, /, *, reset: bool = True) -> Any:
        """What `fit` takes, as scikit-learn has it; with the features of what was before, without `reset`."""

    def _adopt(self, model: Self) -> None:
        self.__dict__.pop("feature_names_in_", None)  # of a fit before: the other model may have none
        super()._adopt(model)

    def _fit_files(self, data: ShardFolder, structure: Structure, loss: Loss) -> None:
        start = self._start(structure)
        self._adopt(data.model)  # first: weights are kept by the features that there are
        self._learn(structure, loss, data, start, None)
        self.extra_ = data.model.extra_

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        names = getattr(self, "feature_names_in_", None)
        header = {"n_features": self.n_features_in_, "named": names is not None}
        return header, pack_names("feature", [] if names is None else self._names)

    def _unpack(self, header: dict[str, Any], arrays: Arrays) -> None:
        n = header["n_features"]
        names = unpack_names("feature", arrays)
        if type(n) is not int or n < 0 or len(names) != n * bool(header["named"]):
            raise ModelFileError(f"the model has {n!r} features, but names of {len(names)}")
        self.n_features_in_ = n
        if header["named"]:
            self.feature_names_in_ = np.array(names, dtype=object)
        n_free = self._n_free
        self._unpack_fit(n * self._n_scores + n_free, header, arrays, n_free)
