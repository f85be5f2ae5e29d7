"""RNA secondary structures without pseudoknots, scored by CONTRAfold's features."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, Self, TypeVar

import numpy as np
import scipy

from structune.errors import DataError
from structune.files.text import some_of
from structune.kernels.vectors import all_lanes
from structune.rna.defaults import INITIATION
from structune.rna.kernels import short as kernel
from structune.rna.kernels.loops import ABSENT, loop_cells
from structune.rna.structure.constraints import FORCED
from structune.rna.structure.decoding import (
    Gain,
    accuracy,
    add_to_pairs,
    best_scores,
    centroid,
    gamma_centroid,
    n_best,
    samples,
)
from structune.rna.structure.features import (
    CANONICAL,
    LETTERS,
    N_CELLS,
    STARTS,
    TABLES,
    Potentials,
    feature_set,
    group_of,
    with_ends,
)
from structune.rna.structure.inference import (
    LEAST,
    MOST_SCORE,
    SPAN,
    Counts,
    LogInference,
    ScaledInference,
    infer,
)
from structune.rna.structure.shard import Output, RNAShard, check_shard, encode
from structune.rna.structure.space import (
    Offence,
    Space,
    n_cells,
    nick_of,
    offences,
    parse_sequence,
    parse_structure,
    rows_of,
)
from structune.rna.structure.tiles import cells_of_rows
from structune.running.memory import batches, held_memory
from structune.structure import Array, FloatArray, Groups, IntArray, Structure, offsets_of, segment_indices

Inference = ScaledInference | LogInference
R = TypeVar("R")
# tables of pairs at a time: sums with counts, or without; best structures; with logs of sums, or copies
OF_SUMS, OF_PAIRS, OF_BEST, OF_SEVERAL, OF_SAMPLES, OF_WINDOWS = 4.0, 3.5, 3.0, 5.0, 6.0, 6.0
_MOST_BASES = 1 << 31  # kernels add it to positions, and do not look for overflows
_SHORT = 100  # bases: of longer sequences the work is most of it
_AT_ONCE = 20_000  # bases of short sequences in one call of a kernel, which Ctrl-C waits for


class RNA(Structure):
    """Model of RNA secondary structures as nested base pairs (CONTRAfold; Do, Woods & Batzoglou 2006).

    Parameters
    ----------
    min_hairpin : int
        Smallest number of unpaired bases in a hairpin.
    noncanonical : bool
        Whether any two of ACGU may pair; by default AU, CG and GU only.
    max_span : int, optional
        Largest distance j - i of two paired bases. Time and memory then grow linearly with the length.
    circular : bool
        Whether the last base is followed by the first.
    initiation : float
        Score that is added to structures that join two strands.
    features : {"contrafold", "extended"}
        "contrafold": the 708 weights of CONTRAfold, in 15 groups. "extended": these, and weights of
        mismatches by type of loop, of hairpins of three and four bases by their letters, of stacks by their
        neighboring pairs, of larger internal loops by their two sizes, and of the spans of pairs.
    """

    name = "rna"
    capabilities = frozenset({"log_partition", "hessian", "complex", "within", "best", "cost"})
    decoding_is_costly = True

    def __init__(
        self,
        min_hairpin: int = 3,
        noncanonical: bool = False,
        features: str = "contrafold",
        max_span: int | None = None,
        circular: bool = False,
        initiation: float = INITIATION,
    ) -> None:
        if not (isinstance(min_hairpin, int | np.integer) and 0 <= min_hairpin <= _MOST_BASES):
            raise DataError(f"min_hairpin={min_hairpin!r}: expected a whole number from 0 to {_MOST_BASES}")
        is_number = isinstance(max_span, int | np.integer) and not isinstance(max_span, bool)
        if max_span is not None and not (is_number and max_span >= 0):
            raise DataError(f"max_span={max_span!r}: expected a whole number >= 0, or None")
        is_real = isinstance(initiation, Real) and not isinstance(initiation, bool)
        if not (is_real and math.isfinite(initiation)):
            raise DataError(f"initiation={initiation!r}: expected a finite number")
        self.min_hairpin, self.noncanonical = int(min_hairpin), bool(noncanonical)
        self.max_span = None if max_span is None else min(int(max_span), _MOST_BASES)
        self.circular, self.initiation = bool(circular), float(initiation)
        self.feature_set = features
        self._features = feature_set(features)
        self._allowed = np.full((4, 4), noncanonical)
        for pair in CANONICAL:
            self._allowed[LETTERS.index(pair[0]), LETTERS.index(pair[1])] = True
        if circular and max_span is not None:
            raise DataError(f"max_span={max_span} cannot be combined with circular=True")
        self._space = Space(self._allowed, self.min_hairpin, self.max_span, self.circular)
        self._kept: tuple[Array, Potentials] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": None}

    def like(self, max_span: int | None, circular: bool, initiation: float) -> Self:
        """Return a model of the same features with these settings; `self` if it already has them."""
        if (self.max_span, self.circular, self.initiation) == (max_span, circular, initiation):
            return self
        return type(self)(
            self.min_hairpin, self.noncanonical, self.feature_set, max_span, circular, initiation
        )

    def _cells(self, w: Array) -> Array:
        """Scores of the table cells: what weights give, and the constant of two strands."""
        cells = self._features.cells(w)
        # A constant, not a weight: no training structure could tell it (docs/decisions/032).
        cells[TABLES["strands"]] += self.initiation
        return cells

    def _potentials(self, w: Array) -> Potentials:
        """The tables of weights; those of the last ones are kept, for predictions that come one by one."""
        # Tables of six letters a place are large: making them takes longer than to fold a short sequence.
        kept = self._kept
        if kept is None or kept[0].dtype != w.dtype or not np.array_equal(kept[0], w):
            kept = self._kept = w.copy(), Potentials(self._cells(w), self._allowed)
        return kept[1]

    @property
    def n_weights(self) -> int:
        return len(self._features.names)

    def weight_names(self) -> list[str]:
        return list(self._features.names)

    def weights_from(self, parameters: Mapping[str, float]) -> FloatArray:
        """Convert named parameters, as from `structune.rna.read_contrafold`, to a vector of weights.

        Raises
        ------
        DataError
            A parameter is missing or unknown.
        """
        missing = [name for name in self._features.names if name not in parameters]
        unknown = sorted(set(parameters) - set(self._features.names))
        if missing or unknown:
            told = [
                f"{what} parameters: {some_of(names, 3)}"
                for what, names in (("unknown", unknown), ("missing", missing))
                if names
            ]
            raise DataError(f"{'; '.join(told)} (of {self.n_weights}, features={self.feature_set!r})")
        return np.array([float(parameters[name]) for name in self._features.names])

    def groups(self) -> Groups:
        return Groups.by_name([group_of(name) for name in self._features.names])

    # --- encoding -----------------------------------------------------------------------------------------

    def encode(
        self,
        inputs: Sequence[str],
        outputs: Sequence[Output] | None = None,
        weights: Any = None,
        constraints: Sequence[Output | None] | None = None,
    ) -> RNAShard:
        """Encode sequences, and their structures, as a shard.

        Parameters
        ----------
        inputs : sequence of str
            Sequences; ``&`` separates two strands.
        outputs : sequence, optional
            Structures in dot-bracket notation or, where they are only partly known, `Constraints`.
        weights : array-like, shape (n_sequences,), optional
            Weight of each sequence; by default 1.
        constraints : sequence, optional
            For each sequence `Constraints`, their notation as str, or None.

        Raises
        ------
        DataError
            A character is not a base, brackets do not match, a structure and its sequence differ in length,
            or the model cannot produce the structure. The message names the sequence.
        """
        return encode(inputs, outputs, weights, constraints, self._space)

    def check_shard(self, shard: RNAShard) -> None:
        check_shard(shard, self._space)

    def offences(self, sequence: str, structure: str) -> list[Offence]:
        """List the pairs of a structure that the model cannot produce, and why; inner pairs first."""
        letters = parse_sequence(0, sequence)
        partner = parse_structure(0, structure, letters)
        return offences(letters, partner, self._space)

    # --- features -----------------------------------------------------------------------------------------

    def _structures(self, shard: RNAShard, outputs: IntArray | None) -> IntArray:
        if outputs is None and shard.is_partly_known:
            raise DataError("some structures are only partly known; this needs complete structures")
        partners = shard.partners if outputs is None else np.asarray(outputs)
        if partners.size != shard.n_parts:
            raise DataError("the shard has no structures; encode the sequences together with structures")
        return partners

    def features(
        self,
        shard: RNAShard,
        out: FloatArray,
        weights: FloatArray | None = None,
        outputs: IntArray | None = None,
    ) -> None:
        weights = shard.weights if weights is None else weights
        out += self._features.matrix.T @ (self._count_cells(shard, outputs).T @ weights)

    def feature_rows(self, shard: RNAShard, outputs: IntArray | None = None) -> scipy.sparse.csr_array:
        return scipy.sparse.csr_array(self._count_cells(shard, outputs) @ self._features.matrix)

    def score(self, w: Array, shard: RNAShard, outputs: IntArray | None = None) -> Array:
        return np.asarray(self._count_cells(shard, outputs) @ self._cells(w))

    def constants(self, shard: RNAShard) -> FloatArray | float:
        if not (self.initiation and shard.has_strands):
            return 0.0
        joined = self._count_cells(shard, None)[:, [TABLES["strands"].start]].toarray()
        return np.asarray(self.initiation * joined.ravel())

    def _count_cells(self, shard: RNAShard, outputs: IntArray | None) -> scipy.sparse.csr_array:
        """Number of times that each structure uses each table cell, shape (n_sequences, N_CELLS)."""
        partners, found = self._structures(shard, outputs), []
        for a, b in pairwise(shard.offsets.tolist()):
            letters, out = shard.letters[a:b], np.empty(6 * (b - a) + 1, np.int64)
            known = with_ends(letters, self.circular)
            n = loop_cells(known, partners[a:b], nick_of(letters), self.circular, STARTS, out)
            found.append(out[:n])
        sizes = np.array([cells.size for cells in found], dtype=np.int64)
        columns = np.concatenate([np.empty(0, np.int64), *found])
        entries = np.ones(columns.size), columns, offsets_of(sizes)
        counts = scipy.sparse.csr_array(entries, shape=(len(shard), N_CELLS))
        counts.sum_duplicates()
        return counts

    # --- inference ----------------------------------------------------------------------------------------

    def _log_partition(
        self, w: Array, shard: RNAShard, expected: Array | None, weights: FloatArray, within: bool
    ) -> Array:
        if not within:
            log_z, counts = self._inside_outside(w, shard, None if expected is None else weights)
        else:  # scores of the structures that are known, and sums by the evidence of the others
            log_z, rest = np.empty(len(shard), w.dtype), np.flatnonzero(~shard.whole)
            self._own_scores(w, shard, log_z, expected, weights)
            some = None if expected is None else weights[rest]
            log_z[rest], counts = self._inside_outside(w, shard.take(rest).bound(), some)
        if expected is not None:
            expected += self._features.matrix.T @ counts
        return log_z

    def _each(self, shard: RNAShard, n_tables: float, work: Callable[[int, Array, FloatArray], R]) -> list[R]:
        """What comes of each sequence, from its number, its letters and the scores of its pairs beside.

        Work begins as soon as so many tables of pairs fit into memory; it is refused where they never do.
        """
        found, expected = [], "a shorter sequence"
        if self.max_span is None and not self.circular:
            expected += ", or a limit to the span of pairs (--max-span, max_span=)"
        for s, n in enumerate(shard.sizes().tolist()):
            needed = self.memory_of(n, n_tables, bool(shard.base_offsets[s + 1] > shard.base_offsets[s]))
            with held_memory(needed, f"sequence {shard.numbers[s]}: {n:,} bases", expected):
                # No table has a name here: all are gone before the next sequence asks for memory.
                reach = self._space.reach(n)
                found.append(work(s, shard.letters_of(s), shard.known(s).table(reach)))
        return found

    def _of_sums(
        self,
        w: Array,
        shard: RNAShard,
        collect: Callable[[int, Inference], R],
        log_domain: bool = False,
        n_tables: float = OF_SUMS,
    ) -> list[R]:
        """What is collected of each sequence from its sums; constraints that cannot be are refused."""
        shard, potentials = shard.free(), self._potentials(w)
        # `infer` tries the linear domain first; the log domain is asked for where sums left the range
        # outside.
        how = LogInference if log_domain else infer

        def of_one(s: int, letters: Array, extra: FloatArray) -> R:
            inference = how(potentials, letters, self._space, extra)
            check_forced(shard, s, inference.log_partition.real)
            return collect(s, inference)

        return self._each(shard, n_tables, of_one)

    def memory_of(self, n: int, n_tables: float = OF_SUMS, weighted: bool = False) -> float:
        """Return the bytes of `n_tables` tables of pairs of n bases; more if `weighted` by constraints."""
        # Measured by `test_rna.py`, which compares with what the allocator tells.
        more = 2 * weighted + 8 * self.circular  # logs, and what is expected of them
        reach = self._space.reach(n)
        return 8.0 * (n_cells(n, reach) * (n_tables + more) + cells_of_rows(n, reach))

    def _inside_outside(
        self, w: Array, shard: RNAShard, weights: FloatArray | None, log_domain: bool = False
    ) -> tuple[Array, Array]:
        """Log-partitions, and the weighted sum of the expected table cells unless there are no weights."""
        shard, log_z = shard.free(), np.empty(len(shard), w.dtype)
        counts = Counts(int(np.max(shard.sizes(), initial=0)), w.dtype)

        def add(s: int, inference: Inference) -> None:
            log_z[s] = inference.log_partition - shard.forced[s]
            if weights is not None:
                inference.count(counts, float(weights[s]))

        self._of_sums(w, shard, add, log_domain)
        if weights is None:
            return log_z, counts.cells
        found = counts.gather()
        # Inside sums may be in range where their adjoints are not: then all is done again in the log domain.
        if np.all(np.isfinite(found)) or log_domain:
            return log_z, found
        return self._inside_outside(w, shard, weights, True)  # outside, sums left the range

    def variance(self, w: FloatArray, shard: RNAShard) -> FloatArray:
        """Approximate the variance of each feature, shape (n_weights,), summed over the sequences.

        The counts of table cells are treated as independent Poisson variables.
        """
        _, counts = self._inside_outside(w, shard, shard.weights)
        # Var(sum of a c) = sum of a^2 Var(c), and a Poisson count has its mean for variance.
        return np.asarray(self._features.matrix.power(2).T @ np.maximum(counts, 0.0))

    def _of_pairs(
        self,
        w: FloatArray,
        shard: RNAShard,
        collect: Callable[[int, FloatArray], R],
        log_domain: bool = False,
    ) -> list[R]:
        """What is collected of each sequence from the probabilities of all its pairs, a table of pairs."""

        def of_one(s: int, inference: Inference) -> R:
            inference.count()
            if log_domain or np.all(np.isfinite(inference.pairs)):
                return collect(s, inference.pairs)
            # outside, sums left the range
            return self._of_pairs(w, shard.take([s]), lambda _, pairs: collect(s, pairs), True)[0]

        return self._of_sums(w, shard, of_one, log_domain, OF_PAIRS)

    # --- decoding ------------------------------------------------------------------------------------------

    def best(
        self, w: FloatArray, shard: RNAShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the partners of all bases in the structures of highest score, and these scores.

        With `cost`, shape (n_sequences,), that many times 1 - recall is added to the score of each structure.
        """
        # Costs are divided among pairs; a constant that depends on whether strands are joined is none of
        # these.
        if cost is not None and self.initiation and shard.has_strands:
            raise DataError(
                f"two strands with a margin or ramp loss need initiation=0, not {self.initiation:g}"
            )
        partners, values = np.empty(shard.n_parts, np.int64), np.empty(len(shard))
        shard = shard.free() if cost is None else shard
        most, potentials = np.zeros(len(shard)), self._potentials(w)

        def fold(s: int, letters: Array, extra: FloatArray) -> None:
            bases = slice(shard.offsets[s], shard.offsets[s + 1])
            if cost is not None:
                # 1 - recall: the structure without pairs has the whole cost, each true pair saves its share
                truth = self._structures(shard, None)[bases]
                if n_paired := np.count_nonzero(truth >= 0):
                    most[s] = cost[s]
                    bonus, reach = -2 * float(cost[s]) / n_paired, self._space.reach(letters.size)
                    extra = add_to_pairs(extra, truth, reach, bonus)
            chart = best_scores(potentials, letters, self._space, extra)
            check_forced(shard, s, chart.values[0])
            partners[bases], values[s] = chart.derive(), chart.values[0]

        self._each(shard, OF_BEST, fold)
        return partners, values + most - shard.forced

    def n_best(
        self, w: FloatArray, shard: RNAShard, n: int, within: float = np.inf
    ) -> list[tuple[Array, FloatArray]]:
        """Return up to `n` structures of each sequence with the highest scores, best first.

        Each item is a pair: partners, shape (n_found, n_bases), and scores, shape (n_found,). Structures that
        score more than `within` below the best are omitted.
        """
        shard, potentials = shard.free(), self._potentials(w)

        def fold(s: int, letters: Array, extra: FloatArray) -> tuple[Array, FloatArray]:
            chart, forced = best_scores(potentials, letters, self._space, extra), shard.forced[s]
            check_forced(shard, s, chart.values[0])
            # Structures without one of the pairs that must be lose 1e6; FORCED / 2 parts them from all
            # others.
            most_loss = chart.values[0] - forced + FORCED / 2 if forced else np.inf
            partners, values = n_best(chart, n, min(most_loss, within))
            return partners, values - forced

        return self._each(shard, OF_SEVERAL, fold)

    def cost(self, shard: RNAShard, outputs: IntArray) -> FloatArray:
        """Return 1 - recall: the share of the paired bases that are unpaired or mispaired in `outputs`."""
        truth = self._structures(shard, None)
        # 1 - recall, counted by bases: each pair has two, so that the share is that of pairs.
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
        """Return the partners of all bases in the structures of maximum expected accuracy, for each gamma.

        Parameters
        ----------
        gammas : sequence of float
            Weight of a correct pair, relative to two correct unpaired bases ("mea") or to a wrong pair
            ("centroid"). A higher value predicts more pairs.
        lonely : bool
            Whether to allow pairs that do not stack on another pair.
        decoding : {"mea", "centroid"}
            With "centroid", the structures are gamma-centroids.
        """
        gain = accuracy if decoding == "mea" else gamma_centroid
        return list(self._best_sums(w, shard, [gain(gamma) for gamma in gammas], lonely))

    def best_centroid(self, w: FloatArray, shard: RNAShard, threshold: float = 0.5) -> IntArray:
        """Return the partners of all bases in the structures that maximize the sum of (p - threshold)."""
        return np.asarray(self._best_sums(w, shard, [centroid(threshold)])[0])

    def _best_sums(self, w: FloatArray, shard: RNAShard, gains: list[Gain], lonely: bool = True) -> IntArray:
        """The partners of all bases of the structures that gain most, a row for each way to gain."""
        found: IntArray = np.empty((len(gains), shard.n_parts), np.int64)
        shard = shard.free()
        # Short sequences share a call of the kernel, see `fold_short`; the others, and those whose sums leave
        # the range of a double, are folded one by one.
        is_left, sizes, potentials = np.ones(len(shard), bool), shard.sizes(), self._potentials(w)
        short = np.flatnonzero(is_short(shard, self._space))
        for some in batches(short.tolist(), sizes.__getitem__, _AT_ONCE, len(shard)):
            part: RNAShard = shard
            bases: Any = slice(None)
            if len(some) < len(shard):
                part, bases = shard.take(some), segment_indices(shard.offsets, some)
            found[:, bases], is_known = fold_short(potentials, part, self._space, gains, lonely)
            is_left[some] = ~is_known
        rest = np.flatnonzero(is_left)

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

    def sample(self, w: FloatArray, shard: RNAShard, n: int, rng: np.random.Generator) -> IntArray:
        """Return the partners of all bases in `n` structures drawn at random, shape (n, n_bases)."""
        found = self._of_sums(
            w, shard, lambda _, inference: samples(inference.chart, n, rng), n_tables=OF_SAMPLES
        )
        return np.concatenate(found, axis=1) if found else np.empty((n, 0), np.int64)

    def dimer_probabilities(self, w: FloatArray, shard: RNAShard) -> FloatArray:
        """Return the probability that a pair joins the two strands of each sequence, shape (n_sequences,).

        Raises
        ------
        DataError
            A sequence has only one strand.
        """
        found = np.empty(len(shard))
        for s in range(len(shard)):
            part = shard.take([s])
            if not part.has_strands:
                raise DataError(f"sequence {part.numbers[0]}: only one strand; write two strands as 'A&B'")
            found[s] = self._inside_outside(w, part, np.ones(1))[1][TABLES["strands"]][0]
        return np.clip(found, 0.0, 1.0)

    def unpaired_windows(self, w: FloatArray, shard: RNAShard, sequence: int, size: int) -> FloatArray:
        """Return the probability that bases i to i + size - 1 of a sequence are all unpaired, for each i.

        Raises
        ------
        DataError
            The constraints require bases to pair, or the sequence has two strands.
        CapabilityError
            Sequences are circular, or the weights are so large that the sums overflow.
        """
        part = shard.take([sequence])
        if self.circular:
            raise self._cannot("windows of unpaired bases of circular sequences")
        which = "two strands" if part.has_strands else "bases that must pair"
        if part.has_strands or (part.forced[0] and size <= part.n_parts):
            raise DataError(f"sequence {part.numbers[0]}: unpaired windows cannot be combined with {which}")
        if size > part.n_parts:
            return np.empty(0)

        def windows(_: int, inference: Inference) -> Array:
            if isinstance(inference, ScaledInference):
                return inference.unpaired_windows(size)
            return np.array(np.nan)

        (found,) = self._of_sums(w, part, windows, n_tables=OF_WINDOWS)
        if not np.all(np.isfinite(found)):
            raise self._cannot("windows of unpaired bases with weights as large as these")
        return np.asarray(found)

    def pair_probabilities(self, w: FloatArray, shard: RNAShard, sequence: int) -> Any:
        """Return the probability of every pair of a sequence, shape (n, n), in the upper triangle.

        It is a sparse array if `max_span` is set. Bases of two strands are numbered consecutively.
        """
        part = shard.take([sequence])
        n, is_base = part.n_parts, part.letters != ABSENT
        reach = self._space.reach(n)

        def square(_: int, flat: FloatArray) -> Any:
            if self.max_span is None:
                table = np.zeros((np.count_nonzero(is_base),) * 2)
                # Places between two strands are left out: bases are counted through.
                inner = (row[is_base[i:]] for i, row in enumerate(rows_of(flat, n, reach)) if is_base[i])
                for k, row in enumerate(inner):
                    table[k, k:] = row
                return table
            offsets = offsets_of(np.minimum(reach + 1, n - np.arange(n)))
            columns = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - np.arange(n), np.diff(offsets))
            pairs = scipy.sparse.csr_array((flat[: columns.size], columns, offsets), shape=(n, n))
            pairs.eliminate_zeros()
            return pairs

        return self._of_pairs(w, part, square)[0]


