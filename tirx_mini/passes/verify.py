"""The VerifyLowered pass: check the invariants on which codegen and the simulator rely."""

from __future__ import annotations

from collections.abc import Iterator

from tirx_mini.ir import (
    AddressOf,
    AllocBuffer,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Expr,
    For,
    PrimFunc,
    Ramp,
    Region,
    Scope,
    ScopeIds,
    Stmt,
    TileCall,
    Var,
)

from .griddepcontrol import waits_for_grids


class LoweringError(AssertionError):
    """A violated invariant of lowered IR, which is a compiler bug rather than an error in the kernel."""


def verify_lowered(func: PrimFunc) -> PrimFunc:
    """Return `func`. Raises LoweringError, which lists all violations, if it is not a lowered function."""
    problems = list(_problems(func))
    if problems:
        raise LoweringError(f"{func.name} is not lowered: " + "; ".join(problems))
    return func


def _problems(func: PrimFunc) -> Iterator[str]:
    if func.launch is None:
        yield "it has no launch"
    elif func.launch.programmatic != waits_for_grids(func):
        yield f"programmatic={func.launch.programmatic} of its launch contradicts its griddepcontrol.wait"
    known: set[Buffer] = {param for param in func.params if isinstance(param, Buffer)}
    variables: set[Var] = {param for param in func.params if isinstance(param, Var)}
    variables |= {tensor_map.var for tensor_map in func.tensor_maps}
    for node in func.nodes:
        if isinstance(node, _CHECKED):
            yield from _statement(node, known, variables)
        if isinstance(node, (BufferLoad, BufferStore, AddressOf)):
            yield from _access(node, known)
    roots = (buffer for buffer in known if buffer.scope == "shared" and buffer.source is None)
    smem = sorted(roots, key=lambda buffer: buffer.name)
    if len(smem) > 1:
        yield f"it has {len(smem)} shared allocations: {', '.join(buffer.name for buffer in smem)}"
    asked = func.launch.smem_bytes if func.launch is not None else 0
    if smem and asked < smem[0].nbytes:
        yield f"the launch requests {asked} bytes of shared memory, but {smem[0].name} has {smem[0].nbytes}"


_CHECKED = (Scope, ScopeIds, TileCall, Region, AllocBuffer, DeclBuffer, Bind, For, Var)


def _statement(node: Expr | Stmt, known: set[Buffer], variables: set[Var]) -> Iterator[str]:
    if isinstance(node, (Scope, ScopeIds, TileCall, Region)):
        yield f"a {type(node).__name__} remains"
    elif isinstance(node, (AllocBuffer, DeclBuffer)):
        known.add(node.buffer)
        yield from _declared(node, known)
    elif isinstance(node, (Bind, For)):
        variables.add(node.var)
    elif isinstance(node, Var) and node not in variables:
        yield f"{node.name} is used before it is bound"


def _declared(node: AllocBuffer | DeclBuffer, known: set[Buffer]) -> Iterator[str]:
    buffer = node.buffer
    if isinstance(node, DeclBuffer) and (buffer.scope != "shared" or buffer.source is None):
        yield f"{buffer.name} is declared, but is not a view of shared memory"
    if buffer.source is not None and (buffer.source.source is not None or buffer.source not in known):
        yield f"{buffer.name} is a view of {buffer.source.name}, which is not the shared allocation"
    if buffer.scope == "tmem":
        yield f"{buffer.name} is tensor memory, which lowered code addresses by number"


def _access(node: BufferLoad | BufferStore | AddressOf, known: set[Buffer]) -> Iterator[str]:
    buffer = node.buffer
    if len(node.indices) != 1:
        yield f"an access of {buffer.name} has {len(node.indices)} indices"
    if buffer not in known:
        yield f"{buffer.name} is accessed, but is neither a parameter nor declared"
    lanes = node.indices[0].lanes if isinstance(node.indices[0], Ramp) else 1
    value = node.value if isinstance(node, BufferStore) else node
    if not isinstance(node, AddressOf) and value.dtype != buffer.dtype.with_lanes(lanes):
        yield f"an access of {lanes} elements of {buffer.name} ({buffer.dtype}) has a value of {value.dtype}"
