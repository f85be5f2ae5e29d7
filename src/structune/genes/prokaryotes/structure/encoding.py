"""From letters to open reading frames: every start codon with the next stop codon in its frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structune.genes.kernels.words import words
from structune.genes.nucleotides import Letters, reverse_complement
from structune.genes.prokaryotes.kernels import candidates as kernels
from structune.genes.prokaryotes.kernels.ribosome_site import ribosome_sites
from structune.genes.prokaryotes.kernels.starts import count_numbers
from structune.genes.prokaryotes.structure.assembly import Frames, joined
from structune.genes.prokaryotes.structure.candidates import CODON, WORD, OrfRules
from structune.genes.prokaryotes.structure.weights import CONTEXT, OrfWeights
from structune.structure import IntArray


def find_frames(letters: Sequence[Letters], weights: OrfWeights, is_open: bool) -> Frames:
    """The frames of sequences, on both strands.

    Parameters
    ----------
    letters : sequence of ndarray of int8
        0-3 for ACGT, 4 for an unknown base.
    weights : OrfWeights
    is_open : bool
        Genes may begin before a sequence and end behind it. They count as if they began with ATG at the first
        whole codon, or had a stop codon behind the last one, and a thousand bases.
    """
    forward = _strand(letters, weights, is_open)
    reverse = _strand([reverse_complement(part) for part in letters], weights, is_open)
    n_bases = np.array([part.size for part in letters], np.int64)
    sizes = np.repeat(n_bases[reverse.sequence], reverse.n_candidates)
    reverse.bounds[:] = sizes[:, None] - reverse.bounds[:, ::-1]
    reverse.reverse[:] = True
    return joined(forward, reverse)


def _strand(letters: Sequence[Letters], weights: OrfWeights, is_open: bool) -> Frames:
    """Frames of the strand that is given, with bounds along it."""
    known = [_codons(part, weights.rules, is_open) for part in letters]
    sizes = np.zeros((len(letters) + 1, 3), np.int64)
    for s, (part, (stops, codons)) in enumerate(zip(letters, known, strict=True)):
        kernels.count(stops, codons, part.size, sizes[s + 1])
    places = np.cumsum(sizes, axis=0)
    n_frames, n_candidates, n_words = places[-1].tolist()
    found = _room(n_frames, n_candidates, n_words)
    sites, context = np.empty(n_candidates, np.int8), np.empty((n_candidates, CONTEXT.size), np.int8)
    for s, (part, (stops, codons)) in enumerate(zip(letters, known, strict=True)):
        own = slice(places[s, 1], places[s + 1, 1])
        kernels.fill(stops, codons, part.size, numbers(part, WORD), places[s].copy(), found)
        ribosome_sites(part, found.starts[own], sites[own])
        kernels.letters_at(part, found.starts[own], CONTEXT, context[own])
    return Frames(
        sequence=np.repeat(np.arange(len(letters)), sizes[1:, 0]),
        reverse=np.zeros(n_frames, bool),
        n_candidates=found.n_candidates,
        n_words=found.n_words,
        bounds=np.stack((found.starts, found.ends), axis=1),
        signals=weights.signals(found.kinds, sites, found.lengths, context),
        skipped=found.skipped,
        words=found.words,
        chosen=np.empty(0, np.int8),
    )


def _room(n_frames: int, n_candidates: int, n_words: int) -> kernels.Found:
    counts, words_of_frame = (np.empty(n_frames, np.int64) for _ in range(2))
    starts, ends, lengths, skipped = (np.empty(n_candidates, np.int64) for _ in range(4))
    kinds, found = np.empty(n_candidates, np.int8), np.empty(n_words, np.int16)
    return kernels.Found(counts, words_of_frame, starts, ends, lengths, kinds, skipped, found)


def _codons(letters: Letters, rules: OrfRules, is_open: bool) -> tuple[IntArray, kernels.Codons]:
    """First bases of stop codons, and kinds of start codons."""
    codons = numbers(letters, CODON)
    stops = np.flatnonzero(rules.is_stop[codons])
    if is_open:  # behind the last whole codon of each frame
        stops = np.append(stops, np.arange(max(letters.size - 2, 0), letters.size + 1))
    return stops, kernels.Codons(rules.start_kind[codons], rules.shortest, is_open)


def numbers(letters: Letters, length: int) -> NDArray[np.int16]:
    """Words of up to six from each position on as numbers in base 4; ``4 ** length`` for an unknown base."""
    return both_strands(letters, length)[0, length - 1 :]


def both_strands(letters: Letters, length: int) -> NDArray[np.int16]:
    """Words of both strands, as numbers: those that end at each position, and that end there on the other."""
    found = np.empty((2, letters.size), np.int16)
    words(letters, length, *found)
    return found


def count_words(letters: Letters) -> IntArray:
    """How often each word of two codons is at any place of both strands, by number."""
    counts = np.zeros(4**WORD + 1, np.int64)
    count_numbers(both_strands(letters, WORD).ravel(), counts)
    return counts[:-1]
