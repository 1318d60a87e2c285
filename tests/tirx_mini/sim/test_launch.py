"""Launches: where CTAs and clusters are placed, how many an SM holds at once, and the limits of a launch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.tirx_mini.sim.bare import block, run
from tirx_mini.hardware import B200
from tirx_mini.sim import RunningWarp

SMALL = replace(B200, sms=4)


def busy(w: RunningWarp) -> Any:
    """Note where and when the warp runs, for 1000 cycles."""
    w.gpu.seen[w.block_idx, w.warp_id] = (w.cta.sm.index, w.time)
    w.time += 1000
    yield from ()


def test_every_thread_of_a_grid_runs_once() -> None:
    result = run(busy, grid=(3, 2, 2), threads=96, spec=SMALL)
    assert result.kinds == [] and len(result.seen) == 12 * 3
    assert {block for block, _ in result.seen} == {(x, y, z) for x in range(3) for y in range(2) for z in range(2)}


def test_ctas_are_spread_before_they_share_an_sm() -> None:
    result = run(busy, grid=(8, 1, 1), spec=SMALL)
    where = [result.seen[(x, 0, 0), 0] for x in range(8)]
    assert sorted(sm for sm, _ in where[:4]) == [0, 1, 2, 3] and all(time == 0 for _, time in where)


@pytest.mark.parametrize(
    ("options", "resident"),
    [
        ({"shared": {"data": ("uint8", 100 * 1024)}}, 2),
        ({"shared": {"data": ("uint8", 232_448)}}, 1),
        ({"threads": 1024}, 2),
        ({"threads": 256, "registers": 128}, 2),
        ({}, 32),
    ],
)  # fmt: skip
def test_an_sm_holds_as_many_ctas_as_its_resources_allow(options: dict[str, Any], resident: int) -> None:
    """Shared memory (and 1 KiB more a CTA), threads, registers and CTAs limit what an SM holds."""
    result = run(busy, grid=(resident + 1, 1, 1), spec=replace(B200, sms=1), **options)
    late = [block for (block, warp), (_, time) in result.seen.items() if warp == 0 and time > 0]
    assert late == [(resident, 0, 0)]


def test_clusters_are_launched_together() -> None:
    def program(w: RunningWarp) -> Any:
        w.gpu.seen[w.block_idx] = (w.cluster_ctaid, w.cluster_ctarank, w.cta.sm.index, w.cta.cluster.index)
        yield from block(w, "barrier.cluster.sync")

    result = run(program, grid=(4, 4, 1), cluster=(2, 2, 1), spec=replace(B200, sms=8))
    assert result.kinds == [] and not result.outcome.blocked
    for (x, y, _), (inner, rank, _, _) in result.seen.items():
        assert inner == (x % 2, y % 2, 0) and rank == x % 2 + 2 * (y % 2)
    by_cluster: dict[int, set[tuple[int, int]]] = {}
    for (x, y, _), (_, _, _, cluster) in result.seen.items():
        by_cluster.setdefault(cluster, set()).add((x // 2, y // 2))
    assert all(len(places) == 1 for places in by_cluster.values()) and len(by_cluster) == 4


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"grid": (3, 1, 1), "cluster": (2, 1, 1)}, "launch-limit"),
        ({"grid": (16, 1, 1), "cluster": (16, 1, 1)}, "launch-limit"),
        ({"grid": (1 << 40, 1, 1)}, "launch-limit"),
        ({"grid": (1, 65_536, 1)}, "launch-limit"),
        ({"threads": 2048}, "launch-limit"),
        ({"threads": 1024, "registers": 128}, "register-limit"),
        ({"shared": {"A": ("uint8", 200_000), "B": ("uint8", 62_144)}}, "shared-memory-limit"),
    ],
)  # fmt: skip
def test_a_launch_over_a_limit_is_a_fault(options: dict[str, Any], kind: str) -> None:
    result = run(busy, **options)
    assert result.finding.kind == kind and not result.seen


def test_the_limit_names_the_buffer() -> None:
    finding = run(busy, shared={"A": ("uint8", 200_000), "B": ("uint8", 62_144)}).finding
    assert finding.details["buffer"] == "B" and finding.span is not None and finding.span.line == 1001
    assert "232448" in finding.message


def test_the_last_warp_of_a_cta_may_have_fewer_than_32_threads() -> None:
    def program(w: RunningWarp) -> Any:
        w.gpu.seen[w.warp_id] = (w.mask.count, w.thread_idx[0])
        yield from block(w, "bar.sync.all", 0)

    result = run(program, threads=40)
    assert result.kinds == [] and not result.outcome.blocked and result.seen == {0: (32, 0), 1: (8, 32)}
