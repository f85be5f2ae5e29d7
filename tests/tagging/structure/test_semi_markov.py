"""Semi-Markov chains, against all segmentations written out, and where numbers are large."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from chains import table
from laws import hold
from segmentations import draw_sequences, segment_problems, segmentations
from structune.errors import DataError
from structune.tagging import AttributeTable, SemiMarkovChain


@given(problem=segment_problems())
def test_laws(problem):
    hold(problem)


@given(problem=segment_problems(scale=1e3, labels=(("O", "x", "y"),)))
def test_large_weights(problem):
    structure, shard, w = problem.structure, problem.shard, problem.w
    gradient = np.zeros_like(w)
    log_z = structure.log_partition(w, shard, gradient)
    assert_allclose(log_z, problem.log_partition(), rtol=1e-12, atol=1e-12)
    assert_allclose(gradient, problem.expected(shard.weights), rtol=1e-8, atol=1e-8)
    product = structure.linearize(w, shard)(np.ones_like(w))
    assert_allclose(product, problem.covariance(np.ones_like(w)), rtol=1e-7, atol=1e-7)
    assert_allclose(structure.best(w, shard)[1], [s.max() for s in problem.scores], rtol=1e-12)


@given(problem=segment_problems())
def test_marginals_and_probabilities_of_segments(problem):
    chain, shard, w = problem.structure, problem.shard, problem.w
    tags, row = chain.marginals(w, shard), 0
    for s, (outputs, scores) in enumerate(zip(problem.outputs, problem.scores, strict=True)):
        p, n = np.exp(scores - problem.log_partition()[s]), outputs[0].size
        expected = np.zeros((n, len(chain.tags)))
        for each, share in zip(outputs, p, strict=True):
            expected[np.arange(n), each] += share
        assert_allclose(tags[row : row + n], expected, rtol=1e-9, atol=1e-12)
        row += n
        every = segmentations(chain.labels, chain.longest.tolist(), n)
        for one in {one for each in every for one in each}:
            found = chain.segment_probability(w, shard, s, one[1], one[2], one[0])
            assert_allclose(found, sum(p[k] for k, each in enumerate(every) if one in each), atol=1e-10)


def long_problem(n, scale, seed=0):
    rng = np.random.default_rng(seed)
    sequence = draw_sequences(rng, [n], real=True)
    options = ["O", "B-x", "B-x I-x", "B-y I-y I-y"]
    labels = " ".join(options[k] for k in rng.integers(0, 4, size=n)).split()[:n]
    chain = SemiMarkovChain.build(table(sequence), [labels])
    return chain, chain.encode(table(sequence), [labels]), rng.normal(scale=scale, size=chain.n_weights)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_ten_thousand_tokens(scale):
    chain, shard, w = long_problem(10_000, scale)
    tags, best = chain.best(w, shard)
    log_z = chain.log_partition(w, shard)
    assert_allclose(chain.score(w, shard, tags), best, rtol=1e-12)
    assert 0 <= log_z[0] - best[0] <= 10_000 * np.log(len(chain.tags))
    assert_allclose(chain.marginals(w, shard).sum(axis=1), 1.0, rtol=1e-11)
    v, gradient, step = np.random.default_rng(1).normal(size=w.size), np.zeros(w.size, complex), 1e-20
    complex_log_z = chain.log_partition(w + 1j * step * v, shard, gradient)
    assert_allclose(complex_log_z.imag / step, gradient.real @ v, rtol=1e-9)
    product, (ahead, behind) = chain.linearize(w, shard)(v), np.zeros((2, w.size))
    chain.log_partition(w + 1e-4 * v, shard, ahead)
    chain.log_partition(w - 1e-4 * v, shard, behind)
    assert_allclose(product, (ahead - behind) / 2e-4, rtol=1e-5, atol=1e-5 * np.abs(product).max())


def simulated(n, seed=0):
    """Segments of two labels which only their length tells apart, in sequences of like words."""
    rng = np.random.default_rng(seed)
    sequences, labels = [], []
    for _ in range(n):
        tokens, row = [], []
        for size in rng.choice([2, 3], size=3):
            label = "x" if size == 2 else "y"
            row += [f"B-{label}", *[f"I-{label}"] * (size - 1), "O"]
            tokens += [*[[("w=in", 1.0)]] * size, [("w=out", 1.0)]]
        sequences.append(tokens)
        labels.append(row)
    return table(sequences), labels


def one(labels, **options):
    return SemiMarkovChain.build(AttributeTable.from_items([[["w=a"]] * len(labels)]), [labels], **options)


def test_lengths_are_those_of_training():
    chain = one(["B-x", "I-x", "O", "B-y", "I-y", "I-y"])
    assert dict(zip(chain.labels, chain.longest.tolist(), strict=True)) == {"O": 1, "x": 2, "y": 3}
    assert one(["B-x", "O"], max_length=5).longest.tolist() == [1, 5]


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        (
            ["B-x", "I-x", "I-x"],
            "sequence 0, tokens 0 to 2: this segment of type 'x' has 3 tokens, but at most 2",
        ),
        (["O", "B-z"], "sequence 0, token 1: unknown segment type 'z'. Allowed: "),
        (["B-O", "O"], "sequence 0, token 0: the label 'B-O' is not BIO"),
    ],
)
def test_labels_that_cannot_be_encoded(labels, what):
    chain = one(["B-x", "I-x", "O"])
    with pytest.raises(DataError, match=what):
        chain.encode(AttributeTable.from_items([[["w=a"]] * len(labels)]), [labels])


def test_training_sets_that_are_refused():
    with pytest.raises(DataError, match="has 3 tokens, but at most 2 are allowed"):
        one(["O", "B-x", "I-x", "I-x"], max_length=2)
    with pytest.raises(DataError, match=r"has 1,048,576 tokens, .* all 2 labels may have at most"):
        one(["O", "B-x"], max_length=2**20)
    with pytest.raises(DataError, match="the training set is empty"):
        SemiMarkovChain.build(AttributeTable.from_items([]), [])
    chain = one(["O", "B-x"])
    with pytest.raises(DataError, match="sequence 1 is empty"):
        chain.encode(AttributeTable.from_items([[["w=a"]], []]))
    shard = chain.encode(AttributeTable.from_items([[["w=a"]] * 2]))
    with pytest.raises(DataError, match="the shard has no labels"):
        chain.cost(shard, np.zeros(2, int))
    w = np.zeros(chain.n_weights)
    with pytest.raises(DataError, match="the sequence has 2 tokens, so it has no segment from 1 to 3"):
        chain.segment_probability(w, shard, 0, 1, 3, "x")
    with pytest.raises(DataError, match="unknown label 'z'"):
        chain.segment_probability(w, shard, 0, 0, 1, "z")
    assert chain.segment_probability(w, shard, 0, 0, 2, "x") == 0.0


def test_scores_that_overflow_lead_nowhere_else():
    inputs, labels = simulated(3)
    chain = SemiMarkovChain.build(inputs, labels)
    shard = chain.encode(inputs, labels)
    for value in (1e308, -1e308, np.nan):
        with np.errstate(all="ignore"):
            tags, _ = chain.best(np.full(chain.n_weights, value), shard)
            several = chain.n_best(np.full(chain.n_weights, value), shard, 2)
        assert 0 <= tags.min() <= tags.max() < len(chain.tags)
        assert len(several) == 3


def test_blocks_do_not_matter(monkeypatch):
    inputs, labels = simulated(20)
    chain = SemiMarkovChain.build(inputs, labels)
    shard, w = chain.encode(inputs, labels), np.random.default_rng(0).normal(size=chain.n_weights)
    whole = chain.log_partition(w, shard), chain.best(w, shard)[0], chain.marginals(w, shard)
    monkeypatch.setattr("structune.tagging.structure.semi_markov._BLOCK_CELLS", 1)
    parts = chain.log_partition(w, shard), chain.best(w, shard)[0], chain.marginals(w, shard)
    for a, b in zip(whole, parts, strict=True):
        assert_array_equal(a, b)
