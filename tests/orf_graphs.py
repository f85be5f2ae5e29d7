"""Small random sequences, with all sets of genes without introns scored by the definition alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from laws import Problem
from simulated_genes import flip
from structune.genes.nucleotides import encode_letters
from structune.genes.prokaryotes.metagenomes.contigs import (
    Composition,
    ContigGraph,
    gc_share,
    log_odds,
    with_words,
)
from structune.genes.prokaryotes.structure.candidates import OrfRules
from structune.genes.prokaryotes.structure.orf_graph import OrfGraph

PIECES = ("ATG", "GTG", "TTG", "TAA", "TGA", "TAG", "CAT", "TTA", "TCA", "AGGAGG", "A", "C", "G", "T", "N")
RULES = (OrfRules(11, 9, 5, 12), OrfRules(4, 12, 0, 20), OrfRules(11, 9, 8, 9))
STOPS = {11: {"TAA", "TAG", "TGA"}, 4: {"TAA", "TAG"}}
CONSENSUS = "TAAGGAGGTGA"
SPACINGS = {s: some[0] for some in [(2, 3, 4), (5, 6), (7, 8), (9, 10), range(11, 16)] for s in some}
LENGTHS = (0, 120, 150, 200, 300, 450, 700, 1000, 1500, 2200)


# --- the definition ---------------------------------------------------------------------------------------


def forward_genes(text, rules, is_open):
    """Start, end, first base of the stop codon."""
    n, stops, found = len(text), STOPS[rules.code], []
    for a in range(n):
        if text[a : a + 3] not in ("ATG", "GTG", "TTG") and not (is_open and a < 3):
            continue
        for b in range(a, n + 1, 3):
            codon = text[b : b + 3]
            if codon in stops or (is_open and len(codon) < 3):
                if min(b + 3, n) - a >= rules.shortest:
                    found.append((a, min(b + 3, n), b))
                break
    return found


def genes_of(text, rules, is_open=False):
    """(start, end, strand), with what a gene reads along its strand: the whole strand, its start and stop."""
    n = len(text)
    found = {(a, b, "+"): (text, a, stop) for a, b, stop in forward_genes(text, rules, is_open)}
    for a, b, stop in forward_genes(flip(text), rules, is_open):
        found[n - b, n - a, "-"] = (flip(text), a, stop)
    return found


def sets_of(genes, rules, before=None):
    """All sets of genes, by their left ends, that overlap by no more than is allowed."""
    yield ()
    for gene in genes:
        if before is None or (gene[0] > before[0] and gene[0] >= before[1] - rules.overlap):
            for rest in sets_of(genes, rules, gene):
                yield (gene, *rest)


class Definition:
    """F(x, y) by the names of weights."""

    def __init__(self, structure):
        self.rules = structure.rules
        self.index = {name: k for k, name in enumerate(structure.weight_names())}
        starts = [int(name.split()[-1]) for name in self.index if name.startswith("gaps: same strand")]
        self.gap_starts = sorted(starts)

    def features(self, genes, chosen):
        self.row = np.zeros(len(self.index))
        for gene in chosen:
            self.gene(*genes[gene], gene[1] - gene[0])
        for before, after in pairwise(chosen):
            self.gap(before, after)
        return self.row

    def add(self, name):
        self.row[self.index[name]] += 1

    def gene(self, strand, start, stop, length):
        for a in range(start, stop - 3, 3):
            word = strand[a : a + 6]
            if "N" not in word:
                self.add(f"hexamers: {word}")
                self.add(f"codons: {word[3:]}")
        if self.start(strand, start, True):  # else its length is not known
            length = length if stop + 3 <= len(strand) else max(length, 1000)
            self.add(f"lengths: {max(n for n in LENGTHS if n <= length)}")

    def start(self, strand, start, has_context):
        """What is seen of a start; whether it has a codon for it."""
        codon = strand[start : start + 3]
        self.add(f"starts: {codon if codon in ('ATG', 'GTG', 'TTG') else 'ATG'}")
        self.add(f"ribosome site: {self.site(strand, start)}")
        for place in (*range(-40, 0), *range(3, 15)):
            if has_context and 0 <= start + place < len(strand) and strand[start + place] != "N":
                self.add(f"context: {place:+d} {strand[start + place]}")
        return codon in ("ATG", "GTG", "TTG")

    def site(self, strand, start):
        def run(spacing):
            first, longest = start - spacing - 8, 0
            for i in range(11):
                for j in range(i + 1, 12):
                    a, b = first + i, first + j
                    if a >= 0 and b <= start and strand[a:b] == CONSENSUS[i:j]:
                        longest = max(longest, j - i)
            return longest

        longest, _, spacing = max((run(s), -abs(s - 7), s) for s in reversed(SPACINGS))
        ties = [s for s in SPACINGS if (run(s), abs(s - 7)) == (longest, abs(spacing - 7))]
        return "none" if longest < 3 else f"run {min(longest, 6)}, spacing {SPACINGS[min(ties)]}"

    def gap(self, before, after):
        distance = after[0] - before[1]
        kind = {"++": "same strand", "--": "same strand", "+-": "convergent", "-+": "divergent"}
        start = max(s for s in self.gap_starts if s <= distance)
        self.add(f"gaps: {kind[before[2] + after[2]]} {start}")


class ContigDefinition(Definition):
    """That of contigs, whose words add up by tables."""

    def __init__(self, structure, composition):
        super().__init__(structure)
        self.composition = composition

    def gene(self, strand, start, stop, length):
        known = [base for base in strand if base != "N"]
        share = sum(base in "GC" for base in known) / len(known)
        genes, everywhere = self.composition.at(round(share, 2))
        tables = log_odds(genes[0], everywhere)
        for a in range(start, stop - 3, 3):
            if "N" not in strand[a : a + 6]:
                word = int(strand[a : a + 6].translate(str.maketrans("ACGT", "0123")), 4)
                for name, table in zip(("in genes", "amino acids"), tables, strict=True):
                    self.row[self.index[f"words: {name}"]] += table[word]
                self.add("words: number")
        kind = (start < 3) + 2 * (stop + 3 > len(strand))
        seen = max(n for n in LENGTHS if n <= length)
        if kind:
            self.add(f"ends: {('', 'before', 'behind', 'both')[kind]} {seen}")
        else:
            self.add(f"lengths: {seen}")
        self.start(strand, start, start >= 3)


# --- problems ---------------------------------------------------------------------------------------------


def gene_text(rng, n):
    return "".join(rng.choice(PIECES) for _ in range(n))[:n]


@st.composite
def problems(draw):
    rules, is_open = draw(st.sampled_from(RULES)), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    texts = [gene_text(rng, draw(st.integers(0, 40))) for _ in range(draw(st.integers(1, 3)))]
    return problem(rng, texts, rules, is_open, draw(st.sampled_from([0.3, 1.0, 3.0])))


def problem(rng, texts, rules, is_open=False, scale=1.0):
    structure = OrfGraph(rules)
    return problem_of(structure, Definition(structure), lambda shard: shard, rng, texts, is_open, scale)


def contig_problem(rng, texts, rules, is_open=True, scale=1.0):
    structure = ContigGraph(rules)
    composition = Composition(*(rng.normal(size=(2, 4**6)) for _ in range(3)))
    shares = np.array([gc_share(encode_letters(text, "")) for text in texts])

    def with_columns(shard):
        return with_words(structure.of_contigs(shard), shares, composition)

    definition = ContigDefinition(structure, composition)
    return problem_of(structure, definition, with_columns, rng, texts, is_open, scale)


def problem_of(structure, definition, finished, rng, texts, is_open, scale):
    """`finished` makes the structure's shard of what it encodes."""
    rules = structure.rules
    genes = [genes_of(text, rules, is_open) for text in texts]
    sets = [list(sets_of(sorted(of), rules)) for of in genes]
    own = [int(rng.integers(len(some))) for some in sets]
    known = [some[k] for some, k in zip(sets, own, strict=True)]
    shard = finished(structure.encode(texts, known, rng.uniform(0.5, 2.0, len(texts)), is_open))
    w = rng.normal(scale=scale, size=structure.n_weights)
    outputs = [[marks(shard, s, chosen) for chosen in some] for s, some in enumerate(sets)]
    both = list(zip(genes, sets, strict=True))
    features = [np.array([definition.features(of, chosen) for chosen in some]) for of, some in both]
    pairs = zip(both, known, strict=True)
    costs = [np.array([cost(of, one, chosen) for chosen in some], float) for (of, some), one in pairs]
    return Problem(structure, shard, w, outputs, features, own=own, costs=costs)


def marks(shard, s, chosen):
    """The output of a set of genes."""
    first, last = shard.offsets[2, s : s + 2]
    strand = ["-" if reverse else "+" for reverse in shard.reverse[first:last]]
    bounds = [(a, b, c) for (a, b), c in zip(shard.bounds[first:last].tolist(), strand, strict=True)]
    return np.array([gene in chosen for gene in bounds], np.int8)


def cost(genes, own, chosen):
    """Starts and stops in one set alone."""

    def ends(of):
        starts = {(strand, genes[a, b, strand][1]) for a, b, strand in of}
        return {("start", *x) for x in starts} | {("stop", s, genes[a, b, s][2]) for a, b, s in of}

    return len(ends(own) ^ ends(chosen))
