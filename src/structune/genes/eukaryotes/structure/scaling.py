"""Weights that scale tables of log odds: what is counted in annotated genes, and how much each kind counts.

A gene model of thousands of words has too few genes to learn each by its own. So the words, the bases around
signals and the lengths are counted, as in a hidden Markov model, and what is learned is by how much each kind
counts, and how signals and lengths deviate. Examples that are learned from are scored by tables that they
were not counted for: by those that they were, words would look better than they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from structune.genes.eukaryotes.structure.weights import ExonWeights
from structune.structure import Array, FloatArray, IntArray

_GENE_EVERY = 3000  # bases between genes, of which nothing is counted: flanks are cut
_LONG_TAIL = 1000  # lengths of introns beyond the longest scored are spread over so many
_OF_WORDS, _OF_WINDOWS, _OF_LENGTHS = 256.0, 5.0, 0.5  # counts that smooth others
_SPLIT = -6.0  # log odds of a start or stop codon that an intron splits: there are too few to count


@dataclass(frozen=True)
class Scaling:
    """The weights of a graph of exons from scales of tables, and deviations.

    Parameters
    ----------
    weights : ExonWeights
    tables : ndarray, shape (n_tables, len(weights))
        Log odds: the first counted in all examples, the others each without some of them.
    """

    weights: ExonWeights
    tables: FloatArray

    @cached_property
    def _families(self) -> list[str]:
        """The kind of each weight: its name before the first ``:``."""
        return [name.partition(":")[0] for name in self.weights.names()]

    @cached_property
    def scales(self) -> list[str]:
        """Kinds of weights that are in the tables."""
        skipped = ("NC ", "tracks")  # words are relative to those between genes
        return [name for name in dict.fromkeys(self._families) if not name.startswith(skipped)]

    @cached_property
    def _scale_of(self) -> IntArray:
        """That of each weight; none for what is in no table."""
        places = {name: k for k, name in enumerate(self.scales)}
        return np.array([places.get(name, len(places)) for name in self._families])

    @cached_property
    def _free(self) -> IntArray:
        """Weights that may deviate: all but words, and those of flanks."""
        return np.flatnonzero([not name.endswith(("-mer", "flank")) for name in self._families])

    def __len__(self) -> int:
        return len(self.scales) + self._free.size

    def names(self) -> list[str]:
        names = self.weights.names()
        return [f"scales: {name}" for name in self.scales] + [names[k] for k in self._free]

    @property
    def origin(self) -> FloatArray:
        """Half of the tables: kinds of evidence overlap."""
        return np.concatenate((np.full(len(self.scales), 0.5), np.zeros(self._free.size)))

    def spread(self, w: Array) -> Array:
        """The weights of the graph by each table, shape (n_tables, len(weights))."""
        # weight j by table t is w[scale of j] tables[t, j], and its deviation if it may deviate: linear in w,
        # so that `gather` is the transpose
        found = np.append(w[: len(self.scales)], 0.0)[self._scale_of] * self.tables
        found[:, self._free] += w[len(self.scales) :]
        return found

    def gather(self, sums: Array, out: Array, squared: bool = False) -> None:
        """Add sums of features by table to those of scales and deviations; of their squares if asked for."""
        # d/dw of spread(w) . sums: by scale sum_j tables[t, j] sums[t, j], by deviation sum_t sums[t, j]
        factors = self.tables**2 if squared else self.tables
        by_weight, n = (sums * factors).sum(axis=0), len(self.scales)
        of_scales = np.zeros(n + 1, out.dtype)
        np.add.at(of_scales, self._scale_of, by_weight)
        out[:n] += of_scales[:n]
        out[n:] += sums[:, self._free].sum(axis=0)


def log_odds(weights: ExonWeights, counts: FloatArray, decoys: FloatArray) -> FloatArray:
    """A table of what was counted in genes.

    `counts` are sums of features, `decoys` those of windows and flanks at all sites where a signal might be.

    Words: log probabilities of their last base given those before, against words between genes, each order
    less the one before. Windows and flanks: the same against decoys. Lengths: log densities.
    """
    found = np.zeros(len(weights))
    # counts of shorter words are sums over those of the longest; logs[label] are log p(base | words before),
    # by label less those of row 0, between genes. Tables of several orders add up, so each has the difference
    # to the order before it.
    longest = weights.part(counts, f"order {max(weights.orders)}")
    before = np.zeros((len(longest), 1))
    for order in sorted(weights.orders):
        words = longest.reshape(len(longest), -1, 4 ** (order + 1)).sum(axis=1)
        logs = np.array([np.log(_backed_off(of_label)) for of_label in words])
        logs -= logs[0]
        out = weights.part(found, f"order {order}")
        out[:] = logs - np.tile(before, (1, logs.shape[1] // before.shape[1]))
        before = logs
    for name in weights.windows:
        true, other = weights.part(counts, name), weights.part(decoys, name)
        weights.part(found, name)[:] = _conditional(true, _OF_WINDOWS) - _conditional(other, _OF_WINDOWS)
    for name in weights.flanks:
        parts = (weights.part(of, f"{name} flank") for of in (counts, decoys, found))
        for true, other, out in zip(*parts, strict=True):
            out[:] = np.log(_backed_off(true)) - np.log(_backed_off(other))
    if weights.intron_bins:
        lengths = weights.part(counts, "intron lengths")
        # log density: the share of a bin, 0.5 added to each count, over its width; long ones have _LONG_TAIL
        widths = np.append(np.diff([*weights.intron_bins, weights.rules.introns[1] + 1]), _LONG_TAIL)
        share = (lengths + _OF_LENGTHS) / (lengths + _OF_LENGTHS).sum()
        weights.part(found, "intron lengths")[:] = np.log(share / widths)
    if weights.exon_bins:
        lengths = weights.part(counts, "exon lengths")
        widths = np.append(np.diff(weights.exon_bins), weights.exon_bins[-1])
        # of exons that begin a gene, single or initial ones, and of others: densities sum to one over either
        first, later = lengths[:2].sum(), lengths[2:].sum()  # of a gene, and after an intron
        total = np.array([first, first, later, later])[:, None] + 2 * _OF_LENGTHS * lengths.shape[1]
        weights.part(found, "exon lengths")[:] = np.log((lengths + _OF_LENGTHS) / total / widths)
    # how often introns follow 0, 1 and 2 bases of a codon; the others are rare by assumption, not by count
    introns = weights.part(counts, "edges")[:3] + 1.0
    weights.part(found, "edges")[:] = [*np.log(introns / introns.sum()), -np.log(_GENE_EVERY), _SPLIT, _SPLIT]
    return found


def _backed_off(counts: FloatArray) -> FloatArray:
    """Probabilities of the last letters of words, smoothed by those after shorter contexts."""
    # p_k(x | context) = (n(context x) + M p_{k-1}(x | shorter context)) / (n(context) + M), with M =
    # _OF_WORDS and p_{-1} = 1/4: words that are rare are predicted as shorter ones are
    found = np.full((1, 4), 0.25)
    n_words = 4
    while n_words <= counts.size:
        words = counts.reshape(-1, n_words).sum(axis=0).reshape(-1, 4)
        prior = np.tile(found, (len(words) // len(found), 1))
        found = (words + _OF_WORDS * prior) / (words.sum(axis=1, keepdims=True) + _OF_WORDS)
        n_words *= 4
    return found.ravel()


def _conditional(counts: FloatArray, smoothing: float) -> FloatArray:
    """Log probabilities of the last letters of the words at each place, smoothed by those of the letters."""
    # by place: (n(context x) + M q(x)) / (n(context) + M), with q the shares of bases there, one added to
    # each
    words = counts.reshape(len(counts), -1, 4)
    letters = words.sum(axis=1, keepdims=True) + 1.0
    letters /= letters.sum(axis=2, keepdims=True)
    found = (words + smoothing * letters) / (words.sum(axis=2, keepdims=True) + smoothing)
    logs: FloatArray = np.log(found).reshape(counts.shape)
    return logs
