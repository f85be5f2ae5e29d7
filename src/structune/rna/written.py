"""Structures as text in each format, and the files that they go to."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from structune.cli.files import FileNames, open_bytes, write_texts
from structune.rna.formats.bpseq import write_bpseq
from structune.rna.formats.ct import write_ct
from structune.rna.formats.record import RNARecord
from structune.rna.formats.strands import bases_of
from structune.rna.judgement import expected_accuracy
from structune.rna.metrics import partner_entropy, unpaired
from structune.rna.recipes import Choice, Choices, Folded

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


class Output(Protocol):
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
def open_output(output: str, format: str) -> Iterator[Output]:
    """Standard output, a file, or a folder that exists."""
    heading, ending = _HEADINGS.get(format, ""), _ENDINGS.get(format, f".{format}")
    if output != "-" and Path(output).is_dir():
        yield _Folder(Path(output), heading, ending)
    else:
        with open_bytes(output) as file:
            yield _Stream(file, heading)
