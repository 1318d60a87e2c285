"""Multicasts to a run-time mask of CTAs: the mask is a register operand."""

from __future__ import annotations

from functools import partial
from typing import Literal

from .core import instruction
from .facts import BarrierEffect, Scope
from .machine import Machine, Thread
from .operands import MbarrierAddress, SharedAddress, TensorMapHandle, s32, u32
from .tma import MASK_OPERAND, TENSOR_LOAD, CacheHint, LoadMode, load_coordinates, load_text


@instruction(
    """{
    .reg .b16 mask;
    cvt.u16.u32 mask, {cta_mask};
    tcgen05.commit.cta_group::{cta_group}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [{bar}], mask;
}""",
    name="tcgen05.commit.multicast",
    issued_by=Scope.THREAD,
    min_sm=100,
    max_sm=110,
    isa="tcgen05.commit",
    cost="smem_atomic",
    barrier=BarrierEffect.COMMIT,
)  # fmt: skip
def tcgen05_commit_multicast(
    gpu: Machine, thread: Thread, bar: MbarrierAddress, cta_mask: u32, *, cta_group: Literal[1, 2] = 1
) -> None:
    """Commit as `tcgen05.commit` with several bits in `cta_mask`: arrive once in each CTA of the mask."""
    mask = thread.uniform(cta_mask, "the mask of CTAs")
    for _ in range(thread.mask.count):
        gpu.commit(thread, gpu.peer_mbarriers(thread, bar, mask), cta_group)


def _load(dim: int, cta_group: int, cache_hint: str, load_mode: str, cache_policy: int) -> str:
    return load_text(dim, cta_group, MASK_OPERAND, cache_hint, load_mode, cache_policy)


@instruction(
    _load, name="cp.async.bulk.tensor.load.multicast", check=partial(load_coordinates, others=4), **TENSOR_LOAD
)
def cp_async_bulk_tensor_load_multicast(
    gpu: Machine,
    thread: Thread,
    dst: SharedAddress,
    tensor_map: TensorMapHandle,
    bar: MbarrierAddress,
    cta_mask: u32,
    *coords: s32,
    dim: int,
    cta_group: Literal[1, 2] = 1,
    cache_hint: CacheHint = "",
    load_mode: LoadMode = "tile",
    cache_policy: int = 0,
) -> None:
    """Load as `cp.async.bulk.tensor.load` with several bits in `cta_mask`: copy the box to each CTA of the mask."""
    mask = thread.uniform(cta_mask, "the mask of CTAs")
    for _ in range(thread.mask.count):
        gpu.tma_load(thread, tensor_map, dst, bar, coords, mask, cta_group, load_mode != "tile")
