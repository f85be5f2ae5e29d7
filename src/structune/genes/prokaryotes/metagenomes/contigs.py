"""Contigs of unknown organisms: graphs of candidates, word frequencies, and training pieces of organisms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.formats.record import AnnotatedSequence, Transcript, genetic_code
from structune.genes.nucleotides import Letters, encode_letters, reverse_complement
from structune.genes.prokaryotes.examples import cut_genomes
from structune.genes.prokaryotes.kernels import orf_graph as kernels
from structune.genes.prokaryotes.starts import learn_starts
from structune.genes.prokaryotes.structure.candidates import (
    BACTERIAL,
    CANDIDATES,
    CODON,
    FRAMES,
    LENGTHS,
    LEVELS,
    UNKNOWN,
    WORD,
    WORDS,
    Gene,
    OrfRules,
    OrfShard,
    count_words,
    mark_genes,
    numbers_at,
)
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.structure import Array, FloatArray, IntArray

N_WORDS, _N_CODONS = 4**WORD, 4**CODON
_USUAL, _SPREAD = 0.5, 0.12  # share of G and C of bacteria and archaea, by and large
_FEW_WORDS = 4000.0  # seen before, as their codons say
_FEW_ORGANISMS = 0.5  # that do not follow the share
_RARE = 1e-12
_DIGITS = 2  # of shares of G and C that are told apart
_OWN = 10_000.0  # words of a contig that count as much as what other organisms tell
_ROUNDS = 2
_SIZES = {250: 300, 500: 200, 1000: 100, 3000: 40, 10_000: 10}  # bases, and pieces of each organism
_Piece = tuple[Letters, list[Gene]]
_TABLE = genetic_code(BACTERIAL).forward_table  # of nearly all organisms; stop codons are all one
_ACIDS, _OF_CODON = np.unique(
    [_TABLE.get("".join(codon), "*") for codon in product("ACGT", repeat=CODON)], return_inverse=True
)
_PAIR = (_ACIDS.size * _OF_CODON[:, None] + _OF_CODON).ravel()  # of amino acids, by the number of the word
_IS_STOP = _ACIDS[_OF_CODON] == "*"
_HAS_STOP = (_IS_STOP[:, None] | _IS_STOP).ravel()
_WORD_COLUMNS = ("in genes", "amino acids", "number")
_ENDS = ("before", "behind", "both")  # where a gene goes on beyond its contig
_KNOWN = np.append(np.ones(N_WORDS), 0.0)  # words with an unknown base are none


@dataclass(frozen=True)
class ContigShard(OrfShard):
    """Encoded contigs."""

    columns: FloatArray  # (n_candidates, 3): sums over words of each candidate, as `_WORD_COLUMNS` names them
    beyond: NDArray[np.int16]  # of each candidate: its place among the weights of ends; behind them, if whole
    organism: IntArray  # of each contig: that whose words its own are most like

    levels: ClassVar = {**LEVELS, CANDIDATES: (*LEVELS[CANDIDATES], "columns", "beyond")}

    def take(self, indices: Any) -> Self:
        return replace(super().take(indices), organism=self.organism[self._chosen(indices)])


class ContigGraph(OrfGraph):
    """Structure over sets of candidate genes of contigs; genes may continue beyond the ends."""

    name = "contig-graph"

    def _word_labels(self) -> dict[str, list[str]]:
        """Those of sums over words, and of how much is seen of genes that go on beyond an end."""
        ends = [f"{kind} {length}" for kind in _ENDS for length in LENGTHS]
        return {"words": list(_WORD_COLUMNS), "ends": ends}

    def of_contigs(self, shard: OrfShard) -> ContigShard:
        """What is seen at the ends of contigs; of words nothing yet but how many they are."""
        # of a gene that goes on neither length nor bases around a start are known, but how much of it is seen
        # a whole gene has two codons more than words; one with fewer bases goes on behind its contig
        signals, seen = shard.signals.copy(), shard.bounds[:, 1] - shard.bounds[:, 0]
        n_words = np.repeat(shard.n_words, shard.n_candidates) - shard.skipped
        before, behind = shard.begin_before, seen < CODON * (n_words + 2)
        signals[before | behind, 2], signals[before, 3:] = UNKNOWN, UNKNOWN
        columns, number = np.zeros((seen.size, len(_WORD_COLUMNS))), np.zeros(seen.size)
        kernels.score_words(shard.frames, _KNOWN, number)
        columns[:, _WORD_COLUMNS.index("number")] = number
        # kind: 1 goes on before, 2 behind, 3 both; each has a weight for every bin of what is seen
        kind = before.astype(np.int16) + 2 * behind
        places = (kind - 1) * len(LENGTHS) + np.searchsorted(LENGTHS, seen, side="right") - 1
        return ContigShard(
            **{**vars(shard), "signals": signals},
            columns=columns,
            beyond=np.where(kind > 0, places, len(_ENDS) * len(LENGTHS)).astype(np.int16),
            organism=np.zeros(len(shard), np.int64),
        )

    def _word_scores(self, w: Array, shard: Any) -> Array:
        ends = np.append(self.part(w, "ends"), 0.0)  # that of whole ones
        return np.asarray(shard.columns @ self.part(w, "words") + ends[shard.beyond])

    def _add_words(self, shard: Any, used: Array, out: Array) -> None:
        self.part(out, "words")[:] += used @ shard.columns
        ends = np.zeros(len(_ENDS) * len(LENGTHS) + 1, out.dtype)
        np.add.at(ends, shard.beyond, used)
        self.part(out, "ends")[:] += ends[:-1]


@dataclass(frozen=True, eq=False)
class Composition:
    """Log-probabilities of words of two codons, as lines over the GC content and deviations of organisms."""

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
        """Logs of words where there is so much G and C: in genes as all organisms have them and as each of
        them would, shape (n_organisms + 1, 4096); and anywhere, shape (4096,)."""
        # an organism as it would be with another share: its residuals go along with the line
        row = _design(np.array([share]))
        genes = row @ self.genes + np.vstack((np.zeros(N_WORDS), self.own))
        return _normalised(genes), _normalised(row @ self.everywhere)[0]


def log_odds(genes: FloatArray, everywhere: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of words in genes against anywhere, and of the pairs of amino acids that they mean; shape (4097,), with
    0 for words with a stop codon of the usual code or an unknown base."""
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
    """A constant, and the share of G and C in units of its spread around the usual one."""
    return np.column_stack((np.ones(len(shares)), (shares - _USUAL) / _SPREAD))


