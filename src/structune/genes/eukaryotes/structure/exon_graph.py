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
from structune.genes.eukaryotes.kernels.nodes import EDGES, GENE, TYPES, Counts, Nodes, Scores, Sums
from structune.genes.eukaryotes.structure.shard import (
    ExonShard,
    NodeArrays,
    Path,
    find_nodes,
    path_nodes,
    wrong_exon,
)
from structune.genes.eukaryotes.structure.weights import ExonWeights, Scaling
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
    place_of,
)

_KINDS = np.array(  # of exons by strand, and whether their left and right ends are those of a gene
    [[[2, 3], [1, 0]], [[2, 1], [3, 0]]]
)


class Evidence(NamedTuple):
    """What else is known of a sequence: logs that are added at each of its sites, and to each base that is
    coding, by strand, shape (n_positions, 2)."""

    sites: FloatArray
    coding: FloatArray


def checked_track(track: Any, name: str, n: int, n_tracks: int | None = None) -> FloatArray:
    """Numbers that come with each base of a sequence; by default of any number of tracks."""
    try:
        values = np.asarray(track, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name}: the tracks {track!r:.60} are not an array of numbers") from None
    if n_tracks is None:
        n_tracks = values.shape[-1] if values.ndim else 0
    if values.shape != (n, n_tracks):
        raise DataError(f"{name}: the tracks have the shape {values.shape}, but must have {(n, n_tracks)}")
    if not np.isfinite(values).all():
        raise DataError(f"{name}: the tracks contain NaN or infinite numbers")
    return values


class NodeColumns(NamedTuple):
    """What begins and ends at the nodes of a sequence: places of columns in a flat array of positions by
    columns, and the edges of left nodes."""

    edges: IntArray
    begins: IntArray  # at left nodes: the column of their exons
    before: IntArray  # and what ends there: an intron, or what is between genes
    ends: IntArray  # at right nodes: the column of their exons
    after: IntArray  # and what begins there


