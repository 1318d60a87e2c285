"""Composite tile primitives of TVM 0.26, which combine two operations or an operation and a reduction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tirx_mini.ir import Buffer, Region, TirxError
from tirx_mini.wording import described

Primitive = Callable[..., Any]
"""A tile primitive by its name, bound to the scope of the call."""

_BINARY: Mapping[str, str] = {
    "add": "add", "sub": "sub", "subtract": "sub", "mul": "mul", "multiply": "mul", "fdiv": "fdiv", "div": "fdiv",
    "divide": "fdiv", "max": "maximum", "maximum": "maximum", "min": "minimum", "minimum": "minimum",
}  # fmt: skip
_COMMUTATIVE = ("add", "mul", "maximum", "minimum")
_SCALED = ("exp2", "exp", "log2", "sqrt")
_UNARY = (*_SCALED, "reciprocal", "silu", "neg", "copy")
_REDUCTIONS = ("sum", "max", "min")


def binary_chain(
    of: Primitive, output: object, data: object, operand0: object, operand1: object, op0: str, op1: str,
    reverse1: bool = False,
    workspace: object = None, dispatch: str | None = None,
) -> None:  # fmt: skip
    """Compute output = (operand0 op0 data) op1 operand1, or with `reverse1` operand1 op1 (operand0 op0 data)."""
    _apply(of, op0, output, operand0, data)
    _apply(of, op1, output, *((operand1, output) if reverse1 else (output, operand1)))


def binary_reduce(
    of: Primitive, binary_output: object, reduce_output: object, binary_input1: object, binary_input2: object,
    binary_op: str,
    reduce_op: str, reduce_axes: object = -1, workspace: object = None, dispatch: str | None = None,
) -> None:  # fmt: skip
    """Compute binary_output = binary_input1 binary_op binary_input2, and its reduction over `reduce_axes`."""
    _apply(of, binary_op, binary_output, binary_input1, binary_input2)
    _reduce(of, reduce_op, reduce_output, binary_output, reduce_axes)


def unary_reduce(
    of: Primitive, unary_output: object, reduce_output: object, unary_input: object, unary_op: str, reduce_op: str,
    bias: object = None, scale: object = None, reduce_axes: object = -1, workspace: object = None,
    dispatch: str | None = None,
) -> None:  # fmt: skip
    """Compute unary_output = unary_op(unary_input * scale + bias), and its reduction over `reduce_axes`."""
    name = _name(unary_op, {each: each for each in _UNARY})
    if (bias is not None or scale is not None) and name not in _SCALED:
        raise TirxError(f"{name} has no scale and no bias", hint="call Tx.fma(dst, src, scale, bias) before it")
    given = {key: value for key, value in (("bias", bias), ("scale", scale)) if value is not None}
    of(name)(unary_output, unary_input, **given)
    _reduce(of, reduce_op, reduce_output, unary_output, reduce_axes)


def reduce_negate(
    of: Primitive, output: object, input: object, reduce_op: str, reduce_axes: object = -1, accum: bool = False,
    workspace: object = None, dispatch: str | None = None,
) -> None:  # fmt: skip
    """Compute the negated reduction of `input` over `reduce_axes`."""
    if accum:
        raise TirxError("reduce_negate has no accum=True here", hint="call the reduction with accum=, and then Tx.neg")
    _reduce(of, reduce_op, output, input, reduce_axes)
    of("neg")(output, output)


COMPOSITES: Mapping[str, Callable[..., None]] = {
    function.__name__: function for function in (binary_chain, binary_reduce, unary_reduce, reduce_negate)
}


def _name(op: object, names: Mapping[str, str]) -> str:
    """Return the name of a primitive, given as text or as a TVM operation (`tirx.add`)."""
    text = str(getattr(op, "name", op)).split(".")[-1]
    if text not in names:
        named = described(text if isinstance(op, str) else op)
        raise TirxError(f"{named} is not an operation here", hint=f"use one of {', '.join(names)}", about=op)
    return names[text]


def _is_tile(value: object) -> bool:
    return isinstance(value, (Region, Buffer)) and not (isinstance(value, Buffer) and value.scalar)


def _apply(of: Primitive, op: object, dst: object, a: object, b: object) -> None:
    """Emit dst = a op b, where at least one operand is a tile."""
    name = _name(op, _BINARY)
    if _is_tile(a):
        of(name)(dst, a, b)
    elif not _is_tile(b):
        raise TirxError(f"{name} needs a tile, but both operands are numbers")
    elif name in _COMMUTATIVE:
        of(name)(dst, b, a)
    elif name == "sub":
        of("fma")(dst, b, -1.0, a)
    else:
        of("reciprocal")(dst, b)
        of("mul")(dst, dst, a)


def _reduce(of: Primitive, op: object, dst: object, src: object, axes: object) -> None:
    name = _name(op, {each: each for each in _REDUCTIONS})
    of(f"reduce_{name}")(dst, src, axes=axes)
