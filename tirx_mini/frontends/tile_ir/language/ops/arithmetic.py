"""Binary arithmetic, comparisons and logic, with NumPy's broadcasting and cuTile's promotion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..arguments import common_dtype, common_shape, constant_bool, keyword, materialize, own_dtype, tile_of
from ..dtypes import DType, bool_, default_dtype, float32, int32, promote
from ..enums import RoundingMode
from ..errors import TileTypeError, TileUnsupportedFeatureError
from ..folding import binary_of
from ..surface import operation
from ..values import TileValue, describe, is_constant, plain

if TYPE_CHECKING:
    from ..tracer import Tracer

SYMBOLS: Mapping[str, str] = MappingProxyType({
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "bitwise_lshift": "<<", "bitwise_rshift": ">>",
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
})  # fmt: skip

_PREDICATES: Mapping[str, str] = MappingProxyType({
    "equal": "equal", "not_equal": "not_equal", "less": "less_than", "less_equal": "less_than_or_equal",
    "greater": "greater_than", "greater_equal": "greater_than_or_equal",
})  # fmt: skip
_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
_SHIFTS = ("bitwise_lshift", "bitwise_rshift")
_CORE: Mapping[str, tuple[str, str]] = MappingProxyType({
    "add": ("addf", "addi"), "sub": ("subf", "subi"), "mul": ("mulf", "muli"), "maximum": ("maxf", "maxi"),
    "minimum": ("minf", "mini"), "bitwise_and": ("", "andi"), "bitwise_or": ("", "ori"), "bitwise_xor": ("", "xori"),
})  # fmt: skip
_SIGNED_OPS = ("maxi", "mini")


def binary(tr: Tracer, name: str, x: Any, y: Any, **attrs: Any) -> Any:
    """Evaluate ``ct.name(x, y)``: fold constants, otherwise promote and broadcast the operands."""
    if is_constant(x) and is_constant(y) and not set(attrs) - {"propagate_nan"}:
        return binary_of(name, x, y, **attrs)
    symbol = SYMBOLS.get(name, f"ct.{name}")
    for value in (x, y):
        if not (isinstance(value, TileValue) or is_constant(value)):
            raise TileTypeError(f"`{symbol}` is not defined for {describe(x)} and {describe(y)}")
    if name in _SHIFTS:
        return _shift(tr, name, x, y)
    shape = common_shape(f"`{symbol}`", _shape(x), _shape(y))
    if name in _PREDICATES and _storage(x, y):
        x, y = _comparable(tr, x, y)
    dtype = common_dtype(x, y)
    if name in _BITWISE and dtype.is_float:
        raise TileTypeError(
            f"`{symbol}` needs integers or booleans, not {describe(x)} and {describe(y)}",
            hint="to work on the bits of floats, reinterpret them: `ct.bitcast(x, ct.int32)`",
        )
    owns = {own_dtype(v) for v in (x, y)} - {None}
    if name in _BITWISE and len(owns) > 1:
        raise TileTypeError(
            f"`{symbol}` needs operands of one dtype, not {describe(x)} and {describe(y)}",
            hint=f"convert one: `x.astype(ct.{dtype})`",
        )
    if name == "truediv" and not dtype.is_float:
        dtype = float32
    elif dtype.is_bool and name not in (*_BITWISE, *_PREDICATES):
        raise TileTypeError(f"`{symbol}` is not defined for booleans", hint="convert one: `x.astype(ct.int32)`")
    a, b = (_operand(tr, v, dtype, shape) for v in (x, y))
    if name in _PREDICATES:
        return compare(tr, _PREDICATES[name], a, b)
    return arithmetic(tr, name, a, b, **attrs)


def arithmetic(tr: Tracer, name: str, a: TileValue, b: TileValue, **attrs: object) -> TileValue:
    """Emit an operation on tiles of one dtype and shape."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(tr, a, b, **attrs)
    as_float, as_int = _CORE[name]
    float_only(name, a.dtype, attrs)
    if a.dtype.is_float:
        return tr.emit.tile(as_float, a.dtype, a.shape, a, b, **attrs)
    sign = {"signedness": a.dtype.signedness} if as_int in _SIGNED_OPS else {}
    return tr.emit.tile(as_int, a.dtype, a.shape, a, b, **sign)


