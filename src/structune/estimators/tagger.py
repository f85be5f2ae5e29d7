"""The sequence tagger: a linear-chain CRF with scikit-learn's face."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structune.errors import DataError
from structune.estimators.tagger_file import pack, unpack
from structune.executors import make_executor
from structune.features.attributes import AttributeTable
from structune.losses import LogLoss
from structune.model_files import save_model
from structune.monitor import Monitor
from structune.penalties import GroupedL2
from structune.solvers.lbfgs import TOLERANCE, fit_l2
from structune.structures.base import Groups, check_weights
from structune.structures.chain import Chain
from structune.structures.chain_labels import check_lengths
from structune.structures.chain_rules import Rules
from structune.structures.chain_shard import ChainShard
from structune.tuning.problem import Tuner, TuningProblem, TuningResult, make_tuner

FloatArray = NDArray[np.float64]


class SequenceTagger(BaseEstimator):  # type: ignore[misc]
    """Linear-chain CRF for labelled sequences, with regularisation that it can learn.

    Parameters
    ----------
    penalty : float or dict
        Precision of the Gaussian prior of the weights: one number, or one by group name (1 for groups not
        named). CRFsuite's c2 is half of it. Ignored under `tuning`.
    tuning : None, "implicit", "majorize", "direct", "grid", or a tuner
        How to choose the precisions; None fits with `penalty`.
    groups : "template", "single", "separate", or callable
        Which weights share a precision: those of one feature template (the text before ``=`` in an
        attribute's name) and the transitions; all; none; or by a function from a weight's name to its
        group's (names look like ``w[0]=the : DET`` and ``DET -> NOUN``).
    states, transitions : {"seen", "all"}
        Which attribute-label pairs and which transitions have weights.
    boundary : bool
        Whether starts and ends of sequences have weights.
    forbidden : None, "bio", "bioes", or list of (from, to)
        Transitions that cannot happen, in training and in prediction; None stands for the start or end.
    holdout : float
        Share of the sequences to hold out for tuning.
    folds : int, optional
        Number of folds to hold out in turn instead.
    hessian : {"exact", "complex-step", "finite-difference"}
        How tuning makes the products with a Hessian that it needs.
    tolerance : float
        A fit ends when the norm of its gradient is at most this times that at w = 0. A tuner object has its
        own.
    max_iterations : int
        Of a fit without tuning.
    max_seconds : float, optional
        Time budget of `fit`; it returns the best it has.
    warm_start : bool
        Start at the weights of the fit before, for features and labels that it had. Without `tuning`: tuners
        start anew.
    n_jobs : int, optional
        Threads; -1 takes all cores. The result does not depend on it.
    random_state : int
        Of the held-out split.
    verbose : int
        1 shows progress bars on a terminal, 2 keeps a line per iteration.

    Attributes
    ----------
    classes_ : list of str
    coef_ : ndarray, shape (n_weights,)
        Named by ``chain_.weight_names()``.
    penalty_ : ndarray, shape (n_groups,)
    group_names_ : tuple of str
    group_sizes_ : ndarray of int, shape (n_groups,)
        Weights in each group.
    history_ : list of dict
    status_ : str
        "converged", "iterations", "stalled", "budget" or "interrupted".
    passes_ : float
        Passes over the training data that the fit took.
    chain_ : Chain
    extra_ : dict
        What was saved with a loaded model.

    Examples
    --------
    >>> from structune import SequenceTagger
    >>> X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> SequenceTagger().fit(X, y).predict([[["w=the"], ["w=cat"]]])
    [['DET', 'NOUN']]
    """

    def __init__(
        self,
        *,
        penalty: float | Mapping[str, float] = 1.0,
        tuning: str | Tuner | None = None,
        groups: Any = "template",
        states: str = "seen",
        transitions: str = "all",
        boundary: bool = True,
        forbidden: Rules = None,
        holdout: float = 0.2,
        folds: int | None = None,
        hessian: str = "exact",
        tolerance: float = TOLERANCE,
        max_iterations: int = 1000,
        max_seconds: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = -1,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.penalty = penalty
        self.tuning = tuning
        self.groups = groups
        self.states = states
        self.transitions = transitions
        self.boundary = boundary
        self.forbidden = forbidden
        self.holdout = holdout
        self.folds = folds
        self.hessian = hessian
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from labelled sequences.

        Parameters
        ----------
        X : list of sequences, AttributeTable, or (CSR matrix, lengths)
            A sequence is a list of tokens, a token a list of strings or a dict. A matrix has one row a token.
        y : list of sequences of labels
            A label is a str; None where it is unknown; a set or list of str where it is one of these.
        sample_weight : array-like, shape (n_sequences,), optional
        groups : array-like, shape (n_sequences,), optional
            Sequences of one group stay on one side of every held-out split.

        Raises
        ------
        DataError
            Names the sequence and token that cannot be used.
        """
        table = as_table(X)
        chain = Chain.build(
            table,
            y,
            states=self.states,
            transitions=self.transitions,
            boundary=self.boundary,
            forbidden=self.forbidden,
        )
        shard = chain.encode(table, y, sample_weight)
        start = self._start(chain)
        weight_groups = self._weight_groups(chain)
        with Monitor(self.verbose, self.max_seconds) as monitor:
            if self.tuning is None:
                result = self._fit_fixed(chain, shard, weight_groups, start, monitor)
            else:
                result = self._tune(chain, shard, weight_groups, groups, monitor)
        self._keep(chain, weight_groups, result)
        return self

    def _problem(
        self, chain: Chain, shard: ChainShard, weight_groups: Groups, **options: Any
    ) -> TuningProblem:
        return TuningProblem.build(
            chain, LogLoss(), shard, weight_groups, executor=make_executor(self.n_jobs), **options
        )

    def _fit_fixed(
        self, chain: Chain, shard: ChainShard, groups: Groups, start: FloatArray | None, monitor: Monitor
    ) -> TuningResult:
        risk = self._problem(chain, shard, groups, splits=False).full
        penalty = GroupedL2(groups, np.log(self._precisions(groups)))
        fit = fit_l2(
            risk,
            penalty.precision,
            start,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            monitor=monitor,
        )
        monitor.record("fit", objective=fit.objective, gradient_norm=fit.gradient_norm, passes=risk.passes)
        return TuningResult(penalty.log_precision, fit.w, fit.status, None, risk.passes, monitor.history)

    def _tune(
        self, chain: Chain, shard: ChainShard, weight_groups: Groups, example_groups: Any, monitor: Monitor
    ) -> TuningResult:
        assert self.tuning is not None
        tuner = make_tuner(self.tuning)
        if isinstance(self.tuning, str):
            tuner.fit_tolerance = self.tolerance
        problem = self._problem(
            chain,
            shard,
            weight_groups,
            splits=tuner.needs_splits,
            holdout=self.holdout,
            folds=self.folds,
            example_groups=example_groups,
            random_state=self.random_state,
            hessian=self.hessian,
        )
        return tuner.tune(problem, monitor)

    def _precisions(self, groups: Groups) -> FloatArray:
        given = self.penalty
        if isinstance(given, Mapping):
            unknown = sorted(set(given) - set(groups.names), key=str)
            if unknown:
                raise DataError(f"penalty names the groups {unknown}, expected some of {list(groups.names)}")
            numbers = [given.get(name, 1.0) for name in groups.names]
        else:
            numbers = [given] * len(groups)
        try:
            values = np.array([float(number) for number in numbers])
        except (TypeError, ValueError):
            values = np.array([np.nan])
        if not np.all(np.isfinite(values) & (values > 0)):
            raise DataError(f"penalty={self.penalty!r}: expected finite numbers > 0")
        return values

    def _weight_groups(self, chain: Chain) -> Groups:
        if self.groups == "template":
            return chain.groups()
        if self.groups == "single":
            return Groups.single(chain.n_weights)
        if self.groups == "separate":
            return Groups.separate(chain.weight_names())
        if callable(self.groups):
            return Groups.by_name([str(self.groups(name)) for name in chain.weight_names()])
        raise DataError(
            f"groups={self.groups!r}: expected 'template', 'single', 'separate', or a function of names"
        )

    def _start(self, chain: Chain) -> FloatArray | None:
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        known = dict(zip(self.chain_.weight_names(), self.coef_.tolist(), strict=True))
        return np.array([known.get(name, 0.0) for name in chain.weight_names()])

    def _keep(self, chain: Chain, groups: Groups, result: TuningResult) -> None:
        self.chain_ = chain
        self.classes_ = list(chain.labels)
        self.coef_ = result.w
        self.penalty_ = self._precisions(groups) if self.tuning is None else np.exp(result.log_precision)
        self.group_names_, self.group_sizes_ = groups.names, groups.sizes
        self.history_ = result.history
        self.status_ = result.status
        self.passes_ = result.passes
        self.extra_: dict[str, Any] = {}

    # --- prediction ---------------------------------------------------------------------------------------

    def _encode(self, X: Any) -> ChainShard:
        check_is_fitted(self, "coef_")
        return self.chain_.encode(as_table(X))

    def _names(self, labels: NDArray[np.int64], offsets: NDArray[np.int64]) -> list[list[str]]:
        flat = [self.classes_[y] for y in labels.tolist()]
        return [flat[a:b] for a, b in pairwise(offsets.tolist())]

    def predict(self, X: Any) -> list[list[str]]:
        """The most probable labels of each sequence (Viterbi)."""
        shard = self._encode(X)
        labels, _ = self.chain_.best(self.coef_, shard)
        return self._names(labels, shard.offsets)

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """For each token, the probability of each label."""
        shard = self._encode(X)
        rows = self.chain_.marginals(self.coef_, shard).tolist()
        dicts = [dict(zip(self.classes_, row, strict=True)) for row in rows]
        return [dicts[a:b] for a, b in pairwise(shard.offsets.tolist())]

    def predict_nbest(self, X: Any, n: int = 5) -> list[list[tuple[list[str], float]]]:
        """For each sequence its `n` most probable labellings with their probabilities, falling."""
        shard = self._encode(X)
        log_z = self.chain_.log_partition(self.coef_, shard)
        best = self.chain_.n_best(self.coef_, shard, n)
        return [
            [
                ([self.classes_[y] for y in row], float(p))
                for row, p in zip(labels.tolist(), np.exp(scores - z), strict=True)
            ]
            for (labels, scores), z in zip(best, log_z, strict=True)
        ]

    def segment_probability(self, X: Any, sequence: int, start: int, labels: Sequence[str]) -> float:
        """Probability that the tokens of `sequence` from `start` on carry exactly `labels`."""
        shard = self._encode(X)
        if not 0 <= sequence < len(shard):
            raise DataError(f"found no sequence {sequence} among {len(shard)}, counted from 0")
        return self.chain_.segment_probability(self.coef_, shard, sequence, start, labels)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of tokens labelled right; labels the model does not know count as wrong."""
        predicted = self.predict(X)
        lengths = np.array([len(labels) for labels in predicted], dtype=np.int64)
        check_lengths(y, lengths)
        weights = check_weights(sample_weight, lengths.size)
        right = [sum(a == b for a, b in zip(p, t, strict=True)) for p, t in zip(predicted, y, strict=True)]
        total = float(weights @ lengths)
        if not total:
            raise DataError(f"found no token of weight > 0 in {lengths.size} sequences to score")
        return float(weights @ right) / total

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to one file, to be read by `structune.load`.

        Parameters that are numbers, strings, lists or dicts come back too; a tuner or a function that was
        given as one comes back as the default.

        Parameters
        ----------
        extra : mapping, optional
            More to keep in the header, as JSON; back in ``extra_`` after loading.
        """
        check_is_fitted(self, "coef_")
        header, arrays = pack(self, dict(extra or self.extra_))
        save_model(path, "sequence-tagger", header, arrays)

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SequenceTagger:
        tagger = cls()
        unpack(tagger, header, arrays)
        return tagger


def as_table(X: Any) -> AttributeTable:
    """Any of the forms of input that `SequenceTagger.fit` takes, as an attribute table."""
    if isinstance(X, AttributeTable):
        return X
    if isinstance(X, tuple) and len(X) == 2 and hasattr(X[0], "tocsr"):
        return AttributeTable.from_csr(X[0], X[1])
    return AttributeTable.from_items(X)
