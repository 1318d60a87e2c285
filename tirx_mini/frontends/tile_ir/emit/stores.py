"""Code generation for TMA stores: each warpgroup writes its part to shared memory, and one thread stores it.

The groups of bulk copies are counted in each thread, so the same thread of a warpgroup issues all of its stores (PTX
ISA: "cp.async.bulk.commit_group").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tirx_mini.hardware import TMEM_LANES
from tirx_mini.ir import Buffer, Expr, If, Region, binary, const
from tirx_mini.layout import S, TileLayout, tid_in_wg
from tirx_mini.records import dataclass
from tirx_mini.tile import OPS

from ..layouts import LinearLayout, SharedLayout
from ..nv_tileaa import Tensor
from ..nv_tileas import pipeline_ops as ops
from ..ssa import Op, OpKind
from .arithmetic import dtype_of
from .dots import as_tile, groups_of
from .emitter import Emitter
from .places import SharedTile, shared_tile, tile_region
from .values import Blocks, Tile


@dataclass(frozen=True)
class Written:
    """A tile of a matrix in shared memory. layout: the layout of the registers that wrote it."""

    memory: SharedTile
    layout: LinearLayout


def _alloc_tensor(emitter: Emitter, op: Op) -> None:
    tensor: Tensor = op.result.type
    name, dtype = op.result.hint or "room", str(dtype_of(tensor.element))
    if isinstance(tensor.layout, SharedLayout):
        emitter.set(op.result, shared_tile(emitter, name, tensor.shape, dtype, tensor.layout))
    else:
        zero = const(0, dtype_of(tensor.element))
        emitter.set_held(op.result, Tile(tensor.linear, zero.dtype, lambda _: zero, cost=0, undefined=True))


def write(emitter: Emitter, op: Op) -> None:
    """Lower insert_slice from registers to shared memory; each writing thread ends with a proxy fence."""
    memory: SharedTile = emitter.value(op.destination)
    tile = emitter.held(emitter.tile(op.source), op.source.hint or "part")
    shape = [extent for extent in tile.shape if extent > 1]
    flat = memory.reshaped(shape)
    assert flat is not None, f"{op.source.type} in {op.destination.type}"
    layout = tile.layout.reshape(shape)
    assert tile.buffer is not None
    for target, source in _boxes(emitter, flat, tile.buffer, layout):
        emitter.add(OPS["copy"].build(target, source, scope="warpgroup", span=emitter.span))
    emitter.set(op.result, Written(memory, tile.layout))


def _boxes(
    emitter: Emitter, memory: SharedTile, registers: Buffer, layout: LinearLayout
) -> Iterator[tuple[Region, Region]]:
    """Yield the parts that a warpgroup copies, as (shared memory, registers)."""
    (first_row, rows), (first_col, cols) = own_box(emitter, layout)
    if layout.lane[0] == 2:  # an accumulator of wgmma: two neighbours a thread
        yield memory.region((first_row, rows), (first_col, cols)), _all(as_tile(registers, rows, cols))
        return
    blocks = rows // TMEM_LANES
    fragment = TileLayout(S[(TMEM_LANES, blocks * cols) : (1 @ tid_in_wg, 1)])
    name = f"{registers.name}_rows"
    tile = Buffer(name, (TMEM_LANES, blocks * cols), registers.dtype, "local", fragment, registers)
    for block in range(blocks):
        part = tile[:, block * cols : (block + 1) * cols]
        assert isinstance(part, Region)
        yield memory.region((first_row + block * TMEM_LANES, TMEM_LANES), (first_col, cols)), part


def _all(tile: Buffer) -> Region:
    found = tile[:, :]
    assert isinstance(found, Region)
    return found


def own_box(emitter: Emitter, layout: LinearLayout) -> tuple[tuple[Expr | int, int], tuple[Expr | int, int]]:
    """Return the rows and columns of a tile that the executing warpgroup holds, each as (first, extent)."""
    rows, cols = layout.shape
    along_m, along_n = groups_of(layout)
    rows, cols = rows // along_m, cols // along_n
    group = emitter.group
    return (
        (group % along_m * rows if along_m > 1 else 0, rows),
        (group // along_m * cols if along_n > 1 else 0, cols),
    )


def _tma_store(emitter: Emitter, op: Op) -> None:
    written: Written = emitter.value(op.buffer)
    blocks: Blocks = emitter.value(op.view)
    wide = [axis for axis, extent in enumerate(written.layout.shape) if extent > 1]
    box = own_box(emitter, written.layout.reshape([written.layout.shape[axis] for axis in wide]))
    ranges: list[tuple[Expr | int, int]] = [(0, 1)] * len(blocks.tile)
    for axis, part in zip(wide, box, strict=True):
        ranges[axis] = part
    source = written.memory.region(*ranges)
    target = tile_region(emitter, blocks, [emitter.scalar(index) for index in op.indices], ranges)
    emitter.sync_group()
    with emitter.when(_leader(emitter)):
        emitter.add(OPS["copy_async"].build(target, source, dispatch="tma", span=emitter.span, scope="thread"))
        emitter.issue("cp.async.bulk.commit_group")
    emitter.set(op.result, None)
    if not emitter.stores_by_tma:
        emitter.stores_by_tma = True
        # A CTA must not exit before the last store has read shared memory.
        computes = binary("and", binary("<", emitter.warp, emitter.warps), _leader(emitter))
        emitter.epilogue.insert(0, If(computes, emitter.instruction("cp.async.bulk.wait_group", 0)))


def _wait_tma_store(emitter: Emitter, op: Op) -> None:
    """Wait for TMA stores in the issuing thread, then synchronise its warpgroup."""
    with emitter.when(_leader(emitter)):
        emitter.issue("cp.async.bulk.wait_group", op.pending, read=op.read)
    emitter.sync_group()


def _leader(emitter: Emitter) -> Expr:
    """Return the condition that the executing thread issues its warpgroup's stores."""
    return binary("and", binary("==", emitter.warp % 4, 0), binary("==", emitter.lane, 0))


STORE_OPS: Mapping[OpKind, Callable[[Emitter, Op], None]] = {
    ops.alloc_tensor: _alloc_tensor,
    ops.tiled_tma_store: _tma_store,
    ops.wait_tma_store: _wait_tma_store,
}
