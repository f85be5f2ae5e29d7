"""RNA sequences as the command line reads them, with their constraints, reactivities and place in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from structune.cli.files import standard_input
from structune.cli.terminal import say
from structune.errors import DataError
from structune.files.text import Lines, Source, plural, shown, some_of, source_name
from structune.rna.formats.any import files_of, read_rna
from structune.rna.formats.brackets import STRANDS
from structune.rna.formats.commands import read_commands
from structune.rna.formats.sequences import Entry, RNALines, RNARecord, end_in_constraints, scan
from structune.rna.probing import ReactivityModel, check_letters, deigan_log_odds, read_reactivities
from structune.rna.structure.constraints import NOTATION, Constraints
from structune.rna.structure.rna import RNA
from structune.running.executors import count_jobs
from structune.running.memory import batch_memory, live_map

R = TypeVar("R")
T = TypeVar("T")
_MARKS, _UPPER_MARKS = set(NOTATION + STRANDS), frozenset("X" + STRANDS)
_MOST_NAMED, _MOST_NAMED_SEQUENCES = 3, 5  # files, and sequences
_UPPER = "a line of X as long as the sequence above. Write constraints in lower case, or unknown bases as N"


@dataclass(frozen=True)
class Example:
    record: RNARecord
    place: str  # the file, and the line where it is known
    constraints: Constraints | str | None = None
    generator: Any = None  # of its samples

    def refuse(self, message: str) -> DataError:
        return DataError(f"{self.called}: {message}")

    @property
    def called(self) -> str:
        return f"{self.place}: record {shown(self.record.name)}"

    @property
    def structure(self) -> str:
        """The structure, which there must be."""
        if self.record.structure is None:
            raise self.refuse("no structure; each sequence needs one")
        return self.record.structure


def read_with_structures(paths: Sequence[Source], format: str | None = None) -> Iterator[Example]:
    """The records of files and folders, one at a time; each has a structure, and there is one at least."""
    example = None
    for example in _of_all(paths, partial(_records, format=format)):
        _ = example.structure
        yield example
    if example is None:
        raise DataError(f"{', '.join(map(str, paths))}: no sequences")


def _records(source: Source, **options: Any) -> Iterator[Example]:
    return (Example(record, source_name(source)) for record in read_rna(source, **options))


def _of_all(sources: Iterable[Source], read: Callable[[Source], Iterator[Example]]) -> Iterator[Example]:
    """Read several files and folders; report those without sequences, if others have some."""
    empty, is_any = list[str](), False
    for source in chain.from_iterable(map(files_of, sources)):
        example = None
        for example in read(source):
            yield example
        is_any = is_any or example is not None
        empty += [source_name(source)] if example is None else []
    for name in empty if is_any else ():
        say(f"{name}: the file has no sequences")


def read_sequences(
    files: Sequence[str], below: str = "", skip: bool = False, format: str | None = None
) -> Iterator[Example]:
    """Records of files, or of standard input, one at a time.

    `below` is what to read from the lines below sequences: "" for nothing, "constraints" or "structures". The
    number of ignored structures is reported at the end. With `skip`, unreadable records are reported.
    """
    skipped = (lambda error: say(f"skipped {error}")) if skip else None
    unused, empty = Counter[str](), Counter[str]()  # structures, and records without bases, by the file

    def read(source: Source) -> Iterator[Example]:
        if below == "constraints":
            lines = RNALines(source)
            with lines.told_by_look(("FASTA", "dot-bracket"), "constraints stand below sequences of FASTA"):
                yield from (entry.example() for entry in scan(lines, _Constrained) if entry.is_whole)
            lines.tell()
            return
        name = source_name(source)
        tell = partial(unused.update, [name])
        for example in _records(source, format=format, live=not below, skipped=skipped, unused=tell):
            if not below and example.record.structure is not None:
                tell()
            if not example.record.sequence:
                empty.update([name])
            yield example

    sources = (standard_input() if file == "-" else file for file in files)
    yield from _of_all(sources, read)
    if empty:
        told = f"{plural(empty.total(), 'empty sequence')}, with empty structures"
        say(f"{some_of([*empty], _MOST_NAMED)}: {told}")
    if unused:
        told = f"{some_of([*unused], _MOST_NAMED)}: ignored {plural(unused.total(), 'known structure')}"
        advice = "Score them with structune score, or enforce those of dot-bracket files with --constraints"
        say(f"{told}. {advice}")


# --- constraints and reactivities in files of their own -----------------------------------------------------


def _matched(
    examples: Iterator[Example], path: Path, known: Mapping[str, T], what: str
) -> Iterator[tuple[Example, T | None]]:
    """Yield each example with what a file says of its name; report names without a match at the end."""
    unused, without = set(known) - {""}, list[str]()
    for index, example in enumerate(examples):
        name = "" if "" in known else example.record.name  # a file without names is of the one sequence
        if not name and index:
            expected = f"for several sequences, put a line '>name' above the {what} of each"
            raise DataError(f"{path}: {what} without a name; {expected}")
        unused.discard(name)
        if name not in known:
            without.append(name)
        yield example, known.get(name)
    for told, names in (
        (f"folded {plural(len(without), 'sequence')} without {what}", without),
        (f"ignored the {what} of {plural(len(unused), 'name')} that no sequence has", unused),
    ):
        if names:
            say(f"{path}: {told}: {some_of([*map(shown, sorted(names))], _MOST_NAMED_SEQUENCES)}")


def with_commands(examples: Iterator[Example], path: Path, rna: RNA) -> Iterator[Example]:
    """Yield the same examples with constraints of a file of commands, beside those that they have."""
    for example, commands in _matched(examples, path, read_commands(path), "commands"):
        if commands is None:
            yield example
            continue
        try:
            known = commands.constraints(example.record.sequence, example.constraints, rna)
        except DataError as error:
            raise example.refuse(str(error)) from None
        yield replace(example, constraints=known)


def with_reactivities(examples: Iterator[Example], path: Path, method: str) -> Iterator[Example]:
    """Yield the same examples with their reactivities, matched by name; report names without a match."""
    table = None if method == "deigan" else ReactivityModel.pretrained()
    known = {name: values for name, values in read_reactivities(path).items() if not name or values.size}
    for example, values in _matched(examples, path, known, "reactivities"):
        if values is None:
            yield example
            continue
        record, n = example.record, example.record.n_bases
        if values.size > n:
            raise example.refuse(
                f"{plural(values.size, 'reactivity', 'reactivities')} in {path}, but only {plural(n, 'base')}"
            )
        try:
            check_letters(record.sequence, values)
        except DataError as error:
            raise example.refuse(f"{path}: {error}") from None
        if values.size < n:
            say(
                f"{path}: {shown(record.name)} has "
                f"{plural(values.size, 'reactivity', 'reactivities')} for {plural(n, 'base')}; "
                "the last bases count as not measured"
            )
        row = np.full(n, np.nan)
        row[: values.size] = values
        paired = deigan_log_odds(row) if table is None else table.paired(record.sequence, row)
        notation = example.constraints if isinstance(example.constraints, str) else ""
        yield replace(example, constraints=Constraints(notation, paired=paired))


# --- families ---------------------------------------------------------------------------------------------


def read_families(path: Path) -> Callable[[Sequence[Example]], list[str]]:
    """Read a file of names and families, with tabs between; gives a function from examples to families."""
    families, lines = dict[str, str](), Lines(path)
    for number, text in lines.filled():
        words = [word.strip() for word in text.split("\t")]
        if len(words) != 2 or not all(words):
            raise lines.refuse(number, f"{shown(text)} is not a name and a family separated by a tab")
        if families.setdefault(words[0], words[1]) != words[1]:
            raise lines.refuse(number, f"{shown(words[0])} already has another family")

    def families_of(examples: Sequence[Example]) -> list[str]:
        for example in examples:
            if (name := example.record.name) not in families:
                raise DataError(f"{path}: no family for sequence {shown(name)} of {example.place}")
        return [families[example.record.name] for example in examples]

    return families_of


# --- constraints --------------------------------------------------------------------------------------------


class _Constrained(Entry):
    """A record with constraints in place of its structure."""

    passed_over = ""
    last_number = 0  # of its bases

    def ends_before(self, number: int, text: str) -> bool:
        ends = self.is_line and not _MARKS.issuperset(text.split(maxsplit=1)[0])
        if ends and end_in_constraints([*self.sequence, text.upper()], _UPPER_MARKS):
            raise self.lines.refuse(number, _UPPER)
        return ends

    def add(self, number: int, text: str) -> None:
        is_constraint = bool(self.sequence) and _MARKS.issuperset(text.split(maxsplit=1)[0])
        if self.lacks_header or (self.structure and not is_constraint):
            raise self.lines.refuse(number, f"expected a header '>name', not {shown(text)}")
        if is_constraint:
            self.add_structure(number, text)
            return
        try:
            self.add_bases(number, text)
        except DataError as error:
            if not self.sequence or text.isalpha():
                raise
            expected = f"neither bases nor constraints ({NOTATION})"
            raise self.lines.refuse(number, f"{shown(text)} is {expected}") from error
        self.last_number = number

    def example(self) -> Example:
        if not self.structure and end_in_constraints(self.sequence, _UPPER_MARKS):
            raise self.lines.refuse(self.last_number, _UPPER)
        bases = self.bases
        with self.lines.at(self.number):
            record = RNARecord(self.name, bases, description=self.description)
        place = f"{self.lines.name}:{self.structure_number or self.number}"
        return Example(record, place, "".join(self.structure) or None)


# --- many sequences -----------------------------------------------------------------------------------------

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
    """Results of some examples after the other, as soon as they are known.

    Work gives one result for each example, of at most `n_structures`; none is begun once the iterator is
    closed. `needed` are bytes that an example takes until the next results are asked for. An error of work
    names the place of its example, and comes after the results of all before it.
    """

    def attempt(batch: list[Example]) -> tuple[list[R], DataError | None]:
        """Results of all examples, or of those before one that fails, and its error."""
        with suppress(DataError):  # of one of them: which?
            return work(batch), None
        # Once more one by one, up to the one that fails: all before it are written.
        done: list[R] = []
        for example in batch:
            try:
                done += work([example])
            except DataError as error:
                return done, example.refuse(str(error).removeprefix("sequence 0: "))
        return done, None

    # Batches hold fewer sequences where each has many structures, so that results fit into memory.
    most_bases = min(_MOST_BASES, batch_memory() // (_BASE * n_structures))
    limits = (lambda each: len(each.record.sequence)), most_bases, _MOST_EXAMPLES
    with closing(live_map(examples, attempt, count_jobs(n_jobs), *limits, needed)) as results:
        for done, error in results:
            yield done
            if error is not None:
                raise error
