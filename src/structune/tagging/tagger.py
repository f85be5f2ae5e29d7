"""The sequence tagger: a linear-chain CRF with scikit-learn's face."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.learning.constrained import ConstrainedEstimator
from structune.learning.estimator_file import Arrays, unpack_fit
from structune.learning.losses import Loss
from structune.learning.margin_losses import MaximumLoss
from structune.learning.parameters import parameters
from structune.learning.ranges import Range, check_number
from structune.structure import check_weights
from structune.tagging.features.attributes import AttributeTable, as_table
from structune.tagging.label_predictions import LabelPredictions, LabelSequences, cut
from structune.tagging.named_weights import state_weights, transition_weights, trigram_weights
from structune.tagging.structure.inference import ChainInference
from structune.tagging.structure.labels import check_lengths
from structune.tagging.structure.orders import chain_class
from structune.tagging.structure.outside import LeftOut, fit_to_rules
from structune.tagging.structure.rules import Rules, as_rules
from structune.tagging.structure.shard import ChainShard
from structune.tagging.tagger_file import pack_chain, unpack_chain

if TYPE_CHECKING:
    from structune.tagging.structure.second_order import SecondOrderChain


@parameters
class SequenceTagger(LabelPredictions, ConstrainedEstimator):
    """Linear-chain CRF for labelled sequences, with regularisation that it can learn.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss to minimize: the negative log-probability of the labels; the margin loss with the number of wrong
        tokens as cost (a structured support vector machine); or the ramp loss, which gives up on sequences
        that are far off. Others are objects of `structune.learning.margin_losses`.
    penalty : float or dict
        Precision of the Gaussian prior of the weights: one number, or one by group name (1 for groups not
        named). CRFsuite's c2 is half of it; a support vector machine's weight on the losses is its inverse.
        Ignored under `tuning`.
    tuning : None, "implicit", "majorize", "direct", "grid", or a tuner
        How to choose the precisions. None, the default, does not tune but fits with `penalty`. "implicit"
        and "direct" need the log loss.
    groups : "template", "single", "separate", or callable
        Which weights share a precision: those of one feature template, and those of transitions; all; or
        none. A template is the text before ``=`` in an attribute's name. A function makes a group's name of
        a weight's (which look like ``w[0]=the : DET`` and ``DET -> NOUN``).
    states : {"seen", "all"}
        Which pairs of an attribute and a label have weights: those seen in training, or all.
    transitions : {"seen", "all"}
        Which transitions between labels have weights: those seen in training, or all.
    boundary : bool
        Whether starts and ends of sequences have weights.
    order : {1, 2}
        Number of preceding labels that the score of a label depends on. With 2 there are weights of three
        labels in a row, too, as `transitions` has it: the group ``trigrams``. Time then grows with the cube
        of the number of labels.
    forbidden : None, "bio", "bioes", or list of (from, to)
        Forbid transitions between labels that break this scheme, such as O to I-x. Or these transitions;
        None stands for the start or end. They cannot happen in training or prediction. Set after `fit` it
        holds in prediction.
    outside : {"skip", "trim", "error"}
        What to do with training sequences whose labels break `forbidden`: leave them out, take only the
        labels that break it for unknown (log loss only), or raise an error. The first two warn.
    constraints : None or "validation"
        Constrain the model to label parts of the training data almost as annotated (Chen et al. 2009). Of all
        weights that do so for `validation_sets` parts, those of the smallest loss and penalty are found.
        "Almost" bounds the summed scores of the best labels minus those of the annotated ones by `gamma`.
        Where no weights label a part right, this takes scores down until it holds, and probabilities are
        close to uniform. With `tuning`, precisions are tuned first, without the constraints. Log loss and
        complete labels only.
    validation_sets : int
        Number of random parts of the training data for `constraints`. All are training data too, and
        sequences stay whole: cut a single long one into several.
    warm_start : bool
        Start at the weights of the fit before, for features and labels that it had. Without `tuning`: tuners
        start anew.
    random_state : int
        Random seed of the held-out split and of the validation sets.

    Attributes
    ----------
    classes_ : list of str
    coef_ : ndarray, shape (n_weights,)
        Named by ``chain_.weight_names()``.
    chain_ : Chain or SecondOrderChain
    state_features_ : dict of (attribute, label) to float
    transition_features_ : dict of (label, label) to float
        None stands for the start or end of a sequence.
    trigram_features_ : dict of (label, label, label) to float
        Of order 2, with None as above; empty for order 1.
    skipped_ : list of (int, str)
        Training sequences that were left out, and why; at most a thousand.

    Examples
    --------
    >>> from structune import SequenceTagger
    >>> X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> SequenceTagger().fit(X, y).predict([[["w=the"], ["w=cat"]]])
    [['DET', 'NOUN']]
    """

    _learns_tasks = True
    _natural_groups = "template"

    groups: Any = "template"
    states: str = "seen"
    transitions: str = "all"
    boundary: bool = True
    forbidden: Rules = None
    outside: str = "skip"
    order: int = 1

    skipped_: list[tuple[int, str]] = field(init=False)

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from labelled sequences.

        Parameters
        ----------
        X : list of sequences, AttributeTable, or (matrix, lengths)
            A sequence is a list of tokens, a token a list of strings or a dict; or it is an array of numbers.
            Arrays, and matrices, sparse or dense, have one row a token; their weights are one group.
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
        table, y, sample_weight, groups, skipped = self._within_rules(as_table(X), y, sample_weight, groups)
        chain = chain_class(self.order).build(
            table,
            y,
            states=self.states,
            transitions=self.transitions,
            boundary=self.boundary,
            forbidden=self.forbidden,
        )
        self._fit_chain(chain, table, y, sample_weight, groups)
        self.skipped_ = skipped
        return self

    def _within_rules(
        self, table: AttributeTable, y: Any, sample_weight: Any, groups: Any
    ) -> tuple[AttributeTable, Any, Any, Any, list[tuple[int, str]]]:
        """The examples whose labels keep to `forbidden`, and those that were left out."""
        self._keep_rules()
        trims = self.outside == "trim" and self.forbidden is not None
        if trims and isinstance(self._make_loss(), MaximumLoss):
            raise DataError(
                f"outside='trim' makes labels unknown, which loss={self.loss!r} cannot learn from: expected "
                "outside='skip', 'error', or loss='log'"
            )
        left_out = LeftOut()
        kept, y = fit_to_rules(y, table.lengths, self.forbidden, self.outside, left_out)
        left_out.report(self.forbidden)
        if kept.size < len(table):
            sample_weight = None if sample_weight is None else check_weights(sample_weight, len(table))[kept]
            groups = None if groups is None else _check_groups(groups, len(table))[kept]
            table = table.take(kept)
        return table, y, sample_weight, groups, left_out.skipped

    def _fit_chain(
        self,
        chain: ChainInference,
        table: AttributeTable,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Learn the weights of a chain that is there."""
        shard, loss = chain.encode(table, y, sample_weight), self._make_loss()
        del table  # as large as the shard, and a fit is long
        self._check_known([shard], loss)
        self._learn(chain, loss, shard, self._start(chain), groups)
        self._keep_chain(chain)
        self._drop_unused()
        self.skipped_ = []
        return self

    def _adopt(self, model: Self) -> None:
        super()._adopt(model)
        self.order = self.chain_.order
        if self.forbidden is None:
            self.forbidden = self.chain_.forbidden
        self._drop_unused()

    def _drop_unused(self) -> None:
        """Forget what has no weight, if weights were to become zero."""
        if self.l1_.any() or any(record["stage"] == "relevance" for record in self.history_[-1:]):
            from structune.tagging.unused import drop_unused

            drop_unused(self)

    def _check_known(self, shards: Sequence[ChainShard], loss: Loss) -> None:
        for shard in shards if isinstance(loss, MaximumLoss) else ():
            _check_known(shard)

    @property
    def _structure(self) -> ChainInference:
        return self.chain_

    @property
    def _predicting(self) -> ChainInference:
        self._keep_rules()
        return self.chain_.like(self.forbidden)

    def _keep_rules(self) -> None:
        """Keep what an iterator has, which can be read once."""
        if isinstance(self.forbidden, Iterator):
            self.forbidden = as_rules(self.forbidden)

    def with_structure(self, chain: ChainInference) -> Self:
        """The tagger with a given chain, and weights of zero."""
        self._keep_chain(chain)
        self.forbidden, self.order, self.skipped_ = chain.forbidden, chain.order, []
        self._import(np.zeros(chain.n_weights))
        return self

    def _keep_chain(self, chain: ChainInference) -> None:
        self.chain_ = chain
        self.classes_ = list(chain.labels)

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """Weights by attribute and label."""
        self._check_fitted()
        return state_weights(self.chain_, self.coef_)

    @property
    def transition_features_(self) -> dict[tuple[str | None, str | None], float]:
        """Weights by the labels that follow each other; None stands for the start or end of a sequence."""
        self._check_fitted()
        return transition_weights(self.chain_, self.coef_)

    @property
    def trigram_features_(self) -> dict[tuple[str | None, str, str | None], float]:
        """Weights by three labels in a row; None stands for the start or end of a sequence."""
        self._check_fitted()
        if self.chain_.order == 1:
            return {}
        return trigram_weights(cast("SecondOrderChain", self.chain_), self.coef_)

    # --- prediction ---------------------------------------------------------------------------------------

    def _encode(self, X: Any) -> tuple[ChainShard, NDArray[np.int64]]:
        """The sequences that have tokens, and the lengths of all."""
        self._check_fitted()
        table, chain = as_table(X, self.chain_.names), self._predicting
        chain.check_lengths(table.lengths)  # before empty ones go: errors name a sequence by its number
        full = table.lengths > 0
        return chain.encode(table if full.all() else table.take(full)), table.lengths

    def predict(self, X: Any) -> list[list[str]]:
        """The most probable labels of each sequence (Viterbi)."""
        shard, lengths = self._encode(X)
        labels, _ = self._predicting.best(self.coef_, shard)
        return LabelSequences(cut(np.array(self.classes_, dtype=object)[labels].tolist(), lengths))

    def _labelled(self, output: NDArray[np.int64]) -> list[str]:
        return [self.classes_[y] for y in output.tolist()]

    def segment_probability(self, X: Any, sequence: int, start: int, labels: Sequence[str]) -> float:
        """Probability that the tokens of `sequence` from `start` on carry exactly `labels`.

        Raises
        ------
        CapabilityError
            A model that was not fitted by log loss.
        """
        self._require_probabilities()
        check_number("start", start, Range(0, whole=True))
        if isinstance(labels, str) or not isinstance(labels, Sequence):
            raise DataError(f"labels={labels!r}: expected a list of labels, one a token")
        shard, k, length = self._encoded_one(X, sequence)
        if not length:
            raise DataError(f"sequence {sequence} is empty: found no token for the {len(labels)} labels")
        return self._predicting.segment_probability(self.coef_, shard, k, start, labels)

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

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = pack_chain(self._predicting)
        return {**header, "skipped": self.skipped_}, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> SequenceTagger:
        tagger, chain = cls(), unpack_chain(header, arrays)
        unpack_fit(tagger, chain.n_weights, header, arrays)
        tagger.set_params(boundary=chain.boundary, forbidden=chain.forbidden, order=chain.order)
        tagger._keep_chain(chain)
        tagger.skipped_ = [(int(s), str(reason)) for s, reason in header.get("skipped", ())]
        return tagger


def _check_groups(groups: Any, n: int) -> NDArray[Any]:
    found = np.asarray(groups)
    if found.shape != (n,):
        raise DataError(f"found groups of shape {found.shape}, expected ({n},)")
    return found


def _check_known(shard: ChainShard) -> None:
    """Raise a `DataError` for a label that is unknown, or one of several."""
    for token in np.flatnonzero(shard.labels < 0)[:1]:
        sequence = int(np.searchsorted(shard.offsets, token, side="right")) - 1
        raise DataError(
            f"sequence {sequence}, token {token - shard.offsets[sequence]}: found no single label, expected "
            "one: margin and ramp losses need the cost of labels, which a partly known one does not have"
        )
