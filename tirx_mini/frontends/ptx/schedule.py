"""Instruction scheduling between synchronisation points: hoist loads so that their latencies overlap.

ptxas orders instructions in the same way, and a warp waits for a load only at the first use of its value. A reordering
must be invisible to the thread: a load passes stores of another state space, and computations of registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from tirx_mini.ir import (
    OVERLAPPED,
    Address,
    AddressOf,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    Hint,
    Stmt,
    Var,
    walk,
)
from tirx_mini.isa import Scope, instruction_of
from tirx_mini.records import dataclass

_WEAK = ("", "weak")
MOST = 16
"""Loads that are under way at a time: registers are few."""
Place = Var | Buffer


@dataclass
class Step:
    """A statement with its read and write sets. loads, stores: the accessed state space, or None."""

    stmt: Stmt
    reads: set[Place]
    sets: set[Place]
    loads: str | None
    stores: str | None
    waits: int = 0
    then: list[Step] = field(default_factory=list)


def scheduled(stmts: Sequence[Stmt]) -> list[Stmt]:
    """Reorder the statements of a block into the issue order of the hardware."""
    out: list[Stmt] = []
    region: list[Step] = []
    for stmt in stmts:
        step = _step(stmt)
        if step is not None:
            region.append(step)
            continue
        out += _ordered(region)
        region = []
        out.append(stmt)
    return [*out, *_ordered(region)]


def _step(stmt: Stmt) -> Step | None:
    """Return the scheduling step of a reorderable statement, or None for any other statement."""
    if isinstance(stmt, Bind):
        value, sets = stmt.value, {stmt.var}
    elif isinstance(stmt, BufferStore) and stmt.buffer.scope == "local":
        value, sets = stmt.value, {stmt.buffer}
    elif isinstance(stmt, Evaluate):
        value, sets = stmt.call, set[Place]()
    else:
        return None
    step = Step(stmt, set(), set(sets), None, None)
    exprs: list[Expr] = [value, *(stmt.indices if isinstance(stmt, BufferStore) else ())]
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, Call) and not _noted(node, step):
                return None
            if isinstance(node, Var) or (isinstance(node, BufferLoad) and node.buffer.scope == "local"):
                step.reads.add(node if isinstance(node, Var) else node.buffer)
            elif isinstance(node, BufferLoad):
                return None
    return step


def _noted(call: Call, step: Step) -> bool:
    """Record the accesses of an instruction. Return whether it can be reordered."""
    entry = instruction_of(call)
    if entry is None:
        return False
    if entry.typed and entry.completion is None and bool(entry.reads) != bool(entry.writes):
        if call.attr("sem") not in _WEAK or not isinstance(call.args[0], Address):
            return False
        space = str(call.attr("space")).split("::")[0]
        registers = [argument.buffer for argument in call.args[1:] if isinstance(argument, AddressOf)]
        if entry.reads:
            step.loads = "constant" if call.attr("nc") else space
            step.sets.update(registers)
        else:
            step.stores = space
            step.reads.update(registers)
        return True
    return entry.pure and entry.issued_by is Scope.THREAD and not entry.blocking


def _ordered(region: list[Step]) -> Iterator[Stmt]:
    """Reorder a synchronisation-free region so that its loads overlap."""
    if sum(step.loads is not None for step in region) < 2:
        yield from (step.stmt for step in region)
        return
    _linked(region)
    place = {id(step): number for number, step in enumerate(region)}
    ready = [step for step in region if not step.waits]
    while ready:
        ready.sort(key=lambda step: place[id(step)])
        plain = [step for step in ready if step.loads is None and step.stores is None]
        loads = [step for step in ready if step.loads is not None][:MOST]
        chosen = plain or loads or ready[:1]
        if not plain and len(chosen) > 1:
            yield Hint(OVERLAPPED, (("begin", True),))
        yield from (step.stmt for step in chosen)
        if not plain and len(chosen) > 1:
            yield Hint(OVERLAPPED, (("begin", False),))
        taken = {id(step) for step in chosen}
        ready = [step for step in ready if id(step) not in taken]
        for step in chosen:
            for after in step.then:
                after.waits -= 1
                if not after.waits:
                    ready.append(after)


def _linked(region: Sequence[Step]) -> None:
    """Build the dependence edges between the statements of a region. Stores stay in order."""
    setters: dict[Place, Step] = {}
    readers: dict[Place, list[Step]] = {}
    last: Step | None = None
    stores: dict[str, Step] = {}  # the last one to each state space
    loads: dict[str, list[Step]] = {}  # those from each state space that no store waits for
    for step in region:
        before: list[Step] = []
        for place in step.reads:
            before += [setters[place]] if place in setters else []
            readers.setdefault(place, []).append(step)
        for place in step.sets:
            before += [setters[place]] if place in setters else []
            before += [reader for reader in readers.get(place, ()) if reader is not step]
            setters[place], readers[place] = step, []
        if step.loads is not None:
            before += [store for space, store in stores.items() if _meet(step.loads, space)]
            loads.setdefault(step.loads, []).append(step)
        if step.stores is not None:
            for space in [each for each in loads if _meet(each, step.stores)]:
                before += loads.pop(space)
            before += [] if last is None else [last]
            stores[step.stores] = last = step
        _follow(step, before)


def _follow(step: Step, before: Iterable[Step]) -> None:
    for other in {id(each): each for each in before}.values():
        other.then.append(step)
        step.waits += 1


def _meet(loaded: str, stored: str) -> bool:
    """Return whether a load and a store may alias."""
    return loaded != "constant" and (not loaded or not stored or loaded == stored)
