"""`build`: compilation of a schedule, or of its lowered loops, to a callable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tirx_mini.driver import SymbolicExecutable
from tirx_mini.driver import compile as compile_function
from tirx_mini.ir import TIR, Buffer, IRModule, PrimFunc, Var, symbols
from tirx_mini.passes import lower_blocks, split_kernels
from tirx_mini.records import dataclass
from tirx_mini.sim import numpy_dtype
from tirx_mini.target import Target

from .lower import lower
from .schedule import Schedule
from .symbolic import SymbolicFunction, SymbolicModule
from .tensor import Tensor


@dataclass(frozen=True, eq=False)
class Launches:
    """A function of several kernels, launched in order by one call.

    func: the function.
    kernels: the kernels, each with the positions of its arguments among those of the function and the temporaries.
    temporaries: buffers in global memory from one kernel to a later one.
    """

    func: PrimFunc
    kernels: tuple[tuple[Any, tuple[int, ...]], ...]
    temporaries: tuple[Buffer, ...]

    def __call__(self, *args: object) -> None:
        values = [*args, *(_storage(buffer, args) for buffer in self.temporaries)]
        for kernel, positions in self.kernels:
            kernel(*(values[position] for position in positions))

    def source(self, stage: str = "cuda", comments: bool = True) -> str:
        """Return the concatenated sources of the kernels at a stage."""
        if stage == "tir":
            return self.func.script()
        return "\n".join(kernel.source(stage, comments) for kernel, _ in self.kernels)


def build(
    inputs: Schedule | PrimFunc | IRModule,
    args: Sequence[Tensor | Var] = (),
    target: str | Target | None = None,
    target_host: object = None,
    name: str = "main",
) -> Any:
    """Compile a schedule, or a lowered function, to a callable for arrays or tensors.

    args: the parameters of a schedule's function, as in `lower`.
    target: "llvm" for this CPU, "cuda" or "sim" for a GPU; by default that of the enclosing ``with target:``, else
        "llvm".
    target_host: accepted as TVM has it; the host's part is Python.

    Raises `TirxError`, at the source line, for features that the target lacks.
    """
    chosen = target or Target.current() or "llvm"
    module = lower(inputs, args, name)
    if isinstance(module, SymbolicModule):
        own = next(iter(module.functions))
        return SymbolicFunction(module, lambda schedule, known: build(schedule, known, chosen, name=own))
    if symbols(module.main):
        return SymbolicExecutable(module.main, Target(str(chosen)), lambda made: build(made, target=chosen))
    func = lower_blocks(module.main)
    if str(chosen).startswith("llvm") or func.spelling != TIR:
        return compile_function(func, chosen)
    parts = split_kernels(func)
    if len(parts.functions) == 1 and not parts.temporaries:
        return compile_function(func, chosen)
    known = [*func.params, *parts.temporaries]
    positions = (tuple(known.index(param) for param in kernel.params) for kernel in parts.functions)
    compiled = (compile_function(kernel, chosen) for kernel in parts.functions)
    return Launches(func, tuple(zip(compiled, positions, strict=True)), parts.temporaries)


def _storage(buffer: Buffer, args: Sequence[Any]) -> object:
    """Allocate a temporary in the same memory as the arguments."""
    tensor = next((arg for arg in args if getattr(getattr(arg, "device", None), "type", "") == "cuda"), None)
    if tensor is not None and hasattr(tensor, "data_ptr"):
        import torch

        return torch.empty(buffer.shape, dtype=getattr(torch, str(buffer.dtype)), device=tensor.device)
    return np.zeros(buffer.shape, numpy_dtype(buffer.dtype))
