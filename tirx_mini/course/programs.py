"""Programs of other languages for the kernel commands: ``FILE.py:NAME``, or a name of the course's."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tirx_mini.foreign import frontends, resolve

from .check import Checked
from .kernel_ref import KernelRef


class Programs(Protocol):
    """The interface of a front end to its programs."""

    def has(self, program: str) -> bool:
        """Return whether this names a program of the language."""
        ...

    def check(self, program: str, size: int | None, gpu: str, **options: object) -> Checked:
        """Run a program in the simulator, with the arguments that its file launches it with.

        size: of a program of the course. options: of `simulate`.
        """
        ...


def programs_with(program: str) -> Programs | None:
    """Return the programs of the front end that a program belongs to, or None for a kernel of the course."""
    path = KernelRef.parse(program).path
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
    for each in frontends():
        if each.programs and (each.mentioned(text) if text is not None else path == Path(program)):
            programs: Programs = resolve(each.programs)
            if programs.has(program):
                return programs
    return None
