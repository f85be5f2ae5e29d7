"""Which start codon a gene has: log odds of signals that are learned without knowing any start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.genes.prokaryotes.kernels import orf_graph as kernels
from structune.genes.prokaryotes.kernels.ribosome_site import RUNS, SPACINGS
from structune.genes.prokaryotes.starts.choices import (
    CONTEXT_BEGIN,
    N_BEFORE,
    N_NEIGHBOURS,
    Choices,
    open_ends,
)
from structune.genes.prokaryotes.starts.motifs import Motif
from structune.genes.prokaryotes.structure.candidates import STARTS, WORD
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.genes.prokaryotes.structure.shard import CANDIDATES, OrfShard
from structune.genes.prokaryotes.structure.weights import CONTEXT
from structune.structure import FloatArray

FEWEST = 200  # genes that it is learned from
_N_WORDS = 4**WORD + 1
_STEPS = 8
_CODONS = np.array([0.75, 0.16, 0.09])  # of ATG, GTG, TTG among starts
_FEW = 300.0  # starts seen before
_OTHERS = -2.0  # log odds of other start codons than ATG, at first
_FRAME = 1e3  # score of a gene, more than all that is said of starts
_SITUATIONS = 3
_CLASSES = np.array([0.5, 0.1, 0.3])  # with ribosome-binding site, without leader, others
_NEAR, _BEFORE = 15, 16  # words

# how much log odds count: words behind and before a start and up to the stop, codons here and anywhere,
# motifs of classes, promoter, bases around, gene before, match with the 16S RNA
_WEIGHTS = {
    "behind": 0.08,
    "before": -0.04,
    "coding": 0.1,
    "codon": 1.0,
    "any codon": 0.3,
    "class": 1.0,
    "promoter": 0.45,
    "neighbour": 1.4,
    "site": 0.4,
}
_PLACE_WEIGHTS = np.select(
    [CONTEXT < -20, CONTEXT < -3, CONTEXT < 0, CONTEXT < 6], [0.25, 0.3, 0.5, 0.55], 0.7
)


@dataclass(frozen=True)
class StartModel:
    """Log odds of what is seen at starts of genes, against candidates that end at the same stops.

    A start is of one of three classes, by the gene before it: those with a ribosome-binding site, those that
    begin with their messenger RNA, behind a -10 box, and those of neither sign. A promoter further before it
    counts beside these, as do words of two codons, the start codon, bases around, and the distance of the
    gene before.

    Attributes
    ----------
    words : ndarray, shape (4097,)
        Log odds of words of two codons in genes; 0 for one with an unknown base.
    codons : ndarray, shape (3,)
    sites : ndarray, shape (n_sites,)
    context : ndarray, shape (n_context, 5)
    neighbours : ndarray, shape (n_neighbours,)
    classes : ndarray, shape (3, 3)
        Probabilities of classes: near behind a gene on the same strand, farther behind one, or behind one on
        the other strand.
    background : ndarray, shape (4,)
        Of bases before candidates.
    site, box, promoter : Motif
    """

    words: FloatArray
    codons: FloatArray
    sites: FloatArray
    context: FloatArray
    neighbours: FloatArray
    classes: FloatArray
    background: FloatArray
    site: Motif
    box: Motif
    promoter: Motif

    @classmethod
    def learn(cls, graph: OrfGraph, shard: OrfShard, chosen: NDArray[np.int8]) -> StartModel | None:
        """Learn from genes whose stops are right, by expectation maximisation over their starts.

        None if there are too few.
        """
        if np.count_nonzero(chosen) < FEWEST:
            return None
        return _Lesson(graph, shard, chosen).model

    def scores(self, of: Choices) -> FloatArray:
        """Log odds of each candidate."""
        return self._scores(of)[0]

    def class_shares(self, of: Choices) -> FloatArray:
        """The probability of each class, were it a start."""
        return self._scores(of)[1]

    def _scores(self, of: Choices) -> tuple[FloatArray, FloatArray]:
        before = of.letters[:, :N_BEFORE]
        site, box, promoter = (
            motif.scores(before, CONTEXT_BEGIN, self.background)
            for motif in (self.site, self.box, self.promoter)
        )
        odds = self.classes[of.situation] * np.exp(np.column_stack([site, box, np.zeros(len(of))]))
        total = odds.sum(axis=1)
        around = self.context[np.arange(CONTEXT.size), of.letters] @ _PLACE_WEIGHTS
        parts = {
            "behind": of.words_near(self.words, 0, _NEAR),
            "before": of.words_near(self.words, -_BEFORE, -1),
            "coding": of.word_scores(self.words),
            "codon": self.codons[of.kinds],
            "any codon": np.log(_CODONS)[of.kinds],
            "class": np.log(total),
            "promoter": promoter,
            "neighbour": self.neighbours[of.before],
            "site": self.sites[of.sites],
        }
        weighed: FloatArray = sum((_WEIGHTS[name] * part for name, part in parts.items()), around)
        return weighed, odds / total[:, None]

    def choose(
        self, graph: OrfGraph, shard: OrfShard, chosen: NDArray[np.int8]
    ) -> tuple[NDArray[np.int8], FloatArray]:
        """The same genes with the starts that the model gives them, and probabilities of starts.

        Genes that begin before their sequence stay as they are. Neighbours overlap by no more than before.
        """
        is_open = open_ends(shard)
        fixed = chosen.astype(bool) & is_open
        free = (chosen.astype(bool) & ~is_open).astype(np.int8)
        scores, found = np.full(chosen.size, -np.inf), np.zeros(chosen.size, np.int8)
        probability = np.zeros(chosen.size)
        scores[fixed], probability[fixed] = _FRAME, 1.0
        if free.any():
            of = Choices.of(shard, graph.weights, free)
            odds = np.where(is_open[of.places], -np.inf, self.scores(of))
            probability[of.places] = of.shares(odds)
            scores[of.places] = _FRAME + np.log(np.maximum(probability[of.places], 1e-300))
            scores[of.places[is_open[of.places]]] = -np.inf
        gaps = graph.no_gaps
        for s in range(len(shard)):
            part = shard.part(s, CANDIDATES)
            kernels.best(shard.ends(s), gaps, scores[part], found[part])
        return found, probability


class _Lesson:
    """What a model is learned from, and the learning."""

    def __init__(self, graph: OrfGraph, shard: OrfShard, chosen: NDArray[np.int8]) -> None:
        self.of = Choices.of(shard, graph.weights, chosen)
        self._words = np.bincount(shard.words, minlength=_N_WORDS)[:-1] + 1.0  # of all frames, genes or not
        of = self.of
        before = of.letters[:, :N_BEFORE]
        self._background = np.bincount(before[before < 4], minlength=4) / np.count_nonzero(before < 4)
        self._priors = {
            "site": Motif.of("AGGAGG", -20, -9, 0.9, self._background),
            "box": Motif.of("TANNNT", -18, -7, 0.9, self._background),
            "promoter": Motif.of("TATAAT", -40, -20, 0.2, self._background),
        }
        used = of.shares(np.where(of.kinds == 0, 0.0, _OTHERS))
        self.model = self._tables(used, np.tile(_CLASSES, (_SITUATIONS, 1)), self._priors)
        classes = self.model.class_shares(of)
        for _ in range(_STEPS):
            motifs = self._learned(used, classes)
            self.model = self._tables(used, self._class_table(used, classes), motifs)
            scores, classes = self.model._scores(of)
            used = of.shares(scores)

    def _learned(self, used: FloatArray, classes: FloatArray) -> dict[str, Motif]:
        shares = {"site": used * classes[:, 0], "box": used * classes[:, 1], "promoter": used}
        before = self.of.letters[:, :N_BEFORE]
        return {
            name: getattr(self.model, name).learned(
                before, CONTEXT_BEGIN, self._background, share, self._priors[name], name != "promoter"
            )
            for name, share in shares.items()
        }

    def _class_table(self, used: FloatArray, classes: FloatArray) -> FloatArray:
        counts = [
            np.bincount(self.of.situation, used * share, minlength=_SITUATIONS) + 2.0 for share in classes.T
        ]
        table = np.column_stack(counts)
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    def _tables(self, used: FloatArray, classes: FloatArray, motifs: dict[str, Motif]) -> StartModel:
        of, sites = self.of, RUNS * SPACINGS + 1
        background = self._words / self._words.sum()
        words = of.count_words(used, _N_WORDS)[:-1] + len(background) / 2 * background
        known = _FEW * _CODONS + np.bincount(of.kinds, used, minlength=len(STARTS))
        all_codons = np.bincount(of.kinds, minlength=len(STARTS)) + 1.0
        return StartModel(
            words=np.append(np.log(words / words.sum() / background), 0.0),
            codons=np.log(known / known.sum() / (all_codons / all_codons.sum())),
            sites=_log_odds(of.sites, used, sites),
            context=np.array([np.append(_log_odds(c, used, 5)[:4], 0.0) for c in of.letters.T]),
            neighbours=_log_odds(of.before, used, N_NEIGHBOURS),
            classes=classes,
            background=self._background,
            **motifs,
        )


def _log_odds(kind: Any, used: FloatArray, n: int) -> FloatArray:
    """Of each kind among starts, against all candidates."""
    every = np.bincount(kind, minlength=n) + 1.0
    every /= every.sum()
    counts = np.bincount(kind, used, minlength=n) + n * every
    return np.asarray(np.log(counts / counts.sum() / every))
