"""``structune evaluate alignment --multiple``, and of alignments that any program made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from structune.alignment.commands.data import files_of, open_aligner, stem
from structune.alignment.formats.any import is_alignment_file, read_protein_alignments
from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.metrics import ColumnScores, column_scores, is_scored
from structune.alignment.structure.rows import without_gaps
from structune.cli.checks import say
from structune.cli.tables import numbers_table, record_table
from structune.errors import DataError

if TYPE_CHECKING:
    from structune.html_reports import Section

_MOST_ROWS = 200
Families = Mapping[str, ProteinAlignment]


@dataclass(frozen=True)
class ColumnEvaluation:
    """Whole families: matches and columns that were found."""

    references: Families
    scores: dict[str, ColumnScores]

    @property
    def mean(self) -> ColumnScores:
        return ColumnScores(*np.mean(list(self.scores.values()), axis=0).tolist())

    def _worst_first(self) -> list[tuple[str, ColumnScores]]:
        return sorted(self.scores.items(), key=lambda item: item[1])

    def tables(self) -> list[Table]:
        """As the terminal shows it."""
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
        """As JSON shows it."""
        families = {name: {"Q": score.pairs, "TC": score.columns} for name, score in self.scores.items()}
        return {"Q": self.mean.pairs, "TC": self.mean.columns, "families": families}

    def sections(self) -> Iterator[Section]:
        """As a page shows it."""
        from structune.html_reports import Section
        from structune.html_reports.pictures import histogram
        from structune.html_reports.tables import make_table

        rows = [
            (name, f"{len(self.references[name].names):,}", f"{score.pairs:.3f}", f"{score.columns:.3f}")
            for name, score in self._worst_first()
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


def evaluate(model: str, files: list[Path], n_jobs: int) -> ColumnEvaluation:
    """Compare alignments, or those that a model makes of the same sequences, with known ones."""
    references = _families(files)
    found = _aligned(model, references, n_jobs) if not is_alignments(model) else _families([Path(model)])
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
    return ColumnEvaluation(references, scores)


def is_alignments(path: str) -> bool:
    """Whether this is a folder, or a file of an alignment, and no model."""
    return Path(path).is_dir() or (Path(path).is_file() and is_alignment_file(Path(path)))


def _aligned(model: str, references: Families, n_jobs: int) -> Families:
    """What a model makes of the sequences."""
    aligner, found = open_aligner(model, n_jobs, log_odds=True), {}
    for name, reference in references.items():
        family = aligner.align([without_gaps(row) for row in reference.rows])
        found[name] = ProteinAlignment(reference.names, family.rows)
    return found


def _families(paths: list[Path]) -> Families:
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
