"""Mistakes of warps with their lanes."""

from __future__ import annotations

from dataclasses import dataclass

from ..facts import Fact


@dataclass(frozen=True)
class PartialWarp(Fact):
    """An instruction for the whole warp is executed by some lanes. instruction: in PTX. lanes: how many, of `all`."""

    instruction: str
    lanes: int
    all: int


@dataclass(frozen=True)
class LanesDiffer(Fact):
    """The lanes of a warp give different values for an operand that must be the same. operand: which, in words."""

    operand: str


def warp_name(warp_id: int, warps: int) -> str:
    """'warp 3', or in CTAs of several warpgroups 'warp 3 of warpgroup 1'."""
    return f"warp {warp_id}" if warps <= 4 else f"warp {warp_id % 4} of warpgroup {warp_id // 4}"
