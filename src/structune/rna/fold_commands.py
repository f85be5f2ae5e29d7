"""The work of ``structune fold``, ``consensus`` and ``score``."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structune.cli.files import (
    UntilError,
    check_apart,
    check_targets,
    drawing_paths,
    open_text,
    standard_input,
)
from structune.cli.terminal import Progress, say, time_in_words
from structune.errors import CapabilityError, DataError
from structune.rna.examples import (
    PRETRAINED,
    Example,
    between_strands,
    of_one_strand,
    read_sequences,
    with_bases,
    with_generators,
    with_reactivities,
)
from structune.rna.formats.aligned import read_alignments, stockholm_text
from structune.rna.formats.strands import STRANDS
from structune.rna.judgement import Judgement
from structune.rna.options import ConsensusOptions, Known, Output, Reading, Shape, Source, Wanted, Writing
from structune.rna.recipes import Folded, Recipe, in_order
from structune.rna.written import as_text, open_output
from structune.running.executors import make_executor

if TYPE_CHECKING:
    from structune.rna.folder import RNAFolder

_LONG, _MINUTES = 5000, 0.5  # bases from which on it is told what they cost; the time of so many


def fold(
    files: Sequence[str],
    source: Source,
    reading: Reading,
    shape: Shape,
    known: Known,
    wanted: Wanted,
    writing: Writing,
) -> int:
    """Fold what is read; returns the exit code."""
    _check_apart(files, source, writing.output, known.shape)
    _check(shape, wanted, writing)
    settings = {**shape.settings, **wanted.settings}
    folder = source.open(**settings)
    recipe = _recipe(folder, source.model, wanted, writing)
    below = "constraints" if known.constraints else ""
    if "-" in files and not writing.quiet and sys.stdin.isatty():
        click.echo("structune: reading FASTA from standard input", err=True)
    read = read_sequences(files, below, shape.skip_bad, reading.input_format)
    examples = UntilError(_with_more(read, known, wanted, writing))
    _fold_all(folder, recipe, files, examples, source.jobs, wanted, writing)
    return 0


def consensus(files: Sequence[str], source: Source, options: ConsensusOptions, output: Output) -> int:
    """Fold alignments; returns the exit code."""
    _check_apart(files, source, output.output)
    folder = source.open("consensus").set_params(n_jobs=source.jobs)
    sources: list[Any] = [standard_input() if file == "-" else file for file in files]
    n_unused = 0
    with open_text(output.output) as stream:
        for alignment in chain.from_iterable(map(read_alignments, sources)):
            structure = folder.predict_alignment(alignment.rows, options.threshold)
            stream.write(stockholm_text(alignment, structure))
            stream.flush()
            n_unused += alignment.structure is not None
    if n_unused:
        say(f"{n_unused:,} known structures (SS_cons) are not used: predicted ones replace them")
    return 0


def score(files: Sequence[str], source: Source, reading: Reading, shape: Shape, output: Output) -> int:
    """Tell what a model says of known structures, a row each; returns the exit code."""
    _check_apart(files, source, output.output)
    folder = source.open("score", **shape.settings)

    def row(example: Example) -> str:
        structure = example.structure
        try:
            found = folder.judge([example.record.sequence], [structure])[0]
        except DataError as error:
            raise example.refuse(str(error).removeprefix("sequence 0: ")) from None
        return "\t".join([example.record.name, *(f"{value:.6g}" for value in found)])

    with open_text(output.output) as stream:
        stream.write("\t".join(["name", *Judgement._fields]) + "\n")
        examples = read_sequences(files, "structures", shape.skip_bad, reading.input_format)
        for text in make_executor(source.jobs).map(row, examples):
            stream.write(text + "\n")
            stream.flush()
    return 0


def _fold_all(
    folder: RNAFolder,
    recipe: Recipe,
    files: Sequence[str],
    source: UntilError[Example],
    n_jobs: int,
    wanted: Wanted,
    writing: Writing,
) -> None:
    first = _first(source, files, writing)
    drawings = _Drawings(writing, len(first) > 1, wanted.most_structures > 1, folder.circular)
    examples: Iterable[Example] = chain(first, source)
    if not writing.quiet and folder.max_span is None:
        examples = _announced(examples, folder, recipe)

    def needed(example: Example) -> float:
        return recipe.memory_of(folder, example) if recipe.with_pairs else 0.0

    results = in_order(examples, partial(recipe.fold, folder), n_jobs, wanted.most_structures, needed)
    _write(results, writing, drawings)
    source.check()


def _with_more(read: Iterator[Example], known: Known, wanted: Wanted, writing: Writing) -> Iterator[Example]:
    """Sequences, with all that is known of them."""
    if known.shape is not None:
        read = with_reactivities(read, known.shape, known.shape_method)
    if known.duplex:
        read = between_strands(read)
    if wanted.samples is not None:
        read = with_generators(read, wanted.seed)
    if writing.is_drawn:
        read = with_bases(read, "--plot or --dot-plot")
    return of_one_strand(read, writing.written_as) if writing.written_as in ("ct", "bpseq") else read


def _first(source: UntilError[Example], files: Sequence[str], writing: Writing) -> list[Example]:
    """One sequence, or two where it is to be known whether there are several."""
    of_one = writing.written_as == "bpseq" and not _is_folder(writing.output)
    first = list(islice(source, 2 if of_one or writing.is_drawn else 1))  # who writes to a pipe may wait
    if not first:
        source.check()
        raise DataError(f"{', '.join(files)}: found no sequences")
    if len(first) > 1 and of_one:
        raise DataError(
            f"{', '.join(files)}: found several sequences, expected one: a BPSEQ file holds one "
            "structure (--output FOLDER writes a file of each)"
        )
    return first


def _write(results: Generator[list[Folded], None, None], writing: Writing, drawings: _Drawings) -> None:
    shown = not writing.quiet and not (writing.output == "-" and sys.stdout.isatty())
    with (
        open_output(writing.output, writing.written_as if writing.window is None else "windows") as output,
        closing(results),
        Progress(shown) as progress,
    ):
        for batch in results:
            n_done = len(batch)
            while batch:
                folded = batch.pop(0)
                output.write(folded.record.name, as_text(folded, writing.written_as, writing.min_probability))
                drawings.draw(folded)
                del folded  # its table of pairs is then gone: others wait for the memory
            output.flush()
            progress.advance(n_done)


def _announced(examples: Iterable[Example], folder: RNAFolder, recipe: Recipe) -> Iterator[Example]:
    """The same; tells what long ones cost."""
    advice = "" if folder.circular else " (seconds with --max-span 300)"
    for example in examples:
        if (n := len(example.record.sequence)) >= _LONG:
            minutes = _MINUTES * (n / _LONG) ** 3
            cost = f"{recipe.memory_of(folder, example) / 1e9:.1f} GB of memory and {time_in_words(minutes)}"
            told = "" if STRANDS in example.record.sequence else advice
            say(f"{example.record.name}: {n:,} bases take about {cost}{told}")
        yield example


def _check_apart(files: Sequence[str], source: Source, output: str, *beside: Path | None) -> None:
    """Refuse to write over what is read."""
    if output != "-":
        model = [] if source.model == PRETRAINED else [source.model]
        read = [file for file in files if file != "-"]
        check_apart([*read, *beside, source.contrafold, *model], [Path(output)])


def _check(shape: Shape, wanted: Wanted, writing: Writing) -> None:
    """Find before the work, not after it, what cannot be done."""
    if shape.initiation is not None and not math.isfinite(shape.initiation):
        raise DataError(f"--initiation {shape.initiation}: expected a finite number")
    format, has_many = writing.written_as, wanted.samples is not None or wanted.is_ranked
    if has_many and format in ("bpseq", "pairs", "bases"):
        raise DataError(f"--format {format} cannot be combined with --samples, --nbest or --within.")
    if writing.min_probability != Writing.min_probability and format not in ("json", "pairs"):
        raise DataError("--min-probability needs --format json or --format pairs.")
    check_targets([], [writing.plot, writing.dot_plot])


def _recipe(folder: RNAFolder, model: str, wanted: Wanted, writing: Writing) -> Recipe:
    """What the model is to give; json and drawings may be without probabilities."""
    recipe = Recipe(
        wanted,
        with_structures=writing.written_as not in ("pairs", "bases") or writing.is_drawn,
        with_pairs=writing.written_as in ("json", "pairs", "bases") or writing.is_drawn,
        with_log_partition=writing.written_as == "json",
        with_dimers=writing.written_as == "json"
        or (writing.written_as == "dbn" and wanted.method != "viterbi"),
        window=writing.window,
    )
    if folder.has_probabilities:
        return recipe
    asked = {
        "--samples": wanted.samples is not None,
        "--nbest": wanted.nbest is not None,
        "--within": wanted.within is not None,
        f"--method {wanted.method}": wanted.method in ("mea", "centroid"),
        "--gamma": wanted.gamma is not None,
        "--pseudoknots": wanted.pseudoknots,
        "--no-lonely-pairs": wanted.no_lonely_pairs,
        "--format pairs": writing.written_as == "pairs",
        "--format bases": writing.written_as == "bases",
        "--dot-plot": writing.dot_plot is not None,
    }
    for option in filter(asked.get, asked):
        raise CapabilityError(
            f"{model}: {option} needs a model with probabilities; this one was fitted with "
            f"loss={folder.loss!r}."
        )
    return replace(recipe, with_pairs=False, with_log_partition=False, with_dimers=False)


def _is_folder(output: str) -> bool:
    return output != "-" and os.path.isdir(output)


class _Drawings:
    """Drawings: files have the names of several sequences, and the numbers of several structures of one."""

    def __init__(self, writing: Writing, several: bool, numbered: bool, circular: bool) -> None:
        self._numbered, self._circular = numbered, circular
        self._plot = drawing_paths(writing.plot, several)
        self._dot_plot = drawing_paths(writing.dot_plot, several)

    def draw(self, folded: Folded) -> None:
        record, pairs = folded.record, folded.pairs
        if self._plot is not None:
            from structune.rna.plots.drawing import plot_structure

            path = self._plot(record.name)
            for choice in folded.choices:
                title = " ".join([record.name, *choice.words])
                own = path.with_stem(f"{path.stem}-{choice.number}") if self._numbered else path
                plot_structure(record.sequence, choice.structure, pairs, title, own, self._circular)
        if self._dot_plot is not None:
            from structune.rna.plots.pairs import plot_pair_probabilities

            structure = None if self._numbered else folded.choices[0].structure
            path = self._dot_plot(record.name)
            plot_pair_probabilities(record.sequence, pairs, structure, record.name, path)
