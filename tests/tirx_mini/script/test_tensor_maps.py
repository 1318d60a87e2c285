"""TMA by its operands: tensor maps that a kernel encodes, and the loads and stores that name them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini
from tirx_mini.arguments import ArgumentError, TensorMap, with_tensor_maps
from tirx_mini.ir import TirxError, structural_equal
from tirx_mini.script import from_source

TEXT = """
TILE = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))
ENCODE = "runtime.cuTensorMapEncodeTiled"

@T.prim_func
def kernel(A: T.Buffer((128, 128), "float16"), D: T.Buffer((128, 128), "float16")):
    A_map: T.let[T.handle("tensormap")] = T.tvm_stack_alloca("tensormap", 1)
    T.call_packed(ENCODE, A_map, "float16", 2, A.data, 128, 128, 256, 64, 64, 1, 1, 0, 3, 2, 0)
    D_map: T.let[T.handle("tensormap")] = T.tvm_stack_alloca("tensormap", 1)
    T.call_packed(ENCODE, D_map, "float16", 2, D.data, 128, 128, 256, 64, 64, 1, 1, 0, 3, 2, 0)
    T.device_entry()
    bx, by = T.cta_id([2, 2])
    tx = T.thread_id([32])
    pool = T.SMEMPool()
    tile = pool.alloc((64, 64), "float16", layout=TILE, align=1024)
    bar = pool.alloc((1,), "uint64", align=8)
    pool.commit()
    if tx == 0:
        T.ptx.prefetch_tensormap(T.address_of(A_map))
        T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 8192)
        T.ptx.cp_async.bulk.tensor.LOAD
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        T.ptx.cp_async.bulk.tensor.s2g(2, tile.ptr_to([0, 0]), T.address_of(D_map), "", by * 64, bx * 64)
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group(0, False)
"""
LOADS = [
    'g2s_cluster(2, tile.ptr_to([0, 0]), bar.ptr_to([0]), T.address_of(A_map), 0, 1, "", by * 64, bx * 64)',
    'g2s_cta(2, tile.ptr_to([0, 0]), bar.ptr_to([0]), T.address_of(A_map), 1, "evict_first", by * 64, bx * 64)',
]


@pytest.mark.parametrize("load", LOADS)
def test_a_tile_goes_through_its_tensor_maps(load: str) -> None:
    kernel = from_source(TEXT.replace("LOAD", load))
    assert structural_equal(kernel, from_source(kernel.script()))
    a = np.random.default_rng(0).standard_normal((128, 128)).astype(np.float16)
    d = np.zeros_like(a)
    report = tirx_mini.simulate(kernel, a, d)
    assert report.verdict == "ok" and not report.findings, report
    np.testing.assert_array_equal(a, d)


def test_what_tvm_prints_is_read() -> None:
    """TVM's text has the type ``T.TensorMap()``, and the device code in a block."""
    lines = TEXT.replace("LOAD", LOADS[0]).replace('T.handle("tensormap")', "T.TensorMap()").split("\n")
    entry = next(i for i, line in enumerate(lines) if "T.device_entry()" in line)
    block = ['    with T.attr({"tirx.device_entry": T.bool(True)}):', *(f"    {line}" for line in lines[entry + 1 :])]
    assert structural_equal(
        from_source("\n".join([*lines[:entry], *block])), from_source(TEXT.replace("LOAD", LOADS[0]))
    )


