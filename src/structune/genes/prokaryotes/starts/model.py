"""Which start codon a gene has: log odds of signals that are learned without knowing any start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structune.genes.prokaryotes.kernels import orf_graph as kernels
from structune.genes.prokaryotes.starts.choices import (
    CONTEXT_BEGIN,
    N_BEFORE,
    Choices,
    open_ends,
)
from structune.genes.prokaryotes.starts.motifs import Motif
from structune.genes.prokaryotes.structure.candidates import WORD
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.genes.prokaryotes.structure.shard import CANDIDATES, OrfShard
from structune.genes.prokaryotes.structure.weights import CONTEXT
from structune.structure import FloatArray

_FRAME = 1e3  # score of a gene, more than all that is said of starts
N_WORDS = 4**WORD + 1
CODONS = np.array([0.75, 0.16, 0.09])  # of ATG, GTG, TTG among starts
SITUATIONS, N_CLASSES = 3, 3
_NEAR, _BEFORE = 15, 16  # words
MOTIFS = {  # at first; the first and last place of their first bases; shares of starts, of a class or of all
    "site": ("AGGAGG", -20, -9, 0.9),
    "box": ("TANNNT", -18, -7, 0.9),
    "promoter": ("TATAAT", -40, -20, 0.2),
}

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
            "any codon": np.log(CODONS)[of.kinds],
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
