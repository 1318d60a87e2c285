"""`check`: performance and correctness notes on scheduled functions, each with a fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tirx_mini.ir import (
    PARALLEL,
    REDUCE,
    SERIAL,
    THREAD,
    VECTORIZED,
    AllocBuffer,
    Analyzer,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Diagnostic,
    Expr,
    For,
    IRModule,
    PrimFunc,
    Ramp,
    Stmt,
    Var,
    children,
    const,
    int_value,
    substitute,
    walk,
)
from tirx_mini.passes import lower_blocks, vectorize
from tirx_mini.sim import bank_conflicts

from .lower import lower
from .schedule import Schedule
from .tensor import Tensor

LARGE_BYTES = 32 << 10
"""A temporary of more bytes does not stay in a first-level cache (32 KiB on most CPUs)."""
FEW = 4
"""Iterations of a loop below which a vector is not worth a note."""


def check(
    inputs: Schedule | PrimFunc | IRModule, args: Sequence[Tensor] = (), target: str = "llvm"
) -> list[Diagnostic]:
    """Return performance and correctness notes on a scheduled function. They cover unvectorised inner loops, unbound
    loops, large temporaries, bank conflicts and uninitialised reductions. `str(note.render())` is the page of one.

    target: "llvm" for a CPU, "cuda" or "sim" for a GPU.
    """
    written = lower(inputs, args).main
    func = vectorize(lower_blocks(written))
    notes = [*_uninitialised(written), *_temporaries(func)]
    if target.startswith("llvm"):
        notes += _not_vectors(func)
    else:
        notes += [*_not_bound(func), *_conflicts(func)]
    return notes


def _note(message: str, node: Stmt | Buffer, hint: str) -> Diagnostic:
    return Diagnostic(message, node.span, hint, severity="note")


# -- correctness -------------------------------------------------------------------------------------------------


def _uninitialised(func: PrimFunc) -> Iterator[Diagnostic]:
    """Yield notes on buffers that are accumulated into without initialisation."""
    stores = [node for node in func.nodes if isinstance(node, BufferStore)]
    begun = {store.buffer for store in stores if not _reads(store)}
    begun |= {store.buffer for store in stores if store.buffer in func.params and not _accumulates(func, store)}
    for buffer in dict.fromkeys(store.buffer for store in stores):
        if buffer not in begun:
            first = next(store for store in stores if store.buffer is buffer)
            yield _note(
                f"{buffer.name} is added to, but nothing gives it a first value",
                first,
                f"store 0 to {buffer.name} before the reduction: in `with T.init():` of its block",
            )


def _reads(store: BufferStore) -> bool:
    """Return whether a store depends on the buffer's previous contents."""
    return any(isinstance(node, BufferLoad) and node.buffer is store.buffer for node in walk(store.value))


def _accumulates(func: PrimFunc, store: BufferStore) -> bool:
    """Return whether a store accumulates into the same element repeatedly, as in a reduction."""
    for block in (node for node in func.nodes if isinstance(node, Block)):
        if store in set(walk(block.body)) and REDUCE in block.kinds:
            return True
    used = {part for index in store.indices for part in walk(index)}
    around = _loops_around(func.body, store)
    return any(loop.var not in used for loop in around) and not any(
        isinstance(node, Block) for node in func.nodes
    )


def _loops_around(root: Stmt, target: Stmt) -> list[For]:
    def search(node: Stmt | Expr, loops: list[For]) -> list[For] | None:
        if node is target:
            return loops
        inner = [*loops, node] if isinstance(node, For) else loops
        for child in children(node):
            found = search(child, inner) if isinstance(child, Stmt) else None
            if found is not None:
                return found
        return None

    return search(root, []) or []


# -- memory ------------------------------------------------------------------------------------------------------


def _temporaries(func: PrimFunc) -> Iterator[Diagnostic]:
    for node in func.nodes:
        if isinstance(node, AllocBuffer) and node.buffer.scope == "global" and node.buffer.nbytes > LARGE_BYTES:
            name = node.buffer.name
            yield _note(
                f"{name} is kept in full between its producer and its readers: {node.buffer.nbytes:,} bytes",
                node,
                f"compute it where it is read: s[{name}].compute_at(s[reader], loop), or s[{name}].compute_inline()",
            )


