"""Words of contigs: tables that a contig's own genes choose among organisms, and add to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from structune.genes.prokaryotes.kernels import orf_graph as kernels
from structune.genes.prokaryotes.metagenomes.composition import HAS_STOP, N_WORDS, Composition, log_odds
from structune.genes.prokaryotes.metagenomes.graph import ContigGraph, ContigShard
from structune.genes.prokaryotes.structure.shard import CANDIDATES, FRAMES, WORDS
from structune.structure import FloatArray

_DIGITS = 2  # of shares of G and C that are told apart
_OWN = 10_000.0  # words of a contig that count as much as what other organisms tell
_ROUNDS = 2


def with_words(shard: ContigShard, shares: FloatArray, composition: Composition) -> ContigShard:
    """Words as they are in genes of all organisms with as much G and C as each contig, shape (n_contigs,)."""
    return _scored(shard, shares, composition, None)


def with_own_words(
    graph: ContigGraph, w: FloatArray, shard: ContigShard, shares: FloatArray, composition: Composition
) -> ContigShard:
    """Words as in genes of the organisms that a contig is like, and as in its own.

    Words that are expected in the genes of a contig, by all sets of them, tell how probable each organism is,
    and are counted beside its words.

    Parameters
    ----------
    graph : ContigGraph
    w : ndarray, shape (n_weights,)
    shard : ContigShard
    shares : ndarray, shape (n_contigs,)
        Of G and C.
    composition : Composition
    """
    found = with_words(shard, shares, composition)
    for _ in range(_ROUNDS):
        found = _scored(found, shares, composition, graph.marginals(w, found))
    return found


def _scored(
    shard: ContigShard, shares: FloatArray, composition: Composition, used: FloatArray | None
) -> ContigShard:
    """With the sums over words; `used` says how probable candidates are, if that is known."""
    columns, organism = shard.columns.copy(), np.zeros(len(shard), np.int64)
    for share, contigs in _alike(shares):
        genes, everywhere = composition.at(share)
        odds, chances = np.where(HAS_STOP, 0.0, genes - everywhere), np.exp(genes)
        for s in contigs:
            part = shard.part(s, CANDIDATES)
            if part.start == part.stop:
                continue
            words, own = _words_of(shard, s), genes[0]
            if used is not None:
                own, organism[s] = _own(words, used[part], odds, chances)
            for k, table in enumerate(log_odds(own, everywhere)):
                sums = np.zeros(part.stop - part.start)
                kernels.score_words(words, table, sums)
                columns[part, k] = sums
    return replace(shard, columns=columns, organism=organism)


def _alike(shares: FloatArray) -> Iterator[tuple[float, list[int]]]:
    """Contigs by their share of G and C."""
    found: dict[float, list[int]] = defaultdict(list)
    for s, share in enumerate(np.round(shares, _DIGITS).tolist()):
        found[share].append(s)
    yield from found.items()


def _words_of(shard: ContigShard, s: int) -> kernels.Words:
    frames = shard.part(s, FRAMES)
    return kernels.Words(
        shard.words[shard.part(s, WORDS)],
        shard.n_words[frames],
        shard.n_candidates[frames],
        shard.skipped[shard.part(s, CANDIDATES)],
    )


def _own(
    words: kernels.Words, used: FloatArray, odds: FloatArray, chances: FloatArray
) -> tuple[FloatArray, int]:
    """Logs of the words of a contig's genes, and which organism they are most like.

    Log odds and probabilities of words are known, of all organisms and of each.
    """
    counts = np.zeros(N_WORDS + 1)
    kernels.count_words(words, used, counts)
    known = counts[:-1]
    likely = odds @ known
    organisms = np.exp(likely - likely.max())
    others = organisms @ chances / organisms.sum()
    own = np.log((_OWN * others + known) / (_OWN + known.sum()))
    return own, int(np.argmax(likely[1:]))
