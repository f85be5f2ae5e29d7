"""``structune fold``."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from structune.cli.batches import Progress, UntilError
from structune.cli.checks import INTERRUPTED, check_apart, check_targets
from structune.cli.file_names import drawing_paths
from structune.errors import CapabilityError, DataError
from structune.rna.commands.batches import in_order
from structune.rna.commands.data import open_folder, read_sequences
from structune.rna.commands.decoding import Folded, Recipe
from structune.rna.commands.output import as_text, open_output

if TYPE_CHECKING:
    from structune.rna.folder import RNAFolder


@dataclass(frozen=True)
class Request:
    """What to read, and where and how to write."""

    source: str
    with_constraints: bool
    model: str
    contrafold: Path | None
    output: str
    format: str
    min_probability: float
    plot: Path | None
    dot_plot: Path | None

    @property
    def to_folder(self) -> bool:
        return self.output != "-" and os.path.isdir(self.output)

    def check(self, recipe: Recipe) -> None:
        """Find before the work, not after it, what cannot be done."""
        recipe.check()
        if recipe.has_many and self.format in ("bpseq", "pairs"):
            raise DataError(f"found --format {self.format}, expected another with --samples or --nbest")
        check_targets([], [self.plot, self.dot_plot])
        if "-" not in (self.source, self.output):
            check_apart([self.source], [Path(self.output)])

    def check_model(self, folder: RNAFolder, recipe: Recipe) -> Recipe:
        """What a model can do of a recipe: json and drawings may be without probabilities."""
        if folder.has_probabilities:
            return recipe
        shown = {"--format pairs": self.format == "pairs", "--dot-plot": self.dot_plot is not None}
        asked = [*recipe.asked_of_probabilities, *filter(shown.get, shown)]
        if asked:
            raise CapabilityError(
                f"{self.model}: found a model fitted with loss={folder.loss!r}, which has no probabilities, "
                f"expected one that has them with {asked[0]}"
            )
        return replace(recipe, with_pairs=False, with_log_partition=False)

    def check_number(self, several: bool) -> None:
        """Refuse several structures where one can be written."""
        if several and self.format == "bpseq" and not self.to_folder:
            raise DataError(
                f"{self.source}: found several sequences, expected one: a BPSEQ file holds one structure "
                "(--output FOLDER writes a file of each)"
            )


class _Drawings:
    """Drawings of sequences; of several sequences, their names are in those of the files."""

    def __init__(self, request: Request, several: bool) -> None:
        self._plot = drawing_paths(request.plot, several)
        self._dot_plot = drawing_paths(request.dot_plot, several)

    def draw(self, folded: Folded) -> None:
        if self._plot is None and self._dot_plot is None:
            return
        from structune.rna.plots.drawing import plot_structure
        from structune.rna.plots.pairs import plot_pair_probabilities

        record, structure = folded.record, folded.choices[0].structure
        if self._plot is not None:
            path = self._plot(record.name)
            plot_structure(record.sequence, structure, folded.pairs, record.name, path)
        if self._dot_plot is not None:
            assert folded.pairs is not None
            path = self._dot_plot(record.name)
            plot_pair_probabilities(record.sequence, folded.pairs, structure, record.name, path)


def run(request: Request, recipe: Recipe, n_jobs: int, quiet: bool) -> int:
    """Fold what is read; returns the exit code."""
    request.check(recipe)
    try:
        _run(request, recipe, n_jobs, quiet)
    except KeyboardInterrupt:
        typer.echo("structune: interrupted", err=True)
        return INTERRUPTED
    return 0


def _run(request: Request, recipe: Recipe, n_jobs: int, quiet: bool) -> None:
    folder = open_folder(request.model, request.contrafold)
    recipe = request.check_model(folder, recipe)
    if request.source == "-" and not quiet and sys.stdin.isatty():
        typer.echo("structune: reading FASTA from standard input", err=True)
    source = UntilError(read_sequences(request.source, request.with_constraints))
    first = list(islice(source, 2))
    if not first:
        source.check()
    several = len(first) > 1
    request.check_number(several)
    drawings = _Drawings(request, several)
    results = in_order(chain(first, source), lambda batch: recipe.fold(folder, batch), n_jobs)
    shown = not quiet and not (request.output == "-" and sys.stdout.isatty())
    with (
        open_output(request.output, request.format) as output,
        closing(results),
        Progress(shown) as progress,
    ):
        for batch in results:
            for folded in batch:
                output.write(folded.record.name, as_text(folded, request.format, request.min_probability))
                drawings.draw(folded)
            output.flush()
            progress.advance(len(batch))
    source.check()
