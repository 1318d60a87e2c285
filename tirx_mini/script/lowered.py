"""Statements that only lowered kernels have, as the printer writes them."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import Binary, DataType, Expr, Launch, TensorMap, Unary, Var, as_expr
from tirx_mini.ir import Cast as CastNode
from tirx_mini.ir import Select as SelectNode

from .builder import current


def launch(
    grid: tuple[int, int, int],
    threads: int,
    cluster: tuple[int, int, int] = (1, 1, 1),
    smem_bytes: int = 0,
    programmatic: bool = False,
) -> None:
    """The launch configuration of a lowered kernel."""
    current("Tx.launch").launch = Launch(grid, threads, cluster, smem_bytes, programmatic)


def tensor_map(
    buffer: Any,
    dims: tuple[int, ...],
    strides: tuple[int, ...],
    box: tuple[int, ...],
    swizzle: int,
    l2_promotion: int = 128,
    nan_fill: bool = False,
) -> Any:
    """A tensor map of a lowered kernel."""
    builder = current("Tx.tensor_map")
    var = Var(DataType("tensormap"), builder.take_name("tensor_map"), span=builder.span)
    made = TensorMap(var, buffer, dims, strides, box, swizzle, l2_promotion, builder.span, nan_fill)
    builder.tensor_maps.append(made)
    return var


def node(kind: str, *parts: Any) -> Expr:
    """An expression exactly as given; written with operators, it would be simplified."""
    exprs = [as_expr(part) for part in parts if not isinstance(part, str)]
    names = [part for part in parts if isinstance(part, str)]
    if kind == "cast":
        return CastNode(DataType(names[0]), exprs[0])
    if kind == "select":
        return SelectNode(DataType(names[0]), *exprs)
    if kind == "unary":
        return Unary(DataType(names[1]), names[0], exprs[0])
    return Binary(DataType(names[1]), names[0], exprs[0], exprs[1])
