"""`create_prim_func`: conversion of a computation to a function with one block per tensor, for `tir.Schedule`."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.ir import (
    INT32,
    REDUCE,
    SPATIAL,
    TIR,
    AllocBuffer,
    Block,
    Buffer,
    Expr,
    PrimFunc,
    Range,
    Stmt,
    TirxError,
    Var,
    const,
    seq,
    substitute,
)
from tirx_mini.script import caller_span

from .reduction import Group, Reduce
from .schedule import create_schedule
from .symbolic import symbols_of
from .tensor import ComputeOp, PlaceholderOp, Tensor
from .tree import in_loops, stored


def create_prim_func(ops: Sequence[Tensor]) -> PrimFunc:
    """Return the function that computes the tensors `ops`, with inputs and outputs as parameters in this order."""
    if symbols_of(ops):
        hint = "give the tensors extents that are numbers"
        raise TirxError("create_prim_func: the extents of its tensors are symbolic", caller_span(), hint)
    outputs = [tensor for tensor in ops if not isinstance(tensor.op, PlaceholderOp)]
    if not outputs:
        raise TirxError("create_prim_func: none of the tensors is computed", caller_span())
    buffers: dict[Buffer, Buffer] = {}
    parts: list[Stmt] = []
    for stage in create_schedule([tensor.op for tensor in outputs]).stages:
        for tensor in stage.tensors:
            buffers[tensor] = Buffer(tensor.name.replace(".", "_"), tensor.shape, tensor.dtype, span=tensor.span)
            if tensor not in ops:
                if isinstance(stage.op, PlaceholderOp):
                    raise TirxError(f"{tensor.name} is read, but is not among the arguments", caller_span())
                parts.insert(0, AllocBuffer(buffers[tensor], span=tensor.span))
        if isinstance(stage.op, ComputeOp):
            parts.append(_nest(stage.op, buffers))
    params = tuple(buffers[tensor] for tensor in ops)
    return PrimFunc("main", params, seq(*parts), (("tir.noalias", True),), spelling=TIR, span=outputs[0].span)


def _nest(op: ComputeOp, buffers: dict[Buffer, Buffer]) -> Stmt:
    """Return the loops and the block that compute one tensor."""
    axes = (*op.axis, *op.reduce_axis)
    loops = [Var(INT32, axis.name) for axis in axes]
    own = [Var(INT32, f"v_{axis.name}") for axis in axes]
    names: dict[Var, Expr] = {axis.var: var for axis, var in zip(axes, own, strict=True)}
    place = tuple(own[: len(op.axis)])
    body, targets = op.body, [buffers[tensor] for tensor in op.tensors]

    def stores(values: Sequence[Expr]) -> Stmt:
        own = [substitute(value, names, buffers) for value in values]
        return stored([(target, place) for target in targets], own, op.span)

    init = None
    if isinstance(body, Reduce):
        init = stores(body.identities)
        statement = stores(body.all_combined([tensor[tuple(axis.var for axis in op.axis)] for tensor in op.tensors]))
    else:
        statement = stores(body.values if isinstance(body, Group) else [body])
    block = Block(
        op.name, tuple(own), (SPATIAL,) * len(op.axis) + (REDUCE,) * len(op.reduce_axis),
        tuple(Range(const(axis.first), const(axis.size)) for axis in axes),
        tuple(loop + axis.first for loop, axis in zip(loops, axes, strict=True)),
        statement, init, span=op.span,
    )  # fmt: skip
    return in_loops(block, [(loop, axis.size) for loop, axis in zip(loops, axes, strict=True)], block)
