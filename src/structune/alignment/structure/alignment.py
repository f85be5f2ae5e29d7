"""Alignments of two protein sequences: a log-linear pair model, in which lengths of gaps have weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.alignment.kernels import short
from structune.alignment.kernels.sums import Factors
from structune.alignment.structure import inference
from structune.alignment.structure.alphabets import LETTERS, PROTEIN, warn_of_nucleotides
from structune.alignment.structure.features import FeatureSet, SequenceFeatures, uses_of
from structune.alignment.structure.inference import Bonus, Decoded, Model, Pair, map_factors
from structune.alignment.structure.matrices import matrix_weights, read_matrix
from structune.alignment.structure.proteins import MOST, Protein, ProteinPair, annotation, as_protein
from structune.alignment.structure.rows import (
    AlignedPair,
    check_rising,
    check_space,
    checked_band,
    parse_alignment,
)
from structune.errors import DataError
from structune.structure import (
    Array,
    FloatArray,
    Groups,
    IntArray,
    SequenceShard,
    Structure,
    check_finite,
    check_offsets,
    check_range,
    check_weights,
    offsets_of,
    take_segments,
)

_WORK = 200  # cells that cost as much as a part of a chain
_SHORT = 60  # residues: of longer pairs the work is most of it


@dataclass(frozen=True)
class AlignmentShard(SequenceShard):
    """Encoded pairs; sequences that are in several pairs are held once. Parts are the residues of x."""

    sequences: IntArray  # (n_pairs, 2): which two each pair has, x and y
    starts: IntArray  # (n_pairs + 1,): parts of pair p are ``starts[p]:starts[p + 1]``
    offsets: IntArray  # (n_sequences + 1,): residues of sequence s are ``offsets[s]:offsets[s + 1]``
    letters: NDArray[np.int8]  # (n_residues,): places in `alphabets.LETTERS`
    annotation: FloatArray  # (n_residues, n_columns), as `proteins.annotation` gives it
    # (n_parts,): the residue of y, counted within it, that each of x is matched with, -1 for none; and which
    # matches are known to be right. Both are empty without alignments.
    partners: IntArray
    scored: NDArray[np.bool_]
    whole: NDArray[np.bool_]  # (n_pairs,): whether all is known, and not the scored matches alone

    @property
    def lengths(self) -> IntArray:
        """Residues of x and of y, shape (n_pairs, 2)."""
        return np.diff(self.offsets)[self.sequences]

    @property
    def bounds(self) -> IntArray:
        """Parts are the residues of x."""
        return self.starts

    def work(self) -> IntArray:
        return np.asarray(1 + self.lengths.prod(axis=1) // _WORK)

    @property
    def is_partly_known(self) -> bool:
        return not self.whole.all()

    def take(self, indices: Any) -> AlignmentShard:
        chosen = self._chosen(indices)
        # sequences that no pair has any more are left out, and the others get new numbers
        used, sequences = np.unique(self.sequences[chosen], return_inverse=True)
        offsets, residues = take_segments(self.offsets, used)
        starts, parts = take_segments(self.starts, chosen)
        known = parts if self.partners.size else slice(0)
        return AlignmentShard(
            self.weights[chosen],
            sequences.reshape(-1, 2),
            starts,
            offsets,
            self.letters[residues],
            self.annotation[residues],
            self.partners[known],
            self.scored[known],
            self.whole[chosen],
        )


class Alignment(Structure):
    """The structured model of global alignments of two proteins (Do, Gross & Batzoglou 2006).

    An alignment is a set of matched residues. Residues between two neighboring matches are gaps, first in x
    and then in y, so that each alignment is scored once. Both sequences share their weights. If gaps in both
    are adjacent, the gap in x counts as the first one.

    Parameters
    ----------
    features, overhangs, band, alphabet
        As in `SequenceAligner`. With "full", each gap length up to four has its own weight. Overhangs of
        "both" allow the ends of local alignments, "one" those of semi-global ones. For nucleotides, each
        residue around a match is its own class, and none is hydrophilic.
    profile : int
        Number of profile columns of each sequence; weights belong to products of the columns of two matched
        residues.
    secondary : bool
        Whether each sequence has a secondary structure; weights belong to matches of two states, and to the
        states of residues in gaps.
    """

    name = "alignment"
    capabilities = frozenset(("log_partition", "hessian", "complex", "within", "best", "cost", "equivalent"))
    decoding_is_costly = True

    def __init__(
        self,
        features: str = "full",
        overhangs: str = "both",
        profile: int = 0,
        secondary: bool = False,
        band: int | None = None,
        alphabet: str = "protein",
    ) -> None:
        self.feature_set = FeatureSet(features, overhangs, profile, secondary, alphabet)
        self.band = checked_band(band)

    @classmethod
    def for_pairs(
        cls, inputs: Sequence[ProteinPair], features: str, overhangs: str, band: int | None, alphabet: str
    ) -> Alignment:
        """A model with weights for the profile and secondary structure of the first sequence, if any."""
        first, _ = _proteins(inputs[0], 0)
        return cls(features, overhangs, first.n_columns, first.secondary is not None, band, alphabet)

    def with_band(self, band: int | None) -> Alignment:
        """Return the same model with another band."""
        other = copy(self)
        other.band = checked_band(band)
        return other

    @property
    def n_weights(self) -> int:
        return self.feature_set.n_weights

    def weight_names(self) -> list[str]:
        return list(self.feature_set.names)

    def groups(self) -> Groups:
        return Groups.by_name(self.feature_set.groups)

    def guess(self) -> FloatArray:
        """Return initial weights: those of a substitution matrix with affine gaps, shape (n_weights,)."""
        alphabet = self.feature_set.alphabet
        matrix = read_matrix("BLOSUM62" if alphabet is PROTEIN else "NUC.4.4", alphabet)
        return matrix_weights(self.feature_set, matrix)

    # --- encoding -----------------------------------------------------------------------------------------

    def encode(
        self,
        inputs: Sequence[ProteinPair],
        outputs: Sequence[tuple[str, str]] | None = None,
        weights: Any = None,
    ) -> AlignmentShard:
        """Encode pairs of sequences, and optionally their alignments, as a shard (see `SequenceAligner.fit`).

        Raises
        ------
        DataError
            A pair has a character that is not a residue, rows that differ in length or residues, an
            alignment beyond the band, or annotation that is wrong or does not fit the model. The message
            gives the index of the pair.
        """
        if outputs is not None and len(outputs) != len(inputs):
            raise DataError(
                f"there are {len(outputs):,} alignments, but {len(inputs):,} pairs. Give one per pair."
            )
        pairs = [_proteins(pair, p) for p, pair in enumerate(inputs)]
        numbers: dict[Protein, int] = {}  # sequences that are in several pairs are held once
        parsed, sequences = [], np.empty((len(pairs), 2), np.int64)
        for p, pair in enumerate(pairs):
            for side, protein in enumerate(pair):
                if protein not in numbers:
                    numbers[protein] = len(numbers)
                    parsed.append(self._parsed(protein, f"pair {p}, {'xy'[side]}"))
                sequences[p, side] = numbers[protein]
        warn_of_nucleotides(self.feature_set.alphabet, {x.residues for pair in pairs for x in pair})
        found = [
            parse_alignment(_two(rows, p), (x.residues, y.residues), f"pair {p}")
            for p, (rows, (x, y)) in enumerate(zip(outputs or (), pairs, strict=outputs is not None))
        ]
        for p, alignment in enumerate(found):
            check_space(alignment, len(pairs[p][1].residues), p, self.feature_set.overhangs, self.band)
        sizes = np.array([letters.size for letters, _ in parsed], dtype=np.int64)
        return AlignmentShard(
            check_weights(weights, len(inputs)),
            sequences,
            offsets_of(sizes[sequences[:, 0]]),
            offsets_of(sizes),
            np.concatenate([np.empty(0, np.int8), *(letters for letters, _ in parsed)]),
            np.concatenate([np.empty((0, self.feature_set.n_annotations)), *(each for _, each in parsed)]),
            np.concatenate([np.empty(0, np.int64), *(a.partner for a in found)]),
            np.concatenate([np.empty(0, bool), *(a.scored for a in found)]),
            np.array([a.whole for a in found] or [True] * len(inputs), dtype=bool),
        )

    def check_shard(self, shard: AlignmentShard) -> None:
        n, n_residues, n_sequences = len(shard), shard.letters.size, shard.offsets.size - 1
        check_offsets(shard.offsets, n_sequences, n_residues)
        check_range("letters", shard.letters, np.int8, (n_residues,), 0, len(LETTERS))
        check_finite("annotation", shard.annotation, (n_residues, self.feature_set.n_annotations), MOST)
        check_range("sequences", shard.sequences, np.int64, (n, 2), 0, n_sequences)
        n_parts = int(shard.lengths[:, 0].sum())
        check_offsets(shard.starts, n, n_parts)
        if not np.array_equal(shard.sizes(), shard.lengths[:, 0]):
            raise DataError("the numbers of parts differ from the lengths of the first sequences")
        check_range("partners", shard.partners, np.int64, (n_parts,), -1, n_residues)
        check_range("scored matches", shard.scored, bool, (n_parts,), 0, 2)
        check_range("whole alignments", shard.whole, bool, (n,), 0, 2)
        lengths = shard.lengths[:, 1].tolist()
        for p, ((a, b), m) in enumerate(zip(pairwise(shard.starts.tolist()), lengths, strict=True)):
            alignment = AlignedPair(shard.partners[a:b], shard.scored[a:b], bool(shard.whole[p]))
            check_rising(alignment, m, p)
            check_space(alignment, m, p, self.feature_set.overhangs, self.band)

    def _parsed(self, protein: Protein, name: str) -> tuple[Array, FloatArray]:
        """The letters of a sequence, and its annotation; errors begin with its name."""
        features = self.feature_set
        letters = features.alphabet.parse(protein.residues, name)
        return letters, annotation(protein, features.profile, features.secondary, name)

    # --- features -----------------------------------------------------------------------------------------

    def describe(self, protein: Protein, name: str) -> SequenceFeatures:
        """Return the features of one sequence; error messages begin with `name`."""
        letters, annotated = self._parsed(protein, name)
        return self.feature_set.describe_all(letters, annotated, np.array([0, len(letters)]))[0]

    def _described(self, shard: AlignmentShard) -> list[SequenceFeatures]:
        return self.feature_set.describe_all(shard.letters, shard.annotation, shard.offsets)

    def _alignments(self, shard: AlignmentShard, outputs: IntArray | None) -> Iterator[IntArray]:
        partners = shard.partners if outputs is None else np.asarray(outputs)
        if partners.size != shard.n_parts:
            raise DataError("the shard has no alignments")
        return (partners[a:b] for a, b in pairwise(shard.starts.tolist()))

    def feature_rows(self, shard: AlignmentShard, outputs: IntArray | None = None) -> scipy.sparse.csr_array:
        described, rows = self._described(shard), np.zeros((len(shard), self.n_weights))
        for row, (x, y), partner in zip(
            rows, shard.sequences.tolist(), self._alignments(shard, outputs), strict=True
        ):
            uses = uses_of(self.feature_set, described[x], described[y], partner)
            self.feature_set.gather(uses, described[x], described[y], row, 1.0)
        return scipy.sparse.csr_array(rows)

    # --- inference ----------------------------------------------------------------------------------------

    def _pairs(
        self,
        w: Array,
        shard: AlignmentShard,
        within: bool = False,
        forced: bool = False,
        cost: FloatArray | None = None,
        keep: bool | None = None,
    ) -> Iterator[tuple[int, Pair]]:
        """Pairs, by number, with their scores, each while its tables fit into memory beside others'.

        If `within`, those of which all is known are left out. Then, and if `forced`, the scored matches must
        be. What `cost` adds to all alignments of a pair is in its `base`. `keep` is that of `memory_of`.
        """
        if cost is not None:
            self._alignments(shard, None)
        described, model = self._described(shard), Model(self.feature_set, w)
        for p, (x, y) in enumerate(shard.sequences.tolist()):
            if within and shard.whole[p]:
                continue
            n, m = len(described[x]), len(described[y])
            needed = self.memory_of(n, m, keep)
            with inference.held_for(needed, n, m, f"pair {p}"):
                both = model.scored(described[x]), model.scored(described[y])
                known = _known_matches(shard, p) if within or forced else None
                bonus = None if cost is None else _match_costs(shard, p, float(cost[p]))
                pair = Pair(model, *both, known, self.band, bonus)
                if cost is not None and bonus is not None:
                    pair.base += float(cost[p])
                yield p, pair

    def memory_of(self, n: int, m: int, keep: bool | None = False) -> float:
        """Return the bytes needed to align sequences of n and m residues.

        `keep` is True if all match probabilities are stored, False if only alignments are found, and None if
        uses of gaps are counted or the highest-scoring alignment is found.
        """
        return inference.memory_of(n, m, self.band, self.feature_set.n_steps, keep)

    def _log_partition(
        self, w: Array, shard: AlignmentShard, expected: Array | None, weights: FloatArray, within: bool
    ) -> Array:
        log_z = np.empty(len(shard), w.dtype)
        if within and shard.whole.any():
            self._own_scores(w, shard, log_z, expected, weights)
        for p, pair in self._pairs(w, shard, within):
            # gradients of the log-partition are expected features, E[F] = d log Z / d w
            if expected is None:
                log_z[p] = inference.log_partition(pair)
            else:
                log_z[p], uses = inference.expected(pair)
                pair.features.gather(uses, pair.x, pair.y, expected, weights[p])
        return log_z

    def variance(self, w: FloatArray, shard: AlignmentShard) -> FloatArray:
        """Return approximate variances of the features, as if their uses were rare and independent (Poisson).

        Profile features are not counts; for them the result is only a scale.
        """
        sums = np.zeros(self.n_weights)
        self.log_partition(w, shard, sums)
        return np.maximum(sums, 0.0)

    def posterior(self, w: FloatArray, shard: AlignmentShard, p: int) -> FloatArray:
        """Return the probability of each match of pair p (0-based), shape (n, m)."""
        return next(inference.posterior(pair) for _, pair in self._pairs(w, shard.take([p]), keep=True))

    # --- decoding -----------------------------------------------------------------------------------------

    def best(
        self, w: FloatArray, shard: AlignmentShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the highest-scoring alignments (Viterbi), and their scores, shape (n_pairs,).

        An alignment is the partner of each residue of x: a 0-based index in y, or -1; shape (n_parts,).
        With `cost`, shape (n_pairs,), this multiple of the cost of an alignment is added to its score.
        """
        return _best_of(self._pairs(w, shard, cost=cost))

    def best_equivalent(self, w: FloatArray, shard: AlignmentShard) -> tuple[IntArray, FloatArray]:
        """Return the highest-scoring alignments that have all known matches, and their scores.

        Partners of the residues of x have shape (n_parts,), scores (n_pairs,). The shard's alignments define
        the known matches.
        """
        self._alignments(shard, None)
        return _best_of(self._pairs(w, shard, forced=True))

    def best_accuracy(self, w: FloatArray, shard: AlignmentShard, gamma: float = np.inf) -> IntArray:
        """Return the alignments of maximum expected accuracy, as partners of the residues of x (see `best`).

        `gamma` is the value of a correct match, relative to two residues correctly left unmatched. With
        infinity, only matches count.
        """
        partners, left = self._best_accuracy_of_short(w, shard, gamma)
        for p, (_, pair) in zip(left.tolist(), self._pairs(w, shard.take(left), keep=False), strict=True):
            partners[shard.starts[p] : shard.starts[p + 1]] = inference.most_accurate(pair, gamma)
        return partners

    def _best_accuracy_of_short(
        self, w: FloatArray, shard: AlignmentShard, gamma: float
    ) -> tuple[IntArray, IntArray]:
        """The same for short pairs, in a single call; and the indices of the remaining pairs.

        The remaining ones are long, have a band, or sums that leave the range of a double unless tilted.
        """
        partners, left = np.full(shard.n_parts, -1, np.int64), np.arange(len(shard))
        is_short = np.all(shard.lengths <= _SHORT, axis=1)
        if self.band is not None or not is_short.any():
            return partners, left
        some, features = shard.take(np.flatnonzero(is_short)), self.feature_set
        # sequences are described once, however many pairs they are in; then one call does all pairs
        described = features.describe_joined(some.letters, some.annotation, some.offsets)
        model = Model(features, w)
        scored = model.scored(described, some.offsets)
        if scored.most > inference.MOST_SCORE:
            return partners, left
        found, is_known = np.empty(some.n_parts, np.int64), np.empty(len(some), bool)
        factors = map_factors(np.exp, Factors(scored.side, scored.side, model.steps, model.both))
        sequences = some.sequences, some.offsets, scored.left, scored.right.T, factors
        limits = float(gamma), inference.MOST_SCORE, inference.LOST
        short.align(*sequences, limits, some.starts, found, is_known)
        partners[np.repeat(is_short, shard.lengths[:, 0])] = found
        is_left = ~is_short
        is_left[is_short] = ~is_known
        return partners, np.flatnonzero(is_left)

    def decode(
        self, w: FloatArray, shard: AlignmentShard, gamma: float | None = None, keep: bool = False
    ) -> list[Decoded]:
        """Return the alignments of `best_accuracy`, or of `best` if `gamma` is None, and match probabilities.

        With `keep`, the result has the probabilities of all matches of two residues, too.
        """
        return [inference.decode(pair, gamma, keep) for _, pair in self._pairs(w, shard, keep=keep)]

    def cost(self, shard: AlignmentShard, outputs: IntArray) -> FloatArray:
        """Return 1 - recall of the scored matches of each pair, shape (n_pairs,); 0 if none is scored."""
        costs = np.zeros(len(shard))
        pairs = zip(self._alignments(shard, None), self._alignments(shard, outputs), strict=True)
        for p, (own, found) in enumerate(pairs):
            i = _known_matches(shard, p)[0]
            costs[p] = np.mean(own[i] != found[i]) if i.size else 0.0
        return costs


