"""Lowering of a structured PTX kernel and its launch arguments to a function that the simulator executes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirx_mini.ir import (
    BOOL,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    Evaluate,
    Expr,
    Launch,
    PrimFunc,
    Return,
    Stmt,
    TirxError,
    While,
    binary,
    const,
    scalar,
    seq,
    unary,
)
from tirx_mini.ir import Break as Leave
from tirx_mini.ir import Continue as Again
from tirx_mini.ir import If as Branch
from tirx_mini.isa import TABLE
from tirx_mini.passes import lower_returns
from tirx_mini.records import dataclass, replace

from . import memory, moves, warps
from .arguments import Bound, bind
from .barriers import with_barriers
from .calls import call
from .conditions import with_elections
from .context import Context, refused
from .counted import with_counted_loops
from .element_types import with_element_types
from .entries import call_entry
from .local_memory import place_locals
from .origins import origins_of
from .registers import examine, guarded_until, instructions
from .schedule import scheduled
from .syntax import (
    Break,
    Continue,
    Exit,
    If,
    Instruction,
    Kernel,
    Loop,
    Node,
    Register,
    SetFlag,
    Switch,
    Test,
)
from .variables import place
from .waits import Wait, awaited, begins_with_wait
from .words import made_by_triton

Dims = tuple[int, int, int]


@dataclass(frozen=True)
class Lowered:
    """A function for the simulator, with its arguments in parameter order."""

    func: PrimFunc
    args: tuple[Any, ...]


def lower(
    kernel: Kernel, args: Sequence[object], *, grid: Sequence[int], block: Sequence[int],
    cluster: Sequence[int] | None = None, smem_bytes: int = 0,
) -> Lowered:  # fmt: skip
    """Lower a kernel for one launch.

    args: one for each parameter: an array for a pointer, a number, a `TensorMap`, or the values of a structure.
    cluster: CTAs of a cluster; those of the kernel's directives where it is None. smem_bytes: dynamic shared memory.

    Raises `ArgumentError` for arguments that do not fit, and `TirxError` for what the simulator does not execute.
    """
    bound = bind(kernel, args)
    dims = _dims(block)
    flat = tuple(instructions(kernel.body))
    origins = origins_of(flat, bound.pointers)
    declared = with_element_types(kernel.variables, flat, origins)
    variables = place(declared, bound, smem_bytes)
    total = variables.shared.nbytes if variables.shared is not None else smem_bytes
    threads = dims[0] * dims[1] * dims[2]
    launch = Launch(_dims(grid), threads, _cluster(kernel, cluster), max(total, smem_bytes))
    registers = examine(kernel, flat)
    locals_ = place_locals(declared, flat, origins)
    context = Context(kernel, bound, launch, dims, registers, origins, variables, locals_)
    body = _Body(kernel, context)
    stmts = body.all()
    params, given = _with_variables(bound, variables.arrays)
    func = PrimFunc(kernel.name, params, seq(*stmts), launch=launch, span=kernel.span)
    func = with_counted_loops(with_barriers(with_elections(lower_returns(func))))
    if context.waits_for_grids:
        func = replace(func, launch=replace(launch, programmatic=True))
    return Lowered(func, given)


def _dims(dims: Sequence[int]) -> Dims:
    values = [*map(int, dims), 1, 1, 1][:3]
    return values[0], values[1], values[2]


def _cluster(kernel: Kernel, cluster: Sequence[int] | None) -> Dims:
    if cluster is not None:
        return _dims(cluster)
    asked = kernel.directive("reqnctapercluster")
    return _dims([int(value) for value in asked]) if asked else (1, 1, 1)


def _with_variables(bound: Bound, arrays: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Append the global and constant variables to the parameters and arguments as further arrays."""
    pairs = list(zip(bound.params, bound.args, strict=True))
    buffers = [pair for pair in pairs if isinstance(pair[0], Buffer)] + list(arrays.values())
    others = [pair for pair in pairs if not isinstance(pair[0], Buffer)]
    ordered = [*buffers, *others]
    return tuple(param for param, _ in ordered), tuple(arg for _, arg in ordered)


