"""Structures of one RNA sequence: the best by score, by expected accuracy, at random, or with pseudoknots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.vectors import all_lanes
from structune.rna.kernels import grammar, subopt
from structune.rna.kernels import mea as rna_mea
from structune.rna.kernels import sums as kernels
from structune.rna.kernels.loops import row as place_of_row
from structune.rna.structure.features import STARTS, Potentials
from structune.rna.structure.inference import Chart
from structune.rna.structure.space import Space, n_cells, rows_of
from structune.rna.structure.tiles import Tiles
from structune.running.memory import require_memory
from structune.structure import Array, FloatArray, IntArray

# The search for the n best structures doubles the loss until there are enough.
_FIRST_LOSS = 2.0  # beside the best structure: where a search for others begins
_ROWS, _SPARE = 64, 4  # of structures at first, and beyond the number that is wanted
_ENLARGED = ("starts", "choice_losses", "choice_items")


def best_scores(scores: Potentials, letters: Array, space: Space, extra: FloatArray) -> Chart:
    """The scores of the best way to fill in every part of a sequence; the first is that of the whole."""
    n, chart = letters.size, Chart(scores, letters, space, extra)
    model = chart.model
    tiles, kind = Tiles(letters, scores.allowed, space), chart.values.dtype
    rings = tiles.rings(kind, -np.inf)
    each = [(tiles.tile(kind), tiles.panel(kind), tiles.rows(3, kind)) for _ in range(tiles.n_threads)]
    tables, lengths = scores.scores(), scores.length_scores(n)

    def fill(own: int, last: int, thread: int, partners: IntArray) -> None:
        kernels.inside(
            model.letters[: n + 2], tables, lengths, STARTS, extra, space.min_hairpin, model.reach,
            model.nick, space.circular, tiles.blocks, own, last, all_lanes(float), chart.pairs, chart.multi,
            chart.multi_2, chart.left, chart.right, *rings, *each[thread], partners,
            np.empty(2), True,
        )  # fmt: skip

    tiles.fill("best scores", fill)
    kernels.suffixes(
        model.letters[: n + 2], tables, STARTS, model.reach, model.nick, chart.pairs, chart.exterior,
        np.empty(n + 1, np.int64), True,
    )  # fmt: skip
    if space.circular:
        grammar.close_circle(model, chart.values, True, chart.work)
    return chart


def n_best(chart: Chart, n: int, most_loss: float = np.inf) -> tuple[Array, FloatArray]:
    """The `n` structures of highest score, falling: partners, shape (n_found, n_bases), and scores.

    None that scores more than `most_loss` below the best, by a chart of `best_scores`.
    """
    score, n_bases = float(chart.values[0]), chart.model.n
    if n < 1 or not n_bases:
        return np.full((min(n, 1), n_bases), -1, np.int16), np.full(min(n, 1), score)
    within = min(_FIRST_LOSS, most_loss)
    while True:
        partners, losses, is_all = _best_within(chart, n, within)
        if is_all or within == most_loss or len(losses) == n:
            return partners, score - losses
        within = min(2 * within, most_loss)


def _best_within(chart: Chart, n: int, most_loss: float) -> tuple[Array, FloatArray, bool]:
    """The `n` best structures that lose at most so much, and whether there are no others at all."""
    model, n_bases = chart.model, chart.model.n
    depth, size = 3 * n_bases + 4, 4 * grammar.most_choices(n_bases)  # a structure has no more choices
    # The search begins with one frame; its only choice leaves the whole sequence.
    search = subopt.Search(
        state=np.array([1, 1, 1, 0, 0]), frames=np.empty((depth, subopt.N_FRAME), np.int64),
        losses=np.zeros(depth), todo=np.empty((2 * depth, 4), np.int64),
        pairs=np.empty((n_bases // 2 + 1, 2), np.int64), lists=np.zeros(chart.values.size, np.int32),
        starts=np.empty(size, np.int64), choice_losses=np.zeros(size),
        choice_items=np.empty((size, 6), np.int64),
    )  # fmt: skip
    search.frames[0], search.starts[:2] = (0, 1, -1, 0, 0), (0, 1)
    search.choice_items[0] = grammar.EXTERIOR, 0, n_bases - 1, *grammar.NOTHING
    most_rows = n + max(n // 4, _SPARE)
    n_rows = min(_ROWS, most_rows)
    partners, losses = np.empty((n_rows, n_bases), _partner_type(n_bases)), np.empty(n_rows)
    while why := subopt.search_best(model, chart.values, search, chart.work, most_loss, partners, losses):
        # The search stopped for want of room, and goes on where it was.
        if why == subopt.MORE_ROWS and len(losses) == most_rows:
            # Some are not among the n best: from now on others have to lose less than these.
            kept = np.argsort(losses, kind="stable")[:n]
            partners[:n], losses[:n], most_loss = partners[kept], losses[kept], losses[kept[-1]]
            search.state[subopt.FOUND], most_loss = n, np.nextafter(most_loss, -np.inf)
            continue
        held = [partners, losses, *(getattr(search, name) for name in _ENLARGED)]
        needed = 3.0 * sum(array.nbytes for array in held)
        require_memory(needed, f"the best {len(losses):,} structures", "fewer, or a smaller range")
        if why == subopt.MORE_ROWS:
            partners, losses = _enlarged(partners, most_rows), _enlarged(losses, most_rows)
        else:
            search = search._replace(**{name: _enlarged(getattr(search, name)) for name in _ENLARGED})
    n_found = search.state[subopt.FOUND]
    # Stable, so that structures of equal scores keep the order in which they were found.
    order = np.argsort(losses[:n_found], kind="stable")[:n]
    return partners[order], losses[order], not search.state[subopt.PRUNED]


def _partner_type(n: int) -> Any:
    """Small numbers: there may be millions of structures."""
    return np.int16 if n < 1 << 15 else np.int32


def _enlarged(array: Array, most: int | None = None) -> Array:
    """The same with room for twice as many rows, at most so many."""
    n_rows = 2 * len(array) if most is None else min(2 * len(array), most)
    out = np.empty((n_rows, *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out


def samples(chart: Chart, n_samples: int, rng: np.random.Generator) -> IntArray:
    """Structures drawn by their probabilities, shape (n_samples, n_bases)."""
    n, kind = chart.model.n, np.dtype(_partner_type(chart.model.n))
    needed = 2.0 * n_samples * n * kind.itemsize  # a copy is made of them
    require_memory(needed, f"{n_samples:,} structures of {n:,} bases", "fewer")
    drawn = np.empty((n_samples, n), kind)
    for row in drawn:
        row[:] = chart.derive(rng.random(3 * n + 3))
    return drawn


class Gain(NamedTuple):
    """What a pair gains, ``scale * p - cost``, and any other base, ``unpaired * (1 - sum of p)``."""

    scale: float
    cost: float
    unpaired: float

    def best(
        self, pairs: FloatArray, n: int, reach: int, lonely: bool = True, required: Array | None = None
    ) -> IntArray:
        """Partners of the structure that gains most, by a table of the probabilities of pairs.

        Without `lonely` pairs each is stacked on another. Bases that are `required`, shape (n,), pair, if not
        with gain then with the least loss, by pairs that have a probability; some are left unpaired where no
        structure has them all paired.
        """
        # Of bases that must pair the value of being unpaired is -inf; then pairs of negative gain count, too,
        # if they have a probability at all.
        unpaired = self.unpaired * np.maximum(1.0 - paired(pairs, n, reach), 0.0)
        values, least = self.scale * pairs - self.cost, 0.0
        if required is not None and required.any():
            unpaired[required], values[pairs <= 0.0], least = -np.inf, -np.inf, -np.inf
        table, suffixes = np.zeros(n_cells(n, reach) + 16), np.empty(n + 1)
        scratch, partner, todo = np.zeros((3, n + 8)), np.empty(n, np.int64), np.empty((n + 1, 2), np.int64)
        rna_mea.accuracies(values, unpaired, reach, lonely, least, all_lanes(float), scratch, table, suffixes)
        rna_mea.trace(values, unpaired, reach, lonely, least, table, suffixes, todo, partner)
        return partner


def accuracy(gamma: float) -> Gain:
    """The sum of 2 gamma p over pairs, and of the probability to have none elsewhere.

    Notes
    -----
    Do, Woods & Batzoglou 2006, section 2.5.
    """
    # Two bases of a right pair count gamma each, a right unpaired base 1.
    return Gain(2.0 * gamma, 0.0, 1.0)


def gamma_centroid(gamma: float) -> Gain:
    """The sum of (gamma + 1) p - 1 over pairs (Hamada et al. 2009)."""
    # (gamma + 1) p - 1 is gamma + 1 times p - 1 / (gamma + 1): the same order of structures.
    return centroid(1.0 / (gamma + 1.0))


def centroid(threshold: float) -> Gain:
    """The sum of p - threshold over pairs; from 1/2 on, the centroid (Ding, Chan & Lawrence 2005)."""
    return Gain(1.0, threshold, 0.0)


def paired(pairs: FloatArray, n: int, reach: int) -> FloatArray:
    """How probably each base is paired."""
    sums = np.zeros(n)
    for i, row in enumerate(rows_of(pairs, n, reach)):
        sums[i] += row.sum()
        sums[i : i + row.size] += row
    return sums


def add_to_pairs(scores: Array, partner: IntArray, reach: int, bonus: Any) -> Array:
    """Scores of pairs with those of one structure raised."""
    # A table of zeros is made only where there is a bonus: an empty one says that pairs have no scores
    # beside.
    n, dtype = partner.size, np.result_type(scores, bonus)
    out = scores.astype(dtype) if scores.size else np.zeros(n_cells(n, reach), dtype)
    for i in np.flatnonzero(partner > np.arange(n)):
        out[place_of_row(i, n, reach) + partner[i]] += bonus
    return out
