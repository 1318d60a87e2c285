"""The pass tileas-materialize-schedule: pipeline producers and consumers become agents, warps with their own programs.

Each agent gets the slice of the program that it needs: its own operations, the loops around them, and the numbers that
these depend on. Numbers are computed again in each agent (tileas-resolve-agent-boundary); tiles pass through pipelines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tirx_mini.hardware import REGISTERS_PER_SM, WARP_SIZE, WARPGROUP_WARPS
from tirx_mini.ir import TirxError

from ..context import UNSPECIALIZED, Context
from ..layouts import LinearLayout, blocked
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Module, Op, Region, Rewriter, Value, flat, remove_dead
from . import ops
from . import pipeline_ops as pipe
from .gathers import COPY_BYTES
from .matrix_agent import in_order
from .operands import definitions
from .pipeline_ops import COMPUTE, MATRIX, PRODUCER
from .pipeline_types import MMA, THREADS
from .relayout import Chosen, relayout_region

STEP, MOST_REGISTERS = 8, 240
"""setmaxnreg counts in steps of 8. No thread needs more than 240 registers."""
FEW_REGISTERS, SOME_REGISTERS = 40, 80
"""Registers of a thread that issues copies or MMAs alone, and of one of many that compute what to copy."""
_FILLS = (pipe.producer_acquire, pipe.producer_room, pipe.producer_write, pipe.producer_commit)
_EMPTIES = (pipe.consumer_wait, pipe.consumer_read, pipe.consumer_release, pipe.consumer_drain)
GATHERING = 4
"""Warps that load where they gather by cp.async: a warpgroup."""
MOST_COPIES = 8
"""Rounds in which values are computed again, until none is needed in two layouts."""
_FREE = (pipe.create_iterator, pipe.inc_iter, pipe.pipeline_yield)
"""Operations that belong to whoever needs them."""


def agent_of(op: Op) -> str | None:
    """Return the agent that executes an operation, or None if every agent that needs the value executes it."""
    if op.kind in _FILLS:
        return {MMA: MATRIX, THREADS: COMPUTE}.get(pipe.pipeline_of(op).producer, PRODUCER)
    if op.kind in _EMPTIES:
        kind = pipe.pipeline_of(op)
        read_before = kind.producer == MMA and op.kind is not pipe.consumer_release
        return MATRIX if kind.consumer == MMA and not read_before else COMPUTE
    if op.kind in (pipe.tiled_tma_load, pipe.async_load):
        return PRODUCER
    if op.kind is pipe.async_dot and op.mma == ops.TCGEN05:
        return MATRIX
    return None if op.kind.pure or op.kind.terminator or op.regions or op.kind in _FREE else COMPUTE


def materialize_schedule(module: Module, context: Context) -> Module:
    """Split a function with pipelines into agents: a loading warp and the computing warps."""
    if context.options.agents == UNSPECIALIZED:
        return module
    return Module(module.name, tuple(_function(op, context) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op, context: Context) -> Op:
    body = func.body
    if not any(op.kind is pipe.create_pipeline for op in body.ops):
        return func
    common = _common(body.ops)
    rest = Region((), tuple(op for op in body.ops if op not in common and op.kind is not aa.return_))
    ends = [op for op in body.ops if op.kind is aa.return_]
    inside = {agent_of(op) for op in rest.walk()}
    loaders = GATHERING if any(op.kind is pipe.async_load for op in rest.walk()) else 1
    agents = [(PRODUCER, loaders), *([(MATRIX, 1)] if MATRIX in inside else []), (COMPUTE, func.num_warps or 4)]
    regions = tuple(
        _resolved(slice_of(rest, lambda op, name=name: agent_of(op) == name), warps if name == PRODUCER else 0)
        for name, warps in agents
    )
    regions = tuple(
        in_order(region, body) if name == MATRIX else region for (name, _), region in zip(agents, regions, strict=True)
    )
    registers = () if (context.options.occupancy or 1) > 1 else registers_of(agents)
    switch = Op(pipe.agent_switch, (), (), {"agents": tuple(agents), "registers": registers}, regions)
    made = Region(body.params, (*_after_pipelines(common), switch, *ends))
    return Op(func.kind, func.args, func.results, func.attrs, (made,), func.span)


def registers_of(agents: Sequence[tuple[str, int]]) -> tuple[int, ...]:
    """Return the registers per thread of each agent, by name and warp count, or () if the launch's count suffices.

    A launch gives all threads the same number. Warpgroups then change it (PTX ISA: "setmaxnreg"), so warps that compute
    are in other warpgroups than those that do not.
    """
    own = sum(warps for name, warps in agents if name == COMPUTE)
    others = [warps for name, warps in agents if name != COMPUTE]
    groups, of_others = own // WARPGROUP_WARPS, -(-sum(others) // WARPGROUP_WARPS)
    if own % WARPGROUP_WARPS or not others:
        return ()
    each = REGISTERS_PER_SM // ((groups + of_others) * WARPGROUP_WARPS * WARP_SIZE) // STEP * STEP
    if each > MOST_REGISTERS:
        return ()
    few = FEW_REGISTERS if max(others) == 1 else SOME_REGISTERS
    most = (each * (groups + of_others) - few * of_others) // groups // STEP * STEP
    return tuple(min(most, MOST_REGISTERS) if name == COMPUTE else few for name, _ in agents) if few < each else ()


def _resolved(region: Region, warps: int) -> Region:
    """Redistribute a producer's tensors over its own warps as the gathers require, recomputing conflicting layouts.

    The part of tileas-resolve-agent-boundary that concerns layouts. Warps that load exchange nothing: what two layouts
    are needed of is computed twice. warps: 0 for an agent that keeps its layouts.
    Raises TirxError for what cannot be computed twice.
    """
    if warps <= 1:
        return region
    region = Rewriter({ops.convert_layout: lambda op, rw: rw[op.source]}).region(region, region.params)
    for _ in range(MOST_COPIES):
        spread = relayout_region(region, Chosen(_addresses(region, warps)), warps)
        if not any(op.kind is ops.convert_layout for op in spread.walk()):
            return spread
        region = _computed_again(spread)
    load = next(op for op in region.walk() if op.kind is pipe.async_load)
    raise TirxError("the warps that load would have to exchange the addresses of this gather", load.span)


def _addresses(region: Region, warps: int) -> dict[Value, LinearLayout]:
    """Return the layouts of all gather addresses: vectors of 16 bytes along rows."""

    def layout(op: Op) -> LinearLayout:
        element = op.buffer.type.element
        return blocked(op.source.type.shape, warps=warps, vector=COPY_BYTES * 8 // element.bits)

    return {op.source: layout(op) for op in region.walk() if op.kind is pipe.async_load}


def _computed_again(region: Region) -> Region:
    """Replace each layout conversion by a recomputation of its source's use-def chain."""
    defs = definitions(region)

    def again(value: Value, rw: Rewriter, known: dict[Value, Value]) -> Value:
        made = defs.get(value)
        if value in known or made is None or made.regions or not isinstance(value.type, Tensor):
            return known.get(value) or rw[value]
        args = tuple(
            tuple(again(v, rw, known) for v in arg) if isinstance(arg, tuple) else arg and again(arg, rw, known)
            for arg in made.args
        )
        results = tuple(Value(v.type, v.hint) for v in made.results)
        copy = rw.add(Op(made.kind, args, results, made.attrs, (), made.span))
        known.update(zip(made.results, copy.results, strict=True))
        return known[value]

    rules = {ops.convert_layout: lambda op, rw: again(op.source, rw, {})}
    made = Rewriter(rules).region(region, region.params)
    return Region(made.params, remove_dead(Module("", made.ops)).ops)


