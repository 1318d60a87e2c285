"""The scope of an arrival at another CTA's mbarrier: emitted where it is written, and charged by the clock."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T


def handover(scope: str) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        rank = T.cta_id_in_cluster([2])
        T.cta_id([2])
        lane = T.thread_id([32])
        pool = T.SMEMPool()
        bar = pool.alloc((1,), "uint64", align=8)
        pool.commit()
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        T.ptx.mbarrier.arrive(bar.ptr_to([0]), rank ^ 1, True, scope=scope)
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        D[rank * 32 + lane] = A[rank * 32 + lane]
        T.cuda.cluster_sync()

    return kernel


def cycles(scope: str) -> float:
    report = tvm.simulate(handover(scope), np.ones(64, np.float32), np.zeros(64, np.float32), gpu="h100")
    assert report.verdict == "ok" and report.cycles is not None, report
    return report.cycles


@pytest.mark.parametrize(
    ("scope", "text"),
    [
        ("", "mbarrier.arrive.shared::cluster.b64"),
        ("cta", "mbarrier.arrive.release.cta.shared::cluster.b64"),
        ("cluster", "mbarrier.arrive.release.cluster.shared::cluster.b64"),
    ],
)
def test_a_scope_is_emitted_where_it_is_written(scope: str, text: str) -> None:
    assert f"{text} _, [remote]" in cuda_source(lower(handover(scope))).text


def test_a_release_to_the_cluster_waits_for_the_l2() -> None:
    assert cycles("cta") == cycles("") < cycles("cluster")


def test_the_text_of_a_kernel_has_a_scope_where_it_is_written() -> None:
    assert ", True)\n" in handover("").script() and ', True, scope="cluster")\n' in handover("cluster").script()
