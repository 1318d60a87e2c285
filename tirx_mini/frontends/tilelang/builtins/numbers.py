"""Arithmetic with explicit rounding, packed arithmetic on pairs, and functions of the CUDA math library."""

from __future__ import annotations

import itertools
from typing import Any

from tirx_mini.ir import (
    INT32,
    UINT32,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    Region,
    TirxError,
    as_bool,
    as_expr,
    binary,
    const,
    reinterpret,
)
from tirx_mini.script import current
from tirx_mini.script import tirx as T

from .operands import constant, pointer_to
from .table import builtin

_ROUNDINGS = {"rn": "rn", "rz": "rz", "ru": "rp", "rd": "rm"}
"""PTX's names of rounding modes: to the nearest, towards zero, up and down."""


def _rounded(op: str, name: str, mode: str, *values: object) -> Expr:
    if mode not in _ROUNDINGS:
        raise TirxError(f'the rounding of T.{name} is "rn", "rz", "ru" or "rd", not {mode!r}')
    return T.call(f"{op}.f32", *values, rounding=_ROUNDINGS[mode])


def _to_nearest(name: str, mode: str) -> None:
    if mode != "rn":
        raise TirxError(f'T.{name} rounds to the nearest only, rounding_mode="rn", not {mode!r}')


@builtin("add.f32")
def ieee_add(x: object, y: object, rounding_mode: str = "rn") -> Expr:
    """Return `x + y` in float32, rounded by `rounding_mode`: "rn" to nearest, "rz" to zero, "ru" up, "rd" down."""
    return _rounded("add", "ieee_add", rounding_mode, x, y)


@builtin("sub.f32")
def ieee_sub(x: object, y: object, rounding_mode: str = "rn") -> Expr:
    """Return `x - y` in float32, rounded as in `ieee_add`."""
    return _rounded("sub", "ieee_sub", rounding_mode, x, y)


@builtin("mul.f32")
def ieee_mul(x: object, y: object, rounding_mode: str = "rn") -> Expr:
    """Return `x * y` in float32, rounded as in `ieee_add`."""
    return _rounded("mul", "ieee_mul", rounding_mode, x, y)


@builtin("fma.f32")
def ieee_fmaf(x: object, y: object, z: object, rounding_mode: str = "rn") -> Expr:
    """Return `x * y + z` in float32 with a single rounding, as in `ieee_add`."""
    return _rounded("fma", "ieee_fmaf", rounding_mode, x, y, z)


@builtin(becomes="a division")
def ieee_fdiv(x: Any, y: Any, rounding_mode: str = "rn") -> Expr:
    """Return `x / y`, rounded to nearest."""
    _to_nearest("ieee_fdiv", rounding_mode)
    return as_expr(x) / y


@builtin(becomes="a division")
def ieee_frcp(x: object, rounding_mode: str = "rn") -> Expr:
    """Return `1 / x`, rounded to nearest."""
    _to_nearest("ieee_frcp", rounding_mode)
    return 1.0 / as_expr(x)


@builtin("sqrt.rn")
def ieee_fsqrt(x: object, rounding_mode: str = "rn") -> Expr:
    """Return the square root of x in float32, rounded to nearest."""
    _to_nearest("ieee_fsqrt", rounding_mode)
    return T.call("sqrt.rn", x)


@builtin("sinf", becomes="the function of CUDA C++ in full precision")
def __sin(x: object) -> Expr:
    """Return the sine of x, in radians."""
    return T.call("sinf", x)


@builtin("cosf", becomes="the function of CUDA C++ in full precision")
def __cos(x: object) -> Expr:
    """Return the cosine of x, in radians."""
    return T.call("cosf", x)


@builtin("tanf", becomes="the function of CUDA C++ in full precision")
def __tan(x: object) -> Expr:
    """Return the tangent of x, in radians."""
    return T.call("tanf", x)


@builtin("ld", nc=True, space="global", type="b32")
def __ldg(load_or_buf: object, index: object = None) -> Expr:
    """Load an element of global memory that is read-only for the kernel's duration. PTX ISA: "ld.global.nc".

    load_or_buf: the element, or a buffer, of which `index` is the element.
    """
    if isinstance(load_or_buf, Buffer):
        if index is None:
            raise TirxError("T.__ldg of a buffer needs an index", hint="write T.__ldg(x[i])")
        load_or_buf = load_or_buf[index]
    return T.call("ld", pointer_to(load_or_buf, "T.__ldg"), nc=True, space="global")


@builtin("ffs")
def __ffs(value: object) -> Expr:
    """Return the position of the lowest set bit, counted from 1, or 0 if no bit is set."""
    return T.call("ffs", value)


def _pair(name: str, *values: object) -> list[Expr]:
    pairs = [as_expr(value) for value in values]
    for pair in pairs:
        if pair.dtype.lanes != 2:
            raise TirxError(f"T.{name} takes pairs, as of float16x2, but {pair!r} is {pair.dtype}", pair.span)
    return pairs