@pytest.mark.compiler
def test_it_compiles() -> None:
    ptx = tirx_mini.compile(from_source(TEXT.replace("LOAD", LOADS[0])), target="cuda:sm_100a").source("ptx")
    assert "cp.async.bulk.tensor.2d.shared::cta" in ptx or "cp.async.bulk.tensor.2d.shared::cluster" in ptx


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('A_map, "float16", 2', 'A_map, "float32", 2', "a tensor map of float32 cannot begin at"),
        ("2, A.data, 128, 128,", "3, A.data, 128, 128,", "of rank 3 takes 15 constant numbers after the pointer"),
        ("64, 64, 1, 1, 0, 3, 2, 0)\n    D_map", "64, 64, 2, 1, 0, 3, 2, 0)\n    D_map", "element strides of 1"),
        ("T.call_packed(ENCODE, A_map", 'T.call_packed("runtime.other", A_map', "has no host part"),
        ('T.tvm_stack_alloca("tensormap", 1)', 'T.tvm_stack_alloca("int32", 1)', "has tensor maps only"),
    ],
)
def test_another_tensor_map_is_refused(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(TirxError) as raised:
        from_source(TEXT.replace("LOAD", LOADS[0]).replace(old, new, 1))
    assert message in str(raised.value)


BY_THE_CALLER = """
TILE = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))

@T.prim_func
def kernel(A_map: T.handle("tensormap"), rows: T.int32, D_map: T.TensorMap()):
    T.device_entry()
    tx = T.thread_id([32])
    pool = T.SMEMPool()
    tile = pool.alloc((64, 64), "float16", layout=TILE, align=1024)
    bar = pool.alloc((1,), "uint64", align=8)
    pool.commit()
    if tx == 0:
        T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 8192)
        T.ptx.cp_async.bulk.tensor.g2s_cta(
            2, tile.ptr_to([0, 0]), bar.ptr_to([0]), T.address_of(A_map), 1, "", 0, rows)
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        T.ptx.cp_async.bulk.tensor.s2g(2, tile.ptr_to([0, 0]), T.address_of(D_map), "", 0, 0)
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group(0, False)
"""


def given(tensor: np.ndarray, **fields: Any) -> TensorMap:
    return TensorMap(tensor, **{"box": (64, 64), "swizzle": 128, **fields})


@pytest.mark.parametrize(("fill", "outside"), [("zero", 0.0), ("nan", np.nan)])
def test_a_caller_gives_tensor_maps(fill: str, outside: float) -> None:
    """Through `simulate` and through a compiled kernel; rows below the tensor are what the map fills with."""
    kernel = from_source(BY_THE_CALLER)
    a = np.random.default_rng(0).standard_normal((96, 64)).astype(np.float16)
    wanted = np.concatenate([a[64:], np.full((32, 64), outside, np.float16)])
    for call in (tirx_mini.simulate, tirx_mini.compile):
        d = np.ones((64, 64), np.float16)
        args = given(a, fill=fill), 64, given(d)
        if call is tirx_mini.simulate:
            report = tirx_mini.simulate(kernel, *args)
            assert report.verdict == "ok" and not report.findings, report
        else:
            tirx_mini.compile(kernel, target="sim")(*args)
        np.testing.assert_array_equal(d, wanted)


def test_maps_of_one_tensor_share_its_memory() -> None:
    """The tensor is one argument: CTAs that copy a tile onto itself race with nothing, and others see the writes."""
    a = np.random.default_rng(0).standard_normal((128, 64)).astype(np.float16)
    before = a.copy()
    func, args = with_tensor_maps(from_source(BY_THE_CALLER), (given(a), 64, given(a)))
    assert len(args) == 2 and args[1] is a and len({each.buffer for each in func.tensor_maps}) == 1
    assert tirx_mini.simulate(from_source(BY_THE_CALLER), given(a), 64, given(a)).ok
    np.testing.assert_array_equal(a[:64], before[64:])


def test_a_map_that_the_driver_would_refuse_is_a_finding() -> None:
    a = np.zeros((128, 64), np.float16)
    report = tirx_mini.simulate(from_source(BY_THE_CALLER), given(a, box=(64, 64), swizzle=32), 0, given(a))
    assert report.verdict == "fault" and "A_map" in str(report), report


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"box": (64,)}, "has 2 dims, a box of 1 and 1 strides"),
        ({"fill": "one"}, "cannot fill with 'one'"),
        ({"l2_promotion": 3}, "is 0, 64, 128 or 256 bytes, not 3"),
        ({"tensor": None}, "the tensor of argument 1 (A_map) of kernel must be a PyTorch tensor or a NumPy array"),
    ],
)
def test_a_map_that_says_nothing_sensible_is_refused(fields: dict[str, Any], message: str) -> None:
    a = np.zeros((128, 64), np.float16)
    with pytest.raises(ArgumentError) as raised:
        tirx_mini.simulate(from_source(BY_THE_CALLER), given(**{"tensor": a, **fields}), 0, given(a))
    assert message in str(raised.value)


