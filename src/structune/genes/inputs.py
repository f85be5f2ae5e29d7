"""Checks of what gene finders are given, and the score that they share."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.genes.formats.hints import place_of, tell_misplaced
from structune.genes.formats.record import AnnotatedSequence, Transcript
from structune.genes.metrics import gene_scores
from structune.genes.nucleotides import encode_letters
from structune.structure import IntArray


def annotated_sequences(X: Any, y: Any) -> list[AnnotatedSequence]:
    """The arguments X and y of an estimator, as annotated sequences."""
    if isinstance(X, str | AnnotatedSequence) or not isinstance(X, Iterable):
        raise DataError(f"X must be a list of sequences, not a single {type(X).__name__}")
    found = list[AnnotatedSequence]()
    for s, item in enumerate(X):
        if not isinstance(item, str | AnnotatedSequence):
            raise DataError(f"sequence {s} must be a str or an AnnotatedSequence, not {type(item).__name__}")
        found.append(AnnotatedSequence(f"sequence{s}", item) if isinstance(item, str) else item)
    for sequence in found:
        encode_letters(sequence.sequence, sequence.name)  # refuses what is no nucleotide
    if y is None:
        return found
    if not isinstance(y, Iterable):
        raise DataError(f"y must be a list with the genes of each sequence, not {type(y).__name__}")
    genes = list(y)
    if len(genes) != len(found):
        raise DataError(f"y has the genes of {len(genes)} sequences, but X has {len(found)} sequences")
    for s, (sequence, given) in enumerate(zip(found, genes, strict=True)):
        if not isinstance(given, Iterable):
            raise DataError(f"{sequence.name}: the genes must be a list, not {type(given).__name__}")
        transcripts = tuple(given)
        for t in transcripts:
            if not isinstance(t, Transcript):
                raise DataError(f"{sequence.name}: a gene must be a Transcript, not {type(t).__name__}")
        found[s] = replace(sequence, transcripts=transcripts)
    return found


def checked_regions(
    regions: Any, sequences: Sequence[AnnotatedSequence], unused: dict[str, Counter[str]] | None
) -> list[IntArray]:
    """Regions of each sequence, shape (n, 2), cut at its end; warns of those that lie or reach beyond it."""
    if regions is None:
        return [np.zeros((0, 2), np.int64) for _ in sequences]
    if not isinstance(regions, Sequence) or len(regions) != len(sequences):
        raise DataError(f"avoid={regions!r:.60} must list regions for each of {len(sequences)} sequences")
    found, counts, n_spans = [], Counter[str](), 0
    for of, sequence in zip(regions, sequences, strict=True):
        try:
            spans = np.array([(operator.index(a), operator.index(b)) for a, b in of], np.int64).reshape(-1, 2)
        except (TypeError, ValueError, OverflowError):
            spans = np.zeros((1, 2), np.int64)  # is refused
        if np.any(spans[:, 0] < 0) or np.any(spans[:, 0] >= spans[:, 1]):
            raise DataError(f"{sequence.name}: avoid={of!r:.60} must be pairs with 0 <= start < end")
        # what lies beyond the end is told, and has no effect; what reaches beyond it is cut
        n = len(sequence.sequence)
        counts.update(filter(None, (place_of(start, end, n) for start, end in spans.tolist())))
        n_spans += len(spans)
        found.append(np.minimum(spans, n)[spans[:, 0] < n])
    tell_misplaced("avoid", counts, n_spans, unused)
    return found


def of_examples(
    values: Any, sequences: Sequence[AnnotatedSequence], what: str, sources: Sequence[int]
) -> np.ndarray | None:
    """Values of each sequence, if any are given, for the examples that were cut from the sequences."""
    if values is None:
        return None
    try:
        found = np.asarray(values)
    except ValueError:  # lists of several lengths
        raise DataError(f"{what} must be an array of shape ({len(sequences)},)") from None
    if found.shape != (len(sequences),):
        raise DataError(f"{what} have the shape {found.shape}, but must have ({len(sequences)},)")
    return np.asarray(found[sources])


def exon_f1(annotated: Sequence[AnnotatedSequence], predicted: Sequence[Iterable[Transcript]]) -> float:
    """F1 of exons; an exon is correct if both its ends are. Partial predicted genes do not count."""
    true = {str(s): sequence.transcripts for s, sequence in enumerate(annotated)}
    found = {str(s): [gene for gene in genes if not any(gene.partial)] for s, genes in enumerate(predicted)}
    return gene_scores(true, found).exon.f1
