"""Facts about incorrect uses of wgmma, and the wait for its groups."""

from __future__ import annotations

from typing import ClassVar

from tirx_mini.records import dataclass

from ..facts import Fact
from ..machine import Wait


@dataclass
class WgmmaWait(Wait):
    """A wait at wgmma.wait_group. warpgroup: its name; missing: how many of its `warps` have not committed the
    group."""

    instruction: ClassVar[str] = "wgmma"
    looks: ClassVar[bool] = True
    warpgroup: str
    missing: int
    warps: int


@dataclass(frozen=True)
class WgmmasDiffer(Fact):
    """Different wgmmas in the warps of one warpgroup."""

    warpgroup: str


@dataclass(frozen=True)
class WarpgroupTooSmall(Fact):
    """wgmma in a warpgroup of fewer than four warps. warps: of the CTA."""

    warps: int


@dataclass(frozen=True)
class MissingWgmmaFence(Fact):
    """A wgmma on registers without a preceding wgmma.fence. first: whether the warp has executed no fence at all."""

    registers: str
    first: bool


@dataclass(frozen=True)
class WgmmaAtExit(Fact):
    """The end of a warp that has not waited for its wgmma."""
