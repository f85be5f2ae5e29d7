"""Sequences, and what is known of their structures, laid out as a shard; and shards from files checked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.rna.formats.strands import STRANDS
from structune.rna.kernels.loops import ABSENT, LOOP
from structune.rna.structure.constraints import Constraints, PairScores, as_constraints
from structune.rna.structure.shard import RNAShard
from structune.rna.structure.space import Space, check_nested, offences, parse_sequences, parse_structure
from structune.rna.structure.strands import check_strands, nick_of
from structune.structure import (
    Array,
    IntArray,
    check_finite,
    check_offsets,
    check_range,
    check_weights,
    offsets_of,
)

Output = str | Constraints
_NOTHING = PairScores(np.empty((0, 2)), np.empty((0, 2), np.int64), np.empty(0))


def encode(
    inputs: Sequence[str],
    outputs: Sequence[Output] | None,
    weights: Any,
    constraints: Sequence[Output | None] | None,
    space: Space,
) -> RNAShard:
    """As `RNA.encode`."""
    for what, given in (("structures", outputs), ("constraints", constraints)):
        if given is not None and len(given) != len(inputs):
            raise DataError(f"found {len(given)} {what} for {len(inputs)} sequences")
    letters = parse_sequences(inputs)
    for s, codes in enumerate(letters):
        if STRANDS in inputs[s]:
            _check_strands(s, codes, space)
    partners, whole = [np.empty(0, np.int64)], np.ones(len(letters), bool)
    known = list[Output | None](constraints or [None] * len(letters))
    for s, output in enumerate(outputs or ()):
        if isinstance(output, Constraints):
            if known[s] is not None:
                raise DataError(f"sequence {s}: found constraints and evidence, expected at most one of them")
            known[s], whole[s] = output, False
            partners.append(np.full(letters[s].size, -1, np.int64))
            continue
        partner = parse_structure(s, output, letters[s])
        _check_space(s, letters[s], partner, space)
        partners.append(partner)
    scores, forced = _pair_scores(letters, known, space)
    return RNAShard(
        check_weights(weights, len(letters)),
        _offsets(letters),
        np.concatenate([np.empty(0, np.int8), *letters]),
        np.concatenate(partners),
        whole,
        _offsets([given.bases for given in scores]),
        np.concatenate([_NOTHING.bases, *(given.bases for given in scores)]),
        _offsets([given.pairs for given in scores]),
        np.concatenate([_NOTHING.pairs, *(given.pairs for given in scores)]),
        np.concatenate([_NOTHING.values, *(given.values for given in scores)]),
        forced,
        np.arange(len(letters)),
    )


def check_shard(shard: RNAShard, space: Space) -> None:
    """As `RNA.check_shard`."""
    n, n_bases, n_pairs = len(shard), shard.letters.size, shard.pair_values.size
    check_offsets(shard.offsets, n, n_bases)
    check_range("letters", shard.letters, np.int8, (n_bases,), 0, ABSENT + 1)
    check_range("partners", shard.partners, np.int64, (n_bases,), -1, n_bases)
    check_range("whole", shard.whole, np.bool_, (n,), 0, 2)
    _check_evidence(shard, n, n_pairs)
    check_range("numbers", shard.numbers, np.int64, (n,), 0, np.iinfo(np.int64).max)
    for s, (a, b) in enumerate(pairwise(shard.offsets.tolist())):
        check_strands(shard.letters[a:b])
        _check_strands(s, shard.letters[a:b], space)
        check_nested(s, shard.partners[a:b])
        _check_space(s, shard.letters[a:b], shard.partners[a:b], space)


def _check_evidence(shard: RNAShard, n: int, n_pairs: int) -> None:
    """Scores of pairs: those of examples to learn from are evidence, and other examples have none."""
    sizes = np.where(shard.whole, 0, shard.sizes())
    check_finite("forced scores", shard.forced, (n,))
    if shard.forced[shard.whole].any():
        raise DataError("found forced scores of sequences with a structure")
    check_offsets(shard.base_offsets, n, int(sizes.sum()))
    if not np.array_equal(shard.base_offsets, offsets_of(sizes)):
        raise DataError("found scores of pairs that are not those of the sequences without a structure")
    check_offsets(shard.pair_offsets, n, n_pairs)
    check_range("pairs", shard.pairs, np.int64, (n_pairs, 2), 0, max(1, shard.letters.size))
    of = np.repeat(np.arange(n), np.diff(shard.pair_offsets))
    if np.any(shard.whole[of]) or np.any(shard.pairs[:, 0] >= shard.pairs[:, 1]):
        raise DataError("found pairs that are not those of two bases of a sequence without a structure")
    if np.any(shard.pairs[:, 1] >= shard.sizes()[of]):
        raise DataError("found pairs beyond the end of their sequence")
    for what, scores, shape in (
        ("scores of bases", shard.base_scores, (int(sizes.sum()), 2)),
        ("scores of pairs", shard.pair_values, (n_pairs,)),
    ):
        finite = scores.copy()
        finite[scores == -np.inf] = 0.0
        check_finite(what, finite, shape)


def _check_strands(s: int, letters: Array, space: Space) -> None:
    """Refuse two strands where a model does not have them."""
    if nick_of(letters) == letters.size:
        return
    limits = {
        "circular": space.circular,
        f"max_span={space.max_span}": space.max_span is not None,
        f"min_hairpin={space.min_hairpin}": space.min_hairpin >= LOOP,
    }
    for limit in filter(limits.get, limits):
        raise DataError(f"sequence {s}: found two strands, expected one with {limit}")


def _check_space(s: int, letters: Array, partner: IntArray, space: Space) -> None:
    for i, j, reason, _ in offences(letters, partner, space):
        raise DataError(f"sequence {s}, bases {i} and {j} (from 0): found {reason}")


def _pair_scores(
    letters: Sequence[Array], known: Sequence[Output | None], space: Space
) -> tuple[list[PairScores], Array]:
    """Scores of pairs that what is known of each sequence gives, and that of all that must be."""
    scores, forced = [_NOTHING] * len(letters), np.zeros(len(letters))
    for s, constraint in enumerate(known):
        try:
            if (given := as_constraints(constraint)) is not None:
                scores[s], forced[s] = given.scores(letters[s]), given.forced
                given.check(letters[s], space)
        except DataError as error:
            raise DataError(f"sequence {s}: {error}") from None
    return scores, forced


def _offsets(parts: Sequence[Array]) -> IntArray:
    return offsets_of(np.array([len(part) for part in parts], dtype=np.int64))