FOUR_ROWS = """
TILE = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (16, 64))
ENCODE = "runtime.cuTensorMapEncodeTiled"

@T.prim_func
def kernel(A: T.Buffer((32, 128), "float16"), D: T.Buffer((32, 128), "float16"), B: T.Buffer((8, 64), "float16")):
    A_map: T.let[T.TensorMap()] = T.tvm_stack_alloca("tensormap", 1)
    T.call_packed(ENCODE, A_map, "float16", 2, A.data, 128, 32, 256, 64, 1, 1, 1, 0, 3, 2, 0)
    D_map: T.let[T.TensorMap()] = T.tvm_stack_alloca("tensormap", 1)
    T.call_packed(ENCODE, D_map, "float16", 2, D.data, 128, 32, 256, 64, 1, 1, 1, 0, 3, 2, 0)
    T.device_entry()
    tx = T.thread_id([32])
    pool = T.SMEMPool()
    tile = pool.alloc((16, 64), "float16", layout=TILE, align=1024)
    bar = pool.alloc((1,), "uint64", align=8)
    pool.commit()
    if tx == 0:
        T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
        T.ptx.cp_async.bulk.tensor.prefetch(2, T.address_of(A_map), "evict_last", 0, 0)
        for g in T.unroll(2):
            T.ptx.cp_async.bulk.tensor.g2s_cta(
                2, tile.ptr_to([8 * g, 0]), bar.ptr_to([0]), T.address_of(A_map), 1, "", 64,
                7 - g, 3, 20 + g, 40, load_mode="tile_gather4", cache_policy=T.uint64(0x14F0000000000000))
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        T.ptx.cp_async.bulk.tensor.store(
            T.address_of(D_map), tile.ptr_to([0, 0]), 0, 9, 1, 30, 31, dim=2, store_mode="tile::scatter4")
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group(0, False)
    T.cuda.cta_sync()
    for i in range(8):
        B[i, tx] = tile[i + i // 4 * 4, tx]
        B[i, tx + 32] = tile[i + i // 4 * 4, tx + 32]
"""


def test_four_rows_are_gathered_and_scattered() -> None:
    """Four rows land swizzled, as the first rows of a tile do; row 40 is outside, and zero."""
    a = np.random.default_rng(0).standard_normal((32, 128)).astype(np.float16)
    d, b = np.zeros_like(a), np.ones((8, 64), np.float16)
    kernel = from_source(FOUR_ROWS)
    assert structural_equal(kernel, from_source(kernel.script()))
    report = tirx_mini.simulate(kernel, a, d, b, trace=True)
    assert report.verdict == "ok" and not report.findings, report
    part = np.concatenate([a[:, 64:], np.zeros((9, 64), np.float16)])
    np.testing.assert_array_equal(b, part[[7, 3, 20, 40, 6, 3, 21, 40]])
    wanted = np.zeros_like(a)
    wanted[[9, 1, 30, 31], :64] = b[:4]
    np.testing.assert_array_equal(d, wanted)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("7 - g, 3, 20 + g, 40, load", "7, 3, 20, load", "five coordinates, a column and four rows, not dim=2 and 4"),
        ('load_mode="tile_gather4"', 'load_mode="tile"', "has 5 coordinates for dim=2"),
        ('load_mode="tile_gather4"', 'load_mode="im2col"', "it can be 'tile', 'tile::gather4'"),
        ("T.uint64(0x14F0000000000000)", "T.uint64(tx)", "must be known at compile time"),
    ],
)
def test_other_coordinates_of_four_rows_are_refused(old: str, new: str, message: str) -> None:
    assert old in FOUR_ROWS
    with pytest.raises(TirxError) as raised:
        from_source(FOUR_ROWS.replace(old, new))
    assert message in str(raised.value)


def test_four_rows_need_a_map_with_boxes_of_one_row() -> None:
    kernel = from_source(FOUR_ROWS.replace("64, 1, 1, 1, 0, 3", "64, 4, 1, 1, 0, 3", 1))
    arrays = [np.zeros((32, 128), np.float16), np.zeros((32, 128), np.float16), np.zeros((8, 64), np.float16)]
    report = tirx_mini.simulate(kernel, *arrays)
    assert report.verdict == "fault" and "copies of four rows need two dimensions and a box of one row" in str(report)


@pytest.mark.compiler
def test_four_rows_compile_for_blackwell_alone() -> None:
    kernel = from_source(FOUR_ROWS)
    ptx = tirx_mini.compile(kernel, target="cuda:sm_100a").source("ptx")
    assert "tile::gather4.mbarrier::complete_tx::bytes.L2::cache_hint" in ptx and "tile::scatter4.bulk_group" in ptx
    with pytest.raises(TirxError, match="needs sm_100a or sm_103a"):
        tirx_mini.compile(kernel, target="cuda:sm_90a")


@pytest.mark.compiler
@pytest.mark.parametrize("kind", ['T.handle("tensormap")', "T.TensorMap()"])
def test_a_tensor_map_may_be_a_parameter_of_the_kernel(kind: str) -> None:
    kernel = from_source(f"""
@T.prim_func
def kernel(A_map: {kind}):
    T.device_entry()
    tx = T.thread_id([32])
    if tx == 0:
        T.ptx.prefetch_tensormap(T.address_of(A_map))
""")
    text = tirx_mini.compile(tirx_mini.IRModule({"main": kernel}), target="cuda:sm_90a").source("cuda")
    assert "(const __grid_constant__ CUtensorMap A_map)" in text
    with pytest.raises(ArgumentError, match="is a tensor map: pass"):
        tirx_mini.simulate(kernel, None)
