"""The pass tileas-legalize-tmem-copy: sums used slice by slice are copied from tensor memory slice by slice.

A thread that copies a row of 256 sums at a time has no registers left. Where only slices of a copy are used, each
slice is copied by itself. If all slices are rounded to 16 bits, they are copied at once, since a thread has registers
for them, and the stage is released before any is stored. Else each is copied where it is used.

Sums that are changed in tensor memory, as attention scales them, are copied, changed and written back slice by slice.
The first copy begins as soon as all reductions before it are done, beside the exponentials, and the last write waits
for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.records import dataclass, replace

from ..context import Context
from ..cuda_tile import Dense
from ..layouts import LinearLayout, TmemLayout
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Builder, Module, Op, Region, Scalar, Value, make, uses
from . import ops
from . import pipeline_ops as pipe
from .agents import MOST_REGISTERS, registers_of
from .passes import element_bits
from .pipeline_ops import COMPUTE, MATRIX, PRODUCER

NEAREST = "nearest_even"
"""The rounding of conversions that copies do."""


def legalize_tmem_copy(module: Module, context: Context) -> Module:
    """Split a copy from tensor memory into copies of slices if all its uses are slices."""
    return Module(module.name, tuple(_function(op) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op) -> Op:
    registers = registers_of([(PRODUCER, 1), (MATRIX, 1), (COMPUTE, func.num_warps or WARPGROUP_WARPS)])
    body = _region(func.body, uses(func.body), max(registers, default=MOST_REGISTERS) - OWN_REGISTERS)
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _region(region: Region, used: Mapping[Value, Sequence[Op]], most: int) -> Region:
    """Legalise the copies of a region and its nested regions. most: numbers that a thread can hold."""
    block = [
        Op(op.kind, op.args, op.results, op.attrs, tuple(_region(r, used, most) for r in op.regions), op.span)
        if op.regions
        else op
        for op in region.ops
    ]
    for change in [found for op in block if (found := _change(op, block, used, most)) is not None]:
        block = _changed(change, block)
    for copy in [op for op in block if op.kind is pipe.copy]:
        slices = list(used.get(copy.result, ()))
        if slices and all(op.kind is ops.extract_slice and op in block for op in slices):
            block = _sliced(block, copy, slices, used)
    return Region(region.params, tuple(block))


def _sliced(block: list[Op], copy: Op, slices: Sequence[Op], used: Mapping[Value, Sequence[Op]]) -> list[Op]:
    """Return the block with one copy per slice, followed by the release of the stage."""
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
    """Return the operation that rounds a slice to 16 bits if it is the slice's only use, else None."""
    users = used.get(part.result, ())
    if len(users) != 1 or users[0].kind is not aa.fp_to_fp or users[0].rounding_mode != NEAREST:
        return None
    return users[0] if element_bits(users[0].result.type) == 16 else None


def _copied(copy: Op, part: Op, final: Op) -> Iterator[Op]:
    """Return a tensor-memory slice and its copy, defined as the result of `final`."""
    source: Tensor = copy.source.type
    kind = Tensor(part.result.type.shape, source.element, TmemLayout())
    slice_ = make(ops.extract_slice, (copy.source, part.indices), types=[kind], span=part.span)
    yield slice_
    yield Op(copy.kind, (slice_.result,), final.results, copy.attrs, (), part.span)


# -- changes in place ----------------------------------------------------------------------------------------------

OWN_REGISTERS, FEWEST_COLUMNS = 40, 32
"""Registers of a thread beside the numbers of tiles: addresses, sums of rows. Columns of a slice."""


@dataclass(frozen=True, eq=False)
class _Change:
    """Sums that are read from tensor memory, transformed elementwise by `chain`, and written back.

    columns: of a slice.
    fits: whether a thread can hold a slice beside the row of an operand that it computes.
    """

    copy: Op
    chain: Sequence[Op]
    write: Op
    columns: int
    fits: bool


def _change(write: Op, block: Sequence[Op], used: Mapping[Value, Sequence[Op]], most: int) -> _Change | None:
    """Return the change that ends in a write to tensor memory, or None if it does not begin with a copy from there."""
    if write.kind is not pipe.write:
        return None
    copies = [op for op in block if op.kind is pipe.copy and op.source is write.buffer]
    rooms = [op for op in block if op.kind is pipe.producer_room and write.buffer in op.results]
    if len(copies) != 1 or not rooms or len(used[copies[0].result]) != 1:
        return None
    held = sum(op.source.type.linear.registers for op in block if op.kind is pipe.write and op is not write)
    columns = max(FEWEST_COLUMNS, 1 << max(1, most - held).bit_length() - 1)
    fits = columns + held <= most
    if not fits:
        columns = 1 << most.bit_length() - 1
    whole = write.source.type.shape[-1]
    if write.source.type.linear.registers <= columns:
        columns = whole
    if write.source.type.linear.part((*write.source.type.shape[:-1], columns)) is None:
        return None
    chain: list[Op] = []
    (user,) = used[copies[0].result]
    while user is not write:
        if user.kind not in std.ELEMENTWISE or user not in block or len(used[user.result]) != 1:
            return None
        chain.append(user)
        (user,) = used[user.result]
    return _Change(copies[0], chain, write, columns, fits)