def _normalised(logs: FloatArray) -> FloatArray:
    """Logs of probabilities that add up to 1 in each row."""
    logs = logs - logs.max(axis=1, keepdims=True)  # scipy.special, which has this, takes long to import
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def log_words(counts: IntArray) -> FloatArray:
    """Logs of how probable words are, by counts; both of shape (4096,)."""
    # A word that was hardly seen is as probable as its two codons, independent of each other: 4000 words
    # that nobody saw are dealt out so.
    table = counts.reshape(_N_CODONS, _N_CODONS)
    first, second = ((table.sum(axis=k) + 0.5) / (table.sum() + 0.5 * _N_CODONS) for k in (1, 0))
    shares = (counts + _FEW_WORDS * np.outer(first, second).ravel()) / (counts.sum() + _FEW_WORDS)
    return np.asarray(np.log(np.maximum(shares, _RARE)))


def with_own_words(
    graph: ContigGraph, w: FloatArray, shard: ContigShard, shares: FloatArray, composition: Composition
) -> ContigShard:
    """Words as in genes of the organisms that a contig is like, and its own; `shares` are of G and C."""
    # words that are expected in the genes of a contig, by all sets of them, tell how probable each organism
    # is, and are counted beside its words
    found = with_words(shard, shares, composition)
    for _ in range(_ROUNDS):
        found = with_words(found, shares, composition, graph.marginals(w, found))
    return found


def with_words(
    shard: ContigShard, shares: FloatArray, composition: Composition, used: FloatArray | None = None
) -> ContigShard:
    """Words as in genes of all organisms with as much G and C as each contig; or as `with_own_words` has
    them, if `used` says how probable candidates are."""
    columns, organism = shard.columns.copy(), np.zeros(len(shard), np.int64)
    rounded = np.round(shares, _DIGITS)
    for share in np.unique(rounded).tolist():
        # log odds and probabilities of words, of all organisms together, row 0, and of each
        genes, everywhere = composition.at(share)
        odds, chances = np.where(_HAS_STOP, 0.0, genes - everywhere), np.exp(genes)
        for s in np.flatnonzero(rounded == share).tolist():
            part, frames = shard.part(s, CANDIDATES), shard.part(s, FRAMES)
            if part.start == part.stop:
                continue
            in_frames = shard.n_words[frames], shard.n_candidates[frames]
            words = kernels.Words(shard.words[shard.part(s, WORDS)], *in_frames, shard.skipped[part])
            own = genes[0]
            if used is not None:
                # Bayes: the log odds of all words of the expected genes say how likely each organism is. The
                # words are those of the mixture and of the contig itself.
                counts = np.zeros(N_WORDS + 1)
                kernels.count_words(words, used[part], counts)
                known = counts[:-1]
                likely = odds @ known
                organisms = np.exp(likely - likely.max())
                others = organisms @ chances / organisms.sum()
                own = np.log((_OWN * others + known) / (_OWN + known.sum()))
                organism[s] = np.argmax(likely[1:])
            for k, table in enumerate(log_odds(own, everywhere)):
                sums = np.zeros(part.stop - part.start)
                kernels.score_words(words, table, sums)
                columns[part, k] = sums
    return replace(shard, columns=columns, organism=organism)


