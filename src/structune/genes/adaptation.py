"""Genes of a genome that nobody annotated: learning from what a model finds there."""

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
    """A finder for a genome without annotation, learned from what another one finds there.

    Of genes with introns, words, signals and lengths are counted anew in each round, by the probabilities of
    all sets of genes (Baum and Welch); scales and deviations stay. It ends when counts change no more. Of
    genomes of more than 16 million bases parts from everywhere are looked at.

    Of bacteria and archaea, what is found in each round is taken for the annotation, and all weights are
    learned from it by the ramp loss, which forgives mistakes. When no more than one gene in a hundred is new,
    weights are learned once more by the log loss, so that genes have probabilities. Of genomes of more than
    two million bases as many are learned from, in parts from everywhere. Then where genes begin is learned,
    from the stops alone of genes that cannot begin before their contig (`StartModel`), if there are 200.

    Parameters
    ----------
    finder : GeneFinder, MetagenomeFinder or ProkaryoticGeneFinder
        It stays as it is. Of bacteria and archaea best `MetagenomeFinder.pretrained`, or one of organisms not
        too far away. Of genes with introns one with ``features="full"`` and without tracks, such as
        `GeneFinder.pretrained`.
    X : list of str or AnnotatedSequence
        The genome; annotation in it is not looked at.
    rounds : int
        At most so many. The `run` of a prokaryotic finder holds for the fit of each.

    Returns
    -------
    GeneFinder or ProkaryoticGeneFinder
        A prokaryotic one with ``loss="log"`` and the default penalties; other settings are those of `finder`,
        but for the tolerance of one of metagenomes, which is 0.001.

    Raises
    ------
    DataError
        Nothing was found that could be learned from.
    CapabilityError
        Not such a finder.
    KeyboardInterrupt
        A fit alone ends with the best weights so far. Here it is one of many, so the whole is interrupted.

    Warns
    -----
    LittleToLearnWarning
        A genome without introns has less than 200,000 bases in contigs of 1,000 or more, and less than a
        million in contigs of 500: less may be found than by `finder` as it is.
    """
    check_number("rounds", rounds, Range(0, whole=True, open=True))
    if isinstance(finder, GeneFinder):
        return _counted_anew(finder, X, int(rounds))
    if isinstance(finder, OrfFinder):
        return prokaryotes.adapt(finder, X, int(rounds))
    raise CapabilityError(
        f"found {type(finder).__name__}, expected a GeneFinder, MetagenomeFinder or ProkaryoticGeneFinder"
    )


def _counted_anew(finder: GeneFinder, X: Genome, rounds: int) -> GeneFinder:
    """Of genes with introns: what a model expects in a genome is counted in place of known genes."""
    finder._check_fitted()
    graph, scaling = finder.graph_, finder.graph_.scaling
    if scaling is None or graph.weights.n_tracks or not finder.has_probabilities:
        raise CapabilityError(
            f"found features={finder.features!r}, loss={finder.loss!r} and {graph.weights.n_tracks} tracks, "
            "expected a GeneFinder with features='full', loss='log' and no tracks"
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
                raise DataError("found nothing that could be learned from: expected sequences with genes")
            scaling = Scaling(graph.weights, log_odds(graph.weights, counts, decoys)[None])
            adapted.graph_ = ExonGraph(graph.weights, scaling)
            new, before = float(np.abs(counts - before).sum() / counts.sum()), counts
            monitor.record("adapt", done=k / rounds, new=new)
            if new <= _SETTLED:
                break
    return adapted
