"""A hash table that numbers strings, which are bytes, and their concatenation."""

from typing import Any

import numba.extending
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy import int32, int64, uint64

from structune.kernels.jit import kernel, part_of_kernel
from structune.kernels.vectors import cells

_HALF, _LOW = uint64(32), uint64(0xFFFFFFFF)
_ODD = uint64(0x9E3779B97F4A7C15)  # of the golden ratio: bits in no order
_SLOTS_AHEAD, _RECORDS_AHEAD = 16, 8  # strings whose slots and records are on their way from memory
intrinsic: Any = numba.extending.intrinsic


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
    """Write the numbers of the strings ``starts:ends`` of the buffer to `out`, -1 for those not in the table.

    If there is room in `new` they are entered, and it gets which. The buffer is at least seven bytes longer
    than the last string, and the number of slots is a power of two. `used` and `n`, which are returned as
    they are then, are words of `records`, and strings in the table.
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
