"""The work of ``structune fold``, ``consensus`` and ``score``."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structune.cli.files import (
    FileNames,
    UntilError,
    check_apart,
    check_targets,
    drawing_paths,
    open_bytes,
    open_text,
    standard_input,
    write_texts,
)
from structune.cli.reports import page_at_end
from structune.cli.terminal import Progress, say, time_in_words
from structune.errors import CapabilityError, DataError
from structune.files.text import plural
from structune.rna.energies import read_energies
from structune.rna.energy_commands import scored, tell_unscored
from structune.rna.examples import Example, in_order, read_sequences, with_commands, with_reactivities
from structune.rna.folded import Folded, texts_of
from structune.rna.formats.alignments import read_alignments, stockholm_text
from structune.rna.formats.brackets import STRANDS, bases_of, cut_as
from structune.rna.inputs import Draws, fit_into_space
from structune.rna.metrics import Judgement
from structune.rna.options import (
    PRETRAINED,
    Consensus,
    Known,
    Output,
    Reading,
    Shape,
    Source,
    Wanted,
    Writing,
)
from structune.rna.structure.constraints import Constraints, as_constraints
from structune.rna.structure.rna import OF_PAIRS, OF_SAMPLES, OF_SEVERAL, OF_WINDOWS
from structune.running.executors import make_executor

if TYPE_CHECKING:
    from structune.rna.fold_report import FoldReport
    from structune.rna.folder import RNAFolder

_LONG, _MINUTES = 10_000, 0.35  # bases from which on it is told what they cost; the time of so many


def consensus(files: Sequence[str], source: Source, wanted: Consensus) -> int:
    _check_apart(files, source, wanted.output)
    folder = source.open("consensus").set_params(n_jobs=source.jobs)
    sources: list[Any] = [standard_input() if file == "-" else file for file in files]
    n_unused = 0
    with open_text(wanted.output) as stream:
        for alignment in chain.from_iterable(map(read_alignments, sources)):
            structure = folder.predict_alignment(alignment.rows, wanted.threshold)
            stream.write(stockholm_text(alignment, structure, source.name))
            stream.flush()
            n_unused += alignment.structure is not None
    if n_unused:
        say(f"replaced {plural(n_unused, 'known structure')} (SS_cons) by predicted ones")
    return 0


def score(files: Sequence[str], source: Source, reading: Reading, shape: Shape, writing: Output) -> int:
    """Write what a model says about each known structure, one row each; returns the exit code."""
    _check_apart(files, source, writing.output)
    folder = source.open("score", **shape.settings)

    def row(example: Example) -> str:
        structure = example.structure
        try:
            found = folder.judge([example.record.sequence], [structure])[0]
        except DataError as error:
            raise example.refuse(str(error).removeprefix("sequence 0: ")) from None
        return "\t".join([example.record.name, *(f"{value:.6g}" for value in found)]) + "\n"

    with open_text(writing.output) as stream:
        stream.write("\t".join(["name", *Judgement._fields]) + "\n")
        examples = read_sequences(files, "structures", shape.skip_bad, reading.input_format)
        for text in make_executor(source.jobs).map(row, examples):
            stream.write(text)
            stream.flush()
    return 0


def fold(
    files: Sequence[str],
    source: Source,
    reading: Reading,
    shape: Shape,
    known: Known,
    wanted: Wanted,
    writing: Writing,
) -> int:
    _check_apart(files, source, writing.output, known.shape, known.commands, page=writing.report)
    if shape.initiation is not None and not math.isfinite(shape.initiation):
        raise DataError(f"--initiation {shape.initiation}: expected a finite number")
    format, has_many = writing.written_as, wanted.samples is not None or wanted.is_ranked
    if has_many and format in ("bpseq", "pairs", "bases"):
        raise DataError(f"--format {format} cannot be combined with --samples, --nbest or --within.")
    if writing.min_probability != Writing.min_probability and format not in ("json", "pairs"):
        raise DataError("--min-probability needs --format json or --format pairs.")
    output = None if writing.output == "-" else Path(writing.output)
    is_checked = writing.report is not None and not _is_folder(writing.output)
    check_targets([output] if is_checked else [], [writing.plot, writing.dot_plot], writing.report)
    folder = source.open(**shape.settings, **({"decoding": "mea"} if wanted.method == "mea" else {}))
    recipe = Recipe(folder, source, wanted, writing)
    report = _report(recipe)
    if "-" in files and not writing.quiet and sys.stdin.isatty():
        say("reading FASTA from standard input")
    below = "constraints" if known.constraints else ""
    read = read_sequences(files, below, shape.skip_bad, reading.input_format)
    source_of_all = UntilError(_prepared(read, recipe, known))
    # one sequence, or two where it is to be known whether there are several: who writes to a pipe may wait
    of_one = format == "bpseq" and not _is_folder(writing.output)
    first = list(islice(source_of_all, 2 if of_one or writing.is_drawn else 1))
    if not first:
        source_of_all.check()
        raise DataError(f"{', '.join(files)}: no sequences")
    if len(first) > 1 and of_one:
        told = "a BPSEQ file holds one structure, but there are several sequences"
        raise DataError(f"{', '.join(files)}: {told} (--output FOLDER writes one file per sequence)")
    held = {"needed": recipe.memory_of} if recipe.with_pairs else {}
    examples = chain(first, source_of_all)
    results = in_order(examples, recipe.fold, source.jobs, wanted.most_structures, **held)
    with page_at_end(writing.report, report, output):
        _write(results, recipe, len(first) > 1, report)
        source_of_all.check()
    return 0


def _report(recipe: Recipe) -> FoldReport | None:
    """What collects sequences for --report, if it was given."""
    if recipe.writing.report is None:
        return None
    from structune.rna.fold_report import FoldReport

    return FoldReport(recipe.model, recipe.folder.circular)


def _check_apart(
    files: Sequence[str], source: Source, output: str, *beside: Path | None, page: Path | None = None
) -> None:
    model = None if source.model == PRETRAINED else source.model  # a file of this name is not read
    targets = [None if output == "-" else Path(output), page]
    check_apart([*files, *beside, source.contrafold, model], targets)


def _is_folder(output: str) -> bool:
    return output != "-" and os.path.isdir(output)


def _prepared(read: Iterator[Example], recipe: Recipe, known: Known) -> Iterator[Example]:
    """Yield sequences with all that is known; refuse unwritable ones, print the cost of long ones."""
    folder, wanted, writing, format = recipe.folder, recipe.wanted, recipe.writing, recipe.writing.written_as
    draws = None if wanted.samples is None else Draws(wanted.seed)  # those of `RNAFolder.sample`
    if known.shape is not None:
        read = with_reactivities(read, known.shape, known.shape_method)
    if known.commands is not None:
        read = with_commands(read, known.commands, folder._structure)
    for example in read:
        sequence, has_two = example.record.sequence, STRANDS in example.record.sequence
        if known.duplex:
            given = as_constraints(example.constraints) or Constraints()
            example = replace(example, constraints=replace(given, between=True))
        if draws is not None:
            example = replace(example, generator=draws.of(sequence))
        if writing.is_drawn and not sequence:
            raise example.refuse("an empty sequence cannot be drawn with --plot or --dot-plot")
        if format in ("ct", "bpseq") and has_two:
            raise example.refuse(f"two strands cannot be written with --format {format}")
        if (n := len(sequence)) >= _LONG and not writing.quiet and folder.max_span is None:
            # Time grows with the cube of the length.
            minutes, n_gigabytes = _MINUTES * (n / _LONG) ** 3, recipe.memory_of(example) / 1e9
            advice = "" if has_two or folder.circular else " (seconds with --max-span 300)"
            cost = f"{n_gigabytes:.1f} GB of memory and {time_in_words(minutes)}{advice}"
            say(f"{example.record.name}: {plural(n, 'base')} take about {cost}")
        yield example


# --- what is wanted of each sequence ------------------------------------------------------------------------


class Recipe:
    """What is wanted of each sequence; json and drawings may be without probabilities."""

    def __init__(self, folder: RNAFolder, source: Source, wanted: Wanted, writing: Writing) -> None:
        self.folder, self.model, self.wanted, self.writing = folder, source.name, wanted, writing
        format, has_sums = writing.written_as, folder.has_probabilities
        is_drawn = writing.is_drawn or writing.report is not None
        self.with_structures = format not in ("pairs", "bases") or is_drawn
        self.with_pairs = has_sums and (format in ("json", "pairs", "bases") or is_drawn)
        self.with_log_partition = has_sums and format == "json"
        of_two = format == "json" or (format == "dbn" and wanted.method != "viterbi")
        self.with_dimers = has_sums and of_two
        with_energies = format == "vienna" and writing.score == "energy"
        self._energies = read_energies(temperature=writing.temperature) if with_energies else None
        asked = {
            "--samples": wanted.samples is not None,
            "--nbest": wanted.nbest is not None,
            "--within": wanted.within is not None,
            f"--method {wanted.method}": wanted.method in ("mea", "centroid"),
            "--gamma": wanted.gamma is not None,
            "--pseudoknots": wanted.pseudoknots,
            "--no-lonely-pairs": wanted.no_lonely_pairs,
            f"--format {format}": format in ("pairs", "bases"),
            "--dot-plot": writing.dot_plot is not None,
        }
        for option in () if has_sums else filter(asked.get, asked):
            needs = f"{source.model}: {option} needs a model with probabilities"
            raise CapabilityError(f"{needs}; this one was fitted with loss={folder.loss!r}.")

    def fold(self, batch: list[Example]) -> list[Folded]:
        folder, window = self.folder, self.writing.window
        sequences = [example.record.sequence for example in batch]
        constraints = [example.constraints for example in batch]
        found: list[dict[str, Any]] = [{"structures": []} for _ in batch]
        if self.with_structures:
            found = self._structures(batch, sequences, constraints)
        if self.with_log_partition:
            for own, z in zip(found, folder.log_partition(sequences, constraints).tolist(), strict=True):
                own["log_partition"] = z
        for own, sequence, known in zip(found, sequences, constraints, strict=True):
            if window is not None:
                own["windows"] = folder.unpaired_windows(sequence, window, known)
            if self.with_pairs:
                own["pairs"] = folder.pair_probabilities(sequence, known)
            if self.with_dimers and STRANDS in sequence:
                own["dimer"] = float(folder.dimer_probabilities([sequence], [known])[0])
            if self.writing.written_as == "vienna":
                own["scores"], own["unscored"] = self._scores(sequence, own["structures"])
        return [Folded(example.record, **own) for example, own in zip(batch, found, strict=True)]

    def _scores(self, sequence: str, structures: Iterable[str]) -> tuple[list[float], str]:
        """The score of each structure, not finite if it has none, and the reason of the first of these."""
        if self._energies is None:
            rna, without = self.folder._structure, cut_as(sequence, "." * len(bases_of(sequence)))
            given = [without, *structures]
            known = fit_into_space(rna, [sequence] * len(given), given, "skip")
            values = np.full(len(given), -np.inf)
            values[known.kept] = rna.score(self.folder.coef_, known.shard(rna, [sequence] * len(given)))
            values[list(known.unknotted)] = -np.inf  # pairs were dropped
            odds = (values[1:] - values[0]).tolist()
            return odds, "" if all(map(math.isfinite, odds)) else "the model cannot produce it"
        circular = self.folder.circular
        found = [scored(self._energies, sequence, structure, circular) for structure in structures]
        return [score for score, *_ in found], next((reason for *_, reason in found if reason), "")

    def memory_of(self, example: Example) -> float:
        """Bytes that this takes, the table of pairs with it if that is wanted."""
        wanted, with_structures = self.wanted, self.with_structures
        held = (
            (OF_WINDOWS, self.writing.window is not None),
            (OF_SAMPLES, with_structures and wanted.samples is not None),
            (OF_SEVERAL, with_structures and wanted.is_ranked),
        )
        n_tables = next((n for n, is_held in held if is_held), OF_PAIRS)
        # Pseudoknots are those beside constrained structures.
        has_constraints = example.constraints is not None or wanted.pseudoknots
        n_bases = len(example.record.sequence)
        return self.folder.memory_of(n_bases, n_tables, has_constraints)

    def _structures(
        self, batch: list[Example], sequences: list[str], constraints: list[Any]
    ) -> list[dict[str, Any]]:
        """Structures of each sequence; of several also their kind, and of ranks their probabilities."""
        folder, wanted = self.folder, self.wanted
        if wanted.samples is not None:  # by the generator of each example, whatever the batch that it is in
            drawn = folder._drawn(sequences, wanted.samples, [each.generator for each in batch], constraints)
            return [{"structures": structures, "kind": "sample"} for structures in drawn]
        if wanted.is_ranked:
            n = sys.maxsize if wanted.nbest is None else wanted.nbest
            within = math.inf if wanted.within is None else wanted.within
            ranked = folder._ranked(sequences, n, constraints, within)
            return [{"structures": own, "kind": "rank", "probabilities": p} for own, p in ranked]
        if wanted.method == "viterbi":
            found = folder.predict_viterbi(sequences, constraints)
        elif wanted.method == "centroid":
            threshold = 0.5 if wanted.threshold is None else wanted.threshold
            found = folder.predict_centroid(sequences, threshold, constraints)
        elif wanted.pseudoknots:
            found = folder.predict_knotted(sequences, wanted.gamma, constraints=constraints)
        else:
            found = folder.predict(sequences, wanted.gamma, constraints, not wanted.no_lonely_pairs)
        return [{"structures": [structure]} for structure in found]


# --- files --------------------------------------------------------------------------------------------------

_HEADINGS = {
    "pairs": "name\ti\tj\tprobability\n",
    "bases": "name\ti\tbase\tunpaired\tentropy\n",
    "windows": "name\ti\tbase\tunpaired\tentropy\twindow\n",
}


def _write(
    results: Generator[list[Folded], None, None], recipe: Recipe, several: bool, report: FoldReport | None
) -> None:
    """Write to one file, or to one of each sequence in a folder, and draw."""
    writing = recipe.writing
    # names of files tell several sequences apart
    plot_path, dot_path = (drawing_paths(path, several) for path in (writing.plot, writing.dot_plot))
    output, format, names = writing.output, writing.written_as, FileNames()
    shown = not writing.quiet and not (output == "-" and sys.stdout.isatty())
    heading = _HEADINGS.get(format if writing.window is None else "windows", "")
    ending, unscored = "tsv" if heading else format, list[str]()
    opened = nullcontext() if _is_folder(output) else open_bytes(output)
    with opened as file, closing(results), Progress(shown) as progress:
        for batch in results:
            n_done = len(batch)
            while batch:
                folded = batch.pop(0)
                name = folded.record.name
                unscored += [f"{name!r} ({folded.unscored})"] if folded.unscored else []
                text: Iterator[str] = chain(
                    [heading], texts_of(folded, format, writing.min_probability, recipe.model)
                )
                path = Path(output) / f"{names(name)}.{ending}" if file is None else Path(output)
                if report is not None:
                    text = report.results.kept(f"structures.{ending}" if output == "-" else str(path), text)
                if file is None:
                    with path.open("xb") as own:  # nothing is written over
                        write_texts(own, text)
                else:
                    write_texts(file, text)
                    heading = ""
                    if not batch:
                        file.flush()
                if report is not None:
                    report.add(folded)
                if writing.is_drawn:
                    _draw(folded, recipe, plot_path and plot_path(name), dot_path and dot_path(name))
                del folded, text  # its table of pairs is then gone: others wait for the memory
            progress.advance(n_done)
    tell_unscored(unscored)


def _draw(folded: Folded, recipe: Recipe, plot: Path | None, dot_plot: Path | None) -> None:
    """Draw a sequence; names of files have the numbers of its structures, if there may be several."""
    from structune.rna.plots import plot_pair_probabilities, plot_structure

    record, pairs, numbered = folded.record, folded.pairs, recipe.wanted.most_structures > 1
    if plot is not None:
        for structure, k, _, words in folded.choices():
            title = " ".join([record.name, *words])
            path = plot.with_stem(f"{plot.stem}-{k}") if numbered else plot
            plot_structure(record.sequence, structure, pairs, title, path, recipe.folder.circular)
    if dot_plot is not None:
        best = None if numbered else folded.structures[0]
        plot_pair_probabilities(record.sequence, pairs, best, record.name, dot_plot)
