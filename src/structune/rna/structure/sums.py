"""Sums over RNA secondary structures, and the features that score them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np
import scipy

from structune.errors import DataError
from structune.rna.defaults import INITIATION
from structune.rna.structure.constraints import FORCED
from structune.rna.structure.counts import count_cells
from structune.rna.structure.encoding import Output, check_shard, encode
from structune.rna.structure.features import (
    CANONICAL,
    LETTERS,
    TABLES,
    feature_set,
    group_of,
)
from structune.rna.structure.inference import (
    Counts,
    LogInference,
    ScaledInference,
    infer,
)
from structune.rna.structure.potentials import Potentials
from structune.rna.structure.shard import RNAShard
from structune.rna.structure.space import (
    Offence,
    Space,
    checked_hairpin,
    checked_initiation,
    checked_span,
    n_cells,
    offences,
    parse_sequence,
    parse_structure,
)
from structune.running.memory import held_memory
from structune.structure import (
    Array,
    FloatArray,
    Groups,
    IntArray,
    Structure,
)

Inference = ScaledInference | LogInference
R = TypeVar("R")
# tables of pairs at a time: sums inside, and one outside; best structures; with logs of sums, or copies
OF_SUMS, OF_BEST, OF_SEVERAL, OF_SAMPLES, OF_WINDOWS, OF_KNOTS = 4.0, 3.0, 5.0, 6.0, 6.0, 5.0


class RNASums(Structure):
    """Nested pairs of bases, as `RNA` has them: shards, features, and sums over structures."""

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
        self.min_hairpin, self.noncanonical = checked_hairpin(min_hairpin), bool(noncanonical)
        self.max_span = checked_span(max_span)
        self.circular, self.initiation = bool(circular), checked_initiation(initiation)
        self.feature_set = features
        self._features = feature_set(features)
        self._allowed = np.full((4, 4), noncanonical)
        for pair in CANONICAL:
            self._allowed[LETTERS.index(pair[0]), LETTERS.index(pair[1])] = True
        if circular and max_span is not None:
            raise DataError(f"max_span={max_span} with circular=True: expected one of the two")
        self._space = Space(self._allowed, self.min_hairpin, self.max_span, self.circular)
        self._kept: tuple[Array, Potentials] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": None}

    def like(self, max_span: int | None, circular: bool, initiation: float) -> Self:
        """The same of other sequences; itself if these are such."""
        if (self.max_span, self.circular, self.initiation) == (max_span, circular, initiation):
            return self
        return type(self)(
            self.min_hairpin, self.noncanonical, self.feature_set, max_span, circular, initiation
        )

    def _cells(self, w: Array) -> Array:
        """Scores of the table cells: what weights give, and the constant of two strands."""
        cells = self._features.cells(w)
        cells[TABLES["strands"]] += self.initiation
        return cells

    def _potentials(self, w: Array) -> Potentials:
        """The tables of weights; those of the last ones are kept, for predictions that come one by one."""
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
        """The weight vector of named parameters, as `structune.rna.read_contrafold` reads them.

        Raises
        ------
        DataError
            A parameter that is missing, or one more.
        """
        missing = [name for name in self._features.names if name not in parameters]
        unknown = sorted(set(parameters) - set(self._features.names))
        if missing or unknown:
            raise DataError(
                f"found {len(unknown)} unknown parameters {unknown[:3]} and {len(missing)} missing ones "
                f"{missing[:3]}, expected the {self.n_weights} of the features {self.feature_set!r}"
            )
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
        """Lay out sequences, and their structures, as a shard.

        Parameters
        ----------
        outputs : sequence, optional
            Structures in dot-bracket notation or, where they are only partly known, `Constraints`: what must
            be, and log odds of bases to be paired.
        constraints : sequence, optional
            What is known of the structure of each sequence: `Constraints`, their notation, or None.

        Raises
        ------
        DataError
            A character that is no base, brackets that do not match, a structure of another length than its
            sequence, or one outside the model's space. Names the sequence.
        """
        return encode(inputs, outputs, weights, constraints, self._space)

    def check_shard(self, shard: RNAShard) -> None:
        check_shard(shard, self._space)

    def offences(self, sequence: str, structure: str) -> list[Offence]:
        """The pairs of a structure that the model cannot produce, and why; inner ones first."""
        letters = parse_sequence(0, sequence)
        partner = parse_structure(0, structure, letters)
        return offences(letters, partner, self._space)

    # --- features -----------------------------------------------------------------------------------------

    def _structures(self, shard: RNAShard, outputs: IntArray | None) -> IntArray:
        if outputs is None and shard.is_partly_known:
            raise DataError("found structures that are only partly known, expected whole ones")
        partners = shard.partners if outputs is None else np.asarray(outputs)
        if partners.size != shard.n_parts:
            raise DataError("the shard has no structures")
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
        return count_cells(shard, self._structures(shard, outputs), self.circular)

    # --- inference ----------------------------------------------------------------------------------------

    def log_partition(
        self,
        w: Array,
        shard: RNAShard,
        expected: Array | None = None,
        weights: FloatArray | None = None,
        within: bool = False,
    ) -> Array:
        weights = shard.weights if weights is None else weights
        if within:
            return self._log_partition_within(w, shard, expected, weights)
        log_z, counts = self._inside_outside(w, shard, None if expected is None else weights)
        if expected is not None:
            expected += self._features.matrix.T @ counts
        return log_z

    def _log_partition_within(
        self, w: Array, shard: RNAShard, expected: Array | None, weights: FloatArray
    ) -> Array:
        """Scores of the structures that are known, and sums by the evidence of the others."""
        log_z, rest = np.empty(len(shard), w.dtype), np.flatnonzero(~shard.whole)
        self._own_scores(w, shard, log_z, expected, weights)
        some = None if expected is None else weights[rest]
        log_z[rest], counts = self._inside_outside(w, shard.take(rest).bound(), some)
        if expected is not None:
            expected += self._features.matrix.T @ counts
        return log_z

    def _reach(self, shard: RNAShard, s: int) -> int:
        return self._space.reach(int(shard.offsets[s + 1] - shard.offsets[s]))

    def _of_each(
        self,
        w: Array,
        shard: RNAShard,
        collect: Callable[[int, Inference], R],
        log_domain: bool = False,
        n_tables: float = OF_SUMS,
    ) -> list[R]:
        """What is collected of each sequence from its sums.

        The tables are gone before those of the next sequence ask for memory.

        Raises
        ------
        DataError
            Constraints that no structure satisfies.
        """
        shard, potentials = shard.free(), self._potentials(w)
        how = LogInference if log_domain else infer

        def of_one(s: int) -> R:
            extra = shard.pair_scores(s, self._reach(shard, s))
            inference = how(potentials, letters_of(shard, s), self._space, extra)
            check_forced(shard, s, inference.log_partition.real)
            return collect(s, inference)

        return [self._where_it_fits(shard, s, n_tables, of_one) for s in range(len(shard))]

    def _where_it_fits(self, shard: RNAShard, s: int, n_tables: float, work: Callable[[int], R]) -> R:
        """Work on a sequence as soon as so many tables of pairs fit into memory, or refuse it.

        A function of its own: all that work made is gone when it returns, but what it returns.
        """
        n = int(shard.offsets[s + 1] - shard.offsets[s])
        weighted = bool(shard.base_offsets[s + 1] > shard.base_offsets[s])
        expected = "a shorter one"
        if self.max_span is None and not self.circular:
            expected += ", or a limit to the span of pairs (--max-span, max_span=)"
        needed = self.memory_of(n, n_tables, weighted)
        with held_memory(needed, f"sequence {shard.numbers[s]}: {n:,} bases", expected):
            return work(s)

    def memory_of(self, n: int, n_tables: float = OF_SUMS, weighted: bool = False) -> float:
        """Bytes that so many tables of pairs of n bases take; more where pairs have scores of their own."""
        more = 3 * weighted + 8 * self.circular  # logs, and what is expected of them
        return 8.0 * n_cells(n, self._space.reach(n)) * (n_tables + more)

    def _inside_outside(
        self,
        w: Array,
        shard: RNAShard,
        weights: FloatArray | None,
        log_domain: bool = False,
    ) -> tuple[Array, Array]:
        """Log-partitions, and the weighted sum of the expected table cells unless there are no weights."""
        shard, log_z = shard.free(), np.empty(len(shard), w.dtype)
        counts = Counts(int(np.max(shard.sizes(), initial=0)), w.dtype)

        def add(s: int, inference: Inference) -> None:
            log_z[s] = inference.log_partition - shard.forced[s]
            if weights is not None:
                inference.count(counts, float(weights[s]))

        self._of_each(w, shard, add, log_domain)
        if weights is None:
            return log_z, counts.cells
        found = counts.gather()
        if np.all(np.isfinite(found)) or log_domain:
            return log_z, found
        return self._inside_outside(w, shard, weights, True)  # outside, sums left the range

    def variance(self, w: FloatArray, shard: RNAShard) -> FloatArray:
        """The variance of the features if uses of table cells were rare and independent (Poisson)."""
        _, counts = self._inside_outside(w, shard, shard.weights)
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
            inference.count(Counts(inference.n, w.dtype))
            if log_domain or np.all(np.isfinite(inference.pairs)):
                return collect(s, inference.pairs)
            # outside, sums left the range
            return self._of_pairs(w, shard.take([s]), lambda _, pairs: collect(s, pairs), True)[0]

        return self._of_each(w, shard, of_one, log_domain)


def letters_of(shard: RNAShard, s: int) -> Array:
    """Those of one sequence."""
    return shard.letters[shard.offsets[s] : shard.offsets[s + 1]]


def check_required(shard: RNAShard, s: int, required: Array | None, partner: IntArray, lonely: bool) -> None:
    """Refuse constraints that no structure satisfies of which lonely pairs, perhaps, are no part."""
    if required is not None and np.any(partner[required] < 0):
        which = "structure" if lonely else "structure without lonely pairs"
        raise DataError(f"sequence {shard.numbers[s]}: found constraints that no {which} satisfies")


def check_forced(shard: RNAShard, s: int, value: float) -> None:
    """Refuse constraints that the best structure, or all, do not satisfy."""
    if shard.forced[s] and value < shard.forced[s] - FORCED / 2:
        raise DataError(f"sequence {shard.numbers[s]}: found constraints that no structure satisfies")
