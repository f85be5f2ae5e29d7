from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import gene_machines as genes
from laws import hold
from structune.errors import DataError
from structune.genes.eukaryotes.machine import inference
from structune.genes.eukaryotes.machine.state_machine import StateMachine
from structune.genes.eukaryotes.machine.tally import Tally
from structune.genes.eukaryotes.structure.paths import gene_path

SHAPES = list(enumerate(genes.ALL_SHAPES))


@settings(max_examples=30)
@given(problem=genes.problems())
def test_laws(problem):
    hold(problem)


@pytest.mark.parametrize(("seed", "shape"), SHAPES)
def test_laws_of_sequences_with_many_structures(seed, shape):
    hold(rich_problem(seed, shape))


def rich_problem(seed, shape, scale=1.0):
    strands, introns, tied = shape
    rng = np.random.default_rng(seed)
    weights = genes.machine_weights(strands, introns, tied, (0, 1), True, 1)
    texts = [
        genes.gene_text(rng, 30),
        "CCATGGTCAGCTAACCTTACATG",
        "ATGGTGTACAGGTAAGCATGTAA",
        "TTACTGACACATCATATGTAAC",
    ]
    return genes.problem(rng, texts, weights, strands, tied, scale=scale)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e3])
@pytest.mark.parametrize(("seed", "shape"), SHAPES)
def test_log_domain(seed, shape, scale):
    problem = rich_problem(seed, shape, scale)
    values, expected = in_logs(problem)
    truth = problem.expected(np.ones(len(problem.shard)))
    assert_allclose(values, problem.log_partition(), rtol=1e-10)
    assert_allclose(expected, truth, rtol=1e-8, atol=1e-8)
    found = np.zeros_like(problem.w)
    values = problem.structure.log_partition(problem.w, problem.shard, found, np.ones(len(problem.shard)))
    assert_allclose(values, problem.log_partition(), rtol=1e-10)
    assert_allclose(found, truth, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("emitted", [-740.0, -744.0, -750.0])
@pytest.mark.parametrize("lane", [0.0, 400.0, 600.0])
def test_jumps_that_underflow(emitted, lane):
    """What an intron emits leaves few digits or none, the weight of its lane makes up in the same step."""
    structure = StateMachine(genes.machine_weights("forward", (4, 9), True, (0,), False))
    some = {f"I 1-mer: I {base}": emitted / 8 for base in "ACGT"} | {"edges: intron after 0": lane}
    some |= {f"C 1-mer: C{k} G": 15.0 for k in range(3)}
    w = np.array([some.get(name, 0.0) for name in structure.weight_names()])
    shard = structure.encode(["ATG" + "GTATAAAG" + "GGA" * 15 + "TAA"])
    assert_allclose(structure.log_partition(w, shard), structure.best(w, shard)[1], rtol=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 37, 40, 45, 46, 61, 110])
def test_weights_that_overflow_in_places(monkeypatch, seed):
    """What one factor loses others may make up for, in the same step or later; complex steps lose more."""
    monkeypatch.setattr(inference, "BLOCK", (3, 1 << 14)[seed % 2])
    problem, rng = rich_problem(seed, SHAPES[seed % 8][1]), np.random.default_rng(seed)
    n = problem.w.size
    wild = np.where(rng.random(n) < 0.9, problem.w, rng.choice([-1e3, 1e3, -740.0, -370.0, 300.0], n))
    for w in (wild, rng.uniform(-60.0, 20.0, n), -np.abs(problem.w) * 10.0 ** rng.uniform(0.0, 3.0)):
        given, v = replace(problem, w=w), rng.normal(size=n)
        found, stepped = np.zeros(n), np.zeros(n, complex)
        values = given.structure.log_partition(w, given.shard, found)
        given.structure.log_partition(w + 1e-20j * v, given.shard, stepped)
        assert_allclose(values, given.log_partition(), rtol=1e-10)
        assert_allclose(found, given.expected(given.shard.weights), rtol=1e-8, atol=1e-8)
        assert_allclose(stepped.imag / 1e-20, given.covariance(v), rtol=1e-6, atol=1e-6)


