"""Checks of what gene finders with introns are given: files of models, tracks, hints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from structune.errors import DataError, ModelFileError
from structune.genes.eukaryotes.hints import MOST_WEIGHT, Hints
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.weights import MOST_INTRON, GeneRules
from structune.genes.eukaryotes.training import FOLDS
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.inputs import checked_regions
from structune.learning.estimator_file import Arrays
from structune.structure import FloatArray


def checked_introns(lengths: list[Any]) -> tuple[int, int]:
    """The lengths of a model file: tables grow with them, and kernels step by them."""
    if [type(n) for n in lengths] != [int, int] or not 0 <= lengths[0] <= lengths[1] <= MOST_INTRON:
        raise ModelFileError(
            f"found introns={lengths!r:.60}, expected two rising numbers up to {MOST_INTRON}"
        )
    return lengths[0], lengths[1]


def checked_tables(arrays: Arrays, graph: ExonGraph) -> FloatArray:
    """Those of a model file, or of a folder of shards: they have a row for each part of the examples."""
    if "tables" not in arrays:
        raise ModelFileError(
            "found no tables: a gene model of an earlier release, which is to be learned again"
        )
    tables = arrays["tables"]
    if tables.dtype != np.float64 or tables.ndim != 2 or tables.shape[1:] != (len(graph.weights),):
        raise ModelFileError(
            "found tables that are not the log odds of this gene model: one of an earlier release is to "
            "be learned again"
        )
    if not 1 <= len(tables) <= 1 + FOLDS or not np.isfinite(tables).all():
        raise ModelFileError("found tables of log odds that are too many, or not finite")
    return tables


def checked_tracks(
    tracks: Any, sequences: Sequence[AnnotatedSequence], n_tracks: int | None = None
) -> list[FloatArray] | None:
    """Numbers that come with each base of some sequences; by default as many as with those of the first."""
    if tracks is None:
        return None
    if not isinstance(tracks, Sequence | np.ndarray) or isinstance(tracks, str):
        raise DataError(f"found tracks={tracks!r:.60}, expected a list of arrays")
    if len(tracks) != len(sequences):
        raise DataError(f"found tracks of {len(tracks)} sequences, expected those of {len(sequences)}")
    values = list[FloatArray]()
    for track, sequence in zip(tracks, sequences, strict=True):
        try:
            values.append(np.asarray(track, dtype=np.float64))
        except (TypeError, ValueError):
            raise DataError(
                f"{sequence.name}: found tracks {track!r:.60}, expected an array of numbers"
            ) from None
    if n_tracks is None and values:
        n_tracks = values[0].shape[-1] if values[0].ndim else 0
    for track, sequence in zip(values, sequences, strict=True):
        if track.shape != (expected := (len(sequence.sequence), n_tracks)):
            raise DataError(f"{sequence.name}: found tracks of shape {track.shape}, expected {expected}")
        if not np.isfinite(track).all():
            raise DataError(f"{sequence.name}: found a track that is not finite")
    return values


def checked_hints(
    hints: Any,
    weight: float,
    avoid: Any,
    sequences: Sequence[AnnotatedSequence],
    rules: GeneRules,
    unused: dict[str, Counter[str]] | None,
) -> list[Hints] | None:
    """What is known of some sequences."""
    if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 <= weight <= MOST_WEIGHT:
        raise DataError(f"hint_weight={weight!r}: expected a number from 0 to {MOST_WEIGHT:g}")
    if hints is None and avoid is None:
        return None
    hints = [[]] * len(sequences) if hints is None else hints
    if not isinstance(hints, Sequence) or any(
        isinstance(of, str) or not isinstance(of, Iterable) for of in hints
    ):
        raise DataError(f"found hints={hints!r:.60}, expected a list of lists of Hint")
    if len(hints) != len(sequences):
        raise DataError(f"found hints of {len(hints)} sequences, expected those of {len(sequences)}")
    regions = checked_regions(avoid, sequences, unused)
    return [
        Hints.of(list(of), each.name, weight, spans, each.sequence, rules)
        for of, each, spans in zip(hints, sequences, regions, strict=True)
    ]
