"""Barriers stand between uses of shared memory that may meet, and where every thread of a team reaches them."""

from __future__ import annotations

import pytest

from tirx_mini.ir import (
    INT32,
    AllocBuffer,
    Bind,
    Buffer,
    BufferStore,
    DataType,
    Evaluate,
    Expr,
    For,
    If,
    Stmt,
    TirxError,
    Var,
    While,
    as_expr,
    binary,
    const,
    seq,
    special,
    walk,
)
from tirx_mini.isa import NAMES, instruction_of
from tirx_mini.passes import Team, insert_barriers

THREADS = 256
A = Buffer("A", (1024,), DataType("int32"), "global")
TILE = Buffer("tile", (256,), DataType("int32"), "shared")
OTHER = Buffer("other", (256,), DataType("int32"), "shared")
N = Buffer("n", (1,), DataType("int32"), "local")
tid = special("threadIdx.x")
k = Var(INT32, "k")


def store(index: Expr | int, value: Expr | int = 0, tile: Buffer = TILE) -> Stmt:
    return BufferStore(tile, (as_expr(index),), as_expr(value))


def load(index: Expr | int, tile: Buffer = TILE) -> Stmt:
    return store(tid, tile[index], A)


def atomic(op: str, index: Expr | int = 0) -> Stmt:
    return Evaluate(NAMES["ptx.atom_scalar"].call(TILE.ptr_to([index]), 1, op=op, type="s32", space="shared"))


def loop(*body: Stmt, stop: Expr | int = 4) -> For:
    return For(k, const(0), as_expr(stop), seq(*body))


def waits(body: Stmt, roles: bool = True) -> list[str]:
    """The names of the barriers of a statement, in order, each after the kinds of the statements around it."""
    found: list[str] = []

    def visit(node: Stmt | Expr, around: str) -> None:
        entry = instruction_of(node.call) if isinstance(node, Evaluate) else None
        if entry is not None and entry.name.startswith("bar."):
            found.append(around + entry.name.removeprefix("bar."))
        inside = around + type(node).__name__ + "/" if isinstance(node, (For, While, If)) else around
        for child in getattr(node, "stmts", None) or [getattr(node, name, None) for name in ("body", "then", "orelse")]:
            if isinstance(child, Stmt):
                visit(child, inside)

    visit(insert_barriers(body, THREADS, roles=roles), "")
    return found


back = const(THREADS - 1) - tid


@pytest.mark.parametrize(
    ("stmts", "expected"),
    [
        ([store(tid), load(back)], ["sync.all"]),
        ([load(tid), store(back)], ["sync.all"]),
        ([store(tid), store(back)], ["sync.all"]),
        ([load(tid), load(back)], []),
        ([store(tid), load(back, OTHER)], []),
        ([store(tid), load(back), store(tid)], ["sync.all", "sync.all"]),
        ([loop(store(tid), store(back))], ["For/sync.all", "For/sync.all"]),
        ([loop(store(tid), load(back))], ["For/sync.all", "For/sync.all"]),
        ([store(back), loop(load(tid))], ["sync.all"]),
        ([loop(store(tid, k))], []),
        ([store(tid), Evaluate(NAMES["cuda.cta_sync"].call()), load(back)], ["sync.all"]),
    ],
)  # fmt: skip
def test_between_uses_of_which_one_writes(stmts: list[Stmt], expected: list[str]) -> None:
    assert waits(seq(*stmts)) == expected
    assert waits(seq(*stmts), roles=False) == expected


def test_not_between_atomics_of_one_kind() -> None:
    assert waits(loop(atomic("add"))) == []
    assert waits(seq(atomic("add"), atomic("max"))) == ["sync.all"]
    assert waits(seq(store(0), loop(atomic("add")), load(0))) == ["sync.all", "sync.all"]


def test_not_between_uses_of_a_threads_own_element() -> None:
    assert waits(seq(store(tid), loop(store(tid, TILE[tid] + 1)), load(tid))) == []
    assert waits(seq(store(tid ^ 1), load(tid ^ 1))) == []
    assert waits(seq(store(tid % 128), load(tid % 128))) == ["sync.all"], "two threads share it"
    rows = Buffer("rows", (4, 256), DataType("int32"), "shared")
    own = BufferStore(rows, (k, tid), rows[3 - k, tid])
    assert waits(loop(own)) == [], "a column of its own"
    assert waits(loop(BufferStore(rows, (k, tid), rows[3 - k, back]))) == ["For/sync.all"]


