"""Rules about launches: grids, clusters, and the resources of a CTA."""

from __future__ import annotations

from tirx_mini.hardware import DEFAULT_GPU, GPUS, REGISTERS_PER_SM
from tirx_mini.sim import (
    ClusterTooLarge,
    GridTooLarge,
    NothingWritten,
    PartialCluster,
    SharedMemoryExceeded,
    TooManyRegisters,
    TooManyThreads,
)

from .kind import Explanation, Kind, explains, of_error

_SMEM_KIB = GPUS[DEFAULT_GPU].architecture.smem_per_cta // 1024

LAUNCH_LIMIT = of_error("launch-limit")
SHARED_MEMORY_LIMIT = Kind(
    "shared-memory-limit", "TX303", "fault", f"A CTA has at most {_SMEM_KIB} KiB of shared memory.",
    "CUDA: compute capabilities",
)  # fmt: skip
REGISTER_LIMIT = Kind(
    "register-limit", "TX304", "fault", f"The threads of a CTA share the {REGISTERS_PER_SM:,} registers of an SM.",
    "CUDA: compute capabilities",
)  # fmt: skip
NOTHING_WRITTEN = Kind(
    "nothing-written", "TX502", "fault", "A kernel writes its result to an argument.",
)  # fmt: skip


@explains(NothingWritten, NOTHING_WRITTEN)
def nothing_written(fact: NothingWritten) -> Explanation:
    return Explanation(
        f"no thread writes {' or '.join(fact.results)}, nor any other argument: the kernel has no effect",
        f"write the result to {fact.results[-1]}: with a store, Tx.copy, or Tx.copy_async and bulk.commit_group",
    )


@explains(GridTooLarge, LAUNCH_LIMIT)
def grid_too_large(fact: GridTooLarge) -> Explanation:
    return Explanation(
        f"a grid of {fact.grid} CTAs is larger than {fact.most}",
        rule="CUDA: technical specifications, dimensions of a grid",
    )


@explains(PartialCluster, LAUNCH_LIMIT)
def partial_cluster(fact: PartialCluster) -> Explanation:
    return Explanation(
        f"a grid of {fact.grid} CTAs is not a multiple of the cluster {fact.cluster}", rule="CUDA: cluster launch"
    )


@explains(TooManyThreads, LAUNCH_LIMIT)
def too_many_threads(fact: TooManyThreads) -> Explanation:
    return Explanation(f"the CTA has {fact.threads} threads; {fact.gpu} allows {fact.most}")


@explains(ClusterTooLarge, LAUNCH_LIMIT)
def cluster_too_large(fact: ClusterTooLarge) -> Explanation:
    return Explanation(f"the cluster has {fact.ctas} CTAs; {fact.gpu} allows {fact.most}")


@explains(SharedMemoryExceeded, SHARED_MEMORY_LIMIT)
def shared_memory_exceeded(fact: SharedMemoryExceeded) -> Explanation:
    culprit = fact.culprit
    which = f"; {culprit.name} ends at byte {culprit.end}" if culprit else ""
    return Explanation(
        f"the kernel needs {fact.nbytes} bytes of shared memory, and a CTA can have {fact.most} "
        f"({fact.most // 1024} KiB) on {fact.gpu}{which}",
        "use fewer stages or smaller tiles, or let buffers that are not needed at the same time overlap",
        tuple((f"{b.name} takes {b.nbytes} bytes", b.span) for b in fact.buffers if b.nbytes >= 1024),
        {"buffer": culprit.name} if culprit else {},
    )


@explains(TooManyRegisters, REGISTER_LIMIT)
def too_many_registers(fact: TooManyRegisters) -> Explanation:
    return Explanation(
        f"{fact.threads} threads of {fact.registers} registers do not fit in the {fact.most} of an SM"
    )
