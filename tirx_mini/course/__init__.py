"""The course: its steps, the kernels in files, and their behaviour in the simulator.

It is a separate room above `driver`, which it calls, and below `commands`, which only parse command lines.

`STEPS` lists the steps and their judged sizes; `load_kernels` finds their kernels in a file or a
folder, `load_kernel` one kernel by "file.py:name". `run_task` simulates a step at one size, `check_kernel` any kernel;
`measured_times` has the times of the steps on a GPU, and `findings_book` the meaning of each code.
"""

from .book import Book, Example, Section, findings_book
from .check import LARGEST_TRACED, Checked, check_file, check_kernel, make_arguments, product_text, shares
from .constants import Constant, ConstantError, constants_of, converted, parse_file
from .drills import (
    DRILLS,
    REPAIRED,
    SHOWN,
    Session,
    answered,
    attempt,
    observe,
    placed,
    session,
    standings,
    write_new,
)
from .filling import Filled, filling
from .hints import LEVELS, Hints, code_of, hints_of, kernel_of, matched, places, plain_links, reference_file
from .kernel_ref import KernelRef, load_kernel, named_kernel
from .kernels import (
    Factory,
    KernelFileError,
    arch_folder,
    default_kernels,
    explaining,
    load_kernels,
    load_module,
    read_kernels,
    student_file,
)
from .ladder import DTYPES, Row, Task, figures_of_row, ladder_tasks, run_task, run_tasks, what_if_tasks, with_timelines
from .launches import (
    LaunchedFiles,
    LaunchText,
    file_and_name,
    launched_with,
    parse_arguments,
    parse_dims,
    random_arrays,
)
from .measured import StepTimes, measured_times
from .meter import PATIENCE_S, Meter, WatchShare
from .notes import Notes, NotesError
from .on_chip import OnChip, Outcome, chip_file, on_chip
from .programs import Programs, programs_with
from .progress import LARGEST, Advice, Plan, Standing, State, advice, plan, solutions
from .questions import QUESTIONS
from .quiz import FACTOR, Marked, Prediction, Slip, marked
from .result import TOLERANCES, Matrix, matches, wrong_finding
from .scheduled import Scheduled, scheduled_in
from .shapes import check_shape
from .stages import STAGES, StageOptions, stage_text
from .steps import STEPS, TIME_TOLERANCE, Case, Shape, Step, parse_steps, shape_text, step_range, steps_from
from .todos import Todo, architecture_in, hint_command, todos_in
from .trace import FORMS, NoTimeline, Traced, View, timeline_form, told_apart
from .what_if import Assignment, Change, Figures, change_text, changes_of, figures_of, parse_what_if, what_if

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
    "TIME_TOLERANCE",
    "TOLERANCES",
    "Advice",
    "Assignment",
    "Book",
    "Case",
    "Change",
    "Checked",
    "Constant",
    "ConstantError",
    "Example",
    "Factory",
    "Figures",
    "Filled",
    "Hints",
    "KernelFileError",
    "KernelRef",
    "LaunchText",
    "LaunchedFiles",
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
    "Shape",
    "Slip",
    "StageOptions",
    "Standing",
    "State",
    "Step",
    "StepTimes",
    "Task",
    "Todo",
    "Traced",
    "View",
    "WatchShare",
    "advice",
    "answered",
    "arch_folder",
    "architecture_in",
    "attempt",
    "change_text",
    "changes_of",
    "check_file",
    "check_kernel",
    "check_shape",
    "chip_file",
    "code_of",
    "constants_of",
    "converted",
    "default_kernels",
    "explaining",
    "figures_of",
    "figures_of_row",
    "file_and_name",
    "filling",
    "findings_book",
    "hint_command",
    "hints_of",
    "kernel_of",
    "ladder_tasks",
    "launched_with",
    "load_kernel",
    "load_kernels",
    "load_module",
    "make_arguments",
    "marked",
    "matched",
    "matches",
    "measured_times",
    "named_kernel",
    "observe",
    "on_chip",
    "parse_arguments",
    "parse_dims",
    "parse_file",
    "parse_steps",
    "parse_what_if",
    "placed",
    "places",
    "plain_links",
    "plan",
    "product_text",
    "programs_with",
    "random_arrays",
    "read_kernels",
    "reference_file",
    "run_task",
    "run_tasks",
    "scheduled_in",
    "session",
    "shape_text",
    "shares",
    "solutions",
    "stage_text",
    "standings",
    "step_range",
    "steps_from",
    "student_file",
    "timeline_form",
    "todos_in",
    "told_apart",
    "what_if",
    "what_if_tasks",
    "with_timelines",
    "write_new",
    "wrong_finding",
]
