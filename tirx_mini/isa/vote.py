"""Votes and reductions over the lanes of a warp: all lanes of the mask receive the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .core import instruction
from .facts import Scope, SharedFacts
from .machine import Machine, Thread
from .operands import f32, pred, s32, u32

_FACTS: SharedFacts = {"issued_by": Scope.WARP, "cost": "sync", "pure": True}


def _lanes(thread: Thread, value: object) -> np.ndarray:
    """Return the values of the active lanes."""
    return np.broadcast_to(np.asarray(value), 32)[thread.mask.lanes]


def _same(result: object, *operands: object) -> Any:
    """Return a result shared by all lanes, as an array if operands are arrays."""
    return np.full(32, result) if any(isinstance(operand, np.ndarray) for operand in operands) else result


@instruction(
    "vote.sync.any.pred {result}, {condition}, {mask};",
    name="vote.any", min_sm=70, isa="vote.sync", **_FACTS,
)  # fmt: skip
def vote_any(gpu: Machine, thread: Thread, mask: u32, condition: pred) -> pred:
    """Return whether the condition holds in any lane of `mask`, whose lanes execute it together."""
    thread.named_lanes(mask, "vote.sync")
    return _same(bool(_lanes(thread, condition).any()), mask, condition)


@instruction(
    "vote.sync.all.pred {result}, {condition}, {mask};",
    name="vote.all", min_sm=70, isa="vote.sync", **_FACTS,
)  # fmt: skip
def vote_all(gpu: Machine, thread: Thread, mask: u32, condition: pred) -> pred:
    """Return whether the condition holds in all lanes of `mask`, which execute it together."""
    thread.named_lanes(mask, "vote.sync")
    return _same(bool(_lanes(thread, condition).all()), mask, condition)


@instruction(
    "vote.sync.ballot.b32 {result}, {condition}, {mask};",
    name="vote.ballot", min_sm=70, isa="vote.sync", **_FACTS,
)  # fmt: skip
def vote_ballot(gpu: Machine, thread: Thread, mask: u32, condition: pred) -> u32:
    """Return the lanes of `mask` in which the condition holds, lane 0 in bit 0; the lanes execute it together."""
    thread.named_lanes(mask, "vote.sync")
    holds = _lanes(thread, condition).astype(bool)
    return _same(sum(1 << lane for lane in thread.mask.lanes[holds].tolist()), mask, condition)


@instruction(
    "activemask.b32 {result};", name="activemask.b32", issued_by=Scope.WARP, min_sm=70, isa="activemask", cost="alu"
)
def activemask(gpu: Machine, thread: Thread) -> u32:
    """Return the active lanes, lane 0 in bit 0; a chip may diverge lanes that the simulator keeps converged."""
    return sum(1 << lane for lane in thread.mask.lanes.tolist())


@instruction(
    "match.any.sync.b32 {result}, {value}, {mask};", name="match.any.sync.b32", min_sm=70, isa="match.sync", **_FACTS
)
def match_any(gpu: Machine, thread: Thread, value: u32, mask: u32) -> u32:
    """Return the lanes of `mask` with the same value as this lane (`__match_any_sync`); they execute it together."""
    thread.named_lanes(mask, "match.sync")
    lanes = thread.mask.lanes.tolist()
    values = np.broadcast_to(np.asarray(value), 32)
    same = [sum(1 << lane for lane in lanes if values[lane] == mine) for mine in values.tolist()]
    return _per_lane(same, value, mask)


@instruction(
    "match.all.sync.b32 {result}, {value}, {mask};", name="match.all.sync.b32", min_sm=70, isa="match.sync", **_FACTS
)
def match_all(gpu: Machine, thread: Thread, value: u32, mask: u32) -> u32:
    """Return `mask` if all its lanes have the same value, else 0 (`__match_all_sync`); they execute it together."""
    thread.named_lanes(mask, "match.sync")
    given = _lanes(thread, value)
    lanes = sum(1 << lane for lane in thread.mask.lanes.tolist())
    return _same(lanes if (given == given[0]).all() else 0, value, mask)


def _per_lane(result: list[int], *operands: object) -> Any:
    """Return the results of 32 lanes, or one of them if every operand is equal in all lanes."""
    several = any(isinstance(operand, np.ndarray) for operand in operands)
    return np.array(result, np.int64) if several else result[0]


_REDUCTIONS: dict[str, Callable[..., Any]] = {"add": np.sum, "min": np.min, "max": np.max}


@instruction(
    "redux.sync.{op}.u32 {result}, {value}, {mask};", name="redux.u32",
    min_sm=80, isa="redux.sync", **_FACTS,
)  # fmt: skip
def redux_u32(gpu: Machine, thread: Thread, mask: u32, value: u32, *, op: Literal["add", "min", "max"] = "add") -> u32:
    """Return the sum modulo 2³², minimum or maximum over the lanes of `mask`, which execute it together."""
    thread.named_lanes(mask, "redux.sync")
    total = int(_REDUCTIONS[op](_lanes(thread, value).astype(np.int64)))
    return _same(total & 0xFFFFFFFF, mask, value)


@instruction(
    "redux.sync.{op}.s32 {result}, {value}, {mask};", name="redux.s32", min_sm=80, isa="redux.sync", **_FACTS,
)  # fmt: skip
def redux_s32(gpu: Machine, thread: Thread, mask: u32, value: s32, *, op: Literal["add", "min", "max"] = "add") -> s32:
    """Return the reduction `redux.u32` of signed integers."""
    thread.named_lanes(mask, "redux.sync")
    total = int(_REDUCTIONS[op](_lanes(thread, value).astype(np.int64)))
    return _same((total + (1 << 31)) % (1 << 32) - (1 << 31), mask, value)


@instruction(
    "redux.sync.{op}{.abs}{.nan}.f32 {result}, {value}, {mask};", name="redux.f32",
    min_sm=100, max_sm=103, isa="redux.sync", **_FACTS,
)  # fmt: skip
def redux_f32(
    gpu: Machine, thread: Thread, mask: u32, value: f32, *, op: Literal["min", "max"] = "max",
    abs: Literal["", "abs"] = "", nan: Literal["", "NaN"] = "",
) -> f32:  # fmt: skip
    """Return the minimum or maximum over the lanes of `mask`, or with `abs` of the absolute values.

    -0 is less than 0. A NaN is ignored unless all values are; with `nan`, one NaN makes the result NaN.
    """
    thread.named_lanes(mask, "redux.sync")
    values = _lanes(thread, value).astype(np.float32)
    values = np.abs(values) if abs else values
    numbers = values[~np.isnan(values)]
    if not len(numbers) or (nan and len(numbers) < len(values)):
        return _same(np.float32(np.nan), mask, value)
    best = _REDUCTIONS[op](numbers)
    if best == 0:
        signs = np.signbit(numbers[numbers == 0])
        best = np.float32(-0.0 if (signs.any() if op == "min" else signs.all()) else 0.0)
    return _same(best, mask, value)
