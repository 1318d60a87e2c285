"""Instructions among the lanes of a warp, and addresses within a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .core import instruction
from .facts import CudaName, LaneResult, Scope
from .machine import Blocking, Machine, Thread
from .operands import CtaRank, SharedAddress, any_value, pred, s32, u32

_LANES = np.arange(32)
Width = Literal[1, 2, 4, 8, 16, 32]


@instruction(
    "elect.sync _|{result}, 0xffffffff;",
    name="elect.sync",
    issued_by=Scope.WARP,
    min_sm=90,
    cost="sync",
    lanes=LaneResult.ELECTED,
    pure=True,
    cuda=CudaName("elect_one_sync_op"),
)
def elect_sync(gpu: Machine, thread: Thread) -> pred:
    """Return true in one lane of the warp, the lowest in the simulator."""
    thread.converged("elect.sync")
    return thread.mask.first == _LANES


@instruction(
    "elect.sync _|{result}, {members};",
    name="elect.sync.members",
    issued_by=Scope.WARP,
    min_sm=90,
    isa="elect.sync",
    cost="sync",
    lanes=LaneResult.ELECTED,
    only_in_ptx=True,
)
def elect_sync_members(gpu: Machine, thread: Thread, members: u32) -> pred:
    """Return true in one of the lanes `members`, which are those that execute it; the lowest in the simulator."""
    thread.named_lanes(members, "elect.sync")
    return thread.mask.first == _LANES


@instruction(
    "mapa.shared::cluster.u32 {result}, {bar}, {cta_id};",
    name="mapa",
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="alu",
    pure=True,
)
def mapa(gpu: Machine, thread: Thread, bar: SharedAddress, cta_id: CtaRank) -> u32:
    """Return the shared::cluster address of the offset of `bar` in CTA `cta_id` of the cluster."""
    return gpu.map_shared_rank(thread, bar, cta_id)


@instruction(
    "mov.u32 {result}, {ptr};",
    name="cvta.shared",
    issued_by=Scope.THREAD,
    min_sm=70,
    isa="cvta",
    cost="alu",
    pure=True,
    lanewise=True,
)
def cvta_shared(gpu: Machine, thread: Thread, ptr: SharedAddress) -> u32:
    """Return the address of a shared-memory location as a 32-bit integer."""
    return ptr


@instruction(
    "shfl.sync.bfly.b32 {result}, {value}, {lane_mask}, 31, 0xffffffff;",
    name="shfl.xor",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="shfl.sync",
    cost="shuffle",
    pure=True,
)
def shfl_xor(gpu: Machine, thread: Thread, value: any_value, lane_mask: s32) -> any_value:
    """Return the value of lane ``lane ^ lane_mask``."""
    return gpu.shuffle(thread, value, _LANES ^ np.asarray(lane_mask))


@instruction(
    "shfl.sync.idx.b32 {result}, {value}, {lane}, 31, 0xffffffff;",
    name="shfl.idx",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="shfl.sync",
    cost="shuffle",
    pure=True,
)
def shfl_idx(gpu: Machine, thread: Thread, value: any_value, lane: s32) -> any_value:
    """Return the value of lane `lane`."""
    return gpu.shuffle(thread, value, np.broadcast_to(np.asarray(lane) & 31, 32))


@instruction(
    "shfl.sync.down.b32 {result}, {value}, {delta}, 31, 0xffffffff;",
    name="shfl.down",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="shfl.sync",
    cost="shuffle",
    pure=True,
)
def shfl_down(gpu: Machine, thread: Thread, value: any_value, delta: s32) -> any_value:
    """Return the value of lane ``lane + delta``, or the lane's own value if the warp has no such lane."""
    source = _LANES + np.asarray(delta)
    return gpu.shuffle(thread, value, np.where(source > 31, _LANES, source))


@instruction(
    "shfl.sync.up.b32 {result}, {value}, {delta}, 0, 0xffffffff;",
    name="shfl.up",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="shfl.sync",
    cost="shuffle",
    pure=True,
)
def shfl_up(gpu: Machine, thread: Thread, value: any_value, delta: s32) -> any_value:
    """Return the value of lane ``lane - delta``, or the lane's own value if the warp has no such lane."""
    source = _LANES - np.asarray(delta)
    return gpu.shuffle(thread, value, np.where(source < 0, _LANES, source))


