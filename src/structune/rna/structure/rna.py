"""RNA secondary structures without pseudoknots, scored by CONTRAfold's features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from structune.errors import DataError
from structune.rna.structure.constraints import FORCED
from structune.rna.structure.counts import with_costs
from structune.rna.structure.decoding import (
    Gain,
    Viterbi,
    accuracy,
    centroid,
    gamma_centroid,
    samples,
)
from structune.rna.structure.features import TABLES
from structune.rna.structure.inference import (
    ScaledInference,
    grammar_model,
    rows,
)
from structune.rna.structure.potentials import Scores
from structune.rna.structure.shard import RNAShard
from structune.rna.structure.short import fold_short, is_short
from structune.rna.structure.strands import nick_of, places
from structune.rna.structure.sums import (
    OF_BEST,
    OF_SAMPLES,
    OF_SEVERAL,
    OF_WINDOWS,
    Inference,
    RNASums,
    check_forced,
    check_required,
    letters_of,
)
from structune.running.batches import batches
from structune.structure import (
    Array,
    FloatArray,
    IntArray,
    offsets_of,
    take_segments,
)

_AT_ONCE = 20_000  # bases of short sequences in one call of a kernel, which Ctrl-C waits for


class RNA(RNASums):
    """Nested pairs of bases, as in CONTRAfold (Do, Woods & Batzoglou 2006).

    Parameters
    ----------
    min_hairpin : int
        Fewest unpaired bases in a hairpin.
    noncanonical : bool
        Whether any two of ACGU may pair; by default AU, CG and GU only.
    max_span : int, optional
        How far the bases of a pair may be apart, j - i: time and memory then grow with the length only.
    circular : bool
        Whether the last base is followed by the first.
    initiation : float
        Of two strands: what is added to the scores of structures that join them.
    features : {"contrafold", "extended"}
        CONTRAfold's 708 weights, in 15 groups; or these and mismatches by the kind of loop, hairpins of three
        and four bases by their letters, stacks by their neighbours, larger internal loops by their sides, and
        the spans of pairs.
    """

    def best(
        self, w: FloatArray, shard: RNAShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Viterbi: the partners of all bases, shape (n_bases,), and scores, shape (n_sequences,)."""
        if cost is not None and self.initiation and shard.has_strands:
            raise DataError(
                f"found two strands and initiation={self.initiation:g} beside costs, expected initiation=0"
            )
        partners, values = np.empty(shard.n_parts, np.int64), np.empty(len(shard))
        shard = shard.free() if cost is None else shard
        most, scores = np.zeros(len(shard)), Scores(self._cells(w), self._allowed)

        def fold(s: int) -> None:
            reach = self._reach(shard, s)
            extra = shard.pair_scores(s, reach)
            if cost is not None:
                truth = self._structures(shard, None)[shard.offsets[s] : shard.offsets[s + 1]]
                extra, most[s] = with_costs(extra, truth, reach, float(cost[s]))
            viterbi = self._viterbi(scores, shard, s, extra)
            partners[shard.offsets[s] : shard.offsets[s + 1]], values[s] = viterbi.best(), viterbi.score

        for s in range(len(shard)):
            self._where_it_fits(shard, s, OF_BEST, fold)
        return partners, values + most - shard.forced

    def _viterbi(self, scores: Scores, shard: RNAShard, s: int, extra: FloatArray) -> Viterbi:
        viterbi = Viterbi(scores, letters_of(shard, s), self._space, extra)
        check_forced(shard, s, viterbi.score)
        return viterbi

    def n_best(
        self, w: FloatArray, shard: RNAShard, n: int, within: float = np.inf
    ) -> list[tuple[Array, FloatArray]]:
        """For each sequence up to `n` structures, falling: partners, shape (n, n_bases), and scores.

        None that scores more than `within` below the best.
        """
        shard, scores = shard.free(), Scores(self._cells(w), self._allowed)

        def fold(s: int) -> tuple[Array, FloatArray]:
            viterbi = self._viterbi(scores, shard, s, shard.pair_scores(s, self._reach(shard, s)))
            most_loss = viterbi.score - shard.forced[s] + FORCED / 2 if shard.forced[s] else np.inf
            partners, values = viterbi.n_best(n, min(most_loss, within))
            return partners, values - shard.forced[s]

        return [self._where_it_fits(shard, s, OF_SEVERAL, fold) for s in range(len(shard))]

    def cost(self, shard: RNAShard, outputs: IntArray) -> FloatArray:
        """1 - recall: the share of the paired bases that are unpaired, or paired elsewhere, in `outputs`."""
        truth = self._structures(shard, None)
        sequence = np.repeat(np.arange(len(shard)), shard.sizes())
        paired = np.bincount(sequence[truth >= 0], minlength=len(shard))
        missed = np.bincount(sequence[(truth >= 0) & (truth != outputs)], minlength=len(shard))
        return np.asarray(missed / np.maximum(paired, 1))

    def best_mea(
        self,
        w: FloatArray,
        shard: RNAShard,
        gammas: Sequence[float],
        lonely: bool = True,
        decoding: str = "mea",
    ) -> list[IntArray]:
        """Structures of maximum expected accuracy, or gamma-centroids: partners of all bases, for each gamma.

        Parameters
        ----------
        gammas : sequence of float
            How much a right pair counts beside two right unpaired bases, or beside a wrong pair: more
            predicts more pairs.
        lonely : bool
            Whether there may be pairs that are stacked on no other.
        decoding : {"mea", "centroid"}
        """
        gain = accuracy if decoding == "mea" else gamma_centroid
        return list(self._best_sums(w, shard, [gain(gamma) for gamma in gammas], lonely))

    def best_centroid(self, w: FloatArray, shard: RNAShard, threshold: float = 0.5) -> IntArray:
        """Structures that maximise the sum of p - threshold over their pairs: the partners of all bases."""
        return np.asarray(self._best_sums(w, shard, [centroid(threshold)])[0])

    def _best_sums(self, w: FloatArray, shard: RNAShard, gains: list[Gain], lonely: bool = True) -> IntArray:
        """The partners of all bases of the structures that gain most, a row for each way to gain."""
        found: IntArray = np.empty((len(gains), shard.n_parts), np.int64)
        shard = shard.free()
        rest = self._fold_short(w, shard, gains, lonely, found)

        def decode(k: int, pairs: FloatArray) -> None:
            s = int(rest[k])
            a, b = shard.offsets[s : s + 2].tolist()
            required = shard.known(s).required if shard.forced[s] else None
            for partners, gain in zip(found, gains, strict=True):
                partners[a:b] = gain.best(pairs, b - a, self._space.reach(b - a), lonely, required)
                check_required(shard, s, required, partners[a:b], lonely)

        if rest.size:
            self._of_pairs(w, shard.take(rest), decode)
        return found

    def _fold_short(
        self, w: FloatArray, shard: RNAShard, gains: list[Gain], lonely: bool, found: IntArray
    ) -> IntArray:
        """Fill in the partners in short sequences; which sequences are left."""
        is_left, sizes = np.ones(len(shard), bool), shard.sizes()
        potentials, short = self._potentials(w), is_short(shard, self._space)
        for run in batches(np.flatnonzero(short).tolist(), sizes.__getitem__, _AT_ONCE, len(shard)):
            some = np.array(run)
            partners, is_known = fold_short(potentials, shard.take(some), self._space, gains, lonely)
            found[:, take_segments(shard.offsets, some)[1]] = partners
            is_left[some] = ~is_known
        return np.flatnonzero(is_left)

    def sample(self, w: FloatArray, shard: RNAShard, n: int, rng: np.random.Generator) -> IntArray:
        """Structures drawn by their probabilities: the partners of all bases, shape (n, n_bases)."""
        scores, shard = Scores(self._cells(w), self._allowed), shard.free()

        def draw(s: int, inference: Inference) -> IntArray:
            letters = letters_of(shard, s)
            model = grammar_model(scores, letters, self._space, shard.pair_scores(s, inference.reach))
            return samples(inference, model, n, rng)

        found = self._of_each(w, shard, draw, n_tables=OF_SAMPLES)
        return np.concatenate(found, axis=1) if found else np.empty((n, 0), np.int64)

    def dimer_probabilities(self, w: FloatArray, shard: RNAShard) -> FloatArray:
        """Of sequences of two strands, how probably a pair joins these; shape (n_sequences,).

        Raises
        ------
        DataError
            One strand.
        """
        found = np.empty(len(shard))
        for s, (a, b) in enumerate(pairwise(shard.offsets.tolist())):
            if nick_of(shard.letters[a:b]) == b - a:
                raise DataError(f"sequence {shard.numbers[s]}: found one strand, expected two, 'A&B'")
            _, counts = self._inside_outside(w, shard.take([s]), np.ones(1))
            found[s] = counts[TABLES["strands"]][0]
        return np.clip(found, 0.0, 1.0)

    def unpaired_windows(self, w: FloatArray, shard: RNAShard, sequence: int, size: int) -> FloatArray:
        """Probability that the bases i..i + size - 1 are all unpaired, for each i.

        Raises
        ------
        DataError
            Some must be paired; two strands.
        CapabilityError
            A circle, or weights that are so large that sums have to be in the log domain.
        """
        letters = shard.take([sequence]).letters
        if self.circular:
            raise self._cannot("windows of unpaired bases of a circle")
        if nick_of(letters) < letters.size:
            raise DataError(
                f"sequence {shard.numbers[sequence]}: found two strands, which windows are not for"
            )
        if size > shard.sizes()[sequence]:
            return np.empty(0)
        if shard.forced[sequence]:
            raise DataError(
                f"sequence {shard.numbers[sequence]}: found bases that must pair, which windows are not for"
            )

        def windows(_: int, inference: Inference) -> Array:
            if isinstance(inference, ScaledInference):
                return inference.unpaired_windows(size)
            return np.array(np.nan)

        (found,) = self._of_each(w, shard.take([sequence]), windows, n_tables=OF_WINDOWS)
        if not np.all(np.isfinite(found)):
            raise self._cannot("windows of unpaired bases with weights as large as these")
        return np.asarray(found)

    def pair_probabilities(self, w: FloatArray, shard: RNAShard, sequence: int) -> Any:
        """Probability of every pair, shape (n, n), upper triangle; a sparse array if spans have a limit.

        Bases of two strands are counted through.
        """
        part = shard.take([sequence])
        (table,) = self._of_pairs(w, part, lambda _, flat: self._square(flat, part))
        return table

    def _square(self, flat: FloatArray, part: RNAShard) -> Any:
        """A table of pairs of one sequence, shape (n, n), upper triangle, sparse if spans have a limit."""
        n, bases = part.n_parts, places(part.letters)
        found = [*rows(flat, n, self._reach(part, 0))]
        if self.max_span is None:
            table = np.zeros((bases.size, bases.size))
            for i, k in enumerate(bases):
                table[i, i:] = found[k][bases[i:] - k]
            return table
        offsets = offsets_of(np.array([row.size for row in found], np.int64))
        columns = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - np.arange(n), np.diff(offsets))
        pairs = scipy.sparse.csr_array((flat[: columns.size], columns, offsets), shape=(n, n))
        pairs.eliminate_zeros()
        return pairs
