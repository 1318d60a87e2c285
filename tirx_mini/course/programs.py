"""Programs of other languages for the kernel commands: ``FILE.py:NAME``, or a name of the course's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Protocol

from tirx_mini.foreign import frontends, resolve
from tirx_mini.ir import PrimFunc
from tirx_mini.records import dataclass

from .check import Checked
from .constants import Constant
from .kernel_ref import KernelRef


@dataclass(frozen=True)
class Launched:
    """One launch of a program. args: its arguments; none if random data may take their places."""

    kernel: PrimFunc
    args: tuple[object, ...] = ()


@dataclass(frozen=True)
class Setting:
    """The values with which a program is built. constants: of its file. parameters: of the function that launches."""

    constants: Mapping[str, Constant] = field(default_factory=dict)
    parameters: Mapping[str, Constant] = field(default_factory=dict)


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

    def source(self, program: str) -> KernelRef | None:
        """Return the file and the function that launch a program; None if it is no program of the language.

        The function is "" for a kernel that its file launches while it is imported.
        """
        ...

    def launches(
        self, program: str, size: int | None, args: Sequence[object], gpu: str, setting: Setting
    ) -> list[Launched]:
        """Return the launches of a program with these values. args: of the function that launches it."""
        ...


def programs_with(program: str) -> Programs | None:
    """Return the programs of the front end that a program belongs to, or None for a kernel of the course."""
    return next((programs for programs in _asked(program) if programs.has(program)), None)


def launching(program: str) -> tuple[Programs, KernelRef] | None:
    """Return the programs of the front end that launches a program, and its source; None for a kernel of the course."""
    found = ((programs, programs.source(program)) for programs in _asked(program))
    return next(((programs, source) for programs, source in found if source is not None), None)


def _asked(program: str) -> Iterator[Programs]:
    """Yield the programs of the front ends that a program may belong to."""
    path = KernelRef.parse(program).path
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
    for each in frontends():
        if each.programs and (each.mentioned(text) if text is not None else path == Path(program)):
            programs: Programs = resolve(each.programs)
            yield programs
