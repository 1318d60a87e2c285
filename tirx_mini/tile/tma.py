"""The copy_async rule for TMA: one thread copies boxes between global and shared memory.

A tensor map describes the global buffer (dimensions, strides, box, swizzle). An instruction specifies the tensor map,
the coordinates of a box, and an address in shared memory. A tile whose rows are wider than its swizzle span (a
128-column fp16 tile with the 128-byte swizzle) consists of several boxes, one per slab. PTX ISA,
"cp.async.bulk.tensor"; CUDA driver API, cuTensorMapEncodeTiled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tirx_mini.hardware import MAX_TMA_RANK, MAX_TMA_STRIDE, TMA_GLOBAL_ALIGN, TMA_SMEM_ALIGN
from tirx_mini.ir import (
    HANDLE,
    AddressOf,
    Buffer,
    DataType,
    Expr,
    Stmt,
    TensorMap,
    TileCall,
    as_expr,
    int_value,
    seq,
)
from tirx_mini.isa import POLICIES, issue
from tirx_mini.layout import LayoutError, SwizzleMode, TmaBox, m, swizzle_mode, tma_boxes
from tirx_mini.records import dataclass

from .context import Context
from .region import Tile, coordinate, offsets, tiles_of
from .rule import NotMeant, Refusal, Rule


@dataclass(frozen=True)
class Transfer:
    """One box of a copy: its tensor map, innermost-first coordinates and shared-memory address."""

    map: TensorMap
    coords: tuple[Expr, ...]
    place: Expr


class TmaLoad(Rule):
    name = "tma"
    aliases = ("tma_auto", "tma_explicit")
    ops = ("copy_async",)
    doc = "TMA load from global to shared memory, completing on an mbarrier"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        if (dst.scope, src.scope) != ("shared", "global"):
            raise NotMeant(f"the copy is from {src.scope} to {dst.scope}, not from global to shared memory")
        bar = _barrier(call)
        _single_thread(ctx)
        loads = [_load(call, ctx, dst, box, bar) for box in _transfers(call, ctx, dst, src)]
        return seq(*loads, span=ctx.span)


def _load(call: TileCall, ctx: Context, dst: Tile, box: Transfer, bar: Expr) -> Stmt:
    """Return the instruction that loads a box."""
    attrs, mask = {"dim": box.map.rank, **_load_attributes(call)}, _mask(call)
    operands = AddressOf(HANDLE, dst.buffer, (box.place,)), box.map.var, bar
    if mask is None:
        return issue("cp.async.bulk.tensor.load", *operands, *box.coords, **attrs, span=ctx.span)
    return issue("cp.async.bulk.tensor.load.multicast", *operands, mask, *box.coords, **attrs, span=ctx.span)


class TmaStore(Rule):
    name = "tma"
    aliases = ("tma_auto", "tma_explicit")
    ops = ("copy_async",)
    doc = "TMA store from shared to global memory, completing in a bulk group"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        if (dst.scope, src.scope) != ("global", "shared"):
            raise NotMeant(f"the copy is from {src.scope} to {dst.scope}, not from shared to global memory")
        for option in ("mbar", "cta_mask"):
            if call.option(option) is not None:
                raise Refusal(
                    f"a TMA store completes through a bulk group and takes no {option}",
                    "remove it, and follow the copy with Tx.ptx.cp_async.bulk.commit_group() and wait_group(0)",
                )
        _single_thread(ctx)
        stores = [_store(call, ctx, src, box) for box in _transfers(call, ctx, src, dst)]
        return seq(*stores, span=ctx.span)


def _barrier(call: TileCall) -> Expr:
    bar: Any = call.option("mbar")
    if bar is None:
        raise Refusal("a TMA load needs the mbarrier that counts its bytes", "pass mbar=bar.ptr_to([stage])")
    return bar


def _cache_hint(call: TileCall) -> dict[str, str]:
    hint = call.option("cache_hint")
    if hint is None:
        return {}
    if hint not in POLICIES:
        known = ", ".join(f'"{name}"' for name in POLICIES)
        raise Refusal(f"cache_hint must be one of {known}, not {hint!r}")
    return {"cache_hint": str(hint)}


def _store(call: TileCall, ctx: Context, src: Tile, box: Transfer) -> Stmt:
    """Return the instruction that stores or reduces a box."""
    combine, hint = call.option("use_tma_reduce"), _cache_hint(call)
    operands = (box.map.var, AddressOf(HANDLE, src.buffer, (box.place,)), *box.coords)
    if combine is None:
        return issue("cp.async.bulk.tensor.store", *operands, dim=box.map.rank, **hint, span=ctx.span)
    if combine != "add" or hint:
        raise Refusal(
            f"a TMA store that combines adds, without a cache_hint: use_tma_reduce is {combine!r}",
            'write use_tma_reduce="add", without cache_hint',
        )
    return issue("cp.reduce.async.bulk.tensor", *operands, dim=box.map.rank, span=ctx.span)


def _load_attributes(call: TileCall) -> dict[str, int | str]:
    """Return the modifiers of a load."""
    group, mask = call.option("cta_group", 1), call.option("cta_mask")
    if group not in (1, 2):
        raise Refusal(f"cta_group must be 1 or 2, not {group!r}")
    attrs: dict[str, int | str] = {"cta_group": group, **_cache_hint(call)}
    if mask is not None and _mask(call) is None:
        value = None if isinstance(mask, str) else int_value(mask)
        if value is None or not 0 <= value < 1 << 16:
            raise Refusal(f"cta_mask must be a 16-bit number with one bit per CTA of the cluster, not {mask!r}")
        attrs["cta_mask"] = value
    return attrs


def _mask(call: TileCall) -> Expr | None:
    """Return the multicast mask if it is known only at run time, else None."""
    mask = call.option("cta_mask")
    return mask if isinstance(mask, Expr) and mask.dtype.is_integer and int_value(mask) is None else None


def _single_thread(ctx: Context) -> None:
    many = ctx.not_single_thread()
    if many:
        raise Refusal(
            f"a single thread must issue it, but {many}",
            'put it under `with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:`, in one warp',
        )


def _check_options(call: TileCall, boxes: int, dtype: DataType) -> None:
    """Raise Refusal for TVM options that this copy cannot honour."""
    if call.option("dispatch") == "tma_explicit" and boxes != 1:
        raise Refusal(
            f'"tma_explicit" is one TMA instruction, but the tile is {boxes} boxes, one for each swizzle span',
            'use dispatch="tma_auto", or copy a tile as wide as the swizzle span',
        )
    other = call.option("tma_dtype")
    if other is not None:
        try:
            same = DataType(other).bits == dtype.bits
        except ValueError as error:
            raise Refusal(f"tma_dtype: {error}") from None
        if not same:
            raise Refusal(
                f"tma_dtype {other} is not as wide as {dtype}", "pass views of both buffers with that dtype instead"
            )
    if call.option("oob") not in (None, "zero"):
        raise Refusal(f"elements outside of the tensor are 0, not {call.option('oob')!r}", 'write oob="zero"')
    if call.option("shape") is not None:
        raise Refusal("shape is an option of tcgen05.cp", "remove it: the box follows from the slices")


def _transfers(call: TileCall, ctx: Context, shared: Tile, remote: Tile) -> Iterator[Transfer]:
    """Return the boxes of a copy between shared and global tiles of the same extents."""
    dims, strides = _tensor(remote)
    mode = swizzle_mode(shared.layout)
    swizzle = 0 if mode is SwizzleMode.SWIZZLE_NONE else mode.span_bytes
    base, boxes = _boxes(ctx, shared, mode)
    _check_options(call, len(boxes), remote.dtype)
    for box in boxes:
        first = {axis: box.start[of] for axis, of in zip(remote.kept, shared.kept, strict=True)}
        extent = {axis: box.extent[of] for axis, of in zip(remote.kept, shared.kept, strict=True)}
        shape = tuple(extent.get(axis, 1) for axis in range(len(dims)))
        width = shape[-1] * remote.dtype.itemsize
        if width % TMA_GLOBAL_ALIGN:
            raise Refusal(f"the rows of the tile have {width} bytes, but TMA moves multiples of {TMA_GLOBAL_ALIGN}")
        of = _parameter(remote)
        tensor_map = ctx.tensor_maps.get(of, dims[::-1], strides[-2::-1], shape[::-1], swizzle, ctx.span)
        coords = tuple(ctx.simplify(start + first.get(axis, 0)) for axis, start in enumerate(remote.starts))
        yield Transfer(tensor_map, coords[::-1], ctx.simplify(base + box.offset))


def _boxes(ctx: Context, shared: Tile, mode: SwizzleMode) -> tuple[Expr, Sequence[TmaBox]]:
    """Return the tile's start in its buffer, in elements, and its boxes. Raises Refusal if TMA cannot address them."""
    name, itemsize = shared.buffer.name, shared.dtype.itemsize
    try:
        starts = [coordinate(start) for start in shared.starts]
        base, boxes = tma_boxes(shared.layout, starts, shared.region.extents, ctx.divisor)
    except LayoutError as error:
        raise Refusal(
            f"the layout of {name} does not suit TMA: {error}",
            "allocate it with layout=tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, shape)",
        ) from None
    align = max(TMA_SMEM_ALIGN, mode.atom_bytes)
    if any(offset % align for offset in offsets(shared)):
        raise Refusal(
            f"{name} begins at byte {sum(offsets(shared))} of shared memory, but {mode!r} needs a multiple of {align}",
            f"use pool.alloc(…, align={align}), or pool.move_base_to with a multiple of {align}",
        )
    apart = math.gcd(ctx.divisor(base), *(box.offset for box in boxes)) * itemsize
    if apart % TMA_SMEM_ALIGN:
        raise Refusal(
            f"the boxes of this slice of {name} begin at multiples of {apart} bytes, but TMA needs {TMA_SMEM_ALIGN}"
        )
    return as_expr(base), boxes


