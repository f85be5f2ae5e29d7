"""What lies between column files and taggers: the names of columns, and the templates that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from structune.errors import DataError, ModelFileError, warn
from structune.running.memory import batch_memory
from structune.structure import place_of
from structune.tagging.column_look import AUTO, TAB, Layout
from structune.tagging.conll import ALL, ColumnLines, ConllData, data_blocks, numbers_tokens
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.features.templates import (
    Template,
    extract,
    parse_templates,
    symbol_templates,
    text_templates,
)

if TYPE_CHECKING:
    from structune.tagging.options import Format, Learning

TOKEN = 4000  # bytes for the columns and attributes of one


@dataclass(frozen=True)
class Reader:
    """Reads column files as one model sees them."""

    columns: tuple[str, ...]  # the label's is the last
    templates: tuple[str, ...]
    # of the training data: a look at other files might find others
    separator: str | None = None
    comment: str | None = None

    @classmethod
    def of_header(cls, header: Any, path: Any) -> Self:
        """The reader that `header` of a model's file, or of a folder of shards, tells of."""
        try:
            columns = tuple(header["columns"])
            templates = tuple(map(str, parse_templates(header["templates"])))
            told = [header.get(name) for name in ("separator", "comment")]
            if not all(isinstance(text, str | None) for text in told):
                raise TypeError
        except (KeyError, TypeError, AttributeError, DataError):
            raise ModelFileError(
                f"{path}: found no columns and templates, expected what structune train, tune or shard wrote"
            ) from None
        return cls(columns, templates, *told)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns before the label."""
        return self.columns[:-1]

    def attributes(self, data: ConllData) -> AttributeTable:
        """What the templates give on the input columns: the label's cannot be a feature."""
        return extract(self.templates, {name: data.columns[name] for name in self.inputs}, data.lengths)

    def labels(self, data: ConllData) -> list[list[str]]:
        """The labels of each sentence."""
        found = data.columns[self.columns[-1]]
        if "" in found:
            sentence, token = place_of(found.index(""), data.lengths)
            raise DataError(
                f"{data.place(sentence, token)}: the label is empty. Give each token a label, or name the "
                "columns with --columns, the label's last"
            )
        return data.sentences(self.columns[-1])

    def read_labelled(self, source: Any, reading: Format) -> Iterator[ConllData]:
        """A file with a label column, some sentences at a time."""
        read = self._open(source, self.columns, reading)
        _places(self.columns, read)  # or an error
        return self._told(data_blocks(read, _n_lines(TOKEN)), read)

    def read_inputs(self, source: Any, reading: Format, token: int = TOKEN) -> Iterator[ConllData]:
        """A file with all its columns, among them the model's inputs; each token takes so many bytes."""
        read = self._open(source, None, reading)
        return self._told(self._renamed(read, _n_lines(token)), read)

    def _told(self, blocks: Iterable[ConllData], read: ColumnLines) -> Iterator[ConllData]:
        """The same blocks, and warnings of empty values, and of a file with more columns than the model."""
        yield from _told_empty(blocks, self.inputs)
        if not read.layout.names and read.n_columns > len(self.columns):
            warn(
                f"{read.name}: found {read.n_columns} columns: the first {len(self.columns)} are read as "
                f"{', '.join(self.columns)}, as in training, and the others are not used"
            )

    def _renamed(self, read: ColumnLines, n_lines: int) -> Iterator[ConllData]:
        names = self.inputs
        for data in data_blocks(read, n_lines):
            found = list(data.columns.values())
            if len(found) < len(names):
                raise DataError(
                    f"{read.name}: found {len(found)} columns, expected at least {len(names)} "
                    f"({', '.join(names)})"
                )
            called = dict(zip(_places(names, read), names, strict=True))
            renamed = {called.get(k, f"[{k}]"): values for k, values in enumerate(found)}
            yield replace(data, columns=renamed)

    def _open(self, source: Any, columns: Sequence[str] | None, reading: Format) -> ColumnLines:
        comment = self.comment if reading.comment is None else reading.comment
        read = _open(source, columns, reading.separator, comment, self.separator)
        read.tells_comments = reading.comment is None and bool(comment)
        read.tell_numbers(self.columns[0], f"Make a file of the model's columns, {', '.join(self.columns)}")
        return read

    def header(self) -> dict[str, Any]:
        """What to keep in the model's file."""
        found = {"columns": list(self.columns), "templates": list(self.templates)}
        told = {"separator": self.separator, "comment": self.comment}
        return found | {name: value for name, value in told.items() if value is not None}


