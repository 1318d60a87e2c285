"""The critical path, on timelines made by hand: whom a wait leads to, and where a walk ends."""

from __future__ import annotations

from itertools import pairwise

from tirx_mini.diagnose import Activity, BarrierChange, CtaTime, Interval, Place, Resource, Signal, Timeline, TrackKind
from tirx_mini.diagnose import Track as T
from tirx_mini.diagnose.bound import Scene, critical_path
from tirx_mini.hardware import B200

TMA, MMA, LAST = (T(0, TrackKind.WARP, number) for number in range(3))
LOADS, TENSOR = T(0, TrackKind.TMA_LOAD), T(0, TrackKind.TENSOR)
FULL, DONE = Place(0, "full[0]"), Place(0, "done")
RUN, WAIT, BUSY = Activity.RUN, Activity.WAIT, Activity.BUSY


def signals(place: Place, source: T, kind: Signal, time: float) -> list[BarrierChange]:
    return [
        BarrierChange(time, place, source, kind, 0, 0, 0), BarrierChange(time, place, source, Signal.COMPLETE, 0, 1, 0)
    ]  # fmt: skip


def parts(timeline: Timeline) -> list[tuple[Resource, float, float]]:
    return [(step.resource, step.start, step.end) for step in critical_path(Scene(timeline, B200, 0)).steps[::-1]]


def test_waits_lead_through_the_tensor_core_and_the_load_to_their_issue() -> None:
    """TMA issues until 100, the load lands at 1000, the MMAs run until 1300, and the last warp stores until 1500."""
    latency, tail = B200.l2_latency, B200.tma_latency - B200.l2_latency
    intervals = (
        Interval(TMA, RUN, "cp.async.bulk.tensor.load", 0, 100),
        Interval(LOADS, BUSY, "load A", 100, 1000, stage=0, barrier=FULL, phase=0, moved=(100 + latency, 1000 - tail)),
        Interval(MMA, WAIT, "full[0]", 0, 1030, barrier=FULL, phase=0),
        Interval(MMA, RUN, "tcgen05.mma", 1030, 1090, stage=0),
        Interval(TENSOR, BUSY, "MMA", 1050, 1300, stage=0, barrier=DONE, phase=0),
        Interval(LAST, WAIT, "done", 0, 1410, barrier=DONE, phase=0),
        Interval(LAST, RUN, "store", 1410, 1500),
    )
    changes = (*signals(FULL, LOADS, Signal.TMA_LOAD, 1000), *signals(DONE, TENSOR, Signal.COMMIT, 1380))
    timeline = Timeline(
        tuple(sorted(intervals, key=lambda i: i.start)), changes, (CtaTime(0, "CTA 0", 0, 0, 0, 0, 1500),),
        roles={TMA: "TMA", MMA: "MMA", LAST: "write-back"}, cycles=1500,
    )  # fmt: skip
    found = parts(timeline)
    assert found[0][1] == 0 and found[-1][2] == 1500
    assert all(before[2] == after[1] for before, after in pairwise(found)), found
    assert (Resource.TENSOR, 1050, 1300) in found and (Resource.COMPLETION, 1300, 1380) in found
    assert (Resource.WRITE_BACK, 1410, 1500) in found
    assert (Resource.L2, 100 + latency, 1000 - tail) in found
    assert {resource for resource, _, _ in found} >= {Resource.LATENCY, Resource.SIGNALS, Resource.ISSUE}


def test_a_barrier_leads_to_who_came_last_and_a_cta_to_the_one_before() -> None:
    second = T(1, TrackKind.WARP, 0)
    intervals = (
        Interval(TMA, RUN, "copy", 0, 100),
        Interval(TMA, WAIT, "bar.sync 0", 100, 430),
        Interval(MMA, RUN, "copy", 0, 400),
        Interval(MMA, WAIT, "bar.sync 0", 400, 430),
        Interval(second, RUN, "copy", 1000, 1200),
    )
    ctas = (CtaTime(0, "CTA 0", 0, 0, 0, 0, 430), CtaTime(1, "CTA 1", 0, 1, 0, 1000, 1200))
    timeline = Timeline(tuple(sorted(intervals, key=lambda i: i.start)), (), ctas, cycles=1200)
    assert parts(timeline) == [
        (Resource.COPIES, 0, 400), (Resource.SIGNALS, 400, 430), (Resource.LAUNCH, 430, 1000),
        (Resource.COPIES, 1000, 1200),
    ]  # fmt: skip


def test_two_waits_that_end_together_end_the_walk() -> None:
    """Each of two warps made the last signal of the other's barrier at the time at which both go on."""
    mine, yours = Place(0, "mine"), Place(0, "yours")
    intervals = (
        Interval(TMA, RUN, "load", 0, 10),
        Interval(MMA, RUN, "load", 0, 10),
        Interval(TMA, WAIT, "mine", 10, 50, barrier=mine, phase=0),
        Interval(MMA, WAIT, "yours", 10, 50, barrier=yours, phase=0),
    )
    changes = (*signals(mine, MMA, Signal.ARRIVE, 50), *signals(yours, TMA, Signal.ARRIVE, 50))
    timeline = Timeline(intervals, changes, (CtaTime(0, "CTA 0", 0, 0, 0, 0, 50),), cycles=50)
    assert parts(timeline)[0] == (Resource.COPIES, 0, 10)
