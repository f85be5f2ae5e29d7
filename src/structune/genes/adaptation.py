"""Genes of a genome that nobody annotated: learning from what a model finds there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from structune.errors import CapabilityError, DataError
from structune.genes.eukaryotes import adaptation as eukaryotes
from structune.genes.eukaryotes.gene_finder import GeneFinder
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.prokaryotes import adaptation as prokaryotes
from structune.genes.prokaryotes.orf_finder import OrfFinder
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder

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

    Of genes with introns, words, signals and lengths are counted anew in each round, in all sets of genes by
    their probabilities, as the algorithm of Baum and Welch does; how much each kind counts, and how signals
    and lengths deviate, stays. It ends when counts change no more. Of genomes of more than 16 million bases
    parts from everywhere are looked at.

    Of bacteria and archaea, what is found in each round is taken for the annotation, and all weights are
    learned from it by the ramp loss, which forgives mistakes, with the default penalties, those of kinds.
    When no more than one gene in a hundred is new, weights are learned once more by the log loss, so that
    genes have probabilities. Of genomes of more than two million bases as many are learned from, in parts
    from everywhere. Genes that go on beyond the ends of contigs are learned from, too. Then where genes begin
    is learned, from the stops alone of all that cannot begin before their contig (`StartModel`), if there are
    200 of them.

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
        A fit ends with the best so far; but this is one of many, and the others would go on.

    Warns
    -----
    LittleToLearnWarning
        A genome without introns has less than 200,000 bases in contigs of 1,000 or more, and less than a
        million in contigs of 500: what is learned there may find less than `finder` does.
    """
    if isinstance(rounds, bool) or not isinstance(rounds, int | np.integer) or rounds < 1:
        raise DataError(f"rounds={rounds!r}: expected a whole number > 0")
    if isinstance(finder, GeneFinder):
        return eukaryotes.adapt(finder, X, int(rounds))
    if isinstance(finder, OrfFinder):
        return prokaryotes.adapt(finder, X, int(rounds))
    raise CapabilityError(
        f"found {type(finder).__name__}, expected a GeneFinder, MetagenomeFinder or ProkaryoticGeneFinder"
    )
