"""Genes of a genome that nobody annotated: a model that suits, and self-training from there."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from structune.errors import CapabilityError
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.inputs import annotated_sequences
from structune.genes.nucleotides import Letters
from structune.genes.prokaryotes.metagenomes.metagenome_finder import MetagenomeFinder
from structune.genes.prokaryotes.orf_finder import OrfFinder
from structune.genes.prokaryotes.pieces import known_pieces
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder
from structune.genes.prokaryotes.starts.choices import open_ends
from structune.genes.prokaryotes.starts.learning import learn_starts
from structune.genes.prokaryotes.structure.candidates import BACTERIAL, WITHOUT_TGA
from structune.genes.prokaryotes.structure.shard import OrfShard
from structune.structure import FloatArray
from structune.trees.multitask import MultitaskEstimator

ENOUGH = 1_000_000  # bases to tell models apart by
_FEW, _DENSE = 50_000, 0.4  # bases, and the share of them that a model is sure of where genes are dense
_SURER, _RATHER = 1.15, 1.03  # so many times as many bases: by another code, and if TGA is a stop codon
_SETTLED = 0.01  # share of genes that are new
_TOLERANCE = 1e-3
_IN_DOUBT = 2.0  # log odds
_OF_MACHINES = ("executor", "n_jobs", "max_iterations", "max_seconds", "random_state", "verbose")
_LOOSE = 10.0  # times the tolerance of a fit to genes that the next round changes
_LESSON, _STRETCHES = 2_000_000, 7  # bases that weights are learned from, and parts of a genome they are in
_ENOUGH_TO_LEARN = {1000: 200_000, 500: 1_000_000}  # bases, in contigs of so many or more


class LittleToLearnWarning(UserWarning):
    """A genome is too small, or its contigs too short, for self-training to gain."""


def nearest_node(
    model: MultitaskEstimator, X: Sequence[str | AnnotatedSequence], code: int | None = None
) -> str:
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
    code : int, optional
        NCBI's number of the genetic code; by default that of the model.

    Raises
    ------
    CapabilityError
        Not a tree of such models, or one without probabilities.
    DataError
        There is no such code.
    """
    return nearest(model, X, code or _finder(model).graph_.rules.code)[0]


def nearest(
    model: MultitaskEstimator, X: Sequence[str | AnnotatedSequence], code: int | None = None
) -> tuple[str, int]:
    """The node of `nearest_node`, and the genetic code that it is for: by default that of `suited_code`."""
    if not isinstance(model, MultitaskEstimator):
        raise CapabilityError(f"found {type(model).__name__}, expected a MultitaskEstimator")
    sample = _sample(annotated_sequences(X, None))
    return _suited(model, sample)[:2] if code is None else (_surest(model, sample, code)[0], code)


def suited_code(model: MultitaskEstimator | OrfFinder, X: Sequence[str | AnnotatedSequence]) -> int:
    """The genetic code that suits a genome: that of the model, or 11, or 4, by which TGA is no stop codon.

    Another than that of the model, if there are 50,000 bases, of which the model, or the surest of a tree, is
    sure of two in five (see `nearest_node`), as of all bacteria and archaea. 4, if these are more than 1.15
    times as many as with 11: genomes of code 11 have fewer with 4, or as many, and those with TGA in place of
    TGG have more, most one and a half times or twice as many. In place of a code of the stops of 4, which are
    also those of 25, 11, if they are 1.03 times as many; in place of codes of other stops, one by which they
    are 1.15 times as many.

    Parameters
    ----------
    model : MetagenomeFinder, ProkaryoticGeneFinder or MultitaskEstimator
        A finder, or a tree of prokaryotic ones.
    X : list of str or AnnotatedSequence

    Raises
    ------
    CapabilityError
        Not such a model, or one without probabilities.
    """
    return _suited(model, _sample(annotated_sequences(X, None)))[1]


def surer_code(finder: OrfFinder, X: Sequence[str | AnnotatedSequence]) -> tuple[int, float] | None:
    """The code of `suited_code`, if it is not that of the finder, and how many times as many bases the finder
    is sure of by it."""
    _, code, gain = _suited(finder, _sample(annotated_sequences(X, None)))
    return None if code == finder.graph_.rules.code else (code, gain)


