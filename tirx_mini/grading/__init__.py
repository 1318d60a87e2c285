"""Grading: a hand-in becomes a score, and a report that its student learns from.

`load_rules` reads what the teacher decided, `grade` grades one hand-in.
"""

from .results import Graded, Late, Part, StepResult, points_text
from .rules import PARTS, JudgeLimits, Lateness, Rules, RulesError, StepRules, load_rules

__all__ = [
    "PARTS",
    "Graded",
    "JudgeLimits",
    "Late",
    "Lateness",
    "Part",
    "Rules",
    "RulesError",
    "StepResult",
    "StepRules",
    "load_rules",
    "points_text",
]
