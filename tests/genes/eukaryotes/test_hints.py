"""What hints are worth, against the sum over all genes of a sequence, and what they gain."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gene_graphs as genes
import simulated_genes as simulated
from simulated_genes import exons
from structune.errors import DataError
from structune.genes import Hint, UnusedEvidenceWarning
from structune.genes.eukaryotes import prediction
from structune.genes.eukaryotes.hints import Hints
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.shard import gene_path
from structune.genes.eukaryotes.structure.weights import GeneRules

NOWHERE = np.zeros((0, 2), int)
TEST = simulated.genome(1, n_contigs=3)
TEXTS = [
    "CCATGGTCAGCTAACCTTACATG",
    "ATGGTGTACAGGTAAGCATGTAA",
    "TTACTGACACATCATATGTAAC",
    "GGCTCTTTACAGGCACTGGACTG",
]


def some_hints(rng, text, known):
    """Of the genes that there may be, and of others."""
    found = [Hint("c", "CDS", 2, 9, "+", 3.0), Hint("c", "CDS", 5, len(text), ".", 20.0)]
    found += [Hint("c", "CDS", 9, 15, "-", 30.0)]
    for sign, parts in known:
        span = parts[0][0], parts[-1][1]
        ends = [Hint("c", kind, *span, sign, float(rng.integers(12))) for kind in ("start", "stop")]
        introns = [
            Hint("c", rng.choice(["intron", "donor", "acceptor"]), a, b, rng.choice([sign, "."]), 5.0)
            for (_, a), (b, _) in pairwise(parts)
        ]
        found += [hint for hint in (*ends, *introns) if rng.random() < 0.5]
    return found


def worth(hints, kind, sign, place):
    """The best hint of a site; of an intron each end has a half."""
    found = [0.0]
    for hint in hints:
        share = 0.5 if hint.kind == "intron" and kind in ("donor", "acceptor") else hint.kind == kind
        first = kind in ("start", "donor")
        own = (hint.start, hint.end)[first != (sign == "+")]
        if own == place and hint.strand in (sign, "."):
            found.append(share * min(1.0, np.log1p(hint.support) / np.log1p(10)))
    return max(found)


def bonus(hints, gene):
    sign, parts = gene
    read = parts if sign == "+" else parts[::-1]
    total = 0.0
    for kind, part in (("start", read[0]), ("stop", read[-1])):
        if part[1] - part[0] >= 3:  # no intron splits it
            total += worth(hints, kind, sign, part[(kind == "start") != (sign == "+")])
    for (_, a), (b, _) in pairwise(parts):
        total += worth(hints, "donor", sign, a if sign == "+" else b)
        total += worth(hints, "acceptor", sign, b if sign == "+" else a)
    for a, b in parts:
        for t in range(a, b):
            cds = [h for h in hints if h.kind == "CDS" and h.start <= t < h.end and h.strand in (sign, ".")]
            total += max((min(1.0, np.log1p(h.support) / np.log1p(10)) / 100 for h in cds), default=0.0)
    return total


@pytest.mark.parametrize(
    ("strands", "text"), [("forward", TEXTS[0]), ("forward", TEXTS[1]), *(("both", text) for text in TEXTS)]
)
def test_best_genes_and_probabilities(text, strands):
    rng = np.random.default_rng(len(text))
    weights = genes.exon_weights(strands, (4, 6), True, (0, 1), True)
    graph = ExonGraph(weights)
    known = genes.genes_of(text, strands, ("GT",), 4)
    sets, hints = list(genes.structures_of(known)), some_hints(rng, text, known)
    paths = [gene_path(weights, len(text), genes.transcripts(some)) for some in sets]
    for weight in (2.0, 30.0):
        w, shard = rng.normal(size=graph.n_weights), graph.encode([text])
        alone = np.array([graph.score(w, graph.encode([text], [path]))[0] for path in paths])
        scores = alone + [weight * sum(bonus(hints, gene) for gene in some) for some in sets]
        known = Hints.of(hints, "c", weight, NOWHERE, text, graph.rules)
        evidence = [known.evidence(0, len(text), shard.nodes.of(0))[0]]
        best, value = graph.best(w, shard, None, evidence)
        assert_allclose(value, scores.max())
        assert_allclose(scores[[np.array_equal(best, path) for path in paths]], scores.max())
        probabilities = np.exp(scores - np.logaddexp.reduce(scores))
        expected = np.zeros((len(text), weights.n_columns))
        for p, path in zip(probabilities, paths, strict=True):
            expected[np.arange(len(text)), path] += p
        assert_allclose(graph.marginals(w, shard, evidence), expected, atol=1e-9)


def test_hints_of_true_genes_gain(finder, monkeypatch):
    """Where words tell little."""
    some = simulated.genome(1, codons=["AAA", "GAA", "TTA", "GCC", "GAG"], n_contigs=5)
    known = [
        [Hint(t.contig, "intron", a, b, t.strand, 10) for t in each.transcripts for a, b in t.introns]
        + [Hint(t.contig, "CDS", a, b, t.strand, 10) for t in each.transcripts for a, b in t.exons]
        for each in some
    ]

    def found(hints, **options):
        predicted = finder.predict(some, hints=hints, **options)
        true = [exons(each.transcripts) for each in some]
        right = sum(gene in of for genes, of in zip(predicted, true, strict=True) for gene in exons(genes))
        return right, [exons(genes) for genes in predicted]

    without, with_hints = found(None), found(known, hint_weight=20.0)
    assert with_hints[0] > without[0]
    assert found(known, hint_weight=0) == without
    monkeypatch.setattr(prediction, "_MOST", 700)
    monkeypatch.setattr(prediction, "_OVERLAP", 400)
    assert found(known, hint_weight=20.0) == with_hints


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        (3, "hints=3 must be a list of lists of Hint"),
        ([], "hints has 0 lists, but X has 1 seq"),
        ([None], "must be a list of lists of Hint"),
        ([[Hint("c0", "exon", 1, 2)]], "c0: Hint.* is not a valid Hint"),
        ([[Hint("c0", "CDS", 1.5, 2)]], "0 <= start < end"),
        ([[Hint("c0", "CDS", 1, 10**400)]], "0 <= start < end"),
        ([[Hint("c0", "CDS", 1, 2, "?")]], "a strand"),
        ([[Hint("c0", "CDS", 1, 2, "+", np.nan)]], "and a support >= 0"),
    ],
)
def test_wrong_hints(finder, hints, message):
    with pytest.raises(DataError, match=message):
        finder.predict(TEST[:1], hints=hints)


@pytest.mark.parametrize("weight", [-1.0, 1e300, np.nan, "a"])
def test_wrong_weight(finder, weight):
    with pytest.raises(DataError, match=r"hint_weight=.*: expected a number from 0 to 1000"):
        finder.predict(TEST[:1], hint_weight=weight)


def test_no_exon_lies_where_it_is_to_be_avoided(finder):
    (genes,) = finder.predict(TEST[:1])
    a, b = genes[0].exons[0]
    spans = [(a + 3, a + 5), (10**6, 10**6 + 9)]
    hints = [[Hint("c0", "CDS", a, b, ".", 99)]]
    for more in ({}, {"hints": hints, "hint_weight": 1000.0}):
        (found,) = finder.predict(TEST[:1], avoid=[spans], **more)
        assert all(d <= a + 3 or c >= a + 5 for t in found for c, d in t.exons)
        assert found[-1].exons == genes[-1].exons
    assert finder.predict(TEST[:1], avoid=[[]]) == [genes]


@pytest.mark.parametrize("avoid", [3, [], [3], [[(1, 2, 3)]], [[(5, 5)]], [[(-1, 5)]], [[(1.5, 3)]]])
def test_wrong_regions(finder, avoid):
    with pytest.raises(DataError, match="avoid="):
        finder.predict(TEST[:1], avoid=avoid)


def told(hints, text="ccATGgtaagttttcagTAAccGTttAGcc", strands="both", donors=("GT",), shortest=6):
    rules = GeneRules(strands, donors, (shortest, 20))
    return Hints.of([Hint("c", *hint) for hint in hints], "c", 1.0, NOWHERE, text, rules).misplaced


RIGHT = [("start", 2, 5, "+"), ("intron", 5, 17), ("stop", 17, 20, "+")]
RIGHT += [("donor", 5, 6, "+"), ("acceptor", 16, 17, "+")]


def test_hints_that_genes_of_the_model_can_have():
    assert not told(RIGHT)
    turned = [(kind, 30 - end, 30 - start, "-") for kind, start, end, *_ in RIGHT]
    assert not told(turned, "ggCTaaACggTTActgaaaacttacCATgg")
    moved = [(kind, start + 1, end + 1, *strand) for kind, start, end, *strand in RIGHT]  # of BED, not of GFF
    assert told(moved).total() == len(RIGHT)


@pytest.mark.parametrize(
    ("hint", "reason", "options"),
    [
        (("donor", 7, 8, "+"), "donors that are not GT", {}),
        (("acceptor", 7, 8, "."), "acceptors that are not AG", {}),
        (("intron", 22, 28, "+"), "introns shorter than 7 bases, the minimum of the model", {"shortest": 7}),
        (("intron", 5, 17, "+"), "introns that do not begin with GC and end with AG", {"donors": ("GC",)}),
        (("start", 2, 5, "-"), "on the reverse strand, where the model has no genes", {"strands": "forward"}),
        (("CDS", 2, 5, "-"), "on the reverse strand, where the model has no genes", {"strands": "forward"}),
        (("intron", 5, 17, "+", 0.0), "without support", {}),
        (("intron", 5, 31, "+"), "beyond the end of their sequence", {}),
        (("CDS", 30, 99), "beyond the end of their sequence", {}),
        (("CDS", 5, 99), "reach beyond the end of their sequence, and are used only within it", {}),
    ],
)
def test_why_hints_have_no_effect(hint, reason, options):
    assert told([hint, *RIGHT[:1]], **options) == {reason: 1}


def test_hints_and_regions_without_effect_are_told(finder):
    """Also of sites with the right bases, which no gene can have."""
    text, n = TEST[0].sequence, len(TEST[0].sequence)
    hints = [
        Hint("c0", "CDS", n - 30, n + 9, "+"),
        Hint("c0", "donor", text.index("CC"), n, "+"),
        Hint("c0", "CDS", 9, 30, "+"),
    ]
    with pytest.warns(UnusedEvidenceWarning) as told:
        finder.predict([text], hints=[hints], avoid=[[(n - 3, n + 3), (n, n + 1)]])
    place = "reach beyond the end of their sequence, and are used only within it"
    assert [str(one.message).split(". Do they")[0] for one in told] == [
        f"avoid: 1 of 2 have no effect: 1 beyond the end of their sequence. 1 of 2 {place}",
        f"hints: 1 of 3 have no effect: 1 donors that are not GT. 1 of 3 {place}",
    ]
    unused = {}
    stop = [Hint("c", "stop", 0, 3, "+")]  # nothing is before it
    assert finder.set_params(closed=True).predict(["TAA" + "C" * 50], hints=[stop], unused=unused) == [()]
    finder.set_params(closed=False)
    assert list(unused["hints"].values()) == [1]
