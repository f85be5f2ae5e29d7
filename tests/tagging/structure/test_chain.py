"""Chains of both orders against all labellings written out, in the linear and in the log domain."""

from contextlib import nullcontext
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

import laws
import loss_laws
from chains import (
    assert_same,
    blur,
    chain_problems,
    draw_rules,
    draw_sequences,
    everything,
    is_linear,
    log_domain,
    poisoned_memory,
    small_blocks,
    table,
)  # fmt: skip
from memory_use import peak_of
from structune import SegmentTagger, SequenceTagger
from structune.errors import DataError
from structune.running import Run, memory
from structune.tagging.data.hmm import hmm_attributes, simulate_hmm
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.structure import chain, shard
from structune.tagging.structure.chain import Chain
from structune.tagging.structure.second_order import SecondOrderChain

EITHER = chain_problems() | chain_problems(of=SecondOrderChain)
HUGE = chain_problems(scale=1e3) | chain_problems(scale=1e3, of=SecondOrderChain)
DIFFERENCES = (laws.expected_features_are_the_slope, laws.hessian_products_are_gradient_differences)


@pytest.mark.parametrize("circumstance", [nullcontext, log_domain, small_blocks, poisoned_memory])
@settings(max_examples=40)
@given(problem=EITHER)
def test_laws(circumstance, problem):
    with circumstance():
        laws.hold(problem)


@settings(max_examples=42)
@given(problem=HUGE)
def test_laws_under_huge_weights(problem):
    laws.hold(problem, DIFFERENCES)


@settings(max_examples=38)
@given(problem=EITHER)
def test_laws_of_losses(problem):
    loss_laws.hold(problem)


@pytest.mark.parametrize("circumstance", [nullcontext, log_domain])
@settings(max_examples=20)
@given(problem=EITHER)
def test_marginals_are_enumerated(circumstance, problem):
    with circumstance():
        found = problem.structure.marginals(problem.w, problem.shard)
    expected = []
    for scores, outputs in zip(problem.scores, problem.outputs, strict=True):
        p, labels = np.exp(scores - logsumexp(scores)), np.array(outputs)
        expected += [np.bincount(y, weights=p, minlength=problem.structure.n_labels) for y in labels.T]
    assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@settings(max_examples=20)
@given(problem=chain_problems(partial=True) | chain_problems(partial=True, of=SecondOrderChain))
def test_best_within_partial_labels(problem):
    labels, best = problem.structure.best(problem.w, problem.shard, within=True)
    assert_allclose(best, [scores.max() for scores in problem.kept.scores], rtol=1e-10, atol=1e-10)
    assert_allclose(problem.structure.score(problem.w, problem.shard, labels), best, rtol=1e-10, atol=1e-10)
    assert problem.shard.allowed[np.arange(labels.size), labels].all()


@settings(max_examples=20)
@given(problem=chain_problems(), seed=st.integers(0, 1000))
def test_segment_probability_is_enumerated(problem, seed):
    chain, rng = problem.structure, np.random.default_rng(seed)
    s = rng.integers(len(problem.shard))
    labellings = np.array(problem.outputs[s])
    start = rng.integers(labellings.shape[1])
    segment = rng.integers(chain.n_labels, size=rng.integers(1, labellings.shape[1] - start + 1))
    is_match = (labellings[:, start : start + segment.size] == segment).all(axis=1)
    p = np.exp(problem.scores[s] - logsumexp(problem.scores[s]))
    found = chain.segment_probability(problem.w, problem.shard, s, start, [chain.labels[y] for y in segment])
    assert found == pytest.approx(p[is_match].sum(), rel=1e-10, abs=1e-12)


def largest_linear_scale(chain, direction, shard, within, most=300.0):
    """The largest multiple of a direction that the chain still trusts to the linear domain."""
    low, high = 0.0, most
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if is_linear(chain, middle * direction, shard, within) else (low, middle)
    return low


