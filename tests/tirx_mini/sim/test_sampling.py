"""The time of a large launch from runs of parts of it; where that would not hold, all of it is run."""

from __future__ import annotations

import textwrap

import pytest

import tirx_mini as tvm
from tirx_mini.course import STEPS, default_kernels, load_kernels
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tirx_mini.sim.translate import repeats

FOLDERS = {"b200": "sm100", "h100": "sm90"}


def reference(step: int, shape: tuple[int, int, int], gpu: str = "b200", sms: int | None = None) -> PrimFunc:
    return load_kernels(default_kernels(), FOLDERS[gpu], sms=sms)[step](*shape)


PERIODS = {"b200": {5: 4, 6: 4, 7: 4, 8: 8, 9: 8, 10: 8}, "h100": {5: 4, 6: 4, 7: 4, 8: 8, 9: 12, 10: 12}}


@pytest.mark.parametrize("gpu", FOLDERS)
@pytest.mark.parametrize("step", [step for step in STEPS if step > 1])
def test_the_long_loops_of_every_reference_and_their_pipelines_are_found(step: int, gpu: str) -> None:
    shape = STEPS[step].shape(4096)
    found = repeats(lower(reference(step, shape, gpu)))
    assert set(found.loops.values()) == {64}
    assert found.period == PERIODS[gpu].get(step, 2)
    assert bool(found.persistent) == (step >= 6)


# Few SMs: many waves and a long K in little time.
CASES = [("b200", 3, (1024, 512, 4096)), ("b200", 5, (1024, 512, 4096)), ("h100", 3, (1024, 512, 4096))]
PERSISTENT = [("b200", 7), ("b200", 8), ("h100", 8)]


@pytest.mark.parametrize(("gpu", "step", "shape"), CASES)
def test_the_time_is_that_of_the_whole_launch(gpu: str, step: int, shape: tuple[int, int, int]) -> None:
    spec = gpu_spec(gpu).with_sms(2)
    kernel = reference(step, shape, gpu)
    full = tvm.simulate(kernel, gpu=spec, data=False)
    part = tvm.simulate(kernel, gpu=spec, data=False, sampled=True)
    assert part.verdict == full.verdict == "clock" and part.sampled and not full.sampled
    assert part.time_us == pytest.approx(full.time_us, rel=0.02)
    for name in ("flops", "tensor_cycles", "l2_bytes"):
        assert part.stats[name] == pytest.approx(full.stats[name], rel=1e-6)


@pytest.mark.parametrize(("gpu", "step"), PERSISTENT)
def test_the_time_is_that_of_all_rounds_of_a_persistent_kernel(gpu: str, step: int) -> None:
    spec = gpu_spec(gpu).with_sms(2)
    kernel = reference(step, (512, 768, 4096), gpu, sms=2)
    full = tvm.simulate(kernel, gpu=spec, data=False)
    part = tvm.simulate(kernel, gpu=spec, data=False, sampled=True)
    assert part.sampled and "waves" in part.sampled and part.sampled in str(part)
    assert part.time_us == pytest.approx(full.time_us, rel=0.02)
    assert part.stats["flops"] == pytest.approx(full.stats["flops"], rel=1e-6)
    assert part.stats["tma_store_bytes"] == pytest.approx(full.stats["tma_store_bytes"], rel=1e-6)


def test_a_small_launch_is_run_in_full() -> None:
    kernel = reference(7, (512, 512, 512))
    part, full = (tvm.simulate(kernel, data=False, sampled=sampled) for sampled in (True, False))
    assert not part.sampled and part.cycles == full.cycles and part.stats == full.stats


UNEVEN = """
@T.prim_func
def kernel(A: T.Buffer((4096,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([32])
    for k in range(100):
        if k {when}:
            for i in range(60):
                A[tx + 32 * (i % 2)] = 1.0
        T.cuda.cta_sync()
"""


@pytest.mark.parametrize(("when", "sampled"), [("< 6", False), ("< 200", True)])
def test_a_launch_whose_time_does_not_grow_evenly_is_run_in_full(when: str, sampled: bool) -> None:
    kernel = from_source(textwrap.dedent(UNEVEN.format(when=when)))
    part, full = (tvm.simulate(kernel, data=False, sampled=each) for each in (True, False))
    assert bool(part.sampled) == sampled
    assert part.cycles == pytest.approx(full.cycles, rel=0.02)


def test_a_deadlock_of_the_parts_is_one_of_the_whole() -> None:
    body = 'bar = T.alloc_shared((1,), "uint64")\n    T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)\n    for k in'
    kernel = from_source(textwrap.dedent(UNEVEN.format(when="< 200").replace("for k in", body)))
    report = tvm.simulate(kernel, data=False, sampled=True)
    assert report.verdict == "deadlock" and not report.sampled


def test_sampling_needs_a_run_without_data() -> None:
    with pytest.raises(ValueError, match="data=False"):
        tvm.simulate(reference(1, (128, 128, 64)), sampled=True)
