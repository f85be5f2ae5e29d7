"""Open reading frames with candidates, and the shards that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.prokaryotes.structure.candidates import CODON, OrfRules
from structune.genes.prokaryotes.structure.shard import CANDIDATES, FRAMES, OrfShard
from structune.structure import Array, FloatArray, IntArray, offsets_of, segment_indices

Gene = tuple[int, int, str]  # first base, the one behind the last, strand
_REVERSE = "-"


@dataclass(frozen=True)
class Frames:
    """Frames and their candidates, one frame after the other, by their starts along the strand.

    Attributes
    ----------
    sequence : ndarray of int64, shape (n_frames,)
    reverse : ndarray of bool, shape (n_frames,)
    n_candidates, n_words : ndarray of int64, shape (n_frames,)
    bounds : ndarray of int64, shape (n_candidates, 2)
        Within the sequence.
    signals : ndarray of uint8, shape (n_candidates, n_signals)
    skipped : ndarray of int64, shape (n_candidates,)
    words : ndarray of int16, shape (n_words,)
    chosen : ndarray of int8, shape (n_candidates,) or (0,)
    """

    sequence: IntArray
    reverse: NDArray[np.bool_]
    n_candidates: IntArray
    n_words: IntArray
    bounds: IntArray
    signals: NDArray[np.uint8]
    skipped: IntArray
    words: NDArray[np.int16]
    chosen: NDArray[np.int8]

    def take(self, frames: IntArray) -> Frames:
        """Some of them, in their order."""
        own = segment_indices(offsets_of(self.n_candidates), frames)
        return Frames(
            self.sequence[frames],
            self.reverse[frames],
            self.n_candidates[frames],
            self.n_words[frames],
            self.bounds[own],
            self.signals[own],
            self.skipped[own],
            self.words[segment_indices(offsets_of(self.n_words), frames)],
            self.chosen[own] if self.chosen.size else self.chosen,
        )

    def within(self, inside: NDArray[np.bool_]) -> Frames:
        """With some of the candidates: of a frame those from one on."""
        of, first = np.repeat(np.arange(self.sequence.size), self.n_candidates), offsets_of(self.n_candidates)
        counts = np.bincount(of, inside, minlength=self.sequence.size).astype(np.int64)
        frames = np.flatnonzero(counts)
        before = self.skipped[first[frames + 1] - counts[frames]]  # words of a frame that are left out
        n_words = self.n_words[frames] - before
        words = offsets_of(self.n_words)[frames] + before
        return Frames(
            self.sequence[frames],
            self.reverse[frames],
            counts[frames],
            n_words,
            self.bounds[inside],
            self.signals[inside],
            self.skipped[inside] - np.repeat(before, counts[frames]),
            self.words[np.repeat(words - offsets_of(n_words)[:-1], n_words) + np.arange(n_words.sum())],
            self.chosen[inside] if self.chosen.size else self.chosen,
        )


def joined(a: Frames, b: Frames) -> Frames:
    return Frames(*(np.concatenate((getattr(a, name), getattr(b, name))) for name in vars(a)))


def assembled(frames: Frames, n_bases: IntArray, weights: FloatArray) -> OrfShard:
    """A shard; frames of a strand of a sequence keep their order."""
    place = 2 * frames.sequence + frames.reverse
    if np.any(np.diff(place) < 0):  # not of one sequence: moving words takes as long as finding them
        frames = frames.take(np.argsort(place, kind="stable"))
    first = np.searchsorted(frames.sequence, np.arange(len(n_bases) + 1))
    ends, of_ends = ends_of(frames.sequence, frames.reverse, frames.n_candidates, frames.bounds, len(n_bases))
    offsets = [offsets_of(frames.n_words)[first], first, offsets_of(frames.n_candidates)[first], *of_ends]
    return OrfShard(
        weights=weights,
        n_bases=n_bases,
        offsets=np.array(offsets),
        words=frames.words,
        n_words=frames.n_words,
        n_candidates=frames.n_candidates,
        skipped=frames.skipped,
        bounds=frames.bounds,
        reverse=np.repeat(frames.reverse, frames.n_candidates),
        signals=frames.signals,
        chosen=frames.chosen,
        **ends,
    )


def frames_of(shard: OrfShard) -> Frames:
    """Those of a shard."""
    n_frames, first = np.diff(shard.offsets[FRAMES]), offsets_of(shard.n_candidates)[:-1]
    return Frames(
        np.repeat(np.arange(len(shard)), n_frames),
        shard.reverse[first],
        shard.n_candidates,
        shard.n_words,
        shard.bounds,
        shard.signals,
        shard.skipped,
        shard.words,
        shard.chosen,
    )


def cut(shard: OrfShard, pieces: IntArray) -> OrfShard:
    """A shard of pieces of the sequences: candidates that lie within one.

    Parameters
    ----------
    shard : OrfShard
    pieces : ndarray of int64, shape (n_pieces, 3)
        Sequence, first base, and the one behind the last of each; rising, and apart from each other.
    """
    frames, at = frames_of(shard), offsets_of(shard.n_bases)
    of = np.repeat(np.arange(frames.sequence.size), frames.n_candidates)
    bounds = frames.bounds + at[frames.sequence[of]][:, None]
    begin, end = at[pieces[:, 0]] + pieces[:, 1], at[pieces[:, 0]] + pieces[:, 2]
    first = offsets_of(frames.n_candidates)[:-1]
    stops = np.where(frames.reverse, bounds[first, 0] + 1, bounds[first, 1])  # behind one of the stop's bases
    piece = np.searchsorted(begin, stops, side="left") - 1
    last = np.append(end, 0)[piece]  # of none, nothing
    inside = (bounds[:, 0] >= np.append(begin, 0)[piece][of]) & (bounds[:, 1] <= last[of])
    kept = frames.within(inside)
    piece = piece[np.bincount(of, inside, minlength=first.size) > 0]
    kept.bounds[:] -= (begin[piece] - at[kept.sequence])[np.repeat(np.arange(piece.size), kept.n_candidates)][
        :, None
    ]
    return assembled(
        replace(kept, sequence=piece), pieces[:, 2] - pieces[:, 1], np.ones(len(pieces), np.float64)
    )


def clear_of(shard: OrfShard, avoided: NDArray[np.bool_], most: int) -> OrfShard:
    """Without the candidates that have more than so many bases that are to be avoided, which are marked.

    Parameters
    ----------
    shard : OrfShard
    avoided : ndarray of bool, shape (n_parts,)
    most : int
    """
    frames, before = frames_of(shard), np.concatenate(([0], np.cumsum(avoided)))
    first = np.repeat(offsets_of(shard.n_bases)[frames.sequence], frames.n_candidates)
    bounds = frames.bounds + first[:, None]
    clear = before[bounds[:, 1]] - before[bounds[:, 0]] <= most
    return assembled(frames.within(clear), shard.n_bases, shard.weights)


def ends_of(
    sequence: IntArray, reverse: NDArray[np.bool_], counts: IntArray, bounds: IntArray, n_sequences: int
) -> tuple[dict[str, IntArray], list[IntArray]]:
    """Left and right ends of candidates by position, and where those of each sequence begin.

    On the forward strand each start is a left end and each stop, of a frame, a right one; on the reverse
    strand it is the other way round.
    """
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


def check_candidates(parts: Mapping[str, Array], rules: OrfRules) -> None:
    """Refuse arrays of a sequence that are not those of frames of candidates: all follows from their bounds.

    Raises
    ------
    DataError
    """
    bounds, counts = parts["bounds"], parts["n_candidates"]
    ends = np.cumsum(counts)
    n_forward = len(bounds) - int(np.count_nonzero(parts["reverse"]))
    if n_forward not in (0, *ends):
        raise DataError("found candidates that frames do not share out")
    first = np.repeat(ends - counts, counts)
    is_reverse = np.arange(len(bounds)) >= n_forward
    starts = np.where(is_reverse, -bounds[:, 1], bounds[:, 0])
    stops = np.where(is_reverse, -bounds[:, 0], bounds[:, 1])
    lengths, same_frame = stops - starts, np.diff(first) == 0
    if np.any(lengths % CODON) or np.any(lengths < rules.shortest):
        raise DataError(f"found candidates that are not whole codons of {rules.shortest} bases or more")
    if not np.array_equal(stops, stops[first]) or np.any(np.diff(starts)[same_frame] <= 0):
        raise DataError("found candidates of a frame with several stops, or not in the order of their starts")
    of_frame = is_reverse[ends - counts]
    expected = {
        "reverse": is_reverse,
        "n_words": (lengths // CODON - 2)[ends - counts],
        "skipped": (starts - starts[first]) // CODON,
        **ends_of(np.zeros(counts.size, np.int64), of_frame, counts, bounds, 1)[0],
    }
    for name, array in expected.items():
        if not np.array_equal(parts[name], array):
            raise DataError(f"found {name} that are not those of the candidates")


def mark_genes(shard: OrfShard, s: int, genes: Iterable[Gene], name: str, chosen: NDArray[np.int8]) -> None:
    """Mark the candidates of a sequence that are the genes."""
    part = shard.part(s, CANDIDATES)
    bounds, reverse, own = shard.bounds[part], shard.reverse[part], chosen[part]
    wanted = {(start, end, strand == _REVERSE): (start, end, strand) for start, end, strand in genes}
    keys = zip(*bounds.T.tolist(), reverse.tolist(), strict=True)
    for k, key in enumerate(keys):
        if wanted.pop(key, None) is not None:
            own[k] = 1
    if wanted:
        start, end, strand = next(iter(wanted.values()))
        raise DataError(f"{name}: found the gene {start}-{end}({strand}), expected one of the candidates")
