"""The rules for genes and the weights of a gene model: as in Chen et al. 2009, or with signals and lengths.

There are too few genes to train thousands of words one by one. So words, bases around signals, and lengths
are counted, as in a hidden Markov model. Training fits a scale for each type of evidence, and deviations of
signals and lengths: a `Scaling`. Training examples are scored by tables that were counted without them,
because with their own tables words would look better than they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product

import numpy as np
from numpy.typing import ArrayLike

from structune.errors import DataError
from structune.genes.eukaryotes.kernels.emissions import Windows
from structune.genes.eukaryotes.kernels.nodes import EDGES
from structune.structure import Array, FloatArray, IntArray, offsets_of

START, STOPS, ACCEPTOR = "ATG", ("TAA", "TAG", "TGA"), "AG"
STRANDS, DONORS = ("both", "forward"), ("GT", "GC")
SHORTEST_INTRON = 4  # that has both its ends
MOST_INTRON = 10**4  # of the shortest and the longest that is scored: tables grow with them
FEATURES = ("full", "paper")
WINDOWS = {"start": (-12, 6), "stop": (-3, 6), "donor": (-4, 8), "acceptor": (-30, 4)}
SIGNALS = tuple(WINDOWS)
FLANKS = {"start": (-300, -200, -120, -60, -12), "stop": (6, 30, 60, 120, 200, 300)}
EXON_LENGTHS = (1, 30, 45, 60, 80, 100, 120, 140, 170, 200, 250, 300, 400, 550, 750, 1000, 1500, 2200, 3300)
EXONS = ("single", "initial", "internal", "terminal")
_MOST_SCORED, _N_BINS = 400, 24
_GENE_EVERY = 3000  # bases between genes, of which nothing is counted: flanks are cut
_LONG_TAIL = 1000  # lengths of introns beyond the longest scored are spread over so many
_OF_WORDS, _OF_WINDOWS, _OF_LENGTHS = 256.0, 5.0, 0.5  # counts that smooth others
_SPLIT = -6.0  # log odds of a start or stop codon that an intron splits: there are too few to count


@dataclass(frozen=True)
class GeneRules:
    """Strands and donors, as in `GeneFinder`; and `introns`, the length of the shortest intron and of the
    longest one whose length has its own score."""

    strands: str = "both"
    donors: Sequence[str] = ("GT",)
    introns: tuple[int, int] = (SHORTEST_INTRON, SHORTEST_INTRON)

    def __post_init__(self) -> None:
        if self.strands not in STRANDS:
            raise DataError(f"strands={self.strands!r}: expected one of {STRANDS}")
        is_list = isinstance(self.donors, Sequence) and not isinstance(self.donors, str)
        if not is_list or not self.donors or any(donor not in DONORS for donor in self.donors):
            raise DataError(f"donors={self.donors!r}: expected a list with 'GT', 'GC' or both")
        if not SHORTEST_INTRON <= self.introns[0] <= self.introns[1]:
            raise DataError(
                f"introns={self.introns!r}: expected (shortest, longest), with a shortest length of "
                f"at least {SHORTEST_INTRON} and a longest one not below it"
            )

    @property
    def signs(self) -> str:
        """The strands, as annotations call them."""
        return "+-" if self.strands == "both" else "+"


@dataclass(frozen=True)
class ExonWeights:
    """Layout of the weights, in this order: words of each order, windows of signals, flanks of starts and
    stops, edges, lengths of introns and of exons by type, tracks.

    Parameters
    ----------
    rules : GeneRules
    orders : tuple of int
        Orders of words: a base is scored by the words of `order` + 1 bases that end there.
    windows, window_order : mapping of str to (int, int), int
        Positions around each signal that are scored, as a half-open range, and the order of their words.
    flanks, flank_order : mapping of str to tuple of int, int
        Regions around genes (untranslated exons, promoters, poly-A signals), in parts by distance from a
        start or a stop: the beginning of each part and the end of the last one; and the order of their words.
    intron_bins, exon_bins : tuple of int
        Shortest length of each bin, increasing. Introns beyond the longest scored length have one more bin.
        Without bins, lengths have no weights.
    tie_introns : bool
        Whether introns after 0, 1 and 2 bases of a codon share their weights.
    n_tracks : int
        Number of tracks, that is, of numbers for each position.
    """

    rules: GeneRules
    orders: tuple[int, ...] = (0, 2, 5)
    windows: Mapping[str, tuple[int, int]] = field(default_factory=lambda: WINDOWS)
    window_order: int = 1
    flanks: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: FLANKS)
    flank_order: int = 5
    intron_bins: tuple[int, ...] = ()
    exon_bins: tuple[int, ...] = ()
    tie_introns: bool = True
    n_tracks: int = 0

    @classmethod
    def of(cls, features: str, rules: GeneRules, n_tracks: int = 0) -> ExonWeights:
        """Those of a set of features, as `GeneFinder` has them."""
        if features not in FEATURES:
            raise DataError(f"features={features!r}: expected one of {FEATURES}")
        if features == "paper":
            return cls(rules, (0, 5), {}, flanks={}, tie_introns=False, n_tracks=n_tracks)
        return cls(rules, intron_bins=length_bins(*rules.introns), exon_bins=EXON_LENGTHS, n_tracks=n_tracks)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What a position may be: rows of the tables of words."""
        return ("NC", "C0", "C1", "C2", *(("I",) if self.tie_introns else ("I0", "I1", "I2")))

    @property
    def n_strands(self) -> int:
        return len(self.rules.signs)

    @property
    def n_introns(self) -> int:
        return len(self.labels) - 4

    @property
    def n_columns(self) -> int:
        """Of coding bases by strand and frame, introns by strand and label, and what is between genes."""
        return self.n_strands * (3 + self.n_introns) + 1

    @property
    def word_length(self) -> int:
        around = self.window_order if self.windows else 0, self.flank_order if self.flanks else 0
        return max(*self.orders, *around) + 1

    @property
    def no_word(self) -> int:
        """The number of what is no word of that length: it is cut, or holds other letters."""
        return int(4**self.word_length)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the weights of each name, in order."""
        n_words = 4 ** (self.window_order + 1)
        return {
            **{f"order {k}": (len(self.labels), 4 ** (k + 1)) for k in self.orders},
            **{name: (b - a, n_words) for name, (a, b) in self.windows.items()},
            **{
                f"{name} flank": (len(ends) - 1, 4 ** (self.flank_order + 1))
                for name, ends in self.flanks.items()
            },
            "edges": (len(EDGES),),
            "intron lengths": (len(self.intron_bins) + 1 if self.intron_bins else 0,),
            "exon lengths": (len(EXONS), len(self.exon_bins)),
            "tracks": (len(self.labels), self.n_tracks),
        }

    @cached_property
    def starts(self) -> dict[str, int]:
        """Where the weights of each name begin: those of all names lie one after the other."""
        sizes = np.array([np.prod(shape) for shape in self.shapes.values()], np.int64)
        return dict(zip((*self.shapes, "end"), offsets_of(sizes).tolist(), strict=True))

    def __len__(self) -> int:
        return self.starts["end"]

    def part(self, w: Array, name: str) -> Array:
        """A view of the weights of a name, in the shape of `shapes`."""
        start, shape = self.starts[name], self.shapes[name]
        return w[start : start + np.prod(shape, dtype=int)].reshape(shape)

    @cached_property
    def around(self) -> Windows:
        """Windows and flanks of each signal, as kernels read them."""
        start, parts = [0], list[tuple[int, int, int, int]]()
        for name in SIGNALS:
            a, b = self.windows.get(name, (0, -1))
            window = name, self.window_order, range(a, b + 1)
            for key, order, edges in (window, (f"{name} flank", self.flank_order, self.flanks.get(name, ()))):
                n_words = 4 ** (order + 1)
                for k, (first, last) in enumerate(pairwise(edges)):
                    parts.append((first, last, self.starts[key] + k * n_words, n_words - 1))
            start.append(len(parts))
        of = np.array(parts, np.int64).reshape(-1, 4).T.copy()
        return Windows(np.array(start), of[0], of[1], of[2], of[3], self.no_word)

    def spread(self, w: Array) -> Array:
        """The weights by each table, of which there is one: see `Scaling`."""
        return w[None]

    def gather(self, sums: Array, out: Array, squared: bool = False) -> None:
        """Add sums of features, of which there is one table, to those of weights: see `Scaling`."""
        out += sums[0]

    # --- tables -------------------------------------------------------------------------------------------

    def words(self, w: Array) -> Array:
        """Scores of the longest words by label, with one of 0 for no word."""
        # the number of a word modulo 4^(k + 1) is that of its last k + 1 bases: by a view of that many
        # columns a shorter word's weight is added to all longer ones that end with it
        table = np.zeros((len(self.labels), self.no_word + 1), w.dtype)
        for k in self.orders:
            words = table[:, :-1].reshape(len(table), -1, 4 ** (k + 1))
            words += self.part(w, f"order {k}")[:, None]
        return table

    def add_words(self, counts: Array, out: Array) -> None:
        for k in self.orders:
            words = counts[:, :-1].reshape(len(counts), -1, 4 ** (k + 1))
            self.part(out, f"order {k}")[:] += words.sum(axis=1)

    @cached_property
    def _of_lengths(self) -> tuple[IntArray, IntArray]:
        """The weights of introns by length, from the shortest on, and of longer ones; and those of exons by
        kind and length, up to where the last bin begins. Without bins the place behind all weights."""
        # a weight by bin, scores by length: kernels look them up by length, features are summed over bins
        shortest, longest = self.rules.introns
        bins = np.searchsorted(self.intron_bins, np.arange(shortest, longest + 1), side="right") - 1
        introns = self.starts["intron lengths"] + np.append(bins, len(self.intron_bins))
        lengths = np.arange((self.exon_bins or (0,))[-1] + 1)
        bins = (np.searchsorted(self.exon_bins, lengths, side="right") - 1).clip(0)
        exons = self.starts["exon lengths"] + len(self.exon_bins) * np.arange(len(EXONS))[:, None] + bins
        none = len(self)
        return (
            introns if self.intron_bins else 0 * introns + none,
            exons if self.exon_bins else 0 * exons + none,
        )

    def length_scores(self, w: Array) -> tuple[Array, Array]:
        """Of exons by kind and length, and of introns by length."""
        introns, exons = self._of_lengths
        padded = np.append(w, np.zeros(1, w.dtype))
        return padded[exons], padded[introns]

    def add_lengths(self, introns: Array, exons: Array, out: Array) -> None:
        for places, counts in zip(self._of_lengths, (introns, exons), strict=True):
            known = places < len(self)
            np.add.at(out, places[known], counts[known])

    # --- names --------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """A name for every weight; the text before the first ``:`` is its group's."""
        return list(self._names)

    @cached_property
    def _names(self) -> list[str]:
        # tens of thousands are words behind a few hundred beginnings
        of_words = [
            *(
                (f"{label[:2].rstrip('012')} {k + 1}-mer: {label} ", k)
                for k, label in product(self.orders, self.labels)
            ),
            *(
                (f"{name}: {place:+d} ", self.window_order)
                for name, (a, b) in self.windows.items()
                for place in range(a, b)
            ),
            *(
                (f"{name} flank: {a:+d}..{b:+d} ", self.flank_order)
                for name, ends in self.flanks.items()
                for a, b in pairwise(ends)
            ),
        ]
        words = {k: list(map("".join, product("ACGT", repeat=k + 1))) for _, k in of_words}
        return [
            *(beginning + word for beginning, k in of_words for word in words[k]),
            *(f"edges: {name}" for name in EDGES),
            *(f"intron lengths: {start}" for start in (*self.intron_bins, "longer") if self.intron_bins),
            *(f"exon lengths: {kind} {start}" for kind, start in product(EXONS, self.exon_bins)),
            *(f"tracks: {label} {r}" for label, r in product(self.labels, range(self.n_tracks))),
        ]


