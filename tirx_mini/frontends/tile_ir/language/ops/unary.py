"""Elementwise functions of one tile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..arguments import dtype_of, keyword, materialize, tile_of
from ..dtypes import DType, bool_, float32, int32, uint8, uint16, uint32, uint64
from ..enums import RoundingMode
from ..errors import TileTypeError, TileUnsupportedFeatureError, TileValueError
from ..folding import absolute_of, complement_of, converted, negative_of, unary_of
from ..surface import OPERATIONS, method, operation
from ..values import TileValue, describe, is_constant, plain
from .arithmetic import float_only, float_options

if TYPE_CHECKING:
    from ..tracer import Tracer

_APPROX = (RoundingMode.FULL, RoundingMode.APPROX)
_WIDENED = ("float8_e4m3fn", "float8_e5m2", "tfloat32")


def _float(tr: Tracer, name: str, x: object, **attrs: object) -> Any:
    """Emit a float function; integers and narrow floats are converted to float32."""
    if is_constant(x) and not attrs:
        return unary_of(name, x)
    tile = tile_of(tr, x, f"the argument of ct.{name}")
    if not tile.dtype.is_float:
        tile = tr.emit.cast(tile, float32)
    float_only(name, tile.dtype, attrs)
    if not tile.dtype.arithmetic:
        return tr.emit.cast(_float(tr, name, tr.emit.cast(tile, float32), **attrs), tile.dtype)
    return tr.emit.tile(name, tile.dtype, tile.shape, tile, **attrs)


def _define(name: str, doc: str) -> None:
    def implementation(tr: Tracer, x: object, /) -> Any:
        return _float(tr, name, x)

    implementation.__doc__ = doc
    operation(name)(implementation)


for _name, _doc in {
    "log": "The natural logarithm.", "log2": "The logarithm to base 2.", "sin": "The sine of an angle in radians.",
    "cos": "The cosine of an angle in radians.", "tan": "The tangent of an angle in radians.",
    "sinh": "The hyperbolic sine.", "cosh": "The hyperbolic cosine.",
}.items():  # fmt: skip
    _define(_name, _doc)


@operation("exp")
def exp(tr: Tracer, x: object, /, *, rounding_mode: object = None) -> object:
    """Return e to the power of `x`."""
    return _float(tr, "exp", x, **float_options(rounding_mode, False, *_APPROX))


@operation("tanh")
def tanh(tr: Tracer, x: object, /, *, rounding_mode: object = None) -> object:
    """Return the hyperbolic tangent of `x`."""
    return _float(tr, "tanh", x, **float_options(rounding_mode, False, *_APPROX))


@operation("exp2")
def exp2(tr: Tracer, x: object, /, *, flush_to_zero: object = False) -> Any:
    """Return 2 to the power of `x`."""
    return _float(tr, "exp2", x, **float_options(None, flush_to_zero))


@operation("rsqrt")
def rsqrt(tr: Tracer, x: object, /, *, flush_to_zero: object = False) -> object:
    """Return the reciprocal square root of `x`."""
    return _float(tr, "rsqrt", x, **float_options(None, flush_to_zero))


@operation("sqrt")
def sqrt(tr: Tracer, x: object, /, *, rounding_mode: object = None, flush_to_zero: object = False) -> Any:
    """Return the square root of `x`."""
    return _float(tr, "sqrt", x, **float_options(rounding_mode, flush_to_zero))


def _rounding(tr: Tracer, name: str, x: object) -> object:
    if isinstance(x, TileValue) and not x.dtype.is_float:
        raise TileTypeError(f"ct.{name} is for floats, not for {describe(x)}")
    return _float(tr, name, x)


@operation("floor")
def floor(tr: Tracer, x: object, /) -> object:
    """Round `x` down to an integer."""
    return _rounding(tr, "floor", x)


@operation("ceil")
def ceil(tr: Tracer, x: object, /) -> Any:
    """Round `x` up to an integer."""
    return _rounding(tr, "ceil", x)


@operation("abs")
def abs_(tr: Tracer, x: object, /) -> object:
    """Return the absolute value of `x`."""
    if is_constant(x):
        return absolute_of(x)
    tile = tile_of(tr, x, "the argument of ct.abs")
    if tile.dtype.is_bool or tile.dtype.kind == "u":
        return tile
    return _plain_unary(tr, "absf", "absi", tile)


@operation("negative")
def negative(tr: Tracer, x: object, /) -> Any:
    """Return ``-x``."""
    if is_constant(x):
        return negative_of(x)
    tile = tile_of(tr, x, "the operand of `-`")
    if tile.dtype.is_bool:
        tile = tr.emit.cast(tile, int32)
    return _plain_unary(tr, "negf", "negi", tile)


def _plain_unary(tr: Tracer, as_float: str, as_int: str, tile: TileValue) -> TileValue:
    if tile.dtype.is_float and not tile.dtype.arithmetic:
        wide = tr.emit.cast(tile, float32)
        return tr.emit.cast(_plain_unary(tr, as_float, as_int, wide), tile.dtype)
    if as_int == "negi" and not tile.dtype.is_float:  # a difference, which the levels below fold like any other
        return tr.emit.index("subi", tr.emit.constant(0, tile.dtype, tile.shape), tile)
    return tr.emit.tile(as_float if tile.dtype.is_float else as_int, tile.dtype, tile.shape, tile)


def positive(tr: Tracer, x: object) -> object:
    """Return ``+x``; booleans become integers."""
    if isinstance(x, TileValue):
        return tr.emit.cast(x, int32) if x.dtype.is_bool else x
    return +x if isinstance(x, (bool, int, float)) else x


@operation("bitwise_not")
def bitwise_not(tr: Tracer, x: object, /) -> object:
    """Return ``~x``: the complement of an integer, or the negation of a boolean."""
    if is_constant(x):
        return complement_of(x)
    tile = tile_of(tr, x, "the operand of `~`")
    if tile.dtype.is_float:
        raise TileTypeError(f"`~` needs integers or booleans, not {describe(x)}")
    ones = tr.emit.constant(True if tile.dtype.is_bool else -1, tile.dtype, tile.shape)
    return tr.emit.tile("xori", tile.dtype, tile.shape, tile, ones)


@operation("isnan")
def isnan(tr: Tracer, x: object, /) -> Any:
    """Return the mask of NaN elements of `x`."""
    if is_constant(x):
        return math.isnan(plain(x))
    tile = tile_of(tr, x, "the argument of ct.isnan")
    if not tile.dtype.is_float:
        raise TileTypeError(f"ct.isnan is for floats, not for {describe(x)}")
    if not tile.dtype.arithmetic:
        tile = tr.emit.cast(tile, float32)
    return tr.emit.tile(
        "cmpf", bool_, tile.shape, tile, tile, comparison_predicate="not_equal", comparison_ordering="unordered"
    )


@operation("astype")
def astype(tr: Tracer, x: object, dtype: object, /, *, rounding_mode: object = None) -> Any:
    """Convert a tile to another dtype."""
    target = dtype_of(dtype)
    rounding = None
    if rounding_mode is not None:
        rounding = keyword(rounding_mode, RoundingMode, "rounding_mode").value
    if is_constant(x):
        return converted(plain(x), target)
    return tr.emit.cast(tile_of(tr, x, "the argument of ct.astype"), target, rounding)


@method(TileValue, "astype")
def astype_method(tr: Tracer, x: object, dtype: object, *, rounding_mode: object = None) -> object:
    """Convert the tile to another dtype."""
    return astype.implementation(tr, x, dtype, rounding_mode=rounding_mode)


@operation("bitcast")
def bitcast(tr: Tracer, x: object, /, dtype: object) -> object:
    """Reinterpret the bits of a tile as another dtype of the same width."""
    target = dtype_of(dtype)
    tile = materialize(tr, x) if is_constant(x) else tile_of(tr, x, "the argument of ct.bitcast")
    if tile.dtype.is_bool or target.is_bool:
        raise TileTypeError("ct.bitcast does not read or make booleans", hint="use `x.astype(…)`, or compare: `x != 0`")
    if tile.dtype.bitwidth != target.bitwidth:
        raise TileTypeError(
            f"ct.bitcast: {tile.dtype} has {tile.dtype.bitwidth} bits and {target} has {target.bitwidth}",
            hint="ct.pack_to_bytes and ct.unpack_from_bytes change the number of elements",
        )
    if tile.dtype.element == target.element:
        return TileValue(tile.value, target, tile.shape)
    return tr.emit.tile("bitcast", target, tile.shape, tile)


@operation("pack_to_bytes")
def pack_to_bytes(tr: Tracer, x: object, /) -> object:
    """Return the bytes of a tile in row-major order, least significant first, as a 1-D tile of uint8."""
    tile = tile_of(tr, x, "the argument of ct.pack_to_bytes")
    flat = tr.emit.reshape(tile, (math.prod(tile.shape),))
    if flat.dtype.is_bool:  # a byte each, as in memory
        return tr.emit.cast(flat, uint8)
    if flat.shape[0] * flat.dtype.bitwidth % 8:
        raise TileTypeError(f"ct.pack_to_bytes: {describe(tile)} does not consist of whole bytes")
    if flat.dtype.bitwidth == 8:
        return bitcast.implementation(tr, flat, uint8)
    return _bytes_of(tr, flat)


@operation("unpack_from_bytes")
def unpack_from_bytes(tr: Tracer, x: object, /, dtype: object) -> object:
    """Reinterpret a 1-D tile of uint8 as elements of another dtype, least significant byte first."""
    target = dtype_of(dtype)
    tile = tile_of(tr, x, "the argument of ct.unpack_from_bytes")
    bits = 8 if target.is_bool else target.bitwidth
    if tile.dtype != uint8 or tile.ndim != 1 or tile.shape[0] * 8 % bits:
        raise TileTypeError(
            f"ct.unpack_from_bytes takes a 1-D tile of uint8 that holds whole elements of {target}, "
            f"not {describe(tile)}"
        )
    if bits == 8:
        return tr.emit.cast(tile, target) if target.is_bool else bitcast.implementation(tr, tile, target)
    if bits not in _WORDS:
        raise TileUnsupportedFeatureError(f"ct.unpack_from_bytes to {target} is not supported")
    return _from_bytes(tr, tile, target)


_WORDS: Mapping[int, DType] = MappingProxyType({16: uint16, 32: uint32, 64: uint64})
"""Integers that hold the bits of an element."""


def _shifts(tr: Tracer, word: DType, rows: int, count: int) -> TileValue:
    """Return the shift amounts 0, 8, 16, … of a word's bytes, in each row."""
    places = tr.emit.tile("iota", word, (count,))
    places = tr.emit.index("muli", places, 8)
    return tr.emit.broadcast(places, (rows, count))


