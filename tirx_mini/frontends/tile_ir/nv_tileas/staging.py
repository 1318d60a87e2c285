"""The pass tileas-assign-pipeline-layouts: swizzled pipeline stages for tiles that threads read as fragments.

wgmma and tcgen05 read operands from shared memory, and tileas-assign-dot-layouts says in which layout. mma.sync reads
them from registers. A tile that a loop loads for it changes threads anyway, through shared memory; so TMA may as well
put it there, in stages of a pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..context import Context
from ..layouts import LinearLayout, Move, SharedLayout, conversion
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, Region, Rewriter, Value
from . import ops
from .operands import chain_of, definitions, reasons, shared_layout
from .passes import element_bits

ATOM_ROWS, ATOM_BYTES = 8, 16
"""The smallest tile that TMA stores with a swizzle (PTX ISA, "Swizzling Modes")."""


def assign_pipeline_layouts(module: Module, context: Context) -> Module:
    """Route loop-loaded tiles that change threads before use through swizzled shared memory.

    They are those that TMA can load.
    """
    return Module(module.name, tuple(_function(op) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op) -> Op:
    defs = definitions(func.body)
    staged = {op for op in in_loops(func.body) if _is_staged(op, func, defs)}
    if not staged:
        return func

    def convert(op: Op, rw: Rewriter) -> Any:
        if op not in staged:
            return KEEP
        shared = op.source.type.with_layout(shared_layout(op.source, defs))
        stage = rw.emit(ops.convert_layout, rw[op.source], types=[shared], hint=op.source.hint)
        return rw.emit(ops.convert_layout, stage, types=[op.result.type], hint=op.result.hint)

    body = Rewriter({ops.convert_layout: convert}).region(func.body, func.body.params)
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def in_loops(region: Region, inside: bool = False) -> Iterator[Op]:
    """Yield the layout conversions inside loops."""
    for op in region.ops:
        if inside and op.kind is ops.convert_layout:
            yield op
        for inner in op.regions:
            yield from in_loops(inner, inside or op.kind is std.for_)


def _is_staged(op: Op, func: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether a conversion moves loop-loaded data to other warps."""
    source, target = op.source.type.layout, op.result.type.layout
    if not isinstance(source, LinearLayout) or not isinstance(target, LinearLayout):
        return False
    if conversion(source, target).move is not Move.SHARED:
        return False
    chain = chain_of(op.source, defs)
    if not chain or next(reasons(chain[0], func, defs), None) is not None:
        return False
    return _has_atoms(op.source.type, shared_layout(op.source, defs))


def _has_atoms(tensor: Tensor, layout: SharedLayout) -> bool:
    """Return whether a tile consists of swizzle atoms: 8 rows, each of at least 16 bytes."""
    extents = [tensor.shape[axis] for axis in layout.dims(tensor.rank) if tensor.shape[axis] > 1]
    return len(extents) > 1 and extents[-2] >= ATOM_ROWS and extents[-1] * element_bits(tensor) >= 8 * ATOM_BYTES
