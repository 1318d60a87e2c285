"""What a kernel writes follows from its stores and from the memories that its instructions declare."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tirx_mini.codegen.samples import func, vector
from tirx_mini.ir import (
    HANDLE,
    INT32,
    Address,
    AddressOf,
    Buffer,
    BufferStore,
    Call,
    Cast,
    DataType,
    Evaluate,
    Expr,
    Stmt,
    TensorMap,
    Var,
    const,
)
from tirx_mini.isa import atomic_operation, written_params

ZERO = const(0)
A = vector("A", 64, "float32")
M = Buffer("M", (64, 64), DataType("float16"))
MAP = TensorMap(Var(DataType("tensormap"), "M_map"), M, (64, 64), (128,), (64, 64), 128)


def call(op: str, *operands: Expr) -> Stmt:
    return Evaluate(Call(INT32, op, operands))


@pytest.mark.parametrize(
    ("stmt", "written"),
    [
        (BufferStore(A, (ZERO,), const(1.0)), {A}),
        (call("cp.async", ZERO, AddressOf(HANDLE, A, (ZERO,)), const(16)), set()),
        (call("prefetch.tensormap", MAP.var), set()),
        (call("cp.async.bulk.tensor.load", ZERO, MAP.var, ZERO, ZERO, ZERO), set()),
        (call("cp.async.bulk.tensor.store", MAP.var, ZERO, ZERO, ZERO), {M}),
        (call("cp.reduce.async.bulk.tensor", MAP.var, ZERO, ZERO, ZERO), {M}),
    ],
    ids=["store", "cp.async", "prefetch", "TMA load", "TMA store", "TMA reduction"],
)
def test_the_parameters_that_a_statement_writes(stmt: Stmt, written: set[Buffer]) -> None:
    assert written_params(replace(func(stmt, params=(A, M)), tensor_maps=(MAP,))) == written


def test_a_computed_address_writes_the_buffers_that_it_may_point_into() -> None:
    base = Cast(DataType("int64"), AddressOf(HANDLE, A, (ZERO,)))
    other = Buffer("B", (64,), DataType("float32"))

    def stored(buffers: tuple[Buffer, ...] | None) -> frozenset[Buffer]:
        pointer = Address(HANDLE, base, buffers)
        attrs = (("type", "f32"), ("vec", ""), ("space", "global"))
        kernel = func(Evaluate(Call(HANDLE, "st", (pointer, const(1.0)), attrs)), params=(A, other))
        return written_params(kernel)

    assert stored((A,)) == {A} and stored((other,)) == {other} and stored(None) == {A, other}


@pytest.mark.parametrize(
    ("call", "operation"),
    [
        (Call(INT32, "red", (ZERO, ZERO), (("op", "max"), ("type", "s32"))), "max"),
        (Call(INT32, "atom.cas", (ZERO, ZERO, ZERO), (("type", "b32"),)), "cas"),
    ],
)
def test_the_operation_of_an_atomic_instruction(call: Call, operation: str) -> None:
    assert atomic_operation(call) == operation
