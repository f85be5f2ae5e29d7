"""Paths through a sparse state machine over nucleotides, as a conditional random field of genes has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.eukaryotes.kernels.paths import open_gates
from structune.genes.eukaryotes.machine import inference
from structune.genes.eukaryotes.machine.shard import MachineShard
from structune.genes.eukaryotes.machine.tally import Tally
from structune.genes.eukaryotes.machine.weights import MachineWeights
from structune.genes.kernels.words import words
from structune.genes.nucleotides import LETTERS, encode_letters
from structune.structure import (
    Array,
    FloatArray,
    Groups,
    Structure,
    Tilt,
    check_finite,
    check_offsets,
    check_range,
    check_weights,
    offsets_of,
)

Path = NDArray[np.int8]


class StateMachine(Structure):
    """Paths through a machine.

    An output is the state of each position; where a segment of scored length is, the state of those inside.

    Parameters
    ----------
    weights : MachineWeights
        Of the machine.
    """

    name = "state-machine"
    capabilities = frozenset({"log_partition", "best", "cost", "augmented", "complex", "marginals"})

    def __init__(self, weights: MachineWeights) -> None:
        self.weights, self.machine = weights, weights.machine

    @property
    def n_weights(self) -> int:
        return len(self.weights)

    def weight_names(self) -> list[str]:
        return self.weights.names()

    def groups(self) -> Groups:
        return self.weights.groups()

    # --- encoding -----------------------------------------------------------------------------------------

    def encode(
        self, inputs: Sequence[Any], outputs: Sequence[Path] | None = None, weights: Any = None
    ) -> Any:
        """Sequences as a shard.

        Parameters
        ----------
        inputs : list of str, or of (str, ndarray of shape (n_positions, n_tracks))
            Nucleotides, in upper or lower case; U counts as T, other letters of IUPAC as N.
        outputs : list of ndarray of int, shape (n_positions,), optional
            The state of each position.

        Raises
        ------
        DataError
            Names the sequence, and the position, that cannot be used.
        """
        pairs = [item if isinstance(item, tuple) else (item, None) for item in inputs]
        letters = [encode_letters(text, f"sequence {s}") for s, (text, _) in enumerate(pairs)]
        sizes = np.array([part.size for part in letters], np.int64)
        tracks = [
            self._tracks(values, n, s)
            for s, ((_, values), n) in enumerate(zip(pairs, sizes.tolist(), strict=True))
        ]
        both, gates = zip(*map(self._read, letters), strict=True) if letters else ((), ())
        shard = MachineShard(
            check_weights(weights, len(pairs)),
            offsets_of(sizes),
            _joined(letters, np.int8),
            _joined([a for a, _ in both], np.int16),
            _joined([b for _, b in both], np.int16),
            _joined(gates, np.uint16),
            np.concatenate([*tracks, np.empty((0, self.weights.n_tracks))]),
            np.empty(0, np.int8) if outputs is None else self._paths(outputs, sizes),
        )
        if outputs is not None:
            self._check_paths(shard)
        return shard

    def check_shard(self, shard: MachineShard) -> None:
        n, words = shard.letters.size, (0, 4**self.weights.word_length + 1)
        check_offsets(shard.starts, len(shard), n)
        check_range("letters", shard.letters, np.int8, (n,), 0, len(LETTERS))
        check_range("words", shard.words, np.int16, (n,), *words)
        check_range("words", shard.reverse_words, np.int16, (n,), *words)
        check_range("gates", shard.gates, np.uint16, (n,), 0, 1 << len(self.machine.gates))
        check_finite("tracks", shard.tracks, (n, self.weights.n_tracks))
        check_range("states", shard.paths, np.int8, (n,), 0, len(self.machine.states))
        for s, (a, b) in enumerate(pairwise(shard.starts.tolist())):
            both, gates = self._read(shard.letters[a:b])
            own = shard.words[a:b], shard.reverse_words[a:b], shard.gates[a:b]
            if not all(map(np.array_equal, own, (*both, gates))):
                raise DataError(f"sequence {s}: found words or gates that are not those of its letters")
        self._check_paths(shard)

    def _tracks(self, values: Any, n: int, s: int) -> FloatArray:
        found = np.zeros((n, 0)) if values is None else np.asarray(values, dtype=np.float64)
        if found.shape != (n, self.weights.n_tracks):
            raise DataError(
                f"sequence {s}: found tracks of shape {found.shape}, expected {(n, self.weights.n_tracks)}"
            )
        if not np.isfinite(found).all():
            raise DataError(f"sequence {s}: found a track that is not finite")
        return found

    def _read(self, letters: Path) -> tuple[tuple[Array, Array], Array]:
        """The words of both strands, and where gates are open."""
        both = np.empty((2, letters.size), np.int16)
        words(letters, self.weights.word_length, *both)
        gates = np.zeros(letters.size, np.uint16)
        for g, gate in enumerate(self.machine.gates):
            for motif in gate.motifs:
                open_gates(letters, encode_letters(motif, gate.name), gate.at, g, gates)
        return (both[0], both[1]), gates

    def _paths(self, outputs: Sequence[Path], sizes: Array) -> Path:
        paths = [np.asarray(path) for path in outputs]
        if len(paths) != sizes.size:
            raise DataError(f"found {len(paths)} paths of {sizes.size} sequences")
        for s, (path, n) in enumerate(zip(paths, sizes.tolist(), strict=True)):
            if path.shape != (n,):
                raise DataError(f"sequence {s}: found a path of shape {path.shape}, expected ({n},)")
            if path.size and not 0 <= path.min() <= path.max() < len(self.machine.states):
                raise DataError(f"sequence {s}: found states beyond 0..{len(self.machine.states) - 1}")
        return _joined(paths, np.int8)

    def _check_paths(self, shard: MachineShard) -> None:
        plain, nothing = self._plain, self._tally()
        for s, sequence in self._sequences(shard):
            wrong = plain.add_path(sequence, self._path(shard, s), nothing, 0.0)
            if wrong >= 0:
                raise DataError(f"sequence {s}: the path is not one of the machine at position {wrong}")

    def _path(self, shard: MachineShard, s: int, outputs: Path | None = None) -> Path:
        paths = shard.paths if outputs is None else outputs
        return paths[shard.starts[s] : shard.starts[s + 1]]

    def _sequences(
        self, shard: MachineShard, w: Array | None = None, cost: Array | None = None
    ) -> Iterator[tuple[int, inference.Sequence]]:
        """Each sequence, with the scores of its tracks and costs."""
        for s, (a, b) in enumerate(pairwise(shard.starts.tolist())):
            part = slice(a, b)
            yield (
                s,
                inference.Sequence(
                    shard.letters[part],
                    shard.words[part],
                    shard.reverse_words[part],
                    shard.gates[part],
                    shard.tracks[part],
                    self._extra(shard, s, w, cost),
                ),
            )

    def _extra(self, shard: MachineShard, s: int, w: Array | None, cost: Array | None) -> Array:
        """Of tracks and costs, by position and column."""
        label, part = self.machine.graph.label, slice(shard.starts[s], shard.starts[s + 1])
        dtype = np.float64 if w is None else w.dtype
        if (w is None or not self.weights.n_tracks) and cost is None:
            return np.zeros((0, label.size), dtype)
        found = np.zeros((part.stop - part.start, label.size), dtype)
        if w is not None:
            found += shard.tracks[part] @ self.weights.part(w, "tracks")[label].T
        if cost is not None:
            found += cost[s] * (label != self._labels(shard.paths[part])[:, None])
        return found

    def _labels(self, path: Path) -> Array:
        """The label of each position."""
        return np.asarray(self.machine.graph.label[self.machine.state_column[path]])

    # --- features -----------------------------------------------------------------------------------------

    def features(
        self, shard: MachineShard, out: FloatArray, weights: FloatArray | None = None, outputs: Any = None
    ) -> None:
        factors, tally, plain = shard.weights if weights is None else weights, self._tally(), self._plain
        for s, sequence in self._sequences(shard):
            plain.add_path(sequence, self._path(shard, s, outputs), tally, factors[s])
        tally.add_to(self.weights, out)

    def feature_rows(self, shard: MachineShard, outputs: Any = None) -> scipy.sparse.csr_array:
        rows, plain = [scipy.sparse.csr_array((0, self.n_weights))], self._plain
        for s, sequence in self._sequences(shard):
            row, tally = np.zeros(self.n_weights), self._tally()
            plain.add_path(sequence, self._path(shard, s, outputs), tally, 1.0)
            tally.add_to(self.weights, row)
            rows.append(scipy.sparse.csr_array(row[None]))
        return scipy.sparse.csr_array(scipy.sparse.vstack(rows))

    @property
    def _plain(self) -> inference.Sums:
        """For what needs no weights."""
        return inference.Sums(self.weights, np.zeros(self.n_weights))

    def _tally(self, dtype: Any = np.float64) -> Tally:
        return Tally.empty(self.weights, dtype)

    # --- sums ---------------------------------------------------------------------------------------------

    def log_partition(
        self,
        w: Array,
        shard: MachineShard,
        expected: Array | None = None,
        weights: Array | None = None,
        within: bool = False,
        tilt: Tilt | None = None,
    ) -> Array:
        if within:
            raise self._cannot("within")
        factors = shard.weights if weights is None else weights
        values, sums = np.empty(len(shard), w.dtype), inference.Sums(self.weights, w)
        tally = self._tally(w.dtype)
        for s, sequence in self._sequences(shard, w, self._costs_alone(tilt)):
            values[s] = inference.soundly(sums, sequence, tally, factors[s])
        if expected is not None:
            tally.add_to(self.weights, expected)
        return values

    def variance(self, w: FloatArray, shard: MachineShard) -> FloatArray:
        """Expected squares, position by position: a little more than variances, where features are rare."""
        found, sums, tally = np.zeros(self.n_weights), inference.Sums(self.weights, w), self._tally()
        for s, sequence in self._sequences(shard, w):
            squares = replace(sequence, tracks=sequence.tracks**2)  # their scores are in `extra`
            inference.soundly(sums, squares, tally, shard.weights[s])
        tally.add_to(self.weights, found)
        return found

    def marginals(self, w: FloatArray, shard: MachineShard, which: NDArray[np.bool_]) -> FloatArray:
        """The probability that a position is emitted by one of some columns, shape (n_positions, n_sets).

        Parameters
        ----------
        which : ndarray of bool, shape (n_sets, n_columns)
            The columns of the machine that belong to each set.
        """
        found, sums = np.empty((shard.n_parts, len(which))), inference.Sums(self.weights, w)
        for s, sequence in self._sequences(shard, w):
            part = found[shard.starts[s] : shard.starts[s + 1]]
            inference.soundly(sums, sequence, self._tally(), 1.0, inference.Wanted(which, part))
        return found

    # --- decoding -----------------------------------------------------------------------------------------

    def best(
        self, w: FloatArray, shard: MachineShard, cost: FloatArray | None = None
    ) -> tuple[Path, FloatArray]:
        best, scores = inference.Best(self.weights, w), np.empty(len(shard))
        paths = np.empty(shard.n_parts, np.int8)
        for s, sequence in self._sequences(shard, w, cost):
            paths[shard.starts[s] : shard.starts[s + 1]], scores[s] = best.path(sequence)
        return paths, scores

    def cost(self, shard: MachineShard, outputs: Path) -> FloatArray:
        """The number of positions with another label."""
        wrong = self._labels(shard.paths) != self._labels(outputs)
        return np.array([wrong[a:b].sum() for a, b in pairwise(shard.starts.tolist())], np.float64)


def _joined(parts: Sequence[Array], dtype: Any) -> Array:
    return np.concatenate([*parts, np.empty(0, dtype)], dtype=dtype, casting="unsafe")
