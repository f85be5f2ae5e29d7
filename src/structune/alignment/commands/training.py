"""``structune train alignment`` and ``structune tune alignment``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from structune.alignment.aligner import SequenceAligner
from structune.alignment.commands.data import Aligned, read_aligned
from structune.alignment.commands.evaluation import Evaluation, evaluate
from structune.cli.checks import short_warnings
from structune.cli.learning import Lesson, learn
from structune.cli.settings import Results
from structune.cli.shard_data import described, sharded

_Data = tuple[Callable[[], Any], str]  # how to fit it, and what it is


def run(
    train: list[Path],
    most_pairs: int | None,
    test: list[Path] | None,
    settings: Mapping[str, Any],
    results: Results,
    plot: Path | None = None,
) -> int:
    """Fit, save, report; returns the exit code. Pairs of one alignment are held out together."""
    aligner = SequenceAligner(**settings)

    def read() -> Lesson:
        shards = sharded(train, "--most-pairs", "--band", "--features", "--alphabet")
        fit, told = _of_shards(aligner, shards) if shards else _of_files(aligner, train, most_pairs)
        known = None if test is None else read_aligned(test, aligner.alphabet)
        return Lesson(fit, [("data", told)], None if known is None else partial(_evaluated, aligner, known))

    return learn(aligner, results, [*train, *(test or [])], read, plot)


def _evaluated(aligner: SequenceAligner, known: Aligned) -> Evaluation:
    with short_warnings():
        return evaluate(aligner, known)


def _of_shards(aligner: SequenceAligner, path: Path) -> _Data:
    return lambda: aligner.fit_shards(path), described(path, "residues")


def _of_files(aligner: SequenceAligner, paths: list[Path], most_pairs: int | None) -> _Data:
    data = read_aligned(paths, aligner.alphabet, most_pairs, aligner.random_state)
    groups = data.families if len(set(data.families)) > 1 else None
    return lambda: aligner.fit(data.pairs, data.rows, groups=groups), _described(data)


def _described(data: Aligned) -> str:
    n_residues = sum(len(x) + len(y) for x, y in data.pairs)
    return f"{len(data):,} pairs of {len(set(data.families)):,} alignments, {n_residues:,} residues"
