"""From letters to open reading frames: every start codon with the next stop codon in its frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from structune.genes.kernels.words import words
from structune.genes.nucleotides import Letters, reverse_complement
from structune.genes.prokaryotes.kernels.ribosome_sites import ribosome_sites
from structune.genes.prokaryotes.structure.candidates import CODON, CONTEXT, WORD, OrfWeights
from structune.genes.prokaryotes.structure.shard import OrfShard, shard_of_frames
from structune.structure import FloatArray, IntArray, offsets_of

_AROUND = int(CONTEXT[-1] - CONTEXT[0]) + 1  # bases in a row that are looked at
_CUT_SHORT = 1000  # bases of a gene that ends behind its sequence


def encode_frames(
    letters: Sequence[Letters], weights: OrfWeights, is_open: bool, factors: FloatArray
) -> OrfShard:
    """The frames of sequences, on both strands, as a shard with weights of the sequences, `factors`.

    With `is_open` genes may begin before a sequence and end behind it. They count as if they began with ATG
    at the first whole codon, or had a stop codon behind the last one, and a thousand bases.
    """
    # One text of both strands of each sequence, so that all of them are gone through at once. Between them
    # are as many unknown bases as are looked at around a start: no strand sees another one.
    rules, apart = weights.rules, np.full(_AROUND, 4, np.int8)
    strands = [strand for part in letters for strand in (part, reverse_complement(part))]
    text = np.concatenate([apart, *(part for strand in strands for part in (strand, apart))])
    n_bases = np.array([part.size for part in letters], np.int64)
    sizes = np.repeat(n_bases, 2)
    ends = np.cumsum(sizes + _AROUND)  # of the strands in the text
    begins, codons = ends - sizes, numbers(text, CODON)
    # The three positions behind the last whole codons of a strand are one of each frame. They stand for stop
    # codons that nobody sees.
    is_stop, kinds = rules.is_stop[codons], rules.start_kind[codons]
    is_stop[ends[:, None] - np.arange(CODON)] = True
    is_start = kinds >= 0
    if is_open:
        is_start[begins[sizes >= rules.shortest, None] + np.arange(CODON)] = True
    # each start with the next stop of its frame, which is its position modulo 3
    starts, every_stop = np.flatnonzero(is_start), np.flatnonzero(is_stop)
    stops = np.empty_like(starts)
    for frame in range(CODON):
        own, of_frame = starts % CODON == frame, every_stop[every_stop % CODON == frame]
        stops[own] = of_frame[np.searchsorted(of_frame, starts[own])]
    strand = np.searchsorted(begins, starts, side="right") - 1
    is_seen = stops + CODON <= ends[strand]
    last = np.minimum(stops + CODON, ends[strand])
    # a start that is a stop codon is none, and of a gene as many bases as the shortest has must be seen
    kept = np.flatnonzero((stops > starts) & (last - starts >= rules.shortest) & (is_seen | is_open))
    kept = kept[np.argsort(stops[kept], kind="stable")]
    starts, stops, strand, is_seen, last = (each[kept] for each in (starts, stops, strand, is_seen, last))
    # A gene that goes on behind the sequence is at least as long as what is seen of it, and counts as one of
    # a thousand bases. Of one without a start codon the length is not known.
    kinds, lengths = kinds[starts], stops + CODON - starts
    lengths[~is_seen] = np.maximum(lengths[~is_seen], _CUT_SHORT)
    lengths[kinds < 0] = -1
    sites = np.empty(starts.size, np.int8)
    ribosome_sites(text, starts, sites)
    around = sliding_window_view(text, _AROUND)[starts + CONTEXT[0]]
    # frames begin at their first start; words of two codons go from there to before the stop codon
    first = np.flatnonzero(np.diff(stops, prepend=-1))
    counts, n_words = np.diff(first, append=starts.size), (stops - starts)[first] // CODON - 1
    places = np.repeat(starts[first] - CODON * offsets_of(n_words)[:-1], n_words)
    places += CODON * np.arange(places.size)
    # what was found along the reverse strand is told by positions on the forward one
    reverse, along = strand % 2 == 1, np.column_stack((starts, last)) - begins[strand, None]
    return shard_of_frames(
        strand[first] // 2,
        reverse[first],
        n_bases,
        factors,
        n_candidates=counts,
        n_words=n_words,
        bounds=np.where(reverse[:, None], sizes[strand, None] - along[:, ::-1], along),
        signals=weights.signals(np.maximum(kinds, 0), sites, lengths, around[:, CONTEXT - CONTEXT[0]]),
        skipped=(starts - np.repeat(starts[first], counts)) // CODON,
        words=numbers(text, WORD)[places],
        chosen=np.empty(0, np.int8),
    )


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
    counts = [np.bincount(strand, minlength=4**WORD + 1) for strand in _both_strands(letters, WORD)]
    return np.sum(counts, axis=0)[:-1]
