"""RNA sequences as the command line reads them, with what is known of them, and their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from structune.cli.files import standard_input
from structune.cli.terminal import say
from structune.errors import DataError
from structune.files.models import check_class, load
from structune.files.text import Lines, Source, header_description, header_name, shown, some_of, source_name
from structune.rna.folder import RNAFolder
from structune.rna.formats.any import files_of, read_rna
from structune.rna.formats.constraint_lines import end_in_constraints
from structune.rna.formats.dot_bracket import without_energy
from structune.rna.formats.reactivities import Reactivities, check_letters, read_reactivities
from structune.rna.formats.record import RNARecord, clean_strands
from structune.rna.formats.strands import STRANDS
from structune.rna.inputs import Draws
from structune.rna.probing import ReactivityModel, deigan_log_odds
from structune.rna.structure.constraints import NOTATION, Constraints, as_constraints

_MARKS, _UPPER_MARKS = set(NOTATION + STRANDS), frozenset("X" + STRANDS)
_MOST_NAMED = 3  # files
_MOST_NAMED_SEQUENCES = 5
PRETRAINED = "pretrained"  # in place of a model file: what comes with structune
_UPPER = (
    "found X alone below a sequence of its length: write constraints in lower case, and unknown bases as N"
)


@dataclass(frozen=True)
class Example:
    """A record of a file.

    Attributes
    ----------
    index : int
        Among those of the input, from 0.
    place : str
        The file, and the line where it is known.
    constraints : str or Constraints, optional
    generator : numpy.random.Generator, optional
        Of its samples.
    """

    index: int
    record: RNARecord
    place: str
    constraints: Constraints | str | None = None
    generator: Any = None

    def refuse(self, message: str) -> DataError:
        """The error of this record."""
        return DataError(f"{self.called}: {message}")

    @property
    def called(self) -> str:
        """Where it is, and its name."""
        return f"{self.place}: record {shown(self.record.name)}"

    @property
    def structure(self) -> str:
        """The structure, which there must be."""
        if self.record.structure is None:
            raise self.refuse("found no structure, expected one")
        return self.record.structure


def open_folder(model: str, contrafold: Path | None = None, **settings: Any) -> RNAFolder:
    """A model file, the model that comes with structune, or CONTRAfold's parameters; for one thread.

    With these parameters in place of its own.
    """
    if contrafold is not None:
        return RNAFolder.from_contrafold(contrafold, n_jobs=1, **settings)
    folder = RNAFolder.pretrained() if model == PRETRAINED else load(model)
    return check_class(folder, RNAFolder, model, "one for RNA").set_params(n_jobs=1, **settings)


def read_with_structures(paths: Iterable[Source], format: str | None = None) -> list[Example]:
    """All records of files and folders; each has a structure."""
    return list(stream_with_structures(list(paths), format))


def stream_with_structures(paths: Sequence[Source], format: str | None = None) -> Iterator[Example]:
    """The same, one at a time."""
    index = -1
    for index, example in enumerate(_of_all(paths, lambda file: _records(file, format))):
        _ = example.structure
        yield replace(example, index=index)
    if index < 0:
        raise DataError(f"{', '.join(map(str, paths))}: found no sequences")


def _records(source: Source, format: str | None, **options: Any) -> Iterator[Example]:
    return (Example(0, record, source_name(source)) for record in read_rna(source, format, **options))


def _of_all(sources: Iterable[Source], read: Callable[[Source], Iterator[Example]]) -> Iterator[Example]:
    """What is read of several files and folders; tells which have nothing, if others have some."""
    empty, is_any = list[str](), False
    for source in chain.from_iterable(map(files_of, sources)):
        example = None
        for example in read(source):
            yield example
        is_any = is_any or example is not None
        empty += [source_name(source)] if example is None else []
    for name in empty if is_any else ():
        say(f"{name}: found no sequences")


def read_sequences(
    files: Sequence[str], below: str = "", skip: bool = False, format: str | None = None
) -> Iterator[Example]:
    """Records of files, or of standard input, one at a time, numbered over all.

    Parameters
    ----------
    below : {"", "constraints", "structures"}
        What stands below sequences, and is wanted; structures that are not are counted and told at the end.
    skip : bool
        Whether records that cannot be read are left out, and told of.
    format : str, optional
        As of `read_rna`.
    """
    skipped = (lambda error: say(f"skipped {error}")) if skip else None
    unused, empty = Counter[str](), Counter[str]()  # structures, and records without bases, by the file

    def read(source: Source) -> Iterator[Example]:
        if below == "constraints":
            yield from _constrained(source)
            return
        name = source_name(source)
        tell = partial(unused.update, [name])
        for example in _records(source, format, live=not below, skipped=skipped, unused=tell):
            if not below and example.record.structure is not None:
                tell()
            if not example.record.sequence:
                empty.update([name])
            yield example

    sources = (standard_input() if file == "-" else file for file in files)
    for index, example in enumerate(_of_all(sources, read)):
        yield replace(example, index=index)
    if empty:
        say(f"{some_of([*empty], _MOST_NAMED)}: sequences without bases: {empty.total():,}")
    if unused:
        say(
            f"{some_of([*unused], _MOST_NAMED)}: {unused.total():,} known structures are not used: "
            "structune score judges them, and with --constraints those of dot-bracket files hold"
        )


def _constrained(source: Source) -> Iterator[Example]:
    lines = Lines(source)
    with lines.told_by_look(("FASTA", "dot-bracket"), "constraints stand below sequences of FASTA"):
        yield from _read_constrained(lines)


def with_generators(examples: Iterable[Example], seed: int) -> Iterator[Example]:
    """The same, to be sampled from, with the draws that `RNAFolder.sample` has for this seed."""
    draws = Draws(seed)
    return (replace(example, generator=draws.of(example.record.sequence)) for example in examples)


def between_strands(examples: Iterable[Example]) -> Iterator[Example]:
    """The same, with pairs between two strands only."""
    for example in examples:
        known = as_constraints(example.constraints) or Constraints()
        yield replace(example, constraints=replace(known, between=True))


def with_bases(examples: Iterable[Example], option: str) -> Iterator[Example]:
    """The same; an option needs a base at least."""
    for example in examples:
        if not example.record.sequence:
            raise example.refuse(f"found an empty sequence, expected at least one base with {option}")
        yield example


def of_one_strand(examples: Iterable[Example], format: str) -> Iterator[Example]:
    """The same; a format has no more than one."""
    for example in examples:
        if STRANDS in example.record.sequence:
            raise example.refuse(f"found two strands, expected one for the format {format}")
        yield example


# --- reactivities -------------------------------------------------------------------------------------------


def with_reactivities(examples: Iterator[Example], path: Path, method: str) -> Iterator[Example]:
    """The same examples with their reactivities, found by name; tells which have none."""
    known, table = read_reactivities(path), None
    if method != "deigan":
        table = ReactivityModel.pretrained()
    if "" not in known:
        yield from _by_name(examples, path, known, table)
        return
    for example in examples:  # a table has no name, and is that of the one sequence
        if example.index:
            raise DataError(
                f"{path}: found reactivities without a name, expected lines '>name' with several sequences"
            )
        yield _probed(example, known[""], table, path)


def _by_name(
    examples: Iterator[Example],
    path: Path,
    known: dict[str, Reactivities],
    table: ReactivityModel | None,
) -> Iterator[Example]:
    unused, without = {name for name, values in known.items() if values.size}, list[str]()
    for example in examples:
        name = example.record.name
        values = known.get(name)
        if values is None or not values.size:
            without.append(name)
            yield example
            continue
        unused.discard(name)
        yield _probed(example, values, table, path)
    if without:
        say(f"{path}: found no reactivities for {len(without):,} of the sequences: {_some(without)}")
    if unused:
        say(f"{path}: did not use the rows of {len(unused):,} other sequences: {_some(unused)}")


def _some(names: Collection[str]) -> str:
    return some_of([shown(name) for name in sorted(names)], _MOST_NAMED_SEQUENCES)


def _probed(example: Example, values: Reactivities, table: ReactivityModel | None, path: Path) -> Example:
    sequence = example.record.sequence
    n = example.record.n_bases
    if values.size > n:
        raise example.refuse(f"found {values.size} reactivities for {n} bases")
    try:
        check_letters(sequence, values)
    except DataError as error:
        raise example.refuse(f"{path}: {error}") from None
    if values.size < n:
        say(f"{path}: found {values.size} reactivities of {shown(example.record.name)}, which has {n} bases")
    row = np.full(n, np.nan)
    row[: values.size] = values
    paired = deigan_log_odds(row) if table is None else table.paired(sequence, row)
    notation = example.constraints if isinstance(example.constraints, str) else ""
    return replace(example, constraints=Constraints(notation, paired=paired))


# --- families ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Families:
    """The family of each name, from a file of both."""

    path: Path
    by_name: Mapping[str, str]

    def of(self, examples: Sequence[Example]) -> list[str]:
        """The family of each example."""
        for example in examples:
            name = example.record.name
            if name not in self.by_name:
                raise DataError(f"{self.path}: found no family of {shown(name)} in {example.place}")
        return [self.by_name[example.record.name] for example in examples]


def read_families(path: Path) -> Families:
    """Read a file of names and families, with tabs between."""
    families: dict[str, str] = {}
    lines = Lines(path)
    for number, text in lines.filled():
        words = [word.strip() for word in text.split("\t")]
        if len(words) != 2 or not all(words):
            raise lines.refuse(
                number, f"found {shown(text)}, expected a name and a family, with a tab between"
            )
        if families.setdefault(words[0], words[1]) != words[1]:
            raise lines.refuse(number, f"found a second family of {shown(words[0])}")
    return Families(path, families)


@dataclass
class _Entry:
    """The lines of one record: its header if it has one, its sequence, its constraints."""

    number: int
    name: str
    description: str
    has_header: bool
    sequence: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    constraints_number: int = 0
    last_number: int = 0

    def ends_before(self, text: str) -> bool:
        """Whether a line is the sequence of the next record: without a header they are a line each."""
        return not self.has_header and not _is_notation(text)

    def is_complete(self) -> bool:
        return bool(self.constraints) and sum(map(len, self.constraints)) == sum(map(len, self.sequence))

    def add(self, lines: Lines, number: int, text: str) -> None:
        if self.sequence and _is_notation(text):
            self.constraints_number = self.constraints_number or number
            self.constraints.append(without_energy(lines, number, text))
        elif self.constraints:
            raise lines.refuse(number, f"found {shown(text)}, expected a header '>name'")
        else:
            self.sequence.append(self._bases(lines, number, text))
            self.last_number = number

    def _bases(self, lines: Lines, number: int, text: str) -> str:
        try:
            return clean_strands(text)
        except DataError as error:
            if not self.sequence or text.isalpha():
                raise lines.refuse(number, str(error)) from error
            expected = f"bases, or constraints of {NOTATION}"
            raise lines.refuse(number, f"found {shown(text)}, expected {expected}") from error

    def is_marked_by(self, text: str) -> bool:
        """Whether a line below a whole sequence, with its length, has X alone."""
        return end_in_constraints([*self.sequence, text.upper()], _UPPER_MARKS)

    def example(self, lines: Lines) -> Example:
        if not self.constraints and end_in_constraints(self.sequence, _UPPER_MARKS):
            raise lines.refuse(self.last_number, _UPPER)
        with lines.at(self.number):
            record = RNARecord(self.name, "".join(self.sequence), description=self.description)
        place = f"{lines.name}:{self.constraints_number or self.number}"
        return Example(0, record, place, "".join(self.constraints) or None)


def _is_notation(text: str) -> bool:
    return set(text.split(maxsplit=1)[0]) <= _MARKS


def _read_constrained(lines: Lines) -> Iterator[Example]:
    entry, count, headers = None, 0, False
    for number, text in lines.filled():
        if text.startswith("#"):
            continue
        header = text.startswith(">")
        if entry is not None and (header or entry.ends_before(text)):
            if not (header or entry.has_header) and entry.is_marked_by(text):
                raise lines.refuse(number, _UPPER)
            yield entry.example(lines)
            entry = None
        if entry is None:
            if headers and not header:
                raise lines.refuse(number, f"found {shown(text)}, expected a header '>name'")
            count, headers = count + 1, header
            told = text if header else ">"
            entry = _Entry(number, header_name(told, count), header_description(told), header)
        if not header:
            entry.add(lines, number, text)
        if entry.is_complete():  # at once: who writes to a pipe may wait for what becomes of it
            yield entry.example(lines)
            entry = None
    if entry is not None:
        yield entry.example(lines)
