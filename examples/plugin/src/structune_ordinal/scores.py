"""How far labels are off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from structune.cli.terminal import filled, new_table, numbers_table
from structune.html_reports import Section
from structune_ordinal.estimator import OrdinalClassifier, codes_of


@dataclass(frozen=True)
class OrdinalScores:
    """Numbers of predictions by what is right.

    Attributes
    ----------
    labels : list of str
    counts : ndarray, shape (n_labels, n_labels)
        Examples of a label, by the label predicted.
    """

    labels: list[str]
    counts: np.ndarray

    @classmethod
    def of(cls, model: OrdinalClassifier, rows: np.ndarray, labels: list[str]) -> Self:
        """Compare predictions with labels, which must be among those of the model."""
        right, found = (codes_of(given, model.labels_) for given in (labels, model.predict(rows)))
        counts = np.zeros((len(model.labels_), len(model.labels_)), dtype=int)
        np.add.at(counts, (right, found), 1)
        return cls(model.labels_, counts)

    @property
    def scores(self) -> dict[str, float]:
        steps = np.arange(len(self.labels))
        off = np.abs(steps - steps[:, None])
        total = self.counts.sum()
        return {
            "steps off, mean": float((off * self.counts).sum() / total),
            "right": float(np.trace(self.counts) / total),
        }

    def tables(self) -> list[Any]:
        scores = numbers_table(
            "Labels", "", ["value"], ((name, [value]) for name, value in self.scores.items())
        )
        counts = new_table("Rows of a label, by the label predicted", ["label"], self.labels)
        rows = zip(self.labels, self.counts.tolist(), strict=True)
        return [scores, filled(counts, ([label, *map(str, row)] for label, row in rows))]

    def as_dict(self) -> dict[str, Any]:
        return {**self.scores, "labels": self.labels, "counts": self.counts.tolist()}

    def sections(self) -> Iterator[Section]:
        yield from ()
