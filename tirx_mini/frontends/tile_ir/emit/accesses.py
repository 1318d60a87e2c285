"""Code generation for memory operations (views, loads, stores, atomics) and grid queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tirx_mini.ir import HANDLE, AddressOf, Buffer, DataType, Expr, as_expr, cast, const, reinterpret
from tirx_mini.isa import PTX_TYPES

from ..layouts import LinearLayout
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileas import ops
from ..ssa import Op, OpKind, Value
from .emitter import Emitter
from .memory import block_places, load_block, load_gathered, load_rows, store_block, store_rows, store_scattered
from .tensors import element_dtype, elementwise, layout_of
from .values import Blocks, Pointers, Tile, View, in_buffer

PADDINGS = {"zero": 0.0, "neg_zero": -0.0, "nan": float("nan"), "pos_inf": float("inf"), "neg_inf": float("-inf")}


def _make_memref(emitter: Emitter, op: Op) -> None:
    base = emitter.value(op.base)
    type_ = op.result.type
    shape, strides = iter(op.shape), iter(op.strides)
    extents = tuple(n if n is not None else emitter.scalar(next(shape)) for n in type_.shape)
    steps = tuple(n if n is not None else emitter.scalar(next(strides)) for n in type_.strides)
    emitter.set_held(op.result, View(base.buffer, extents, steps, base.offsets))


def _block_tile(emitter: Emitter, op: Op) -> None:
    type_ = op.result.type
    padding = None if type_.padding is None else PADDINGS[type_.padding]
    view = emitter.value(op.source)
    emitter.set_held(op.result, Blocks(view, type_.tile, type_.order, padding, type_.steps))


def _program_id(emitter: Emitter, op: Op) -> None:
    for value, var in zip(op.results, emitter.program, strict=True):
        emitter.set(value, var)


def _num_programs(emitter: Emitter, op: Op) -> None:
    for value, extent in zip(op.results, emitter.programs, strict=True):
        emitter.set(value, const(extent))


def _token(emitter: Emitter, op: Op) -> None:
    for value in op.results:
        emitter.values[value] = None


def _native(tile: Tile, dtype: DataType) -> Tile:
    """Convert a loaded tile to the dtype of the computation; unsigned elements become signed."""
    if tile.dtype == dtype:
        return tile
    at = tile.at
    return replace(tile, dtype=dtype, at=lambda r: _same_bits(at(r), dtype), cost=tile.cost + 1, buffer=None)


def _same_bits(value: Expr, dtype: DataType) -> Expr:
    if value.dtype == dtype:
        return value
    return cast(dtype, value) if dtype.is_bool or value.dtype.is_bool else reinterpret(dtype, value)


def _loaded(emitter: Emitter, op: Op, tile: Tile) -> None:
    emitter.set(op.tensor, _native(tile, element_dtype(op.tensor)))
    emitter.values[op.result_token] = None


def _tiled_load(emitter: Emitter, op: Op) -> None:
    blocks: Blocks = emitter.value(op.view)
    emitter.touch(blocks.view.buffer, False)
    index = [emitter.scalar(value) for value in op.index]
    if not isinstance(op.tensor.type, Tensor):
        _scalar_load(emitter, op, blocks, index)
        return
    tile = load_block(emitter, blocks, index, layout_of(op.tensor), op.tensor.hint or "tile", op.in_bounds)
    _loaded(emitter, op, tile)


def _scalar_load(emitter: Emitter, op: Op, blocks: Blocks, index: list[Expr]) -> None:
    """Emit the load of an array element that is the same for all threads."""
    value = emitter.load(blocks.view.buffer, _place(blocks, index))
    emitter.set(op.tensor, emitter.bind(op.tensor.hint or "v", _same_bits(value, element_dtype(op.tensor))))
    emitter.values[op.result_token] = None


def _tiled_store(emitter: Emitter, op: Op) -> None:
    blocks, value = emitter.value(op.view), emitter.value(op.value)
    emitter.touch(blocks.view.buffer, True)
    index = [emitter.scalar(v) for v in op.index]
    emitter.values[op.result_token] = None
    if isinstance(value, Tile):
        store_block(emitter, blocks, index, _native(value, blocks.view.buffer.dtype), op.in_bounds)
        return
    with emitter.when(emitter.first_thread()):
        emitter.store(blocks.view.buffer, _place(blocks, index), _same_bits(value, blocks.view.buffer.dtype))


def _place(blocks: Blocks, index: list[Expr]) -> Expr:
    """Return the element index in an array whose tiles are single elements."""
    place = as_expr(blocks.view.base)
    for axis, number in enumerate(index):
        place = place + number * blocks.view.strides[blocks.order[axis]]
    return place


def _gather_load(emitter: Emitter, op: Op) -> None:
    blocks, index = emitter.value(op.view), [emitter.value(value) for value in op.index]
    emitter.touch(blocks.view.buffer, False)
    _loaded(emitter, op, load_rows(emitter, blocks, index, layout_of(op.tensor), op.tensor.hint or "rows"))


def _scatter_store(emitter: Emitter, op: Op) -> None:
    blocks, index = emitter.value(op.view), [emitter.value(value) for value in op.index]
    emitter.touch(blocks.view.buffer, True)
    store_rows(emitter, blocks, index, _native(emitter.tile(op.value), blocks.view.buffer.dtype))
    emitter.values[op.result_token] = None


def _load(emitter: Emitter, op: Op) -> None:
    pointers: Pointers = emitter.value(op.source)
    emitter.touch(pointers.buffer, False)
    mask, other = (None if v is None else emitter.value(v) for v in (op.mask, op.other))
    if isinstance(op.tensor.type, Tensor):
        other = None if other is None else _native(other, pointers.buffer.dtype)
        _loaded(emitter, op, load_gathered(emitter, pointers, mask, other, layout_of(op.tensor), op.tensor.hint or "x"))
        return
    assert isinstance(pointers.offsets, Expr)
    emitter.values[op.result_token] = None
    if mask is None:
        value = _same_bits(emitter.load(pointers.buffer, pointers.offsets), element_dtype(op.tensor))
        emitter.set(op.tensor, emitter.bind(op.tensor.hint or "v", value))
        return
    out = emitter.local(op.tensor.hint or "v", 1, pointers.buffer.dtype)
    emitter.store(out, 0, const(0, pointers.buffer.dtype) if other is None else other)
    with emitter.when(mask):
        emitter.store(out, 0, emitter.load(pointers.buffer, pointers.offsets))
    emitter.set(op.tensor, emitter.bind(op.tensor.hint or "v", _same_bits(out[0], element_dtype(op.tensor))))


def _store(emitter: Emitter, op: Op) -> None:
    pointers: Pointers = emitter.value(op.destination)
    value, mask = emitter.value(op.value), None if op.mask is None else emitter.value(op.mask)
    emitter.values[op.result_token] = None
    emitter.touch(pointers.buffer, True)
    if isinstance(value, Tile):
        store_scattered(emitter, pointers, _native(value, pointers.buffer.dtype), mask)
        return
    assert isinstance(pointers.offsets, Expr)
    with emitter.when(mask), emitter.when(emitter.first_thread()):
        emitter.store(pointers.buffer, pointers.offsets, _same_bits(value, pointers.buffer.dtype))


def _addptr(emitter: Emitter, op: Op) -> None:
    pointers: Pointers = emitter.value(op.ptr)
    offset = emitter.value(op.offset)
    if not isinstance(op.result.type, Tensor):
        emitter.set_held(op.result, Pointers(pointers.buffer, pointers.offsets + offset))
        return
    dtype = offset.dtype
    total = elementwise(layout_of(op.result), dtype, [pointers.offsets, offset], lambda a, b: cast(dtype, a + b))
    if op.result in emitter.again and not total.cheap:
        total = emitter.held(total, op.result.hint or "offset")
    emitter.set_held(op.result, Pointers(pointers.buffer, total))


# -- atomic operations ---------------------------------------------------------------------------------------------

ATOMICS: Mapping[str, tuple[str, str]] = {
    "and": ("and", "b"), "or": ("or", "b"), "xor": ("xor", "b"), "add": ("add", "i"), "addf": ("add", "f"),
    "max": ("max", "s"), "min": ("min", "s"), "umax": ("max", "u"), "umin": ("min", "u"), "xchg": ("exch", "b"),
}  # fmt: skip
"""The operation of PTX, and the letter of its type, for each mode; `i` is that of the array: `s` or `u`."""

SCOPES = {"tl_blk": "cta", "device": "gpu", "sys": "sys"}
ACQUIRE, RELEASE, ACQ_REL = "acquire", "release", "acq_rel"
SEMANTICS = {"relaxed": "relaxed", "acquire": ACQUIRE, "release": RELEASE, "acq_rel": ACQ_REL, "weak": "relaxed"}


def _ptx_type(letter: str, dtype: DataType) -> str:
    typed = letter == "i" or (dtype.is_float and letter != "b")
    return PTX_TYPES[dtype] if typed else f"{letter}{dtype.bits}"


def _order(op: Op) -> dict[str, str]:
    return {"sem": SEMANTICS[str(op.order)], "scope": SCOPES[str(op.scope)], "space": "global"}


def address(buffer: Buffer, place: Expr) -> Expr:
    return AddressOf(HANDLE, buffer, (place,))


def _atomic_rmw(emitter: Emitter, op: Op) -> None:
    pointers: Pointers = emitter.value(op.pointers)
    mask = None if op.mask is None else emitter.value(op.mask)
    _atomic(emitter, op, pointers, [op.value], _rmw(emitter, op, pointers), mask)


def _tiled_atomic_rmw(emitter: Emitter, op: Op) -> None:
    index = [emitter.scalar(value) for value in op.index]
    pointers, mask = block_places(emitter, emitter.value(op.view), index, layout_of(op.value), op.in_bounds)
    _atomic(emitter, op, pointers, [op.value], _rmw(emitter, op, pointers), mask)


def _rmw(emitter: Emitter, op: Op, pointers: Pointers) -> Callable[..., Expr]:
    """Return the atomic instruction for one element."""
    name, letter = ATOMICS[str(op.mode)]
    dtype = pointers.buffer.dtype
    kind = _ptx_type("f" if dtype.is_float and letter != "b" else letter, dtype)
    passed = DataType(f"uint{dtype.bits}") if letter == "b" and dtype.is_float else dtype
    order = _order(op) | ({"returned": str(passed)} if letter == "b" else {})

    def call(place: Expr, value: Expr) -> Expr:
        where = address(pointers.buffer, place)
        given = _same_bits(_same_bits(value, dtype), passed)
        return _same_bits(emitter.value_of("atom", passed, where, given, op=name, type=kind, **order), dtype)

    return call


def _atomic_cas(emitter: Emitter, op: Op) -> None:
    pointers: Pointers = emitter.value(op.pointers)
    dtype = pointers.buffer.dtype
    bits = DataType(f"uint{dtype.bits}")

    def call(place: Expr, compare: Expr, value: Expr) -> Expr:
        where = address(pointers.buffer, place)
        given = [_same_bits(_same_bits(v, dtype), bits) for v in (compare, value)]
        return _same_bits(emitter.value_of("atom.cas", bits, where, *given, type=f"b{dtype.bits}", **_order(op)), dtype)

    mask = None if op.mask is None else emitter.value(op.mask)
    _atomic(emitter, op, pointers, [op.compare, op.value], call, mask)


def _shared_by_replicas(emitter: Emitter, buffer: Buffer, layout: LinearLayout) -> Tile:
    """Broadcast each element in `buffer` from its first holder to all its replicas."""
    tile = in_buffer(buffer, layout)
    owner = emitter.owner(layout)
    if owner is None:
        return tile
    memory = emitter.scratch(buffer.dtype, layout.size)
    emitter.fill()
    with emitter.when(owner):
        emitter.loop(tile.registers, lambda r: emitter.store(memory, emitter.index(layout, r), tile.at(r)))
    emitter.filled()
    emitter.loop(tile.registers, lambda r: emitter.store(buffer, r, memory[emitter.index(layout, r)]))
    return tile


def _atomic(
    emitter: Emitter,
    op: Op,
    pointers: Pointers,
    operands: list[Value],
    call: Callable[..., Expr],
    mask: Tile | Expr | None,
) -> None:
    """Emit one atomic per element from the first thread that holds it, then broadcast the results to its replicas."""
    given = [emitter.value(value) for value in operands]
    dtype = pointers.buffer.dtype
    order = SEMANTICS[str(op.order)]
    if order in (RELEASE, ACQ_REL) and any(write for _, write in emitter.pending):
        emitter.sync()  # what other threads have stored is released, too
    emitter.touch(pointers.buffer, True)
    emitter.values[op.result_token] = None
    operand = operands[0]
    layout = layout_of(operand) if isinstance(operand.type, Tensor) else _scalar_layout(emitter)
    offsets = pointers.offsets
    out = emitter.local("old", layout.registers, dtype)
    emitter.loop(layout.registers, lambda r: emitter.store(out, r, const(0, dtype)))

    def one(r: Expr) -> None:
        parts = [part.at(r) if isinstance(part, Tile) else part for part in (offsets, *given)]
        cond = mask.at(r) if isinstance(mask, Tile) else mask
        with emitter.when(cond):
            emitter.store(out, r, call(*parts))

    with emitter.when(emitter.owner(layout)):
        emitter.loop(layout.registers, one, parallel=False)
    if order in (ACQUIRE, ACQ_REL):
        emitter.sync()  # what is acquired, other threads may read, too
    old = op.old if "old" in op.kind.members else None
    if old is None or old not in emitter.used:
        return
    tile = _shared_by_replicas(emitter, out, layout)
    if isinstance(old.type, Tensor):
        emitter.set(old, _native(tile, element_dtype(old)))
    else:
        emitter.set(old, _same_bits(emitter.uniform(replace(tile, uniform=True)), element_dtype(old)))


def _scalar_layout(emitter: Emitter) -> LinearLayout:
    warp_bits = (emitter.warps - 1).bit_length()
    return LinearLayout((), (), (0,) * 5, (0,) * warp_bits)


ACCESS_OPS: Mapping[OpKind, Callable[[Emitter, Op], None]] = {
    aa.make_memref: _make_memref, aa.block_tile: _block_tile, aa.get_program_id: _program_id,
    aa.get_num_programs: _num_programs, aa.create_mem_token: _token, aa.join_mem_tokens: _token,
    aa.addptr: _addptr, ops.tiled_load: _tiled_load, ops.tiled_store: _tiled_store, ops.gather_load: _gather_load,
    ops.scatter_store: _scatter_store, ops.load: _load, ops.store: _store, aa.atomic_rmw: _atomic_rmw,
    aa.atomic_cas: _atomic_cas, ops.tiled_atomic_rmw: _tiled_atomic_rmw,
}  # fmt: skip
