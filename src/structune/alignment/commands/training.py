"""``structune train alignment`` and ``structune tune alignment``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from structune.alignment.aligner import SequenceAligner
from structune.alignment.commands.data import Aligned, read_aligned
from structune.alignment.commands.evaluation import evaluate
from structune.cli.learning import Lesson, learn
from structune.cli.shard_data import described, sharded

_Data = tuple[Callable[[], Any], str]  # how to fit it, and what it is


@dataclass(frozen=True)
class Request:
    """The files of one training."""

    train: list[Path]
    model: Path
    most_pairs: int | None
    test: list[Path] | None = None
    plot: Path | None = None
    report: Path | None = None


def run(request: Request, settings: Mapping[str, Any]) -> int:
    """Fit, save, report; returns the exit code. Pairs of one alignment are held out together."""
    aligner = SequenceAligner(**settings)
    return learn(aligner, request, partial(_read, aligner, request))


def _read(aligner: SequenceAligner, request: Request) -> Lesson:
    shards = sharded(request.train, "--most-pairs", "--band", "--features")
    fit, told = _of_shards(aligner, shards) if shards else _of_files(aligner, request)
    test = None if request.test is None else read_aligned(request.test)
    return Lesson(fit, [("data", told)], None if test is None else partial(evaluate, aligner, test))


def _of_shards(aligner: SequenceAligner, path: Path) -> _Data:
    return lambda: aligner.fit_shards(path), described(path, "residues")


def _of_files(aligner: SequenceAligner, request: Request) -> _Data:
    data = read_aligned(request.train, request.most_pairs, aligner.random_state)
    groups = data.families if len(set(data.families)) > 1 else None
    return lambda: aligner.fit(data.pairs, data.rows, groups=groups), _described(data)


def _described(data: Aligned) -> str:
    n_residues = sum(len(x) + len(y) for x, y in data.pairs)
    return f"{len(data):,} pairs of {len(set(data.families)):,} alignments, {n_residues:,} residues"