def _parameter(tile: Tile) -> Buffer:
    """Return the kernel parameter that contains a global tile, where its tensor map begins."""
    buffer = tile.buffer
    while buffer.source is not None:
        if buffer.byte_offset or buffer.elem_offset is not None or buffer.dtype != buffer.source.dtype:
            raise Refusal(
                f"{tile.buffer.name} does not begin where {tile.buffer.root.name} does, or is of another dtype",
                f"slice {tile.buffer.root.name} itself",
            )
        buffer = buffer.source
    return buffer


def _tensor(tile: Tile) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the extents and byte strides of a global buffer, outermost first.

    Raises Refusal if TMA does not support them.
    """
    buffer, itemsize = tile.buffer, tile.dtype.itemsize
    iters = tile.layout.linear.dims
    if tile.layout.axes != (m,) or any(len(dim) > 1 for dim in iters) or iters[-1][0].stride != 1:
        raise Refusal(f"{buffer.name} must be a strided tensor with contiguous rows, but its layout is {tile.layout}")
    strides = tuple(dim[0].stride * itemsize for dim in iters)
    if len(strides) > MAX_TMA_RANK:
        raise Refusal(f"{buffer.name} has {len(strides)} dimensions, but a tensor map has at most {MAX_TMA_RANK}")
    for stride in strides[:-1]:
        if stride % TMA_GLOBAL_ALIGN or stride >= MAX_TMA_STRIDE:
            raise Refusal(
                f"the rows of {buffer.name} are {stride} bytes apart, but TMA needs a multiple of {TMA_GLOBAL_ALIGN}",
                f"pad its last dimension to a multiple of {TMA_GLOBAL_ALIGN // itemsize} elements",
            )
    return buffer.shape, strides
