"""Tiles by cluster launch control: barriers and their arrivals, bytes, and the launch."""

from tvm.backend.cuda.lang.tile_scheduler import ClusterLaunchControlScheduler
from tvm.script import tirx as T


@T.prim_func
def kernel(D: T.Buffer((4, 5, 128), "int32")):
    T.device_entry()
    bx = T.cta_id([40])
    rank = T.cta_id_in_cluster([2])
    wg_id = T.warpgroup_id([2])
    warp_id = T.warp_id_in_wg([4])
    lane_id = T.lane_id([32])
    pool = T.SMEMPool()
    tiles = ClusterLaunchControlScheduler(pool, 4, 5, 2, 2, 4)
    pool.commit()
    tile = tiles.worker("tile")
    T.ptx.fence.mbarrier_init()
    T.cuda.cluster_sync()
    if wg_id == 0:
        if warp_id == 0:
            tiles.run_scheduler(rank)
    else:
        tile.init(bx // 2)
        while tile.valid():
            if rank == 0:
                D[tile.m_idx, tile.n_idx, warp_id * 32 + lane_id] = 1
            tile.consume_wg(wg_id, warp_id, lane_id)
            tile.advance_coords()
            tile.mark_done_if_drained()
    T.cuda.cluster_sync()
