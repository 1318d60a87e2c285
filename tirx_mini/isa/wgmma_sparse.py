"""wgmma.mma_async.sp: products of a warpgroup with a sparse A (PTX ISA: "wgmma.mma_async.sp").

Half of the elements in each row of A [64, K] are zeros, and K is twice as large as in the dense form. A holds the
others, in shared memory or in registers, as a dense A of K / 2 columns. The metadata is as in `mma.sp`: each warp has
the places of the elements in its 16 rows, in one register.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tirx_mini.ir import Expr

from .core import instruction
from .descriptors import mma_depth, mma_format
from .facts import SharedFacts
from .machine import Machine, Thread
from .mma_sparse import lane_groups
from .operands import SourceRegisters, UpdatedRegisters, WgmmaDescriptor, pred
from .wgmma import (
    DTYPES,
    FACTS,
    FRAGMENT_REGISTERS,
    HALF,
    Dtype,
    OfB,
    SummedAsHalf,
    asked,
    modifiers,
    shape_and_types,
    wrong_product,
)


def _sparse(a: str, sums: str = "") -> Callable[..., str]:
    def template(
        n: int, dtype: str, b_dtype: str, transpose_b: bool, transpose_a: bool | None = None, **_: object
    ) -> str:
        turned = (transpose_b,) if transpose_a is None else (transpose_a, transpose_b)
        return (
            f"wgmma.mma_async.sp.sync.aligned.{shape_and_types(n, dtype, b_dtype, sums, True)} "
            f"{{{{d}}}}, {a}, {{b_desc}}, {{e}}, {{selector}}, {{accumulate}}{modifiers(dtype, *turned)};"
        )

    return template


def _wrong(operands: Sequence[Expr], n: int, dtype: str, selector: int, **attrs: Any) -> str | None:
    """Return the error in the shape, the layouts or the selector of a product, or None."""
    depth = 2 * mma_depth(mma_format(DTYPES[dtype])[0])
    most = lane_groups(depth, dtype) - 1
    if selector > most:
        return f"the selector is {selector}; that of {dtype} is at most {most}"
    return wrong_product(operands, n, dtype, **attrs)


_FACTS: SharedFacts = {**FACTS, "isa": "wgmma.mma_async.sp", "check": _wrong, "only_in_ptx": True}


def _registers(words: int, *more: str) -> Callable[..., Mapping[str, int]]:
    def counted(n: int, **_: object) -> Mapping[str, int]:
        return {"d": n // words, **dict.fromkeys(more, FRAGMENT_REGISTERS), "e": 1}

    return counted


@instruction(_sparse("{a_desc}"), name="wgmma.mma_async.sp", registers=_registers(2), **_FACTS)
def wgmma_mma_async_sp(
    gpu: Machine,
    thread: Thread,
    d: UpdatedRegisters,
    a_desc: WgmmaDescriptor,
    b_desc: WgmmaDescriptor,
    e: SourceRegisters,
    accumulate: pred,
    *,
    n: int,
    selector: int,
    dtype: Dtype = "f16",
    b_dtype: OfB = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> None:
    """Issue D = A Bᵀ (+ D if `accumulate`) with a sparse A: A [64, K / 2], B [n, K] in shared memory, D in registers.

    e: the register with the metadata. selector: the lanes of each quad that hold it. The rest is as for
    `wgmma.mma_async`.
    """
    product = asked(thread, a_desc, b_desc, accumulate, n, (dtype, b_dtype), transpose_a, transpose_b, "", selector)
    thread.wgmma.issue(d, product, None, e)


@instruction(_sparse("{a_desc}", "f16"), name="wgmma.mma_async.sp.f16", registers=_registers(4), **_FACTS)
def wgmma_mma_async_sp_f16(
    gpu: Machine,
    thread: Thread,
    d: UpdatedRegisters,
    a_desc: WgmmaDescriptor,
    b_desc: WgmmaDescriptor,
    e: SourceRegisters,
    accumulate: pred,
    *,
    n: int,
    selector: int,
    dtype: SummedAsHalf = "f16",
    b_dtype: OfB = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> None:
    """Issue the sparse MMA with float16 sums: D has n / 4 registers per thread, with two neighbours in each."""
    product = asked(thread, a_desc, b_desc, accumulate, n, (dtype, b_dtype), transpose_a, transpose_b, HALF, selector)
    thread.wgmma.issue(d, product, None, e)


@instruction(_sparse("{{a}}"), name="wgmma.mma_async.sp.rs", registers=_registers(2, "a"), **_FACTS)
def wgmma_mma_async_sp_rs(
    gpu: Machine,
    thread: Thread,
    d: UpdatedRegisters,
    a: SourceRegisters,
    b_desc: WgmmaDescriptor,
    e: SourceRegisters,
    accumulate: pred,
    *,
    n: int,
    selector: int,
    dtype: Dtype = "f16",
    b_dtype: OfB = "",
    transpose_b: bool = False,
) -> None:
    """Issue the sparse MMA with the elements of A in four registers of each thread."""
    product = asked(thread, None, b_desc, accumulate, n, (dtype, b_dtype), False, transpose_b, "", selector)
    thread.wgmma.issue(d, product, a, e)


@instruction(_sparse("{{a}}", "f16"), name="wgmma.mma_async.sp.rs.f16", registers=_registers(4, "a"), **_FACTS)
def wgmma_mma_async_sp_rs_f16(
    gpu: Machine,
    thread: Thread,
    d: UpdatedRegisters,
    a: SourceRegisters,
    b_desc: WgmmaDescriptor,
    e: SourceRegisters,
    accumulate: pred,
    *,
    n: int,
    selector: int,
    dtype: SummedAsHalf = "f16",
    b_dtype: OfB = "",
    transpose_b: bool = False,
) -> None:
    """Issue the sparse MMA with A in registers and float16 sums."""
    product = asked(thread, None, b_desc, accumulate, n, (dtype, b_dtype), False, transpose_b, HALF, selector)
    thread.wgmma.issue(d, product, a, e)