class ScoredSequence(NamedTuple):
    """A sequence of a shard, with the scores that some weights, those of a table, give it."""

    table: int
    tracks: FloatArray
    nodes: Nodes
    columns: NodeColumns
    letters: emissions.Letters
    scores: Scores

    def no_counts(self) -> Counts:
        scores, openings, closings = self.scores, self.nodes.opening_position, self.nodes.closing_position
        shapes = (of.shape for of in (scores.left, scores.right, scores.exons, scores.introns))
        types = (openings.size, TYPES), (closings.size, TYPES)
        return Counts(*(np.zeros(shape, scores.left.dtype) for shape in (*shapes, *types)))

    def forward(self, is_best: bool = False) -> tuple[Any, Sums]:
        """The log-partition or the best score, which must be finite, and the sums that it is found by."""
        left, right, _, _, opened, closed = self.no_counts()
        filled = Sums(left, right, opened, closed, np.zeros_like(closed))
        value = sums.forward(self.nodes, self.scores, filled, is_best)
        if not np.isfinite(value):
            raise DataError("the weights of the model are not finite")
        return value, filled

    def backward(self, value: Any, filled: Sums) -> Counts:
        """Expected counts, by what `forward` returned."""
        counts = self.no_counts()
        sums.backward(self.nodes, self.scores, filled, value, counts)
        return counts

    def exon_places(self, lefts: Any, rights: Any) -> tuple[Array, Array]:
        """Kinds of exons by their nodes, and the places of their lengths."""
        nodes = self.nodes
        outer = 1 * (nodes.left_closing[lefts] < 0), 1 * (nodes.right_opening[rights] < 0)
        lengths = nodes.right_position[rights] - nodes.left_position[lefts]
        longest = self.scores.exons.shape[1] - 1
        return _KINDS[nodes.right_column[rights] // 3, *outer], np.minimum(lengths, longest)

    def intron_places(self, lengths: Array) -> Array:
        return np.asarray(np.minimum(lengths - self.scores.shortest, self.scores.introns.size - 1))

    def best_exons(self, filled: Sums) -> tuple[IntArray, IntArray]:
        """The left and right nodes of the best set, from what `forward` filled for it."""
        # each maximum is found again among what it was taken of
        nodes, scores, found = self.nodes, self.scores, list[tuple[int, int]]()
        worth, outer = filled.right - scores.after, np.flatnonzero(nodes.right_opening < 0)
        # ends[k]: at which right node the best genes end of those before the k-th outer one; -1 for none
        best = np.maximum.accumulate(np.append(0.0, worth[outer]))
        ends = np.maximum.accumulate(np.append(-1, np.where(best[1:] > best[:-1], outer, -1)))
        # peaks: of the openings of a strand up to each, the best exit by type
        peaks = [np.maximum.accumulate(filled.exits[a:b]) for a, b in pairwise(nodes.strand_opening)]
        outer_positions, r = nodes.right_position[outer], int(ends[-1])
        while r >= 0:
            some = np.arange(nodes.right_first[r], nodes.right_last[r])
            x = int(some[np.argmax(filled.left[some] + scores.exons[self.exon_places(some, r)])])
            found.append((x, r))
            c, strand = nodes.left_closing[x], nodes.left_column[x] // 3
            if c < 0:
                r = int(ends[np.searchsorted(outer_positions, nodes.left_position[x])])
                continue
            types = np.flatnonzero(nodes.left_mask[x] >> np.arange(TYPES) & 1)
            k = types[np.argmax(filled.entries[c, types])]
            first, last = nodes.strand_opening[strand : strand + 2]
            # those before `near` are farther away than the longest that is scored: they share a score
            limits = nodes.closing_position[c] - np.array([scores.longest, scores.shortest - 1], np.int32)
            near, end = np.searchsorted(nodes.opening_position[first:last], limits)
            peak = peaks[strand][:near, k]
            far = np.searchsorted(peak, peak[-1:])  # the first that has the best exit of them, or none
            some = first + np.append(far, np.arange(near, end))
            places = self.intron_places(nodes.closing_position[c] - nodes.opening_position[some])
            o = some[np.argmax(filled.exits[some, k] + scores.introns[places])]
            # right nodes of an opening are at its position
            place = nodes.opening_position[o]
            some = np.arange(*np.searchsorted(nodes.right_position, [place, place + 1]))
            some = some[(nodes.right_opening[some] == o) & (nodes.right_mask[some] >> k & 1 > 0)]
            r = int(some[np.argmax(worth[some])])
        lefts, rights = np.array(found[::-1], np.int64).reshape(-1, 2).T
        return lefts, rights


class ExonGraph(Structure):
    """Structure over all sets of genes with introns on a sequence.

    An output is a path: an array with the hidden state of each position, called its column. Columns are the
    frames of coding bases and the types of introns on each strand, and the bases between genes.

    Parameters
    ----------
    weights : ExonWeights
        The weights of words of bases, signals, lengths and tracks.
    scaling : Scaling, optional
        If given, training fits scales of tables and deviations from them, in place of all weights.
    """

    name = "exon-graph"
    capabilities = frozenset({"log_partition", "best", "cost", "complex", "marginals"})

    def __init__(self, weights: ExonWeights, scaling: Scaling | None = None) -> None:
        self.weights, self.rules, self.scaling = weights, weights.rules, scaling
        self._learned = weights if scaling is None else scaling
        # columns: 3 coding ones a strand, then introns by strand, and by phase if they emit differently, and
        # last what is between genes; labels are rows of tables, which both strands share
        n_strands, n_introns, n_coding = weights.n_strands, weights.n_introns, 3 * weights.n_strands
        by_strand = n_introns * np.arange(2)[:, None] * (n_strands - 1)
        self._intron_columns = n_coding + np.arange(3) * (n_introns > 1) + by_strand
        # the base at t is number (t - column) mod 3 of its codon, and on the reverse strand, where codons are
        # read from the right, number 2 less that
        place = (np.arange(3)[:, None] - np.arange(n_coding)) % 3
        coding = emissions.CODING + np.where(np.arange(n_coding) < 3, place, 2 - place)
        introns = np.tile(emissions.INTRON + np.arange(n_introns), n_strands)
        self._rows = np.column_stack([coding, np.tile([*introns, emissions.BETWEEN], (3, 1))])
        strands = np.arange(n_strands)
        self._is_reverse = np.concatenate([np.repeat(strands, 3), np.repeat(strands, n_introns), [0]]) > 0

    @property
    def n_weights(self) -> int:
        return len(self._learned)

    def weight_names(self) -> list[str]:
        return self._learned.names()

    def groups(self) -> Groups:
        return Groups.by_name([name.partition(":")[0] for name in self.weight_names()])

    def for_prediction(self) -> ExonGraph:
        """Return the graph without the tables that only training needs."""
        if self.scaling is None:
            return self
        return ExonGraph(self.weights, Scaling(self.weights, self.scaling.tables[:1].copy()))

    # --- encoding -----------------------------------------------------------------------------------------

    def encode(
        self, inputs: Sequence[Any], outputs: Sequence[Path] | None = None, weights: Any = None
    ) -> ExonShard:
        """Encode sequences as a shard.

        Parameters
        ----------
        inputs : list of str, or of (str, ndarray of shape (n_positions, n_tracks))
            Nucleotides in upper or lower case; U counts as T, other IUPAC codes as N.
        outputs : list of ndarray of int, shape (n_positions,), optional
            The column (hidden state) of each position.
        weights : array-like, shape (n_sequences,), optional
            Weight of each sequence in training; 1 by default.

        Raises
        ------
        DataError
            A sequence or an output cannot be used. The message names the sequence and the position.
        """
        pairs = [item if isinstance(item, tuple) else (item, None) for item in inputs]
        letters = [encode_letters(text, f"sequence {s}") for s, (text, _) in enumerate(pairs)]
        sizes = np.array([part.size for part in letters], np.int64)
        tracks = [
            checked_track(
                np.zeros((n, 0)) if track is None else track, f"sequence {s}", n, self.weights.n_tracks
            )
            for s, ((_, track), n) in enumerate(zip(pairs, sizes.tolist(), strict=True))
        ]
        own, reverse, nodes = self._read(letters)
        shard = ExonShard(
            check_weights(weights, len(pairs)),
            offsets_of(sizes),
            _joined(letters, np.int8),
            own,
            reverse,
            np.concatenate([*tracks, np.empty((0, self.weights.n_tracks))]),
            np.empty(0, np.int8) if outputs is None else self._paths(outputs, sizes),
            np.zeros(len(pairs), np.int8),
            nodes,
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
        own, reverse, nodes = self._read([shard.letters[a:b] for a, b in pairwise(shard.starts.tolist())])
        for position in np.flatnonzero((own != shard.words) | (reverse != shard.reverse_words))[:1].tolist():
            s, _ = place_of(position, shard.sizes())
            raise DataError(f"sequence {s}: the words do not match its letters")
        for name, expected in vars(nodes).items():
            found = getattr(shard.nodes, name)
            if not (found.dtype == expected.dtype and np.array_equal(found, expected)):
                raise DataError(f"the {name} do not match the bases of the sequences")
        self._check_paths(shard)

    def _read(self, letters: Sequence[NDArray[np.int8]]) -> tuple[Array, Array, NodeArrays]:
        """What follows from the letters of sequences: words of both strands, joined, and nodes."""
        both = [np.empty((2, part.size), np.int16) for part in letters]
        for part, found in zip(letters, both, strict=True):
            words(part, self.weights.word_length, *found)
        own, reverse = np.concatenate([*both, np.empty((2, 0), np.int16)], axis=1)
        return own, reverse, NodeArrays.joined([find_nodes(part, self.rules) for part in letters])

    def _paths(self, outputs: Sequence[Path], sizes: Array) -> Path:
        """The paths of all sequences, one after the other; refuses sizes and columns that are not theirs."""
        paths = [np.asarray(path) for path in outputs]
        if len(paths) != sizes.size:
            raise DataError(f"there are {len(paths)} paths, but {sizes.size} sequences")
        for s, (path, n) in enumerate(zip(paths, sizes.tolist(), strict=True)):
            if path.shape != (n,):
                raise DataError(f"sequence {s}: the path has the shape {path.shape}, but must have ({n},)")
            if path.size and not 0 <= path.min() <= path.max() < self.weights.n_columns:
                raise DataError(f"sequence {s}: columns must be from 0 to {self.weights.n_columns - 1}")
        return _joined(paths, np.int8)

    def _check_paths(self, shard: ExonShard) -> None:
        """Refuse paths that are no genes of the model."""
        for s in range(len(shard)):
            nodes, path = shard.nodes.of(s), self._path(shard, s)
            lefts, rights = path_nodes(self.weights, nodes, path)
            wrong = wrong_exon(nodes, lefts, rights, self.rules.introns[0])
            if wrong < 0:
                known = self._walked(self._columns_of(nodes), lefts, rights, path.size)
                differ = np.flatnonzero(known != path)
                if not differ.size:
                    continue
                position = int(differ[0])
            else:
                coding = np.append(False, path < 3 * self.weights.n_strands)
                position = int(np.flatnonzero(coding[1:] & ~coding[:-1])[wrong])  # where exons begin
            raise DataError(f"sequence {s}: the model cannot have a gene at base {position} (from 0)")

    def _columns_of(self, nodes: Nodes) -> NodeColumns:
        found, phases, n_columns = list[Any](), list[IntArray](), self.weights.n_columns
        left = nodes.left_position, nodes.left_column, nodes.left_mask, nodes.left_closing
        right = nodes.right_position, nodes.right_column, nodes.right_mask, nodes.right_opening
        for position, column, mask, splice in (left, right):
            # bit 0 is the type of phase 0, bits 1 to 3 (14) are those of phase 1, the others of phase 2
            phases.append(np.where(mask & 1, 0, np.where(mask & 14, 1, 2)))
            beyond = np.where(splice < 0, n_columns - 1, self._intron_columns[column // 3, phases[-1]])
            first = position.astype(np.int64) * n_columns
            found += first + column, first + beyond
        return NodeColumns(np.where(nodes.left_closing < 0, GENE, phases[0]), *found)

    def _walked(self, columns: NodeColumns, lefts: IntArray, rights: IntArray, n: int) -> Path:
        """The path of n positions of exons by their left and right nodes."""
        places = np.stack([columns.begins[lefts], columns.after[rights]], 1).ravel()
        positions, begun = np.divmod(places, self.weights.n_columns)
        sizes = np.diff(np.concatenate([[0], positions, [n]]))
        return np.repeat(np.append(self.weights.n_columns - 1, begun).astype(np.int8), sizes)

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
            k: (weights.words(w), weights.part(w, "edges"), *weights.length_scores(w))
            for k, w in ((k, spread[k]) for k in np.unique(shard.tables).tolist())
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
            emitted = shard.words[a:b], shard.reverse_words[a:b], extra
            letters = emissions.Letters(*emitted, self._rows, self._is_reverse, weights.n_strands)
            prefix = np.zeros((b - a + 1, weights.n_columns), w.dtype)
            sites = np.zeros(nodes.site_signal.size + 1, w.dtype)
            if cost is not None or w.any():  # features alone need no scores
                emissions.add_up(table, letters, prefix)
                emissions.add_sites(nodes, letters, weights.around, sites, w, w[:0], 1.0)
            if evidence is not None:
                sites[:-1] += evidence[s].sites
                for strand in range(weights.n_strands):
                    # all frames of a strand gain alike, so that hints leave the frame open
                    gain = np.cumsum(evidence[s].coding[:, strand])
                    prefix[1:, 3 * strand : 3 * strand + 3] += gain[:, None]
            columns, flat = self._columns_of(nodes), prefix.ravel()
            left = sites[nodes.left_site] - flat[columns.begins] + edges[columns.edges] + flat[columns.before]
            right = flat[columns.ends] + sites[nodes.right_site] + np.append(edges, 0.0)[nodes.right_edge]
            of_nodes = left, right, flat[columns.after], prefix[-1, -1]
            scores = Scores(*of_nodes, exons, introns, _KINDS, *self.rules.introns)
            yield ScoredSequence(int(shard.tables[s]), shard.tracks[a:b], nodes, columns, letters, scores)

    def labels(self, path: Path) -> Array:
        """Return the label of each position of a path, as a place in `ExonWeights.labels`."""
        return np.asarray(self._rows[np.arange(path.size) % 3, path])

    # --- features -----------------------------------------------------------------------------------------

    def features(
        self, shard: ExonShard, out: FloatArray, weights: FloatArray | None = None, outputs: Any = None
    ) -> None:
        factors = shard.weights if weights is None else weights
        # sums by table, of all weights: scales and deviations of these are gathered once, at the end
        totals = np.zeros_like(self._learned.spread(np.zeros(self.n_weights)))
        for s, sequence in enumerate(self._scored(shard, totals.copy())):
            nodes, counts = sequence.nodes, sequence.no_counts()
            lefts, rights = path_nodes(self.weights, nodes, self._path(shard, s, outputs))
            counts.left[lefts] = counts.right[rights] = 1.0
            np.add.at(counts.exons, sequence.exon_places(lefts, rights), 1.0)
            lengths = nodes.left_position[lefts[1:]] - nodes.right_position[rights[:-1]]
            introns = lengths[nodes.left_closing[lefts[1:]] >= 0]
            np.add.at(counts.introns, sequence.intron_places(introns), 1.0)
            self._add(sequence, counts, factors[s], totals)
        self._learned.gather(totals, out)

    def feature_rows(self, shard: ExonShard, outputs: Any = None) -> scipy.sparse.csr_array:
        rows = [scipy.sparse.csr_array((0, self.n_weights))]
        for s in range(len(shard)):
            row, own = np.zeros(self.n_weights), None if outputs is None else self._path(shard, s, outputs)
            self.features(shard.take([s]), row, np.ones(1), own)
            rows.append(scipy.sparse.csr_array(row[None]))
        return scipy.sparse.csr_array(scipy.sparse.vstack(rows))

    def _add(
        self, sequence: ScoredSequence, counts: Counts, factor: float, totals: Array, squared: bool = False
    ) -> None:
        """Add counts of a sequence, `factor` times, to those of its table; of tracks squares if asked for."""
        weights, nodes, letters, dtype = self.weights, sequence.nodes, sequence.letters, totals.dtype
        out, n_labels = totals[sequence.table], len(weights.labels)
        table, uses = np.zeros((n_labels, weights.no_word + 1), dtype), self._uses(sequence, counts)
        rows = np.zeros((letters.word.size if weights.n_tracks else 0, n_labels), dtype)
        emissions.count_up(uses, letters, factor, table, rows)
        weights.add_words(table, out)
        sites, edges = np.zeros(nodes.site_signal.size + 1, dtype), np.zeros(len(EDGES) + 1, dtype)
        of_edges = edges, sequence.columns.edges, nodes.right_edge  # -1, the last, for none
        for found, of_left, of_right in ((sites, nodes.left_site, nodes.right_site), of_edges):
            np.add.at(found, of_left, counts.left)
            np.add.at(found, of_right, counts.right)
        emissions.add_sites(nodes, letters, weights.around, sites, out[:0], out, factor)
        weights.part(out, "edges")[:] += factor * edges[:-1]
        weights.add_lengths(factor * counts.introns, factor * counts.exons, out)
        if weights.n_tracks:
            values = sequence.tracks**2 if squared else sequence.tracks
            weights.part(out, "tracks")[:] += rows.T @ values

    def _uses(self, sequence: ScoredSequence, counts: Counts) -> Array:
        """How often each column emits each position, by how often nodes are used; and one position more."""
        # sums of differences from one position to the next: columns begin and end at nodes
        changes = np.zeros((sequence.letters.word.size + 1, self.weights.n_columns), counts.left.dtype)
        changes[0, -1], flat, columns = 1.0, changes.ravel(), sequence.columns
        np.add.at(flat, columns.begins, counts.left)
        np.subtract.at(flat, columns.before, counts.left)
        np.subtract.at(flat, columns.ends, counts.right)
        np.add.at(flat, columns.after, counts.right)
        return np.cumsum(changes, axis=0, out=changes)

    def decoys(self, shard: ExonShard) -> FloatArray:
        """Return the features of all possible sites together; only windows and flanks are not zero."""
        found, nothing = np.zeros(len(self.weights)), np.zeros((1, len(self.weights)))
        for sequence, factor in zip(self._scored(shard, nothing), shard.weights.tolist(), strict=True):
            every, around = np.ones(sequence.nodes.site_signal.size + 1), self.weights.around
            emissions.add_sites(sequence.nodes, sequence.letters, around, every, found[:0], found, factor)
        return found

    # --- sums ---------------------------------------------------------------------------------------------

    def _log_partition(
        self, w: Array, shard: ExonShard, expected: Array | None, weights: FloatArray, within: bool
    ) -> Array:
        return self._sums(w, shard, expected, weights)

    def _sums(
        self, w: Array, shard: ExonShard, out: Array | None, factors: Array, squared: bool = False
    ) -> Array:
        """Log-partitions; expected features, or their squares use by use, are added to `out`."""
        spread, values = self._learned.spread(w), np.empty(len(shard), w.dtype)
        totals = np.zeros_like(spread)
        for s, sequence in enumerate(self._scored(shard, spread)):
            values[s], filled = sequence.forward()
            if out is not None:
                self._add(sequence, sequence.backward(values[s], filled), factors[s], totals, squared)
        if out is not None:
            self._learned.gather(totals, out, squared)
        return values

    def variance(self, w: FloatArray, shard: ExonShard) -> FloatArray:
        """Return an upper bound of each feature's variance, as if its uses were independent."""
        # sum over uses j of p_j x_j^2, which is at least the variance sum_j p_j (1 - p_j) x_j^2 of uses that
        # are independent: words and sites are used once each, so squares matter for tracks and scales alone
        found = np.zeros(self.n_weights)
        self._sums(w, shard, found, shard.weights, squared=True)
        return found

    def marginals(
        self, w: FloatArray, shard: ExonShard, evidence: Sequence[Evidence] | None = None
    ) -> FloatArray:
        """Return the probabilities of hidden states (columns), shape (n_positions, n_columns)."""
        found = [np.empty((0, self.weights.n_columns))]
        for sequence in self._scored(shard, self._learned.spread(w), None, evidence):
            found.append(self._uses(sequence, sequence.backward(*sequence.forward()))[:-1])
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
            values[s], filled = sequence.forward(is_best=True)
            walked = self._walked(sequence.columns, *sequence.best_exons(filled), sequence.letters.word.size)
            paths[shard.starts[s] : shard.starts[s + 1]] = walked
        return paths, values

    def cost(self, shard: ExonShard, outputs: Path) -> FloatArray:
        """Return the number of positions with a wrong label in each sequence, shape (n_sequences,)."""
        # the Hamming distance of labels, which do not tell strands apart
        parts = pairwise(shard.starts.tolist())
        found = [np.sum(self.labels(shard.paths[a:b]) != self.labels(outputs[a:b])) for a, b in parts]
        return np.array(found, np.float64)


def _joined(parts: Sequence[Array], dtype: Any) -> Array:
    """Parts one after the other, as `dtype`; nothing of no parts."""
    return np.concatenate([*parts, np.empty(0, dtype)], dtype=dtype, casting="unsafe")
