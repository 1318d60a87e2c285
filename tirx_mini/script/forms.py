"""Call forms of TVM that lower to other table instructions or to plain statements.

The functions of TVM's profiler write an event as a time and a tag of 32 bits each to a buffer of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tirx_mini.ir import (
    AddressOf,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Evaluate,
    Expr,
    ExprLike,
    If,
    TirxError,
    While,
    as_bool,
    as_expr,
    binary,
    cast,
    const,
    select,
    seq,
    simplify,
    special,
)
from tirx_mini.isa import NAMES, bits_as
from tirx_mini.wording import described

from .builder import current, place
from .diagnostics import did_you_mean
from .instructions import raw_call
from .views import flat_place


def _element(pointer: object, what: str, offset: ExprLike = 0) -> BufferLoad:
    """Return the element `offset` elements after a pointer, buffer or element."""
    if isinstance(pointer, BufferLoad):
        pointer = AddressOf(pointer.buffer.data.dtype, pointer.buffer, pointer.indices)
    pointer = pointer.data if isinstance(pointer, Buffer) else pointer
    if not isinstance(pointer, AddressOf):
        raise TirxError(f"{what} must be a buffer or a pointer into one, not {described(pointer)}", place())
    index = simplify(as_expr(flat_place(pointer)) + as_expr(offset))
    return BufferLoad(pointer.buffer.dtype, pointer.buffer, (index,))


def noop_barrier(reg: object) -> None:
    """Keep a register in place before a wgmma, as any asm statement on it does in the emitted code."""
    _element(reg, "the register of wgmma.noop_barrier")


def runtime_instr_desc(desc: object, sf_id: ExprLike) -> None:
    """Set the scale-factor ids of A and B in a variable's instruction descriptor (PTX ISA: tcgen05.mma)."""
    word, which = _element(desc, "the descriptor"), cast("uint32", sf_id)
    kept = binary("&", word, const(~0x60000030 & 0xFFFFFFFF, "uint32"))
    ids = binary("|", binary("<<", which, 29), binary("<<", which, 4))
    current("T.cuda.runtime_instr_desc").emit(BufferStore(word.buffer, word.indices, binary("|", kept, ids)))


def leader_address(ptr: object) -> Expr:
    """Map an address to the shared memory of the even CTA of a pair."""
    return binary("&", cast("uint32", ptr), const(0xFEFFFFFF, "uint32"))


def ldg32(reg: object, guard: ExprLike, addr: object, local_addr: ExprLike) -> None:
    """Load reg[local_addr] from `addr` if `guard` holds, else set it to 0."""
    target, source = _element(reg, "the register", local_addr), _element(addr, "the address")
    value = select(as_bool(as_expr(guard)), source, const(0, source.dtype))
    stored = BufferStore(target.buffer, target.indices, cast(target.dtype, value))
    current("T.ptx.ldg32").emit(stored)


def timer_init(
    profiler_buffer: object,
    profiler_tag: object,
    profiler_write_offset: object,
    num_groups: ExprLike,
    group_id: ExprLike,
) -> None:
    """Initialise a profile: the tag and first entry of group `group_id` of this CTA, out of `num_groups`."""
    builder = current("T.cuda.timer_init")
    block, extent = ([special(f"{name}.{axis}") for axis in "xyz"] for name in ("blockIdx", "gridDim"))
    count = binary("*", binary("*", extent[0], extent[1]), extent[2])
    index = block[2] * extent[1] + block[1]
    index = binary("+", binary("*", index * extent[0] + block[0], num_groups), group_id)
    header = binary("|", binary("<<", cast("uint64", num_groups), 32), cast("uint64", count))
    first = [binary("==", part, 0) for part in (*block, special("threadIdx.x"))]
    one = binary("and", binary("and", first[0], first[1]), binary("and", first[2], first[3]))
    builder.emit(If(one, _set(profiler_buffer, header)))
    builder.emit(_set(profiler_write_offset, binary("+", index, 1)))
    builder.emit(_set(profiler_tag, binary("<<", cast("uint64", index), 12)))


def _set(pointer: object, value: Expr, offset: ExprLike = 0) -> BufferStore:
    place_ = _element(pointer, "an argument of the profiler", offset)
    return BufferStore(place_.buffer, place_.indices, cast(place_.buffer.dtype, value))


