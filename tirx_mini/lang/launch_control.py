"""A tile scheduler by cluster launch control: running clusters take over tiles of clusters that have not started."""

from __future__ import annotations

from typing import Any

from tirx_mini.script import PoolAllocator
from tirx_mini.script import tirx as Tx

from .arguments import Integer, check_choice, check_count, check_label, check_pool
from .barriers import Pipeline
from .scheduler import ClusterPersistentScheduler2D

NONE_LEFT = 0xFFFFFFFF
"""The result of `clusterlaunchcontrol.query_cancel` if no cluster was left."""


class ClusterLaunchControlScheduler:
    """Assigns tiles to clusters as they become free: each tile has a cluster, and running clusters cancel others.

    One thread of a scheduler warp in each CTA executes `run_scheduler`. Every role that works on tiles has a `worker`.
    The grid must have one dimension (PTX ISA: "clusterlaunchcontrol"; Blackwell only).

    pool: the shared-memory pool, for the 16-byte response and four barriers.
    num_m_tiles, num_n_tiles: the number of tiles along M and along N.
    l2_group_size: the number of tile rows in a group, in the order of `ClusterPersistentScheduler2D`.
    cta_group: the number of CTAs of a cluster.
    finish_arrivals: the number of executions of `consume` or `consume_wg` for a tile in all CTAs of the cluster,
        including the schedulers.

    Cost: 64 bytes of shared memory, and two registers of each thread.

    Example:

        pool = Tx.PoolAllocator()
        tiles = ClusterLaunchControlScheduler(pool, 8, 8, 8, cta_group=1, finish_arrivals=2)
        pool.commit()
        tile = tiles.worker("tile")
        Tx.ptx.fence.mbarrier_init()
        Tx.cuda.cta_sync()
        if warp_id == 0 and wg_id == 0:
            tiles.run_scheduler(0)
        elif warp_id == 1 and wg_id == 0:
            tile.init(bx)
            while tile.valid():
                row = Tx.meta_var(tile.m_idx * 128)
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    tile.consume()
                    tile.advance_coords()
                    tile.mark_done_if_drained()
    """

    def __init__(
        self,
        pool: PoolAllocator,
        num_m_tiles: int,
        num_n_tiles: int,
        l2_group_size: int,
        cta_group: int,
        finish_arrivals: int,
    ) -> None:
        call = "ClusterLaunchControlScheduler(pool, M // BLK_M, N // BLK_N, 8, cta_group=1, finish_arrivals=2)"
        check_pool("ClusterLaunchControlScheduler", pool, call)
        sizes = {"num_m_tiles": num_m_tiles, "num_n_tiles": num_n_tiles, "l2_group_size": l2_group_size}
        for name, value in {**sizes, "finish_arrivals": finish_arrivals}.items():
            check_count(f"{name} of ClusterLaunchControlScheduler", value, f"write {call}")
        check_choice("cta_group of ClusterLaunchControlScheduler", cta_group, (1, 2), f"write {call}")
        self.num_m_tiles, self.num_n_tiles, self.l2_group_size = num_m_tiles, num_n_tiles, l2_group_size
        self.cta_group = cta_group
        self.sched_arr = Pipeline(pool, 1, full="tma", empty="mbar")
        self.sched_fin = Pipeline(pool, 1, full="mbar", empty="mbar", init_empty=finish_arrivals)
        self.clc_handle = pool.alloc((4,), "uint32", align=16, name=Tx.variable_name("clc_handle"))
        self.taken: Any = Tx.alloc_scalar("uint32", "clc_taken")
        self.round: Any = Tx.alloc_scalar("int32", "clc_round")

    def worker(self, prefix: str) -> Worker:
        """Return the tiles as seen by one role.

        prefix: the prefix of the names of its variables.
        """
        return Worker(self, prefix)

    @Tx.inline
    def answer(self, phase: Integer) -> Any:
        """Wait for the response to a request; return the first CTA of the cancelled cluster, or 0xFFFFFFFF.

        phase: the parity of the request.
        """
        self.sched_arr.full.wait(0, phase)
        return Tx.ptx.clc_query_cancel(self.clc_handle.ptr_to([0]))

    @Tx.inline
    def release(self) -> None:
        """Signal that the response was read; a fence orders the read before the next response (PTX ISA: proxies)."""
        Tx.ptx.fence.proxy_async("shared::cta")
        self.sched_fin.empty.arrive(0, remote=0, pred=True)

    @Tx.inline
    def run_scheduler(self, cbx: Integer) -> None:
        """Request one cluster after the other until none is left, with all lanes of a warp in each CTA.

        cbx: the rank of the CTA in its cluster. CTA 0 sends the requests; all CTAs receive the response.

        Cost: one `clusterlaunchcontrol.try_cancel` a tile.
        """
        if Tx.ptx.elect_sync():
            self.round = 0
            self.taken = 0
            while self.taken != NONE_LEFT:
                if cbx == 0:
                    self.sched_fin.empty.wait(0, (self.round ^ 1) & 1)
                    Tx.ptx.clc_try_cancel(self.clc_handle.ptr_to([0]), self.sched_arr.full.ptr_to([0]))
                self.sched_arr.full.arrive(0, 16)
                self.taken = self.answer(self.round & 1)
                self.round = self.round + 1
                self.release()


