"""Clocks that a kernel can read, and delays."""

from __future__ import annotations

from .core import instruction
from .facts import Scope
from .machine import Machine, Thread
from .operands import u32, u64


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
    """Return the time in ns by one clock of the whole GPU for all kernels; its resolution depends on the GPU.

    In the simulator it starts at 0 at the launch, and is exact to the cycle.
    """
    return gpu.nanoseconds(thread)


@instruction(
    "mov.u64 {result}, %clock64;",
    name="clock64",
    issued_by=Scope.THREAD,
    min_sm=70,
    isa="Special Registers: %clock64",
    cost="sync",
    reads_clock=True,
)
def clock64(gpu: Machine, thread: Thread) -> u64:
    """Return the cycle count of the SM; in the simulator all SMs start at 0 at the launch."""
    return gpu.cycles(thread)


@instruction(
    "nanosleep.u32 {time};",
    name="nanosleep.u32",
    issued_by=Scope.THREAD,
    min_sm=70,
    isa="nanosleep",
    cost="sync",
    lanewise=True,
)
def nanosleep(gpu: Machine, thread: Thread, time: u32) -> None:
    """Suspend the thread for about `time` ns, at most 1 ms; on a chip the duration is from 0 to twice as long."""
    gpu.sleep(thread, time)
