"""What no Hopper chip has: the forms of each Blackwell instruction, in kernels that are compiled, and not run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

PER_NUMBER = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4}
"""Registers of tcgen05.ld and st for each unit of `num` (PTX ISA: tcgen05.ld)."""
FORMS = tuple((op, abs, nan) for op in ("min", "max") for abs in ("", "abs") for nan in ("", "NaN"))
KINDS = ("f16", "tf32", "f8f6f4", "i8")


def tensor_memory(shape: str, num: int) -> PrimFunc:
    """Allocation, a store to tensor memory and a load from it."""
    count = PER_NUMBER[shape] * num

    @T.prim_func
    def kernel(out: T.Buffer((32, count), "uint32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        place = T.alloc_shared((1,), "uint32")
        values = T.alloc_local((count,), "uint32")
        T.ptx.tcgen05.alloc(place.ptr_to([0]), 512, cta_group=1)
        T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
        T.cuda.cta_sync()
        for i in T.unroll(count):
            values[i] = T.Cast("uint32", tx + i)
        T.ptx.tcgen05.st(place[0], values.ptr_to([0]), shape=shape, num=num)
        T.ptx.tcgen05.wait.st()
        T.ptx.tcgen05.fence.before_thread_sync()
        T.cuda.cta_sync()
        T.ptx.tcgen05.fence.after_thread_sync()
        T.ptx.tcgen05.ld(values.ptr_to([0]), place[0], shape=shape, num=num)
        T.ptx.tcgen05.wait.ld()
        for i in T.unroll(count):
            out[tx, i] = values[i]
        T.cuda.cta_sync()
        T.ptx.tcgen05.dealloc(place[0], 512, cta_group=1)

    return kernel


def products(group: int, mask: int | None, late: bool = False) -> PrimFunc:
    """An MMA of each kind, and a commit, by one CTA or a pair. late: the mask is computed at run time."""

    @T.prim_func
    def kernel(descriptors: T.Buffer((2,), "uint64"), idesc: T.Buffer((4,), "uint32")):
        T.device_entry()
        cta = T.cta_id([group], parent="kernel")
        rank = T.cta_id([group], parent="cluster")
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            for i, kind in enumerate(KINDS):
                T.ptx.tcgen05.mma(0, descriptors[0], descriptors[1], idesc[i], i > 0, cta_group=group, kind=kind)
            ctas = T.meta_var(cta + (mask or 0) if late else mask)
            T.ptx.tcgen05.commit(bar.ptr_to([0]), cta_group=group, cta_mask=ctas)
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)

    return kernel


def forms_of_products(group: int) -> PrimFunc:
    """MMAs that leave lanes as they are, that scale D, weight-stationary ones, and some under a condition."""

    @T.prim_func
    def kernel(descriptors: T.Buffer((2,), "uint64"), idesc: T.Buffer((4,), "uint32"), masks: T.Buffer((8,), "uint32")):
        T.device_entry()
        cta = T.cta_id([group], parent="kernel")
        rank = T.cta_id([group], parent="cluster")
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        lanes = [masks[i] for i in range(4 * group)]
        left, right = descriptors[0], descriptors[1]
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.tcgen05.mma.masked(0, left, right, idesc[0], True, *lanes, cta_group=group, scale_input_d=2)
            T.ptx.tcgen05.mma.a_in_tmem.masked(0, 128, right, idesc[0], True, *lanes, cta_group=group)
            if group == 1:
                T.ptx.tcgen05.mma.ws(0, left, right, idesc[1], True)
                T.ptx.tcgen05.mma.ws.a_in_tmem(0, 128, right, idesc[1], True)
            T.ptx.tcgen05.mma(
                0, left, right, idesc[2], d_dtype="float32", a_dtype="float16", b_dtype="float16", use_a_tmem=False,
                cta_group=group, pred=masks[0],
            )  # fmt: skip
            T.ptx.tcgen05.commit(bar.ptr_to([0]), cta_group=group, pred=masks[0])
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)

    return kernel


def other_products(group: int) -> PrimFunc:
    """MMAs with A in tensor memory, and of each kind that scales blocks, after copies of factors to tensor memory."""

    @T.prim_func
    def kernel(descriptors: T.Buffer((2,), "uint64"), idesc: T.Buffer((8,), "uint32")):
        T.device_entry()
        cta = T.cta_id([group], parent="kernel")
        rank = T.cta_id([group], parent="cluster")
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            for shape, multicast in COPIES:
                T.ptx.tcgen05.cp(256, descriptors[0], shape=shape, multicast=multicast, cta_group=group)
                for source in ("b8x16.b6x16_p32", "b8x16.b4x16_p64"):
                    T.ptx.tcgen05.cp(
                        256, descriptors[0], shape=shape, multicast=multicast, cta_group=group, decompress=source
                    )
            T.ptx.tcgen05.shift(256, cta_group=group)
            for i, (kind, scale_vec) in enumerate(SCALED):
                T.ptx.tcgen05.mma.block_scale(
                    0,
                    descriptors[0],
                    descriptors[1],
                    idesc[i],
                    256,
                    260,
                    i > 0,
                    cta_group=group,
                    kind=kind,
                    scale_vec=scale_vec,
                )
            for i, kind in enumerate(KINDS):
                T.ptx.tcgen05.mma.a_in_tmem(0, 128, descriptors[1], idesc[i + 4], True, cta_group=group, kind=kind)
            T.ptx.tcgen05.commit(bar.ptr_to([0]), cta_group=group)
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)

    return kernel


SCALED = (("mxf8f6f4", 1), ("mxf4", 2), ("mxf4nvf4", 2), ("mxf4nvf4", 4))
"""Kinds of MMAs with the factors of a row that they have (PTX ISA: tcgen05.mma, .scale_vectorsize)."""
COPIES = (
    ("128x256b", ""), ("4x256b", ""), ("128x128b", ""), ("64x128b", "warpx2::02_13"), ("64x128b", "warpx2::01_23"),
    ("32x128b", "warpx4"),
)  # fmt: skip
"""Shapes of tcgen05.cp with the groups of lanes that they write."""
SHAPES = (("32x32b", 1), ("32x32b", 64), ("32x32b", 128), ("16x64b", 32), ("16x128b", 16), ("16x256b", 8))


def pairs() -> PrimFunc:
    """Arithmetic on pairs of numbers, and on three numbers."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "uint64"), F: T.Buffer((32,), "float32"), out: T.Buffer((4, 32), "uint64")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        out[0, tx] = T.ptx.add.f32x2(A[tx], A[31 - tx])
        out[1, tx] = T.ptx.sub.f32x2(A[tx], A[31 - tx], rounding="rz")
        out[2, tx] = T.ptx.mul.f32x2(A[tx], A[31 - tx], ftz=True)
        out[3, tx] = T.ptx.fma.f32x2(A[tx], A[tx], A[31 - tx])
        zeros = T.alloc_shared((32,), "uint64")
        T.ptx.st_bulk(zeros.ptr_to([0]), 256, weak=True)
        F[tx] = T.ptx.max3.f32(F[tx], 1.0, T.ptx.min3.f32(F[tx], 2.0, 3.0))

    return kernel


