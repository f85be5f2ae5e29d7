"""What some weights make of encoded sequences: the scores that kernels read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from structune.genes.eukaryotes.kernels import emissions
from structune.genes.eukaryotes.kernels.nodes import TYPES, Counts, Nodes, Scores
from structune.genes.eukaryotes.structure.nodes import SIGNALS
from structune.genes.eukaryotes.structure.paths import Path
from structune.genes.eukaryotes.structure.shard import ExonShard
from structune.genes.eukaryotes.structure.weights import ExonWeights
from structune.structure import Array, FloatArray, IntArray

_KINDS = np.array(  # of exons by strand, and whether their left and right ends are those of a gene
    [[[2, 3], [1, 0]], [[2, 1], [3, 0]]]
)


class ScoredSequence(NamedTuple):
    """A sequence of a shard, with the scores that some weights give it."""

    n: int
    nodes: Nodes
    letters: emissions.Letters
    sites: emissions.Sites
    scores: Scores

    def no_counts(self, dtype: Any) -> Counts:
        """Zeros, to count what is used."""
        scores, nodes = self.scores, self.nodes
        n_openings, n_closings = nodes.opening_position.size, nodes.closing_position.size
        return Counts(
            cover=np.zeros(scores.prefix.shape, dtype),
            sites=np.zeros(scores.sites.shape, dtype),
            edges=np.zeros(scores.edges.shape, dtype),
            exons=np.zeros(scores.exons.shape, dtype),
            introns=np.zeros(scores.introns.shape, dtype),
            left=np.zeros(nodes.left_position.size, dtype),
            opened=np.zeros((n_openings, TYPES), dtype),
            closed=np.zeros((n_closings, TYPES), dtype),
        )


class Evidence(NamedTuple):
    """What else is known of a sequence: logs that are added at each of its sites, and to each base that is
    coding, by strand, shape (n_positions, 2)."""

    sites: FloatArray
    coding: FloatArray


class SequenceScores:
    """Scores of sequences by weights of a model."""

    def __init__(self, weights: ExonWeights) -> None:
        self.weights = weights
        n_strands, n_introns = weights.n_strands, weights.n_introns
        # columns: 3 coding ones a strand, then introns by strand, and by phase if they emit differently, and
        # last what is between genes; labels are rows of tables, which both strands share
        phases = np.arange(3) if n_introns > 1 else np.zeros(3, np.int64)
        self.intron_columns = 3 * n_strands + phases + n_introns * np.arange(2)[:, None] * (n_strands - 1)
        columns = range(weights.n_columns)
        rows = [emissions.row_of.py_func(c, 0, n_strands, n_introns, weights.n_columns)[0] for c in columns]
        self._rows = np.array(rows)

    def of(
        self,
        shard: ExonShard,
        w: Array,
        cost: Array | None = None,
        evidence: Sequence[Evidence] | None = None,
    ) -> Iterator[ScoredSequence]:
        """Each sequence with its scores; `w` are all weights by table."""
        weights, layout, none = self.weights, self._window_layout, self.weights.no_word
        tables = {
            k: (
                weights.words(w[k]),
                weights.window_table(w[k]),
                weights.flank_table(w[k]),
                weights.part(w[k], "edges"),
                weights.exon_scores(w[k]),
                weights.intron_scores(w[k]),
            )
            for k in np.unique(shard.tables).tolist()
        }
        for s, (a, b) in enumerate(pairwise(shard.starts.tolist())):
            n, own, k = b - a, shard.nodes.of(s), int(shard.tables[s])
            table, windows, flanks, edges, exons, introns = tables[k]
            sites = emissions.Sites(own["site_signal"], own["site_position"], own["site_reverse"], *layout)
            known = None if evidence is None else evidence[s]
            letters = emissions.Letters(
                shard.words[a:b], shard.reverse_words[a:b], self._extra(shard, s, w[k], cost)
            )
            prefix = np.empty((n + 1, weights.n_columns), w.dtype)
            emissions.add_up(table, letters, weights.n_strands, weights.n_introns, prefix)
            of_sites = np.zeros(sites.signal.size + 1, w.dtype)
            emissions.score_sites(sites, letters, none, windows, of_sites)
            emissions.score_flanks(
                self._flanks, sites, letters, none, flanks, np.empty(n + 1, w.dtype), of_sites
            )
            if known is not None:
                of_sites[:-1] += known.sites
                for strand in range(weights.n_strands):
                    # all frames of a strand gain alike, so that hints leave the frame open
                    sums = np.cumsum(known.coding[:, strand])
                    prefix[1:, 3 * strand : 3 * strand + 3] += sums[:, None]
            columns = self.intron_columns, *self.weights.rules.introns
            scores = Scores(prefix, of_sites, edges, exons, introns, _KINDS, *columns)
            yield ScoredSequence(n, nodes_of(own), letters, sites, scores)

    def count_sites(self, sequence: ScoredSequence, used: Array, factor: float, out: Array) -> None:
        """Add what is in windows and flanks of sites, by how often each is used, to sums by weight."""
        sites, letters, none = sequence.sites, sequence.letters, self.weights.no_word
        emissions.count_sites(sites, letters, none, used, factor, self.weights.window_table(out))
        running = np.empty(sequence.n + 1, out.dtype)
        table = self.weights.flank_table(out)
        emissions.count_flanks(self._flanks, sites, letters, none, used, factor, running, table)

    @cached_property
    def _window_layout(self) -> tuple[IntArray, ...]:
        """As `Sites` has it: of each signal the first place of its window, width, words, and place."""
        n_words, first, found = 4 ** (self.weights.window_order + 1), 0, []
        for name in SIGNALS:
            a, b = self.weights.windows.get(name, (0, 0))
            found.append((a, b - a, n_words, first))
            first += (b - a) * n_words
        return tuple(np.array(column) for column in zip(*found, strict=True))

    @cached_property
    def _flanks(self) -> emissions.Flanks:
        known = [
            (SIGNALS.index(name), a, b)
            for name, ends in self.weights.flanks.items()
            for a, b in pairwise(ends)
        ]
        signal, first, last = np.array(known, np.int64).reshape(-1, 3).T.copy()
        return emissions.Flanks(signal, first, last, self.weights.flank_words, self.weights.n_strands)

    def _extra(self, shard: ExonShard, s: int, w: Array, cost: Array | None) -> Array:
        """Of tracks and costs, by position and label."""
        n_labels, part = len(self.weights.labels), slice(shard.starts[s], shard.starts[s + 1])
        if not self.weights.n_tracks and cost is None:
            return np.zeros((0, n_labels), w.dtype)
        found = shard.tracks[part] @ self.weights.part(w, "tracks").T
        # Hamming costs of labels go into the emissions of each position, which makes cost-augmented decoding
        # the same recursion
        if cost is not None:
            own = self.labels(shard.paths[part], shard.starts[s + 1] - shard.starts[s])
            found = found + cost[s] * (np.arange(n_labels) != own[:, None])
        return found

    def labels(self, path: Path, n: int) -> Array:
        """The label of each position of one sequence."""
        # the base at t is number (t - column) mod 3 of its codon, and on the reverse strand number 2 less
        # that
        n_coding = 3 * self.weights.n_strands
        place = (np.arange(n) - path) % 3
        coding = emissions.CODING + np.where(path < 3, place, 2 - place)
        return np.where(path < n_coding, coding, self._rows[path])


def nodes_of(arrays: dict[str, Array]) -> Nodes:
    """Those of a sequence, as kernels read them."""
    return Nodes(**{name: arrays[name] for name in Nodes._fields})
