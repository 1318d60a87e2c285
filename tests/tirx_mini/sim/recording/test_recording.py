"""The timeline of kernels of the course: what warps and engines do, what they wait for, and who ended that."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.course import default_kernels, load_kernels
from tirx_mini.diagnose import Report
from tirx_mini.hardware import GpuSpec, gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.sim import Activity, Interval, Signal, Timeline, Track, TrackKind

SHAPES = {4: (128, 256, 256), 7: (256, 256, 512), 9: (512, 512, 256), 10: (512, 512, 256)}
STAGED = (7, 9, 10)


def simulated(kernel: PrimFunc, shape: tuple[int, int, int], gpu: str | GpuSpec, **options: bool) -> Report:
    m, n, k = shape
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(size).astype(np.float16) for size in ((m, k), (n, k)))
    return tvm.simulate(kernel, a, b, np.zeros((m, n), np.float16), gpu=gpu, **options)


@cache
def timeline(step: int, gpu: str = "b200") -> Timeline:
    kernels = load_kernels(default_kernels(), gpu_spec(gpu).architecture.kernels)
    report = simulated(kernels[step](*SHAPES[step]), SHAPES[step], gpu, trace=True)
    assert report.ok and report.trace is not None
    return report.trace


@cache
def _by_track(step: int, gpu: str) -> dict[Track, list[Interval]]:
    tracks: dict[Track, list[Interval]] = {}
    for interval in timeline(step, gpu).intervals:
        tracks.setdefault(interval.track, []).append(interval)
    return tracks


def of(step: int, track: Track, gpu: str = "b200") -> list[Interval]:
    """The intervals of a track."""
    return _by_track(step, gpu)[track]


def warps_of(found: Timeline, role: str, cta: int = 0) -> list[Track]:
    return [track for track, name in found.roles.items() if name == role and track.cta == cta]


@pytest.mark.parametrize("gpu", ["b200", "h100"])
@pytest.mark.parametrize("step", [1, 3, 4, 7])
def test_a_run_without_data_has_the_timeline_of_one_with_data(step: int, gpu: str) -> None:
    shape = {1: (128, 128, 64), 3: (256, 128, 128)}.get(step) or SHAPES[step]
    kernel = load_kernels(default_kernels(), gpu_spec(gpu).architecture.kernels)[step](*shape)
    clock, full = simulated(kernel, shape, gpu, trace=True, data=False), simulated(kernel, shape, gpu, trace=True)
    assert clock.trace is not None and full.trace is not None
    assert clock.trace.intervals == full.trace.intervals
    assert (clock.trace.tiles, clock.trace.roles) == (full.trace.tiles, full.trace.roles)


@pytest.mark.parametrize("step", SHAPES)
def test_a_recorded_run_takes_the_time_of_one_that_is_not(step: int) -> None:
    kernel = load_kernels(default_kernels())[step](*SHAPES[step])
    plain = simulated(kernel, SHAPES[step], "b200")
    assert plain.trace is None and timeline(step).cycles == plain.cycles


@pytest.mark.parametrize("step", SHAPES)
def test_the_intervals_of_a_warp_follow_one_another_from_its_start_to_its_end(step: int) -> None:
    found = timeline(step)
    for cta in found.ctas:
        for track in (Track(cta.cta, TrackKind.WARP, warp) for warp in range(len(found.roles) // len(found.ctas))):
            intervals = of(step, track)
            assert intervals[0].start == cta.start and intervals[-1].end <= cta.end
            assert all(a.end == b.start for a, b in pairwise(intervals))
            assert all(interval.end > interval.start for interval in intervals)


@pytest.mark.parametrize("step", SHAPES)
def test_each_wait_for_an_mbarrier_is_ended_by_a_change_that_comes_before_its_end(step: int) -> None:
    found = timeline(step)
    waits = [interval for interval in found.intervals if interval.activity is Activity.WAIT and interval.barrier]
    assert waits
    for wait in waits:
        change = found.ended_by(wait)
        assert change is not None and change.barrier == wait.barrier and change.phase == wait.phase
        assert change.time <= wait.end


def test_the_mma_warp_waits_for_loads_and_the_tma_warp_for_mmas() -> None:
    found = timeline(7)
    (mma,), (tma,) = warps_of(found, "MMA"), warps_of(found, "TMA")
    ended = {
        track: {change.source.kind for wait in of(7, track) if (change := found.ended_by(wait))} for track in (mma, tma)
    }
    assert ended[mma] == {TrackKind.TMA_LOAD} and ended[tma] == {TrackKind.TENSOR}
    # The load of stage 1 lands while the MMAs of stage 0 are issued.
    assert {wait.name for wait in of(7, mma) if wait.barrier} == {"tma2mma[0]"}
    assert {wait.name for wait in of(7, tma) if wait.barrier} == {"mma2tma[0]", "mma2tma[1]"}


@pytest.mark.parametrize("step", STAGED)
def test_loads_multiplications_and_waits_know_their_stage(step: int) -> None:
    found = timeline(step)
    for name in ("load A", "load B", "MMA"):
        stages = {interval.stage for interval in found.intervals if interval.name == name}
        assert len(stages) > 1 and None not in stages
    for interval in found.intervals:
        if interval.barrier is not None and "[" in interval.barrier.name:
            assert interval.barrier.name.endswith(f"[{interval.stage}]")


def test_engines_say_what_they_move_and_signal() -> None:
    load = of(7, Track(0, TrackKind.TMA_LOAD))[0]
    assert load.activity is Activity.BUSY and load.name == "load A" and load.barrier is not None
    assert load.barrier.name == "tma2mma[0]" and load.phase == 0
    assert dict(load.operands)["box"] == "A[0:128, 0:64]" and dict(load.operands)["bytes"] == str(128 * 64 * 2)
    assert load.moved is not None and load.start < load.moved[0] <= load.moved[1] <= load.end
    store = of(7, Track(0, TrackKind.TMA_STORE))[0]
    assert store.name == "store D" and store.barrier is None and store.moved is not None
    assert store.start <= store.moved[1] <= store.end
    mma = of(7, Track(0, TrackKind.TENSOR))[0]
    assert dict(mma.operands)["A"] == "Asmem[0]" and mma.barrier is not None and mma.barrier.name == "mma2tma[0]"


def test_both_tensor_cores_of_a_pair_are_busy_with_its_mmas() -> None:
    even, odd = (of(9, Track(cta, TrackKind.TENSOR)) for cta in (0, 1))
    assert even and [(i.start, i.end) for i in even] == [(i.start, i.end) for i in odd]
    assert {i.barrier.cta for i in odd if i.barrier} == {1}


@pytest.mark.parametrize("step", SHAPES)
def test_changes_count_a_phase_down_to_its_completion(step: int) -> None:
    found = timeline(step)
    times = [change.time for change in found.changes]
    assert times == sorted(times)
    barriers = {change.barrier for change in found.changes}
    for barrier in barriers:
        last = None
        for change in (change for change in found.changes if change.barrier == barrier):
            if change.kind is Signal.COMPLETE:
                assert last is not None and last.pending == 0 and last.tx == 0 and last.phase == change.phase
                assert change.pending > 0
            elif last is not None and last.kind is Signal.COMPLETE:
                assert change.phase == last.phase + 1
            last = change


def test_roles_are_what_warps_issue() -> None:
    roles = {track.warp: role for track, role in timeline(10).roles.items() if track.cta == 0}
    assert [roles[warp] for warp in range(8)] == ["write-back"] * 8
    assert sorted(roles[warp] for warp in range(8, 12)) == ["MMA", "MMA", "TMA", "other"]
    assert set(timeline(4).roles.values()) == {"all", "write-back"}


def test_tiles_tell_where_their_results_go() -> None:
    found = timeline(7)
    assert {tile.name for tile in found.tiles} >= {"D[0:128, 0:128]", "D[128:256, 128:256]"}
    for tile in found.tiles:
        cta = found.ctas[tile.cta]
        assert cta.start <= tile.start <= tile.end <= cta.end


@pytest.mark.parametrize("k", [64, 128])
@pytest.mark.parametrize(("step", "tile"), [(7, (128, 128)), (9, (128, 256)), (10, (256, 256))])
def test_tiles_whose_stores_come_after_the_next_mmas_keep_their_places(
    step: int, tile: tuple[int, int], k: int
) -> None:
    shape = 512, 1024, k
    kernel = load_kernels(default_kernels(), sms=2)[step](*shape)
    found = simulated(kernel, shape, gpu_spec("b200").with_sms(2), data=False, trace=True).trace
    assert found is not None
    rows, columns = ([range(at, at + e) for at in range(0, n, e)] for n, e in zip(shape[:2], tile, strict=True))
    everywhere = {f"D[{r.start}:{r.stop}, {c.start}:{c.stop}]" for r in rows for c in columns}
    assert sorted(each.name for each in found.tiles) == sorted(everywhere)


def test_the_tile_of_a_cta_begins_when_it_gets_its_tensor_memory() -> None:
    """Two CTAs live on one SM, and each wants all columns: the second one waits for the first."""
    kernel = load_kernels(default_kernels())[4](*SHAPES[4])
    found = simulated(kernel, SHAPES[4], gpu_spec("b200").with_sms(1), trace=True).trace
    assert found is not None and len(found.tiles) == 2
    (wait,) = {i.end for i in found.intervals if i.activity is Activity.WAIT and i.name == "tcgen05.alloc"}
    assert found.ctas[1].start < wait - 1000 and found.tiles[1].start == wait


def test_a_warpgroup_of_hopper_is_recorded_too() -> None:
    found = timeline(7, "h100")
    tensor = [interval for interval in found.intervals if interval.track.kind is TrackKind.TENSOR]
    assert tensor and all(interval.name == "MMA" for interval in tensor)
    assert "MMA, write-back" in found.roles.values() and "TMA" in found.roles.values()
    assert any(interval.name == "wgmma-group" for interval in found.intervals)