def sure_share(finder: OrfFinder, X: Sequence[str | AnnotatedSequence]) -> float:
    """The share of a genome's bases that a finder is sure of; 0 of less than 50,000."""
    sample = _sample(annotated_sequences(X, None))
    n = sum(letters.size for letters in sample)
    return _surest(finder, sample, finder.graph_.rules.code)[1] / n if n >= _FEW else 0.0


def _suited(model: MultitaskEstimator | OrfFinder, sample: Sequence[Letters]) -> tuple[str, int, float]:
    """The surest node for the genetic code that suits, the code, and how many times as sure it is by this."""
    own, n = _finder(model).graph_.rules, sum(letters.size for letters in sample)
    found = {own.code: _surest(model, sample, own.code)}
    if n >= _FEW:
        others = {BACTERIAL, WITHOUT_TGA} - {own.code}
        found |= {code: _surest(model, sample, code) for code in others}
        lacks_tga = found[WITHOUT_TGA][1] > _SURER * found[BACTERIAL][1]
        right = WITHOUT_TGA if lacks_tga else BACTERIAL
        sure, least = found[right][1], _RATHER if own.has_stops(WITHOUT_TGA) else _SURER
        if not own.has_stops(right) and sure > max(least * found[own.code][1], _DENSE * n):
            return found[right][0], right, sure / max(found[own.code][1], 1.0)
    return found[own.code][0], own.code, 1.0


def _surest(model: MultitaskEstimator | OrfFinder, sample: Sequence[Letters], code: int) -> tuple[str, float]:
    """The inner node that is sure of most bases, and of how many; of a finder alone the empty name."""
    finder = _finder(model).with_code(code)
    graph = finder.graph_
    sample = [letters for letters in sample if letters.size >= graph.rules.shortest]
    shard = finder.completed(graph.of_letters(sample, is_open=True), sample)
    lengths = shard.bounds[:, 1] - shard.bounds[:, 0]

    def sure_of(w: FloatArray) -> float:
        chosen, _ = graph.best(w, shard)
        return float(np.sum(chosen * lengths * graph.marginals(w, shard)))

    if not isinstance(model, MultitaskEstimator):
        return "", sure_of(finder.coef_)
    inner = [node for node in model.nodes_ if node not in model.tree_.leaves] or list(model.nodes_)
    known = {node: sure_of(model.model(node).coef_) for node in inner}
    return max(known.items(), key=lambda item: item[1])


def _finder(model: MultitaskEstimator | OrfFinder) -> OrfFinder:
    """A finder, or that of the root of a tree, which must have probabilities."""
    if isinstance(model, MultitaskEstimator):
        model._check_fitted("model_")
    elif isinstance(model, OrfFinder):
        model._check_fitted()
    else:
        raise CapabilityError(f"found {type(model).__name__}, expected a finder of genes without introns")
    found = model.model_ if isinstance(model, MultitaskEstimator) else model
    if not isinstance(found, OrfFinder) or not found.has_probabilities:
        raise CapabilityError("expected a finder with loss='log', whose genes have probabilities")
    return found


def adapt(finder: OrfFinder, X: Sequence[str | AnnotatedSequence], rounds: int) -> ProkaryoticGeneFinder:
    """As `structune.genes.adapt` has it, of bacteria and archaea."""
    letters = _letters(annotated_sequences(X, None))
    finder._check_fitted()
    _warn_of_little(letters)
    learner = _learner(finder)
    tolerance, graph, parts = learner.tolerance, learner.graph_, _stretches(letters)
    learner.set_params(tolerance=_LOOSE * tolerance)
    lesson = graph.of_letters(parts, is_open=not finder.closed)
    genes, starts = _first_genes(finder, lesson, parts), learner.starts_
    for _ in range(rounds):
        before = genes
        _learn(learner, "ramp", lesson, before)
        genes, _ = graph.best(learner.coef_, lesson)
        if _share_new(genes, before) <= _SETTLED:
            break
    learner.set_params(tolerance=tolerance)
    _learn(learner, "log", lesson, genes)
    whole = graph.of_letters(letters, is_open=not finder.closed)
    genes, _ = graph.best(learner.coef_, whole)
    learner.starts_ = learn_starts(graph, whole, _with_all_starts(whole, genes), letters) or starts
    learner.set_params(warm_start=finder.warm_start)
    return learner


