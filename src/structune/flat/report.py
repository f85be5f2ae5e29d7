"""Report pages of predicted classes and numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

import numpy as np

from structune.cli.reports import Predictions
from structune.errors import DataError
from structune.files.text import plural
from structune.html_reports.page import Block, Fold, Section, Text, make_table
from structune.html_reports.pictures import Probabilities, chart
from structune.plots.figure import ACCENT, integer_ticks
from structune.structure import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS, _MOST_OPEN, _MOST_UNSURE, _MOST_CLASSES = 300, 30, 50, 100  # of tables
_MOST_VALUES, _N_BARS = 100_000, 30  # of numbers in the histogram


class RowReport(Predictions):
    """Predictions for rows of tables: the first ones, and a summary of all."""

    name = "predictions.tsv"

    def __init__(self, model: Any) -> None:
        self._model, self._n_rows, self._rows = model, 0, list[Sequence[str]]()

    def add(self, X: Any, predicted: Any, probabilities: Any) -> None:
        """Add rows; `probabilities` is None for models without any."""
        self._add(X, predicted, probabilities)
        self._n_rows += len(predicted)

    @abstractmethod
    def _add(self, X: Any, predicted: Any, probabilities: Any) -> None: ...

    def _n_more(self, n: int) -> int:
        """How many of `n` more rows are shown."""
        return min(n, _MOST_ROWS - len(self._rows))

    def _rows_section(self, texts: Sequence[str], numbers: Sequence[str]) -> Section:
        n = len(self._rows)
        if n < self._n_rows:
            told = f"The first {n:,} of {self._n_rows:,} rows; all are in the results"
        else:
            told = f"All {n:,} rows"
        return Section("Rows", [Fold(told, [make_table("", texts, numbers, self._rows, n)], n <= _MOST_OPEN)])


class ClassReport(RowReport):
    """Predicted classes, and their probabilities if the model has any."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._counts, self._sums = Counter[str](), defaultdict[str, float](float)
        self._probabilities, self._unsure = Probabilities(), list[tuple[float, int, Sequence[str]]]()

    def _add(self, X: Any, predicted: Any, probabilities: Any) -> None:
        labels, p = list(map(str, predicted.tolist())), probabilities
        self._counts.update(labels)
        if p is None:
            shown = range(self._n_more(len(labels)))
            self._rows += [(labels[k], f"{self._n_rows + k + 1:,}") for k in shown]
            return
        best = p.max(axis=1)
        for label, share in zip(labels, best.tolist(), strict=True):
            self._sums[label] += share
        self._probabilities.add(best)

        def row(k: int) -> Sequence[str]:
            first, second = np.argsort(-p[k], kind="stable")[:2]
            other, n = str(self._model.classes_[second]), f"{self._n_rows + k + 1:,}"
            return labels[k], other, n, f"{p[k, first]:.3f}", f"{p[k, second]:.3f}"

        self._rows += map(row, range(self._n_more(len(labels))))
        least = np.argsort(best, kind="stable")[:_MOST_UNSURE].tolist()
        new = [(float(best[k]), self._n_rows + k, row(k)) for k in least]
        self._unsure = nsmallest(_MOST_UNSURE, [*self._unsure, *new])

    def headline(self) -> str:
        told = f"{plural(self._n_rows, 'row')} classified"
        if self._model.has_probabilities:
            mean = sum(self._sums.values()) / max(self._n_rows, 1)
            told += f", mean probability of the predicted class {mean:.3f}"
        return told

    def sections(self) -> Iterator[Section]:
        has_p = self._model.has_probabilities
        rows = [
            (label, f"{n:,}", f"{n / self._n_rows:.1%}", *[f"{self._sums[label] / n:.3f}"] * has_p)
            for label, n in self._counts.most_common()
        ]
        numbers = ["rows", "share", *["mean probability"] * has_p]
        blocks: list[Block] = [make_table("", ["class"], numbers, rows, _MOST_CLASSES)]
        texts, numbers = ["class"], ["row"]
        if has_p:
            told = "Number of rows by the probability of their predicted class."
            blocks.append(self._probabilities.histogram("rows", told))
            texts, numbers = ["class", "next class"], ["row", "probability", "of the next"]
        yield Section("Classes", blocks)
        if has_p and self._n_rows > _MOST_UNSURE:
            told = f"The {len(self._unsure)} rows whose predicted class has the lowest probability."
            least = [row for *_, row in self._unsure]
            yield Section("Least sure rows", [Text(told), make_table("", texts, numbers, least, len(least))])
        yield self._rows_section(texts, numbers)


class NumberReport(RowReport):
    """Predicted numbers."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._names = ["row", "prediction"]
        self._sum, self._low, self._high = 0.0, np.inf, -np.inf
        # a random sample of all: the numbers with the lowest keys
        self._keys, self._sample, self._rng = np.empty(0), np.empty(0), np.random.default_rng(0)

    def _add(self, X: Any, predicted: Any, probabilities: Any) -> None:
        values: Array = predicted
        if n := self._n_more(values.size):
            columns = [values[:n]]
            with suppress(DataError):  # of models without covariances
                columns = list(self._model.predict(X[:n], return_std=True))
                self._names[2:] = ["standard deviation"]
            for k, row in enumerate(zip(*columns, strict=True), self._n_rows + 1):
                self._rows.append((f"{k:,}", *(f"{value:.6g}" for value in row)))
        if not values.size:
            return
        self._sum += float(values.sum())
        self._low, self._high = min(self._low, values.min()), max(self._high, values.max())
        self._keys = np.concatenate([self._keys, self._rng.random(values.size)])
        self._sample = np.concatenate([self._sample, values])
        if self._keys.size > _MOST_VALUES:
            kept = np.argpartition(self._keys, _MOST_VALUES)[:_MOST_VALUES]
            self._keys, self._sample = self._keys[kept], self._sample[kept]

    def headline(self) -> str:
        if not self._n_rows:
            return "0 numbers predicted"
        mean = self._sum / self._n_rows
        numbers = f"mean {mean:.6g}, from {self._low:.6g} to {self._high:.6g}"
        return f"{plural(self._n_rows, 'number')} predicted, {numbers}"

    def sections(self) -> Iterator[Section]:
        def draw(axes: Axes) -> None:
            axes.hist(self._sample, _N_BARS, color=ACCENT, rwidth=0.9)
            integer_ticks(axes.yaxis)

        told = "Number of rows by their prediction"
        told += f", of {_MOST_VALUES:,} random rows." if self._n_rows > _MOST_VALUES else "."
        yield Section("Predictions", [chart(draw, "prediction", "rows", told)])
        yield self._rows_section([], self._names)
