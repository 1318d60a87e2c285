"""Simulating a kernel: faults are reported, and results and verdicts do not depend on the schedule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.driver.lowered import simulate
from tirx_mini.course import load_kernels
from tirx_mini.diagnose import SimulationError, failed
from tirx_mini.ir import INT32, Buffer, BufferStore, Launch, PrimFunc, Span, TirxError, const, special
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T
from utils import prepare_data

ROOT = Path(__file__).parents[3]
TID = special("threadIdx.x")


def faulty() -> PrimFunc:
    """Each thread stores to an element of D; half of them to one that D does not have."""
    D = Buffer("D", (32,), INT32)
    place = Span(__file__, 1, 0)
    store = BufferStore(D, (TID * 2,), const(1), span=place)
    return PrimFunc("faulty", (D,), store, launch=Launch((1, 1, 1), 32))


def test_a_fault_is_in_the_report_and_never_raised() -> None:
    report = simulate(faulty(), [np.zeros(32, np.int32)])
    assert report.verdict == "fault" and not report.ok
    (finding,) = report.findings
    assert finding.kind == "out-of-bounds" and finding.span is not None and finding.span.line == 1
    assert report.time_us is None and report.tflops is None


def test_the_error_of_an_executable_is_the_whole_page() -> None:
    report = simulate(faulty(), [np.zeros(32, np.int32)])
    page = str(SimulationError(report))
    assert page.startswith("faulty: fault") and "element 32 of D" in page and "test_judge.py:1:1" in page


def test_a_kernel_that_cannot_be_lowered_gives_a_report() -> None:
    span = Span(__file__, 3)
    report = failed(faulty(), TirxError("no such thing", span, "write another", (("here", span),)), "B200")
    (finding,) = report.findings
    assert (report.verdict, finding.kind, finding.span) == ("fault", "lowering", span)
    assert finding.details["hint"] == "write another" and finding.details["notes"] == (("here", span),)


def test_an_unknown_gpu_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown GPU 'b300x'"):
        simulate(faulty(), [np.zeros(32, np.int32)], gpu="b300x")


# -- several schedules -------------------------------------------------------------------------------------------------


@T.prim_func
def unsynchronised(B: T.Buffer((64,), "float32")):
    T.device_entry()
    tx = T.thread_id([64])
    tile = T.alloc_shared((32,), "float32")
    if tx < 32:
        tile[tx] = T.float32(1)
    if tx >= 32:
        B[tx] = tile[tx - 32]


def test_an_error_that_happens_is_looked_for_in_all_schedules() -> None:
    """In the first one the write comes first, and nothing goes wrong."""
    kernel, b = lower(unsynchronised), np.zeros(64, np.float32)
    first = simulate(kernel, [b])
    assert first.only_possible and [f.kind for f in first.findings] == ["race"] and (b[32:] == 1).all()
    assert first.findings[0].order == "if the load of warp 1 reads it before the store of warp 0 writes it"
    several = simulate(kernel, [b], schedules=20)
    assert not several.only_possible and "uninitialised-read" in {f.kind for f in several.errors}
    assert 1 < several.schedules <= 20 and several.seed == several.schedules - 1


def test_possible_errors_do_not_end_the_schedules() -> None:
    kernel = lower(unsynchronised)
    seeds = [seed for seed in range(8) if simulate(kernel, [np.zeros(64, np.float32)], seed=seed).only_possible]
    run = next(seed for seed in seeds if seed + 1 in seeds)
    report = simulate(kernel, [np.zeros(64, np.float32)], seed=run, schedules=2)
    assert (report.schedules, report.seed) == (2, run) and report.only_possible


# -- whole kernels -----------------------------------------------------------------------------------------------------


def reference(step: int, shape: tuple[int, int, int], dtype: str = "float16") -> PrimFunc:
    (path,) = (ROOT / "kernels_ref" / "sm100").glob(f"step{step:02d}*.py")
    return load_kernels(path)[step](*shape, dtype)


@pytest.mark.parametrize(("step", "shape"), [(1, (128, 128, 64)), (3, (256, 128, 192)), (7, (256, 384, 256))])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_reference_is_right_under_every_schedule(step: int, shape: tuple[int, int, int], dtype: str) -> None:
    A, B, D = prepare_data(*shape, dtype, target="sim", arrays=True)
    report = tvm.simulate(reference(step, shape, dtype), A, B, D, schedules=4, seed=0)
    assert (report.verdict, report.findings, report.schedules) == ("ok", (), 4), str(report)
    want = A.astype(np.float64) @ B.astype(np.float64).T
    np.testing.assert_allclose(D.astype(np.float64), want, rtol=2**-7 if dtype == "bfloat16" else 2**-10, atol=1e-2)


def test_time_and_throughput_are_predicted() -> None:
    shape = (256, 256, 256)
    report = tvm.simulate(reference(4, shape), *prepare_data(*shape, target="sim", arrays=True))
    assert report.time_us is not None and report.cycles is not None and report.tflops is not None
    assert report.tflops == pytest.approx(2 * 256**3 / report.time_us / 1e6)
    assert report.gpu == "B200" and report.time_us > 0.5


def test_a_schedule_can_be_replayed_from_its_seed() -> None:
    shape = (256, 256, 256)
    kernel = lower(reference(7, shape))
    times = [simulate(kernel, prepare_data(*shape, target="sim", arrays=True), seed=seed).time_us for seed in (5, 5, 6)]
    assert times[0] == times[1] != times[2]


def test_the_events_of_barriers_are_kept_on_demand() -> None:
    shape = (128, 128, 128)
    report = tvm.simulate(reference(4, shape), *prepare_data(*shape, target="sim"), log_barriers=True, trace=True)
    assert report.trace and any("tma_bar" in str(entry) for entry in report.stats["barriers"])


# -- what a report does not claim --------------------------------------------------------------------------------------


def test_a_report_does_not_say_that_a_result_is_right_which_nobody_compared() -> None:
    @T.prim_func
    def kernel(D: T.Buffer((32,), "float32")):
        T.device_entry()
        cta = T.cta_id([2])
        lane = T.thread_id([32])
        D[lane] = T.float32(cta)

    report = tvm.simulate(kernel, np.zeros(32, np.float32))
    assert report.only_possible and report.outlook.startswith("nobody compared the result; it goes wrong if ")


@pytest.mark.parametrize("equal", [True, False])
def test_equal_stores_of_ctas_are_a_note_and_equal_data_a_warning(equal: bool) -> None:
    @T.prim_func
    def kernel(A: T.Buffer((2, 32), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        cta = T.cta_id([2])
        lane = T.thread_id([32])
        D[lane] = T.float32(lane)
        D[32 + lane] = A[cta, lane]

    data = np.arange(64, dtype=np.float32).reshape(2, 32) % (32 if equal else 64)
    report = tvm.simulate(kernel, data, np.zeros(64, np.float32))
    assert sorted((f.severity, f.code) for f in report.findings) == [
        *([] if equal else [("error", "TX201")]), ("note", "TX206"), *([("warning", "TX206")] if equal else []),
    ]  # fmt: skip


def test_warps_that_wait_elsewhere_are_named_with_their_own_places() -> None:
    @T.prim_func
    def kernel(D: T.Buffer((96,), "float32")):
        T.device_entry()
        warp = T.warp_id([3])
        lane = T.lane_id([32])
        if warp == 0:
            T.ptx.bar.sync(1, 96)
        elif warp == 1:
            T.ptx.bar.sync(2, 96)
        else:
            T.ptx.bar.sync(3, 96)
        D[warp * 32 + lane] = 1.0

    (finding,) = tvm.simulate(kernel, np.zeros(96, np.float32)).findings
    assert finding.code == "TX111" and "warp 1 at line" in finding.message and "warp 2 at line" in finding.message