def _event(
    name: str, bits: Expr, buffer: object, tag: object, offset: object, stride: ExprLike, leader_cond: ExprLike
) -> None:
    """Write the time and tag from the leader and advance by `stride`, without reordering accesses across it."""
    builder = current(f"T.cuda.{name}")
    now = binary("<<", binary("&", NAMES["ptx.globaltimer"].call(), const(0xFFFFFFFF, "uint64")), 32)
    at = _element(offset, "the offset")
    word = binary("|", now, binary("|", _element(tag, "the tag"), cast("uint64", bits)))
    stores = seq(_set(buffer, word, cast("int32", at)), _set(offset, binary("+", at, cast("uint32", stride))))
    fence = Evaluate(NAMES["ptx.fence"].call(sem="acq_rel", scope="cta"))
    for part in (stores,) if name == "timer_start" else (fence, stores):
        builder.emit(If(as_bool(as_expr(leader_cond)), part) if part is stores else part)
    if name == "timer_start":
        builder.emit(fence)


def timer_start(
    event_type: object, profiler_buffer: object, profiler_tag: object, profiler_write_offset: object,
    profiler_write_stride: Any,
    leader_cond: Any,
) -> None:  # fmt: skip
    """Record the start of an event."""
    bits = binary("<<", as_expr(getattr(event_type, "value", event_type)), 2)
    _event(
        "timer_start", bits, profiler_buffer, profiler_tag, profiler_write_offset, profiler_write_stride, leader_cond
    )  # fmt: skip


def timer_end(
    event_type: object, profiler_buffer: object, profiler_tag: object, profiler_write_offset: object,
    profiler_write_stride: Any,
    leader_cond: Any,
) -> None:  # fmt: skip
    """Record the end of an event."""
    bits = binary("|", binary("<<", as_expr(getattr(event_type, "value", event_type)), 2), 1)
    _event(
        "timer_end", bits, profiler_buffer, profiler_tag, profiler_write_offset, profiler_write_stride, leader_cond
    )  # fmt: skip


def timer_finalize(
    profiler_buffer: object, profiler_tag: object, profiler_write_offset: object, profiler_write_stride: Any,
    leader_cond: Any
) -> None:
    """Record the end of the profile."""
    _event(
        "timer_finalize", const(3), profiler_buffer, profiler_tag, profiler_write_offset, profiler_write_stride,
        leader_cond,
    )  # fmt: skip


def _pointer(pointer: object, what: str, offset: ExprLike) -> Expr:
    """Return the pointer `offset` elements after another one."""
    found = _element(pointer, what, offset)
    return AddressOf(found.buffer.data.dtype, found.buffer, found.indices)


def _without_dtype(name: str, args: Sequence[object], count: int) -> Sequence[Any]:
    """Strip the leading dtype from the arguments of a legacy call form."""
    if len(args) == count + 1 and isinstance(args[0], str):
        args = args[1:]
    if len(args) != count:
        raise TirxError(f"{name} takes {count} arguments, but {len(args)} are given", place())
    return args


def cp_async_legacy(*all_args: object) -> None:
    """Issue a cp.async with element offsets: ``(dst, dst_offset, src, src_offset, size)``."""
    dst, dst_offset, src, src_offset, size = _without_dtype("cp_async.legacy", all_args, 5)
    target, source = _pointer(dst, "the destination", dst_offset), _pointer(src, "the source", src_offset)
    raw_call("cp.async", target, source, bytes=size)


def ldmatrix_legacy(*all_args: object) -> None:
    """Issue an ldmatrix with element offsets: ``(trans, num, ".b16", registers, offset, shared, offset)``."""
    trans, num, kind, registers, offset, shared, start = _without_dtype("ldmatrix_legacy", all_args, 7)
    if str(kind).strip(".") != "b16":
        raise TirxError(f"ldmatrix moves elements of 16 bits, not {described(kind)}", place(), 'pass ".b16"')
    target, source = _pointer(registers, "the destination", offset), _pointer(shared, "the source", start)
    raw_call("ldmatrix", target, source, num=num, transpose=bool(trans))


def mma_legacy(*all_args: object, operator: object = None) -> None:
    """Issue C += A B: ``(shape, layouts of A and B, types of A, B and C, A, offset, B, offset, C, offset, saturate)``.
    """
    shape, a_layout, b_layout, a_type, b_type, c_type, a, a_at, b, b_at, c, c_at, saturate = _without_dtype(
        "mma.legacy", all_args, 13
    )
    if operator is not None:
        raise TirxError("mma of single bits is not supported", place(), "leave operator= out")
    sums = _pointer(c, "the accumulator", c_at)
    raw_call(
        "mma.sync", sums, _pointer(a, "matrix A", a_at), _pointer(b, "matrix B", b_at), sums, shape=shape,
        a_layout=a_layout, b_layout=b_layout, d_type=c_type, a_type=a_type, b_type=b_type, c_type=c_type,
        satfinite=bool(saturate),
    )  # fmt: skip


def mma_fill(dtype: object, local_size: int, local_ptr: object, offset: ExprLike) -> None:
    """Set `local_size` registers to 0, starting at `offset`."""
    builder = current("T.cuda.mma_fill")
    for step in range(int(local_size)):
        target = _element(local_ptr, "the accumulator", binary("+", offset, step))
        builder.emit(BufferStore(target.buffer, target.indices, const(0, target.dtype)))


