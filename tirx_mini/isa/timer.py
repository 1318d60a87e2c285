"""Clocks that a kernel can read."""

from __future__ import annotations

from .core import instruction
from .facts import Scope
from .machine import Machine, Thread
from .operands import u64


@instruction(
    "mov.u64 {result}, %globaltimer;",
    name="globaltimer",
    issued_by=Scope.THREAD,
    min_sm=70,
    isa="Special Registers: %globaltimer",
    cost="sync",
    reads_clock=True,
)
def globaltimer(gpu: Machine, thread: Thread) -> u64:
    """The time in ns, by one clock for the whole GPU and all of its kernels; its resolution depends on the GPU.

    In the simulator it is 0 at the launch, and exact to the cycle.
    """
    return gpu.nanoseconds(thread)
