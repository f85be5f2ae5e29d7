"""Strings as bytes: lines of column files split into fields, and a hash table that numbers strings."""

from typing import Any

import numba.extending
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy import int32, int64, uint64

from structune.kernels.jit import exact_kernel, kernel, part_of_exact_kernel, part_of_kernel
from structune.kernels.vectors import cells

# of `state`
AT, LINE, TOKENS, SENTENCES, LENGTH, FOUND, WIDTH, COMMENTS, RANGES, EMPTY, NUMBER, JOINED = range(12)
_TAB, _NEWLINE, _RETURN, _SPACE = b"\t\n\r "
DOCSTART = b"-DOCSTART-"
_NINE, _ZERO, _HYPHEN, _POINT = b"90-."
_HALF, _LOW = uint64(32), uint64(0xFFFFFFFF)
_ODD = uint64(0x9E3779B97F4A7C15)  # of the golden ratio: bits in no order
_SLOTS_AHEAD, _RECORDS_AHEAD = 16, 8  # strings whose slots and records are on their way from memory
intrinsic: Any = numba.extending.intrinsic


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
def _is_number(c):
    return _ZERO <= c <= _NINE


@part_of_exact_kernel
def _joint(text, at, end):
    """The sign between two numbers such as 2-3 or 4.1, which a line begins with; 0 if it does not."""
    # CoNLL-U numbers multiword tokens 2-3 and empty nodes 4.1.
    first = at
    while at < end and _is_number(text[at]):
        at += 1
    is_joint = first < at < end and (text[at] == _HYPHEN or text[at] == _POINT)
    if not is_joint:
        return 0
    sign, at, second = int64(text[at]), at + 1, at + 1
    while at < end and _is_number(text[at]):
        at += 1
    return sign if at > second and (at == end or _is_blank(text[at])) else 0


@part_of_exact_kernel
def _first_number(text, at, end):
    """The number that a line begins with; -1 if it begins with none."""
    number = -1
    while at < end and _is_number(text[at]):
        number = 10 * max(number, 0) + text[at] - _ZERO
        at += 1
    return number


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
def split(
    text, size, separator, comment, metadata, has_numbers, has_joined, is_all, is_even, n_lines,
    starts, ends, lines, lengths, state,
):  # fmt: skip
    """Split lines up to one of too few fields, or to the first that ends no sentence after so many lines.

    Parameters
    ----------
    text : ndarray of uint8
        Whole lines, and a line end more.
    size : int
        Bytes without this.
    separator, comment : ndarray of uint8
        What separates fields, or nothing for white space; what comments begin with, or nothing.
    metadata : ndarray of int64
        Where lines begin, rising, that are skipped before a sentence.
    has_numbers : bool
        Whether lines that begin with 2-3 or 4.1 are skipped.
    has_joined : bool
        Whether sentences end where such numbers begin again at 0 or 1, too.
    is_all : bool
        Whether a line may have no more fields than there is room for.
    is_even : bool
        Whether all lines must have as many fields as the one before.
    n_lines : int
    starts, ends : ndarray of int64, shape (n_fields, n)
        Where the first fields of each token begin and end.
    lines, lengths : ndarray of int64, shape (n,)
        The line of each token, and the tokens of each sentence that has ended.
    state : ndarray of int64, shape (12,)
        Where in the text the work stands, and after how many lines, tokens and sentences; tokens of the
        sentence that has not ended; fields of the line that is refused, otherwise 0; fields of the line
        before; how many lines were skipped: comments, ranges such as 2-3, empty nodes such as 4.1; the number
        of the token before; and how often these began again without a blank line.
    """
    n_fields, m = starts.shape[0], 0
    while state[AT] < size and (state[LINE] < n_lines or state[LENGTH] > 0):
        at, token = state[AT], state[TOKENS]
        end = _line_end(text, at)
        sign = _joint(text, at, end) if has_numbers else 0
        while m < metadata.size and metadata[m] < at:
            m += 1
        is_metadata = m < metadata.size and metadata[m] == at and state[LENGTH] == 0
        if is_metadata or (comment.size > 0 and _begins(text, at, end, comment)):
            state[COMMENTS] += 1
        elif sign != 0:
            state[RANGES if sign == _HYPHEN else EMPTY] += 1
        elif _after_blanks(text, at, end) == end or _begins(text, at, end, DOCSTART):
            if state[LENGTH] > 0:
                lengths[state[SENTENCES]] = state[LENGTH]
                state[SENTENCES] += 1
                state[LENGTH] = 0
        else:
            number = _first_number(text, at, end) if has_numbers else 0
            # Numbers that begin again at 0 or 1 begin a sentence, even without a blank line.
            begins = has_numbers and state[LENGTH] > 0 and 0 <= number <= min(state[NUMBER], 1)
            state[JOINED] += begins
            if begins and has_joined:
                lengths[state[SENTENCES]] = state[LENGTH]
                state[SENTENCES] += 1
                state[LENGTH] = 0
                continue  # it may begin the next block
            if separator.size == 0:
                n = _put_words(text, at, end, starts, ends, token)
            else:
                n = _put_separated(text, at, end, separator, starts, ends, token)
            is_odd = is_even and state[WIDTH] > 0 and n != state[WIDTH]
            if n < n_fields or (is_all and n > n_fields) or is_odd:
                state[FOUND] = n
                return
            lines[token], state[WIDTH], state[NUMBER] = state[LINE], n, number
            state[TOKENS] += 1
            state[LENGTH] += 1
        # "\r\n" is one end of a line, "\r" alone is one, too.
        is_pair = text[end] == _RETURN and end + 1 < size and text[end + 1] == _NEWLINE
        state[AT] = end + int64(2 if is_pair else 1)
        state[LINE] += 1


