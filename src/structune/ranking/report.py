"""Report pages of rankings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from structune.html_reports.page import Block, Section, Table, Text, make_table
from structune.html_reports.pictures import chart
from structune.plots.figure import ACCENT, shortened
from structune.ranking.letor import LetorData
from structune.structure import FloatArray

_MOST_DRAWN, _N_TOP, _MOST_ROWS = 20, 10, 300  # queries with tables, documents of each, queries in a table
_LONGEST = 40  # letters of a query or a comment


class RankingReport:
    """Rankings of the first queries, and a row for each of many."""

    name = "ranked.tsv"

    def __init__(self) -> None:
        self._n_queries = self._n_documents = 0
        self._rows, self._tables = list[tuple[str, ...]](), list[Table]()
        self._sums, self._counts = np.zeros(_N_TOP), np.zeros(_N_TOP)  # of scores, by rank

    def add(self, data: LetorData, scores: FloatArray, offsets: list[int], order: list[int]) -> None:
        """Add the queries between `offsets`, whose documents by rank are in `order`."""
        for start, end in pairwise(offsets):
            top = order[start : min(end, start + _N_TOP)]
            name, best = shortened(data.queries[top[0]], _LONGEST), scores[top]
            self._sums[: best.size] += best
            self._counts[: best.size] += 1
            if len(self._tables) < _MOST_DRAWN:
                self._tables.append(self._table(f"Query {name}, {end - start:,} documents", data, scores, top))
            if len(self._rows) < _MOST_ROWS:
                gap = f"{best[0] - best[1]:.4g}" if best.size > 1 else ""
                number = self._n_documents + top[0] + 1
                comment = shortened(" ".join(data.comments[top[0]].split()), _LONGEST)
                self._rows.append((name, comment, f"{end - start:,}", f"{number:,}", f"{best[0]:.4g}", gap))
            self._n_queries += 1
        self._n_documents += len(data)

    def _table(self, title: str, data: LetorData, scores: FloatArray, top: list[int]) -> Table:
        """The best documents of a query, with bars from the score 0."""
        values = scores[top]
        low, high = min(values.min(), 0.0), max(values.max(), 0.0)
        percent = 100 / max(high - low, 1e-300)
        bars = [(percent * (min(v, 0.0) - low), percent * abs(v)) for v in values.tolist()]
        comments = [shortened(" ".join(data.comments[j].split()), _LONGEST) for j in top]
        ...
