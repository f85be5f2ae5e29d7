"""Report pages of rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from structune.cli.reports import Predictions
from structune.files.text import plural
from structune.html_reports.page import Section, Table, Text, bars_of, make_table
from structune.plots.figure import shortened
from structune.ranking.letor import LetorData
from structune.structure import FloatArray

_MOST_DRAWN, _N_TOP, _MOST_ROWS = 20, 10, 300  # queries with tables, documents of each, queries in a table
_LONGEST = 40  # letters of a query or a comment


class RankingReport(Predictions):
    """Rankings of the first queries, and a row for each of many."""

    name = "ranked.tsv"

    def __init__(self) -> None:
        self._n_queries = self._n_documents = 0
        self._rows, self._tables = list[Sequence[str]](), list[Table]()

    def add(self, data: LetorData, scores: FloatArray, offsets: Sequence[int], order: Sequence[int]) -> None:
        """Add the queries between `offsets`, whose documents by rank are in `order`."""
        for start, end in pairwise(offsets):
            top = order[start : min(end, start + _N_TOP)]
            name, values = shortened(data.queries[top[0]], _LONGEST), scores[top].tolist()
            rows = [
                (
                    shortened(" ".join(data.comments[j].split()), _LONGEST),
                    f"{self._n_documents + j + 1:,}",
                    f"{scores[j]:.4g}",
                )
                for j in top
            ]
            if len(self._rows) < _MOST_ROWS:
                gap = f"{values[0] - values[1]:.4g}" if len(values) > 1 else ""
                comment, number, score = rows[0]
                self._rows.append((name, comment, f"{end - start:,}", number, score, gap))
            if len(self._tables) < _MOST_DRAWN:
                self._tables.append(_with_bars(f"Query {name}", rows, values, end - start))
            self._n_queries += 1
        self._n_documents += len(data)

    def headline(self) -> str:
        return (
            f"{plural(self._n_queries, 'query', 'queries')}, {plural(self._n_documents, 'document')} ranked"
        )

    def sections(self) -> Iterator[Section]:
        told = (
            f"The {_N_TOP} documents of each query with the highest scores. Documents are numbered as in the "
            "input, from 1. Bars begin at the score 0."
        )
        if self._n_queries > _MOST_DRAWN:
            told += f" These are the first {_MOST_DRAWN} of {self._n_queries:,} queries."
        yield Section("Best documents", [Text(told), *self._tables])
        told = "The best document of each query, and by how much its score is higher than that of the next."
        if (more := self._n_queries - len(self._rows)) > 0:
            told += f" {more:,} more queries are in the results."
        numbers = ["documents", "best document", "score", "difference"]
        names, rows = ["query", "comment"], self._rows
        if not any(row[1] for row in rows):
            names, rows = names[:1], [(row[0], *row[2:]) for row in rows]
        yield Section("Queries", [Text(told), make_table("", names, numbers, rows, len(rows))])


def _with_bars(title: str, rows: Sequence[Sequence[str]], scores: Sequence[float], n: int) -> Table:
    """A table of documents, with bars from the score 0."""
    header, is_number = ["comment", "document", "score"], [False, True, True]
    if not any(comment for comment, *_ in rows):
        header, is_number, rows = header[1:], is_number[1:], [row[1:] for row in rows]
    title += f", {len(rows)} of {n:,} documents" if len(rows) < n else ""
    return Table(title, header, rows, is_number, bars_of(scores))
