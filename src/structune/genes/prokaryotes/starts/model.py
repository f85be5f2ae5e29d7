"""Which start codon a gene has: log odds of signals that are learned without knowing any start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structune.genes.prokaryotes.kernels import orf_graph as kernels
from structune.genes.prokaryotes.starts.choices import UPSTREAM, Choices, open_ends
from structune.genes.prokaryotes.starts.motifs import Motif
from structune.genes.prokaryotes.structure.candidates import WORD
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.genes.prokaryotes.structure.shard import OrfShard
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

_AROUND = ("far before", "before", "at", "second codon", "behind")  # bases around starts that count alike
_GROUP = np.searchsorted([-20, -3, 0, 6], CONTEXT, side="right")  # of each place, among these
WEIGHTS = {  # of log odds, as training/prokaryotic_starts.py fits them
    "words behind": 0.16,
    "words before": -0.08,
    "words": 0.09,
    "codon": 1.1,
    "codon of any genome": 0.38,
    "class": 1.0,
    "promoter": 0.54,
    "bases far before": 0.2,
    "bases before": 0.2,
    "bases at": 0.46,
    "bases second codon": 0.51,
    "bases behind": 0.65,
    "neighbour": 1.27,
    "behind the first": 0.58,
    "match with 16S RNA": 0.63,
}


@dataclass(frozen=True)
class StartModel:
    """Log odds of what is seen at starts of genes, against candidates that end at the same stops.

    A start is of one of three classes, by the gene before it: those with a ribosome-binding site, those that
    begin with their messenger RNA, behind a -10 box, and those of neither sign. A promoter further before it
    counts beside these, as do words of two codons, the start codon, bases around, the distance of the gene
    before, and that of the first start codon of the frame.

    Attributes
    ----------
    words : ndarray, shape (4097,)
        Log odds of words of two codons in genes; 0 for one with an unknown base.
    codons : ndarray, shape (3,)
    sites : ndarray, shape (n_sites,)
    context : ndarray, shape (n_context, 5)
    neighbours : ndarray, shape (n_neighbours,)
    behind : ndarray, shape (7,)
        Of how far a start lies behind the first start codon of its frame.
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
    behind: FloatArray
    classes: FloatArray
    background: FloatArray
    site: Motif
    box: Motif
    promoter: Motif

    def scores(self, of: Choices) -> FloatArray:
        """Log odds of each candidate."""
        return weighed(self.parts(of, self.class_odds(of)))

    def parts(self, of: Choices, class_odds: FloatArray) -> dict[str, FloatArray]:
        """What the scores are sums of, before they are weighed: log odds, by the names of `WEIGHTS`."""
        around = of.letter_scores(self.context, _GROUP)
        return {
            "words behind": of.words_near(self.words, 0, _NEAR),
            "words before": of.words_near(self.words, -_BEFORE, -1),
            "words": of.word_scores(self.words),
            "codon": self.codons[of.kinds],
            "codon of any genome": np.log(CODONS)[of.kinds],
            "class": np.log(class_odds.sum(axis=1)),
            "promoter": self._motif(self.promoter, of),
            **{f"bases {name}": scores for name, scores in zip(_AROUND, around, strict=True)},
            "neighbour": self.neighbours[of.before],
            "behind the first": self.behind[of.behind],
            "match with 16S RNA": self.sites[of.sites],
        }

    def class_odds(self, of: Choices) -> FloatArray:
        """How probable each class is, times the odds of its motif: shape (n_candidates, 3)."""
        motifs = [self._motif(self.site, of), self._motif(self.box, of), np.zeros(len(of))]
        return np.asarray(self.classes[of.situation] * np.exp(np.column_stack(motifs)))

    def _motif(self, motif: Motif, of: Choices) -> FloatArray:
        return motif.scores(of.upstream, UPSTREAM, self.background)

    def found(
        self,
        graph: OrfGraph,
        shard: OrfShard,
        chosen: NDArray[np.int8],
        scores: FloatArray | None,
        is_open: bool,
        beside: FloatArray | None = None,
    ) -> tuple[NDArray[np.int8], FloatArray | None]:
        """As `choose`; `scores` are probabilities of candidates, and then of genes with their starts."""
        chosen, shares = self.choose(graph, shard, chosen, is_open, beside)
        if scores is None:
            return chosen, None
        return chosen, (shard.frame_sums(scores) * shares).clip(0.0, 1.0)

    def choose(
        self,
        graph: OrfGraph,
        shard: OrfShard,
        chosen: NDArray[np.int8],
        is_open: bool,
        beside: FloatArray | None = None,
    ) -> tuple[NDArray[np.int8], FloatArray]:
        """The same genes with the starts that the model gives them, and probabilities of starts.

        Neighbours overlap by no more than the graph allows. Where genes may begin before their sequence
        (`is_open`), those that do stay as they are. `beside` are log odds of candidates that count, too.
        """
        at_end = open_ends(shard) if is_open else np.zeros(chosen.size, bool)
        fixed = chosen.astype(bool) & at_end
        free = (chosen.astype(bool) & ~at_end).astype(np.int8)
        scores, found = np.full(chosen.size, -np.inf), np.zeros(chosen.size, np.int8)
        probability = np.zeros(chosen.size)
        scores[fixed], probability[fixed] = _FRAME, 1.0
        if free.any():
            of = Choices.of(shard, graph.weights, free, chosen)
            known = 0.0 if beside is None else beside[of.places]
            odds = np.where(at_end[of.places], -np.inf, self.scores(of) + known)
            probability[of.places] = of.shares(odds)
            scores[of.places] = _FRAME + np.log(np.maximum(probability[of.places], 1e-300))
            scores[of.places[at_end[of.places]]] = -np.inf
        kernels.best(*shard.ends, graph.no_gaps, scores, found, np.empty(len(shard)))
        return found, probability


def weighed(parts: dict[str, FloatArray]) -> FloatArray:
    """The sum of parts by their weights."""
    return np.asarray(sum(WEIGHTS[name] * part for name, part in parts.items()))
