"""A fitted tagger with the methods of python-crfsuite's."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from structune.compat.items import Token, as_labels, tokens_of
from structune.errors import DataError
from structune.tagging.tagger import SequenceTagger


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
        return self.model.predict([self._tokens])[0]

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
        shard, _ = self.model._encode([self._tokens])
        return self.model._predicting.segment_probability(self.model.coef_, shard, 0, 0, labels)

    def info(self) -> Info:
        """All names and weights."""
        labels, attributes = (
            {name: str(k) for k, name in enumerate(names)}
            for names in (self.model.classes_, self.model.chain_.attributes)
        )
        return Info(labels, attributes, self.model.transition_features_, self.model.state_features_)

    def marginals(self, X: list[list[Token]]) -> list[list[dict[str, float]]]:
        """For each token of some sequences the probability of each label, whatever loss was minimised."""
        shard, lengths = self.model._encode(X)
        rows = self.model._predicting.marginals(self.model.coef_, shard).tolist()
        named = [dict(zip(self.model.classes_, row, strict=True)) for row in rows]
        return [named[a:b] for a, b in pairwise(np.append(0, np.cumsum(lengths)).tolist())]
