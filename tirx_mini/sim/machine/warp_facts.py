"""Mistakes of warps with their lanes."""

from __future__ import annotations

from dataclasses import dataclass

from tirx_mini.ir import Span

from ..facts import Fact


@dataclass(frozen=True)
class PartialWarp(Fact):
    """An instruction for the whole warp is executed by some lanes. instruction: in PTX. lanes: how many, of `all`."""

    instruction: str
    lanes: int
    all: int


@dataclass(frozen=True)
class WarpApart(Fact):
    """Lanes execute an instruction that the chip executes for the whole warp, and the others wait for them elsewhere.

    instruction: in PTX. lanes: how many, of `all`. waits, span: the instruction at which the whole warp has to be.
    """

    instruction: str
    lanes: int
    all: int
    waits: str
    span: Span | None

    @property
    def other(self) -> Span | None:
        return self.span


@dataclass(frozen=True)
class LanesDiffer(Fact):
    """The lanes of a warp give different values for an operand that must be the same. operand: which, in words."""

    operand: str


def warp_name(warp_id: int, warps: int) -> str:
    """'warp 3', or in CTAs of several warpgroups 'warp 3 of warpgroup 1'."""
    return f"warp {warp_id}" if warps <= 4 else f"warp {warp_id % 4} of warpgroup {warp_id // 4}"
