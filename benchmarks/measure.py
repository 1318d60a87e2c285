"""Running a piece of work in a process of its own, so that its memory can be told from that of the rest."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tirx_mini.pool import in_order, spread


@dataclass(frozen=True)
class Outcome:
    """What the work returned, and the peak resident memory of its process, interpreter included."""

    result: Any
    peak_mib: float


def in_process(work: Callable[..., Any], *args: Any) -> Outcome:
    """``work(*args)`` in a fresh process; `work` is a function at the top level of a module."""
    return next(in_order(spread(_run), [(work, args)], jobs=1))


def _run(work: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    result = work(*args)
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes on macOS, else in KiB
    return Outcome(result, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20)
