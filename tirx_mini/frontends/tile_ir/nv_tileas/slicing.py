"""The pass tileas-slicing: a product too large for a CTA is computed in parts, sequentially.

On Blackwell, sums are in tensor memory, which has room for 256 × 256 of them. Elsewhere they are in registers: a thread
has at most 255, and those of an SM hold 256 × 256 sums and nothing else. Where a program adds up a larger tile, a loop
around the sum and its store computes a part of the rows and columns in each iteration: with the same program, on
smaller tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tirx_mini.hardware import TMEM_COLUMNS, TMEM_LANES, WARP_SIZE

from ..context import Context
from ..cuda_tile import Dense
from ..nv_tileaa import BlockTile, Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Module, Op, Region, Rewriter, Value, remove_dead, uses
from . import ops
from .operands import STORES, definitions
from .passes import MOST_ELEMENTS
from .pipeline_types import I32
from .relations import TIES
from .sums import simple_sum
from .tensor_cores import MOST_COLUMNS, instructions

MOST_WARPS = 8
MOST_SUMS = MOST_ELEMENTS * MOST_WARPS * WARP_SIZE
"""Sums that 8 warps keep in registers, with others for addresses and what is stored."""

Cut = tuple[int, Value | None]
"""Into how many parts a dimension is cut, and the number of the part; (1, None) for all of it."""
WHOLE: Cut = (1, None)


def slicing(module: Module, context: Context) -> Module:
    """Split products with more sums than registers can hold into parts, in a loop around their sum and store."""
    return Module(module.name, tuple(_function(op, context) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op, context: Context) -> Op:
    used, defs = uses(func.body), definitions(func.body)
    sums = {op: dot for op in func.body.walk() if op.kind is std.for_ and (dot := simple_sum(op, used)) is not None}
    quiet = replace(context, notes=[])  # the number of warps is chosen later
    found = instructions(func, quiet, MOST_WARPS) if context.has_tensor_memory else {}
    in_tensor_memory = {dot for dot, kind in found.items() if kind == ops.TCGEN05}
    for loop, dot in sums.items():
        rows, columns = dot.acc.type.shape[-2:]
        along = parts_of(rows, columns, TMEM_LANES * TMEM_COLUMNS if dot in in_tensor_memory else MOST_SUMS)
        if along == (1, 1):
            continue
        shape, part = f"{rows}×{columns}", f"{rows // along[0]}×{columns // along[1]}"
        made = _cut(func, loop, along, defs, used)
        if made is None:
            context.note(f"a tile of {shape} sums does not fit into registers: they are kept in local memory", dot.span)
            continue
        context.note(f"a tile of {shape} sums does not fit into registers: it is computed in parts of {part}", dot.span)
        return _function(made, context)
    return func


def parts_of(rows: int, columns: int, most: int = MOST_SUMS) -> tuple[int, int]:
    """Return the numbers of row and column parts such that each part has at most `most` sums."""
    along_m = along_n = 1
    while columns // along_n > MOST_COLUMNS or rows * columns // (along_m * along_n) > most:
        if columns // along_n > max(MOST_COLUMNS, rows // along_m) or columns // along_n > MOST_COLUMNS:
            along_n *= 2
        else:
            along_m *= 2
    return along_m, along_n


class _UncutError(Exception):
    """An operation that cannot be computed in parts."""


def _cut(
    func: Op, loop: Op, along: tuple[int, int], defs: Mapping[Value, Op], used: Mapping[Value, Sequence[Op]]
) -> Op | None:
    """Return the function with a loop over the parts of the result of `loop`, or None if it cannot be split."""
    store = _store_of(loop, func.body, used)
    if store is None:
        return None
    rewriter = _Parts(loop, store, along, defs)
    try:
        body = rewriter.region(func.body, func.body.params)
    except _UncutError:
        return None
    live = Region(body.params, remove_dead(Module("", body.ops)).ops)
    return Op(func.kind, func.args, func.results, func.attrs, (live,), func.span)


def _store_of(loop: Op, body: Region, used: Mapping[Value, Sequence[Op]]) -> Op | None:
    """Return the only store of a loop's accumulated result, in the same block, or None."""
    block = next((r for r in _blocks(body) if loop in r.ops), None)
    stores = [op for op in body.walk() if op.kind in STORES]
    if block is None or len(stores) != 1 or stores[0].kind is not ops.tiled_store or stores[0] not in block.ops:
        return None
    if len(loop.results) != 1 or any(op.kind is aa.print_ for op in body.walk()):
        return None
    todo, seen = [loop.results[0]], set[Op]()
    while todo:
        for op in used.get(todo.pop(), ()):
            if op is stores[0] or op in seen:
                continue
            if op not in block.ops or not op.kind.pure or op.regions:
                return None
            seen.add(op)
            todo += op.results
    return stores[0]


