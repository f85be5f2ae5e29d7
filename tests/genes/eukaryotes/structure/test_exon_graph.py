from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import gene_graphs as genes
from laws import hold
from structune.errors import DataError
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.shard import gene_path, path_genes
from structune.genes.formats.record import Transcript, coding_problems

SHAPES = list(enumerate(genes.ALL_SHAPES))


@settings(max_examples=12)
@given(problem=genes.problems())
def test_laws(problem):
    hold(problem)


@pytest.mark.parametrize(
    ("scale", "seed", "shape"),
    [(1.0, *each) for each in SHAPES]
    + [(30.0, *SHAPES[k]) for k in (2, 5)]
    + [(1e3, *SHAPES[k]) for k in (1, 6)],
)
def test_laws_of_sequences_with_many_structures(scale, seed, shape):
    hold(rich_problem(seed, shape, scale))


def rich_problem(seed, shape, scale=1.0):
    strands, introns, tied = shape
    rng = np.random.default_rng(seed)
    weights = genes.exon_weights(strands, introns, tied, (0, 1), True, 1)
    texts = [
        genes.gene_text(rng, 30),
        "CCATGGTCAGCTAACCTTACATG",
        "ATGGTGTACAGGTAAGCATGTAA",
        "TTACTGACACATCATATGTAAC",
        "CAGTCCAGTGCCTGTAAAGAGCC",
        "GGCTCTTTACAGGCACTGGACTG",
    ]
    return genes.problem(rng, texts, weights, scale=scale)


@pytest.mark.parametrize("seed", range(0, 8, 2))
def test_weights_far_apart(seed):
    """What one weight takes away others may make up for, and complex steps too."""
    problem, rng = rich_problem(seed, SHAPES[seed][1]), np.random.default_rng(seed)
    n = problem.w.size
    wild = np.where(rng.random(n) < 0.9, problem.w, rng.choice([-1e3, 1e3, -740.0, -370.0, 300.0], n))
    for w in (wild, rng.uniform(-60.0, 20.0, n)):
        given, v = replace(problem, w=w), rng.normal(size=n)
        found, stepped = np.zeros(n), np.zeros(n, complex)
        values = given.structure.log_partition(w, given.shard, found)
        given.structure.log_partition(w + 1e-20j * v, given.shard, stepped)
        assert_allclose(values, given.log_partition(), rtol=1e-10)
        assert_allclose(found, given.expected(given.shard.weights), rtol=1e-8, atol=1e-8)
        assert_allclose(stepped.imag / 1e-20, given.covariance(v), rtol=1e-6, atol=1e-6)


def test_example_weights_may_be_negative():
    problem = rich_problem(0, SHAPES[0][1])
    weights, found = np.array([2.0, 0.0, -1.5, 1e-320, 1.0, 1.0]), np.zeros_like(problem.w)
    problem.structure.log_partition(problem.w, problem.shard, found, weights)
    assert_allclose(found, problem.expected(weights), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(2))
def test_variance(seed):
    """Sums over uses of the mean squares of what is there; tracks may be negative."""
    rng = np.random.default_rng(seed)
    structure = ExonGraph(genes.exon_weights("forward", n_tracks=2))
    tracks = rng.normal(size=(30, 2))
    text, w = genes.gene_text(rng, 30), rng.normal(size=structure.n_weights)
    shard = structure.encode([(text, tracks)])
    found, expected = structure.variance(w, shard), np.zeros(structure.n_weights)
    structure.log_partition(w, shard, expected)
    part = structure.weights.part
    for name in ("order 0", "edges"):
        assert_allclose(part(found, name), part(expected, name), rtol=1e-12)
    columns, labels = structure.marginals(w, shard), np.zeros((30, 5))
    for column in range(structure.weights.n_columns):
        path = np.full(30, column, np.int8)
        labels[np.arange(30), structure.labels(path)] += columns[:, column]
    assert_allclose(part(found, "tracks"), labels.T @ tracks**2, rtol=1e-9, atol=1e-12)
    assert_allclose(columns.sum(axis=1), 1.0)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(0, 200))
