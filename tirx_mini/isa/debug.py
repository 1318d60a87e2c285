"""Debug output of a running kernel: CUDA C++ functions without a PTX instruction of their own."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np

from .core import instruction
from .facts import CudaName, Scope
from .machine import Machine, Thread
from .operands import any_value, pred

CONVERSION = re.compile(r"%(?P<flags>[-+ #0]*\d*(?:\.\d+)?)(?P<length>l{0,2})(?P<letter>[diuxXeEfgGc%])")
"""A conversion specification of a format, including "%%" (CUDA C++ Programming Guide: "Formatted Output")."""


@instruction(
    "@!{condition} trap;",
    name="trap.unless",
    issued_by=Scope.THREAD,
    min_sm=70,
    isa="trap",
    cost="alu",
    lanewise=True,
)
def trap_unless(gpu: Machine, thread: Thread, condition: pred) -> None:
    """End the launch with an error if `condition` is false."""
    holds = np.broadcast_to(np.asarray(condition, bool), 32)[thread.mask.lanes]
    if not holds.all():
        count = int((~holds).sum())
        who = "a thread" if count == 1 else f"{count} threads"
        message = f"an assertion does not hold in {who} of a warp"
        raise thread.fault("illegal-instruction", message, rule="PTX ISA: trap")


@instruction("trap;", name="trap", issued_by=Scope.THREAD, min_sm=70, cost="alu")
def trap(gpu: Machine, thread: Thread) -> None:
    """End the launch with an error."""
    raise thread.fault("illegal-instruction", "a thread executes trap", rule="PTX ISA: trap")


@instruction("pmevent {event};", name="pmevent", issued_by=Scope.THREAD, min_sm=70, cost="alu")
def pmevent(gpu: Machine, thread: Thread, *, event: int = 0) -> None:
    """Signal an event, 0 to 15, to a profiler. In the simulator it has no effect."""


def _of_lane(value: any_value, lane: int) -> Any:
    """The number of one lane."""
    values: Any = value
    return values[lane].item() if isinstance(value, np.ndarray) else values


@instruction(
    "",
    name="printf",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="vprintf (PTX Writer's Guide to Interoperability: System Calls)",
    cost="wait",
    cuda=CudaName("printf"),
)
def printf(gpu: Machine, thread: Thread, *values: any_value, format: str) -> None:
    """Each thread writes its values to standard output in `format`, as C does; one call is written in one piece."""
    text = CONVERSION.sub(lambda m: f"%{m['flags']}{m['letter']}", format)
    letters = [m["letter"] for m in CONVERSION.finditer(format) if m["letter"] != "%"]
    for lane in thread.mask.lanes.tolist():
        own = [_of_lane(v, lane) for v in values]
        try:
            shown = tuple(int(v) & 0xFF if letter == "c" else v for letter, v in zip(letters, own, strict=True))
            sys.stdout.write(text % shown)
        except (TypeError, ValueError, OverflowError):  # C would print anything; the language lets none be written
            message = f"the values of a printf do not fit its format {format!r}"
            raise thread.fault("illegal-instruction", message, rule="CUDA C++ Programming Guide: printf") from None
