"""Lines of SVMlight and LETOR files, ``1 qid:2 3:0.5 7:2 # a comment``, parsed.

What is no such line, or may be none, ends the work: others have to look at it. Numbers of few digits are
rounded once, in one product or quotient of two that are exact, which gives the bits that Python reads.
"""

import numpy as np
from numpy import int64

from structune.kernels.jit import exact_kernel, part_of_exact_kernel

AT, LINE, ROWS, VALUES, ODD = range(5)  # of `state`
_TAB, _NEWLINE, _RETURN, _SPACE, _HASH, _PLUS, _MINUS, _POINT, _ZERO, _NINE, _COLON = b"\t\n\r #+-.09:"
_E, _SMALL_E = b"Ee"
_POWERS = np.array([float(f"1e{k}") for k in range(23)])  # of ten, all that are numbers of 64 bits
_MOST_DIGITS = int64(1 << 53)
_FULL = int64(10**17)  # digits to which no other is put
_LARGE = 300  # a power of ten
_INDEX_DIGITS = 18


@part_of_exact_kernel
def _is_blank(c):
    return c == _SPACE or (_TAB <= c <= _RETURN and c != _NEWLINE)


@part_of_exact_kernel
def _after_blanks(text, at):
    while _is_blank(text[at]):
        at += 1
    return at


@part_of_exact_kernel
def _ends_word(c):
    return c in (_NEWLINE, _HASH) or _is_blank(c)


@part_of_exact_kernel
def _is_digit(c):
    return _ZERO <= c <= _NINE


@part_of_exact_kernel
def _is_word(text, at, word):
    """Whether a word begins with another."""
    k = 0
    while k < len(word) and text[at + k] == word[k]:  # a line's end is in no word: nothing behind it is read
        k += 1
    return k == len(word)


@part_of_exact_kernel
def _number(text, at):
    """Of a decimal number where it ends, or -1, digits and power of ten, and whether both are exact."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    digits, n_digits, power, is_exact, has_point = int64(0), 0, int64(0), True, False
    while True:
        c = text[at]
        if _is_digit(c):
            if digits < _FULL:
                digits = 10 * digits + int64(c - _ZERO)
            else:
                is_exact = False
            n_digits += 1
            power -= has_point
        elif c == _POINT and not has_point:
            has_point = True
        else:
            break
        at += 1
    is_number = n_digits > 0
    if is_number and c in (_E, _SMALL_E):
        at += 1
        falls, exponent = text[at] == _MINUS, int64(0)
        if falls or text[at] == _PLUS:
            at += 1
        is_number = _is_digit(text[at])
        while _is_digit(text[at]):
            exponent = min(10 * exponent + int64(text[at] - _ZERO), _FULL)
            at += 1
        power += -exponent if falls else exponent
    if not is_number or not _ends_word(text[at]) or n_digits + power > _LARGE:
        return int64(-1), digits, power, False
    if digits > _MOST_DIGITS or abs(power) >= _POWERS.size or (negative and digits == 0):
        is_exact = False
    return at, -digits if negative else digits, power, is_exact


@part_of_exact_kernel
def _put_number(text, at, numbers, k, state, odd):
    """Write a number to a cell, or list it with those to be rounded with more care; where it ends, or -1."""
    end, digits, power, is_exact = _number(text, at)
    if is_exact:
        numbers[k] = digits / _POWERS[-power] if power < 0 else digits * _POWERS[power]
    elif end >= 0:
        listed = odd[state[ODD]]
        listed[0], listed[1], listed[2] = k, at, end
        state[ODD] += 1
    return end


@part_of_exact_kernel
def _put_query(text, at, row):
    """Write where a query is; where it ends, or -1."""
    if not _is_word(text, at, b"qid:"):
        return int64(-1)
    end = at + 4
    while not _ends_word(text[end]):
        if not _SPACE < text[end] < 127:
            return int64(-1)
        end += 1
    row[2], row[3] = at + 4, end
    return end if end > at + 4 else int64(-1)


@part_of_exact_kernel
def _put_feature(text, at, least, indices, numbers, state, odd):
    """Write a feature of a number that is `least` or more; where it ends, or -1."""
    begun, index = at, int64(0)
    while _is_digit(text[at]) and at - begun < _INDEX_DIGITS:
        index = 10 * index + int64(text[at] - _ZERO)
        at += 1
    if at == begun or text[at] != _COLON or index < least:
        return int64(-1)
    at, k = at + 1, state[VALUES]
    if _is_word(text, at, b"NULL") and _ends_word(text[at + 4]):
        numbers[k] = np.nan
        at += 4
    else:
        at = _put_number(text, at, numbers, k, state, odd)
    indices[k] = index
    state[VALUES] += at >= 0
    return at


@part_of_exact_kernel
def _put_example(text, at, ranked, row, label, indices, numbers, state, odd):
    """Write what is before the comment; where that begins, or the line ends, or -1."""
    if ranked and text[at] == _MINUS:
        return int64(-1)
    at, least, is_first = _put_number(text, at, numbers, label, state, odd), int64(ranked), True
    while at >= 0:
        if state[VALUES] > row[1]:
            least = indices[state[VALUES] - 1] + 1
        at = _after_blanks(text, at)
        if text[at] == _NEWLINE or text[at] == _HASH:
            return int64(-1) if ranked and is_first else at
        if is_first and (ranked or text[at] == b"q"[0]):
            at = _put_query(text, at, row)
        else:
            at = _put_feature(text, at, least, indices, numbers, state, odd)
        is_first = False
    return at


@exact_kernel
def parse(text, ranked, rows, indices, numbers, odd, state):
    """Parse lines up to the first that is not understood, or the end.

    Parameters
    ----------
    text : ndarray of uint8
        Ends with a line.
    ranked : bool
        Whether lines are documents, with a query each, relevances >= 0, features from 1 on, and comments in
        ASCII.
    rows : ndarray of int32, shape (n, 6)
        Of each example its line, its first value, where its query begins and ends, and its comment.
    indices : ndarray of int64, shape (n_values,)
    numbers : ndarray of float64, shape (n_values + n,)
        Values, nan for ``NULL``, and then labels.
    odd : ndarray of int32, shape (n, 3)
        Numbers that are still to be written: the cell, and where they begin and end.
    state : ndarray of int64, shape (5,)
        Where in the text the work stands, and in the other arrays.
    """
    at = state[AT]
    while at < text.size:
        n_rows, n_values, n_odd = state[ROWS], state[VALUES], state[ODD]
        row = rows[n_rows]
        at = _after_blanks(text, at)
        is_example = text[at] != _HASH and text[at] != _NEWLINE
        if is_example:
            row[0], row[1], row[2], row[3] = state[LINE], n_values, 0, 0
            at = _put_example(text, at, ranked, row, indices.size + n_rows, indices, numbers, state, odd)
        is_parsed = at >= 0
        if is_parsed:
            begun = at + (text[at] == _HASH)
            while text[at] != _NEWLINE:
                is_parsed &= text[at] < 128 or not ranked
                at += 1
            row[4], row[5] = begun, at
        if not is_parsed:
            state[VALUES], state[ODD] = n_values, n_odd
            return
        state[ROWS] += is_example
        state[LINE] += 1
        at += 1
        state[AT] = at
