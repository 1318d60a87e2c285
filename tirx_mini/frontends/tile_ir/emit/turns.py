"""Turns of computing warpgroups: each waits at a named barrier of its own until the one before it arrives there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tirx_mini.hardware import WARP_SIZE, WARPGROUP_WARPS
from tirx_mini.ir import binary

from ..nv_tileas import pipeline_ops as ops
from ..ssa import Op, OpKind
from .emitter import GROUP_BARRIER, Emitter

TURN_BARRIER = GROUP_BARRIER + 4
"""The first of the named barriers at which a computing warpgroup waits for its turn."""
BOTH = 2 * WARP_SIZE * WARPGROUP_WARPS
"""The threads of the warpgroup that waits and of the one that arrives."""


def _take(emitter: Emitter, op: Op) -> None:
    """Wait until the warpgroup before this one has passed the turn."""
    emitter.issue("bar.sync", emitter.group + TURN_BARRIER, BOTH)


def _pass(emitter: Emitter, op: Op) -> None:
    """Let the next warpgroup, or the first one behind the last, take its turn."""
    following = (emitter.group + 1) % (emitter.warps // WARPGROUP_WARPS)
    emitter.issue("bar.arrive", following + TURN_BARRIER, BOTH)


def _begin(emitter: Emitter, op: Op) -> None:
    """Let the first warpgroup take its turn."""
    with emitter.when(binary("==", emitter.group, emitter.warps // WARPGROUP_WARPS - 1)):
        _pass(emitter, op)


TURN_OPS: Mapping[OpKind, Callable[[Emitter, Op], None]] = {
    ops.begin_turns: _begin, ops.take_turn: _take, ops.pass_turn: _pass,
}  # fmt: skip
