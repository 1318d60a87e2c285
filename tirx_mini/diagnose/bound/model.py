"""The data model of performance bounds: critical-path shares, utilisations, and the causes in words."""

from __future__ import annotations

from tirx_mini.records import dataclass, replace

from ..times import LaunchTime, us_text
from .path import Resource


@dataclass(frozen=True)
class Share:
    """A term of the predicted time: the share of a resource in the critical path.

    share: of the predicted time. cycles: the same at the clock of the run, not rounded. us, percent: the same in tenths
    of a microsecond and in percent, rounded so that all terms sum to the displayed time, and to 100.
    """

    resource: Resource
    us: float
    share: float
    percent: int
    cycles: float


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
    """A cause that bounds a kernel. kind: a key. name: in a few words. fact: a sentence with figures.

    terms: the terms of the time that it explains. remedy: the last clause, or a last sentence; "" for none.
    """

    kind: str
    name: str
    fact: str
    terms: tuple[Resource, ...]
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """The fact and the remedy."""
        joint = ". " if self.remedy[:1].isupper() else "; "
        return f"{self.fact}{joint}{self.remedy}" if self.remedy else self.fact


@dataclass(frozen=True)
class Bound:
    """The performance bound of a completed run.

    causes: the one to remove first comes first; each rests on the ones before it being removed.
    shares: the terms of the predicted time, the largest first: the critical path of the SM that ended last.
    lanes: roles, then engines, of the CTA of that SM. usage: of the parts of the GPU, as that SM sees them.
    time: that the shares divide, of one launch in a row.
    """

    causes: tuple[Cause, ...]
    shares: tuple[Share, ...]
    lanes: tuple[LaneTime, ...]
    usage: tuple[Usage, ...]
    time: LaunchTime

    @property
    def name(self) -> str:
        """The largest term of the time."""
        return str(self.shares[0].resource)

    @property
    def cause(self) -> Cause:
        """The first cause."""
        return self.causes[0]

    @property
    def sentence(self) -> str:
        """The first cause, as a sentence."""
        return self.cause.sentence

    @property
    def without_remedies(self) -> Bound:
        """The same bound for a reader who is to find the remedies."""
        return replace(self, causes=tuple(replace(cause, remedy="") for cause in self.causes))

    @property
    def rest(self) -> str:
        """The share of the largest term, then the first cause, which is named if it explains another term."""
        largest, cause = self.shares[0], self.cause
        told = f", {largest.percent} % of the {us_text(self.time.us)}"
        if largest.resource in cause.terms:
            return f"{told}: {cause.sentence}"
        return f"{told}; first to remove ({cause.name}): {cause.sentence}"

    def __str__(self) -> str:
        return f"bound by {self.name}{self.rest}"
