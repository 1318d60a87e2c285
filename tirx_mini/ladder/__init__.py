"""The ladder: ten kernels, each one step from the one before, run and judged in one table.

`STEPS` says what the steps are and at which sizes they are judged, `load_kernels` finds their kernels in a file or a
folder, `run_task` simulates one of them at one size,
`measured_times` knows what was measured on a GPU. ``python -m tirx_mini ladder`` puts it all together.
"""

from .cli import add_arguments, make_tasks, parse_steps, run_ladder
from .kernels import Factory, KernelFileError, arch_folder, default_kernels, explaining, load_kernels, load_module
from .measured import StepTimes, measured_times
from .rows import Row, Task, run_task
from .steps import STEPS, Shape, Step, shape_text
from .table import ladder_table

__all__ = [
    "STEPS",
    "Factory",
    "KernelFileError",
    "Row",
    "Shape",
    "Step",
    "StepTimes",
    "Task",
    "add_arguments",
    "arch_folder",
    "default_kernels",
    "explaining",
    "ladder_table",
    "load_kernels",
    "load_module",
    "make_tasks",
    "measured_times",
    "parse_steps",
    "run_ladder",
    "run_task",
    "shape_text",
]
