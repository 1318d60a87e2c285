"""The values that a run without data must compute: the inputs of control flow, addresses, barriers and time.

The slice begins at the conditions and bounds of control flow, at the indices of memory accesses and at the operands of
instructions, and proceeds backwards through variables, registers and shared memory. Values outside the slice are only
moved and computed. If the slice reaches data that only a run with data has (global memory, the results of asynchronous
copies, the registers of an MMA), the kernel cannot run without data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tirx_mini.ir import (
    Address,
    AddressOf,
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    If,
    PrimFunc,
    Select,
    Span,
    Stmt,
    TirxError,
    Var,
    While,
    children,
    walk,
)
from tirx_mini.isa import Memory, OperandKind, instruction_of
from tirx_mini.records import dataclass


@dataclass
class Needed:
    """The set of values to compute.

    vars: bound variables. buffers: registers and shared memory, by their declarations. Both by identity.
    """

    vars: set[Var] = field(default_factory=set[Var])
    buffers: set[Buffer] = field(default_factory=set[Buffer])

    def has(self, target: Var | Buffer) -> bool:
        """Return whether a variable or buffer is computed."""
        return target in (self.vars if isinstance(target, Var) else self.buffers)


def is_kept(expr: Expr) -> bool:
    """Return whether an expression must be computed even if its value is unused.

    Such an expression executes an instruction with an effect, or guards one of its memory loads by a condition.
    """
    for node in walk(expr):
        if isinstance(node, Call) and has_effect(node):
            return True
        sides = (node.a, node.b) if isinstance(node, Select) else ()
        if isinstance(node, Binary) and node.op in ("and", "or"):
            sides = (node.b,)
        if any(isinstance(load, BufferLoad) and load.buffer.scope != "local" for s in sides for load in walk(s)):
            return True
    return False


def has_effect(call: Call) -> bool:
    """Return whether an instruction has an effect besides its result."""
    entry = instruction_of(call)
    return entry is None or not entry.pure


def extent(buffer: Buffer) -> tuple[Buffer, int, int]:
    """Return the (root, first byte, end) that a buffer covers."""
    offset, view = 0, buffer
    while view is not None:
        offset, view = offset + view.byte_offset, view.source
    return buffer.root, offset, offset + buffer.size * buffer.dtype.itemsize


def needed(func: PrimFunc) -> Needed:
    """Return the backward slice of a lowered function.

    Raises `TirxError` at the dependent read if the slice depends on data.
    """
    return _Slice(func).result


class _Slice:
    def __init__(self, func: PrimFunc) -> None:
        self.result = Needed()
        self._binds: dict[Var, Bind] = {}
        self._stores: dict[Buffer, list[BufferStore]] = {}
        self._instructions: dict[Buffer, list[Call]] = {}
        self._todo: list[Expr] = []
        nodes = func.nodes
        for node in nodes:
            self._note(node)
        for node in nodes:
            self._todo.extend(_roots(node))
        while self._todo:
            self._visit(self._todo.pop())

    def _note(self, node: object) -> None:
        if isinstance(node, Bind):
            self._binds[node.var] = node
        elif isinstance(node, BufferStore):
            self._stores.setdefault(node.buffer, []).append(node)
        elif isinstance(node, Call):
            for argument in node.args:
                if isinstance(argument, AddressOf):
                    self._instructions.setdefault(argument.buffer, []).append(node)

    def _visit(self, expr: Expr) -> None:
        if isinstance(expr, Var):
            if expr in self._binds and expr not in self.result.vars:
                self.result.vars.add(expr)
                self._todo.append(self._binds[expr].value)
            return
        if isinstance(expr, BufferLoad):
            self._read(expr)
        if isinstance(expr, Address) and expr.dtype == "tensormap":
            raise _depends(None, expr.span)
        if isinstance(expr, Call) and _reads_value(expr):
            buffer = next((arg.buffer for arg in expr.args if isinstance(arg, AddressOf)), None)
            raise _depends(buffer, expr.span)
        for child in children(expr):
            if isinstance(child, Expr) and not _is_register(expr, child):
                self._todo.append(child)

    def _read(self, load: BufferLoad) -> None:
        """Add a loaded buffer to the slice, with everything stored to it."""
        buffer = load.buffer
        if buffer.scope == "global":
            raise _depends(buffer, load.span)
        for other in self._aliases(buffer):
            if other in self.result.buffers:
                continue
            self.result.buffers.add(other)
            for call in self._instructions.get(other, ()):
                if _brings_data(call, other):
                    raise _depends(buffer, load.span)
            for store in self._stores.get(other, ()):
                self._todo.extend((store.value, *store.indices))

    def _aliases(self, buffer: Buffer) -> list[Buffer]:
        """Return the buffers that overlap this one in memory, itself included."""
        root, first, end = extent(buffer)
        found = [buffer]
        for other in {*self._stores, *self._instructions}:
            its_root, its_first, its_end = extent(other)
            if other is not buffer and its_root is root and its_first < end and first < its_end:
                found.append(other)
        return found


def _roots(node: object) -> Iterator[Expr]:
    """Yield the expressions of a node that are always needed."""
    if isinstance(node, (If, While)):
        yield node.cond
    elif isinstance(node, For):
        yield from (node.start, node.stop)
    elif isinstance(node, (BufferLoad, BufferStore)) and node.buffer.scope != "local":
        yield from node.indices
    if isinstance(node, (Bind, BufferStore)) and is_kept(node.value):
        yield from _executed(node.value)
    elif isinstance(node, Evaluate):
        yield from _places(node.call)


def _executed(expr: Expr) -> Iterator[Expr]:
    """Yield what executing an expression needs: of an instruction that reads memory only where it reads."""
    if isinstance(expr, Call) and _reads_value(expr):
        yield from _places(expr)
    elif any(isinstance(node, Call) and _reads_value(node) for node in walk(expr)):
        for child in children(expr):
            if isinstance(child, Expr):
                yield from _executed(child)
    else:
        yield expr


def _reads_value(call: Call) -> bool:
    entry = instruction_of(call)
    return entry is not None and entry.result is not None and bool(entry.reads)


def _places(call: Call) -> Iterator[Expr]:
    """Yield the operands of an instruction but registers, and data that it only writes."""
    data = stored_data(call)
    yield from (arg for arg in call.args if id(arg) not in data and not _is_register(call, arg))


def stored_data(call: Call) -> frozenset[int]:
    """Return the operands of a store or reduction that are only written to memory, by identity."""
    entry = instruction_of(call)
    if entry is None or not entry.typed or entry.result is not None or not entry.writes:
        return frozenset()
    given = entry.matched(call.args, dict(call.attrs))
    return frozenset(id(arg) for operand, args in given for arg in args if operand.type.kind is OperandKind.TYPED)


def _is_register(parent: Expr | Stmt, argument: Expr) -> bool:
    """Return whether an instruction operand is the address of registers, whose values are data."""
    return isinstance(parent, Call) and isinstance(argument, AddressOf) and argument.buffer.scope == "local"


def _brings_data(call: Call, buffer: Buffer) -> bool:
    """Return whether an instruction may write data, which a run without data lacks, to one of its buffers."""
    entry = instruction_of(call)
    if entry is None or entry.opaque or entry.registers is not None:
        return True
    return buffer.scope == "local" or (bool(entry.writes & Memory.SHARED) and entry.completion is not None)


def _depends(buffer: Buffer | None, span: Span | None) -> TirxError:
    return TirxError(
        f"control flow, an address or an operand of an instruction depends on data in "
        f"{buffer.name if buffer else 'memory'}, which a run "
        "without data does not have",
        span,
        "simulate this kernel with its data: leave out data=False",
        kind="not-modelled",
    )


