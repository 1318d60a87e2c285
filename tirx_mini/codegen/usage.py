"""How a lowered function uses its buffers and loops; the emitted text depends on it."""

from __future__ import annotations

from collections.abc import Iterable

from tirx_mini.ir import (
    UNROLLED,
    AddressOf,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    DataType,
    Expr,
    For,
    PrimFunc,
    Ramp,
    Stmt,
    TensorMap,
    Var,
    walk,
)

Param = Buffer | Var | TensorMap


def used_params(func: PrimFunc) -> tuple[Param, ...]:
    """The parameters that the body mentions, then the tensor maps."""
    nodes = func.nodes
    buffers = {n.buffer for n in nodes if isinstance(n, (BufferLoad, BufferStore, AddressOf))}
    variables = {n for n in nodes if isinstance(n, Var)}
    return (*(p for p in func.params if p in (variables if isinstance(p, Var) else buffers)), *func.tensor_maps)


def loops_over_registers(func: PrimFunc) -> frozenset[For]:
    """The loops whose variable selects an element of a register array.

    Registers have no addresses: unless such a loop is unrolled, the array is in (slow, off-chip) local memory.
    """
    nodes = func.nodes
    values = {n.var: n.value for n in nodes if isinstance(n, Bind)}
    pending = [index for n in nodes for index in _register_indices(n)]
    reached: set[Var] = set()
    while pending:
        for node in walk(pending.pop()):
            if isinstance(node, Var) and node not in reached:
                reached.add(node)
                if node in values:
                    pending.append(values[node])
    return frozenset(n for n in nodes if isinstance(n, For) and n.var in reached)


def _register_indices(node: Expr | Stmt) -> Iterable[Expr]:
    if not isinstance(node, (BufferLoad, BufferStore, AddressOf)):
        return ()
    return node.indices if node.buffer.scope == "local" and not node.buffer.scalar else ()


def loops_with_instructions(func: PrimFunc) -> frozenset[For]:
    """Serial loops that issue instructions. They stay loops, which keeps the code small."""
    return frozenset(
        n
        for n in func.nodes
        if isinstance(n, For) and n.kind != UNROLLED and any(isinstance(inner, Call) for inner in walk(n.body))
    )


def unread_scalars(func: PrimFunc) -> frozenset[Buffer]:
    """Mutable scalars that only their own next value uses, and whose stores have no other effect."""
    stored: dict[Buffer, list[BufferStore]] = {}
    read: set[Buffer] = set()
    for node in func.nodes:
        if isinstance(node, BufferStore) and node.buffer.scalar:
            stored.setdefault(node.buffer, []).append(node)
    own = {id(load) for stores in stored.values() for s in stores for load in _loads(s.value, s.buffer)}
    for node in func.nodes:
        if isinstance(node, (BufferLoad, AddressOf)) and id(node) not in own:
            read.add(node.buffer)
    effects = {b for b, stores in stored.items() if any(isinstance(n, Call) for s in stores for n in walk(s.value))}
    return frozenset(stored.keys() - read - effects)


def _loads(expr: Expr, buffer: Buffer) -> list[Expr]:
    return [n for n in walk(expr) if isinstance(n, BufferLoad) and n.buffer is buffer]


def vector_buffers(func: PrimFunc) -> frozenset[Buffer]:
    """The buffers with an access to several elements, or that an instruction takes as whole registers."""
    return frozenset(
        node.buffer
        for node in func.nodes
        if (isinstance(node, (BufferLoad, BufferStore)) and any(isinstance(i, Ramp) for i in node.indices))
        or (isinstance(node, AddressOf) and node.buffer.scope == "local" and not node.buffer.scalar)
    )


def mentioned_dtypes(func: PrimFunc) -> frozenset[DataType]:
    """Every type that the emitted text may name, by one lane."""
    found = {p.dtype for p in func.params}
    for node in func.nodes:
        if isinstance(node, Expr):
            found.add(node.dtype)
        buffer = getattr(node, "buffer", None)
        if isinstance(buffer, Buffer):
            found.add(buffer.dtype)
    return frozenset(dtype.scalar for dtype in found)


def byte_offset(buffer: Buffer) -> int:
    """The byte at which a view starts in the buffer at the end of its chain of views."""
    return buffer.byte_offset + (byte_offset(buffer.source) if buffer.source is not None else 0)
