"""Small random semi-Markov chains, with all their segmentations scored from the raw inputs by the definition.

A token is a list of (name, value); a segmentation is a list of (label, start, stop).
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from chains import table
from laws import Problem
from structune.tagging.features.segments import SegmentReader
from structune.tagging.structure.semi_markov import SemiMarkovChain

SHAPES = {"the": "x", "a": "x", "York": "Xx", "NY": "X", "7": "d"}
GAZETTEERS = {"city": ["York", "the York", "NY 7"], "none": ["nowhere"]}
BUCKETS = {1: "1", 2: "2", 3: "3", 4: "4", 5: "5", 6: "6-7", 7: "6-7"}


def own_features(words, start, stop):
    """What a user might say of segments: of their neighbours, too."""
    before = words[start - 1] if start else "^"
    return [f"before={before}", *(["long"] if stop - start > 1 else [])]


def segmentations(labels, longest, length, start=0):
    """All lists of (label, start, stop) of a sequence."""
    if start == length:
        return [[]]
    return [
        [(label, start, start + n), *rest]
        for label, most in zip(labels, longest, strict=True)
        for n in range(1, min(most, length - start) + 1)
        for rest in segmentations(labels, longest, length, start + n)
    ]


def bio(segments):
    """The labels of all tokens."""
    labels = []
    for label, start, stop in segments:
        labels += ["O"] if label == "O" else [f"B-{label}", *[f"I-{label}"] * (stop - start - 1)]
    return labels


def words_of(tokens):
    return [next((name[2:] for name, _ in token if name.startswith("w=")), "") for token in tokens]


def feature_counts(tokens, segments, own):
    """Features of one segmentation, by name."""
    counts, words = Counter(), words_of(tokens)
    for token, tag in zip(tokens, bio(segments), strict=True):
        for name, value in token:
            counts[f"{name} : {tag}"] += value
    for label, start, stop in segments:
        if label != "O":
            here = words[start:stop]
            names = [f"last={here[-1]}", f"text={' '.join(here)}", f"length={BUCKETS[stop - start]}"]
            names.append(f"shape={' '.join(SHAPES.get(word, '') for word in here)}")
            names += [f"gazetteer={g}" for g, entries in GAZETTEERS.items() if " ".join(here) in entries]
            names += own_features(words, start, stop) if own else []
            counts.update(f"segment.{name} : {label}" for name in names)
    labels = [label for label, _, _ in segments]
    counts[f"(start) -> {labels[0]}"] += 1
    counts[f"{labels[-1]} -> (end)"] += 1
    counts.update(f"{a} -> {b}" for a, b in pairwise(labels))
    return counts


def feature_vector(ids, tokens, segments, own):
    row = np.zeros(len(ids))
    for name, count in feature_counts(tokens, segments, own).items():
        if name in ids:
            row[ids[name]] += count
    return row


def problem_of(chain, sequences, outputs, w, weights=None):
    """The problem of raw sequences and their segmentations, or none."""
    ids = {name: k for k, name in enumerate(chain.weight_names())}
    tags = {tag: k for k, tag in enumerate(chain.tags)}
    own = chain.reader.function is not None
    labels = None if outputs is None else [bio(each) for each in outputs]
    shard = chain.encode(table(sequences), labels, weights)
    every = [segmentations(chain.labels, chain.longest.tolist(), len(tokens)) for tokens in sequences]
    features = [
        np.array([feature_vector(ids, tokens, each, own) for each in options])
        for tokens, options in zip(sequences, every, strict=True)
    ]
    arrays = [[np.array([tags[tag] for tag in bio(each)]) for each in options] for options in every]
    if outputs is None:
        return Problem(chain, shard, w, arrays, features)
    chosen = [options.index(each) for options, each in zip(every, outputs, strict=True)]
    costs = [
        np.array([float((each != rows[k]).sum()) for each in rows])
        for rows, k in zip(arrays, chosen, strict=True)
    ]
    return Problem(chain, shard, w, arrays, features, own=chosen, costs=costs)


def draw_sequences(rng, lengths, real):
    return [[draw_token(rng, real) for _ in range(n)] for n in lengths]


def draw_token(rng, real):
    """A word, perhaps, and other attributes, some twice."""
    words = [f"w={rng.choice(list(SHAPES))}"] if rng.random() < 0.9 else []
    names = rng.choice(["pos=N", "pos=V", "bias", "new"], size=rng.integers(0, 4)).tolist()
    values = np.round(rng.normal(size=len(names)), 2).tolist() if real else [1.0] * len(names)
    return [*((word, 1.0) for word in words), *zip(names, values, strict=True)]


def draw_segments(rng, labels, longest, length):
    options = segmentations(labels, longest, length)
    return options[rng.integers(len(options))]


@st.composite
def segment_problems(draw, scale=2.0, labels=(("O",), ("x",), ("O", "x"), ("O", "x", "y"))):
    """Chains of all kinds, over shards with or without outputs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels, real = draw(st.sampled_from(labels)), draw(st.booleans())
    most = draw(st.sampled_from([1, 2, 4]))
    longest = [1 if label == "O" else most for label in labels]
    train = draw_sequences(rng, rng.integers(1, 5, size=4), real)
    outputs = [draw_segments(rng, labels, longest, len(tokens)) for tokens in train]
    inputs = table(train)
    own = own_features if draw(st.booleans()) else None
    has_words = any(name.startswith("w=") for name in inputs.names)
    chain = SemiMarkovChain.build(
        inputs,
        [bio(each) for each in outputs],
        max_length=draw(st.sampled_from([None, most, most + 1])),
        boundary=draw(st.booleans()),
        reader=SegmentReader.of(inputs.names, None, GAZETTEERS, own) if has_words else None,
    )
    sequences = draw_sequences(rng, draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)), real)
    known = [draw_segments(rng, chain.labels, chain.longest.tolist(), len(tokens)) for tokens in sequences]
    weights = rng.uniform(0.0, 2.0, len(sequences)) if draw(st.booleans()) else None
    w = rng.normal(scale=scale, size=chain.n_weights)
    return problem_of(chain, sequences, known if draw(st.booleans()) else None, w, weights)
