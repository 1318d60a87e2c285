"""Each field of a descriptor wrong in turn: no single mistake that changes the result is called right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.diagnose import Report
from tirx_mini.ir import PrimFunc
from tirx_mini.lang import SmemDescriptor, TCGen05Bar, TMABar, TMEMPool
from tirx_mini.layout import SwizzleMode, tcgen05_atom_layout, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as T

K = 64
SPANS = {0: 16, 1: 32, 2: 64, 3: 128}


@dataclass(frozen=True)
class Fields:
    """The fields of the descriptors of a product of 16-bit elements. Offsets and steps are in units of 16 bytes.

    swizzle: the code, from 0 (none) to 3 (128 bytes). steps: MMAs in a slab. slab: from one slab to the next. turned:
    whether B is contiguous along N.
    """

    a_leading: int
    a_stride: int
    a_swizzle: int
    a_step: int
    b_leading: int
    b_stride: int
    b_swizzle: int
    b_step: int
    a_slab: int = 0
    b_slab: int = 0
    steps: int = 4
    a_turned: bool = False
    b_turned: bool = False
    a_dtype: str = "float16"
    b_dtype: str = "float16"
    d_dtype: str = "float32"
    m: int = 128


def right(swizzle: int, rows: int, columns: int, turned: bool = False, m: int = 128) -> Fields:
    """The fields of tiles in the layout of `tma_shared_layout`: slabs as wide as the swizzle."""
    span = SPANS[swizzle]

    def of(extent: int) -> tuple[int, int, int]:
        slab = extent * span // 16
        return (slab if swizzle == 0 else 1), span // 2, 2 * slab if swizzle == 0 else 2

    (a_leading, a_stride, a_step), (b_leading, b_stride, b_step) = of(rows), of(columns)
    slabs = {} if swizzle in (0, 3) else {"a_slab": rows * span // 16, "b_slab": columns * span // 16}
    if turned:  # K rows of `columns` elements, of 128 bytes in each slab
        b_leading, b_stride, b_step = K * 128 // 16, 64, 16 * 128 // 16
    return Fields(
        a_leading, a_stride, swizzle, a_step, b_leading, b_stride, 3 if turned else swizzle, b_step,
        steps=span // 32 if slabs else 4, b_turned=turned, m=m, **slabs,
    )  # fmt: skip


def starts(fields: Fields) -> list[tuple[int, int, int]]:
    """The number of each MMA, and where it begins in A and in B, in units of 16 bytes."""
    sides = ((fields.a_step, fields.a_slab), (fields.b_step, fields.b_slab))
    a, b = ([i % fields.steps * along + i // fields.steps * slab for i in range(4)] for along, slab in sides)
    return [*zip(range(4), a, b, strict=True)]


def blackwell(fields: Fields, swizzle: int, columns: int, turned: bool, tma: bool, rows: int) -> PrimFunc:
    mode, shape_b = SwizzleMode(swizzle), (K, columns) if turned else (columns, K)
    a_layout = tma_shared_layout("float16", mode, (rows, K))
    b_layout = tma_shared_layout("float16", SwizzleMode(3) if turned else mode, shape_b)
    fragment = tcgen05_atom_layout("16x64b", (rows, columns), "float32")
    steps = starts(fields)

    @T.prim_func
    def kernel(A: T.Buffer((rows, K), "float16"), B: T.Buffer(shape_b, "float16"),
               D: T.Buffer((rows, columns), "float32")):  # fmt: skip
        T.device_entry()
        T.cta_id([1])
        T.warpgroup_id([1])
        warp = T.warp_id_in_wg([4])
        T.lane_id([32])
        pool = T.SMEMPool()
        tmem = TMEMPool(pool, 256)
        a = pool.alloc((rows, K), "float16", layout=a_layout)
        b = pool.alloc(shape_b, "float16", layout=b_layout)
        done = TCGen05Bar(pool, 1)
        loaded = TMABar(pool, 1)
        pool.commit()
        tmem.commit()
        done.init(1)
        loaded.init(1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if tma:
            if warp == 0:
                if T.ptx.elect_sync():
                    T.copy_async(a[:, :], A[:, :], dispatch="tma", mbar=loaded.ptr_to([0]))
                    T.copy_async(b[:, :], B[:, :], dispatch="tma", mbar=loaded.ptr_to([0]))
                    loaded.arrive(0, (rows + columns) * K * 2)
            loaded.wait(0, 0)
        else:
            T.cta.copy(a[:, :], A[:, :])
            T.cta.copy(b[:, :], B[:, :])
            T.cuda.cta_sync()
        T.ptx.tcgen05.fence.after_thread_sync()
        acc = tmem.alloc_tcgen05_mma_D((rows, columns), M=rows, cta_group=1)
        a_desc = SmemDescriptor()
        b_desc = SmemDescriptor()
        a_desc.init(a.ptr_to([0, 0]), fields.a_leading, fields.a_stride, fields.a_swizzle)
        b_desc.init(b.ptr_to([0, 0]), fields.b_leading, fields.b_stride, fields.b_swizzle)
        shape = T.alloc_local((1,), "uint32")
        T.ptx.tcgen05.encode_instr_descriptor(
            T.address_of(shape[0]), d_dtype=fields.d_dtype, a_dtype=fields.a_dtype, b_dtype=fields.b_dtype,
            M=fields.m, N=columns, K=16, trans_a=fields.a_turned, trans_b=fields.b_turned,
        )  # fmt: skip
        if warp == 0:
            if T.ptx.elect_sync():
                for step, in_a, in_b in steps:
                    T.ptx.tcgen05.mma(
                        tmem.addr, a_desc.add_16B_offset(in_a), b_desc.add_16B_offset(in_b),
                        shape[0], step != 0,
                    )  # fmt: skip
                done.arrive(0)
        done.wait(0, 0)
        T.ptx.tcgen05.fence.after_thread_sync()
        if rows == 128:
            registers = T.wg_reg_tile(columns, "float32")
            T.wg.copy(registers[:, :], acc[:, :])
            T.wg.copy(D[:, :], registers[:, :])
        else:
            out = T.alloc_local((rows, columns), "float32", layout=fragment)
            T.wg.copy_async(out, acc)
            T.ptx.tcgen05.wait.ld()
            T.wg.copy(D, out)
        T.cuda.cta_sync()
        tmem.dealloc()

    return kernel


def hopper(fields: Fields, swizzle: int, columns: int, turned: bool, tma: bool, rows: int) -> PrimFunc:
    mode, shape_b = SwizzleMode(swizzle), (K, columns) if turned else (columns, K)
    a_layout = tma_shared_layout("float16", mode, (rows, K))
    b_layout = tma_shared_layout("float16", SwizzleMode(3) if turned else mode, shape_b)
    steps = starts(fields)
    dtype = {"float16": "f16", "bfloat16": "bf16"}[fields.a_dtype]

    @T.prim_func
    def kernel(A: T.Buffer((rows, K), "float16"), B: T.Buffer(shape_b, "float16"),
               D: T.Buffer((rows, columns), "float32")):  # fmt: skip
        T.device_entry()
        T.cta_id([1])
        T.warpgroup_id([1])
        warp = T.warp_id_in_wg([4])
        T.lane_id([32])
        pool = T.SMEMPool()
        a = pool.alloc((rows, K), "float16", layout=a_layout)
        b = pool.alloc(shape_b, "float16", layout=b_layout)
        loaded = TMABar(pool, 1)
        pool.commit()
        loaded.init(1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if tma:
            if warp == 0:
                if T.ptx.elect_sync():
                    T.copy_async(a[:, :], A[:, :], dispatch="tma", mbar=loaded.ptr_to([0]))
                    T.copy_async(b[:, :], B[:, :], dispatch="tma", mbar=loaded.ptr_to([0]))
                    loaded.arrive(0, (rows + columns) * K * 2)
            loaded.wait(0, 0)
        else:
            T.cta.copy(a[:, :], A[:, :])
            T.cta.copy(b[:, :], B[:, :])
            T.cuda.cta_sync()
        words = T.alloc_local((2,), "uint64")
        sums = T.alloc_local((columns // 2,), "float32")
        tile = sums.view(rows, columns, layout=wgmma_accumulator_layout(columns, rows))
        T.ptx.wgmma.encode_matrix_descriptor(
            T.address_of(words[0]), a.ptr_to([0, 0]), fields.a_leading, fields.a_stride, fields.a_swizzle
        )
        T.ptx.wgmma.encode_matrix_descriptor(
            T.address_of(words[1]), b.ptr_to([0, 0]), fields.b_leading, fields.b_stride, fields.b_swizzle
        )
        T.ptx.wgmma.fence()
        for step, in_a, in_b in steps:
            T.ptx.wgmma.mma_async(
                sums.ptr_to([0]), words[0] + T.uint64(in_a), words[1] + T.uint64(in_b), step != 0,
                n=columns, dtype=dtype, transpose_a=fields.a_turned, transpose_b=fields.b_turned,
            )  # fmt: skip
        T.ptx.wgmma.commit_group()
        T.ptx.wgmma.wait_group(0)
        T.wg.copy(D[:, :], tile[:, :])

    return kernel


KERNELS = {"b200": blackwell, "h100": hopper}


@dataclass(frozen=True)
class Case:
    """A right kernel. rows: of A; with 128 of them, M of an MMA is 128 on a B200; a wgmma has 64."""

    gpu: str
    swizzle: int
    columns: int = 64
    turned: bool = False
    tma: bool = True
    rows: int = 64

    @property
    def fields(self) -> Fields:
        return right(self.swizzle, self.rows, self.columns, self.turned, self.rows)

    def run(self, fields: Fields) -> tuple[Report, bool]:
        """The report, and whether D is right."""
        kernel = KERNELS[self.gpu](fields, self.swizzle, self.columns, self.turned, self.tma, self.rows)
        rng = np.random.default_rng(0)
        a, b = (rng.integers(-4, 5, (n, K)).astype(np.float16) for n in (self.rows, self.columns))
        d = np.zeros((self.rows, self.columns), np.float32)
        given = np.ascontiguousarray(b.T) if self.turned else b
        report = tvm.simulate(kernel, a, given, d, gpu=self.gpu)
        return report, bool((d == a.astype(np.float32) @ b.T.astype(np.float32)).all())


CASES = [
    Case("b200", 3, 64),
    Case("b200", 2, 64, tma=False, rows=128),
    Case("b200", 0, 64, tma=False),
    Case("b200", 3, 128, turned=True),
    Case("h100", 3, 64, tma=False),
    Case("h100", 1, 64),
    Case("h100", 3, 128, turned=True),
]


def mistakes(fields: Fields) -> Iterator[Fields]:
    """The fields with one of them wrong."""
    for name in ("a_swizzle", "b_swizzle"):
        yield from (replace(fields, **{name: code}) for code in range(4) if code != getattr(fields, name))
    for name in ("a_stride", "b_stride", "a_leading", "b_leading", "a_step", "b_step", "a_slab", "b_slab"):
        value = getattr(fields, name)
        others = {0, 1, value // 2, value * 2, value + 8, 64}
        yield from (replace(fields, **{name: other}) for other in sorted(others) if other >= 0 and other != value)
    yield from (replace(fields, a_step=n, b_step=n) for n in (0, 1, 4, 8) if n != fields.a_step)
    yield replace(fields, a_turned=not fields.a_turned)
    yield replace(fields, b_turned=not fields.b_turned)
    yield replace(fields, a_dtype="bfloat16", b_dtype="bfloat16")
    yield replace(fields, a_dtype="bfloat16")
    yield replace(fields, b_dtype="bfloat16")
    yield replace(fields, d_dtype="float16")
    yield replace(fields, m=192 - fields.m)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_single_mistake_that_changes_the_result_is_right(case: Case) -> None:
    report, same = case.run(case.fields)
    assert report.verdict == "ok" and not report.findings and same, report
    missed = []
    for fields in mistakes(case.fields):
        report, same = case.run(fields)
        if not same and report.verdict in ("ok", "incomplete"):
            missed.append((fields, report))
    assert not missed, missed
