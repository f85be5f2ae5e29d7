"""Genes of a genome that nobody annotated: what a model expects there is counted in place of known genes."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from structune.errors import CapabilityError, DataError
from structune.genes.eukaryotes.gene_finder import GeneFinder
from structune.genes.eukaryotes.kernels.nodes import GENE
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.scaling import Scaling, log_odds
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.inputs import annotated_sequences
from structune.running.batches import batches
from structune.running.executors import make_executor
from structune.running.monitor import Monitor
from structune.structure import FloatArray

_ENOUGH = 1 << 24  # bases
_AT_ONCE = 1 << 18
_SETTLED = 0.02  # share of what is counted that is new


def adapt(finder: GeneFinder, X: Sequence[str | AnnotatedSequence], rounds: int) -> GeneFinder:
    """As `structune.genes.adapt` has it, of genes with introns."""
    finder._check_fitted()
    graph = finder.graph_
    if graph.scaling is None or graph.weights.n_tracks or not finder.has_probabilities:
        raise CapabilityError(
            f"found features={finder.features!r}, loss={finder.loss!r} and {graph.weights.n_tracks} tracks, "
            "expected a GeneFinder with features='full', loss='log' and no tracks"
        )
    pieces, plain, adapted = _sample(annotated_sequences(X, None)), ExonGraph(graph.weights), copy(finder)

    def counted(w: FloatArray | None) -> FloatArray:
        """How often each weight is expected to be used, or what decoys have, in all pieces."""

        def count(some: Sequence[str]) -> FloatArray:
            shard, found = plain.encode(some), np.zeros(plain.n_weights)
            if w is None:
                return plain.decoys(shard)
            plain.log_partition(w, shard, found)
            return found

        # some pieces at a time: encoded they take much more memory
        blocks = batches(pieces, len, _AT_ONCE, len(pieces))
        return sum(make_executor(finder.n_jobs).map(count, blocks), np.zeros(plain.n_weights))

    decoys, before = counted(None), np.zeros(plain.n_weights)
    with Monitor(finder.verbose) as monitor:
        for k in range(1, rounds + 1):
            # the E step of Baum and Welch: expected counts by the last round's tables, which make new ones
            counts = counted(adapted.graph_.all_weights(finder.coef_))
            if graph.weights.part(counts, "edges")[GENE] < 1.0:
                raise DataError("found nothing that could be learned from: expected sequences with genes")
            table = log_odds(graph.weights, counts, decoys)
            adapted.graph_ = ExonGraph(graph.weights, Scaling(graph.weights, table[None]))
            new, before = float(np.abs(counts - before).sum() / counts.sum()), counts
            monitor.record("adapt", done=k / rounds, new=new)
            if new <= _SETTLED:
                break
    return adapted


def _sample(sequences: Sequence[AnnotatedSequence]) -> list[str]:
    """Pieces of all of them, or from everywhere."""
    pieces = [
        each.sequence[start : start + _AT_ONCE]
        for each in sequences
        for start in range(0, len(each.sequence), _AT_ONCE)
    ]
    # every k-th piece, with the least k that makes them no more than _ENOUGH bases
    return pieces[:: 1 + sum(map(len, pieces)) // _ENOUGH]
