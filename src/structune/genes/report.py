"""The page of ``structune genes --report``: tracks of genes, and tables of genes and sequences."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean

from structune.cli.reports import Report, Results
from structune.files.text import plural
from structune.genes.formats.record import AnnotatedSequence, Transcript
from structune.genes.plots import plot_genes
from structune.html_reports.page import Block, Section, Text, first_rows, make_table
from structune.html_reports.pictures import histogram, picture
from structune.plots.figure import shortened

_MOST_DRAWN, _MOST_ROWS, _LONGEST_NAME = 20, 300, 40  # drawings, rows of a table, letters of a name
_MOST_GENES, _WIDEST = 15, 40_000  # genes and bases of a drawing; one gene may be longer


class GeneReport(Report):
    """Collects genes for a page, as they are found."""

    def __init__(self, model: str, has_introns: bool, n_skipped: Callable[[], int]) -> None:
        self.results, self._has_introns, self._n_skipped = Results(model), has_introns, n_skipped
        self._windows = list[tuple[str, int, list[Transcript]]]()  # name and length of the sequence
        self._genes, self._sequences = list[tuple[str, ...]](), list[tuple[str, ...]]()
        self._n: Counter[str] = Counter()
        self._scores = array("d")

    def add(self, sequence: AnnotatedSequence, genes: Sequence[Transcript]) -> None:
        """Add the genes of a sequence; only the first ones are drawn and listed."""
        n_bases, n_coding = len(sequence.sequence), sum(t.length for t in genes)
        self._n.update(genes=len(genes), sequences=1, bases=n_bases, coding=n_coding, partial=0)
        self._n.update(t.strand for t in genes)
        self._n["partial"] += sum(any(t.partial) for t in genes)
        self._scores.extend(t.score for t in genes if t.score is not None)
        name = shortened(sequence.name, _LONGEST_NAME)
        if len(self._sequences) < _MOST_ROWS:
            coding = f"{n_coding / n_bases:.0%}" if n_bases else ""
            self._sequences.append((name, f"{n_bases:,}", f"{len(genes):,}", coding))
        for t in genes[: _MOST_ROWS - len(self._genes)]:
            score = "" if t.score is None else f"{t.score:.3f}"
            texts = name, shortened(t.gene, _LONGEST_NAME), t.strand, "yes" if any(t.partial) else ""
            parts = [f"{len(t.exons)}"] if self._has_introns else []
            self._genes.append((*texts, f"{t.start + 1:,}", f"{t.end:,}", *parts, score))
        self._put_into_windows(name, n_bases, genes)

    def _put_into_windows(self, name: str, n_bases: int, genes: Sequence[Transcript]) -> None:
        """Give genes to drawings, until these are enough."""
        window = list[Transcript]()
        for t in genes:
            if not window or len(window) == _MOST_GENES or t.end - window[0].start > _WIDEST:
                if len(self._windows) == _MOST_DRAWN:
                    return
                window = []
                self._windows.append((name, n_bases, window))
            # structune names genes by their sequences, which the drawing has as its title
            window.append(replace(t, gene=t.gene.removeprefix(f"{t.contig}.")))

    def headline(self) -> str:
        n, n_skipped = self._n, self._n_skipped()
        told = f"{plural(n['genes'], 'gene')} on {plural(n['sequences'], 'sequence')}"
        told += f" ({plural(n_skipped, 'sequence')} skipped)" if n_skipped else ""
        if self._scores:
            told += f", mean {self._score} {fmean(self._scores):.2f}"
        return told

    def sections(self) -> Iterator[Section]:
        yield self._summary()
        if self._windows:
            yield Section("Tracks", list(self._tracks()))
        yield from self._tables()

    @property
    def _score(self) -> str:
        """What the score of a gene is."""
        return "coding probability" if self._has_introns else "probability"

    def _summary(self) -> Section:
        n = self._n
        rows = [
            ("sequences", f"{n['sequences']:,}"),
            ("bases", f"{n['bases']:,}"),
            ("bases in coding parts", f"{n['coding'] / max(n['bases'], 1):.0%}"),
            ("genes", f"{n['genes']:,}"),
            ("genes on the + strand", f"{n['+']:,}"),
            ("genes on the - strand", f"{n['-']:,}"),
            ("partial genes", f"{n['partial']:,}"),
        ]
        blocks: list[Block] = [make_table("", [""], [""], rows, len(rows))]
        if self._scores:
            told = f"Number of genes by {self._score}, which is their score."
            blocks.append(histogram(self._scores, self._score, "genes", told))
        return Section("Summary", blocks)

    def _tracks(self) -> Iterator[Block]:
        n_drawn = sum(len(genes) for *_, genes in self._windows)
        told = "Boxes are coding parts, and their tips show the strand."
        told += " Lines are introns." if self._has_introns else ""
        if n_drawn < self._n["genes"]:
            told += f" The first {n_drawn:,} of {self._n['genes']:,} genes are drawn."
        yield Text(told)
        for name, n_bases, genes in self._windows:
            start, end = min(t.start for t in genes), max(t.end for t in genes)
            room = (end - start) // 20
            start, end = max(0, start - room), min(n_bases, end + room)
            place = f"{name}, {start + 1:,} to {end:,}"
            plot = partial(plot_genes, {"predicted": genes}, start, end)
            yield picture(plot, f"predicted genes of {place}", place, scrolls=True)

    def _tables(self) -> Iterator[Section]:
        """The first genes; and the first sequences, if there are several."""
        numbers = ["start", "end", *(["coding parts"] if self._has_introns else []), "score"]
        texts, rows = ["sequence", "gene", "strand", "partial"], self._genes
        if not self._n["partial"]:
            texts, rows = texts[:3], [(*row[:3], *row[4:]) for row in rows]
        table = make_table("", texts, numbers, rows, _MOST_ROWS)
        if self._genes:
            yield Section("Genes", [*first_rows(len(self._genes), self._n["genes"], "genes"), table])
        if self._n["sequences"] > 1:
            table = make_table("", ["sequence"], ["bases", "genes", "coding"], self._sequences, _MOST_ROWS)
            told = first_rows(len(self._sequences), self._n["sequences"], "sequences")
            yield Section("Sequences", [*told, table])
