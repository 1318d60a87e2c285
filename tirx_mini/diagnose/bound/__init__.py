"""Performance bounds of a run: its critical path, the times of its warps and engines, and the causes in words.

bound = bound_of(timeline, spec, stats, timing.row)
bound.sentence, bound.shares, bound.lanes, bound.usage
"""

from collections.abc import Mapping

from tirx_mini.hardware import GpuSpec
from tirx_mini.sim import Timeline

from ..times import LaunchTime
from .facts import Facts, unit_rates
from .model import Bound, Cause, LaneTime, Share, Usage, WaitShare
from .path import Resource, critical_path
from .rules import causes_of
from .scene import Scene

__all__ = [
    "Bound", "Cause", "LaneTime", "Resource", "Scene", "Share", "Usage", "WaitShare", "bound_of", "busiest_unit",
    "critical_path",
]  # fmt: skip


def bound_of(timeline: Timeline, spec: GpuSpec, stats: Mapping[str, float], time: LaunchTime) -> Bound:
    """Return the performance bound of a completed run. stats: of its report. time: of one launch in a row."""
    facts = Facts(timeline, spec, stats, time)
    return Bound(causes_of(facts), facts.shares, facts.lanes, facts.usage, time)


def busiest_unit(spec: GpuSpec, stats: Mapping[str, float], time: LaunchTime) -> Usage:
    """Return the unit of the GPU that works for the largest share of a launch, from its first to its last cycle.

    It needs no timeline. stats: of the report; those of a sampled run have no bytes of the HBM.
    """
    whole = max(time.cycles, 1e-9) * spec.sms
    rates = unit_rates(spec, spec.sms)
    shares = (Usage(name, min(1.0, stats.get(key, 0.0) / (whole * rate))) for name, key, rate in rates)
    return max(shares, key=lambda usage: usage.share)
