"""Code generation for tensor-core products: wgmma on Hopper, tcgen05 on Blackwell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from tirx_mini.hardware import TMEM_LANES, WARPGROUP_WARPS
from tirx_mini.ir import INT32, Buffer, BufferLoad, BufferStore, Const, Expr, Ramp, Region, Var
from tirx_mini.layout import S, TileLayout, tid_in_wg, wgmma_accumulator_layout
from tirx_mini.tile import OPS

from ..layouts import LinearLayout
from ..nv_tileas import ops as serial
from ..nv_tileas import pipeline_ops as ops
from ..ssa import Op, OpKind
from .arithmetic import UINT8, converted, dtype_of
from .emitter import Emitter
from .places import SharedTile, TmemTile, seen_as, shared_tile
from .values import Tile, in_buffer

_T = TypeVar("_T")
_COPY = {False: "copy", True: "copy_async"}
"""The tile operation of a copy, by whether it is only begun."""

ROWS = 64
"""Rows of one wgmma."""
MOST_THREADS, FEWER_COLUMNS = 384, 64
"""With more threads, a thread is compiled for at most 128 registers: too few for a tcgen05.ld of 128 columns."""


def wgmma(emitter: Emitter, lhs: SharedTile | Tile, rhs: SharedTile, acc: Tile, adds: Expr | bool) -> None:
    """Issue acc += lhs · rhs, or acc = lhs · rhs if `adds` is false, as one group of MMAs.

    `acc` is held in registers, in the layout of accumulators.

    Each warpgroup multiplies the rows, and columns, that it holds of `acc`.
    """
    assert acc.buffer is not None
    rows, cols = acc.shape[-2:]
    along_m, along_n = groups_of(acc.layout)
    own_rows, own_cols = rows // along_m, cols // along_n
    group = emitter.warp // WARPGROUP_WARPS
    m_group, n_group = group % along_m if along_m > 1 else 0, group // along_m if along_n > 1 else 0
    registers = as_tile(acc.buffer, own_rows, own_cols)
    emitter.issue("wgmma.fence")
    b = _matrix(rhs, (0, rhs.shape[-2]), (n_group * own_cols, own_cols))
    for block in range(own_rows // ROWS):
        own = (block * ROWS, ROWS)
        if isinstance(lhs, Tile):
            assert lhs.buffer is not None
            a = _box(as_tile(lhs.buffer, own_rows, lhs.shape[-1]), own)
        else:
            a = _matrix(lhs, (m_group * own_rows + block * ROWS, ROWS), (0, lhs.shape[-1]))
        turned_a = isinstance(lhs, SharedTile) and lhs.contiguous(len(lhs.shape) - 2)
        turned_b = rhs.contiguous(len(rhs.shape) - 1)
        emitter.add(
            OPS["gemm_async"].build(
                _box(registers, own), a, b, transA=turned_a, transB=turned_b, accum=adds, dispatch="wgmma",
                scope="warpgroup", span=emitter.span,
            )
        )  # fmt: skip
    emitter.issue("wgmma.commit_group")


def groups_of(layout: LinearLayout) -> tuple[int, int]:
    """Return the number of warpgroups along M and along N."""
    columns = layout.shape[-1]
    along_m = sum(basis >= columns for basis in layout.warp[2:])
    return 1 << along_m, 1 << len(layout.warp[2:]) - along_m


def as_tile(registers: Buffer, rows: int, cols: int) -> Buffer:
    """Return registers viewed as a warpgroup's tile."""
    name, layout = f"{registers.name}_tile", wgmma_accumulator_layout(cols, rows)
    return Buffer(name, (rows, cols), registers.dtype, "local", layout, registers)


def _box(tile: Buffer, rows: tuple[int, int]) -> Region:
    start, extent = rows
    found = tile[start : start + extent, :]
    assert isinstance(found, Region)
    return found


def _matrix(tile: SharedTile, rows: tuple[Expr | int, int], cols: tuple[Expr | int, int]) -> Region:
    """Return a submatrix of the last two dimensions, in memory order."""
    return tile.region(*((0, 1) for _ in tile.shape[:-2]), rows, cols)


def _operand(emitter: Emitter, value: object) -> SharedTile | Tile:
    found = emitter.value(value)  # type: ignore[arg-type]
    return emitter.held(found, "a") if isinstance(found, Tile) else found


def _unsigned(emitter: Emitter, lhs: _T, rhs: SharedTile) -> tuple[_T | SharedTile, SharedTile]:
    """Reinterpret the 8-bit integer operands of a product in shared memory as unsigned."""
    if not isinstance(lhs, SharedTile) or lhs.buffer.dtype != "int8":
        return lhs, rhs
    a, b = (replace(each, buffer=seen_as(emitter, each.buffer, UINT8)) for each in (lhs, rhs))
    return a, b