def length_bins(shortest: int, longest: int) -> tuple[int, ...]:
    """Where bins of lengths begin: at lengths that rise by a factor, apart by one at least."""
    # shortest (longest + 1)^(k / n) / shortest^(k / n), k = 0, 1, ..., rounded; equal ones are one bin
    edges = np.geomspace(shortest, longest + 1, _N_BINS + 1)[:-1]
    starts = np.unique(edges.round().astype(int))
    return tuple(starts[starts <= longest].tolist())


def intron_lengths(lengths: ArrayLike) -> tuple[int, int]:
    """The shortest intron and the longest whose length has a weight, from those of training genes."""
    # 0.9 times the shortest that is known: a little shorter ones may exist. Tables grow with lengths, so only
    # the bulk has weights by length: up to twice the 60 % quantile.
    found = np.asarray(lengths)
    if not found.size:
        return SHORTEST_INTRON, SHORTEST_INTRON
    shortest = min(MOST_INTRON, max(SHORTEST_INTRON, int(0.9 * found.min())))
    return shortest, max(shortest, min(_MOST_SCORED, int(2 * np.quantile(found, 0.6))))


# --- scales of tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scaling:
    """Weights of an exon graph as one scale for each table of log odds, plus deviations.

    A table contains the log odds of words, signals and lengths in genes. Each type of evidence has one
    scale. For signals and lengths, training may add deviations from the scaled log odds.
    """

    weights: ExonWeights
    # (n_tables, len(weights)), log odds: the first counted in all examples, the others each without some
    tables: FloatArray

    @cached_property
    def _families(self) -> list[str]:
        """The kind of each weight: its name before the first ``:``."""
        return [name.partition(":")[0] for name in self.weights.names()]

    @cached_property
    def scales(self) -> list[str]:
        """Types of weights that are in the tables."""
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
        """Default mean of the prior: 0.5 for scales (types of evidence overlap), and 0 for deviations."""
        return np.concatenate((np.full(len(self.scales), 0.5), np.zeros(self._free.size)))

    def spread(self, w: Array) -> Array:
        """Return the graph's weights by table, shape (n_tables, len(weights)), from scales and deviations."""
        # weight j by table t is w[scale of j] tables[t, j], and its deviation if it may deviate: linear in w,
        # so that `gather` is the transpose
        found = np.append(w[: len(self.scales)], 0.0)[self._scale_of] * self.tables
        found[:, self._free] += w[len(self.scales) :]
        return found

    def gather(self, sums: Array, out: Array, squared: bool = False) -> None:
        """Add feature sums by table to `out`, summed for scales and deviations; of squares if `squared`."""
        # d/dw of spread(w) . sums: by scale sum_j tables[t, j] sums[t, j], by deviation sum_t sums[t, j]
        factors = self.tables**2 if squared else self.tables
        by_weight, n = (sums * factors).sum(axis=0), len(self.scales)
        of_scales = np.zeros(n + 1, out.dtype)
        np.add.at(of_scales, self._scale_of, by_weight)
        out[:n] += of_scales[:n]
        out[n:] += sums[:, self._free].sum(axis=0)


def log_odds(weights: ExonWeights, counts: FloatArray, decoys: FloatArray) -> FloatArray:
    """A table of what was counted in genes, by sums of features, and those of windows and flanks of `decoys`.

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
    return np.asarray(np.log(found).reshape(counts.shape))
