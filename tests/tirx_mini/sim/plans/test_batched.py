"""Clusters that are executed several at a time: the report and the results are those of a run with all checked."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from kernels_ref.sm90.extra_every_shape import hgemm
from tirx_mini.course import STEPS, default_kernels, load_kernels, make_arguments
from tirx_mini.ir import PrimFunc
from tirx_mini.script import from_source
from tirx_mini.sim import Circumstances, Standing, classes
from tirx_mini.sim.plans import BoundKernel, WholeLaunch, batched, batches, sharded
from tirx_mini.sim.plans import kernel as bound

GPUS = {"sm100": "b200", "sm90": "h100"}


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Execute small launches this way, too; holds whether each came to its end so."""
    found: list[bool] = []

    run = batched.BatchedClusters.run

    def observed(plan: batched.BatchedClusters, kernel: BoundKernel, circumstances: Circumstances) -> Any:
        try:
            outcome = run(plan, kernel, circumstances)
        except WholeLaunch:
            found.append(False)
            raise
        if outcome is not None:
            found.append(True)
        return outcome

    monkeypatch.setattr(batched, "WORTH_BATCHES", 0)
    monkeypatch.setattr(bound, "WORTH_BYTES", 0)
    monkeypatch.setattr(batched.BatchedClusters, "run", observed)
    return found


def report(kernel: PrimFunc, gpu: str = "b200") -> tvm.Report:
    """That of a run of this kind, which is that of one with all clusters checked; so are the results."""
    return compared(kernel, gpu, checked(kernel, gpu))


def checked(kernel: PrimFunc, gpu: str) -> tuple[tvm.Report, bytes]:
    """The report of a run with all clusters checked, and its results."""
    *inputs, d = make_arguments(kernel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bound, "WORTH_BYTES", 1 << 60)
        patch.setattr(classes, "FEWEST", 1 << 30)
        return tvm.simulate(kernel, *inputs, d, gpu=gpu, jobs=1), d.tobytes()


def compared(kernel: PrimFunc, gpu: str, whole: tuple[tvm.Report, bytes]) -> tvm.Report:
    """The report of a run of this kind, which is the whole one, with its results."""
    *inputs, d = make_arguments(kernel)
    found = tvm.simulate(kernel, *inputs, d, gpu=gpu, jobs=1)
    assert (found, d.tobytes()) == whole
    return found


@cache
def reference(step: int, folder: str) -> tuple[PrimFunc, tuple[tvm.Report, bytes]]:
    """A reference for clusters with and without a second tile, and its run with all clusters checked."""
    shape = (1536, 1280, 192) if step == 10 else STEPS[step].shape(512)
    kernel = load_kernels(default_kernels(), folder)[step](*shape)
    return kernel, checked(kernel, GPUS[folder])


