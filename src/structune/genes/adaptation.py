"""Adaptation of a gene finder to a genome without annotation, by self-training."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import overload

import numpy as np

from structune.errors import CapabilityError, DataError
from structune.genes.eukaryotes.gene_finder import GeneFinder
from structune.genes.eukaryotes.kernels.nodes import GENE
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.weights import Scaling, log_odds
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.inputs import annotated_sequences
from structune.genes.prokaryotes import adaptation as prokaryotes
from structune.genes.prokaryotes.orf_finder import OrfFinder
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder
from structune.learning.parameters import Range, check_number
from structune.running.executors import make_executor
from structune.running.memory import batches
from structune.running.monitor import Monitor
from structune.structure import FloatArray

_ENOUGH = 1 << 24  # bases
_AT_ONCE = 1 << 18
_SETTLED = 0.02  # share of what is counted that is new
Genome = Sequence[str | AnnotatedSequence]
Finder = GeneFinder | OrfFinder


@overload
def adapt(finder: GeneFinder, X: Genome, rounds: int = 20) -> GeneFinder: ...
@overload
def adapt(finder: OrfFinder, X: Genome, rounds: int = 20) -> ProkaryoticGeneFinder: ...
@overload
def adapt(finder: Finder, X: Genome, rounds: int = 20) -> GeneFinder | ProkaryoticGeneFinder: ...
def adapt(finder: Finder, X: Genome, rounds: int = 20) -> GeneFinder | ProkaryoticGeneFinder:
    """Adapt a gene finder to a genome without annotation, by self-training on the genes that it finds there.

    Genes with introns: each round counts words of bases, signals and lengths anew, weighted by the
    probabilities of all sets of genes (Baum-Welch); scales and deviations stay. Adaptation ends when the
    counts hardly change. For genomes of more than 16 million bases, evenly spaced pieces are used.

    Bacteria and archaea: each round takes the genes found as the annotation and fits all weights to them, by
    the ramp loss, which tolerates mistakes. When at most one gene in a hundred is new, a last fit by the log
    loss gives probabilities. For genomes of more than two million bases, pieces with two million in total are
    used. Last, a model of gene starts is trained from the stops of genes that cannot begin before their
    contig (`StartModel`), if there are 200.

    Parameters
    ----------
    finder : GeneFinder, MetagenomeFinder or ProkaryoticGeneFinder
        The finder to begin with; it is not changed. For bacteria and archaea, best
        `MetagenomeFinder.pretrained`, or a finder for similar organisms. For genes with introns, one with
        ``features="full"`` and without tracks, such as `GeneFinder.pretrained`.
    X : list of str or AnnotatedSequence
        The genome; annotated genes in it are ignored.
    rounds : int
        Maximum number of rounds. The `run` of a prokaryotic finder applies to the fit of each round.

    Returns
    -------
    GeneFinder or ProkaryoticGeneFinder
        The adapted finder, with the settings of `finder`. A prokaryotic finder, however, gets ``loss="log"``
        and the default penalties. After a metagenome finder, the tolerance of the fit is 0.001.

    Raises
    ------
    DataError
        No genes to train on were found.
    CapabilityError
        `finder` is none of these, or is a `GeneFinder` with tracks, other features or no probabilities.
    KeyboardInterrupt
        A fit was interrupted. Adaptation then ends without a result.

    Warns
    -----
    LittleToLearnWarning
        A genome without introns has less than 200,000 bases in contigs of 1,000 or more, and less than a
        million in contigs of 500 or more: the adapted finder may find fewer genes than `finder`.
    """
    check_number("rounds", rounds, Range(0, whole=True, open=True))
    if isinstance(finder, GeneFinder):
        return _counted_anew(finder, X, int(rounds))
    if isinstance(finder, OrfFinder):
        return prokaryotes.adapt(finder, X, int(rounds))
    raise CapabilityError(
        f"cannot adapt {type(finder).__name__}: use a GeneFinder, MetagenomeFinder or ProkaryoticGeneFinder"
    )


def _counted_anew(finder: GeneFinder, X: Genome, rounds: int) -> GeneFinder:
    """Of genes with introns: what a model expects in a genome is counted in place of known genes."""
    finder._check_fitted()
    graph, scaling = finder.graph_, finder.graph_.scaling
    if scaling is None or graph.weights.n_tracks or not finder.has_probabilities:
        raise CapabilityError(
            "adapting needs a GeneFinder with features='full', loss='log' and no tracks; this one has "
            f"features={finder.features!r}, loss={finder.loss!r} and {graph.weights.n_tracks} tracks"
        )
    # every k-th piece of the genome, with the least k that makes them no more than _ENOUGH bases
    pieces = [
        each.sequence[start : start + _AT_ONCE]
        for each in annotated_sequences(X, None)
        for start in range(0, len(each.sequence), _AT_ONCE)
    ]
    pieces = pieces[:: 1 + sum(map(len, pieces)) // _ENOUGH]
    plain, adapted = ExonGraph(graph.weights), copy(finder)

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
            counts = counted(scaling.spread(finder.coef_)[0])
            if graph.weights.part(counts, "edges")[GENE] < 1.0:
                raise DataError("the model finds no genes in these sequences to adapt to; try a closer model")
            scaling = Scaling(graph.weights, log_odds(graph.weights, counts, decoys)[None])
            adapted.graph_ = ExonGraph(graph.weights, scaling)
            new, before = float(np.abs(counts - before).sum() / counts.sum()), counts
            monitor.record("adapt", done=k / rounds, new=new)
            if new <= _SETTLED:
                break
    return adapted
