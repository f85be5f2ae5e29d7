"""Which start codon a gene has: log odds of signals that are learned without knowing any start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import ModelFileError
from structune.files.models import Arrays, check_array
from structune.genes.prokaryotes.kernels import orf_graph
from structune.genes.prokaryotes.kernels import starts as kernels
from structune.genes.prokaryotes.kernels.candidates import RUNS, SPACINGS
from structune.genes.prokaryotes.starts.choices import (
    BEHIND,
    N_NEIGHBOURS,
    UPSTREAM,
    Choices,
    open_ends,
)
from structune.genes.prokaryotes.structure.candidates import CONTEXT, STARTS, WORD
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.genes.prokaryotes.structure.shard import OrfShard
from structune.structure import FloatArray

_SURE = 0.7  # probability of the bases of a motif that nothing has been seen of, beside that of any base
_PRIOR = 0.2  # what a motif weighs that nothing has been seen of, in shares of what was seen
_FEW = 8.0  # bases seen before
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
_TABLES = {  # shapes
    "words": (N_WORDS,),
    "codons": (len(STARTS),),
    "sites": (RUNS * SPACINGS + 1,),
    "context": (CONTEXT.size, 5),
    "neighbours": (N_NEIGHBOURS,),
    "behind": (BEHIND.size + 1,),
    "classes": (SITUATIONS, N_CLASSES),
    "background": (4,),
}


@dataclass(frozen=True)
class Motif:
    """Some bases in a row, at one of several places before a start."""

    first: int  # the first base's first place, relative to the start
    bases: FloatArray  # (n_bases, 4): probabilities of A, C, G and T
    places: FloatArray  # probabilities of where it begins
    share: float  # of the starts that have it

    @classmethod
    def from_text(cls, text: str, first: int, last: int, share: float, background: FloatArray) -> Motif:
        """One of letters, N for any, that begins from `first` to `last`."""
        # the bases of the text, or any for N, mixed with bases as they are anywhere
        known = [[base == letter for base in "ACGT"] if letter != "N" else background for letter in text]
        bases = _SURE * np.array(known, float) + (1.0 - _SURE) * background
        n = last - first + 1
        return cls(first, bases, np.full(n, 1.0 / n), share)

    def scores(self, letters: NDArray[np.int8], begin: int, background: FloatArray) -> FloatArray:
        """Log odds of the letters before starts, which begin at `begin`, having the motif."""
        # log of (1 - s) + s times the odds of the motif: a start may be without it
        out = np.empty(len(letters))
        kernels.motif_scores(self._window(letters, begin), self._odds(background), self.places, out)
        return np.asarray(np.log(1.0 - self.share + self.share * np.exp(out)))

    def learned(
        self,
        letters: NDArray[np.int8],
        begin: int,
        background: FloatArray,
        used: FloatArray,
        before: Motif,
        fixed_share: bool,
    ) -> Motif:
        """One step of expectation maximisation, with starts as probable as `used`.

        `before` is the motif that nothing had been seen of: the prior.
        """
        # The M-step: expected letters and places, beside pseudocounts. The prior motif counts as a fifth of
        # the starts that were seen, so that a motif stays what it is called where a genome does not say
        # otherwise.
        counts, places = np.zeros((len(self.bases), 5)), np.zeros(self.places.size)
        rest = (1.0 - self.share) / self.share
        given = self._window(letters, begin), self._odds(background), self.places
        kernels.count_motif(*given, rest, used, counts, places)
        seen = places.sum()
        bases = counts[:, :4] + _FEW * background + _PRIOR * seen * before.bases
        return replace(
            self,
            bases=bases / bases.sum(axis=1, keepdims=True),
            places=(places + 1.0) / (seen + places.size),
            share=self.share if fixed_share else float(np.clip((seen + 1) / (used.sum() + 2), 0.02, 0.98)),
        )

    def _window(self, letters: NDArray[np.int8], begin: int) -> NDArray[np.int8]:
        first = self.first - begin
        return letters[:, first : first + self.places.size + len(self.bases) - 1]

    def _odds(self, background: FloatArray) -> FloatArray:
        return np.column_stack([self.bases / background, np.ones(len(self.bases))])


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
        # Signals are not independent, as words and bases around a start overlap: sums of their log odds are
        # weighed, by weights that verified starts of six genomes taught (training/prokaryotic_starts.py).
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
        # All genes are kept: a candidate of another stop scores -inf, and one of a gene 1000 more than
        # anything that is said of starts. So the best set under the rules of overlap has all genes, if it
        # can, with the most probable starts.
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
        orf_graph.best(*shard.ends, graph.gaps(), scores, found, np.empty(len(shard)))
        return found, probability


def weighed(parts: dict[str, FloatArray]) -> FloatArray:
    """The sum of parts by their weights."""
    return np.asarray(sum(WEIGHTS[name] * part for name, part in parts.items()))


# --- files ------------------------------------------------------------------------------------------------


def pack(model: StartModel | None, prefix: str) -> Arrays:
    """A model as arrays with names of that prefix; no arrays of none."""
    if model is None:
        return {}
    found = {name: getattr(model, name) for name in _TABLES}
    for name in MOTIFS:
        motif: Motif = getattr(model, name)
        found |= {f"{name}_bases": motif.bases, f"{name}_places": motif.places}
        found[f"{name}_share"] = np.array([motif.share])
    return {f"{prefix}{name}": array for name, array in found.items()}


def unpack(every: Arrays, prefix: str) -> StartModel | None:
    """The model that `pack` made arrays of, which are among others.

    Raises
    ------
    ModelFileError
        Arrays that are missing, or of other types or shapes, or that are no probabilities.
    """
    arrays = {name.removeprefix(prefix): array for name, array in every.items() if name.startswith(prefix)}
    if not arrays:
        return None
    shapes: dict[str, tuple[int, ...]] = dict(_TABLES)
    for name, (text, first, last, _) in MOTIFS.items():
        shapes |= {f"{name}_bases": (len(text), 4), f"{name}_places": (last - first + 1,)}
        shapes[f"{name}_share"] = (1,)
    if arrays.keys() != shapes.keys():
        raise ModelFileError(f"found the arrays {sorted(arrays)} of starts, expected {sorted(shapes)}")
    for name, shape in shapes.items():
        check_array(arrays, name, np.float64, shape)
    for name in ("classes", "background", *(shapes.keys() - _TABLES.keys())):
        if np.any(arrays[name] <= 0.0) or np.any(arrays[name] >= 1.0):
            raise ModelFileError(f"found {name!r} of starts that are no probabilities")
    motifs = {}
    for name, (_, first, *_) in MOTIFS.items():
        bases, places, (share,) = (arrays[f"{name}_{part}"] for part in ("bases", "places", "share"))
        motifs[name] = Motif(first, bases, places, float(share))
    known: dict[str, Any] = {name: arrays[name] for name in _TABLES} | motifs
    return StartModel(**known)
