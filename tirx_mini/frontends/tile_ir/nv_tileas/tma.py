"""The pass tileas lower-tma-load-store-to-async: TMA loads for tensor-core operands, and TMA stores of results.

A tile that is stored goes to shared memory first. Successive slices take turns with two rooms there: a slice may be
written as soon as TMA has read the slice before the last. Before the first slice of a tile, the stores of the tile
before are complete, so that stores of a block are in program order.
"""

from __future__ import annotations

from ..context import Context
from ..cuda_tile import Dense
from ..layouts import SharedLayout
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, Region, Rewriter, Value, make
from . import ops
from . import pipeline_ops as pipe
from .operands import carried, chain_of, definitions, laid_out, loaded_layout, reasons, without_unused_loads
from .pipeline_types import I32, TMA_DESC
from .stores import by_tma

ROOMS = 2
"""Slices in shared memory that TMA stores, or threads write, at a time."""


def lower_tma_load_store_to_async(module: Module, context: Context) -> Module:
    """Convert each tiled_load to shared memory to an asynchronous TMA load, and eligible stores to TMA stores.

    A load that TMA cannot perform is unchanged, and its elements pass through registers; a note says why.
    """
    return Module(module.name, tuple(_function(op, context) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op, context: Context) -> Op:
    defs = definitions(func.body)
    rewriter = _Lower(defs)
    for op in func.body.walk():
        if op.kind is ops.convert_layout and isinstance(op.result.type.layout, SharedLayout):
            chain = chain_of(op.result, defs)
            if not chain:
                continue
            why = next(reasons(chain[0], func, defs), None)
            if why is None:
                rewriter.chains[op] = chain
                rewriter.loads.add(chain[0])
            else:
                context.note(f"this tile is loaded through registers, without TMA: {why}", chain[0].span)
        elif op.kind is ops.tiled_store and by_tma(op, func, defs):
            rewriter.stores.append(op)
    if not rewriter.chains and not rewriter.stores:
        return func
    made = rewriter.region(func.body)
    body = without_unused_loads(Region(made.params, (*rewriter.made_rooms, *made.ops)))
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


class _Lower(Rewriter):
    """Lowers loads and stores.

    chains: for each conversion to shared memory, the operations from the load to it. descs: tensor maps by array.
    stores: those that TMA performs. rooms: shared memory for them, by tile type. turns: the number of stores of each.
    """

    def __init__(self, defs: dict[Value, Op]) -> None:
        super().__init__(default=self.lowered)
        self.defs = defs
        self.chains: dict[Op, list[Op]] = {}
        self.loads: set[Op] = set()
        self.loaded: dict[Op, Value] = {}
        self.descs: dict[Value, Value] = {}
        self.stores: list[Op] = []
        self.rooms: dict[Tensor, list[Value]] = {}
        self.turns: dict[Tensor, int] = {}
        self.made_rooms: list[Op] = []

    def lowered(self, op: Op, _: Rewriter) -> object:
        if op.kind is aa.make_memref:
            return self._array(op)
        if op in self.loads:
            made = self.copy(op).results
            self.loaded[op] = self._load(op)
            return made
        if op in self.stores:
            return self._store(op)
        chain = self.chains.get(op)
        if chain is None:
            return KEEP
        load, *rest = chain
        value, layout = self.loaded[load], loaded_layout(load)
        for step in rest[:-1]:
            layout = carried(step, layout)
            if step.kind is not ops.convert_layout:
                value = self.copy_with(step, value, step.result.type.with_layout(layout))
        return value

    def _array(self, op: Op) -> Value:
        """Emit an array, with a tensor map if a load or store needs one."""
        array = self.copy(op).result
        views = [*(chain[0].view for chain in self.chains.values()), *(store.view for store in self.stores)]
        if any(self.defs[view].source is op.result for view in views):
            self.descs[op.result] = self.emit(pipe.make_tiled_tma_desc, array, tmaIdx=len(self.descs), hint="tma_desc")
        return array

    def copy_with(self, op: Op, source: Value, type: Tensor) -> Value:
        """Copy a view or permutation of shared memory."""
        made = Op(op.kind, (source,), (Value(type, op.result.hint),), op.attrs, (), op.span)
        return self.add(made).result

    def _load(self, load: Op) -> Value:
        desc = self.descs[self.defs[load.view].source]
        tensor = load.tensor.type.with_layout(loaded_layout(load))
        room = self.emit(pipe.alloc_tensor, types=[tensor], hint=load.tensor.hint, span=load.span)
        indices = [self[index] for index in load.index]
        token = self.emit(pipe.tiled_tma_load, self[load.view], room, desc, indices, span=load.span)
        return self.emit(pipe.wait_tma, token, room, hint=load.tensor.hint, span=load.span)

    def _store(self, store: Op) -> Value:
        """Emit a tile's copy to shared memory and its TMA store, and return a token for the issued store."""
        value = store.value
        kind: Tensor = value.type.with_layout(laid_out(value.type, tuple(reversed(range(value.type.rank)))))
        turn, again = self.turns.get(kind, 0), self._follows(store)
        room = self._room(kind, turn, len([s for s in self.stores if s.value.type == value.type]))
        self.turns[kind] = turn + 1
        if again:
            self.emit(pipe.wait_tma_store, pending=len(self.rooms[kind]) - 1, read=True)
        else:
            self.emit(pipe.wait_tma_store)
        zero = self.emit(std.constant, types=[I32], value=Dense.of("i32", 0))
        written = self.emit(ops.insert_slice, self[value], room, [zero] * kind.rank, hint=value.hint)
        desc = self.descs[self.defs[store.view].source]
        index = [self[index] for index in store.index]
        self.emit(pipe.tiled_tma_store, self[store.view], written, desc, index, span=store.span)
        return self[store.token] if store.token is not None else self.emit(aa.create_mem_token)

    def _follows(self, store: Op) -> bool:
        """Return whether a store writes another slice of the same tile as the preceding store."""
        place = self.stores.index(store)
        before = self.stores[place - 1] if place else None
        return before is not None and before.view is store.view and before.result_token is store.token

    def _room(self, kind: Tensor, turn: int, stores: int) -> Value:
        if kind not in self.rooms:
            count = min(ROOMS, stores)
            self.made_rooms += [make(pipe.alloc_tensor, (), types=[kind], hints=["stored"]) for _ in range(count)]
            self.rooms[kind] = [op.result for op in self.made_rooms[-count:]]
        return self.rooms[kind][turn % len(self.rooms[kind])]


# -- tileas-attach-tma-desc-args -----------------------------------------------------------------------------------


def attach_tma_desc_args(module: Module, context: Context) -> Module:
    """Add tensor maps as trailing kernel parameters, which the host encodes at each launch."""
    return Module(module.name, tuple(_with_descs(op) if op.kind is aa.func else op for op in module.ops))


def _with_descs(func: Op) -> Op:
    descs = sorted((op for op in func.body.walk() if op.kind is pipe.make_tiled_tma_desc), key=lambda op: op.tmaIdx)
    if not descs:
        return func
    params = tuple(Value(TMA_DESC, f"{_name_of(op)}_tma_desc") for op in descs)
    made = dict(zip(descs, params, strict=True))
    body = Rewriter({pipe.make_tiled_tma_desc: lambda op, _: made[op]}).region(func.body, func.body.params)
    return Op(func.kind, func.args, func.results, func.attrs, (Region((*body.params, *params), body.ops),), func.span)


def _name_of(op: Op) -> str:
    return op.memref.hint.removesuffix("_view") or "array"
