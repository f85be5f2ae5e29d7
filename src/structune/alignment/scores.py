"""How well pairs and families were aligned, on the terminal, as JSON and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from structune.alignment.aligner import SequenceAligner
from structune.alignment.examples import KnownPair, files_of, open_aligner, stem
from structune.alignment.formats import ProteinAlignment, is_alignment_file, read_protein_alignments
from structune.alignment.metrics import (
    AlignmentScores,
    ColumnScores,
    alignment_scores,
    column_scores,
    is_scored,
)
from structune.alignment.structure.rows import identity, without_gaps
from structune.cli.terminal import numbers_table, record_table, say
from structune.errors import DataError

if TYPE_CHECKING:
    from structune.html_reports import Section

_MOST_ROWS = 200
_IDENTITIES = (0.1, 0.2, 0.3, 1.0)


@dataclass(frozen=True)
class PairScores:
    """Matches found, by how many of the scored ones are of identical residues."""

    aligner: SequenceAligner
    known: Sequence[KnownPair]
    predicted: list[tuple[str, str]]
    scores: AlignmentScores
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
            ("recall (Q)", "share of the known matches that were found, mean over pairs"),
            ("precision", "share of the matches found that are known to be right, mean over pairs"),
        ]
        return [
            numbers_table("Alignments", "pairs", ["recall", "precision"], rows),
            record_table("What was compared", record),
        ]

    def sections(self) -> Iterator[Section]:
        from structune.alignment.report import aligning_sections

        pairs, rows, _, _, names = zip(*self.known, strict=True)
        return aligning_sections(self.aligner, names, rows, self.predicted, pairs, self.identity, self.scores)


def score_pairs(
    aligner: SequenceAligner, known: Sequence[KnownPair], gamma: float | None = None
) -> PairScores:
    predicted = aligner.predict([each.pair for each in known], gamma)
    scores = alignment_scores([each.rows for each in known], predicted)
    identities = np.array([identity(each.known, each.pair) for each in known])
    return PairScores(aligner, known, predicted, scores, identities)


# --- families ---------------------------------------------------------------------------------------------

Families = Mapping[str, ProteinAlignment]


@dataclass(frozen=True)
class FamilyScores:
    """Whole families: matches and columns that were found."""

    references: Families
    scores: dict[str, ColumnScores]

    @property
    def mean(self) -> ColumnScores:
        return ColumnScores(*np.mean(list(self.scores.values()), axis=0).tolist())

    def tables(self) -> list[Table]:
        record = [
            ("Q", "share of the scored matches of two residues that were found (SPS)"),
            ("TC", "share of the scored columns that were found whole"),
        ]
        return [
            numbers_table(
                "Alignments", "families", ["Q", "TC"], [(f"all ({len(self.scores):,})", self.mean)]
            ),
            record_table("What was compared", record),
        ]

    def as_dict(self) -> dict[str, Any]:
        families = {name: {"Q": score.pairs, "TC": score.columns} for name, score in self.scores.items()}
        return {"Q": self.mean.pairs, "TC": self.mean.columns, "families": families}

    def sections(self) -> Iterator[Section]:
        from structune.html_reports import Section
        from structune.html_reports.page import make_table
        from structune.html_reports.pictures import histogram

        rows = [
            (name, f"{len(self.references[name].names):,}", f"{score.pairs:.3f}", f"{score.columns:.3f}")
            for name, score in sorted(self.scores.items(), key=lambda item: item[1])  # the worst first
        ]
        share = [score.pairs for score in self.scores.values()]
        yield Section(
            "Families",
            [
                histogram(share, "Q", "families", "How many families were aligned how well."),
                make_table(
                    "Families, the worst first", ["family"], ["sequences", "Q", "TC"], rows, _MOST_ROWS
                ),
            ],
        )


def score_families(model: str, references: Families, n_jobs: int) -> FamilyScores:
    """Compare alignments, or those that a model makes of the same sequences, with known ones."""
    if is_alignments(model):
        found = read_families([model])
    else:
        aligner, found = open_aligner(model, n_jobs, log_odds=True), dict[str, ProteinAlignment]()
        for name, reference in references.items():
            family = aligner.align([without_gaps(row) for row in reference.rows])
            found[name] = ProteinAlignment(reference.names, family.rows)
    if (n_more := len(found.keys() - references.keys())) and len(found) > 1:
        say(f"{model}: left out {n_more:,} alignments, for there is no known one of the same name")
    scores = {}
    for name, reference in references.items():
        alignment = next(iter(found.values())) if len(found) == len(references) == 1 else found.get(name)
        if alignment is None:
            raise DataError(f"{model}: found no alignment of {name}, expected one for each known one")
        try:
            if not is_scored(reference):
                raise DataError(
                    "found no column of two residues to score; those in lower case are not scored"
                )
            scores[name] = column_scores(reference, alignment)
        except DataError as error:
            raise DataError(f"{model}: {name}: {error}") from error
    return FamilyScores(references, scores)


def is_alignments(path: str) -> bool:
    """Whether this is a folder, or a file of an alignment, and no model."""
    return Path(path).is_dir() or (Path(path).is_file() and is_alignment_file(Path(path)))


def read_families(paths: Sequence[Path | str]) -> dict[str, ProteinAlignment]:
    """The alignments of files and folders by the names of their files, numbered where a file has several."""
    found: dict[str, ProteinAlignment] = {}
    for path in files_of(paths):
        alignments = list(read_protein_alignments(path))
        for number, alignment in enumerate(alignments, 1):
            name = stem(path) if len(alignments) == 1 else f"{stem(path)}:{number}"
            if name in found:
                raise DataError(f"{path}: found another alignment named {name}, expected names of their own")
            found[name] = alignment
    if not found:
        raise DataError(f"{', '.join(map(str, paths))}: found no alignment, expected at least one")
    return found