def read_training(
    paths: Sequence[Any], learning: Learning, n_lines: int = ALL
) -> tuple[Reader, Iterator[ConllData], Callable[[], Iterator[ConllData]]]:
    """A reader, and the blocks of sentences of all files; and these once more, without warnings."""
    reader, blocks, layout = _open_training(paths[0], learning, n_lines)
    layouts = [layout]

    def all_blocks() -> Iterator[ConllData]:
        yield from blocks
        for path in paths[1:]:
            other, more, layout = _open_training(path, learning, n_lines)
            layouts.append(layout)
            if other.columns != reader.columns:
                raise DataError(
                    f"{path} has the columns {', '.join(other.columns)}, but {paths[0]} has "
                    f"{', '.join(reader.columns)}. Name the columns to read with --columns"
                )
            yield from more

    def again() -> Iterator[ConllData]:
        for path, layout in zip(paths, layouts, strict=True):
            yield from data_blocks(ColumnLines(path, reader.columns, layout=layout), n_lines)

    return reader, all_blocks(), again


def _open_training(path: Any, learning: Learning, n_lines: int) -> tuple[Reader, Iterator[ConllData], Layout]:
    """A reader for a file, its sentences block by block, and how they are laid out."""
    given = None if learning.columns is None else [name.strip() for name in learning.columns.split(",")]
    read = _open(path, given, learning.separator, learning.comment)
    # CoNLL-U has ten columns of which a tagger needs two: words, and the universal parts of speech.
    if given is None and read.layout.names:
        label = "upos" if "upos" in read.layout.names else read.layout.names[-1]
        read.columns = ["form", label] if "form" in read.layout.names else None
        if read.columns is not None:
            warn(f"{path}: the columns form and {label} are read; --columns names others, the label's last")
    read.tell_numbers(read.columns[0] if read.columns else "w", "Name it id with --columns")
    blocks = data_blocks(read, n_lines)
    first = next(blocks)
    is_named = given is not None or read.layout.names
    n = len(first.columns)
    names = read.columns if is_named else None
    names = names or [*("w", "pos", *(f"c{k}" for k in range(2, n)))[: n - 1], "y"]
    if len(names) < 2:
        raise DataError(f"{path}: found {len(names)} column, expected at least 2, the last with labels")
    inputs = dict(zip(names[:-1], first.columns.values(), strict=False))  # the label is left out
    templates = parse_templates(learning.templates) if learning.templates else default_templates(inputs)
    # A later file may have no value with a space, by which a look would tell tabs: the model keeps the
    # answer.
    kept = TAB if first.separator == TAB and not read.layout.names else read.layout.kept
    reader = Reader(tuple(names), tuple(map(str, templates)), kept, learning.comment)
    named = (
        replace(data, columns=dict(zip(names, data.columns.values(), strict=True)))
        for data in chain([first], blocks)
    )
    return reader, _told_empty(named, reader.inputs), read.layout


def _open(
    source: Any,
    columns: Sequence[str] | None,
    separator: str | None,
    comment: str | None,
    preferred: str | None = None,
) -> ColumnLines:
    separator, comment = (AUTO if given is None else given for given in (separator, comment))
    return ColumnLines(source, columns, separator, comment, preferred)


def _n_lines(token: int) -> int:
    """How many tokens, of so many bytes each, are worked on at once."""
    return max(1, batch_memory() // token)


def _told_empty(blocks: Iterable[ConllData], names: Sequence[str]) -> Iterator[ConllData]:
    """The same blocks, and a warning of empty values after them."""
    counts = dict.fromkeys(names, 0)
    name = ""
    for data in blocks:
        name = data.name
        for column in names:
            counts[column] += data.columns[column].count("")
        yield data
    found = [f"{n:,} in the column {column}" for column, n in counts.items() if n]
    if found:
        warn(f"{name}: empty values are features, too: {', '.join(found)}")


def _places(inputs: Sequence[str], read: ColumnLines) -> list[int]:
    """Where a file has the model's input columns."""
    names = read.layout.names
    if names and set(inputs) <= set(names):
        return [names.index(name) for name in inputs]
    if not names or numbers_tokens(inputs[0]):
        return list(range(len(inputs)))
    if len(inputs) > 1 or "form" not in names:
        raise DataError(
            f"{read.name}: found CoNLL-U, and a model of the columns {', '.join(inputs)}, which are not "
            f"among {', '.join(names)}. Make a file of the model's columns"
        )
    return [names.index("form")]


def default_templates(inputs: Mapping[str, Sequence[str]]) -> list[Template]:
    """Those of text, or of symbols where the first column, as far as it was read, has single letters only."""
    word, *tags = inputs
    letters = all(len(value) <= 1 for value in set(inputs[word]))
    return symbol_templates(word, tags) if letters else text_templates(word, tags)
