"""`lower`: lowering of a schedule to TIR loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tirx_mini.ir import (
    SERIAL,
    THREAD,
    TIR,
    AllocBuffer,
    Analyzer,
    Buffer,
    BufferLoad,
    Expr,
    For,
    If,
    IRModule,
    Mutator,
    PrimFunc,
    Stmt,
    TirxError,
    Var,
    binary,
    const,
    seq,
    substitute,
    walk,
)
from tirx_mini.passes import box, vectorize
from tirx_mini.records import dataclass, replace
from tirx_mini.script import caller_span

from .across import across_threads
from .axis import REDUCTION, VIRTUAL
from .double_buffer import Ahead, ahead, reading
from .nest import Loop, Nest, nest_of, outside
from .reduction import Group, Reduce
from .schedule import Schedule
from .stage import At, Inline, Stage
from .storage import Storage, storage_of
from .symbolic import SHOWN_EXTENT, SymbolicModule, specialised, symbols_of
from .tensor import PlaceholderOp, Tensor, tensors_in
from .tensorize import tensorized
from .tree import stored

NOALIAS = ("tir.noalias", True)
"""The attribute of a function none of whose buffers overlap: a schedule has one buffer for each tensor."""


def lower(
    schedule: Schedule | PrimFunc | IRModule,
    args: Sequence[Tensor | Var] = (),
    name: str = "main",
    simple_mode: bool = False,
) -> IRModule:
    """Lower a schedule to loops, returned as a module with one function.

    args: the parameters: all placeholders that are read, and all outputs; variables of `te.var` that bodies use. The
        text of a schedule with symbolic extents has 1024 in their place.
    simple_mode: accepted as TVM has it. The text is always the short one.

    Raises `TirxError` for a schedule that would change the result, at its line.
    """
    if isinstance(schedule, IRModule):
        return schedule
    if isinstance(schedule, PrimFunc):
        return IRModule({name: schedule})
    symbols = symbols_of(args)
    if symbols:
        shown = specialised(schedule, args, dict.fromkeys(symbols, SHOWN_EXTENT))
        return SymbolicModule(schedule, args, lower(*shown, name).functions)
    return IRModule({name: vectorize(_Lowering(*across_threads(schedule, args)).function(name))})


@dataclass(eq=False)
class _Lowering:
    """The lowering of one schedule."""

    schedule: Schedule
    args: Sequence[Tensor | Var]

    def __post_init__(self) -> None:
        self.ranges = Analyzer()
        self.nests: dict[Stage, Nest] = {}
        self.storages: dict[Tensor, Storage] = {}
        self.bodies = _inlined(self.schedule)
        self.computed = [stage for stage in self.schedule.stages if stage in self.bodies]

    def function(self, name: str) -> PrimFunc:
        params = self._params()
        for stage in reversed(self.computed):  # readers first: what they read decides what is computed
            self._infer(stage)
        allocs = [
            AllocBuffer(self.storages[tensor].buffer, span=stage.op.span)
            for stage in self.computed for tensor in stage.tensors
            if not isinstance(stage.place, At) and self.storages[tensor].buffer not in set(params)
        ]
        nests = [self._emit(stage) for stage in self.computed if not isinstance(stage.place, At)]
        span = self.schedule.outputs[0].op.span
        return PrimFunc(name, params, seq(*allocs, *nests), (NOALIAS,), spelling=TIR, span=span)

    def _params(self) -> tuple[Buffer | Var, ...]:
        taken: set[str] = set()
        params: list[Buffer | Var] = []
        for tensor in self.args:
            if isinstance(tensor, Var):
                params.append(tensor)
                continue
            if not isinstance(tensor, Tensor):
                raise TirxError(f"{tensor!r} is not a tensor", caller_span(), "pass tensors: tvm.lower(s, [A, B, C])")
            name, number = tensor.name, 0
            while name in taken:
                number += 1
                name = f"{tensor.name}_{number}"
            taken.add(name)
            buffer = Buffer(name, tensor.shape, tensor.dtype, span=tensor.span)
            params.append(buffer)
            self.storages[tensor] = Storage(buffer, (const(0),) * tensor.ndim, tuple(range(tensor.ndim)))
        read = {tensor for body in self.bodies.values() for tensor in tensors_in(body)}
        inputs = [tensor for tensor in read if isinstance(tensor.op, PlaceholderOp)]
        for tensor in (*inputs, *self.schedule.outputs):
            if tensor not in self.storages:
                role = "is an output of the schedule" if tensor in self.schedule.outputs else "is read"
                raise TirxError(f"{tensor.name} {role}, but is not among the arguments", caller_span())
        return tuple(params)

    # -- which elements each stage computes --------------------------------------------------------------------

    def _infer(self, stage: Stage) -> None:
        """Infer the region, loops and storage of a stage."""
        shape = stage.tensor.shape
        first: tuple[Expr, ...] = (const(0),) * len(shape)
        sizes, scope = shape, stage.scope or "global"
        if isinstance(stage.place, At):
            fixed = self._around(stage.place)
            scope = self._scope(stage, fixed)
            region = self._needed(stage, fixed, scope)
            first, sizes = tuple(part.first for part in region), tuple(part.size for part in region)
        nest, self.ranges = nest_of(stage, first, sizes, self.ranges)
        self.nests[stage] = nest
        known = [tensor for tensor in stage.tensors if tensor in self.storages]
        for tensor in (tensor for tensor in stage.tensors if tensor not in self.storages):
            whole = any(tensor in tensors_in(self.bodies[other]) and other.tensorized for other in self.computed)
            self.storages[tensor] = storage_of(stage, tensor, nest, scope, whole or stage.tensorized is not None)
        if known and stage.align:
            raise TirxError(
                f"storage_align: {stage.op.name} is an argument, whose memory the caller lays out",
                stage.op.span,
                "use cache_write or cache_read, and align the copy",
            )

    def _around(self, place: At) -> list[Loop]:
        """Return the loops around a stage that is computed at `place`."""
        loops = list(outside(self.nests[place.stage], place.axis))
        return loops + (self._around(place.stage.place) if isinstance(place.stage.place, At) else [])

    @staticmethod
    def _scope(stage: Stage, fixed: Sequence[Loop]) -> str:
        """Return the memory scope of a stage nested in the loops `fixed`."""
        inside = {loop.thread.split(".")[0] for loop in fixed}
        scope = stage.scope or ("local" if "threadIdx" in inside else "shared" if "blockIdx" in inside else "global")
        if scope == "global" and inside & {"threadIdx", "blockIdx"}:
            raise TirxError(
                f"{stage.op.name} is in global memory, but is computed within a loop that is bound to the grid: all "
                "threads would write it",
                stage.op.span,
                'keep it in "shared" or "local" memory, or use compute_root',
            )
        threads = [index.thread for index in stage.threads.values() if index.thread.startswith("threadIdx")]
        if scope == "local" and threads:
            raise TirxError(
                f"{stage.op.name} is in local memory, which each thread has for itself, but a loop of it is bound to "
                f"{threads[0]}",
                stage.op.span,
                'keep it in "shared" memory, or do not bind its loops',
            )
        return scope

    def _needed(self, stage: Stage, fixed: Sequence[Loop], scope: str) -> tuple[Any, ...]:
        """Return the region of a stage that its readers need per iteration of the enclosing loops."""
        at = stage.place
        assert isinstance(at, At)
        together = ("threadIdx", VIRTUAL) if scope == "shared" else ()
        still = {loop.var for loop in fixed if not loop.thread.startswith(together)}
        accesses: list[tuple[tuple[Expr, ...], Analyzer]] = []
        for reader in self.computed:
            if not set(stage.tensors) & set(tensors_in(self.bodies[reader])):
                continue
            if not self._within(reader, at):
                raise TirxError(
                    f"{stage.op.name} cannot be computed at {at.axis} of {at.stage.op.name}: {reader.op.name} also "
                    "reads it, outside of that loop",
                    stage.op.span,
                    f"compute it at a loop around all of its readers, or move {reader.op.name} into that loop",
                )
            nest = self.nests[reader]
            loads = _loads(self.bodies[reader], stage.tensors)
            accesses += [(tuple(substitute(load.indices, nest.values)), self.ranges) for load in loads]
        return box(accesses, stage.tensor.shape, lambda var: var not in still)

    def _within(self, reader: Stage, at: At) -> bool:
        """Return whether a stage is computed inside the loop `at`."""
        while reader is not at.stage:
            place = reader.place
            if not isinstance(place, At):
                return False
            if place.stage is at.stage:
                nest = self.nests[at.stage]
                return nest.position(place.axis) >= nest.position(at.axis)
            reader = place.stage
        return True

    # -- loops --------------------------------------------------------------------------------------------------

    def _emit(self, stage: Stage) -> Stmt:
        """Emit the loops of a stage, with the stages attached to them."""
        nest, depth = self.nests[stage], len(self.nests[stage].loops)
        if stage.tensorized is not None:
            axis, intrin = stage.tensorized
            depth = nest.position(axis)
            init, update = tensorized(nest, depth, self.bodies[stage], intrin, self.storages, self.ranges)
        else:
            update, init = self._update(stage), self._init(stage)
        start = min(_first_reduction(nest), depth)
        if start == depth and init is not None:
            update = seq(init, update)
        for number in reversed(range(depth)):
            loop = nest.loops[number]
            update = self._loop_of(stage, loop, update)
            if number == start and init is not None:
                update = seq(self._around_init(nest, init, start, depth), update)
        return update

    def _loop_of(self, stage: Stage, loop: Loop, body: Stmt) -> Stmt:
        """Emit a loop of a stage around `body` and the stages attached to the loop."""
        attached: list[Stmt] = []
        copies: list[Ahead] = []
        for inner in self.computed:
            if not isinstance(inner.place, At) or inner.place.stage is not stage or inner.place.axis is not loop.axis:
                continue
            buffer, fill = self.storages[inner.tensor].buffer, self._emit(inner)
            others = [AllocBuffer(self.storages[each].buffer, span=inner.op.span) for each in inner.tensors[1:]]
            if inner.doubled and loop.written and loop.kind == SERIAL:
                copies.append(ahead(fill, buffer, loop.var, loop.extent))
            else:
                attached += [AllocBuffer(buffer, span=inner.op.span), *others, fill]
        rest = reading(seq(*attached, body), copies, loop.var)
        whole = _loop(loop, seq(*(copy.next for copy in copies), rest), stage)
        return seq(*(copy.before for copy in copies), whole)

    def _around_init(self, nest: Nest, init: Stmt, start: int, depth: int) -> Stmt:
        """Emit the loops of an initialisation: clones of the non-reduction loops with fresh variables."""
        for loop in reversed([loop for loop in nest.loops[start:depth] if loop.axis.kind != REDUCTION]):
            own = replace(loop, var=Var(loop.var.dtype, f"{loop.var.name}.init"))
            self.ranges = self.ranges.bind(own.var, 0, own.extent - 1)
            init = _loop(own, substitute(init, {loop.var: own.var}), nest.stage)
        return init

    def _update(self, stage: Stage) -> Stmt:
        nest, op = self.nests[stage], stage.compute
        indices = [nest.values[axis.var] for axis in op.axis]
        value = self.bodies[stage]
        if isinstance(value, Reduce):
            place = tuple(axis.var for axis in op.axis)
            values = value.all_combined([tensor[place] for tensor in stage.tensors])
        else:
            values = value.values if isinstance(value, Group) else (value,)
        made = [self._expr(each, nest.values) for each in values]
        return self._guarded(nest, self._stores(stage, indices, made), True)

    def _init(self, stage: Stage) -> Stmt | None:
        nest, body = self.nests[stage], self.bodies[stage]
        if not isinstance(body, Reduce):
            return None
        indices = [nest.values[axis.var] for axis in stage.compute.axis]
        values = [self._expr(each, nest.values) for each in body.identities]
        return self._guarded(nest, self._stores(stage, indices, values), False)

    def _stores(self, stage: Stage, indices: Sequence[Expr], values: Sequence[Expr]) -> Stmt:
        """Emit the stores of an element's values, ordered so that no store changes a later one's operands."""
        storages = [self.storages[tensor] for tensor in stage.tensors]
        places = [(storage.buffer, storage.place(indices, self.ranges)) for storage in storages]
        return stored(places, values, stage.op.span)

    def _guarded(self, nest: Nest, body: Stmt, reduces: bool) -> Stmt:
        """Guard `body` by the conditions of valid iterations."""
        conditions = [condition for condition, of_reduction in nest.guards if reduces or not of_reduction]
        if not conditions:
            return body
        together = conditions[0]
        for condition in conditions[1:]:
            together = binary("and", together, condition)
        return If(together, body, span=nest.stage.op.span)

    def _expr(self, value: Expr, values: Mapping[Var, Expr]) -> Expr:
        """Substitute axis values and storage buffers into a compute expression."""
        return self.ranges.simplify(_Placed(self).expr(substitute(value, values)))


class _Placed(Mutator):
    """Replaces tensors by their storage."""

    def __init__(self, lowering: _Lowering) -> None:
        self.lowering = lowering

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        indices = tuple(self.expr(index) for index in node.indices)
        if not isinstance(node.buffer, Tensor):
            return replace(node, indices=indices)
        storage = self.lowering.storages[node.buffer]
        return BufferLoad(node.dtype, storage.buffer, storage.place(indices, self.lowering.ranges), span=node.span)


def _inlined(schedule: Schedule) -> dict[Stage, Expr]:
    """Return the body of each computed stage, with inlined stages substituted for their loads."""
    bodies: dict[Stage, Expr] = {}
    inline: dict[Buffer, tuple[Stage, Expr]] = {}

    class Inliner(Mutator):
        def visit_BufferLoad(self, node: BufferLoad) -> Expr:
            indices = tuple(self.expr(index) for index in node.indices)
            if node.buffer not in inline:
                return replace(node, indices=indices)
            stage, body = inline[node.buffer]
            return substitute(body, {a.var: i for a, i in zip(stage.compute.axis, indices, strict=True)})

    for stage in schedule.stages:
        if isinstance(stage.op, PlaceholderOp):
            continue
        body = Inliner().expr(stage.compute.body)
        if isinstance(stage.place, Inline):
            values = body.values if isinstance(body, Group) else (body,)
            inline |= {tensor: (stage, value) for tensor, value in zip(stage.tensors, values, strict=True)}
        else:
            bodies[stage] = body
    return bodies


def _loads(body: Expr, tensors: Sequence[Tensor]) -> list[BufferLoad]:
    return [node for node in walk(body) if isinstance(node, BufferLoad) and node.buffer in tensors]


def _first_reduction(nest: Nest) -> int:
    """Return the position of the outermost reduction loop, or the number of loops."""
    reduces = (number for number, loop in enumerate(nest.loops) if loop.axis.kind == REDUCTION)
    return next(reduces, len(nest.loops))


def _loop(loop: Loop, body: Stmt, stage: Stage) -> Stmt:
    if not loop.written:
        return body
    stop = const(loop.extent)
    thread = loop.thread if loop.kind == THREAD else ""
    return For(loop.var, const(0), stop, body, kind=loop.kind, thread=thread, span=stage.op.span)