@example(1609, 87)  # two best sets that mirror each other
def test_both_strands_are_alike(seed, n):
    """The reverse complement has the same sum, and the mirrored best genes, or others as good."""
    rng = np.random.default_rng(seed)
    structure = ExonGraph(genes.exon_weights("both", (4, 9), True, (0, 2), True))
    w = rng.normal(size=structure.n_weights)
    text = genes.gene_text(rng, n)
    both = structure.encode([text, genes.flip(text)])
    values = structure.log_partition(w, both)
    assert_allclose(values[0], values[1], rtol=1e-12, atol=1e-12)
    paths, scores = structure.best(w, both)
    assert_allclose(scores[0], scores[1], rtol=1e-12, atol=1e-12)
    labels = [structure.labels(path) for path in (paths[:n], paths[n:])]
    if not np.array_equal(labels[0], labels[1][::-1]):  # as CATCATGATG has two, which mirror each other
        mirrored = [
            ("-+"[sign == "-"], tuple((n - b, n - a) for a, b in reversed(exons)))
            for sign, exons in reversed(path_genes(structure.weights, paths[n:]))
        ]
        path = gene_path(structure.weights, n, genes.transcripts(mirrored))
        assert_allclose(
            structure.score(w, structure.encode([text], [path])), scores[0], rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize(("strands", "tied"), list(product(["forward", "both"], [True, False])))
def test_paths_of_genes_and_no_others(strands, tied):
    """Against enumeration: paths of other sequences, with other introns, and some that end too early."""
    structure = ExonGraph(genes.exon_weights(strands, (6, 8), tied))
    pairs = tuple(map("".join, product("ACGT", repeat=2)))
    for text in ("CATGGTCAAGTAGCTAACC", "GTTAGCTTAGACTCCATG", "ATGTGTACAGAGAATTGTAAG"):
        known = paths_of(text, structure, strands, ("GT",), 6)
        near = known | paths_of(text, structure, strands, pairs, 3)
        for k, letter in product(range(len(text)), "ACGT"):
            near |= paths_of(text[:k] + letter + text[k + 1 :], structure, strands, ("GT",), 6)
        assert {path for path in near if takes(structure, text, path)} == known
        start = text[:-4]
        known = paths_of(start, structure, strands, ("GT",), 6)
        assert {path[:-4] for path in near if takes(structure, start, path[:-4])} <= known


def paths_of(text, structure, strands, donors, shortest):
    """All paths by the definition of a gene."""
    found = genes.genes_of(text, strands, donors, shortest)
    return {
        tuple(gene_path(structure.weights, len(text), genes.transcripts(some)).tolist())
        for some in genes.structures_of(found)
    }


def takes(structure, text, path):
    try:
        structure.encode([text], [np.array(path)])
    except DataError:
        return False
    return True


def test_long_introns():
    """Longer ones than have scores of their own cost as much by the base, whatever their length."""
    structure = ExonGraph(genes.exon_weights("forward", (4, 6)))
    w = np.zeros(structure.n_weights)
    structure.weights.part(w, "intron lengths")[-1] = 50.0
    for n in (0, 1, 100, 30_000):
        text = "CATGGCC" + "GTAA" + "C" * n + "TTAG" + "GCCTAAC"
        path, score = structure.best(w, structure.encode([text]))
        assert path_genes(structure.weights, path) == [("+", ((1, 7), (15 + n, 21 + n)))]
        assert_allclose(score, 50.0)
        assert_allclose(structure.log_partition(w, structure.encode([text])), 50.0, atol=1e-10)


def test_open_frames_of_any_length():
    """Repeats without a stop codon, full of splice sites, and sequences that are not known."""
    structure = ExonGraph(genes.exon_weights("both", (4, 9), True, (0,), True))
    w = np.random.default_rng(0).normal(size=structure.n_weights)
    texts = ["ATGCAGGTC" * 300, "N" * 3000, "C" * 3000, "ATG" + "GCC" * 3000 + "TAA"]
    found = np.zeros(structure.n_weights)
    assert np.isfinite(structure.log_partition(w, structure.encode(texts), found)).all()
    assert np.isfinite(found).all()


def test_weights_that_are_not_finite():
    structure = ExonGraph(genes.exon_weights("forward"))
    with pytest.raises(DataError, match="not finite"):
        structure.log_partition(np.full(structure.n_weights, np.nan), structure.encode(["ACGT"]))


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([3], None, "sequence 0 must be a string of nucleotides, not int"),
        (["AC", "A-C"], None, "sequence 1, position 2: '-' is not a nucleotide"),
        (["AC"], [[0]], r"sequence 0: the path has the shape \(1,\), but must have \(2,\)"),
        (["AC"], [[0, 99]], "sequence 0: columns must be from 0 to 4"),
        (["AC"], [], "there are 0 paths, but 1 sequences"),
        (["AC"], [[4, 1]], "sequence 0: the model cannot have a gene at base 1"),
    ],
)
def test_bad_input(inputs, outputs, message):
    structure = ExonGraph(genes.exon_weights("forward"))
    with pytest.raises(DataError, match=message):
        structure.encode(inputs, outputs)


