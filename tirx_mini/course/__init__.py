"""The course: its steps, the kernels in files, and their behaviour in the simulator.

It is a separate room above `driver`, which it calls, and below `commands`, which only parse command lines.

`STEPS` lists the steps and their judged sizes; `load_kernels` finds their kernels in a file or a
folder, `load_kernel` one kernel by "file.py:name". `run_task` simulates a step at one size, `check_kernel` any kernel;
`measured_times` has the times of the steps on a GPU, and `findings_book` the meaning of each code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_mini.on_demand import named

from .check import LARGEST_TRACED, Checked, check_file, check_kernel, make_arguments, product_text, shares
from .constants import Constant, ConstantError, constants_of, converted, lines_of_constants, parse_file
from .filling import Filled, filling, filling_of
from .kernel_ref import KernelRef, load_kernel, named_kernel
from .kernels import (
    Factory,
    KernelFileError,
    arch_folder,
    default_kernels,
    explaining,
    gpu_of,
    load_factories,
    load_kernels,
    load_module,
    read_kernels,
    student_file,
)
from .launches import (
    LaunchedFiles,
    LaunchedKernel,
    LaunchText,
    file_and_name,
    launched_with,
    parse_arguments,
    parse_dims,
    random_arrays,
)
from .meter import PATIENCE_S, Meter, WatchShare
from .on_chip import OnChip, Outcome, chip_file, on_chip, outcome_of
from .programs import Launched, Programs, Setting, launching, programs_with
from .result import TOLERANCES, Matrix, matches, wrong_finding
from .scheduled import Scheduled, scheduled_in
from .shapes import check_shape
from .steps import STEPS, TIME_TOLERANCE, Case, Shape, Step, parse_steps, shape_text, step_range, steps_from
from .what_if import Assignment, Change, Figures, change_text, changes_of, figures_of, parse_what_if, what_if

if TYPE_CHECKING:
    from .book import Book, Example, Section, findings_book
    from .drills import (
        DRILLS,
        REPAIRED,
        SHOWN,
        Attempt,
        Dealt,
        Session,
        Symptom,
        answered,
        attempt,
        deal,
        judged,
        observe,
        placed,
        session,
        standings,
        write_new,
    )
    from .hints import LEVELS, Hints, code_of, hints_of, kernel_of, matched, places, plain_links, reference_file
    from .ladder import (
        DTYPES,
        Row,
        Task,
        figures_of_row,
        ladder_tasks,
        run_task,
        run_tasks,
        what_if_tasks,
        with_timelines,
    )
    from .measured import StepTimes, measured_times
    from .notes import Notes, NotesError
    from .progress import LARGEST, Advice, Plan, Standing, State, advice, plan, solutions
    from .questions import QUESTIONS, question_key
    from .quiz import FACTOR, Marked, Prediction, Slip, answer_of, figure_text, marked
    from .staged_lines import Item, printed_item, ptx_item, sass_item, stage_items
    from .stages import STAGES, StageOptions, stage_text
    from .tasks import TASKS, Judgement, KernelTask, compared, judge_task, mismatch
    from .todos import Todo, architecture_in, hint_command, todos_in
    from .trace import FORMS, NoTimeline, Traced, View, timeline_form, told_apart
    from .tuning import Trial, TunedProgram, Tuning, all_candidates, assignment_text, tune

_NAMES = {
    "book": ("Book", "Example", "Section", "findings_book"),
    "drills": (
        "DRILLS", "REPAIRED", "SHOWN", "Attempt", "Dealt", "Session", "Symptom", "answered", "attempt", "deal",
        "judged", "observe", "placed", "session", "standings", "write_new",
    ),
    "hints": (
        "LEVELS", "Hints", "code_of", "hints_of", "kernel_of", "matched", "places", "plain_links",
        "reference_file",
    ),
    "ladder": (
        "DTYPES", "Row", "Task", "figures_of_row", "ladder_tasks", "run_task", "run_tasks", "what_if_tasks",
        "with_timelines",
    ),
    "measured": ("StepTimes", "measured_times"),
    "notes": ("Notes", "NotesError"),
    "progress": ("LARGEST", "Advice", "Plan", "Standing", "State", "advice", "plan", "solutions"),
    "questions": ("QUESTIONS", "question_key"),
    "quiz": ("FACTOR", "Marked", "Prediction", "Slip", "answer_of", "figure_text", "marked"),
    "staged_lines": ("Item", "printed_item", "ptx_item", "sass_item", "stage_items"),
    "stages": ("STAGES", "StageOptions", "stage_text"),
    "tasks": ("TASKS", "Judgement", "KernelTask", "compared", "judge_task", "mismatch"),
    "todos": ("Todo", "architecture_in", "hint_command", "todos_in"),
    "trace": ("FORMS", "NoTimeline", "Traced", "View", "timeline_form", "told_apart"),
    "tuning": ("Trial", "TunedProgram", "Tuning", "all_candidates", "assignment_text", "tune"),
}  # fmt: skip
"""The names that only some commands need, by their module."""
__getattr__ = named(__name__, _NAMES)

__all__ = [
    "DRILLS",
    "DTYPES",
    "FACTOR",
    "FORMS",
    "LARGEST",
    "LARGEST_TRACED",
    "LEVELS",
    "PATIENCE_S",
    "QUESTIONS",
    "REPAIRED",
    "SHOWN",
    "STAGES",
    "STEPS",
    "TASKS",
    "TIME_TOLERANCE",
    "TOLERANCES",
    "Advice",
    "Attempt",
    "Assignment",
    "Book",
    "Case",
    "Change",
    "Checked",
    "Constant",
    "ConstantError",
    "Dealt",
    "Example",
    "Factory",
    "Figures",
    "Filled",
    "Hints",
    "Item",
    "Judgement",
    "KernelFileError",
    "KernelRef",
    "KernelTask",
    "LaunchText",
    "Launched",
    "LaunchedFiles",
    "LaunchedKernel",
    "Marked",
    "Matrix",
    "Meter",
    "NoTimeline",
    "Notes",
    "NotesError",
    "OnChip",
    "Outcome",
    "Plan",
    "Prediction",
    "Programs",
    "Row",
    "Scheduled",
    "Section",
    "Session",
    "Setting",
    "Shape",
    "Slip",
    "StageOptions",
    "Standing",
    "State",
    "Step",
    "StepTimes",
    "Symptom",
    "Task",
    "Todo",
    "Traced",
    "Trial",
    "TunedProgram",
    "Tuning",
    "View",
    "WatchShare",
    "advice",
    "all_candidates",
    "answer_of",
    "answered",
    "arch_folder",
    "architecture_in",
    "assignment_text",
    "attempt",
    "change_text",
    "changes_of",
    "check_file",
    "check_kernel",
    "check_shape",
    "chip_file",
    "code_of",
    "compared",
    "constants_of",
    "converted",
    "deal",
    "default_kernels",
    "explaining",
    "figure_text",
    "figures_of",
    "figures_of_row",
    "file_and_name",
    "filling",
    "filling_of",
    "findings_book",
    "hint_command",
    "hints_of",
    "judged",
    "kernel_of",
    "judge_task",
    "ladder_tasks",
    "launched_with",
    "launching",
    "lines_of_constants",
    "load_factories",
    "load_kernel",
    "load_kernels",
    "load_module",
    "make_arguments",
    "marked",
    "matched",
    "matches",
    "measured_times",
    "mismatch",
    "named_kernel",
    "observe",
    "on_chip",
    "outcome_of",
    "parse_arguments",
    "parse_dims",
    "parse_file",
    "parse_steps",
    "parse_what_if",
    "placed",
    "places",
    "plain_links",
    "plan",
    "printed_item",
    "product_text",
    "programs_with",
    "ptx_item",
    "question_key",
    "random_arrays",
    "read_kernels",
    "reference_file",
    "run_task",
    "run_tasks",
    "sass_item",
    "scheduled_in",
    "session",
    "shape_text",
    "shares",
    "solutions",
    "stage_items",
    "stage_text",
    "standings",
    "step_range",
    "steps_from",
    "gpu_of",
    "student_file",
    "timeline_form",
    "todos_in",
    "told_apart",
    "tune",
    "what_if",
    "what_if_tasks",
    "with_timelines",
    "write_new",
    "wrong_finding",
]
