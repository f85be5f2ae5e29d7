"""What a gene is to a model, and its weights: those of Chen et al. 2009, or with signals and lengths."""

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
from structune.structure import Array, IntArray, offsets_of

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


@dataclass(frozen=True)
class GeneRules:
    """Where genes may be, and the first two bases of introns, as `GeneFinder` has them; the shortest intron,
    and the longest whose length has a score of its own."""

    strands: str = "both"
    donors: Sequence[str] = ("GT",)
    introns: tuple[int, int] = (SHORTEST_INTRON, SHORTEST_INTRON)

    def __post_init__(self) -> None:
        if self.strands not in STRANDS:
            raise DataError(f"strands={self.strands!r}: expected one of {STRANDS}")
        is_list = isinstance(self.donors, Sequence) and not isinstance(self.donors, str)
        if not is_list or not self.donors or any(donor not in DONORS for donor in self.donors):
            raise DataError(f"donors={self.donors!r}: expected some of {', '.join(map(repr, DONORS))}")
        if not SHORTEST_INTRON <= self.introns[0] <= self.introns[1]:
            raise DataError(
                f"introns={self.introns!r}: expected the shortest, {SHORTEST_INTRON} or more, and the longest"
            )

    @property
    def signs(self) -> str:
        """The strands, as annotations call them."""
        return "+-" if self.strands == "both" else "+"


@dataclass(frozen=True)
class ExonWeights:
    """The weights, in this order: words of each order, windows of signals, flanks of starts and stops, edges,
    lengths of introns and of exons by kind, tracks.

    Parameters
    ----------
    rules : GeneRules
    orders : tuple of int
        A label emits a base by the words of `order` + 1 bases that end there, of each order.
    windows, window_order : mapping of str to (int, int), int
        The places around a signal that it looks at, from the first up to before the second.
    flanks, flank_order : mapping of str to tuple of int, int
        What lies around genes (untranslated exons, promoters, poly-A signals), in parts by the distance from
        a start or a stop: where each part begins, and where the last one ends.
    intron_bins, exon_bins : tuple of int
        The shortest length of each bin, rising; introns longer than the longest scored are one more bin.
        None: lengths have no weights.
    tie_introns : bool
        Whether introns emit by the same weights after 0, 1 and 2 bases of a codon.
    n_tracks : int
        Numbers that each position comes with.
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
        """Those of a set of features, as `GeneFinder` has them: of "paper" introns emit by phase, of "full"
        all alike, and words up to 300 bases before starts and behind stops count, too."""
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
        """As `Scaling` has it: all weights are learned, in place of scales of a table."""
        return w[None]

    def gather(self, sums: Array, out: Array, squared: bool = False) -> None:
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
    """The shortest intron and the longest whose length has a weight, from those of training genes.

    A little shorter than the shortest of them; and twice as long as the shorter three of five, at most 400.
    """
    # 0.9 times the shortest that is known: a little shorter ones may exist. Tables grow with lengths, so only
    # the bulk has weights by length: up to twice the 60 % quantile.
    found = np.asarray(lengths)
    if not found.size:
        return SHORTEST_INTRON, SHORTEST_INTRON
    shortest = min(MOST_INTRON, max(SHORTEST_INTRON, int(0.9 * found.min())))
    return shortest, max(shortest, min(_MOST_SCORED, int(2 * np.quantile(found, 0.6))))
