"""Loops that one warp goes round for its warpgroup, in runs of parts of a launch."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tirx_mini.course import STEPS, default_kernels, load_kernels
from tirx_mini.hardware import GpuSpec, gpu_spec
from tirx_mini.ir import Call, PrimFunc, walk
from tirx_mini.isa import TABLE, BarrierEffect, Completion
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tirx_mini.sim import Gpu, Outcome, Question, Setup, Simulation
from tirx_mini.sim.engines import NoRepresentatives, Representatives, TensorCores, WarpWgmma
from tirx_mini.sim.machine import NO_VALUES
from tirx_mini.sim.translate import Cut, Led, repeats, translate


def reference(step: int, gpu: str, shape: tuple[int, int, int], sms: int | None = None) -> PrimFunc:
    folder = {"b200": "sm100", "h100": "sm90"}[gpu]
    return lower(load_kernels(default_kernels(), folder, sms=sms)[step](*shape))


def outcome(func: PrimFunc, spec: GpuSpec, cut: Cut) -> Outcome:
    arrays = Simulation(func, [None] * len(func.params), Question(spec, data=False)).arrays
    return Gpu(translate(func, data=False, cut=cut).image, arrays, spec, Setup(values=NO_VALUES)).run()


LED = [("h100", step) for step in STEPS if step > 2] + [("b200", step) for step in (3, 7, 8, 9, 10)]


@pytest.mark.parametrize(("gpu", "step"), LED)
def test_the_loops_of_every_consumer_and_of_every_write_back_are_led(gpu: str, step: int) -> None:
    func = reference(step, gpu, STEPS[step].shape(4096))
    found = repeats(func)
    inside = {node for loop in found.led.loops for node in (loop, *walk(loop.body))}
    entries = [TABLE[node.op] for node in inside if isinstance(node, Call)]
    assert bool(found.loops.keys() & inside) == (gpu == "h100" or step == 3)
    if step >= 7:
        assert {entry.barrier for entry in entries} >= {BarrierEffect.WAIT, BarrierEffect.ARRIVE}
        assert any(entry.completion is Completion.BULK_GROUP for entry in entries)


@pytest.mark.parametrize(("gpu", "step"), LED)
def test_one_warp_for_all_takes_the_time_of_all(gpu: str, step: int) -> None:
    spec = gpu_spec(gpu).with_sms(4)
    func = reference(step, gpu, (1024, 768, 1024), sms=4)
    one, all_of_them = (outcome(func, spec, Cut(led=led)) for led in (repeats(func).led, Led()))
    assert one.fault is None and not one.blocked and not one.facts
    assert one.cycles == pytest.approx(all_of_them.cycles, rel=0.01)
    assert one.stats == pytest.approx(all_of_them.stats, rel=1e-4)  # the others load no address of tensor memory


KERNEL = """
@T.prim_func
def kernel(A: T.Buffer((4096,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([{threads}])
    bars = T.alloc_shared((2,), "uint64")
    if tx == 0:
        T.ptx.mbarrier.init(bars.ptr_to([0]), {count})
        T.ptx.mbarrier.init(bars.ptr_to([1]), 1)
    T.cuda.cta_sync()
    phase: T.int32
    phase = 0
    for k in range(16):
        {statement}
        T.ptx.mbarrier.try_wait(bars.ptr_to([0]), phase)
        phase = phase ^ 1
        T.cuda.cta_sync()
    if phase == 0:
        A[tx] = 1.0
"""
FIRST = "if tx == 0: T.ptx.mbarrier.arrive(bars.ptr_to([0]))"


@pytest.mark.parametrize(
    ("threads", "count", "statement", "led"),
    [
        (128, 1, FIRST, True),
        (128, 4, "if tx % 32 == 0: T.ptx.mbarrier.arrive(bars.ptr_to([0]))", True),
        (128, 2, "if tx % 64 == 0: T.ptx.mbarrier.arrive(bars.ptr_to([0]))", False),
        (128, 128, "T.ptx.mbarrier.arrive(bars.ptr_to([0]))", True),
        (128, 1, "if tx % 64 == 0: T.ptx.mbarrier.arrive(bars.ptr_to([tx // 64]))", False),
        (128, 1, FIRST.replace("0:", "32:", 1), False),
        (256, 1, FIRST, False),
        (64, 1, FIRST, False),
    ],
)
def test_a_loop_is_led_where_the_warps_do_the_same_or_only_the_first_one_does_something(
    threads: int, count: int, statement: str, led: bool
) -> None:
    func = lower(from_source(textwrap.dedent(KERNEL.format(threads=threads, count=count, statement=statement))))
    found = repeats(func)
    assert bool(found.led.loops) == led
    results = [outcome(func, gpu_spec("h100"), Cut(led=each)) for each in (found.led, Led())]
    assert not any(each.blocked or each.fault or each.facts for each in results)
    assert results[0].cycles == pytest.approx(results[1].cycles, rel=0.01)
    assert results[0].stats["l2_bytes"] == results[1].stats["l2_bytes"] > 0


WARPGROUPS = """
@T.prim_func
def kernel(A: T.Buffer((8192,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([{threads}])
    warp = T.warp_id([{threads} // 32])
    tile = T.alloc_shared(({threads},), "float32")
    for k in range(16):
        tile[tx] = 1.0
        T.ptx.bar.sync(1 + warp // 4, {count})
        if tx {first}:
            A[tx + 32 * k] = 2.0
        T.ptx.bar.sync(1 + warp // 4, {count})
"""


@pytest.mark.parametrize(
    ("threads", "count", "first", "led"),
    [
        (256, 128, "% 128 == 0", True),
        (256, 256, "% 128 == 0", False),
        (256, 128, "% 64 == 0", False),
        (192, 64, "% 128 == 0", False),
    ],
)
def test_a_barrier_of_a_warpgroup_is_passed_by_its_first_warp(threads: int, count: int, first: str, led: bool) -> None:
    source = WARPGROUPS.format(threads=threads, count=count, first=first)
    func = lower(from_source(textwrap.dedent(source.replace("1 + warp // 4", "1") if count == 256 else source)))
    found = repeats(func)
    assert bool(found.led.loops) == led
    results = [outcome(func, gpu_spec("h100"), Cut(led=each)) for each in (found.led, Led())]
    assert not any(each.blocked or each.fault for each in results)
    assert results[0].cycles == pytest.approx(results[1].cycles, rel=0.01)
    assert results[0].stats == pytest.approx(results[1].stats)


@pytest.mark.parametrize("step", [4, 9])
def test_series_of_wgmma_that_are_known_take_the_time_of_those_that_are_not(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = gpu_spec("h100").with_sms(4)
    func = reference(step, "h100", (512, 512, 1024), sms=4)
    known = outcome(func, spec, Cut())
    issued = 0
    issue = WarpWgmma.issue

    def counted(self: WarpWgmma, *args: Any) -> None:
        nonlocal issued
        issued += 1
        issue(self, *args)

    monkeypatch.setattr(WarpWgmma, "issue", counted)
    assert outcome(func, spec, Cut()).cycles == known.cycles
    few, issued = issued, 0
    monkeypatch.setattr(WarpWgmma, "again", lambda *args: False)
    one_by_one = outcome(func, spec, Cut())
    assert (one_by_one.cycles, one_by_one.stats) == (known.cycles, known.stats)
    assert 0 < few < issued / 10


@pytest.mark.parametrize("step", [4, 8, 10])
def test_known_mmas_of_a_thread_take_the_time_that_they_took(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = gpu_spec("b200").with_sms(4)
    func = reference(step, "b200", (1024, 512, 1024), sms=4)
    one_by_one = outcome(func, spec, Cut())
    issued = 0
    issue = TensorCores.mma

    def counted(self: TensorCores, *args: Any) -> None:
        nonlocal issued
        issued += 1
        issue(self, *args)

    monkeypatch.setattr(TensorCores, "mma", counted)
    known = outcome(func, spec, Cut(known_mmas=True))
    assert issued < known.stats["flops"] / (2.0 * 128 * 128 * 16) / 10
    assert known.cycles == pytest.approx(one_by_one.cycles, rel=0.01)
    assert known.stats == pytest.approx(one_by_one.stats, rel=1e-3)  # no loads of the address of tensor memory


def with_and_without_stand_ins(
    step: int, shape: tuple[int, int, int], sms: int, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[float, dict[str, float], int]]:
    """(cycles, figures, groups that were committed) where each warp goes round, and where some stand in for others."""
    spec = gpu_spec("h100").with_sms(sms)
    simulation = Simulation(reference(step, "h100", shape, sms=sms), [None] * 3, Question(spec, data=False))
    commits = 0
    commit = WarpWgmma.commit

    def counted(self: WarpWgmma) -> None:
        nonlocal commits
        commits += 1
        commit(self)

    found = []
    with monkeypatch.context() as patch:
        patch.setattr(WarpWgmma, "commit", counted)
        for active in (False, True):
            commits = 0
            machine = Gpu(simulation.image, simulation.arrays, spec, Setup(values=NO_VALUES, equal=True))
            machine.representatives = (Representatives if active else NoRepresentatives)(machine.wgmma)
            outcome = machine.run()
            assert not outcome.blocked and not outcome.facts
            found.append((outcome.cycles, outcome.stats, commits))
    return found


@pytest.mark.parametrize("step", [step for step in STEPS if step > 3])
def test_a_warp_stands_in_for_others_to_the_cycle(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, together = with_and_without_stand_ins(step, (1024, 1536, 1024), 8, monkeypatch)
    assert alone[:2] == together[:2]
    most = 0.7 if step in (7, 10) else 0.9  # there, warps 1, 2 and 3 come to the loop one right after the other
    assert together[2] < most * alone[2]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    step=st.sampled_from([7, 8, 9, 10]), m=st.integers(2, 6), n=st.integers(2, 8), k=st.integers(4, 20),
    sms=st.sampled_from([4, 6, 12]),
)  # fmt: skip
def test_a_warp_stands_in_for_others_whatever_the_shape(
    step: int, m: int, n: int, k: int, sms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, together = with_and_without_stand_ins(step, (256 * m, 256 * n, 64 * k), sms, monkeypatch)
    assert alone[:2] == together[:2]
