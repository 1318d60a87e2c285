"""The sites at which a kernel uses its mbarriers, with their guards: the evidence for deadlock explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from tirx_mini.ir import (
    Address,
    AddressOf,
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Expr,
    For,
    Hint,
    If,
    PrimFunc,
    Seq,
    Span,
    Stmt,
    Var,
    While,
    binary,
    cast,
    const,
    int_value,
    trips,
    walk,
)
from tirx_mini.isa import (
    BarrierEffect,
    Instruction,
    Memory,
    instruction_of,
    masked_at_run_time,
    multicasts,
)
from tirx_mini.records import dataclass
from tirx_mini.sim import LANES, place_key

from .guards import Definitions, Guard, begins_loop, behind, guards_of

WORDS: Mapping[BarrierEffect, str] = {
    BarrierEffect.ARRIVE_EXPECT_TX: "arrive",
    BarrierEffect.COMPLETE_TX: "TMA load",
}
"""The words for barrier effects in findings; other effects use their values."""


@dataclass(frozen=True)
class Site:
    """A call of an instruction, with the barrier that it affects ("" if none).

    index: the index of the barrier in its buffer. order: the position in the program.
    """

    instruction: Instruction
    call: Call
    barrier: str
    index: Expr | None
    span: Span | None
    guards: tuple[Guard, ...]
    loops: tuple[Stmt, ...]
    warps: int
    order: int
    definitions: Definitions = field(default_factory=Definitions, repr=False, compare=False)

    @property
    def effect(self) -> BarrierEffect | None:
        """The instruction's effect on the barrier."""
        return self.instruction.barrier

    @property
    def threads_arrive(self) -> bool:
        """Return whether each executing thread arrives at the barrier."""
        return self.effect in (BarrierEffect.ARRIVE, BarrierEffect.ARRIVE_EXPECT_TX)

    @property
    def role(self) -> str:
        """The word for the instruction in findings."""
        if self.effect is BarrierEffect.COMPLETE_TX and self.instruction.reads is not Memory.GLOBAL:
            return "bulk copy" if self.instruction.reads is Memory.SHARED else self.instruction.name
        return self.instruction.name if self.effect is None else WORDS.get(self.effect, self.effect.value)

    @property
    def counts(self) -> bool:
        """Return whether the instruction has an explicit arrival count."""
        return self.threads_arrive and any(operand.name == "count" for operand in self.instruction.operands)

    @property
    def waits(self) -> bool:
        """Return whether the instruction names a phase that it waits for or tests."""
        return any(operand.name == "phase" for operand in self.instruction.operands)

    def argument(self, name: str) -> Expr:
        """Return the operand `name` of the instruction."""
        return self.instruction.argument(self.call, name)

    def leads_to(self, other: Site) -> bool:
        """Return whether a thread at this site may reach `other`: it comes later, or a loop leads back to it."""
        return self.order < other.order or any(loop in other.loops for loop in self.loops)

    @property
    def remote(self) -> bool:
        """Return whether the barrier may belong to another CTA."""
        return any(peer is not None for peer in map(_peer, self._operands))

    @property
    def of_peer(self) -> bool:
        """Return whether the site names the barrier of a CTA by its rank."""
        return self._target is not None

    @property
    def rank(self) -> int | None:
        """The rank of the CTA whose barrier the site names; None if it is not known before the run."""
        return None if self._target is None else int_value(self._target)

    @property
    def by_cta(self) -> bool:
        """Return whether only some CTAs of a cluster reach the site."""
        return any(guard.of_all_rounds(self.warps) and not guard.of_threads(self.warps) for guard in self.guards)

    def ctas(self, cluster_size: int) -> int:
        """Return the number of CTAs of a cluster that signal the same barrier here."""
        return cluster_size if self.remote and not self.by_cta else 1

    def rounds_within(self, loops: Sequence[Stmt]) -> int | None:
        """Return the executions per round of the enclosing `loops`, or None if unknown."""
        total = 1
        for loop in self.loops:
            if loop not in loops:
                start, stop = (int_value(loop.start), int_value(loop.stop)) if isinstance(loop, For) else (None, None)
                if start is None or stop is None:
                    return None
                total *= trips(start, stop, loop.step if isinstance(loop, For) else 1)
        return total

    @cached_property
    def threads(self) -> np.ndarray:
        """bool[warps, 32]: the threads of a CTA that may reach the site."""
        alive = np.ones((self.warps, LANES), bool)
        for guard in self.guards:
            alive &= guard.threads(self.warps)
        if any(guard.elects for guard in self.guards):
            alive[:, 1:] &= np.cumsum(alive[:, :-1], axis=1) == 0
        return alive

    def threads_for(self, stage: int) -> np.ndarray:
        """Return bool[warps, 32]: the threads that may reach the site with the barrier of this stage."""
        stages = self._stages
        return self.threads if stages is None else self.threads & np.broadcast_to(stages == stage, self.threads.shape)

    @property
    def fixed(self) -> bool:
        """Return whether each thread always names the same barrier of the buffer here."""
        return self._stages is not None

    @property
    def by_thread(self) -> bool:
        """Return whether threads name different barriers of the buffer here, each always the same one."""
        stages = self._stages
        return stages is not None and bool((stages != stages.flat[0]).any())

    def signals(self, rank: int, own: int) -> bool:
        """Return whether the CTA of rank `own` may signal a barrier of the CTA of rank `rank` here."""
        mask: Any = self.call.attr("cta_mask", None)
        if self.effect is BarrierEffect.COMMIT and multicasts(mask):
            return bool(mask >> rank & 1)
        if masked_at_run_time(self.call):
            return True
        return rank == own if self._target is None else int_value(self._target) in (None, rank)

    def arriving(self, stage: int, rank: int, own: int) -> int:
        """Return the number of threads of the CTA `own` that may arrive here at this stage's barrier in the CTA
        `rank`."""
        if not self.signals(rank, own):
            return 0
        ranks = None if self._target is None else self.definitions.values(self._target, self.warps)
        threads = self.threads_for(stage)
        return int((threads if ranks is None else threads & (ranks == rank)).sum())

    @cached_property
    def _stages(self) -> np.ndarray | None:
        """The index of the barrier in each thread, where the thread index determines it."""
        return None if self.index is None else self.definitions.values(self.index, self.warps)

    @cached_property
    def _target(self) -> Expr | None:
        """The rank of the CTA whose barrier the site names; None for its own."""
        return next((peer for peer in map(_peer, (self.call, *self._operands)) if peer is not None), None)

    @property
    def _operands(self) -> Iterator[Call]:
        """The instructions whose results are operands, directly or through variables."""
        yield from (node for node in behind(self.call.args, self.definitions.bound) if isinstance(node, Call))

    @property
    def certain(self) -> bool:
        """Return whether each thread that may reach the site does so in each round of the enclosing loops."""
        return all(guard.known for guard in self.guards)

    @property
    def reachable(self) -> bool:
        return bool(self.threads.any())

    def conflict(self) -> tuple[Guard, ...]:
        """Return the smallest set of guards that no thread satisfies together; () if some thread does."""
        masks = [guard.threads(self.warps) for guard in self.guards]
        for i, guard in enumerate(self.guards):
            if not masks[i].any():
                return (guard,)
        for i, first in enumerate(self.guards):
            for j in range(i + 1, len(self.guards)):
                if not (masks[i] & masks[j]).any():
                    return (first, self.guards[j])
        return () if self.reachable else self.guards


