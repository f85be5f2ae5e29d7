"""From letters to the arrays of an `OrfShard`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.genes.prokaryotes.kernels.ribosome_site import ribosome_sites
from structune.genes.prokaryotes.structure.candidates import (
    CODON,
    OrfRules,
    candidates,
    frame_words,
    letters_at,
    reverse_complement,
)
from structune.genes.prokaryotes.structure.weights import CONTEXT, OrfWeights
from structune.structure import Array

Gene = tuple[int, int, str]  # first base, the one behind the last, strand
Letters = NDArray[np.int8]
_REVERSE = "-"


def encode_sequence(letters: Letters, weights: OrfWeights, is_open: bool) -> dict[str, Array]:
    """The arrays of one sequence, without outputs."""
    forward = _strand(letters, weights, is_open)
    reverse = _strand(reverse_complement(letters), weights, is_open)
    reverse["bounds"] = letters.size - reverse["bounds"][:, ::-1]
    parts = {name: np.concatenate((forward[name], reverse[name])) for name in forward}
    n_forward, n_frames = len(forward["bounds"]), len(forward["n_candidates"])
    parts["reverse"] = np.arange(len(parts["bounds"])) >= n_forward
    return parts | _ends(parts["bounds"], parts["n_candidates"], n_forward, n_frames)


def _strand(letters: Letters, weights: OrfWeights, is_open: bool) -> dict[str, Array]:
    """Frames and candidates of the strand that is given, with bounds along it."""
    found = candidates(letters, weights.rules, is_open)
    words, n_words, skipped = frame_words(letters, found)
    ends = np.minimum(np.repeat(found.stops, found.n_candidates) + 3, letters.size)
    sites = np.empty(found.starts.size, np.int8)
    ribosome_sites(letters, found.starts, sites)
    return {
        "words": words,
        "n_words": n_words,
        "n_candidates": found.n_candidates,
        "skipped": skipped,
        "bounds": np.stack((found.starts, ends), axis=1),
        "signals": weights.signals(
            found.kinds, sites, ends - found.starts, letters_at(letters, found.starts, CONTEXT)
        ),
    }


def _ends(bounds: Array, n_candidates: Array, n_forward: int, n_frames: int) -> dict[str, Array]:
    """Left and right ends by position.

    On the forward strand each start is a left end and each stop, of a frame, a right one; on the reverse
    strand it is the other way round.
    """
    all_, after = np.arange(len(bounds)), np.cumsum(n_candidates)
    first = after - n_candidates  # candidate of each frame
    left_first = np.concatenate((all_[:n_forward], first[n_frames:]))
    left_last = np.concatenate((all_[:n_forward] + 1, after[n_frames:]))
    right_first = np.concatenate((first[:n_frames], all_[n_forward:]))
    left_strand = (np.arange(left_first.size) >= n_forward).astype(np.int64)
    right_strand = (np.arange(right_first.size) >= n_frames).astype(np.int64)
    left, right = bounds[left_first, 0], bounds[right_first, 1]
    by_left, by_right = np.lexsort((left_strand, left)), np.lexsort((right_strand, right))
    place = np.empty(right.size, np.int64)
    place[by_right] = np.arange(right.size)
    own = np.concatenate((np.repeat(np.arange(n_frames), n_candidates[:n_frames]), all_[n_forward:]))
    own[n_forward:] += n_frames - n_forward
    return {
        "right_of": place[own],
        "left_position": left[by_left],
        "left_strand": left_strand[by_left],
        "first_candidate": left_first[by_left],
        "last_candidate": left_last[by_left],
        "right_position": right[by_right],
        "right_strand": right_strand[by_right],
    }


def check_candidates(parts: Mapping[str, Array], rules: OrfRules) -> None:
    """Refuse arrays of a sequence that are not those of frames of candidates: all follows from their bounds.

    Raises
    ------
    DataError
    """
    bounds, counts = parts["bounds"], parts["n_candidates"]
    ends = np.cumsum(counts)
    n_forward = len(bounds) - int(np.count_nonzero(parts["reverse"]))
    n_frames = int(np.searchsorted(ends, n_forward, side="right"))
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
    expected = {
        "reverse": is_reverse,
        "n_words": (lengths // CODON - 2)[ends - counts],
        "skipped": (starts - starts[first]) // CODON,
        **_ends(bounds, counts, n_forward, n_frames),
    }
    for name, array in expected.items():
        if not np.array_equal(parts[name], array):
            raise DataError(f"found {name} that are not those of the candidates")


def chosen_candidates(parts: dict[str, Array], genes: Iterable[Gene], name: str) -> NDArray[np.int8]:
    """Marks the candidates that are the genes."""
    found = np.zeros(len(parts["bounds"]), np.int8)
    places = {
        (int(a), int(b), bool(reverse)): k
        for k, ((a, b), reverse) in enumerate(zip(parts["bounds"], parts["reverse"], strict=True))
    }
    for start, end, strand in genes:
        place = places.get((start, end, strand == _REVERSE))
        if place is None:
            raise DataError(f"{name}: found the gene {start}-{end}({strand}), expected one of the candidates")
        found[place] = 1
    return found