class Organism:
    """An annotated genome: its words, where its genes begin, and pieces of it at random places."""

    def __init__(self, genome: Sequence[AnnotatedSequence], graph: OrfGraph, rng: Generator) -> None:
        texts = [encode_letters(each.sequence, each.name) for each in genome]
        examples = cut_genomes(genome, graph.rules)
        if not examples.sequences:
            raise DataError(f"{genome[0].name}: there are no genes to train on; each organism needs some")
        self.skipped = examples.skipped  # genes that words could not be counted in
        letters = [encode_letters(text, "example") for text in examples.sequences]
        counts = np.zeros(N_WORDS + 1, np.int64)
        for text, genes in zip(letters, examples.genes, strict=True):
            for start, end, strand in genes:
                own = text[start:end] if strand == "+" else reverse_complement(text[start:end])
                places = np.arange(CODON, own.size - 3 * CODON, CODON)  # behind the start codon
                counts += np.bincount(numbers_at(own, places, WORD), minlength=N_WORDS + 1)
        # logs of words of two codons, shape (4096,): in genes, and at any place of both strands
        self.in_genes = log_words(counts[:-1])
        self.everywhere = log_words(np.sum([count_words(text) for text in texts], axis=0))
        shard = graph.encode(examples.sequences, examples.genes)
        self.starts = learn_starts(shard, shard.chosen, letters)  # None if there are too few
        self.share = gc_share(np.concatenate(texts))
        self.pieces = list(_pieces(genome, texts, graph.rules, rng))


def composition_of(organisms: Sequence[Organism]) -> Composition:
    """How words follow the share of G and C among organisms."""
    names = "in_genes", "everywhere", "share"
    return Composition.fitted_to(*(np.array([getattr(each, name) for each in organisms]) for name in names))


def labelled(graph: OrfGraph, pieces: Sequence[_Piece]) -> tuple[OrfShard, list[int]]:
    """A shard of the pieces whose genes are candidates, and their places among all."""
    shard, kept = graph.of_letters([letters for letters, _ in pieces], is_open=True), list[int]()
    chosen = np.zeros(len(shard.bounds), np.int8)
    for s, (_, genes) in enumerate(pieces):
        with suppress(DataError):
            mark_genes(shard, s, genes, f"piece {s}", chosen)
            kept.append(s)
    return replace(shard, chosen=chosen).take(kept), kept


def _pieces(
    genome: Sequence[AnnotatedSequence], texts: Sequence[Letters], rules: OrfRules, rng: Generator
) -> Iterator[_Piece]:
    """Pieces with the genes that are seen in them; none where there is anything else: genes in several parts,
    or of which not all is known."""
    sizes = np.array([text.size for text in texts], np.float64)
    whole, spans, others = [], [], []
    for each in genome:
        whole.append([t for t in each.transcripts if len(t.exons) == 1 and not any(t.partial)])
        unsound = [(t.start, t.end) for t in each.transcripts if len(t.exons) > 1 or any(t.partial)]
        unsound += [one.span for one in each.skipped if one.span is not None]
        others.append(np.array(unsound, np.int64).reshape(-1, 2))
        spans.append(np.array([(t.start, t.end) for t in whole[-1]], np.int64).reshape(-1, 2))
    # about a hundred thousand bases of each size
    for size, n in _SIZES.items():
        for s in rng.choice(len(genome), n, p=sizes / sizes.sum()).tolist():
            start = int(rng.integers(0, max(texts[s].size - size, 0) + 1))
            letters = texts[s][start : start + size]
            end = start + letters.size
            of_others, inside = ((of[:, 0] < end) & (of[:, 1] > start) for of in (others[s], spans[s]))
            if of_others.any():
                continue
            genes = sorted({_seen(whole[s][k], start, end) for k in np.flatnonzero(inside).tolist()})
            if all(b[0] >= a[1] - rules.overlap for a, b in pairwise(genes)):
                yield letters, [gene for gene in genes if gene[1] - gene[0] >= rules.shortest]


def _seen(t: Transcript, start: int, end: int) -> Gene:
    """A gene as a candidate of the piece: from its first whole codon, or to the end that it goes beyond."""
    n, first, last = end - start, t.start - start, t.end - start
    if t.strand == "+":
        return (first % CODON if first < 0 else first), min(last, n), "+"
    return max(first, 0), (n - (n - last) % CODON if last > n else last), "-"
