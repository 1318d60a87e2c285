"""Fragments that stay the same in a loop are loaded before it, and loads of them need no barrier."""

from __future__ import annotations

import pytest

from tirx_mini.ir import (
    HANDLE,
    INT32,
    AllocBuffer,
    Buffer,
    BufferStore,
    Call,
    DataType,
    Evaluate,
    Expr,
    For,
    Stmt,
    Var,
    as_expr,
    const,
    seq,
    walk,
)
from tirx_mini.isa import instruction_of
from tirx_mini.passes import insert_barriers
from tirx_mini.passes.invariant import hoist_loads

HALF = DataType("float16")
TILE = Buffer("tile", (32, 32), HALF, "shared")
SUM = Buffer("sum", (4,), DataType("float32"), "local")
i = Var(INT32, "i")


def product(a_row: Expr, b_row: Expr) -> list[Stmt]:
    """One mma, with the loads of its fragments."""
    a, b = Buffer("a", (8,), HALF, "local"), Buffer("b", (4,), HALF, "local")

    def load(target: Buffer, row: Expr, num: int) -> Stmt:
        return Evaluate(Call(HANDLE, "ldmatrix", (target.ptr_to([0]), TILE.ptr_to([row, 0])), (("num", num),)))

    pointers = tuple(buffer.ptr_to([0]) for buffer in (SUM, a, b, SUM))
    multiply = Evaluate(Call(HANDLE, "mma.sync", pointers))
    return [AllocBuffer(a), AllocBuffer(b), load(a, a_row, 4), load(b, b_row, 2), multiply]


def loop(*stmts: Stmt) -> For:
    return For(i, const(0), const(4), seq(*stmts))


def loaded_in(body: Stmt) -> list[str]:
    """The fragments that are loaded in the loop."""
    (inside,) = (node for node in walk(body) if isinstance(node, For))
    calls = [node for node in walk(inside) if isinstance(node, Call) and node.op == "ldmatrix"]
    return [call.args[0].buffer.name for call in calls]  # type: ignore[attr-defined]


def test_only_what_the_loop_changes_is_loaded_in_it() -> None:
    body = hoist_loads(loop(*product(const(0), i * 8)))
    assert loaded_in(body) == ["b"]
    names = [type(node).__name__ for node in body.stmts]  # type: ignore[attr-defined]
    assert names == ["AllocBuffer", "Evaluate", "For"]


@pytest.mark.parametrize(
    "more",
    [
        BufferStore(TILE, (const(0), i), const(1.0, "float16")),
        Evaluate(Call(HANDLE, "bar.sync.all", (as_expr(0),))),
        Evaluate(Call(HANDLE, "st", (TILE.ptr_to([0, 0]), const(1.0, "float32")), (("type", "f32"),))),
    ],
)
def test_a_tile_that_may_change_is_loaded_in_each_iteration(more: Stmt) -> None:
    body = hoist_loads(loop(*product(const(0), const(8)), more))
    assert loaded_in(body) == ["a", "b"]


def test_loads_by_instructions_need_one_barrier_after_the_tile_is_written() -> None:
    store = BufferStore(TILE, (const(0), const(0)), const(1.0, "float16"))
    body = insert_barriers(seq(store, loop(*product(i, i))), 32)
    barriers = [node for node in walk(body) if (entry := instruction_of(node)) and entry.name == "bar.sync.all"]
    assert len(barriers) == 1 and loaded_in(body) == ["a", "b"]
