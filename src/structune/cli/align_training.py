"""``structune train align`` and ``structune tune align``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from structune.cli import reports
from structune.cli.align_data import Aligned, read_aligned
from structune.cli.align_evaluation import evaluate
from structune.estimators.aligner import SequenceAligner


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
    reports.check_targets([request.model], [request.plot], request.report)
    data = read_aligned(request.train, request.most_pairs, settings.get("random_state", 0))
    test = None if request.test is None else read_aligned(request.test)
    several = len(set(data.families)) > 1
    start = time.perf_counter()
    with reports.short_warnings():
        aligner = SequenceAligner(**settings)
        aligner.fit(data.pairs, data.rows, groups=data.families if several else None)
    seconds = time.perf_counter() - start
    reports.check_begun(aligner)
    reports.save(aligner, request.model)
    evaluated = None if test is None else partial(evaluate, aligner, test)
    return reports.finish(aligner, [("data", _described(data))], seconds, request, evaluated)


def _described(data: Aligned) -> str:
    n_residues = sum(len(x) + len(y) for x, y in data.pairs)
    return f"{len(data):,} pairs of {len(set(data.families)):,} alignments, {n_residues:,} residues"
