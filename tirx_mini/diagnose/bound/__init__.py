"""Performance bounds of a run: its critical path, the times of its warps and engines, and the causes in words.

bound = bound_of(timeline, spec, stats, timing.row)
bound.sentence, bound.shares, bound.lanes, bound.usage
"""

from collections.abc import Mapping

from tirx_mini.hardware import GpuSpec
from tirx_mini.sim import Timeline

from ..times import LaunchTime
from .facts import Facts
from .model import Bound, Cause, LaneTime, Share, Usage, WaitShare
from .path import Resource, critical_path
from .rules import causes_of
from .scene import Scene

__all__ = [
    "Bound", "Cause", "LaneTime", "Resource", "Scene", "Share", "Usage", "WaitShare", "bound_of", "critical_path",
]  # fmt: skip


def bound_of(timeline: Timeline, spec: GpuSpec, stats: Mapping[str, float], time: LaunchTime) -> Bound:
    """Return the performance bound of a completed run. stats: of its report. time: of one launch in a row."""
    facts = Facts(timeline, spec, stats, time)
    return Bound(causes_of(facts), facts.shares, facts.lanes, facts.usage, time)