class Worker(ClusterPersistentScheduler2D):
    """The tiles of a `ClusterLaunchControlScheduler` as seen by one role.

    Its attributes `m_idx` and `n_idx` are the row and the column of the current tile.

    A round is `consume` or `consume_wg`, then `advance_coords` and `mark_done_if_drained`.
    """

    def __init__(self, tiles: ClusterLaunchControlScheduler, prefix: str) -> None:
        check_label("the argument of worker, the prefix of its names,", prefix, 'tiles.worker("tile")')
        clusters = tiles.num_m_tiles * tiles.num_n_tiles
        super().__init__(prefix, tiles.num_m_tiles, tiles.num_n_tiles, clusters, tiles.l2_group_size)
        self.tiles = tiles
        self.phase: Any = Tx.alloc_scalar("int32", f"{prefix}_phase")
        self.done: Any = Tx.alloc_scalar("int32", f"{prefix}_done")
        self.taken: Any = Tx.alloc_scalar("uint32", f"{prefix}_taken")

    @Tx.inline
    def reset(self) -> None:
        """Start without a tile, for a role that does not process its initial tile."""
        self.done = 0
        self.phase = 0

    @Tx.inline
    def init(self, cluster_id: Integer) -> None:
        """Start with the tile of this cluster.

        cluster_id: the index of the executing cluster in the grid.
        """
        ClusterPersistentScheduler2D.init(self, cluster_id)
        self.reset()

    @Tx.inline
    def valid(self) -> Any:
        """Return whether there is a current tile: the condition of the loop over tiles."""
        return self.done == 0

    @Tx.inline
    def consume(self) -> None:
        """Wait for the next tile, and signal that the response was read, in one thread."""
        self.taken = self.tiles.answer(self.phase)
        self.phase = self.phase ^ 1
        self.tiles.release()

    @Tx.inline
    def consume_wg(self, wg_id: Integer, warp_id: Integer, lane_id: Integer) -> None:
        """Act as `consume` with all threads of a warpgroup, which count as one arrival.

        wg_id, warp_id, lane_id: the indices of the warpgroup, the warp in it, and the lane. The warpgroup synchronises
            with the barrier wg_id + 1.
        """
        self.taken = self.tiles.answer(self.phase)
        self.phase = self.phase ^ 1
        Tx.ptx.fence.proxy_async("shared::cta")
        Tx.cuda.warpgroup_sync(wg_id + 1)
        if warp_id == 0 and lane_id == 0:
            self.tiles.sched_fin.empty.arrive(0, remote=0, pred=True)

    @Tx.inline
    def advance_coords(self) -> None:
        """Advance to the tile that `consume` found, if any."""
        if self.taken != NONE_LEFT:
            self._go_to(Tx.Cast("int32", self.taken) // self.tiles.cta_group)

    @Tx.inline
    def mark_done_if_drained(self) -> None:
        """End the loop if `consume` found no tile."""
        if self.taken == NONE_LEFT:
            self.done = 1
