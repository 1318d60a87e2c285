"""Helpers that read a kernel from a few lines of text."""

from __future__ import annotations

import textwrap

import pytest

import tirx_mini
from tirx_mini.ir import PrimFunc, TirxError, structural_equal
from tirx_mini.script import from_source

PROLOGUE = """
M, N, K = 128, 256, 64
A_layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))

@Tx.prim_func(tirx=True)
def kernel(A: Tx.Buffer((M, K), "float16"), D: Tx.Buffer((M, N), "float32"), n: Tx.int32):
    with Tx.kernel():
        bx = Tx.cta_id([4], parent="kernel")
        wg_id = Tx.warpgroup_id([2], parent="cta")
        warp_id = Tx.warp_id([4], parent="warpgroup")
        lane_id = Tx.thread_id([32], parent="warp")
        pool = Tx.PoolAllocator()
        Asmem = pool.alloc((128, 64), "float16", layout=A_layout)
        bar = pool.alloc((2,), "uint64")
        tmem_addr = pool.alloc((1,), "uint32")
        pool.commit()
        reg = Tx.alloc_local((8,), "float32")
        phase: Tx.int32 = 0
"""


def kernel_text(body: str) -> str:
    return PROLOGUE + textwrap.indent(textwrap.dedent(body).strip("\n"), "        ") + "\n"


def read(body: str, **names: object) -> PrimFunc:
    """The kernel with the prologue followed by `body`. Its text must parse back to an equal function."""
    func = from_source(kernel_text(body), names)
    again = from_source(func.script())
    assert structural_equal(func, again), func.script()
    assert again.script() == func.script()
    return func


def printed(body: str, **names: object) -> str:
    """The IR of `body` as text."""
    lines = read(body, **names).script().splitlines()
    start = next(i for i, line in enumerate(lines) if "phase: Tx.int32 = 0" in line)
    return textwrap.dedent("\n".join(lines[start + 1 :]))


def error_in(body: str, **names: object) -> TirxError:
    """The error that `body` raises. It must have a location in the kernel."""
    with pytest.raises(TirxError) as raised:
        from_source(kernel_text(body), names)
    assert raised.value.span is not None
    return raised.value


def line_of(error: TirxError) -> str:
    """The source text that an error page underlines."""
    import linecache

    assert error.span is not None
    span = error.span.user
    text = linecache.getline(span.file, span.line).rstrip()
    return text[span.column : span.end_column if span.end_line == span.line else None]


def goes_round(kernel: PrimFunc) -> str:
    """Check that a kernel survives its text, its JSON and CUDA's compiler; returns the CUDA C++."""
    assert structural_equal(kernel, from_source(kernel.script())), kernel.script()
    assert structural_equal(kernel, tirx_mini.load_json(tirx_mini.save_json(kernel)))
    executable = tirx_mini.compile(tirx_mini.IRModule({"main": kernel}), target="cuda:sm_100a")
    assert executable.source("ptx")
    return executable.source("cuda")
