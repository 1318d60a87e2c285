"""Code generation for register tensors: elementwise operations, shape changes and reductions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tirx_mini.ir import FLOAT32, Buffer, Const, DataType, Expr, as_expr, const, int_value, reinterpret, select

from ..layouts import LinearLayout, linear_index
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..nv_tileas import ops
from ..ssa import Op, OpKind, Value
from .arithmetic import (
    COMPARE_INTEGERS,
    COMPUTE,
    COSTLY,
    compare_floats,
    converted,
    dtype_of,
    reciprocal,
)
from .emitter import Emitter
from .movement import broadcast, permuted, reshaped
from .movement import converted as moved
from .reductions import reduce, scan
from .rounding import float_conversion, rounded
from .values import Pointers, Tile, constant, in_buffer

Rule = Callable[[Emitter, Op], None]


def element_dtype(value: Value) -> DataType:
    """Return the dtype of a number, or of a tensor's elements."""
    return dtype_of(value.type.element if isinstance(value.type, Tensor) else value.type)


def layout_of(value: Value) -> LinearLayout:
    return value.type.linear


def compute(emitter: Emitter, op: Op, function: Callable[..., Expr], cost: int = 1) -> None:
    """Emit `function` on the operands, elementwise for tensors."""
    given = [emitter.value(value) for value in op.operands]
    (result,) = op.results
    if not isinstance(result.type, Tensor):
        emitter.set(result, function(*given))
        return
    emitter.set(result, elementwise(layout_of(result), element_dtype(result), given, function, cost))


def elementwise(
    layout: LinearLayout, dtype: DataType, given: Sequence[Tile | Expr], function: Callable[..., Expr], cost: int = 1
) -> Tile:
    """Apply `function` elementwise to tiles and to numbers shared by all elements."""
    tiles = [part for part in given if isinstance(part, Tile)]

    def at(r: Expr) -> Expr:
        return function(*(part.at(r) if isinstance(part, Tile) else part for part in given))

    reads = frozenset[Any]().union(*(tile.reads for tile in tiles))
    total = cost + sum(tile.cost for tile in tiles)
    moves, is_uniform = frozenset[Any]().union(*(tile.moved for tile in tiles)), all(tile.uniform for tile in tiles)
    places = (tile.buffer or tile.over for tile in tiles if tile.dtype == dtype and tile.registers == layout.registers)
    over = next((place for place in places if place is not None and layout.registers > 1), None)
    return Tile(layout, dtype, at, reads, total, moves, uniform=is_uniform, over=over)


def _elementwise(name: str) -> Rule:
    function, cost = COMPUTE[name], COSTLY.get(name, 1)
    return lambda emitter, op: compute(emitter, op, rounded(op) or function, cost)


def _divide(emitter: Emitter, op: Op) -> None:
    """Emit a division; one rounded to 16 bits next becomes a product with a reciprocal computed once per divisor."""
    divisor = emitter.value(op.rhs)
    next_ops = emitter.users.get(op.result, ())
    to_half = bool(next_ops) and all(user.kind is aa.fp_to_fp and _is_half(user.result) for user in next_ops)
    if not (to_half and isinstance(divisor, Tile) and divisor.narrow is not None and divisor.dtype == FLOAT32):
        compute(emitter, op, rounded(op) or COMPUTE["arith.divf"], COSTLY["arith.divf"])
        return
    source, register = divisor.narrow
    parts = emitter.held(elementwise(source.layout, FLOAT32, [source], reciprocal), "reciprocal")
    factor = parts.renamed(divisor.layout, register)
    product = elementwise(divisor.layout, FLOAT32, [emitter.value(op.lhs), factor], COMPUTE["arith.mulf"])
    emitter.set(op.result, product)


def _is_half(value: Value) -> bool:
    return element_dtype(value).bits == 16


def _cast(emitter: Emitter, op: Op) -> None:
    target = element_dtype(op.result)
    signed = op.kind not in (std.extui, std.uitofp, std.fptoui)
    special = None
    if op.kind is aa.fp_to_fp:
        special = float_conversion(op.rounding_mode, target, _is_tf32(op.result))
    compute(emitter, op, special or (lambda x: converted(x, target, signed=signed)))


def _is_tf32(value: Value) -> bool:
    element = value.type.element if isinstance(value.type, Tensor) else value.type
    return str(element) == "tf32"


def _bitcast(emitter: Emitter, op: Op) -> None:
    target = element_dtype(op.result)
    compute(emitter, op, lambda x: reinterpret(target, x))


def _select(emitter: Emitter, op: Op) -> None:
    compute(emitter, op, lambda cond, a, b: select(cond, a, b))


def _constant(emitter: Emitter, op: Op) -> None:
    dense, (result,) = op.value, op.results
    dtype = element_dtype(result)
    if not isinstance(result.type, Tensor):
        emitter.set(result, const(dense.item(), dtype))
    elif (number := dense.item()) is not None:
        emitter.set(result, constant(layout_of(result), number, dtype))
    else:
        emitter.set(result, _table(emitter, layout_of(result), dtype, dense.values.reshape(-1).tolist()))


