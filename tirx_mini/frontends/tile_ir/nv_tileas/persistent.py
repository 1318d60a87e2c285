"""The pass tileas-dynamic-persistent: a fixed set of resident CTAs processes the program's instances in turn.

The warp that loads goes on with the next instance while the others still compute and store this one. Instances that
run together are neighbours along x and along y, so that they share what they load in the L2.

On Hopper, 16 CTAs with successive numbers are in one GPC, whose SMs share a path to the L2: one read serves those that
need a tile at the same time. Where tiles are high, the lower half of the CTAs takes even instances and the upper half
odd ones. The 16 then have 4 × 4 tiles instead of 8 × 2, for which they load fewer rows and columns.

If loops grow with x, as in causal attention, the instances of 8 columns go from the longest to the shortest, and those
of the next 8 back. A CTA that begins with long ones then has short ones next: taken always from the longest, the same
CTAs would have long ones again and again. The last columns begin with the longest, so that the shortest fill the tail.

With ``num_ctas=2``, the two CTAs of a cluster have instances that are neighbours along x. A tile that both need is
loaded once: each loads a half for both (PTX ISA: "cp.async.bulk.tensor", .multicast::cluster).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..context import UNSPECIALIZED, Context
from ..cuda_tile import Dense
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Builder, Module, Op, Region, Rewriter, Value, uses
from . import pipeline_ops as pipe
from .lengths import EQUAL, GROW, lengths
from .operands import is_pure
from .pipeline_types import I32
from .sums import simple_sum

GROUP = 8
"""Instances along x that follow one another before the next ones along y."""
PAIR = 2
"""CTAs of a cluster."""
LEAST_SHARED = 2048
"""Elements of a tile that two CTAs load together."""


def dynamic_persistent(module: Module, context: Context) -> Module:
    """Convert a function's body to a loop over program instances, if requested or profitable.

    It helps where loads of the next instance can begin early, and it is known how long instances take.
    """
    return Module(module.name, tuple(_function(op, context) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op, context: Context) -> Op:
    wanted = context.options.dynamic_persistent
    if not (_helps(func, context) if wanted is None else wanted):
        return func
    most = context.gpu.sms * (context.options.occupancy or 1)
    halves = 2 if not context.has_tensor_memory and _are_high(func) and most % 2 == 0 else 1
    length = lengths(func.body) or EQUAL
    cluster = PAIR if length == EQUAL and _are_pairs(func, context) else 1
    if cluster == 1 and (context.options.num_ctas or 1) > 1 and context.grid is not None:
        context.note("CTAs of a cluster would share nothing here: num_ctas has no effect", func.span)
    body = _Persistent(most, 1 if cluster > 1 else halves, cluster, length).function(func.body)
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _helps(func: Op, context: Context) -> bool:
    body = list(func.body.walk())
    if context.options.agents == UNSPECIALIZED or not any(op.kind is pipe.wait_tma for op in body):
        return False
    if any(op.kind in (aa.get_num_programs, std.while_) or (op.kind is std.if_ and not is_pure(op)) for op in body):
        return False  # the program is persistent already, or its instances differ
    return lengths(func.body) is not None


def _are_high(func: Op) -> bool:
    """Return whether the tiles computed along x and y have fewer than twice as many columns as rows."""
    used = uses(func.body)
    dots = [simple_sum(op, used) for op in func.body.walk() if op.kind is std.for_]
    shapes = {dot.acc.type.shape[-2:] for dot in dots if dot is not None}
    return bool(shapes) and all(columns < 2 * rows for rows, columns in shapes)


def _are_pairs(func: Op, context: Context) -> bool:
    """Return whether instances adjacent along x are assigned to the two CTAs of a cluster."""
    ids = [op for op in func.body.walk() if op.kind is aa.get_program_id]
    if context.options.num_ctas != PAIR or context.grid is None or context.grid[0] % PAIR or context.gpu.sms % PAIR:
        return False
    return (context.options.occupancy or 1) == 1 and bool(_shared_loads(func.body, {op.x for op in ids}))


def _shared_loads(body: Region, roots: set[Value]) -> set[Op]:
    """Return the TMA loads of large tiles whose coordinates are independent of the given values."""
    varying = set(roots)
    before = 0
    while before != len(varying):
        before = len(varying)
        for op in body.walk():
            inner = [value for region in op.regions for value in region.params]
            if any(value in varying for value in (*op.operands, *inner)):
                varying.update(op.results)
                varying.update(inner)
    loads = (op for op in body.walk() if op.kind is pipe.tiled_tma_load)
    return {op for op in loads if not varying & set(op.indices) and op.buffer.type.size >= LEAST_SHARED}


class _Persistent(Rewriter):
    """Builds the persistent loop. most: CTAs. halves, cluster: as in `get_cta_slot`. length: the trend from `lengths`.
    """

    def __init__(self, most: int, halves: int, cluster: int, length: int) -> None:
        super().__init__({pipe.tiled_tma_load: self._load})
        self.most, self.halves, self.cluster, self.length = most, halves, cluster, length
        self.shared: set[Op] = set()

    def _load(self, op: Op, _: Rewriter) -> object:
        return self.copy(op, multicast=True).results if op in self.shared else KEEP

    def function(self, body: Region) -> Region:
        """Wrap the instance-dependent operations of the body in a loop."""
        ids = [op for op in body.ops if op.kind is aa.get_program_id]
        ends = [op for op in body.ops if op.kind is aa.return_]
        varying = _depending(body, {value for op in ids for value in op.results})
        inside = [op for op in body.ops if op in varying and op not in ids and op not in ends]
        for op in body.ops:
            if op not in varying and op not in ends:
                self.op(op)
        slot, count = self.emit(pipe.get_cta_slot, most=self.most, halves=self.halves, cluster=self.cluster)
        grid = self.emit(aa.get_num_programs, types=[I32] * 3)
        pair: tuple[Value, Value] | None = None
        if self.cluster > 1:
            self.shared = _shared_loads(body, {op.x for op in ids})
            size = self.emit(std.constant, types=[I32], value=Dense.of("i32", self.cluster))
            pair = size, self.emit(pipe.get_cta_rank)
            grid = (self.emit(std.divui, grid[0], size, hint="pairs"), *grid[1:])
        total = self.emit(std.muli, self.emit(std.muli, grid[0], grid[1]), grid[2], hint="instances")
        outer, self.ops = self.ops, []
        instance = Value(I32, "instance")
        longest = partial(_longest, most=self.most, length=self.length)
        place = (_place if self.length == EQUAL else longest)(self, instance, grid)
        if pair is not None:
            place[0] = self.emit(std.addi, self.emit(std.muli, place[0], pair[0]), pair[1], hint="x")
        for op in ids:
            self.bind(op.results, place)
        for op in inside:
            self.op(op)
        self.emit(std.yield_, [])
        made, self.ops = tuple(self.ops), outer
        self.emit(std.for_, slot, total, count, [], types=[], regions=(Region((instance,), made),))
        for op in ends:
            self.op(op)
        return Region(body.params, tuple(self.ops))


def _depending(body: Region, roots: set[Value]) -> set[Op]:
    """Return the operations executed per instance: all except invariant numbers and views."""
    varying: set[Value] = set(roots)
    found: set[Op] = set()
    for op in body.ops:
        inner = [o for region in op.regions for o in region.walk()]
        tiles = any(isinstance(v.type, Tensor) for v in (*op.results, *op.operands))
        same = (op.kind.pure or op.kind is pipe.create_pipeline) and not tiles and not op.regions
        if not same or any(v in varying for o in (op, *inner) for v in o.operands) or set(op.results) & roots:
            found.add(op)
            varying.update(op.results)
    return found


def _place(b: Builder, instance: Value, grid: Any) -> list[Value]:
    """Map an instance number to the indices x, y and z: down `GROUP` rows, then to the right."""

    def number(value: int) -> Value:
        return b.emit(std.constant, types=[I32], value=Dense.of("i32", value))

    group = number(GROUP)
    plane = b.emit(std.muli, grid[0], grid[1])
    inside = b.emit(std.remui, instance, plane)
    per_group = b.emit(std.muli, group, grid[1])
    first = b.emit(std.muli, b.emit(std.divui, inside, per_group), group)
    height = b.emit(std.minui, b.emit(std.subi, grid[0], first), group)
    rest = b.emit(std.remui, inside, per_group)
    x = b.emit(std.addi, first, b.emit(std.remui, rest, height), hint="x")
    y = b.emit(std.divui, rest, height, hint="y")
    return [x, y, b.emit(std.divui, instance, plane, hint="z")]


def _longest(b: Builder, instance: Value, grid: Any, most: int, length: int) -> list[Value]:
    """Map an instance number to its indices: along `GROUP` columns, then to the next x, back and forth by length.

    Instances of one y are close to each other, so that they find in the L2 what others of this y have loaded. The
    direction changes with each group of columns, or where these are few, after as many as the CTAs take at a time.
    The last group begins with the longest. most: CTAs.
    """

    def number(value: int) -> Value:
        return b.emit(std.constant, types=[I32], value=Dense.of("i32", value))

    group, one = number(GROUP), number(1)
    plane = b.emit(std.muli, grid[0], grid[1])
    inside = b.emit(std.remui, instance, plane)
    per_group = b.emit(std.muli, group, grid[0])
    place = b.emit(std.divui, inside, per_group)
    first = b.emit(std.muli, place, group)
    width = b.emit(std.minui, b.emit(std.subi, grid[1], first), group)
    rest = b.emit(std.remui, inside, per_group)
    line = b.emit(std.divui, rest, width, hint="line")
    from_end = b.emit(std.subi, b.emit(std.subi, grid[0], one), line)
    last = b.emit(std.divui, b.emit(std.subi, grid[1], one), group)
    at_a_time = b.emit(std.maxui, b.emit(std.divui, number(most), per_group), one)
    turns = b.emit(std.divui, b.emit(std.subi, last, place), at_a_time)
    ahead = b.emit(std.cmpi, b.emit(std.andi, turns, one), number(0), predicate="eq")
    x = b.emit(std.select, ahead, *((from_end, line) if length == GROW else (line, from_end)), hint="x")
    y = b.emit(std.addi, first, b.emit(std.remui, rest, width), hint="y")
    return [x, y, b.emit(std.divui, instance, plane, hint="z")]
