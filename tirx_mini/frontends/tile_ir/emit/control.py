"""Code generation for control flow: loop-carried values and branch results live in registers and variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tirx_mini.ir import (
    Break,
    Buffer,
    Expr,
    For,
    If,
    Var,
    While,
    const,
    int_value,
    seq,
    unary,
)
from tirx_mini.records import dataclass

from ..nv_tileaa import Tensor
from ..nv_tileaa import standard as std
from ..ssa import Op, OpKind, Region, Value
from .emitter import Emitter
from .tensors import layout_of
from .values import Pointers, Tile, in_buffer


@dataclass(frozen=True)
class Slot:
    """The storage of a value that changes across iterations or branches.

    buffer: registers, or a variable; None for what stays the same: a token, the position in a pipeline.
    memory: for pointers, the buffer into which they point; `buffer` then holds their offsets.
    constant: what stays the same.
    """

    value: Value
    buffer: Buffer | None
    memory: Buffer | None = None
    constant: Any = None

    def current(self, emitter: Emitter, value: Value) -> Any:
        """Return the slot's present contents as the value of `value`."""
        if self.buffer is None:
            return self.constant
        if isinstance(value.type, Tensor):
            held: Tile | Expr = in_buffer(self.buffer, layout_of(value))
        else:
            held = emitter.bind(value.hint or "v", self.buffer[0])
        return held if self.memory is None else Pointers(self.memory, held)


def _slot(emitter: Emitter, value: Value, example: object) -> Slot:
    """Allocate a slot for values like `example`."""
    if not isinstance(example, (Tile, Expr, Pointers)):
        return Slot(value, None, constant=example)
    memory = None
    if isinstance(example, Pointers):
        memory, example = example.buffer, example.offsets
    count = example.registers if isinstance(example, Tile) else 1
    return Slot(value, emitter.local(value.hint or "x", count, example.dtype), memory)


def _put(emitter: Emitter, slots: Sequence[Slot], given: Sequence[object]) -> None:
    """Store new values to all slots at once, computing all of them before any is overwritten."""
    buffers = {slot.buffer for slot in slots if slot.buffer is not None}
    ready = []
    for slot, value in zip(slots, given, strict=True):
        if slot.buffer is None or (isinstance(value, Tile) and value.undefined):
            continue
        if isinstance(value, Pointers):
            if value.buffer is not slot.memory:
                raise emitter.refuse("the pointers that go round point into different arrays", "use one array")
            value = value.offsets
        ready.append((slot, _safe(emitter, value, slot.buffer, buffers)))
    for slot, value in ready:
        assert slot.buffer is not None
        if isinstance(value, Tile):
            if value.buffer is not slot.buffer:
                emitter.fill_registers(slot.buffer, value)
        else:
            emitter.store(slot.buffer, 0, value)


def _safe(emitter: Emitter, value: Any, own: Buffer, buffers: set[Buffer]) -> object:
    """Return `value`, evaluated early if it reads registers that are about to change."""
    if not isinstance(value, Tile):
        return emitter.bind("next", value) if len(buffers) > 1 else value
    changing = value.reads & buffers
    in_place = own not in value.moved or (value.over is own and own not in emitter.pinned)
    if not changing or (changing == frozenset({own}) and in_place):
        return value
    if value.buffer is own:
        return value
    return emitter.held(replace(value, buffer=None), "next")


def _values(emitter: Emitter, values: Sequence[Value]) -> list[Any]:
    return [emitter.value(value) for value in values]


def _start(emitter: Emitter, slots: Sequence[Slot], values: Sequence[Value]) -> None:
    """Bind values to the current contents of the slots."""
    for slot, value in zip(slots, values, strict=True):
        emitter.set_held(value, slot.current(emitter, value))


def _for(emitter: Emitter, op: Op) -> None:
    inits = _values(emitter, op.inits)
    index, *carried = op.body.params
    slots = [_slot(emitter, value, init) for value, init in zip(carried, inits, strict=True)]
    _put(emitter, slots, inits)
    lower, upper, step = (emitter.scalar(value) for value in (op.lower, op.upper, op.step))
    outer = emitter.analyzer
    var, start, stop, each = _counted(emitter, index, lower, upper, step)
    before = _repeated(emitter, op.body)
    with emitter.block() as body:
        if each is None:
            emitter.values[index] = emitter.bind(index.hint or "i", lower + var * step)
        else:
            emitter.values[index] = var
        _start(emitter, slots, carried)
        emitter.region(op.body)
        _put(emitter, slots, _values(emitter, op.body.ops[-1].values))
    emitter.analyzer = outer
    emitter.add(For(var, start, stop, seq(*body), step=each or 1, span=emitter.span))
    emitter.scratch_may_be_busy()
    emitter.pending |= before
    _start(emitter, slots, op.results)