def positional_chain(n_labels, length, forbidden):
    """A chain whose weights score every token and label as they like."""
    tokens = [[(f"t={t}", 1.0)] for t in range(length)]
    labels = [f"y{y}" for y in range(n_labels)]
    chain = Chain.build(table([tokens]), [[None] * length], states="all", labels=labels, forbidden=forbidden)
    return chain, table([tokens])


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.one_of(st.integers(2, 6), st.integers(7, 19)),
    length=st.integers(1, 60),
    moves=st.sampled_from(["all", "left to right", "rules"]),
    partial=st.booleans(),
)
def test_the_linear_domain_is_safe_to_its_edge(seed, n_labels, length, moves, partial):
    rng = np.random.default_rng(seed)
    labels = [f"y{y}" for y in range(n_labels)]
    forbidden = {
        "all": [],
        "left to right": [(a, b) for i, a in enumerate(labels) for b in labels[:i]],
        "rules": draw_rules(rng, labels),
    }[moves]
    chain, inputs = positional_chain(n_labels, length, forbidden)
    outputs = [[labels[y] for y in np.sort(rng.integers(n_labels, size=length))]]
    try:
        shard = chain.encode(inputs, blur(rng, outputs, labels) if partial else None)
    except DataError:  # the rules forbid these labels
        return
    within = shard.is_partly_known
    direction = rng.choice([-1.0, 0.0, 1.0], size=chain.n_weights)  # the corners: the widest of ranges
    if rng.random() < 0.5:
        direction = np.repeat(direction, 5)[: direction.size]  # lags compound
    w = largest_linear_scale(chain, direction, shard, within) * direction
    assert is_linear(chain, w, shard, within)
    with mock.patch("structune.tagging.kernels.log_domain.expectations", side_effect=AssertionError):
        linear = everything(chain, w, shard, within)
    with log_domain():
        log = everything(chain, w, shard, within)
    for name in ("labels", "best"):
        linear.pop(name, None), log.pop(name, None)
    scale = 1.0 + np.abs(w).max() * length
    assert_allclose(linear.pop("log_z"), log.pop("log_z"), rtol=1e-11, atol=1e-11 * scale)
    assert_same(linear, log, 1e-11 * scale)


def chain_by_hand(scores, transition, start, end):
    """log Z by the textbook recursion, one token after the other."""
    log_alpha = start + scores[0]
    for row in scores[1:]:
        log_alpha = logsumexp(log_alpha[:, None] + transition, axis=0) + row
    return logsumexp(log_alpha + end)


def hand_scores(chain, w, length):
    ids = {name: k for k, name in enumerate(chain.weight_names())}

    def look_up(name):
        return w[ids[name]] if name in ids else -np.inf

    labels = chain.labels
    scores = np.array([[look_up(f"t={t} : {y}") for y in labels] for t in range(length)])
    transition = np.array([[look_up(f"{a} -> {b}") for b in labels] for a in labels])
    start = np.array([look_up(f"(start) -> {y}") for y in labels])
    end = np.array([look_up(f"{y} -> (end)") for y in labels])
    return scores, transition, start, end


@pytest.mark.parametrize("lag", [0.5, 30.0])
def test_a_state_that_lags_and_then_dominates(lag):
    """y0 cannot be entered again, falls behind y1 by exp(-200 lag), and wins in the end."""
    chain, inputs = positional_chain(2, 400, [("y1", "y0")])
    w = np.zeros(chain.n_weights)
    ids = {name: k for k, name in enumerate(chain.weight_names())}
    for t in range(400):
        w[ids[f"t={t} : y0"]] = -lag if t < 200 else 2.5 * lag
    w[ids["(start) -> y1"]] = 1.0
    shard = chain.encode(inputs, [["y0"] * 400])
    found = everything(chain, w, shard)
    assert_allclose(found["log_z"], chain_by_hand(*hand_scores(chain, w, 400)), rtol=1e-12)
    assert (found["labels"] == 0).sum() == 400
    assert found["marginals"][0, 0] == pytest.approx(1.0, abs=1e-6)


