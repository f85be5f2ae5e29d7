"""Runs of neighbouring array cells as one value, for the vector units of the processor.

LLVM guards its own vector loops by checks of overlap and ends them cell by cell, which costs more than the
work itself on rows of a few labels. Kernels that matter go over a row of n cells in runs instead::

    for step in range(0, n, width(lanes)):
        k = min(step, n - width(lanes))  # the last run overlaps the one before it rather than leave the row
        run = load(array, row_start + k, lanes)

and sums leave out what they have seen by ``fresh(run, n - step)``. With one lane a run is a plain number,
real or complex, so that the same source serves the complex step.
"""

from __future__ import annotations

import math
import operator
from functools import cache
from typing import Any

import numba
import numba.extending
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing.templates import signature
from numba.extending import (
    NativeValue,
    lower_builtin,
    models,
    overload,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)

_MOST_LANES = 8  # one AVX-512 register; narrower units take it in pieces
_INDEX, _LANE = ir.IntType(64), ir.IntType(32)
_EXP_TERMS = 13  # the next is below 1e-17 for |r| <= log(2) / 2
_LEAST_EXPONENT = -708.0
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first ends in zeros
_config: Any = numba.config
intrinsic: Any = numba.extending.intrinsic


class Lanes:
    """The number of cells in a run, known to the compiler."""

    def __init__(self, width: int) -> None:
        self.width = width


_all_lanes = cache(Lanes)


def lanes_for(dtype: Any, n: int) -> Lanes:
    """The widest runs that fit in rows of `n` cells; one lane for complex numbers, whose runs have no exp."""
    if np.dtype(dtype) != np.float64:
        return _all_lanes(1)
    # the largest power of two that is not above n: registers hold no other numbers of lanes
    return _all_lanes(1 << (min(max(n, 1), _MOST_LANES).bit_length() - 1))


def all_lanes(dtype: Any) -> Lanes:
    """The widest runs, for rows with room beside them and kernels that take no exponentials."""
    # a complex number takes two lanes of a register
    return _all_lanes(_MOST_LANES if np.dtype(dtype) == np.float64 else _MOST_LANES // 2)


class _LanesType(types.Type):
    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"Lanes({width})")


class _RunType(types.Type):
    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"Run({width})")


class _ComplexRunType(types.Type):
    """Real and imaginary parts, each a run."""

    def __init__(self, width: int) -> None:
        self.width, self.part = width, _RunType(width)
        super().__init__(name=f"ComplexRun({width})")


class _CellsType(types.Type):
    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Cells({dtype})")


register_model(_LanesType)(models.OpaqueModel)


@register_model(_CellsType)
class _CellsModel(models.StructModel):
    def __init__(self, manager: Any, cells: _CellsType) -> None:
        super().__init__(manager, cells, [("data", types.CPointer(cells.dtype)), ("size", types.intp)])


@register_model(_RunType)
class _RunModel(models.PrimitiveModel):
    def __init__(self, manager: Any, run: _RunType) -> None:
        super().__init__(manager, run, _vector(ir.DoubleType(), run.width))


@register_model(_ComplexRunType)
class _ComplexRunModel(models.StructModel):
    def __init__(self, manager: Any, run: _ComplexRunType) -> None:
        super().__init__(manager, run, [("real", run.part), ("imag", run.part)])


@typeof_impl.register(Lanes)
def _typeof_lanes(lanes: Lanes, _context: Any) -> _LanesType:
    return _LanesType(lanes.width)


@unbox(_LanesType)
def _unbox_lanes(_type: Any, _lanes: Any, boxing: Any) -> NativeValue:
    return NativeValue(boxing.context.get_dummy_value())


def _vector(of: Any, width: int) -> ir.VectorType:
    return ir.VectorType(of, width)


def _run(lanes: _LanesType, number: Any) -> Any:
    """The type of a run of numbers."""
    runs = {types.float64: _RunType, types.complex128: _ComplexRunType}
    if lanes.width == 1:
        return number
    if number not in runs:
        raise TypingError(f"runs of {lanes.width} lanes of {number}: expected doubles")
    return runs[number](lanes.width)


def _is_run(a: Any) -> bool:
    return isinstance(a, _RunType | _ComplexRunType)


def _parts(context: Any, builder: Any, run: Any, value: Any) -> list[Any]:
    """The real runs that a run consists of."""
    if isinstance(run, _RunType):
        return [value]
    proxy = cgutils.create_struct_proxy(run)(context, builder, value=value)
    return [proxy.real, proxy.imag]


def _whole(context: Any, builder: Any, run: Any, parts: list[Any]) -> Any:
    """The run that consists of real runs."""
    if isinstance(run, _RunType):
        return parts[0]
    proxy = cgutils.create_struct_proxy(run)(context, builder)
    proxy.real, proxy.imag = parts
    return proxy._getvalue()


def _shuffle(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(_vector(_LANE, len(lanes)), lanes))


