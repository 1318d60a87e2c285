"""The native dialect: bare prim_func, handles, device_entry, unparented ids, element loads and stores."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.ir import IRModule, Scope, TirxError, structural_equal
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T


@T.prim_func
def scale(A_ptr: T.handle, B_ptr: T.handle, factor: T.float32):
    """B = factor * A, one element a thread."""
    A = T.match_buffer(A_ptr, (1000,), "float32", align=16)
    B = T.match_buffer(B_ptr, (1000,), "float32")
    T.device_entry()
    bx = T.cta_id([4])
    tx = T.thread_id([256])
    i: T.let = bx * 256 + tx
    if i < 1000:
        B[i] = A[i] * factor


@T.prim_func
def block_sum(A_ptr: T.handle, out_ptr: T.handle):
    A = T.match_buffer(A_ptr, (256,), "float32")
    out = T.match_buffer(out_ptr, (1,), "float32")

    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([256])

    sm = T.alloc_shared((256,), "float32")
    sm[tx] = A[tx]
    T.cuda.cta_sync()

    s = T.alloc_local((1,), "int32")
    s[0] = 128
    while s[0] >= 1:
        if tx < s[0]:
            sm[tx] += sm[tx + s[0]]
        T.cuda.cta_sync()
        s[0] = s[0] // 2

    if tx == 0:
        out[0] = sm[0]


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


KERNELS = [scale, block_sum, all_reduce]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_it_reads_prints_and_lowers(kernel) -> None:
    assert structural_equal(kernel, from_source(kernel.script()))
    lowered = lower(kernel)
    assert structural_equal(lowered, from_source(lowered.script()))
    assert kernel.script() in IRModule({"main": kernel}).script()


def test_show_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    scale.show()
    assert capsys.readouterr().out == scale.script() + "\n"


def test_pointers_become_buffers() -> None:
    assert [repr(p) for p in scale.params[:2]] == ["A: global float32[1000]", "B: global float32[1000]"]
    assert scale.params[2].dtype == "float32" and scale.params[0].align == 16  # type: ignore[union-attr]


def test_the_rest_of_the_kernel_is_on_the_device() -> None:
    assert isinstance(block_sum.body, Scope) and block_sum.body.kind == "kernel"
    assert dict(all_reduce.attrs) == {"note": "shuffles"}


def test_attributes_and_hints_survive_printing() -> None:
    again = from_source(all_reduce.script())
    assert again.attrs == all_reduce.attrs and '"the result", {"lanes": 1}' in again.script()


REFUSED = {
    "    A = T.match_buffer(3, (4,))": "expects a T.handle parameter",
    "    A = T.match_buffer(p, (4,))\n    B = T.match_buffer(p, (4,))": "expects a T.handle parameter",
    "    if T.threadIdx.x == 0:\n        T.device_entry()": "outside every block",
    "    T.device_entry()\n    x = T.tvm_warp_shuffle_xor(0xFF, 1.0, 1, 32, 32)": "all 32 lanes",
    "    T.device_entry()\n    x = T.cuda.warp_reduce(1.0, 'product')": "sum",
    "    T.device_entry()\n    x = T.cta_id(n)": "known at compile time",
    "    T.device_entry()\n    x = T.threadIdx.w": "`x`, `y` and `z`",
    "    n = T.thread_id([32], parent='wrap')": "`warp`",
}


@pytest.mark.parametrize("body", REFUSED)
def test_it_is_refused(body: str) -> None:
    with pytest.raises(TirxError) as raised:
        from_source(f"@T.prim_func\ndef k(p: T.handle, n: T.int32):\n{body}\n")
    assert REFUSED[body] in str(raised.value)


def test_the_block_sum_computes_a_sum() -> None:
    import tirx_mini as tvm

    a, out = np.arange(256, dtype=np.float32), np.zeros(1, np.float32)
    report = tvm.simulate(block_sum, a, out)
    assert report.verdict == "ok", str(report)
    assert out[0] == 32640.0
