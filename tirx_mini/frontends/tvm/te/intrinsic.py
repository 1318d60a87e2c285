"""Tensor intrinsics, which `tensorize` substitutes for loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tirx_mini.ir import Buffer, Stmt, TirxError
from tirx_mini.records import dataclass
from tirx_mini.script import caller_span

from .tensor import ComputeOp, Operation, Tensor

Statements = Stmt | tuple[Stmt | None, ...]
"""What computes a region: one statement, or three: all of it, how a reduction begins, and one more step of it."""


@dataclass(frozen=True, eq=False, repr=False)
class TensorIntrin:
    """An instruction described by the computation that it performs.

    op: the computation.
    inputs: the tensors that it reads, in the order in which `lower` is given their regions.
    lower: from the regions of the inputs and of the output, as buffers, to the statements that compute the output.
    """

    name: str
    op: ComputeOp
    inputs: tuple[Tensor, ...]
    lower: Callable[[Sequence[Buffer], Sequence[Buffer]], Statements]

    def __repr__(self) -> str:
        return self.name


def decl_tensor_intrin(
    op: Operation,
    fcompute: Callable[[Sequence[Buffer], Sequence[Buffer]], Any],
    name: str = "tensor_intrin",
    binds: object = None,
    **_: object,
) -> TensorIntrin:
    """Declare an instruction that computes `op`: ``fcompute(inputs, outputs)`` returns its statements.

    The statements of a reduction are three: all of it at once (or None), its initialisation, and one more step.
    The literal ``...`` in the place of the function describes an instruction that no stage can be lowered to yet.
    binds: accepted as TVM has it; regions may have any strides.
    """
    if not callable(fcompute) and fcompute is not ...:
        hint = "pass a function of (inputs, outputs) that returns statements"
        raise TirxError(f"decl_tensor_intrin: {fcompute!r} is not a function", caller_span(), hint)
    if not isinstance(op, ComputeOp):
        raise TirxError(f"decl_tensor_intrin: {op!r} computes nothing", caller_span(), "pass the op of a te.compute")
    return TensorIntrin(name, op, tuple(op.input_tensors), fcompute)