def _warn_of_little(letters: Sequence[Letters]) -> None:
    sizes = np.array([part.size for part in letters], np.int64)
    if any(sizes[sizes >= long].sum() >= enough for long, enough in _ENOUGH_TO_LEARN.items()):
        return
    expected = ", or ".join(f"{n:,} in contigs of {long:,} or more" for long, n in _ENOUGH_TO_LEARN.items())
    text = f"found {sizes.sum():,} bases, expected {expected}: adapting may find less than the model as it is"
    warnings.warn(text, LittleToLearnWarning, stacklevel=4)


def _learner(finder: OrfFinder) -> ProkaryoticGeneFinder:
    """With the settings of a finder, and its weights if it has the same."""
    if isinstance(finder, ProkaryoticGeneFinder):
        learner = copy(finder)
    else:
        learner = ProkaryoticGeneFinder(
            code=finder.graph_.rules.code, closed=finder.closed, tolerance=_TOLERANCE
        )
        learner.set_params(**{name: getattr(finder, name) for name in _OF_MACHINES})
        learner.graph_ = learner._graph()
        learner._import(np.zeros(learner.graph_.n_weights))
    return learner.set_params(tuning=None, penalty=None, groups="kind", warm_start=True)


def _first_genes(finder: OrfFinder, shard: OrfShard, letters: Sequence[Letters]) -> NDArray[np.int8]:
    """Those that a finder finds; by one of metagenomes also those in doubt, for learning rather gives up on
    genes than finds others. Those in doubt do not go on beyond their contigs, where most would be wrong.
    """
    w = finder.coef_
    if isinstance(finder, MetagenomeFinder):
        w = w.copy()
        finder.graph_.weights.part(w, "starts")[:] += _IN_DOUBT  # every gene has one
        finder.graph_.weights.part(w, "ends")[:] -= _IN_DOUBT
    return finder.graph_.best(w, finder.completed(shard, letters))[0]


def _stretches(letters: Sequence[Letters]) -> Sequence[Letters]:
    """What weights are learned from: all, or some long parts from everywhere.

    Long ones, for genes at their ends are not whole.
    """
    n = sum(part.size for part in letters)
    if n <= _LESSON:
        return letters
    found, at = list[Letters](), 0
    for part in letters:
        for first in (k * n // _STRETCHES - at for k in range(_STRETCHES)):
            found.append(part[max(first, 0) : max(first + _LESSON // _STRETCHES, 0)])
        at += part.size
    return [part for part in found if part.size]


def _learn(learner: ProkaryoticGeneFinder, loss: str, genome: OrfShard, genes: NDArray[np.int8]) -> None:
    learner.set_params(loss=loss).fit_known(replace(genome, chosen=genes))
    if learner.status_ == "interrupted":
        raise KeyboardInterrupt


def _with_all_starts(shard: OrfShard, genes: NDArray[np.int8]) -> NDArray[np.int8]:
    """Those genes that cannot begin before their sequence: the others' starts may not be seen."""
    return np.where(shard.frame_sums(open_ends(shard)) > 0, np.int8(0), genes)


def _share_new(genes: NDArray[np.int8], before: NDArray[np.int8]) -> float:
    """Share of the genes that were not there before."""
    return int(np.count_nonzero(genes > before)) / max(1, int(np.count_nonzero(genes)))


def _letters(sequences: Sequence[AnnotatedSequence]) -> list[Letters]:
    """What is known of sequences."""
    return [piece.letters for s, each in enumerate(sequences) for piece in known_pieces(each, s)]


def _sample(sequences: Sequence[AnnotatedSequence]) -> list[Letters]:
    """Enough bases, of the longest pieces."""
    found, n = list[Letters](), 0
    for letters in sorted(_letters(sequences), key=lambda letters: -letters.size):
        found.append(letters[: ENOUGH - n])
        n += found[-1].size
        if n == ENOUGH:
            break
    return found
