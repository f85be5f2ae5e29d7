"""Sets of genes with introns, as a conditional random field over a graph of their exons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.eukaryotes.kernels import emissions, sums
from structune.genes.eukaryotes.kernels.nodes import GENE, TYPES, Counts, Nodes, Scores, Sums
from structune.genes.eukaryotes.structure.nodes import find_nodes
from structune.genes.eukaryotes.structure.paths import Path, path_nodes, wrong_exon
from structune.genes.eukaryotes.structure.scaling import Scaling
from structune.genes.eukaryotes.structure.shard import ExonShard, NodeArrays
from structune.genes.eukaryotes.structure.weights import ExonWeights
from structune.genes.kernels.words import words
from structune.genes.nucleotides import LETTERS, encode_letters
from structune.structure import (
    Array,
    FloatArray,
    Groups,
    IntArray,
    Structure,
    check_finite,
    check_offsets,
    check_range,
    check_weights,
    offsets_of,
)

_KINDS = np.array(  # of exons by strand, and whether their left and right ends are those of a gene
    [[[2, 3], [1, 0]], [[2, 1], [3, 0]]]
)


class Evidence(NamedTuple):
    """What else is known of a sequence: logs that are added at each of its sites, and to each base that is
    coding, by strand, shape (n_positions, 2)."""

    sites: FloatArray
    coding: FloatArray


class ScoredSequence(NamedTuple):
    """A sequence of a shard, with the scores that some weights give it."""

    n: int
    nodes: Nodes
    letters: emissions.Letters
    scores: Scores

    def no_counts(self) -> Counts:
        sums, scores = self.no_sums(), self.scores
        like = scores.prefix, scores.sites, scores.edges, scores.exons, scores.introns
        return Counts(*map(np.zeros_like, (*like, sums.left, sums.exits, sums.entries)))

    def no_sums(self) -> Sums:
        """Arrays for `forward` to fill."""
        nodes, dtype = self.nodes, self.scores.prefix.dtype
        openings, closings = ((of.size, TYPES) for of in (nodes.opening_position, nodes.closing_position))
        shapes = nodes.left_position.size, nodes.right_position.size, openings, closings, closings
        return Sums(*(np.empty(shape, dtype) for shape in shapes))


class ExonGraph(Structure):
    """Sets of genes on both strands, of exons that lie between sites of a sequence.

    An output is the column that emits each position (`ExonWeights.n_columns`).

    Parameters
    ----------
    weights : ExonWeights
    scaling : Scaling, optional
        What is learned are scales of tables and deviations from them, in place of all weights.
    """

    name = "exon-graph"
    capabilities = frozenset({"log_partition", "best", "cost", "complex", "marginals"})

    def __init__(self, weights: ExonWeights, scaling: Scaling | None = None) -> None:
        self.weights, self.rules, self.scaling = weights, weights.rules, scaling
        self._learned = weights if scaling is None else scaling
        # columns: 3 coding ones a strand, then introns by strand, and by phase if they emit differently, and
        # last what is between genes; labels are rows of tables, which both strands share
        phases = np.arange(3) * (weights.n_introns > 1)
        by_strand = weights.n_introns * np.arange(2)[:, None] * (weights.n_strands - 1)
        self._intron_columns = 3 * weights.n_strands + phases + by_strand

    @property
    def n_weights(self) -> int:
        return len(self._learned)

    def weight_names(self) -> list[str]:
        return self._learned.names()

    def groups(self) -> Groups:
        return Groups.by_name([name.partition(":")[0] for name in self.weight_names()])

    def for_prediction(self) -> ExonGraph:
        """The same with the table of all examples alone."""
        if self.scaling is None:
            return self
        return ExonGraph(self.weights, Scaling(self.weights, self.scaling.tables[:1].copy()))

    def all_weights(self, w: FloatArray) -> FloatArray:
        """Those that a model without a scaling would have, with the table of all examples."""
        return np.asarray(self._learned.spread(w)[0])

    # --- encoding -----------------------------------------------------------------------------------------

    def encode(
        self, inputs: Sequence[Any], outputs: Sequence[Path] | None = None, weights: Any = None
    ) -> ExonShard:
        """Sequences as a shard.

        Parameters
        ----------
        inputs : list of str, or of (str, ndarray of shape (n_positions, n_tracks))
            Nucleotides, in upper or lower case; U counts as T, other letters of IUPAC as N.
        outputs : list of ndarray of int, shape (n_positions,), optional
            The column of each position, as `gene_path` has them.

        Raises
        ------
        DataError
            Names the sequence, and the position, that cannot be used.
        """
        pairs = [item if isinstance(item, tuple) else (item, None) for item in inputs]
        letters = [encode_letters(text, f"sequence {s}") for s, (text, _) in enumerate(pairs)]
        sizes = np.array([part.size for part in letters], np.int64)
        tracks = [np.empty((0, self.weights.n_tracks))]
        for s, ((_, values), n) in enumerate(zip(pairs, sizes.tolist(), strict=True)):
            track = np.zeros((n, 0)) if values is None else np.asarray(values, np.float64)
            shape = (n, self.weights.n_tracks)
            if track.shape != shape:
                raise DataError(f"sequence {s}: found tracks of shape {track.shape}, expected {shape}")
            if not np.isfinite(track).all():
                raise DataError(f"sequence {s}: found a track that is not finite")
            tracks.append(track)
        read = [self._words(part) for part in letters]
        shard = ExonShard(
            check_weights(weights, len(pairs)),
            offsets_of(sizes),
            _joined(letters, np.int8),
            _joined([a for a, _ in read], np.int16),
            _joined([b for _, b in read], np.int16),
            np.concatenate(tracks),
            np.empty(0, np.int8) if outputs is None else self._paths(outputs, sizes),
            np.zeros(len(pairs), np.int8),
            NodeArrays.joined([find_nodes(part, self.rules) for part in letters]),
        )
        if outputs is not None:
            self._check_paths(shard)
        return shard

    def check_shard(self, shard: ExonShard) -> None:
        # nodes and words follow from the letters: kernels do not check indices, so those of a file must be
        # these
        n, n_words = shard.letters.size, (0, self.weights.no_word + 1)
        n_tables = 1 if self.scaling is None else len(self.scaling.tables)
        check_range("tables", shard.tables, np.int8, (len(shard),), 0, n_tables)
        check_offsets(shard.starts, len(shard), n)
        check_range("letters", shard.letters, np.int8, (n,), 0, len(LETTERS))
        check_range("words", shard.words, np.int16, (n,), *n_words)
        check_range("words", shard.reverse_words, np.int16, (n,), *n_words)
        check_finite("tracks", shard.tracks, (n, self.weights.n_tracks))
        check_range("columns", shard.paths, np.int8, (n,), 0, self.weights.n_columns)
        parts = [shard.letters[a:b] for a, b in pairwise(shard.starts.tolist())]
        nodes = NodeArrays.joined([find_nodes(part, self.rules) for part in parts])
        for s, (part, a) in enumerate(zip(parts, shard.starts.tolist(), strict=False)):
            own = shard.words[a : a + part.size], shard.reverse_words[a : a + part.size]
            if not all(map(np.array_equal, own, self._words(part))):
                raise DataError(f"sequence {s}: found words that are not those of its letters")
        for name, expected in vars(nodes).items():
            found = getattr(shard.nodes, name)
            if not (found.dtype == expected.dtype and np.array_equal(found, expected)):
                raise DataError(f"found {name} that are not those of the letters")
        self._check_paths(shard)

    def _words(self, letters: NDArray[np.int8]) -> tuple[Array, Array]:
        """The numbers of words of both strands."""
        both = np.empty((2, letters.size), np.int16)
        words(letters, self.weights.word_length, *both)
        return both[0], both[1]

    def _paths(self, outputs: Sequence[Path], sizes: Array) -> Path:
        """The paths of all sequences, one after the other; refuses sizes and columns that are not theirs."""
        paths = [np.asarray(path) for path in outputs]
        if len(paths) != sizes.size:
            raise DataError(f"found {len(paths)} paths of {sizes.size} sequences")
        for s, (path, n) in enumerate(zip(paths, sizes.tolist(), strict=True)):
            if path.shape != (n,):
                raise DataError(f"sequence {s}: found a path of shape {path.shape}, expected ({n},)")
            if path.size and not 0 <= path.min() <= path.max() < self.weights.n_columns:
                raise DataError(f"sequence {s}: found columns beyond 0..{self.weights.n_columns - 1}")
        return _joined(paths, np.int8)

    def _check_paths(self, shard: ExonShard) -> None:
        """Refuse paths that are no genes of the model."""
        for s in range(len(shard)):
            nodes, path = shard.nodes.of(s), self._path(shard, s)
            lefts, rights = path_nodes(self.weights, nodes, path)
            wrong = wrong_exon(nodes, lefts, rights, self.rules.introns[0])
            if wrong < 0:
                known = self._walked(nodes, lefts, rights, path.size)
                differ = np.flatnonzero(known != path)
                if not differ.size:
                    continue
                position = int(differ[0])
            else:
                coding = np.append(False, path < 3 * self.weights.n_strands)
                position = int(np.flatnonzero(coding[1:] & ~coding[:-1])[wrong])  # where exons begin
            raise DataError(f"sequence {s}: the path has no gene of the model at position {position}")

    def _walked(self, nodes: Nodes, lefts: IntArray, rights: IntArray, n: int) -> Path:
        """The path of n positions of exons by their left and right nodes."""
        path = np.full(n, self.weights.n_columns - 1, np.int8)
        for k, (x, r) in enumerate(zip(lefts.tolist(), rights.tolist(), strict=True)):
            a, b, column = nodes.left_position[x], nodes.right_position[r], nodes.right_column[r]
            path[a:b] = column
            if nodes.left_closing[x] >= 0:
                before = nodes.right_position[rights[k - 1]]
                phase = sums.phase_of.py_func(nodes.left_mask[x])
                path[before:a] = self._intron_columns[column // 3, phase]
        return path

    def _path(self, shard: ExonShard, s: int, outputs: Path | None = None) -> Path:
        """That of a sequence."""
        paths = shard.paths if outputs is None else outputs
        return paths[shard.starts[s] : shard.starts[s + 1]]

    # --- scores -------------------------------------------------------------------------------------------

    def _scored(
        self,
        shard: ExonShard,
        spread: Array,
        cost: Array | None = None,
        evidence: Sequence[Evidence] | None = None,
    ) -> Iterator[ScoredSequence]:
        """Each sequence with its scores, by all weights by table."""
        weights = self.weights
        tables = {
            k: (
                weights.words(spread[k]),
                weights.part(spread[k], "edges"),
                *weights.length_scores(spread[k]),
            )
            for k in np.unique(shard.tables).tolist()
        }
        for s, (a, b) in enumerate(pairwise(shard.starts.tolist())):
            w, (table, edges, exons, introns) = spread[shard.tables[s]], tables[int(shard.tables[s])]
            nodes, extra = shard.nodes.of(s), np.zeros((0, len(weights.labels)), w.dtype)
            if weights.n_tracks or cost is not None:
                extra = shard.tracks[a:b] @ weights.part(w, "tracks").T
            if cost is not None:
                # Hamming costs of labels go into the emissions of each position, which makes cost-augmented
                # decoding the same recursion
                own = self.labels(shard.paths[a:b])[:, None]
                extra = extra + cost[s] * (np.arange(len(weights.labels)) != own)
            letters = emissions.Letters(shard.words[a:b], shard.reverse_words[a:b], extra)
            prefix = np.empty((b - a + 1, weights.n_columns), w.dtype)
            emissions.add_up(table, letters, weights.n_strands, weights.n_introns, prefix)
            sites = np.zeros(nodes.site_signal.size + 1, w.dtype)
            emissions.score_sites(nodes, letters, weights.around, w, sites)
            if evidence is not None:
                sites[:-1] += evidence[s].sites
                for strand in range(weights.n_strands):
                    # all frames of a strand gain alike, so that hints leave the frame open
                    gain = np.cumsum(evidence[s].coding[:, strand])
                    prefix[1:, 3 * strand : 3 * strand + 3] += gain[:, None]
            shortest, longest = self.rules.introns
            columns = self._intron_columns
            scores = Scores(prefix, sites, edges, exons, introns, _KINDS, columns, shortest, longest)
            yield ScoredSequence(b - a, nodes, letters, scores)

    def labels(self, path: Path) -> Array:
        """The label of each position of one sequence: a row of the tables of words."""
        # the base at t is number (t - column) mod 3 of its codon, and on the reverse strand number 2 less
        # that
        place, n_coding = (np.arange(path.size) - path) % 3, 3 * self.weights.n_strands
        coding = emissions.CODING + np.where(path < 3, place, 2 - place)
        intron = emissions.INTRON + (path - n_coding) % self.weights.n_introns
        between = path == self.weights.n_columns - 1
        return np.where(path < n_coding, coding, np.where(between, emissions.BETWEEN, intron))

    # --- features -----------------------------------------------------------------------------------------

    def features(
        self, shard: ExonShard, out: FloatArray, weights: FloatArray | None = None, outputs: Any = None
    ) -> None:
        factors = shard.weights if weights is None else weights
        # sums by table, of all weights: scales and deviations of these are gathered once, at the end
        totals = np.zeros_like(self._learned.spread(np.zeros(self.n_weights)))
        for s, sequence in enumerate(self._scored(shard, totals.copy())):
            nodes, path = sequence.nodes, self._path(shard, s, outputs)
            counts = sequence.no_counts()
            lefts, rights = path_nodes(self.weights, nodes, path)
            # 1 where a column emits a position; differences of that, as `Counts.cover` has them
            used = np.zeros((path.size + 2, self.weights.n_columns))
            used[np.arange(1, path.size + 1), path] = 1.0
            counts.cover[:] += np.diff(used, axis=0)
            np.add.at(counts.sites, nodes.left_site[lefts], 1.0)
            np.add.at(counts.sites, nodes.right_site[rights], 1.0)
            edges = nodes.right_edge[rights]
            np.add.at(counts.edges, edges[edges >= 0], 1.0)
            inner = lefts[nodes.left_closing[lefts] >= 0]
            phases = [sums.phase_of.py_func(mask) for mask in nodes.left_mask[inner].tolist()]
            np.add.at(counts.edges, np.array(phases, np.int64), 1.0)
            counts.edges[GENE] += lefts.size - inner.size
            sums.count_walk(nodes, sequence.scores, lefts, rights, counts.exons, counts.introns)
            self._add(shard, s, sequence, counts, factors[s], totals)
        self._learned.gather(totals, out)

    def feature_rows(self, shard: ExonShard, outputs: Any = None) -> scipy.sparse.csr_array:
        rows = [scipy.sparse.csr_array((0, self.n_weights))]
        for s in range(len(shard)):
            row, own = np.zeros(self.n_weights), None if outputs is None else self._path(shard, s, outputs)
            self.features(shard.take([s]), row, np.ones(1), own)
            rows.append(scipy.sparse.csr_array(row[None]))
        return scipy.sparse.csr_array(scipy.sparse.vstack(rows))

    def _add(
        self,
        shard: ExonShard,
        s: int,
        sequence: ScoredSequence,
        counts: Counts,
        factor: float,
        totals: Array,
        squared: bool = False,
    ) -> None:
        """Add counts of a sequence, `factor` times, to those of its table; of tracks squares if asked for."""
        weights, dtype, out = self.weights, totals.dtype, totals[shard.tables[s]]
        n_labels, n_words = len(weights.labels), weights.no_word
        table, running = np.zeros((n_labels, n_words + 1), dtype), np.empty(weights.n_columns, dtype)
        rows = np.zeros((sequence.n if weights.n_tracks else 0, n_labels), dtype)
        shape = weights.n_strands, weights.n_introns
        emissions.count_up(counts.cover, sequence.letters, *shape, factor, running, table, rows)
        weights.add_words(table, out)
        emissions.count_sites(sequence.nodes, sequence.letters, weights.around, counts.sites, factor, out)
        weights.part(out, "edges")[:] += factor * counts.edges
        weights.add_lengths(factor * counts.introns, factor * counts.exons, out)
        if weights.n_tracks:
            tracks = shard.tracks[shard.starts[s] : shard.starts[s + 1]]
            weights.part(out, "tracks")[:] += rows.T @ (tracks**2 if squared else tracks)

    def decoys(self, shard: ExonShard) -> FloatArray:
        """What is at all sites, as if each were one: windows and flanks alone are not zero."""
        found, nothing = np.zeros(len(self.weights)), np.zeros((1, len(self.weights)))
        for sequence, factor in zip(self._scored(shard, nothing), shard.weights.tolist(), strict=True):
            every = np.ones(sequence.nodes.site_signal.size)
            emissions.count_sites(sequence.nodes, sequence.letters, self.weights.around, every, factor, found)
        return found

    # --- sums ---------------------------------------------------------------------------------------------

    def log_partition(
        self,
        w: Array,
        shard: ExonShard,
        expected: Array | None = None,
        weights: Array | None = None,
        within: bool = False,
    ) -> Array:
        if within:
            raise self._cannot("within")
        return self._sums(w, shard, expected, shard.weights if weights is None else weights)

    def _sums(
        self, w: Array, shard: ExonShard, out: Array | None, factors: Array, squared: bool = False
    ) -> Array:
        """Log-partitions; expected features, or their squares use by use, are added to `out`."""
        spread, values = self._learned.spread(w), np.empty(len(shard), w.dtype)
        totals = np.zeros_like(spread)
        for s, sequence in enumerate(self._scored(shard, spread)):
            values[s], filled = self._forward(sequence)
            if out is not None:
                counts = self._backward(sequence, filled, values[s])
                self._add(shard, s, sequence, counts, factors[s], totals, squared)
        if out is not None:
            self._learned.gather(totals, out, squared)
        return values

    def _forward(self, sequence: ScoredSequence, is_best: bool = False) -> tuple[Any, Sums]:
        """The log-partition or the best score, which must be finite, and the sums that it is found by."""
        filled = sequence.no_sums()
        value = sums.forward(sequence.nodes, sequence.scores, sequence.n, filled, is_best)
        if not np.isfinite(value):
            raise DataError("the weights of the model are not finite")
        return value, filled

    def _backward(self, sequence: ScoredSequence, filled: Sums, value: Any) -> Counts:
        """Expected counts, by the sums of `_forward` and the log-partition."""
        counts = sequence.no_counts()
        sums.backward(sequence.nodes, sequence.scores, sequence.n, filled, value, counts)
        return counts

    def variance(self, w: FloatArray, shard: ExonShard) -> FloatArray:
        """Expected squares, use by use: a little more than variances, where features are rare."""
        # sum over uses j of p_j x_j^2, which is at least the variance sum_j p_j (1 - p_j) x_j^2 of uses that
        # are independent: words and sites are used once each, so squares matter for tracks and scales alone
        found = np.zeros(self.n_weights)
        self._sums(w, shard, found, shard.weights, squared=True)
        return found

    def marginals(
        self, w: FloatArray, shard: ExonShard, evidence: Sequence[Evidence] | None = None
    ) -> FloatArray:
        """The probability of each column at each position, shape (n_positions, n_columns)."""
        found = [np.empty((0, self.weights.n_columns))]
        for sequence in self._scored(shard, self._learned.spread(w), None, evidence):
            value, filled = self._forward(sequence)
            found.append(np.cumsum(self._backward(sequence, filled, value).cover, axis=0)[:-1])
        return np.concatenate(found)

    # --- decoding -----------------------------------------------------------------------------------------

    def best(
        self,
        w: FloatArray,
        shard: ExonShard,
        cost: FloatArray | None = None,
        evidence: Sequence[Evidence] | None = None,
    ) -> tuple[Path, FloatArray]:
        values, paths = np.empty(len(shard)), np.empty(shard.n_parts, np.int8)
        for s, sequence in enumerate(self._scored(shard, self._learned.spread(w), cost, evidence)):
            nodes, part = sequence.nodes, slice(shard.starts[s], shard.starts[s + 1])
            # exons of the best set do not overlap: marked nodes in the order of positions are pairs
            left, right = np.zeros(nodes.left_position.size, bool), np.zeros(nodes.right_position.size, bool)
            values[s], filled = self._forward(sequence, is_best=True)
            sums.trace_best(nodes, sequence.scores, filled, left, right)
            lefts = nodes.left_order[left[nodes.left_order]]
            paths[part] = self._walked(nodes, lefts, np.flatnonzero(right), sequence.n)
        return paths, values

    def cost(self, shard: ExonShard, outputs: Path) -> FloatArray:
        """The number of positions with another label."""
        found = []
        # the Hamming distance of labels, which do not tell strands apart
        for a, b in pairwise(shard.starts.tolist()):
            found.append(np.sum(self.labels(shard.paths[a:b]) != self.labels(outputs[a:b])))
        return np.array(found, np.float64)


def _joined(parts: Sequence[Array], dtype: Any) -> Array:
    """Parts one after the other, as `dtype`; nothing of no parts."""
    return np.concatenate([*parts, np.empty(0, dtype)], dtype=dtype, casting="unsafe")
