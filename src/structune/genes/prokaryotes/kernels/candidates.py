"""Candidate genes of a sequence that is read along one strand."""

from typing import Any, NamedTuple

import numpy as np

from structune.kernels.jit import kernel, part_of_kernel

_CUT_SHORT = 1000  # bases of a gene that ends behind its sequence

# TAAGGAGGTGA, complementary to the 3' end of the 16S RNA; spacings count from behind GGAGG
_CONSENSUS = np.array([3, 0, 0, 2, 2, 0, 2, 2, 3, 2, 0], np.int8)
_CORE_END = 8
SHORTEST_RUN, _LONGEST_RUN = 3, 6
SPACING_STARTS = np.array([2, 5, 7, 9, 11])
MOST_SPACING = 16
_USUAL_SPACING = 7
RUNS, SPACINGS = _LONGEST_RUN - SHORTEST_RUN + 1, SPACING_STARTS.size


class Codons(NamedTuple):
    """What is known of the codons of a sequence."""

    start_kind: Any  # (n_bases - 2,): of the codon that begins there, -1 if it is no start
    shortest: int  # bases of a gene
    is_open: bool  # whether genes may go beyond the ends of the sequence


class Found(NamedTuple):
    """Frames by the positions of their stops, and their candidates by those of their starts."""

    n_candidates: Any  # of each frame
    n_words: Any
    starts: Any  # of each candidate
    ends: Any
    lengths: Any  # -1 of those that begin before the sequence
    kinds: Any
    skipped: Any  # words of its frame before the start
    words: Any  # two codons from each codon on, from the first start of a frame to before its stop


@kernel
def count(stops, codons, n_bases, sizes):
    """Add the numbers of frames, candidates and words to `sizes`.

    `stops` are the first bases of stop codons, rising, or of what is behind the last whole codons.
    """
    # begin[f]: first codon behind the last stop of the reading frame f, the position modulo 3. In open
    # sequences there are stops behind the last whole codon of each frame, too: a gene may go on there.
    begin = np.array([0, 1, 2])
    for stop in stops:
        first, n = _starts(codons, n_bases, begin[stop % 3], stop, begin[:0])
        begin[stop % 3] = stop + 3
        if n:
            sizes[0] += 1
            sizes[1] += n
            sizes[2] += _n_words(first, stop)


@kernel
def fill(stops, codons, n_bases, words, at, found):
    """Fill `found` from the places `at` on, which move behind it; `words` are by their first base."""
    begin, starts = np.array([0, 1, 2]), np.empty(n_bases // 3 + 1, np.int64)
    for stop in stops:
        first, n = _starts(codons, n_bases, begin[stop % 3], stop, starts)
        begin[stop % 3] = stop + 3
        if not n:
            continue
        n_words = _n_words(first, stop)
        found.n_candidates[at[0]], found.n_words[at[0]] = n, n_words
        for k in range(n):
            c = at[1] + k
            found.starts[c], found.ends[c] = starts[k], min(stop + 3, n_bases)
            kind = codons.start_kind[starts[k]]
            # A gene that goes on behind the sequence is at least as long as what is seen of it, and counts as
            # one of a thousand bases. Of one without a start codon the length is not known.
            length = stop + 3 - starts[k]
            found.lengths[c] = length if stop + 3 <= n_bases else max(length, _CUT_SHORT)
            if kind < 0:
                found.lengths[c] = -1
            found.kinds[c] = max(kind, 0)
            found.skipped[c] = (starts[k] - first) // 3
        for k in range(n_words):
            found.words[at[2] + k] = words[first + 3 * k]
        at[0] += 1
        at[1] += n
        at[2] += n_words


@part_of_kernel
def _starts(codons, n_bases, begin, stop, out):
    """The first start behind the stop before, and how many there are; they fill `out` if it has room."""
    first, n = -1, 0
    # a start lies before the codon in front of the stop, and the gene has `shortest` bases in the sequence,
    # its stop codon included
    for p in range(begin, min(stop - 2, min(stop + 3, n_bases) - codons.shortest + 1), 3):
        if codons.start_kind[p] >= 0 or (codons.is_open and p < 3):
            if n == 0:
                first = p
            if out.size:
                out[n] = p
            n += 1
    return first, n


@part_of_kernel
def _n_words(first, stop):
    # words of two codons, from that at `first` to that which ends before the stop codon
    return max((stop - first) // 3 - 1, 0)


@kernel
def letters_at(letters, starts, places, out):
    """The letters at `places` relative to each start, 4 outside of the sequence."""
    for k in range(starts.size):
        for j in range(places.size):
            p = starts[k] + places[j]
            out[k, j] = letters[p] if 0 <= p < letters.size else 4


@kernel
def ribosome_sites(letters, starts, out):
    """The kind of the best site before each start: run and spacing, or ``RUNS * SPACINGS`` for none.

    The best has the longest run of bases as in the consensus, of equal ones the spacing nearest to the usual.
    """
    for k in range(starts.size):
        # the spacing is the number of bases between GGAGG, behind which is _CORE_END, and the start codon
        longest, at = SHORTEST_RUN - 1, 0
        for spacing in range(SPACING_STARTS[0], MOST_SPACING):
            run = _run(letters, starts[k] - spacing - _CORE_END, starts[k])
            nearer = abs(spacing - _USUAL_SPACING) < abs(at - _USUAL_SPACING)
            if run > longest or (run == longest and at and nearer):
                longest, at = run, spacing
        out[k] = RUNS * SPACINGS
        if at:
            place = SPACING_STARTS.size - 1
            while SPACING_STARTS[place] > at:
                place -= 1
            out[k] = (min(longest, _LONGEST_RUN) - SHORTEST_RUN) * SPACINGS + place


@kernel
def _run(letters, first, end):
    """The longest run of matches with the consensus laid at `first`, before `end`."""
    longest = run = 0
    for j in range(_CONSENSUS.size):
        p = first + j
        # a run ends at the start codon, and a base before the sequence matches nothing
        run = run + 1 if 0 <= p < end and letters[p] == _CONSENSUS[j] else 0
        longest = max(longest, run)
    return longest
