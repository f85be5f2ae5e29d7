"""Sets of genes without introns, as a conditional random field over a graph of their candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.nucleotides import Letters, encode_letters
from structune.genes.prokaryotes.kernels import orf_graph as kernels
from structune.genes.prokaryotes.structure import candidates
from structune.genes.prokaryotes.structure.candidates import CANDIDATES, Gene, OrfRules, OrfShard
from structune.structure import Array, FloatArray, Groups, Structure, check_weights

Chosen = NDArray[np.int8]
_NEIGHBOURS = ("same strand", "convergent", "divergent")
# overlaps of 4 bases, as in ATGA, and of 1, as in TAATG, have bins of their own: operons have many
_GAPS = np.array([-60, -28, -8, -4, -3, -1, 0, 5, 15, 30, 60, 100, 200])


class OrfGraph(Structure):
    """Structure over all sets of candidate genes on both strands.

    An output marks the candidates that are genes. A candidate is a start codon with the next stop codon in
    its frame. Neighboring genes overlap by no more than `rules` allow.

    Parameters
    ----------
    rules : OrfRules
        Genetic code, shortest gene and largest overlap.
    """

    name = "orf-graph"
    capabilities = frozenset({"log_partition", "best", "cost", "complex", "marginals"})

    def __init__(self, rules: OrfRules) -> None:
        # the least distance of each bin, rising; and the bin of each from the largest overlap to what is far
        inside = (-rules.overlap < _GAPS) & (rules.far > _GAPS)
        gap_starts = np.concatenate(([-rules.overlap], _GAPS[inside], [rules.far]))
        self.rules = rules
        self.gap_bins = np.searchsorted(gap_starts, np.arange(-rules.overlap, rules.far), side="right") - 1
        gaps = [f"{kind} {start}" for kind in _NEIGHBOURS for start in gap_starts]
        self._labels = {**self._word_labels(), **candidates.SIGNALS, "gaps": gaps}
        ends = np.cumsum([len(labels) for labels in self._labels.values()]).tolist()
        self._slices = dict(zip(self._labels, map(slice, [0, *ends], ends), strict=False))
        first = self._slices["starts"].start
        self._signals = slice(first, first + candidates.UNKNOWN)

    def _word_labels(self) -> dict[str, list[str]]:
        """Names of the weights of words, by group: those of codons, and of words of two, by number."""
        groups = {"codons": candidates.CODON, "hexamers": candidates.WORD}
        return {
            name: ["".join(word) for word in product(candidates.BASES, repeat=n)]
            for name, n in groups.items()
        }

    @property
    def n_weights(self) -> int:
        return int(self._slices["gaps"].stop)

    def weight_names(self) -> list[str]:
        return [f"{group}: {label}" for group, labels in self._labels.items() for label in labels]

    def groups(self) -> Groups:
        return Groups.by_name([group for group, labels in self._labels.items() for _ in labels])

    def part(self, w: Array, name: str) -> Array:
        """Return a view of those of the weights `w` that belong to the group `name`, such as "codons"."""
        return w[self._slices[name]]

    # --- encoding -----------------------------------------------------------------------------------------

    def encode(
        self,
        inputs: Sequence[str],
        outputs: Sequence[Iterable[Gene]] | None = None,
        weights: Any = None,
        is_open: bool = False,
    ) -> OrfShard:
        """Encode sequences as a shard.

        Parameters
        ----------
        inputs : list of str
            Nucleotides in upper or lower case; U counts as T, other IUPAC codes as N.
        outputs : list of lists of (int, int, str), optional
            Start, end (0-based, half-open) and strand of the genes of each sequence.
        weights : array-like, shape (n_sequences,), optional
            Weight of each sequence in training; 1 by default.
        is_open : bool
            Whether genes may continue beyond the ends of a sequence.

        Raises
        ------
        DataError
            A sequence or gene cannot be used. The message names the sequence, and the position or gene.
        """
        letters = [encode_letters(text, f"sequence {s}") for s, text in enumerate(inputs)]
        shard = self.of_letters(letters, is_open, check_weights(weights, len(letters)))
        if outputs is None:
            return shard
        shard = replace(shard, chosen=np.zeros(len(shard.bounds), np.int8))
        for s, genes in enumerate(outputs):
            candidates.mark_genes(shard, s, genes, f"sequence {s}", shard.chosen)
        self._count_gaps(shard, shard.chosen, np.ones(len(shard)), check=True)
        return shard

    def of_letters(self, letters: Sequence[Letters], is_open: bool, weights: Any = None) -> OrfShard:
        """Encode sequences without outputs as a shard; `letters` are arrays from `encode_letters`."""
        weights = np.ones(len(letters)) if weights is None else weights
        return candidates.encode_frames(letters, self.rules, is_open, weights)

    def check_shard(self, shard: OrfShard) -> None:
        shard.check(self.rules)
        self._count_gaps(shard, shard.chosen, np.ones(len(shard)), check=True)

    # --- features -----------------------------------------------------------------------------------------

    def features(
        self, shard: OrfShard, out: FloatArray, weights: FloatArray | None = None, outputs: Any = None
    ) -> None:
        chosen = shard.chosen if outputs is None else outputs
        factors = shard.weights if weights is None else weights
        gaps = self._count_gaps(shard, chosen, factors)
        self._add(shard, chosen * shard.by_candidate(factors), gaps, out)

    def feature_rows(self, shard: OrfShard, outputs: Any = None) -> scipy.sparse.csr_array:
        chosen = shard.chosen if outputs is None else outputs
        rows = [scipy.sparse.csr_array((0, self.n_weights))]
        for s in range(len(shard)):
            row = np.zeros(self.n_weights)
            self.features(shard.take([s]), row, np.ones(1), chosen[shard.part(s, CANDIDATES)])
            rows.append(scipy.sparse.csr_array(row[None]))
        return scipy.sparse.csr_array(scipy.sparse.vstack(rows))

    def _add(self, shard: Any, used: Array, gaps: Array, out: Array) -> None:
        """Add the features of candidates, as often as they are `used`, and those of gaps, to `out`."""
        self.part(out, "gaps")[:] += gaps.ravel()
        self._add_words(shard, used, out)
        signals = np.zeros(candidates.UNKNOWN + 1, out.dtype)
        kernels.count_signals(shard.signals, used, signals)
        out[self._signals] += signals[:-1]

    def _add_words(self, shard: Any, used: Array, out: Array) -> None:
        counts = np.zeros(4**candidates.WORD + 1, out.dtype)
        kernels.count_words(shard.frames, used, counts)
        words = counts[:-1].reshape(4**candidates.CODON, 4**candidates.CODON)
        self.part(out, "hexamers")[:] += words.ravel()
        self.part(out, "codons")[:] += words.sum(axis=0)

    def _count_gaps(
        self, shard: OrfShard, chosen: Chosen, factors: FloatArray, check: bool = False
    ) -> FloatArray:
        """Sums over gaps between genes; a check refuses those that overlap too much."""
        # genes by their left ends, and pairs of those that are next to each other in one sequence
        genes, sequence = np.flatnonzero(chosen), shard.by_candidate(np.arange(len(shard)))
        genes = genes[np.lexsort((shard.reverse[genes], shard.bounds[genes, 0], sequence[genes]))]
        together = np.flatnonzero(np.diff(sequence[genes]) == 0)
        before, after = genes[together], genes[together + 1]
        distances = shard.bounds[after, 0] - shard.bounds[before, 1] + self.rules.overlap
        if check and np.any(distances < 0):
            wrong = after[np.argmax(distances < 0)]
            start, end = shard.bounds[wrong].tolist()
            raise DataError(
                f"sequence {sequence[wrong]}: the gene at {start}-{end} overlaps the one before it by more "
                f"than {self.rules.overlap} bases"
            )
        bins, counts = self.gap_bins, np.zeros(self.gaps().scores.shape)
        strands = shard.reverse[before], shard.reverse[after]
        kinds = np.where(strands[0] == strands[1], 0, 1 + strands[0])
        of_pairs = np.append(bins, counts.shape[1] - 1)[np.clip(distances, 0, bins.size)]
        np.add.at(counts, (kinds, of_pairs), factors[sequence[before]])
        return counts

    # --- scores -------------------------------------------------------------------------------------------

    def gaps(self, w: Array | None = None) -> kernels.Gaps:
        """Return the scores of neighboring genes, by strands and distance; all are zero without `w`."""
        w = np.zeros(self.n_weights) if w is None else w
        scores = self.part(w, "gaps").reshape(len(_NEIGHBOURS), -1)
        return kernels.Gaps(self.rules.overlap, self.gap_bins, scores)

    def _scores(self, w: Array, shard: Any) -> Array:
        scores = self._word_scores(w, shard)
        kernels.score_signals(np.append(w[self._signals], 0.0), shard.signals, scores)  # 0: of the unknown
        return scores

    def _word_scores(self, w: Array, shard: Any) -> Array:
        # A word of two codons scores by itself and by its second codon, on which rare words fall back. The
        # first codon is the second of the word before. A word with an unknown base scores 0.
        words = self.part(w, "hexamers").reshape(4**candidates.CODON, 4**candidates.CODON) + self.part(
            w, "codons"
        )
        scores = np.zeros(len(shard.bounds), w.dtype)
        kernels.score_words(shard.frames, np.append(words.ravel(), 0.0), scores)
        return scores

    # --- sums ---------------------------------------------------------------------------------------------

    def _log_partition(
        self, w: Array, shard: OrfShard, expected: Array | None, weights: FloatArray, within: bool
    ) -> Array:
        values, used, gaps = self._sums(w, shard, weights)
        if expected is not None:
            self._add(shard, used, gaps, expected)
        return values

    def _sums(self, w: Array, shard: OrfShard, factors: FloatArray) -> tuple[Array, Array, Array]:
        """Log partition functions, and the probabilities of candidates and counts of gaps, times factors."""
        gaps, scores = self.gaps(w), self._scores(w, shard)
        values, used, counts = (
            np.empty(len(shard), w.dtype),
            np.zeros_like(scores),
            np.zeros_like(gaps.scores),
        )
        kernels.sum_sets(*shard.ends, gaps, scores, factors, values, used, counts)
        return values, used, counts

    def variance(self, w: FloatArray, shard: OrfShard) -> FloatArray:
        """Return an upper bound of each feature's variance, as if its uses were independent."""
        # E[F_k^2] is E[F_k] for a feature that is used at most once; of words, which are used oftener, the
        # sum of the squares of single uses is taken, as if uses were independent. It scales and preconditions
        # only.
        found = np.zeros(self.n_weights)
        self.log_partition(w, shard, found)
        return found

    def marginals(self, w: FloatArray, shard: OrfShard) -> FloatArray:
        """Return the probability that each candidate is a gene, shape (n_candidates,)."""
        return self._sums(w, shard, np.ones(len(shard)))[1]

    # --- decoding -----------------------------------------------------------------------------------------

    def best(
        self, w: FloatArray, shard: OrfShard, cost: FloatArray | None = None
    ) -> tuple[Chosen, FloatArray]:
        scores, gaps, values = self._scores(w, shard), self.gaps(w), np.empty(len(shard))
        base: FloatArray | float = 0.0
        if cost is not None:
            # the cost is a sum over candidates, so loss-augmented decoding is decoding with other scores
            of_none, each = self._costs(shard)
            scores, base = scores + shard.by_candidate(cost) * each, cost * of_none
        chosen = np.zeros(scores.size, np.int8)
        kernels.best(*shard.ends, gaps, scores, chosen, values)
        return chosen, values + base

    def cost(self, shard: OrfShard, outputs: Chosen) -> FloatArray:
        """Return the number of wrong and missing starts and stops of each sequence, shape (n_sequences,)."""
        base, each = self._costs(shard)
        return base + _sums_by_sequence(shard, outputs * each)

    def _costs(self, shard: OrfShard) -> tuple[FloatArray, FloatArray]:
        """What an empty set costs, and what each candidate adds."""
        # The cost is the size of the symmetric difference of two sets of starts and stops. An empty set
        # misses 2 ends of each gene. A candidate adds its start and its stop, unless they are a gene's: then
        # it takes away 1 in place of adding 1. All candidates of a frame have its stop, and a set has at most
        # one of them.
        each = 2.0 - 2.0 * shard.chosen - 2.0 * shard.frame_sums(shard.chosen)
        return 2.0 * _sums_by_sequence(shard, shard.chosen), each


def _sums_by_sequence(shard: OrfShard, values: Array) -> FloatArray:
    sums = np.concatenate(([0.0], np.cumsum(values)))
    return np.asarray(np.diff(sums[shard.offsets[CANDIDATES]]))
