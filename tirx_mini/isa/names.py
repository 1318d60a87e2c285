"""The names of instructions in the course's dialect that differ from their opcodes.

Functions of CUDA C++ are below ``Tx.cuda``. Two table entries with the same PTX opcode share its name.
"""

from __future__ import annotations

from .alias import Alias, Spelling, Spellings
from .operands import OperandKind


def _of_barrier_0(function: str) -> tuple[Alias, ...]:
    return (Alias(f"cuda.{function}", {"barrier_id": 0}, order={"cond": "condition"}),)


COURSE = Spellings(
    (
        Spelling("ld", (Alias("cuda.ldg", {"nc": True, "space": "global"}),)),
        Spelling("ld.registers", ("ptx.ld",)),
        Spelling("st.registers", ("ptx.st",)),
        Spelling("atom", (Alias("cuda.atomic_add", {"op": "add", "space": ""}),)),
        Spelling("atom.cas", (Alias("cuda.atomic_cas", {"space": ""}),)),
        Spelling("mbarrier.arrive.remote", ("ptx.mbarrier.arrive",)),
        Spelling("mbarrier.try_wait", ("cuda.mbarrier_wait",)),
        Spelling(
            "mbarrier.try_wait.cluster",
            ("ptx.mbarrier.try_wait_acquire_cluster", "cuda.mbarrier_wait_acquire_cluster"),
        ),
        Spelling("fence", (
            Alias("cuda.thread_fence", {"sem": "sc", "scope": "gpu"}),
            Alias("cuda.thread_fence_block", {"sem": "sc", "scope": "cta"}),
            Alias("cuda.thread_fence_system", {"sem": "sc", "scope": "sys"}),
        )),
        Spelling(
            "bar.sync.all", (Alias("cuda.cta_sync", {"barrier_id": 0}), Alias("cuda.syncthreads", {"barrier_id": 0}))
        ),
        Spelling("bar.red.and", _of_barrier_0("syncthreads_and")),
        Spelling("bar.red.or", _of_barrier_0("syncthreads_or")),
        Spelling("bar.red.popc", _of_barrier_0("syncthreads_count")),
        Spelling("bar.sync", (Alias("cuda.warpgroup_sync", {"threads": 128}),)),
        Spelling("bar.warp.sync", ("cuda.warp_sync",)),
        Spelling("bar.warp.sync.mask", ("ptx.bar.warp.sync", "cuda.warp_sync")),
        Spelling("grid.sync", ("cuda.grid_sync",)),
        Spelling("barrier.cluster.arrive", ("cuda.cluster_arrive",)),
        Spelling("barrier.cluster.wait", ("cuda.cluster_wait",)),
        Spelling("barrier.cluster.sync", ("cuda.cluster_sync",)),
        Spelling("elect.sync", ("ptx.elect_sync", "cuda.elect_sync")),
        Spelling("mapa", ("ptx.map_shared_rank",)),
        Spelling("cvta.shared", ("cuda.cvta_generic_to_shared",)),
        Spelling("shfl.xor", ("cuda.shfl_xor",)),
        Spelling("shfl.idx", ("cuda.shfl",)),
        Spelling("shfl.down", ("cuda.shfl_down",)),
        Spelling("shfl.up", ("cuda.shfl_up",)),
        Spelling("vote.any", ("cuda.any_sync",)),
        Spelling("vote.all", ("cuda.all_sync",)),
        Spelling("vote.ballot", ("cuda.ballot_sync",)),
        Spelling(
            "redux.u32",
            (Alias("cuda.reduce_add_sync_u32", {"op": "add"}), Alias("cuda.reduce_min_sync_u32", {"op": "min"})),
        ),
        Spelling("ex2.approx", ("ptx.exp2",)),
        Spelling("ffs", ("cuda.ffs_u32",)),
        Spelling("cvt.packed", ("ptx.cvt",)),
        Spelling("mma.sync", ("ptx.mma",)),
        Spelling("mma.sync.zero", ("ptx.mma",)),
        Spelling("tcgen05.alloc", parameters={"addr": "dst"}),
        Spelling("clusterlaunchcontrol.try_cancel", (Alias("ptx.clc_try_cancel", {}, {"multicast": True}),)),
        Spelling("clusterlaunchcontrol.query_cancel", ("ptx.clc_query_cancel",)),
        Spelling("clock64", ("cuda.clock64",)),
        Spelling("nanosleep.u32", ("ptx.nanosleep", "cuda.nano_sleep")),
        Spelling("printf", ("cuda.printf",)),
    ),
    {OperandKind.MBARRIER: ("ptr",)},
)  # fmt: skip
