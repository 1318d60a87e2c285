"""Programs that schedules arrange, in files: the front end that has them examines them."""

from __future__ import annotations

from tirx_mini.foreign import frontends, resolve
from tirx_mini.ir import Diagnostic
from tirx_mini.records import dataclass

from .kernel_ref import KernelRef


@dataclass(frozen=True)
class Scheduled:
    """A program by its name in the file. target: "cuda" or "llvm", what its loops are for. notes: on these loops.

    runs: whether it is a kernel, which the simulator can execute: a function whose loops are bound to threads.
    """

    name: str
    target: str
    notes: tuple[Diagnostic, ...]
    runs: bool


def scheduled_in(ref: KernelRef) -> list[Scheduled]:
    """The scheduled programs that `ref` means, with notes on each; none where it means a kernel of another dialect.

    Those are the file's schedules and functions of TIR, or the one of that name. A name may also be that of a function
    without arguments that returns one, alone or as (schedule, [tensors]).

    Raises `KernelFileError` for a file that does not exist, `TirxError` for a mistake in the program.
    """
    text = ref.path.read_text(encoding="utf-8") if ref.path.is_file() else ""
    examining = [each for each in frontends() if each.examine and each.mentioned(text)]
    return [program for each in examining for program in resolve(each.examine)(ref)]
