"""The work of ``structune align`` on two sequences at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from heapq import nlargest
from itertools import combinations
from pathlib import Path
from typing import Any

from structune.alignment.aligner import SequenceAligner
from structune.alignment.examples import (
    Sequences,
    check_gamma,
    check_letters,
    null_for_nan,
    open_aligner,
)
from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.writers import alignment_text
from structune.alignment.options import Request
from structune.alignment.structure.alphabets import find_alphabet
from structune.alignment.structure.inference import check_room
from structune.cli.files import check_apart, check_targets, drawing_paths, open_text
from structune.cli.terminal import Progress, say, time_in_words
from structune.errors import CapabilityError, DataError
from structune.running.batches import batches
from structune.running.memory import batch_memory
from structune.structure import FloatArray

_MOST_PAIRS = 1000
_LONG, _MINUTES = 500_000_000, 0.7  # pairs of residues from which on it is told what they cost; their time
Named = tuple[tuple[str, str], tuple[str, str]]  # names and sequences
Aligned = tuple[tuple[str, str], FloatArray | None, FloatArray | None]  # as a ConfidentAlignment


def align_pairs(request: Request, read: Sequences) -> int:
    """Align two by two, and write as soon as it is known; returns the exit code."""
    if request.report is not None:
        raise DataError("--report needs more than two sequences, or --multiple.")
    file = read.file
    check_targets([], [request.plot])
    check_apart([file, request.model], [request.output])
    aligner = open_aligner(request.model, request.jobs)
    if request.band is not None:
        aligner.set_params(band=request.band)
    check_gamma(aligner, request.gamma)
    if request.method == "mea" and not aligner.has_probabilities:
        raise CapabilityError(
            f"{request.model}: found a model without probabilities, which has no use for --method mea"
        )
    if request.plot is not None and not aligner.has_probabilities:
        raise CapabilityError(
            f"{request.model}: found a model without probabilities, expected one that has them with --plot"
        )
    pairs, total = _pairs(request, read, aligner)
    for told in read.told:
        say(told)
    path_of = drawing_paths(request.plot, several=total > 1)

    def memory_of(named: Named) -> float:
        x, y = named[1]
        return aligner.memory_of(len(x), len(y), keep=request.plot is not None)

    with (
        open_text("-" if request.output is None else str(request.output)) as out,
        Progress(not request.quiet, total, stage="align", unit="pairs") as progress,
    ):
        for batch in batches(pairs, memory_of, batch_memory(), _MOST_PAIRS):
            found = _aligned(aligner, request, [pair for _, pair in batch])
            for named, aligned in zip(batch, found, strict=True):
                out.write(_text(named[0], aligned, request.written_as))
                if path_of is not None:
                    draw(named, aligned, path_of)
            out.flush()
            progress.advance(len(batch))
    return 0


def _pairs(request: Request, read: Sequences, aligner: SequenceAligner) -> tuple[Iterator[Named], int]:
    """The pairs of a file, and their number."""
    file, proteins = read.file, [(protein.name, protein.residues) for protein in read.proteins]
    check_letters(file, proteins, find_alphabet(aligner.alphabet))
    n = len(proteins)
    for name, sequence in proteins:
        if request.plot is not None and not sequence:
            raise DataError(f"{file}, {name}: found no residues, expected some with --plot")
    if n < 2 or (request.which != "all" and n % 2):
        expected = "an even number (or --which all)" if n >= 2 else "at least two"
        raise DataError(f"{file}: found {n} sequences, expected {expected}")
    both: Iterable[tuple[tuple[str, str], tuple[str, str]]]
    if request.which == "all":
        both, total = combinations(proteins, 2), n * (n - 1) // 2
        largest = [tuple(nlargest(2, proteins, key=lambda named: len(named[1])))]
    else:
        both, total = zip(proteins[::2], proteins[1::2], strict=True), n // 2
        largest = list(zip(proteins[::2], proteins[1::2], strict=True))
    for (a, x), (b, y) in largest:
        _announce(request, aligner, f"{file}, {a} and {b}", (len(x), len(y)))
    return (((a, b), (x, y)) for (a, x), (b, y) in both), total


def _announce(request: Request, aligner: SequenceAligner, name: str, lengths: tuple[int, int]) -> None:
    """Refuse a pair for which there is not enough memory; tell what a large one costs."""
    needed = aligner.memory_of(*lengths, keep=request.plot is not None)
    check_room(needed, *lengths, name)
    (n, m), band = lengths, request.band
    n_cells = max(lengths) * (min(lengths) if band is None else min(*lengths, 2 * band + 1))
    if not request.quiet and (needed > batch_memory() or n_cells >= _LONG):
        advice = " (less with --band)" if band is None else ""
        time = time_in_words(_MINUTES * n_cells / _LONG)
        say(f"{name}: {n:,} and {m:,} residues may take {needed / 1e9:.1f} GB of memory and {time}{advice}")


def _aligned(aligner: SequenceAligner, request: Request, pairs: list[tuple[str, str]]) -> Iterable[Aligned]:
    """Alignments, with the probabilities that are to be shown."""
    drawn = request.plot is not None
    if aligner.has_probabilities and (drawn or request.written_as in ("json", "stockholm")):
        return aligner.predict_confidence(pairs, request.gamma, request.method or "mea", posteriors=drawn)
    if request.method == "viterbi":
        found = aligner.predict_viterbi(pairs)
    else:
        found = aligner.predict(pairs, request.gamma)
    return ((rows, None, None) for rows in found)


def _text(names: tuple[str, str], aligned: Aligned, format: str) -> str:
    rows, confidence, _ = aligned
    if format != "json":
        known = None if confidence is None else confidence.tolist()
        return alignment_text(ProteinAlignment(list(names), list(rows)), format, known) + "\n"
    shown: dict[str, Any] = {"names": names, "rows": rows}
    if confidence is not None:  # of each column, null where there is a gap
        shown["confidence"] = null_for_nan(confidence)
    return json.dumps(shown) + "\n"


def draw(named: Named, aligned: Aligned, path_of: Callable[[str], Path]) -> None:
    """The probabilities of the matches of a pair, which were asked for, and its alignment."""
    from structune.alignment.plots import plot_match_probabilities

    ((a, b), (x, y)), (rows, _, posterior) = named, aligned
    assert posterior is not None
    plot_match_probabilities(x, y, posterior, rows, f"x: {a}, y: {b}", path_of(f"{a}-{b}"))
