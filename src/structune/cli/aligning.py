"""``structune align``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import typer

from structune.cli.align_data import open_aligner
from structune.cli.reports import INTERRUPTED
from structune.errors import CapabilityError, DataError
from structune.estimators.aligner import SequenceAligner
from structune.formats import ProteinAlignment, read_proteins
from structune.formats.protein_alignments import alignment_text
from structune.progress import Bars
from structune.structures.alignment_rows import parse_alignment, parse_protein

_BATCH = 64  # pairs
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
    if request.gamma is not None and not aligner.has_probabilities:
        raise CapabilityError(
            f"{request.model}: found a model without probabilities, which has no use for --gamma"
        )
    pairs, total = _pairs(request)
    try:
        with _opened(request.output) as out, _Progress(total, not request.quiet) as progress:
            for batch in _batches(pairs):
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
        with Path(output).open("w") as file:
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
    both = (
        combinations(proteins, 2)
        if request.which == "all"
        else zip(proteins[::2], proteins[1::2], strict=True)
    )
    return (((a, b), (x, y)) for (a, x), (b, y) in both), n * (
        n - 1
    ) // 2 if request.which == "all" else n // 2


def _batches(pairs: Iterator[Named]) -> Iterator[list[Named]]:
    while batch := list(islice(pairs, _BATCH)):
        yield batch


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


class _Progress:
    """How many pairs are done, on standard error, if that is a terminal."""

    def __init__(self, total: int, shown: bool) -> None:
        self._bars, self._total, self._done = Bars() if shown else None, total, 0

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def advance(self, count: int) -> None:
        self._done += count
        if self._bars is not None:
            self._bars.show_whole(
                "align", self._done / self._total, f"{self._done:,} of {self._total:,} pairs"
            )