@intrinsic
def _fold(_typing, a, b):
    """Both halves of a product of two words, combined (as Wang Yi's wyhash mixes)."""

    def generate(_context, builder, _signature, args):
        word, double = ir.IntType(64), ir.IntType(128)
        product = builder.mul(*(builder.zext(factor, double) for factor in args))
        high = builder.lshr(product, ir.Constant(double, 64))
        return builder.xor(builder.trunc(product, word), builder.trunc(high, word))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def _prefetch(_typing, some, at):
    """Have a cell brought to the caches, while other work is done."""

    def generate(context, builder, signature, args):
        data = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0]).data
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        cell = builder.bitcast(builder.gep(data, [args[1]]), byte)
        wanted = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, wanted, "llvm.prefetch.p0")
        builder.call(function, [cell, *(ir.Constant(flag, n) for n in (0, 3, 1))])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(some, types.int64), generate


@part_of_kernel
def _word(text, at, end):
    """The bytes ``at:end`` as a number, at most the first eight; reads beyond the end of the string."""
    word = uint64(0)
    # Bytes in little-endian order, whatever the machine's; bytes beyond the string are masked below.
    for k in range(8):  # one load, as compiled
        word |= uint64(text[at + k]) << uint64(8 * k)
    if end - at < 8:
        word &= (uint64(1) << uint64(8 * (end - at))) - uint64(1)
    return word


@part_of_kernel
def _hash(text, at, end, seed):
    # As wyhash (Wang Yi): each word is mixed with the state by the two halves of a 128-bit product.
    found = seed ^ uint64(end - at)
    for k in range(at, end, 8):
        found = _fold(_word(text, k, end) ^ seed, found ^ _ODD)
    return _fold(found ^ _ODD, seed)


@part_of_kernel
def _is_record(record, place, text, at, end):
    """Whether a record is that of the string ``at:end``."""
    if record[place] >> _HALF != uint64(end - at):
        return False
    for k in range(at, end, 8):
        place += 1
        if _word(text, k, end) != record[place]:
            return False
    return True


@kernel
def number(buffer, starts, ends, seed, slots, records, used, n, out, new):
    """Numbers of the strings ``starts:ends`` of the buffer; those not in the table are entered, if asked to.

    Parameters
    ----------
    buffer : uint8
        At least seven bytes longer than the last string.
    slots : uint64, a power of two
    used, n : int
        Words of `records`, and strings in the table.
    out : int32, (n_strings,)
        Gets the numbers, -1 for strings that are not in the table.
    new : int32, (n_strings,) or (0,)
        Gets which strings were entered; where it is empty, none are.

    Returns
    -------
    used, n : int
    """
    text, slot, record = cells(buffer), cells(slots), cells(records)
    first, last, mask = n, starts.size - 1, uint64(slots.size - 1)
    # All hashes first: then the slots and records of strings further on can be fetched while one is compared.
    hashes = np.empty(starts.size, np.uint64)
    for i in range(starts.size):
        hashes[i] = _hash(text, starts[i], ends[i], seed)
    for i in range(starts.size):
        _prefetch(slot, int64(hashes[min(i + _SLOTS_AHEAD, last)] & mask))
        _prefetch(record, int64(slot[int64(hashes[min(i + _RECORDS_AHEAD, last)] & mask)] & _LOW))
        at, tag, found = int64(hashes[i] & mask), hashes[i] >> _HALF, int64(-1)
        # Open addressing with linear probing. The upper half of the hash in the slot spares most looks at
        # records.
        while slot[at] != 0:
            place = int64(slot[at] & _LOW)
            if slot[at] >> _HALF == tag and _is_record(record, place, text, starts[i], ends[i]):
                found = int64(record[place] & _LOW)
                break
            at = (at + 1) & int64(mask)
        if found < 0 and new.size:
            slot[at] = tag << _HALF | uint64(used)
            record[used] = uint64(ends[i] - starts[i]) << _HALF | uint64(n)
            used += 1
            for k in range(starts[i], ends[i], 8):
                record[used] = _word(text, k, ends[i])
                used += 1
            new[n - first] = int32(i)
            found = int64(n)
            n += 1
        out[i] = int32(found)
    return used, n


@kernel
def fill_slots(seed, slots, records, used):
    """Find a slot for each record anew."""
    mask = uint64(slots.size - 1)
    place = int64(1)
    # Hashes are computed again from the records, whose words are the strings padded with zeros.
    while place < used:
        length = int64(records[place] >> _HALF)
        found = seed ^ uint64(length)
        end = place + 1 + (length + 7) // 8
        for k in range(place + 1, end):
            found = _fold(records[k] ^ seed, found ^ _ODD)
        found = _fold(found ^ _ODD, seed)
        at = found & mask
        while slots[at] != 0:
            at = (at + uint64(1)) & mask
        slots[at] = (found >> _HALF) << _HALF | uint64(place)
        place = end


@part_of_kernel
def _copy(text, start, end, out, at):
    """Write the bytes ``start:end`` from `at` on; where they end."""
    for k in range(start, end):
        out[at] = text[k]
        at += 1
    return at


@kernel
def concatenate(left, left_starts, left_ends, a, middle, right, right_starts, right_ends, b, out, starts):
    """Left string a[i], `middle` and right string b[i], to be written from starts[i] on."""
    for i in range(starts.size):
        at = _copy(left, left_starts[a[i]], left_ends[a[i]], out, starts[i])
        at = _copy(middle, 0, middle.size, out, at)
        _copy(right, right_starts[b[i]], right_ends[b[i]], out, at)
