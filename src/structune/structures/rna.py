"""RNA secondary structures without pseudoknots, scored by CONTRAfold's features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from structune.errors import DataError
from structune.kernels.rna_loops import loop_cells
from structune.structures.base import (
    Array,
    FloatArray,
    Groups,
    HessianProduct,
    IntArray,
    Structure,
    check_weights,
)
from structune.structures.rna_decoding import best_structure, mea_structure
from structune.structures.rna_features import (
    LETTERS,
    MAX_LOOP,
    N_CELLS,
    TABLES,
    UNKNOWN,
    cell_matrix,
    group_of,
    weight_names,
)
from structune.structures.rna_potentials import Inference, Potentials, score_tables, with_ends
from structune.structures.rna_shard import RNAShard

_COMPLEX_STEP = 1e-20  # its square vanishes beside 1
_CANONICAL = ("AU", "UA", "CG", "GC", "GU", "UG")
_CODES = np.full(256, -1, np.int8)
_CODES[[ord(c) for c in "NRYSWKMBDHVX"]] = UNKNOWN
_CODES[[ord(c) for c in LETTERS]] = range(len(LETTERS))
_CODES[ord("T")] = LETTERS.index("U")


class RNA(Structure):
    """The model of CONTRAfold (Do, Woods & Batzoglou 2006): 708 weights, in 15 groups.

    Parameters
    ----------
    min_hairpin : int
        Fewest unpaired bases in a hairpin.
    """

    kind = "rna"
    capabilities = frozenset({"log_partition", "hessian", "complex", "best", "cost"})

    def __init__(self, min_hairpin: int = 3) -> None:
        if min_hairpin < 0:
            raise DataError(f"min_hairpin={min_hairpin}: expected 0 or more")
        self.min_hairpin = min_hairpin
        self._allowed = np.zeros((4, 4), bool)
        for pair in _CANONICAL:
            self._allowed[LETTERS.index(pair[0]), LETTERS.index(pair[1])] = True

    @property
    def n_weights(self) -> int:
        return len(weight_names())

    def weight_names(self) -> list[str]:
        return list(weight_names())

    def weights_from(self, parameters: Mapping[str, float]) -> FloatArray:
        """The weight vector of named parameters, as `structune.formats.read_contrafold` reads them.

        Raises
        ------
        DataError
            A parameter that is missing, or one more.
        """
        missing = [name for name in weight_names() if name not in parameters]
        unknown = sorted(set(parameters) - set(weight_names()))
        if missing or unknown:
            raise DataError(
                f"found {len(unknown)} unknown parameters {unknown[:3]} and {len(missing)} missing ones "
                f"{missing[:3]}, expected the {self.n_weights} of CONTRAfold"
            )
        return np.array([float(parameters[name]) for name in weight_names()])

    def groups(self) -> Groups:
        return Groups.by_name([group_of(name) for name in weight_names()])

    # --- encoding -----------------------------------------------------------------------------------------

    def encode(
        self, inputs: Sequence[str], outputs: Sequence[str] | None = None, weights: Any = None
    ) -> RNAShard:
        """Lay out sequences, and structures in dot-bracket notation, as a shard.

        Raises
        ------
        DataError
            A character that is no base, brackets that do not match, a structure of another length than its
            sequence, or one outside the model's space. Names the sequence.
        """
        if outputs is not None and len(outputs) != len(inputs):
            raise DataError(f"found {len(outputs)} structures for {len(inputs)} sequences")
        letters = [_letters(s, sequence) for s, sequence in enumerate(inputs)]
        offsets = np.concatenate(([0], np.cumsum([part.size for part in letters], dtype=np.int64)))
        partners = [np.empty(0, np.int64)]
        for s, structure in enumerate(outputs or ()):
            partner = _partners(s, structure, letters[s].size)
            self._check(s, letters[s], partner)
            partners.append(partner)
        return RNAShard(
            check_weights(weights, len(letters)),
            offsets,
            np.concatenate([np.empty(0, np.int8), *letters]),
            np.concatenate(partners),
        )

    def _check(self, s: int, letters: Array, partner: IntArray) -> None:
        """Refuse a structure that the model cannot produce."""
        for i, j in enumerate(partner.tolist()):
            if j < i:
                continue
            place = f"sequence {s}, bases {i} and {j} (from 0)"
            if max(letters[i], letters[j]) >= UNKNOWN or not self._allowed[letters[i], letters[j]]:
                raise DataError(f"{place}: found a pair of two bases that cannot pair")
            inside = partner[i + 1 : j]
            pairs = np.flatnonzero(inside >= 0)
            if not pairs.size and j - i - 1 < self.min_hairpin:
                raise DataError(
                    f"{place}: found a hairpin of {j - i - 1}, expected at least {self.min_hairpin}"
                )
            if pairs.size:
                p = i + 1 + int(pairs[0])
                q = int(partner[p])
                unpaired = p - i - 1 + j - q - 1
                if unpaired > MAX_LOOP and np.all(partner[q + 1 : j] < 0):
                    raise DataError(
                        f"{place}: found a loop of {unpaired} unpaired bases, expected at most {MAX_LOOP}"
                    )

    # --- features -----------------------------------------------------------------------------------------

    def _structures(self, shard: RNAShard, outputs: IntArray | None) -> IntArray:
        partners = shard.partners if outputs is None else np.asarray(outputs)
        if partners.size != shard.n_parts:
            raise DataError("the shard has no structures")
        return partners

    def _cells(self, shard: RNAShard, outputs: IntArray | None) -> sp.csr_array:
        """Number of times that each structure uses each table cell, shape (n_sequences, N_CELLS)."""
        partners = self._structures(shard, outputs)
        starts = tuple(place.start for place in TABLES.values())
        found = []
        for a, b in pairwise(shard.offsets.tolist()):
            out = np.empty(5 * (b - a) + 1, np.int64)
            n = loop_cells(with_ends(shard.letters[a:b]), partners[a:b], starts, MAX_LOOP + 1, out)
            found.append(out[:n])
        sizes = np.array([cells.size for cells in found], dtype=np.int64)
        columns = np.concatenate([np.empty(0, np.int64), *found])
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        counts = sp.csr_array((np.ones(columns.size), columns, indptr), shape=(len(shard), N_CELLS))
        counts.sum_duplicates()
        return counts

    def features(
        self,
        shard: RNAShard,
        out: FloatArray,
        weights: FloatArray | None = None,
        outputs: IntArray | None = None,
    ) -> None:
        weights = shard.weights if weights is None else weights
        out += cell_matrix().T @ (self._cells(shard, outputs).T @ weights)

    def feature_rows(self, shard: RNAShard, outputs: IntArray | None = None) -> sp.csr_array:
        return sp.csr_array(self._cells(shard, outputs) @ cell_matrix())

    # --- inference ----------------------------------------------------------------------------------------

    def log_partition(
        self,
        w: Array,
        shard: RNAShard,
        expected: Array | None = None,
        weights: FloatArray | None = None,
        within: bool = False,
    ) -> Array:
        if within:
            raise self._cannot("within")
        weights = shard.weights if weights is None else weights
        log_z, counts = self._inside_outside(w, shard, None if expected is None else weights)
        if expected is not None:
            expected += cell_matrix().T @ counts
        return log_z

    def _inside_outside(self, w: Array, shard: RNAShard, weights: FloatArray | None) -> tuple[Array, Array]:
        """Log-partitions, and the weighted sum of the expected table cells unless there are no weights."""
        potentials = Potentials(w, self._allowed)
        log_z, counts = np.empty(len(shard), w.dtype), np.zeros(N_CELLS, w.dtype)
        for s, (a, b) in enumerate(pairwise(shard.offsets.tolist())):
            inference = Inference(potentials, shard.letters[a:b], self.min_hairpin)
            log_z[s] = inference.log_partition
            if weights is not None:
                counts += weights[s] * inference.expected_cells()
        return log_z, counts

    def linearize(self, w: FloatArray, shard: RNAShard, within: bool = False) -> HessianProduct:
        """By the complex step, which is exact: no digits cancel."""
        if within:
            raise self._cannot("within")

        def product(v: FloatArray) -> FloatArray:
            _, counts = self._inside_outside(w + 1j * _COMPLEX_STEP * v, shard, shard.weights)
            return np.asarray(cell_matrix().T @ counts.imag / _COMPLEX_STEP)

        return product

    def variance(self, w: FloatArray, shard: RNAShard) -> FloatArray:
        """The variance of the features if uses of table cells were rare and independent (Poisson)."""
        _, counts = self._inside_outside(w, shard, shard.weights)
        return np.asarray(cell_matrix().power(2).T @ np.maximum(counts, 0.0))

    # --- decoding -----------------------------------------------------------------------------------------

    def best(
        self, w: FloatArray, shard: RNAShard, cost: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Viterbi: the partners of all bases, shape (n_bases,), and scores, shape (n_sequences,)."""
        partners, scores = np.empty(shard.n_parts, np.int64), np.empty(len(shard))
        for s, (a, b) in enumerate(pairwise(shard.offsets.tolist())):
            truth, most = np.full(b - a, -1), 0.0
            if cost is not None:
                truth = self._structures(shard, None)[a:b]
                most = float(cost[s]) if np.any(truth >= 0) else 0.0
            # the cost of a structure is what its true pairs save of the cost of having none
            bonus = -2 * most / max(1, int(np.count_nonzero(truth >= 0)))
            tables = score_tables(w, self._allowed, b - a)
            partners[a:b], score = best_structure(tables, shard.letters[a:b], self.min_hairpin, truth, bonus)
            scores[s] = score + most
        return partners, scores

    def cost(self, shard: RNAShard, outputs: IntArray) -> FloatArray:
        """1 - recall: the share of the paired bases that are unpaired, or paired elsewhere, in `outputs`."""
        truth = self._structures(shard, None)
        sequence = np.repeat(np.arange(len(shard)), shard.sizes())
        paired = np.bincount(sequence[truth >= 0], minlength=len(shard))
        missed = np.bincount(sequence[(truth >= 0) & (truth != outputs)], minlength=len(shard))
        return np.asarray(missed / np.maximum(paired, 1))

    def best_mea(self, w: FloatArray, shard: RNAShard, gammas: Sequence[float]) -> list[IntArray]:
        """Structures of maximum expected accuracy: the partners of all bases, for each gamma.

        Parameters
        ----------
        gammas : sequence of float
            How much a right pair counts beside two right unpaired bases: more predicts more pairs.
        """
        found = [np.empty(shard.n_parts, np.int64) for _ in gammas]
        potentials = Potentials(w, self._allowed)
        for a, b in pairwise(shard.offsets.tolist()):
            pairs = self._pair_probabilities(potentials, shard.letters[a:b])
            for partners, gamma in zip(found, gammas, strict=True):
                partners[a:b] = mea_structure(pairs, b - a, gamma)
        return found

    def pair_probabilities(self, w: FloatArray, shard: RNAShard, sequence: int) -> FloatArray:
        """Probability of every pair, shape (n, n), upper triangle."""
        letters = shard.letters[shard.offsets[sequence] : shard.offsets[sequence + 1]]
        flat = self._pair_probabilities(Potentials(w, self._allowed), letters)
        table = np.zeros((letters.size, letters.size))
        table[np.triu_indices(letters.size)] = flat[: letters.size * (letters.size + 1) // 2]
        return table

    def _pair_probabilities(self, potentials: Potentials, letters: Array) -> FloatArray:
        """Of all pairs, triangular."""
        inference = Inference(potentials, letters, self.min_hairpin)
        inference.expected_cells()
        return inference.pairs


def _letters(s: int, sequence: str) -> Array:
    codes = _CODES[np.frombuffer(sequence.upper().encode("latin-1", "replace"), np.uint8)]
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        raise DataError(
            f"sequence {s}, base {bad[0]} (from 0): found {sequence[bad[0]]!r}, expected a nucleotide"
        )
    return codes


def _partners(s: int, structure: str, n: int) -> IntArray:
    """Partners of the bases of a dot-bracket string; -1 for none."""
    if len(structure) != n:
        raise DataError(f"sequence {s} has {n} bases: found a structure of length {len(structure)}")
    partner, stack = np.full(n, -1, np.int64), []
    for j, character in enumerate(structure):
        if character == "(":
            stack.append(j)
        elif character == ")":
            if not stack:
                raise DataError(f"sequence {s}, base {j} (from 0): found ')' without its '('")
            i = stack.pop()
            partner[i], partner[j] = j, i
        elif character != ".":
            raise DataError(f"sequence {s}, base {j} (from 0): found {character!r}, expected one of '(.)'")
    if stack:
        raise DataError(f"sequence {s}, base {stack[-1]} (from 0): found '(' without its ')'")
    return partner
