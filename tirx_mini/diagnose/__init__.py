"""Facts into findings: what is wrong with a kernel, why, at which line, and what to write instead.

report = simulate(lowered, [A, B, D], gpu="b200")
report.verdict, report.findings, report.time_us

Each module holds rules: `barriers`, `hazards`, `accesses`, `instructions`, `tensor_memory`, `launches`, and in
`deadlock/` those for machines in which nothing can advance. A rule names the kind of its finding, with its code.
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

from .bound import Bound, Cause, LaneTime, Resource, Share, Usage, WaitShare
from .deadlock import RULES, StuckRole, state_notes
from .explore import DEFAULT_LIMIT, Exploration, explore
from .findings import Finding, Report, as_dict, verdict_of, worst_first
from .judge import SimulationError, failed, finding_of, simulate
from .kind import VERDICTS, Kind, Severity, Verdict
from .kinds import CAUSES, FACT_RULES, KINDS, codes, kind_with
from .proof import Proof
from .twins import together

__all__ = [
    "Activity", "Awaited", "BarrierChange", "CtaTime", "Interval", "Place", "Tile", "Timeline", "Track", "TrackKind",
    "base_name", "covered",
    "Bound", "Cause", "LaneTime", "Resource", "Share", "Usage", "WaitShare",
    "BUDGET", "BarrierEvent", "CAUSES", "DEFAULT_LIMIT", "Exploration", "FACT_RULES", "Finding", "KINDS", "Kind",
    "Proof",
    "RULES", "Report", "Severity", "Signal", "SimulationError", "StuckRole", "VERDICTS", "Verdict", "as_dict", "codes",
    "explore", "failed", "finding_of", "kind_with", "simulate", "state_notes", "verdict_of", "worst_first", "together",
]  # fmt: skip
