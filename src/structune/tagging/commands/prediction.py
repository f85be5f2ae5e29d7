"""``structune predict``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from structune.cli.checks import check_apart
from structune.cli.streams import binary_source, open_bytes, write_texts
from structune.errors import DataError
from structune.tagging.commands.columns import TOKEN, Reader, open_model
from structune.tagging.commands.options import Format
from structune.tagging.conll import ConllData, conll_text
from structune.tagging.tagger import SequenceTagger

Marginals = Sequence[Sequence[dict[str, float]]] | None
_MARGINAL, _OF_RANK = 120, 250  # bytes for the probability of a label, and for a token of a labelling


def run(
    model_path: Path, file: str, output: str, with_marginals: bool, n_best: int | None, reading: Format
) -> None:
    """Label a file, and write it with its labels, some sentences at a time."""
    check_apart([model_path, file], [None if output == "-" else Path(output)])
    model, reader = open_model(model_path)
    labelled = _texts(model, reader, file, reading, with_marginals, n_best)
    first = next(labelled)  # what is wrong there is told before the output is opened
    with open_bytes(output) as out:
        write_texts(out, chain([first], labelled))


def _texts(
    model: SequenceTagger,
    reader: Reader,
    file: str,
    reading: Format,
    with_marginals: bool,
    n_best: int | None,
) -> Iterator[str]:
    """What is written, block by block."""
    token = TOKEN + with_marginals * _MARGINAL * len(model.classes_) + _OF_RANK * (n_best or 0)
    n_before = 0
    for data in reader.read_inputs(binary_source(file), reading, token):
        table = reader.attributes(data)
        marginals = model.predict_marginals(table) if with_marginals else None
        if n_best is None:
            yield _written(_labelled(data, model.predict(table), marginals))
        else:
            yield "".join(_ranked(data, n_before, model.predict_nbest(table, n_best), marginals))
        n_before += len(data)


def _written(data: ConllData) -> str:
    try:
        return conll_text(data)
    except DataError as error:
        raise DataError(f"{data.name}: {error}. With --separator tab, tabs are read and written") from None


def _labelled(data: ConllData, labels: list[list[str]], marginals: Marginals) -> ConllData:
    data = data.with_column("[label]", labels)
    if marginals is None:
        return data
    shown = [_probabilities(names, rows) for names, rows in zip(labels, marginals, strict=True)]
    return data.with_column("[probability]", shown)


def _ranked(data: ConllData, n_before: int, ranked: list[Any], marginals: Marginals) -> Iterator[str]:
    """Each sentence with its most probable labellings, each after a line that tells its probability."""
    sentences = zip(*(data.sentences(name) for name in data.columns), strict=True)
    for s, (columns, labellings) in enumerate(zip(sentences, ranked, strict=True)):
        for rank, (labels, probability) in enumerate(labellings, start=1):
            new = [labels] if marginals is None else [labels, _probabilities(labels, marginals[s])]
            yield f"# sentence {n_before + s + 1} rank {rank} probability {probability:.6g}\n"
            yield "".join(f"{data.separator.join(row)}\n" for row in zip(*columns, *new, strict=True))
            yield "\n"


def _probabilities(labels: Sequence[str], rows: Sequence[dict[str, float]]) -> list[str]:
    return [f"{row[label]:.4f}" for label, row in zip(labels, rows, strict=True)]
