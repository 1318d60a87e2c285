"""The passes tileas-prepare-for-scheduling and tileas-generate-schedule, which order operations to hide latencies.

A warp issues its operations in order, and goes on while a load is under way; it waits where the elements are needed.
So a load should stand before the work that does not need it: before the reductions of another tile, whose barriers the
CUDA compiler moves nothing across.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from tirx_mini.records import dataclass

from ..context import COST_BASED, Context
from ..layouts import LinearLayout, Move, conversion
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Module, Op, Region, Value
from . import ops
from .passes import element_bits

LATENCY = "sched.latency"
"""The attribute: cycles from the begin of an operation until its results are there."""
LOADS = (ops.tiled_load, ops.gather_load, ops.load)
CONTROL = (std.for_, std.while_, std.if_)
MOST_REGISTERS = 96
"""Registers of 32 bits of a thread for what loads bring early."""


# -- tileas-prepare-for-scheduling ---------------------------------------------------------------------------------


def prepare_for_scheduling(module: Module, context: Context) -> Module:
    """Annotate each tensor operation with its latency in cycles, for cost-based scheduling."""
    if context.options.schedule != COST_BASED:
        return module
    return Module(module.name, tuple(_prepared(op, context) for op in module.ops))


def _prepared(op: Op, context: Context) -> Op:
    regions = op.regions if op.kind in (ops.reduce, ops.scan) else tuple(_each(r, context) for r in op.regions)
    attrs = op.attrs
    if op.kind not in CONTROL and any(isinstance(v.type, Tensor) for v in op.results):
        attrs = {**attrs, LATENCY: round(_latency(op, context))}
    return Op(op.kind, op.args, op.results, attrs, regions, op.span)


def _each(region: Region, context: Context) -> Region:
    return Region(region.params, tuple(_prepared(op, context) for op in region.ops))


def _latency(op: Op, context: Context) -> float:
    """Return the latency of an operation for one warp, by the GPU's cost model."""
    gpu = context.gpu
    registers = max(registers_of(v) for v in (*op.operands, *op.results))
    work = gpu.issue["alu"] * registers
    if op.kind in LOADS:
        return gpu.hbm_latency + work
    if op.kind is ops.convert_layout:
        source, target = op.source.type.layout, op.result.type.layout
        if isinstance(source, LinearLayout) and isinstance(target, LinearLayout):
            found = conversion(source, target)
            if found.move in (Move.NONE, Move.REGISTERS):
                return 0
            if found.move is not Move.SHARED:
                return gpu.issue["shuffle"] * registers * max(1, len(found.swaps))
        return work + gpu.smem_latency + gpu.bar_latency
    if op.kind in (ops.reduce, ops.scan):
        return work + 5 * gpu.issue["shuffle"] + gpu.smem_latency + gpu.bar_latency
    return work