def float_only(name: str, dtype: DType, attrs: Mapping[str, object]) -> None:
    """Raise `TileTypeError` for a rounding mode or `flush_to_zero` that is unsupported for `dtype`."""
    mode = attrs.get("rounding_mode")
    if mode and not (dtype.is_float and dtype.arithmetic):
        raise TileTypeError(f"rounding_mode of ct.{name} is for floats, not for {dtype}")
    if mode in (RoundingMode.APPROX.value, RoundingMode.FULL.value) and dtype != float32:
        raise TileTypeError(
            f"rounding_mode=ct.RoundingMode.{mode.upper()} of ct.{name} is for float32, not for {dtype}",
            hint="leave it out, or convert the operands with `.astype(ct.float32)`",
        )
    if attrs.get("flush_to_zero") and dtype != float32:
        raise TileTypeError(
            f"flush_to_zero of ct.{name} is for float32, not for {dtype}",
            hint="leave it out, or convert the operands with `.astype(ct.float32)`",
        )


def compare(tr: Tracer, predicate: str, a: TileValue, b: TileValue) -> TileValue:
    """Compare tiles of one dtype and shape. NaN is unequal to everything, and neither less nor greater."""
    if a.dtype.is_float:
        ordering = "unordered" if predicate == "not_equal" else "ordered"
        return tr.emit.tile("cmpf", bool_, a.shape, a, b, comparison_predicate=predicate, comparison_ordering=ordering)
    return tr.emit.tile("cmpi", bool_, a.shape, a, b, comparison_predicate=predicate, signedness=a.dtype.signedness)


def _shape(value: object) -> tuple[int, ...]:
    return value.shape if isinstance(value, TileValue) else ()


def _operand(tr: Tracer, value: Any, dtype: DType, shape: tuple[int, ...]) -> TileValue:
    if is_constant(value):
        number = plain(value)
        if isinstance(number, float) and not dtype.is_float:
            number = int(number)
        return tr.emit.constant(bool(number) if dtype.is_bool else number, dtype, shape)
    return tr.emit.broadcast(tr.emit.cast(value, dtype), shape)


def _shift(tr: Tracer, name: str, x: object, y: object) -> TileValue:
    """Shift integers, in their common type."""
    if not all((own_dtype(v) or default_dtype(plain(v))).is_integer for v in (x, y)):
        raise TileTypeError(f"`{SYMBOLS[name]}` needs integers, not {describe(x)} and {describe(y)}")
    dtype = common_dtype(x, y)
    shape = common_shape(f"`{SYMBOLS[name]}`", _shape(x), _shape(y))
    a, b = _operand(tr, x, dtype, shape), _operand(tr, y, dtype, shape)
    if name == "bitwise_lshift":
        return tr.emit.tile("shli", dtype, shape, a, b)
    return tr.emit.tile("shri", dtype, shape, a, b, signedness=dtype.signedness)


def _truediv(tr: Tracer, a: TileValue, b: TileValue, **attrs: object) -> TileValue:
    float_only("truediv", a.dtype, attrs)
    return tr.emit.tile("divf", a.dtype, a.shape, a, b, **attrs)


def divide(tr: Tracer, a: TileValue, b: TileValue, rounding: str) -> TileValue:
    """Divide integers. rounding: "zero", "negative_inf" or "positive_inf"."""
    if a.dtype.kind == "u" and rounding == "negative_inf":
        rounding = "zero"
    mode = None if rounding == "zero" else rounding
    return tr.emit.tile("divi", a.dtype, a.shape, a, b, signedness=a.dtype.signedness, rounding=mode)


def _floordiv(tr: Tracer, a: TileValue, b: TileValue) -> TileValue:
    if not a.dtype.is_float:
        return divide(tr, a, b, "negative_inf")
    return tr.emit.tile("floor", a.dtype, a.shape, _truediv(tr, a, b))


def _cdiv(tr: Tracer, a: TileValue, b: TileValue) -> TileValue:
    if not a.dtype.is_float:
        return divide(tr, a, b, "positive_inf")
    return tr.emit.tile("ceil", a.dtype, a.shape, _truediv(tr, a, b))


def _mod(tr: Tracer, a: TileValue, b: TileValue) -> TileValue:
    """Return Python's remainder, which has the sign of the divisor."""
    e, dtype, shape = tr.emit, a.dtype, a.shape
    if dtype.kind == "u":
        return e.tile("remi", dtype, shape, a, b, signedness="unsigned")
    zero = e.constant(0, dtype, shape)
    if dtype.is_float:
        rest = e.tile("remf", dtype, shape, a, b)
        added = e.tile("addf", dtype, shape, rest, b)
    else:
        rest = e.tile("remi", dtype, shape, a, b, signedness="signed")
        added = e.tile("addi", dtype, shape, rest, b)
    wrong = e.tile("xori", bool_, shape, compare(tr, "less_than", rest, zero), compare(tr, "less_than", b, zero))
    wrong = e.tile("andi", bool_, shape, wrong, compare(tr, "not_equal", rest, zero))
    return e.tile("select", dtype, shape, wrong, added, rest)


