"""What columns emit along a sequence, what sites are worth, and how often each is used."""

from typing import Any, NamedTuple

from structune.kernels.jit import bare_kernel, part_of_bare_kernel

BETWEEN, CODING, INTRON = 0, 1, 4  # rows of tables: between genes, by position in a codon, in introns
_NEGLIGIBLE = 1e-18


class Letters(NamedTuple):
    """Of each position: words that end there, read along either strand; ``extra`` (n or 0, rows): logs of
    more that each row emits. ``rows`` (3, columns): by which row of the table each column emits positions,
    by these modulo 3; ``is_reverse`` (columns,): whether along the other of ``n_strands`` strands."""

    word: Any
    reverse_word: Any
    extra: Any
    rows: Any
    is_reverse: Any
    n_strands: Any


class Windows(NamedTuple):
    """What lies around signals, in parts: those of signal k are ``start[k]:start[k + 1]``. Of each part the
    distances along the strand from the signal to its bases, from ``first`` up to before ``last``, where its
    weights begin among all, and its last word. ``none``: the number of what is no word."""

    start: Any
    first: Any
    last: Any
    weights: Any
    last_word: Any
    none: Any


@bare_kernel
def add_up(table, letters, prefix):
    """Fill ``prefix`` (n + 1, columns), which begins with zeros."""
    # prefix[t, c] is the sum of what column c emits at 0, ..., t - 1, so that a stretch of one column from a
    # to b costs prefix[b, c] - prefix[a, c], however long it is
    for t in range(letters.word.size):
        word, reverse = letters.word[t], letters.reverse_word[t]
        for c in range(prefix.shape[1]):
            row = letters.rows[t % 3, c]
            value = table[row, reverse if letters.is_reverse[c] else word]
            if row == BETWEEN and letters.n_strands == 2:
                # on neither strand there is a gene: both words count, and a sequence and its reverse
                # complement score alike
                value += table[row, reverse]
            if letters.extra.shape[0]:
                value += letters.extra[t, row]
            prefix[t + 1, c] = prefix[t, c] + value


@bare_kernel
def count_up(used, letters, factor, table, rows):
    """Add how often each word is used, by how often columns emit positions: ``used`` (n + 1, columns).

    ``rows`` (n or 0, rows) takes how often each row emits each position.
    """
    # the transpose of `add_up`
    for t in range(letters.word.size):
        word, reverse = letters.word[t], letters.reverse_word[t]
        for c in range(used.shape[1]):
            if abs(used[t, c]) > _NEGLIGIBLE:
                row, share = letters.rows[t % 3, c], factor * used[t, c]
                table[row, reverse if letters.is_reverse[c] else word] += share
                if row == BETWEEN and letters.n_strands == 2:
                    table[row, reverse] += share
                if rows.shape[0]:
                    rows[t, row] += share


@part_of_bare_kernel
def _span(part, nodes, windows, s, n):
    """Where a part of what is around a site begins and ends, within the sequence."""
    # positions lie between bases: [first, last) along the strand is (position - last, position - first) on
    # the sequence
    position = nodes.site_position[s]
    if nodes.site_reverse[s]:
        first, last = position - windows.last[part], position - windows.first[part]
    else:
        first, last = position + windows.first[part], position + windows.last[part]
    return max(first, 0), min(last, n)


@bare_kernel
def add_sites(nodes, letters, windows, sites, w, counts, factor):
    """Add to each of ``sites`` its weights ``w``; or its use, times ``factor``, to the ``counts`` of these.

    ``sites`` has a place more, for what is no site; of ``w`` and ``counts`` the other one is empty.
    """
    n, is_scored = letters.word.size, w.size > 0
    for s in range(nodes.site_signal.size):
        if is_scored or abs(sites[s]) > _NEGLIGIBLE:
            words = letters.reverse_word if nodes.site_reverse[s] else letters.word
            signal, total, used = nodes.site_signal[s], sites[s], factor * sites[s]
            for part in range(windows.start[signal], windows.start[signal + 1]):
                begin, end = _span(part, nodes, windows, s, n)
                weights, last_word = windows.weights[part], windows.last_word[part]
                for p in range(begin, end):
                    # a shorter word is the end of a longer one, so its number is the last bits of that
                    if words[p] != windows.none:
                        if is_scored:
                            total += w[weights + (words[p] & last_word)]
                        else:
                            counts[weights + (words[p] & last_word)] += used
            if is_scored:
                sites[s] = total