def test_empty():
    structure = ExonGraph(genes.exon_weights("both", (4, 6), True, (0,), True))
    assert structure.log_partition(np.zeros(structure.n_weights), structure.encode([])).size == 0
    shard = structure.encode(["", "N"])
    assert_allclose(structure.log_partition(np.ones(structure.n_weights), shard), 0.0, atol=1e-12)
    assert structure.best(np.ones(structure.n_weights), shard)[0].tolist() == [8]


# --- genes as paths, and back -------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, 30), st.sampled_from(["forward", "both"]))
def test_round_trip_of_all_genes(seed, n, strands):
    """Also those whose introns split start and stop codons."""
    text = genes.gene_text(np.random.default_rng(seed), n)
    weights = genes.exon_weights(strands, donors=("GT", "GC"))
    for known in genes.genes_of(text, strands, ("GT", "GC"), 4):
        path = gene_path(weights, len(text), genes.transcripts([known]))
        assert path_genes(weights, path) == [known]
        ExonGraph(weights).encode([text], [path])  # refuses what is no path


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(0, 400),
    st.sampled_from(genes.ALL_SHAPES),
    st.sampled_from([("GT",), ("GT", "GC")]),
)
def test_every_best_path_is_of_genes(seed, n, shape, donors):
    strands, introns, tied = shape
    rng = np.random.default_rng(seed)
    weights = genes.exon_weights(strands, introns, tied, (0, 2), True, donors=donors)
    structure = ExonGraph(weights)
    text = "".join("N" if rng.random() < 0.02 else a for a in genes.gene_text(rng, n))
    w = rng.normal(size=structure.n_weights) * rng.choice([0.1, 1.0, 10.0])
    path, _ = structure.best(w, structure.encode([text]))
    found = genes.transcripts(path_genes(weights, path))
    for t in found:
        assert not coding_problems(t, text, donors=donors, min_intron=weights.rules.introns[0])
        assert strands == "both" or t.strand == "+"
    assert all(a.end < b.start for a, b in pairwise(found))
    assert_array_equal(gene_path(weights, len(text), found), path)
    structure.encode([text], [path])


def test_genes_that_have_no_path():
    both = genes.exon_weights("both")
    a, b = (Transcript("c", "+", (part,), name, name) for name, part in (("a", (0, 9)), ("b", (9, 18))))
    with pytest.raises(DataError, match="transcripts a and b overlap or touch"):
        gene_path(both, 18, [b, a])
    with pytest.raises(DataError, match="transcript a ends at 9, beyond the sequence of 8"):
        gene_path(both, 8, [a])
    reverse = Transcript("c", "-", ((0, 9),), "r", "r")
    with pytest.raises(DataError, match="transcript r is on the strand '-', which the model does not have"):
        gene_path(genes.exon_weights("forward"), 9, [reverse])
