"""Facts about incorrect uses of a warp's lanes."""

from __future__ import annotations

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Fact


@dataclass(frozen=True)
class PartialWarp(Fact):
    """A whole-warp instruction that only some lanes execute. instruction: in PTX. lanes: their number, of `all`."""

    instruction: str
    lanes: int
    all: int


@dataclass(frozen=True)
class WarpApart(Fact):
    """A whole-warp instruction that some lanes execute while the others wait for them elsewhere.

    instruction: in PTX. lanes: their number, of `all`. waits, span: the instruction that the whole warp must reach.
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
    """Different values of the lanes for an operand that must be uniform. operand: its description."""

    operand: str


def warp_name(warp_id: int, warps: int) -> str:
    """Return 'warp 3', or 'warp 3 of warpgroup 1' in CTAs of several warpgroups."""
    return f"warp {warp_id}" if warps <= 4 else f"warp {warp_id % 4} of warpgroup {warp_id // 4}"
