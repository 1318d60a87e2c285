"""tileas-legalize-tmem-copy: sums that are used slice by slice leave tensor memory slice by slice.

A thread that copies a row of 256 sums at a time has no registers left. Where only slices of a copy are used, each
slice is copied by itself. If all slices are rounded to 16 bits, they are copied at once, since a thread has registers
for them, and the stage is released before any is stored. Else each is copied where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..context import Context
from ..layouts import TmemLayout
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..ssa import Module, Op, Region, Value, make, uses
from . import ops
from . import pipeline_ops as pipe
from .passes import element_bits

NEAREST = "nearest_even"
"""The rounding of conversions that copies do."""


def legalize_tmem_copy(module: Module, context: Context) -> Module:
    """A copy from tensor memory of which only slices are used becomes copies of these slices."""
    return Module(module.name, tuple(_function(op) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op) -> Op:
    body = _region(func.body, uses(func.body))
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _region(region: Region, used: Mapping[Value, Sequence[Op]]) -> Region:
    """A region whose copies, and those of the regions inside, are legal."""
    block = [
        Op(op.kind, op.args, op.results, op.attrs, tuple(_region(r, used) for r in op.regions), op.span)
        if op.regions
        else op
        for op in region.ops
    ]
    for copy in [op for op in block if op.kind is pipe.copy]:
        slices = list(used.get(copy.result, ()))
        if slices and all(op.kind is ops.extract_slice and op in block for op in slices):
            block = _sliced(block, copy, slices, used)
    return Region(region.params, tuple(block))


def _sliced(block: list[Op], copy: Op, slices: Sequence[Op], used: Mapping[Value, Sequence[Op]]) -> list[Op]:
    """The block with a copy for each slice. What releases the stage stands behind the last."""
    read = next(op for op in block if copy.source in op.results)
    release = next((op for op in block if op.kind is pipe.consumer_release and op.stage is read.stage), None)
    rounded = [_rounded(op, used) for op in slices]
    early = all(op is not None for op in rounded)
    gone = {copy, release, *slices, *(rounded if early else [])}
    last = copy if early else max(slices, key=block.index)
    made: list[Op] = []
    for op in block:
        if op not in gone:
            made.append(op)
        if op is copy and early:
            for part, final in zip(slices, rounded, strict=True):
                made += _copied(copy, part, final or part)
        elif op in slices and not early:
            made += _copied(copy, op, op)
        if op is last and release is not None:
            made.append(release)
    return made


def _rounded(part: Op, used: Mapping[Value, Sequence[Op]]) -> Op | None:
    """The operation that rounds a slice to 16 bits, if nothing else uses the slice."""
    users = used.get(part.result, ())
    if len(users) != 1 or users[0].kind is not aa.fp_to_fp or users[0].rounding_mode != NEAREST:
        return None
    return users[0] if element_bits(users[0].result.type) == 16 else None


def _copied(copy: Op, part: Op, final: Op) -> Iterator[Op]:
    """A slice of tensor memory, and the copy of it, as the result of `final`."""
    source: Tensor = copy.source.type
    kind = Tensor(part.result.type.shape, source.element, TmemLayout())
    slice_ = make(ops.extract_slice, (copy.source, part.indices), types=[kind], span=part.span)
    yield slice_
    yield Op(copy.kind, (slice_.result,), final.results, copy.attrs, (), part.span)