def in_logs(problem):
    """Values and expected features in the log domain."""
    weights = problem.structure.weights
    sums, tally = inference.LogSums(weights, problem.w), Tally.empty(weights, np.float64)
    expected, values = np.zeros_like(problem.w), []
    for _, sequence in problem.structure._sequences(problem.shard, problem.w):
        done = sums.forward(sequence)
        assert sums.expected(sequence, done, tally, 1.0)
        values.append(done.value)
    tally.add_to(weights, expected)
    return values, expected


@pytest.mark.parametrize("edge", [-740.0, -746.0, -800.0])
@pytest.mark.parametrize("before", [0, 50, 137])
@pytest.mark.parametrize("factor", [1.0, 0.0])
def test_what_underflows_and_matters_later(before, edge, factor):
    """A gene's first edge leaves few digits or none, beside rows as large as they get; its bases make up."""
    structure = StateMachine(genes.machine_weights("forward", None, True, (0,), False))
    some = {"edges: gene": edge, "NC 1-mer: NC C": 1.0} | {f"C 1-mer: C{k} G": 15.0 for k in range(3)}
    w = np.array([some.get(name, 0.0) for name in structure.weight_names()])
    shard = structure.encode(["C" * before + "ATG" + "GGA" * 30 + "TAA" + "CC"])
    _, score = structure.best(w, shard)  # all others together are less by e^60
    values = structure.log_partition(w, shard, weights=np.array([factor]))
    assert_allclose(values, score, rtol=1e-9)


def test_ordinary_weights_stay_in_the_linear_domain(monkeypatch):
    """The log domain would hide what is wrong there, but for the time that it takes."""
    structure = StateMachine(genes.machine_weights("both", (4, 9), True, (0, 2), True))
    rng = np.random.default_rng(0)
    shard = structure.encode([genes.gene_text(rng, 3000), "N" * 3000, "C" * 3000])
    monkeypatch.setattr(inference, "LogSums", None)
    monkeypatch.setattr(inference, "BLOCK", 1000)
    for scale in (0.0, 0.3, 1.0):
        assert np.isfinite(structure.log_partition(scale * rng.normal(size=structure.n_weights), shard)).all()


def test_example_weights_may_be_negative():
    problem = rich_problem(0, SHAPES[0][1])
    weights = np.array([2.0, 0.0, -1.5, 1e-320])
    found = np.zeros_like(problem.w)
    problem.structure.log_partition(problem.w, problem.shard, found, weights)
    assert_allclose(found, problem.expected(weights), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_variance(seed):
    """Sums over positions of the mean squares of what is there; tracks may be negative."""
    rng = np.random.default_rng(seed)
    structure = StateMachine(genes.machine_weights("forward", None, True, (0,), False, 2))
    tracks = rng.normal(size=(30, 2))
    text, w = genes.gene_text(rng, 30), rng.normal(size=structure.n_weights)
    shard = structure.encode([(text, tracks)])
    found, expected = structure.variance(w, shard), np.zeros(structure.n_weights)
    structure.log_partition(w, shard, expected)
    words, part = ("order 0", "edges"), structure.weights.part
    for name in words:
        assert_allclose(part(found, name), part(expected, name), rtol=1e-12)
    label = structure.machine.graph.label
    columns = structure.marginals(w, shard, label == np.arange(len(structure.machine.labels))[:, None])
    assert_allclose(part(found, "tracks"), columns.T @ tracks**2, rtol=1e-12)


@pytest.mark.parametrize("block", [1, 7])
@pytest.mark.parametrize(("seed", "shape"), SHAPES)
def test_blocks(monkeypatch, seed, shape, block):
    """Sequences in several blocks have the sums and paths that they have in one."""
    monkeypatch.setattr(inference, "BLOCK", block)
    problem = rich_problem(seed, shape)
    hold(problem)
    values, expected = in_logs(problem)
    assert_allclose(values, problem.log_partition(), rtol=1e-10)
    assert_allclose(expected, problem.expected(np.ones(len(values))), rtol=1e-8, atol=1e-8)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(0, 200))
