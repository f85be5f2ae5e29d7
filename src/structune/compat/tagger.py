"""A fitted tagger with the methods of python-crfsuite's, and tokens and labels as that takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from structune.errors import DataError
from structune.files.inputs import as_list
from structune.tagging.features.attributes import PLAIN, AttributeTable
from structune.tagging.features.strings import Names
from structune.tagging.tagger import SequenceTagger


def as_tokens(X: Any) -> list[list[Any]]:
    """Sequences of tokens, which `table_of` reads.

    Parameters
    ----------
    X : iterable of sequences
        Lists of dicts or of lists of strings, or ``pycrfsuite.ItemSequence``.
    """
    return [tokens_of(xseq) for xseq in as_list(X, "sequences")]


def tokens_of(xseq: Any) -> list[Any]:
    """Those of one sequence."""
    is_packed = hasattr(xseq, "items") and not isinstance(xseq, Iterable)  # a pycrfsuite.ItemSequence
    items = as_list(xseq.items() if is_packed else xseq, "tokens")
    return [item if _is_plain(item) else _as_token(item) for item in items]


def as_labels(y: Any) -> list[list[Any]]:
    """The labels of sequences; bytes are UTF-8."""
    return [list(map(_decoded, as_list(yseq, "labels"))) for yseq in as_list(y, "label sequences")]


def table_of(tokens: list[list[Any]], names: Names | None = None) -> AttributeTable:
    """Attributes by the names that python-crfsuite makes of items.

    These are ``key:value`` of a string, and of each string in a list or set; ``key:name`` of what is in a
    dict below. A list or array of numbers, which python-crfsuite refuses, is the attributes ``key:0``,
    ``key:1``, ... with these values.
    """
    return AttributeTable.from_items(tokens, names, join=":")


def _is_plain(item: Any) -> bool:
    """Whether there are no bytes, nor anything that can be read but once."""
    return type(item) is dict and set(map(type, item)) == {str} and PLAIN.issuperset(map(type, item.values()))


def _as_token(item: Any) -> Any:
    if isinstance(item, Mapping):
        return _decoded(item)
    if isinstance(item, Iterable) and not isinstance(item, str | bytes):
        return list(map(_decoded, item))
    return item  # which is refused with its place


def _decoded(value: Any) -> Any:
    """The same with bytes as text, which are UTF-8."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, Mapping):
        return {_decoded(key): _decoded(below) for key, below in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "SO":
        value = np.atleast_1d(value).tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return (list if isinstance(value, list | tuple) else set)(map(_decoded, value))
    return value


class Info(NamedTuple):
    """What a model consists of, as python-crfsuite tells it."""

    labels: dict[str, str]
    attributes: dict[str, str]
    transitions: dict[tuple[str | None, str | None], float]
    state_features: dict[tuple[str, str], float]


class Tagger:
    """A fitted tagger, one sequence at a time.

    Parameters
    ----------
    model : SequenceTagger
    """

    def __init__(self, model: SequenceTagger) -> None:
        self.model = model
        self.set([])

    def labels(self) -> list[str]:
        """The labels."""
        return list(self.model.classes_)

    def set(self, xseq: Any) -> None:
        """Choose the sequence that the methods below are about."""
        self._tokens = tokens_of(xseq)
        self._marginals: list[dict[str, float]] | None = None

    def tag(self, xseq: Any = None) -> list[str]:
        """The most probable labels of a sequence, by default of the one that was set."""
        if xseq is not None:
            self.set(xseq)
        return self.predict([self._tokens])[0]

    def marginal(self, y: str, pos: int) -> float:
        """Probability of a label of a token.

        Raises
        ------
        DataError
            No such label, or no such token.
        """
        if self._marginals is None:
            (self._marginals,) = self.marginals([self._tokens])
        if y not in self.model.classes_ or not 0 <= pos < len(self._tokens):
            raise DataError(
                f"found the label {y!r} and token {pos}, expected one of {self.model.classes_} and one of "
                f"{len(self._tokens)} tokens"
            )
        return self._marginals[pos][y]

    def probability(self, yseq: Any) -> float:
        """Probability of all labels together.

        Raises
        ------
        DataError
            Labels that the model does not know, or not as many as tokens.
        """
        (labels,) = as_labels([yseq])
        if len(labels) != len(self._tokens):
            raise DataError(f"found {len(labels)} labels for {len(self._tokens)} tokens")
        if not labels:
            return 1.0
        shard, _ = self.model._encode(self.table([self._tokens]))
        return self.model._predicting.segment_probability(self.model.coef_, shard, 0, 0, labels)

    def info(self) -> Info:
        """All names and weights."""
        labels, attributes = (
            {name: str(k) for k, name in enumerate(names)}
            for names in (self.model.classes_, self.model.chain_.attributes)
        )
        return Info(labels, attributes, self.model.transition_features_, self.model.state_features_)

    def table(self, tokens: list[list[Any]]) -> AttributeTable:
        """The attributes that the model knows."""
        return table_of(tokens, self.model.chain_.names)

    def predict(self, tokens: list[list[Any]]) -> list[list[str]]:
        """The most probable labels of some sequences."""
        return self.model.predict(self.table(tokens))

    def marginals(self, tokens: list[list[Any]]) -> list[list[dict[str, float]]]:
        """For each token of some sequences the probability of each label, whatever loss was minimised."""
        return self.model._marginals(self.table(tokens))
