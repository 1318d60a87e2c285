"""Facts about mistakes with wgmma, and the wait for its groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..facts import Fact
from ..machine import Wait


@dataclass
class WgmmaWait(Wait):
    """wgmma.wait_group. warpgroup: which; missing: how many of its `warps` have not committed the group."""

    instruction: ClassVar[str] = "wgmma"
    looks: ClassVar[bool] = True
    warpgroup: str
    missing: int
    warps: int


@dataclass(frozen=True)
class WgmmasDiffer(Fact):
    """The warps of a warpgroup issue different wgmmas."""

    warpgroup: str


@dataclass(frozen=True)
class WarpgroupTooSmall(Fact):
    """wgmma in a warpgroup of fewer than four warps. warps: of the CTA."""

    warps: int


@dataclass(frozen=True)
class MissingWgmmaFence(Fact):
    """A wgmma on registers that no wgmma.fence precedes. first: whether the warp has executed no such fence at all."""

    registers: str
    first: bool


@dataclass(frozen=True)
class WgmmaAtExit(Fact):
    """A warp ends without having waited for its wgmma."""