def bytes_of_matrices() -> PrimFunc:
    """Blocks of bytes to registers and back, transposed both times."""

    @T.prim_func
    def kernel(A: T.Buffer((32, 16), "uint8"), out: T.Buffer((32, 16), "uint8")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        box = T.alloc_shared((32, 16), "uint8", align=16)
        mine = T.alloc_local((4,), "uint32")
        for i in T.serial(16):
            box[tx, i] = A[tx, i]
        T.cuda.warp_sync()
        T.call("ldmatrix.m16n16", mine.ptr_to([0]), box.ptr_to([tx, 0]), num=2)
        T.cuda.warp_sync()
        T.ptx.stmatrix(True, 4, ".b8", box.ptr_to([tx, 0]), *[mine.ptr_to([i]) for i in range(4)], shape="m16n8")
        T.cuda.warp_sync()
        for i in T.serial(16):
            out[tx, i] = box[tx, i]

    return kernel


def launch_control() -> PrimFunc:
    """A request for a cluster that has not begun, and its answer."""

    @T.prim_func
    def kernel(out: T.Buffer((64,), "uint32")):
        T.device_entry()
        bx = T.cta_id([64])
        tx = T.thread_id([32])
        answer = T.alloc_shared((4,), "uint32", align=16)
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 16)
            T.ptx.clc_try_cancel(answer.ptr_to([0]), bar.ptr_to([0]), multicast=False)
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            out[bx] = T.ptx.clc_query_cancel(answer.ptr_to([0]))

    return kernel


def extremes_of_floats() -> PrimFunc:
    """redux of float32, in all its forms, and a tensor map that a warp copies to global memory."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), out: T.Buffer((8, 32), "float32"), maps: T.Buffer((16,), "uint64")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        built = T.alloc_shared((16,), "uint64")
        if tx < 16:
            built[tx] = T.Cast("uint64", tx)
        for i, (op, abs, nan) in enumerate(FORMS):
            out[i, tx] = T.ptx.redux.f32(T.uint32(0xFFFFFFFF), A[tx], op=op, abs=abs, nan=nan)
        T.ptx.tensormap.cp_fenceproxy(maps.ptr_to([0]), built.ptr_to([0]))

    return kernel


BLACKWELL: Mapping[str, Callable[[], PrimFunc]] = {
    **{f"tcgen05.ld, st {shape}.x{num}": partial(tensor_memory, shape, num) for shape, num in SHAPES},
    "tcgen05.mma, commit": partial(products, 1, None),
    "tcgen05.mma, commit of a pair": partial(products, 2, None),
    "tcgen05.mma, commit of a pair, multicast": partial(products, 2, 3),
    "tcgen05.mma, commit of a pair, multicast by a mask of run time": partial(products, 2, 2, late=True),
    "tcgen05.mma of lanes, of a scaled D, ws": partial(forms_of_products, 1),
    "tcgen05.mma of lanes, of a scaled D, of a pair": partial(forms_of_products, 2),
    "tcgen05.cp, mma with A in tensor memory or scaled": partial(other_products, 1),
    "tcgen05.cp, mma with A in tensor memory or scaled, of a pair": partial(other_products, 2),
    "pairs of numbers, three numbers": pairs,
    "ldmatrix, stmatrix of bytes": bytes_of_matrices,
    "clusterlaunchcontrol": launch_control,
    "redux of float32, a tensor map that a warp copies": extremes_of_floats,
}
"""What makes the kernels, by what they try."""
