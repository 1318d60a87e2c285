"""Kernels of the native dialect print as they are written."""

from __future__ import annotations

import pytest

import tirx_mini
from tirx_mini.ir import NATIVE, Expanded, structural_equal, walk
from tirx_mini.passes import lower
from tirx_mini.saved import SavedKernelError
from tirx_mini.script import from_source

BODY = '''def kernel(
    A: T.Buffer((128,), "float32"),
):
    T.device_entry()
    bx = T.cta_id([2])
    cb = T.cta_id_in_cluster([2], preferred=[4])
    wg = T.warpgroup_id([1])
    w = T.warp_id_in_wg()
    lane = T.lane_id([32])
    tx = T.thread_id([128])
    own = T.alloc_local((8,), "float32")
    bar = T.alloc_shared((1,), "uint64")
    T.cuda.cta_sync()
    T.cuda.warpgroup_sync(1)
    T.print_buffer(A.data, "float32", False, False, 1, (128,))
    T.cuda.printf("Tx.x %d\\n", tx)
    with T.hint("Tx.y"):
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
    T.ptx.fence.proxy_async(space="shared::cta")
    T.cuda.cluster_sync()
    A[tx] = own[0] + T.float32(bx)
'''


@pytest.mark.parametrize("head", ["@T.prim_func", '@T.prim_func(dialect="tvm")'])
def test_the_text_is_the_one_that_was_written(head: str) -> None:
    kernel = from_source(f"{head}\n{BODY}")
    assert kernel.spelling == NATIVE and kernel.script().split("\n", 2)[2] == f"{head}\n{BODY}"
    assert structural_equal(kernel, from_source(kernel.script()))


def test_the_spelling_is_saved() -> None:
    kernel = from_source(f"@T.prim_func\n{BODY}")
    loaded = tirx_mini.load_json(tirx_mini.save_json(kernel))
    assert structural_equal(kernel, loaded) and loaded.script() == kernel.script()
    for damage in (("cuda.cta_sync", "cuda.cta_sink"), ("print_buffer", "print_buffers")):
        with pytest.raises(SavedKernelError):
            tirx_mini.load_json(tirx_mini.save_json(kernel).replace(*damage))


def test_the_lowered_form_shows_instructions() -> None:
    kernel = from_source(f"@T.prim_func\n{BODY}")
    lowered = lower(kernel)
    assert not any(isinstance(node, Expanded) for node in walk(lowered.body))
    text = lowered.script()
    assert "Tx.ptx.bar.sync.all(Tx.uint32(0))" in text and 'format="Tx.x %d\\n"' in text
    assert structural_equal(lowered, from_source(text))


def test_spelling_does_not_change_what_a_kernel_is() -> None:
    course = """
@Tx.prim_func(tirx=True)
def kernel(A: Tx.Buffer((32,), "float32")):
    with Tx.kernel():
        bx = Tx.cta_id([1], parent="kernel")
        tx = Tx.thread_id([32], parent="cta")
        Tx.ptx.bar.sync.all(0)
        A[tx] = 1.0
"""
    native = """
@T.prim_func
def kernel(A: T.Buffer((32,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([32])
    T.cuda.cta_sync()
    A[tx] = 1.0
"""
    first, second = from_source(course), from_source(native)
    assert structural_equal(first, second) and "Tx.ptx.bar.sync.all" in first.script()
