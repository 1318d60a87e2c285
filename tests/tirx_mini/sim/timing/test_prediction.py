"""What holds of predicted times whatever the constants are: more work is never faster, and waiting costs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from tests.tirx_mini.sim.bare import address, all_lanes, block, buffer, do, mapped, one_lane, run, tensor_map
from tirx_mini.course import arch_folder, default_kernels, load_kernels
from tirx_mini.hardware import B200, GPUS, H100, GpuSpec
from tirx_mini.script import tirx as T
from tirx_mini.sim import RunningWarp

SPECS = pytest.mark.parametrize("spec", [B200, H100], ids=lambda spec: spec.name)


@cache
def time_of(gpu: str, step: int, m: int, n: int, k: int) -> float:
    """Predicted microseconds of a reference kernel."""
    kernel = load_kernels(default_kernels(), arch_folder(GPUS[gpu].arch))[step](m, n, k)
    a, b, d = (np.zeros(shape, np.float16) for shape in ((m, k), (n, k), (m, n)))
    report = tvm.simulate(kernel, a, b, d, gpu=gpu, checks=False)
    assert report.time_us is not None
    return report.time_us


# -- kernels of the ladder ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gpu", ["b200", "h100"])
def test_a_second_stage_saves_time(gpu: str) -> None:
    assert time_of(gpu, 5, 256, 256, 2048) < time_of(gpu, 4, 256, 256, 2048)


@pytest.mark.parametrize("gpu", ["b200", "h100"])
def test_more_stages_are_no_slower(gpu: str) -> None:
    assert time_of(gpu, 8, 256, 256, 2048) <= time_of(gpu, 7, 256, 256, 2048)


@pytest.mark.parametrize("gpu", ["b200", "h100"])
@pytest.mark.parametrize("step", [3, 5, 8])
def test_twice_the_depth_takes_about_twice_as_long(gpu: str, step: int) -> None:
    """Where K is large: what is done once for each tile does not count then."""
    once, twice, four_times = (time_of(gpu, step, 128, 128, k) for k in (4096, 8192, 16384))
    assert 1.7 < four_times / twice < 2.05
    assert four_times - twice == pytest.approx(2 * (twice - once), rel=0.05)


@pytest.mark.parametrize("gpu", ["b200", "h100"])
def test_a_gpu_full_of_tiles_takes_longer_than_one_tile(gpu: str) -> None:
    assert time_of(gpu, 4, 128, 128, 256) < time_of(gpu, 4, 1024, 1024, 256)


# -- loads and stores --------------------------------------------------------------------------------------------------


def loading(boxes: int, rows: int) -> Callable[[RunningWarp], Any]:
    """A warp that loads so many boxes by TMA, one after the other into the same place, and waits for all."""

    def program(w: RunningWarp) -> Generator[Any, None, None]:
        bar = address(w, "bar")
        one_lane(w)
        do(w, "mbarrier.init", bar, 1)
        all_lanes(w)
        do(w, "fence.mbarrier_init")
        yield from block(w, "bar.sync.all", 0)
        one_lane(w)
        for number in range(boxes):
            do(w, "cp.async.bulk.tensor.load", address(w, "tile"), mapped(w, "A"), bar, 0, number * rows, dim=2)
        do(w, "mbarrier.arrive.expect_tx", bar, boxes * rows * 128)
        yield from block(w, "mbarrier.try_wait", bar, 0)
        all_lanes(w)

    return program


def load_time(boxes: int, rows: int, spec: GpuSpec, ctas: int = 1) -> float:
    a = np.zeros((16 * 64, 64), np.float16)
    shared = {"bar": ("uint64", 1), "tile": ("float16", rows * 64)}
    maps = [tensor_map("A", a, (64, rows))]
    result = run(loading(boxes, rows), grid=(ctas, 1, 1), shared=shared, arrays={"A": a}, maps=maps, spec=spec,
                 checks=False)  # fmt: skip
    assert result.kinds == []
    return result.outcome.cycles


@SPECS
@settings(max_examples=15)
@given(boxes=st.integers(1, 8), rows=st.sampled_from([8, 16, 32, 64]))
def test_more_bytes_are_never_faster(spec: GpuSpec, boxes: int, rows: int) -> None:
    time = load_time(boxes, rows, spec)
    assert load_time(boxes + 1, rows, spec) >= time
    assert load_time(boxes, 2 * rows if rows < 64 else rows, spec) >= time


@SPECS
def test_sms_that_contend_for_the_l2_wait(spec: GpuSpec) -> None:
    narrow = replace(spec, sms=16, l2_bytes_per_cycle=8)
    assert load_time(8, 64, narrow, ctas=16) > 1.5 * load_time(8, 64, narrow, ctas=1)


@pytest.mark.parametrize("rate", ["l2_bytes_per_cycle", "port_bytes_per_cycle", "smem_bytes_per_cycle", "hbm_tbps"])
@SPECS
def test_a_faster_gpu_is_no_slower(spec: GpuSpec, rate: str) -> None:
    small = replace(spec, sms=4)
    faster = replace(small, **{rate: 2 * getattr(small, rate)})
    assert load_time(8, 64, faster, ctas=4) <= load_time(8, 64, small, ctas=4) + 1e-6


@pytest.mark.parametrize("gpu", sorted(GPUS))
def test_a_kernel_takes_at_least_its_launch_and_the_trip_of_what_it_stores(gpu: str) -> None:
    """And a small one not much more: its loads and its stores wait for the L2 once."""
    spec = GPUS[gpu]

    @T.prim_func
    def scale(A: T.Buffer((1000,), "float32"), C: T.Buffer((1000,), "float32")):
        T.device_entry()
        bx = T.cta_id([4])
        tx = T.thread_id([256])
        i: T.let = bx * 256 + tx
        if i < 1000:
            C[i] = A[i] * 2.0

    report = tvm.simulate(scale, np.ones(1000, np.float32), np.zeros(1000, np.float32), gpu=gpu)
    assert report.time_us is not None and report.cycles is not None
    assert 2 * spec.l2_latency < report.cycles < 3 * spec.l2_latency
    assert report.stats["hbm_bytes"] == 0, "in a row of launches, its arguments are in the L2"
    assert report.time_us == pytest.approx(spec.launch_latency_us + report.cycles / spec.clock_ghz / 1e3)


def accessing(warps: int, times: int) -> float:
    """Cycles of so many warps that each store 512 bytes to shared memory several times."""

    def program(w: RunningWarp) -> Any:
        for _ in range(times):
            w.store(buffer(w, "s"), w.thread_idx * 4, np.zeros((32, 4), np.float32), 4)
        yield from ()

    result = run(program, threads=32 * warps, shared={"s": ("float32", 32 * 4 * warps)})
    assert result.kinds == []
    return result.outcome.cycles


def test_warps_share_the_bandwidth_of_shared_memory() -> None:
    one, four = accessing(1, 64), accessing(4, 64)
    assert one >= 64 * 512 / B200.smem_bytes_per_cycle - 128
    assert four >= 4 * 64 * 512 / B200.smem_bytes_per_cycle - 128


# -- launches and clocks -----------------------------------------------------------------------------------------------


def launched(cluster: int = 1, programmatic: bool = False) -> tvm.Report:
    @T.prim_func
    def kernel(C: T.Buffer((2,), "float32")):
        T.device_entry()
        bx = T.cta_id([2])
        if cluster == 2:
            rank = T.cta_id([2], parent="cluster")
        tx = T.thread_id([32])
        if programmatic:
            T.ptx.griddepcontrol.wait()
        if tx == 0:
            C[bx] = 1.0

    report = tvm.simulate(kernel, np.zeros(2, np.float32), gpu="h100")
    assert report.ok, str(report)
    return report


def test_a_launch_of_clusters_takes_longer_and_a_programmatic_one_is_hidden() -> None:
    plain, clusters, hidden = launched(), launched(cluster=2), launched(programmatic=True)
    assert plain.time_us is not None and clusters.time_us is not None and hidden.time_us is not None
    assert clusters.time_us - plain.time_us == pytest.approx(H100.cluster_launch_latency_us, rel=0.2)
    assert plain.time_us - hidden.time_us == pytest.approx(H100.hidden_latency_us, rel=0.2)


@given(st.sampled_from(sorted(GPUS.values(), key=lambda spec: spec.name)), st.floats(0, 1), st.floats(0, 1))
def test_the_power_limit_lowers_the_clock_but_not_the_arithmetic(spec: GpuSpec, some: float, more: float) -> None:
    """Busier tensor cores mean a clock that is no higher, and more arithmetic a second all the same."""
    some, more = sorted((some, more))
    assert 0.5 * spec.clock_ghz < spec.clock_under(more) <= spec.clock_under(some) <= spec.clock_ghz
    assert some * spec.clock_under(some) <= more * spec.clock_under(more) + 1e-12
    assert spec.clock_under(min(some, spec.sustained_utilisation)) == spec.clock_ghz
    assert spec.clock_under(some, hbm_tbps=2.0) <= spec.clock_under(some, hbm_tbps=1.0) <= spec.clock_under(some)


def test_a_step_that_keeps_the_tensor_cores_busy_runs_at_a_lower_clock() -> None:
    limited = replace(H100, sms=4, sustained_utilisation=0.2)
    kernel = load_kernels(default_kernels(), "sm90")[5](256, 256, 2048)
    a, b, d = (np.zeros(shape, np.float16) for shape in ((256, 2048), (256, 2048), (256, 256)))
    free, bound = (tvm.simulate(kernel, a, b, d, gpu=spec, checks=False) for spec in (replace(H100, sms=4), limited))
    assert free.time_us is not None and bound.time_us is not None
    assert free.cycles == bound.cycles and free.time_us < bound.time_us
    assert limited.clock_ghz > bound.stats["clock_ghz"] > limited.clock_ghz / 2
