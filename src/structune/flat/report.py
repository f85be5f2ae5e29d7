"""Report pages of predicted classes and numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

import numpy as np

from structune.html_reports.page import Block, Fold, Section, Table, Text, make_table
from structune.html_reports.pictures import chart, histogram
from structune.plots.figure import ACCENT, integer_ticks, shortened
from structune.structure import Array, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS, _MOST_UNSURE, _MOST_CLASSES = 300, 50, 100
_MOST_COLUMNS, _LONGEST = 3, 24  # features in tables, and letters of a name
_N_STEPS = 100  # of probabilities in the histogram
_MOST_VALUES, _N_BARS = 100_000, 30  # of numbers in the histogram


class RowReport:
    """Predictions for rows of tables: the first ones, and a summary of all."""

    name = "predictions.tsv"

    def __init__(self, model: Any) -> None:
        self._model, self._n_rows = model, 0
        self._features, self._rows = list[str](), list[tuple[str, ...]]()

    def add(self, X: Any) -> None:
        """Add the rows of a file."""
        if hasattr(X, "columns"):
            self._features = self._features or list(X.columns[:_MOST_COLUMNS])
        self._add(X)
        self._n_rows += X.shape[0]

    def _told(self, X: Any, row: int) -> tuple[str, ...]:
        """The first features of a row, so that it can be recognized."""
        return tuple(f"{X[name].iloc[row]:.6g}" for name in self._features)

    def _table(self, texts: list[str], numbers: list[str], rows: list[tuple[str, ...]]) -> Table:
        features = [shortened(name, _LONGEST) for name in self._features]
        return make_table("", texts, [*numbers, *features], rows, len(rows))

    def _rows_section(self, texts: list[str], numbers: list[str]) -> Section:
        n = len(self._rows)
        told = f"The first {n:,} of {self._n_rows:,} rows" if n < self._n_rows else f"All {n:,} rows"
        return Section("Rows", [Fold(told, [self._table(texts, numbers, self._rows)], n <= _MOST_UNSURE)])

    @abstractmethod
    def _add(self, X: Any) -> None: ...


class ClassReport(RowReport):
    """Predicted classes, and their probabilities if the model has any."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._counts, self._sums = Counter[str](), defaultdict[str, float](float)
        self._steps, self._unsure = np.zeros(_N_STEPS), list[tuple[float, int, tuple[str, ...]]]()

    def _add(self, X: Any) -> None:
        labels = list(map(str, self._model.predict(X).tolist()))
        self._counts.update(labels)
        if not self._model.has_probabilities:
            for k in range(min(len(labels), _MOST_ROWS - len(self._rows))):
                self._rows.append((labels[k], f"{self._n_rows + k + 1:,}", *self._told(X, k)))
            return
        p: FloatArray = self._model.predict_proba(X)
        best = p.max(axis=1)
        for label, share in zip(labels, best.tolist(), strict=True):
            self._sums[label] += share
        steps = np.minimum((_N_STEPS * best).astype(np.int64), _N_STEPS - 1)
        self._steps += np.bincount(steps, minlength=_N_STEPS)

        def row(k: int) -> tuple[str, ...]:
            first, second = np.argsort(-p[k], kind="stable")[:2]
            shares = f"{p[k, first]:.3f}", f"{p[k, second]:.3f}"
            n = f"{self._n_rows + k + 1:,}"
            return labels[k], str(self._model.classes_[second]), n, *shares, *self._told(X, k)

        self._rows += map(row, range(min(len(labels), _MOST_ROWS - len(self._rows))))
        least = np.argsort(best, kind="stable")[:_MOST_UNSURE].tolist()
        new = [(float(best[k]), self._n_rows + k, row(k)) for k in least]
        self._unsure = nsmallest(_MOST_UNSURE, [*self._unsure, *new])

    def headline(self) -> str:
        told = f"{self._n_rows:,} rows classified"
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
            middles = (np.arange(_N_STEPS) + 0.5) / _N_STEPS
            blocks.append(histogram(middles, "probability", "rows", told, self._steps))
            texts, numbers = ["class", "next class"], ["row", "probability", "of the next"]
        yield Section("Classes", blocks)
        if has_p and self._n_rows > _MOST_UNSURE:
            told = f"The {len(self._unsure)} rows whose predicted class has the lowest probability."
            table = self._table(texts, numbers, [row for *_, row in self._unsure])
            yield Section("Least sure rows", [Text(told), table])
        yield self._rows_section(texts, numbers)


class NumberReport(RowReport):
    """Predicted numbers."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._sum, self._low, self._high = 0.0, np.inf, -np.inf
        # a random sample of all: the numbers with the lowest keys
        self._keys, self._sample, self._rng = np.empty(0), np.empty(0), np.random.default_rng(0)

    def _add(self, X: Any) -> None:
        values: Array = self._model.predict(X)
        for k, value in enumerate(values[: _MOST_ROWS - len(self._rows)].tolist()):
            self._rows.append((f"{self._n_rows + k + 1:,}", f"{value:.6g}", *self._told(X, k)))
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
        return f"{self._n_rows:,} numbers predicted, mean {mean:.4g}, from {self._low:.4g} to {self._high:.4g}"

    def sections(self) -> Iterator[Section]:
        def draw(axes: Axes) -> None:
            axes.hist(self._sample, _N_BARS, color=ACCENT, rwidth=0.9)
            integer_ticks(axes.yaxis)

        told = "Number of rows by their prediction"
        told += f", of {_MOST_VALUES:,} random rows." if self._n_rows > _MOST_VALUES else "."
        yield Section("Predictions", [chart(draw, "prediction", "rows", told)])
        yield self._rows_section([], ["row", "prediction"])