def iket_mark(name: object, payload: object = None) -> None:
    """Mark a point for a kernel tracer, without effect since the simulator traces every run."""


def iket_pop() -> None:
    """End the innermost range of a kernel tracer, without effect."""


def iket_range(name: object = None, payload: object = None) -> Expr:
    """Begin or end a range of a kernel tracer, without effect, and return its token."""
    return const(0)


def iket_event(event_id: int, source_code: str = "", payload: object = None) -> None:
    """Record an event for a kernel tracer, without effect."""


_LANE = binary("&", special("threadIdx.x"), const(31))
_REGISTERS: Mapping[str, Callable[[], Expr]] = {
    **{f"%{ptx}.{axis}": partial(special, f"{ours}.{axis}") for axis in "xyz"
       for ptx, ours in (("tid", "threadIdx"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"),
                         ("cluster_ctaid", "clusterCtaIdx"))},
    "%laneid": lambda: _LANE,
    "%warpid": partial(special, "warp_id_in_cta"),
    "%cluster_ctarank": partial(special, "cluster_ctarank"),
    "%clock64": lambda: NAMES["cuda.clock64"].call(),
    "%clock": lambda: cast("uint32", NAMES["cuda.clock64"].call()),
    "%clock_lo": lambda: cast("uint32", NAMES["cuda.clock64"].call()),
    "%globaltimer": lambda: NAMES["ptx.globaltimer"].call(),
    "%lanemask_eq": lambda: binary("<<", const(1, "uint32"), cast("uint32", _LANE)),
    "%lanemask_lt": lambda: binary("-", binary("<<", const(1, "uint32"), cast("uint32", _LANE)), const(1, "uint32")),
}  # fmt: skip
"""Special registers of PTX that a kernel may read."""


def mov_sreg(bits: int, reg_name: str) -> Expr:
    """Return a PTX special register, such as ``%laneid``, as an unsigned integer of `bits` bits."""
    name = f"%{str(reg_name).lstrip('%')}"
    if name not in _REGISTERS:
        hint = did_you_mean(name, _REGISTERS) or f"the registers are {', '.join(_REGISTERS)}"
        raise TirxError(f"{described(reg_name)} is no special register that a kernel can read here", place(), hint)
    return cast(f"uint{int(bits)}", _REGISTERS[name]())


def wait_until(
    dst: object,
    ptr: object,
    condition: ExprLike,
    scope: str = "gpu",
    space: str = "global",
    ptx_type: str = "u32",
    backoff_ns: int = 0,
) -> None:
    """Load the value at `ptr` repeatedly into register `dst` until `condition` holds, with acquire semantics.

    backoff_ns: how long a thread sleeps between two loads.
    """
    builder, register = current("T.cuda.wait_until"), _element(dst, "the register of T.cuda.wait_until")
    value = NAMES["ptx.ld"].call(ptr, sem="acquire", scope=scope, space=space, type=ptx_type)
    load = BufferStore(register.buffer, register.indices, bits_as(register.dtype, value))
    again = [Evaluate(NAMES["ptx.nanosleep"].call(backoff_ns))] if backoff_ns else []
    builder.emit(While(const(True), seq(load, If(as_bool(condition), Break()), *again)))


FORMS: Mapping[str, Callable[..., Any]] = {
    **{f"{group}.wgmma.noop_barrier": noop_barrier for group in ("ptx", "cuda")},
    "cuda.wgmma_noop_barrier": noop_barrier,
    "cuda.mov_sreg": mov_sreg,
    "cuda.wait_until": wait_until,
    "ptx.ldg32": ldg32,
    "cuda.runtime_instr_desc": runtime_instr_desc,
    "cuda.sm100_2sm_leader_smem_addr": leader_address,
    "cuda.timer_init": timer_init,
    "cuda.timer_start": timer_start,
    "cuda.timer_end": timer_end,
    "cuda.timer_finalize": timer_finalize,
    "cuda.mma_fill": mma_fill,
    "cuda.mma_fill_legacy": mma_fill,
    "ptx.cp_async.legacy": cp_async_legacy,
    "ptx.ldmatrix_legacy": ldmatrix_legacy,
    "ptx.mma.legacy": mma_legacy,
    "cuda.iket.mark": iket_mark,
    "cuda.iket.official_event": iket_event,
    "cuda.iket.range_push": iket_mark,
    "cuda.iket.range_pop": iket_pop,
    "cuda.iket.range_start": iket_range,
    "cuda.iket.range_end": iket_mark,
    "cuda.iket.sentinel_token": iket_range,
}
"""The functions, by their names below ``T``."""
