"""Encoded RNA sequences, with or without what is known of their structures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.rna.formats.brackets import STRANDS
from structune.rna.kernels.loops import ABSENT, LOOP
from structune.rna.structure.constraints import Constraints, PairScores, as_constraints
from structune.rna.structure.space import (
    Space,
    check_absent,
    check_nested,
    offences,
    parse_sequences,
    parse_structure,
)
from structune.structure import (
    Array,
    FloatArray,
    IntArray,
    SequenceShard,
    check_finite,
    check_offsets,
    check_range,
    check_weights,
    offsets_of,
    take_segments,
)


@dataclass(frozen=True)
class RNAShard(SequenceShard):
    """Encoded sequences, and what is known of their structures.

    Scores of pairs beside their own, as `PairScores` has them, are those of sequence s at
    ``base_offsets[s]:base_offsets[s + 1]`` and ``pair_offsets[s]:pair_offsets[s + 1]``; none for sequences
    without constraints or evidence.
    """

    offsets: IntArray  # bases of sequence s are offsets[s]:offsets[s + 1]
    letters: NDArray[np.int8]  # 0-3 for ACGU, 4 for any other base, 5 for the places between two strands
    # The base, counted within its sequence, that each is paired with; -1 for none, and where the structure is
    # not known. Empty without outputs.
    partners: IntArray
    whole: NDArray[np.bool_]  # whether the structure is known; else the scores of pairs are evidence of it
    base_offsets: IntArray
    base_scores: FloatArray  # shape (n, 2)
    pair_offsets: IntArray
    pairs: IntArray  # shape (m, 2)
    pair_values: FloatArray
    forced: FloatArray  # of a sequence, the part of these scores that every structure gets: what must be
    numbers: IntArray  # places of the sequences in the input, by which errors call them

    def known(self, s: int) -> PairScores:
        """What is known of sequence s, as scores of pairs beside their own."""
        bases = slice(self.base_offsets[s], self.base_offsets[s + 1])
        pairs = slice(self.pair_offsets[s], self.pair_offsets[s + 1])
        return PairScores(self.base_scores[bases], self.pairs[pairs], self.pair_values[pairs])

    def letters_of(self, s: int) -> Array:
        return self.letters[self.offsets[s] : self.offsets[s + 1]]

    def free(self) -> RNAShard:
        """The same without evidence."""
        if not self.is_partly_known:
            return self
        # Scores of the sequences whose structures are known, which are constraints, stay; evidence goes.
        base_sizes, pair_sizes = np.diff(self.base_offsets), np.diff(self.pair_offsets)
        bases, pairs = np.repeat(self.whole, base_sizes), np.repeat(self.whole, pair_sizes)
        return replace(
            self.bound(),
            base_offsets=offsets_of(base_sizes * self.whole),
            base_scores=self.base_scores[bases],
            pair_offsets=offsets_of(pair_sizes * self.whole),
            pairs=self.pairs[pairs],
            pair_values=self.pair_values[pairs],
            forced=self.forced * self.whole,
        )

    def bound(self) -> RNAShard:
        """The same with evidence as constraints: structures without it do not count."""
        return replace(self, whole=np.ones_like(self.whole))

    @property
    def has_strands(self) -> bool:
        """Whether there are sequences of two strands."""
        return bool(np.any(self.letters == ABSENT))

    @property
    def bounds(self) -> IntArray:
        """Where the bases of each sequence begin, and the end of the last one."""
        return self.offsets

    @property
    def is_partly_known(self) -> bool:
        return not self.whole.all()

    def work(self) -> IntArray:
        sizes = self.sizes()
        # The cost of a sequence grows with the square of its length, for loops are bounded: measured in parts
        # of a chain, as all shards are.
        return sizes * (1 + sizes // 5)  # loops are looked for around every pair

    def take(self, indices: Any) -> RNAShard:
        chosen = self._chosen(indices)
        if np.array_equal(chosen, np.arange(len(self))):
            return self  # as for predictions that come one by one: copies cost more than a short sequence
        offsets, bases = take_segments(self.offsets, chosen)
        base_offsets, scored = take_segments(self.base_offsets, chosen)
        pair_offsets, pairs = take_segments(self.pair_offsets, chosen)
        return RNAShard(
            self.weights[chosen],
            offsets,
            self.letters[bases],
            self.partners[bases] if self.partners.size else self.partners,
            self.whole[chosen],
            base_offsets,
            self.base_scores[scored],
            pair_offsets,
            self.pairs[pairs],
            self.pair_values[pairs],
            self.forced[chosen],
            self.numbers[chosen],
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
            raise DataError(f"there are {len(given):,} {what}, but {len(inputs):,} sequences")
    letters = parse_sequences(inputs)
    for s, codes in enumerate(letters):
        if STRANDS in inputs[s]:
            _check_strands(s, codes, space)
    partners, whole = [np.empty(0, np.int64)], np.ones(len(letters), bool)
    known = list[Output | None](constraints or [None] * len(letters))
    for s, output in enumerate(outputs or ()):
        if isinstance(output, Constraints):
            if known[s] is not None:
                raise DataError(f"sequence {s}: constraints cannot be combined with a partly known structure")
            known[s], whole[s] = output, False
            partners.append(np.full(letters[s].size, -1, np.int64))
            continue
        partner = parse_structure(s, output, letters[s])
        _check_space(s, letters[s], partner, space)
        partners.append(partner)
    base_sizes, pair_sizes = np.zeros((2, len(letters)), np.int64)
    forced, scores = np.zeros(len(letters)), [_NOTHING]
    for s, constraint in enumerate(known):
        try:
            if (limits := as_constraints(constraint)) is None:
                continue
            scores.append(limits.scores(letters[s]))
            limits.check(letters[s], space)
        except DataError as error:
            raise DataError(f"sequence {s}: {error}") from None
        base_sizes[s], pair_sizes[s] = len(scores[-1].bases), len(scores[-1].pairs)
        forced[s] = limits.forced
    base_scores, pairs, pair_values = map(np.concatenate, zip(*scores, strict=True))
    return RNAShard(
        check_weights(weights, len(letters)),
        offsets_of(np.array([codes.size for codes in letters], np.int64)),
        np.concatenate([np.empty(0, np.int8), *letters]),
        np.concatenate(partners),
        whole,
        offsets_of(base_sizes),
        base_scores,
        offsets_of(pair_sizes),
        pairs,
        pair_values,
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
    # scores of pairs: those of examples to learn from are evidence, and other examples have none
    sizes = np.where(shard.whole, 0, shard.sizes())
    check_finite("forced scores", shard.forced, (n,))
    if shard.forced[shard.whole].any():
        raise DataError("sequences with a structure have forced scores")
    check_offsets(shard.base_offsets, n, int(sizes.sum()))
    if not np.array_equal(shard.base_offsets, offsets_of(sizes)):
        raise DataError("scores of bases do not match the sequences without a structure")
    check_offsets(shard.pair_offsets, n, n_pairs)
    check_range("pairs", shard.pairs, np.int64, (n_pairs, 2), 0, max(1, shard.letters.size))
    of = np.repeat(np.arange(n), np.diff(shard.pair_offsets))
    if np.any(shard.whole[of]) or np.any(shard.pairs[:, 0] >= shard.pairs[:, 1]):
        raise DataError("scored pairs are not pairs of two bases of a sequence without a structure")
    if np.any(shard.pairs[:, 1] >= shard.sizes()[of]):
        raise DataError("scored pairs lie beyond the end of their sequence")
    for what, scores, shape in (
        ("scores of bases", shard.base_scores, (int(sizes.sum()), 2)),
        ("scores of pairs", shard.pair_values, (n_pairs,)),
    ):
        finite = scores.copy()
        finite[scores == -np.inf] = 0.0
        check_finite(what, finite, shape)
    check_range("numbers", shard.numbers, np.int64, (n,), 0, np.iinfo(np.int64).max)
    for s, (a, b) in enumerate(pairwise(shard.offsets.tolist())):
        check_absent(shard.letters[a:b])
        _check_strands(s, shard.letters[a:b], space)
        check_nested(s, shard.partners[a:b])
        _check_space(s, shard.letters[a:b], shard.partners[a:b], space)


def _check_strands(s: int, letters: Array, space: Space) -> None:
    """Refuse two strands where a model does not have them."""
    limits = (
        (space.circular, "circular=True"),
        (space.max_span is not None, f"max_span={space.max_span}"),
        (space.min_hairpin >= LOOP, f"min_hairpin={space.min_hairpin}"),
    )
    for is_set, limit in limits:
        if is_set and ABSENT in letters:
            raise DataError(f"sequence {s}: two strands cannot be combined with {limit}")


def _check_space(s: int, letters: Array, partner: IntArray, space: Space) -> None:
    for i, j, reason, _ in offences(letters, partner, space):
        raise DataError(f"sequence {s}, bases {i} and {j} (from 0): {reason}")
