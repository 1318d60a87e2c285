"""The pass tileas-materialize-async: loads become pipeline producers, and the dots that read them consumers.

Loads are by TMA, or gathers by cp.async (`gathers`). A group is the loads of a block that the same operations read:
they share the stages of one pipeline. Before its first reader the block acquires a stage, begins the loads and waits
for them; after its last reader it releases the stage.

On Blackwell, a loop that only adds up products is the producer of another pipeline: its tensor is the sums, in tensor
memory, and the code after the loop copies them to registers.

The order is that of the program until tileas-materialize-schedule gives producers and consumers to different agents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.ir import TirxError
from tirx_mini.records import dataclass

from ..context import Context
from ..layouts import LinearLayout, Move, SharedLayout, conversion
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Module, Op, Region, Rewriter, Value, make, uses
from . import ops
from . import pipeline_ops as pipe
from .gathers import with_async_gathers
from .operands import definitions, is_zero, runs
from .paired import halve_shared_tiles, renamed_axis
from .passes import element_bits
from .pipeline_types import MMA, THREADS, WGMMA, Pipeline
from .products import Chain, Room, chains, columns_left, rooms_of
from .rings import LOADS, PAIR, WAITS, Group, Ring, Sum, half, share
from .sums import simple_sum
from .threads_between import chained_loop, product_of

MOST_STAGES = 8
"""More stages do not hide more: a load takes as long as a few MMAs."""
OTHERS, BARRIERS = 6 << 10, 2 << 10
"""Bytes of shared memory that are left for barriers, alignment, and what threads exchange; without that."""
EXCHANGING = (ops.reduce, ops.scan, aa.extract, aa.cat, ops.tiled_atomic_rmw, aa.atomic_rmw, aa.atomic_cas)
"""Operations by which threads exchange numbers through shared memory."""
LOOPS = (std.for_, std.while_)
RENAMING = (ops.view, ops.expand_dims, ops.permute)
"""Operations that give a tensor in shared memory another name."""


def materialize_async(module: Module, context: Context) -> Module:
    """Convert asynchronous loads to pipelines, with as many stages as shared memory permits."""
    return Module(module.name, tuple(_function(op, context) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op, context: Context) -> Op:
    func = with_async_gathers(func, context)
    used = uses(func.body)
    groups, sums = list(_groups(func.body, 0)), list(_sums(func.body, False, used))
    if not groups:
        return func
    warps, dots = func.num_warps or WARPGROUP_WARPS, [each.dot for each in sums]
    found = chains(func, lambda op: op.mma == ops.TCGEN05, dots, warps, context)
    pair = not found and halve_shared_tiles(func.body, groups, sums, context)
    stages = {**stages_of(func, share(groups), context), **columns_of(sums, found, columns_left(context))}
    rewriter = _Pipelined(groups, sums, found, stages, PAIR if pair else 1)
    body = rewriter.function(func.body)
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _groups(region: Region, depth: int) -> Iterator[Group]:
    """Return the load groups of a region and its nested regions, in program order."""
    found: dict[tuple[Op, ...], Group] = {}
    for op in region.ops:
        if op.kind in WAITS:
            names, readers = _readers(op.result, region)
            consumer = _consumer(names, readers)
            group = found.setdefault(tuple(readers), Group([], region, readers, depth, consumer))
            group.waits.append(op)
    yield from found.values()
    for op in region.ops:
        for inner in op.regions:
            yield from _groups(inner, depth + (op.kind in LOOPS))


def _sums(region: Region, looped: bool, used: Mapping[Value, list[Op]]) -> Iterator[Sum]:
    """Yield the loops in a region and its nested regions whose sums will reside in tensor memory."""
    for op in region.ops:
        dot = simple_sum(op, used) if op.kind is std.for_ else None
        if dot is not None and dot.mma == ops.TCGEN05:
            yield Sum(op, dot, op.body.params[1:].index(dot.acc), region, looped)
            continue
        for inner in op.regions:
            yield from _sums(inner, looped or op.kind in LOOPS, used)


def _consumer(names: set[Value], readers: Sequence[Op]) -> str:
    """Return the consumer of a tensor: the Blackwell or Hopper tensor core, or threads."""
    inner = [op for reader in readers for op in (reader, *(o for r in reader.regions for o in r.walk()))]
    dots = {op.mma for op in inner if op.kind is ops.dot and names & set(op.operands)}
    return MMA if ops.TCGEN05 in dots else WGMMA if dots else THREADS


def _readers(value: Value, region: Region) -> tuple[set[Value], list[Op]]:
    """Return the aliases of a shared-memory tensor through views and permutations, and the operations that use it.

    One that is used in a region inside is used by the operation of the block that has the region.
    """
    names = {value}
    for op in region.walk():
        if op.kind in RENAMING and op.source in names:
            names.add(op.result)
    found: list[Op] = []
    for op in region.ops:
        inner = (o for r in op.regions for o in r.walk())
        if op.kind not in RENAMING and any(names & set(o.operands) for o in (op, *inner)):
            found.append(op)
    return names, found


# -- stages --------------------------------------------------------------------------------------------------------

ENOUGH_STAGES = 3
"""Stages of a loop with one pipeline: of one that is read, one that is there, and one that is loaded."""


def stages_of(func: Op, groups: Sequence[Group], context: Context) -> Mapping[Group, int]:
    """Return the stage count of each pipeline; those in the innermost loops share the remaining memory evenly.

    The others have one stage, or two where a loop repeats them and there is room left.
    Raises TirxError, at the load, where one stage of each does not fit.
    """
    room = context.gpu.architecture.smem_per_cta // (context.options.occupancy or 1) - reserved(func)
    depth = max(group.depth for group in groups)
    inner = [group for group in groups if group.depth == depth]
    each, total = (sum(group.bytes for group in some) for some in (inner, groups))
    if total > room:
        _too_large(groups, total, room)
    asked = context.options.num_stages or _hint(func)
    count = min(asked or MOST_STAGES, 1 + (room - total) // each) if depth else 1
    if count < asked and depth:
        context.note(f"{asked} stages of {each:,} bytes do not fit into shared memory: there are {count}", func.span)
    if depth and len(inner) == 1 and not asked and count < ENOUGH_STAGES:
        context.note(
            f"{'one stage' if count == 1 else f'{count} stages'} of {each:,} bytes, all that fits into shared memory: "
            "loads begin too late to hide their latency",
            inner[0].waits[0].span,
            "make the tiles of the loop smaller, along K for example",
        )
    found = dict.fromkeys(groups, 1) | dict.fromkeys(inner, count)
    left = room - total - (count - 1) * each
    for group in sorted(groups, key=lambda group: -group.depth):
        if 0 < group.depth < depth and asked != 1 and group.bytes <= left:
            found[group], left = 2, left - group.bytes
    return found


def columns_of(sums: Sequence[Sum], found: Sequence[Chain], most: int) -> Mapping[Ring, int]:
    """Return the stage counts in tensor memory; repeated sums get two, so that one is read while the next accumulates.

    most: columns of tensor memory.

    What threads write has one stage. So have the sums of products that are divided into parts: the tensor core works
    for one part while threads read another.
    """
    rooms = rooms_of(found)
    looped = [each for each in sums if each.looped]
    looped += [room for room in rooms if room.producer == MMA and room.parts == 1 and not room.is_covered]
    total = sum(each.columns for each in (*sums, *rooms))
    twice = total + sum(each.columns for each in looped) <= most
    return {each: 2 if each in looped and twice else 1 for each in (*sums, *rooms)}


def _hint(func: Op) -> int:
    """Return the largest number of stages that a loop of the program requests, or 0."""
    return max((int(op.num_stages or 0) for op in func.body.walk() if op.kind is std.for_), default=0)


def _too_large(groups: Sequence[Group], needed: int, room: int) -> None:
    largest = max(groups, key=lambda group: group.bytes)
    tiles = ", ".join(f"{'×'.join(map(str, t.shape))} {t.element}" for t in largest.tensors)
    raise TirxError(
        f"the tiles that are loaded need {needed:,} bytes of shared memory, but {room:,} are left: the largest are "
        f"{tiles}",
        largest.waits[0].span,
        "make the tiles smaller, along K for example",
    )


def reserved(func: Op) -> int:
    """Return the bytes of shared memory that pipelines leave for other uses.

    They are for barriers, for what threads exchange, of which the largest tile that changes its layout is one, and for
    tiles that are stored by TMA.
    """
    body = list(func.body.walk())
    exchanged = max((_bytes(op) for op in body if op.kind is ops.convert_layout), default=0)
    written = {op.destination: op.destination.type for op in body if op.kind is ops.insert_slice}
    stored = sum(t.size * element_bits(t) // 8 for t in written.values() if isinstance(t.layout, SharedLayout))
    return (OTHERS if any(op.kind in EXCHANGING for op in body) else BARRIERS) + exchanged + stored


def _bytes(op: Op) -> int:
    source, target = op.source.type, op.result.type
    size = source.size * element_bits(source) // 8
    if isinstance(source.layout, SharedLayout):
        return 0
    if not isinstance(source.layout, LinearLayout) or not isinstance(target.layout, LinearLayout):
        return size
    return size * 9 // 8 if conversion(source.layout, target.layout).move is Move.SHARED else 0


# -- rewriting -----------------------------------------------------------------------------------------------------


@dataclass
class _Iterators:
    """The current iterators of both sides of each pipeline."""

    producer: dict[Ring, Value] = field(default_factory=dict)
    consumer: dict[Ring, Value] = field(default_factory=dict)

    def values(self, groups: Sequence[Ring]) -> list[Value]:
        return [side[group] for group in groups for side in (self.producer, self.consumer)]

    def set(self, groups: Sequence[Ring], values: Sequence[Value]) -> None:
        found = iter(values)
        for group in groups:
            self.producer[group], self.consumer[group] = next(found), next(found)


class _Pipelined(Rewriter):
    def __init__(
        self, groups: Sequence[Group], sums: Sequence[Sum], found: Sequence[Chain], stages: Mapping[Ring, int],
        ctas: int,
    ) -> None:  # fmt: skip
        super().__init__(default=self.placed)
        self.ctas = ctas
        self.groups, self.stages = groups, stages
        self.sums = {each.loop: each for each in sums}
        self.dots = {each.dot: each for each in sums}
        self.chains = {chain.loop: chain for chain in found}
        self.products = {product.dot: product for chain in found for product in chain.products}
        self.late = {op for product in self.products.values() for op in product.late}
        self.rooms_of_chains = [room for product in self.products.values() for room in product.rooms]
        self.rings: list[Ring] = [*dict.fromkeys(group.ring for group in groups), *sums, *rooms_of(found)]
        self.first_iteration: Value | None = None
        self.at = _Iterators()
        self.first = {group.readers[0] for group in groups}
        self.rooms = {op.buffer for group in groups for op in group.waits}
        self.renames = {op for group in groups for op in _renaming(group)}
        self.held: dict[Group, Value] = {}
        self.defs: dict[Value, Op] = {}

    def function(self, body: Region) -> Region:
        """Rewrite the body, starting with the pipelines and their iterators."""
        self.defs = definitions(body)
        outer, self.ops = self.ops, []
        for number, group in enumerate(self.rings):
            parts = group.parts if isinstance(group, Room) else 1
            kind = Pipeline(self.stages[group], group.producer, group.consumer, group.tensors, parts)
            label = group.label or f"pipe{number}"
            over = group.over.ring.pipeline if isinstance(group, Room) and group.over is not None else None
            group.pipeline = self.emit(
                pipe.create_pipeline, over, types=[kind], label=label, hint=label, ctas=self.ctas
            )
            self.at.producer[group] = self.emit(pipe.create_iterator, group.pipeline, producer=True)
            self.at.consumer[group] = self.emit(pipe.create_iterator, group.pipeline)
        created, self.ops = tuple(self.ops), outer
        made = self.region(body, body.params)
        return Region(made.params, created + made.ops)

    def placed(self, op: Op, _: Rewriter) -> Any:
        if op.kind in (*WAITS, *LOADS) or op in self.renames or set(op.results) & self.rooms:
            return tuple(self.env.get(value, value) for value in op.results)  # stands where its first reader does
        regions = set(_regions(op))
        used: set[Ring] = {group.ring for group in self.groups if group.block in regions}
        used |= {room.ring for room in self.rooms_of_chains if room.block in regions}
        inside = [ring for ring in self.rings if ring in used or ring.block in regions]
        if op in self.first:
            for group in self.groups:
                if group.readers[0] is op:
                    self._begin(group)
        if op in self.late:
            made: Any = op.results  # stands where the dot does that needs it
        elif op in self.products:
            made = product_of(self, self.products[op])
        elif op in self.dots:
            made = self._added(op)
        elif op in self.chains:
            made = chained_loop(self, self.chains[op], inside)
        elif op in self.sums:
            made = self._summed(self.sums[op], inside)
        else:
            repeat = self._branch if op.kind is std.if_ else self.loop
            made = repeat(op, inside) if inside else self.copy(op).results
        for group in self.groups:
            if group.readers[-1] is op:
                self._release(group)
        return made

    def _begin(self, group: Group) -> None:
        """Fill a stage and wait for it."""
        ring = group.ring
        assert ring.pipeline is not None
        stage = self.emit(pipe.producer_acquire, ring.pipeline, self.at.producer[ring])
        loads = [self.defs[op.token] for op in group.waits]
        room = tuple(Value(kind, op.result.hint) for op, kind in zip(group.waits, group.tensors, strict=True))
        outer, self.ops = self.ops, []
        for load, buffer in zip(loads, room, strict=True):
            if load.kind is pipe.async_load:
                self.emit(pipe.async_load, self[load.source], self[load.mask], buffer, span=load.span)
                continue
            self.emit(
                pipe.tiled_tma_load, self[load.view], buffer, self[load.desc], [self[i] for i in load.indices],
                span=load.span, multicast=load.multicast and self.ctas == 1,
            )  # fmt: skip
        self.emit(pipe.pipeline_yield, [])
        body, self.ops = Region(room, tuple(self.ops)), outer
        written = self.emit(pipe.producer_write, ring.pipeline, stage, regions=(body,))
        self.emit(pipe.producer_commit, ring.pipeline, written)
        self.at.producer[ring] = self.emit(pipe.inc_iter, self.at.producer[ring])
        self.held[group] = self.emit(pipe.consumer_wait, ring.pipeline, self.at.consumer[ring])
        read = self.emit(pipe.consumer_read, ring.pipeline, self.held[group])
        tensors = (read,) if isinstance(read, Value) else tuple(read)
        self.bind([op.result for op in group.waits], tensors)
        halved = {op.result: axis for op, axis in group.halves.items()}
        for op in _renaming(group):
            kind = op.result.type
            if op.source in halved:
                halved[op.result] = renamed_axis(op, halved[op.source])
                kind = half(kind, halved[op.result])
            made = Op(op.kind, (self[op.source],), (Value(kind, op.result.hint),), op.attrs, (), op.span)
            self.env[op.result] = self.add(made).result

    def _release(self, group: Group) -> None:
        ring = group.ring
        self.emit(pipe.consumer_release, ring.pipeline, self.held[group])
        self.at.consumer[ring] = self.emit(pipe.inc_iter, self.at.consumer[ring])

    def loop(self, op: Op, inside: list[Ring], rooms: Mapping[int, Value | None] | None = None) -> list[Value]:
        """Emit a loop that carries the iterators of the pipelines inside it.

        rooms: which of the values that it carries are in tensor memory instead, and where the body finds them.
        """
        rooms = rooms or {}
        assert op.kind is std.for_, op.kind.name
        before = self.at.values(inside)
        body = op.body
        kept = [i for i in range(len(op.results)) if i not in rooms]
        carried = tuple(Value(v.type, v.hint or "it") for v in before)
        params = {i: Value(body.params[i + 1].type, body.params[i + 1].hint) for i in kept}
        index = Value(body.params[0].type, body.params[0].hint)
        self.bind([body.params[0], *(body.params[i + 1] for i in kept)], [index, *params.values()])
        self.env.update({body.params[i + 1]: room for i, room in rooms.items() if room is not None})
        self.at.set(inside, carried)
        outer, self.ops = self.ops, []
        for inner in body.ops[:-1]:
            self.op(inner)
        yielded = [self[body.ops[-1].operands[i]] for i in kept]
        self.emit(std.yield_, [*yielded, *self.at.values(inside)])
        made, self.ops = tuple(self.ops), outer
        results = {i: Value(op.results[i].type, op.results[i].hint) for i in kept}
        after = tuple(Value(v.type, v.hint) for v in carried)
        inits = tuple(self[op.args[3][i]] for i in kept)  # type: ignore[index]
        args = (*(self[a] for a in op.args[:3]), (*inits, *before))
        region = Region((index, *params.values(), *carried), made)
        self.add(Op(op.kind, args, (*results.values(), *after), op.attrs, (region,), op.span))
        self.at.set(inside, after)
        return [results.get(i, old) for i, old in enumerate(op.results)]

    def _branch(self, op: Op, inside: list[Ring]) -> list[Value]:
        """Emit a branch that yields the iterators of the pipelines inside it."""
        before, regions = self.at.values(inside), list[Region]()
        for region in op.regions:
            self.at.set(inside, before)
            outer, self.ops = self.ops, []
            for inner in region.ops[:-1]:
                self.op(inner)
            yielded = [self[value] for value in (region.ops[-1].values if region.ops else ())]
            self.emit(std.yield_, [*yielded, *self.at.values(inside)])
            made, self.ops = tuple(self.ops), outer
            regions.append(Region((), made))
        results = [Value(v.type, v.hint) for v in op.results]
        after = [Value(v.type, v.hint) for v in before]
        self.add(Op(op.kind, (self[op.condition],), (*results, *after), op.attrs, tuple(regions), op.span))
        self.at.set(inside, after)
        return results

    # -- sums in tensor memory -------------------------------------------------------------------------------------

    def _summed(self, each: Sum, inside: list[Ring]) -> list[Value]:
        """Emit an accumulation loop as the producer of a stage, then copy the stage to registers."""
        at, loop = self.at, each.loop
        stage = self.emit(pipe.producer_acquire, each.pipeline, at.producer[each])
        room = self.emit(pipe.producer_room, each.pipeline, stage, hint=each.label)
        at.producer[each] = self.emit(pipe.inc_iter, at.producer[each])
        results = self.loop(loop, inside, {each.index: room})
        self.emit(pipe.producer_commit, each.pipeline, stage)
        held = self.emit(pipe.consumer_wait, each.pipeline, at.consumer[each])
        read = self.emit(pipe.consumer_read, each.pipeline, held)
        results[each.index] = self._in_registers(each, read)
        self.emit(pipe.consumer_release, each.pipeline, held)
        at.consumer[each] = self.emit(pipe.inc_iter, at.consumer[each])
        return results

    def _in_registers(self, each: Sum, read: Value) -> Value:
        """Return the sums added to the loop's initial value, or only that value if the loop has no iteration."""
        loop = each.loop
        initial: Value = loop.args[3][each.index]  # type: ignore[index,assignment]
        if runs(loop, self.defs):
            return self._total(each, read, initial)
        any_round = self.emit(std.cmpi, self[loop.lower], self[loop.upper], predicate="slt")
        outer, self.ops = self.ops, []
        self.emit(std.yield_, [self._total(each, read, initial)])
        then, self.ops = Region((), tuple(self.ops)), outer
        orelse = Region((), (make(std.yield_, ((self[initial],),)),))
        return self.emit(std.if_, any_round, regions=(then, orelse), types=[initial.type], hint=each.label)

    def _total(self, each: Sum, read: Value, initial: Value) -> Value:
        sums = self.emit(pipe.copy, read, types=[initial.type], hint=each.label)
        return sums if is_zero(self.defs.get(initial)) else self.emit(std.addf, sums, self[initial], hint=each.label)

    def _added(self, op: Op) -> Value:
        """Emit a product that accumulates, except in the first iteration."""
        loop = self.dots[op].loop
        adds = self.emit(std.cmpi, self[loop.body.params[0]], self[loop.lower], predicate="ne")
        room = self[op.acc]
        lhs, rhs = self[op.lhs], self[op.rhs]
        given = {"mma": op.mma, "ctas": self.ctas, "signed": op.signed_lhs}
        self.emit(pipe.async_dot, lhs, rhs, room, adds, types=[room.type], **given)
        return room


def _renaming(group: Group) -> list[Op]:
    """Return the views and permutations of a group's tensors."""
    names, found = {op.result for op in group.waits}, list[Op]()
    for op in group.block.ops:
        if op.kind in RENAMING and op.source in names:
            names.add(op.result)
            found.append(op)
    return found


def _regions(op: Op) -> Iterator[Region]:
    """Yield the regions of an operation, including nested ones."""
    for region in op.regions:
        yield region
        for inner in region.ops:
            yield from _regions(inner)
