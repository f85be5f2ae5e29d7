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
    found = [np.zeros(piece.letters.size, bool) for piece in pieces]
    for piece, marks in zip(pieces, found, strict=True):
        for start, end in (regions[piece.sequence] - piece.start).clip(0).tolist():
            marks[start:end] = True
    return np.concatenate([*found, np.zeros(0, bool)])


def by_start(shard: OrfShard, part: slice, chosen: NDArray[np.int8]) -> IntArray:
    """The candidates of a sequence that are chosen, by where they begin."""
    genes = np.flatnonzero(chosen[part]) + part.start
    return np.asarray(genes[np.argsort(shard.bounds[genes, 0], kind="stable")])
