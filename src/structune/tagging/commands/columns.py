"""What lies between column files and taggers: the names of columns, and the templates that read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from structune.errors import DataError, ModelFileError
from structune.files.models import check_class
from structune.running.memory import batch_memory
from structune.tagging.commands.options import Features
from structune.tagging.conll import ConllData, read_conll, read_conll_blocks
from structune.tagging.crfsuite import load_either
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.features.default_templates import symbol_templates, text_templates
from structune.tagging.features.templates import Template, extract, parse_templates
from structune.tagging.tagger import SequenceTagger

TOKEN = 4000  # bytes for the columns and attributes of one


def _n_lines(token: int) -> int:
    """How many tokens, of so many bytes each, are worked on at once."""
    return max(1, batch_memory() // token)


@dataclass(frozen=True)
class Reader:
    """Reads column files as one model sees them.

    Attributes
    ----------
    columns : tuple of str
        The label's is the last.
    templates : tuple of str
    """

    columns: tuple[str, ...]
    templates: tuple[str, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns before the label."""
        return self.columns[:-1]

    def attributes(self, data: ConllData) -> AttributeTable:
        """What the templates give on the input columns: the label's cannot be a feature."""
        return extract(self.templates, {name: data.columns[name] for name in self.inputs}, data.lengths)

    def labels(self, data: ConllData) -> list[list[str]]:
        """The labels of each sentence."""
        return data.sentences(self.columns[-1])

    def named(self, data: ConllData) -> ConllData:
        """The data with the model's names of columns."""
        return ConllData(dict(zip(self.columns, data.columns.values(), strict=True)), data.lengths)

    def read_labelled(self, path: Path, token: int = TOKEN) -> Iterator[ConllData]:
        """A file with a label column, blocks of sentences whose tokens take so many bytes each."""
        return read_conll_blocks(path, self.columns, n_lines=_n_lines(token))

    def read_inputs(self, source: Any, token: int = TOKEN) -> Iterator[ConllData]:
        """A file with all its columns, of which the first are the model's inputs, in such blocks."""
        names = self.inputs
        for data in read_conll_blocks(source, None, n_lines=_n_lines(token)):
            found = list(data.columns)
            if len(found) < len(names):
                name = getattr(source, "name", source)
                raise DataError(
                    f"{name}: found {len(found)} columns, expected at least {len(names)} ({', '.join(names)})"
                )
            renamed = [*names, *(f"[{k}]" for k in range(len(names), len(found)))]
            yield ConllData(dict(zip(renamed, data.columns.values(), strict=True)), data.lengths)

    def header(self) -> dict[str, Any]:
        """What to keep in the model's file."""
        return {"columns": list(self.columns), "templates": list(self.templates)}


def open_training(path: Path, features: Features) -> tuple[Reader, ConllData]:
    """The training data, and a reader for more like it."""
    names = _given_names(features.columns)
    data = read_conll(path, names)
    reader = _make_reader(path, names, data, features.templates)
    return reader, reader.named(data)


def open_blocks(path: Path, features: Features, n_lines: int) -> tuple[Reader, Iterator[ConllData]]:
    """The same, with the data block by block."""
    names = _given_names(features.columns)
    blocks = read_conll_blocks(path, names, n_lines=n_lines)
    first = next(blocks)
    reader = _make_reader(path, names, first, features.templates)
    return reader, map(reader.named, chain([first], blocks))


def _given_names(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


def _make_reader(path: Path, given: list[str] | None, data: ConllData, templates: str | None) -> Reader:
    names = given or _default_names(len(data.columns))
    if len(names) < 2:
        raise DataError(f"{path}: found {len(names)} column, expected at least 2, the last with labels")
    columns = dict(zip(names[:-1], data.columns.values(), strict=False))  # the labels' is left out
    parsed = parse_templates(templates) if templates else default_templates(columns)
    return Reader(tuple(names), tuple(map(str, parsed)))


def open_model(path: Path) -> tuple[SequenceTagger, Reader]:
    """A model that train or tune saved, and the reader of its files."""
    model = check_class(
        load_either(path), SequenceTagger, path, "a sequence tagger (for others see structune --help)"
    )
    wanted = "expected a model that structune train or tune saved"
    return model, reader_of(model, f"{path}: found no columns and templates, {wanted}")


def reader_of(model: SequenceTagger, complaint: str) -> Reader:
    """The reader of the files that a model was made from."""
    extra: Any = getattr(model, "extra_", None)
    try:
        return Reader(tuple(extra["columns"]), tuple(map(str, parse_templates(extra["templates"]))))
    except (KeyError, TypeError, AttributeError, DataError):
        raise ModelFileError(complaint) from None


def default_templates(inputs: Mapping[str, Sequence[str]]) -> list[Template]:
    """Those of text, or of symbols where the first column, as far as it was read, has single letters only."""
    word, *tags = inputs
    letters = all(len(value) <= 1 for value in set(inputs[word]))
    return symbol_templates(word, tags) if letters else text_templates(word, tags)


def _default_names(n: int) -> list[str]:
    first = ["w", "pos", *(f"c{k}" for k in range(2, n))]
    return [*first[: n - 1], "y"]