def _after_pipelines(common: Sequence[Op]) -> Iterator[Op]:
    """Yield numbers first, then pipelines."""
    yield from (op for op in common if op.kind is not pipe.create_pipeline)
    yield from (op for op in common if op.kind is pipe.create_pipeline)


def _common(block: Sequence[Op]) -> list[Op]:
    """Return the operations that all threads execute before the agents diverge."""
    found: list[Op] = []
    others: set[Value] = set()
    for op in block:
        if _is_common(op) and others.isdisjoint(op.operands):
            found.append(op)
        else:
            others.update(op.results)
    return found


def _is_common(op: Op) -> bool:
    """Return whether an operation can precede the divergence of agents: it creates numbers, views or pipelines."""
    if op.kind is pipe.create_pipeline:
        return True
    tiles = any(isinstance(v.type, Tensor) for v in (*op.results, *op.operands))
    return not tiles and not op.regions and (op.kind.pure or op.kind is ops.load) and bool(op.results)


# -- slices --------------------------------------------------------------------------------------------------------


def slice_of(region: Region, is_root: Callable[[Op], bool]) -> Region:
    """Return the slice of a region that its root operations need, with only the required loop-carried values."""
    needs = _Needs(region)
    for op in region.walk():
        if is_root(op):
            needs.op(op)
    return _Slice(needs).region(region, region.params)


