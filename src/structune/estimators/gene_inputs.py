"""Annotated sequences as gene finders get them, and genes as they give them back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.formats.gene_record import AnnotatedSequence, Exons, Transcript
from structune.structures.state_machine import encode_letters


def annotated_sequences(X: Any, y: Any) -> list[AnnotatedSequence]:
    """What was given, as annotated sequences of nucleotides."""
    if isinstance(X, str | AnnotatedSequence) or not isinstance(X, Iterable):
        raise DataError(f"found one {type(X).__name__}, expected a list of sequences")
    found = [
        item if isinstance(item, AnnotatedSequence) else AnnotatedSequence(f"sequence{s}", _text(item, s))
        for s, item in enumerate(X)
    ]
    for sequence in found:
        encode_letters(sequence.sequence, sequence.name)  # refuses what is no nucleotide
    if y is None:
        return found
    if not isinstance(y, Iterable):
        raise DataError(f"found {type(y).__name__}, expected the genes of each sequence")
    genes = list(y)
    if len(genes) != len(found):
        raise DataError(f"found the genes of {len(genes)} sequences, expected those of {len(found)}")
    return [
        replace(sequence, transcripts=_transcripts(of, sequence.name))
        for sequence, of in zip(found, genes, strict=True)
    ]


def _text(item: Any, s: int) -> str:
    if not isinstance(item, str):
        raise DataError(f"sequence {s}: found {type(item).__name__}, expected nucleotides")
    return item


def _transcripts(given: Any, name: str) -> tuple[Transcript, ...]:
    if not isinstance(given, Iterable):
        raise DataError(f"{name}: found {type(given).__name__}, expected a list of Transcript")
    found = tuple(given)
    for t in found:
        if not isinstance(t, Transcript):
            raise DataError(f"{name}: found {type(t).__name__}, expected a Transcript")
    return found


def of_each(values: Any, sequences: Sequence[AnnotatedSequence], what: str) -> np.ndarray:
    """Values of which there is to be one a sequence, as an array."""
    try:
        found = np.asarray(values)
    except ValueError:  # lists of several lengths
        raise DataError(f"found {what} of several shapes, expected ({len(sequences)},)") from None
    if found.shape != (len(sequences),):
        raise DataError(f"found {what} of shape {found.shape}, expected ({len(sequences)},)")
    return found


def named_genes(contig: str, genes: Iterable[tuple[str, Exons, float | None]]) -> tuple[Transcript, ...]:
    """Predicted genes of one transcript each: strand, coding parts and score."""
    return tuple(
        Transcript(contig, strand, exons, f"{contig}.g{k}.t1", f"{contig}.g{k}", score)
        for k, (strand, exons, score) in enumerate(genes, 1)
    )
