"""From letters to open reading frames: every start codon with the next stop codon in its frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structune.genes.kernels.words import words
from structune.genes.nucleotides import Letters, reverse_complement
from structune.genes.prokaryotes.kernels import candidates as kernels
from structune.genes.prokaryotes.kernels.starts import count_numbers
from structune.genes.prokaryotes.structure.candidates import CODON, CONTEXT, WORD, OrfRules, OrfWeights
from structune.genes.prokaryotes.structure.shard import Frames
from structune.structure import IntArray


def find_frames(letters: Sequence[Letters], weights: OrfWeights, is_open: bool) -> Frames:
    """The frames of sequences, on both strands.

    With `is_open` genes may begin before a sequence and end behind it. They count as if they began with ATG
    at the first whole codon, or had a stop codon behind the last one, and a thousand bases.
    """
    forward = _frames_along(letters, weights, is_open)
    reverse = _frames_along([reverse_complement(part) for part in letters], weights, is_open)
    # what was found along the reverse strand is told by positions on the forward one
    n_bases = np.array([part.size for part in letters], np.int64)
    sizes = np.repeat(n_bases[reverse.sequence], reverse.n_candidates)
    reverse.bounds[:] = sizes[:, None] - reverse.bounds[:, ::-1]
    reverse.reverse[:] = True
    return forward.beside(reverse)


def _frames_along(letters: Sequence[Letters], weights: OrfWeights, is_open: bool) -> Frames:
    """Frames of the strand that is given, with bounds along it."""
    # two passes: the first counts, so that arrays are made once in the size that they need
    known = [_codons(part, weights.rules, is_open) for part in letters]
    sizes = np.zeros((len(letters) + 1, 3), np.int64)
    for s, (part, (stops, codons)) in enumerate(zip(letters, known, strict=True)):
        kernels.count(stops, codons, part.size, sizes[s + 1])
    places = np.cumsum(sizes, axis=0)
    n_frames, n_candidates, n_words = places[-1].tolist()
    counts, words_of_frames = (np.empty(n_frames, np.int64) for _ in range(2))
    starts, ends, lengths, skipped = (np.empty(n_candidates, np.int64) for _ in range(4))
    kinds, found_words = np.empty(n_candidates, np.int8), np.empty(n_words, np.int16)
    found = kernels.Found(counts, words_of_frames, starts, ends, lengths, kinds, skipped, found_words)
    sites, context = np.empty(n_candidates, np.int8), np.empty((n_candidates, CONTEXT.size), np.int8)
    for s, (part, (stops, codons)) in enumerate(zip(letters, known, strict=True)):
        own = slice(places[s, 1], places[s + 1, 1])
        kernels.fill(stops, codons, part.size, numbers(part, WORD), places[s].copy(), found)
        kernels.ribosome_sites(part, starts[own], sites[own])
        kernels.letters_at(part, starts[own], CONTEXT, context[own])
    return Frames(
        sequence=np.repeat(np.arange(len(letters)), sizes[1:, 0]),
        reverse=np.zeros(n_frames, bool),
        n_candidates=counts,
        n_words=words_of_frames,
        bounds=np.stack((starts, ends), axis=1),
        signals=weights.signals(kinds, sites, lengths, context),
        skipped=skipped,
        words=found_words,
        chosen=np.empty(0, np.int8),
    )


def _codons(letters: Letters, rules: OrfRules, is_open: bool) -> tuple[IntArray, kernels.Codons]:
    """First bases of stop codons, and kinds of start codons."""
    codons = numbers(letters, CODON)
    stops = np.flatnonzero(rules.is_stop[codons])
    # The three positions behind are one of each frame. They stand for stop codons that nobody sees.
    if is_open:  # behind the last whole codon of each frame
        stops = np.append(stops, np.arange(max(letters.size - 2, 0), letters.size + 1))
    return stops, kernels.Codons(rules.start_kind[codons], rules.shortest, is_open)


def numbers(letters: Letters, length: int) -> NDArray[np.int16]:
    """Words of up to six from each position on as numbers in base 4; ``4 ** length`` for an unknown base."""
    return _both_strands(letters, length)[0, length - 1 :]


def _both_strands(letters: Letters, length: int) -> NDArray[np.int16]:
    """Words of both strands, as numbers: those that end at each position, and that end there on the other."""
    found = np.empty((2, letters.size), np.int16)
    words(letters, length, *found)
    return found


def count_words(letters: Letters) -> IntArray:
    """How often each word of two codons is at any place of both strands, by number."""
    counts = np.zeros(4**WORD + 1, np.int64)
    count_numbers(_both_strands(letters, WORD).ravel(), counts)
    return counts[:-1]
