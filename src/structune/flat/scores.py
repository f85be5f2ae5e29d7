"""Scores of predicted classes and numbers, for the terminal, JSON and reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from rich.table import Table
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    mean_absolute_error,
    precision_recall_fscore_support,
    r2_score,
)

from structune.cli.terminal import new_table, record_table, say
from structune.files.text import some_of
from structune.flat.classifier import Classifier
from structune.flat.regressor import Regressor
from structune.structure import Array, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from structune.html_reports.page import Section

Blocks = Iterable[tuple[str, Any, Any]]  # name of the file, features, outputs
_SHOWN = 5
_MOST_CLASSES = 30  # in a table of confusions


@dataclass(frozen=True)
class ClassScores:
    """Accuracy, mean log loss, and precision, recall and F1 of each class."""

    known: Array
    predicted: Array
    log_loss: float | None  # of models without probabilities there is none

    @classmethod
    def of_blocks(cls, model: Classifier, blocks: Blocks) -> Self:
        known, predicted, losses = list[Any](), list[Any](), list[FloatArray]()
        for _, X, y in blocks:
            known.append(np.asarray(y))
            predicted.append(model.predict(X))
            if model.has_probabilities:
                log_p, labels = model.predict_log_proba(X), model.classes_.tolist()
                # the model gives no probability to a class that it does not know: its log loss is infinite
                places = [labels.index(label) if label in labels else -1 for label in known[-1].tolist()]
                found = log_p[np.arange(len(places)), places]
                losses.append(-np.where(np.array(places) < 0, -np.inf, found))
        loss = float(np.concatenate(losses).mean()) if losses else None
        if unknown := sorted({*np.concatenate(known).tolist()} - {*model.classes_.tolist()}, key=str):
            some = some_of([str(label) for label in unknown], _SHOWN)
            say(f"The model does not know these classes, so the log loss is infinite: {some}")
        return cls(np.concatenate(known), np.concatenate(predicted), loss)

    def _classes(self) -> dict[Any, tuple[float, float, float, int]]:
        """Precision, recall, F1 and number of examples of each class."""
        # a class may be known and never predicted, or predicted and not among the known ones
        labels, both = np.unique(np.concatenate([self.known, self.predicted])), (self.known, self.predicted)
        columns = precision_recall_fscore_support(*both, labels=labels, zero_division=0.0)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return dict(zip(labels.tolist(), rows, strict=True))

    def as_dict(self) -> dict[str, Any]:
        names = ("precision", "recall", "f1", "examples")
        return {
            "examples": int(self.known.size),
            "accuracy": float(accuracy_score(self.known, self.predicted)),
            "log_loss": self.log_loss,
            "classes": {str(k): dict(zip(names, row, strict=True)) for k, row in self._classes().items()},
        }

    def tables(self) -> list[Table]:
        found = self.as_dict()
        table = new_table("Classes", ["class"], ["precision", "recall", "F1", "examples"])
        for name, row in found["classes"].items():
            *values, n = row.values()
            table.add_row(name, *(f"{value:.4f}" for value in values), f"{n:,}")
        record = [("examples", f"{found['examples']:,}"), ("accuracy", f"{found['accuracy']:.4f}")]
        if self.log_loss is not None:
            record.append(("mean log loss", f"{self.log_loss:.4f}"))
        return [table, record_table("All examples", record)]

    def sections(self) -> Iterator[Section]:
        from structune.html_reports.page import Section, make_table

        labels = [*self._classes()]
        if len(labels) <= _MOST_CLASSES:
            counts = confusion_matrix(self.known, self.predicted, labels=labels).tolist()
            rows = [(str(k), *(f"{n:,}" for n in row)) for k, row in zip(labels, counts, strict=True)]
            names = [f"predicted {label}" for label in labels]
            table = make_table("Known classes", ["class"], names, rows, _MOST_CLASSES)
            yield Section("Confusion matrix", [table])


@dataclass(frozen=True)
class NumberScores:
    """R2, and the root mean square and mean absolute error."""

    known: FloatArray
    predicted: FloatArray

    @classmethod
    def of_blocks(cls, model: Regressor, blocks: Blocks) -> Self:
        both = [(np.asarray(y, np.float64), model.predict(X)) for _, X, y in blocks]
        return cls(np.concatenate([y for y, _ in both]), np.concatenate([found for _, found in both]))

    def as_dict(self) -> dict[str, Any]:
        error = self.predicted - self.known
        return {
            "examples": int(self.known.size),
            # R2 compares with the variance of the known numbers, which one number does not have
            "R2": float(r2_score(self.known, self.predicted)) if self.known.size > 1 else None,
            "root_mean_square_error": float(np.sqrt(np.mean(error**2))),
            "mean_absolute_error": float(mean_absolute_error(self.known, self.predicted)),
        }

    def tables(self) -> list[Table]:
        found = {name.replace("_", " "): value for name, value in self.as_dict().items() if value is not None}
        rows = [
            (name, f"{value:,}" if name == "examples" else f"{value:.6g}") for name, value in found.items()
        ]
        return [record_table("Numbers", rows)]

    def sections(self) -> Iterator[Section]:
        from structune.html_reports.page import Section
        from structune.html_reports.pictures import chart
        from structune.plots.figure import ACCENT

        def draw(axes: Axes) -> None:
            axes.plot(self.known, self.predicted, "o", color=ACCENT, markersize=3, alpha=0.5)
            both = np.concatenate([self.known, self.predicted])
            axes.plot(*2 * [[both.min(), both.max()]], color="0.6", linewidth=1)  # where both are the same

        yield Section("Predictions", [chart(draw, "known", "predicted", "One dot per example.", height=4.5)])