@dataclass(frozen=True)
class Assignment:
    """A store to a local variable, such as the stage or the phase of a role. order: the number of sites before it."""

    variable: Buffer
    value: Expr
    span: Span | None
    guards: tuple[Guard, ...]
    loops: tuple[Stmt, ...]
    order: int = 0


@dataclass(frozen=True)
class Sites:
    """All sites of one lowered function, with the definitions of their operands.

    assignments: of local variables. bound: the expressions of named values.
    """

    all: tuple[Site, ...]
    assignments: tuple[Assignment, ...] = ()
    bound: Mapping[Var, Expr] = field(default_factory=dict[Var, Expr])

    def variables(self, expr: Expr) -> tuple[list[Buffer], list[Var]]:
        """Return the local variables and the named values that determine an expression."""
        found: dict[int, Buffer] = {}
        names: list[Var] = []
        for node in behind([expr], self.bound):
            if isinstance(node, BufferLoad) and node.buffer.scope == "local":
                found[id(node.buffer)] = node.buffer
            elif isinstance(node, Var):
                names.append(node)
        return list(found.values()), names

    def origins(self, expr: Expr) -> list[Assignment]:
        """Return the assignments outside loops to the local variables that determine an expression."""
        found: dict[int, Assignment] = {}
        stack = self.variables(expr)[0]
        while stack:
            variable = stack.pop()
            for one in self.assignments:
                if one.variable is variable and not one.loops and id(one) not in found:
                    found[id(one)] = one
                    stack += self.variables(one.value)[0]
        return list(found.values())

    def of(self, barrier: str, *effects: BarrierEffect) -> list[Site]:
        """Return the sites with one of `effects` on the barrier buffer of this name."""
        return [site for site in self.all if site.barrier == barrier and site.effect in effects]

    def signals(self, barrier: str) -> list[Site]:
        """Return the sites that arrive at the barrier buffer of this name."""
        return [site for site in self.all if site.barrier == barrier and site.effect and site.effect.arrives]

    def depth(self, site: Site) -> int:
        """Return the number of barriers in the buffer that a site names."""
        for node in behind(site.call.args, self.bound):
            if isinstance(node, AddressOf) and node.buffer.name == site.barrier:
                return node.buffer.size
        return 1

    def own_guards(self, site: Site) -> list[Guard]:
        """Return the guards of a site that do not enclose all other sites of its innermost loop."""
        inside = {id(loop) for loop in site.loops}
        peers = [other for other in self.all if other is not site and {id(loop) for loop in other.loops} == inside]
        around = [{id(guard) for guard in other.guards} for other in peers]
        return [guard for guard in site.guards if any(id(guard) not in guards for guards in around)]

    def at(self, span: Span | None) -> list[Site]:
        """Return the sites at one source location."""
        return [site for site in self.all if place_key(site.span) == place_key(span)]


