"""The exercises of the lesson on tensor expressions and TIR, solved (lessons/tir.md)."""

from __future__ import annotations

from typing import Protocol

from tirx_mini import te


class Computation(Protocol):
    """A computation of the exercises: its tensors, inputs first and the output last."""

    @property
    def tensors(self) -> tuple[te.Tensor, ...]: ...


def convolution_tiled(c: Computation) -> te.Schedule:
    """Schedule B: tiles of 4 × 16 elements, whose rows are vectors of 16."""
    filtered = c.tensors[-1]
    s = te.create_schedule(filtered.op)
    yo, xo, yi, xi = s[filtered].tile(filtered.op.axis[0], filtered.op.axis[1], 4, 16)
    s[filtered].reorder(yo, xo, yi, *filtered.op.reduce_axis, xi)
    s[filtered].vectorize(xi)
    return s


def convolution_unrolled(c: Computation) -> te.Schedule:
    """Schedule C: as B, and the loops over the taps are unrolled."""
    s = convolution_tiled(c)
    filtered = c.tensors[-1]
    for axis in filtered.op.reduce_axis:
        s[filtered].unroll(axis)
    return s


def pipeline_fused(c: Computation) -> te.Schedule:
    """One pass over the elements, in which no stage but the last is stored for more than one element."""
    *_, relu, norm, scaled = c.tensors
    s = te.create_schedule(scaled.op)
    for stage in (relu, norm):
        s[stage].compute_at(s[scaled], scaled.op.axis[1])
    return s


def matmul_staged(c: Computation, align: bool) -> te.Schedule:
    """Thread blocks of 32 × 32 threads, each thread one element of the product; tiles of `left` in shared memory."""
    left, _, product = c.tensors
    s = te.create_schedule(product.op)
    own = s.cache_write(product, "local")
    tiles = s.cache_read(left, "shared", [own])
    block_row, block_column, row, column = s[product].tile(product.op.axis[0], product.op.axis[1], 32, 32)
    s[product].reorder(block_row, block_column, column, row)
    lanes, warps = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")
    for loop, index in ((block_row, te.thread_axis("blockIdx.y")), (block_column, te.thread_axis("blockIdx.x")),
                        (column, warps), (row, lanes)):  # fmt: skip
        s[product].bind(loop, index)
    s[own].compute_at(s[product], row)
    outer, _ = s[own].split(product.op.reduce_axis[0], factor=32)
    s[own].reorder(outer, *own.op.axis)
    s[tiles].compute_at(s[own], outer)
    for loop, index in zip(tiles.op.axis, (warps, lanes), strict=True):
        s[tiles].bind(loop, index)
    if align:
        s[tiles].storage_align(tiles.op.axis[0], factor=32, offset=1)
    return s


def matmul_tensor_cores(c: Computation) -> te.Schedule:
    """Thread blocks of four warps on a tile of 32 × 32; the tensor core computes, by `tensorize`."""
    *operands, product = c.tensors
    s = te.create_schedule(product.op)
    sums = s.cache_write(product, "wmma.accumulator")
    copies = [s.cache_read(operand, "shared", [sums]) for operand in operands]
    lanes, warp_columns, warp_rows = (te.thread_axis(f"threadIdx.{axis}") for axis in "xyz")
    block_row, block_column, row, column = s[product].tile(product.op.axis[0], product.op.axis[1], 32, 32)
    warp_row, warp_column, row, column = s[product].tile(row, column, 16, 16)
    for loop, index in ((block_row, te.thread_axis("blockIdx.y")), (block_column, te.thread_axis("blockIdx.x")),
                        (warp_row, warp_rows), (warp_column, warp_columns)):  # fmt: skip
        s[product].bind(loop, index)
    _, _, first, _ = s[product].tile(row, column, 16, 8)
    s[product].tensorize(first, te.mma_store())
    s[sums].compute_at(s[product], warp_column)
    outer, inner = s[sums].split(product.op.reduce_axis[0], factor=32)
    step, inner = s[sums].split(inner, factor=16)
    tile_row, tile_column, row, column = s[sums].tile(sums.op.axis[0], sums.op.axis[1], 16, 8)
    s[sums].reorder(outer, step, tile_row, tile_column, row, column, inner)
    s[sums].tensorize(row, te.mma())
    for copy in copies:
        stage = s[copy]
        stage.compute_at(s[sums], outer)
        rows, columns = copy.op.axis
        columns, vector = stage.split(columns, factor=8)
        rest, lane = stage.split(stage.fuse(rows, columns), factor=32)
        row, column = stage.split(rest, factor=2)
        stage.vectorize(vector)
        for axis, index in ((lane, lanes), (column, warp_columns), (row, warp_rows)):
            stage.bind(axis, index)
        stage.storage_align(copy.op.axis[0], factor=64, offset=8)
    return s
