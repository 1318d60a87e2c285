"""Multicasts to CTAs of the cluster that are known at run time only: their mask is an operand, in a register."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from tirx_mini.ir import Expr

from .core import instruction
from .facts import Alias, BarrierEffect, Completion, Memory, Scope
from .machine import Machine, Thread
from .operands import MbarrierAddress, SharedAddress, TensorMapHandle, s32, u32
from .tma import ROWS_ON, CacheHint, LoadMode, coordinates, load_text


@instruction(
    """{
    .reg .b16 mask;
    cvt.u16.u32 mask, {cta_mask};
    tcgen05.commit.cta_group::{cta_group}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [{bar}], mask;
}""",
    name="tcgen05.commit.multicast",
    api=(Alias("ptx.tcgen05.commit", order={
        "bar": "bar", "cta_group": "cta_group", "cta_mask": "cta_mask", "pred": (None,),
    }, guard="pred"),),
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
    """As `tcgen05.commit` with several bits in `cta_mask`: one arrival in each CTA of the mask."""
    mask = thread.uniform(cta_mask, "the mask of CTAs")
    for _ in range(thread.mask.count):
        gpu.commit(thread, gpu.peer_mbarriers(thread, bar, mask), cta_group)


def _load(dim: int, cta_group: int, cache_hint: str, load_mode: str, cache_policy: int) -> str:
    copy = load_text(dim, cta_group, 0, cache_hint, load_mode, cache_policy)
    copy = copy.replace("complete_tx::bytes", "complete_tx::bytes.multicast::cluster")
    copy = copy.replace("[{bar}]", "[{bar}], mask")
    lines = copy.splitlines()[1:-1] if copy.startswith("{\n") else [f"    {copy}"]
    return "\n".join(["{", "    .reg .b16 mask;", "    cvt.u16.u32 mask, {cta_mask};", *lines, "}"])


def _load_coordinates(operands: Sequence[Expr], dim: int, load_mode: str, **_: Any) -> str | None:
    return coordinates(len(operands) - 4, dim, load_mode)


@instruction(
    _load,
    name="cp.async.bulk.tensor.load.multicast",
    implied=("tile",),
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="cp.async.bulk.tensor",
    cost="tma",
    barrier=BarrierEffect.COMPLETE_TX,
    reads=Memory.GLOBAL,
    writes=Memory.SHARED,
    completion=Completion.MBARRIER,
    only_on={("load_mode", "tile::gather4"): ROWS_ON},
    values={"tile_gather4": "tile::gather4"},
    check=_load_coordinates,
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
    """As `cp.async.bulk.tensor.load` with several bits in `cta_mask`: the box lands in each CTA of the mask."""
    mask = thread.uniform(cta_mask, "the mask of CTAs")
    for _ in range(thread.mask.count):
        gpu.tma_load(thread, tensor_map, dst, bar, coords, mask, cta_group, load_mode != "tile")
