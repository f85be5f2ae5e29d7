"""How far labels are off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.cli.tables import filled, new_table, numbers_table
from structune.html_reports import Section
from structune_ordinal.data import Table
from structune_ordinal.estimator import OrdinalClassifier, codes_of


@dataclass(frozen=True)
class Evaluation:
    """Predictions beside what is right, in the three shapes that commands tell.

    Attributes
    ----------
    labels : list of str
    counts : ndarray, shape (n_labels, n_labels)
        Examples of a label, by the label predicted.
    """

    labels: list[str]
    counts: np.ndarray

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
        """As the terminal shows it."""
        scores = numbers_table(
            "Labels", "", ["value"], ((name, [value]) for name, value in self.scores.items())
        )
        counts = new_table("Rows of a label, by the label predicted", ["label"], self.labels)
        rows = zip(self.labels, self.counts.tolist(), strict=True)
        return [scores, filled(counts, ([label, *map(str, row)] for label, row in rows))]

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {**self.scores, "labels": self.labels, "counts": self.counts.tolist()}

    def sections(self) -> Iterator[Section]:
        """What a page shows beside the tables: nothing more."""
        yield from ()


def evaluate(model: OrdinalClassifier, table: Table) -> Evaluation:
    """Compare predictions with labels, which must be among those of the model."""
    right, found = (codes_of(given, model.labels_) for given in (table.labels, model.predict(table.rows)))
    counts = np.zeros((len(model.labels_), len(model.labels_)), dtype=int)
    np.add.at(counts, (right, found), 1)
    return Evaluation(model.labels_, counts)
