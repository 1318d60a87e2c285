"""A warp: the `thread` that instruction semantics receive, and `w` in generated code.

What generated code uses (everything else is the simulator's own business):

    w.thread_idx      int32[32], threadIdx.x of each lane            w.warp_id          int, threadIdx.x >> 5
    w.block_idx       (x, y, z) of the CTA in the grid               w.grid_dim         (x, y, z)
    w.cluster_ctaid   (x, y, z) of the CTA in its cluster            w.cluster_ctarank  int
    w.mask            active lanes, a `Mask`; set by divergent branches
    w.span            the place being executed; set before anything that can fault, race or block
    w.time            cycles; generated code adds the issue cost of the instructions it executes
    w.window          cluster_ctarank << 24: the shared::cluster address of the CTA's byte 0
    w.load, w.store, w.copy                                          plain accesses to shared and global memory
    w.shared_address, w.global_address, w.tensor_map                 values of AddressOf and tensor maps
    w.report, w.fault                                                findings

Values: uniform ones are Python ints, floats and bools; varying ones are arrays whose last axis is the 32 lanes. A
compiler-made parallel loop of n iterations runs at once on arrays of shape (n, 32).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tirx_mini.ir import Span, TensorMap

from . import access, matrix
from .causality import Agent
from .cp_async import CpAsyncGroups
from .faults import Fault
from .findings import Severity
from .griddepcontrol import GridDependence
from .image import GlobalBuffer, SharedBuffer
from .masks import FULL, LANES, Mask
from .shadow import GENERIC, Actor
from .tma import BulkCopy, BulkGroups
from .tmem_access import WarpTmem
from .wgmma import WarpWgmma

if TYPE_CHECKING:
    from .barriers import Wait
    from .machine import Cta, Gpu

Buffer = SharedBuffer | GlobalBuffer
_CONVERGE = "move it out of the branch or of the elected thread's scope, so that the whole warp reaches it"


class Warp:
    """Warp `warp_id` of a CTA, while the CTA is resident."""

    __slots__ = (
        "_bulk",
        "agent",
        "all_lanes",
        "block_idx",
        "cluster_ctaid",
        "cluster_ctarank",
        "cp_async",
        "cta",
        "dependence",
        "done",
        "gpu",
        "grid_dim",
        "loads",
        "mask",
        "place",
        "program",
        "register_fences",
        "role",
        "span",
        "stores",
        "thread_idx",
        "threads",
        "time",
        "tmem",
        "waiting",
        "warp_id",
        "wgmma",
        "window",
        "wrote",
    )  # fmt: skip

    def __init__(self, cta: Cta, warp_id: int, agent: Agent, time: float) -> None:
        launch = cta.gpu.image.launch
        self.gpu: Gpu = cta.gpu
        self.cta = cta
        self.warp_id = warp_id
        self.role = warp_name(warp_id, launch.warps)
        self.place = f"{self.role} of {cta.name}" if launch.num_ctas > 1 else self.role
        self.block_idx = cta.block_idx
        self.grid_dim = launch.grid
        self.cluster_ctaid = cta.cluster_ctaid
        self.cluster_ctarank = cta.rank
        self.window = cta.rank << 24
        self.threads = launch.threads
        self.thread_idx = np.arange(warp_id * LANES, warp_id * LANES + LANES, dtype=np.int32)
        lanes = min(LANES, launch.threads - warp_id * LANES)
        self.all_lanes: Mask = FULL if lanes == LANES else Mask.of((1 << lanes) - 1)
        self.mask = self.all_lanes
        self.span: Span | None = None
        self.time = time
        self.agent = agent
        self.loads = Actor(agent, cta.cluster.index, GENERIC, "load", self.place)
        self.stores = Actor(agent, cta.cluster.index, GENERIC, "store", self.place)
        self.wrote = 0
        self.register_fences = 0
        before = cta.cluster.before
        self.dependence = None if before is None else GridDependence(before)
        self.tmem = WarpTmem(self)
        self.wgmma = WarpWgmma(self)
        self.cp_async = CpAsyncGroups()
        self._bulk: dict[int, BulkGroups] = {}
        self.waiting: Wait | None = None
        self.done = False
        self.program: Generator[Wait, None, None] = cta.gpu.image.warp(self)

    # -- lanes ---------------------------------------------------------------------------------------------------

    @property
    def lane(self) -> int:
        """The first active lane: the thread that a one-thread instruction runs in."""
        return self.mask.first

    def agreeing(self, operands: Sequence[Any]) -> Iterator[tuple[Mask, tuple[Any, ...]]]:
        """Groups of active lanes for which all operands are the same, with the operands as scalars."""
        left = self.mask
        while left:
            first = left.first
            values = tuple(o[first].item() if isinstance(o, np.ndarray) else o for o in operands)
            same = left
            for operand, value in zip(operands, values, strict=True):
                if isinstance(operand, np.ndarray):
                    same = same.where(operand == value)
            yield same, values
            left = left.minus(same)

    def uniform(self, value: Any, what: str) -> Any:
        """The value that all active lanes give; a fault where they differ."""
        if not isinstance(value, np.ndarray):
            return value
        active = value[self.mask.lanes]
        if (active != active[0]).any():
            raise self.fault(
                "illegal-convergence",
                f"the lanes of a warp give different values for {what} of one instruction",
                hint="all 32 lanes execute it together and must agree",
            )
        return active[0].item()

    def converged(self, what: str) -> bool:
        """Whether the whole warp executes this; records illegal convergence otherwise.

        Where all lanes have met, any of them may fence what each of them wrote.
        """
        if self.mask is self.all_lanes:
            self.wrote = 0
            if self.dependence is not None:
                self.dependence.met()
            return True
        self.report("illegal-convergence", "error", self._partial(what), rule=f"PTX ISA: {what}", hint=_CONVERGE)
        return False

    def require_converged(self, what: str) -> None:
        """Raise a fault unless the whole warp executes this."""
        if self.mask is not self.all_lanes:
            raise self.fault("illegal-convergence", self._partial(what), rule=f"PTX ISA: {what}", hint=_CONVERGE)

    def _partial(self, what: str) -> str:
        count = self.mask.count
        return (
            f"{what} is executed by {count} lane{'s' * (count != 1)} of {self.role}; "
            f"all {self.all_lanes.count} must execute it together"
        )

    def bulk_groups(self, lane: int) -> BulkGroups:
        """The bulk groups of one thread."""
        groups = self._bulk.get(lane)
        if groups is None:
            groups = self._bulk[lane] = BulkGroups()
        return groups

    def unfinished_copies(self) -> Iterator[BulkCopy]:
        """TMA stores of this warp that it has not waited for."""
        for groups in self._bulk.values():
            for copy in (copy for group in (*groups.committed, groups.open) for copy in group):
                if not copy.read_done or not self.agent.knows(copy.agent.index, copy.read_epoch):
                    yield copy

    # -- fences --------------------------------------------------------------------------------------------------

    def fence_proxy_async(self) -> None:
        """fence.proxy.async by the active lanes: it covers what they wrote, and what they know of others."""
        self.agent.fence_proxy(own=not self.wrote & ~self.mask.word)
        self.wrote &= ~self.mask.word

    def fence_mbarrier_init(self) -> None:
        """fence.mbarrier_init: the barriers initialised by this warp so far are known to the cluster."""
        for barrier in self.cta.inits:
            if barrier.init_agent == self.agent.index and barrier.fence_epoch is None:
                barrier.fence_epoch = self.agent.epoch

    def fence_tcgen05_before(self) -> None:
        """tcgen05.fence::before_thread_sync."""
        self.agent.fence_tcgen05_before()

    def fence_tcgen05_after(self) -> None:
        """tcgen05.fence::after_thread_sync."""
        self.agent.fence_tcgen05()

    def wait_for_grids(self) -> None:
        """griddepcontrol.wait. There is no grid to wait for; what matters is what comes after it."""
        if self.dependence is not None:
            self.dependence.wait(self)

    # -- memory --------------------------------------------------------------------------------------------------

    def load(self, buffer: Buffer, index: Any, lanes: int = 1) -> Any:
        """The elements of `buffer` at `index`, of its dtype.

        index: flat element offsets; an int (uniform), or integers of shape (32,) or (n, 32).
        lanes: elements a thread reads from there on (a `Ramp`); the offset is a multiple of it.
        Returns a scalar for a uniform index with lanes = 1, else an array of the index's shape, with a last axis of
        `lanes` where lanes > 1. Elements of inactive lanes are unspecified.
        Faults: out-of-bounds, misaligned-access. Records races and reads of uninitialised memory.
        """
        return access.load(self, buffer, index, lanes)

    def store(self, buffer: Buffer, index: Any, value: Any, lanes: int = 1) -> None:
        """Write `value` (a scalar, or an array as `load` returns) to the elements of `buffer` at `index`."""
        access.store(self, buffer, index, value, lanes)

    def copy(self, dst: Buffer, dst_index: Any, src: Buffer, src_index: Any, lanes: int = 1) -> None:
        """``dst[dst_index] = src[src_index]`` without looking at the values: both have element types of one width."""
        access.copy(self, dst, dst_index, src, src_index, lanes)

    def load_matrices(self, registers: Any, addresses: Any, count: int, transpose: bool) -> None:
        """ldmatrix."""
        matrix.load_matrices(self, registers, addresses, count, transpose)

    def store_matrices(self, addresses: Any, registers: Any, count: int, transpose: bool) -> None:
        """stmatrix."""
        matrix.store_matrices(self, addresses, registers, count, transpose)

    def shared_address(self, buffer: SharedBuffer, index: Any) -> Any:
        """The shared::cluster address of an element: cluster_ctarank << 24 | byte offset. Faults: out-of-bounds."""
        access.check_bounds(self, buffer, access.active(self, index), 1)
        return index * buffer.dtype.itemsize + (self.window + buffer.byte_offset)

    def global_address(self, buffer: GlobalBuffer, index: Any) -> Any:
        """The 64-bit address of an element of global memory. Faults: out-of-bounds."""
        access.check_bounds(self, buffer, access.active(self, index), 1)
        return index * buffer.dtype.itemsize + self.gpu.memory.base(buffer.slot)

    def tensor_map(self, name: str) -> TensorMap:
        """The tensor map held by the variable `name`."""
        return self.gpu.image.tensor_maps[name]

    # -- findings ------------------------------------------------------------------------------------------------

    def report(self, kind: str, severity: Severity, message: str, *, other: Span | None = None, **details: Any) -> None:
        """Record a finding at the current place; execution goes on."""
        details = {"role": self.role, "cta": self.cta.name, **details}
        self.gpu.findings.add(kind, severity, message, self.span, other=other, details=details)

    def fault(self, kind: str, message: str, **details: Any) -> Fault:
        """The exception to raise for a broken rule at the current place: ``raise w.fault(…)``."""
        return Fault(kind, message, self.span, role=self.role, cta=self.cta.name, **details)

    # -- running -------------------------------------------------------------------------------------------------

    def resume(self) -> None:
        """Run until the warp waits for something or ends. Called by the clock."""
        self.waiting = None
        try:
            self.waiting = next(self.program)
        except StopIteration:
            self.done = True
            self.wgmma.exited()
            self.cta.registers.exited(self)
            self.gpu.tensor.forget(self)
            self.gpu.clock.at(self.time, self.cta.warp_exited, self)


def warp_name(warp_id: int, warps: int) -> str:
    """'warp 3', or in CTAs of several warpgroups 'warp 3 of warpgroup 1'."""
    return f"warp {warp_id}" if warps <= 4 else f"warp {warp_id % 4} of warpgroup {warp_id // 4}"