@pytest.mark.parametrize("most", [1, 5, 24])
@pytest.mark.parametrize("folder", GPUS)
@pytest.mark.parametrize("step", [4, 6, 9, 10])
def test_a_reference_computes_the_same(
    step: int, folder: str, most: int, together: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, whole = reference(step, folder)
    monkeypatch.setattr(batches, "MOST", most)
    assert compared(kernel, GPUS[folder], whole).verdict == "ok"
    assert together == [True]


def test_clusters_that_go_different_ways_part(together: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    parted: list[int] = []
    really = batches.Parted

    class Observed(really):
        def __init__(self, holds: np.ndarray) -> None:
            parted.append(len(holds))
            super().__init__(holds)

    monkeypatch.setattr("tirx_mini.sim.machine.cluster_values.Parted", Observed)
    assert report(load_kernels(default_kernels(), "sm100")[7](1536, 1408, 64)).verdict == "ok"  # 132 tiles, 148 CTAs
    assert together == [True] and parted


@pytest.mark.parametrize("step", [1, 2, 3])
def test_threads_that_go_to_global_memory_are_executed_one_cluster_at_a_time(step: int, together: list[bool]) -> None:
    assert report(load_kernels(default_kernels(), "sm100")[step](*STEPS[step].shape(512))).verdict == "ok"
    assert together == []


@pytest.mark.parametrize(("shape", "at_once"), [((1536, 512, 128), [True]), ((192, 256, 1536), [])])
def test_so_are_ctas_that_hand_each_other_sums(
    shape: tuple[int, int, int], at_once: list[bool], together: list[bool]
) -> None:
    assert report(hgemm(*shape), "h100").verdict == "ok"
    assert together == at_once


STORES = """

LAYOUT = tma_shared_layout("float16", SwizzleMode.SWIZZLE_NONE, (32, 64))

@T.prim_func
def kernel(A: T.Buffer((256, 64), "float16"), D: T.Buffer((288, 64), "float16")):
    T.device_entry()
    bx = T.cta_id([8])
    tx = T.thread_id([32])
    pool = T.PoolAllocator()
    tile = pool.alloc((32, 64), "float16", layout=LAYOUT)
    pool.commit()
    registers = T.alloc_local((64,), "float16")
    for i in T.unroll(64):
        registers[i] = VALUE
    for i in T.unroll(64):
        registers[i] = CHANGED
    T.copy(tile[tx, :], registers[:])
    T.ptx.fence.proxy_async("shared::cta")
    T.cuda.cta_sync()
    if tx == 0:
        T.copy_async(D[FIRST : FIRST + 32, :], tile[:, :], dispatch="tma")
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group(0)
"""


LANES = "T.cast(tx * 64 + i, 'float16')"


def stores(first: str = "bx * 32", value: str = LANES, changed: str = "registers[i]") -> PrimFunc:
    """Each of eight CTAs stores 32 rows, from the row `first` on, of what its threads have put to shared memory."""
    return from_source(STORES.replace("FIRST", first).replace("VALUE", value).replace("CHANGED", changed))


@pytest.mark.parametrize(
    ("kernel", "at_once"),
    [
        (stores(), [True]),
        (stores(first="(bx // 4 * 4 + 3 - bx % 4) * 32"), [True]),
        (stores(changed="registers[i] * registers[63 - i] + T.float16(1)"), [True]),
        (stores(value="T.cast(bx * 64 + i, 'float16')"), [True]),  # one after the other: all of them part
        (stores(value="T.cast(T.cuda.__shfl_xor_sync(0xFFFFFFFF, tx + i, 1), 'float16')"), [True]),
        (stores(changed="registers[i] + T.cast(tx, 'float16')"), []),  # NumPy cannot know whose lanes tx has
    ],
)
def test_what_threads_put_to_shared_memory_is_stored_for_each_cluster(
    kernel: PrimFunc, at_once: list[bool], together: list[bool]
) -> None:
    assert report(kernel).verdict == "ok"
    assert together == at_once


@pytest.mark.parametrize("first", ["bx * 16", "bx * 32 - bx // 7 * 16"])
def test_findings_are_those_of_a_run_with_all_checked(first: str, together: list[bool]) -> None:
    assert report(stores(first=first)).verdict != "ok"
    assert True not in together


def test_a_launch_too_small_for_several_processes_is_executed_so_in_one(
    together: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    for worth in ("WORTH_PROCESSES", "WORTH_TWINS"):
        monkeypatch.setattr(sharded, worth, 1 << 60)
    kernel = load_kernels(default_kernels(), "sm100")[7](512, 512, 512)
    assert tvm.simulate(kernel, *make_arguments(kernel), jobs=2).verdict == "ok"
    assert together == [True]


def test_who_watches_a_launch_sees_both_of_its_runs(together: list[bool]) -> None:
    seen: list[Standing] = []
    kernel = load_kernels(default_kernels(), "sm100")[7](512, 512, 512)
    tvm.simulate(kernel, *make_arguments(kernel), jobs=1, watch=seen.append)
    assert [standing.share() for standing in seen] == [1.0, 1.0]
    assert together == [True]


def test_a_launch_of_one_cluster_is_executed_as_ever(together: list[bool]) -> None:
    kernel = load_kernels(default_kernels(), "sm100")[4](128, 128, 512)
    assert report(kernel).verdict == "ok"
    assert together == []