# -- CPUs --------------------------------------------------------------------------------------------------------


def _not_vectors(func: PrimFunc) -> Iterator[Diagnostic]:
    """Yield notes on innermost loops that could be vectorised."""
    for loop in (node for node in func.nodes if isinstance(node, For)):
        trips = int_value(loop.stop)
        innermost = not any(isinstance(node, For) for node in walk(loop.body))
        if not innermost or loop.kind not in (SERIAL, PARALLEL) or trips is None or trips < FEW:
            continue
        stores = [node for node in walk(loop.body) if isinstance(node, BufferStore)]
        if any(isinstance(store.indices[-1], Ramp) for store in stores):
            continue
        name = loop.var.name
        probe = vectorize(func.with_body(replace(loop, kind=VECTORIZED)))
        if not any(isinstance(node, For) for node in walk(probe.body)):
            yield _note(
                f"the innermost loop {name} is computed one element at a time",
                loop,
                f"s[{stores[0].buffer.name}].vectorize({name}), after a split by the lanes of a vector",
            )
        elif stores and all(loop.var not in set(walk(index)) for store in stores for index in store.indices):
            yield _note(
                f"the innermost loop {name} reduces, so it cannot be a vector",
                loop,
                f"reorder a data parallel loop inside {name}, and vectorize that one",
            )


# -- GPUs --------------------------------------------------------------------------------------------------------


def _not_bound(func: PrimFunc) -> Iterator[Diagnostic]:
    bound = {node.thread.split(".")[0] for node in func.nodes if isinstance(node, For) and node.kind == THREAD}
    for index, what in (("blockIdx", "all of it is computed on one SM"), ("threadIdx", "each CTA has one thread")):
        if index not in bound:
            first = next((node for node in func.nodes if isinstance(node, For)), func.body)
            yield _note(
                f"no loop is bound to {index}: {what}", first, f's[C].bind(loop, te.thread_axis("{index}.x"))'
            )


def _conflicts(func: PrimFunc) -> Iterator[Diagnostic]:
    """Yield notes on shared-memory accesses with bank conflicts between lanes of the first warp."""
    seen: set[Buffer] = set()
    for node in func.nodes:
        if not isinstance(node, (BufferLoad, BufferStore)) or node.buffer.scope != "shared" or node.buffer in seen:
            continue
        extra = _extra_passes(func, node)
        if extra:
            seen.add(node.buffer)
            name = node.buffer.name
            span = node.span or node.buffer.span
            hint = f"s[{name}].storage_align({name}.op.axis[0], factor=32, offset=1)"
            message = f"an access of {name} by a warp takes {extra + 1} passes through the banks of shared memory"
            yield Diagnostic(message, span, hint, severity="note")


def _extra_passes(func: PrimFunc, node: BufferLoad | BufferStore) -> int:
    loops = [loop for loop in func.nodes if isinstance(loop, For)]
    extents: dict[str, int] = {}
    for loop in loops:
        if loop.thread:
            extents[loop.thread] = max(int_value(loop.stop) or 1, extents.get(loop.thread, 1))
    x, y = (extents.get(f"threadIdx.{axis}", 1) for axis in "xy")
    layout = node.buffer.layout
    places: list[int] = []
    for lane in range(min(32, x * y * extents.get("threadIdx.z", 1))):
        at = {"threadIdx.x": lane % x, "threadIdx.y": lane // x % y, "threadIdx.z": lane // (x * y)}
        values: dict[Var, Expr] = {loop.var: const(at.get(loop.thread, 0)) for loop in loops}
        indices = [index.base if isinstance(index, Ramp) else index for index in node.indices]
        coords = [int_value(Analyzer().simplify(substitute(index, values))) for index in indices]
        known = [coord for coord in coords if coord is not None]
        if len(known) != len(coords):
            return 0
        if len(known) < node.buffer.ndim:
            places += known  # a place in memory
        elif layout is not None:
            places.append(layout.apply_m(*known))
        else:
            places.append(int(np.ravel_multi_index(known, node.buffer.shape, mode="wrap")))
    return bank_conflicts(np.array(places), node.buffer.dtype.itemsize) if len(places) > 1 else 0
