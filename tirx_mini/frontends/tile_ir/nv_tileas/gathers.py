"""Asynchronous gathers for the tensor core: 16-byte cp.async copies per thread, directly to shared memory.

A part of tileas-materialize-async. A `load` by pointers becomes `async.load` where each 16 bytes of a row of the tile
are neighbours in memory with one mask (PTX ISA: "cp.async", whose src-size zero-fills masked-off elements).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..context import UNSPECIALIZED, Context
from ..layouts import SharedLayout
from ..nv_tileaa import MEM_TOKEN, Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Op, Rewriter, Scalar, Value
from . import ops
from . import pipeline_ops as pipe
from .contiguity import Contiguity
from .operands import STORES, base_of, carried, chain_of, definitions, laid_out, without_unused_loads

COPY_BYTES = 16
"""Bytes of one cp.async that passes by the L1 cache."""


def with_async_gathers(func: Op, context: Context) -> Op:
    """Convert the eligible gathers of a function to `async.load`, and add a note for the others."""
    if context.options.agents == UNSPECIALIZED:
        return func
    defs = definitions(func.body)
    found = _Gathers(defs)
    known = Contiguity(func.body)
    for op in func.body.walk():
        if op.kind is not ops.convert_layout or not isinstance(op.result.type.layout, SharedLayout):
            continue
        chain = chain_of(op.result, defs, ops.load)
        if not chain:
            continue
        why = next(reasons(chain, func, defs, known), None) or found.conflict(chain[0])
        if why is None:
            found.take(op, chain)
        else:
            context.note(f"this tile is gathered through registers, not asynchronously: {why}", chain[0].span)
    if not found.chains:
        return func
    body = without_unused_loads(found.region(func.body))
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def is_gather(value: Value, func: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether cp.async can gather a tile into shared memory."""
    chain = chain_of(value, defs, ops.load)
    return bool(chain) and next(reasons(chain, func, defs, Contiguity(func.body)), None) is None


def reasons(chain: list[Op], func: Op, defs: Mapping[Value, Op], known: Contiguity) -> Iterator[str]:
    """Yield the reasons why cp.async cannot perform the load at the start of `chain`."""
    load = chain[0]
    tensor: Tensor = load.tensor.type
    wide = [axis for axis, extent in enumerate(tensor.shape) if extent > 1]
    assert isinstance(tensor.element, Scalar)
    count = COPY_BYTES * 8 // tensor.element.bits
    if not wide or any(op.kind is ops.permute for op in chain):
        yield "its rows are not rows of the array"
        return
    if not known.consecutive(load.source, wide[-1], count):
        yield f"{COPY_BYTES} bytes of a row of the tile are not known to be {COPY_BYTES} aligned bytes of the array"
    if load.mask is not None and not known.equal(load.mask, wide[-1], count):
        yield f"elements of the same {COPY_BYTES} bytes may have different masks"
    if load.other is not None and not _is_zero(load.other, defs):
        yield "elements that are left out are not 0"
    yield from _sources(load, func, defs)


def _sources(load: Op, func: Op, defs: Mapping[Value, Op]) -> Iterator[str]:
    """Yield the reasons why the loading warps cannot compute a load's addresses by themselves."""
    written = [base_of(op.operands[0], defs, op) for op in func.body.walk() if op.kind in STORES]
    loops = {op.body.params[0] for op in func.body.walk() if op.kind is std.for_} | set(func.body.params)
    for value in computed_from(load, defs):
        op = defs.get(value)
        if op is None and value not in loops:
            yield "its addresses depend on what a loop carries"
        elif op is not None and op.kind in (ops.load, ops.tiled_load, ops.gather_load):
            base = base_of(op.operands[0], defs)
            if base is None or None in written or base in written:
                yield "it reads an array that is also written, or its addresses do"
        elif op is not None and (op.regions or op.kind in _EXCHANGED or not op.kind.pure or _picks(op)):
            yield f"its addresses depend on a {op.kind.mnemonic}"


_EXCHANGED = (ops.dot, aa.cat, ops.extract_slice, ops.insert_slice)


def _picks(op: Op) -> bool:
    """Return whether an operation extracts one element of several, which only one thread holds."""
    return op.kind is aa.extract and op.source.type.size > 1


def computed_from(load: Op, defs: Mapping[Value, Op]) -> dict[Value, None]:
    """Return the values from which a load and its addresses are computed, including itself but no tokens."""
    todo = [load.tensor]
    seen = dict.fromkeys(todo)
    while todo:
        op = defs.get(todo.pop())
        for value in op.operands if op is not None else ():
            if value not in seen and value.type != MEM_TOKEN:
                seen[value] = None
                todo.append(value)
    return seen


def _is_zero(value: Value, defs: Mapping[Value, Op]) -> bool:
    op = defs.get(value)
    while op is not None and op.kind in (ops.convert_layout, ops.broadcast, aa.splat):
        op = defs.get(op.operands[0])
    return op is not None and op.kind is std.constant and not np.any(op.value.values)


class _Gathers(Rewriter):
    """Converts gathers. chains: the operations from the load to each conversion to shared memory."""

    def __init__(self, defs: Mapping[Value, Op]) -> None:
        super().__init__({ops.convert_layout: self._converted})
        self.defs = defs
        self.chains: dict[Op, list[Op]] = {}
        self.tiles: set[Value] = set()

    def conflict(self, load: Op) -> str | None:
        """Return the reason why a load conflicts with the gathers already converted, or ""."""
        shared = self._tiles(load) & self.tiles
        return "its addresses are computed from the same tiles as those of another gather" if shared else None

    def _tiles(self, load: Op) -> set[Value]:
        return {v for v in computed_from(load, self.defs) if isinstance(v.type, Tensor) and v.type.size > 1}

    def take(self, converted: Op, chain: list[Op]) -> None:
        """Make the load of a chain asynchronous."""
        self.chains[converted] = chain
        self.tiles |= self._tiles(chain[0])

    def _converted(self, op: Op, _: Rewriter) -> Value:
        chain = self.chains.get(op)
        if chain is None:
            return self.copy(op).result
        load, *rest = chain
        tensor: Tensor = load.tensor.type
        layout = laid_out(tensor, tuple(reversed(range(tensor.rank))))
        room = self.emit(pipe.alloc_tensor, types=[tensor.with_layout(layout)], hint=load.tensor.hint, span=load.span)
        token = self.emit(pipe.async_load, self[load.source], self[load.mask], room, span=load.span)
        value = self.emit(pipe.wait_load, token, room, hint=load.tensor.hint, span=load.span)
        for step in rest[:-1]:
            layout = carried(step, layout)
            if step.kind is not ops.convert_layout:
                made = Value(step.result.type.with_layout(layout), step.result.hint)
                value = self.add(Op(step.kind, (value,), (made,), step.attrs, (), step.span)).result
        return value
