"""Explicit TMA copies, and TMA stores of tiles from shared to global memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx_mini.hardware import MAX_TMA_BOX, MAX_TMA_RANK, TMA_GLOBAL_ALIGN
from tirx_mini.ir import (
    HANDLE,
    AddressOf,
    Buffer,
    BufferLoad,
    Expr,
    If,
    PrimFunc,
    Region,
    Span,
    Stmt,
    TileCall,
    TirxError,
    binary,
    int_value,
    seq,
    special,
)
from tirx_mini.isa import issue
from tirx_mini.layout import Layout
from tirx_mini.tile import OPS

from .gemm import PRODUCTS, Place, capability, shared_layout

COPY, TMA_COPY = "tl.copy", "tl.tma_copy"


def tma_moves(far: Region, near: Region) -> bool:
    """Return whether TMA can copy between parts of a global and a shared buffer (CUDA driver API:
    cuTensorMapEncodeTiled).

    Both have the same dtype, the same extents apart from those of 1, and rows of a multiple of 16 bytes. A box has
    at most 256 elements along a dimension.
    """
    array, tile = far.buffer, near.buffer
    if array.scope != "global" or tile.scope != "shared" or array.dtype != tile.dtype:
        return False
    if array.layout is not None or array.source is not None or array.ndim > MAX_TMA_RANK or tile.source is not None:
        return False
    extents, inner = ([int_value(r.extent) for r in region.ranges] for region in (far, near))
    if None in extents or None in inner or extents[-1] == 1:
        return False
    if [n for n in extents if n != 1] != [n for n in inner if n != 1] or inner[-1] != tile.shape[-1]:
        return False
    cut = tile.ndim > 1 and tile.shape[-2] % 8 == 0  # a swizzle cuts long rows into slabs
    if (extents[-1] or 0) > MAX_TMA_BOX and not cut:
        return False
    size = array.dtype.itemsize
    return tile.shape[-1] * size % TMA_GLOBAL_ALIGN == 0 and array.shape[-1] * size % TMA_GLOBAL_ALIGN == 0


def stores_by_tma(call: TileCall, arch: str) -> bool:
    """Return whether a T.copy from shared to global memory is lowered to a TMA store."""
    source, target = call.operands[:2]
    if not (isinstance(source, Region) and isinstance(target, Region)) or call.option("disable_tma", False):
        return False
    return capability(arch) >= 90 and source.buffer.scope == "shared" and tma_moves(target, source)


def tma_store(call: TileCall, place: Place, *, wait: bool = True) -> Stmt:
    """Emit a TMA store by the first thread of the team, and a wait until the tile can be reused.

    The tile was written by ordinary stores, whose threads have made them visible to the async proxy.
    """
    source, target = call.operands[:2]
    store = OPS["copy_async"].build(target, source, dispatch="tma", scope="thread", span=call.span)
    waited = issue("cp.async.bulk.wait_group", n=0, span=call.span) if wait else None
    return _by_one(place, seq(store, issue("cp.async.bulk.commit_group", span=call.span), waited), call.span)


def async_operands(func: PrimFunc, arch: str) -> set[Buffer]:
    """Return the shared buffers that tensor cores or TMA read through the async proxy (PTX ISA: "Async proxy"): a
    thread that stores to one executes `fence.proxy.async` before it synchronises with the readers.
    """
    found: set[Buffer] = set()
    for call in (node for node in func.nodes if isinstance(node, TileCall)):
        if call.op in PRODUCTS:
            a, b, c = call.operands[:3]
            in_tmem = isinstance(c, Region) and c.buffer.scope == "tmem"
            if in_tmem or capability(arch) // 10 == 9:
                found |= {x.buffer.root for x in (a, b) if isinstance(x, Region) and x.buffer.scope == "shared"}
        elif call.op in (COPY, TMA_COPY) and stores_by_tma(call, arch):
            source = call.operands[0]
            assert isinstance(source, Region)
            found.add(source.buffer.root)
    return found


class TmaCopyRule:
    """Lowers T.tma_copy: a load with completion on an mbarrier, or a store in its own bulk group."""

    def layouts(self, call: TileCall, place: Place) -> Mapping[Buffer, Layout]:
        """Return no layouts: those required by the kernel's products apply, else row-major."""
        return {}

    def lower(self, call: TileCall, place: Place) -> Stmt:
        source, target = call.operands[:2]
        assert isinstance(source, Region) and isinstance(target, Region)
        if source.buffer.scope == "shared" and tma_moves(target, source):
            return tma_store(call, place, wait=False)
        if not tma_moves(source, target):
            raise TirxError(
                f"T.tma_copy cannot copy {source!r} to {target!r}",
                call.span,
                "TMA copies between global and shared memory: the same dtype, rows of a multiple of 16 bytes",
            )
        if len(call.operands) < 3:
            raise TirxError("T.tma_copy of a load needs barrier=, the mbarrier that counts its bytes", call.span)
        barrier = address_of(call.operands[2])
        expect = issue("mbarrier.expect_tx", barrier, region_bytes(target), span=call.span)
        load = OPS["copy_async"].build(target, source, mbar=barrier, dispatch="tma", scope="thread", span=call.span)
        return _by_one(place, seq(expect, load), call.span)


def region_bytes(region: Region) -> int:
    size = region.buffer.dtype.bits
    for extent in region.extents:
        size *= extent
    return size // 8


def address_of(barrier: Expr) -> Expr:
    """Return the address of an mbarrier given as a buffer element."""
    return AddressOf(HANDLE, barrier.buffer, barrier.indices) if isinstance(barrier, BufferLoad) else barrier


def _by_one(place: Place, stmt: Stmt, span: Span | None) -> Stmt:
    """Guard `stmt` for the first thread of the team."""
    return If(binary("==", special("threadIdx.x"), place.team.first), stmt, span=span)


RULES: Mapping[str, Any] = {TMA_COPY: TmaCopyRule()}

__all__ = ["COPY", "RULES", "TMA_COPY", "async_operands", "shared_layout", "stores_by_tma", "tma_moves", "tma_store"]
