"""Statements that occur only in lowered kernels, as printed."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import (
    BINARY_OPS,
    UNARY_OPS,
    Binary,
    Buffer,
    DataType,
    Expr,
    Launch,
    TensorMap,
    TirxError,
    Unary,
    Var,
    as_expr,
    int_value,
)
from tirx_mini.ir import Cast as CastNode
from tirx_mini.ir import Select as SelectNode
from tirx_mini.wording import described

from .builder import current


def launch(
    grid: tuple[int, int, int],
    threads: int,
    cluster: tuple[int, int, int] = (1, 1, 1),
    smem_bytes: int = 0,
    programmatic: bool = False,
) -> None:
    """Set the launch configuration of a lowered kernel."""
    sizes = [*_three(grid, "grid"), threads, *_three(cluster, "cluster"), smem_bytes + 1]
    if any(int_value(size) is None or int(size) < 1 for size in sizes):
        raise TirxError("a launch has positive numbers of CTAs and threads", hint="write Tx.launch((4, 1, 1), 128)")
    current("Tx.launch").launch = Launch(grid, threads, cluster, smem_bytes, programmatic)


def _three(sizes: object, what: str) -> tuple[int, int, int]:
    if not isinstance(sizes, tuple) or len(sizes) != 3:
        hint = f"write {what}=(4, 1, 1)"
        raise TirxError(f"the {what} of a launch is three numbers, not {described(sizes)}", hint=hint, about=sizes)
    return sizes


def tensor_map(
    buffer: object,
    dims: tuple[int, ...],
    strides: tuple[int, ...],
    box: tuple[int, ...],
    swizzle: int,
    l2_promotion: int = 128,
    nan_fill: bool = False,
) -> Any:
    """Declare a tensor map of a lowered kernel."""
    builder = current("Tx.tensor_map")
    if not isinstance(buffer, Buffer) or not all(isinstance(part, tuple) for part in (dims, strides, box)):
        raise TirxError("a tensor map is made of a buffer, and of tuples of numbers", hint="pass dims, strides and box")
    var = Var(DataType("tensormap"), builder.take_name("tensor_map"), span=builder.span)
    made = TensorMap(var, buffer, dims, strides, box, swizzle, l2_promotion, builder.span, nan_fill)
    builder.tensor_maps.append(made)
    return var


def node(kind: str, *parts: object) -> Expr:
    """Build an expression exactly as given, without the simplification that operators perform."""
    if kind not in ("cast", "select", "unary", "binary"):
        raise TirxError(f"Tx.node makes no {described(kind)}", hint='write Tx.node("binary", "+", "int32", a, b)')
    exprs = [as_expr(part) for part in parts if not isinstance(part, str)]
    names = [part for part in parts if isinstance(part, str)]
    if kind == "cast":
        return CastNode(DataType(names[0]), exprs[0])
    if kind == "select":
        return SelectNode(DataType(names[0]), *exprs)
    if names[0] not in (UNARY_OPS if kind == "unary" else BINARY_OPS):
        raise TirxError(f"{described(names[0])} is not an operator", hint=f"the operators are {', '.join(BINARY_OPS)}")
    if kind == "unary":
        return Unary(DataType(names[1]), names[0], exprs[0])
    return Binary(DataType(names[1]), names[0], exprs[0], exprs[1])
