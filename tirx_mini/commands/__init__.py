"""The commands of ``python -m tirx_mini``: their arguments, exit statuses, and what they print.

What they do is in `tirx_mini.course` and the rooms below it, and can be called from Python.
"""

from .check import add_check_arguments, add_explain_arguments, run_check, run_explain
from .ladder import add_arguments as add_ladder_arguments
from .ladder import parse_steps, run_ladder

__all__ = [
    "add_check_arguments",
    "add_explain_arguments",
    "add_ladder_arguments",
    "parse_steps",
    "run_check",
    "run_explain",
    "run_ladder",
]
