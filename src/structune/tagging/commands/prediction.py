"""``structune predict``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from structune.cli.streams import binary_source
from structune.tagging.commands.columns import open_model
from structune.tagging.conll import ConllData, write_conll

Marginals = Sequence[Sequence[dict[str, float]]] | None


def run(model_path: Path, file: str, output: str, with_marginals: bool, n_best: int | None) -> None:
    """Label a file, and write it with its labels."""
    model, reader = open_model(model_path)
    data = reader.read_inputs(binary_source(file))
    table = reader.attributes(data)
    marginals = model.predict_marginals(table) if with_marginals else None
    target: Any = sys.stdout.buffer if output == "-" else Path(output)
    if n_best is None:
        write_conll(target, _labelled(data, model.predict(table), marginals))
    else:
        _write(target, "".join(_blocks(data, model.predict_nbest(table, n_best), marginals)))


def _labelled(data: ConllData, labels: list[list[str]], marginals: Marginals) -> ConllData:
    data = data.with_column("[label]", labels)
    if marginals is None:
        return data
    shown = [_probabilities(names, rows) for names, rows in zip(labels, marginals, strict=True)]
    return data.with_column("[probability]", shown)


def _blocks(data: ConllData, ranked: list[Any], marginals: Marginals) -> Iterator[str]:
    """Each sentence with its most probable labellings, each after a line that tells its probability."""
    sentences = zip(*(data.sentences(name) for name in data.columns), strict=True)
    for s, (columns, labellings) in enumerate(zip(sentences, ranked, strict=True)):
        for rank, (labels, probability) in enumerate(labellings, start=1):
            new = [labels] if marginals is None else [labels, _probabilities(labels, marginals[s])]
            yield f"# sentence {s + 1} rank {rank} probability {probability:.6g}\n"
            yield "".join(f"{' '.join(row)}\n" for row in zip(*columns, *new, strict=True))
            yield "\n"


def _probabilities(labels: Sequence[str], rows: Sequence[dict[str, float]]) -> list[str]:
    return [f"{row[label]:.4f}" for label, row in zip(labels, rows, strict=True)]


def _write(target: Path | IO[bytes], text: str) -> None:
    if isinstance(target, Path):
        target.write_bytes(text.encode())
    else:
        target.write(text.encode())