def test_partial_labels_may_close_the_way_back():
    """y1 is left through y2 alone, which the partial labels rule out: y0 lags behind as above."""
    chain, inputs = positional_chain(3, 400, [("y1", "y0")])
    w = np.zeros(chain.n_weights)
    ids = {name: k for k, name in enumerate(chain.weight_names())}
    for t in range(400):
        w[ids[f"t={t} : y0"]] = -5.0 if t < 200 else 12.0
    shard = chain.encode(inputs, [[{"y0", "y1"}] * 400])
    scores, transition, start, end = hand_scores(chain, w, 400)
    expected = chain_by_hand(scores[:, :2], transition[:2, :2], start[:2], end[:2])
    assert_allclose(everything(chain, w, shard, within=True)["log_z"], expected, rtol=1e-12)
    assert is_linear(chain, w, shard)


def test_a_lone_path_beside_very_many():
    """At weights of 0, paths that lead nowhere outnumber the only allowed one by 20 ** 299."""
    labels = ["A", *(f"B{i}" for i in range(20))]
    forbidden = [(b, to) for b in labels[1:] for to in ("A", None)]
    inputs = table([[[("a", 1.0)]] * 300])
    chain = Chain.build(inputs, [["A"] * 300], labels=labels, forbidden=forbidden)
    shard = chain.encode(inputs, [["A"] * 300])
    found = everything(chain, np.zeros(chain.n_weights), shard)
    assert_allclose(found["log_z"], [0.0], atol=1e-12)
    assert_array_equal(found["marginals"][:, 0], 1.0)


def test_ten_thousand_tokens():
    rng = np.random.default_rng(0)
    chain, inputs = positional_chain(3, 10_000, None)
    shard = chain.encode(inputs, [rng.choice(chain.labels, 10_000).tolist()])
    w = rng.normal(size=chain.n_weights)
    assert is_linear(chain, w, shard)
    found = everything(chain, w, shard)
    assert_allclose(found["log_z"], chain_by_hand(*hand_scores(chain, w, 10_000)), rtol=1e-12)
    assert_allclose(found["marginals"].sum(axis=1), 1.0, rtol=1e-10)
    with log_domain():
        assert_same(found, everything(chain, w, shard), 1e-8)
    assert found["best"] == pytest.approx(chain.score(w, shard, found["labels"])[0], rel=1e-12)


@pytest.mark.parametrize("cells", [1, 64])
def test_blocks_do_not_matter(cells):
    y, x = simulate_hmm(60, 5, random_state=0)
    inputs, outputs = hmm_attributes(x), [[str(label) for label in row] for row in y]
    chain = Chain.build(inputs, outputs)
    shard = chain.encode(inputs, outputs, np.random.default_rng(1).uniform(size=60))
    w = np.random.default_rng(0).normal(size=chain.n_weights)
    assert len(list(chain._blocks(shard, Chain._cache_cells))) == 1
    whole = everything(chain, w, shard)
    del whole["variance"]  # that of transitions is a rough one, pooled over a block
    with small_blocks(cells):
        assert len(list(chain._blocks(shard, Chain._cache_cells))) > 1
        assert_same(everything(chain, w, shard), whole, 1e-12)


@pytest.mark.parametrize("n_labels", [7, 8, 9, 16, 17, 33])
def test_many_labels(n_labels):
    """Rows of several runs of lanes, dense attributes and pairs, against the log domain."""
    rng = np.random.default_rng(n_labels)
    labels = [f"y{y:02d}" for y in range(n_labels)]
    attributes = [*(f"a={k}" for k in range(5)), *(f"rare={k}" for k in range(40))]
    lengths = [1, 2, 3, 4, 5, 9, 30]
    sequences = [
        [[(name, 1.5) for name in rng.choice(attributes, 3)] for _ in range(length)] for length in lengths
    ]
    outputs = [rng.choice(labels, length).tolist() for length in lengths]
    chain = Chain.build(table(sequences), outputs, labels=labels)
    shard = chain.encode(table(sequences), outputs, rng.uniform(size=len(lengths)))
    assert shard.rows.pairs.indices.size
    assert shard.rows.dense.indices.size
    w = rng.normal(size=chain.n_weights)
    assert is_linear(chain, w, shard)
    linear = everything(chain, w, shard)
    with log_domain():
        assert_same(everything(chain, w, shard), linear, 1e-11)