def _bytes_of(tr: Tracer, flat: TileValue) -> TileValue:
    """Split each element into its bytes."""
    if flat.dtype.bitwidth not in _WORDS:
        raise TileUnsupportedFeatureError(f"ct.pack_to_bytes of {flat.dtype} is not supported")
    word = _WORDS[flat.dtype.bitwidth]
    size, count = flat.shape[0], word.bitwidth // 8
    words = tr.emit.broadcast(tr.emit.reshape(bitcast.implementation(tr, flat, word), (size, 1)), (size, count))
    parts = tr.emit.index("shri", words, _shifts(tr, word, size, count), signedness="unsigned")
    return tr.emit.reshape(tr.emit.cast(parts, uint8), (size * count,))


def _from_bytes(tr: Tracer, tile: TileValue, target: DType) -> TileValue:
    """Assemble elements from their bytes."""
    word = _WORDS[target.bitwidth]
    count = word.bitwidth // 8
    size = tile.shape[0] // count
    parts = tr.emit.cast(tr.emit.reshape(tile, (size, count)), word)
    placed = tr.emit.index("shli", parts, _shifts(tr, word, size, count))
    return bitcast.implementation(tr, tr.call(OPERATIONS["sum"], (placed, 1), {}), target)


def dtype_call(tr: Tracer, dtype: DType, args: tuple[object, ...]) -> object:
    """Evaluate ``ct.int16(x)``: a strictly typed constant, or the conversion of a scalar."""
    (value,) = args or (0,)
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise TileValueError(f"ct.{dtype}({value!r}): this is not a number") from None
    if is_constant(value):
        return converted(plain(value), dtype)
    return tr.emit.cast(tile_of(tr, value, f"the argument of ct.{dtype}"), dtype)