def _spread(builder: Any, value: Any, width: int) -> Any:
    # as compilers write it: put into the first lane, then shuffle the first lane into all
    nothing = ir.Constant(_vector(value.type, width), ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(_LANE, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(_vector(_LANE, width), [0] * width))


def _cell(context: Any, builder: Any, cells: _CellsType, width: int, value: Any, at: Any) -> Any:
    value = cgutils.create_struct_proxy(cells)(context, builder, value=value)
    if _config.BOUNDSCHECK:
        for offset in (0, width - 1):
            index = builder.add(at, ir.Constant(_INDEX, offset))
            cgutils.do_boundscheck(context, builder, index, value.size)
    return builder.gep(value.data, [at])


@intrinsic
def cells(_typing, array):
    """The cells of a C-contiguous array of any shape, in one row.

    Numba counts references to an array, atomically, in every function that it goes through; to cells it
    does not. So take cells of arguments only: an array made in the kernel may be freed before they are used.
    """

    if array.layout != "C":
        raise TypingError(f"cells of {array}: expected a C-contiguous array")

    def generate(context, builder, signature, args):
        source = context.make_array(array)(context, builder, args[0])
        out = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        out.data, out.size = source.data, source.nitems
        return out._getvalue()

    return _CellsType(array.dtype)(array), generate


# Typed and lowered here: `overload` would have numba compile a function for each combination of types. The
# operators of runs stay with it, because in line the compiler would add up in another order.


@type_callable(operator.getitem)
def _type_get(_context):
    def get(cells, at):
        return signature(cells.dtype, cells, types.intp) if isinstance(cells, _CellsType) else None

    return get


@lower_builtin(operator.getitem, _CellsType, types.intp)
def _get(context, builder, signature, args):
    cells = signature.args[0]
    return context.unpack_value(builder, cells.dtype, _cell(context, builder, cells, 1, *args))


@type_callable(operator.setitem)
def _type_set(_context):
    def set_(cells, at, value):
        if isinstance(cells, _CellsType):
            return signature(types.none, cells, types.intp, cells.dtype)
        return None

    return set_


@lower_builtin(operator.setitem, _CellsType, types.intp, types.Any)
def _set(context, builder, signature, args):
    cells = signature.args[0]
    context.pack_value(builder, cells.dtype, args[2], _cell(context, builder, cells, 1, *args[:2]))
    return context.get_dummy_value()


@intrinsic
def width(_typing, lanes):
    """Cells in a run."""
    return types.intp(lanes), lambda context, builder, signature, args: ir.Constant(_INDEX, lanes.width)


def _as_vector(builder: Any, cell: Any, width: int) -> Any:
    return builder.bitcast(cell, _vector(ir.DoubleType(), width).as_pointer())


@intrinsic
def load(_typing, cells, at, lanes):
    """The run that starts at cell `at`."""
    run, width = _run(lanes, cells.dtype), lanes.width

    def generate(context, builder, signature, args):
        cell = _cell(context, builder, cells, width, *args[:2])
        if width == 1:
            return context.unpack_value(builder, cells.dtype, cell)
        if isinstance(run, _RunType):
            # runs begin at any cell, so the alignment is that of a double, not of the register
            return builder.load(_as_vector(builder, cell, width), align=8)
        # complex numbers lie as real, imaginary, real, ...: even lanes are real parts, odd ones imaginary
        both = builder.load(_as_vector(builder, cell, 2 * width), align=8)
        parts = [_shuffle(builder, both, both, list(range(k, 2 * width, 2))) for k in (0, 1)]
        return _whole(context, builder, run, parts)

    return run(cells, types.intp, lanes), generate


@intrinsic
def store(_typing, cells, at, run):
    """Write a run to the cells from `at` on."""
    width = run.width if _is_run(run) else 1
    if width > 1 and cells.dtype != (types.float64 if isinstance(run, _RunType) else types.complex128):
        raise TypingError(f"{run} into {cells}: expected doubles, real or complex as the run is")

    def generate(context, builder, signature, args):
        cell = _cell(context, builder, cells, width, *args[:2])
        if width == 1:
            context.pack_value(builder, cells.dtype, args[2], cell)
            return context.get_dummy_value()
        parts = _parts(context, builder, run, args[2])
        if len(parts) == 2:
            lanes = [lane + part * width for lane in range(width) for part in (0, 1)]
            parts = [_shuffle(builder, parts[0], parts[1], lanes)]
        builder.store(parts[0], _as_vector(builder, cell, parts[0].type.count), align=8)
        return context.get_dummy_value()

    return types.none(cells, types.intp, run if width > 1 else cells.dtype), generate


@intrinsic
def splat(_typing, number, lanes):
    """A run of equal numbers."""
    run = _run(lanes, number)

    def generate(context, builder, signature, args):
        if lanes.width == 1:
            return args[0]
        numbers = [args[0]]
        if isinstance(run, _ComplexRunType):
            both = context.make_complex(builder, number, value=args[0])
            numbers = [both.real, both.imag]
        parts = [_spread(builder, part, lanes.width) for part in numbers]
        return _whole(context, builder, run, parts)

    return run(number, lanes), generate


@intrinsic
def fresh(_typing, run, n):
    """The last `n` lanes of a run, zeros before them; the whole run if it has no more."""

    def generate(context, builder, signature, args):
        if not _is_run(run):
            return args[0]
        # with n new cells at the end of a run, lane k is old where k < width - n
        seen = _spread(builder, builder.sub(ir.Constant(_INDEX, run.width), args[1]), run.width)
        lanes = ir.Constant(_vector(_INDEX, run.width), list(range(run.width)))
        old = builder.icmp_signed("<", lanes, seen)
        zeros = ir.Constant(_vector(ir.DoubleType(), run.width), [0.0] * run.width)
        parts = [builder.select(old, zeros, part) for part in _parts(context, builder, run, args[0])]
        return _whole(context, builder, run, parts)

    return run(run, types.intp), generate


def _sum_of_lanes(builder: Any, vector: Any) -> Any:
    parts = [builder.extract_element(vector, ir.Constant(_LANE, k)) for k in range(vector.type.count)]
    while len(parts) > 1:  # halves are added to each other: log2(width) steps depend on each other
        half = len(parts) // 2
        parts = [builder.fadd(a, b) for a, b in zip(parts[:half], parts[half:], strict=True)]
    return parts[0]


@intrinsic
def total(_typing, run):
    """The sum of a run."""
    if not _is_run(run):
        return run(run), lambda context, builder, signature, args: args[0]

    def generate(context, builder, signature, args):
        sums = [_sum_of_lanes(builder, part) for part in _parts(context, builder, run, args[0])]
        if len(sums) == 1:
            return sums[0]
        both = context.make_complex(builder, types.complex128)
        both.real, both.imag = sums
        return both._getvalue()

    return (types.float64 if isinstance(run, _RunType) else types.complex128)(run), generate


@intrinsic
def larger(_typing, a, b):
    """The larger of two runs, lane by lane."""

    def generate(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return a(a, b), generate


@intrinsic
def _exp_run(_typing, run):
    """exp(x) = 2^k exp(r), r = x - k log 2, by the Taylor series of exp(r) (Cody & Waite 1980)."""

    def generate(context, builder, signature, args):
        vector, integers = _vector(ir.DoubleType(), run.width), _vector(_INDEX, run.width)

        def constant(value):
            return ir.Constant(vector, [value] * run.width)

        def call(name, *values):
            signature = ir.FunctionType(vector, [vector] * len(values))
            name = f"llvm.{name}.v{run.width}f64"
            return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), values)

        (x,) = args
        k = call("rint", builder.fmul(x, constant(1.0 / math.log(2.0))))
        # calls, not operators: numba lets the compiler reorder those, and k log 2 must stay in two parts
        r = call("fma", k, constant(-_LOG2_HIGH), x)
        r = call("fma", k, constant(-_LOG2_LOW), r)
        series = constant(1.0 / math.factorial(_EXP_TERMS))
        for n in range(_EXP_TERMS - 1, -1, -1):
            series = call("fma", series, r, constant(1.0 / math.factorial(n)))
        # 2^k by its bits: k is added to the exponent of the series, which begins at bit 52 of a double
        k = builder.sext(builder.fptosi(k, _vector(ir.IntType(32), run.width)), integers)
        exponent = builder.shl(k, ir.Constant(integers, [52] * run.width))
        result = builder.bitcast(builder.add(builder.bitcast(series, integers), exponent), vector)
        # below -708 the exponent would leave its bits: such numbers are nothing beside others
        vanishes = builder.fcmp_ordered("<", x, constant(_LEAST_EXPONENT))
        return builder.select(vanishes, constant(0.0), result)

    return run(run), generate


@overload(np.exp)
def _exp(x):
    """Of a run of numbers <= 700; 0 below -708."""
    return (lambda x: _exp_run(x)) if isinstance(x, _RunType) else None


@intrinsic
def _add(_typing, a, b):
    def generate(context, builder, signature, args):
        pairs = zip(*(_parts(context, builder, a, arg) for arg in args), strict=True)
        return _whole(context, builder, a, [builder.fadd(x, y) for x, y in pairs])

    return a(a, b), generate


@intrinsic
def _multiply(_typing, a, b):
    def generate(context, builder, signature, args):
        if isinstance(a, _RunType):
            return builder.fmul(*args)
        (x, u), (y, v) = (_parts(context, builder, a, arg) for arg in args)
        real = builder.fsub(builder.fmul(x, y), builder.fmul(u, v))
        imag = builder.fadd(builder.fmul(x, v), builder.fmul(u, y))
        return _whole(context, builder, a, [real, imag])

    return a(a, b), generate


@overload(operator.add)
def _add_runs(a, b):
    return (lambda a, b: _add(a, b)) if _is_run(a) and a == b else None


@overload(operator.mul)
def _multiply_runs(a, b):
    return (lambda a, b: _multiply(a, b)) if _is_run(a) and a == b else None
