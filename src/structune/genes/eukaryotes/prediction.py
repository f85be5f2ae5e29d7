"""The best genes of pieces of sequences, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from structune.genes.eukaryotes.ends import within
from structune.genes.eukaryotes.hints import Hints
from structune.genes.eukaryotes.pieces import Gene, Piece
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.paths import path_genes
from structune.genes.formats.record import Exons
from structune.structure import FloatArray


def found_genes(
    graph: ExonGraph,
    w: FloatArray,
    hints: Sequence[Hints] | None,
    has_probabilities: bool,
    spans: Sequence[tuple[int, int]],
    pieces: Sequence[Piece],
) -> list[tuple[Piece, list[Gene], set[int]]]:
    """Those of pieces that are worked off at once, and the numbers of the hints that have an effect there.

    Hints, and spans whose bases count, are by sequence.
    """
    shard = graph.encode([piece.input for piece in pieces])
    evidence, used = None, [set[int]() for _ in pieces]
    if hints is not None:
        known = [
            hints[piece.sequence].evidence(piece.start, len(piece.text), shard.nodes.of(s))
            for s, piece in enumerate(pieces)
        ]
        evidence, used = [each for each, _ in known], [set(numbers.tolist()) for _, numbers in known]
    paths, _ = graph.best(w, shard, None, evidence)
    coding = None
    if has_probabilities:
        columns = graph.marginals(w, shard, evidence)
        coding = {sign: columns[:, 3 * k : 3 * k + 3].sum(axis=1) for k, sign in enumerate(graph.rules.signs)}
    found = []
    for piece, own, (a, b) in zip(pieces, used, pairwise(shard.starts.tolist()), strict=True):
        inside = [place - piece.start for place in spans[piece.sequence]]
        genes = [
            Gene(strand, exons, coding_score(coding, strand, within(exons, *inside), a))
            for strand, exons in path_genes(graph.weights, paths[a:b])
        ]
        found.append((piece, genes, own))
    return found


def coding_score(
    coding: Mapping[str, FloatArray] | None, strand: str, exons: Exons, first: int
) -> float | None:
    """The mean probability of the bases of a gene being coding, at its places from `first` on."""
    if coding is None or not exons:
        return None
    of_bases = np.concatenate([coding[strand][first + a : first + b] for a, b in exons])
    return float(min(1.0, of_bases.mean()))