def _table(emitter: Emitter, layout: LinearLayout, dtype: DataType, numbers: list[Any]) -> Tile:
    """Return a tile of constants, from which each thread selects its own."""

    def at(r: Expr) -> Expr:
        element = emitter.index(layout, r)
        value: Expr = const(numbers[0], dtype)
        for place, number in enumerate(numbers):
            if place:
                value = select(element == place, const(number, dtype), value)
        return value

    return Tile(layout, dtype, at, cost=len(numbers))


def _splat(emitter: Emitter, op: Op) -> None:
    source, layout = emitter.value(op.source), layout_of(op.result)
    if isinstance(source, Pointers):
        offset = source.offsets
        emitter.set(op.result, Pointers(source.buffer, _splatted(layout, as_expr(offset))))
    else:
        emitter.set(op.result, _splatted(layout, source))


def _splatted(layout: LinearLayout, number: Expr) -> Tile:
    return Tile(layout, number.dtype, lambda _: number, cost=0 if isinstance(number, Const) else 1, uniform=True)


def _make_range(emitter: Emitter, op: Op) -> None:
    layout, dtype, start = layout_of(op.result), element_dtype(op.result), op.start
    emitter.set(op.result, Tile(layout, dtype, lambda r: converted(emitter.index(layout, r) + start, dtype)))


def _shaped(function: Callable[[Emitter, Op, Tile], Tile]) -> Rule:
    """Return the rule of an operation on one tensor, of numbers or pointers."""

    def rule(emitter: Emitter, op: Op) -> None:
        source = emitter.value(op.source)
        if isinstance(source, Pointers):
            assert isinstance(source.offsets, Tile)
            emitter.set(op.result, Pointers(source.buffer, function(emitter, op, source.offsets)))
        else:
            emitter.set(op.result, function(emitter, op, source))

    return rule


def _placed(emitter: Emitter, op: Op, tile: Tile) -> Tile:
    """Convert `tile` to the result's layout."""
    return moved(emitter, tile, layout_of(op.result), op.result.hint or "x")


_view = _shaped(lambda e, op, tile: _placed(e, op, reshaped(tile, op.result.type.shape)))
_permute = _shaped(lambda e, op, tile: _placed(e, op, permuted(tile, op.permutation)))
_broadcast = _shaped(lambda e, op, tile: broadcast(e, tile, layout_of(op.result)))
_convert = _shaped(_placed)


def _extract(emitter: Emitter, op: Op) -> None:
    """Extract one element as a value uniform across threads."""
    tile = emitter.tile(op.source)
    shape, indices = tile.shape, [emitter.scalar(index) for index in op.indices] or [const(0)] * len(tile.shape)
    number: Expr = const(0)
    for extent, index in zip(shape, indices, strict=True):
        number = number * extent + index
    emitter.set(op.result, emitter.element(tile, number, op.result.hint or "v"))


def _extract_slice(emitter: Emitter, op: Op) -> None:
    """Extract a slice of a tile, by register renaming or through shared memory if other threads hold it."""
    tile, target = emitter.tile(op.source), layout_of(op.result)
    start = _slice_start(emitter, op, tile.shape, target.shape)
    found, first = tile.layout.part(target.shape), int_value(emitter.analyzer.simplify(start))
    if found is None or found[0] != target or first is None:
        emitter.set(op.result, _exchanged(emitter, tile, target, start))
        return
    registers = [1 << bit for bit in found[1]]
    offset = tile.layout.place(first)[0]
    emitter.set(op.result, tile.renamed(target, lambda r: linear_index((r, registers), (1, [offset]))))


def _slice_start(emitter: Emitter, op: Op, whole: Sequence[int], part: Sequence[int]) -> Expr:
    """Return the row-major index of a slice's first element."""
    number: Expr = const(0)
    for extent, step, index in zip(whole, part, op.indices, strict=True):
        number = number * extent + emitter.scalar(index) * step
    return number


def _exchanged(emitter: Emitter, tile: Tile, target: LinearLayout, start: Expr) -> Tile:
    memory = emitter.scratch(tile.dtype, tile.layout.size)
    emitter.fill()
    write_rows(emitter, memory, tile)
    emitter.filled()
    out = emitter.local("part", target.registers, tile.dtype)
    emitter.loop(target.registers, lambda r: emitter.store(out, r, memory[start + within(emitter, target, tile, r)]))
    return in_buffer(out, target)


def write_rows(emitter: Emitter, memory: Buffer, tile: Tile, start: Expr | int = 0) -> None:
    """Write a tile to shared memory in row-major order."""
    with emitter.when(emitter.owner(tile.layout)):
        emitter.loop(tile.registers, lambda r: emitter.store(memory, emitter.index(tile.layout, r) + start, tile.at(r)))


