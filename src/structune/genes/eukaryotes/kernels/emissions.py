"""What columns emit along a sequence, what sites and flanks are worth, and how often each is used."""

from typing import Any, NamedTuple

from structune.kernels.jit import bare_kernel, part_of_bare_kernel

BETWEEN, CODING, INTRON = 0, 1, 4  # rows of tables: between genes, by position in a codon, in introns
_NEGLIGIBLE = 1e-18


class Letters(NamedTuple):
    """Of each position: words that end there, read along either strand; ``extra`` (n or 0, rows): logs of
    more that each row emits."""

    word: Any
    reverse_word: Any
    extra: Any


class Sites(NamedTuple):
    """``signal``, ``position``, ``reverse`` of each site; of each signal where its window begins (``first``),
    its ``width``, number of words, and place in the table."""

    signal: Any
    position: Any
    reverse: Any
    first: Any
    width: Any
    n_words: Any
    start: Any


@part_of_bare_kernel
def row_of(column, t, n_strands, n_introns, n_columns):
    """The row of the table by which a column emits position t, and whether along the other strand."""
    if column == n_columns - 1:
        return BETWEEN, False
    if column < 3 * n_strands:
        # column f has codons whose leftmost base is at f modulo 3; the other strand reads them from the right
        place = (t - column) % 3
        return (CODING + place, False) if column < 3 else (CODING + 2 - place, True)
    k = column - 3 * n_strands
    return INTRON + k % n_introns, k >= n_introns


@bare_kernel
def add_up(table, letters, n_strands, n_introns, prefix):
    """Fill ``prefix`` (n + 1, columns)."""
    # prefix[t, c] is the sum of what column c emits at 0, ..., t - 1, so that a stretch of one column from a
    # to b costs prefix[b, c] - prefix[a, c], however long it is
    n, n_columns = letters.word.size, prefix.shape[1]
    for c in range(n_columns):
        prefix[0, c] = 0.0
    for t in range(n):
        word, reverse = letters.word[t], letters.reverse_word[t]
        for c in range(n_columns):
            row, other = row_of(c, t, n_strands, n_introns, n_columns)
            value = table[row, reverse if other else word]
            if row == BETWEEN and n_strands == 2:
                # on neither strand there is a gene: both words count, and a sequence and its reverse
                # complement score alike
                value += table[row, reverse]
            if letters.extra.shape[0]:
                value += letters.extra[t, row]
            prefix[t + 1, c] = prefix[t, c] + value


@bare_kernel
def count_up(cover, letters, n_strands, n_introns, factor, running, table, rows):
    """Add how often each word is used: ``cover`` (n + 1, columns) are differences of the columns' uses.

    ``running`` (columns,) is lent; ``rows`` (n or 0, rows) takes how often each row emits each position.
    """
    # the transpose of `add_up`: running[c] is the probability that column c emits t, the sum of the
    # differences up to there
    n, n_columns = letters.word.size, cover.shape[1]
    for c in range(n_columns):
        running[c] = 0.0
    for t in range(n):
        word, reverse = letters.word[t], letters.reverse_word[t]
        for c in range(n_columns):
            running[c] += cover[t, c]
            if abs(running[c]) > _NEGLIGIBLE:
                row, other = row_of(c, t, n_strands, n_introns, n_columns)
                used = factor * running[c]
                table[row, reverse if other else word] += used
                if row == BETWEEN and n_strands == 2:
                    table[row, reverse] += used
                if rows.shape[0]:
                    rows[t, row] += used


@part_of_bare_kernel
def _site_word(sites, letters, s, k):
    """The word at place k of the window of a site, or -1."""
    signal, position = sites.signal[s], sites.position[s]
    first = sites.first[signal]
    # positions lie between bases: place 0 of a window is the base behind it, or before it along the strand
    p = position - 1 - first - k if sites.reverse[s] else position + first + k
    if not 0 <= p < letters.word.size:
        return -1
    return letters.reverse_word[p] if sites.reverse[s] else letters.word[p]


@bare_kernel
def score_sites(sites, letters, none, table, out):
    """Add the scores of sites to ``out``, which has a place more, for what is no site."""
    for s in range(sites.signal.size):
        signal = sites.signal[s]
        for k in range(sites.width[signal]):
            word = _site_word(sites, letters, s, k)
            if word >= 0 and word != none:
                # a shorter word is the end of a longer one, so its number is what is left of that by 4 **
                # length
                n_words = sites.n_words[signal]
                out[s] += table[sites.start[signal] + k * n_words + word % n_words]


@bare_kernel
def count_sites(sites, letters, none, used, factor, table):
    """Add how often each word of a window is used."""
    for s in range(sites.signal.size):
        if abs(used[s]) > _NEGLIGIBLE:
            signal = sites.signal[s]
            n_words = sites.n_words[signal]
            for k in range(sites.width[signal]):
                word = _site_word(sites, letters, s, k)
                if word >= 0 and word != none:
                    table[sites.start[signal] + k * n_words + word % n_words] += factor * used[s]


# --- flanks: what lies around genes ------------------------------------------------------------------------


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
    # an interval [first, last) along the strand is (position - last, position - first) on the sequence
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
            # flanks overlap, and are hundreds of bases long: sums up to each base make each a difference of
            # two
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
            # the transpose: differences at the ends of each flank, summed along the sequence, say how often
            # each base lies in one
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
