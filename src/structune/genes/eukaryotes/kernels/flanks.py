"""What lies around genes: words at some distance from their starts and stops, and how often they are used."""

from typing import Any, NamedTuple

from structune.kernels.jit import bare_kernel, part_of_bare_kernel


class Flanks(NamedTuple):
    """Of each part of a flank: the ``signal`` it belongs to, and the places around it, from ``first`` up to
    before ``last``; the number of words that a part has weights for, and of strands that have sites."""

    signal: Any
    first: Any
    last: Any
    n_words: Any
    n_strands: Any


@part_of_bare_kernel
def _span(flanks, sites, b, s, n):
    """Where part b of the flank of a site begins and ends: what is beyond the sequence counts for nothing."""
    position = sites.position[s]
    if sites.reverse[s]:
        first, last = position - flanks.last[b], position - flanks.first[b]
    else:
        first, last = position + flanks.first[b], position + flanks.last[b]
    return min(max(first, 0), n), min(max(last, 0), n)


@bare_kernel
def score_flanks(flanks, sites, letters, none, table, running, out):
    """Add the scores of the flanks of sites to ``out``; ``running`` (n + 1,) is lent."""
    n = letters.word.size
    for b in range(flanks.signal.size):
        for reverse in range(flanks.n_strands):
            words = letters.reverse_word if reverse else letters.word
            running[0] = 0.0
            for t in range(n):
                word = words[t]
                running[t + 1] = running[t] + (table[b, word % flanks.n_words] if word != none else 0.0)
            for s in range(sites.signal.size):
                if sites.signal[s] == flanks.signal[b] and sites.reverse[s] == reverse:
                    first, last = _span(flanks, sites, b, s, n)
                    out[s] += running[last] - running[first]


@bare_kernel
def count_flanks(flanks, sites, letters, none, used, factor, running, table):
    """Add how often each word of a flank is used; ``running`` (n + 1,) is lent."""
    n = letters.word.size
    for b in range(flanks.signal.size):
        for reverse in range(flanks.n_strands):
            words = letters.reverse_word if reverse else letters.word
            for t in range(n + 1):
                running[t] = 0.0
            for s in range(sites.signal.size):
                if sites.signal[s] == flanks.signal[b] and sites.reverse[s] == reverse:
                    first, last = _span(flanks, sites, b, s, n)
                    running[first] += factor * used[s]
                    running[last] -= factor * used[s]
            for t in range(n):
                if t:
                    running[t] += running[t - 1]
                if words[t] != none:
                    table[b, words[t] % flanks.n_words] += running[t]
