"""The native dialect: bare `prim_func`, handles, `device_entry`, ids without a parent, element loads and stores."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini
from tirx_mini.ir import IRModule, Scope, TirxError, structural_equal
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T


@T.prim_func
def saxpy(X_ptr: T.handle, Y_ptr: T.handle, factor: T.float32):
    """Y += factor * X, with one element per thread."""
    X = T.match_buffer(X_ptr, (1000,), "float32", align=16)
    Y = T.match_buffer(Y_ptr, (1000,), "float32")
    T.device_entry()
    bx = T.cta_id([4])
    tx = T.thread_id([256])
    i: T.let = bx * 256 + tx
    if i < 1000:
        Y[i] += X[i] * factor


@T.prim_func
def dot_products(X_ptr: T.handle, Y_ptr: T.handle, out_ptr: T.handle):
    """out[row] = X[row] · Y[row]: in each step the upper half of the remaining products is added to the lower half."""
    X = T.match_buffer(X_ptr, (3, 96), "float32")
    Y = T.match_buffer(Y_ptr, (3, 96), "float32")
    out = T.match_buffer(out_ptr, (3,), "float32")

    T.device_entry()
    row = T.cta_id([3])
    thread = T.thread_id([96])
    products = T.alloc_shared((96,), "float32")
    products[thread] = X[row, thread] * Y[row, thread]

    remaining = T.alloc_local((1,), "int32")
    remaining[0] = 96
    while remaining[0] > 1:
        T.cuda.cta_sync()
        lower: T.let = (remaining[0] + 1) // 2
        if thread + lower < remaining[0]:
            products[thread] += products[thread + lower]
        remaining[0] = lower

    if thread == 0:
        out[row] = products[0]


@T.prim_func
def all_reduce(A: T.Buffer((2, 32), "float32"), out: T.Buffer((2,), "float32")):
    T.device_entry()
    T.func_attr({"note": "shuffles"})
    bx = T.cta_id([1])
    warp = T.warp_id([2])
    lane = T.lane_id([32])
    scratch = T.alloc_buffer((2,), "float32", scope="shared")
    value: T.float32 = A[warp, lane]
    for step in T.unroll(5):
        value += T.tvm_warp_shuffle_xor(T.tvm_warp_activemask(), value, 16 >> step, 32, 32)
    whole = T.cuda.cta_sum(A[warp, lane], 2, scratch.ptr_to([0]))
    largest = T.cuda.warp_reduce(T.Cast("float32", lane), "max")
    T.hint("the result", lanes=1)
    if warp == 0 and lane == 0:
        out[0] = value + largest
        out[1] = whole


KERNELS = [saxpy, dot_products, all_reduce]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_a_native_kernel_prints_and_lowers(kernel) -> None:
    assert structural_equal(kernel, from_source(kernel.script()))
    lowered = lower(kernel)
    assert structural_equal(lowered, from_source(lowered.script()))
    module = IRModule({"main": kernel})
    assert structural_equal(module, from_source(module.script()))


def test_show_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    saxpy.show()
    assert capsys.readouterr().out == saxpy.script() + "\n"


def test_match_buffer_turns_pointers_into_buffers() -> None:
    assert [repr(p) for p in saxpy.params[:2]] == ["X: global float32[1000]", "Y: global float32[1000]"]
    assert saxpy.params[2].dtype == "float32" and saxpy.params[0].align == 16  # type: ignore[union-attr]


def test_device_entry_opens_a_kernel_scope() -> None:
    assert isinstance(dot_products.body, Scope) and dot_products.body.kind == "kernel"
    assert dict(all_reduce.attrs) == {"note": "shuffles"}


def test_attributes_and_hints_survive_printing() -> None:
    again = from_source(all_reduce.script())
    assert again.attrs == all_reduce.attrs and '"the result", {"lanes": 1}' in again.script()


MISTAKES = {
    "    A = T.match_buffer(3, (4,))": "expects a T.handle parameter",
    "    A = T.match_buffer(p, (4,))\n    B = T.match_buffer(p, (4,))": "expects a T.handle parameter",
    "    if T.threadIdx.x == 0:\n        T.device_entry()": "outside every block",
    "    T.device_entry()\n    x = T.tvm_warp_shuffle_xor(0xFF, 1.0, 1, 32, 32)": "all 32 lanes",
    "    T.device_entry()\n    x = T.cuda.warp_reduce(1.0, 'product')": "sum",
    "    T.device_entry()\n    x = T.cta_id(n)": "known at compile time",
    "    T.device_entry()\n    x = T.threadIdx.w": "`x`, `y` and `z`",
    "    n = T.thread_id([32], parent='wrap')": "`warp`",
}


@pytest.mark.parametrize("body", MISTAKES)
def test_a_mistake_in_the_native_dialect_is_reported(body: str) -> None:
    with pytest.raises(TirxError) as raised:
        from_source(f"@T.prim_func\ndef k(p: T.handle, n: T.int32):\n{body}\n")
    assert MISTAKES[body] in str(raised.value)


def test_the_native_kernels_compute_their_results() -> None:
    x, y, out = np.arange(288.0, dtype=np.float32), np.full(288, 0.5, np.float32), np.zeros(3, np.float32)
    x, y = x.reshape(3, 96), y.reshape(3, 96)
    report = tirx_mini.simulate(dot_products, x, y, out)
    assert report.verdict == "ok", str(report)
    np.testing.assert_array_equal(out, x.sum(1) / 2)

    long, accumulated = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    report = tirx_mini.simulate(saxpy, long, accumulated, 2.0)
    assert report.verdict == "ok", str(report)
    np.testing.assert_array_equal(accumulated, 2 * long + 1)
