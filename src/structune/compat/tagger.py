"""A fitted tagger with the methods of python-crfsuite's, and conversion of its tokens and labels."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from structune.errors import DataError, ModelFileError
from structune.files.inputs import as_list
from structune.files.models import check_class
from structune.files.text import plural
from structune.tagging.crfsuite import load_either
from structune.tagging.features.attributes import KnownRows, known_rows, table_of_items
from structune.tagging.tagger import SequenceTagger

JOIN = ":"  # between a key and its value


def as_tokens(X: Any) -> list[list[Any]]:
    """Sequences of dicts or of lists of strings, or ``pycrfsuite.ItemSequence``s, as lists of tokens."""
    return [tokens_of(xseq) for xseq in as_list(X, "sequences")]


def tokens_of(xseq: Any) -> list[Any]:
    """The tokens of one sequence."""
    if isinstance(xseq, ItemSequence):
        return xseq.tokens()
    # a pycrfsuite.ItemSequence
    is_packed = type(xseq) is not list and hasattr(xseq, "items") and not isinstance(xseq, Iterable)
    items = as_list(xseq.items() if is_packed else xseq, "tokens")
    if set(map(type, items)) <= {dict, list, tuple}:
        return items
    return [list(item) if isinstance(item, Iterator) else item for item in items]  # to be read twice


def as_labels(y: Any) -> list[list[Any]]:
    """The labels of sequences; bytes are UTF-8."""
    return [list(map(_decoded, as_list(yseq, "labels"))) for yseq in as_list(y, "label sequences")]


def as_plain(item: Any) -> Any:
    """A token with bytes as text; with `JOIN` its attributes have the names that python-crfsuite gives them.

    A string, and each string in a list or set, is ``key:value``; an entry of a nested dict is ``key:name``. A
    list or array of numbers, which python-crfsuite refuses, gives the attributes ``key:0``, ``key:1``, ...
    """
    if isinstance(item, Iterable) and not isinstance(item, str | bytes | Mapping):
        return list(map(_decoded, item))
    return item if isinstance(item, bytes) else _decoded(item)  # bytes are refused with their place


def _decoded(value: Any) -> Any:
    """The same with bytes as text, which are UTF-8."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, Mapping):
        return {_decoded(key): _decoded(below) for key, below in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "SO":
        value = np.atleast_1d(value).tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return (list if isinstance(value, list | tuple) else set)(map(_decoded, value))
    return value


class ItemSequence:
    """Attributes of the tokens of one sequence, converted once for trainers and taggers.

    Parameters
    ----------
    pyseq : iterable of tokens
        A token is a dict or a list of strings, as in `structune.compat.CRF`.

    Raises
    ------
    DataError
        A token cannot be used; the message has its number, from 0.
    """

    def __init__(self, pyseq: Any) -> None:
        if isinstance(pyseq, ItemSequence):
            self._entries: list[list[tuple[str, float]]] = pyseq._entries
            return
        try:
            table = table_of_items([tokens_of(pyseq)], JOIN, as_plain)
        except DataError as error:
            raise DataError(str(error).removeprefix("sequence 0, ")) from None
        names = list(table.names)
        values = np.ones(table.indices.size) if table.values is None else table.values
        found = list(zip([names[a] for a in table.indices.tolist()], values.tolist(), strict=True))
        self._entries = [found[start:end] for start, end in pairwise(table.indptr.tolist())]

    def items(self) -> list[dict[str, float]]:
        """Return the attributes of each token and their values; of repeated ones, the last value."""
        return list(map(dict, self._entries))

    def tokens(self) -> list[dict[str, float]]:
        """Return the attributes of each token and their values; of repeated ones, the sum of the values."""
        tokens = self.items()
        for token, entries in zip(tokens, self._entries, strict=True):
            if len(token) < len(entries):
                token.update(dict.fromkeys(token, 0.0))
                for name, value in entries:
                    token[name] += value
        return tokens

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


class Info(NamedTuple):
    """Labels, attributes and weights of a model, in the form of python-crfsuite."""

    labels: dict[str, str]
    attributes: dict[str, str]
    transitions: dict[tuple[str | None, str | None], float]
    state_features: dict[tuple[str, str], float]
    header: dict[str, str]


def _dumped(info: Info) -> Iterator[str]:
    """The text of CRFsuite's ``dump``."""
    yield "FILEHEADER = {\n" + "".join(f"  {name}: {text}\n" for name, text in info.header.items()) + "}\n\n"
    for title, names in (("LABELS", info.labels), ("ATTRIBUTES", info.attributes)):
        yield f"{title} = {{\n" + "".join(f"  {k:>5}: {name}\n" for name, k in names.items()) + "}\n\n"
    for title, kind, weights in (
        ("TRANSITIONS", 1, info.transitions),
        ("STATE_FEATURES", 0, info.state_features),
    ):
        lines = (f"  ({kind}) {a} --> {b}: {w:.6f}\n" for (a, b), w in weights.items())
        yield f"{title} = {{\n" + "".join(lines) + "}\n\n"


class Tagger:
    """A fitted `SequenceTagger` with the methods of ``pycrfsuite.Tagger``, for one sequence at a time.

    Parameters
    ----------
    model : SequenceTagger, optional
        Model; by default, `open` or `open_inmemory` load one.
    """

    def __init__(self, model: SequenceTagger | None = None) -> None:
        self._model = model
        self.set([])

    @property
    def model(self) -> SequenceTagger:
        """The model; `DataError` if none is open."""
        if self._model is None:
            raise DataError("no model is open: call open with the path of a model file")
        return self._model

    def open(self, name: str | bytes | os.PathLike[str]) -> closing[Tagger]:
        """Load a model file of structune or CRFsuite; the result closes it at the end of a ``with`` block."""
        name = os.fsdecode(name)
        self._model = check_class(load_either(name), SequenceTagger, name, "a sequence tagger")
        self.set([])
        return closing(self)

    def open_inmemory(self, value: bytes) -> closing[Tagger]:
        """Load a model from the content of its file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model")
            path.write_bytes(value)
            try:
                return self.open(path)
            except ModelFileError as error:
                raise ModelFileError(str(error).replace(str(path), "value")) from None

    def close(self) -> None:
        """Close the model."""
        self._model = None
        self.set([])

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text, in the form of CRFsuite, to a file or to standard output."""
        text = "".join(_dumped(self.info()))
        if filename is None:
            print(text, end="")
        else:
            Path(filename).write_text(text, encoding="utf-8")

    def labels(self) -> list[str]:
        """Return the labels of the model."""
        return list(self.model.classes_)

    def set(self, xseq: Any) -> None:
        """Set the sequence for `tag`, `marginal` and `probability`."""
        self._tokens = tokens_of(xseq)
        self._rows = None if self._model is None else self.rows([self._tokens])  # read once
        self._marginals: list[dict[str, float]] | None = None

    def tag(self, xseq: Any = None) -> list[str]:
        """Predict the most probable labels of a sequence, by default of the one that was set."""
        if xseq is not None:
            self.set(xseq)
        return self.model.predict(self._rows)[0]

    def marginal(self, y: str, pos: int) -> float:
        """Return the probability of label `y` at token `pos` (from 0) of the sequence that was set.

        Raises
        ------
        DataError
            The model does not know the label, or the sequence has no such token.
        """
        if self._marginals is None:
            (self._marginals,) = self.model._marginals(self._rows)
        y = _decoded(y)
        if y not in self.model.classes_:
            raise DataError(f"there is no label {y!r}. The labels are {self.model.classes_}")
        if not 0 <= pos < len(self._tokens):
            n = plural(len(self._tokens), "token")
            raise DataError(f"there is no token {pos}: the sequence has {n}, counted from 0")
        return self._marginals[pos][y]

    def probability(self, yseq: Any) -> float:
        """Return the probability of all labels of the sequence that was set, one per token.

        Raises
        ------
        DataError
            The model does not know a label, or the numbers of labels and tokens differ.
        """
        (labels,) = as_labels([yseq])
        if len(labels) != len(self._tokens):
            raise DataError(
                f"yseq has {plural(len(labels), 'label')}, but the sequence has "
                f"{plural(len(self._tokens), 'token')}"
            )
        if not labels:
            return 1.0
        shard, _ = self.model._encode(self._rows)
        return self.model._predicting.segment_probability(self.model.coef_, shard, 0, 0, labels)

    def info(self) -> Info:
        """Return the labels, attributes and weights of the model."""
        if self._model is None:
            raise RuntimeError("no model is open: call open with the path of a model file")
        labels, attributes = (
            {name: str(k) for k, name in enumerate(names)}
            for names in (self.model.classes_, self.model.chain_.attributes)
        )
        sizes = {"labels": len(labels), "attrs": len(attributes), "features": self.model.coef_.size}
        header = {f"num_{name}": str(n) for name, n in sizes.items()}
        return Info(labels, attributes, self.model.transition_features_, self.model.state_features_, header)

    def rows(self, tokens: list[list[Any]]) -> KnownRows:
        """Return the attributes of the tokens of several sequences, numbered as in the model."""
        return known_rows(tokens, self.model.chain_.names, JOIN, as_plain)

    def predict(self, tokens: list[list[Any]]) -> list[list[str]]:
        """Predict the most probable labels of several sequences."""
        return self.model.predict(self.rows(tokens))

    def marginals(self, tokens: list[list[Any]]) -> list[list[dict[str, float]]]:
        """Predict the probability of each label at each token of several sequences."""
        return self.model._marginals(self.rows(tokens))