def tcgen05(
    emitter: Emitter,
    lhs: SharedTile | TmemTile,
    rhs: SharedTile,
    sums: TmemTile,
    adds: Expr | bool,
    part: int,
    ctas: int,
) -> None:
    """Issue sums (+)= lhs · rhs from one thread, for each block of 128 rows or only for the block `part`.

    ctas: 2 for MMAs on behalf of a pair of CTAs, each of which has a half of the columns of `rhs`.
    """
    turned_a = isinstance(lhs, SharedTile) and lhs.contiguous(len(lhs.shape) - 2)
    turned_b = rhs.contiguous(len(rhs.shape) - 1)
    for block in range(sums.shape[-2] // TMEM_LANES) if part == ops.ALL else [part]:
        if isinstance(lhs, TmemTile):
            a = lhs.block(block)
        else:
            a = _matrix(lhs, (block * TMEM_LANES, TMEM_LANES), (0, lhs.shape[-1]))
        b = _matrix(rhs, (0, rhs.shape[-2]), (0, rhs.shape[-1]))
        emitter.add(
            OPS["gemm_async"].build(
                sums.block(block), a, b, transA=turned_a, transB=turned_b, accum=adds, dispatch="tcgen05",
                cta_group=ctas, scope="thread", span=emitter.span,
            )
        )  # fmt: skip


def from_tensor_memory(
    emitter: Emitter, sums: TmemTile, layout: LinearLayout, name: str, begun: bool = False
) -> Tile:
    """Load sums from tensor memory to registers, 32 lanes per warp (PTX ISA: "tcgen05.ld", access restrictions).

    begun: only begin the loads.
    """
    registers = emitter.local(name, layout.registers, str(sums.memory.dtype))
    for own, part in _rows(emitter, sums, layout, registers):
        emitter.add(OPS[_COPY[begun]].build(own, part, scope="warpgroup", span=emitter.span))
    return in_buffer(registers, layout)


def _rows(
    emitter: Emitter, memory: TmemTile, layout: LinearLayout, registers: Buffer
) -> Iterator[tuple[Region, Region]]:
    """Yield the register blocks of the executing warpgroup, each with its region of tensor memory."""
    rows, cols = memory.shape[-2:]
    along_m, along_n = groups_of(layout)
    group = emitter.group
    own_cols = cols // along_n
    first = group // along_m * own_cols if along_n > 1 else 0
    own_blocks = rows // TMEM_LANES // along_m
    width = min(own_cols, FEWER_COLUMNS if emitter.threads > MOST_THREADS else own_cols)
    fragment = TileLayout(S[(TMEM_LANES, own_blocks * own_cols) : (1 @ tid_in_wg, 1)])
    shape = TMEM_LANES, own_blocks * own_cols
    tile = Buffer(f"{registers.name}_rows", shape, registers.dtype, "local", fragment, registers)
    for i in range(own_blocks):
        block = group % along_m * own_blocks + i if along_m > 1 else i
        for start in range(0, own_cols, width):
            own = tile[:, i * own_cols + start : i * own_cols + start + width]
            assert isinstance(own, Region)
            yield own, memory.block(block, first + start, width)


def _write(emitter: Emitter, op: Op) -> None:
    """Store a tile from registers to tensor memory."""
    tile, memory = emitter.held(emitter.tile(op.source), op.source.hint or "x"), emitter.value(op.buffer)
    assert tile.buffer is not None
    for own, part in _rows(emitter, memory, tile.layout, tile.buffer):
        emitter.add(OPS[_COPY[op.begun]].build(part, own, scope="warpgroup", span=emitter.span))


def _copy(emitter: Emitter, op: Op) -> None:
    sums: TmemTile = emitter.value(op.source)
    tensor, name = op.result.type, op.result.hint or "sums"
    tile = from_tensor_memory(emitter, sums, tensor.linear, name, op.begun)
    dtype = dtype_of(tensor.element)
    if dtype == tile.dtype:
        emitter.set(op.result, tile)
        return
    assert not op.begun, "threads round what was loaded"
    rounded = in_buffer(emitter.local(f"{name}_{dtype}", tile.registers, str(dtype)), tile.layout)
    assert rounded.buffer is not None
    emitter.fill_registers(rounded.buffer, replace(tile, dtype=dtype, at=lambda r: converted(tile.at(r), dtype)))
    emitter.set_held(op.result, rounded)


def _copied(emitter: Emitter, op: Op) -> None:
    emitter.issue("tcgen05.wait.ld")
    emitter.set(op.result, emitter.value(op.source))


def tmem_slice(emitter: Emitter, op: Op) -> None:
    """Take a slice of the columns of a tensor-memory tile, with all rows."""
    tile: TmemTile = emitter.value(op.source)
    *rows, column = op.indices
    assert op.result.type.shape[:-1] == tile.shape[:-1] and all(emitter.scalar(row) is not None for row in rows)
    emitter.set(op.result, tile.part(op.result.type.shape, emitter.scalar(column) * op.result.type.shape[-1]))


def _async_dot(emitter: Emitter, op: Op) -> None:
    if op.mma == serial.TCGEN05:
        adds = True if op.adds is None else emitter.scalar(op.adds)
        lhs, rhs, sums = (emitter.value(value) for value in (op.lhs, op.rhs, op.acc))
        if not op.signed:
            lhs, rhs = _unsigned(emitter, lhs, rhs)
        tcgen05(emitter, lhs, rhs, sums, adds, op.part, op.ctas)
        emitter.set(op.result, emitter.value(op.acc))
        return
    signed = op.signed if op.kind is ops.async_dot else op.signed_lhs and op.signed_rhs
    lhs, rhs = _operand(emitter, op.lhs), emitter.value(op.rhs)
    if not signed:
        lhs, rhs = _unsigned(emitter, lhs, rhs)
    given = op.adds if op.kind is ops.async_dot else None
    adds = emitter.scalar(given) if given is not None else not _is_zero(emitter.tile(op.acc))
    acc = _fresh(emitter, op) if adds is False else emitter.take(op.acc)
    wgmma(emitter, lhs, rhs, acc, adds)
    emitter.set_held(op.result, acc)


def _is_zero(tile: Tile) -> bool:
    """Return whether a tile is the constant 0."""
    value = None if tile.buffer is not None else tile.at(Var(INT32, "r"))
    return isinstance(value, Const) and value.value == 0


def _fresh(emitter: Emitter, op: Op) -> Tile:
    """Return registers for sums that a product overwrites: new ones, or those of a dead tensor."""
    if op.kind is ops.async_dot and op.over is not None:
        return emitter.tile(op.over)
    layout = op.acc.type.linear
    dtype = str(dtype_of(op.acc.type.element))
    return in_buffer(emitter.local(op.result.hint or "sums", layout.registers, dtype), layout)


def dot(emitter: Emitter, op: Op) -> None:
    """Emit a product and wait for its completion."""
    _async_dot(emitter, op)
    emitter.issue("wgmma.wait_group", n=0)


def to_shared(emitter: Emitter, op: Op) -> None:
    """Store a tile from registers to shared memory, to be read by the tensor core through the async proxy."""
    source, layout = emitter.held(emitter.tile(op.source), op.result.hint or "x"), op.result.type.layout
    memory = shared_tile(emitter, op.result.hint or "tile", source.shape, str(source.dtype), layout)
    axes = memory.axes
    width = source.layout.vector(16 // source.dtype.itemsize, axes[-1])
    emitter.sync()

    def store(step: Expr) -> None:
        first = step * width
        indices = [emitter.coordinate(source.layout, axis, first) for axis in axes]
        value = source.at(first)
        if width > 1:
            assert source.buffer is not None
            indices[-1] = Ramp(indices[-1].dtype, indices[-1], width)
            value = BufferLoad(source.dtype.with_lanes(width), source.buffer, (Ramp(first.dtype, first, width),))
        emitter.add(BufferStore(memory.buffer, tuple(indices), value, span=emitter.span))

    with emitter.when(emitter.owner(source.layout)):
        emitter.loop(source.registers // width, store)
    emitter.issue("fence.proxy.async", "shared::cta")
    emitter.sync()
    emitter.set(op.result, memory)


def _view(emitter: Emitter, op: Op) -> None:
    """View the same shared memory in another shape."""
    tile: SharedTile = emitter.value(op.source)
    made = tile.reshaped(op.result.type.shape)
    assert made is not None, f"{op.source.type} as {op.result.type}"
    emitter.set(op.result, made)


def _permute(emitter: Emitter, op: Op) -> None:
    tile: SharedTile = emitter.value(op.source)
    emitter.set(op.result, tile.permuted(op.permutation))


def _async_wait(emitter: Emitter, op: Op) -> None:
    emitter.issue("wgmma.wait_group", n=op.pending)
    for value, result in zip(op.values, op.results, strict=True):
        emitter.set(result, emitter.value(value))


def _computed(emitter: Emitter, op: Op) -> None:
    """Emit an empty `asm` on registers, which keeps compilers from reordering them across waits."""
    tile = emitter.held(emitter.tile(op.source), op.source.hint or "x")
    assert tile.buffer is not None
    if tile.registers > 1:
        words = tile.registers * tile.buffer.dtype.bits // 32
        emitter.issue("wgmma.fence_operand", tile.buffer.ptr_to([0]), count=words)
    emitter.set_held(op.result, tile)


DOT_OPS: Mapping[OpKind, Callable[[Emitter, Op], None]] = {
    ops.async_dot: _async_dot,
    ops.async_wait: _async_wait,
    ops.computed: _computed,
    ops.copy: _copy,
    ops.copied: _copied,
    ops.write: _write,
    ops.written: lambda emitter, op: emitter.issue("tcgen05.wait.st"),
}

IN_SHARED: Mapping[OpKind, Callable[[Emitter, Op], None]] = {
    serial.convert_layout: to_shared,
    serial.view: _view,
    serial.expand_dims: _view,
    serial.permute: _permute,
}
"""Operations whose result is in shared memory."""