def find_sites(func: PrimFunc) -> Sites:
    """Return the sites of a lowered function."""
    assert func.launch is not None
    warps = func.launch.warps
    found: list[Site] = []
    assigned: list[Assignment] = []
    definitions = Definitions.of(func)
    for stmt, guards, loops in reached(func.body, (), (), definitions):
        if isinstance(stmt, Bind):
            definitions.add(stmt, warps)
        elif isinstance(stmt, BufferStore) and stmt.buffer.scope == "local":
            assigned.append(Assignment(stmt.buffer, stmt.value, stmt.span, guards, loops, len(found)))
        for node in walk(stmt):
            if isinstance(node, Call) and (entry := instruction_of(node)):
                span = node.span or stmt.span
                for name, index in _barriers(node, definitions.bound):
                    found.append(Site(entry, node, name, index, span, guards, loops, warps, len(found), definitions))
    return Sites(tuple(found), tuple(assigned), definitions.bound)


def reached(
    stmt: Stmt | None, guards: tuple[Guard, ...], loops: tuple[Stmt, ...], definitions: Definitions
) -> Iterator[tuple[Stmt, tuple[Guard, ...], tuple[Stmt, ...]]]:
    """Yield the leaf statements in program order, each with its enclosing guards and loops."""
    if isinstance(stmt, Seq):
        for child in stmt.stmts:
            yield from reached(child, guards, loops, definitions)
    elif isinstance(stmt, If):
        for arm, holds in ((stmt.then, True), (stmt.orelse, False)):
            more = guards_of(stmt.cond, holds, stmt.span, definitions)
            own = (guard for guard in more if not begins_loop(guard, arm))
            yield from reached(arm, (*guards, *own), loops, definitions)
    elif isinstance(stmt, (For, While)):
        yield from reached(stmt.body, guards, (*loops, stmt), definitions)
    elif isinstance(stmt, Hint):
        yield from reached(stmt.body, guards, loops, definitions)
    elif stmt is not None:
        yield stmt, guards, loops


def _barriers(call: Call, bound: Mapping[Var, Expr]) -> Iterator[tuple[str, Expr | None]]:
    """Yield the mbarriers among the operands, by name and index; "" for an instruction without one."""
    names: dict[str, Expr] = {}
    for node in behind(call.args, bound):
        if isinstance(node, Address):
            for buffer in node.buffers or ():
                if buffer.scope == "shared" and buffer.dtype == "uint64":
                    names.setdefault(buffer.name, _number_of(node))
        elif isinstance(node, AddressOf) and node.buffer.scope == "shared" and node.buffer.dtype == "uint64":
            names.setdefault(node.buffer.name, node.indices[0])
    yield from names.items() if names else (("", None),)


def _number_of(pointer: Address) -> Expr:
    """Return the array index of a computed barrier address, if it is written as a base plus an offset."""
    value, distance = pointer.value, None
    if isinstance(value, Binary) and value.op == "+":
        value, distance = value.a, value.b
    first = value.value if isinstance(value, Cast) else value
    number = first.indices[0] if isinstance(first, AddressOf) else const(0)
    return number if distance is None else binary("+", number, binary("//", cast("int32", distance), const(8)))


def _peer(call: Call) -> Expr | None:
    """Return the rank of the CTA whose shared memory a call addresses; None for the executing CTA's."""
    entry = instruction_of(call)
    return None if entry is None else entry.peer(call)
