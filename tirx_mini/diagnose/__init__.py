"""Diagnosis: turns the facts of a run into findings, with the cause, the source line and a fix.

report = report_of(lowered, gpu_spec("b200"), outcome)
report.verdict, report.findings, report.time_us

Each module holds rules: `barriers`, `hazards`, `accesses`, `instructions`, `tensor_memory`, `launches`, and `deadlock/`
for machines in which nothing can advance. A rule names the kind of its finding, with its code.
"""

from tirx_mini.sim import (
    BUDGET,
    Activity,
    Awaited,
    BarrierChange,
    BarrierEvent,
    CtaTime,
    Interval,
    Place,
    Signal,
    Tile,
    Timeline,
    Track,
    TrackKind,
    base_name,
    covered,
)

from .bound import Bound, Cause, LaneTime, Resource, Share, Usage, WaitShare, busiest_unit
from .deadlock import RULES, StuckRole, state_notes
from .findings import Finding, Report, as_dict, verdict_of, worst_first
from .judge import SimulationError, failed, finding_of, report_of
from .kind import VERDICTS, Kind, Severity, Verdict
from .kinds import CAUSES, FACT_RULES, KINDS, codes, kind_with
from .proof import Proof, proof_of
from .roles import warp_roles, with_roles
from .times import LaunchTime, Timing, rate_figure, rate_text, single_launch_time, us_text
from .twins import together

__all__ = [
    "Activity", "Awaited", "BarrierChange", "CtaTime", "Interval", "Place", "Tile", "Timeline", "Track", "TrackKind",
    "base_name", "covered",
    "Bound", "Cause", "LaneTime", "Resource", "Share", "Usage", "WaitShare", "busiest_unit",
    "BUDGET", "BarrierEvent", "CAUSES", "FACT_RULES", "Finding", "KINDS", "Kind",
    "Proof", "proof_of",
    "RULES", "Report", "Severity", "Signal", "SimulationError", "StuckRole", "VERDICTS", "Verdict", "as_dict", "codes",
    "LaunchTime", "Timing", "failed", "finding_of", "kind_with", "rate_figure", "rate_text", "report_of",
    "single_launch_time", "state_notes", "together", "us_text", "verdict_of", "warp_roles", "with_roles",
    "worst_first",
]  # fmt: skip
