"""Genes of a genome that nobody annotated: the nearest model, and self-training from there."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy

import numpy as np

from structune.errors import CapabilityError, DataError
from structune.genes.examples import SkippedGenesWarning
from structune.genes.formats.record import AnnotatedSequence, Exons, Transcript
from structune.genes.inputs import annotated_sequences
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder
from structune.trees.multitask import MultitaskEstimator

_ENOUGH = 1_000_000  # bases to tell models apart by
_SETTLED = 0.001  # share of genes that are new
_Genes = list[tuple[Transcript, ...]]  # of each sequence


def nearest_node(model: MultitaskEstimator, X: Sequence[str | AnnotatedSequence]) -> str:
    """The node of a tree of organisms whose model suits a genome best.

    That of the inner nodes which is sure of most: the sum of the lengths of the genes that it finds, times
    their probabilities. The first million bases count, those of long sequences first. Leaves are surer than
    they should be: of an organism that has one, give the name. Near are genomes whose words are alike, as by
    their share of G and C, which need not be the next of kin.

    Parameters
    ----------
    model : MultitaskEstimator
        Of `ProkaryoticGeneFinder`.
    X : list of str or AnnotatedSequence

    Raises
    ------
    CapabilityError
        Not a tree of such models, or one without probabilities.
    """
    if not isinstance(model, MultitaskEstimator):
        raise CapabilityError(f"found {type(model).__name__}, expected a MultitaskEstimator")
    model._check_fitted("model_")
    if not isinstance(model.model_, ProkaryoticGeneFinder) or not model.model_.has_probabilities:
        raise CapabilityError(
            "expected a ProkaryoticGeneFinder with loss='log', whose genes have probabilities"
        )
    sample = _sample(annotated_sequences(X, None))

    def sure_of(node: str) -> float:
        genes: _Genes = model.model(node).predict(sample)
        return sum(t.length * (t.score or 0.0) for of in genes for t in of)

    inner = [node for node in model.nodes_ if node not in model.tree_.leaves]
    return max(inner or model.nodes_, key=sure_of)


def adapt(
    finder: ProkaryoticGeneFinder, X: Sequence[str | AnnotatedSequence], rounds: int = 20
) -> ProkaryoticGeneFinder:
    """A finder for a genome without annotation, learned from what another one finds there.

    In each round what is found is taken for the annotation, and all weights are learned from it by the ramp
    loss, which forgives mistakes, with the default penalties, those of kinds. When no more than one gene in a
    thousand is new, weights are learned once more by the log loss, so that genes have probabilities.

    Parameters
    ----------
    finder : ProkaryoticGeneFinder
        Of organisms not too far away; it stays as it is.
    X : list of str or AnnotatedSequence
        The genome; annotation in it is not looked at.
    rounds : int
        At most so many. `max_seconds` and `max_iterations` of the finder hold for the fit of each.

    Returns
    -------
    ProkaryoticGeneFinder
        With ``loss="log"`` and the default penalties; its other settings are those of `finder`.

    Raises
    ------
    DataError
        Nothing was found that could be learned from.
    CapabilityError
        Not a `ProkaryoticGeneFinder`.
    KeyboardInterrupt
        A fit ends with the best so far; but this is one of many, and the others would go on.
    """
    if isinstance(rounds, bool) or not isinstance(rounds, int | np.integer) or rounds < 1:
        raise DataError(f"rounds={rounds!r}: expected a whole number > 0")
    if not isinstance(finder, ProkaryoticGeneFinder):
        raise CapabilityError(f"found {type(finder).__name__}, expected a ProkaryoticGeneFinder")
    genome = [AnnotatedSequence(each.name, each.sequence) for each in annotated_sequences(X, None)]
    learner = copy(finder)
    learner.set_params(tuning=None, penalty=None, groups="kind", warm_start=True)
    genes = learner.predict(genome)
    for _ in range(rounds):
        before = genes
        _learn(learner, "ramp", genome, before)
        genes = learner.predict(genome)
        if _share_new(genes, before) <= _SETTLED:
            break
    _learn(learner, "log", genome, genes)
    learner.set_params(warm_start=finder.warm_start)
    return learner


def _learn(learner: ProkaryoticGeneFinder, loss: str, genome: list[AnnotatedSequence], genes: _Genes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedGenesWarning)  # such as genes at the ends of contigs
        learner.set_params(loss=loss).fit(genome, genes)
    if learner.status_ == "interrupted":
        raise KeyboardInterrupt


def _share_new(genes: _Genes, before: _Genes) -> float:
    """Share of the genes that were not there before."""
    new = sum(len(_ends(now) - _ends(old)) for now, old in zip(genes, before, strict=True))
    return new / max(1, sum(map(len, genes)))


def _ends(genes: tuple[Transcript, ...]) -> set[tuple[str, Exons]]:
    return {(t.strand, t.exons) for t in genes}


def _sample(sequences: Sequence[AnnotatedSequence]) -> list[str]:
    """Enough bases, of the longest sequences."""
    found, n = list[str](), 0
    for each in sorted(sequences, key=lambda each: -len(each.sequence)):
        found.append(each.sequence[: _ENOUGH - n])
        n += len(found[-1])
        if n == _ENOUGH:
            break
    return found
