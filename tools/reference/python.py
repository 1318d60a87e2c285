"""The page of the Python interface: the entry points of `tirx_mini`, their results, and `utils.py`."""

from __future__ import annotations

from typing import Any

import tirx_mini
import utils
from tirx_mini.frontends.ptx.programs import Entry, PtxModule
from tirx_mini.runtime import Executable

from ._markdown import described, document

_HEAD = """# Python

With this page you can compile, simulate and measure a kernel from Python, and read the result. `import tirx_mini as
tvm` gives the names of the first four sections; `utils.py`, beside `gemm_kernels.py`, has the functions that the
tests of the steps use.

```python
import numpy as np
import tirx_mini as tvm
from tirx_mini.script import tirx as Tx

@Tx.prim_func(tirx=True)
def double(A: Tx.Buffer((128,), "float32"), B: Tx.Buffer((128,), "float32")):
    with Tx.kernel():
        bx = Tx.cta_id([1], parent="kernel")
        i = Tx.thread_id([128], parent="cta")
        B[i] = A[i] * 2.0

a, b = np.ones(128, np.float32), np.zeros(128, np.float32)
report = tvm.simulate(double, a, b, gpu="h100")
assert report.ok and (b == 2).all()
```"""

SECTIONS: dict[str, tuple[Any, ...]] = {
    "Simulating": (tirx_mini.simulate, tirx_mini.explore, tirx_mini.Report, tirx_mini.Finding),
    "CUDA C++ and PTX": (tirx_mini.read_cuda, tirx_mini.read_ptx, PtxModule, Entry),
    "Timelines": (tirx_mini.timeline, tirx_mini.TimelinePage),
    "Compiling": (tirx_mini.compile, tirx_mini.Target, tirx_mini.SimulatedExecutable, Executable, tirx_mini.run),
    "Kernels": (
        tirx_mini.PrimFunc, tirx_mini.IRModule, tirx_mini.DataType, tirx_mini.save_json, tirx_mini.load_json,
    ),
    "Errors": (tirx_mini.TirxError, tirx_mini.SimulationError, tirx_mini.GpuRunError, tirx_mini.SavedKernelError),
    "`utils.py`": (
        utils.prepare_data, utils.compile_and_run, utils.Run, utils.verify, utils.benchmark, utils.check_timing,
        utils.check_shape, utils.default_target, utils.architecture, utils.has_gpu, utils.KernelWarning,
        utils.WrongResult, utils.TooSlow,
    ),
}  # fmt: skip


def page() -> str:
    """The page."""
    parts = [_HEAD]
    for title, things in SECTIONS.items():
        parts.append(f"## {title}")
        for thing in things:
            parts += described(thing, level=3)
    return document(*parts)
