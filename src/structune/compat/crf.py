"""`SequenceTagger` with the constructor, methods and attributes of sklearn-crfsuite's ``CRF``."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from structune.compat.tagger import JOIN, Tagger, as_labels, as_plain, as_tokens, tokens_of
from structune.errors import DataError, warn
from structune.files.models import check_class
from structune.learning.estimator import Encoded
from structune.learning.parameters import Parameters, Range
from structune.running.executors import Run
from structune.structure import FloatArray
from structune.tagging.crfsuite import load_either
from structune.tagging.features.attributes import AttributeTable, table_of_items
from structune.tagging.metrics import token_scores
from structune.tagging.structure.chain import Chain
from structune.tagging.tagger import SequenceTagger

_ONLINE = ("ap", "pa", "arow")
_ALGORITHMS = ("lbfgs", "l2sgd", *_ONLINE)
_LEAST_PENALTY = 1e-8  # in place of none, with which weights may have no end
_IDLE = (  # settings of solvers that are not here
    *("num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch"),
    *("calibration_eta", "calibration_rate", "calibration_samples", "calibration_candidates"),
    *("calibration_max_trials", "pa_type", "error_sensitive", "averaging", "variance", "gamma"),
    "trainer_cls",
)


class CompatibilityWarning(UserWarning):
    """A parameter has no effect, or an algorithm of CRFsuite is replaced by another."""


@dataclass(eq=False, repr=False)
class CRF(Parameters):
    """Linear-chain CRF with the parameters of CRFsuite: a drop-in replacement of ``sklearn_crfsuite.CRF``.

    It trains and predicts with a `SequenceTagger`.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}
        "lbfgs" (the default) and "l2sgd" minimize the negative log-likelihood + ``c1 * |w| + c2 * |w|^2``;
        both use the same solver here. The others are online algorithms, which structune does not have.
        Instead, it minimizes the margin loss with an L2 penalty of strength ``1 / c``, and warns.
    min_freq : float, optional
        Smallest sum of values in training that gives an attribute-label pair or transition a weight; 0 by
        default.
    all_possible_states, all_possible_transitions : bool, optional
        Whether attribute-label pairs, or transitions, that do not occur in training have weights too; no by
        default.
    c1 : float, optional
        Strength of the L1 penalty ``c1 * |w|``; 0 by default. Not used by the online algorithms.
    c2 : float, optional
        Strength of the L2 penalty ``c2 * |w|^2``; 1 by default. Not used by the online algorithms.
    max_iterations : int, optional
        Largest number of iterations; 1000 by default. Not used by the online algorithms.
    num_memories, epsilon, period, delta, linesearch, max_linesearch : optional
        No effect, like the parameters of the next two lines: they control CRFsuite's solvers. A warning
        lists those that you set.
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates : optional
    calibration_max_trials, pa_type, error_sensitive, averaging, variance, gamma, trainer_cls : optional
    c : float, optional
        Inverse of the L2 regularization strength for the online algorithms; 1 by default.
    verbose : bool
        Whether to print one line per iteration, and the scores on `X_dev` at the end.
    model_filename : path, optional
        File to which `fit` saves the model, in structune's format. Without a `fit`, predictions use the model
        in this file, in the format of structune or of CRFsuite.
    keep_tempfiles : bool
        No effect: there are no temporary files.

    See Also
    --------
    SequenceTagger : Tunes its regularization, and has more options.
    structune.tagging.read_crfsuite : Load a model of CRFsuite as a `SequenceTagger`.

    Examples
    --------
    >>> from structune.compat import CRF
    >>> X = [[{"w": "the"}, {"w": "dog"}], [{"w": "a"}, {"w": "cat"}]]
    >>> crf = CRF("lbfgs", c2=0.1).fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> crf.predict_single([{"w": "the"}, {"w": "cat"}])
    ['DET', 'NOUN']
    >>> sorted(crf.attributes_)
    ['w:a', 'w:cat', 'w:dog', 'w:the']
    """

    algorithm: str | None = None
    min_freq: float | None = None
    all_possible_states: bool | None = None
    all_possible_transitions: bool | None = None
    c1: float | None = None
    c2: float | None = None
    max_iterations: int | None = None
    num_memories: int | None = None
    epsilon: float | None = None
    period: int | None = None
    delta: float | None = None
    linesearch: str | None = None
    max_linesearch: int | None = None
    calibration_eta: float | None = None
    calibration_rate: float | None = None
    calibration_samples: int | None = None
    calibration_candidates: int | None = None
    calibration_max_trials: int | None = None
    pa_type: int | None = None
    c: float | None = None
    error_sensitive: bool | None = None
    averaging: bool | None = None
    variance: float | None = None
    gamma: float | None = None
    verbose: bool = False
    model_filename: str | os.PathLike[str] | None = None
    keep_tempfiles: bool = False
    trainer_cls: Any = None

    _fitted: Tagger | None = field(default=None, init=False)
    _known_by: NDArray[np.float32] | None = field(default=None, init=False)  # Fisher information of weights
    _ranges: ClassVar = {
        **dict.fromkeys(("min_freq", "c1", "c2"), Range(0, optional=True)),
        "max_iterations": Range(1, whole=True, optional=True),
        "c": Range(0, open=True, optional=True),
    }

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Fit the model to labeled sequences.

        Parameters
        ----------
        X : list of sequences
            Each sequence is a list of tokens, or a ``pycrfsuite.ItemSequence``. A token is a dict or a list
            of strings.
        y : list of lists of str
            Labels of each sequence, one per token.
        X_dev, y_dev : optional
            Held-out sequences and their labels. With `verbose`, their scores are printed. They do not change
            the model.

        Raises
        ------
        DataError
            A sequence, token or parameter is invalid; the message names it (counted from 0).

        Warns
        -----
        CompatibilityWarning
            The algorithm is an online algorithm, or a parameter has no effect.
        """
        if (X_dev is None) != (y_dev is None):
            raise DataError("X_dev and y_dev must be given together")
        self._learn(X, y, None)
        if X_dev is not None and self.verbose:
            print(f"{'label':<16} precision  recall     F1  support")
            for row in token_scores(as_labels(y_dev), self.predict(X_dev)).rows():
                print(f"{row.name:<16} {row.precision:9.3f} {row.recall:7.3f} {row.f1:6.3f} {row.support:8d}")
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Continue the fit with more sequences, which may have new labels and attributes.

        It minimizes the negative log-likelihood of these sequences + the sum of
        ``c1 * |w - v| + (c2 + h / 2) * (w - v)^2`` over the weights w. v is the weight before, 0 if it is
        new. h approximates the Fisher information of all earlier sequences about this weight, as if tokens
        were independent, at the weights after each fit. ``2 * c2 + h`` is rounded to two digits. So
        well-known weights change little, and those of attributes that these sequences lack do not change. A
        `fit` to all sequences together is a little more accurate. Without a model, it is a `fit`.

        Model files do not contain h: for a model from a file, it is 0. Pickles contain it.

        Parameters
        ----------
        X, y : lists of sequences
            As for `fit`. They need not have all labels. Online algorithms are refused.
        """
        if self.tagger_ is None:
            return self.fit(X, y)
        if self.algorithm in _ONLINE:
            raise DataError(f"partial_fit needs algorithm='lbfgs' or 'l2sgd', not {self.algorithm!r}")
        return self._learn(X, y, self.tagger_.model)

    def _learn(self, X: Any, y: Any, before: SequenceTagger | None) -> Self:
        """Fit from the start, or from the model before on."""
        tagger, tokens, labels = self._tagger(), *_not_empty(as_tokens(X), as_labels(y))
        if before is not None:  # a model of structune in the file may have another form
            tagger.set_params(order=before.order, boundary=before.boundary)
        table = table_of_items(tokens, JOIN, as_plain)
        known: Any = self._known_by
        examples, given = self._encoded(tagger, table, labels), tagger.get_params()
        if before is not None:
            old = before.chain_.like(None)  # its rules apply to predictions only
            given |= {"forbidden": before.forbidden}
            form = {name: given[name] for name in ("states", "transitions")}
            chain = old.merge([old, examples.structure], **form)
            examples = replace(examples, structure=chain, shard=chain.encode(table, labels))
            origin = _moved(before.coef_, old, chain)
            known = np.zeros(chain.n_weights) if known is None else _moved(known, old, chain)
            # groups of weights of the same penalty, to two digits, are named by it
            pairs = zip(chain.weight_names(), given["penalty"] + known, strict=True)
            groups = {name: f"{penalty:.2g}" for name, penalty in pairs}
            tagger.set_params(groups=groups.get, penalty={name: float(name) for name in groups.values()})
            vars(tagger)["_origin"] = lambda _: origin
        tagger._fit_encoded(examples)
        vars(tagger).pop("_origin", None)
        self._fitted, self._known_by = Tagger(tagger.set_params(**given)), None
        if self.algorithm not in _ONLINE:
            chain, last = examples.structure, tagger.chain_
            more = chain.variance(_moved(tagger.coef_, last, chain), examples.shard)
            more += 0.0 if before is None else known
            self._known_by = _moved(more, chain, last).astype(np.float32)
        if self.model_filename is not None:
            tagger.save(self.model_filename)
        return self

    def _encoded(self, tagger: SequenceTagger, table: AttributeTable, labels: list[list[Any]]) -> Encoded:
        """The examples; features whose values sum to less than `min_freq`, or 0, have no weight."""
        examples = tagger._encode_training(table, labels)
        if self.min_freq or (table.values is not None and table.values.min(initial=0.0) < 0.0):
            counts = np.zeros(examples.structure.n_weights)
            examples.structure.features(examples.shard, counts)
            chain, _ = examples.structure.keep(counts >= (self.min_freq or 0.0))
            examples = replace(examples, structure=chain, shard=chain.encode(table, labels))
        return examples

    def _tagger(self) -> SequenceTagger:
        """The tagger with these parameters."""
        self._check_ranges()
        algorithm = self.algorithm or "lbfgs"
        if algorithm not in _ALGORITHMS:
            raise DataError(f"algorithm={algorithm!r}: expected one of {_ALGORITHMS}")
        online, told = algorithm in _ONLINE, list[str]()
        if online:
            told += [f"algorithm={algorithm!r} is an online algorithm: CRF minimizes the margin loss instead"]
            if self.max_iterations is not None:
                told += [f"max_iterations has no effect with algorithm={algorithm!r}"]
        if idle := [name for name in _IDLE if getattr(self, name) is not None]:
            told += [f"these parameters of CRFsuite's solvers have no effect: {', '.join(idle)}"]
        for text in told:
            warn(text, CompatibilityWarning)
        c, c2 = (1.0 if value is None else value for value in (self.c, self.c2))
        return SequenceTagger(
            loss="margin" if online else "log",
            penalty=1.0 / c if online else max(2.0 * c2, _LEAST_PENALTY),
            l1=0.0 if online else self.c1 or 0.0,
            states="all" if self.all_possible_states else "seen",
            transitions="all" if self.all_possible_transitions else "seen",
            boundary=False,
            verbose=2 if self.verbose else 0,
            run=None if online or self.max_iterations is None else Run(max_iterations=self.max_iterations),
        )

    # --- prediction ---------------------------------------------------------------------------------------

    def predict(self, X: Any) -> list[list[str]]:
        """Predict the most probable labels of each sequence."""
        return self._known.predict(as_tokens(X))

    def predict_single(self, xseq: Any) -> list[str]:
        """Predict the most probable labels of one sequence."""
        return self._known.tag(xseq)

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """Predict the probability of each label at each token: one list of dicts per sequence.

        Models of online algorithms have scores, which are converted to probabilities as for the log loss.
        """
        return self._known.marginals(as_tokens(X))

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Predict the label probabilities at each token of one sequence: one dict per token."""
        return self._known.marginals([tokens_of(xseq)])[0]

    def score(self, X: Any, y: Any) -> float:
        """Return the share of tokens with the correct label."""
        return self._known.model.score(self._known.rows(as_tokens(X)), as_labels(y))

    def __sklearn_is_fitted__(self) -> bool:
        return self.tagger_ is not None

    @property
    def _known(self) -> Tagger:
        """The model; `NotFittedError` without one."""
        if self.tagger_ is None:
            if self.model_filename is not None:
                from sklearn.exceptions import NotFittedError

                told = f"the file {str(self.model_filename)!r} does not exist"
                raise NotFittedError(f"this CRF is not fitted, and {told}. Call fit, or name another file")
            self._check_fitted()  # which raises
        assert self.tagger_ is not None
        return self.tagger_

    # --- the model, None before `fit` -----------------------------------------------------------------------

    @property
    def tagger_(self) -> Tagger | None:
        """The model with the methods of python-crfsuite's ``Tagger``; None before `fit` or a model file."""
        if self._fitted is None and self.model_filename is not None and Path(self.model_filename).exists():
            path = self.model_filename
            self._fitted = Tagger(check_class(load_either(path), SequenceTagger, path, "a sequence tagger"))
        return self._fitted

    @property
    def classes_(self) -> list[str] | None:
        """Labels of the model."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def attributes_(self) -> list[str] | None:
        """Names of the attributes that have weights."""
        return None if self.tagger_ is None else list(self.tagger_.model.chain_.attributes)

    @property
    def num_attributes_(self) -> int | None:
        """Number of attributes that have weights."""
        return None if self.attributes_ is None else len(self.attributes_)

    @property
    def size_(self) -> int | None:
        """Size of the model file, in bytes."""
        if self.tagger_ is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model")
            self.tagger_.model.save(path)
            return path.stat().st_size

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Weight of each pair of attribute and label."""
        return None if self.tagger_ is None else self.tagger_.model.state_features_

    @property
    def transition_features_(self) -> dict[tuple[str | None, str | None], float] | None:
        """Weight of each transition (from, to)."""
        return None if self.tagger_ is None else self.tagger_.model.transition_features_


def _not_empty(X: list[list[Any]], y: list[list[Any]]) -> tuple[list[list[Any]], list[list[Any]]]:
    """Remove sequences that have neither tokens nor labels, which CRFsuite accepts."""
    if len(X) != len(y):
        raise DataError(f"y has labels for {len(y)} sequences, but X has {len(X)}")
    kept = [pair for pair in zip(X, y, strict=True) if any(pair)]
    return [tokens for tokens, _ in kept], [labels for _, labels in kept]


def _moved(values: Any, old: Chain, new: Chain) -> FloatArray:
    """Values of the weights of one chain for those of another, by name; 0 for those that are new."""
    if old is new:
        return np.asarray(values, np.float64)
    known = dict(zip(old.weight_names(), values.tolist(), strict=True))
    return np.array([known.get(name, 0.0) for name in new.weight_names()])
