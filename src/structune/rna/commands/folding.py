"""``structune fold``."""

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
from typing import TYPE_CHECKING

import typer

from structune.cli.batches import Progress, UntilError, time_in_words
from structune.cli.checks import INTERRUPTED, check_apart, check_targets, say
from structune.cli.file_names import drawing_paths
from structune.cli.options import PRETRAINED
from structune.errors import CapabilityError, DataError
from structune.rna.commands.batches import in_order
from structune.rna.commands.data import (
    Example,
    between_strands,
    of_one_strand,
    open_folder,
    read_sequences,
    with_bases,
    with_generators,
)
from structune.rna.commands.decoding import Folded, Recipe
from structune.rna.commands.options import Reading, Wanted, Writing
from structune.rna.commands.output import as_text, open_output
from structune.rna.formats.strands import STRANDS

_LONG, _MINUTES = 5000, 0.5  # bases from which on it is told what they cost; the time of so many

_GAMMA = "it with --method mea, or no --method, only"

if TYPE_CHECKING:
    from structune.rna.folder import RNAFolder


def run(reading: Reading, wanted: Wanted, writing: Writing, n_jobs: int, quiet: bool) -> int:
    """Fold what is read; returns the exit code."""
    _check_files(reading, writing)
    try:
        if reading.alignment:
            from structune.rna.commands import aligned

            aligned.run(reading, wanted, writing, n_jobs)
        elif reading.evaluate:
            from structune.rna.commands import judging

            judging.run(reading, wanted, writing, n_jobs)
        else:
            _check(reading, wanted, writing)
            _run(reading, wanted, writing, n_jobs, quiet)
    except KeyboardInterrupt:
        typer.echo("structune: interrupted", err=True)
        return INTERRUPTED
    return 0


def _run(reading: Reading, wanted: Wanted, writing: Writing, n_jobs: int, quiet: bool) -> None:
    folder = open_folder(reading.model, reading.contrafold, **reading.settings, **wanted.settings)
    recipe = _recipe(folder, reading, wanted, writing)
    source = UntilError(_read(reading, wanted, writing, quiet))
    first = _first(source, reading.inputs, writing)
    drawings = _Drawings(writing, len(first) > 1, wanted.most_structures > 1, folder.circular)
    examples: Iterable[Example] = chain(first, source)
    if not quiet and folder.max_span is None:
        examples = _announced(examples, folder, recipe)

    def needed(example: Example) -> float:
        return recipe.memory_of(folder, example) if recipe.with_pairs else 0.0

    results = in_order(examples, partial(recipe.fold, folder), n_jobs, wanted.most_structures, needed)
    _write(results, writing, drawings, quiet)
    source.check()


def _read(reading: Reading, wanted: Wanted, writing: Writing, quiet: bool) -> Iterator[Example]:
    """Sequences, with all that is known of them."""
    if "-" in reading.inputs and not quiet and sys.stdin.isatty():
        typer.echo("structune: reading FASTA from standard input", err=True)
    below = "constraints" if reading.constraints else ""
    read = read_sequences(reading.inputs, below, reading.skip_bad, reading.input_format)
    if reading.shape is not None:
        from structune.rna.commands.probing import with_reactivities

        read = with_reactivities(read, reading.shape, reading.shape_method)
    if reading.duplex:
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


def _write(
    results: Generator[list[Folded], None, None], writing: Writing, drawings: _Drawings, quiet: bool
) -> None:
    shown = not quiet and not (writing.output == "-" and sys.stdout.isatty())
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


def _check_files(reading: Reading, writing: Writing) -> None:
    """Refuse to write what is read, and options of reading that exclude each other."""
    for option, is_given in (
        ("--skip-bad", reading.skip_bad),
        ("--input-format", reading.input_format is not None),
    ):
        if reading.constraints and is_given:
            raise DataError(f"found --constraints and {option}, expected one of them")
    for option, is_given in (("--max-span", reading.max_span is not None), ("--duplex", reading.duplex)):
        if reading.circular and is_given:
            raise DataError(f"found --circular and {option}, expected one of them")
    if reading.initiation is not None and not math.isfinite(reading.initiation):
        raise DataError(f"found --initiation {reading.initiation}, expected a finite number")
    if reading.inputs.count("-") > 1:
        raise DataError("found standard input twice, expected - at most once")
    if writing.output == "-":
        return
    read = [file for file in reading.inputs if file != "-"]
    model = [] if reading.model == PRETRAINED else [Path(reading.model)]
    check_apart([*read, reading.shape, reading.contrafold, *model], [Path(writing.output)])


def _check(reading: Reading, wanted: Wanted, writing: Writing) -> None:
    """Find before the work, not after it, what cannot be done."""
    if wanted.samples is not None and wanted.is_ranked:
        raise DataError("found --samples and --nbest or --within, expected at most one of them")
    if wanted.has_many and wanted.method is not None:
        raise DataError("found --method and --samples, --nbest or --within, expected one of them")
    method = "many" if wanted.has_many else wanted.method
    has_gamma = method in (None, "mea")
    if wanted.gamma is not None and not has_gamma:
        raise DataError(f"found --gamma, expected {_GAMMA}")
    for option, is_given in (
        ("--no-lonely-pairs", wanted.no_lonely_pairs),
        ("--pseudoknots", wanted.pseudoknots),
    ):
        if is_given and not has_gamma:
            raise DataError(f"found {option}, expected {_GAMMA}")
    if reading.circular:
        others = {
            "--window": writing.window is not None,
            "--no-lonely-pairs": wanted.no_lonely_pairs,
            "--pseudoknots": wanted.pseudoknots,
        }
        for option in filter(others.get, others):
            raise DataError(f"found --circular and {option}, expected one of them")
    if wanted.no_lonely_pairs and wanted.pseudoknots:
        raise DataError("found --no-lonely-pairs and --pseudoknots, expected one of them")
    if wanted.threshold is not None and method != "centroid":
        raise DataError("found --threshold, expected it with --method centroid only")
    if wanted.has_many and writing.written_as in ("bpseq", "pairs", "bases"):
        raise DataError(
            f"found the format {writing.written_as}, expected another with --samples, --nbest or --within"
        )
    if writing.window is not None and writing.written_as != "bases":
        raise DataError("found --window, expected it with --format bases only")
    if writing.min_probability != Writing.min_probability and writing.written_as not in ("json", "pairs"):
        raise DataError("found --min-probability, expected it with --format json or pairs only")
    if wanted.seed != Wanted.seed and wanted.samples is None:
        raise DataError("found --seed, expected it with --samples only")
    if reading.shape is None and reading.shape_method != Reading.shape_method:
        raise DataError("found --shape-method, expected it with --shape only")
    check_targets([], [writing.plot, writing.dot_plot])


def _recipe(folder: RNAFolder, reading: Reading, wanted: Wanted, writing: Writing) -> Recipe:
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
            f"{reading.model}: found a model fitted with loss={folder.loss!r}, which has no probabilities, "
            f"expected one that has them with {option}"
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