class _Body:
    """Lowers the statements of a kernel."""

    def __init__(self, kernel: Kernel, context: Context) -> None:
        self.kernel, self.context = kernel, context
        self.flags = {name: scalar(name, BOOL) for name in kernel.flags}

    def all(self) -> list[Stmt]:
        with self.context.inside() as out:
            self.block(self.kernel.body)
        flags: list[Stmt] = []
        for flag in self.flags.values():
            flags += [AllocBuffer(flag), BufferStore(flag, (const(0),), const(False))]
        first = [*self.context.variables.declarations(), *self.context.declarations()]
        if made_by_triton(self.kernel.module):  # its predicated loads leave the registers of other lanes undefined
            registers = self.context.scalars.values()
            first += [BufferStore(each, (const(0),), const(0, each.dtype)) for each in registers]
        return [*first, *self.context.locals.initialised(), *flags, *scheduled(out)]

    def block(self, nodes: Sequence[Node]) -> None:
        """Lower a sequence of nodes; adjacent instructions with the same guard share a branch."""
        position = 0
        while position < len(nodes):
            node = nodes[position]
            if isinstance(node, Instruction) and node.guard is not None:
                end = guarded_until(nodes, position)
                self.guarded(node.guard, nodes[position:end])
                position = end
                continue
            self.node(node)
            position += 1

    def node(self, node: Node) -> None:
        context = self.context
        if isinstance(node, Instruction):
            self.instruction(node)
        elif isinstance(node, If):
            context.span = node.span
            then, orelse = self.inner(node.then), self.inner(node.orelse)
            cond = self.test(node.test)
            if not then and orelse:
                then, orelse, cond = orelse, [], unary("not", cond)
            context.emit(Branch(cond, seq(*then), seq(*orelse) if orelse else None, span=node.span))
        elif isinstance(node, Loop):
            self.loop(node)
        elif isinstance(node, Break):
            context.emit(Leave(span=context.span))
        elif isinstance(node, Continue):
            context.emit(Again(span=context.span))
        elif isinstance(node, Exit):
            context.emit(Return(span=node.span))
        elif isinstance(node, SetFlag):
            context.emit(BufferStore(self.flags[node.name], (const(0),), const(node.value), span=context.span))
        else:
            self.switch(node)

    def inner(self, nodes: Sequence[Node]) -> list[Stmt]:
        with self.context.inside() as out:
            self.block(nodes)
        return scheduled(out)

    def test(self, test: Test) -> Expr:
        if isinstance(test, Register):
            return self.context.read(test, BOOL)
        flag = self.flags[test.name]
        value = BufferLoad(BOOL, flag, (const(0),))
        return unary("not", value) if test.negated else value

    def guarded(self, guard: Register, nodes: Sequence[Node]) -> None:
        context = self.context
        first = nodes[0]
        assert isinstance(first, Instruction)
        context.span = first.span
        cond = context.read(guard, BOOL)
        with context.inside() as out:
            for node in nodes:
                assert isinstance(node, Instruction)
                self.instruction(node)
        context.emit(Branch(cond, seq(*out), span=first.span))

    def loop(self, node: Loop) -> None:
        context = self.context
        wait = awaited(node)
        if wait is not None:
            self.wait(wait)
            return
        begun = begins_with_wait(node)
        if begun is None:
            body = self.inner(node.body)
        else:
            with context.inside() as out:
                self.wait(begun[0])
                self.block(begun[1])
            body = scheduled(out)
        if body and isinstance(body[-1], Again):
            body.pop()
        context.emit(While(const(True), seq(*body), span=node.span))

    def wait(self, wait: Wait) -> None:
        for each in wait.first:
            self.instruction(each)
        self.context.span = wait.instruction.span
        wait.emit(self.context)
        for each in wait.rest:
            self.instruction(each)

    def switch(self, node: Switch) -> None:
        context = self.context
        context.span = node.span
        index = context.kept(context.read(node.index))
        made: Stmt | None = None
        for number in reversed(range(len(node.cases))):
            then = seq(*self.inner(node.cases[number]))
            made = then if made is None else Branch(
                binary("==", index, const(number, index.dtype)), then, made, span=node.span
            )
        if made is not None:
            context.emit(made)

    def instruction(self, node: Instruction) -> None:
        context = self.context
        context.span = node.span
        try:
            self._instruction(node)
        except TirxError as error:
            raise error.at(node.span) from None
        except (KeyError, IndexError, ValueError, StopIteration) as error:  # words or operands that no handler expects
            raise refused(node) from error

    def _instruction(self, node: Instruction) -> None:
        context, name = self.context, node.opcode[0]
        handler = memory.HANDLERS.get(name) or warps.HANDLERS.get(name)
        if handler is not None:
            handler(context, node)
        elif name in ("pragma", "nop") or memory.prefetch(context, node):
            return
        elif name == "call":
            call(context, node)
        elif name in ("exit", "ret"):
            context.emit(Return(span=node.span))
        elif name == "trap":
            context.emit(Evaluate(context.execute(TABLE["trap"], (), {}), span=node.span))
        elif not moves.compute(context, node) and not call_entry(context, node):
            raise refused(node)
