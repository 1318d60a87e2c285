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

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np

from tirx_mini.ir import Span, TensorMap

from . import access
from .causality import Agent
from .faults import Fault
from .findings import Severity
from .image import GlobalBuffer, SharedBuffer
from .masks import FULL, LANES, Mask

if TYPE_CHECKING:
    from .barriers import Wait
    from .machine import Cta, Gpu

Buffer = SharedBuffer | GlobalBuffer


class Warp:
    """Warp `warp_id` of a CTA, while the CTA is resident."""

    __slots__ = (
        "agent", "block_idx", "cluster_ctaid", "cluster_ctarank", "cta", "done", "gpu", "grid_dim", "group", "mask",
        "pending_loads", "program", "resume_time", "span", "thread_idx", "time", "waiting", "warp_id", "window",
    )  # fmt: skip

    def __init__(self, cta: Cta, warp_id: int, agent: Agent, time: float) -> None:
        image = cta.gpu.image
        self.gpu: Gpu = cta.gpu
        self.cta = cta
        self.warp_id = warp_id
        self.block_idx = cta.block_idx
        self.grid_dim = image.launch.grid
        self.cluster_ctaid = cta.cluster_ctaid
        self.cluster_ctarank = cta.rank
        self.window = cta.rank << 24
        self.thread_idx = np.arange(warp_id * LANES, warp_id * LANES + LANES, dtype=np.int32)
        threads = min(LANES, image.launch.threads - warp_id * LANES)
        self.mask: Mask = FULL if threads == LANES else Mask.of((1 << threads) - 1)
        self.span: Span | None = None
        self.time = time
        self.agent = agent
        self.program: Generator[Wait, None, None] = image.warp(self)
        self.waiting: Wait | None = None
        self.done = False

    # -- names ---------------------------------------------------------------------------------------------------

    @property
    def role(self) -> str:
        """Which warp of its CTA this is, in the words of the source."""
        return warp_name(self.warp_id, self.gpu.image.launch.warps)

    @property
    def lane(self) -> int:
        """The first active lane: the thread that a one-thread instruction runs in."""
        return self.mask.first

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

    def shared_address(self, buffer: SharedBuffer, index: Any) -> Any:
        """The shared::cluster address of an element: cluster_ctarank << 24 | byte offset. Faults: out-of-bounds."""
        access.check_bounds(self, buffer, index, 1)
        return index * buffer.dtype.itemsize + (self.window + buffer.byte_offset)

    def global_address(self, buffer: GlobalBuffer, index: Any) -> Any:
        """The 64-bit address of an element of global memory. Faults: out-of-bounds."""
        access.check_bounds(self, buffer, index, 1)
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
            self.cta.warp_exited(self)


def warp_name(warp_id: int, warps: int) -> str:
    """'warp 3', or in CTAs of several warpgroups 'warp 3 of warpgroup 1'."""
    return f"warp {warp_id}" if warps <= 4 else f"warp {warp_id % 4} of warpgroup {warp_id // 4}"
