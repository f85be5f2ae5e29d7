"""Small random chains, with all their labellings scored from the raw inputs by the definition alone."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, contextmanager
from itertools import pairwise, product
from unittest import mock

import numpy as np
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from laws import Problem
from structune import SequenceTagger
from structune.tagging.features.attributes import AttributeTable
from structune.tagging.structure import chain, second_order, shard
from structune.tagging.structure.chain import Chain, LogPosterior

SCHEMES = {"bio": ["B-x", "B-y", "I-x", "I-y", "O"], "bioes": ["B-x", "E-x", "I-x", "O", "S-x"]}
RULES = {"free": None, "bio": "bio", "list": [("O", "O"), (None, "I-x"), ("B-x", None)]}
ATTRIBUTES = ["word=a", "word=b", "shape=a", "bias", "rare=z"]


class Poisoned:
    """NumPy whose fresh memory holds nan: reading what was never written shows."""

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype=float):
        return np.full(shape, np.nan if np.issubdtype(dtype, np.inexact) else 0, dtype)

    def empty_like(self, like):
        return self.empty(like.shape, like.dtype)


@contextmanager
def poisoned_memory():
    with ExitStack() as stack:
        for user in (shard, chain, second_order):
            stack.enter_context(mock.patch.object(user, "np", Poisoned()))
        yield


def log_domain():
    return mock.patch.object(Chain, "_safe_range", 0.0)


def is_linear(chain, w, shard, within=False):
    """Whether the sums over a shard in one block are taken in the linear domain."""
    found = chain._posterior(chain._under(w, shard, shard.weights, within), slice(0, len(shard)))
    return not isinstance(found, LogPosterior)


def small_blocks(cells=1):
    return mock.patch.multiple(Chain, _cache_cells=cells, _block_cells=cells)


def everything(chain, w, shard, within=False):
    """What the chain says of a shard, by name."""
    gradient = np.zeros_like(w)
    log_z = chain.log_partition(w, shard, gradient, within=within)
    v = np.random.default_rng(1).normal(size=w.size)
    values = {"log_z": log_z, "gradient": gradient, "hessian": chain.linearize(w, shard, within)(v)}
    if not within:
        values |= {"marginals": chain.marginals(w, shard), "variance": chain.variance(w, shard)}
        values["labels"], values["best"] = chain.best(w, shard)
    return values


def assert_same(found, expected, tolerance):
    for name, values in expected.items():
        assert_allclose(found[name], values, rtol=tolerance, atol=tolerance, err_msg=name)


def table(sequences, names=None):
    """The attribute table of sequences of tokens, lists of (name, value); duplicates as they come."""
    tokens = [token for sequence in sequences for token in sequence]
    entries = [entry for token in tokens for entry in token]
    names = list(dict.fromkeys(name for name, _ in entries)) if names is None else names
    values = np.array([value for _, value in entries], dtype=float)
    return AttributeTable(
        np.array([len(sequence) for sequence in sequences], dtype=np.int64),
        np.concatenate(([0], np.cumsum([len(token) for token in tokens]))).astype(np.int64),
        np.array([names.index(name) for name, _ in entries], dtype=np.int32),
        None if (values == 1.0).all() else values,
        names,
    )


def draw_sequences(rng, lengths, attributes, real=True, most=4):
    """Tokens with up to `most` attributes, some twice, some none."""
    return [[draw_token(rng, attributes, real, most) for _ in range(n)] for n in lengths]


def draw_token(rng, attributes, real, most):
    names = rng.choice(attributes, size=rng.integers(0, most + 1))
    values = np.round(rng.normal(size=names.size), 2) if real else np.ones(names.size)
    return list(zip(names.tolist(), values.tolist(), strict=True))


def is_allowed(labels, forbidden):
    """Whether a whole label sequence keeps the rules, read off the sequence and not off transitions."""
    if forbidden is None:
        return True
    if forbidden == "bio":
        return all(y[0] != "I" or (t and labels[t - 1] in ("B" + y[1:], y)) for t, y in enumerate(labels))
    if forbidden == "bioes":
        return closes_segments(labels)
    rules = {tuple(rule) for rule in forbidden}
    return not rules & set(pairwise((None, *labels, None)))


def closes_segments(labels):
    is_open = None
    for prefix, kind in ((y[0], y[2:]) for y in labels):
        if is_open is None:
            if prefix in "IE":
                return False
        elif prefix not in "IE" or kind != is_open:
            return False
        if prefix != "I":
            is_open = {"B": kind}.get(prefix)
    return is_open is None


def labellings(labels, length, forbidden):
    return [ys for ys in product(labels, repeat=length) if is_allowed(ys, forbidden)]


def feature_counts(tokens, labels, boundary=True):
    """F(x, y) by name, of all features that could have a weight."""
    counts = Counter()
    for token, label in zip(tokens, labels, strict=True):
        for name, value in token:
            counts[f"{name} : {label}"] += value
    if boundary:
        counts[f"(start) -> {labels[0]}"] += 1
        counts[f"{labels[-1]} -> (end)"] += 1
    counts.update(f"{a} -> {b}" for a, b in pairwise(labels))
    around = ["(start)", *labels, "(end)"]
    counts.update(" -> ".join(around[t : t + 3]) for t in range(len(labels)))
    return counts


def feature_vector(weight_ids, tokens, labels):
    row = np.zeros(len(weight_ids))
    for name, count in feature_counts(tokens, labels).items():
        if name in weight_ids:
            row[weight_ids[name]] += count
    return row


def agrees(labels, partial):
    return all(
        p is None or (y in p if isinstance(p, set) else y == p) for y, p in zip(labels, partial, strict=True)
    )


def chain_problem(chain, sequences, outputs, w, weights=None):
    """The problem of raw sequences and their (complete, partial or absent) labels."""
    ids = {name: k for k, name in enumerate(chain.weight_names())}
    label_ids = {label: y for y, label in enumerate(chain.labels)}
    shard = chain.encode(table(sequences), outputs, weights)
    every = [labellings(chain.labels, len(tokens), chain.forbidden) for tokens in sequences]
    features = [
        np.array([feature_vector(ids, tokens, ys) for ys in options])
        for tokens, options in zip(sequences, every, strict=True)
    ]
    arrays = [[np.array([label_ids[y] for y in ys]) for ys in options] for options in every]
    problem = Problem(chain, shard, np.asarray(w, float), arrays, features)
    if outputs is None:
        return problem
    if shard.is_partly_known:
        agree = [
            np.array([agrees(ys, p) for ys in options]) for options, p in zip(every, outputs, strict=True)
        ]
        return Problem(chain, shard, problem.w, arrays, features, agree=agree)
    own = [options.index(tuple(y)) for options, y in zip(every, outputs, strict=True)]
    costs = [
        np.array([float(sum(a != b for a, b in zip(ys, y, strict=True))) for ys in options])
        for options, y in zip(every, outputs, strict=True)
    ]
    return Problem(chain, shard, problem.w, arrays, features, own=own, costs=costs)


def draw_rules(rng, labels):
    """A random list of forbidden transitions, starts and ends, under which every length has a labelling."""
    ends = [None, *labels]
    moves = [(a, b) for a in ends for b in ends if a is not b]
    moves += [(y, y) for y in labels]
    rules = [move for move in moves if rng.random() < 0.3]
    keep = rng.choice(labels)  # a label that may stay, start and end
    return [rule for rule in rules if rule not in ((keep, keep), (None, keep), (keep, None))]


def draw_labels(rng, labels, length, forbidden):
    options = labellings(labels, length, forbidden)
    return list(options[rng.integers(len(options))])


def blur(rng, outputs, labels):
    """Partial labels that the outputs agree with."""

    def one(label):
        kind = rng.integers(4)
        if kind == 0:
            return None
        return label if kind == 1 else {label, *rng.choice(labels, size=rng.integers(0, 3)).tolist()}

    return [[one(label) for label in y] for y in outputs]


@st.composite
def chain_problems(draw, scale=2.0, partial=None, of=Chain):
    """Chains of all kinds, over shards with complete, partial or no labels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["free", "rules", "bio", "bioes"]))
    if kind in SCHEMES:
        labels, most, forbidden = SCHEMES[kind], 3, kind
    else:
        n_labels, most = draw(st.sampled_from([(1, 5), (2, 5), (3, 4), (7, 3)]))
        labels = list("ABCDEFG"[:n_labels])
        forbidden = draw_rules(rng, labels) if kind == "rules" else None
    real = draw(st.booleans())
    chain = draw_chain(draw, rng, labels, most, forbidden, real, of)
    lengths = draw(st.lists(st.integers(1, most), min_size=1, max_size=3))
    sequences = draw_sequences(rng, lengths, [*ATTRIBUTES, "word=unseen", "new"], real)
    outputs = [draw_labels(rng, chain.labels, n, forbidden) for n in lengths]
    given = draw(st.sampled_from(["complete", "partial", "none"])) if partial is None else "partial"
    if given == "partial":
        outputs = blur(rng, outputs, chain.labels)
        outputs[0][0] = None  # one token at least
    weights = rng.uniform(0.0, 2.0, len(lengths)) if draw(st.booleans()) else None
    w = rng.normal(scale=scale, size=chain.n_weights)
    return chain_problem(chain, sequences, None if given == "none" else outputs, w, weights)