@builtin(becomes="arithmetic on pairs")
def add2(x: object, y: object) -> Expr:
    """Return the elementwise sum of two pairs."""
    a, b = _pair("add2", x, y)
    return a + b


@builtin(becomes="arithmetic on pairs")
def sub2(x: object, y: object) -> Expr:
    """Return the elementwise difference of two pairs."""
    a, b = _pair("sub2", x, y)
    return a - b


@builtin(becomes="arithmetic on pairs")
def mul2(x: object, y: object) -> Expr:
    """Return the elementwise product of two pairs."""
    a, b = _pair("mul2", x, y)
    return a * b


@builtin(becomes="arithmetic on pairs")
def fma2(x: object, y: object, z: object) -> Expr:
    """Return `x * y + z` elementwise for pairs."""
    a, b, c = _pair("fma2", x, y, z)
    return a * b + c


@builtin(becomes="arithmetic on pairs")
def max2(x: object, y: object) -> Expr:
    """Return the elementwise maximum of two pairs."""
    a, b = _pair("max2", x, y)
    return binary("max", a, b)


@builtin(becomes="arithmetic on pairs")
def min2(x: object, y: object) -> Expr:
    """Return the elementwise minimum of two pairs."""
    a, b = _pair("min2", x, y)
    return binary("min", a, b)


@builtin(becomes="arithmetic on pairs")
def abs2(x: object) -> Expr:
    """Return the elementwise absolute value of a pair."""
    (a,) = _pair("abs2", x)
    return binary("max", a, -a)


@builtin("mul.f32")
def fmul(x: object, y: object) -> Expr:
    """Return `x * y` in float32, rounded to nearest and never contracted to an fma."""
    return _rounded("mul", "fmul", "rn", x, y)


@builtin(becomes="a division by a square root")
def ieee_frsqrt(x: object) -> Expr:
    """Return 1 / the square root of x in float32, with each step rounded to nearest."""
    return 1.0 / ieee_fsqrt(x)


@builtin("dp4a")
def dp4a(A: Any, B: Any, C: Any) -> None:
    """Add the dot product of four int8 values in `A` and `B` to `C`, an int32; each is a buffer or its first element.
    """
    words = []
    for operand in (A, B):
        first = operand if isinstance(operand, BufferLoad) else operand[(0,) * operand.ndim]
        if first.dtype != "int8":
            raise TirxError(f"T.dp4a multiplies int8, but {first.buffer.name} is {first.dtype}")
        start = _number(first)
        view = Buffer(f"{first.buffer.name}_words", (-(-first.buffer.size // 4),), INT32, first.buffer.scope, None,
                      first.buffer)  # fmt: skip
        words.append(view[start // 4])
    total = C if isinstance(C, BufferLoad) else C[(0,) * C.ndim]
    more = T.call("dp4a", *(reinterpret(UINT32, word) for word in words), total, atype="s32", btype="s32")
    current("T.dp4a").emit(BufferStore(total.buffer, total.indices, more))


def _number(element: BufferLoad) -> Expr:
    """Return the linear index of an element in a row-major buffer."""
    number: Expr = const(0)
    for index, extent in zip(element.indices, element.buffer.shape, strict=True):
        number = number * extent + index
    return number


@builtin(becomes="arithmetic on integers")
def align_up(x: Any, y: Any) -> Any:
    """Return the smallest multiple of y that is at least x."""
    return (x + y - 1) // y * y


def _elements(values: object, name: str) -> list[BufferLoad]:
    """Yield the elements of a buffer or region."""
    if isinstance(values, Buffer):
        starts, extents = [const(0)] * values.ndim, [constant(e, name, "an extent") for e in values.shape]
    elif isinstance(values, Region):
        starts, extents = [each.start for each in values.ranges], list(values.extents)
    else:
        raise TirxError(f"{name} needs a buffer or a slice of one, but {values!r} is given")
    buffer = values if isinstance(values, Buffer) else values.buffer
    places = itertools.product(*map(range, extents))
    return [buffer[tuple(start + step for start, step in zip(starts, place, strict=True))] for place in places]  # type: ignore[misc]


@builtin(becomes="a chain of comparisons")
def any_of(buffer: object) -> Expr:
    """Return whether any element of a buffer or slice is nonzero."""
    first, *rest = (as_bool(element) for element in _elements(buffer, "T.any_of"))
    for each in rest:
        first = binary("or", first, each)
    return first


@builtin(becomes="a chain of comparisons")
def all_of(buffer: object) -> Expr:
    """Return whether all elements of a buffer or slice are nonzero."""
    first, *rest = (as_bool(element) for element in _elements(buffer, "T.all_of"))
    for each in rest:
        first = binary("and", first, each)
    return first


FUNCTIONS = (
    ieee_add, ieee_sub, ieee_mul, ieee_fmaf, ieee_fdiv, ieee_frcp, ieee_fsqrt, __sin, __cos, __tan, __ldg, __ffs, add2,
    sub2, mul2, fma2, max2, min2, abs2, fmul, ieee_frsqrt, dp4a, align_up, any_of, all_of,
)  # fmt: skip
