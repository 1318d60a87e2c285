"""cp.async: copies of 4, 8 or 16 bytes a thread from global to shared memory, for which threads wait in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from tirx_mini.ir import Expr

from .core import instruction
from .facts import BarrierEffect, Completion, Memory, Scope
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


_FACTS: dict[str, Any] = {
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
    """Each thread copies `bytes` bytes, which it sees after wait_group; for proxies the copy is an ordinary write.

    prefetch: how many bytes the L2 should load ahead. cop: the caches that are used, "ca" or, for 16 bytes, "cg"; by
    default "cg" where it can be.
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
    """Each thread copies `size` bytes, at most `bytes`, and writes zeros for the rest. With 0 it reads nothing."""
    gpu.cp_async(thread, dst, src, bytes, size)


@instruction(
    "cp.async.commit_group;",
    name="cp.async.commit_group",
    issued_by=Scope.WARP,
    min_sm=80,
    cost="sync",
)
def cp_async_commit_group(gpu: Machine, thread: Thread) -> None:
    """Close the group of the cp.async that each thread issued since the last one."""
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
    """Wait until at most `n` groups of each thread are unfinished."""
    gpu.cp_async_wait(thread, n)


@instruction(
    "cp.async.wait_all;", name="cp.async.wait_all", issued_by=Scope.WARP, min_sm=80, cost="wait",
    isa="cp.async.wait_group, cp.async.wait_all", awaits="cp.async-group",
)  # fmt: skip
def cp_async_wait_all(gpu: Machine, thread: Thread) -> None:
    """Wait for every cp.async of each thread, in closed groups and in the open one."""
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
    """Each thread arrives at `bar` once all its earlier cp.async are done; this arrival is pending besides the others.

    It is not one of those that `bar` expects: the phase needs these, too, and waits for the copies besides.
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
    """Each thread arrives at `bar` once all its earlier cp.async are done; the count of `bar` includes this arrival."""
    gpu.cp_async_arrive(thread, bar, False)