def _pow(tr: Tracer, a: TileValue, b: TileValue) -> TileValue:
    """Raise to a power; integers are computed in float64, which is exact up to 2^53."""
    if a.dtype.is_float:
        return tr.emit.tile("pow", a.dtype, a.shape, a, b)
    from ..dtypes import float64

    x, y = (tr.emit.cast(v, float64) for v in (a, b))
    return tr.emit.cast(tr.emit.tile("pow", float64, a.shape, x, y), a.dtype)


def _atan2(tr: Tracer, a: TileValue, b: TileValue) -> TileValue:
    if not a.dtype.is_float:
        raise TileUnsupportedFeatureError(f"ct.atan2 of {a.dtype} is not supported", hint="convert to ct.float32 first")
    return tr.emit.tile("atan2", a.dtype, a.shape, a, b)


_SPECIAL: Mapping[str, Callable[..., TileValue]] = MappingProxyType({
    "truediv": _truediv, "floordiv": _floordiv, "cdiv": _cdiv, "mod": _mod, "pow": _pow, "atan2": _atan2,
})  # fmt: skip


def small_power(tr: Tracer, x: TileValue, exponent: int) -> TileValue:
    """Return an integer power of 1 to 4, by multiplication."""
    square = binary(tr, "mul", x, x) if exponent > 1 else x
    if exponent == 4:
        return binary(tr, "mul", square, square)
    return binary(tr, "mul", square, x) if exponent == 3 else square


def float_options(
    rounding_mode: object = None, flush_to_zero: object = False, *allowed: RoundingMode
) -> dict[str, object]:
    """Return the attributes `rounding_mode` and `flush_to_zero` of an operation."""
    attrs: dict[str, Any] = {}
    if rounding_mode is not None:
        attrs["rounding_mode"] = keyword(rounding_mode, RoundingMode, "rounding_mode", *allowed).value
    if constant_bool(flush_to_zero, "flush_to_zero"):
        attrs["flush_to_zero"] = True
    return attrs


_IEEE = (RoundingMode.RN, RoundingMode.RZ, RoundingMode.RM, RoundingMode.RP)
_DIVISION = (*_IEEE, RoundingMode.APPROX, RoundingMode.FULL)


@operation("add")
def add(tr: Tracer, x: object, y: object, /, *, rounding_mode: object = None, flush_to_zero: object = False) -> Any:
    """Return the sum of two tiles: ``x + y``."""
    return binary(tr, "add", x, y, **float_options(rounding_mode, flush_to_zero, *_IEEE))


@operation("sub")
def sub(tr: Tracer, x: object, y: object, /, *, rounding_mode: object = None, flush_to_zero: object = False) -> Any:
    """Return the difference of two tiles: ``x - y``."""
    return binary(tr, "sub", x, y, **float_options(rounding_mode, flush_to_zero, *_IEEE))


@operation("mul")
def mul(tr: Tracer, x: object, y: object, /, *, rounding_mode: object = None, flush_to_zero: object = False) -> Any:
    """Return the elementwise product of two tiles: ``x * y``."""
    return binary(tr, "mul", x, y, **float_options(rounding_mode, flush_to_zero, *_IEEE))


@operation("truediv")
def truediv(
    tr: Tracer, x: object, y: object, /, *, rounding_mode: object = None, flush_to_zero: object = False
) -> object:
    """Return the quotient of two tiles as floats: ``x / y``. Integers become float32."""
    return binary(tr, "truediv", x, y, **float_options(rounding_mode, flush_to_zero, *_DIVISION))


@operation("floordiv")
def floordiv(tr: Tracer, x: object, y: object, /) -> object:
    """Return the quotient rounded down: ``x // y``."""
    return binary(tr, "floordiv", x, y)


@operation("mod")
def mod(tr: Tracer, x: object, y: object, /) -> Any:
    """Return the remainder, with the sign of the divisor: ``x % y``."""
    return binary(tr, "mod", x, y)


@operation("divmod")
def divmod_(tr: Tracer, x: object, y: object, /) -> object:
    """Return ``(x // y, x % y)`` of integers."""
    for value in (x, y):
        if (own_dtype(value) or (default_dtype(plain(value)) if is_constant(value) else int32)).is_float:
            raise TileTypeError(
                f"ct.divmod is for integers, not for {describe(value)}", hint="use `x // y` and `x % y`"
            )
    return binary(tr, "floordiv", x, y), binary(tr, "mod", x, y)


