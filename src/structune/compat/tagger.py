"""A fitted tagger with the methods of python-crfsuite's, and conversion of its tokens and labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from structune.errors import DataError
from structune.files.inputs import as_list
from structune.files.text import plural
from structune.tagging.features.attributes import KnownRows, known_rows
from structune.tagging.tagger import SequenceTagger

JOIN = ":"  # between a key and its value


def as_tokens(X: Any) -> list[list[Any]]:
    """Sequences of dicts or of lists of strings, or ``pycrfsuite.ItemSequence``s, as lists of tokens."""
    return [tokens_of(xseq) for xseq in as_list(X, "sequences")]


def tokens_of(xseq: Any) -> list[Any]:
    """The tokens of one sequence."""
    # a pycrfsuite.ItemSequence
    is_packed = type(xseq) is not list and hasattr(xseq, "items") and not isinstance(xseq, Iterable)
    items = as_list(xseq.items() if is_packed else xseq, "tokens")
    if set(map(type, items)) <= {dict, list, tuple}:
        return items
    return [list(item) if isinstance(item, Iterator) else item for item in items]  # to be read twice


def as_labels(y: Any) -> list[list[Any]]:
    """The labels of sequences; bytes are UTF-8."""
    return [list(map(_decoded, as_list(yseq, "labels"))) for yseq in as_list(y, "label sequences")]


def as_plain(item: Any) -> Any:
    """A token with bytes as text; with `JOIN` its attributes have the names that python-crfsuite gives them.

    A string, and each string in a list or set, is ``key:value``; an entry of a nested dict is ``key:name``. A
    list or array of numbers, which python-crfsuite refuses, gives the attributes ``key:0``, ``key:1``, ...
    """
    if isinstance(item, Iterable) and not isinstance(item, str | bytes | Mapping):
        return list(map(_decoded, item))
    return item if isinstance(item, bytes) else _decoded(item)  # bytes are refused with their place


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
    """Labels, attributes and weights of a model, in the form of python-crfsuite."""

    labels: dict[str, str]
    attributes: dict[str, str]
    transitions: dict[tuple[str | None, str | None], float]
    state_features: dict[tuple[str, str], float]


class Tagger:
    """A fitted `SequenceTagger` with the methods of ``pycrfsuite.Tagger``, for one sequence at a time."""

    def __init__(self, model: SequenceTagger) -> None:
        self.model = model
        self.set([])

    def labels(self) -> list[str]:
        """Return the labels of the model."""
        return list(self.model.classes_)

    def set(self, xseq: Any) -> None:
        """Set the sequence for `tag`, `marginal` and `probability`."""
        self._tokens = tokens_of(xseq)
        self._marginals: list[dict[str, float]] | None = None

    def tag(self, xseq: Any = None) -> list[str]:
        """Predict the most probable labels of a sequence, by default of the one that was set."""
        if xseq is not None:
            self.set(xseq)
        return self.predict([self._tokens])[0]

    def marginal(self, y: str, pos: int) -> float:
        """Return the probability of label `y` at token `pos` (from 0) of the sequence that was set.

        Raises
        ------
        DataError
            The model does not know the label, or the sequence has no such token.
        """
        if self._marginals is None:
            (self._marginals,) = self.marginals([self._tokens])
        if y not in self.model.classes_:
            raise DataError(f"there is no label {y!r}. The labels are {self.model.classes_}")
        if not 0 <= pos < len(self._tokens):
            n = plural(len(self._tokens), "token")
            raise DataError(f"there is no token {pos}: the sequence has {n}, counted from 0")
        return self._marginals[pos][y]

    def probability(self, yseq: Any) -> float:
        """Return the probability of all labels of the sequence that was set, one per token.

        Raises
        ------
        DataError
            The model does not know a label, or the numbers of labels and tokens differ.
        """
        (labels,) = as_labels([yseq])
        if len(labels) != len(self._tokens):
            raise DataError(
                f"yseq has {plural(len(labels), 'label')}, but the sequence has "
                f"{plural(len(self._tokens), 'token')}"
            )
        if not labels:
            return 1.0
        shard, _ = self.model._encode(self.rows([self._tokens]))
        return self.model._predicting.segment_probability(self.model.coef_, shard, 0, 0, labels)

    def info(self) -> Info:
        """Return the labels, attributes and weights of the model."""
        labels, attributes = (
            {name: str(k) for k, name in enumerate(names)}
            for names in (self.model.classes_, self.model.chain_.attributes)
        )
        return Info(labels, attributes, self.model.transition_features_, self.model.state_features_)

    def rows(self, tokens: list[list[Any]]) -> KnownRows:
        """Return the attributes of the tokens of several sequences, numbered as in the model."""
        return known_rows(tokens, self.model.chain_.names, JOIN, as_plain)

    def predict(self, tokens: list[list[Any]]) -> list[list[str]]:
        """Predict the most probable labels of several sequences."""
        return self.model.predict(self.rows(tokens))

    def marginals(self, tokens: list[list[Any]]) -> list[list[dict[str, float]]]:
        """Predict the probability of each label at each token of several sequences."""
        return self.model._marginals(self.rows(tokens))
