"""The time of a large launch from runs of parts of it; where that would not hold, all of it is run."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

import pytest

import tirx_mini as tvm
from tirx_mini.course import STEPS, default_kernels, load_kernels
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tirx_mini.sim import Outcome, Question, Sampling, Simulation, Size
from tirx_mini.sim.translate import repeats
from tirx_mini.worker import Twin

FOLDERS = {"b200": "sm100", "h100": "sm90"}


def reference(step: int, shape: tuple[int, int, int], gpu: str = "b200", sms: int | None = None) -> PrimFunc:
    return load_kernels(default_kernels(), FOLDERS[gpu], sms=sms)[step](*shape)


RINGS = {"b200": {5: 2, 6: 2, 7: 2, 8: 4, 9: 4, 10: 4}, "h100": {5: 2, 6: 2, 7: 2, 8: 4, 9: 6, 10: 6}}


@pytest.mark.parametrize("gpu", FOLDERS)
@pytest.mark.parametrize("step", [step for step in STEPS if step > 1])
def test_the_long_loops_of_every_reference_and_their_pipelines_are_found(step: int, gpu: str) -> None:
    shape = STEPS[step].shape(4096)
    found = repeats(lower(reference(step, shape, gpu)))
    assert set(found.loops.values()) == {64}
    assert found.ring == RINGS[gpu].get(step, 1)
    assert found.period == (2 * found.ring if gpu == "b200" and step >= 7 else 1)
    assert len(found.skips) == (2 if gpu == "h100" and step == 10 else 0)
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
    assert full.stats.keys() - part.stats.keys() == {"hbm_bytes"}


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


def test_a_role_skips_as_many_stages_as_the_other_one_has_iterations_left() -> None:
    spec = gpu_spec("h100").with_sms(2)
    kernel = reference(10, (1024, 768, 4096), "h100", sms=2)
    found = repeats(lower(kernel))
    rounds = [found.may_make(count * found.ring) for count in (2, 3, 4, 5)]
    assert all(rounds) and not all(map(found.may_make, range(found.trips)))
    full, part = (tvm.simulate(kernel, gpu=spec, data=False, sampled=each) for each in (False, True))
    assert part.sampled and part.time_us == pytest.approx(full.time_us, rel=0.02)
    assert part.stats["flops"] == pytest.approx(full.stats["flops"], rel=1e-6)


@pytest.mark.parametrize("twins", [True, False])
def test_several_processes_give_the_same_time(twins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for worth in ("WORTH_A_PROCESS", "WORTH_A_TWIN"):
        monkeypatch.setattr(f"tirx_mini.sim.plans.sampled.{worth}", 0)
    monkeypatch.setattr(Twin, "possible", lambda: twins and sys.platform == "linux")
    spec = gpu_spec("b200").with_sms(8)
    kernel = reference(4, (1024, 1024, 8192))
    one, two = (tvm.simulate(kernel, gpu=spec, data=False, sampled=True, jobs=jobs) for jobs in (1, 2))
    assert one.sampled and (one.sampled, one.cycles, one.stats) == (two.sampled, two.cycles, two.stats)


BY_NUMBER = """
@T.prim_func
def kernel(A: T.Buffer((4096,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([32])
    bars = T.alloc_shared((4,), "uint64")
    if tx == 0:
        for i in range(4):
            T.ptx.mbarrier.init(bars.ptr_to([i]), 1)
    T.cuda.cta_sync()
    for k in range(100):
        if tx == 0:
            T.ptx.mbarrier.arrive(bars.ptr_to([k % 4]))
        T.ptx.mbarrier.try_wait(bars.ptr_to([k % 4]), (k // 4) & 1)
        A[tx + 32 * k] = 1.0
"""


def test_stages_that_follow_from_the_number_of_an_iteration_are_left_out_by_whole_rounds() -> None:
    kernel = from_source(textwrap.dedent(BY_NUMBER))
    found = repeats(lower(kernel))
    assert (found.trips, found.ring, found.period) == (100, 4, 8)
    part, full = (tvm.simulate(kernel, data=False, sampled=each) for each in (True, False))
    assert part.sampled and not full.sampled
    assert part.cycles == pytest.approx(full.cycles, rel=0.02)


def sampling(waves: int) -> Sampling:
    """Of a launch of step 3 with that many waves of two CTAs, and 64 iterations."""
    func, spec = lower(reference(3, (256 * waves, 128, 4096))), gpu_spec("b200").with_sms(2)
    return Sampling(func, Simulation(func, [], Question(spec, data=False)).image, spec)


def slow_start(waves: int, trips: int, slow: int) -> float:
    """The first waves, `slow` of them, take almost twice the time of the others."""
    return 500.0 + 100.0 * trips * waves + 90.0 * trips * min(waves, slow)


@pytest.mark.parametrize(
    ("waves", "slow", "tried"), [(10, 2, [2, 3, 4]), (16, 3, [3, 4, 6]), (40, 3, [3, 6, 9]), (40, 5, [3, 6, 8, 9, 12])]
)
def test_more_waves_are_run_until_they_take_the_same_time(waves: int, slow: int, tried: list[int]) -> None:
    ran: list[Size] = []

    def run(sizes: Sequence[Size]) -> dict[Size, Outcome]:
        ran.extend(size for size in sizes if not size.alone)
        return {size: Outcome(slow_start(size.waves, size.trips, slow), (), None, (), {}) for size in sizes}

    found = sampling(waves).outcome(run)
    assert found is not None
    outcome, sampled = found
    assert sorted({size.waves for size in ran} - {2} | {tried[0]}) == tried and sampled.whole == Size(waves, 64)
    assert outcome.cycles == pytest.approx(slow_start(waves, 64, slow))


@pytest.mark.parametrize(("step", "trips"), [(3, {8, 16, 24}), (4, {8, 16, 24, 48})])
def test_most_iterations_are_run_where_the_order_of_ctas_depends_on_them_and_they_cost_little(
    step: int, trips: set[int]
) -> None:
    func, spec = lower(reference(step, (128 * 14, 128, 4096))), gpu_spec("b200").with_sms(2)
    ran: list[Size] = []

    def run(sizes: Sequence[Size]) -> dict[Size, Outcome]:
        ran.extend(size for size in sizes if not size.alone)
        return {size: Outcome(slow_start(size.waves, size.trips, 0), (), None, (), {}) for size in sizes}

    found = Sampling(func, Simulation(func, [], Question(spec, data=False)).image, spec).outcome(run)
    assert found is not None and found[0].cycles == pytest.approx(slow_start(7, 64, 0))
    assert {size.trips for size in ran} == trips and {size.waves for size in ran} == {1, 7}


OVERFLOW = """
@T.prim_func
def kernel(A: T.Buffer((4096,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([128])
    bar = T.alloc_shared((1,), "uint64")
    if tx == 0:
        T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
    T.cuda.cta_sync()
    for k in range(100):
        {arrive}
        A[tx + 32 * (k % 8)] = 1.0
        T.cuda.cta_sync()
"""
INITIALISED_TWICE = "if tx == 0: T.ptx.mbarrier.init(bar.ptr_to([0]), 1)"
PAIRS = "if tx < 2: T.ptx.mbarrier.arrive(bar.ptr_to([0]))"


@pytest.mark.parametrize("arrive", [INITIALISED_TWICE, PAIRS])
def test_a_wrong_use_of_an_mbarrier_is_told_by_a_run_of_the_whole(arrive: str) -> None:
    kernel = from_source(textwrap.dedent(OVERFLOW.format(arrive=arrive)))
    part, full = (tvm.simulate(kernel, data=False, sampled=sampled) for sampled in (True, False))
    assert full.findings and not part.sampled
    assert [str(finding) for finding in part.findings] == [str(finding) for finding in full.findings]


def test_a_part_that_blocks_leaves_the_whole_to_be_run() -> None:
    assert sampling(40).outcome(lambda sizes: dict.fromkeys(sizes)) is None


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


HIDDEN = """
@T.prim_func
def kernel(A: T.Buffer((32 * 64,), "float32")):
    T.device_entry()
    bx = T.cta_id([{ctas}])
    tx = T.thread_id([32])
    tile: T.int32
    tile = bx
    seen: T.int32
    seen = 0
    while tile < 64:
        if {where}:
            for i in range(3000):
                A[tx + 32 * bx] = 1.0
        for k in range(64):
            if {when}:
                for i in range(3000):
                    A[tx + 32 * bx] = 2.0
            seen = seen + 1
            A[tx + 32 * bx] = 0.0
            T.cuda.cta_sync()
        tile = tile + {ctas}
"""


@pytest.mark.parametrize(
    ("where", "when", "sampled"),
    [
        ("seen < 0", "k < 0", True),
        ("bx == 1", "k < 0", False),
        ("tile == 33", "k < 0", False),
        ("seen == 64 * 15", "k < 0", False),
        ("seen < 0", "k == 37", False),
        ("seen < 0", "seen == 999", False),
    ],
)
def test_nothing_that_takes_its_time_is_left_out(where: str, when: str, sampled: bool) -> None:
    """A CTA, a round, an iteration in the middle that is another one than the rest."""
    kernel = from_source(textwrap.dedent(HIDDEN.format(ctas=2, where=where, when=when)))
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
