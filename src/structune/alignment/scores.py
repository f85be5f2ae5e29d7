"""Scores of aligned pairs and families, for the terminal, as JSON and for report pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from structune.alignment import metrics
from structune.alignment.aligner import SequenceAligner
from structune.alignment.examples import KnownPair, files_of, open_aligner, stem
from structune.alignment.formats import ProteinAlignment, is_alignment_file, read_protein_alignments
from structune.alignment.structure.rows import identity, without_gaps
from structune.cli.terminal import numbers_table, record_table, say
from structune.errors import DataError
from structune.files.text import plural

if TYPE_CHECKING:
    from structune.html_reports.page import Block, Section

_MOST_ROWS, _MOST_DRAWN, _LONGEST_DRAWN, _COLUMNS = 200, 12, 1000, 60
_IDENTITIES = (0.1, 0.2, 0.3, 1.0)


@dataclass(frozen=True)
class PairScores:
    """Recall and precision of pairs, grouped by sequence identity (that of the scored matches)."""

    aligner: SequenceAligner
    known: Sequence[KnownPair]
    predicted: list[tuple[str, str]]
    scores: metrics.AlignmentScores
    identity: np.ndarray[Any, np.dtype[np.float64]]

    def as_dict(self) -> dict[str, Any]:
        bins = np.searchsorted(_IDENTITIES, self.identity)
        parts = [
            (f"identity {low:.0%} to {high:.0%}", bins == k)
            for k, (low, high) in enumerate(pairwise((0.0, *_IDENTITIES)))
        ]
        return {
            name: {
                "pairs": int(inside.sum()),
                "recall": float(self.scores.recall[inside].mean()),
                "precision": float(self.scores.precision[inside].mean()),
            }
            for name, inside in [*parts, ("all", bins >= 0)]
            if inside.any()
        }

    def tables(self) -> list[Table]:
        rows = [
            (f"{name} ({row['pairs']:,})", [row["recall"], row["precision"]])
            for name, row in self.as_dict().items()
        ]
        record = [
            ("recall (Q)", "share of the known matches that were predicted, mean over pairs"),
            ("precision", "share of the predicted matches that are correct, mean over pairs"),
        ]
        table = numbers_table("Alignments", "pairs", ["recall", "precision"], rows)
        return [table, record_table("What was compared", record)]

    def sections(self) -> Iterator[Section]:
        """Scores of all pairs, and the alignments of the worst ones."""
        from structune.alignment.plots import plot_match_probabilities
        from structune.html_reports.page import Fold, Section, Text, Verbatim, make_table
        from structune.html_reports.pictures import histogram, picture, scatter

        scores, identity = self.scores, self.identity
        order = np.lexsort((identity, scores.recall)).tolist()
        rows = []
        for p in order:
            x, y = self.known[p].pair
            shares = f"{identity[p]:.0%}", f"{scores.recall[p]:.3f}", f"{scores.precision[p]:.3f}"
            rows.append((self.known[p].names, f"{len(x):,} and {len(y):,}", *shares))
        numbers = ["residues", "identity", "recall", "precision"]
        yield Section(
            "Pairs",
            [
                scatter(identity, scores.recall, "identity", "recall", "Recall and identity of each pair."),
                histogram(scores.recall, "recall", "pairs", "Number of pairs by recall."),
                make_table("Pairs, the worst first", ["pair"], numbers, rows, _MOST_ROWS),
            ],
        )
        is_drawn = [0 < max(map(len, known.pair)) <= _LONGEST_DRAWN for known in self.known]
        folds: list[Block] = []
        for p in [p for p in order if is_drawn[p]][:_MOST_DRAWN]:
            (x, y), rows_of_p, name = self.known[p].pair, self.known[p].rows, self.known[p].names
            blocks: list[Block] = [Text("Known:"), Verbatim(_wrapped(rows_of_p))]
            blocks += [Text("Predicted:"), Verbatim(_wrapped(self.predicted[p]))]
            if self.aligner.has_probabilities:
                plot = partial(plot_match_probabilities, x, y, self.aligner.posterior(x, y), rows_of_p)
                caption = "Probabilities of matches, and the known alignment."
                blocks.append(picture(plot, f"probabilities of the matches of {name}", caption))
            folds.append(Fold(f"{name}: recall {scores.recall[p]:.3f}", blocks, is_open=not folds))
        if folds:
            most = f"Pairs of at most {_LONGEST_DRAWN:,} residues, the worst first."
            yield Section("Alignments", [Text(f"{most} Residues in lower case are not scored."), *folds])


def _wrapped(rows: tuple[str, str]) -> str:
    """Both rows, some columns at a time."""
    starts = range(0, max(len(rows[0]), 1), _COLUMNS)
    return "\n\n".join("\n".join(row[k : k + _COLUMNS] for row in rows) for k in starts)


def score_pairs(
    aligner: SequenceAligner, known: Sequence[KnownPair], gamma: float | None = None
) -> PairScores:
    """Align the pairs, and compare the predicted alignments with the known ones."""
    predicted = aligner.predict([each.pair for each in known], gamma)
    scores = metrics.alignment_scores([each.rows for each in known], predicted)
    identities = np.array([identity(each.known, each.pair) for each in known])
    return PairScores(aligner, known, predicted, scores, identities)


# --- families ---------------------------------------------------------------------------------------------

Families = Mapping[str, ProteinAlignment]


@dataclass(frozen=True)
class FamilyScores:
    """Shares of the matches and columns of whole families that were found."""

    references: Families
    scores: dict[str, metrics.ColumnScores]

    @property
    def mean(self) -> metrics.ColumnScores:
        return metrics.ColumnScores(*np.mean(list(self.scores.values()), axis=0).tolist())

    def tables(self) -> list[Table]:
        record = [
            ("Q", "share of the scored matches of two residues that were found (also called SPS)"),
            ("TC", "share of the scored columns that were found completely"),
        ]
        rows = [(f"all ({len(self.scores):,})", self.mean)]
        table = numbers_table("Alignments", "families", ["Q", "TC"], rows)
        return [table, record_table("What was compared", record)]

    def as_dict(self) -> dict[str, Any]:
        families = {name: {"Q": score.pairs, "TC": score.columns} for name, score in self.scores.items()}
        return {"Q": self.mean.pairs, "TC": self.mean.columns, "families": families}

    def sections(self) -> Iterator[Section]:
        from structune.html_reports.page import Section, make_table
        from structune.html_reports.pictures import histogram

        rows = [
            (name, f"{len(self.references[name].names):,}", f"{score.pairs:.3f}", f"{score.columns:.3f}")
            for name, score in sorted(self.scores.items(), key=lambda item: item[1])  # the worst first
        ]
        share = [score.pairs for score in self.scores.values()]
        bars = histogram(share, "Q", "families", "Number of families by Q.")
        numbers = ["sequences", "Q", "TC"]
        table = make_table("Families, the worst first", ["family"], numbers, rows, _MOST_ROWS)
        yield Section("Families", [bars, table])


def score_families(model: str, references: Families, n_jobs: int) -> FamilyScores:
    """Compare given alignments, or those that a model makes of the same sequences, with known ones."""
    if is_alignments(model):
        found = read_families([model])
    else:
        aligner, found = open_aligner(model, n_jobs, log_odds=True), dict[str, ProteinAlignment]()
        for name, reference in references.items():
            family = aligner.align([without_gaps(row) for row in reference.rows])
            found[name] = ProteinAlignment(reference.names, family.rows)
    if (n_more := len(found.keys() - references.keys())) and len(found) > 1:
        say(f"{model}: skipped {plural(n_more, 'alignment')} without a known alignment of the same name")
    scores = {}
    for name, reference in references.items():
        alignment = next(iter(found.values())) if len(found) == len(references) == 1 else found.get(name)
        if alignment is None:
            raise DataError(f"{model}: there is no alignment named {name}, but a known one has this name")
        try:
            if not metrics.is_scored(reference):
                raise DataError(
                    "the known alignment has no column to score: none has two residues in upper case"
                )
            scores[name] = metrics.column_scores(reference, alignment)
        except DataError as error:
            raise DataError(f"{model}: {name}: {error}") from error
    return FamilyScores(references, scores)


def is_alignments(path: str) -> bool:
    """Whether this is a folder or a file of alignments, rather than a model."""
    return Path(path).is_dir() or (Path(path).is_file() and is_alignment_file(Path(path)))


def read_families(paths: Sequence[Path | str]) -> dict[str, ProteinAlignment]:
    """Read alignments of files and folders, by file name, with a number if a file has several."""
    found: dict[str, ProteinAlignment] = {}
    for path in files_of(paths):
        alignments = list(read_protein_alignments(path))
        for number, alignment in enumerate(alignments, 1):
            name = stem(path) if len(alignments) == 1 else f"{stem(path)}:{number}"
            if name in found:
                raise DataError(f"{path}: another file has an alignment named {name} too. Rename the file")
            found[name] = alignment
    if not found:
        raise DataError(f"{', '.join(map(str, paths))}: there are no alignments")
    return found
