"""Casts, fills, arithmetic and reductions: the values that every thread computes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.tirx_mini.tile.interpreter import Machine
from tests.tirx_mini.tile.kernels import call, gmem, ids, kernel, local, lowered, register_view, shared, var
from tirx_mini.ir import (
    FLOAT32,
    AllocBuffer,
    BufferStore,
    Cast,
    DeclBuffer,
    If,
    Ramp,
    Scope,
    Stmt,
    TileCall,
    TirxError,
    binary,
    cast,
    const,
    seq,
    special,
    walk,
)
from tirx_mini.passes import lower

F32 = np.float32


def filled(name: str, size: int, source, dtype: str = "float32"):
    """A register buffer, and statements that fill it with row `tid` of a global buffer."""
    own = local(name, (size,), dtype)
    return own, seq(AllocBuffer(own), Scope("thread", call("copy", own, source[special("threadIdx.x"), :])))


def rows(shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(F32)


def test_a_cast_converts_pairs():
    g, out = gmem("G", (128, 64), "float32"), gmem("Out", (128, 64))
    src, fill = filled("Dreg", 64, g)
    dst = local("Dreg_16b", (64,))
    store = call("copy", out[special("threadIdx.x"), :], dst)
    func = lowered(fill, AllocBuffer(dst), Scope("thread", seq(call("cast", dst, src), store)), params=(g, out))
    casts = [n for n in walk(func.body) if isinstance(n, Cast) and n.dtype == "float16x2"]
    assert len(casts) == 1 and casts[0].value.dtype == "float32x2"
    machine = Machine(func, {"G": rows((128, 64)), "Out": np.zeros((128, 64), np.float16)}).run()
    assert np.array_equal(machine.arrays["Out"], machine.arrays["G"].astype(np.float16))


@pytest.mark.parametrize("first, width", [(0, 2), (16, 2), (1, 1)])
def test_a_cast_of_a_slice_starts_at_its_first_register(first, width):
    src, dst = local("a", (32,), "float32"), local("b", (64,))
    func = lowered(AllocBuffer(src), AllocBuffer(dst), Scope("thread", call("cast", dst[first : first + 32], src)))
    (stored,) = [n for n in walk(func.body) if isinstance(n, BufferStore)]
    assert (stored.indices[0].lanes if isinstance(stored.indices[0], Ramp) else 1) == width
    machine = Machine(func, {})
    machine.run()
    assert {int(a.addresses.min()) for a in machine.accesses if a.kind == "store"} == set(
        range(2 * first, 2 * (first + 32), 2 * width))


@pytest.mark.parametrize("op, function", [
    ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("fdiv", np.divide), ("maximum", np.maximum),
    ("minimum", np.minimum),
])  # fmt: skip
@pytest.mark.parametrize("scalar", [False, True])
def test_arithmetic_in_shared_memory_and_registers(op, function, scalar):
    g, h, out = (gmem(name, (128, 16), "float32") for name in "GHO")
    declare, s = shared("T", (128, 16), "float32")
    a, fill_a = filled("a", 16, g)
    b, fill_b = filled("b", 16, h)
    tid = special("threadIdx.x")
    other = 3.0 if scalar else b
    body = seq(
        declare, fill_a, fill_b,
        Scope("thread", seq(call(op, a, a, other), call("copy", s[tid, :], a))),
        Scope("cta", seq(call("neg", s, s), call("copy", out, s))),
    )  # fmt: skip
    x, y = rows((128, 16)), rows((128, 16), 1)
    func = lowered(body, params=(g, h, out))
    machine = Machine(func, {"G": x, "H": y, "O": np.zeros_like(x)}).run()
    np.testing.assert_allclose(machine.arrays["O"], -function(x, F32(3) if scalar else y), rtol=1e-6)


def test_a_fill_of_a_register_view_follows_its_layout():
    own = local("Dreg", (32,), "float32")
    view = register_view(own, 128, 32)
    out = gmem("O", (128, 32), "float32")
    body = seq(
        AllocBuffer(own), DeclBuffer(view),
        Scope("warpgroup", seq(
            call("fill", view, 2.5), call("mul", view[:, :8], view[:, 8:16], 4), call("copy", out, view)
        )),
    )  # fmt: skip
    machine = Machine(lowered(body, params=(out,)), {"O": np.zeros((128, 32), F32)}).run()
    expected = np.full((128, 32), 2.5, F32)
    expected[:, :8] = 10
    assert np.array_equal(machine.arrays["O"], expected)


def test_a_call_on_private_registers_needs_no_scope():
    """In kernel scope, each thread executes a call on alloc_local buffers by itself."""
    own, out = local("a", (4,), "float32"), gmem("O", (128, 4), "float32")
    body = seq(AllocBuffer(own), call("fill", own, 7), call("copy", out[special("threadIdx.x"), :], own))
    machine = Machine(lowered(body, params=(out,)), {"O": np.zeros((128, 4), F32)}).run()
    assert (machine.arrays["O"] == 7).all()


def test_mixing_views_and_private_registers_is_reported():
    own, other = local("Dreg", (32,), "float32"), local("Dreg_16b", (128 * 32,))
    view = register_view(own, 128, 32)
    mixed = call("cast", other.view(128, 32), view)
    with pytest.raises(TirxError, match="Dreg_view is spread over the registers of many threads") as error:
        lower(kernel(AllocBuffer(own), AllocBuffer(other), Scope("warpgroup", mixed)))
    assert "use Dreg, the alloc_local buffer" in str(error.value)


def test_different_dtypes_are_reported():
    with pytest.raises(TirxError, match="different dtypes: float16, float32"):
        call("add", local("a", (4,)), local("b", (4,), "float32"), 1)


# -- reductions --------------------------------------------------------------------------------------------------


class Shuffling(Machine):
    """An interpreter that also executes barriers and shuffles of whole warps."""

    def value(self, node):
        if getattr(node, "op", None) == "shfl.xor":
            value, distance = self.value(node.args[0]), self.value(node.args[1])
            return value[np.arange(self.threads) ^ distance]
        return super().value(node)


@pytest.mark.parametrize("op, function", [("sum", np.sum), ("max", np.max), ("min", np.min)])
def test_a_thread_reduces_its_rows(op, function):
    g, out = gmem("G", (128, 24), "float32"), gmem("O", (128, 3), "float32")
    src, fill = filled("a", 24, g)
    dst = local("d", (3,), "float32")
    body = seq(
        fill, AllocBuffer(dst),
        Scope("thread", call(f"reduce_{op}", dst, src.view(3, 8))),
        Scope("thread", call("copy", out[special("threadIdx.x"), :], dst)),
    )  # fmt: skip
    x = rows((128, 24))
    machine = Machine(lowered(body, params=(g, out)), {"G": x, "O": np.zeros((128, 3), F32)}).run()
    np.testing.assert_allclose(machine.arrays["O"], function(x.reshape(128, 3, 8), axis=2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op, function", [("sum", np.sum), ("max", np.max), ("min", np.min)])
@pytest.mark.parametrize("scope, warpgroups", [("cta", 1), ("cta", 2), ("warp", 1)])
@pytest.mark.parametrize("shape", [(256, 3), (7,), (32,)])
@pytest.mark.parametrize("shift", [-20, 20])
def test_a_cta_or_a_warp_reduces_a_tile(op, function, scope, warpgroups, shape, shift):
    g, out = gmem("G", shape, "float32"), gmem("O", (2,), "float32")
    reduce = Scope(scope, call(f"reduce_{op}", out[1], g))
    x = rows((1, int(np.prod(shape)))).reshape(shape) + F32(shift)
    func = lowered(reduce, params=(g, out), warpgroups=warpgroups)
    machine = Shuffling(func, {"G": x, "O": np.zeros(2, F32)}).run()
    np.testing.assert_allclose(machine.arrays["O"], [0, function(x)], rtol=1e-4)
    syncs = [i.op for i in machine.issued]
    assert syncs == (["bar.sync.all"] * 2 if scope == "cta" else [])


@pytest.mark.parametrize("op, function", [("sum", np.sum), ("max", np.max), ("min", np.min)])
@pytest.mark.parametrize("given_scratch", [False, True])
def test_every_thread_gets_the_result_of_a_value_reduction(op, function, given_scratch):
    declare, scratch = shared("scratch", (8,), "int32")
    out, dst = gmem("O", (256,), "int32"), local("d", (1,), "int32")
    tid = special("threadIdx.x")
    options = {"num_warps": 8, "scratch": scratch.ptr_to([0])} if given_scratch else {}
    value = tid * 5 % 257 - 30
    both = seq(call(f"cta_{op}", dst, value, **options), BufferStore(out, (tid,), dst[0]))
    func = lowered(declare, AllocBuffer(dst), Scope("thread", both), params=(out,), warpgroups=2)
    machine = Shuffling(func, {"O": np.zeros(256, np.int32)}).run()
    assert (machine.arrays["O"] == function(np.arange(256) * 5 % 257 - 30)).all()


@pytest.mark.parametrize("width", [2, 8, 32])
def test_a_warp_combines_groups_of_lanes(width):
    out, dst = gmem("O", (128,), "float32"), local("d", (1,), "float32")
    tid = special("threadIdx.x")
    add = call("warp_sum", dst, cast(FLOAT32, tid), width=width)
    body = seq(AllocBuffer(dst), add, BufferStore(out, (tid,), dst[0]))
    machine = Shuffling(lowered(body, params=(out,)), {"O": np.zeros(128, F32)}).run()
    groups = np.arange(128, dtype=F32).reshape(-1, width).sum(axis=1)
    assert np.array_equal(machine.arrays["O"], np.repeat(groups, width))


def test_half_precision_is_summed_in_float32():
    g, out = gmem("G", (4096,)), gmem("O", (1,))
    func = lowered(Scope("cta", call("reduce_sum", out, g)), params=(g, out))
    x = np.full(4096, 0.1, np.float16)
    machine = Shuffling(func, {"G": x, "O": np.zeros(1, np.float16)}).run()
    assert machine.arrays["O"][0] == np.float16(x.astype(F32).sum())


def page(*body: Stmt, **options) -> str:
    with pytest.raises(TirxError) as error:
        lower(kernel(*body, **options))
    return str(error.value)


def test_unsupported_reductions_are_reported_with_the_reason():
    g, dst = gmem("G", (64, 8), "float32"), local("d", (1,), "float32")
    private = Scope("cta", call("reduce_sum", dst, gmem("X", (8,), "float32")))
    assert "every thread would reduce the whole tile" in page(AllocBuffer(dst), private)
    assert "must be in shared or global memory" in page(AllocBuffer(dst), private)
    declared, _, warp, lane = ids()
    some = If(binary("==", warp, 0), Scope("thread", call("cta_sum", dst, const(1.0))))
    assert "only 32 of the 128 threads" in page(declared, AllocBuffer(dst), some, warpgroups=None)
    wrong = Scope("thread", call("cta_sum", dst, const(1.0), num_warps=2))
    assert "num_warps is 2, but the CTA has 4 warps" in page(AllocBuffer(dst), wrong)
    odd = Scope("thread", call("warp_sum", dst, const(1.0), width=5))
    assert "width must be 2, 4, 8, 16 or 32 lanes, not 5" in page(AllocBuffer(dst), odd)
    with pytest.raises(TirxError, match=r"cannot reduce .* to .* \(8\)"):
        call("reduce_sum", gmem("X", (8,), "float32"), g)


# -- the table ---------------------------------------------------------------------------------------------------


def test_wrong_arguments_of_a_primitive_are_reported():
    g, h = gmem("G", (4, 4)), gmem("H", (4, 4))
    made = call("copy_async", dst=g, src=h, multicast=3, mbar=var("bar"))
    assert isinstance(made, TileCall) and dict(made.options).keys() == {"cta_mask", "mbar"}
    for args, options, text in (
        ((g,), {}, "copy is called without src"),
        ((g, h, 1), {}, "expects 2 operands (dst, src), found 3"),
        ((g, 3.0), {}, "a tile must be a buffer or a slice of one"),
        ((g, h), {"dst": h}, "given dst twice"),
        ((g, h), {"dispath": "tma"}, "did you mean dispatch=?"),
    ):
        with pytest.raises(TirxError) as error:
            call("copy", *args, **options)
        assert text in str(error.value)


def test_every_primitive_has_a_rule_a_signature_and_a_line_of_documentation():
    from tirx_mini.tile import OPS, RULES

    for name, op in OPS.items():
        assert [rule for rule in RULES if name in rule.ops], name
        assert op.doc.endswith(".") and list(op.signature.parameters)[: len(op.operands)] == list(op.operands)
    assert {op for rule in RULES for op in rule.ops} == set(OPS)


def test_a_scope_bound_call_keeps_its_scope():
    g, out = gmem("G", (128, 8)), gmem("O", (128, 8))
    bound = replace(call("copy", out, g), scope="warpgroup")
    machine = Machine(lowered(bound, params=(g, out), warpgroups=2), {"G": np.ones((128, 8), np.float16),
                                                                      "O": np.zeros((128, 8), np.float16)}).run()
    assert len(machine.accesses) == 2 and (machine.arrays["O"] == 1).all()
