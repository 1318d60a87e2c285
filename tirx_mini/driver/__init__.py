"""The entry points `compile`, `simulate`, `explore` and `run`, from a kernel to its execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_mini.on_demand import named

if TYPE_CHECKING:
    from .compiling import SimulatedExecutable, SymbolicExecutable, compile
    from .exploring import Exploration
    from .running import GpuRunError, run
    from .simulating import explore, predict, processes, simulate

_NAMES = {
    "compiling": ("SimulatedExecutable", "SymbolicExecutable", "compile"),
    "exploring": ("Exploration",),
    "running": ("GpuRunError", "run"),
    "simulating": ("explore", "predict", "processes", "simulate"),
}
"""All names, by their modules: compilation does not need the simulator, whose import takes 0.2 s."""
__getattr__ = named(__name__, _NAMES)

__all__ = [
    "Exploration", "GpuRunError", "SimulatedExecutable", "SymbolicExecutable", "compile", "explore", "predict",
    "processes", "run", "simulate",
]  # fmt: skip
