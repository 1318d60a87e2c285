"""Pipeline states and the tile scheduler are executed and compared with plain Python."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.lang import ClusterPersistentScheduler2D, PipelineState
from tirx_mini.script import tirx as Tx


def simulate(kernel: PrimFunc, *args: Any) -> None:
    report = tvm.simulate(kernel, *args)
    assert report.verdict == "ok" and not report.findings, str(report)


def rounds(depth: int, steps: int, producer: bool, spelling: str) -> PrimFunc:
    """A kernel that writes its stage and phase in each of `steps` steps."""

    @Tx.prim_func(tirx=True)
    def kernel(out: Tx.Buffer((steps, 2), "int32")):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            lane = Tx.thread_id([32], parent="cta")
            if spelling == "named":
                state = PipelineState("tma", depth)
                state.init(is_producer=producer)
            else:
                state = PipelineState(depth, phase=int(producer))
            for i in range(steps):
                if lane == 0:
                    out[i, 0] = state.stage
                    out[i, 1] = state.phase
                if spelling == "named":
                    state.move_to_next_stage()
                else:
                    state.advance()

    return kernel


@pytest.mark.parametrize("spelling", ["named", "short"])
@pytest.mark.parametrize("producer", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_the_phase_flips_with_each_pass_through_the_ring(depth: int, producer: bool, spelling: str) -> None:
    out = np.full((11, 2), -1, np.int32)
    simulate(rounds(depth, 11, producer, spelling), out)
    assert out.tolist() == [[i % depth, int(producer) ^ (i // depth % 2)] for i in range(11)]


def test_a_pipeline_without_stages_is_reported() -> None:
    with pytest.raises(TirxError, match="number of stages"):
        rounds(0, 1, True, "named")


def scheduled(m_tiles: int, n_tiles: int, group: int, clusters: int) -> PrimFunc:
    """A kernel that counts how often each tile is computed, and in which iteration."""

    @Tx.prim_func(tirx=True)
    def kernel(out: Tx.Buffer((m_tiles, n_tiles), "int32"), order: Tx.Buffer((m_tiles, n_tiles), "int32")):
        with Tx.kernel():
            bx = Tx.cta_id([clusters], parent="kernel")
            lane = Tx.thread_id([32], parent="cta")
            scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=m_tiles, num_n_tiles=n_tiles, l2_group_size=group, num_clusters=clusters
            )
            scheduler.init(bx)
            count: Tx.int32 = 0
            while scheduler.valid():
                if lane == 0:
                    out[scheduler.m_idx, scheduler.n_idx] += 1
                    order[scheduler.m_idx, scheduler.n_idx] = count * clusters + bx
                count += 1
                scheduler.next_tile()

    return kernel


def group_major(m_tiles: int, n_tiles: int, group: int) -> list[tuple[int, int]]:
    """The tiles group by group, and column by column within a group."""
    return [
        (m, n)
        for first in range(0, m_tiles, group)
        for n in range(n_tiles)
        for m in range(first, min(first + group, m_tiles))
    ]


@settings(max_examples=25)
@given(st.integers(1, 9), st.integers(1, 7), st.integers(1, 10), st.integers(1, 12))
def test_every_tile_is_computed_once_in_group_major_order(
    m_tiles: int, n_tiles: int, group: int, clusters: int
) -> None:
    out = np.zeros((m_tiles, n_tiles), np.int32)
    order = np.full((m_tiles, n_tiles), -1, np.int32)
    simulate(scheduled(m_tiles, n_tiles, group, clusters), out, order)
    assert (out == 1).all()
    expected = {tile: place for place, tile in enumerate(group_major(m_tiles, n_tiles, group))}
    assert {(m, n): int(order[m, n]) for m in range(m_tiles) for n in range(n_tiles)} == expected


def test_a_matrix_smaller_than_a_tile_is_reported() -> None:
    with pytest.raises(TirxError, match="num_m_tiles of ClusterPersistentScheduler2D must be a positive"):
        scheduled_nothing()


def scheduled_nothing() -> PrimFunc:
    @Tx.prim_func(tirx=True)
    def kernel(out: Tx.Buffer((4,), "int32")):
        with Tx.kernel():
            ts = ClusterPersistentScheduler2D("ts", num_m_tiles=0, num_n_tiles=1, l2_group_size=8, num_clusters=1)

    return kernel
