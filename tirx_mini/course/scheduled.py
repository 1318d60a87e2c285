"""Whether a file has programs that schedules arrange. Few have: what examines them is imported for those only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .kernel_ref import KernelRef

if TYPE_CHECKING:
    from .scheduled_programs import Scheduled

_MENTIONED = re.compile(r"\bimport\b[^\n#]*\b(te|tir)\b")


def scheduled_in(ref: KernelRef) -> list[Scheduled]:
    """The scheduled programs that `ref` means, with notes on each; none where it means a kernel of another dialect.

    Those are the file's schedules and functions of TIR, or the one of that name. A name may also be that of a function
    without arguments that returns one, alone or as (schedule, [tensors]).

    Raises `KernelFileError` for a file that does not exist, `TirxError` for a mistake in the program.
    """
    if not ref.path.is_file() or not _MENTIONED.search(ref.path.read_text(encoding="utf-8")):
        return []
    from .scheduled_programs import programs_of

    return programs_of(ref)
