"""Which defaults a kernel has: those of TVM 0.26 where its decorator is TVM 0.26's, else those of the course."""

from __future__ import annotations

import inspect
import runpy
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirx_mini
from tirx_mini.compat.tvm import imports
from tirx_mini.ir import Call, PrimFunc, TirxError, structural_equal, walk
from tirx_mini.script import from_source

COURSE = "from tvm.script import tirx as T\n\n@T.prim_func(tirx=True)"
TVM = "from tvm.script import tirx as T\n\n@T.prim_func"
TVM_WITH_OPTIONS = "from tvm.script import tirx as T\n\n@T.prim_func(persistent=True)"
OWN = "from tirx_mini.script import tirx as T\n\n@T.prim_func"

BODY = '''
def kernel(A: T.Buffer((128, 64), "float16"), D: T.Buffer((128, 64), "float16")):
    T.device_entry()
    bx = T.cta_id([1])
    tid = T.thread_id([128])
    pool = T.SMEMPool()
    tile = pool.alloc((128, 64), "float16", layout=T_layout)
    pool.commit()
    T.cta.copy(tile[:, :], A[:, :])
    {fence}
    T.cuda.cta_sync()
    if tid == 0:
        T.copy_async(D[:, :], tile[:, :], dispatch="tma_auto")
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group()
'''


def kernel_of(head: str, body: str, tmp_path: Any) -> PrimFunc:
    """The kernel of a file, read with the imports of TVM."""
    from tirx_mini.layout import SwizzleMode, tma_shared_layout

    path = tmp_path / "file.py"
    path.write_text(head + body, encoding="utf-8")
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))
    module = types.ModuleType("file")
    vars(module)["T_layout"] = layout
    with imports():
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
    return vars(module)["kernel"]


def calls(kernel: PrimFunc, op: str) -> list[Call]:
    return [node for node in walk(kernel.body) if isinstance(node, Call) and node.op == op]


@pytest.mark.parametrize(
    ("head", "waits_for_reads", "space"),
    [(COURSE, False, "shared::cta"), (OWN, False, "shared::cta"), (TVM, True, ""), (TVM_WITH_OPTIONS, True, "")],
    ids=["course", "own", "tvm", "tvm with options"],
)
def test_the_decorator_decides_the_defaults(head: str, waits_for_reads: bool, space: str, tmp_path: Any) -> None:
    kernel = kernel_of(head, BODY.format(fence="T.ptx.fence.proxy_async()"), tmp_path)
    (wait,), (fence,) = calls(kernel, "cp.async.bulk.wait_group"), calls(kernel, "fence.proxy.async")
    assert (dict(wait.attrs)["read"], dict(fence.attrs)["space"]) == (waits_for_reads, space)
    again = from_source(kernel.script())
    assert structural_equal(kernel, again) and again.dialect == kernel.dialect


def test_what_is_written_wins_over_a_default(tmp_path: Any) -> None:
    body = BODY.replace("wait_group()", "wait_group(0, False)").format(fence='T.ptx.fence.proxy_async("global")')
    kernel = kernel_of(TVM, body, tmp_path)
    (wait,), (fence,) = calls(kernel, "cp.async.bulk.wait_group"), calls(kernel, "fence.proxy.async")
    assert (dict(wait.attrs)["read"], dict(fence.attrs)["space"]) == (False, "global")


@pytest.mark.parametrize(
    ("head", "fence", "noted"),
    [(TVM, "pass", True), (TVM, "T.ptx.fence.proxy_async()", False), (COURSE, "pass", False), (OWN, "pass", False)],
    ids=["tvm without a fence", "tvm with a fence", "course", "own"],
)
def test_a_kernel_that_is_ok_only_by_the_fence_of_our_copy_gets_a_note(
    head: str, fence: str, noted: bool, tmp_path: Any
) -> None:
    a, d = np.arange(128 * 64).reshape(128, 64).astype(np.float16), np.zeros((128, 64), np.float16)
    report = tirx_mini.simulate(kernel_of(head, BODY.format(fence=fence), tmp_path), a, d)
    assert report.verdict == "ok" and (a == d).all(), str(report)
    assert [(f.severity, f.code) for f in report.findings] == [("note", "TX202")] * noted
    assert ("cooperative copies of tirx_mini end with that fence, and TVM's do not" in str(report)) == noted


