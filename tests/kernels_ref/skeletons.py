"""The students' files, with steps that are filled in as the references are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tirx_mini.course import code_of, hints_of, todos_in

ROOT = Path(__file__).parents[2]
FIRST_KERNEL = ROOT / "first_kernel.py"
WRONG, REPAIRED = "mbarrier.init(mma_bar.ptr_to([0]), 128)", "mbarrier.init(mma_bar.ptr_to([0]), 1)"
"""The end of the wrong line of the first kernel, and of the same line of the reference."""
CHOICE = "PIPE_DEPTH = 2  # yours to choose", "PIPE_DEPTH = 4  # yours to choose"
"""The constant that step 8 of the skeleton for Blackwell leaves to its reader, and the reference's choice."""
SKELETONS = {"sm100": ROOT / "gemm_kernels.py", "sm90": ROOT / "gemm_kernels_sm90.py"}


def repaired() -> str:
    """The text of the first kernel without its wrong line."""
    text = FIRST_KERNEL.read_text(encoding="utf-8")
    assert text.count(WRONG) == 1
    return text.replace(WRONG, REPAIRED)


def filled_in(arch: str, steps: Iterable[int]) -> str:
    """A skeleton's text with hint 3, the reference's code, in the place of each `...` of these steps."""
    text = SKELETONS[arch].read_text(encoding="utf-8")
    lines, todos, steps = text.splitlines(), todos_in(text), set(steps)
    for step in sorted(steps, reverse=True):
        hints = hints_of(step, arch)
        for hint, todo in reversed(list(zip(hints, todos[step], strict=True))):
            place = next(n for n in range(todo.line, len(lines)) if lines[n].strip() == "...")
            lines[place : place + 1] = code_of(hint, hints, step, arch).splitlines()
    whole = "\n".join(lines) + "\n"
    return whole.replace(*CHOICE) if 8 in steps else whole
