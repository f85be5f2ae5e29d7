"""Small random gene models, with all structures of a sequence scored by the definition alone."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from hypothesis import strategies as st

from laws import Problem
from simulated_genes import flip
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.shard import gene_path
from structune.genes.eukaryotes.structure.weights import ExonWeights, GeneRules
from structune.genes.formats.record import Transcript

PIECES = ("ATG", "TAA", "TGA", "GT", "AG", "CAT", "TTA", "TCA", "CT", "AC", "A", "C", "G", "T", "N")
STOPS = {"TAA", "TAG", "TGA"}
WINDOWS = {"start": (-2, 4), "stop": (-3, 2), "donor": (-2, 3), "acceptor": (-3, 1)}
FLANKS = {"start": (-6, -4, -1), "stop": (0, 3)}


# --- the definition of a gene -----------------------------------------------------------------------------


def forward_genes(text, donors, shortest):
    """All coding parts of single genes on the forward strand."""
    n, found = len(text), []

    def extend(parts, codon, t):
        """Base t is coding, after whole codons and the bases in `codon`."""
        if t >= n:
            return
        parts = [*parts[:-1], (parts[-1][0], t + 1)]
        codon += text[t]
        coding, here = sum(b - a for a, b in parts), parts[-1][1] - parts[-1][0]
        if coding <= 3 and not "ATG".startswith(codon):
            return
        if len(codon) == 3:
            if codon in STOPS:
                found.append(tuple(parts))
                return
            codon = ""
        extend(parts, codon, t + 1)
        if text[t + 1 : t + 3] in donors and (here >= 3 or len(parts) == 1):
            for end in range(t + 1 + shortest, n):
                if text[end - 2 : end] == "AG":
                    extend([*parts, (end, end)], codon, end)

    for a in range(n):
        extend([(a, a)], "", a)
    return found


def genes_of(text, strands, donors, shortest):
    found = [("+", parts) for parts in forward_genes(text, donors, shortest)]
    if strands == "both":
        n = len(text)
        for parts in forward_genes(flip(text), donors, shortest):
            found.append(("-", tuple((n - b, n - a) for a, b in reversed(parts))))
    return found


def structures_of(genes, after=0):
    """All sets of genes that are at least one base apart."""
    yield ()
    for gene in genes:
        start = gene[1][0][0]
        if start >= after:
            for rest in structures_of(genes, gene[1][-1][1] + 1):
                yield (gene, *rest)


# --- features, from the text ------------------------------------------------------------------------------


class Definition:
    """F(x, y) by the names of weights."""

    def __init__(self, weights):
        self.weights, self.strands, self.tied = weights, weights.rules.strands, weights.tie_introns
        self.index = {name: k for k, name in enumerate(weights.names())}

    def features(self, text, tracks, genes):
        self.row = np.zeros(len(self.index))
        labels = ["NC"] * len(text)
        strand = ["both" if self.strands == "both" else "+"] * len(text)
        for sign, parts in genes:
            self.gene(text, sign, parts, labels, strand)
        for t, (label, sign) in enumerate(zip(labels, strand, strict=True)):
            for reads in ("+", "-"):
                if sign in (reads, "both"):
                    self.emit(text, t, label, reads)
            for r in range(tracks.shape[1]):
                self.row[self.index[f"tracks: {label} {r}"]] += tracks[t, r]
        return self.row

    def word(self, text, t, sign, length):
        """That ends at t, read along the strand; none unless the longest word is there."""
        most = self.weights.word_length
        word = text[max(0, t - most + 1) : t + 1] if sign == "+" else flip(text[t : t + most])
        return word[-length:] if len(word) == most and "N" not in word else None

    def emit(self, text, t, label, sign):
        for k in self.weights.orders:
            if word := self.word(text, t, sign, k + 1):
                self.row[self.index[f"{label.rstrip('012')} {k + 1}-mer: {label} {word}"]] += 1

    def signal(self, text, name, place, sign):
        weights = self.weights
        for offset in range(*weights.windows.get(name, (0, 0))):
            self.word_at(text, place, offset, sign, weights.window_order, f"{name}: {offset:+d}")
        for a, b in pairwise(weights.flanks.get(name, ())):
            for offset in range(a, b):
                self.word_at(text, place, offset, sign, weights.flank_order, f"{name} flank: {a:+d}..{b:+d}")

    def word_at(self, text, place, offset, sign, order, name):
        t = place + offset if sign == "+" else place - 1 - offset
        word = self.word(text, t, sign, order + 1) if 0 <= t < len(text) else None
        if word:
            self.row[self.index[f"{name} {word}"]] += 1

    def gene(self, text, sign, parts, labels, strand):
        start, end = parts[0][0], parts[-1][1]
        self.row[self.index["edges: gene"]] += 1
        read = parts if sign == "+" else parts[::-1]
        sizes = [b - a for a, b in read]
        for name, size, place in (("start", sizes[0], start), ("stop", sizes[-1], end)):
            if size < 3:
                self.row[self.index[f"edges: split {name}"]] += 1
            else:
                self.signal(text, name, place if sign == "+" else start + end - place, sign)
        strand[start:end] = [sign] * (end - start)
        coding = [t for a, b in parts for t in range(a, b)]
        for k, t in enumerate(coding if sign == "+" else coding[::-1]):
            labels[t] = f"C{k % 3}"
        for k, size in enumerate(sizes):
            kind = (
                "single" if len(sizes) == 1 else {0: "initial", len(sizes) - 1: "terminal"}.get(k, "internal")
            )
            self.length("exon lengths: " + kind + " ", size, self.weights.exon_bins)
        for (_, a), (b, _) in pairwise(parts):
            before = sum(d - c for c, d in parts if (d <= a if sign == "+" else c >= b)) % 3
            labels[a:b] = ["I" if self.tied else f"I{before}"] * (b - a)
            self.row[self.index[f"edges: intron after {before}"]] += 1
            self.signal(text, "donor", a if sign == "+" else b, sign)
            self.signal(text, "acceptor", b if sign == "+" else a, sign)
            self.length("intron lengths: ", b - a, self.weights.intron_bins, self.weights.rules.introns[1])

    def length(self, name, n, bins, longest=np.inf):
        if bins:
            name += "longer" if n > longest else str(max(start for start in bins if start <= n))
            self.row[self.index[name]] += 1


# --- problems ---------------------------------------------------------------------------------------------


@st.composite
def texts(draw, most=16):
    pieces = draw(st.lists(st.sampled_from(PIECES), max_size=most // 2))
    return "".join(pieces)[:most]


def gene_text(rng, n):
    """Letters among which there are genes."""
    text = "".join(rng.choice(PIECES[:-1]) for _ in range(n))
    return text[:n]


def exon_weights(
    strands, introns=None, tie_introns=True, orders=(0,), windows=False, n_tracks=0, donors=("GT",)
):
    rules = GeneRules(strands, donors, introns or (4, 4))
    intron_bins = () if introns is None else tuple(range(introns[0], introns[1] + 1, 2))
    exon_bins = () if introns is None else (1, 4, 6, 9)
    around = (WINDOWS, 1, FLANKS, 0) if windows else ({}, 1, {})
    bins = {"intron_bins": intron_bins, "exon_bins": exon_bins}
    return ExonWeights(rules, orders, *around, **bins, tie_introns=tie_introns, n_tracks=n_tracks)


@st.composite
def problems(draw):
    strands = draw(st.sampled_from(["forward", "both"]))
    introns = draw(st.sampled_from([None, (4, 6), (5, 8)]))
    tied, windows = draw(st.booleans()), draw(st.booleans())
    donors = draw(st.sampled_from([("GT",), ("GT", "GC")]))
    orders, n_tracks = draw(st.sampled_from([(0,), (0, 1), (2,)])), draw(st.integers(0, 2))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    sequences = draw(st.lists(texts(), min_size=1, max_size=2))
    sequences += [
        gene_text(rng, draw(st.integers(10, 24))),
        "CCATGGTCAGCTAACCTTACATG"[: draw(st.integers(14, 23))],
    ]
    weights = exon_weights(strands, introns, tied, orders, windows, n_tracks, donors)
    return problem(rng, sequences, weights)


def problem(rng, sequences, weights, scale=1.0):
    structure, definition, rules = ExonGraph(weights), Definition(weights), weights.rules
    tracks = [rng.normal(size=(len(text), weights.n_tracks)).round(2) for text in sequences]
    known = [genes_of(text, rules.strands, rules.donors, rules.introns[0]) for text in sequences]
    everything = [list(structures_of(genes)) for genes in known]
    outputs = [
        [gene_path(weights, len(text), transcripts(genes)) for genes in some]
        for text, some in zip(sequences, everything, strict=True)
    ]
    features = [
        np.array([definition.features(text, track, genes) for genes in some])
        for text, track, some in zip(sequences, tracks, everything, strict=True)
    ]
    own = [int(rng.integers(len(some))) for some in everything]
    inputs = list(zip(sequences, tracks, strict=True))
    paths = [paths[k] for paths, k in zip(outputs, own, strict=True)]
    shard = structure.encode(inputs, paths, rng.random(len(sequences)).round(2))
    costs = [
        np.array([hamming(structure, a, path) for a in some]).astype(float)
        for some, path in zip(outputs, paths, strict=True)
    ]
    w = scale * rng.normal(size=structure.n_weights)
    return Problem(structure, shard, w, outputs, features, own=own, costs=costs)


def hamming(structure, a, b):
    return int((structure.labels(a) != structure.labels(b)).sum())


def transcripts(genes):
    return [Transcript("c", sign, parts, f"g{k}", f"g{k}") for k, (sign, parts) in enumerate(genes)]


ALL_SHAPES = list(product(["forward", "both"], [None, (4, 6)], [True, False]))
