"""The work of ``structune fold``, ``consensus`` and ``score``."""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import click
import numpy as np

from structune.cli.batches import Progress, UntilError, time_in_words
from structune.cli.checks import check_apart, check_targets, say
from structune.cli.file_names import FileNames, drawing_paths
from structune.cli.streams import open_bytes, open_text, standard_input, write_texts
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
from structune.rna.formats.alignments import read_alignments, stockholm_text
from structune.rna.formats.brackets import STRANDS, bases_of
from structune.rna.formats.pair_tables import write_bpseq, write_ct
from structune.rna.formats.record import RNARecord
from structune.rna.metrics import Judgement, expected_accuracy, partner_entropy, unpaired
from structune.rna.options import ConsensusOptions, Known, Output, Reading, Shape, Source, Wanted, Writing
from structune.rna.structure.rna import OF_KNOTS, OF_SAMPLES, OF_SEVERAL, OF_SUMS, OF_WINDOWS
from structune.running.executors import count_jobs, make_executor
from structune.running.live import live_map
from structune.running.memory import batch_memory

if TYPE_CHECKING:
    from structune.rna.examples import Example
    from structune.rna.folder import RNAFolder
    from structune.rna.formats.record import RNARecord
    from structune.rna.inputs import Structures
    from structune.rna.options import Wanted
    from structune.structure import FloatArray


R = TypeVar("R")


class Choice(NamedTuple):
    """One of the structures of a sequence.

    Attributes
    ----------
    kind : str
        "rank", "sample", or nothing if it is the only one.
    number : int
        From 1.
    probability : float, optional
    """

    structure: str
    kind: str = ""
    number: int = 1
    probability: float | None = None

    @property
    def words(self) -> list[str]:
        """What a header tells of it."""
        told = [self.kind, str(self.number)] if self.kind else []
        return told if self.probability is None else [*told, "probability", f"{self.probability:.6g}"]


@dataclass(frozen=True)
class Choices:
    """Those of a sequence, each made when it is asked for: there may be millions.

    Attributes
    ----------
    structures : sequence of str, or Structures
    kind : str
        Of all of them.
    probabilities : ndarray, shape (n_structures,), optional
    """

    structures: Structures | list[str]
    kind: str = ""
    probabilities: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.structures)

    def __getitem__(self, k: int) -> Choice:
        p = None if self.probabilities is None else float(self.probabilities[k])
        return Choice(self.structures[k], self.kind, k + 1, p)

    def __iter__(self) -> Iterator[Choice]:
        return map(self.__getitem__, range(len(self)))


@dataclass(frozen=True)
class Folded:
    """What was found out about a sequence; None is what was not asked for.

    Attributes
    ----------
    pairs : ndarray or sparse array, shape (n_bases, n_bases), optional
        Probabilities, symmetric.
    windows : ndarray, optional
        Probabilities of windows to be unpaired, by their first base.
    dimer : float, optional
        How probably a pair joins two strands.
    """

    record: RNARecord
    choices: Choices
    pairs: Any = None
    windows: FloatArray | None = None
    log_partition: float | None = None
    dimer: float | None = None


@dataclass(frozen=True)
class Recipe:
    """What is wanted of each sequence."""

    wanted: Wanted
    with_structures: bool = True
    with_pairs: bool = False
    with_log_partition: bool = False
    window: int | None = None
    with_dimers: bool = True

    def fold(self, folder: RNAFolder, batch: list[Example]) -> list[Folded]:
        """Do it."""
        sequences = [example.record.sequence for example in batch]
        constraints = [example.constraints for example in batch]
        choices = self._choices(folder, batch) if self.with_structures else [Choices([]) for _ in batch]
        log_z = folder.log_partition(sequences, constraints).tolist() if self.with_log_partition else None
        folded = []
        for s, example in enumerate(batch):
            given = sequences[s], constraints[s]
            windows = None
            if self.window is not None:
                windows = folder.unpaired_windows(sequences[s], self.window, constraints[s])
            pairs = folder.pair_probabilities(*given) if self.with_pairs else None
            found = Folded(example.record, choices[s], pairs, windows, log_z[s] if log_z else None)
            if self.with_dimers and STRANDS in sequences[s]:
                (dimer,) = folder.dimer_probabilities([sequences[s]], [constraints[s]]).tolist()
                found = replace(found, dimer=dimer)
            folded.append(found)
        return folded

    def memory_of(self, folder: RNAFolder, example: Example) -> float:
        """Bytes that this takes, the table of pairs with it if that is wanted."""
        n_tables, wanted = OF_SUMS, self.wanted
        if self.window is not None:
            n_tables = OF_WINDOWS
        elif self.with_structures:
            if wanted.samples is not None:
                n_tables = OF_SAMPLES
            elif wanted.is_ranked:
                n_tables = OF_SEVERAL
            elif wanted.pseudoknots:
                n_tables = OF_KNOTS
        return folder.memory_of(len(example.record.sequence), n_tables, example.constraints is not None)

    def _choices(self, folder: RNAFolder, batch: list[Example]) -> list[Choices]:
        sequences = [example.record.sequence for example in batch]
        constraints = [example.constraints for example in batch]
        wanted = self.wanted
        if wanted.samples is not None:
            return [self._samples(folder, example, wanted.samples) for example in batch]
        if wanted.is_ranked:
            n = sys.maxsize if wanted.nbest is None else wanted.nbest
            within = math.inf if wanted.within is None else wanted.within
            ranked = folder._ranked(sequences, n, constraints, within)
            return [Choices(structures, "rank", p) for structures, p in ranked]
        if wanted.method == "viterbi":
            return _single(folder.predict_viterbi(sequences, constraints))
        if wanted.method == "centroid":
            threshold = 0.5 if wanted.threshold is None else wanted.threshold
            return _single(folder.predict_centroid(sequences, threshold, constraints))
        if wanted.pseudoknots:
            return _single(folder.predict_knotted(sequences, wanted.gamma, constraints=constraints))
        return _single(folder.predict(sequences, wanted.gamma, constraints, not wanted.no_lonely_pairs))

    def _samples(self, folder: RNAFolder, example: Example, n: int) -> Choices:
        """Drawn by the generator of the example, whatever the batch that it is in."""
        (found,) = folder._drawn([example.record.sequence], n, [example.generator], [example.constraints])
        return Choices(found, "sample")