def check_required(shard: RNAShard, s: int, required: Array | None, partner: IntArray, lonely: bool) -> None:
    """Refuse constraints that no structure satisfies of which lonely pairs, perhaps, are no part."""
    if required is not None and np.any(partner[required] < 0):
        which = "structure" if lonely else "structure without lonely pairs"
        raise DataError(f"sequence {shard.numbers[s]}: no {which} satisfies the constraints")


def check_forced(shard: RNAShard, s: int, value: float) -> None:
    """Refuse constraints that the best structure, or all, do not satisfy."""
    # Each of the pairs that must be is worth FORCED: half of one less says that one is missing.
    if shard.forced[s] and value < shard.forced[s] - FORCED / 2:
        raise DataError(f"sequence {shard.numbers[s]}: no structure satisfies the constraints")


# --- short sequences ---------------------------------------------------------------------------------------


def is_short(shard: RNAShard, space: Space) -> Array:
    """Of each sequence, whether it is short, and one strand about which nothing is known."""
    is_short = (shard.sizes() <= _SHORT) & (not space.circular)
    # Constraints and evidence need a table of scores, and two strands tables of their own.
    more = [shard.base_offsets, shard.pair_offsets]
    if shard.has_strands:
        more.append(np.append(0, np.cumsum(shard.letters == ABSENT))[shard.offsets])
    for offsets in more:
        is_short &= offsets[1:] == offsets[:-1]
    return np.asarray(is_short)


def fold_short(
    potentials: Potentials, shard: RNAShard, space: Space, gains: list[Gain], lonely: bool
) -> tuple[IntArray, Array]:
    """Partners of all bases for each way to gain, and for which sequences sums stayed in range."""
    sizes, partners = shard.sizes(), np.full((len(gains), shard.n_parts), -1, np.int64)
    is_known = np.zeros(sizes.size, bool)
    if potentials.most > MOST_SCORE:
        return partners, is_known
    longest = int(sizes.max())
    kernel.fold(
        shard.letters, shard.offsets, *potentials.factors(longest, 0.0), STARTS, space.min_hairpin,
        space.reach(longest), space.circular, lonely, all_lanes(float),
        np.array(gains, float).reshape(-1, 3), LEAST, SPAN, partners, is_known,
    )  # fmt: skip
    return partners, is_known
