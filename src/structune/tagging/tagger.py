"""The sequence tagger: a linear-chain CRF with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError, ModelFileError, warn
from structune.files.inputs import as_list
from structune.files.models import Arrays, check_keys, pack_names, unpack_names
from structune.learning.estimator import ConstrainedEstimator, Encoded
from structune.learning.losses import Loss
from structune.learning.margin_losses import MaximumLoss
from structune.learning.parameters import PARTS, Range, check_number, parameters
from structune.structure import check_weights, offsets_of, place_of, segment_indices
from structune.tagging.confidence import Span, confidences
from structune.tagging.explain import Explanation, explain
from structune.tagging.features.attributes import KnownRows, as_table, known_rows, n_unnamed
from structune.tagging.label_predictions import LabelPredictions, LabelSequences, cut
from structune.tagging.structure.chain import Chain
from structune.tagging.structure.labels import (
    LeftOut,
    Rules,
    as_rules,
    check_lengths,
    choices,
    encode_labels,
    fit_to_rules,
    single_labels,
)
from structune.tagging.structure.shard import ChainShard, refuse_empty
from structune.tagging.structure.unique_spans import span_types
from structune.tagging.token_weights import by_levels, class_weights, token_weights

if TYPE_CHECKING:
    from structune.tagging.structure.second_order import SecondOrderChain


_MANY = 50  # attributes of which a model that suits them knows some


def chain_class(order: Any) -> type[Chain]:
    """The class of chains of this order (1 or 2); `DataError` for other orders."""
    if isinstance(order, int | np.integer) and not isinstance(order, bool):
        if order == 1:
            return Chain
        if order == 2:
            from structune.tagging.structure.second_order import SecondOrderChain  # few taggers need it

            return SecondOrderChain
    raise DataError(f"order={order!r}: expected 1 or 2")


@parameters
class SequenceTagger(LabelPredictions, ConstrainedEstimator):
    """Linear-chain CRF that labels sequences and tunes its own regularization.

    Parameters
    ----------
    states : {"seen", "all"}
        Pairs of attribute and label that have weights: those seen in training, or all.
    transitions : {"seen", "all"}
        Transitions between labels that have weights: those seen in training, or all.
    order : {1, 2}
        Number of preceding labels that the score of a label depends on. With 2, trigrams (three labels in a
        row) have weights too, which form the group ``trigrams``; `transitions` applies to them as well.
        Time then grows with the cube of the number of labels.
    forbidden : None, "bio", "bioes", or list of (from, to)
        Forbidden transitions between labels, in training and in prediction. "bio" and "bioes" forbid those
        that break this labeling scheme, such as O to I-x. In a list, None as a label stands for the start or
        end of a sequence. Set after `fit`, it applies to predictions only.
    class_weight : None, "balanced", or dict of label to float
        Weight of the tokens of each label, as for `sample_weight` of `fit`; 1 for labels that a dict lacks.
        "balanced" gives all labels the same total weight. Weights raise the recall of rare labels, but
        probabilities are then no longer calibrated. Needs the log loss, without `constraints`.
    outside : {"skip", "trim", "error"}
        What to do with training sequences whose labels break `forbidden`. "skip" skips these sequences, with
        a warning. "trim" treats only the labels that break the rule as unknown, with a warning; it needs the
        log loss. "error" stops with an error.

    Attributes
    ----------
    classes_ : list of str
        Labels.
    coef_ : ndarray, shape (n_weights,)
        Weights, in the order of ``chain_.weight_names()``.
    chain_ : Chain or SecondOrderChain
        Structure of the model: labels, attributes, and which weights there are.
    skipped_ : list of (int, str)
        Index and reason of each training sequence that was skipped, for at most the first 1000.
    n_columns_ : int or None
        Number of columns of the arrays or the matrix in training, which predictions need, too; else None.
    penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        Attributes of every fitted estimator: see `structune.learning.StructuredEstimator`. With
        `constraints`, also those of `structune.learning.estimator.ConstrainedEstimator`.

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
    class_weight: Any = None
    order: int = 1

    skipped_: list[tuple[int, str]] = field(init=False)

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model to labeled sequences.

        Parameters
        ----------
        X : list of sequences, AttributeTable, or (matrix, lengths)
            A sequence is a list of tokens, each a list of strings or a dict, or an array of numbers with one
            row per token. Or give one matrix (sparse or dense) with one row per token, and the number of
            tokens of each sequence. The weights of an array or matrix form one group.
        y : list of sequences of labels
            A label is a str or int. None marks an unknown label; a set or list gives the possible labels.
        sample_weight : array-like, shape (n_sequences,), or list of sequences of float, optional
            Weight of each sequence, or of each token; by default 1. A token's weight is that of its label in
            the log loss; with a weight of 0 the label counts as unknown. A sequence counts once for each
            distinct weight of its tokens, which takes as much longer.
        groups : array-like, shape (n_sequences,), optional
            Group of each sequence. Sequences of one group are never split between training and held-out data.

        Raises
        ------
        DataError
            A sequence, token or parameter is invalid; the message names it (counted from 0).
        """
        return self._fit_encoded(self._encode_training(X, y, sample_weight, groups))

    def _fit_encoded(self, examples: Encoded) -> Self:
        self._fit(examples)
        self._drop_unused()
        return self

    def _encode_training(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Encoded:
        table, needs_whole = as_table(X), isinstance(self._make_loss(), MaximumLoss)
        n_columns = n_unnamed(table)
        self._keep_rules()
        if needs_whole and self.outside == "trim" and self.forbidden is not None:
            raise DataError(
                f"outside='trim' makes labels unknown, which loss={self.loss!r} does not allow. Use "
                "outside='skip', outside='error', or loss='log'"
            )
        n, offsets = len(table), offsets_of(table.lengths)
        refuse_empty(table.lengths)  # by their numbers, before some are skipped
        weights = token_weights(sample_weight, table.lengths)
        if weights is None:
            sample_weight = check_weights(sample_weight, n)
            if self.class_weight is not None:
                weights = np.repeat(sample_weight, table.lengths)
        if weights is not None and (needs_whole or self.constraints is not None):
            raise DataError("class_weight and weights of tokens need loss='log', and no constraints")
        if groups is not None and np.shape(groups) != (n,):
            raise DataError(f"groups must have the shape ({n},), not {np.shape(groups)}")
        left_out = LeftOut()
        numbers, y = fit_to_rules(y, table.lengths, self.forbidden, self.outside, left_out)
        left_out.report(self.forbidden)
        if n > numbers.size:
            table = table.take(numbers)
        form = {name: getattr(self, name) for name in ("states", "transitions", "boundary", "forbidden")}
        chain = chain_class(self.order).build(table, y, **form)
        shard = chain.encode(table, y, None if weights is not None else sample_weight[numbers])
        own_groups = None if groups is None else np.asarray(groups)[numbers]
        if weights is not None:
            weights = weights[segment_indices(offsets, numbers)]
            if self.class_weight is not None:
                weights *= class_weights(self.class_weight, shard.labels, chain.labels)[shard.labels]
            shard, copies = by_levels(shard, weights)
            numbers = numbers[copies]
            own_groups = numbers if groups is None else np.asarray(groups)[numbers]
        splits = None
        if self.cv is not None and self.cv not in PARTS and not np.array_equal(numbers, np.arange(n)):
            from structune.learning.tuning.problem import splits_of_examples  # only tuning needs it

            # the splits are of sequences of X, of which some were skipped, and others have several examples
            bounds = np.searchsorted(numbers, np.arange(n + 1))
            pairs = splits_of_examples(n, self.cv, True, groups, None, self.random_state)[1]
            splits = [[segment_indices(bounds, part) for part in pair] for pair in pairs]
        known = {"skipped_": left_out.skipped, "n_columns_": n_columns}
        return Encoded(chain, shard, own_groups, known, splits)

    def _keep_encoded(self, examples: Encoded) -> None:
        super()._keep_encoded(examples)
        self._keep_chain(examples.structure)

    def _adopt(self, model: Self) -> None:
        super()._adopt(model)
        self.order = self.chain_.order
        if self.forbidden is None:
            self.forbidden = self.chain_.forbidden
        self._drop_unused()

    def _check_known(self, shards: Sequence[ChainShard], loss: Loss) -> None:
        """Raise a `DataError` for a label that is not fully known, if the loss needs its cost."""
        for shard in shards if isinstance(loss, MaximumLoss) else ():
            for part in np.flatnonzero(shard.labels < 0)[:1]:
                sequence, token = place_of(part, shard.sizes())
                raise DataError(
                    f"sequence {sequence}, token {token}: the label is unknown or only partly known. Margin "
                    "and ramp losses need complete labels; the log loss does not"
                )

    @property
    def _structure(self) -> Chain:
        return self.chain_

    @property
    def _predicting(self) -> Chain:
        self._keep_rules()
        return self.chain_.like(self.forbidden)

    def _keep_rules(self) -> None:
        """Read an iterator of rules into a list, as it can be read only once."""
        if isinstance(self.forbidden, Iterator):
            self.forbidden = as_rules(self.forbidden)

    def with_structure(self, chain: Chain) -> Self:
        """Set the structure of the model, with all weights zero, and return the tagger."""
        self._keep_chain(chain)
        self.forbidden, self.order, self.skipped_ = chain.forbidden, chain.order, []
        self._import(np.zeros(chain.n_weights))
        return self

    def _keep_chain(self, chain: Chain) -> None:
        self.chain_ = chain
        self.classes_ = list(chain.labels)

    @property
    def trigram_features_(self) -> dict[tuple[str | None, str, str | None], float]:
        """Weights of three labels in a row; None stands for the start or end of a sequence."""
        self._check_fitted()
        if self.chain_.order == 1:
            return {}
        chain = cast("SecondOrderChain", self.chain_)
        labels = [*chain.labels, None]
        names = [
            (labels[a], chain.labels[b], labels[c]) for a, b, c in zip(*chain.split_trigrams(), strict=True)
        ]
        return dict(zip(names, self.coef_[chain.n_weights - len(names) :].tolist(), strict=True))

    # --- prediction ---------------------------------------------------------------------------------------

    def _encode(self, X: Any, given: Any = None) -> tuple[ChainShard, NDArray[np.int64]]:
        """The sequences that have tokens, with the labels that are given, and the lengths of all."""
        self._check_fitted()
        chain = self._predicting
        rows = self._known_rows(X)
        lengths = rows.lengths
        chain.check_lengths(lengths)  # before empty ones go: errors name a sequence by its number
        if given is None:
            return chain.encode(rows.with_tokens()), lengths
        given = as_list(given, "sequences of known labels")
        if len(given) == lengths.size:
            given = [
                [None] * n if own is None else own for own, n in zip(given, lengths.tolist(), strict=True)
            ]
        known = encode_labels(given, lengths, chain.labels)
        known.check_moves(offsets_of(lengths), chain.moves)
        allowed = known.rows(slice(None))
        shard = chain.encode(rows.with_tokens())
        return replace(shard, labels=single_labels(allowed), allowed=allowed), lengths

    def _known_rows(self, X: Any) -> KnownRows:
        """The attributes of the tokens, numbered as in the model; warns if it knows none of many."""
        names = self._predicting.names
        rows = known_rows(X, names, n_columns=self.n_columns_)
        if (n := rows.columns.size) >= _MANY and rows.columns.max() < 0:
            warn(
                f"the model knows none of the {n:,} attributes of these sequences: its labels are useless. "
                f"Its own attributes are such as {names.strings[0]!r}. For a model of the command line, "
                "compute them by structune.tagging.extract with model.extra_['templates']"
            )
        return rows

    def predict_marginals(self, X: Any, given: Any = None) -> list[list[dict[str, float]]]:
        """Predict the probability of each label at each token, as one dict per token.

        `given` is as for `predict`; probabilities are then conditional on the given labels. A model that was
        not fitted with the log loss raises `CapabilityError`.
        """
        self._require_probabilities()
        return self._marginals(X) if given is None else self._marginals(X, given)

    def predict_nbest(self, X: Any, n: int = 5, given: Any = None) -> list[list[tuple[list[str], float]]]:
        """Predict the `n` most probable labelings of each sequence, as (labels, probability), best first.

        `given` and errors are as for `predict_marginals`.
        """
        return self._nbest(X, n) if given is None else self._nbest(X, n, given)

    def predict(self, X: Any, given: Any = None, unique: Any = None) -> list[list[str]]:
        """Predict the most probable labels of each sequence (Viterbi).

        Parameters
        ----------
        X : list of sequences, AttributeTable, or (matrix, lengths)
            Input as for `fit`.
        given : list of sequences of labels, optional
            Known labels. For each token, None or a label; or a set of labels, of which it has one. None in
            place of a sequence means that none of its labels is known.
        unique : True, or collection of str, optional
            Labels that each sequence may have in at most one place (one token or several in a row). With BIO
            or BIOES labels, segment types, such as ``LOC``. True means all but ``O``. The labels are the most
            probable ones that keep to this rule, by A* search. Sequences that would repeat a label take
            longer.

        Raises
        ------
        DataError
            `given` or `unique` has a label that the model does not know, or no labels agree with them; the
            message names the sequence (counted from 0).
        """
        self._check_fitted()
        chain = self._predicting
        if given is not None or unique is not None:
            shard, lengths = self._encode(X, given)
            if unique is None:
                labels, _ = chain.best(self.coef_, shard, within=True)
            else:
                spans = span_types(chain.labels, unique)
                labels = chain.best_unique(self.coef_, shard, spans, np.flatnonzero(lengths))
            return LabelSequences(cut(self._labelled(labels), lengths))
        rows = self._known_rows(X)
        return LabelSequences(cut(self._labelled(chain._label(self.coef_, rows)), rows.lengths))

    def _labelled(self, output: NDArray[np.int64]) -> list[str]:
        return list(map(self.classes_.__getitem__, output.tolist()))

    def segment_probability(self, X: Any, sequence: int, start: int, labels: Sequence[str]) -> float:
        """Probability that the tokens of a sequence from `start` on have exactly the given labels.

        `sequence` is the index of the sequence in `X`, and `start` that of the first of these tokens, from 0.
        Unknown labels and places raise `DataError`; a model fitted without the log loss, `CapabilityError`.
        """
        self._require_probabilities()
        check_number("start", start, Range(0, whole=True))
        if isinstance(labels, str) or not isinstance(labels, Sequence):
            raise DataError(f"labels={labels!r}: expected a list of labels, one per token")
        shard, k, length = self._encoded_one(X, sequence)
        if not length:
            raise DataError(f"sequence {sequence} is empty, so it has no tokens for the {len(labels)} labels")
        return self._predicting.segment_probability(self.coef_, shard, k, start, labels)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of tokens with the correct label; labels unknown to the model count as wrong.

        Tokens whose label in `y` is None are left out. A set or list holds the labels that count as correct.
        """
        predicted = self.predict(X)
        lengths = np.array([len(labels) for labels in predicted], dtype=np.int64)
        check_lengths(y, lengths)
        weights = check_weights(sample_weight, lengths.size)
        # A label that the model does not know is never predicted, so it counts as wrong.
        pairs = [list(zip(p, map(choices, t), strict=True)) for p, t in zip(predicted, y, strict=True)]
        right = [sum(a in known for a, known in own) for own in pairs]
        total = float(weights @ [sum(known != () for _, known in own) for own in pairs])
        if not total:
            raise DataError(f"cannot score {lengths.size} sequences: none has labels and a weight > 0")
        return float(weights @ right) / total

    def predict_spans(self, X: Any) -> list[list[Span]]:
        """Predict segments of BIO or BIOES labels, or else runs of equal labels, with their probabilities.

        A `Span` is (label, start, stop, probability): tokens start to stop - 1, from 0. Tokens labeled O are
        left out. The probability is that exactly these tokens have these labels and neither neighbor belongs
        to the span. A model without probabilities raises `CapabilityError`.
        """
        return [each.spans for each in confidences(self, X)]

    def explain(self, sequence: Any) -> Explanation:
        """Explain the predicted labels of one sequence of tokens: which weights made each label win.

        Each token is compared with its next best label, while all other labels stay as predicted. See
        `structune.tagging.TokenExplanation`.
        """
        return explain(self, [sequence])

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        chain = self._predicting
        header = {
            "order": chain.order,
            "labels": [label.item() if isinstance(label, np.generic) else label for label in chain.labels],
            "boundary": chain.boundary,
            "forbidden": chain.forbidden,
            "skipped": self.skipped_,
            **({"n_columns": self.n_columns_} if self.n_columns_ else {}),
        }
        arrays = {"pair_keys": chain.pairs.keys, **chain.move_keys}
        return header, arrays | pack_names("attribute", chain.attributes)

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> SequenceTagger:
        attributes = unpack_names("attribute", arrays)
        labels, forbidden, order = list(header["labels"]), header["forbidden"], header["order"]
        readable = labels and all(isinstance(label, str | int) for label in labels)
        if not readable or len(set(labels)) < len(labels):
            raise ModelFileError(f"the labels are {labels}, expected at least one and no duplicates")
        if len(set(attributes)) < len(attributes):
            raise ModelFileError("two attributes have the same name")
        if isinstance(forbidden, list):
            forbidden = [(a, b) for a, b in forbidden]
        n = len(labels)
        ends = {"pair_keys": len(attributes) * n, "transitions": n**2}
        if order == 2:
            ends["trigrams"] = (n + 1) ** 2 * n
        # Keys are indices that kernels trust: a file could send them anywhere.
        for name, end in ends.items():
            check_keys(arrays, name, end)
        keys = {name: arrays[name] for name in ends}
        chain = chain_class(order)(
            labels, attributes, boundary=bool(header["boundary"]), forbidden=forbidden, **keys
        )
        tagger = cls()
        tagger._unpack_fit(chain.n_weights, header, arrays)
        tagger.set_params(boundary=chain.boundary, forbidden=chain.forbidden, order=chain.order)
        tagger._keep_chain(chain)
        tagger.skipped_ = [(int(s), str(reason)) for s, reason in header["skipped"]]
        tagger.n_columns_ = header.get("n_columns")
        return tagger
