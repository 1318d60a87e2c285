"""What instruction semantics ask of the GPU (`isa.machine.Machine`): addresses to objects, and work to engines."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tirx_mini.hardware import GpuSpec
from tirx_mini.ir import TensorMap
from tirx_mini.isa import InstructionDescriptor, SmemDescriptor

from .barriers import Mbarrier, Wait
from .memory import GlobalMemory, Locator
from .tensor_core import TensorCores, pair
from .tma import TmaEngine
from .tmem_access import check_column

if TYPE_CHECKING:
    from .machine import Cta
    from .warp import Warp

WINDOW_BITS = 24
"""A shared::cluster address is the CTA's rank above these bits, and its shared memory's byte below."""


class Services:
    """The instructions' side of a `Gpu`, over the parts that the GPU makes."""

    spec: GpuSpec
    locator: Locator
    memory: GlobalMemory
    tma: TmaEngine
    tensor: TensorCores

    # -- addresses -----------------------------------------------------------------------------------------------

    def cta_at(self, w: Warp, address: int) -> tuple[Cta, int]:
        """(CTA, byte) of a shared::cluster address; a fault where no CTA of the cluster has it."""
        rank, offset = address >> WINDOW_BITS, address & ((1 << WINDOW_BITS) - 1)
        ctas = w.cta.cluster.ctas
        if not 0 <= rank < len(ctas) or offset >= w.cta.smem.size:
            raise w.fault(
                "out-of-bounds",
                f"address {address:#x} is in no shared memory of the cluster",
                hint="shared-memory addresses come from ptr_to, map_shared_rank and remote views",
            )
        return ctas[rank], offset

    def mbarrier(self, w: Warp, address: int) -> Mbarrier:
        """The mbarrier at a shared address."""
        cta, offset = self.cta_at(w, address)
        if offset % 8:
            raise w.fault(
                "misaligned-access",
                f"the mbarrier at byte {offset} is not at a multiple of 8",
                rule="PTX ISA: mbarrier",
            )
        if not cta.alive:
            raise w.fault(
                "in-flight-at-exit",
                f"{w.place} uses an mbarrier of {cta.name}, which has ended",
                hint="cluster_sync() before the kernel ends keeps every CTA alive until its peers are done",
            )
        return cta.mbarriers.get(offset) or cta.mbarrier(offset)

    def peer_mbarriers(self, w: Warp, address: int, cta_mask: int) -> list[Mbarrier]:
        """The mbarriers at one offset in each CTA of a mask."""
        offset = address & ((1 << WINDOW_BITS) - 1)
        size = len(w.cta.cluster.ctas)
        if cta_mask >> size or not cta_mask:
            raise w.fault(
                "illegal-instruction",
                f"cta_mask={cta_mask:#b} names CTAs that the cluster of {size} does not have",
                rule="PTX ISA: .multicast::cluster",
                hint="bit r of the mask is the CTA of rank r in the cluster",
            )
        return [self.mbarrier(w, rank << WINDOW_BITS | offset) for rank in range(size) if cta_mask >> rank & 1]

    def map_shared_rank(self, w: Warp, address: int, rank: int) -> int:
        """mapa."""
        size = len(w.cta.cluster.ctas)
        if not 0 <= rank < size:
            raise w.fault("out-of-bounds", f"there is no CTA {rank} in a cluster of {size}", rule="PTX ISA: mapa")
        return int(rank) << WINDOW_BITS | address & ((1 << WINDOW_BITS) - 1)

    def write_shared(self, w: Warp, address: int, word: int) -> None:
        """A 32-bit store by the warp."""
        cta, offset = self.cta_at(w, address)
        actor = w.stores
        actor.span = w.span
        actor.time = w.time
        actor.same = None
        cta.smem.shadow.write(offset, offset + 4, actor)
        cta.smem.view(4)[offset // 4] = word

    # -- barriers ------------------------------------------------------------------------------------------------

    def bar_sync(self, w: Warp, number: int, threads: int | None) -> Generator[Wait, None, None]:
        number, threads = w.uniform(number, "the barrier"), w.uniform(threads, "the number of threads")
        return w.cta.named.sync(w, number, threads)

    def bar_arrive(self, w: Warp, number: int, threads: int) -> None:
        w.cta.named.arrive(w, w.uniform(number, "the barrier"), w.uniform(threads, "the number of threads"))

    def cluster_arrive(self, w: Warp) -> None:
        w.cta.cluster.barrier.arrive(w)

    def cluster_wait(self, w: Warp) -> Generator[Wait, None, None]:
        return w.cta.cluster.barrier.wait(w)

    # -- tensor memory and tensor core ---------------------------------------------------------------------------

    def tmem_alloc(self, w: Warp, columns: int, cta_group: int) -> Generator[Wait, None, int]:
        return w.cta.allocator.alloc(w, columns, cta_group)

    def tmem_dealloc(self, w: Warp, address: int, columns: int, cta_group: int) -> None:
        w.cta.allocator.dealloc(w, address, columns, cta_group)

    def tmem_relinquish(self, w: Warp, cta_group: int) -> None:
        w.cta.allocator.use_group(w, cta_group)
        w.cta.allocator.relinquish(w)

    def tmem_load(self, w: Warp, address: int, lanes: np.ndarray, columns: np.ndarray, registers: Any) -> None:
        w.tmem.load(w, address, lanes, columns, registers)

    def tmem_store(self, w: Warp, address: int, lanes: np.ndarray, columns: np.ndarray, registers: Any) -> None:
        w.tmem.store(w, address, lanes, columns, registers)

    def tmem_wait(self, w: Warp, loads: bool) -> None:
        w.tmem.wait(w, loads)

    def mma(
        self,
        w: Warp,
        d: int,
        a: SmemDescriptor,
        a_start: int,
        b: SmemDescriptor,
        b_start: int,
        shape: InstructionDescriptor,
        accumulate: bool,
        cta_group: int,
    ) -> None:
        """tcgen05.mma: check the accumulator's place, and issue."""
        w.cta.allocator.use_group(w, cta_group)
        ctas = self.pair_of(w) if cta_group == 2 else [w.cta]
        width = shape.n // 2 if shape.m == 128 and cta_group == 2 else shape.n
        for cta in ctas:
            cta.allocator.check(w, check_column(w, d), width, "the accumulator of an MMA")
        self.tensor.mma(w, d & 0xFFFF, a, a_start, b, b_start, shape, bool(accumulate), cta_group)

    def pair_of(self, w: Warp) -> list[Cta]:
        """The CTA pair that a warp belongs to."""
        ctas = pair(w.cta)
        if len(ctas) < 2:
            raise w.fault(
                "illegal-instruction",
                "cta_group=2 needs a cluster of an even number of CTAs",
                rule="PTX ISA: tcgen05, CTA pair",
                hint="launch clusters of two CTAs, or use cta_group=1",
            )
        return ctas

    def commit(self, w: Warp, barriers: Sequence[Mbarrier], cta_group: int) -> None:
        """tcgen05.commit."""
        w.cta.allocator.use_group(w, cta_group)
        usable = [barrier for barrier in barriers if barrier.usable(w, "commits to")]
        self.tensor.commit(w, usable)

    # -- copies --------------------------------------------------------------------------------------------------

    def tma_load(
        self, w: Warp, tensor_map: TensorMap, dst: int, bar: int, coords: Sequence[int], cta_mask: int, cta_group: int
    ) -> None:
        """cp.async.bulk.tensor to shared memory."""
        cta, offset = self.cta_at(w, dst)
        barrier_cta, barrier_offset = self.cta_at(w, bar)
        if cta_mask:
            barriers = self.peer_mbarriers(w, bar, cta_mask)
            targets = [(b.cta, b) for b in barriers]
        else:
            if barrier_cta is not cta and not (cta_group == 2 and barrier_cta.rank ^ 1 == cta.rank):
                raise w.fault(
                    "illegal-instruction",
                    f"a TMA load into {cta.name} signals {self.locator.name(barrier_offset)} of "
                    f"{barrier_cta.name}; the barrier must be in the same CTA, or with cta_group=2 in its pair",
                    rule="PTX ISA: cp.async.bulk.tensor, .cta_group",
                    hint="use the CTA's own barrier, or cta_group=2 for the barrier of the pair's other CTA",
                )
            targets = [(cta, self.mbarrier(w, bar))]
        usable = [barrier.usable(w, "loads for") for _, barrier in targets]
        if all(usable):
            self.tma.load(w, tensor_map, offset, [int(c) for c in coords], targets)

    def tma_store(self, w: Warp, tensor_map: TensorMap, src: int, coords: Sequence[int], reduce: str | None) -> None:
        """cp.async.bulk.tensor to global memory."""
        cta, offset = self.cta_at(w, src)
        if cta is not w.cta:
            raise w.fault(
                "illegal-instruction",
                "a TMA store reads the shared memory of its own CTA only",
                rule="PTX ISA: cp.async.bulk.tensor",
            )
        self.tma.store(w, tensor_map, offset, [int(c) for c in coords], reduce)

    def bulk_commit(self, w: Warp) -> None:
        for lane in w.mask.lanes.tolist():
            self.tma.commit(w, lane)

    def bulk_wait(self, w: Warp, count: int, read: bool) -> Generator[Wait, None, None]:
        for lane in w.mask.lanes.tolist():
            yield from self.tma.wait(w, lane, count, read)

    def cp_async(self, w: Warp, dst: Any, src: Any, nbytes: int) -> None:
        w.cp_async.copy(w, dst, src, nbytes)

    def cp_async_commit(self, w: Warp) -> None:
        w.cp_async.commit()

    def cp_async_wait(self, w: Warp, count: int) -> None:
        w.cp_async.wait(w, count)

    def cp_async_arrive(self, w: Warp, bar: int) -> None:
        w.cp_async.arrive(w, self.mbarrier(w, bar))

    # -- lanes ---------------------------------------------------------------------------------------------------

    def shuffle(self, w: Warp, value: Any, source: np.ndarray) -> Any:
        """Each lane's value from the lane that `source` names; the last axis is the lanes."""
        w.converged("shfl.sync")
        return value[..., source] if isinstance(value, np.ndarray) and value.ndim else value

    def nanoseconds(self, w: Warp) -> int:
        """%globaltimer, from the launch on."""
        return int(w.time / self.spec.clock_ghz)

    def set_max_registers(self, w: Warp, count: int, increase: bool) -> Generator[Wait, None, None]:
        """setmaxnreg."""
        yield from w.cta.registers.set(w, count, increase)
