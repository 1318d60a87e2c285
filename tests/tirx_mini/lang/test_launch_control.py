"""The scheduler by cluster launch control: each tile once, whoever runs, in clusters of one CTA and of two."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import tirx_mini
from tirx_mini.hardware import B200
from tirx_mini.ir import PrimFunc
from tirx_mini.lang import ClusterLaunchControlScheduler
from tirx_mini.script import tirx as T

M_TILES, N_TILES, GROUP = 4, 5, 2
TILES = M_TILES * N_TILES


def kernel(ctas: int, arrivals: int) -> PrimFunc:
    """Warp 0 schedules, warp 1 and warpgroup 1 work: the first counts its visits, the other notes the tiles."""

    @T.prim_func
    def kernel(visits: T.Buffer((1,), "int32"), D: T.Buffer((M_TILES, N_TILES, 128), "int32")):
        T.device_entry()
        bx = T.cta_id([TILES * ctas])
        rank = T.cta_id_in_cluster([ctas])
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])
        pool = T.SMEMPool()
        room = pool.alloc((40000,), "float32")
        tiles = ClusterLaunchControlScheduler(pool, M_TILES, N_TILES, GROUP, ctas, arrivals)
        pool.commit()
        loader = tiles.worker("loader")
        tile = tiles.worker("tile")
        T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if wg_id == 0 and warp_id == 0:
            tiles.run_scheduler(rank)
        elif wg_id == 0 and warp_id == 1:
            if T.ptx.elect_sync():
                loader.reset()
                while loader.valid():
                    T.ptx.red(visits.ptr_to([0]), 1, op="add")
                    loader.consume()
                    loader.mark_done_if_drained()
        elif wg_id == 1:
            tile.init(bx // ctas)
            while tile.valid():
                if rank == 0:
                    thread = T.meta_var(warp_id * 32 + lane_id)
                    D[tile.m_idx, tile.n_idx, thread] = D[tile.m_idx, tile.n_idx, thread] + 1
                tile.consume_wg(wg_id, warp_id, lane_id)
                tile.advance_coords()
                tile.mark_done_if_drained()
        T.cuda.cluster_sync()

    return kernel


@pytest.mark.parametrize("ctas", [1, 2])
def test_each_tile_is_worked_on_once(ctas: int) -> None:
    visits, d = np.zeros(1, np.int32), np.zeros((M_TILES, N_TILES, 128), np.int32)
    report = tirx_mini.simulate(kernel(ctas, 3 * ctas), visits, d, gpu=dataclasses.replace(B200, sms=4))
    assert report.verdict == "ok" and not report.findings, report
    np.testing.assert_array_equal(d, 1)
    assert visits[0] == TILES * ctas


def test_too_many_arrivals_are_found() -> None:
    visits, d = np.zeros(1, np.int32), np.zeros((M_TILES, N_TILES, 128), np.int32)
    report = tirx_mini.simulate(kernel(1, 4), visits, d, gpu=dataclasses.replace(B200, sms=4))
    assert report.verdict == "deadlock"


@pytest.mark.compiler
def test_it_assembles() -> None:
    ptx = tirx_mini.compile(kernel(2, 6), target="cuda:sm_100a").source("ptx")
    assert "clusterlaunchcontrol.try_cancel.async" in ptx and "mapa" in ptx
