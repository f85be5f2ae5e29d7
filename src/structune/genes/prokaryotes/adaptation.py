"""Self-training on a prokaryotic genome without annotation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from structune.genes.formats.record import AnnotatedSequence
from structune.genes.inputs import annotated_sequences
from structune.genes.nucleotides import Letters
from structune.genes.prokaryotes.metagenomes.metagenome_finder import MetagenomeFinder
from structune.genes.prokaryotes.orf_finder import OrfFinder, known_pieces
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder
from structune.genes.prokaryotes.starts import learn_starts
from structune.genes.prokaryotes.structure.candidates import OrfShard
from structune.running.executors import Run

_SETTLED = 0.01  # share of genes that are new
_TOLERANCE = 1e-3
_IN_DOUBT = 2.0  # log odds
_OF_MACHINES = ("n_jobs", "random_state", "verbose")
_LOOSE = 10.0  # times the tolerance of a fit to genes that the next round changes
_LESSON, _STRETCHES = 2_000_000, 7  # bases that weights are learned from, and parts of a genome they are in
_ENOUGH_TO_LEARN = {1000: 200_000, 500: 1_000_000}  # bases, in contigs of so many or more


class LittleToLearnWarning(UserWarning):
    """Warns that a genome is too small, or its contigs too short, for self-training to improve the model."""


def adapt(finder: OrfFinder, X: Sequence[str | AnnotatedSequence], rounds: int) -> ProkaryoticGeneFinder:
    """As `structune.genes.adapt` has it, of bacteria and archaea."""
    letters = [piece.letters for piece in known_pieces(annotated_sequences(X, None))]
    finder._check_fitted()
    _warn_of_little(letters)
    learner = _learner(finder)
    run, graph, parts = learner.run, learner.graph_, _stretches(letters)
    # a finder for metagenomes says how far its own fit goes, which is of few weights
    tolerance = learner._fit_tolerance if isinstance(finder, ProkaryoticGeneFinder) else _TOLERANCE
    learner.run = replace(run or Run(), tolerance=_LOOSE * tolerance)
    lesson = graph.of_letters(parts, is_open=not finder.closed)
    genes, starts = _first_genes(finder, lesson, parts), learner.starts_
    # Self-training: each round learns from the genes that the one before found. Rounds by the ramp loss,
    # which gives up on genes that do not fit; the last fit, by the log loss, gives probabilities.
    for _ in range(rounds):
        before = genes
        _learn(learner, "ramp", lesson, before)
        genes, _ = graph.best(learner.coef_, lesson)
        new, n = (int(np.count_nonzero(of)) for of in (genes > before, genes))
        if new / max(1, n) <= _SETTLED:
            break
    learner.run = replace(learner.run, tolerance=tolerance)
    _learn(learner, "log", lesson, genes)
    learner.run = run
    whole = graph.of_letters(letters, is_open=not finder.closed)
    genes, _ = graph.best(learner.coef_, whole)
    # a gene that may begin before its sequence does not teach where genes begin: its start may not be seen
    seen = np.where(whole.frame_sums(whole.begin_before) > 0, np.int8(0), genes)
    learner.starts_ = learn_starts(whole, seen, letters) or starts
    learner.set_params(warm_start=finder.warm_start)
    return learner


def _warn_of_little(letters: Sequence[Letters]) -> None:
    sizes = np.array([part.size for part in letters], np.int64)
    if not any(sizes[sizes >= long].sum() >= enough for long, enough in _ENOUGH_TO_LEARN.items()):
        some = "; or ".join(f"{n:,} in contigs of {long:,} or more" for long, n in _ENOUGH_TO_LEARN.items())
        text = f"adapting to {sizes.sum():,} bases may find fewer genes than the model alone. It needs {some}"
        warnings.warn(text, LittleToLearnWarning, stacklevel=4)


def _learner(finder: OrfFinder) -> ProkaryoticGeneFinder:
    """With the settings of a finder, and its weights if it has the same."""
    if isinstance(finder, ProkaryoticGeneFinder):
        learner = copy(finder)
    else:
        learner = ProkaryoticGeneFinder(code=finder.graph_.rules.code, closed=finder.closed)
        learner.set_params(**{name: getattr(finder, name) for name in _OF_MACHINES})
        learner.run = finder.run and replace(finder.run, checkpoint=None)  # one file is of one fit
        learner.graph_ = learner._graph()
        learner._import(np.zeros(learner.graph_.n_weights))
    return learner.set_params(tuning=None, penalty=None, groups="kind", warm_start=True)


def _first_genes(finder: OrfFinder, shard: OrfShard, letters: Sequence[Letters]) -> NDArray[np.int8]:
    """The genes that a finder finds. A metagenome finder also gives doubtful ones, since training drops genes
    more easily than it adds them; but none beyond the ends of contigs, where most would be wrong.
    """
    w = finder.coef_
    if isinstance(finder, MetagenomeFinder):
        w = w.copy()
        finder.graph_.part(w, "starts")[:] += _IN_DOUBT  # every gene has one
        finder.graph_.part(w, "ends")[:] -= _IN_DOUBT
    return finder.graph_.best(w, finder.completed(shard, letters))[0]


def _stretches(letters: Sequence[Letters]) -> Sequence[Letters]:
    """What weights are learned from: all, or some parts from everywhere, long for genes at ends are cut."""
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
    """Fit weights to genes as if they were known; an interrupted fit interrupts the whole."""
    learner.set_params(loss=loss).fit_known(replace(genome, chosen=genes))
    if learner.status_ == "interrupted":
        raise KeyboardInterrupt
