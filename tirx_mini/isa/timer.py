"""Clocks that a kernel can read, and time that passes."""

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
    """The time in ns, by one clock for the whole GPU and all of its kernels; its resolution depends on the GPU.

    In the simulator it is 0 at the launch, and exact to the cycle.
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
    """The cycles that the SM has counted. In the simulator all SMs begin with 0 at the launch."""
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
    """Let the thread sleep for about `time` ns, at most 1 ms; on a chip it is between 0 and twice as long."""
    gpu.sleep(thread, time)
