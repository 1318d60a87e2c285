"""Functions of elements, reductions over named axes and changes of layout, against NumPy, in the simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.tile.kernels import call, gmem, local
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.layout import S, TileLayout, tid_in_wg
from tirx_mini.passes import lower
from tirx_mini.script import tirx as Tx

F32 = np.float32


def rows(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.25, 4, shape).astype(F32)


def run(kernel: PrimFunc, *arrays: np.ndarray) -> None:
    report = tvm.simulate(kernel, *arrays)
    assert report.verdict == "ok" and not report.findings


def compiled(kernel: PrimFunc) -> str:
    return tvm.compile(tvm.IRModule({"main": kernel}), target="cuda:sm_100a").source("ptx")


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str]] = {
    "exp2": (np.exp2, "ex2.approx.f32"),
    "exp": (np.exp, "ex2.approx.f32"),
    "log2": (np.log2, "lg2.approx.f32"),
    "sqrt": (np.sqrt, "sqrt.rn.f32"),
    "reciprocal": (np.reciprocal, ""),
    "silu": (lambda x: x / (1 + np.exp(-x)), "ex2.approx.f32"),
    "zero": (np.zeros_like, ""),
}


def function_kernel(name: str, in_place: bool, scope: str) -> PrimFunc:
    @Tx.prim_func
    def kernel(A: Tx.Buffer((128, 8), "float32"), D: Tx.Buffer((128, 8), "float32")):
        Tx.device_entry()
        tx = Tx.thread_id([128])
        own = Tx.alloc_local((8,), "float32")
        tile = Tx.alloc_shared((128, 8), "float32")
        Tx.copy(own, A[tx, :])
        if scope == "thread":
            if in_place:
                getattr(Tx, name)(own)
            else:
                getattr(Tx, name)(own, own)
            Tx.copy(D[tx, :], own)
        else:
            Tx.cta.copy(tile, A)
            Tx.cuda.cta_sync()
            getattr(Tx.cta, name)(tile, tile)
            Tx.cuda.cta_sync()
            Tx.cta.copy(D, tile)

    return kernel


@pytest.mark.parametrize("scope", ["thread", "cta"])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_a_function_of_each_element(name: str, scope: str) -> None:
    reference, ptx = FUNCTIONS[name]
    a, d = rows((128, 8)), np.ones((128, 8), F32)
    kernel = function_kernel(name, name != "zero", scope)
    run(kernel, a, d)
    np.testing.assert_allclose(d, reference(a.astype(np.float64)), rtol=3e-7, atol=1e-7)
    assert ptx in cuda_source(lower(kernel)).text


@pytest.mark.compiler
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_a_function_compiles(name: str) -> None:
    assert FUNCTIONS[name][1] in compiled(function_kernel(name, name != "zero", "thread"))


def test_scale_and_bias_come_before_the_function() -> None:
    @Tx.prim_func
    def kernel(A: Tx.Buffer((32, 8), "float32"), D: Tx.Buffer((32, 8), "float32")):
        Tx.device_entry()
        tx = Tx.thread_id([32])
        own = Tx.alloc_local((8,), "float32")
        bias = Tx.alloc_local((1,), "float32")
        Tx.copy(own, A[tx, :])
        bias[0] = 0.5
        Tx.exp2(own, own, bias=bias, scale=2.0)
        Tx.sqrt(own, scale=4.0)
        Tx.exp2(own, bias=-1.0)
        Tx.copy(D[tx, :], own)

    a, d = rows((32, 8)), np.zeros((32, 8), F32)
    run(kernel, a, d)
    expected = np.exp2(np.sqrt(4 * np.exp2(2 * a.astype(np.float64) + 0.5)) - 1)
    np.testing.assert_allclose(d, expected, rtol=1e-5)


def test_values_have_the_same_functions() -> None:
    @Tx.prim_func
    def kernel(A: Tx.Buffer((32,), "float32"), D: Tx.Buffer((32, 7), "float32")):
        Tx.device_entry()
        tx = Tx.thread_id([32])
        x: Tx.float32 = A[tx]
        D[tx, 0] = Tx.exp2(x)
        D[tx, 1] = Tx.exp(A[tx])
        D[tx, 2] = Tx.log2(x)
        D[tx, 3] = Tx.log(x)
        D[tx, 4] = Tx.sqrt(x)
        D[tx, 5] = Tx.rsqrt(x)
        D[tx, 6] = Tx.fma(x, x, 1)

    a, d = rows((32,)), np.zeros((32, 7), F32)
    run(kernel, a, d)
    x = a.astype(np.float64)
    expected = [np.exp2(x), np.exp(x), np.log2(x), np.log(x), np.sqrt(x), 1 / np.sqrt(x), x * x + 1]
    np.testing.assert_allclose(d, np.stack(expected, 1), rtol=1e-6, atol=1e-6)
    assert "lg2.approx.f32" in cuda_source(lower(kernel)).text


@pytest.mark.parametrize("value, expected", [(1e-39, 1.0), (-140.0, 0.0)])
def test_ftz_takes_subnormal_numbers_for_zero(value: float, expected: float) -> None:
    @Tx.prim_func
    def kernel(D: Tx.Buffer((32, 2), "float32")):
        Tx.device_entry()
        tx = Tx.thread_id([32])
        D[tx, 0] = Tx.ptx.exp2(Tx.float32(value))
        D[tx, 1] = Tx.exp2(Tx.float32(value))

    d = np.ones((32, 2), F32)
    run(kernel, d)
    assert (d[:, 0] == expected).all() and (d[:, 1] == np.exp2(F32(value))).all()


def test_a_fused_multiply_add_rounds_once() -> None:
    @Tx.prim_func
    def kernel(A: Tx.Buffer((32, 4), "float32"), D: Tx.Buffer((32, 4), "float32")):
        Tx.device_entry()
        tx = Tx.thread_id([32])
        own = Tx.alloc_local((4,), "float32")
        Tx.copy(own, A[tx, :])
        Tx.fma(own, own, own, -1.0)
        Tx.copy(D[tx, :], own)

    a, d = (1 + rows((32, 4)) * F32(2**-13)).astype(F32), np.zeros((32, 4), F32)
    run(kernel, a, d)
    exact = (a.astype(np.float64) ** 2 - 1).astype(F32)
    assert (d == exact).all() and (d != a * a - F32(1)).any()
    assert "fma.rn.f32" in cuda_source(lower(kernel)).text


@pytest.mark.parametrize("shape", [(128, 1), (1, 8), (8,)])
def test_a_source_of_extent_1_is_repeated(shape: tuple[int, ...]) -> None:
    @Tx.prim_func
    def kernel(A: Tx.Buffer((128, 8), "float32"), B: Tx.Buffer(shape, "float32"), D: Tx.Buffer((128, 8), "float32")):
        Tx.device_entry()
        tx = Tx.thread_id([128])
        Tx.cta.sub(D, A, B)

    a, b, d = rows((128, 8)), rows(shape, 1), np.zeros((128, 8), F32)
    run(kernel, a, b, d)
    assert (d == a - b).all()


def test_extents_that_cannot_be_repeated_are_an_error() -> None:
    with pytest.raises(TirxError, match="different extents: D is 128 × 8 and B is 4"):
        call("sub", gmem("D", (128, 8)), gmem("A", (128, 8)), gmem("B", (4,)))


REDUCTIONS: list[Any] = [("sum", np.sum), ("max", np.max), ("min", np.min)]


@pytest.mark.parametrize("scope", ["thread", "warp", "warpgroup", "cta"])
@pytest.mark.parametrize("name, function", REDUCTIONS)
@pytest.mark.parametrize("axes", [0, 1, -1, (0, 2)])
def test_a_reduction_over_axes_in_shared_memory(name: str, function: Any, axes: Any, scope: str) -> None:
    gone = {axis % 3 for axis in (axes if isinstance(axes, tuple) else (axes,))}
    shape = (6, 5, 40)
    left = tuple(1 if axis in gone else n for axis, n in enumerate(shape))

    @Tx.prim_func
    def kernel(A: Tx.Buffer(shape, "float32"), D: Tx.Buffer(left, "float32")):
        Tx.device_entry()
        tx = Tx.thread_id([128])
        tile = Tx.alloc_shared(shape, "float32")
        out = Tx.alloc_shared(left, "float32")
        Tx.cta.copy(tile, A)
        Tx.cta.copy(out, D)
        Tx.cuda.cta_sync()
        if scope == "thread":
            if tx == 65:
                getattr(Tx.thread, name)(out, tile, axes, True)
        elif scope == "warp":
            if tx < 32:
                getattr(Tx.warp, name)(out, tile, axes, True)
        elif scope == "warpgroup":
            getattr(Tx.wg, name)(out, tile, axes=axes, accum=True)
        else:
            getattr(Tx.cta, name)(out, tile, axes=axes, accum=True)
        Tx.cuda.cta_sync()
        Tx.cta.copy(D, out)

    a, d = rows(shape), rows(left, 1)
    both = np.broadcast_to(d, left)
    expected = function(np.stack([function(a, axis=tuple(gone), keepdims=True), both]), axis=0)
    run(kernel, a, d)
    np.testing.assert_allclose(d, expected, rtol=1e-5)


@pytest.mark.parametrize("accum", [False, True])
def test_a_register_view_is_reduced_in_each_thread(accum: bool) -> None:
    @Tx.prim_func
    def kernel(A: Tx.Buffer((128, 16), "float32"), D: Tx.Buffer((128, 1), "float32")):
        Tx.device_entry()
        tx = Tx.thread_id([128])
        own = Tx.alloc_local((16,), "float32")
        top = Tx.alloc_local((1,), "float32")
        tile = own.view(128, 16, layout=TileLayout(S[(128, 16) : (1 @ tid_in_wg, 1)]))
        most = top.view(128, 1, layout=TileLayout(S[(128, 1) : (1 @ tid_in_wg, 1)]))
        Tx.wg.copy(tile, A)
        Tx.wg.copy(most, D)
        Tx.wg.max(most, tile, axes=-1, accum=accum)
        Tx.wg.copy(D, most)

    a, d = rows((128, 16)), np.full((128, 1), 3, F32)
    run(kernel, a, d)
    top = a.max(1, keepdims=True)
    assert (d == (np.maximum(top, 3) if accum else top)).all()


def test_a_reduction_over_threads_of_a_register_view_is_refused() -> None:
    @Tx.prim_func
    def kernel(A: Tx.Buffer((128, 16), "float32")):
        Tx.device_entry()
        tx = Tx.thread_id([128])
        own = Tx.alloc_local((16,), "float32")
        row = Tx.alloc_local((16,), "float32")
        tile = own.view(128, 16, layout=TileLayout(S[(128, 16) : (1 @ tid_in_wg, 1)]))
        first = row.view(1, 16, layout=TileLayout(S[(1, 16) : (1 @ tid_in_wg, 1)]))
        Tx.wg.copy(tile, A)
        Tx.wg.sum(first, tile, axes=0)

    with pytest.raises(TirxError, match="thread 1 holds elements of tile that are reduced to an element of thread 0"):
        lower(kernel)


def test_wrong_axes_are_reported() -> None:
    source, one = gmem("S", (4, 8), "float32"), local("d", (1,), "float32")
    with pytest.raises(TirxError, match="axes of reduce_sum is 2, but its source has dimensions 0 to 1"):
        call("reduce_sum", one, source, axes=2)
    with pytest.raises(TirxError, match=r"over axes 0 leaves 8, but d is a single element"):
        call("reduce_sum", one, source, axes=0)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("scope", ["cta", "warp"])
def test_a_tile_changes_its_layout(in_place: bool, scope: str) -> None:
    column_major = TileLayout(S[(32, 16) : (1, 32)])

    @Tx.prim_func
    def kernel(A: Tx.Buffer((32, 16), "float16"), D: Tx.Buffer((32, 16), "float16")):
        Tx.device_entry()
        tx = Tx.thread_id([64])
        one = Tx.alloc_shared((32, 16), "float16")
        two = Tx.alloc_shared((32, 16), "float16")
        turned = Tx.meta_var((one if in_place else two).view(32, 16, layout=column_major))
        Tx.cta.copy(one, A)
        Tx.cuda.cta_sync()
        if scope == "cta":
            Tx.cta.permute_layout(turned, one)
        elif tx < 32:
            Tx.warp.permute_layout(turned, one)
        Tx.cuda.cta_sync()
        flat = Tx.meta_var((one if in_place else two).view(16, 32, layout=TileLayout(S[(16, 32) : (32, 1)])))
        Tx.cta.copy(D.view(16, 32, layout=TileLayout(S[(16, 32) : (32, 1)])), flat)

    a = rows((32, 16)).astype(np.float16)
    d = np.zeros_like(a)
    run(kernel, a, d)
    assert (d.reshape(16, 32) == a.T).all()
