"""What a run does to the process that it is in."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import tirx_mini as tvm
from tirx_mini.script import tirx as T
from tirx_mini.sim import Gpu


def threads() -> list[int]:
    """Of the libraries that NumPy multiplies with."""
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


@T.prim_func
def copying(A: T.Buffer((32,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([32])
    A[tx] = A[tx] + T.float32(1)


def test_numpy_multiplies_in_one_thread_while_a_run_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    run = Gpu.run

    def observed(self: Gpu) -> object:
        seen.append(threads())
        return run(self)

    monkeypatch.setattr(Gpu, "run", observed)
    with threadpool_limits(2, user_api="blas"):  # the processes of these tests may have one thread
        before, collected = threads(), gc.get_threshold()
        assert set(before) == {2}
        report = tvm.simulate(copying, np.zeros(32, np.float32))
        assert report.verdict == "ok" and seen
        assert all(count == 1 for counts in seen for count in counts)
        assert (threads(), gc.get_threshold()) == (before, collected)
