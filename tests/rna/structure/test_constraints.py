"""Constraints on RNA structures: what remains is what enumeration leaves."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import laws
from rnas import (
    accuracy,
    constrained,
    cut,
    enumerated_pairs,
    has_lonely_pairs,
    over_places,
    pair_probabilities,
    pairs_of,
    random_sequence,
    satisfies,
    structures,
)
from structune.errors import DataError
from structune.rna.structure.constraints import Constraints, without_pairs
from structune.rna.structure.rna import RNA

CLOSE = {"rtol": 1e-7, "atol": 1e-7}  # forced pairs cost digits


@settings(max_examples=15)
@given(problem=constrained(marks="x", paired=False))
def test_laws_where_nothing_is_forced(problem):
    laws.hold(problem)


@settings(max_examples=40)
@given(problem=constrained() | constrained(scale=20.0))
def test_sums(problem):
    rna, w, shard = problem.structure, problem.w, problem.shard
    log_z, expected = laws.log_partition_and_gradient(problem)
    assert_allclose(log_z, problem.log_partition(), **CLOSE)
    assert_allclose(rna.log_partition(w, shard), problem.log_partition(), **CLOSE)
    assert_allclose(expected, problem.expected(shard.weights), rtol=1e-6, atol=1e-6)
    v = laws.direction(problem)
    found, product = rna.linearize(w, shard)(v), problem.covariance(v)
    assert_allclose(found, product, rtol=1e-6, atol=1e-6 * (1 + np.abs(product).max()))
    assert np.all(rna.variance(w, shard) >= 0.0)


@settings(max_examples=30)
@given(problem=constrained())
def test_best_with_costs(problem):
    rna, w, shard = problem.structure, problem.w, problem.shard
    rate = problem.rng.uniform(0.0, 3.0, len(shard))
    found, values = rna.best(w, shard, rate)
    with_cost = [s + r * c for s, r, c in zip(problem.scores, rate, problem.costs, strict=True)]
    assert_allclose(values, [scores.max() for scores in with_cost], **CLOSE)
    own = [
        next(k for k, y in enumerate(outputs) if np.array_equal(y, part))
        for outputs, part in zip(problem.outputs, np.split(found, shard.offsets[1:-1]), strict=True)
    ]
    assert_allclose(problem.pick(with_cost, own), values, **CLOSE)


@settings(max_examples=25)
@given(problem=constrained())
def test_probabilities(problem):
    rna, w, shard = problem.structure, problem.w, problem.shard
    for s, (outputs, scores) in enumerate(zip(problem.outputs, problem.scores, strict=True)):
        p = enumerated_pairs(outputs, scores)
        assert_allclose(pair_probabilities(rna, w, shard, s), p, rtol=1e-7, atol=1e-8)


def gain(values, partner):
    return sum(values[i, j] for i, j in enumerate(partner) if j > i)


KINDS = {"line": {}, "local": {"max_span": 6}, "circle": {"circular": True}, "strands": {}, "duplex": {}}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_decoder_gives_the_best_structure_that_satisfies_them(kind, seed):
    """Whatever they are, or none where enumeration finds none."""
    rng = np.random.default_rng(seed)
    rna = RNA(int(rng.choice([0, 1, 3])), initiation=0.0, **KINDS[kind])
    sequence = random_sequence(rng, int(rng.integers(4, 11)), "GCGCAU")
    sequence = sequence if rna.circular or kind in ("line", "local") else cut(rng, sequence)
    marks = "".join(rng.choice(list(".x|<>"), len(sequence), p=[0.65, 0.05, 0.16, 0.07, 0.07]))
    known = Constraints("".join("&" if a == "&" else b for a, b in zip(sequence, marks, strict=True)))
    nick = sequence.find("&")
    free = structures(sequence, rna.min_hairpin, max_span=rna.max_span, circular=rna.circular)
    scored = {pair: rng.normal() * 3 for pair in sorted(set().union(*map(pairs_of, free)))[::2]}
    required = {pair for pair in scored if rng.random() < 0.1}
    allowed = [
        y
        for y in free
        if satisfies(y, known)
        and required <= pairs_of(y)
        and (kind != "duplex" or all(i < nick < j for i, j in pairs_of(y)))
    ]
    kept = [over_places(sequence, y) for y in allowed]

    def bases(i, j):  # which may be given in either order
        return [k - (0 <= nick < k) for k in (j, i)]

    known = replace(
        known,
        between=kind == "duplex",
        pairs=[(*bases(*pair), score) for pair, score in scored.items()],
        required=[bases(*pair) for pair in required],
    )
    w, shard = rng.normal(size=rna.n_weights), rna.encode([sequence], constraints=[known])
    if not kept:
        for question in QUESTIONS.values():
            with pytest.raises(DataError, match="sequence 0: no structure satisfies the constraints"):
                question(rna, w, shard)
        return
    scores = rna.score(w, rna.encode([sequence] * len(kept)), np.concatenate(kept))
    scores += [sum(scored.get(pair, 0.0) for pair in pairs_of(y)) for y in allowed]
    p, own = enumerated_pairs(kept, scores), {tuple(y) for y in kept}
    opened = Constraints(known.notation.replace("&", "." * 31))

    def check(found, worth, among=kept):
        assert satisfies(found.tolist(), opened)
        assert not among or worth(found) >= max(map(worth, among)) - 1e-6

    for gamma in (0.0, 0.3, 4.0):
        check(rna.best_mea(w, shard, [gamma])[0], lambda y, gamma=gamma: accuracy(p, y, gamma))
        (found,) = rna.best_mea(w, shard, [gamma], decoding="centroid")
        check(found, lambda y, gamma=gamma: gain((gamma + 1.0) * p - 1.0, y))
    for threshold in (0.1, 0.7):
        check(rna.best_centroid(w, shard, threshold), lambda y, t=threshold: gain(p - t, y))
    if rest := [y for y in kept if not has_lonely_pairs(y)]:
        (found,) = rna.best_mea(w, shard, [1.0], lonely=False)
        check(found, lambda y: accuracy(p, y, 1.0), rest)
        assert not has_lonely_pairs(found)
    assert rna.best(w, shard)[1] == pytest.approx(scores.max(), abs=1e-6)
    for found in (rna.best(w, shard)[0], *rna.sample(w, shard, 5, rng)):
        assert tuple(found) in own
    for n, within in ((10**6, np.inf), (3, np.inf), (10**6, 2.0)):
        ((found, values),) = rna.n_best(w, shard, n, within)
        assert {tuple(y) for y in found.tolist()} <= own
        close = np.sort(scores[scores > scores.max() - within])[::-1][:n]
        assert_allclose(values[: close.size], close, **CLOSE)


def test_pairs_of_excluded_bases_are_no_longer_required():
    known = without_pairs(Constraints(required=[(9, 0), (1, 8)]), np.arange(10) == 0, "((......))")
    assert (known.notation, known.required.tolist()) == ("x.........", [[1, 8]])


def test_bases_that_can_only_pair_alone():
    rna, known = RNA(), ["|........."]
    w, shard = np.zeros(rna.n_weights), rna.encode(["CAAAAAGAAA"], constraints=known)
    assert rna.best_mea(w, shard, [0.0])[0].tolist() == [6, -1, -1, -1, -1, -1, 0, -1, -1, -1]
    with pytest.raises(
        DataError, match="sequence 0: no structure without lonely pairs satisfies the constraints"
    ):
        rna.best_mea(w, shard, [9.0], lonely=False)


def test_samples_follow_their_probabilities():
    rng, rna, sequence = np.random.default_rng(0), RNA(1), "GCGCAUGCGC"
    known = Constraints("|....x....", [(0, 3)], rng.normal(size=10))
    w, shard = rng.normal(size=rna.n_weights), rna.encode([sequence], constraints=[known])
    drawn = rna.sample(w, shard, 4000, rng)
    share = np.mean(drawn[:, :, None] == np.arange(10), axis=0)
    p = rna.pair_probabilities(w, shard, 0)
    p += p.T
    assert p[0].sum() == pytest.approx(1.0)
    assert p[5].sum() == p[0, 3] == 0.0
    assert np.all(np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / len(drawn)) + 1e-9)


QUESTIONS = {
    "log_partition": lambda rna, w, shard: rna.log_partition(w, shard),
    "gradient": lambda rna, w, shard: rna.log_partition(w, shard, np.zeros(w.size)),
    "linearize": lambda rna, w, shard: rna.linearize(w, shard)(w),
    "best": lambda rna, w, shard: rna.best(w, shard),
    "n_best": lambda rna, w, shard: rna.n_best(w, shard, 2),
    "best_mea": lambda rna, w, shard: rna.best_mea(w, shard, [1.0]),
    "best_centroid": lambda rna, w, shard: rna.best_centroid(w, shard),
    "sample": lambda rna, w, shard: rna.sample(w, shard, 2, np.random.default_rng(0)),
    "pair_probabilities": lambda rna, w, shard: rna.pair_probabilities(w, shard, len(shard) - 1),
}
IMPOSSIBLE = {
    "nothing to the left": ">......",
    "nothing to the right": "......<",
    "all": "|||||||",
    "an unpaired partner": Constraints("..xxxx|"),
    "a prohibited pair": Constraints("(....).", [(0, 5)]),
}


@pytest.mark.parametrize("known", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_no_structure_satisfies(known):
    rna = RNA()
    w, sequences = np.zeros(rna.n_weights), ["ACGU", "GGAAACA"]
    shard = rna.encode(sequences, constraints=[None, known])
    for question in QUESTIONS.values():
        for part in (shard, shard.take([1])):
            with pytest.raises(DataError, match="sequence 1: no structure satisfies the constraints"):
                question(rna, w, part)
        question(rna, w, shard.take([0]))


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_without_constraints_all_weights_will_do(question):
    rna = RNA()
    found = question(rna, np.full(rna.n_weights, -1e6), rna.encode(["GGGAAACCC"]))
    for part in found if isinstance(found, list | tuple) else [found]:
        assert not np.any(np.isnan(np.concatenate([np.ravel(x) for x in part])))


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ("....", "sequence 1: the length of constraints is 4, but there are 5 bases"),
        ("..[..", r"sequence 1: constraint 2 \(from 0\): '\[' is not one of '.x|<>\(\)'"),
        ("..)..", r"sequence 1: constraints, base 2 .* '\)' has no matching '\('"),
        ("((..)", r"sequence 1: constraints, base 0 .* '\(' has no matching '\)'"),
        (
            Constraints(prohibited=[(3, 3)]),
            r"sequence 1: the pair \(3, 3\) of constraints must be two bases, f",
        ),
        (Constraints(prohibited=[(-1, 2)]), r"sequence 1: the pair \(-1, 2\) of"),
        (Constraints(paired=[0.0] * 4), r"sequence 1: paired has shape \(4,\), but must have"),
        (Constraints(prohibited=[(1, 2, 3)]), r"expected rows \(i, j\), not '\[\(1, 2, 3\)\]'"),
        (Constraints(pairs=[(1, 2)]), r"expected rows \(i, j, log odds\), not '\[\(1, 2\)\]'"),
        (Constraints(pairs=[(0, 4, 1), (4, 0, 1)]), "two log odds for the same pair"),
        (Constraints(pairs=[(0, 4, -np.inf)]), r"log odds -inf of the pair \(0, 4\) .* use prohibited"),
        (
            Constraints(pairs=[(0, 3, 1)]),
            "bases 0 and 3 .* have log odds as a pair, but they close a hairpin",
        ),
        (Constraints(required=[(4, 1)]), "bases 1 and 4 .* are constrained to pair, but they cannot"),
        (Constraints(paired=[0.0, 0.0, 0.0, 0.0, np.nan]), r"sequence 1: .* within \+-1000"),
        ("(..).", "sequence 1: bases 0 and 3 .* are constrained to pair, but they close a hairpin of 2"),
        (".(.).", "sequence 1: bases 1 and 3 .* are constrained to pair, but they cannot"),
        (7, "sequence 1: constraints must be a str or Constraints, not int"),
    ],
)
def test_what_is_refused(known, message):
    with pytest.raises(DataError, match=message):
        RNA().encode(["ACGU", "ACGUA"], constraints=[None, known])


def test_scores_do_not_outweigh_what_must_be():
    """A thousand bases that want to pair, and one that must, with none of them."""
    sequence = "GGGGAAAACCCC" * 84
    known = Constraints("|" + "." * 1007, [(0, j) for j in range(1, 1008)], [1000.0] * 1008)
    with pytest.raises(DataError, match=r"add up to 1.008e\+06; with bases that must pair"):
        RNA().encode([sequence], constraints=[known])


@settings(max_examples=30)
@given(problem=constrained())
def test_shards_slice(problem):
    laws.shards_slice(problem)
    laws.shards_add_up(problem)
    rna, w, shard = problem.structure, problem.w, problem.shard
    order = problem.rng.permutation(len(shard))
    again = pickle.loads(pickle.dumps(shard)).take(order).take(np.argsort(order))
    for name, values in vars(shard).items():
        assert_array_equal(getattr(again, name), values)
    both = shard.take([*order, *order])
    assert_array_equal(rna.best(w, both)[1][: order.size], rna.best(w, shard)[1][order])


def test_scores_of_bases_may_be_large():
    """Beyond the range of a double's exponential."""
    rna = RNA()
    w = np.zeros(rna.n_weights)
    w[rna.weight_names().index("external_unpaired")] = -140.0
    for score in (-400.0, 400.0, 1000.0):
        known = Constraints(paired=[score, 0, 0, 0, 0, 0, score])
        shard = rna.encode(["GAAAAAC"], constraints=[known])
        expected = np.logaddexp(2 * score, -980.0)
        assert rna.log_partition(w, shard)[0] == pytest.approx(expected)
        assert rna.best(w, shard)[1][0] == pytest.approx(max(2 * score, -980.0))
