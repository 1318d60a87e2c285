"""JIT compilation by LLVM, and calls of the compiled functions.

Parallel loops call back: the function that a thread is to execute runs without Python's global interpreter lock, which
`ctypes` releases around it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from tirx_mini.arguments import (
    check_contiguous,
    check_count,
    check_device,
    check_scalar,
    check_type,
    check_writeable,
    is_tensor,
    not_an_array,
)
from tirx_mini.ir import PrimFunc, TirxError, Var
from tirx_mini.passes import flatten_buffers, lower_blocks, vectorize
from tirx_mini.records import dataclass

from .module import llvm_module

_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_SCALARS = {
    "bool": ctypes.c_bool, "float32": ctypes.c_float, "float64": ctypes.c_double,
    **{f"int{bits}": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class CpuExecutable:
    """A function compiled for this CPU, whose calls write results into NumPy arrays or host tensors.

    func: the function with flat accesses.
    original: the function as it was given.
    threads: how many threads share the iterations of a parallel loop.
    """

    func: PrimFunc
    original: PrimFunc
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)

    def __call__(self, *args: object) -> None:
        check_count(self.func, args)
        pointers = [self._argument(index, value) for index, value in enumerate(args)]
        function, share = self._compiled
        function(*pointers, share)

    def _argument(self, index: int, value: Any) -> Any:
        param = self.func.params[index]
        if isinstance(param, Var):
            return _SCALARS[str(param.dtype)](check_scalar(self.func, index, value))
        if isinstance(value, np.ndarray):
            check_type(self.func, index, value)
            check_contiguous(self.func, index, value)
            check_writeable(self.func, index, value)
            return ctypes.c_void_p(value.ctypes.data)
        if not is_tensor(value):
            raise not_an_array(self.func, index, value)
        check_device(self.func, index, value, "cpu")
        check_type(self.func, index, value)
        check_contiguous(self.func, index, value)
        return ctypes.c_void_p(value.data_ptr())

    @cached_property
    def llvm_ir(self) -> str:
        """The module before LLVM's passes."""
        return llvm_module(self.func)

    def source(self, stage: str = "llvm", comments: bool = True) -> str:
        """Return the function at a stage: "tir", "lowered", "llvm", "optimised" (after LLVM's passes) or "asm"."""
        if stage in ("tir", "lowered"):
            return (self.original if stage == "tir" else self.func).script()
        if stage in ("llvm", "ll"):
            return self.llvm_ir
        machine, module = self._module
        if stage == "optimised":
            return str(module)
        if stage in ("asm", "s"):
            return machine.emit_assembly(module)
        raise ValueError(f"there is no stage {stage!r}; use tir, lowered, llvm, optimised or asm")

    @cached_property
    def _module(self) -> tuple[Any, Any]:
        """The target machine, and the module after LLVM's passes."""
        llvm = _llvm()
        target = llvm.Target.from_default_triple()
        features = llvm.get_host_cpu_features().flatten()
        machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=3)
        module = llvm.parse_assembly(self.llvm_ir)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = options.slp_vectorization = True
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return machine, module

    @cached_property
    def _compiled(self) -> tuple[Callable[..., None], Any]:
        llvm = _llvm()
        machine, module = self._module
        engine = llvm.create_mcjit_compiler(module.clone(), machine)
        engine.finalize_object()
        kinds = [_SCALARS[str(p.dtype)] if isinstance(p, Var) else ctypes.c_void_p for p in self.func.params]
        function = ctypes.CFUNCTYPE(None, *kinds, ctypes.c_void_p)(engine.get_function_address(self.func.name))
        share = _SHARE(_Sharing(self.threads))
        object.__setattr__(self, "_alive", (engine, share))  # the code lives as long as its engine
        return function, ctypes.cast(share, ctypes.c_void_p)


class _Sharing:
    """Distributes the iterations of a loop over threads in contiguous ranges."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.pool = ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="tirx_mini")

    def __call__(self, body: int, context: int, first: int, last: int) -> None:
        function, parts = _BODY(body), min(self.threads, max(1, last - first))
        ends = [first + (last - first) * part // parts for part in range(parts + 1)]
        waiting = [self.pool.submit(function, context, ends[part], ends[part + 1]) for part in range(1, parts)]
        function(context, ends[0], ends[1])
        for each in waiting:
            each.result()


def vector_bits() -> int:
    """Return the widest vector width of this CPU in bits: 512, 256 or 128."""
    features = _llvm().get_host_cpu_features()
    return 512 if features.get("avx512f") else 256 if features.get("avx2") else 128


def build(func: PrimFunc, threads: int | None = None) -> CpuExecutable:
    """Build a scheduled function for this CPU; it is compiled at its first call.

    threads: how many threads share a parallel loop; by default as many as this machine has cores.
    Raises `TirxError`, at the source line, for features that only a GPU has.
    """
    flat = flatten_buffers(vectorize(lower_blocks(func)), aligned=False)
    made = CpuExecutable(flat, func) if threads is None else CpuExecutable(flat, func, threads)
    made.llvm_ir  # noqa: B018 - mistakes are reported now
    return made


def _llvm() -> Any:
    """Return llvmlite's binding, initialised for this machine. Raises `TirxError` if llvmlite is not installed."""
    try:
        from llvmlite import binding as llvm
    except ImportError:
        raise TirxError(
            "the target llvm needs the package llvmlite, which is not installed",
            hint='pip install "tirx_mini[cpu]"',
        ) from None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm

