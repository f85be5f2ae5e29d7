"""Words of genes: how they follow the share of G and C, what is an organism's own, and what is a contig's."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from structune.genes.formats.record import genetic_code
from structune.genes.nucleotides import Letters
from structune.genes.prokaryotes.kernels import orf_graph as kernels
from structune.genes.prokaryotes.metagenomes.graph import ContigGraph, ContigShard
from structune.genes.prokaryotes.structure.candidates import BACTERIAL, CODON, WORD
from structune.genes.prokaryotes.structure.shard import CANDIDATES, FRAMES, WORDS
from structune.structure import FloatArray, IntArray

N_WORDS, _N_CODONS = 4**WORD, 4**CODON
_USUAL, _SPREAD = 0.5, 0.12  # share of G and C of bacteria and archaea, by and large
_FEW_WORDS = 4000.0  # seen before, as their codons say
_FEW_ORGANISMS = 0.5  # that do not follow the share
_RARE = 1e-12
_DIGITS = 2  # of shares of G and C that are told apart
_OWN = 10_000.0  # words of a contig that count as much as what other organisms tell
_ROUNDS = 2


def _amino_acids() -> IntArray:
    """By the number of the codon, in the code of nearly all organisms; stop codons are all one."""
    table = genetic_code(BACTERIAL).forward_table
    codons = [a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT"]
    letters = sorted(set(table.values()))
    return np.array([letters.index(table[codon]) if codon in table else len(letters) for codon in codons])


_OF_CODON = _amino_acids()
_STOP = int(_OF_CODON.max())
_PAIR = ((_STOP + 1) * _OF_CODON[:, None] + _OF_CODON).ravel()  # of amino acids, by the number of the word
_HAS_STOP = ((_OF_CODON[:, None] == _STOP) | (_OF_CODON == _STOP)).ravel()


@dataclass(frozen=True, eq=False)
class Composition:
    """Logs of how probable words of two codons are, as they follow the share of G and C, and beside it."""

    genes: FloatArray  # (2, 4096): in genes in frame, at a usual share, and what is added a unit from there
    everywhere: FloatArray  # (2, 4096): anywhere
    own: FloatArray  # (n_organisms, 4096): what each organism's genes have beside the genes of all

    @classmethod
    def fitted_to(cls, genes: FloatArray, everywhere: FloatArray, shares: FloatArray) -> Composition:
        """That of logs of words of organisms, shape (n_organisms, 4096), and of their shares of G and C."""
        # Lines over the share of G and C, one for each word, by least squares: column 0 of the design is a
        # constant, column 1 the share. The slope has a small ridge. What an organism has beside is a
        # residual.
        design = _design(shares)
        ridge = np.diag([0.0, _FEW_ORGANISMS])
        solver = np.linalg.solve(design.T @ design + ridge, design.T)
        return cls(solver @ genes, solver @ everywhere, genes - design @ (solver @ genes))

    def at(self, share: float) -> tuple[FloatArray, FloatArray]:
        """Logs of words where there is so much G and C.

        In genes as all organisms have them and as each of them would, shape (n_organisms + 1, 4096); and
        anywhere, shape (4096,).
        """
        # an organism as it would be with another share: its residuals go along with the line
        row = _design(np.array([share]))
        genes = row @ self.genes + np.vstack((np.zeros(N_WORDS), self.own))
        return _normalised(genes), _normalised(row @ self.everywhere)[0]


def log_odds(genes: FloatArray, everywhere: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of words in genes against anywhere, and of the pairs of amino acids that they mean.

    The logs have the shape (4096,). Both results have the shape (4097,), with 0 for words with a stop codon
    of the usual code or an unknown base.
    """
    # probabilities of pairs of amino acids: sums over the words that mean them
    in_genes, anywhere = (np.bincount(_PAIR, np.exp(logs)) + _RARE for logs in (genes, everywhere))
    words, amino_acids = (
        np.append(np.where(_HAS_STOP, 0.0, odds), 0.0)
        for odds in (genes - everywhere, np.log(in_genes / anywhere)[_PAIR])
    )
    return words, amino_acids


def gc_share(letters: Letters) -> float:
    """The share of G and C of the bases that are known; the usual one of none."""
    counts = np.bincount(letters, minlength=5)[:4]
    return float(counts[1:3].sum() / counts.sum()) if counts.any() else _USUAL


def _design(shares: FloatArray) -> FloatArray:
    return np.column_stack((np.ones(len(shares)), (shares - _USUAL) / _SPREAD))


def _normalised(logs: FloatArray) -> FloatArray:
    highest = logs.max(axis=1, keepdims=True)
    return np.asarray(logs - highest - np.log(np.exp(logs - highest).sum(axis=1, keepdims=True)))


def log_words(counts: IntArray) -> FloatArray:
    """Logs of how probable words are, by counts; both of shape (4096,)."""
    # A word that was hardly seen is as probable as its two codons, independent of each other: 4000 words
    # that nobody saw are dealt out so.
    table = counts.reshape(_N_CODONS, _N_CODONS)
    first, second = ((table.sum(axis=k) + 0.5) / (table.sum() + 0.5 * _N_CODONS) for k in (1, 0))
    shares = (counts + _FEW_WORDS * np.outer(first, second).ravel()) / (counts.sum() + _FEW_WORDS)
    return np.asarray(np.log(np.maximum(shares, _RARE)))


# --- of contigs -------------------------------------------------------------------------------------------


def with_own_words(
    graph: ContigGraph, w: FloatArray, shard: ContigShard, shares: FloatArray, composition: Composition
) -> ContigShard:
    """Words as in genes of the organisms that a contig is like, and as in its own; `shares` are of G and C.

    Words that are expected in the genes of a contig, by all sets of them, tell how probable each organism is,
    and are counted beside its words.
    """
    found = with_words(shard, shares, composition)
    for _ in range(_ROUNDS):
        found = with_words(found, shares, composition, graph.marginals(w, found))
    return found


def with_words(
    shard: ContigShard, shares: FloatArray, composition: Composition, used: FloatArray | None = None
) -> ContigShard:
    """Words as in genes of all organisms with as much G and C as each contig.

    `used` says how probable candidates are, if that is known: then as `with_own_words` has them.
    """
    columns, organism = shard.columns.copy(), np.zeros(len(shard), np.int64)
    alike: dict[float, list[int]] = defaultdict(list)
    for s, share in enumerate(np.round(shares, _DIGITS).tolist()):
        alike[share].append(s)
    for share, contigs in alike.items():
        genes, everywhere = composition.at(share)
        odds, chances = np.where(_HAS_STOP, 0.0, genes - everywhere), np.exp(genes)
        for s in contigs:
            part, frames = shard.part(s, CANDIDATES), shard.part(s, FRAMES)
            if part.start == part.stop:
                continue
            in_frames = shard.n_words[frames], shard.n_candidates[frames]
            words = kernels.Words(shard.words[shard.part(s, WORDS)], *in_frames, shard.skipped[part])
            own = genes[0]
            if used is not None:
                own, organism[s] = _own(words, used[part], odds, chances)
            for k, table in enumerate(log_odds(own, everywhere)):
                sums = np.zeros(part.stop - part.start)
                kernels.score_words(words, table, sums)
                columns[part, k] = sums
    return replace(shard, columns=columns, organism=organism)


def _own(
    words: kernels.Words, used: FloatArray, odds: FloatArray, chances: FloatArray
) -> tuple[FloatArray, int]:
    """Logs of the words of a contig's genes, and which organism they are most like.

    Log odds and probabilities of words are known, of all organisms and of each.
    """
    counts = np.zeros(N_WORDS + 1)
    kernels.count_words(words, used, counts)
    # Bayes: the log odds of all words of the expected genes say how likely each organism is, and row 0, of
    # all organisms together, is one of them. The words are those of the mixture and of the contig itself.
    known = counts[:-1]
    likely = odds @ known
    organisms = np.exp(likely - likely.max())
    others = organisms @ chances / organisms.sum()
    own = np.log((_OWN * others + known) / (_OWN + known.sum()))
    return own, int(np.argmax(likely[1:]))
