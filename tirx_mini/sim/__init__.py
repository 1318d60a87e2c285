"""A simulated GPU: runs lowered kernels with every warp, engine and barrier, and reports what they do wrong.

report = simulate(lowered, [A, B, D], gpu="b200")
report.verdict, report.findings, report.time_us
"""

from .arguments import ArgumentError
from .dtypes import numpy_dtype
from .explore import DEFAULT_LIMIT, Exploration, explore
from .findings import (
    Finding,
    Report,
    Severity,
    StuckRole,
    as_dict,
    verdict_of,
    worst_first,
)
from .kinds import CAUSES, KINDS, VERDICTS, Kind, Verdict, codes, kind_with
from .simulate import SimulationError, failed, simulate
from .translate import Translation, translate

__all__ = [
    "ArgumentError",
    "CAUSES",
    "DEFAULT_LIMIT",
    "Exploration",
    "Finding",
    "KINDS",
    "Kind",
    "Report",
    "Severity",
    "SimulationError",
    "StuckRole",
    "Translation",
    "VERDICTS",
    "Verdict",
    "as_dict",
    "codes",
    "explore",
    "failed",
    "kind_with",
    "numpy_dtype",
    "simulate",
    "translate",
    "verdict_of",
    "worst_first",
]
