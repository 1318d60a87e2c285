"""A simulated GPU: runs lowered kernels with every warp, engine and barrier, and reports what they do wrong.

report = simulate(lowered, [A, B, D], gpu="b200")
report.verdict, report.findings, report.time_us
"""

from .arguments import ArgumentError
from .findings import (
    KINDS,
    VERDICTS,
    Finding,
    Report,
    Severity,
    StuckRole,
    Verdict,
    as_dict,
    verdict_of,
    worst_first,
)
from .simulate import SimulationError, failed, simulate
from .translate import Translation, translate

__all__ = [
    "ArgumentError",
    "Finding",
    "KINDS",
    "Report",
    "Severity",
    "SimulationError",
    "StuckRole",
    "Translation",
    "VERDICTS",
    "Verdict",
    "as_dict",
    "failed",
    "simulate",
    "translate",
    "verdict_of",
    "worst_first",
]
