"""Open reading frames with candidate genes, and the shards that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.prokaryotes.kernels.orf_graph import Begins, Ends, Words
from structune.genes.prokaryotes.structure.candidates import CODON, N_SIGNALS, OrfRules
from structune.structure import (
    Array,
    FloatArray,
    IntArray,
    Shard,
    check_offsets,
    check_range,
    offsets_of,
    segment_indices,
)

WORDS, FRAMES, CANDIDATES, LEFTS, RIGHTS = range(5)  # rows of `OrfShard.offsets`
LEVELS = {
    WORDS: ("words",),
    FRAMES: ("n_words", "n_candidates"),
    CANDIDATES: ("skipped", "right_of", "bounds", "reverse", "signals", "chosen"),
    LEFTS: ("left_position", "left_strand", "first_candidate", "last_candidate"),
    RIGHTS: ("right_position", "right_strand"),
}
_POSITIONS = {CANDIDATES: ("skipped", "right_of"), LEFTS: LEVELS[LEFTS], RIGHTS: LEVELS[RIGHTS]}
_MOST_BASES = 1 << 40  # of a sequence: sums of them fit
_OF_FRAMES = ("sequence", "reverse", "n_candidates", "n_words")
_OF_CANDIDATES = ("bounds", "signals", "skipped", "chosen")
_IN_BOTH = ("n_candidates", "n_words", "words", *_OF_CANDIDATES)  # arrays of frames that shards have, too
Gene = tuple[int, int, str]  # first base, the one behind the last, strand


@dataclass(frozen=True)
class OrfShard(Shard):
    """Encoded sequences, one after the other.

    Frames are open reading frames with a candidate, those of the forward strand first; candidates come frame
    by frame. Places of candidates and of ends count within their sequence.
    """

    n_bases: IntArray  # of each sequence
    offsets: IntArray  # (5, n_sequences + 1): where the items of each level begin in each sequence
    words: NDArray[np.int16]
    n_words: IntArray  # of each frame
    n_candidates: IntArray
    skipped: IntArray  # words of the frame before each candidate's start
    right_of: IntArray  # the right end of each candidate
    bounds: IntArray  # (n_candidates, 2): first base, and that behind the last
    reverse: NDArray[np.bool_]  # of each candidate
    signals: NDArray[np.uint8]  # (n_candidates, n_signals): their places among the weights of signals
    chosen: NDArray[np.int8]  # which candidates are the genes; empty without outputs
    left_position: IntArray  # of ends, as `kernels.orf_graph.Ends` has them
    left_strand: IntArray
    first_candidate: IntArray
    last_candidate: IntArray
    right_position: IntArray
    right_strand: IntArray

    levels: ClassVar = LEVELS

    @property
    def n_parts(self) -> int:
        return int(self.n_bases.sum())

    def sizes(self) -> IntArray:
        return self.n_bases

    def part(self, s: int, level: int) -> slice:
        """Where the words, frames, ... of a sequence are."""
        return slice(self.offsets[level, s], self.offsets[level, s + 1])

    def arrays(self, s: int) -> dict[str, Array]:
        """Those of a sequence, by name."""
        named = ((name, self.part(s, level)) for level, names in self.levels.items() for name in names)
        return {name: getattr(self, name)[part] for name, part in named}

    @property
    def ends(self) -> tuple[Ends, Begins]:
        """The ends of the candidates of all sequences."""
        return Ends(*(getattr(self, name) for name in Ends._fields)), Begins(*self.offsets[CANDIDATES:])

    @property
    def frame(self) -> IntArray:
        """That of each candidate."""
        return np.repeat(np.arange(self.n_candidates.size), self.n_candidates)

    def frame_sums(self, values: Array) -> Array:
        """Of each candidate the sum over those of its frame."""
        frame = self.frame
        return np.bincount(frame, values, minlength=self.n_candidates.size)[frame]

    def by_candidate(self, values: Array) -> Array:
        """Of each candidate, what is given by sequence."""
        return np.repeat(values, np.diff(self.offsets[CANDIDATES]))

    @property
    def frames(self) -> Words:
        """The words of all sequences."""
        return Words(self.words, self.n_words, self.n_candidates, self.skipped)

    def take(self, indices: Any) -> Self:
        chosen = self._chosen(indices)
        counts = np.diff(self.offsets, axis=1)[:, chosen]
        taken: dict[str, Array] = {"weights": self.weights[chosen], "n_bases": self.n_bases[chosen]}
        for level, names in self.levels.items():
            # each level has offsets of its own: sequences may have many words and few ends
            places = segment_indices(self.offsets[level], chosen)
            taken |= {name: getattr(self, name)[places] for name in names if getattr(self, name).size}
        return replace(self, offsets=np.array([offsets_of(each) for each in counts]), **taken)

    def check(self, n_words: int, n_places: int, rules: OrfRules) -> None:
        """Refuse arrays of a file that are of other types or shapes, out of range, or not of candidates.

        There are `n_words` words, and `n_places` signals.
        """
        n, offsets = len(self), self.offsets
        if offsets.shape != (len(LEVELS), n + 1):
            raise DataError(f"found offsets of shape {offsets.shape}, expected {(len(LEVELS), n + 1)}")
        sizes = {level: len(getattr(self, names[0])) for level, names in LEVELS.items()}
        for level, size in sizes.items():
            check_offsets(offsets[level], n, size)
        check_range("bases", self.n_bases, np.int64, (n,), 0, _MOST_BASES)
        check_range("words", self.words, np.int16, (sizes[WORDS],), 0, n_words)
        frames, candidates = (sizes[FRAMES],), (sizes[CANDIDATES],)
        check_range("numbers of words", self.n_words, np.int64, frames, 0, sizes[WORDS] + 1)
        check_range("numbers of candidates", self.n_candidates, np.int64, frames, 1, sizes[CANDIDATES] + 1)
        check_range("bounds", self.bounds, np.int64, (*candidates, 2), 0, _MOST_BASES)
        check_range("strands", self.reverse, bool, candidates, 0, 2)
        check_range("signals", self.signals, np.uint8, (*candidates, N_SIGNALS), 0, n_places)
        check_range("genes", self.chosen, np.int8, candidates, 0, 2)
        for level, names in _POSITIONS.items():
            for name in names:
                check_range(name, getattr(self, name), np.int64, (sizes[level],), 0, _MOST_BASES)
        for level, counts in ((WORDS, self.n_words), (CANDIDATES, self.n_candidates)):
            if not np.array_equal(offsets_of(counts)[offsets[FRAMES]], offsets[level]):
                raise DataError("found frames that do not add up to their sequences")
        if np.any(self.bounds[:, 1] > self.by_candidate(self.n_bases)):
            raise DataError("found a candidate that ends behind its sequence")
        for s in range(n):
            try:
                _check_candidates(self.arrays(s), rules)
            except DataError as error:
                raise DataError(f"sequence {s}: {error}") from None


def _check_candidates(parts: Mapping[str, Array], rules: OrfRules) -> None:
    """Refuse arrays of a sequence that do not follow from the bounds of its candidates."""
    bounds, counts = parts["bounds"], parts["n_candidates"]
    ends = np.cumsum(counts)
    n_forward = len(bounds) - int(np.count_nonzero(parts["reverse"]))
    if n_forward not in (0, *ends):
        raise DataError("found candidates that frames do not share out")
    # Along its own strand a candidate goes from its start to its stop; on the reverse strand positions are
    # negated, so that both strands obey the same rules: one stop a frame, and starts that rise.
    first = np.repeat(ends - counts, counts)
    is_reverse = np.arange(len(bounds)) >= n_forward
    starts = np.where(is_reverse, -bounds[:, 1], bounds[:, 0])
    stops = np.where(is_reverse, -bounds[:, 0], bounds[:, 1])
    lengths, same_frame = stops - starts, np.diff(first) == 0
    if np.any(lengths % CODON) or np.any(lengths < rules.shortest):
        raise DataError(f"found candidates that are not whole codons of {rules.shortest} bases or more")
    if not np.array_equal(stops, stops[first]) or np.any(np.diff(starts)[same_frame] <= 0):
        raise DataError("found candidates of a frame with several stops, or not in the order of their starts")
    # the rest follows from bounds: a file that says something else was damaged or made up
    of_frame = is_reverse[ends - counts]
    expected = {
        "reverse": is_reverse,
        "n_words": (lengths // CODON - 2)[ends - counts],
        "skipped": (starts - starts[first]) // CODON,
        **_ends_of(np.zeros(counts.size, np.int64), of_frame, counts, bounds, 1)[0],
    }
    for name, array in expected.items():
        if not np.array_equal(parts[name], array):
            raise DataError(f"found {name} that are not those of the candidates")


def mark_genes(shard: OrfShard, s: int, genes: Iterable[Gene], name: str, chosen: NDArray[np.int8]) -> None:
    """Mark the candidates of a sequence that are the genes."""
    part = shard.part(s, CANDIDATES)
    bounds, reverse, own = shard.bounds[part], shard.reverse[part], chosen[part]
    wanted = {(start, end, strand == "-"): (start, end, strand) for start, end, strand in genes}
    for k, key in enumerate(zip(*bounds.T.tolist(), reverse.tolist(), strict=True)):
        if wanted.pop(key, None) is not None:
            own[k] = 1
    if wanted:
        start, end, strand = next(iter(wanted.values()))
        raise DataError(f"{name}: found the gene {start}-{end}({strand}), expected one of the candidates")


# --- frames -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frames:
    """Frames and their candidates, one frame after the other, by their starts along the strand."""

    sequence: IntArray  # of each frame
    reverse: NDArray[np.bool_]
    n_candidates: IntArray
    n_words: IntArray
    bounds: IntArray  # of each candidate, within the sequence
    signals: NDArray[np.uint8]
    skipped: IntArray
    words: NDArray[np.int16]
    chosen: NDArray[np.int8]  # of each candidate, or none

    @classmethod
    def from_shard(cls, shard: OrfShard) -> Frames:
        first = offsets_of(shard.n_candidates)[:-1]
        sequence = np.repeat(np.arange(len(shard)), np.diff(shard.offsets[FRAMES]))
        shared = {name: getattr(shard, name) for name in _IN_BOTH}
        return cls(sequence=sequence, reverse=shard.reverse[first], **shared)

    @property
    def frame(self) -> IntArray:
        """That of each candidate."""
        return np.repeat(np.arange(self.sequence.size), self.n_candidates)

    def take(self, frames: IntArray) -> Frames:
        """Some of them, in their order."""
        own = segment_indices(offsets_of(self.n_candidates), frames)
        return self._taken(frames, own, segment_indices(offsets_of(self.n_words), frames))

    def within(self, inside: NDArray[np.bool_]) -> Frames:
        """With some of the candidates: of a frame those from one on."""
        first = offsets_of(self.n_candidates)
        counts = np.bincount(self.frame, inside, minlength=self.sequence.size).astype(np.int64)
        frames = np.flatnonzero(counts)
        # Of a frame the last candidates stay, with the last starts: its words now begin at the first of
        # these, so the words before, which `skipped` counts, go.
        before = self.skipped[first[frames + 1] - counts[frames]]  # words of a frame that are left out
        n_words = self.n_words[frames] - before
        words = offsets_of(self.n_words)[frames] + before
        places = np.repeat(words - offsets_of(n_words)[:-1], n_words) + np.arange(n_words.sum())
        return replace(
            self._taken(frames, inside, places),
            n_candidates=counts[frames],
            n_words=n_words,
            skipped=self.skipped[inside] - np.repeat(before, counts[frames]),
        )

    def _taken(self, frames: IntArray, candidates: Array, words: IntArray) -> Frames:
        some = {name: getattr(self, name)[frames] for name in _OF_FRAMES}
        some |= {name: getattr(self, name)[candidates] for name in _OF_CANDIDATES if getattr(self, name).size}
        return replace(self, words=self.words[words], **some)

    def beside(self, others: Frames) -> Frames:
        """These, and others behind them."""
        return Frames(*(np.concatenate((array, getattr(others, name))) for name, array in vars(self).items()))

    def assembled(self, n_bases: IntArray, weights: FloatArray) -> OrfShard:
        """A shard; frames of a strand of a sequence keep their order."""
        frames, place = self, 2 * self.sequence + self.reverse
        if np.any(np.diff(place) < 0):  # not of one sequence: moving words takes as long as finding them
            frames = self.take(np.argsort(place, kind="stable"))
        # `first`: where the frames of each sequence begin, and with them its words and candidates
        first = np.searchsorted(frames.sequence, np.arange(len(n_bases) + 1))
        counts = frames.n_candidates
        ends, of_ends = _ends_of(frames.sequence, frames.reverse, counts, frames.bounds, len(n_bases))
        offsets = [offsets_of(frames.n_words)[first], first, offsets_of(counts)[first], *of_ends]
        shared = {name: getattr(frames, name) for name in _IN_BOTH}
        reverse = np.repeat(frames.reverse, counts)
        return OrfShard(weights, n_bases, np.array(offsets), reverse=reverse, **shared, **ends)


def _ends_of(
    sequence: IntArray, reverse: NDArray[np.bool_], counts: IntArray, bounds: IntArray, n_sequences: int
) -> tuple[dict[str, Any], list[IntArray]]:
    """Left and right ends of candidates by position, and where those of each sequence begin.

    On the forward strand each start is a left end and each stop, of a frame, a right one; on the reverse
    strand it is the other way round.
    """
    # `of` is the frame of each candidate; [first, last) are the candidates of each frame. Left ends come as
    # those of forward candidates, then of reverse frames; right ends as those of forward frames, then of
    # reverse candidates. Sorting by sequence, position and strand gives their final places.
    last, of = np.cumsum(counts), np.repeat(np.arange(counts.size), counts)
    first, every = last - counts, np.arange(of.size)
    is_reverse = reverse[of]
    forward, back = every[~is_reverse], np.flatnonzero(reverse)  # candidates, and frames
    left_first = np.concatenate((forward, first[back]))
    left_last = np.concatenate((forward + 1, last[back]))
    right_first = np.concatenate((first[~reverse], every[is_reverse]))
    of_left, of_right = sequence[of[left_first]], sequence[of[right_first]]
    left, right = bounds[left_first, 0], bounds[right_first, 1]
    left_strand, right_strand = (is_reverse[some].astype(np.int64) for some in (left_first, right_first))
    by_left = np.lexsort((left_strand, left, of_left))
    by_right = np.lexsort((right_strand, right, of_right))
    place = np.empty(by_right.size, np.int64)
    place[by_right] = np.arange(by_right.size)
    # of each candidate the right end, by its number before sorting, and then by its place within its sequence
    own = np.empty(of.size, np.int64)
    own[~is_reverse] = (np.cumsum(~reverse) - 1)[of[~is_reverse]]
    own[is_reverse] = np.arange(np.count_nonzero(~reverse), by_right.size)
    offsets = [
        offsets_of(np.bincount(some, minlength=n_sequences)) for some in (of_left, of_right, sequence[of])
    ]
    candidate = offsets[2][of_left[by_left]]  # the first one of the sequence
    ends = {
        "right_of": place[own] - offsets[1][sequence[of]],
        "left_position": left[by_left],
        "left_strand": left_strand[by_left],
        "first_candidate": left_first[by_left] - candidate,
        "last_candidate": left_last[by_left] - candidate,
        "right_position": right[by_right],
        "right_strand": right_strand[by_right],
    }
    return ends, offsets[:2]


def cut(shard: OrfShard, pieces: IntArray) -> OrfShard:
    """A shard of pieces of the sequences: candidates that lie within one.

    Rows of `pieces` are a sequence, first base, and the one behind the last: rising, and apart.
    """
    frames, at = Frames.from_shard(shard), offsets_of(shard.n_bases)
    of, first = frames.frame, offsets_of(frames.n_candidates)[:-1]
    bounds = frames.bounds + at[frames.sequence[of]][:, None]
    begin, end = at[pieces[:, 0]] + pieces[:, 1], at[pieces[:, 0]] + pieces[:, 2]
    # Candidates of a frame share its stop, so the piece of the stop is that of all that are kept. A start
    # that lies before this piece does not count: then a later start of the frame may.
    stops = np.where(frames.reverse, bounds[first, 0] + 1, bounds[first, 1])  # behind one of the stop's bases
    piece = np.searchsorted(begin, stops, side="left") - 1
    last = np.append(end, 0)[piece]  # of none, nothing
    inside = (bounds[:, 0] >= np.append(begin, 0)[piece][of]) & (bounds[:, 1] <= last[of])
    kept = frames.within(inside)
    piece = piece[np.bincount(of, inside, minlength=first.size) > 0]
    kept.bounds[:] -= np.repeat(begin[piece] - at[kept.sequence], kept.n_candidates)[:, None]
    return replace(kept, sequence=piece).assembled(pieces[:, 2] - pieces[:, 1], np.ones(len(pieces)))


def clear_of(shard: OrfShard, avoided: NDArray[np.bool_], most: int) -> OrfShard:
    """Without the candidates that have more than so many bases that are to be avoided, which are marked."""
    frames, before = Frames.from_shard(shard), np.concatenate(([0], np.cumsum(avoided)))
    first = np.repeat(offsets_of(shard.n_bases)[frames.sequence], frames.n_candidates)
    bounds = frames.bounds + first[:, None]
    # `before` counts marked bases up to each position, over all sequences one behind the other
    clear = before[bounds[:, 1]] - before[bounds[:, 0]] <= most
    return frames.within(clear).assembled(shard.n_bases, shard.weights)