def _repeated(emitter: Emitter, *bodies: Region) -> set[tuple[Buffer, bool]]:
    """Prepare synchronisation for a loop, whose body may follow its own end. Returns the accesses pending before it."""
    emitter.scratch_may_be_busy()
    before = set(emitter.pending)
    for body in bodies:
        emitter.pending |= set(emitter.effects_of(body))
    return before


def _counted(
    emitter: Emitter, index: Value, lower: Expr, upper: Expr, step: Expr
) -> tuple[Var, Expr, Expr, int | None]:
    """Return (variable, first, end, step) of a loop; the step is None if the variable counts iterations."""
    known = int_value(step)
    if known is not None and known > 0:
        var = Var(lower.dtype, index.hint or "i")
        first, last = emitter.analyzer.bounds(lower), emitter.analyzer.bounds(upper)
        if first is not None and last is not None and last[1] > first[0]:
            emitter.analyzer = emitter.analyzer.bind(var, first[0], last[1] - 1)
        return var, lower, upper, known
    count = emitter.bind("count", (upper - lower + step - 1) // step)
    return Var(lower.dtype, "step"), const(0, lower.dtype), count, None


def _if(emitter: Emitter, op: Op) -> None:
    cond = emitter.scalar(op.condition)
    slots: list[Slot] = []
    branches = []
    outer, before, after = emitter.analyzer, set(emitter.pending), set[Any]()
    kept = [_kept(emitter, op, place) for place in range(len(op.results))]
    for region in op.regions:
        emitter.pending = set(before)
        with emitter.block() as body:
            if region.ops:
                emitter.region(region)
                given = _values(emitter, region.ops[-1].values)
                if not slots and op.results:
                    made = zip(kept, op.results, given, strict=True)
                    slots = [own or _late_slot(emitter, value, example) for own, value, example in made]
                _put(emitter, slots, given)
        branches.append(body)
        after |= emitter.pending
        emitter.analyzer = outer
    emitter.pending = after
    emitter.declare(slot.buffer for slot in slots if slot.buffer is not None and slot not in kept)
    then, orelse = branches
    if orelse and not then:
        cond, then, orelse = unary("not", cond), orelse, then
    emitter.add(If(cond, seq(*then), seq(*orelse) if orelse else None, span=emitter.span))
    _start(emitter, slots, op.results)


def _kept(emitter: Emitter, op: Op, place: int) -> Slot | None:
    """Return the slot of a branch's result that is a tile from before it in one of the arms, if only the arms use that.

    The result then takes the registers of that tile, which this arm need not copy.
    """
    result = op.results[place]
    for value in (region.ops[-1].values[place] for region in op.regions if region.ops):
        held = emitter.values.get(value)
        if not isinstance(held, Tile) or held.layout != layout_of(result):
            continue
        if held.buffer is not None and _is_last_use(emitter, held.buffer, op):
            return Slot(result, held.buffer)
    return None


def _is_last_use(emitter: Emitter, buffer: Buffer, op: Op) -> bool:
    """Return whether nothing behind `op` uses these registers, in this iteration or another one."""
    inside = {op, *(inner for region in op.regions for inner in region.walk())}
    holders = emitter.holders.get(buffer, set())
    return bool(holders) and all(
        holder in emitter.made
        and all(user in inside or user in emitter.emitted for user in emitter.users.get(holder, ()))
        for holder in holders
    )


def _late_slot(emitter: Emitter, value: Value, example: object) -> Slot:
    """Create a slot whose buffer is declared later, before the branches."""
    with emitter.block():
        return _slot(emitter, value, example)


def _while(emitter: Emitter, op: Op) -> None:
    inits = _values(emitter, op.inits)
    slots = [_slot(emitter, value, init) for value, init in zip(op.before.params, inits, strict=True)]
    _put(emitter, slots, inits)
    before = _repeated(emitter, op.before, op.after)
    outer = emitter.analyzer
    with emitter.block() as body:
        _start(emitter, slots, op.before.params)
        emitter.region(op.before)
        last = op.before.ops[-1]
        given = _values(emitter, last.values)
        results = [_late_slot(emitter, v, g) for v, g in zip(op.results, given, strict=True)]
        _put(emitter, results, given)
        emitter.add(If(unary("not", emitter.scalar(last.condition)), Break(span=emitter.span), span=emitter.span))
        _start(emitter, results, op.after.params)
        emitter.region(op.after)
        _put(emitter, slots, _values(emitter, op.after.ops[-1].values))
    emitter.analyzer = outer
    emitter.declare(slot.buffer for slot in results if slot.buffer is not None)
    emitter.add(While(const(True), seq(*body), span=emitter.span))
    emitter.scratch_may_be_busy()
    emitter.pending |= before
    _start(emitter, results, op.results)


CONTROL_OPS: Mapping[OpKind, Callable[[Emitter, Op], None]] = {std.for_: _for, std.if_: _if, std.while_: _while}