def _best_of(pairs: Iterator[tuple[int, Pair]]) -> tuple[IntArray, FloatArray]:
    found = [inference.best(pair) for _, pair in pairs]
    partners = np.concatenate([np.empty(0, np.int64), *(partner for partner, _ in found)])
    return partners, np.array([score for _, score in found])


def _known_matches(shard: AlignmentShard, p: int) -> tuple[IntArray, IntArray]:
    a, b = shard.starts[p : p + 2]
    i = np.flatnonzero(shard.scored[a:b])
    return i, shard.partners[a:b][i]


def _match_costs(shard: AlignmentShard, p: int, cost: float) -> Bonus | None:
    """What right matches save if `cost` times the share of missed ones is added; None if none is scored."""
    known, (n, m) = _known_matches(shard, p), shard.lengths[p].tolist()
    size = known[0].size
    if not size:
        return None
    # cost (1 - right / size) = cost - sum over right matches of cost / size; the constant goes to `base`
    table = scipy.sparse.csr_array((np.full(size, -cost / size), known), shape=(n, m))
    return lambda rows, columns: table[rows][:, columns].toarray()


def _two(pair: Any, p: int, types: tuple[type, ...] = (str,)) -> tuple[Any, Any]:
    is_pair = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
    if not (is_pair and all(isinstance(row, types) for row in pair)):
        what = "the pair must be two strings or Proteins"
        what = what if Protein in types else "the rows of the alignment must be two strings"
        raise DataError(f"pair {p}: {what}, not {pair!r:.60}")
    return tuple(pair)


def _proteins(pair: Any, p: int) -> tuple[Protein, Protein]:
    x, y = _two(pair, p, (str, Protein))
    return as_protein(x), as_protein(y)
