"""What columns emit along a sequence, what its sites are worth, and how often either is used."""

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
        place = (t - column) % 3
        return (CODING + place, False) if column < 3 else (CODING + 2 - place, True)
    k = column - 3 * n_strands
    return INTRON + k % n_introns, k >= n_introns


@bare_kernel
def add_up(table, letters, n_strands, n_introns, prefix):
    """Fill ``prefix`` (n + 1, columns)."""
    n, n_columns = letters.word.size, prefix.shape[1]
    for c in range(n_columns):
        prefix[0, c] = 0.0
    for t in range(n):
        word, reverse = letters.word[t], letters.reverse_word[t]
        for c in range(n_columns):
            row, other = row_of(c, t, n_strands, n_introns, n_columns)
            value = table[row, reverse if other else word]
            if row == BETWEEN and n_strands == 2:
                value += table[row, reverse]
            if letters.extra.shape[0]:
                value += letters.extra[t, row]
            prefix[t + 1, c] = prefix[t, c] + value


@bare_kernel
def count_up(cover, letters, n_strands, n_introns, factor, running, table, rows):
    """Add how often each word is used: ``cover`` (n + 1, columns) are differences of the columns' uses.

    ``running`` (columns,) is lent; ``rows`` (n or 0, rows) takes how often each row emits each position.
    """
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
