"""The pipeline as a whole: names, order and results of the passes, the simplifier, the verifier."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tirx_mini.tile.interpreter import Machine
from tests.tirx_mini.tile.kernels import call, gmem, ids, local, lowered, register_view, shared, swizzled, tmem, var
from tirx_mini.ir import (
    AllocBuffer,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    DataType,
    DeclBuffer,
    For,
    If,
    Launch,
    Mutator,
    Pass,
    PrimFunc,
    Ramp,
    Region,
    Scope,
    ScopeIds,
    Span,
    Special,
    TileCall,
    TirxError,
    Var,
    While,
    as_expr,
    binary,
    const,
    seq,
    special,
    structural_equal,
    walk,
)
from tirx_mini.passes import PIPELINE, LoweringError, lower, verify_lowered
from tirx_mini.records import replace


def small() -> PrimFunc:
    """A copy, a cast and a store in three scopes."""
    g, out = gmem("G", (128, 64), "float32"), gmem("O", (128, 64))
    declare, s = shared("T", (128, 64), "float32", swizzled((128, 64), "float32"))
    regs, half = local("R", (64,), "float32"), local("H", (64,))
    declared, _, warp, lane = ids()
    row = warp * 32 + lane
    body = seq(
        declared, declare, Scope("cta", call("copy", s, g)), AllocBuffer(regs), AllocBuffer(half),
        Scope("thread", seq(call("copy", regs, s[row, :]), call("cast", half, regs), call("copy", out[row, :], half))),
    )  # fmt: skip
    return PrimFunc("kernel", (g, out), Scope("kernel", body))


def test_the_passes_run_in_order_and_are_documented():
    seen: list[tuple[str, PrimFunc]] = []
    result = lower(small(), after=lambda name, func: seen.append((name, func)))
    assert [name for name, _ in seen] == [step.name for step in PIPELINE]
    assert seen[-1][1] is result
    assert all(step.doc for step in PIPELINE) and len({step.name for step in PIPELINE}) == len(PIPELINE)
    after = dict(seen)

    def holds(name: str, *kinds: type) -> bool:
        return any(isinstance(node, kinds) for node in walk(after[name].body))

    assert holds("LowerScopes", TileCall) and not holds("LowerScopes", Scope, ScopeIds)
    assert not holds("DispatchTilePrimitives", TileCall)
    assert any(len(n.indices) == 2 for n in walk(after["DispatchTilePrimitives"].body) if isinstance(n, BufferLoad))
    assert all(len(n.indices) == 1 for n in walk(after["FlattenBuffers"].body) if isinstance(n, BufferLoad))


def test_the_lowered_kernel_computes_the_result():
    values = np.random.default_rng(0).standard_normal((128, 64)).astype(np.float32)
    machine = Machine(lower(small()), {"G": values, "O": np.zeros((128, 64), np.float16)}).run()
    assert np.array_equal(machine.arrays["O"], values.astype(np.float16))


def test_a_lowered_function_is_returned_unchanged():
    func = lower(small())
    assert lower(func) is func


def test_passes_do_not_modify_their_input():
    func = small()
    before = [id(node) for node in walk(func.body)]
    lower(func)
    assert [id(node) for node in walk(func.body)] == before
    assert structural_equal(lower(func).body, lower(func).body)


# -- simplification -----------------------------------------------------------------------------------------------


def simplified(*body, params=(), warpgroups=1):
    return lowered(*body, params=params, warpgroups=warpgroups).body


def test_a_branch_with_a_constant_condition_is_resolved():
    out = gmem("G", (8,), "int32")
    declared, wg, warp, _ = ids(1)

    def mark(value: int) -> BufferStore:
        return BufferStore(out, (const(0),), const(value))

    k = var("k")
    body = seq(
        declared,
        If(binary("==", wg, 0), mark(1), mark(2)),
        If(binary("<", warp, 4), mark(3)),
        If(binary(">", warp, 5), mark(4), mark(5)),
        If(binary(">", warp, 5), mark(6)),
        For(k, const(0), const(0), mark(7)),
        While(const(False), mark(8)),
        For(k, const(0), const(4), If(binary("<", k, 4), mark(9))),
    )
    func = lower(PrimFunc("kernel", (out,), Scope("kernel", body)))
    stored = [n.value.value for n in walk(func.body) if isinstance(n, BufferStore)]
    assert stored == [1, 3, 5, 9]
    assert not [n for n in walk(func.body) if isinstance(n, If)]


def test_an_index_is_a_uniform_part_plus_a_per_lane_part():
    """The part that differs between lanes is a single term, which can be computed once, outside the loops."""
    out = gmem("G", (1 << 16,), "int32")
    tid, k, t = special("threadIdx.x"), var("k"), Var(DataType("int32"), "t")
    index = tid % 8 * 4 + k * 64 + tid // 8 * 16 + special("blockIdx.x") * 4096 + t
    store = For(k, const(0), const(4), BufferStore(out, (index,), const(0)))
    (found,) = [n for n in walk(simplified(Bind(t, tid * 2), store, params=(out,))) if isinstance(n, BufferStore)]
    uniform, lane = found.indices[0].a, found.indices[0].b

    def varies(expr) -> bool:
        return any((isinstance(p, Special) and p.name == "threadIdx.x") or p is t for p in walk(expr))

    assert not varies(uniform)
    summands, todo = [], [lane]
    while todo:
        part = todo.pop()
        if getattr(part, "op", None) == "+":
            todo += [part.a, part.b]
        else:
            summands.append(part)
    assert len(summands) == 3 and all(varies(part) for part in summands)


def test_loop_bounds_simplify_the_body_of_the_loop():
    out = gmem("G", (1024,), "int32")
    k = var("k")
    store = For(k, const(0), const(8), BufferStore(out, ((k * 4 + 3) // 4 + (k * 16 + 5) % 16,), const(0)))
    (found,) = [n for n in walk(simplified(store, params=(out,))) if isinstance(n, BufferStore)]
    expected = (as_expr(5) + k, k + 5)
    assert any(structural_equal(found.indices[0], form, {k: k}) for form in expected)


# -- verification -------------------------------------------------------------------------------------------------


LAUNCH = Launch((1, 1, 1), 128)
G = gmem("G", (8,))
X = var("x")
SMEM = Buffer("smem", (64,), DataType("uint8"), "shared", align=1024)
LOOSE = Buffer("loose", (8,), DataType("float16"), "shared")
VIEW = Buffer("view", (4,), DataType("float16"), "shared", None, LOOSE)


@pytest.mark.parametrize(
    "body, text",
    [
        (Scope("cta", seq()), "a Scope remains"),
        (ScopeIds((X,), (1,), "cta", "kernel"), "a ScopeIds remains"),
        (call("fill", G, 1), "a TileCall remains"),
        (BufferStore(gmem("H", (8,)), (const(0),), const(0, "float16")), "H is accessed, but is neither a parameter"),
        (BufferStore(G, (const(0), const(0)), const(0, "float16")), "has 2 indices"),
        (BufferStore(G, (const(0),), const(0)), "has a value of int32"),
        (BufferStore(G, (Ramp(const(0).dtype, const(0), 4),), const(0, "float16")), "of 4 elements"),
        (BufferStore(G, (X,), const(0, "float16")), "x is used before it is bound"),
        (AllocBuffer(tmem()), "tmem is tensor memory"),
        (DeclBuffer(register_view(local("R", (4,)), 128, 4)), "is not a view of shared memory"),
        (seq(AllocBuffer(SMEM), AllocBuffer(LOOSE)), "2 shared allocations"),
        (AllocBuffer(SMEM), "requests 0 bytes"),
        (DeclBuffer(VIEW), "which is not the shared allocation"),
    ],
)
def test_every_violation_of_lowered_ir_is_reported(body, text):
    with pytest.raises(LoweringError, match="is not lowered") as error:
        verify_lowered(PrimFunc("kernel", (G,), body, launch=LAUNCH))
    assert text in str(error.value)


def test_a_lowered_function_without_a_launch_is_reported():
    with pytest.raises(LoweringError, match="has no launch"):
        verify_lowered(PrimFunc("kernel", (), seq()))
    assert verify_lowered(PrimFunc("kernel", (), seq(), launch=LAUNCH)).launch is LAUNCH


def test_lowered_kernels_pass_the_verifier():
    func = lower(small())
    assert verify_lowered(func) is func
    assert not [n for n in walk(func.body) if isinstance(n, Region)]


def test_a_pass_that_fails_gets_a_page_at_the_statement(monkeypatch: pytest.MonkeyPatch):
    """A mistake of the compiler gets a page with its place; its exception remains the cause."""

    class Broken(Mutator):
        def visit_TileCall(self, node):
            raise KeyError(node.op)

    monkeypatch.setattr("tirx_mini.passes.pipeline.PIPELINE", (Pass("Broken", "fails", Broken().func),))
    copy = call("copy", gmem("H", (8, 8)), gmem("G", (8, 8)))
    copies = [replace(copy, span=Span("kernel.py", line)) for line in (7, 8)]
    kernel = PrimFunc("kernel", (), Scope("kernel", If(const(True), seq(*copies))))
    with pytest.raises(TirxError, match="tirx_mini itself fails here, in the pass Broken: KeyError: 'copy'") as error:
        lower(kernel)
    assert error.value.span == Span("kernel.py", 7) and isinstance(error.value.__cause__, KeyError)
