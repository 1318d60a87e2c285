"""Scalars in computations, and symbolic extents: `const`, `var`, conditions and integer division."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from tirx_mini.ir import DataType, Expr, TirxError, Var, as_bool, as_expr, binary, select, unary
from tirx_mini.ir import const as constant
from tirx_mini.script import caller_span


def const(value: Any, dtype: str | None = None) -> Expr:
    """Return a constant, by default int32 for integers and float32 for other numbers."""
    return constant(value) if dtype is None else constant(value, str(dtype))


def var(name: str = "tindex", dtype: str = "int32", span: object = None) -> Var:
    """Declare a variable known at call time: a symbolic tensor extent or a scalar argument.

    A function with symbolic extents is compiled for the sizes of each call, once.
    """
    return Var(DataType(str(dtype)), name)


def size_var(name: str = "size", dtype: str = "int32", span: object = None) -> Var:
    """Declare a non-negative variable, as `var`."""
    return var(name, dtype)


def all(*args: object, span: object = None) -> Expr:
    """Return the conjunction of all conditions."""
    return _joined("and", args)


def any(*args: object, span: object = None) -> Expr:
    """Return the disjunction of all conditions."""
    return _joined("or", args)


def _joined(op: str, args: tuple[object, ...]) -> Expr:
    if not args:
        raise TirxError(f"te.{'all' if op == 'and' else 'any'} needs a condition", caller_span())
    return reduce(lambda a, b: binary(op, a, b), map(as_bool, args))


def floordiv(a: object, b: object, span: object = None) -> Expr:
    """Return `a` / `b`, rounded down."""
    return binary("//", a, b)


def floormod(a: object, b: object, span: object = None) -> Expr:
    """Return the remainder of `floordiv`, which has the sign of `b`."""
    return binary("%", a, b)


indexdiv, indexmod = floordiv, floormod


def truncdiv(a: object, b: object, span: object = None) -> Expr:
    """Return `a` / `b`, rounded towards zero as in C."""
    a, b = as_expr(a), as_expr(b)
    same_sign = binary("==", binary(">=", a, 0), binary(">", b, 0))
    return select(same_sign, binary("//", a, b), unary("-", binary("//", unary("-", a), b)))


def truncmod(a: object, b: object, span: object = None) -> Expr:
    """Return the remainder of `truncdiv`, which has the sign of `a` as in C."""
    return binary("-", a, binary("*", truncdiv(a, b), b))


def div(a: object, b: object, span: object = None) -> Expr:
    """Return `a` / `b`, truncated for integers as in C."""
    whole = as_expr(a).dtype.is_integer and as_expr(b).dtype.is_integer
    return truncdiv(a, b) if whole else binary("/", a, b)


_REFUSED = {
    "scan": "write the recurrence in TIR: a function of tvm.script with a loop around its statements",
    "extern": "write the statements in TIR: a function of tvm.script, or te.decl_tensor_intrin for a part of a stage",
    "gradient": "write the derivative with te.compute",
    "hybrid": "write the function with tvm.script, as TIR",
    "extern_primfunc": "call the functions one after the other",
}


def refused(name: str) -> Callable[..., Any] | None:
    """Return a stub that raises `TirxError` for an unsupported function of TVM's `te`, or None for other names."""
    if name not in _REFUSED:
        return None

    def call(*_: object, **__: object) -> Any:
        raise TirxError(f"te.{name} is not provided", caller_span(), _REFUSED[name])

    return call
