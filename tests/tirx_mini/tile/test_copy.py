"""Copies: the addresses of every thread, element by element, compared with the tables of the layouts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tirx_mini.tile.interpreter import Machine, numpy_dtype
from tests.tirx_mini.tile.kernels import (
    B128,
    Pool,
    call,
    gmem,
    ids,
    kernel,
    local,
    lowered,
    register_view,
    shared,
    swizzled,
    var,
)
from tirx_mini.ir import (
    UNROLLED,
    AllocBuffer,
    Bind,
    BufferLoad,
    BufferStore,
    DataType,
    DeclBuffer,
    For,
    If,
    Scope,
    TirxError,
    binary,
    const,
    seq,
    walk,
)
from tirx_mini.layout import SwizzleMode
from tirx_mini.passes import lower

MODES = list(SwizzleMode)
SCOPES = {"cta": 256, "warpgroup": 128, "warp": 32}


def numbered(shape: tuple[int, ...], dtype: str = "float16") -> np.ndarray:
    """Values that the dtype represents exactly, distinct as far as it has enough of them."""
    count = int(np.prod(shape))
    if dtype in ("float16", "bfloat16"):
        return (np.arange(count, dtype=np.uint16) + 1).view(numpy_dtype(DataType(dtype))).reshape(shape)
    return np.arange(1, count + 1).astype(numpy_dtype(DataType(dtype))).reshape(shape)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@given(
    mode=st.sampled_from(MODES),
    scope=st.sampled_from(sorted(SCOPES)),
    rows=st.sampled_from([8, 16, 32, 64, 128]),
    slabs=st.integers(1, 2),
    stages=st.integers(1, 3),
    dtype=st.sampled_from(["float16", "bfloat16", "float32"]),
    into=st.booleans(),
    data=st.data(),
)
def test_every_element_is_copied_once_by_aligned_vectors(mode, scope, rows, slabs, stages, dtype, into, data):
    """Between a stage of a shared tile and a slice of a larger global buffer, in every cooperative scope."""
    columns = slabs * mode.span_bytes // DataType(dtype).itemsize
    row, column = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
    stage = data.draw(st.integers(0, stages - 1))
    g = gmem("G", (3 * rows, 3 * columns), dtype)
    declare, s = shared("T", (stages, rows, columns), dtype, swizzled((stages, rows, columns), dtype, mode))
    tile, part = s[stage, :, :], g[row * rows : (row + 1) * rows, column * columns : (column + 1) * columns]
    operands = (tile, part) if into else (part, tile)
    func = lowered(declare, Scope(scope, call("copy", *operands)), params=(g,), warpgroups=2)
    values = numbered(g.shape, dtype)
    machine = Machine(func, {"G": values.copy() if into else np.zeros_like(values)})
    expected = values[row * rows : (row + 1) * rows, column * columns : (column + 1) * columns]
    if into:
        machine.run()
        assert same_bits(machine.tile(s)[stage], expected)
    else:
        place = machine.start(s) + s.layout.to_table()[next(iter(s.layout.axes))][stage] * s.dtype.itemsize
        size = s.dtype.itemsize
        machine.shared[place[..., None] + np.arange(size)] = np.ascontiguousarray(expected).view(np.uint8).reshape(
            rows, columns, size)
        machine.run()
        got = machine.arrays["G"][row * rows : (row + 1) * rows, column * columns : (column + 1) * columns]
        assert same_bits(got, expected)
    units = 256 // SCOPES[scope]  # every unit of the scope executes the copy
    for access in machine.accesses:
        vector = access.addresses.shape[1] * access.buffer.dtype.itemsize
        assert vector == 16
        assert not (access.addresses[:, 0] % vector).any()
        assert (np.diff(access.addresses, axis=1) == access.buffer.dtype.itemsize).all()
    stored = Counter(int(a) for x in machine.accesses if x.kind == "store" for a in x.addresses.reshape(-1))
    assert set(stored.values()) == {units}
    assert len(stored) == rows * columns


@pytest.mark.parametrize(
    "mode, slabs",
    [(SwizzleMode.SWIZZLE_32B_ATOM, 1), (SwizzleMode.SWIZZLE_64B_ATOM, 1), (B128, 1), (B128, 2), (B128, 4)],
)
def test_cooperative_copies_avoid_bank_conflicts_and_use_whole_sectors(mode, slabs):
    columns = slabs * mode.span_bytes // 2
    g = gmem("G", (128, columns))
    declare, s = shared("T", (128, columns), layout=swizzled((128, columns), mode=mode))
    func = lowered(declare, Scope("cta", call("copy", s, g)), params=(g,))
    for access in Machine(func, {"G": numbered(g.shape)}).run().accesses:
        for warp in range(0, 128, 32):
            lanes = access.addresses[warp : warp + 32]
            if access.buffer.scope == "shared":
                assert conflict_free(lanes)
            else:
                assert len(np.unique(lanes // 32)) == lanes.size * 2 // 32  # each 32-byte sector is fully used


def conflict_free(lanes: np.ndarray) -> bool:
    """Return whether each quarter of a warp (8 lanes × 16 bytes, one wavefront) uses all 32 banks."""
    return all(len(np.unique(lanes[q : q + 8, 0] // 16 % 8)) == 8 for q in range(0, 32, 8))


def test_row_stores_to_a_swizzled_tile_avoid_bank_conflicts():
    declare, s = shared("Dsmem", (128, 128), layout=swizzled((128, 128)))
    out, regs = gmem("Out", (128, 128)), local("Dreg_16b", (128,))
    declared, _, warp, lane = ids()
    g = gmem("G", (128, 128))
    row = warp * 32 + lane
    body = seq(
        declared, declare, AllocBuffer(regs),
        Scope("thread", seq(call("copy", regs[:], g[row, :]), call("copy", s[row, :], regs[:]))),
        Scope("cta", call("copy", out, s)),
    )  # fmt: skip
    func = lowered(body, params=(g, out), warpgroups=None)
    values = numbered((128, 128))
    machine = Machine(func, {"G": values, "Out": np.zeros_like(values)}).run()
    assert same_bits(machine.tile(s), values)
    assert same_bits(machine.arrays["Out"], values)
    rows = [a for a in machine.accesses if a.kind == "store" and a.buffer.name == "Dsmem"]
    assert len(rows) == 16
    assert all(conflict_free(a.addresses[w : w + 32]) for a in rows for w in range(0, 128, 32))


@pytest.mark.parametrize("columns, first", [(128, 0), (64, 64), (16, 32)])
def test_each_thread_copies_its_part_of_a_register_view(columns, first):
    """In warpgroup scope, thread r of the second warpgroup copies row r, from any first column."""
    declare, s = shared("Dsmem", (128, 128), layout=swizzled((128, 128)))
    regs = local("Dreg_16b", (128,))
    view = register_view(regs, 128, 128)
    g = gmem("G", (128, 128))
    declared, wg, _, _ = ids(2)
    body = seq(
        declared, declare, AllocBuffer(regs), DeclBuffer(view),
        If(binary("==", wg, 1), Scope("warpgroup", seq(
            call("copy", view[:, :columns], g[:, first : first + columns]),
            call("copy", s[:, first : first + columns], view[:, :columns]),
        ))),
    )  # fmt: skip
    values = numbered((128, 128))
    machine = Machine(lowered(body, params=(g,), warpgroups=None), {"G": values}).run()
    assert same_bits(machine.tile(s)[:, first : first + columns], values[:, first : first + columns])
    assert all((access.threads == np.arange(128, 256)).all() for access in machine.accesses)
    assert all(access.addresses.shape[1] == 8 for access in machine.accesses)


def test_only_cooperative_stores_to_shared_memory_emit_a_proxy_fence():
    g = gmem("G", (128, 64))
    declare, s = shared("T", (128, 64), layout=swizzled((128, 64)))
    regs = local("R", (64,))
    func = lowered(declare, Scope("cta", call("copy", s, g)), params=(g,))
    (fence,) = Machine(func, {"G": numbered(g.shape)}).run().issued
    assert fence.op == "fence.proxy.async" and fence.attrs == {"space": "shared::cta"}
    assert len(fence.threads) == 128
    out = lowered(declare, Scope("cta", call("copy", g, s)), params=(g,))
    assert not Machine(out, {"G": numbered(g.shape)}).run().issued
    declared, _, warp, lane = ids()
    row = seq(declared, declare, AllocBuffer(regs), Scope("thread", call("copy", s[warp * 32 + lane, :], regs)))
    assert not Machine(lowered(row, warpgroups=None), {}).run().issued


def test_copy_loops_are_parallel_and_a_single_step_needs_no_loop():
    g = gmem("G", (128, 64))
    declare, s = shared("T", (128, 64))
    func = lowered(declare, Scope("cta", call("copy", s, g)), params=(g,))
    (loop,) = [n for n in walk(func.body) if isinstance(n, For)]
    assert loop.parallel and loop.kind == UNROLLED
    small, little = shared("L", (16, 64))
    once = lowered(small, Scope("cta", call("copy", little, g[:16, :])), params=(g,))
    assert not [n for n in walk(once.body) if isinstance(n, For)]


@pytest.mark.parametrize(
    "shape, first, vector",
    [((16, 64), 0, 16), ((16, 60), 0, 8), ((16, 64), 4, 8), ((16, 62), 2, 4), ((5, 7), 1, 2), ((3,), 0, 2)],
)
def test_the_vector_width_is_the_widest_that_both_sides_allow(shape, first, vector):
    g = gmem("G", (*shape[:-1], shape[-1] + first))
    declare, s = shared("T", shape)
    part = g[(*(slice(None) for _ in shape[:-1]), slice(first, None))]
    func = lowered(declare, Scope("cta", call("copy", s, part)), params=(g,))
    values = numbered(g.shape)
    machine = Machine(func, {"G": values}).run()
    assert same_bits(machine.tile(s), np.ascontiguousarray(values[..., first:]))
    assert {a.addresses.shape[1] * 2 for a in machine.accesses} == {vector}
    stores = np.concatenate([a.addresses.reshape(-1) for a in machine.accesses if a.kind == "store"])
    assert len(stores) == len(np.unique(stores)) == np.prod(shape)


def test_the_vector_width_of_a_symbolic_slice_follows_from_its_divisor():
    """A bound variable is resolved; an unknown variable only allows single elements."""
    g = gmem("G", (128, 640))
    declare, s = shared("T", (128, 64), layout=swizzled((128, 64)))
    k, start, any_ = var("k"), var("start"), var("any")
    for first, width in ((k * 64, 8), (start, 8), (any_, 1)):
        body = seq(declare, Bind(start, k * 64), Scope("cta", call("copy", s, g[:, first : first + 64])))
        values = numbered(g.shape)
        func = lowered(body, params=(g, k, any_))
        machine = Machine(func, {"G": values}, {"k": 3, "any": 192}).run()
        assert same_bits(machine.tile(s), values[:, 192:256])
        assert {a.addresses.shape[1] for a in machine.accesses} == {width}


def test_single_elements_and_columns_are_copied():
    g, out = gmem("G", (8, 8)), gmem("Out", (8, 8))
    copies = seq(call("copy", out[3, 4], g[1, 2]), call("copy", out[:, 0], g[:, 5]))
    func = lowered(Scope("cta", copies), params=(g, out))
    values = numbered((8, 8))
    machine = Machine(func, {"G": values, "Out": np.zeros_like(values)}).run()
    assert same_bits(machine.arrays["Out"][3, 4], values[1, 2])
    assert same_bits(machine.arrays["Out"][:, 0], values[:, 5])


def test_different_extents_are_reported_when_the_call_is_read():
    g = gmem("G", (128, 96))
    _, s = shared("Asmem", (128, 64))
    with pytest.raises(TirxError, match="different extents: Asmem is 128 × 64 and G is 128 × 96"):
        call("copy", s[:, :], g[:, :])


def test_different_dtypes_are_reported_with_the_missing_cast():
    with pytest.raises(TirxError, match="R is float32 and D is float16") as error:
        call("copy", gmem("D", (128,)), local("R", (128,), "float32"))
    assert "Tx.cast" in str(error.value)


def refusal(*body, **options) -> str:
    with pytest.raises(TirxError) as error:
        lower(kernel(*body, **options))
    return str(error.value)


def test_a_copy_that_only_some_threads_execute_is_reported():
    g = gmem("G", (128, 64))
    declare, s = shared("T", (128, 64))
    declared, wg, warp, _ = ids(2)
    some = If(binary("==", wg, 1), Scope("cta", call("copy", s, g)))
    page = refusal(declared, declare, some, params=(g,), warpgroups=None)
    assert "only 128 of the 256 threads of the cta execute it" in page
    one = If(binary("==", warp, 0), Scope("warpgroup", call("copy", s, g)))
    page = refusal(declared, declare, one, params=(g,), warpgroups=None)
    assert "only 32 of the 128 threads of the warpgroup" in page
    whole = If(binary("==", wg, 1), Scope("warpgroup", call("copy", s, g)))
    lower(kernel(declared, declare, whole, params=(g,), warpgroups=None))


def test_private_registers_in_a_cooperative_scope_are_reported():
    g, regs = gmem("G", (128,)), local("Dreg", (128,))
    page = refusal(AllocBuffer(regs), Scope("warpgroup", call("copy", g, regs)), params=(g,))
    assert "Dreg is private to each thread" in page and "view" in page
    view = register_view(regs, 128, 128)
    page = refusal(AllocBuffer(regs), DeclBuffer(view), Scope("thread", call("copy", gmem("H", (128, 128)), view)))
    assert "but the call is in thread scope" in page and "Dreg" in page


def test_a_copy_in_kernel_scope_is_reported():
    g = gmem("G", (128, 64))
    declare, s = shared("T", (128, 64))
    page = refusal(declare, call("copy", s, g), params=(g,))
    assert "kernel scope, which does not determine the threads" in page and "with Tx.cta():" in page


def test_a_single_thread_may_copy_under_a_private_condition():
    """A flag in registers can only exclude the thread from the call, not add another one."""
    g, h, flag = gmem("G", (64,)), gmem("H", (64,)), local("flag", (1,), "int32")
    declared, _, warp, lane = ids(1)
    first = binary("and", binary("==", warp, 0), binary("==", lane, 0))
    raised = binary("==", BufferLoad(flag.dtype, flag, (const(0),)), 1)
    flagged = If(raised, If(first, call("copy", h, g)))
    setup = (declared, AllocBuffer(flag), BufferStore(flag, (const(0),), const(1)))
    func = lowered(*setup, flagged, params=(g, h), warpgroups=None)
    machine = Machine(func, {"G": numbered((64,)), "H": numbered((64,)) * 2}).run()
    assert same_bits(machine.arrays["H"], machine.arrays["G"])
    several = If(raised, If(binary("==", warp, 0), call("copy", h, g)))
    assert "does not determine the threads" in refusal(*setup, several, params=(g, h), warpgroups=None)


def test_copies_between_two_tiles_of_one_pool_do_not_overlap():
    pool = Pool()
    pool.alloc("Asmem", (64, 64), layout=swizzled((64, 64)))
    pool.alloc("Bsmem", (64, 64), layout=swizzled((64, 64), mode=B128))
    declare, (a, b) = pool.commit()
    g, h = gmem("G", (64, 64)), gmem("H", (64, 64))
    func = lowered(declare, Scope("cta", seq(call("copy", a, g), call("copy", b, h))), params=(g, h))
    machine = Machine(func, {"G": numbered((64, 64)), "H": numbered((64, 64)) * 2}).run()
    assert same_bits(machine.tile(a), machine.arrays["G"]) and same_bits(machine.tile(b), machine.arrays["H"])


def test_a_misaligned_tile_is_copied_in_narrower_vectors():
    """Eight bytes into shared memory, 16-byte accesses would be misaligned."""
    pool = Pool()
    pool.alloc("phase", (1,), "uint64", align=8)
    pool.alloc("T", (16, 64), align=8)
    declare, (_, t) = pool.commit()
    g = gmem("G", (16, 64))
    machine = Machine(lowered(declare, Scope("cta", call("copy", t, g)), params=(g,)), {"G": numbered(g.shape)}).run()
    assert same_bits(machine.tile(t), machine.arrays["G"])
    assert {a.addresses.shape[1] for a in machine.accesses} == {4}
    assert all(not (a.addresses[:, 0] % 8).any() for a in machine.accesses)


def test_threads_without_a_part_of_the_view_do_not_copy():
    regs, g = local("R", (8,)), gmem("G", (64, 8))
    view = register_view(regs, 64, 8)
    body = seq(AllocBuffer(regs), DeclBuffer(view), Scope("warpgroup", call("copy", view, g)))
    machine = Machine(lowered(body, params=(g,)), {"G": numbered(g.shape)}).run()
    assert all(list(a.threads) == list(range(64)) for a in machine.accesses)
    (held,) = machine.local.values()
    assert same_bits(held[:64], machine.arrays["G"]) and not held[64:].view(np.uint16).any()


def test_a_slice_that_omits_rows_of_a_view_is_reported():
    regs, g = local("R", (8,)), gmem("G", (64, 8))
    view = register_view(regs, 128, 8)
    page = refusal(AllocBuffer(regs), DeclBuffer(view), Scope("warpgroup", call("copy", view[64:, :], g)), params=(g,))
    assert "omits the first threads" in page and "slice its columns" in page


def test_an_else_branch_restricts_the_executing_threads():
    g = gmem("G", (128, 64))
    declare, s = shared("T", (128, 64))
    declared, _, warp, _ = ids()
    nothing, copy = seq(), Scope("cta", call("copy", s, g))
    page = refusal(declared, declare, If(binary("==", warp, 0), nothing, copy), params=(g,), warpgroups=None)
    assert "only 96 of the 128 threads" in page
