"""TMA copies: boxes, coordinates and addresses, checked by emulating the engine."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tirx_mini.tile.interpreter import Issued, Machine
from tests.tirx_mini.tile.kernels import Pool, call, elect, gmem, ids, kernel, lowered, shared, swizzled, var
from tirx_mini.ir import Buffer, DataType, If, Scope, Stmt, TensorMap, TirxError, binary, const, seq
from tirx_mini.layout import S, SwizzleMode, TileLayout
from tirx_mini.passes import lower

MODES = list(SwizzleMode)
PLAIN = {"dim": 2, "cache_hint": "", "load_mode": "tile", "cache_policy": 0, "dst_space": ""}
"""Modifiers of a load of a box."""


def elected(*body: Stmt) -> Stmt:
    return Scope("thread", seq(*body), "warp", elect())


def warp0(stmt: Stmt) -> tuple[Stmt, Stmt]:
    """The declarations of ids, and `stmt` executed by warp 0 only."""
    declared, _, warp, _ = ids()
    return declared, If(binary("==", warp, 0), stmt)


def barrier(pool: Pool, depth: int = 4) -> None:
    pool.alloc("bar", (depth,), "uint64", align=8)


def engine_places(tensor_map: TensorMap, address: int) -> np.ndarray:
    """The byte address in shared memory at which the engine stores each element, as [box outermost … innermost].

    PTX ISA, "Swizzling modes": rows packed, 16-byte chunks XORed by address bits from 7 on.
    """
    size = tensor_map.buffer.dtype.itemsize
    box = tensor_map.box[::-1]
    plain = address + np.arange(int(np.prod(box))).reshape(box) * size
    bits = {0: 0, 32: 1, 64: 3, 128: 7}[tensor_map.swizzle]
    return plain ^ ((plain >> 7 & bits) << 4)


def load(machine: Machine, issued: Issued, tensor_map: TensorMap) -> None:
    """Execute a TMA load. Elements outside the tensor are zero."""
    (dst, _, _, *coords) = issued.args
    size = tensor_map.buffer.dtype.itemsize
    array = machine.arrays[tensor_map.buffer.name]
    address = int(dst[issued.threads[0]])
    places = engine_places(tensor_map, address)
    starts = [int(c[issued.threads[0]]) for c in coords][::-1]
    index = np.indices(places.shape) + np.array(starts).reshape(-1, *[1] * places.ndim)
    inside = np.all([(i >= 0) & (i < n) for i, n in zip(index, array.shape, strict=True)], axis=0)
    values = np.zeros(places.shape, array.dtype)
    values[inside] = array[tuple(i[inside] for i in index)]
    machine.shared[places[..., None] + np.arange(size)] = np.ascontiguousarray(values).view(np.uint8).reshape(
        *places.shape, size)


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    return (np.arange(np.prod(shape), dtype=np.uint32) % 65000 + 1).astype(np.uint16).view(np.float16).reshape(shape)


@given(
    mode=st.sampled_from(MODES), slabs=st.integers(1, 3), rows=st.sampled_from([8, 64, 128, 256]),
    stages=st.integers(1, 3), data=st.data(),
)
def test_a_load_fills_the_tile_according_to_its_layout(mode, slabs, rows, stages, data):
    columns = slabs * mode.span_bytes // 2
    g = gmem("G", (2 * rows, 3 * columns))
    stage, row, column = (data.draw(st.integers(0, n - 1)) for n in (stages, 2, 3))
    pool = Pool()
    pool.alloc("T", (stages, rows, columns), layout=swizzled((stages, rows, columns), mode=mode))
    barrier(pool)
    declare, (t, bar) = pool.commit()
    s, r, c = var("s"), var("r"), var("c")
    part = g[r * rows : (r + 1) * rows, c * columns : (c + 1) * columns]
    copy = call("copy_async", t[s, :, :], part, dispatch="tma", mbar=bar.ptr_to([s]))
    func = lowered(*seq_of(declare, *warp0(elected(copy))), params=(g, s, r, c), warpgroups=None)
    values = numbered(g.shape)
    machine = Machine(func, {"G": values}, {"s": stage, "r": row, "c": column}).run()
    assert [i.op for i in machine.issued] == ["cp.async.bulk.tensor.load"] * slabs
    maps = {m.var.name: m for m in func.tensor_maps}
    assert len(maps) == 1
    for issued in machine.issued:
        assert len(issued.threads) == 1 and issued.attrs == {**PLAIN, "cta_group": 1, "cta_mask": 0}
        assert int(issued.args[2][0]) == machine.start(bar) + 8 * stage
        load(machine, issued, maps[str(issued.args[1])])
    expected = values[row * rows : (row + 1) * rows, column * columns : (column + 1) * columns]
    assert np.array_equal(machine.tile(t)[stage].view(np.uint16), expected.view(np.uint16))


def seq_of(*stmts: Stmt) -> tuple[Stmt, ...]:
    """`stmts`, with the declarations of ids (the second one) first."""
    declare, declared, *rest = stmts
    return (declared, declare, *rest)


def test_tall_tiles_are_split_into_boxes_of_256_rows():
    """512 rows are two boxes of 256; Asmem[stage, consumer, :, :] selects the address."""
    pool = Pool()
    pool.alloc("Asmem", (2, 2, 512, 64), layout=swizzled((2, 2, 512, 64)))
    barrier(pool)
    declare, (a, bar) = pool.commit()
    g, s = gmem("A", (1024, 128)), var("s")
    copy = call("copy_async", a[s, 1, :, :], g[0:512, 64:128], dispatch="tma", mbar=bar.ptr_to([0]))
    func = lowered(*seq_of(declare, *warp0(elected(copy))), params=(g, s), warpgroups=None)
    (tensor_map,) = func.tensor_maps
    assert (tensor_map.dims, tensor_map.strides, tensor_map.box) == ((128, 1024), (256,), (64, 256))
    assert (tensor_map.swizzle, tensor_map.box_bytes) == (128, 64 * 256 * 2)
    machine = Machine(func, {"A": numbered(g.shape)}, {"s": 1}).run()
    for issued in machine.issued:
        load(machine, issued, tensor_map)
    assert machine.tile(a)[1, 1].tobytes() == machine.arrays["A"][:512, 64:].tobytes()


def test_out_of_bounds_elements_are_filled_with_zeros():
    pool = Pool()
    pool.alloc("T", (128, 64), layout=swizzled((128, 64)))
    barrier(pool)
    declare, (t, bar) = pool.commit()
    g, k = gmem("G", (200, 96)), var("k")
    part = g[k * 128 : (k + 1) * 128, k * 64 : (k + 1) * 64]
    copy = call("copy_async", t, part, dispatch="tma", mbar=bar.ptr_to([0]))
    func = lowered(*seq_of(declare, *warp0(elected(copy))), params=(g, k), warpgroups=None)
    machine = Machine(func, {"G": numbered(g.shape)}, {"k": 1}).run()
    load(machine, machine.issued[0], func.tensor_maps[0])
    expected = np.zeros((128, 64), np.float16)
    expected[:72, :32] = machine.arrays["G"][128:, 64:]
    assert np.array_equal(machine.tile(t), expected)


def test_a_batched_tensor_has_a_three_dimensional_map():
    pool = Pool()
    pool.alloc("T", (64, 64), layout=swizzled((64, 64)))
    barrier(pool)
    declare, (t, bar) = pool.commit()
    g, b = gmem("G", (4, 128, 64)), var("b")
    copy = call("copy_async", t, g[b, 64:128, :], dispatch="tma", mbar=bar.ptr_to([0]))
    func = lowered(*seq_of(declare, *warp0(elected(copy))), params=(g, b), warpgroups=None)
    (tensor_map,) = func.tensor_maps
    assert (tensor_map.dims, tensor_map.strides) == ((64, 128, 4), (128, 16384))
    assert tensor_map.box == (64, 64, 1)
    machine = Machine(func, {"G": numbered(g.shape)}, {"b": 2}).run()
    assert machine.issued[0].attrs["dim"] == 3
    load(machine, machine.issued[0], tensor_map)
    assert np.array_equal(machine.tile(t), machine.arrays["G"][2, 64:])


def test_a_wide_store_has_one_box_per_slab_and_copies_share_maps():
    declare, d = shared("Dsmem", (128, 128), layout=swizzled((128, 128)))
    g, m = gmem("D", (256, 256)), var("m")
    stores = [call("copy_async", g[m * 128 : (m + 1) * 128, n : n + 128], d, dispatch="tma") for n in (0, 128)]
    func = lowered(*seq_of(declare, *warp0(elected(*stores))), params=(g, m), warpgroups=None)
    assert len(func.tensor_maps) == 1
    machine = Machine(func, {"D": numbered(g.shape)}, {"m": 1}).run()
    assert [i.op for i in machine.issued] == ["cp.async.bulk.tensor.store"] * 4
    got = [(int(i.args[1][0]), int(i.args[2][0]), int(i.args[3][0])) for i in machine.issued]
    assert got == [(0, 0, 128), (128 * 128, 64, 128), (0, 128, 128), (128 * 128, 192, 128)]


def test_cta_group_and_multicast_become_modifiers_of_the_load():
    pool = Pool()
    pool.alloc("T", (128, 64), layout=swizzled((128, 64)))
    barrier(pool)
    declare, (t, bar) = pool.commit()
    g = gmem("G", (128, 64))
    config = {"dispatch": "tma", "mbar": bar.ptr_to([0])}
    for options, attrs in (
        ({"cta_group": 1}, {}),
        ({"cta_group": 2}, {"cta_group": 2}),
        ({"cta_mask": 3}, {"cta_mask": 3}),
        ({"cta_mask": 0}, {}),
        ({"dispatch": "tma_auto"}, {}),
        ({"dispatch": "tma_explicit", "prefetch_tensormap": True, "tma_dtype": "bfloat16"}, {}),
        ({"multicast": 0b1100, "cta_group": 2}, {"cta_mask": 0b1100, "cta_group": 2}),
    ):
        copy = call("copy_async", t, g, **{**config, **options})
        func = lowered(*seq_of(declare, *warp0(elected(copy))), params=(g,), warpgroups=None)
        (issued,) = Machine(func, {"G": numbered(g.shape)}).run().issued
        assert issued.attrs == {**PLAIN, "cta_group": 1, "cta_mask": 0, **attrs}


def test_a_load_may_signal_a_remote_barrier():
    """The barrier of another CTA is a 32-bit shared::cluster address from mapa."""
    from tirx_mini.ir import UINT32

    pool = Pool()
    pool.alloc("T", (128, 64), layout=swizzled((128, 64)))
    declare, (t,) = pool.commit()
    g, remote = gmem("G", (128, 64)), const(0x01000040, UINT32)
    copy = call("copy_async", t, g, dispatch="tma", mbar=remote, cta_group=2)
    func = lowered(*seq_of(declare, *warp0(elected(copy))), params=(g,), warpgroups=None)
    (issued,) = Machine(func, {"G": numbered(g.shape)}).run().issued
    assert int(issued.args[2][0]) == 0x01000040


def test_options_of_tvm_that_a_copy_cannot_honour():
    pool = Pool()
    pool.alloc("T", (128, 128), layout=swizzled((128, 128)))
    barrier(pool)
    declare, (t, bar) = pool.commit()
    g = gmem("G", (128, 128))
    for options, reason in (
        ({"dispatch": "tma_explicit"}, "is one TMA instruction, but the tile is 2 boxes"),
        ({"tma_dtype": "uint8"}, "tma_dtype uint8 is not as wide as float16"),
        ({"tma_dtype": "half"}, "tma_dtype: unknown dtype 'half'"),
        ({"shape": "128x256b"}, "shape is an option of tcgen05.cp"),
        ({"multicast": "warpx4"}, "cta_mask must be a 16-bit number"),
    ):
        copy = call("copy_async", t, g, **{"dispatch": "tma", "mbar": bar.ptr_to([0]), **options})
        assert reason in page(g, t, declare, elected(copy))


def page(g: Buffer, t: Buffer, declare: Stmt, copy: Stmt) -> str:
    with pytest.raises(TirxError) as error:
        lower(kernel(*seq_of(declare, *warp0(copy)), params=(g,), warpgroups=None))
    return str(error.value)


def test_unsupported_copies_are_reported_with_the_reason():
    pool = Pool()
    pool.alloc("T", (128, 64), layout=swizzled((128, 64)))
    pool.alloc("odd", (128, 64), layout=swizzled((128, 64)), align=1024)
    pool.alloc("flat", (128, 512))
    pool.alloc("narrow", (128, 4))
    barrier(pool)
    declare, (t, _, flat, narrow, bar) = pool.commit()
    g, padded, wide = gmem("G", (128, 64)), gmem("P", (128, 68)), gmem("W", (128, 512))
    tma = {"dispatch": "tma", "mbar": bar.ptr_to([0])}
    assert "that counts its bytes" in page(g, t, declare, elected(call("copy_async", t, g, dispatch="tma")))
    assert "takes no mbar" in page(g, t, declare, elected(call("copy_async", g, t, **tma)))
    assert "32 lanes of a warp" in page(g, t, declare, Scope("thread", call("copy_async", t, g, **tma)))
    assert "the call is in warp scope" in page(g, t, declare, Scope("warp", call("copy_async", t, g, **tma)))
    assert "136 bytes apart" in page(padded, t, declare, elected(call("copy_async", t, padded[:, :64], **tma)))
    assert "at most 256" in page(wide, flat, declare, elected(call("copy_async", flat, wide, **tma)))
    assert "8 bytes, but TMA moves multiples of 16" in page(
        g, narrow, declare, elected(call("copy_async", narrow, g[:, :4], **tma)))
    with pytest.raises(TirxError, match=re.escape("write bar.ptr_to([0])")):
        call("copy_async", t, g, dispatch="tma", mbar=bar[0])
    assert "16-bit number" in page(g, t, declare, elected(call("copy_async", t, g, **tma, cta_mask=1 << 16)))
    assert 'did you mean dispatch="tma"' in page(g, t, declare, elected(call("copy_async", t, g, dispatch="tmaa")))


def test_a_tile_that_begins_inside_an_atom_is_reported():
    root = Buffer("smem", (1 << 16,), DataType("uint8"), "shared", align=1024)
    from tirx_mini.ir import AllocBuffer, DeclBuffer

    t = Buffer("T", (128, 64), DataType("float16"), "shared", swizzled((128, 64)), root, 512)
    bar = Buffer("bar", (1,), DataType("uint64"), "shared", None, root, 32768)
    declare = seq(AllocBuffer(root), DeclBuffer(t), DeclBuffer(bar))
    g = gmem("G", (128, 64))
    text = page(g, t, declare, elected(call("copy_async", t, g, dispatch="tma", mbar=bar.ptr_to([0]))))
    assert "begins at byte 512" in text and "multiple of 1024" in text


def test_the_operands_determine_the_default_dispatch():
    pool = Pool()
    pool.alloc("T", (128, 64), layout=swizzled((128, 64)))
    barrier(pool)
    declare, (t, bar) = pool.commit()
    g = gmem("G", (128, 64))
    by_tma = lowered(*seq_of(declare, *warp0(elected(call("copy_async", t, g, mbar=bar.ptr_to([0]))))), params=(g,),
                     warpgroups=None)  # fmt: skip
    assert by_tma.tensor_maps
    by_threads = lowered(declare, Scope("cta", call("copy_async", t, g)), params=(g,))
    machine = Machine(by_threads, {"G": numbered(g.shape)}).run()
    assert {i.op for i in machine.issued} == {"cp.async"}


def test_cp_async_copies_every_element_once():
    declare, t = shared("T", (64, 64), layout=swizzled((64, 64)))
    g = gmem("G", (64, 128))
    func = lowered(declare, Scope("cta", call("copy_async", t, g[:, 64:], dispatch="cp_async")), params=(g,))
    machine = Machine(func, {"G": numbered(g.shape)}).run()
    raw = machine.arrays["G"].view(np.uint8).reshape(-1)
    for issued in machine.issued:
        assert len(issued.threads) == 128 and issued.attrs["bytes"] == 16
        for dst, src in zip(issued.args[0], issued.args[1], strict=True):
            machine.shared[dst : dst + 16] = raw[src : src + 16]
    assert np.array_equal(machine.tile(t), machine.arrays["G"][:, 64:])
    assert len(machine.issued) * 128 * 16 == t.nbytes


def test_a_strided_global_layout_has_a_tensor_map():
    """A window into wider rows, declared with a layout."""
    pool = Pool()
    pool.alloc("T", (64, 64), layout=swizzled((64, 64)))
    barrier(pool)
    declare, (t, bar) = pool.commit()
    g = Buffer("G", (64, 64), DataType("float16"), layout=TileLayout(S[(64, 64) : (128, 1)]))
    copy = call("copy_async", t, g, mbar=bar.ptr_to([0]))
    func = lowered(*seq_of(declare, *warp0(elected(copy))), params=(g,), warpgroups=None)
    assert func.tensor_maps[0].strides == (256,)


def test_a_misaligned_box_is_reported():
    declare, t = shared("T", (64, 16))
    g, r = gmem("G", (64, 16)), var("r")
    store = elected(call("copy_async", g[:8, :], t[r : r + 8, :], dispatch="tma"))
    assert "begin at multiples of 32 bytes" in page(g, t, declare, store)
    aligned = elected(call("copy_async", g[:8, :], t[r * 8 : r * 8 + 8, :]))
    lower(kernel(*seq_of(declare, *warp0(aligned)), params=(g, r), warpgroups=None))


def test_the_only_applicable_rule_provides_the_headline():
    declare, t = shared("T", (128, 64), layout=swizzled((128, 64)))
    g = gmem("G", (128, 64))
    text = page(g, t, declare, Scope("thread", call("copy_async", g, t)))
    assert text.startswith("error[TX405]: this copy_async cannot use tma: a single thread must issue it")
    assert all(f"note: {name} (" in text for name in ("tma", "cp_async", "tcgen05.ld", "tcgen05.st"))
