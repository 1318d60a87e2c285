"""Cache hints: they neither order accesses nor change data (PTX ISA: "prefetch", "applypriority" and others)."""

from __future__ import annotations

from typing import Literal

from .core import instruction
from .facts import Scope
from .machine import Machine, Thread
from .operands import GlobalAddress, f32, u32, u64


@instruction(
    "prefetch.global.{level} [{address}];",
    name="prefetch",
    issued_by=Scope.THREAD,
    min_sm=80,
    isa="prefetch, prefetchu",
    cost="alu",
)
def prefetch(
    gpu: Machine,
    thread: Thread,
    address: GlobalAddress,
    *,
    level: Literal["L1", "L2", "L2::evict_last", "L2::evict_normal"] = "L2",
) -> None:
    """Bring the line at `address` into a cache, without effect on the simulator's clock."""


@instruction(
    "applypriority.global.L2::evict_normal [{address}], 128;",
    name="applypriority",
    issued_by=Scope.THREAD,
    min_sm=80,
    cost="alu",
)
def applypriority(gpu: Machine, thread: Thread, address: GlobalAddress) -> None:
    """Reset the 128 bytes at `address`, a multiple of 128, to normal eviction priority in the L2 cache."""


@instruction(
    "discard.global.L2 [{address}], 128;", name="discard", issued_by=Scope.THREAD, min_sm=80, cost="alu",
)  # fmt: skip
def discard(gpu: Machine, thread: Thread, address: GlobalAddress) -> None:
    """Discard the 128 bytes at `address` in the L2 without writing them back, leaving their contents undefined.

    The simulator keeps them.
    """


@instruction(
    "createpolicy.fractional.{primary}.b64 {result}, {fraction};", name="createpolicy.fractional",
    issued_by=Scope.THREAD, min_sm=80, isa="createpolicy", cost="alu", pure=True,
)  # fmt: skip
def createpolicy_fractional(
    gpu: Machine,
    thread: Thread,
    fraction: f32,
    *,
    primary: Literal["L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"] = "L2::evict_last",
) -> u64:
    """Return an L2 policy for a fraction of the accesses; its bits are chip-specific, and 0 in the simulator."""
    return 0


@instruction(
    "cp.async.bulk.prefetch.L2.global [{src}], {bytes};",
    name="cp.async.bulk.prefetch",
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="tma",
)
def cp_async_bulk_prefetch(gpu: Machine, thread: Thread, src: GlobalAddress, bytes: u32) -> None:
    """Bring `bytes` bytes, a multiple of 16 like `src`, into the L2 cache, without effect on the simulator's clock."""
