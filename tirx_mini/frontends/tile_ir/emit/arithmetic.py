"""Code generation for elementwise operations, one expression per operation.

Integers of tile programs have no sign; the operations have. They are kept in signed types, and an unsigned operation
reads them as unsigned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tirx_mini.ir import (
    BOOL,
    FLOAT32,
    UINT32,
    Call,
    Const,
    DataType,
    Expr,
    TirxError,
    binary,
    cast,
    const,
    magnitude,
    reinterpret,
    select,
    unary,
)
from tirx_mini.isa import TABLE

from ..ssa import DTYPES, Scalar, Type

FLOAT64, UINT8 = DataType("float64"), DataType("uint8")
LOG2_E = 1 / math.log(2)

SCALE = "float8_e8m0fnu"
"""A power of two: 8 bits of exponent, biased by 127; 255 is NaN (PTX ISA: "ue8m0")."""
Compute = Callable[..., Expr]
"""The value of an operation, from those of its operands."""


def dtype_of(type: Type) -> DataType:
    """Return the dtype of a scalar type. Raises `TirxError` if no code can compute with it."""
    assert isinstance(type, Scalar), f"{type} is not the type of a number"
    if type.name not in DTYPES:
        raise TirxError(f"the compiler has no code for numbers of type {type}: only the interpreter computes with them")
    return DataType(DTYPES[type.name])


def factor_dtype(type: Type, signed: bool) -> DataType:
    """Return the dtype of a matrix product's operand."""
    dtype = dtype_of(type)
    return UINT8 if dtype == "int8" and not signed else dtype


# -- integers ------------------------------------------------------------------------------------------------------


def _unsigned(op: str) -> Compute:
    """Return `op` applied to the operands' bits as unsigned integers."""

    def compute(a: Expr, b: Expr) -> Expr:
        if a.dtype.is_bool:
            return binary(op, a, b)
        kind = f"u{a.dtype}"
        result = binary(op, reinterpret(kind, a), reinterpret(kind, b))
        return result if result.dtype.is_bool else reinterpret(a.dtype, result)

    return compute


def _binary(op: str) -> Compute:
    return lambda a, b: binary(op, a, b)


def _bits(op: str) -> Compute:
    """Return a bitwise operation, or the logical one for booleans."""
    logical = {"&": lambda a, b: binary("and", a, b), "|": lambda a, b: binary("or", a, b), "^": _differ}[op]
    return lambda a, b: logical(a, b) if a.dtype.is_bool else binary(op, a, b)


def _differ(a: Expr, b: Expr) -> Expr:
    if isinstance(b, Const):
        return unary("not", a) if b.value else a
    return binary("!=", a, b)