@pytest.mark.parametrize("partial", [False, True])
def test_only_some_blocks_need_the_log_domain(partial):
    sequences = [[[("calm", 1.0)], [("calm", -1.0)]], [[("wild", 1.0)], [("wild", -1.0)]]] * 2
    outputs = [[{"A", "B"} if partial else "A", "B"]] * 4
    chain = Chain.build(table(sequences), outputs, labels=["A", "B", "C"], states="all")
    shard = chain.encode(table(sequences), outputs, [0.5, 1.0, 2.0, 3.0])
    w = np.random.default_rng(0).normal(size=chain.n_weights)
    w[["wild" in name for name in chain.weight_names()]] *= 1e3
    assert [is_linear(chain, w, shard.take([s]), partial) for s in range(4)] == [True, False] * 2
    with small_blocks():
        mixed = everything(chain, w, shard, partial)
    with small_blocks(), log_domain():
        assert_same(mixed, everything(chain, w, shard, partial), 1e-11)


def test_weights_in_any_layout():
    sequences, outputs = [[[("a", 1.0)], [("b", 2.0)]]], [["A", "B"]]
    chain = Chain.build(table(sequences), outputs)
    shard = chain.encode(table(sequences), outputs)
    w = np.random.default_rng(0).normal(size=(chain.n_weights, 2)).astype(np.float32)[:, 0]
    plain = np.array(w, np.float64)
    assert_allclose(chain.log_partition(w, shard), chain.log_partition(plain, shard), rtol=1e-6)
    assert_allclose(chain.linearize(w, shard)(w), chain.linearize(plain, shard)(plain), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("circumstance", [nullcontext, log_domain])
def test_variance_of_single_tokens_is_the_hessian_diagonal(circumstance):
    rng = np.random.default_rng(0)
    inputs = table([[[("a", 2.0), ("b", -0.5)]], [[("b", 1.0)]]])
    chain = Chain.build(inputs, [["A"], ["B"]], labels=list("ABC"), states="all", transitions="seen")
    shard = chain.encode(inputs, [["A"], ["B"]], [0.5, 3.0])
    w = rng.normal(size=chain.n_weights)
    with circumstance():
        product, found = chain.linearize(w, shard), chain.variance(w, shard)
    assert_allclose(found, [product(unit) @ unit for unit in np.eye(w.size)], rtol=1e-10, atol=1e-14)


def best_per_cost(scores, transition, start, end, own):
    """The highest score of the labellings with 0, 1, ... wrong tokens, one token after the other."""
    n, n_labels = scores.shape
    table = np.full((n_labels, n + 1), -np.inf)
    table[np.arange(n_labels), (np.arange(n_labels) != own[0]).astype(int)] = start + scores[0]
    for t in range(1, n):
        before, table = table, np.full_like(table, -np.inf)
        for y in range(n_labels):
            best = (before + transition[:, [y]]).max(axis=0) + scores[t, y]
            table[y, int(y != own[t]) :] = best[: n + 1 - int(y != own[t])]
    return (table + end[:, None]).max(axis=0)


@pytest.mark.parametrize("scale", [1.0, 1e3])
@pytest.mark.parametrize("left_to_right", [False, True])
@pytest.mark.parametrize(("n_labels", "length"), [(3, 64), (2, 65), (9, 70)])
def test_rescaled_by_hand(n_labels, length, left_to_right, scale):
    rng = np.random.default_rng(length)
    rules = [(f"y{a}", f"y{b}") for a in range(n_labels) for b in range(a)] if left_to_right else None
    chain, inputs = positional_chain(n_labels, length, rules)
    own = rng.integers(n_labels, size=length)
    own = np.sort(own) if left_to_right else own
    shard = chain.encode(inputs, [[f"y{y}" for y in own]])
    for _ in range(2):
        w = rng.normal(scale=scale, size=chain.n_weights)
        scores = best_per_cost(*hand_scores(chain, w, length), own)
        for rate in (0.0, rng.uniform(0.0, 3.0)):
            expected = [c * (scores[c] - scores[0] + rate) for c in range(1, length + 1)]
            labels, values = chain.best_rescaled(w, shard, np.array([rate]))
            assert_allclose(values, max(0.0, *expected), rtol=1e-10, atol=1e-9)
            cost, margin = chain.cost(shard, labels), chain.score(w, shard, labels) - chain.score(w, shard)
            assert_allclose(cost * (margin + rate), values, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize(("gain", "value"), [(-1.0, 0.0), (1.0, 9.0), (0.0, 0.0)])
def test_costs_that_no_labelling_has(gain, value):
    """All tokens are wrong, or none."""
    inputs, rules = table([[[("a", 1.0)]] * 3]), [("A", "B"), ("B", "A")]
    chain = Chain.build(inputs, [["A"] * 3], labels=["A", "B"], states="all", forbidden=rules)
    w = gain * np.array([name == "a : B" for name in chain.weight_names()], float)
    labels, values = chain.best_rescaled(w, chain.encode(inputs, [["A"] * 3]))
    assert_array_equal(labels, [int(value > 0)] * 3)
    assert_allclose(values, [value])


def bio_chain():
    inputs = table([[[("a", 1.0)], [("b", 1.0)], [("a", 1.0)]]])
    outputs = [["B-x", "I-x", "O"]]
    chain = Chain.build(inputs, outputs, forbidden="bio")
    return chain, chain.encode(inputs, outputs)


def seen_names(sequences, outputs, boundary):
    """Names of all features that occur in a training set, or may under partial labels."""
    names = set()
    for tokens, labels in zip(sequences, outputs, strict=True):
        choices = [sorted(y) if isinstance(y, set) else [y] for y in labels]
        for t, choice in enumerate(choices):
            names |= {f"{name} : {y}" for name, _ in tokens[t] for y in choice}
            names |= {f"{x} -> {y}" for x in (choices[t - 1] if t else []) for y in choice}
    flat = [choice for labels in outputs for choice in labels]
    all_labels = {y for choice in flat for y in ([choice] if isinstance(choice, str) else choice)}
    return names | {edge for y in all_labels if boundary for edge in (f"(start) -> {y}", f"{y} -> (end)")}


@pytest.mark.parametrize("boundary", [True, False])
@pytest.mark.parametrize("outputs", [[["A", "B"], ["B"]], [[{"A", "C"}, "B"], [{"B", "A"}]]])
def test_seen_weights(outputs, boundary):
    sequences = [[[("a", 1.0), ("b", 2.0)], [("a", 1.0), ("a", -1.0)]], [[("c", 1.0)]]]
    chain = Chain.build(table(sequences), outputs, transitions="seen", boundary=boundary)
    assert set(chain.weight_names()) == seen_names(sequences, outputs, boundary)


def test_all_weights():
    inputs, options = table([[[("a", 1.0)], []]], ["a", "b"]), {"labels": ["A", "B"], "states": "all"}
    chain = Chain.build(inputs, [["A", "A"]], forbidden=[("B", "A")], **options)
    expected = ["a : A", "a : B"]  # no token has b
    expected += ["(start) -> A", "(start) -> B", "A -> (end)", "B -> (end)", "A -> A", "A -> B", "B -> B"]
    assert chain.weight_names() == expected


def test_forbidden_transitions_have_no_weights():
    rules = (rule for rule in [("B", "A"), (None, "B")])  # an iterator must do
    chain = Chain.build(table([[[], []]]), [["A", "B"]], forbidden=rules)
    assert "B -> A" not in chain.weight_names()
    assert chain.forbidden == [("B", "A"), (None, "B")]
    shard = chain.encode(table([[[], []]]))
    assert np.exp(chain.log_partition(np.zeros(chain.n_weights), shard)) == pytest.approx(2)  # AA, AB


def test_groups_are_templates_and_transitions():
    names = ["word=a", "word=b", "shape=x=y", *(f"prev:{k}" for k in range(5)), "bias", "the", "12:30"]
    chain = Chain.build(table([[[(name, 1.0) for name in names]] * 2]), [["A", "B"]])
    templates, groups = {"word", "shape", "prev", "transitions"}, chain.groups(1)
    assert set(chain.groups().names) == templates | {"bias", "the", "12"}
    assert set(chain.groups(100).names) == templates | {"other (3 keys)"}
    assert set(chain.groups(0).names) == {"other (6 keys)", "transitions"}
    for name, group in zip(chain.weight_names(), groups.index, strict=True):
        template = "transitions" if "->" in name else name.partition(":")[0]
        assert groups.names[group] == (template if template in ("prev", "transitions") else "other (5 keys)")


def random_part(rng, labels, attributes, **options):
    lengths = rng.integers(1, 5, size=3)
    sequences = draw_sequences(rng, lengths, attributes)
    outputs = [rng.choice(labels, size=n).tolist() for n in lengths]
    return sequences, outputs, Chain.build(table(sequences), outputs, **options)


@pytest.mark.parametrize("seed", range(2))
def test_merge_is_the_chain_of_all_data(seed):
    rng, options = np.random.default_rng(seed), {"transitions": "seen", "boundary": bool(seed % 2)}
    parts = [
        random_part(rng, list("AC"), ["a", "b=1"], **options),
        random_part(rng, list("BC"), ["b=1", "b=2"], **options),
        random_part(rng, list("D"), ["c"], **options),
    ]
    sequences, outputs = parts[0][0] + parts[1][0] + parts[2][0], parts[0][1] + parts[1][1] + parts[2][1]
    inputs = table(sequences)
    merged, whole = Chain.merge([chain for _, _, chain in parts]), Chain.build(inputs, outputs, **options)
    assert sorted(merged.weight_names()) == sorted(whole.weight_names())
    w = dict(zip(whole.weight_names(), rng.normal(size=whole.n_weights), strict=True))
    results = [
        chain.log_partition(np.array([w[name] for name in chain.weight_names()]), chain.encode(inputs))
        for chain in (merged, whole)
    ]
    assert_allclose(results[0], results[1], rtol=1e-12)


def test_a_merged_chain_may_have_all_weights():
    rng, options = np.random.default_rng(0), {"states": "all", "transitions": "all"}
    parts = [
        random_part(rng, labels, [name], forbidden="bio", **options)
        for labels, name in ((["B-x"], "a"), (["O"], "b"))
    ]
    merged = Chain.merge([chain for *_, chain in parts], **options)
    sequences, outputs = parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]
    whole = Chain.build(table(sequences), outputs, forbidden="bio", **options)
    assert sorted(merged.weight_names()) == sorted(whole.weight_names())
    assert {"a : O", "b : B-x", "O -> B-x"} <= set(merged.weight_names())


def test_chains_that_differ_do_not_merge():
    _, _, first = random_part(np.random.default_rng(0), list("AB"), ["a"])
    for options in ({"boundary": False}, {"forbidden": [(None, "B")]}):
        other = Chain.build(table([[[("a", 1.0)]]]), [["A"]], labels=["A", "B"], **options)
        with pytest.raises(DataError, match="cannot be merged"):
            Chain.merge([first, other])


ONE = [[("a", 1.0)]]


@pytest.mark.parametrize(
    ("sequences", "outputs", "options", "message"),
    [
        ([], [], {}, "training set is empty"),
        ([ONE], [["A"]], {"states": "some"}, "states='some': expected 'seen' or 'all'"),
        ([ONE], [["A"]], {"transitions": 1}, "transitions=1"),
    ],
)
def test_build_refuses(sequences, outputs, options, message):
    with pytest.raises(DataError, match=message):
        Chain.build(table(sequences), outputs, **options)


@pytest.mark.parametrize(
    ("sequences", "outputs", "weights", "message"),
    [
        ([ONE, []], None, None, "sequence 1 is empty"),
        ([ONE, ONE * 2], [["O"], ["O", "B-y"]], None, "sequence 1, token 1: unknown label 'B-y'"),
        ([ONE, ONE], [["O"], ["I-x"]], None, "sequence 1, token 0: the label 'I-x' after the start"),
        ([ONE * 2] * 2, [["O", "O"], ["O", {"I-x"}]], None, "sequence 1, token 1: the label 'I-x'"),
        ([ONE], None, [1.0, 1.0], r"weights must have the shape \(1,\), not \(2,\)"),
    ],
)
def test_encode_refuses(sequences, outputs, weights, message):
    chain, _ = bio_chain()
    with pytest.raises(DataError, match=message):
        chain.encode(table(sequences), outputs, weights)


def test_scores_of_unknown_outputs():
    chain, _ = bio_chain()
    w = np.zeros(chain.n_weights)
    for bare in (chain.encode(table([ONE])), chain.encode(table([ONE]), [[None]])):
        with pytest.raises(DataError, match="no complete labels"):
            chain.score(w, bare)
        with pytest.raises(DataError, match="no complete labels"):
            chain.features(bare, w)
        with pytest.raises(DataError, match="no complete labels"):
            chain.best(w, bare, np.ones(1))
        with pytest.raises(DataError, match="no complete labels"):
            chain.best_rescaled(w, bare)


def test_no_sequences():
    chain, _ = bio_chain()
    shard = chain.encode(AttributeTable.from_items([]))
    w, gradient = np.zeros(chain.n_weights), np.zeros(chain.n_weights)
    assert chain.log_partition(w, shard, gradient).size == len(shard) == shard.n_parts == 0
    assert not gradient.any()
    assert not chain.linearize(w, shard)(w).any()
    assert [a.size for a in chain.best(w, shard)] == [0, 0]
    assert [a.size for a in chain.best_rescaled(w, shard)] == [0, 0]
    assert chain.marginals(w, shard).shape == (0, 3)


N, N_LABELS = 20_000, 12
ASKED = {
    "best": lambda structure, w, long: structure.best(w, long),
    "expected": lambda structure, w, long: structure.log_partition(w, long, np.zeros(w.size)),
    "marginals": lambda structure, w, long: structure.marginals(w, long),
    "several": lambda structure, w, long: structure.n_best(w, long, 3),
}


def tokens(n, seed=0):
    return [[f"w={k}"] for k in np.random.default_rng(seed).integers(0, 50, n)]


@pytest.fixture(scope="module", params=["chain", "chain of pairs", "segments"])
def tagger(request):
    options = {"run": Run(max_iterations=2), "n_jobs": 1}
    if request.param == "segments":
        tags = [f"{'I' if i % 7 else 'B'}-{i // 7 % 4}" for i in range(280)]
        return SegmentTagger(**options).fit([tokens(280)], [tags])
    order = 1 if request.param == "chain" else 2
    return SequenceTagger(order=order, **options).fit(
        [tokens(280)], [[str(i % N_LABELS) for i in range(280)]]
    )


@pytest.mark.filterwarnings("ignore:the fit has not converged")
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_tables(tagger, ask, monkeypatch):
    asked = []
    monkeypatch.setattr(shard, "require_memory", lambda needed, *_: asked.append(needed))
    long, _ = tagger._encode([tokens(N), tokens(9)])
    ask(tagger._structure, tagger.coef_, long)
    taken = peak_of(lambda: ask(tagger._structure, tagger.coef_, long))
    assert 0.7 * taken < max(asked) < 1.3 * taken, (max(asked) / 1e6, taken / 1e6)


@pytest.mark.filterwarnings("ignore:the fit has not converged")
def test_a_sentence_that_is_too_long(tagger, monkeypatch):
    for module in (memory, shard):
        monkeypatch.setattr(module, "_SMALL", 0)
    monkeypatch.setattr(chain, "_FEW", 0)  # tokens of few attributes need less than what is always there
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    refused = "a sequence of 300 tokens and its tables of .* labels need .* shorter sequences or fewer labels"
    for predict in (tagger.predict, tagger.predict_marginals, tagger.predict_nbest):
        with pytest.raises(DataError, match=refused):
            predict([tokens(5), tokens(300)])
    with pytest.raises(DataError, match="tokens and its tables of"):
        tagger.fit([tokens(300)], [["B-1"] * 300])
