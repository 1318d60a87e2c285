"""Grading: a score and an instructive report for each hand-in.

`load_rules` reads the teacher's rules, `grade` grades one hand-in.
"""

from .bench import OnGpu
from .building import Builder, Built, Refused
from .cache import Cache
from .canonical import canonical, canonical_text, kernel_key
from .classroom import (
    KERNELS,
    REPORTS,
    Class,
    GradeAll,
    Grader,
    Outcome,
    Standing,
    grade_class,
    in_threads,
)
from .entries import Entry, entries_of
from .facts import Facts, contract_broken, facts_of, observed, resident_ctas
from .features import LARGE, Seen, ahead, missing
from .formats import autolab, gradescope
from .grader import NotClosed, Watch, default_gpu, grade, unreadable
from .handin import MOST_MEMBERS, HandIn, HandInError, packed, read_handin
from .judges import Judges
from .launching import NoGpu
from .lost import Exceeded, Lost
from .pages import grade_page, grade_table, headline
from .results import Graded, Late, Part, StepResult, points_short, points_text
from .rules import NEVER_LATE, PARTS, JudgeLimits, Lateness, Rules, RulesError, StepRules, load_rules
from .similar import Likeness, Prints, likenesses, prints
from .stepping import Kernels, observed_case
from .submitted import (
    OF_FILES,
    SubmittedError,
    Times,
    own_times,
    parse_time,
    seconds_of,
    times_of_files,
    times_of_table,
)
from .tables import alike_csv, grades_csv
from .tasks import grade_task
from .text import plain_line
from .version import kit_version
from .web import grade_html

__all__ = [
    "KERNELS",
    "LARGE",
    "MOST_MEMBERS",
    "NEVER_LATE",
    "OF_FILES",
    "PARTS",
    "REPORTS",
    "Builder",
    "Built",
    "Cache",
    "Class",
    "Entry",
    "Exceeded",
    "Facts",
    "GradeAll",
    "Graded",
    "Grader",
    "HandIn",
    "HandInError",
    "JudgeLimits",
    "Judges",
    "Kernels",
    "Late",
    "Lateness",
    "Likeness",
    "Lost",
    "NoGpu",
    "NotClosed",
    "OnGpu",
    "Outcome",
    "Part",
    "Prints",
    "Refused",
    "Rules",
    "RulesError",
    "Seen",
    "Standing",
    "StepResult",
    "StepRules",
    "SubmittedError",
    "Times",
    "Watch",
    "ahead",
    "alike_csv",
    "autolab",
    "canonical",
    "canonical_text",
    "contract_broken",
    "default_gpu",
    "entries_of",
    "facts_of",
    "grade",
    "grade_class",
    "grade_html",
    "grade_page",
    "grade_table",
    "grade_task",
    "grades_csv",
    "gradescope",
    "headline",
    "in_threads",
    "kernel_key",
    "kit_version",
    "likenesses",
    "load_rules",
    "missing",
    "observed",
    "observed_case",
    "own_times",
    "packed",
    "parse_time",
    "plain_line",
    "points_short",
    "points_text",
    "prints",
    "read_handin",
    "resident_ctas",
    "seconds_of",
    "times_of_files",
    "times_of_table",
    "unreadable",
]