SCALARS = """
def kernel(A: T.Buffer((32,), "float32")):
    T.device_entry()
    tid = T.thread_id([32])
    x = T.{make}
    x[0] = 2.5
    A[tid] = x[0]
"""


def test_a_buffer_without_a_scope_is_global_in_tvm(tmp_path: Any) -> None:
    body = SCALARS.format(make='alloc_buffer((1,), "float32")')
    assert isinstance(kernel_of(OWN, body, tmp_path), PrimFunc)
    with pytest.raises(TirxError, match='not in "global"'):
        kernel_of(TVM, body, tmp_path)


@pytest.mark.parametrize("name", ["local_scalar", "alloc_scalar"])
def test_a_scalar_is_float32(name: str) -> None:
    from tirx_mini.script import tirx

    assert inspect.signature(getattr(tirx, name)).parameters["dtype"].default == "float32"


def test_shuffles_have_the_names_of_cuda() -> None:
    with imports():
        from tvm.script import tirx as T

        @T.prim_func
        def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((3, 32), "float32")):
            T.device_entry()
            T.cta_id([1])
            tx = T.thread_id([32])
            v = T.local_scalar("float32")
            v = A[tx]
            D[0, tx] = T.cuda.__shfl_xor_sync(0xFFFFFFFF, v, 3, 32)
            D[1, tx] = T.cuda.__shfl_down_sync(T.uint32(0xFFFFFFFF), v, 1, 8)
            D[2, tx] = T.cuda.__shfl_sync(T.cuda.__activemask(), v, 3, 32) + T.cuda.__shfl_up_sync(0xFFFFFFFF, v, 2, 32)

    lane, d = np.arange(32), np.zeros((3, 32), np.float32)
    assert tirx_mini.simulate(kernel, lane.astype(np.float32), d).verdict == "ok"
    assert (d == [lane ^ 3, np.minimum(lane + 1, lane | 7), 3 + np.where(lane < 2, lane, lane - 2)]).all()


def test_atoms_of_swizzles() -> None:
    with imports():
        from tvm.backend.cuda.tile_primitive.tma_utils import SwizzleMode, mma_atom_layout, mma_atom_shape

    assert mma_atom_shape("float16", SwizzleMode.SWIZZLE_128B_ATOM, (2, 128, 64)) == [1, 8, 64]
    layout = mma_atom_layout("float16", 3)
    assert layout == tirx_mini.layout.ComposeLayout(3, 3, 3, tirx_mini.layout.TileLayout(tirx_mini.layout.S[(512,)]))


@pytest.mark.parametrize("offset", [
    "data=X.data, byte_offset=512", "data=X.data, elem_offset=128", "data=pool.ptr, byte_offset=512",
    "data=pad.data, elem_offset=X.elem_offset", "data=X.data, elem_offset=X.elem_offset + 64 - 64",
])  # fmt: skip
def test_offsets_count_from_the_start_of_the_pool(offset: str, tmp_path: Path) -> None:
    """In TVM, `data` of every buffer of a pool is the pointer of the pool."""
    path = tmp_path / "kernel.py"
    path.write_text(f"""
from tvm.script import tirx as T

@T.prim_func
def kernel(A: T.Buffer((64,), "uint32"), D: T.Buffer((64,), "uint32")):
    T.device_entry()
    T.cta_id([1])
    tx = T.thread_id([64])
    pool = T.SMEMPool()
    pad = pool.alloc((100,), "float32")
    X = pool.alloc((64,), "uint32", align=128)
    Y = T.decl_buffer((64,), "uint32", {offset}, scope="shared.dyn")
    pool.commit()
    X[tx] = A[tx]
    T.cuda.cta_sync()
    D[tx] = Y[63 - tx]
""")
    with imports():
        kernel = runpy.run_path(str(path))["kernel"]
    a, d = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    assert tirx_mini.simulate(kernel, a, d).verdict == "ok" and (d == a[::-1]).all()