def _changed(change: _Change, block: list[Op]) -> list[Op]:
    """Return the block with a change that is made slice by slice, and with one wait for all writes to its stage.

    Threads also write an operand to the stage, and reduce it while writes are under way if whole rows of it lie in one
    thread. Where a thread cannot hold a slice beside a row of the operand, the change follows.
    """
    room = next(op for op in block if change.copy.source in op.results)
    commit = next(i for i, op in enumerate(block) if op.kind is pipe.producer_commit and op.stage is room.stage)
    made = {value for op in block[commit:] for value in op.results}
    rows = [op for op in block[commit:] if op.kind is ops.reduce and _in_thread(op) and made.isdisjoint(op.operands)]
    written = [op for op in block if op.kind is pipe.write and op.buffer in room.results and op is not change.write]
    operand = [*(replace(op, attrs={"begun": True}) for op in written), *rows]
    first, others = _by_slices(change)
    gone = {change.copy, *change.chain, change.write, *written, *rows}
    early = _place(change, block)
    place, stage = early or (commit, [])
    before = [op for op in block[:place] if op not in gone and op not in stage]
    between = [op for op in block[place:commit] if op not in gone and op not in stage]
    rest = [make(pipe.written, span=change.write.span), *(op for op in block[commit:] if op not in gone)]
    if change.fits:
        return [*before, *stage, *first, *between, *others, *operand, *rest]
    return [*before, *operand, *first, *others, *rest]


def _in_thread(op: Op) -> bool:
    """Return whether a thread has all elements of each of its results of a reduction."""
    layouts = [value.type.linear for value in op.operands]
    return all(not basis & layout.mask(op.dim) for layout in layouts for basis in (*layout.lane, *layout.warp))


def _place(change: _Change, block: Sequence[Op]) -> tuple[int, Sequence[Op]] | None:
    """Return where in the block the first copy can begin before the copy, and the operations that acquire its stage.

    None if nothing would overlap it, or if a thread had to hold too many numbers. Its latency overlaps what threads
    compute after their last reduction, which takes as long as the tensor core may still add to the sums.
    """
    if not change.fits:
        return None
    at = block.index(change.copy)
    reductions = [i for i, op in enumerate(block[:at]) if op.kind is ops.reduce]
    room = next(op for op in block if change.copy.source in op.results)
    if not reductions:
        return None
    stage = [op for op in block[:at] if op is room or room.stage in op.results]
    place = reductions[-1] + 1
    made = {value for op in block[place:at] if op not in stage for value in op.results}
    if block.index(stage[0]) < place or made & {value for op in stage for value in op.operands}:
        return None
    return place, stage


def _by_slices(change: _Change) -> tuple[list[Op], list[Op]]:
    """Return the operations of a change, slice by slice: those that begin the first copy, and the others."""
    b = Builder(change.write.span)
    whole = change.write.source.type
    shape = *whole.shape[:-1], change.columns
    found = whole.linear.part(shape)
    assert found is not None
    layout, count = found[0], whole.shape[-1] // change.columns
    first: list[Op] = []
    for number in range(count):
        indices: list[Value] = []
        source = change.copy.source
        if count > 1:
            zero, column = (_number(b, n) for n in (0, number))
            indices = [*[zero] * (len(shape) - 1), column]
            source = b.emit(ops.extract_slice, source, indices, types=[Tensor(shape, whole.element, TmemLayout())])
        begun = b.emit(pipe.copy, source, types=[whole.shaped(shape, layout)], hint="part", begun=True)
        if not number:
            first, b.ops = b.ops, []
        of_slice = {change.copy.result: b.emit(pipe.copied, begun, hint="part")}
        for op in change.chain:
            operands = [_sliced_operand(b, v, of_slice, shape, layout, indices) for v in op.operands]
            of_slice[op.result] = b.emit(
                op.kind, *operands, types=[op.result.type.shaped(shape, layout)], hint=op.result.hint, **op.attrs
            )
        b.emit(pipe.write, of_slice[change.write.source], source, begun=True)
    return first, b.ops


def _number(b: Builder, number: int) -> Value:
    return b.emit(std.constant, types=[Scalar("i32")], value=Dense.of("i32", number))


def _sliced_operand(
    b: Builder,
    value: Value,
    of_slice: Mapping[Value, Value],
    shape: tuple[int, ...],
    layout: LinearLayout,
    indices: list[Value],
) -> Value:
    """Return the slice of an operand of a change; numbers, and operands of a change as a whole, are unchanged."""
    if value in of_slice or not indices or not isinstance(value.type, Tensor):
        return of_slice.get(value, value)
    return b.emit(ops.extract_slice, value, indices, types=[value.type.shaped(shape, layout)])
