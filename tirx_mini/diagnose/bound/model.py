"""The data model of performance bounds: critical-path shares, utilisations, and the causes in words."""

from __future__ import annotations

from dataclasses import dataclass

from .path import Resource


@dataclass(frozen=True)
class Share:
    """The share of a resource in the critical path. cycles: of the SM clock. share: of the predicted time."""

    resource: Resource
    cycles: float
    share: float


@dataclass(frozen=True)
class WaitShare:
    """A share of a warp's time. name: the awaited object: a barrier without its index, "bar.sync 0", "wgmma-group"."""

    name: str
    share: float


@dataclass(frozen=True)
class LaneTime:
    """The time of a role or an engine, as shares of the interval from its CTA's first load or MMA to the last MMA.

    name: "MMA", "TMA", "write-back", "tensor core", "TMA loads". warps: the number of warps with the role; 0 for an
    engine. waits: the longest first. idle: neither busy nor waiting.
    """

    name: str
    warps: int
    busy: float
    waits: tuple[WaitShare, ...]
    idle: float

    @property
    def waiting(self) -> float:
        """The total share of all waits."""
        return sum(wait.share for wait in self.waits)


@dataclass(frozen=True)
class Usage:
    """The utilisation of a unit of the GPU between the first and the last MMA of the tiles.

    name: "tensor core", "shared memory", "L2", "HBM". share: 1 is the full capacity available to one SM.
    """

    name: str
    share: float


@dataclass(frozen=True)
class Cause:
    """A cause that bounds a kernel. kind: a key. name: in a few words. sentence: with figures and a remedy."""

    kind: str
    name: str
    sentence: str


@dataclass(frozen=True)
class Bound:
    """The performance bound of a completed run.

    causes: in the order in which to remove them; each assumes that the earlier ones are removed.
    shares: of the critical path of the SM that ended last, the largest first; they add up to the predicted time.
    lanes: roles, then engines, of the CTA of that SM. usage: of the units of the GPU, as that SM sees them.
    """

    causes: tuple[Cause, ...]
    shares: tuple[Share, ...]
    lanes: tuple[LaneTime, ...]
    usage: tuple[Usage, ...]

    @property
    def cause(self) -> Cause:
        """The first cause."""
        return self.causes[0]

    @property
    def sentence(self) -> str:
        """The first cause, as a sentence."""
        return self.cause.sentence

    def __str__(self) -> str:
        return f"bound by {self.cause.name}: {self.sentence}"
