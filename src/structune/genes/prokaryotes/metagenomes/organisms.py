"""What is learned from an organism: its words, and pieces of its genome as contigs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from structune.errors import DataError
from structune.genes.formats.record import AnnotatedSequence, Transcript
from structune.genes.nucleotides import Letters, encode_letters, reverse_complement
from structune.genes.prokaryotes.examples import cut_genomes
from structune.genes.prokaryotes.metagenomes.words import N_WORDS, Composition, gc_share, log_words
from structune.genes.prokaryotes.starts import learn_starts
from structune.genes.prokaryotes.structure.candidates import CODON, WORD, OrfRules
from structune.genes.prokaryotes.structure.encoding import count_words, numbers
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph
from structune.genes.prokaryotes.structure.shard import Gene, OrfShard, mark_genes
from structune.structure import IntArray

_SIZES = {250: 300, 500: 200, 1000: 100, 3000: 40, 10_000: 10}  # bases, and pieces of each organism
_Piece = tuple[Letters, list[Gene]]


class Organism:
    """An annotated genome: its words, where its genes begin, and pieces of it at random places.

    Raises
    ------
    DataError
        It has no gene.
    """

    def __init__(
        self, genome: Sequence[AnnotatedSequence], graph: OrfGraph, rng: np.random.Generator
    ) -> None:
        texts = [encode_letters(each.sequence, each.name) for each in genome]
        examples = cut_genomes(genome, graph.rules)
        if not examples.sequences:
            raise DataError(f"{genome[0].name}: found no gene to learn from, expected some of each organism")
        self.skipped = examples.skipped  # genes that words could not be counted in
        letters = [encode_letters(text, "example") for text in examples.sequences]
        counts = np.zeros(N_WORDS + 1, np.int64)
        for text, genes in zip(letters, examples.genes, strict=True):
            for start, end, strand in genes:
                own = text[start:end] if strand == "+" else reverse_complement(text[start:end])
                words = numbers(own, WORD)[CODON : -2 * CODON + 1 : CODON]  # behind the start codon
                counts += np.bincount(words, minlength=N_WORDS + 1)
        # logs of words of two codons, shape (4096,): in genes, and at any place of both strands
        self.in_genes = log_words(counts[:-1])
        self.everywhere = log_words(np.sum([count_words(text) for text in texts], axis=0))
        shard = graph.encode(examples.sequences, examples.genes)
        self.starts = learn_starts(graph, shard, shard.chosen, letters)  # None if there are too few
        self.share = gc_share(np.concatenate(texts))
        self.pieces = list(_pieces(genome, texts, graph.rules, rng))


def composition_of(organisms: Sequence[Organism]) -> Composition:
    """How their words follow the share of G and C."""
    in_genes, everywhere = (
        np.array([getattr(each, name) for each in organisms]) for name in ("in_genes", "everywhere")
    )
    return Composition.fitted_to(in_genes, everywhere, np.array([each.share for each in organisms]))


def labelled(graph: OrfGraph, pieces: Sequence[_Piece]) -> tuple[OrfShard, list[int]]:
    """A shard of the pieces whose genes are candidates, and their places among all."""
    shard, kept = graph.of_letters([letters for letters, _ in pieces], is_open=True), list[int]()
    chosen = np.zeros(len(shard.bounds), np.int8)
    for s, (_, genes) in enumerate(pieces):
        try:
            mark_genes(shard, s, genes, f"piece {s}", chosen)
        except DataError:
            continue
        kept.append(s)
    return replace(shard, chosen=chosen).take(kept), kept


def _pieces(
    genome: Sequence[AnnotatedSequence], texts: Sequence[Letters], rules: OrfRules, rng: np.random.Generator
) -> Iterator[_Piece]:
    """Pieces with the genes that are seen in them, from their first whole codon to their stop or the end.

    None where there is anything else: genes in several parts, or of which not all is known.
    """
    sizes = np.array([text.size for text in texts], np.float64)
    whole = [[t for t in each.transcripts if len(t.exons) == 1 and not any(t.partial)] for each in genome]
    spans = [_spans([(t.start, t.end) for t in some]) for some in whole]
    others = []
    for each in genome:
        unsound = [(t.start, t.end) for t in each.transcripts if len(t.exons) > 1 or any(t.partial)]
        others.append(_spans(unsound + [one.span for one in each.skipped if one.span is not None]))
    # about a hundred thousand bases of each size
    for size, n in _SIZES.items():
        for s in rng.choice(len(genome), n, p=sizes / sizes.sum()).tolist():
            start = int(rng.integers(0, max(texts[s].size - size, 0) + 1))
            letters = texts[s][start : start + size]
            end = start + letters.size
            if _inside(others[s], start, end).size:
                continue
            genes = sorted({_seen(whole[s][k], start, end) for k in _inside(spans[s], start, end).tolist()})
            if all(b[0] >= a[1] - rules.overlap for a, b in pairwise(genes)):
                yield letters, [gene for gene in genes if gene[1] - gene[0] >= rules.shortest]


def _spans(given: Sequence[tuple[int, int]]) -> IntArray:
    return np.array(given, np.int64).reshape(-1, 2)


def _inside(spans: IntArray, start: int, end: int) -> IntArray:
    return np.flatnonzero((spans[:, 0] < end) & (spans[:, 1] > start))


def _seen(t: Transcript, start: int, end: int) -> Gene:
    """A gene as a candidate of the piece: from its first whole codon, or to the end that it goes beyond."""
    n, first, last = end - start, t.start - start, t.end - start
    if t.strand == "+":
        return (first % CODON if first < 0 else first), min(last, n), "+"
    return max(first, 0), (n - (n - last) % CODON if last > n else last), "-"