def test_a_view_of_another_shape_is_no_own_element() -> None:
    halves = Buffer("halves", (512,), DataType("int16"), "shared", source=TILE)
    assert waits(seq(store(tid), load(tid, halves))) == ["sync.all"]


def test_data_of_64_bits_is_no_mbarrier() -> None:
    wide = Buffer("wide", (256,), DataType("uint64"), "shared")
    write = BufferStore(wide, (tid,), const(1, "uint64"))
    assert waits(seq(write, load(back, wide))) == ["sync.all"]
    arrive = Evaluate(NAMES["ptx.mbarrier.arrive"].call(wide.ptr_to([0])))
    assert waits(seq(arrive, arrive)) == []


varying = binary(">", A[tid], const(0))
uniform = binary(">", A[special("blockIdx.x")], const(0))


def bound(condition: Expr, value: Expr, body: Stmt) -> Stmt:
    """`body` under a condition on a variable of the thread, which `value` is stored in."""
    return seq(AllocBuffer(N), BufferStore(N, (const(0),), value), If(condition, body))


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (varying, const(0)),
        (binary(">", N[0], const(0)), A[tid]),
        (binary(">", N[0], const(0)), NAMES["ptx.atom_scalar"].call(A.ptr_to([0]), 1, op="add", type="s32")),
    ],
)
def test_none_where_the_lanes_of_a_warp_part(condition: Expr, value: Expr) -> None:
    body = seq(store(tid), bound(condition, value, seq(load(back), store(tid))))
    assert waits(body) == ["sync.all"], "before the branch"
    with pytest.raises(TirxError, match="only some threads would reach a barrier"):
        waits(body, roles=False)


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (uniform, const(0)),
        (binary(">", N[0], const(0)), OTHER[0]),
        (binary(">", N[0], const(0)), NAMES["cuda.syncthreads_count"].call(varying)),
    ],
)
def test_inside_a_branch_that_all_threads_take_alike(condition: Expr, value: Expr) -> None:
    body = seq(bound(condition, value, seq(store(tid), load(back))))
    assert waits(body)[-1] == waits(body, roles=False)[-1] == "If/sync.all"


def test_a_branch_by_a_variable_with_a_name() -> None:
    flag = Var(INT32, "flag")
    body = seq(store(tid), Bind(flag, A[tid]), If(binary(">", flag, const(0)), load(back)))
    assert waits(body) == ["sync.all"]


def test_loops_that_threads_leave_at_different_times() -> None:
    body = seq(store(tid), load(back))
    assert waits(loop(body, stop=tid)) == []
    assert waits(While(varying, body)) == []
    assert waits(loop(body, stop=A[0])) == ["For/sync.all", "For/sync.all"]
    with pytest.raises(TirxError, match="only some threads would reach a barrier"):
        waits(loop(body, stop=tid), roles=False)


def test_threads_of_a_branch_meet_at_a_barrier_of_their_own() -> None:
    body = seq(store(tid), load(tid ^ 1))
    assert waits(If(tid < 128, body)) == ["If/sync"]
    assert waits(If(tid < 8, body)) == []
    assert waits(seq(store(back), If(tid < 128, body)))[0] == "sync.all"


def test_warpgroups_with_roles_order_what_they_share_themselves() -> None:
    body = seq(If(tid < 128, store(tid)), If(tid >= 128, load(back)))
    assert waits(body) == []
    assert waits(body, roles=False) == ["sync.all"]


def test_a_team_has_its_barrier_and_buffers_that_mbarriers_order() -> None:
    uses = seq(store(tid), load(back), store(tid, 0, OTHER), load(back, OTHER))
    hint = Team(0, 128, 3).hint(uses, (OTHER,))
    made = insert_barriers(hint, THREADS, roles=True)
    (wait,) = (n.call for n in walk(made) if isinstance(n, Evaluate) and instruction_of(n.call))
    assert [arg.value for arg in wait.args] == [3, 128]  # type: ignore[attr-defined]
    assert not any(type(node).__name__ == "Hint" for node in walk(made))


def test_a_vote_reads_before_it_synchronises() -> None:
    vote = NAMES["cuda.syncthreads_or"].call(binary(">", TILE[back], const(0)))
    body = seq(store(tid), Bind(Var(DataType("bool"), "any"), vote), store(back))
    assert waits(body) == ["sync.all"], "before the vote, and not after it"
