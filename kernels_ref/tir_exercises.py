"""The exercises of the lesson on tensor expressions and TIR, solved (lessons/tir.md)."""

from __future__ import annotations

from typing import Protocol

from tirx_mini import te


class Computation(Protocol):
    """A computation of the exercises: its tensors, inputs first and the output last."""

    @property
    def tensors(self) -> tuple[te.Tensor, ...]: ...


def convolution_tiled(c: Computation) -> te.Schedule:
    """Schedule B: tiles of 8 × 8 elements, whose rows are vectors of 8."""
    conv = c.tensors[-1]
    s = te.create_schedule(conv.op)
    io, jo, ii, ji = s[conv].tile(conv.op.axis[0], conv.op.axis[1], 8, 8)
    s[conv].reorder(io, jo, ii, *conv.op.reduce_axis, ji)
    s[conv].vectorize(ji)
    return s


def convolution_unrolled(c: Computation) -> te.Schedule:
    """Schedule C: as B, and the loops over the kernel are unrolled."""
    s = convolution_tiled(c)
    conv = c.tensors[-1]
    for axis in conv.op.reduce_axis:
        s[conv].unroll(axis)
    return s


def pipeline_fused(c: Computation) -> te.Schedule:
    """One pass over the elements, in which no stage but the last is stored for more than one element."""
    *_, relu, norm, scaled = c.tensors
    s = te.create_schedule(scaled.op)
    for stage in (relu, norm):
        s[stage].compute_at(s[scaled], scaled.op.axis[1])
    return s


def matmul_staged(c: Computation, align: bool) -> te.Schedule:
    """Thread blocks of 32 × 32 threads, each thread one element of C; tiles of A in shared memory."""
    A, _, C = c.tensors
    s = te.create_schedule(C.op)
    CL = s.cache_write(C, "local")
    AA = s.cache_read(A, "shared", [CL])
    rows, columns = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")
    io, jo, ii, ji = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    s[C].reorder(io, jo, ji, ii)
    s[C].bind(io, te.thread_axis("blockIdx.y"))
    s[C].bind(jo, te.thread_axis("blockIdx.x"))
    s[C].bind(ii, rows)
    s[C].bind(ji, columns)
    s[CL].compute_at(s[C], ii)
    ko, _ = s[CL].split(C.op.reduce_axis[0], factor=32)
    s[CL].reorder(ko, *CL.op.axis)
    s[AA].compute_at(s[CL], ko)
    s[AA].bind(AA.op.axis[0], columns)
    s[AA].bind(AA.op.axis[1], rows)
    if align:
        s[AA].storage_align(AA.op.axis[0], factor=32, offset=1)
    return s


def matmul_tensor_cores(c: Computation) -> te.Schedule:
    """Thread blocks of four warps on a tile of 32 × 32; the tensor core computes, by `tensorize`."""
    A, B, C = c.tensors
    s = te.create_schedule(C.op)
    CF = s.cache_write(C, "wmma.accumulator")
    copies = [s.cache_read(tensor, "shared", [CF]) for tensor in (A, B)]
    lanes, warp_columns, warp_rows = (te.thread_axis(f"threadIdx.{axis}") for axis in "xyz")
    io, jo, ii, ji = s[C].tile(C.op.axis[0], C.op.axis[1], 32, 32)
    wi, wj, ii, ji = s[C].tile(ii, ji, 16, 16)
    s[C].bind(io, te.thread_axis("blockIdx.y"))
    s[C].bind(jo, te.thread_axis("blockIdx.x"))
    s[C].bind(wi, warp_rows)
    s[C].bind(wj, warp_columns)
    _, _, first, _ = s[C].tile(ii, ji, 16, 8)
    s[C].tensorize(first, te.mma_store())
    s[CF].compute_at(s[C], wj)
    ko, ki = s[CF].split(C.op.reduce_axis[0], factor=32)
    kt, ki = s[CF].split(ki, factor=16)
    it, jt, ii, ji = s[CF].tile(CF.op.axis[0], CF.op.axis[1], 16, 8)
    s[CF].reorder(ko, kt, it, jt, ii, ji, ki)
    s[CF].tensorize(ii, te.mma())
    for copy in copies:
        stage = s[copy]
        stage.compute_at(s[CF], ko)
        rows, columns = copy.op.axis
        columns, vector = stage.split(columns, factor=8)
        rest, lane = stage.split(stage.fuse(rows, columns), factor=32)
        row, column = stage.split(rest, factor=2)
        stage.vectorize(vector)
        for axis, index in ((lane, lanes), (column, warp_columns), (row, warp_rows)):
            stage.bind(axis, index)
        stage.storage_align(copy.op.axis[0], factor=64, offset=8)
    return s
