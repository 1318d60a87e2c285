"""Static assertions, checked by pyright, that the simulator implements every verb of the instructions.

Nothing is executed: a class that lacks a verb of `tirx_mini.isa`, or has one of another type, makes a `return` an
error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx_mini.isa import DivergentThread, MachineVerbs, MbarrierVerbs, RegisterOperand, ThreadVerbs

    from .gpu import Gpu
    from .machine import Mask, Mbarrier, Registers, RunningWarp

    def machine(gpu: Gpu) -> MachineVerbs[RunningWarp, Mbarrier, Registers]:
        return gpu

    def thread(warp: RunningWarp) -> ThreadVerbs[Registers]:
        return warp

    def divergent(warp: RunningWarp) -> DivergentThread[Mask]:
        return warp

    def mbarrier(barrier: Mbarrier) -> MbarrierVerbs[RunningWarp]:
        return barrier

    def registers(operand: Registers) -> RegisterOperand:
        return operand