def registers_of(value: Value) -> int:
    """Return the number of 32-bit registers per thread that hold a value; a boolean takes one."""
    tensor = value.type
    if not isinstance(tensor, Tensor) or not isinstance(tensor.layout, LinearLayout):
        return 1
    bits = element_bits(tensor)
    return max(1, tensor.linear.registers * (32 if bits == 1 else bits) // 32)


# -- tileas-generate-schedule --------------------------------------------------------------------------------------


def generate_schedule(module: Module, context: Context) -> Module:
    """Schedule operations in program order, or by cost with list scheduling, longest path first.

    Loops, branches and accesses with effects stay in order; operations between two of them may move. A block with dots
    keeps the order of the program: its tiles are loaded ahead of time by pipelines.
    """
    if context.options.schedule != COST_BASED:
        return module
    return Module(module.name, tuple(_scheduled(op) for op in module.ops))


def _scheduled(op: Op) -> Op:
    attrs = {name: value for name, value in op.attrs.items() if name != LATENCY} if LATENCY in op.attrs else op.attrs
    regions = op.regions if op.kind in (ops.reduce, ops.scan) else tuple(_block(region) for region in op.regions)
    return Op(op.kind, op.args, op.results, attrs, regions, op.span)


def _block(region: Region) -> Region:
    serial = any(op.kind is ops.dot for op in region.ops)
    found: list[Op] = []
    for part in _parts(region.ops):
        found += part if serial or len(part) < 3 else _Scheduler(part).order()
    return Region(region.params, tuple(_scheduled(op) for op in found))


def _parts(block: Sequence[Op]) -> Iterator[list[Op]]:
    """Yield the block's parts, split at loops, branches and its terminator."""
    part: list[Op] = []
    for op in block:
        if op.kind in CONTROL or op.kind.terminator or op.kind is aa.return_:
            yield part
            yield [op]
            part = []
        else:
            part.append(op)
    yield part


@dataclass(eq=False)
class _Node:
    """A node of the scheduling graph. height: cycles of the longest path that starts with it.

    waits: how many operations before it are not scheduled. ready: the cycle at which their results are there.
    """

    op: Op
    number: int
    latency: int
    issue: int
    after: list[_Node] = field(default_factory=list)
    height: int = 0
    waits: int = 0
    ready: int = 0


class _Scheduler:
    """A list scheduler for straight-line code of one warp that issues in order."""

    def __init__(self, part: Sequence[Op]) -> None:
        self.nodes = [_node(op, number) for number, op in enumerate(part)]
        self._connect()
        for node in reversed(self.nodes):
            node.height = node.latency + max((other.height for other in node.after), default=0)
        self.held: dict[_Node, int] = {}
        """The registers of what was loaded, and how many uses are to come."""
        self.uses = {node: len(node.after) for node in self.nodes}

    def _connect(self) -> None:
        made: dict[Value, _Node] = {}
        effect: _Node | None = None
        since: list[_Node] = []
        for node in self.nodes:
            before = {made[value] for value in node.op.operands if value in made}
            if node.op.kind in LOADS:
                before |= {effect} if effect is not None else set()
                since.append(node)
            elif not node.op.kind.pure:
                before |= {*since, *([effect] if effect is not None else [])}
                effect, since = node, []
            for other in before:
                other.after.append(node)
            node.waits = len(before)
            made.update(dict.fromkeys(node.op.results, node))

    def order(self) -> list[Op]:
        found: list[Op] = []
        open_nodes = [node for node in self.nodes if not node.waits]
        now = 0
        while open_nodes:
            ready = [node for node in open_nodes if node.ready <= now] or open_nodes
            node = min(ready, key=lambda n: self._rank(n, now))
            now = max(now, node.ready) + node.issue
            open_nodes.remove(node)
            found.append(node.op)
            self._take(node)
            for other in node.after:
                other.waits -= 1
                other.ready = max(other.ready, now - node.issue + node.latency)
                if not other.waits:
                    open_nodes.append(other)
        return found

    def _rank(self, node: _Node, now: int) -> tuple[int, bool, int, int]:
        """Return the issue priority: ready operations first, then those with free registers, then the longest path."""
        late = max(0, node.ready - now)
        return late, self._too_many(node), -node.height, node.number

    def _too_many(self, node: _Node) -> bool:
        if node.op.kind not in LOADS:
            return False
        return sum(self.held.values()) + registers_of(node.op.tensor) > MOST_REGISTERS

    def _take(self, node: _Node) -> None:
        """Account for registers held from a load to the last use of its value."""
        if node.op.kind in LOADS:
            self.held[node] = registers_of(node.op.tensor)
        for loaded in [other for other in self.held if node in other.after]:
            self.uses[loaded] -= 1
            if not self.uses[loaded]:
                del self.held[loaded]


def _node(op: Op, number: int) -> _Node:
    latency = op.attrs.get(LATENCY, 0)
    return _Node(op, number, latency, 2 * registers_of(op.results[0]) if op.kind in LOADS else latency)
