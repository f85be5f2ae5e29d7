"""``structune align``."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import IO, Any

import numpy as np
import typer

from structune.cli.align_data import check_gamma, open_aligner
from structune.cli.batches import Progress, batches
from structune.cli.reports import INTERRUPTED
from structune.errors import DataError
from structune.estimators.aligner import SequenceAligner
from structune.formats import ProteinAlignment, read_proteins
from structune.formats.protein_alignments import alignment_text
from structune.structures.alignment_rows import parse_alignment, parse_protein

_MOST_PAIRS, _MOST_CELLS = 64, 10_000_000
Named = tuple[tuple[str, str], tuple[str, str]]  # names and sequences


@dataclass(frozen=True)
class Request:
    """What to align, and how."""

    model: str
    source: str
    which: str
    method: str
    gamma: float | None
    format: str
    output: str
    n_jobs: int
    quiet: bool


def run(request: Request) -> int:
    """Align, and write as soon as it is known; returns the exit code."""
    if request.gamma is not None and request.method != "mea":
        raise DataError("found --gamma, expected it with --method mea only")
    aligner = open_aligner(request.model, request.n_jobs)
    check_gamma(aligner, request.gamma)
    pairs, total = _pairs(request)
    try:
        with (
            _opened(request.output) as out,
            Progress(not request.quiet, total, stage="align", unit="pairs") as progress,
        ):
            for batch in batches(pairs, _n_cells, _MOST_CELLS, _MOST_PAIRS):
                _write(aligner, request, batch, out)
                progress.advance(len(batch))
    except KeyboardInterrupt:
        typer.echo("structune: interrupted", err=True)
        return INTERRUPTED
    return 0


@contextmanager
def _opened(output: str) -> Iterator[IO[str]]:
    if output == "-":
        yield sys.stdout
    else:
        opened: Any = gzip.open if output.endswith(".gz") else open
        with opened(output, "wt", encoding="utf-8", errors="surrogateescape") as file:
            yield file


def _pairs(request: Request) -> tuple[Iterator[Named], int]:
    """The pairs of a file, and their number."""
    source: Any = sys.stdin.buffer if request.source == "-" else Path(request.source)
    proteins = list(read_proteins(source).items())
    n = len(proteins)
    for name, sequence in proteins:
        parse_protein(sequence, f"{request.source}, {name}")
    if n < 2 or (request.which == "pairs" and n % 2):
        expected = "an even number" if n >= 2 else "two at least"
        raise DataError(f"{request.source}: found {n} sequences, expected {expected} (or --which all)")
    both: Iterable[tuple[tuple[str, str], tuple[str, str]]]
    if request.which == "all":
        both, total = combinations(proteins, 2), n * (n - 1) // 2
    else:
        both, total = zip(proteins[::2], proteins[1::2], strict=True), n // 2
    return (((a, b), (x, y)) for (a, x), (b, y) in both), total


def _n_cells(pair: Named) -> int:
    x, y = pair[1]
    return len(x) * len(y)


def _write(aligner: SequenceAligner, request: Request, batch: Iterable[Named], out: IO[str]) -> None:
    names, pairs = zip(*batch, strict=True)
    if request.method == "viterbi":
        found = aligner.predict_viterbi(pairs)
    else:
        found = aligner.predict(pairs, request.gamma)
    for name, pair, rows in zip(names, pairs, found, strict=True):
        if request.format == "json":
            out.write(json.dumps(_as_dict(aligner, name, pair, rows)) + "\n")
        else:
            out.write(alignment_text(ProteinAlignment(list(name), list(rows)), request.format) + "\n")
    out.flush()


def _as_dict(
    aligner: SequenceAligner, names: tuple[str, str], pair: tuple[str, str], rows: tuple[str, str]
) -> dict[str, Any]:
    shown: dict[str, Any] = {"names": names, "rows": rows}
    if aligner.has_probabilities:  # of each column, null where there is a gap
        partner = parse_alignment(rows, pair, "alignment").partner
        i = np.flatnonzero(partner >= 0)
        known = iter(aligner.posterior(*pair)[i, partner[i]].round(6).tolist())
        columns = zip(*rows, strict=True)
        shown["confidence"] = [None if "-" in column else next(known) for column in columns]
    return shown
