"""tirx_mini: a tile DSL for tensor-core kernels, its compiler to CUDA C++, and a GPU simulator that explains errors.

import tirx_mini as tvm
from tirx_mini.script import tirx as Tx

report = tvm.simulate(kernel, A, B, D)                            # correct or not, the cause, the line, the time
exe = tvm.compile(tvm.IRModule({"main": kernel}), target="sim")   # or "cuda"
exe(A, B, D)
"""

from .invocation import forget_working_directory

forget_working_directory()  # before anything is imported from there

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import target
from .foreign import install_public_names, public_function

if TYPE_CHECKING:
    from .arguments import ArgumentError, TensorMap
    from .diagnose import Finding, Report, SimulationError
    from .driver import GpuRunError, SimulatedExecutable, compile, explore, run, simulate
    from .ir import DataType, IRModule, PrimFunc, TirxError
    from .notebook import TimelinePage, timeline
    from .saved import SavedKernelError, load_json, save_json
    from .target import Target

install_public_names()

__version__ = "0.2.0"

__all__ = [
    "ArgumentError",
    "DataType",
    "Finding",
    "GpuRunError",
    "IRModule",
    "PrimFunc",
    "Report",
    "SavedKernelError",
    "SimulatedExecutable",
    "SimulationError",
    "Target",
    "TensorMap",
    "TimelinePage",
    "TirxError",
    "compile",
    "explore",
    "load_json",
    "run",
    "save_json",
    "simulate",
    "target",
    "timeline",
]

_ROOMS = {
    "arguments": ("ArgumentError", "TensorMap"),
    "diagnose": ("Finding", "Report", "SimulationError"),
    "driver": ("GpuRunError", "SimulatedExecutable", "compile", "explore", "run", "simulate"),
    "ir": ("DataType", "IRModule", "PrimFunc", "TirxError"),
    "notebook": ("TimelinePage", "timeline"),
    "saved": ("SavedKernelError", "load_json", "save_json"),
    "target": ("Target",),
}
"""The subpackage of each public name. A subpackage is imported on first use, since all of them take 0.6 s."""


def __getattr__(name: str) -> Any:
    value = _named(name)
    globals()[name] = value
    return value


def _named(name: str) -> Any:
    for room, names in _ROOMS.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{room}"), name)
    theirs = public_function(name)
    if theirs is not None:
        return theirs
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
