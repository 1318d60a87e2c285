"""Uses of buffers and loops in a lowered function, on which the emitted text depends."""

from __future__ import annotations

from collections.abc import Iterable

from tirx_mini.ir import (
    UNROLLED,
    AddressOf,
    AllocBuffer,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    DataType,
    DeclBuffer,
    Expr,
    For,
    PrimFunc,
    Ramp,
    TensorMap,
    Var,
    walk,
)

Param = Buffer | Var | TensorMap
_ACCESSES = (BufferLoad, BufferStore, AddressOf)


def used_params(func: PrimFunc) -> tuple[Param, ...]:
    """Return the parameters that the body uses, followed by the tensor maps."""
    buffers = {access.buffer for kind in _ACCESSES for access in func.of(kind)}
    variables = set(func.of(Var))
    return (*(p for p in func.params if p in (variables if isinstance(p, Var) else buffers)), *func.tensor_maps)


def loops_over_registers(func: PrimFunc) -> frozenset[For]:
    """Return the loops whose variable indexes a register array.

    Registers have no addresses: unless such a loop is unrolled, the array is in (slow, off-chip) local memory.
    """
    values = {bind.var: bind.value for bind in func.of(Bind)}
    pending = [index for kind in _ACCESSES for access in func.of(kind) for index in _register_indices(access)]
    reached: set[Var] = set()
    while pending:
        for node in walk(pending.pop()):
            if isinstance(node, Var) and node not in reached:
                reached.add(node)
                if node in values:
                    pending.append(values[node])
    return frozenset(loop for loop in func.of(For) if loop.var in reached)


def _register_indices(node: BufferLoad | BufferStore | AddressOf) -> Iterable[Expr]:
    return node.indices if node.buffer.scope == "local" and not node.buffer.scalar else ()


def loops_with_instructions(func: PrimFunc) -> frozenset[For]:
    """Return the serial loops that issue instructions, which are not unrolled to limit code size."""
    return frozenset(
        loop
        for loop in func.of(For)
        if loop.kind != UNROLLED and any(isinstance(inner, Call) for inner in walk(loop.body))
    )


def unread_scalars(func: PrimFunc) -> frozenset[Buffer]:
    """Return the mutable scalars that are only used to update themselves, by stores without side effects."""
    stored: dict[Buffer, list[BufferStore]] = {}
    for store in func.of(BufferStore):
        if store.buffer.scalar:
            stored.setdefault(store.buffer, []).append(store)
    own = {id(load) for stores in stored.values() for s in stores for load in _loads(s.value, s.buffer)}
    reads = (*func.of(BufferLoad), *func.of(AddressOf))
    read = {node.buffer for node in reads if id(node) not in own}
    effects = {b for b, stores in stored.items() if any(isinstance(n, Call) for s in stores for n in walk(s.value))}
    return frozenset(stored.keys() - read - effects)


def _loads(expr: Expr, buffer: Buffer) -> list[Expr]:
    return [n for n in walk(expr) if isinstance(n, BufferLoad) and n.buffer is buffer]


def vector_buffers(func: PrimFunc) -> frozenset[Buffer]:
    """Return the buffers with vector accesses, or that an instruction takes as whole registers."""
    moved = (*func.of(BufferLoad), *func.of(BufferStore))
    vectors = {node.buffer for node in moved if any(isinstance(index, Ramp) for index in node.indices)}
    pointers = (node.buffer for node in func.of(AddressOf))
    return frozenset(vectors.union(buffer for buffer in pointers if buffer.scope == "local" and not buffer.scalar))


def mentioned_dtypes(func: PrimFunc) -> frozenset[DataType]:
    """Return the scalar types that the emitted text may name."""
    found = {p.dtype for p in func.params}
    found.update(node.dtype for node in func.nodes if isinstance(node, Expr))
    found.update(node.buffer.dtype for kind in (*_ACCESSES, AllocBuffer, DeclBuffer) for node in func.of(kind))
    return frozenset(dtype.scalar for dtype in found)


def byte_offset(buffer: Buffer) -> int:
    """Return the byte offset of a view in the root buffer of its view chain."""
    return buffer.byte_offset + (byte_offset(buffer.source) if buffer.source is not None else 0)
