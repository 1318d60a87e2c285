"""Scheduled programs in files, examined by their front end."""

from __future__ import annotations

from tirx_mini.foreign import frontends, resolve
from tirx_mini.ir import Diagnostic
from tirx_mini.records import dataclass

from .kernel_ref import KernelRef


@dataclass(frozen=True)
class Scheduled:
    """A program by its name in the file. target: "cuda" or "llvm", for its loops. notes: the notes on its loops.

    runs: whether it is a kernel, which the simulator can execute: a function whose loops are bound to threads.
    """

    name: str
    target: str
    notes: tuple[Diagnostic, ...]
    runs: bool


def scheduled_in(ref: KernelRef) -> list[Scheduled]:
    """Return the scheduled programs that `ref` denotes, with notes; none if it denotes a kernel of another dialect.

    The programs are the file's schedules and TIR functions, or the named one. A name may also be that of a function
    without arguments that returns one, alone or as (schedule, [tensors]).

    Raises `KernelFileError` for a file that does not exist, `TirxError` for a mistake in the program.
    """
    text = ref.path.read_text(encoding="utf-8") if ref.path.is_file() else ""
    examining = [each for each in frontends() if each.examine and each.mentioned(text)]
    return [program for each in examining for program in resolve(each.examine)(ref)]
