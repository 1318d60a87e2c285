"""Grading: a hand-in becomes a score, and a report that its student learns from.

`load_rules` reads what the teacher decided, `grade` grades one hand-in.
"""

from .building import Builder, Built, Refused
from .canonical import kernel_key
from .classroom import Class, Entry, Grader, Outcome, Standing, alike_csv, entries_of, grade_class, grades_csv
from .handin import HandIn, HandInError, read_handin
from .results import Graded, Late, Part, StepResult, points_text
from .rules import PARTS, JudgeLimits, Lateness, Rules, RulesError, StepRules, load_rules
from .similar import Likeness, likenesses, prints

__all__ = [
    "Class",
    "Entry",
    "Grader",
    "Outcome",
    "Standing",
    "alike_csv",
    "entries_of",
    "grade_class",
    "grades_csv",
    "Likeness",
    "likenesses",
    "prints",
    "PARTS",
    "Builder",
    "Built",
    "Graded",
    "HandIn",
    "HandInError",
    "JudgeLimits",
    "Late",
    "Lateness",
    "Part",
    "Refused",
    "Rules",
    "RulesError",
    "StepResult",
    "StepRules",
    "kernel_key",
    "load_rules",
    "points_text",
    "read_handin",
]
