"""Sums over the words and letters near candidate starts."""

import numpy as np

from structune.kernels.jit import kernel, part_of_kernel

_NEGLIGIBLE = 1e-4  # probability of a start that teaches nothing


@kernel
def sum_words(frames, table, first, last, out):
    """Sums over words from `first` to before `last`, counted from each candidate's start, in its frame."""
    word, k = 0, 0
    for o in range(frames.n_words.size):
        for _ in range(frames.n_candidates[o]):
            begin, end = max(frames.skipped[k] + first, 0), min(frames.skipped[k] + last, frames.n_words[o])
            total = 0.0
            for c in range(begin, end):
                total += table[frames.words[word + c]]
            out[k] = total
            k += 1
        word += frames.n_words[o]


@kernel
def motif_scores(letters, odds, places, out):
    """Log of the mean odds of a motif over where it may begin, `places` being the probabilities of those."""
    for k in range(len(letters)):
        total = 0.0
        for a in range(places.size):
            total += places[a] * _odds(letters, odds, k, a)
        out[k] = np.log(total)


@kernel
def count_motif(letters, odds, places, rest, used, letter_counts, place_counts):
    """Add how often each letter of a motif, and each of its places, is expected in `used` starts.

    `rest` is the odds that there is none.
    """
    shares = np.empty(places.size)
    for k in range(len(letters)):
        if used[k] < _NEGLIGIBLE:
            continue
        total = rest
        for a in range(places.size):
            shares[a] = places[a] * _odds(letters, odds, k, a)
            total += shares[a]
        for a in range(places.size):
            share = used[k] * shares[a] / total
            place_counts[a] += share
            for j in range(len(odds)):
                letter_counts[j, letters[k, a + j]] += share


@part_of_kernel
def _odds(letters, odds, k, a):
    found = 1.0
    for j in range(len(odds)):
        found *= odds[j, letters[k, a + j]]
    return found
