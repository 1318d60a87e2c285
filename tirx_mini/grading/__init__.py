"""Grading: a hand-in becomes a score, and a report that its student learns from.

`load_rules` reads what the teacher decided, `grade` grades one hand-in.
"""

from .bench import OnGpu
from .building import Builder, Built, Refused
from .cache import Cache
from .canonical import kernel_key
from .classroom import (
    Class,
    Entry,
    GradeAll,
    Grader,
    Outcome,
    Standing,
    alike_csv,
    entries_of,
    grade_class,
    grades_csv,
    in_threads,
)
from .facts import Facts, contract_broken, facts_of, resident_ctas
from .features import LARGE, Seen, ahead, missing
from .formats import autolab, gradescope
from .grader import Watch, default_gpu, grade, not_graded
from .handin import HandIn, HandInError, packed, read_handin
from .judges import Judges, Lost
from .launching import NoGpu
from .pages import grade_page, grade_table, headline
from .results import Graded, Late, Part, StepResult, points_text
from .rules import PARTS, JudgeLimits, Lateness, Rules, RulesError, StepRules, load_rules
from .similar import Likeness, likenesses, prints
from .stepping import Kernels, observed_case
from .web import grade_html

__all__ = [
    "OnGpu",
    "NoGpu",
    "grade_html",
    "headline",
    "grade_table",
    "grade_page",
    "not_graded",
    "gradescope",
    "autolab",
    "Class",
    "Entry",
    "GradeAll",
    "Grader",
    "Outcome",
    "Standing",
    "alike_csv",
    "entries_of",
    "grade_class",
    "grades_csv",
    "in_threads",
    "Likeness",
    "likenesses",
    "prints",
    "LARGE",
    "PARTS",
    "Builder",
    "Built",
    "Cache",
    "Facts",
    "Graded",
    "HandIn",
    "HandInError",
    "JudgeLimits",
    "Judges",
    "Kernels",
    "Late",
    "Lateness",
    "Lost",
    "Part",
    "Refused",
    "Rules",
    "RulesError",
    "Seen",
    "StepResult",
    "StepRules",
    "Watch",
    "ahead",
    "contract_broken",
    "default_gpu",
    "facts_of",
    "grade",
    "kernel_key",
    "load_rules",
    "missing",
    "observed_case",
    "packed",
    "points_text",
    "read_handin",
    "resident_ctas",
]