def _segments(mode: str) -> Callable[..., str]:
    """Return the PTX of a shuffle within segments of `width` lanes; operand c encodes the segment mask and bound."""

    def template(width: int, **_: object) -> str:
        bounds = (32 - width) << 8 | (0 if mode == "up" else 31)
        source = {"idx": "lane", "bfly": "lane_mask"}.get(mode, "delta")
        return f"shfl.sync.{mode}.b32 {{result}}, {{value}}, {{{source}}}, {bounds}, {{mask}};"

    return template


_SEGMENTED: dict[str, Any] = {
    "issued_by": Scope.WARP, "min_sm": 70, "isa": "shfl.sync", "cost": "shuffle", "pure": True,
}  # fmt: skip


@instruction(_segments("bfly"), name="shfl.xor.segment", **_SEGMENTED)
def shfl_xor_segment(
    gpu: Machine, thread: Thread, value: any_value, lane_mask: s32, mask: u32, *, width: Width = 32
) -> any_value:
    """Return the value of lane ``lane ^ lane_mask``, or the lane's own value if that lies beyond its segment.

    mask: the lanes that execute it together. width: the lanes of a segment.
    """
    source = _LANES ^ np.asarray(lane_mask)
    return gpu.shuffle(thread, value, np.where(source > (_LANES | (width - 1)), _LANES, source), mask)


@instruction(_segments("idx"), name="shfl.idx.segment", **_SEGMENTED)
def shfl_idx_segment(
    gpu: Machine, thread: Thread, value: any_value, lane: s32, mask: u32, *, width: Width = 32
) -> any_value:
    """Return the value of lane `lane` modulo `width` in the lane's segment. mask: the lanes that execute it."""
    return gpu.shuffle(thread, value, (_LANES & -width) | (np.asarray(lane) & (width - 1)), mask)


@instruction(_segments("down"), name="shfl.down.segment", **_SEGMENTED)
def shfl_down_segment(
    gpu: Machine, thread: Thread, value: any_value, delta: s32, mask: u32, *, width: Width = 32
) -> any_value:
    """Return the value of lane ``lane + delta``, or the lane's own value if its segment has no such lane.

    mask: the lanes that execute it together. width: the lanes of a segment.
    """
    source = _LANES + np.asarray(delta)
    return gpu.shuffle(thread, value, np.where(source > (_LANES | (width - 1)), _LANES, source), mask)


@instruction(_segments("up"), name="shfl.up.segment", **_SEGMENTED)
def shfl_up_segment(
    gpu: Machine, thread: Thread, value: any_value, delta: s32, mask: u32, *, width: Width = 32
) -> any_value:
    """Return the value of lane ``lane - delta``, or the lane's own value if its segment has no such lane.

    mask: the lanes that execute it together. width: the lanes of a segment.
    """
    source = _LANES - np.asarray(delta)
    return gpu.shuffle(thread, value, np.where(source < (_LANES & -width), _LANES, source), mask)


@instruction(
    "setmaxnreg.inc.sync.aligned.u32 {count};",
    name="setmaxnreg.inc",
    issued_by=Scope.WARPGROUP,
    min_sm=90,
    isa="setmaxnreg",
    cost="sync",
    moves_registers=True,
    awaits="setmaxnreg",
)
def setmaxnreg_inc(gpu: Machine, thread: Thread, *, count: int) -> Blocking:
    """Raise the registers of each thread of the warpgroup to `count`, a multiple of 8 from 24 to 256.

    Waits until other warps of the CTA have released enough registers.
    """
    yield from gpu.set_max_registers(thread, count, True)


@instruction(
    "setmaxnreg.dec.sync.aligned.u32 {count};",
    name="setmaxnreg.dec",
    issued_by=Scope.WARPGROUP,
    min_sm=90,
    isa="setmaxnreg",
    cost="sync",
    moves_registers=True,
    awaits="setmaxnreg",
)
def setmaxnreg_dec(gpu: Machine, thread: Thread, *, count: int) -> Blocking:
    """Lower the registers of each thread of the warpgroup to `count`, a multiple of 8 from 24 to 256."""
    yield from gpu.set_max_registers(thread, count, False)
