"""LowerScopes: ids, filters, scopes of tile calls, and the launch computed from the declarations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.tirx_mini.tile.interpreter import Machine
from tests.tirx_mini.tile.kernels import call, gmem, tmem, var
from tirx_mini.hardware import MAX_CLUSTER, MAX_THREADS_PER_CTA
from tirx_mini.ir import (
    BOOL,
    UINT32,
    AllocBuffer,
    Bind,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    Expr,
    If,
    PrimFunc,
    Scope,
    ScopeIds,
    Span,
    Stmt,
    TileCall,
    TirxError,
    Var,
    binary,
    const,
    seq,
    special,
    structural_equal,
    walk,
)
from tirx_mini.passes import PIPELINE, lower

(LOWER_SCOPES,) = [step.run for step in PIPELINE if step.name == "LowerScopes"]
AT = Span("kernel.py", 7, 4, 7, 30)


def ids(kind: str, extents: tuple[int, ...], parent: str, span: Span | None = None) -> tuple[Stmt, list[Var]]:
    names = [var(f"{kind}_{i}") for i in range(len(extents))]
    return ScopeIds(tuple(names), extents, kind, parent, span=span), names


def launch(*declared: tuple[str, tuple[int, ...], str]):
    body = seq(*(ids(*d)[0] for d in declared))
    return LOWER_SCOPES(PrimFunc("kernel", (), Scope("kernel", body))).launch


@pytest.mark.parametrize(
    "declared, threads",
    [
        ([("warpgroup", (1,), "cta"), ("warp", (4,), "warpgroup"), ("thread", (32,), "warp")], 128),
        ([("warpgroup", (3,), "cta")], 384),
        ([("warp", (8,), "cta"), ("thread", (32,), "warp")], 256),
        ([("warpgroup", (2,), "cta"), ("warp", (8,), "cta"), ("thread", (256,), "cta")], 256),
        ([("warpgroup", (2,), "cta"), ("thread", (128,), "warpgroup")], 256),
        ([("thread", (128,), "warpgroup")], 128),
        ([("thread", (32,), "warp")], 32),
        ([("warp", (4,), "warpgroup"), ("thread", (32,), "warp")], 128),
        ([("thread", (100,), "cta")], 100),
        ([("thread", (16, 8), "cta")], 128),
        ([("warp", (1,), ""), ("lane", (32,), "")], 32),
        ([("thread", (256,), "")], 256),
    ],
)
def test_the_number_of_threads_follows_from_any_declaration(declared, threads):
    assert launch(("cta", (3, 5), "kernel"), *declared).threads == threads


def test_the_grid_and_the_cluster_follow_from_the_declarations():
    warps = ("warpgroup", (1,), "cta")
    assert launch(warps).grid == (1, 1, 1)
    assert launch(warps, ("cta", (6, 5, 4), "kernel")).grid == (6, 5, 4)
    pair = launch(warps, ("cta", (148,), "kernel"), ("cta", (2, 1), "cluster"))
    assert (pair.grid, pair.cluster) == ((148, 1, 1), (2, 1, 1))
    by_cluster = launch(warps, ("cluster", (8, 3), "kernel"), ("cta", (2, 2), "cluster"))
    assert (by_cluster.grid, by_cluster.cluster) == ((16, 6, 1), (2, 2, 1))


def values(declared: list[tuple[str, tuple[int, ...], str]], **env: int) -> list[np.ndarray]:
    """The value of each declared id in each thread."""
    statements, out = [], []
    for kind, extents, parent in declared:
        statement, names = ids(kind, extents, parent)
        statements += [statement, *(Bind(Var(n.dtype, f"copy_{n.name}"), n) for n in names)]
    func = lower(PrimFunc("kernel", (), Scope("kernel", seq(*statements))))
    machine = Machine(func, {}, env).run()
    out += list(machine.values.values())
    return out


def test_ids_are_the_indices_of_the_units():
    tid = np.arange(384)
    wg, warp, lane, in_wg, tx = values([
        ("warpgroup", (3,), "cta"), ("warp", (4,), "warpgroup"), ("thread", (32,), "warp"),
        ("thread", (128,), "warpgroup"), ("thread", (384,), "cta"),
    ])  # fmt: skip
    for got, expected in ((wg, tid // 128), (warp, tid // 32 % 4), (lane, tid % 32), (in_wg, tid % 128), (tx, tid)):
        assert np.array_equal(got, expected)
    x, y = values([("thread", (16, 8), "cta")])
    assert np.array_equal(x, np.arange(128) % 16) and np.array_equal(y, np.arange(128) // 16)


def test_ids_of_ctas_are_special_registers():
    env = {"blockIdx.x": 5, "blockIdx.y": 3, "clusterCtaIdx.x": 1}
    bx, by, cbx, cby, cluster, _ = values([
        ("cta", (8, 4), "kernel"), ("cta", (2, 1), "cluster"), ("cluster", (4,), "kernel"), ("warpgroup", (1,), "cta"),
    ], **env)  # fmt: skip
    assert [int(v[0]) for v in (bx, by, cbx, cby, cluster)] == [5, 3, 1, 0, 2]


def error(*declared: tuple[str, tuple[int, ...], str]) -> TirxError:
    body = seq(*(ids(*d, span=replace(AT, line=i))[0] for i, d in enumerate(declared, 1)))
    with pytest.raises(TirxError) as caught:
        LOWER_SCOPES(PrimFunc("kernel", (), Scope("kernel", body)))
    return caught.value


@pytest.mark.parametrize(
    "declared, line, text",
    [
        ([("warpgroup", (2,), "cta"), ("warp", (4,), "cta")], 2, "128 threads per CTA, but an earlier declaration 256"),
        ([("warp", (8,), "warpgroup")], 1, "a warpgroup has 4 warps, not 8"),
        ([("thread", (64,), "warp")], 1, "a warp has 32 threads, not 64"),
        ([("thread", (32,), "warpgroup")], 1, "a warpgroup has 128 threads, not 32"),
        ([("warpgroup", (1,), "cta"), ("warpgroup", (2,), "cta")], 2, "extents 2 here, but 1 before"),
        ([("thread", (2048,), "cta")], 1, "2048 threads is too large"),
        ([("warpgroup", (1,), "cta"), ("cta", (5,), "kernel"), ("cta", (2,), "cluster")], 2, "into clusters of 2"),
        ([("warpgroup", (1,), "cta"), ("cta", (32,), "kernel"), ("cta", (32,), "cluster")], 3, "cluster of 32 CTAs"),
        ([("warp", (4,), "kernel")], 1, "not defined within a kernel"),
    ],
)
def test_inconsistent_declarations_are_reported_at_their_line(declared, line, text):
    caught = error(*declared)
    assert text in str(caught) and caught.span is not None and caught.span.line == line


def cluster_of(ctas: int) -> tuple[tuple[str, tuple[int, ...], str], ...]:
    return ("warpgroup", (1,), "cta"), ("cta", (48,), "kernel"), ("cta", (ctas,), "cluster")


@pytest.mark.parametrize(
    "declared",
    [[("thread", (MAX_THREADS_PER_CTA + 32,), "cta")], cluster_of(16), cluster_of(5)],
    ids=["threads", "cluster", "grid"],
)
def test_a_launch_beyond_the_limits_has_its_own_code(declared):
    assert str(error(*declared)).startswith("error[TX305]: ")


def test_the_largest_launch_is_lowered():
    assert launch(*cluster_of(MAX_CLUSTER)).cluster == (8, 1, 1)
    assert launch(("thread", (MAX_THREADS_PER_CTA,), "cta")).threads == 1024


def test_a_missing_number_of_threads_is_reported():
    assert "does not declare the number of threads" in str(error(("cta", (4,), "kernel")))


def nested(*kinds: str, inner: Stmt) -> Stmt:
    for kind in reversed(kinds):
        inner = Scope(kind, inner)
    return inner


def scope_of(stmt: Stmt) -> str | None:
    func = PrimFunc("kernel", (), seq(ids("warpgroup", (1,), "cta")[0], stmt))
    (tile,) = [n for n in walk(LOWER_SCOPES(func).body) if isinstance(n, TileCall)]
    return tile.scope


def test_a_tile_call_records_its_innermost_scope():
    tile = call("fill", gmem("G", (128,)), 1)
    assert scope_of(nested("kernel", "cta", inner=tile)) == "cta"
    assert scope_of(nested("kernel", "cta", "warpgroup", "thread", inner=tile)) == "thread"
    assert scope_of(nested("kernel", "cta", inner=replace(tile, scope="warp"))) == "warp"
    assert scope_of(seq(nested("kernel", "cta", inner=seq()), Scope("warp", tile))) == "warp"


def test_a_filter_becomes_a_condition():
    elected = Call(BOOL, "elect.sync", ())
    mark = Evaluate(Call(UINT32, "mark", ()))
    func = PrimFunc("kernel", (), seq(ids("warpgroup", (1,), "cta")[0], Scope("thread", mark, "warp", elected)))
    body = LOWER_SCOPES(func).body
    (branch,) = [n for n in walk(body) if isinstance(n, If)]
    assert structural_equal(branch, If(elected, mark))


def test_a_wide_scope_inside_a_narrow_one_is_reported():
    inner = Scope("cta", call("fill", gmem("G", (128,)), 1), span=AT)
    func = PrimFunc("kernel", (), seq(ids("warpgroup", (1,), "cta")[0], Scope("thread", inner)))
    with pytest.raises(TirxError, match="a cta scope cannot open inside a thread scope") as caught:
        LOWER_SCOPES(func)
    assert caught.value.span is AT


def test_ids_are_replaced_in_options_and_in_addresses_of_tensor_memory():
    """For example in `mbar=bar.ptr_to([warp_id])` and in `allocated_addr=addr[wg_id]`."""
    declared, (wg,) = ids("warpgroup", (2,), "cta")
    memory = tmem(addr=(wg * 256).astype(UINT32))
    tile = call("copy_async", gmem("G", (128, 64), "float32"), memory[:, :64], mbar=wg + 1)
    body = seq(declared, DeclBuffer(memory), Scope("warpgroup", tile))
    func = LOWER_SCOPES(PrimFunc("kernel", (), Scope("kernel", body)))

    def uses(value: Expr | None) -> bool:
        return value is not None and any(part is wg for part in walk(value))

    (lowered_call,) = [n for n in walk(func.body) if isinstance(n, TileCall)]
    assert not uses(lowered_call.option("mbar"))
    assert not uses(lowered_call.operands[1].buffer.allocated_addr)
    (declaration,) = [n for n in walk(func.body) if isinstance(n, DeclBuffer)]
    assert declaration.buffer is lowered_call.operands[1].buffer


def test_role_conditions_have_the_documented_form():
    """`wg_id == 0` becomes `warp_id_in_cta >> 2 == 0`, which the assignment tells students to look for."""
    wgs, (wg,) = ids("warpgroup", (2,), "cta")
    warps, (warp,) = ids("warp", (4,), "warpgroup")
    out = gmem("G", (128,), "int32")
    store = BufferStore(out, (const(0),), const(1))
    body = seq(wgs, warps, If(binary("==", wg, 0), If(binary("==", warp, 3), store)))
    func = lower(PrimFunc("kernel", (out,), Scope("kernel", body)))
    outer, inner = [n for n in walk(func.body) if isinstance(n, If)]
    assert structural_equal(outer.cond, binary("==", special("warp_id_in_cta") >> 2, 0))
    assert structural_equal(inner.cond, binary("==", special("warp_id_in_cta") % 4, 3))
    assert not [n for n in walk(func.body) if isinstance(n, AllocBuffer)]
