"""FlattenBuffers and PlanSharedMemory: the places of accesses and of shared buffers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tirx_mini.tile.interpreter import Machine
from tests.tirx_mini.tile.kernels import (
    Pool,
    call,
    elect,
    gmem,
    local,
    lowered,
    register_view,
    shared,
    swizzled,
    tmem,
    var,
)
from tirx_mini.ir import (
    UINT32,
    AddressOf,
    AllocBuffer,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    DataType,
    DeclBuffer,
    Reinterpret,
    Scope,
    Var,
    cast,
    const,
    seq,
    special,
    walk,
)
from tirx_mini.layout import S, SwizzleMode, TileLayout, m, tid_in_wg


def alloc_shared(name: str, shape: tuple[int, ...], dtype: str = "float32", layout=None) -> Buffer:
    return Buffer(name, shape, DataType(dtype), "shared", layout)


@given(data=st.data(), mode=st.sampled_from(list(SwizzleMode)), stages=st.integers(1, 3), slabs=st.integers(1, 2))
def test_an_access_is_at_the_place_given_by_the_layout(data, mode, stages, slabs):
    columns = slabs * mode.span_bytes // 2
    shape = (stages, 16, columns)
    index = tuple(data.draw(st.integers(0, extent - 1)) for extent in shape)
    declare, s = shared("T", shape, layout=swizzled(shape, mode=mode))
    names = [var(n) for n in "ijk"]
    func = lowered(declare, BufferStore(s, tuple(names), const(1.5, "float16")), params=tuple(names))
    machine = Machine(func, {}, dict(zip("ijk", index, strict=True))).run()
    (access,) = machine.accesses
    assert access.buffer is s
    expected = s.layout.to_table()[m][index]
    assert (access.addresses == machine.start(s) + 2 * expected).all()


def test_views_of_shared_memory_resolve_to_their_source():
    """The same storage with another shape, layout or offset. A view with another dtype remains a buffer."""
    pool = Pool()
    pool.alloc("pad", (64,))
    pool.alloc("Asmem", (4, 64))
    declare, (_, a) = pool.commit()
    reshaped = a.view(256)
    transposed = a.view((64, 4), layout=TileLayout(S[(64, 4) : (1, 64)]))
    words = a.view(4, 32, dtype="uint32")
    tail = Buffer("tail", (8,), a.dtype, "shared", None, a, 128)
    stores = [
        BufferStore(reshaped, (const(70),), const(1, "float16")),
        BufferStore(transposed, (const(5), const(2)), const(2, "float16")),
        BufferStore(words, (const(3), const(31)), const(0x40004000, "uint32")),
        BufferStore(tail, (const(7),), const(3, "float16")),
    ]
    func = lowered(declare, *(DeclBuffer(v) for v in (reshaped, transposed, words, tail)), *stores)
    machine = Machine(func, {}).run()
    got = machine.tile(a)
    assert (got[1, 6], got[2, 5], got[1, 7], got[3, 62], got[3, 63]) == (1, 2, 3, 2, 2)
    names = {n.buffer.name for n in walk(func.body) if isinstance(n, BufferStore)}
    assert names == {"Asmem", words.name}
    assert {n.buffer.name for n in walk(func.body) if isinstance(n, DeclBuffer)} == {"pad", "Asmem", words.name}


def test_views_of_registers_resolve_to_the_registers():
    own = local("Dreg", (4, 8), "float32")
    flat, view = own.view(32), register_view(own, 128, 32)
    loaded = Var(DataType("float32"), "x")
    body = seq(
        AllocBuffer(own), DeclBuffer(flat), DeclBuffer(view),
        BufferStore(own, (const(2), const(3)), const(5.0)), Bind(loaded, flat[19]),
    )  # fmt: skip
    machine = Machine(lowered(body), {}).run()
    assert (machine.values[loaded] == 5).all()


def test_registers_with_a_thread_layout_hold_only_the_part_of_one_thread():
    tile = Buffer("R", (128, 16), DataType("float32"), "local", TileLayout(S[(128, 16) : (1 @ tid_in_wg, 1)]))
    out = gmem("O", (128, 16), "float32")
    body = seq(AllocBuffer(tile), Scope("warpgroup", seq(call("fill", tile, 3.0), call("copy", out, tile))))
    func = lowered(body, params=(out,))
    (allocated,) = [n.buffer for n in walk(func.body) if isinstance(n, AllocBuffer)]
    assert (allocated.shape, allocated.layout) == ((16,), None)
    machine = Machine(func, {"O": np.zeros((128, 16), np.float32)}).run()
    assert (machine.arrays["O"] == 3).all()


def test_a_register_view_with_another_dtype_stores_bits():
    own = local("Dreg", (4,), "float32")
    body = seq(AllocBuffer(own), BufferStore(own.view("uint32"), (const(3),), const(0, "uint32")))
    (store,) = [n for n in walk(lowered(body).body) if isinstance(n, BufferStore)]
    assert store.buffer is own and isinstance(store.value, Reinterpret) and store.value.dtype == "float32"


def test_addresses_of_tensor_memory_become_integers():
    x = Var(UINT32, "x")
    func = lowered(Bind(x, cast(UINT32, tmem().ptr_to([32, 7]))))
    assert (Machine(func, {}).run().values[x] == (32 << 16) + 64 + 7).all()


# -- planning -----------------------------------------------------------------------------------------------------


def placed(func) -> dict[str, tuple[int, int]]:
    """The byte range of every shared buffer."""
    out = {}
    for node in walk(func.body):
        if isinstance(node, DeclBuffer):
            buffer = node.buffer
            size = (buffer.layout.cosize(m) if buffer.layout else buffer.size) * buffer.dtype.itemsize
            out[buffer.name] = (buffer.byte_offset, buffer.byte_offset + size)
    return out


def test_a_single_pool_is_unchanged():
    declare, s = shared("T", (128, 64))
    func = lowered(declare, Scope("cta", call("fill", s, 0)))
    assert func.launch.smem_bytes == 128 * 64 * 2
    assert s.source in {n.buffer for n in walk(func.body) if isinstance(n, AllocBuffer)}


def test_alloc_shared_buffers_follow_the_pool_without_overlap():
    declare, s = shared("T", (100,))
    sums, flags = alloc_shared("sums", (33,)), alloc_shared("flags", (5,), "uint8")
    tile = alloc_shared("tile", (16, 64), "float16", swizzled((16, 64)))
    touch = [BufferStore(b, (const(0),), const(0, b.dtype)) for b in (s, sums, flags)]
    func = lowered(AllocBuffer(sums), declare, AllocBuffer(flags), AllocBuffer(tile), *touch,
                   BufferStore(tile, (const(0), const(0)), const(0, "float16")))  # fmt: skip
    (root,) = [n.buffer for n in walk(func.body) if isinstance(n, AllocBuffer)]
    ranges = placed(func)
    assert ranges["T"] == (0, 200) and ranges["tile"][0] % 1024 == 0
    ordered = sorted(ranges.values())
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ordered))
    assert func.launch.smem_bytes == root.nbytes == ordered[-1][1]
    accessed = {n.buffer for n in walk(func.body) if isinstance(n, BufferStore)}
    assert all(b.source is root for b in accessed) and len(accessed) == 4


def test_alloc_shared_without_a_pool():
    sm = alloc_shared("sm", (256,))
    tx = special("threadIdx.x")
    func = lowered(AllocBuffer(sm), BufferStore(sm, (tx,), cast("float32", tx)), warpgroups=2)
    assert func.launch.smem_bytes == 1024
    machine = Machine(func, {}).run()
    stored = next(iter(machine.accesses)).buffer
    assert np.array_equal(machine.tile(stored), np.arange(256, dtype=np.float32))


def test_alloc_shared_tiles_are_aligned_for_tma():
    """They are aligned to the atom of their swizzle, or to 128 bytes without one."""
    g = gmem("G", (64, 64))
    small, tile = alloc_shared("flag", (1,), "uint8"), alloc_shared("tile", (64, 64), "float16")
    copy = Scope("thread", call("copy_async", g, tile, dispatch="tma"), "warp", elect())
    touch = BufferStore(small, (const(0),), const(0, "uint8"))
    func = lowered(AllocBuffer(small), AllocBuffer(tile), touch, copy, params=(g,))
    assert placed(func)["tile"][0] % 128 == 0


def test_flat_indices_from_dispatch_are_unchanged():
    """A single index into a buffer of several dimensions is an offset into its storage."""
    declare, s = shared("T", (8, 64), layout=swizzled((8, 64)))
    p = Var(UINT32, "p")
    pointer = AddressOf(DataType("handle"), s, (const(64),))
    assert (Machine(lowered(declare, Bind(p, cast(UINT32, pointer))), {}).run().values[p] == 128).all()


def test_a_buffer_with_more_than_2_to_the_31_elements_uses_int64_indices():
    big, small = gmem("G", (1 << 20, 1 << 12)), gmem("H", (1 << 10, 1 << 12))
    declare, s = shared("T", (128, 64), layout=swizzled((128, 64)))
    r = var("r")
    for g, dtype in ((big, "int64"), (small, "int32")):
        func = lowered(declare, Scope("cta", call("copy", s, g[r * 128 : r * 128 + 128, :64])), params=(g, r))
        (index,) = [n.indices[0] for n in walk(func.body) if isinstance(n, BufferLoad) and n.buffer is g]
        assert index.dtype == index.base.dtype == dtype


@pytest.mark.parametrize(("shape", "index", "place"), [((1,), (1,), 1), ((1, 4), (1, 2), 6), ((4, 1), (2, 1), 3)])
def test_a_nonzero_index_along_an_extent_of_one_is_out_of_bounds(shape, index, place):
    """It must not fold to 0; otherwise the simulator could not detect it."""
    s = alloc_shared("bar", shape, "uint64")
    touch = BufferStore(s, tuple(map(const, index)), const(1, "uint64"))
    func = lowered(AllocBuffer(s), touch)
    (store,) = [n for n in walk(func.body) if isinstance(n, BufferStore)]
    assert store.indices[0].value == place