def _blocks(region: Region) -> list[Region]:
    return [region, *(inner for op in region.ops for nested in op.regions for inner in _blocks(nested))]


class _Parts(Rewriter):
    """Computes a loop in parts. loop, store: the split operations. along: the number of row and column parts."""

    def __init__(self, loop: Op, store: Op, along: tuple[int, int], defs: Mapping[Value, Op]) -> None:
        super().__init__({std.for_: self._loop, ops.tiled_store: self._store})
        self.loop, self.store, self.along, self.defs = loop, store, along, defs
        self.inside = set(loop.body.walk())
        self.made: dict[tuple[Value, tuple[Cut, ...]], Value] = {}

    def _loop(self, op: Op, _: Rewriter) -> object:
        return op.results if op is self.loop else self.copy(op).results

    def _store(self, op: Op, _: Rewriter) -> object:
        """Emit the loop over the parts."""
        if op is not self.store:
            return self.copy(op).results
        (along_m, along_n), rank = self.along, op.value.type.rank
        token = self[op.token] if op.token is not None else self.emit(aa.create_mem_token)
        zero, one, count = (self._constant(n) for n in (0, 1, along_m * along_n))
        part, inner = Value(I32, "part"), Value(token.type, token.hint)
        outer, self.ops = self.ops, []
        m = self.emit(std.divui, part, self._constant(along_n)) if along_n > 1 else part
        n = self.emit(std.remui, part, self._constant(along_n)) if along_m > 1 else part
        cuts = (*[WHOLE] * (rank - 2), (along_m, m) if along_m > 1 else WHOLE, (along_n, n) if along_n > 1 else WHOLE)
        value = self.part(op.value, cuts)
        view, index = self._tiles(op.view, op.index, cuts)
        attrs = {**op.attrs, "in_bounds": ()}
        done = self.emit(ops.tiled_store, value, view, index, inner, span=op.span, **attrs)
        self.emit(std.yield_, [done])
        body, self.ops = Region((part, inner), tuple(self.ops)), outer
        return self.emit(std.for_, zero, count, one, [token], types=[token.type], regions=(body,), span=op.span)

    def _constant(self, value: int) -> Value:
        return self.emit(std.constant, types=[I32], value=Dense.of("i32", value))

    def _tiles(self, view: Value, index: Sequence[Value], cuts: Sequence[Cut]) -> tuple[Value, list[Value]]:
        """Return the array partitioned into part-sized tiles, and the index of one tile."""
        blocks: BlockTile = view.type
        if blocks.steps != blocks.tile or blocks.gather is not None:
            raise _UncutError
        shape = _part_of(blocks.tile, cuts)
        kind = replace(blocks, tile=shape, steps=shape)
        tiles = self.emit(aa.block_tile, self[self.defs[view].source], types=[kind], hint=view.hint)
        return tiles, [self._at(self.number(at), cut) for at, cut in zip(index, cuts, strict=True)]

    def _at(self, index: Value, cut: Cut) -> Value:
        count, number = cut
        if number is None:
            return index
        return self.emit(std.addi, self.emit(std.muli, index, self._constant(count)), number)

    def number(self, value: Value) -> Value:
        """Return a number, recomputed inside the loop if necessary."""
        op = self.defs.get(value)
        if op is None or op not in self.inside or value in self.env:
            return self[value]
        if not op.kind.pure or op.regions:
            raise _UncutError
        for operand in op.operands:
            self.number(operand)
        self.bind(op.results, self.copy(op).results)
        return self[value]

    def part(self, value: Value, cuts: tuple[Cut, ...]) -> Value:
        """Return a part of a tile. Raises `_UncutError` if it cannot be computed from parts of other tiles."""
        if all(cut is WHOLE for cut in cuts) and not self._is_inside(value):
            return self[value]
        if (value, cuts) not in self.made:
            self.made[value, cuts] = self._computed(value, cuts)
        return self.made[value, cuts]

    def _is_inside(self, value: Value) -> bool:
        op = self.defs.get(value)
        return op is None or op in self.inside or op is self.loop

    def _computed(self, value: Value, cuts: tuple[Cut, ...]) -> Value:
        op, tensor = self.defs.get(value), value.type
        assert isinstance(tensor, Tensor)
        kind = Tensor(_part_of(tensor.shape, cuts), tensor.element)
        if op is None:
            raise _UncutError
        if op is self.loop:
            return self._summed(cuts)
        if op.kind is std.constant and op.value.values.size == 1:
            return self.emit(std.constant, types=[kind], value=op.value, hint=value.hint)
        if op.kind is aa.splat:
            return self.emit(aa.splat, self.number(op.source), types=[kind], hint=value.hint)
        if op.kind is ops.tiled_load:
            view, index = self._tiles(op.view, op.index, cuts)
            token = [] if op.token is None else [self[op.token]]
            attrs = {**op.attrs, "in_bounds": ()}
            return self.emit(op.kind, view, index, *token, span=op.span, hint=value.hint, **attrs)[0]
        if op.kind is ops.dot:
            batch, (rows, columns) = cuts[:-2], cuts[-2:]
            args = [
                self.part(op.lhs, (*batch, rows, WHOLE)), self.part(op.rhs, (*batch, WHOLE, columns)),
                self.part(op.acc, cuts),
            ]  # fmt: skip
        else:
            args = [
                self.part(v, inner) if isinstance(v.type, Tensor) else self.number(v)
                for v, inner in zip(op.operands, self._cuts_of_operands(op, cuts), strict=True)
            ]
        made = Op(op.kind, tuple(args), (Value(kind, value.hint),), op.attrs, (), op.span)
        return self.add(made).result

    def _cuts_of_operands(self, op: Op, cuts: tuple[Cut, ...]) -> list[tuple[Cut, ...]]:
        """Return the operand cuts of an operation that renames elements or is elementwise."""
        shape = op.results[0].type.shape
        if op.kind is ops.broadcast:
            return [tuple(WHOLE if n == 1 else cut for n, cut in zip(op.source.type.shape, cuts, strict=True))]
        if op.kind is ops.permute:
            return [tuple(cuts[tuple(op.permutation).index(axis)] for axis in range(len(cuts)))]
        if op.kind in (ops.view, ops.expand_dims):
            wide = [cut for n, cut in zip(shape, cuts, strict=True) if n > 1]
            inner = op.source.type.shape
            if [n for n in shape if n > 1] != [n for n in inner if n > 1]:
                raise _UncutError
            rest = iter(wide)
            return [tuple(next(rest) if n > 1 else WHOLE for n in inner)]
        same = all(v.type.shape == shape for v in op.operands if isinstance(v.type, Tensor))
        if op.kind in TIES or not op.kind.pure or op.regions or len(op.results) != 1 or not op.operands or not same:
            raise _UncutError
        if any(not isinstance(arg, Value) for arg in op.args):
            raise _UncutError
        return [cuts] * len(op.operands)

    def _summed(self, cuts: tuple[Cut, ...]) -> Value:
        """Emit the loop that accumulates one part."""
        loop = self.loop
        index, param = loop.body.params
        initial = self.part(loop.args[3][0], cuts)  # type: ignore[index,arg-type]
        made_index, made_param = Value(index.type, index.hint), Value(initial.type, param.hint)
        self.bind([index], [made_index])
        self.made[param, cuts] = made_param
        outer, self.ops = self.ops, []
        added = self.part(loop.body.ops[-1].operands[0], cuts)
        self.emit(std.yield_, [added])
        body, self.ops = Region((made_index, made_param), tuple(self.ops)), outer
        bounds = [self[value] for value in (loop.lower, loop.upper, loop.step)]
        result = Value(initial.type, loop.results[0].hint)
        return self.add(Op(loop.kind, (*bounds, (initial,)), (result,), loop.attrs, (body,), loop.span)).result


def _part_of(shape: Sequence[int], cuts: Sequence[Cut]) -> tuple[int, ...]:
    if any(extent % count for extent, (count, _) in zip(shape, cuts, strict=True)):
        raise _UncutError
    return tuple(extent // count for extent, (count, _) in zip(shape, cuts, strict=True))
