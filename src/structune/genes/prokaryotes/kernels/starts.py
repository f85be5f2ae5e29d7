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
            # words are numbered from the first start of the frame; windows end at its first and last word
            begin, end = max(frames.skipped[k] + first, 0), min(frames.skipped[k] + last, frames.n_words[o])
            total = 0.0
            for c in range(begin, end):
                total += table[frames.words[word + c]]
            out[k] = total
            k += 1
        word += frames.n_words[o]


@kernel
def count_numbers(numbers, counts):
    """Add how often each number is there."""
    for number in numbers:
        counts[number] += 1


# --- letters ----------------------------------------------------------------------------------------------


@kernel
def letter_scores(letters, table, group, out):
    """Add the scores of the letters of each candidate, by place, to the row of their place's group."""
    for k in range(len(letters)):
        for j in range(group.size):
            out[group[j], k] += table[j, letters[k, j]]


@kernel
def count_letters(letters, used, counts):
    """Add how often each letter is expected at each place of `used` starts."""
    for k in range(len(letters)):
        if used[k] >= _NEGLIGIBLE:
            for j in range(len(counts)):
                counts[j, letters[k, j]] += used[k]


# --- motifs -----------------------------------------------------------------------------------------------


@kernel
def motif_scores(letters, odds, places, out):
    """Log of the mean odds of a motif over where it may begin, `places` being the probabilities of those."""
    # the mean over places a of p(a) prod_j odds[j, letter], where odds are those of the motif's bases against
    # the background, and 1 for a letter that is not known
    of_word, at = _word_odds(odds), np.empty(places.size)
    for k in range(len(letters)):
        _odds_at(letters, k, of_word, len(odds), at)
        total = 0.0
        for a in range(places.size):
            total += places[a] * at[a]
        out[k] = np.log(total)


@kernel
def count_motif(letters, odds, places, rest, used, letter_counts, place_counts):
    """Add how often each letter of a motif, and each of its places, is expected in `used` starts.

    `rest` is the odds that there is none.
    """
    of_word, at = _word_odds(odds), np.empty(places.size)
    for k in range(len(letters)):
        if used[k] < _NEGLIGIBLE:
            continue
        _odds_at(letters, k, of_word, len(odds), at)
        # Expectation: with the odds s = share of starts that have the motif, it begins at a with probability
        # s p(a) odds(a) / (1 - s + s sum p odds); `rest` is (1 - s) / s.
        total = rest
        for a in range(places.size):
            at[a] *= places[a]
            total += at[a]
        for a in range(places.size):
            share = used[k] * at[a] / total
            place_counts[a] += share
            for j in range(len(odds)):
                letter_counts[j, letters[k, a + j]] += share


@part_of_kernel
def _word_odds(odds):
    """Odds of all words as long as the motif, by number in base 5."""
    # a table: the odds of a word are looked up, and not multiplied, at every place of every start
    found = np.ones(1)
    for j in range(len(odds)):
        longer = np.empty(5 * found.size)
        for word in range(longer.size):
            longer[word] = found[word // 5] * odds[j, word % 5]
        found = longer
    return found


@part_of_kernel
def _odds_at(letters, k, of_word, length, at):
    """The odds of the motif at each place before a start."""
    # a rolling number in base 5: the next letter comes in, and the first one, worth 5^(length - 1), leaves
    word, first = 0, of_word.size // 5
    for j in range(length - 1):
        word = 5 * word + letters[k, j]
    for a in range(at.size):
        word = 5 * word + letters[k, a + length - 1]
        at[a] = of_word[word]
        word -= first * letters[k, a]
