"""cp.async: per-thread copies of 4, 8 or 16 bytes from global to shared memory, awaited in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from tirx_mini.ir import Expr

from .core import instruction
from .facts import BarrierEffect, Completion, Memory, Scope, SharedFacts
from .machine import Machine, Thread
from .operands import GlobalAddress, MbarrierAddress, SharedAddress, u32
from .tma import CacheHint, hinted


def _copy(tail: str = "") -> Callable[..., str]:
    def template(bytes: int, prefetch: int, cache_hint: str, cop: str) -> str:
        cache, hint = cop or ("cg" if bytes == 16 else "ca"), ".L2::cache_hint" if cache_hint else ""
        ahead = f".L2::{prefetch}B" if prefetch > 0 else ""
        text = f"cp.async.{cache}.shared::cta.global{hint}{ahead} [{{dst}}], [{{src}}], {bytes}{tail}"
        return hinted(text, 0, cache_hint)

    return template


def _cached(operands: Sequence[Expr], bytes: int, cop: str, **_: object) -> str | None:
    return 'cop="cg" copies 16 bytes' if cop == "cg" and bytes != 16 else None


_FACTS: SharedFacts = {
    "issued_by": Scope.WARP, "min_sm": 80, "cost": "alu", "reads": Memory.GLOBAL, "writes": Memory.SHARED,
    "completion": Completion.CP_ASYNC_GROUP,
    "check": _cached,
}  # fmt: skip


@instruction(
    _copy(),
    name="cp.async",
    **_FACTS,
)
def cp_async(
    gpu: Machine, thread: Thread, dst: SharedAddress, src: GlobalAddress, *, bytes: Literal[4, 8, 16] = 16,
    prefetch: Literal[-1, 64, 128, 256] = -1, cache_hint: CacheHint = "", cop: Literal["", "ca", "cg"] = "",
) -> None:  # fmt: skip
    """Copy `bytes` bytes per thread, visible to it after wait_group; to proxies the copy is an ordinary write.

    prefetch: the number of bytes that the L2 prefetches. cop: the cache operator, "ca" or, for 16 bytes, "cg"; by
    default "cg" if allowed.
    """
    gpu.cp_async(thread, dst, src, bytes)


@instruction(
    _copy(", {size}"),
    name="cp.async.zfill",
    isa="cp.async",
    **_FACTS,
)
def cp_async_zfill(
    gpu: Machine, thread: Thread, dst: SharedAddress, src: GlobalAddress, size: u32, *,
    bytes: Literal[4, 8, 16] = 16, prefetch: Literal[-1, 64, 128, 256] = -1, cache_hint: CacheHint = "",
    cop: Literal["", "ca", "cg"] = "",
) -> None:  # fmt: skip
    """Copy `size` bytes per thread, at most `bytes`, and fill the rest with zeros; with size 0 nothing is read."""
    gpu.cp_async(thread, dst, src, bytes, size)


@instruction(
    "cp.async.commit_group;",
    name="cp.async.commit_group",
    issued_by=Scope.WARP,
    min_sm=80,
    cost="sync",
)
def cp_async_commit_group(gpu: Machine, thread: Thread) -> None:
    """Close each thread's group of the cp.async issued since the previous commit."""
    gpu.cp_async_commit(thread)


@instruction(
    "cp.async.wait_group {n};",
    name="cp.async.wait_group",
    issued_by=Scope.WARP,
    min_sm=80,
    cost="wait",
    awaits="cp.async-group",
)
def cp_async_wait_group(gpu: Machine, thread: Thread, *, n: int = 0) -> None:
    """Wait until at most `n` groups of each thread are incomplete."""
    gpu.cp_async_wait(thread, n)


@instruction(
    "cp.async.wait_all;", name="cp.async.wait_all", issued_by=Scope.WARP, min_sm=80, cost="wait",
    isa="cp.async.wait_group, cp.async.wait_all", awaits="cp.async-group",
)  # fmt: skip
def cp_async_wait_all(gpu: Machine, thread: Thread) -> None:
    """Wait for all cp.async of each thread, in closed groups and in the open group."""
    gpu.cp_async_commit(thread)
    gpu.cp_async_wait(thread, 0)


@instruction(
    "cp.async.mbarrier.arrive.shared::cta.b64 [{bar}];",
    name="cp.async.mbarrier.arrive",
    issued_by=Scope.THREAD,
    min_sm=80,
    cost="smem_atomic",
    barrier=BarrierEffect.ARRIVE,
    adds_arrival=True,
)
def cp_async_mbarrier_arrive(gpu: Machine, thread: Thread, bar: MbarrierAddress) -> None:
    """Arrive at `bar` for each thread when all its earlier cp.async are complete, as an additional pending arrival.

    The arrival is not part of the expected count of `bar`; the phase needs all expected arrivals in addition.
    """
    gpu.cp_async_arrive(thread, bar, True)


@instruction(
    "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [{bar}];",
    name="cp.async.mbarrier.arrive.noinc",
    issued_by=Scope.THREAD,
    min_sm=80,
    isa="cp.async.mbarrier.arrive",
    cost="smem_atomic",
    barrier=BarrierEffect.ARRIVE,
)
def cp_async_mbarrier_arrive_noinc(gpu: Machine, thread: Thread, bar: MbarrierAddress) -> None:
    """Arrive at `bar` for each thread when its earlier cp.async are complete, within the expected count of `bar`."""
    gpu.cp_async_arrive(thread, bar, False)
