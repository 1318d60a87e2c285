"""All orders of a small kernel's events: right kernels have one class, and what only some orders show is found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tests.kernels_ref.edits import SOURCES
from tirx_mini.course import load_kernels, load_module

SMALL = {1: (128, 128, 64), 2: (128, 128, 128), 3: (128, 128, 128), 4: (128, 128, 128), 5: (128, 128, 256),
         6: (128, 128, 256), 7: (128, 128, 256), 8: (128, 128, 256), 9: (256, 256, 128)}  # fmt: skip

KERNEL = """
from tirx_mini.lang import MBarrier
from tirx_mini.script import tirx as Tx


@Tx.prim_func(tirx=True)
def kernel(A: Tx.Buffer((2,), "int32")):
    with Tx.kernel():
        bx = Tx.cta_id([1], parent="kernel")
        warp = Tx.warp_id([4], parent="cta")
        lane = Tx.thread_id([32], parent="warp")
        pool = Tx.PoolAllocator()
        bar = MBarrier(pool, 2, "bar")
        slots = pool.alloc((2,), "uint32")
        pool.commit()
        bar.init(1)
        Tx.ptx.fence.mbarrier_init()
        Tx.cuda.cta_sync()
{whole}
        with Tx.thread(parent="warp")[lane == 0]:
            pass
{body}
"""

ALLOCATE = """
if warp < 2:
    Tx.ptx.tcgen05.alloc(Tx.address_of(slots[warp]), n_cols=32, cta_group=1)
    Tx.cuda.warp_sync()
    with Tx.thread(parent="warp")[lane == 0]:
        A[warp] = Tx.int32(slots[warp])
Tx.cuda.cta_sync()
if warp < 2:
    Tx.ptx.tcgen05.dealloc(slots[warp], n_cols=32, cta_group=1)
"""


def kernel(tmp_path: Path, body: str, whole: str = "") -> Any:
    """A kernel of four warps. body: what lane 0 of each executes after what `whole` warps do."""
    path = tmp_path / "kernel.py"
    texts = {"body": (body, 12), "whole": (whole, 8)}
    path.write_text(KERNEL.format(**{n: "\n".join(" " * d + s for s in t.splitlines()) for n, (t, d) in texts.items()}))
    return load_module(path).kernel


def one_tile(step: int, tmp_path: Path) -> Any:
    """The reference for a GPU of two SMs, so that few CTAs have nothing to do."""
    path = tmp_path / "reference.py"
    path.write_text(re.sub(r"(?m)^SM_COUNT = \d+$", "SM_COUNT = 2", SOURCES[step].read_text(encoding="utf-8")))
    return load_kernels(path)[step](*SMALL[step])


@pytest.mark.parametrize("step", SMALL)
def test_a_reference_has_one_class_of_runs(step: int, tmp_path: Path) -> None:
    m, n, k = SMALL[step]
    rng = np.random.default_rng(step)
    a, b = (rng.standard_normal(shape, dtype=np.float32).astype(np.float16) for shape in ((m, k), (n, k)))
    d = np.full((m, n), np.nan, np.float16)
    result = tvm.explore(one_tile(step, tmp_path), a, b, d)
    assert (result.report.verdict, result.report.findings) == ("ok", ()), str(result.report)
    assert (result.classes, result.complete) == (1, True) and result.schedules > 10
    want = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_allclose(d.astype(np.float32), want, rtol=1e-3, atol=1e-2)


def test_the_order_of_two_allocations_makes_two_classes(tmp_path: Path) -> None:
    result = tvm.explore(kernel(tmp_path, "", ALLOCATE), np.zeros(2, np.int32))
    assert (result.report.verdict, result.complete) == ("ok", True), str(result.report)
    assert result.classes >= 2


def test_a_mistake_that_only_a_late_warp_shows_is_found(tmp_path: Path) -> None:
    """Warp 0 goes on to the next phase without waiting for warp 1, whose wait then is for a phase that has passed."""
    body = "if warp == 0:\n    bar.arrive(0)\n    bar.wait(1, 0)\n    bar.arrive(0)\n"
    body += "if warp == 1:\n    bar.wait(0, 0)\nif warp == 2:\n    bar.arrive(1)"
    result = tvm.explore(kernel(tmp_path, body), np.zeros(2, np.int32))
    assert not result.report.ok


def test_no_more_schedules_than_the_limit_are_tried(tmp_path: Path) -> None:
    result = tvm.explore(kernel(tmp_path, "", ALLOCATE), np.zeros(2, np.int32), limit=3)
    assert (result.schedules, result.complete) == (3, False)


def test_a_kernel_that_cannot_be_lowered_is_a_report(tmp_path: Path) -> None:
    body = 'Tx.copy_async(A[0:2], A[0:2], dispatch="tma")'
    result = tvm.explore(kernel(tmp_path, body), np.zeros(2, np.int32))
    assert result.report.verdict == "fault" and result.schedules == 0


FLAG = """
if warp == 0:
    Tx.ptx.st(Tx.address_of(slots[0]), Tx.uint32(0), sem="relaxed", scope="cta")
Tx.cuda.cta_sync()
if warp == 0:
    Tx.ptx.st(Tx.address_of(slots[0]), Tx.uint32(1), sem="release", scope="cta")
if warp == 1:
    while Tx.ptx.ld(Tx.address_of(slots[0]), sem="acquire", scope="cta", space="shared") != 1:
        pass
"""

TICKETS = """
if warp == 0:
    with Tx.thread(parent="warp")[lane == 0]:
        slots[0] = Tx.uint32(0)
        slots[1] = Tx.uint32(0)
Tx.cuda.cta_sync()
if lane == 0:
    mine = Tx.ptx.atom(slots.ptr_to([0]), Tx.uint32(1), op="add", sem="relaxed", scope="cta", space="shared")
    while Tx.ptx.ld(slots.ptr_to([1]), sem="acquire", scope="cta", space="shared") != mine:
        pass
    A[0] = A[0] + 1
    Tx.ptx.red(slots.ptr_to([1]), Tx.uint32(1), op="add", sem="release", scope="cta", space="shared")
"""

TRIES = """
if warp == 0:
    with Tx.thread(parent="warp")[lane == 0]:
        bar.arrive(0)
if warp == 1:
    with Tx.thread(parent="warp")[lane == 0]:
        while not Tx.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0):
            pass
"""


@pytest.mark.parametrize("whole", [FLAG, TICKETS, TRIES], ids=["flag", "ticket lock", "test_wait loop"])
def test_a_warp_that_another_one_polls_for_is_not_held_for_ever(whole: str, tmp_path: Path) -> None:
    result = tvm.explore(kernel(tmp_path, "", whole), np.zeros(2, np.int32), limit=40)
    assert result.report.verdict == "ok", str(result.report)
    assert result.schedules > 10
