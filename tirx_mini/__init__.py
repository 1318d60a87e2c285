"""tirx_mini: a tile DSL for tensor-core kernels, its compiler to CUDA C++, and a GPU simulator that explains errors.

    import tirx_mini as tvm
    from tirx_mini.script import tirx as Tx

    report = tvm.simulate(kernel, A, B, D)                            # correct or not, the cause, the line, the time
    exe = tvm.compile(tvm.IRModule({"main": kernel}), target="sim")   # or "cuda"
    exe(A, B, D)
"""

from . import target
from .diagnose import Finding, Report, SimulationError
from .driver import GpuRunError, SimulatedExecutable, compile, explore, run, simulate
from .ir import DataType, IRModule, PrimFunc, TirxError
from .notebook import TimelinePage, timeline
from .saved import SavedKernelError, load_json, save_json
from .target import Target

__version__ = "0.1.0"

__all__ = [
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