class _Needs:
    """The operations and values of a program slice, including loop-carried values."""

    def __init__(self, region: Region) -> None:
        self.ops: set[Op] = set()
        self.values: set[Value] = set()
        self.defs: dict[Value, tuple[Op, int]] = {}
        self.params: dict[Value, tuple[Op, int]] = {}
        self.parents: dict[Op, Op] = {}
        self._record(region, None)

    def _record(self, region: Region, parent: Op | None) -> None:
        for op in region.ops:
            if parent is not None:
                self.parents[op] = parent
            self.defs |= {value: (op, i) for i, value in enumerate(op.results)}
            for inner in op.regions:
                self.params |= {value: (op, i) for i, value in enumerate(inner.params)}
                self._record(inner, op)

    def op(self, op: Op) -> None:
        """Add an operation, its enclosing operations and its operands to the slice."""
        if op in self.ops:
            return
        self.ops.add(op)
        if op in self.parents:
            self.op(self.parents[op])
        operands = op.operands[:3] if op.kind is std.for_ else () if op.kind is std.while_ else op.operands
        if op.kind is std.while_:
            self.op(op.before.ops[-1])
            self.value(op.before.ops[-1].condition)
        elif op.kind not in (std.yield_, std.condition):
            for value in operands:
                self.value(value)
        if op.kind in (pipe.producer_write, ops.reduce, ops.scan):
            for inner in (inner for region in op.regions for inner in region.walk()):
                self.op(inner)

    def value(self, value: Value) -> None:
        if value in self.values:
            return
        self.values.add(value)
        if value in self.defs:
            op, index = self.defs[value]
            self.op(op)
            if op.kind is std.for_:
                self._carried(op, index)
            elif op.kind is std.if_:
                for region in op.regions:
                    self.value(region.ops[-1].operands[index])
            elif op.kind is std.while_:
                self._all_carried(op)
        elif value in self.params:
            op, index = self.params[value]
            self.op(op)
            if op.kind is std.for_ and index > 0:
                self._carried(op, index - 1)
            elif op.kind is std.while_:
                self._all_carried(op)

    def _carried(self, loop: Op, index: int) -> None:
        for value in (loop.args[3][index], loop.body.params[index + 1], loop.body.ops[-1].operands[index]):  # type: ignore[index]
            self.value(value)

    def _all_carried(self, loop: Op) -> None:
        """Add all carried values of a while loop, since its condition may depend on each of them."""
        for region in loop.regions:
            for value in (*region.params, *region.ops[-1].operands):
                self.value(value)
        for value in loop.operands:
            self.value(value)

    def carried(self, loop: Op) -> list[int]:
        """Return the indices of the loop-carried values that the slice needs."""
        return [
            i
            for i, (param, result) in enumerate(zip(loop.body.params[1:], loop.results, strict=True))
            if param in self.values or result in self.values
        ]


class _Slice(Rewriter):
    def __init__(self, needs: _Needs) -> None:
        super().__init__(default=self.kept)
        self.needs = needs

    def kept(self, op: Op, _: Rewriter) -> Any:
        if op.kind in (std.yield_, std.condition):
            return self.copy(op).results  # `_for` and `_if` write those of their own regions
        if op not in self.needs.ops:
            return op.results
        if op.kind is std.for_:
            return self._for(op)
        if op.kind is std.if_:
            return self._if(op)
        return self.copy(op).results

    def _for(self, op: Op) -> Sequence[Value]:
        kept = self.needs.carried(op)
        body = op.body
        params = tuple(Value(body.params[i].type, body.params[i].hint) for i in (0, *(i + 1 for i in kept)))
        self.bind([body.params[0], *(body.params[i + 1] for i in kept)], params)
        inner = self._block(body, [body.ops[-1].operands[i] for i in kept])
        results = {i: Value(op.results[i].type, op.results[i].hint) for i in kept}
        inits = tuple(self[op.args[3][i]] for i in kept)  # type: ignore[index]
        args = (*(self[a] for a in op.args[:3]), inits)
        self.add(Op(op.kind, args, tuple(results.values()), op.attrs, (Region(params, inner),), op.span))
        return [results.get(i, old) for i, old in enumerate(op.results)]

    def _if(self, op: Op) -> Sequence[Value]:
        kept = [i for i, value in enumerate(op.results) if value in self.needs.values]
        regions = tuple(
            Region((), self._block(region, [region.ops[-1].operands[i] for i in kept])) for region in op.regions
        )
        results = {i: Value(op.results[i].type, op.results[i].hint) for i in kept}
        self.add(Op(op.kind, (self[op.condition],), tuple(results.values()), op.attrs, regions, op.span))
        return [results.get(i, old) for i, old in enumerate(op.results)]

    def _block(self, region: Region, yielded: Sequence[Value]) -> tuple[Op, ...]:
        """Build the kept operations of a block and its terminator."""
        outer, self.ops = self.ops, []
        for op in region.ops[:-1]:
            self.op(op)
        self.emit(std.yield_, [self[value] for value in yielded])
        made, self.ops = tuple(self.ops), outer
        return made


def values_of(args: Any) -> Mapping[Value, None]:
    """Return the distinct operands, in order."""
    return dict.fromkeys(flat(args))
