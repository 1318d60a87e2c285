"""Shared-memory accesses of explicit width, cp.async copies and ldmatrix."""

from __future__ import annotations

from tirx_mini.ir import Expr, TirxError
from tirx_mini.script import tirx as T

from .memory import loaded, stored
from .operands import constant, pointer_to
from .table import builtin


@builtin("ld.registers", space="shared")
def lds32(src: object) -> Expr:
    """Load 32 bits of shared memory as a uint32. PTX ISA: "ld"."""
    return loaded(1, src, None, "shared")


@builtin("ld.registers", space="shared", vec="v2")
def lds64(src: object) -> Expr:
    """Load 64 bits of shared memory as a uint32x2."""
    return loaded(2, src, None, "shared")


@builtin("ld.registers", space="shared", vec="v4")
def lds128(src: object) -> Expr:
    """Load 128 bits of shared memory as a uint32x4."""
    return loaded(4, src, None, "shared")


@builtin("st.registers", space="shared")
def sts32(dst: object, value: object) -> None:
    """Store a 32-bit value to shared memory. PTX ISA: "st"."""
    stored(1, dst, value, None, "shared")


@builtin("st.registers", space="shared", vec="v2")
def sts64(dst: object, value: object) -> None:
    """Store a 64-bit value to shared memory."""
    stored(2, dst, value, None, "shared")


@builtin("st.registers", space="shared", vec="v4")
def sts128(dst: object, value: object) -> None:
    """Store a 128-bit value to shared memory."""
    stored(4, dst, value, None, "shared")


@builtin("cp.async")
def ptx_cp_async(dst_access_ptr: object, src_access_ptr: object, num_elems: object, predicate: object = None) -> None:
    """Copy `num_elems` elements (4, 8 or 16 bytes) per thread from global to shared memory. PTX ISA: "cp.async"."""
    target, source = (pointer_to(each, "T.ptx_cp_async") for each in (dst_access_ptr, src_access_ptr))
    if predicate is not None:
        hint = "copy in an `if`, and store zeros in its `else`"
        raise TirxError("T.ptx_cp_async(predicate=…) is not provided", hint=hint)
    count = constant(num_elems, "T.ptx_cp_async", "num_elems")
    T.call("cp.async", target, source, bytes=count * target.buffer.dtype.bits // 8)


@builtin("cp.async.commit_group")
def ptx_commit_group() -> None:
    """Commit the thread's uncommitted cp.async copies as a group. PTX ISA: "cp.async.commit_group"."""
    T.call("cp.async.commit_group")


@builtin("cp.async.wait_group")
def ptx_wait_group(num: object) -> None:
    """Wait until at most `num` of the thread's cp.async groups are pending. PTX ISA: "cp.async.wait_group"."""
    T.call("cp.async.wait_group", n=constant(num, "T.ptx_wait_group", "num"))


@builtin("ldmatrix")
def ptx_ldmatrix(trans: object, num: object, src_access_ptr: object, dst_access_ptr: object) -> None:
    """Load `num` 8 × 8 blocks of 16-bit elements per warp; each lane addresses one row. PTX ISA: "ldmatrix"."""
    name = "T.ptx_ldmatrix"
    T.call(
        "ldmatrix", pointer_to(dst_access_ptr, name), pointer_to(src_access_ptr, name),
        num=constant(num, name, "num"), transpose=bool(constant(trans, name, "trans")),
    )  # fmt: skip

FUNCTIONS = (
    lds32, lds64, lds128, sts32, sts64, sts128, ptx_cp_async, ptx_commit_group, ptx_wait_group, ptx_ldmatrix,
)  # fmt: skip
