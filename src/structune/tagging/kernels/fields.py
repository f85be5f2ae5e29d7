"""Lines of column files, split into fields."""

from numpy import int64

from structune.kernels.jit import exact_kernel, part_of_exact_kernel

AT, LINE, TOKENS, SENTENCES, LENGTH, FOUND = range(6)  # of `state`
_TAB, _NEWLINE, _RETURN, _SPACE = b"\t\n\r "
DOCSTART = b"-DOCSTART-"


@part_of_exact_kernel
def _is_blank(c):
    return c == _SPACE or _TAB <= c <= _RETURN


@part_of_exact_kernel
def _line_end(text, at):
    while text[at] != _NEWLINE and text[at] != _RETURN:
        at += 1
    return at


@part_of_exact_kernel
def _after_blanks(text, at, end):
    while at < end and _is_blank(text[at]):
        at += 1
    return at


@part_of_exact_kernel
def _begins(text, at, end, word):
    """Whether the line goes on with a word."""
    k = 0
    while k < len(word) and at + k < end and text[at + k] == word[k]:
        k += 1
    return k == len(word)


@part_of_exact_kernel
def _put(starts, ends, field, token, start, end):
    if field < starts.shape[0]:
        starts[field, token], ends[field, token] = start, end


@part_of_exact_kernel
def _put_words(text, at, end, starts, ends, token):
    """Write where words begin and end; how many there are."""
    n = 0
    at = _after_blanks(text, at, end)
    while at < end:
        begun = at
        while at < end and not _is_blank(text[at]):
            at += 1
        _put(starts, ends, n, token, begun, at)
        n += 1
        at = _after_blanks(text, at, end)
    return n


@part_of_exact_kernel
def _put_separated(text, at, end, separator, starts, ends, token):
    """The same of what is between separators, which may be nothing."""
    n, begun = 0, at
    while at < end:
        if _begins(text, at, end, separator):
            _put(starts, ends, n, token, begun, at)
            n += 1
            at += separator.size
            begun = at
        else:
            at += 1
    _put(starts, ends, n, token, begun, end)
    return n + 1


@exact_kernel
def split(text, size, separator, comment, is_all, n_lines, starts, ends, lines, lengths, state):
    """Split lines up to one of too few fields, or to the first that ends no sentence after so many lines.

    Parameters
    ----------
    text : ndarray of uint8
        Whole lines, and a line end more.
    size : int
        Bytes without this.
    separator, comment : ndarray of uint8
        What separates fields, or nothing for white space; what comments begin with, or nothing.
    is_all : bool
        Whether a line may have no more fields than there is room for.
    n_lines : int
    starts, ends : ndarray of int64, shape (n_fields, n)
        Where the first fields of each token begin and end.
    lines, lengths : ndarray of int64, shape (n,)
        The line of each token, and the tokens of each sentence that has ended.
    state : ndarray of int64, shape (6,)
        Where in the text the work stands, and after how many lines, tokens and sentences; tokens of the
        sentence that has not ended; fields of the line that is refused, otherwise 0.
    """
    n_fields = starts.shape[0]
    while state[AT] < size and (state[LINE] < n_lines or state[LENGTH] > 0):
        at, token = state[AT], state[TOKENS]
        end = _line_end(text, at)
        if comment.size == 0 or not _begins(text, at, end, comment):
            if _after_blanks(text, at, end) == end or _begins(text, at, end, DOCSTART):
                if state[LENGTH] > 0:
                    lengths[state[SENTENCES]] = state[LENGTH]
                    state[SENTENCES] += 1
                    state[LENGTH] = 0
            else:
                if separator.size == 0:
                    n = _put_words(text, at, end, starts, ends, token)
                else:
                    n = _put_separated(text, at, end, separator, starts, ends, token)
                if n < n_fields or (is_all and n > n_fields):
                    state[FOUND] = n
                    return
                lines[token] = state[LINE]
                state[TOKENS] += 1
                state[LENGTH] += 1
        is_pair = text[end] == _RETURN and end + 1 < size and text[end + 1] == _NEWLINE
        state[AT] = end + int64(2 if is_pair else 1)
        state[LINE] += 1
