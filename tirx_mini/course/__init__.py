"""The course: its steps, their kernels in files, and what one of them does in the simulator.

A room of its own because it stands above `driver`, which it calls, and below `commands`, which only read command lines.

`STEPS` says what the steps are and at which sizes they are judged; `load_kernels` finds their kernels in a file or a
folder, `load_kernel` one kernel by "file.py:name". `run_task` simulates a step at one size, `check_kernel` any kernel;
`measured_times` has the times of the steps on a GPU, and `findings_book` the meaning of each code.
"""

from .book import Book, Example, Section, findings_book
from .check import LARGEST_TRACED, Checked, check_file, check_kernel, make_arguments, product_text
from .constants import Constant, ConstantError, constants_of, converted, parse_file
from .kernel_ref import KernelRef, load_kernel, named_kernel
from .kernels import (
    Factory,
    KernelFileError,
    arch_folder,
    default_kernels,
    explaining,
    load_kernels,
    load_module,
    student_file,
)
from .ladder import DTYPES, Row, Task, figures_of_row, ladder_tasks, run_task, run_tasks, what_if_tasks, with_timelines
from .measured import StepTimes, measured_times
from .stages import STAGES, StageOptions, stage_text
from .steps import STEPS, Shape, Step, parse_steps, shape_text, step_range, steps_from
from .trace import FORMS, NoTimeline, Traced, View, timeline_form, told_apart
from .what_if import Assignment, Change, Figures, change_text, changes_of, figures_of, parse_what_if, what_if

__all__ = [
    "DTYPES",
    "FORMS",
    "LARGEST_TRACED",
    "STAGES",
    "STEPS",
    "Assignment",
    "Book",
    "Change",
    "Checked",
    "Constant",
    "ConstantError",
    "Example",
    "Factory",
    "Figures",
    "KernelFileError",
    "KernelRef",
    "NoTimeline",
    "Row",
    "Section",
    "Shape",
    "StageOptions",
    "Step",
    "StepTimes",
    "Task",
    "Traced",
    "View",
    "arch_folder",
    "change_text",
    "changes_of",
    "check_file",
    "check_kernel",
    "constants_of",
    "converted",
    "default_kernels",
    "explaining",
    "figures_of",
    "figures_of_row",
    "findings_book",
    "ladder_tasks",
    "load_kernel",
    "load_kernels",
    "load_module",
    "make_arguments",
    "named_kernel",
    "measured_times",
    "parse_file",
    "parse_steps",
    "parse_what_if",
    "product_text",
    "run_task",
    "run_tasks",
    "shape_text",
    "stage_text",
    "step_range",
    "steps_from",
    "student_file",
    "timeline_form",
    "told_apart",
    "what_if",
    "what_if_tasks",
    "with_timelines",
]
