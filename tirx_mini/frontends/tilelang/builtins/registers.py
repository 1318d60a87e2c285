"""Per-thread register counts of warpgroups, and register fences around wgmma."""

from __future__ import annotations

import math

from tirx_mini.ir import Buffer, BufferLoad, DataType, Region, TirxError
from tirx_mini.script import tirx as T

from .operands import constant, pointer_to
from .table import builtin

PRODUCER, CONSUMER, UNCHANGED = "tl.producer_nreg", "tl.consumer_nreg", "tl.no_set_max_nreg"
"""The attributes of a kernel that the annotations set, and that warp specialisation reads."""


@builtin("setmaxnreg.inc", "setmaxnreg.dec")
def set_max_nreg(reg_count: object, is_inc: object) -> None:
    """Set the registers of each thread of the warpgroup to `reg_count`, a multiple of 8 from 24 to 256.

    is_inc: 1 to raise them, which waits until other warps have given up enough; 0 to lower them.
    PTX ISA: "setmaxnreg".
    """
    name = "T.set_max_nreg"
    way = "inc" if constant(is_inc, name, "is_inc") else "dec"
    T.call(f"setmaxnreg.{way}", count=constant(reg_count, name, "reg_count"))


@builtin("setmaxnreg.inc")
def inc_max_nreg(reg_count: object) -> None:
    """Raise the registers of each thread of the warpgroup to `reg_count`. PTX ISA: "setmaxnreg"."""
    set_max_nreg(reg_count, 1)


@builtin("setmaxnreg.dec")
def dec_max_nreg(reg_count: object) -> None:
    """Lower the registers of each thread of the warpgroup to `reg_count`. PTX ISA: "setmaxnreg"."""
    set_max_nreg(reg_count, 0)


@builtin(becomes="`setmaxnreg.dec` in the producer that warp specialisation makes")
def annotate_producer_reg_dealloc(reg_count: object = 24) -> None:
    """Request a register count for each producer thread of a warp-specialised kernel."""
    T.func_attr({PRODUCER: constant(reg_count, "T.annotate_producer_reg_dealloc", "reg_count")})


@builtin(becomes="`setmaxnreg.inc` in the consumers that warp specialisation makes")
def annotate_consumer_reg_alloc(reg_count: object = 240) -> None:
    """Request a register count for each consumer thread of a warp-specialised kernel."""
    T.func_attr({CONSUMER: constant(reg_count, "T.annotate_consumer_reg_alloc", "reg_count")})


@builtin(becomes="no `setmaxnreg` where the compiler specialises warps")
def no_set_max_nreg() -> None:
    """Keep the launch's register count in all threads, even with warp specialisation."""
    T.func_attr({UNCHANGED: 1})


@builtin(becomes="as `no_set_max_nreg`")
def disable_warp_group_reg_alloc() -> None:
    """Alias of `no_set_max_nreg`."""
    no_set_max_nreg()


@builtin("wgmma.fence")
def warpgroup_arrive() -> None:
    """Order the warpgroup's register accesses before its next MMAs. PTX ISA: "wgmma.fence"."""
    T.call("wgmma.fence")


@builtin("wgmma.commit_group")
def warpgroup_commit_batch() -> None:
    """Commit the warpgroup's uncommitted MMAs as a group. PTX ISA: "wgmma.commit_group"."""
    T.call("wgmma.commit_group")


@builtin("wgmma.wait_group")
def warpgroup_wait(num_mma: object) -> None:
    """Wait until at most `num_mma` groups of the warpgroup's MMAs are pending. PTX ISA: "wgmma.wait_group"."""
    T.call("wgmma.wait_group", n=constant(num_mma, "T.warpgroup_wait", "num_mma"))


@builtin("wgmma.wait_group")
def wait_wgmma(id: object) -> None:
    """Alias of `warpgroup_wait`."""
    T.call("wgmma.wait_group", n=constant(id, "T.wait_wgmma", "id"))


@builtin("wgmma.fence_operand", becomes="an empty `asm` that names the registers, without an instruction")
def warpgroup_fence_operand(
    buffer_or_ptr: object, offset: object = 0, num_regs: object = None, dtype: object = None
) -> None:
    """Prevent the compiler from moving uses of accumulator registers across this point.

    buffer_or_ptr: the accumulator, an element or a region of it, or a pointer. A fragment of a whole CTA needs none:
        the compiler of tirx_mini orders its MMAs itself.
    offset: in elements. num_regs: how many 32-bit registers; needed for an element or a pointer.
    dtype: of the elements, which a buffer has itself.
    """
    name = "T.warpgroup_fence_operand"
    pointer = pointer_to(buffer_or_ptr, name, offset)
    held = pointer.buffer.dtype
    if dtype is not None and DataType(str(dtype)) != held:
        raise TirxError(f"dtype of {name} is {dtype}, but {pointer.buffer.name} has elements of {held}")
    if pointer.buffer.scope == "fragment":
        return
    if num_regs is None and (isinstance(buffer_or_ptr, BufferLoad) or not isinstance(buffer_or_ptr, (Buffer, Region))):
        raise TirxError(f"{name} needs num_regs: an element or a pointer does not say how many registers follow")
    shape = buffer_or_ptr.shape if isinstance(buffer_or_ptr, Buffer) else getattr(buffer_or_ptr, "extents", (1,))
    bits = math.prod(shape) * held.bits
    count = -(-bits // 32) if num_regs is None else constant(num_regs, name, "num_regs")
    T.call("wgmma.fence_operand", pointer, count=count)