def within(emitter: Emitter, part: LinearLayout, whole: Tile, register: Expr) -> Expr:
    """Return the offset of an element from its slice's first element, in the whole tile's row-major order."""
    number: Expr = const(0)
    for axis, extent in enumerate(whole.shape):
        number = number * extent + emitter.coordinate(part, axis, register)
    return number


def _insert_slice(emitter: Emitter, op: Op) -> None:
    part, whole = emitter.tile(op.source), emitter.tile(op.destination)
    start = _slice_start(emitter, op, whole.shape, part.shape)
    memory = emitter.scratch(whole.dtype, whole.layout.size)
    emitter.fill()
    write_rows(emitter, memory, whole)
    emitter.filled()
    with emitter.when(emitter.owner(part.layout)):
        emitter.loop(
            part.registers,
            lambda r: emitter.store(memory, start + within(emitter, part.layout, whole, r), part.at(r)),
        )
    emitter.filled()
    emitter.set(op.result, _read_rows(emitter, memory, layout_of(op.result)))


def _read_rows(emitter: Emitter, memory: Buffer, layout: LinearLayout) -> Tile:
    out = emitter.local("whole", layout.registers, memory.dtype)
    emitter.loop(layout.registers, lambda r: emitter.store(out, r, memory[emitter.index(layout, r)]))
    return in_buffer(out, layout)


def _cat(emitter: Emitter, op: Op) -> None:
    """Concatenate two tiles."""
    target, dim = layout_of(op.result), op.dim
    memory = emitter.scratch(element_dtype(op.result), target.size)
    emitter.fill()
    inner = 1
    for extent in target.shape[dim + 1 :]:
        inner *= extent
    for position, value in enumerate((op.lhs, op.rhs)):
        tile = emitter.tile(value)
        start = position * op.lhs.type.shape[dim] * inner

        def write(r: Expr, tile: Tile = tile, start: int = start) -> None:
            number: Expr = const(0)
            for axis, extent in enumerate(target.shape):
                number = number * extent + emitter.coordinate(tile.layout, axis, r)
            emitter.store(memory, number + start, tile.at(r))

        with emitter.when(emitter.owner(tile.layout)):
            emitter.loop(tile.registers, write)
    emitter.filled()
    emitter.set(op.result, _read_rows(emitter, memory, target))


# -- reductions ----------------------------------------------------------------------------------------------------


def _combine(emitter: Emitter, op: Op) -> Callable[[Sequence[Expr], Sequence[Expr]], Sequence[Expr]]:
    """Return the body of a reduction as a function of the accumulated result and new elements."""

    def combine(before: Sequence[Expr], elements: Sequence[Expr]) -> Sequence[Expr]:
        pairs = [part for pair in zip(elements, before, strict=True) for part in pair]
        for param, part in zip(op.body.params, pairs, strict=True):
            emitter.values[param] = part
        for inner in op.body.ops[:-1]:
            emitter.emit(inner)
        return [emitter.scalar(value) for value in op.body.ops[-1].values]

    return combine


def _reduce(emitter: Emitter, op: Op) -> None:
    tiles = [emitter.tile(value) for value in op.operands]
    found = reduce(emitter, tiles, op.dim, _combine(emitter, op), op.results[0].hint or "total")
    for result, tile in zip(op.results, found, strict=True):
        emitter.set(result, tile if isinstance(result.type, Tensor) else emitter.uniform(tile, result.hint or "total"))


def _scan(emitter: Emitter, op: Op) -> None:
    tiles = [emitter.tile(value) for value in op.operands]
    found = scan(emitter, tiles, op.dim, _combine(emitter, op), op.reverse, op.results[0].hint or "scan")
    for result, tile in zip(op.results, found, strict=True):
        emitter.set(result, moved(emitter, tile, layout_of(result)))


def _same(emitter: Emitter, op: Op) -> None:
    emitter.set(op.result, emitter.value(op.operands[0]))


TENSOR_OPS: Mapping[OpKind, Rule] = {
    **{kind: _elementwise(kind.name) for kind in std.ELEMENTWISE if kind.name in COMPUTE},
    **dict.fromkeys(
        (std.extsi, std.extui, std.trunci, std.sitofp, std.uitofp, std.fptosi, std.fptoui, aa.fp_to_fp), _cast
    ),
    std.divf: _divide, std.cmpi: lambda e, op: compute(e, op, COMPARE_INTEGERS[op.predicate]),
    std.cmpf: lambda e, op: compute(e, op, lambda a, b: compare_floats(op.predicate, a, b), 4),
    std.bitcast: _bitcast, std.select: _select, std.constant: _constant, aa.splat: _splat, aa.make_range: _make_range,
    ops.view: _view, ops.expand_dims: _view, ops.permute: _permute, ops.broadcast: _broadcast,
    ops.convert_layout: _convert, aa.extract: _extract, ops.extract_slice: _extract_slice,
    ops.insert_slice: _insert_slice, aa.cat: _cat, ops.reduce: _reduce, ops.scan: _scan, aa.assume: _same,
}  # fmt: skip
