"""Block scaling: scale factors by tcgen05.cp, and products of each kind against NumPy; rows copied to tensor memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.tile.kernels import call, gmem
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.isa import CP_SHAPES, SCALED_KINDS, InstructionDescriptor, cp_lanes, scaled_format
from tirx_mini.lang import TMEMPool
from tirx_mini.layout import R, S, SwizzleMode, TCol, TileLayout, TLane, sf_smem_layout, sf_tmem_layout, tid_in_wg
from tirx_mini.layout import tma_shared_layout as swizzled
from tirx_mini.passes import lower
from tirx_mini.script import tirx as Tx

B128 = SwizzleMode.SWIZZLE_128B_ATOM
KINDS = {
    "mxf8f6f4": ("float8_e4m3fn", "float8_e8m0fnu", 1),
    "mxf4": ("float4_e2m1fn", "float8_e8m0fnu", 2),
    "mxf4nvf4": ("float4_e2m1fn", "float8_e4m3fn", 4),
}
"""Kind: dtype of A and B, of the scale factors, and how many a row has for one MMA."""
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def scaled(kind: str, n: int, k: int, *, after: str = "", synchronised: bool = True, **options: Any) -> PrimFunc:
    """D = (A · SFA) (B · SFB)ᵀ for one tile of 128 × n; A and B are bytes, of which elements of 4 bits are views.

    after: "copy" to copy SFA again after the product, without a wait.
    """
    dtype, sf, vec = KINDS[kind]
    packed = dtype.startswith("float4")
    stored, width = ("uint8", k // 2) if packed else (dtype, k)
    factors, sf_rows = k // (64 if packed else 32) * vec, -(-n // 128) * 128
    whole_a, whole_b = swizzled(dtype, B128, (128, k)), swizzled(dtype, B128, (n, k))

    @Tx.prim_func(tirx=True)
    def kernel(
        A: Tx.Buffer((128, width), stored), B: Tx.Buffer((n, width), stored),
        SA: Tx.Buffer((128, factors), sf), SB: Tx.Buffer((sf_rows, factors), sf), D: Tx.Buffer((128, n), "float32"),
    ):  # fmt: skip
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            tid = Tx.meta_var(warp_id * 32 + lane_id)
            pool = Tx.PoolAllocator()
            bar = pool.alloc((1,), "uint64", align=8)
            As = pool.alloc((128, width), stored, layout=swizzled(stored, B128, (128, width)), align=1024)
            Bs = pool.alloc((n, width), stored, layout=swizzled(stored, B128, (n, width)), align=1024)
            SAs = pool.alloc((128, factors), sf, layout=sf_smem_layout(128, factors, vec), align=128)
            SBs = pool.alloc((sf_rows, factors), sf, layout=sf_smem_layout(sf_rows, factors, vec), align=128)
            columns = TMEMPool(pool, 512)
            pool.commit()
            columns.commit()
            with Tx.thread()[tid == 0]:
                Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            Tx.ptx.fence.mbarrier_init()
            with Tx.cta():
                Tx.copy(As, A)
                Tx.copy(Bs, B)
                Tx.copy(SAs, SA)
                Tx.copy(SBs, SB)
            if synchronised:
                Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()
            C = columns.alloc((128, n), "float32")
            SFA = columns.alloc_sf((128, factors), sf, sf_per_mma=vec)
            SFB = columns.alloc_sf((sf_rows, factors), sf, sf_per_mma=vec)
            left = Tx.meta_var(As.view(128, k, dtype=dtype, layout=whole_a) if packed else As)
            right = Tx.meta_var(Bs.view(n, k, dtype=dtype, layout=whole_b) if packed else Bs)
            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    Tx.copy_async(SFA, SAs)
                    Tx.copy_async(SFB, SBs, dispatch="tcgen05.cp")
                    Tx.gemm_async(C[:, :], left[:, :], right[:, :], SFA[:, :], SFB[:, :], accum=False, **options)
                    if after == "copy":
                        Tx.copy_async(SFA, SAs)
                    Tx.ptx.tcgen05.commit(bar.ptr_to([0]))
            Tx.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            Tx.ptx.tcgen05.fence.after_thread_sync()
            out = Tx.alloc_local((n,), "float32")
            tile = out.view(128, n, layout=TileLayout(S[(128, n) : (1 @ tid_in_wg, 1)]))
            with Tx.warpgroup():
                Tx.copy(tile, C)
            with Tx.thread():
                Tx.copy(D[tid, :], out)
            Tx.cuda.cta_sync()
            columns.dealloc()

    return kernel


def operands(kind: str, n: int, k: int) -> tuple[list[np.ndarray], np.ndarray]:
    """The arrays of a kernel, and the product in float64, which float32 holds exactly."""
    random = np.random.default_rng(0)
    dtype, sf, vec = KINDS[kind]
    packed = dtype.startswith("float4")
    factors, rows = k // (64 if packed else 32) * vec, -(-n // 128) * 128
    scales = [np.exp2(random.integers(-3, 4, (r, factors))).astype(getattr(ml_dtypes, sf)) for r in (128, rows)]
    if packed:
        codes = [random.integers(0, 16, (r, k)) for r in (128, n)]
        stored = [(c[:, ::2] | c[:, 1::2] << 4).astype(np.uint8) for c in codes]
        values = [FP4[c] for c in codes]
    else:
        stored = [random.integers(-4, 5, (r, k)).astype(np.float32).astype(ml_dtypes.float8_e4m3fn) for r in (128, n)]
        values = [each.astype(np.float32) for each in stored]
    block = k // factors
    a, b = (
        value.astype(np.float64) * np.repeat(scale[: len(value)].astype(np.float64), block, axis=1)
        for value, scale in zip(values, scales, strict=True)
    )
    return [*stored, *scales, np.zeros((128, n), np.float32)], a @ b.T


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("n, k", [(128, 256), (64, 256), (256, 512)])
def test_a_product_with_scale_factors(kind: str, n: int, k: int) -> None:
    arrays, expected = operands(kind, n, k)
    report = tvm.simulate(scaled(kind, n, k), *arrays)
    assert report.verdict == "ok" and not report.findings, str(report)
    assert (arrays[-1] == expected).all()


@pytest.mark.compiler
@pytest.mark.parametrize("kind", list(KINDS))
def test_it_compiles(kind: str) -> None:
    ptx = tvm.compile(tvm.IRModule({"main": scaled(kind, 128, 256)}), target="cuda:sm_100a").source("ptx")
    vec = ".scale_vec::4X" if kind == "mxf4nvf4" else ""
    assert f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale{vec} [" in ptx
    assert "tcgen05.cp.cta_group::1.32x128b.warpx4 [" in ptx


def test_chips_copy_over_factors_only_when_the_mma_has_read_them() -> None:
    """The ISA does not pair an MMA with a later copy; the tensor core executes the two in order."""
    arrays, expected = operands("mxf8f6f4", 128, 256)
    report = tvm.simulate(scaled("mxf8f6f4", 128, 256, after="copy"), *arrays)
    assert report.verdict == "ok" and (arrays[-1] == expected).all()
    assert {(f.code, f.severity) for f in report.findings} == {("TX217", "warning")}
    assert "tcgen05.cp" in report.findings[0].message and "in order" in report.findings[0].message


def test_a_copy_needs_what_it_reads() -> None:
    arrays, _ = operands("mxf8f6f4", 128, 256)
    report = tvm.simulate(scaled("mxf8f6f4", 128, 256, synchronised=False), *arrays)
    assert report.verdict != "ok" and any("tcgen05.cp" in finding.message for finding in report.findings)


@pytest.mark.parametrize("kind", list(SCALED_KINDS))
@pytest.mark.parametrize("sf_id", [0, 2])
def test_the_instruction_descriptor(kind: str, sf_id: int) -> None:
    """PTX ISA, instruction descriptor of .kind::mxf8f6f4 and .kind::mxf4: the place of each field."""
    fmt = scaled_format(kind, KINDS[kind][0])
    assert fmt is not None
    scale = KINDS[kind][1]
    depth = 32 if kind == "mxf8f6f4" else 64
    shape = InstructionDescriptor(256, 192, fmt, fmt, "float32", depth, scale=scale, sfa_id=sf_id, sfb_id=sf_id)
    word = shape.encode(kind)
    assert InstructionDescriptor.decode(word, kind, 2) == shape
    code = 0 if kind == "mxf8f6f4" else 1
    e8m0 = int(scale == "float8_e8m0fnu")
    assert word == sf_id << 4 | code << 7 | code << 10 | 192 >> 3 << 17 | e8m0 << 23 | 2 << 27 | sf_id << 29


@pytest.mark.parametrize("word, reason", [
    (1 << 31, "bits 0 to 3, 6 and 31"), (1, "bits 0 to 3"), (4 << 24 | 16 << 17, "M is 64"), (8 << 24, "N is 0"),
    (8 << 24 | 16 << 17, "e4m3"), (8 << 24 | 16 << 17 | 7 << 7, "operand types are 7"),
])  # fmt: skip
def test_a_wrong_instruction_descriptor(word: int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        InstructionDescriptor.decode(word, "mxf8f6f4", 1)


@pytest.mark.parametrize("rows, factors, per_mma", [(128, 4, 1), (256, 8, 2), (128, 16, 4)])
def test_the_layouts_of_scale_factors(rows: int, factors: int, per_mma: int) -> None:
    row, factor = np.meshgrid(np.arange(rows), np.arange(factors), indexing="ij")
    places = sf_tmem_layout(rows, factors, per_mma).apply(row, factor)
    assert (places[TLane] == row % 32).all()
    assert (places[TCol] == factor // 4 * (rows // 8) + row // 32 * 4 + factor % 4).all()
    stored = sf_smem_layout(rows, factors, per_mma).apply(row, factor)
    (where,) = stored.values()
    blocks = row // 128 * (factors // 4) + factor // 4
    assert (where == blocks * 512 + row % 32 * 16 + row // 32 % 4 * 4 + factor % 4).all()


@pytest.mark.parametrize("shape, multicast", [key for key in CP_SHAPES if key[0] != "4x256b"])
def test_the_lanes_of_each_shape(shape: str, multicast: str) -> None:
    rows, columns = CP_SHAPES[shape, multicast]

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((rows, columns * 4), "uint8"), D: Tx.Buffer((128, columns), "uint32")):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            tid = Tx.meta_var(warp_id * 32 + lane_id)
            pool = Tx.PoolAllocator()
            bar = pool.alloc((1,), "uint64", align=8)
            source = pool.alloc((128, columns * 4), "uint8", align=1024)
            memory = TMEMPool(pool, 32)
            pool.commit()
            memory.commit()
            with Tx.thread()[tid == 0]:
                Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            Tx.ptx.fence.mbarrier_init()
            with Tx.cta():
                Tx.copy(source[:rows, :], A)
            own = Tx.alloc_local((columns,), "uint32")
            tile = own.view(128, columns, layout=TileLayout(S[(128, columns) : (1 @ tid_in_wg, 1)]))
            to = memory.alloc((128, columns), "uint32")
            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()
            with Tx.thread():
                Tx.fill(own, 77)
            with Tx.warpgroup():
                Tx.copy(to, tile)
            Tx.ptx.tcgen05.fence.before_thread_sync()
            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()
            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    # rows of 16 or 32 bytes without a swizzle, in groups of 8; chunks of 16 bytes 128 bytes apart
                    start: Tx.uint64 = Tx.cast(Tx.cast(source.data, "uint32"), "uint64") >> 4
                    word = Tx.meta_var(start | (8 << 16) | (columns * 2 << 32) | (1 << 46))
                    Tx.ptx.tcgen05.cp(memory.addr, word, shape=shape, multicast=multicast)
                    Tx.ptx.tcgen05.commit(bar.ptr_to([0]))
            Tx.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            Tx.ptx.tcgen05.fence.after_thread_sync()
            with Tx.warpgroup():
                Tx.copy(tile, to)
            with Tx.thread():
                Tx.copy(D[tid, :], own)
            Tx.cuda.cta_sync()
            memory.dealloc()

    chunks = columns // 4
    values = np.random.default_rng(0).integers(0, 255, (rows, columns * 4), np.uint8)
    groups = -(-rows // 8)
    memory = np.zeros((groups, chunks, 8, 16), np.uint8)  # core matrices: 8 rows of 16 bytes
    for row in range(rows):
        memory[row // 8, :, row % 8] = values[row].reshape(chunks, 16)
    d = np.zeros((128, columns), np.uint32)
    report = tvm.simulate(kernel, memory.reshape(rows, columns * 4), d)
    assert report.verdict == "ok" and not report.findings, str(report)
    expected = np.full((128, columns), 77, np.uint32)
    for row, lanes in enumerate(cp_lanes(shape, multicast)):
        expected[lanes] = values[row].view(np.uint32)
    assert (d == expected).all()


def test_four_rows_go_to_the_first_lanes_of_the_groups() -> None:
    assert cp_lanes("4x256b", "").tolist() == [[0], [32], [64], [96]]


def rows_kernel(dtype: str, width: int, rows: int = 128, layout: Any = None, **options: Any) -> PrimFunc:
    """A tile of rows from shared to tensor memory by tcgen05.cp, and all lanes back through registers.

    layout: that of the tile in tensor memory, where it has fewer rows than lanes.
    """

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((128, width), dtype), D: Tx.Buffer((128, width), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            tid = Tx.meta_var(warp_id * 32 + lane_id)
            pool = Tx.PoolAllocator()
            bar = pool.alloc((1,), "uint64", align=8)
            As = pool.alloc((128, width), dtype, layout=swizzled(dtype, B128, (128, width)), align=1024)
            memory = TMEMPool(pool, 256)
            pool.commit()
            memory.commit()
            with Tx.thread()[tid == 0]:
                Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            Tx.ptx.fence.mbarrier_init()
            with Tx.cta():
                Tx.copy(As, A)
            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()
            to = memory.alloc((128, width), dtype)
            own = Tx.alloc_local((width,), dtype)
            tile = own.view(128, width, layout=TileLayout(S[(128, width) : (1 @ tid_in_wg, 1)]))
            if layout is not None:
                with Tx.thread():
                    Tx.fill(own, 7)
                with Tx.warpgroup():
                    Tx.copy(to, tile)
                Tx.ptx.tcgen05.fence.before_thread_sync()
                Tx.cuda.cta_sync()
                Tx.ptx.tcgen05.fence.after_thread_sync()
            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    if layout is None:
                        Tx.copy_async(to[:, :], As[:, :], **options)
                    else:
                        some = Tx.decl_buffer(
                            (rows, width), dtype, scope="tmem", allocated_addr=memory.addr, layout=layout
                        )
                        Tx.copy_async(some[:, :], As[:rows, :], **options)
                    Tx.ptx.tcgen05.commit(bar.ptr_to([0]))
            Tx.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            Tx.ptx.tcgen05.fence.after_thread_sync()
            with Tx.warpgroup():
                Tx.copy(tile, to)
            with Tx.thread():
                Tx.copy(D[tid, :], own)
            Tx.cuda.cta_sync()
            memory.dealloc()

    return kernel


FEW_ROWS: dict[tuple[str, str], Any] = {
    ("4x256b", ""): TileLayout(S[(4, 64) : (32 @ TLane, 1 @ TCol)]),
    ("64x128b", "warpx2::02_13"): TileLayout(S[(64, 64) : (1 @ TLane, 1 @ TCol)] + R[2 : 64 @ TLane]),
    ("64x128b", "warpx2::01_23"): TileLayout(
        S[(2, 32, 64) : (64 @ TLane, 1 @ TLane, 1 @ TCol)] + R[2 : 32 @ TLane]
    ).reshape((64, 64)),
    ("32x128b", "warpx4"): TileLayout(S[(32, 64) : (1 @ TLane, 1 @ TCol)] + R[4 : 32 @ TLane]),
}


@pytest.mark.parametrize("shape, multicast", list(FEW_ROWS))
def test_few_rows_are_copied_to_the_lanes_that_their_layout_says(shape: str, multicast: str) -> None:
    rows = CP_SHAPES[shape, multicast][0]
    a = np.random.default_rng(0).integers(0, 100, (128, 64)).astype(np.float16)
    d = np.zeros_like(a)
    kernel = rows_kernel("float16", 64, rows, FEW_ROWS[shape, multicast])
    report = tvm.simulate(kernel, a, d)
    assert report.verdict == "ok" and not report.findings, str(report)
    expected = np.full_like(a, 7)
    for row, lanes in enumerate(cp_lanes(shape, multicast)):
        expected[lanes] = a[row]
    assert (d == expected).all()


@pytest.mark.compiler
def test_decompressions_and_shifts_compile_and_are_not_modelled() -> None:
    """No text of the ISA says which bits go where: the simulator says so, and calls no result right."""

    @Tx.prim_func
    def kernel(A: Tx.Buffer((32,), "uint32")):
        Tx.device_entry()
        tx = Tx.thread_id([32])
        pool = Tx.PoolAllocator()
        bar = pool.alloc((1,), "uint64", align=8)
        source = pool.alloc((128, 32), "uint8", align=1024)
        memory = TMEMPool(pool, 32)
        pool.commit()
        memory.commit()
        for i in range(32):
            source[tx * 4 + i // 8, i % 8] = Tx.uint8(0)
        if tx == 0:
            Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        Tx.ptx.fence.mbarrier_init()
        Tx.ptx.fence.proxy_async("shared::cta")
        Tx.cuda.cta_sync()
        if tx == 0:
            start: Tx.uint64 = Tx.cast(Tx.cast(source.data, "uint32"), "uint64") >> 4
            Tx.ptx.tcgen05.cp(
                memory.addr, start | (8 << 16) | (16 << 32) | (1 << 46), shape="128x256b",
                decompress="b8x16.b4x16_p64",
            )
            Tx.ptx.tcgen05.shift(memory.addr)
            Tx.ptx.tcgen05.commit(bar.ptr_to([0]))
        Tx.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        memory.dealloc()
        A[tx] = Tx.uint32(tx)

    ptx = tvm.compile(kernel, target="cuda:sm_100a").source("ptx")
    assert "tcgen05.cp.cta_group::1.128x256b.b8x16.b4x16_p64 [" in ptx and "tcgen05.shift.cta_group::1.down [" in ptx
    report = tvm.simulate(kernel, np.zeros(32, np.uint32))
    assert report.verdict in ("incomplete", "hazard") and "decompression of tcgen05.cp.b8x16.b4x16_p64" in str(report)
    assert "tcgen05.shift" in str(report)


@pytest.mark.parametrize("dtype, width", [("float16", 128), ("float32", 64), ("uint8", 256)])
def test_rows_are_copied_to_tensor_memory(dtype: str, width: int) -> None:
    a = np.random.default_rng(0).integers(0, 100, (128, width)).astype(dtype)
    d = np.zeros_like(a)
    report = tvm.simulate(rows_kernel(dtype, width, shape="128x256b"), a, d)
    assert report.verdict == "ok" and not report.findings, str(report)
    assert (a == d).all()


@pytest.mark.parametrize("options, reason", [
    ({"shape": "128x128b"}, "shape is '128x128b', but the layouts of this copy are those of '128x256b'"),
    ({"multicast": "warpx4"}, "multicast is 'warpx4'"),
    ({"mbar": 0}, "tcgen05.cp signals no mbarrier by itself"),
])  # fmt: skip
def test_what_a_copy_cannot_do_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(TirxError) as error:
        lower(rows_kernel("float16", 128, **options))
    assert reason in str(error.value)


def test_a_multicast_belongs_to_its_shape() -> None:
    with pytest.raises(TirxError, match="needs multicast='warpx4', not ''"):

        @Tx.prim_func
        def kernel(A: Tx.Buffer((32,), "float32")):
            Tx.device_entry()
            tx = Tx.thread_id([32])
            Tx.ptx.tcgen05.cp(Tx.uint32(0), Tx.uint64(0), shape="32x128b")


def test_elements_of_4_bits_are_operands_only() -> None:
    half = gmem("A", (128, 64), "float4_e2m1fn")
    with pytest.raises(TirxError, match="copy accesses whole bytes, but A is float4_e2m1fn"):
        call("copy", half, half)


def test_both_factors_are_given() -> None:
    c, a, sf = gmem("C", (128, 128)), gmem("A", (128, 64)), gmem("SF", (128, 4), "float8_e8m0fnu")
    with pytest.raises(TirxError, match="SFA without SFB"):
        call("gemm_async", c, a, a, SFA=sf)
    with pytest.raises(TirxError, match="is given SFB without SFA"):
        call("gemm_async", c, a, a, SFB=sf)