def test_both_strands_are_alike(seed, n):
    """The reverse complement has the same sum, and the mirrored best path."""
    rng = np.random.default_rng(seed)
    structure = StateMachine(genes.machine_weights("both", (4, 9), True, (0, 2), True))
    w = rng.normal(size=structure.n_weights)
    text = genes.gene_text(rng, n)
    both = structure.encode([text, genes.flip(text)])
    values = structure.log_partition(w, both)
    assert_allclose(values[0], values[1], rtol=1e-12)
    paths, scores = structure.best(w, both)
    assert_allclose(scores[0], scores[1], rtol=1e-12)
    labels = structure._labels(paths)
    assert_array_equal(labels[:n], labels[n:][::-1])


def test_weights_that_are_not_finite():
    structure = StateMachine(genes.machine_weights("forward", None, True, (0,), False))
    with pytest.raises(DataError, match="not finite"):
        structure.log_partition(np.full(structure.n_weights, np.nan), structure.encode(["ACGT"]))


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([3], None, "sequence 0: found int, expected nucleotides"),
        (["AC", "A-C"], None, "sequence 1: found '-' at position 2"),
        (["AC"], [[0]], r"sequence 0: found a path of shape \(1,\), expected \(2,\)"),
        (["AC"], [[0, 99]], "sequence 0: found states beyond"),
        (["AC"], [], "found 0 paths of 1 sequences"),
        (["AC"], [[0, 1]], "sequence 0: the path is not one of the machine at position 1"),
        ([("AC", np.zeros((2, 1)))], None, r"sequence 0: found tracks of shape \(2, 1\), expected \(2, 0\)"),
    ],
)
def test_bad_input(inputs, outputs, message):
    structure = StateMachine(genes.machine_weights("forward", None, True, (0,), False))
    with pytest.raises(DataError, match=message):
        structure.encode(inputs, outputs)


@pytest.mark.parametrize(
    ("strands", "introns", "tied"), list(product(["forward", "both"], [None, (6, 8)], [True, False]))
)
def test_paths_of_the_machine_and_no_others(strands, introns, tied):
    """Against enumeration: paths of other sequences, with other introns, and some that end too early."""
    structure = StateMachine(genes.machine_weights(strands, introns, tied, (0,), False))
    insides, shortest = set(structure.machine.graph.lane_inside.tolist()), structure.machine.lengths[0]
    for text in ("CATGGTCAAGTAGCTAACC", "GTTAGCTTAGACTCCATG", "ATGGTACAGAGTTGTAAG"):
        known = paths_of(text, structure, strands, ("GT",), shortest)
        near = known | paths_of(text, structure, strands, PAIRS, 3)
        for k, letter in product(range(len(text)), "ACGT"):
            near |= paths_of(text[:k] + letter + text[k + 1 :], structure, strands, ("GT",), shortest)
        for path, inside in product(known, insides):
            near.add(tuple(inside if state in insides else state for state in path))
        assert {path for path in near if takes(structure, text, path)} == known
        start = text[:-4]
        known = paths_of(start, structure, strands, ("GT",), shortest)
        assert {path[:-4] for path in near if takes(structure, start, path[:-4])} <= known


PAIRS = tuple(map("".join, product("ACGT", repeat=2)))


def paths_of(text, structure, strands, donors, shortest):
    """All paths by the definition of a gene."""
    found = genes.genes_of(text, strands, donors, shortest)
    return {
        tuple(gene_path(structure.machine, text, genes.transcripts(some)).tolist())
        for some in genes.structures_of(found)
    }


def takes(structure, text, path):
    try:
        structure.encode([text], [np.array(path)])
    except DataError:
        return False
    return True


def test_empty():
    structure = StateMachine(genes.machine_weights("both", (4, 6), True, (0,), True))
    assert structure.log_partition(np.zeros(structure.n_weights), structure.encode([])).size == 0
    shard = structure.encode(["", "N"])
    assert_allclose(structure.log_partition(np.ones(structure.n_weights), shard), 0.0, atol=1e-12)
    assert structure.best(np.ones(structure.n_weights), shard)[0].tolist() == [0]
