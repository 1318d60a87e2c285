"""``python -m tirx_mini check`` and ``explain``: one kernel in the simulator, and what its findings mean.

`load_kernel` finds a kernel by "file.py:name", `check_kernel` runs and judges it, `explain` shows a section of the book
of findings.
"""

from .book import Book, Section, find_book
from .cli import add_check_arguments, add_explain_arguments, run_check, run_explain
from .kernel import KernelRef, load_kernel
from .run import Checked, check_kernel

__all__ = [
    "Book",
    "Checked",
    "KernelRef",
    "Section",
    "add_check_arguments",
    "add_explain_arguments",
    "check_kernel",
    "find_book",
    "load_kernel",
    "run_check",
    "run_explain",
]
