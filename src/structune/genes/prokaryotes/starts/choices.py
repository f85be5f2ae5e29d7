"""The candidate starts of genes whose stops are known, and what is seen of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.genes.prokaryotes.kernels.orf_graph import Words, count_words, score_words
from structune.genes.prokaryotes.kernels.starts import count_letters, letter_scores, sum_words
from structune.genes.prokaryotes.structure.candidates import CODON, CONTEXT, OrfWeights
from structune.genes.prokaryotes.structure.shard import Frames, OrfShard
from structune.structure import FloatArray, IntArray

DISTANCES = np.array([-60, -28, -10, -4, -3, -1, 0, 5, 15, 30, 60, 100, 200, 400])  # from the gene before
BEHIND = np.array([1, 30, 60, 120, 240, 480])  # bases from the first start codon of the frame on
N_NEIGHBOURS = 2 * (DISTANCES.size + 1)  # on the same strand, or on the other one
_NEAR = int(np.searchsorted(DISTANCES, 30))  # bins of genes that one messenger RNA may have
_APART = 1 << 20  # between sequences
UPSTREAM = int(CONTEXT.min())  # where the letters before a start begin
_N_UPSTREAM = int((CONTEXT < 0).sum())  # in a row, up to the start


@dataclass(frozen=True)
class Choices:
    """All candidates that end as one of the genes do."""

    places: IntArray  # of the candidates in the shard
    gene: IntArray  # of each candidate, from 0, rising
    chosen: NDArray[np.bool_]  # where genes begin so far
    kinds: IntArray  # of start codons
    sites: IntArray  # of ribosome-binding sites
    letters: NDArray[np.int8]  # (n_candidates, n_context): at `CONTEXT`
    before: IntArray  # bin of the distance from the gene before, and whether that is on the same strand
    words: Words  # of the genes' frames

    @classmethod
    def of(
        cls,
        shard: OrfShard,
        weights: OrfWeights,
        chosen: NDArray[np.int8],
        neighbours: NDArray[np.int8] | None = None,
    ) -> Choices:
        """Those of the genes that are chosen; `neighbours` are these, and others beside them."""
        places = np.flatnonzero(shard.frame_sums(chosen))
        frames = Frames.from_shard(shard).take(np.unique(shard.frame[places]))
        kinds, sites, letters = weights.read_signals(frames.signals)
        return cls(
            places=places,
            gene=frames.frame,
            chosen=chosen[places].astype(bool),
            kinds=kinds,
            sites=sites,
            letters=letters,
            before=_before(shard, places, chosen if neighbours is None else neighbours),
            words=Words(frames.words, frames.n_words, frames.n_candidates, frames.skipped),
        )

    def __len__(self) -> int:
        return self.places.size

    @property
    def upstream(self) -> NDArray[np.int8]:
        """The letters from `UPSTREAM` up to each start."""
        return self.letters[:, :_N_UPSTREAM]

    @cached_property
    def situation(self) -> IntArray:
        """0 near behind a gene on the same strand, 1 farther behind one, 2 behind one on the other strand."""
        same, bin_ = self.before < N_NEIGHBOURS // 2, self.before % (N_NEIGHBOURS // 2)
        return np.where(same, np.where(bin_ < _NEAR, 0, 1), 2)

    @cached_property
    def behind(self) -> IntArray:
        """Bin of the distance from the first start codon of the frame."""
        return np.asarray(np.searchsorted(BEHIND, CODON * self.words.skipped, side="right"))

    def shares(self, scores: FloatArray) -> FloatArray:
        """The probability of each start among those of its gene, by scores."""
        # softmax over the candidates of each gene; the highest score is taken out of exponents
        begins = np.flatnonzero(np.diff(self.gene, prepend=-1))
        highest = np.maximum.reduceat(scores, begins) if begins.size else np.empty(0)
        odds = np.exp(scores - highest[self.gene])
        return np.asarray(odds / np.bincount(self.gene, odds)[self.gene])

    def word_scores(self, table: FloatArray) -> FloatArray:
        """Sums of words from each start to the stop."""
        return _filled(len(self), score_words, self.words, table)

    def words_near(self, table: FloatArray, first: int, last: int) -> FloatArray:
        """Sums of words near each start: those from `first` to before `last`, within the frame."""
        return _filled(len(self), sum_words, self.words, table, first, last)

    def letter_scores(self, table: FloatArray, group: IntArray) -> FloatArray:
        """Sums over the letters at each start, by groups of places: shape (n_groups, n_candidates)."""
        return _filled((int(group.max()) + 1, len(self)), letter_scores, self.letters, table, group)

    def count_letters(self, used: FloatArray) -> FloatArray:
        """How often each letter is expected at each place, shape (n_context, 5)."""
        return _filled((CONTEXT.size, 5), count_letters, self.letters, used)

    def count_words(self, used: FloatArray, n_words: int) -> FloatArray:
        """How often each word is expected in the genes."""
        return _filled(n_words, count_words, self.words, used)


def _filled(shape: Any, kernel: Any, *given: Any) -> FloatArray:
    out = np.zeros(shape)
    kernel(*given, out)
    return out


def _before(shard: OrfShard, places: IntArray, chosen: NDArray[np.int8]) -> IntArray:
    """The bin of the distance of each candidate from the gene before it in its sequence."""
    # All sequences lie on one line, so far apart that no gene of another one is near. For candidates of the
    # reverse strand the line is turned round: the gene before is the one that ends last before, along the
    # strand, and a binary search over ends finds it.
    sequence = shard.by_candidate(np.arange(len(shard)))
    at = np.cumsum(shard.n_bases + _APART) - shard.n_bases
    bounds, whole = shard.bounds + at[sequence][:, None], int((shard.n_bases + _APART).sum())
    genes, out = np.flatnonzero(chosen), np.empty(places.size, np.int64)
    for reverse in (False, True):
        along = whole - bounds[:, ::-1] if reverse else bounds
        order = genes[np.argsort(along[genes, 1], kind="stable")]
        mine = np.flatnonzero(shard.reverse[places] == reverse)
        own = places[mine]
        k = np.searchsorted(along[order, 1], along[own, 1], side="left") - 1  # ends before, so not itself
        before = np.append(order, -1)[k]
        is_there = (before >= 0) & (sequence[before] == sequence[own])
        distance = np.where(is_there, along[own, 0] - along[before, 1], _APART)
        same = is_there & (shard.reverse[before] == reverse)
        out[mine] = np.searchsorted(DISTANCES, distance, side="right") + (~same) * (N_NEIGHBOURS // 2)
    return out


def open_ends(shard: OrfShard) -> NDArray[np.bool_]:
    """Candidates that may begin before their sequence, as all within its first codon."""
    n_bases = shard.by_candidate(shard.n_bases)
    return np.asarray(np.where(shard.reverse, n_bases - shard.bounds[:, 1], shard.bounds[:, 0]) < 3)