def draw_chain(draw, rng, labels, most, forbidden, real, of=Chain):
    lengths = rng.integers(1, most + 1, size=3)
    sequences = draw_sequences(rng, lengths, ATTRIBUTES, real)
    outputs = [draw_labels(rng, labels, n, forbidden) for n in lengths]
    if draw(st.booleans()):
        outputs = blur(rng, outputs, labels)
    return of.build(
        table(sequences),
        outputs,
        states=draw(st.sampled_from(["seen", "all"])),
        transitions=draw(st.sampled_from(["seen", "all"])),
        boundary=draw(st.booleans()),
        forbidden=forbidden,
        labels=labels,
    )


def random_tagger(seed, order=1, forbidden=None, **parameters):
    """A tagger of BIO labels with random weights, and sequences, the first with an unknown attribute."""
    rng = np.random.default_rng(seed)
    X = [[{f"w={rng.integers(4)}": float(rng.normal()), "b": 1.0} for _ in range(n)] for n in (3, 4, 1, 2)]
    y = [["O", "B-x", "I-x"], ["B-x", "I-x", "O", "B-x"], ["O"], ["B-x", "I-x"]]
    tagger = SequenceTagger(penalty=1.0, order=order, **parameters).fit(X, y)
    tagger.coef_ = rng.normal(scale=2.0, size=tagger.coef_.size)
    X[0][0]["new"] = 3.0
    return tagger.set_params(forbidden=forbidden), X


def score_of(tagger, tokens, labels):
    """The score of labels, by the features of the structure."""
    shard = tagger._encode([tokens])[0]
    return tagger.chain_.score(tagger.coef_, shard, [tagger.classes_.index(label) for label in labels])[0]