def truncated_quotient(a: Expr, b: Expr) -> Expr:
    """Return a / b, rounded towards zero."""
    if isinstance(b, Const) and b.value > 0:
        return select(a < 0, -((-a) // b), a // b)
    quotient = select(a < 0, -a, a) // select(b < 0, -b, b)
    return select(binary("!=", a < 0, b < 0), -quotient, quotient)


def ceiled_quotient(a: Expr, b: Expr) -> Expr:
    """Return a / b, rounded up."""
    return -((-a) // b)


def ceiled_unsigned_quotient(a: Expr, b: Expr) -> Expr:
    """Return a / b for unsigned integers, rounded up without overflow in a + b."""
    zero = const(0, a.dtype)
    return select(binary("==", a, zero), zero, _unsigned("//")(a - 1, b) + 1)


def _high_product(a: Expr, b: Expr) -> Expr:
    """Return the upper half of the product of two unsigned 32-bit integers."""
    wide = [cast("uint64", reinterpret("uint32", x)) for x in (a, b)]
    return reinterpret("int32", cast("uint32", (wide[0] * wide[1]) >> const(32, "uint64")))


# -- floating-point numbers ----------------------------------------------------------------------------------------


def instruction(name: str, *args: Expr, **modifiers: object) -> Expr:
    """Return a call of a per-thread float32 instruction."""
    operands, attrs = TABLE[name].bind(args, modifiers)
    return Call(FLOAT32, name, operands, attrs)


def reciprocal(x: Expr) -> Expr:
    """Return 1 / x, accurate to one unit in the last place."""
    return instruction("rcp.approx", x, ftz=False)


def _special(name: str, scale: float = 1.0, factor: float = 1.0, **modifiers: object) -> Compute:
    """Return the function factor * instruction(scale * x), computed in float32 and rounded to the type of x."""

    def compute(x: Expr) -> Expr:
        wide = cast(FLOAT32, x)
        wide = wide * const(scale, FLOAT32) if scale != 1 else wide
        result = instruction(name, wide, **modifiers)
        result = result * const(factor, FLOAT32) if factor != 1 else result
        return cast(x.dtype, result)

    return compute


def _is_nan(x: Expr) -> Expr:
    return binary("!=", x, x)


def _extremum(op: str, nan: bool) -> Compute:
    """Return the maximum or minimum, in which NaN propagates (`nan`) or is ignored (IEEE 754-2019, 9.6)."""

    def compute(a: Expr, b: Expr) -> Expr:
        if a.dtype == FLOAT32:
            return instruction(f"{op}.f32", a, b, nan=nan)
        number = binary(op, a, b)
        return select(_is_nan(a), a, select(_is_nan(b), b, number)) if nan else number

    return compute


def _fma(a: Expr, b: Expr, c: Expr) -> Expr:
    return instruction("fma.rn", a, b, c) if a.dtype == FLOAT32 else binary("+", binary("*", a, b), c)


def _library(name: str) -> Compute:
    """Return a float32 function of CUDA's math library."""

    def compute(*values: Expr) -> Expr:
        return cast(values[0].dtype, instruction(name, *(cast(FLOAT32, value) for value in values)))

    return compute


def _precise(single: Compute, name: str) -> Compute:
    """Return a float function: `single`, or CUDA's math library for float64."""

    def compute(*values: Expr) -> Expr:
        if values[0].dtype != FLOAT64:
            return single(*values)
        entry = f"{name}.f64"
        operands, attrs = TABLE[entry].bind(tuple(cast(FLOAT64, value) for value in values), {})
        return Call(FLOAT64, entry, operands, attrs)

    return compute


_EXP2 = _precise(_special("ex2.approx"), "exp2")
_SQRT = _precise(_special("sqrt.rn"), "sqrt")
_POWER = _precise(_library("powf"), "pow")

COMPUTE: Mapping[str, Compute] = {
    "arith.addi": _binary("+"), "arith.subi": _binary("-"), "arith.muli": _binary("*"),
    "arith.divsi": truncated_quotient, "arith.divui": _unsigned("//"),
    "arith.floordivsi": _binary("//"), "arith.ceildivsi": ceiled_quotient,
    "arith.ceildivui": ceiled_unsigned_quotient,
    "arith.remsi": lambda a, b: a - truncated_quotient(a, b) * b, "arith.remui": _unsigned("%"),
    "arith.andi": _bits("&"), "arith.ori": _bits("|"), "arith.xori": _bits("^"),
    "arith.shli": _binary("<<"), "arith.shrsi": _binary(">>"), "arith.shrui": _unsigned(">>"),
    "arith.maxsi": _binary("max"), "arith.minsi": _binary("min"),
    "arith.maxui": _unsigned("max"), "arith.minui": _unsigned("min"),
    "arith.mulhiui": _high_product,
    "arith.addf": _binary("+"), "arith.subf": _binary("-"), "arith.mulf": _binary("*"), "arith.divf": _binary("/"),
    "arith.remf": _precise(_library("fmodf"), "fmod"), "arith.negf": lambda a: unary("-", a),
    "arith.maximumf": _extremum("max", True), "arith.minimumf": _extremum("min", True),
    "arith.maxnumf": _extremum("max", False), "arith.minnumf": _extremum("min", False),
    "arith.select": select,
    "math.absf": magnitude, "math.absi": magnitude, "math.fma": _fma,
    # Results below 2^-126 are 0 (.ftz): without it, each power would take a comparison and two products more.
    "math.exp": _precise(_special("ex2.approx", LOG2_E), "exp"), "math.exp2": _EXP2,
    "math.log": _precise(_special("lg2.approx", factor=math.log(2), ftz=False), "log"),
    "math.log2": _precise(_special("lg2.approx", ftz=False), "log2"),
    **{
        f"math.{name}": _precise(_library(f"{name}f"), name)
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil")
    },
    "math.powf": _POWER, "math.fpowi": _POWER, "math.atan2": _precise(_library("atan2f"), "atan2"),
    "math.sqrt": _SQRT, "math.rsqrt": _precise(_special("rsqrt.approx", ftz=False), "rsqrt"),
}  # fmt: skip

COSTLY: Mapping[str, int] = {
    **{
        f"math.{name}": 16
        for name in "exp exp2 log log2 sqrt rsqrt sin cos tan sinh cosh tanh powf fpowi atan2 floor ceil".split()
    },
    **{f"arith.{name}": 16 for name in ("divf", "remf", "divsi", "floordivsi", "ceildivsi", "remsi", "divui", "remui")},
}  # fmt: skip
"""What operations cost that are worth more than one (`Tile.cost`)."""

COMPARE_INTEGERS: Mapping[str, Compute] = {
    **{name: _binary(op) for name, op in (("eq", "=="), ("ne", "!="), ("slt", "<"), ("sle", "<="), ("sgt", ">"),
                                          ("sge", ">="))},
    **{name: _unsigned(op) for name, op in (("ult", "<"), ("ule", "<="), ("ugt", ">"), ("uge", ">="))},
}  # fmt: skip

_ORDERED = {"eq": "==", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def compare_floats(predicate: str, a: Expr, b: Expr) -> Expr:
    """Compare floats; with a NaN operand, ordered predicates ("olt") are false and unordered ones ("ult") true."""
    number = binary("and", unary("not", _is_nan(a)), unary("not", _is_nan(b)))
    if predicate in ("ord", "uno"):
        return number if predicate == "ord" else unary("not", number)
    kind, op = predicate[0], predicate[1:]
    differ = binary("!=", a, b)
    if op == "ne":
        return binary("and", differ, number) if kind == "o" else differ
    result = binary(_ORDERED[op], a, b)
    return result if kind == "o" else binary("or", result, unary("not", number))


def converted(value: Expr, target: DataType, *, signed: bool = True) -> Expr:
    """Convert `value` to `target`. signed: whether the integer source or target is signed."""
    if value.dtype == SCALE and target != SCALE:
        return converted(_power_of_two(value), target)
    if target == SCALE and value.dtype != SCALE:
        return reinterpret(target, cast(DataType("uint8"), _scale_of(converted(value, FLOAT32, signed=signed))))
    source = value.dtype
    if source == target:
        return value
    if source.is_integer and not signed:
        value = reinterpret(f"u{source}", value)
    if target.is_integer and source.is_float and not signed:
        return reinterpret(target, cast(f"u{target}", value))
    return cast(target, value)


def is_true(value: Expr) -> Expr:
    return value if value.dtype.is_bool else cast(BOOL, value)


def _power_of_two(scale: Expr) -> Expr:
    """Convert a scale to float32; its bits are the exponent, except for the subnormal 2^-127 and NaN."""
    exponent = cast(UINT32, reinterpret(DataType("uint8"), scale))
    smallest, nan = const(0x00400000, UINT32), const(0x7FC00000, UINT32)
    bits = select(binary("==", exponent, 0), smallest, select(binary("==", exponent, 255), nan, exponent << 23))
    return reinterpret(FLOAT32, bits)


def _scale_of(value: Expr) -> Expr:
    """Round a float32 to the nearest power of two as a scale, ties upwards; non-positive or too large numbers become
    NaN.

    It is the exponent, one more from a significand of 1.5 on. Below 2^-126, a subnormal above 2^-127 is 2^-126.
    """
    bits = reinterpret(UINT32, value)
    half = select(binary("<", bits, const(0x00800000, UINT32)), const(0x003FFFFF, UINT32), const(0x00400000, UINT32))
    positive = binary("<", bits - const(1, UINT32), const(0x7F3FFFFF, UINT32))
    return select(positive, (bits + half) >> 23, const(255, UINT32))
