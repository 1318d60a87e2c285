"""The entry points `compile`, `simulate`, `explore` and `run`, from a kernel to its execution."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compiling import SimulatedExecutable, SymbolicExecutable, compile
    from .exploring import Exploration
    from .running import GpuRunError, run
    from .simulating import explore, predict, simulate

_PLACES = {
    **dict.fromkeys(("SimulatedExecutable", "SymbolicExecutable", "compile"), "compiling"),
    "Exploration": "exploring",
    **dict.fromkeys(("GpuRunError", "run"), "running"),
    **dict.fromkeys(("explore", "predict", "simulate"), "simulating"),
}
"""The module of each public name, imported lazily: compilation does not need the simulator, whose import takes 0.3
s."""

__all__ = [
    "Exploration", "GpuRunError", "SimulatedExecutable", "SymbolicExecutable", "compile", "explore", "predict",
    "run", "simulate",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
