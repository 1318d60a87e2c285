"""Symbolic extents: shapes of arguments that a call determines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini
from tirx_mini.arguments import ArgumentError
from tirx_mini.ir import PrimFunc, TirxError, structural_equal, symbols
from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T

TILE = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))


@T.prim_func
def twice(a: T.handle, b: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n * m,), "float32")
    T.device_entry()
    bx = T.cta_id([T.ceildiv(n * m, 128)])
    tx = T.thread_id([128])
    i = bx * 128 + tx
    if i < n * m:
        B[i] = A[i // m, i % m] * 2.0


@T.prim_func
def through_tma(a: T.handle, d: T.handle):
    """Copies rows, 64 at a time, and columns, 64 at a time."""
    rows = T.int32()
    columns = T.int64()
    A = T.match_buffer(a, (rows, columns), "float16")
    D = T.match_buffer(d, (rows, columns), "float16")
    T.device_entry()
    bx = T.cta_id([rows // 64])
    tx = T.thread_id([128])
    pool = T.SMEMPool()
    tile = pool.alloc((64, 64), "float16", layout=TILE, align=1024)
    bar = pool.alloc((1,), "uint64", align=8)
    pool.commit()
    phase: T.int32 = 0
    if tx == 0:
        T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()
    for k in range(columns // 64):
        if tx == 0:
            here = A[bx * 64 : bx * 64 + 64, k * 64 : k * 64 + 64]
            T.tile.copy_async(tile[:, :], here, dispatch="tma", mbar=bar.ptr_to([0]))
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 64 * 64 * 2)
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), phase)
        phase = phase ^ 1
        T.cta.copy(D[bx * 64 : bx * 64 + 64, k * 64 : k * 64 + 64], tile[:, :])
        T.cuda.cta_sync()


def inputs(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    a = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    return a, np.zeros(a.size, np.float32)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (16, 16), (7, 40)])
def test_a_kernel_runs_for_the_sizes_of_its_arguments(shape: tuple[int, int]) -> None:
    a, b = inputs(*shape)
    assert tirx_mini.simulate(twice, a, b).verdict == "ok"
    np.testing.assert_array_equal(b, 2 * a.reshape(-1))


@pytest.mark.parametrize("func", [twice, through_tma], ids=lambda func: func.name)
def test_the_text_parses_back_equal(func: PrimFunc) -> None:
    text = func.script()
    assert structural_equal(func, from_source(text)) and from_source(text).script() == text
    assert [var.dtype for var in symbols(func)] == [var.dtype for var in symbols(from_source(text))]


@pytest.mark.parametrize("shape", [(64, 64), (192, 128)])
def test_tensor_maps_and_the_grid_follow(shape: tuple[int, int]) -> None:
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float16)
    d = np.zeros_like(a)
    report = tirx_mini.simulate(through_tma, a, d)
    assert report.verdict == "ok", report
    np.testing.assert_array_equal(a, d)


def test_an_executable_is_compiled_once_for_each_size() -> None:
    exe: Any = tirx_mini.compile(twice, target="sim")
    for _ in range(2):
        for shape in ((3, 5), (5, 3)):
            a, b = inputs(*shape)
            exe(a, b)
            np.testing.assert_array_equal(b, 2 * a.reshape(-1))
            assert exe.report.ok
    assert len(exe._compiled) == 2
    assert exe.last is exe.for_arguments(*inputs(5, 3))


@pytest.mark.compiler
def test_its_source_is_that_of_the_last_call_or_an_example() -> None:
    exe: Any = tirx_mini.compile(twice, target="sim")
    assert "i % 1024" in exe.mod.imports[0].inspect_source()
    exe(*inputs(3, 5))
    assert "< 15" in exe.source() and exe.source("tir") == twice.script()


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(3, 5), (14,)], "argument 2 (B) of twice has shape (14,), but the kernel is for (15,)"),
        ([(3,), (3,)], "argument 1 (A) of twice has 1 dimensions, but the kernel is for 2"),
        ([(3, 5)], "twice takes 2 arguments"),
    ],
)
def test_arguments_that_do_not_agree_are_refused(shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        tirx_mini.simulate(twice, *[np.zeros(shape, np.float32) for shape in shapes])
    assert message in str(raised.value)


def test_two_arguments_with_one_extent_must_agree() -> None:
    with pytest.raises(ArgumentError, match=r"argument 2 \(D\) .* says that `rows` is 128, but argument 1 \(A\)"):
        tirx_mini.simulate(through_tma, np.zeros((64, 64), np.float16), np.zeros((128, 64), np.float16))


def test_specialize_chooses_a_size() -> None:
    made = twice.specialize({"n": 3, "m": 5})
    assert not symbols(made) and 'A: T.Buffer((3, 5), "float32")' in made.script()
    again = twice.specialize({twice.params[0]: np.zeros((3, 5)).shape})
    assert structural_equal(made, again)
    with pytest.raises(ValueError, match="no parameter and no extent 'k'"):
        twice.specialize({"k": 1})


def test_a_scalar_parameter_may_be_an_extent() -> None:
    @T.prim_func
    def kernel(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,), "float32")
        T.device_entry()
        T.cta_id([1])
        tx = T.thread_id([32])
        if tx < n:
            A[tx] = 1.0

    a = np.zeros(5, np.float32)
    assert tirx_mini.simulate(kernel, a, 5).ok and (a == 1).all()
    with pytest.raises(ArgumentError, match=r"argument 2 \(n\) of kernel says that `n` is 6, but argument 1"):
        tirx_mini.simulate(kernel, a, 6)
    assert [param.name for param in kernel.specialize({"n": 5}).params] == ["A"]


def test_a_symbol_that_no_argument_has_is_an_error() -> None:
    with pytest.raises(TirxError) as raised:

        @T.prim_func
        def kernel(A: T.Buffer((4,), "float32")):
            n = T.int32()
            T.device_entry()
            T.cta_id([1])
            A[T.thread_id([32])] = n

    assert "`n` has no value: it is not an extent of an argument" in str(raised.value)


def test_registers_have_no_symbolic_extents() -> None:
    with pytest.raises(TirxError, match="only arguments have symbolic extents"):

        @T.prim_func
        def kernel(a: T.handle):
            n = T.int32()
            T.match_buffer(a, (n,), "float32")
            T.device_entry()
            T.alloc_local((n,), "float32")


def test_a_size_without_tiles_says_so() -> None:
    report = tirx_mini.simulate(through_tma, np.zeros((32, 64), np.float16), np.zeros((32, 64), np.float16))
    assert "the number of ctas is rows // 64, which is not a positive number for rows = 32" in str(report)


def test_lowering_asks_for_the_sizes() -> None:
    from tirx_mini.passes import lower

    with pytest.raises(TirxError, match="has extents that are only known when it is called: `n`, `m`"):
        lower(twice)