@operation("pow")
def pow_(tr: Tracer, x: object, y: object, /) -> object:
    """Return ``x`` to the power of ``y``: ``x ** y``."""
    if isinstance(x, TileValue) and not x.dtype.is_bool and isinstance(y, int) and y in (1, 2, 3, 4):
        return small_power(tr, x, y)
    return binary(tr, "pow", x, y)


@operation("cdiv", host=lambda x, y: -(-x // y))
def cdiv(tr: Tracer, x: object, y: object, /) -> object:
    """Return the quotient of two integers, rounded up; also callable in host code."""
    return binary(tr, "cdiv", x, y)


@operation("atan2")
def atan2(tr: Tracer, x1: object, x2: object, /) -> object:
    """Return the angle of the point ``(x2, x1)`` in radians, from -π to π."""
    return binary(tr, "atan2", x1, x2)


@operation("maximum")
def maximum(
    tr: Tracer, x: object, y: object, /, *, flush_to_zero: object = False, propagate_nan: object = False
) -> Any:
    """Return the elementwise maximum, ignoring a single NaN unless `propagate_nan`."""
    return _extreme(tr, "maximum", x, y, flush_to_zero, propagate_nan)


@operation("minimum")
def minimum(
    tr: Tracer, x: object, y: object, /, *, flush_to_zero: object = False, propagate_nan: object = False
) -> Any:
    """Return the elementwise minimum, ignoring a single NaN unless `propagate_nan`."""
    return _extreme(tr, "minimum", x, y, flush_to_zero, propagate_nan)


def _extreme(tr: Tracer, name: str, x: object, y: object, flush_to_zero: object, propagate_nan: object) -> object:
    attrs = float_options(None, flush_to_zero)
    if constant_bool(propagate_nan, "propagate_nan"):
        attrs["propagate_nan"] = True
    return binary(tr, name, x, y, **attrs)


def _define(name: str, doc: str) -> None:
    def implementation(tr: Tracer, x: object, y: object, /) -> Any:
        return binary(tr, name, x, y)

    implementation.__doc__ = doc
    operation(name)(implementation)


for _name in (*_BITWISE, *_SHIFTS, *_PREDICATES):
    _define(_name, f"``x {SYMBOLS[_name]} y``, element by element.")


@operation("where")
def where(tr: Tracer, cond: object, x: object, y: object, /) -> Any:
    """Select elements of `x` where `cond` is true, else of `y`, broadcasting all three."""
    mask = tr.emit.cast(tile_of(tr, cond, "the condition of ct.where"), bool_)
    for value in (x, y):
        tile_of(tr, value, "an operand of ct.where")
    dtype = common_dtype(x, y) if not _storage(x, y) else _storage_dtype(x, y)
    shape = common_shape("ct.where", mask.shape, _shape(x), _shape(y))
    a, b = (_operand(tr, v, dtype, shape) for v in (x, y))
    return tr.emit.tile("select", dtype, shape, tr.emit.broadcast(mask, shape), a, b)


def _comparable(tr: Tracer, x: object, y: object) -> tuple[object, object]:
    """Convert comparison operands of storage-only types to float32, which represents all their values."""
    dtype = _storage_dtype(x, y)
    converted = [tr.emit.cast(v, float32) if own_dtype(v) == dtype and isinstance(v, TileValue) else v for v in (x, y)]
    return converted[0], converted[1]


def _storage(x: object, y: object) -> bool:
    """Return whether an operand has a storage-only type."""
    return any(isinstance(v, TileValue) and not v.dtype.arithmetic for v in (x, y))


def _storage_dtype(x: object, y: object) -> DType:
    """Return the common type of operands with a storage-only type, which combines only with itself and constants."""
    own = [d for d in (own_dtype(x), own_dtype(y)) if d is not None]
    return own[0] if len(set(own)) == 1 else promote(own[0], own[1])


def logical(tr: Tracer, name: str, x: object, y: object) -> TileValue:
    """Evaluate ``x and y`` or ``x or y`` on scalars without short-circuiting."""
    a, b = (tr.condition(v, f"an operand of `{name}`") for v in (x, y))
    e = tr.emit
    a, b = (v if isinstance(v, TileValue) else materialize(tr, bool(v)) for v in (a, b))
    return e.tile("andi" if name == "and" else "ori", bool_, (), a, b)