def _single(structures: list[str]) -> list[Choices]:
    return [Choices([structure]) for structure in structures]


# --- many sequences ---------------------------------------------------------------------------------------

_MOST_BASES = 2000  # short sequences share what a call costs
_MOST_EXAMPLES = 1000
_BASE = 4  # bytes for one of a structure, and for a copy


def in_order(
    examples: Iterable[Example],
    work: Callable[[list[Example]], list[R]],
    n_jobs: int | None,
    n_structures: int = 1,
    needed: Callable[[Example], float] = lambda _: 0.0,
) -> Generator[list[R], None, None]:
    """Results of some examples after the other, each as soon as it is known.

    Parameters
    ----------
    work : callable
        From examples to one result each. None is begun once the iterator is closed.
    n_structures : int
        How many each result may hold.
    needed : callable
        Bytes that an example takes until its result is used: until the next ones are asked for.

    Raises
    ------
    DataError
        Work failed; names the place of the example, after the results of all before it.
    """
    most_bases = min(_MOST_BASES, batch_memory() // (_BASE * n_structures))
    results = live_map(
        examples,
        lambda batch: _attempt(batch, work),
        count_jobs(n_jobs),
        _size,
        most_bases,
        _MOST_EXAMPLES,
        needed,
    )
    with closing(results):
        for done, error in results:
            yield done
            if error is not None:
                raise error


def _size(example: Example) -> int:
    return len(example.record.sequence)


def _attempt(
    batch: list[Example], work: Callable[[list[Example]], list[R]]
) -> tuple[list[R], DataError | None]:
    """Results of all examples, or of those before one that fails, and its error."""
    try:
        return work(batch), None
    except DataError:
        pass  # one of them: which?
    done: list[R] = []
    for example in batch:
        try:
            done += work([example])
        except DataError as error:
            return done, example.refuse(str(error).removeprefix("sequence 0: "))
    return done, None


_HEADINGS = {
    "pairs": "name\ti\tj\tprobability\n",
    "bases": "name\ti\tbase\tunpaired\tentropy\n",
    "windows": "name\ti\tbase\tunpaired\tentropy\twindow\n",
}
_ENDINGS = {"pairs": ".tsv", "bases": ".tsv", "windows": ".tsv"}


# --- text -------------------------------------------------------------------------------------------------


def as_text(folded: Folded, format: str, min_probability: float) -> Iterator[str]:
    """All that is known of a sequence, in a format, some at a time.

    Pairs below `min_probability` are left out.
    """
    if format == "json":
        return _json(_as_dict(folded, min_probability))
    if format == "pairs":
        name = folded.record.name
        return (f"{name}\t{i}\t{j}\t{p:.6g}\n" for i, j, p in _pairs(folded, min_probability))
    if format == "bases":
        return _bases(folded)
    if format == "dbn":
        return (_dot_bracket(folded, choice) for choice in folded.choices)
    write = {"ct": _ct, "bpseq": _bpseq}[format]
    return (write(folded.record, choice) for choice in folded.choices)


def _json(entries: dict[str, Any]) -> Iterator[str]:
    """An object; of iterators a list."""
    for k, (key, value) in enumerate(entries.items()):
        yield f"{', ' if k else '{'}{json.dumps(key)}: "
        if isinstance(value, Iterator):
            yield "["
            yield from (f"{', ' if number else ''}{json.dumps(item)}" for number, item in enumerate(value))
            yield "]"
        else:
            yield json.dumps(value)
    yield "}\n"


def _as_dict(folded: Folded, min_probability: float) -> dict[str, Any]:
    pairs = ([i, j, round(p, 6)] for i, j, p in _pairs(folded, min_probability))
    return {
        "name": folded.record.name,
        "sequence": folded.record.sequence,
        **_structures(folded.choices, folded.pairs),
        "pairs": pairs if folded.pairs is not None else None,
        "log_partition": folded.log_partition,
        **({} if folded.dimer is None else {"dimer_probability": folded.dimer}),
    }


def _expected(structure: str, pairs: Any) -> dict[str, float]:
    """What of a structure is expected to be right, and what of the truth it is expected to have."""
    if pairs is None:
        return {}
    ppv, sensitivity, _ = expected_accuracy(structure, pairs)
    return {"expected_ppv": ppv, "expected_sensitivity": sensitivity}


def _structures(choices: Choices, pairs: Any) -> dict[str, Any]:
    if len(choices) == 1 and not choices[0].kind:
        return {"structure": choices[0].structure, **_expected(choices[0].structure, pairs)}
    return {"structures": map(_shown, choices)}


def _shown(choice: Choice) -> dict[str, Any]:
    probability = {} if choice.probability is None else {"probability": choice.probability}
    return {"structure": choice.structure, choice.kind: choice.number, **probability}


def _pairs(folded: Folded, min_probability: float) -> Iterator[tuple[int, int, float]]:
    """Pairs, from 1, and their probabilities."""
    for i, (columns, values) in enumerate(_rows(folded.pairs), 1):
        shown = (columns >= i) & (values >= min_probability) & (values > 0.0)
        for j, p in zip((columns[shown] + 1).tolist(), values[shown].tolist(), strict=True):
            yield i, j, p


def _rows(table: Any) -> Iterator[tuple[Any, Any]]:
    """Columns and values of each row of a table, dense or sparse; none without."""
    if isinstance(table, np.ndarray):
        yield from ((np.arange(len(table)), row) for row in table)
    elif table is not None:
        table.sort_indices()
        for a, b in pairwise(table.indptr.tolist()):
            yield table.indices[a:b], table.data[a:b]


def _bases(folded: Folded) -> Iterator[str]:
    record, pairs = folded.record, folded.pairs
    if pairs is None:
        return
    columns = [unpaired(pairs), partner_entropy(pairs)]
    if folded.windows is not None:
        beyond = len(record.sequence) - folded.windows.size
        columns.append(np.append(folded.windows, np.full(beyond, np.nan)))
    rows = zip(
        bases_of(record.sequence),
        *([f"{x:.6g}" for x in column] for column in columns),
        strict=True,
    )
    yield from ("\t".join([record.name, str(i), *row]) + "\n" for i, row in enumerate(rows, 1))


def _dot_bracket(folded: Folded, choice: Choice) -> str:
    record, words = folded.record, choice.words
    if folded.dimer is not None:
        words += ["dimer", f"{folded.dimer:.6g}"]
    header = " ".join([record.name, *words, record.description]).rstrip()
    return f">{header}\n{record.sequence}\n{choice.structure}\n"


def _ct(record: RNARecord, choice: Choice) -> str:
    return _written(write_ct, record, choice)


def _bpseq(record: RNARecord, choice: Choice) -> str:
    return _written(write_bpseq, record, choice)


def _written(write: Callable[..., None], record: RNARecord, choice: Choice) -> str:
    name = "_".join([record.name, *choice.words])
    text = io.StringIO()
    write(text, [RNARecord(name, record.sequence, choice.structure)])
    return text.getvalue()


# --- files ------------------------------------------------------------------------------------------------


class _Target(Protocol):
    """Where the text of each sequence goes."""

    def write(self, name: str, text: Iterable[str]) -> None: ...

    def flush(self) -> None: ...


class _Stream:
    def __init__(self, file: IO[bytes], heading: str) -> None:
        self._file, self._heading = file, heading

    def write(self, name: str, text: Iterable[str]) -> None:
        write_texts(self._file, chain([self._heading], text))
        self._heading = ""

    def flush(self) -> None:
        self._file.flush()


class _Folder:
    def __init__(self, folder: Path, heading: str, ending: str) -> None:
        self._folder, self._heading, self._ending = folder, heading, ending
        self._names = FileNames()

    def write(self, name: str, text: Iterable[str]) -> None:
        path = self._folder / f"{self._names(name)}{self._ending}"
        with path.open("xb") as file:  # the folder may hold what was read, or other results
            write_texts(file, chain([self._heading], text))

    def flush(self) -> None:
        pass


@contextmanager
def open_output(output: str, format: str) -> Iterator[_Target]:
    """Standard output, a file, or a folder that exists."""
    heading, ending = _HEADINGS.get(format, ""), _ENDINGS.get(format, f".{format}")
    if output != "-" and Path(output).is_dir():
        yield _Folder(Path(output), heading, ending)
    else:
        with open_bytes(output) as file:
            yield _Stream(file, heading)


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
