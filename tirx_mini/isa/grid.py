"""Programmatic dependent launch: a grid starts before the preceding grid ends."""

from __future__ import annotations

from .core import instruction
from .facts import Scope
from .machine import Machine, Thread


@instruction(
    "griddepcontrol.wait;",
    name="griddepcontrol.wait",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="griddepcontrol",
    cost="sync",
    waits_for_grids=True,
)
def griddepcontrol_wait(gpu: Machine, thread: Thread) -> None:
    """Wait until the grids that this grid depends on are complete and their writes are visible to the thread.

    A kernel that contains it is launched while the kernel before it in the stream may still run: no thread may access
    global memory before it has waited, or has synchronised with a thread that has.
    """
    thread.wait_for_grids()


@instruction(
    "griddepcontrol.launch_dependents;",
    name="griddepcontrol.launch_dependents",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="griddepcontrol",
    cost="sync",
)
def griddepcontrol_launch_dependents(gpu: Machine, thread: Thread) -> None:
    """Allow the next kernel of the stream to start once every CTA has executed this instruction or ended.

    It orders nothing. Later writes of this grid are safe, because the next kernel's griddepcontrol.wait lasts until
    this grid is complete. Only a kernel that contains griddepcontrol.wait begins early.
    """
