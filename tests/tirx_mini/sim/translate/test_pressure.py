"""Registers of a thread: its arrays while they are alive."""

from __future__ import annotations

import pytest

from tirx_mini.course import default_kernels, load_kernels
from tirx_mini.hardware import MAX_REGISTERS_PER_THREAD, REGISTERS_PER_SM
from tirx_mini.ir import (
    INT32,
    AddressOf,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    DataType,
    Evaluate,
    Expr,
    For,
    Launch,
    PrimFunc,
    Stmt,
    Var,
    const,
    seq,
    walk,
)
from tirx_mini.passes import lower
from tirx_mini.sim.translate import registers_of

BASE = 32
"""Registers of a thread without arrays."""

FLOAT32, BOOL = DataType("float32"), DataType("bool")
OUT = Buffer("out", (1024,), FLOAT32)


def array(name: str, elements: int) -> Buffer:
    return Buffer(name, (elements,), FLOAT32, "local")


def put(buffer: Buffer, value: Expr | int = 0) -> BufferStore:
    return BufferStore(buffer, (const(0),), value if isinstance(value, Expr) else const(value, buffer.dtype))


def get(buffer: Buffer) -> BufferLoad:
    return BufferLoad(FLOAT32, buffer, (const(0),))


def loop(*stmts: Stmt, parallel: bool = False) -> For:
    i = Var(DataType("int32"), "i")
    return For(i, const(0), const(4), seq(*stmts), parallel=parallel)


def mma(accumulator: Buffer, accumulate: Expr) -> Evaluate:
    zero = const(0, DataType("uint64"))
    where = AddressOf(DataType("handle"), accumulator, (const(0),))
    return Evaluate(Call(INT32, "wgmma.mma_async", (where, zero, zero, accumulate), (("n", 128),)))


def registers(*stmts: Stmt, threads: int = 128) -> int:
    stores = [node for node in walk(seq(*stmts)) if isinstance(node, BufferStore)]
    arrays = dict.fromkeys(node.buffer for node in stores if node.buffer.scope == "local")
    body = seq(*(AllocBuffer(a) for a in arrays), *stmts)
    return registers_of(PrimFunc("kernel", (OUT,), body, launch=Launch((1, 1, 1), threads)))


@pytest.mark.parametrize(
    ("elements", "threads", "count"),
    [(0, 128, BASE), (128, 128, BASE + 128), (1024, 32, MAX_REGISTERS_PER_THREAD), (200, 384, 168)],
)
def test_registers_are_estimated_from_the_arrays(elements: int, threads: int, count: int) -> None:
    a = array("a", elements)
    use = (put(a, 1), put(OUT, get(a))) if elements else (put(OUT, 1),)
    assert registers(*use, threads=threads) == count


def test_arrays_that_are_not_alive_together_share_registers() -> None:
    a, b = array("a", 64), array("b", 48)
    apart = (put(a), put(OUT, get(a)), put(b), put(OUT, get(b)))
    together = (put(a), put(b), put(OUT, get(a)), put(OUT, get(b)))
    assert registers(*apart) == BASE + 64
    assert registers(*together) == BASE + 112


@pytest.mark.parametrize("parallel", [True, False], ids=["at once", "one after the other"])
def test_a_converted_array_leaves_its_registers_to_the_result(parallel: bool) -> None:
    a, b = array("a", 64), array("b", 48)
    conversion = loop(put(b, get(a)), parallel=parallel)
    assert registers(put(a), conversion, put(OUT, get(b))) == BASE + (64 if parallel else 112)


def test_an_array_from_before_a_loop_is_alive_in_all_of_it() -> None:
    a, b = array("a", 64), array("b", 48)
    assert registers(put(a), loop(put(OUT, get(a)), put(b), put(OUT, get(b)))) == BASE + 112
    assert registers(loop(put(a), put(OUT, get(a)), put(b), put(OUT, get(b)))) == BASE + 64


@pytest.mark.parametrize("anew", [True, False])
def test_an_mma_that_may_begin_anew_needs_nothing_from_before(anew: bool) -> None:
    a, b = array("a", 64), array("b", 48)
    accumulate = Var(BOOL, "later") if anew else const(True, BOOL)
    tiles = loop(mma(a, accumulate), put(OUT, get(a)), put(b), put(OUT, get(b)))
    assert registers(put(a), tiles) == BASE + (64 if anew else 112)


@pytest.mark.parametrize("arch", ["sm90", "sm100"])
@pytest.mark.parametrize("step", [3, 4])
def test_three_ctas_of_the_tiled_steps_fit_on_an_sm(arch: str, step: int) -> None:
    """The compiler gives their threads 134 to 166 registers; three CTAs of 128 threads can have 170."""
    kernel = lower(load_kernels(default_kernels(), arch)[step](512, 512, 512))
    assert REGISTERS_PER_SM // (128 * registers_of(kernel)) == 3
