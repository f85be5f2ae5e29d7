"""Sequences as predictions see them: cut at gaps, behind and before which genes may go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structune.genes.formats.record import AnnotatedSequence
from structune.genes.nucleotides import encode_letters
from structune.genes.prokaryotes.structure.shard import OrfShard
from structune.structure import IntArray

_GAP = 10  # unknown bases in a row that are one, as for NCBI; their number may not be true


class Piece(NamedTuple):
    """What lies between two gaps."""

    sequence: int
    start: int
    letters: NDArray[np.int8]


def known_pieces(of: AnnotatedSequence, s: int) -> Iterator[Piece]:
    """Those of the sequence of number s; none of one that is not known."""
    letters = encode_letters(of.sequence, of.name)
    ends = np.flatnonzero(np.diff(np.concatenate(([False], letters > 3, [False]))))
    gaps = ends.reshape(-1, 2)
    gaps = gaps[gaps[:, 1] - gaps[:, 0] >= _GAP]
    for start, end in zip([0, *gaps[:, 1].tolist()], [*gaps[:, 0].tolist(), letters.size], strict=True):
        if start < end:
            yield Piece(s, start, letters[start:end])


def covered(pieces: Sequence[Piece], regions: Sequence[IntArray]) -> NDArray[np.bool_]:
    """Whether each base of the pieces, one after the other, lies in a span of its sequence."""
    ends = [piece.start + piece.letters.size for piece in pieces]
    marks = [np.zeros(int(np.max(spans, initial=0)), bool) for spans in regions]
    for own, spans in zip(marks, regions, strict=True):
        for start, end in spans.tolist():
            own[start:end] = True
    found = np.zeros(sum(piece.letters.size for piece in pieces), bool)
    at = 0
    for piece, end in zip(pieces, ends, strict=True):
        own = marks[piece.sequence][piece.start : end]
        found[at : at + own.size] = own
        at += piece.letters.size
    return found


def by_start(shard: OrfShard, part: slice, chosen: NDArray[np.int8]) -> IntArray:
    """The candidates of a sequence that are chosen, by where they begin."""
    genes = np.flatnonzero(chosen[part]) + part.start
    return np.asarray(genes[np.argsort(shard.bounds[genes, 0], kind="stable")])
