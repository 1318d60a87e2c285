"""TVM's host API: `tvm.compile`, `tvm.build`, devices, and tensors backed by NumPy arrays.

Where this machine has no GPU for the target, a compiled kernel runs in the simulator. The simulated device has a clock:
each launch advances it by the predicted time, and `torch.cuda.Event` and `time_evaluator` read it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import field
from statistics import mean, median, pstdev
from time import perf_counter
from typing import Any

import numpy as np

import tirx_mini
from tirx_mini.driver import SimulatedExecutable, SymbolicExecutable
from tirx_mini.foreign import scripts, simulated_device
from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, gpu_spec, nearest_gpu
from tirx_mini.ir import TIR, DataType, IRModule, PrimFunc
from tirx_mini.layout import Layout
from tirx_mini.records import dataclass, replace
from tirx_mini.runtime import Executable, HostModule, SourceModule, device_arch
from tirx_mini.sim import numpy_dtype

from . import te
from .cpu import CpuExecutable
from .target import Target


@dataclass
class CompiledKernel:
    """The result of `tvm.compile`, callable directly or through its `mod`."""

    inner: SimulatedExecutable | Executable | SymbolicExecutable | CpuExecutable | te.Launches | te.SymbolicFunction
    module: IRModule
    _said: set[str] = field(default_factory=set, init=False, repr=False)
    _runs: dict[bytes, tuple[list[np.ndarray], float]] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, *args: object) -> None:
        values = [arg.array if isinstance(arg, Tensor) else arg for arg in args]
        inner = self.executable(*values)
        if isinstance(self.inner, te.SymbolicFunction):
            values = self.inner.kept(values)
        if isinstance(inner, SimulatedExecutable):
            self._simulate(inner, values)
        else:
            inner(*values)
        if isinstance(inner, te.Launches):
            reports = [kernel.report for kernel, _ in inner.kernels if isinstance(kernel, SimulatedExecutable)]
            simulated_device.CLOCK.get().time_us += sum((report and report.time_us) or 0.0 for report in reports)

    def executable(self, *values: object) -> SimulatedExecutable | Executable | CpuExecutable | te.Launches:
        """Return the executable specialised for the given arguments."""
        if isinstance(self.inner, (SymbolicExecutable, te.SymbolicFunction)):
            return self.inner.for_arguments(*values)
        return self.inner

    def _simulate(self, inner: SimulatedExecutable, values: Sequence[Any]) -> None:
        """Simulate the kernel, reusing the result of an earlier launch with equal arguments."""
        arrays = [_bytes_of(value) for value in values]
        plain = [v if a is None else v.shape for v, a in zip(values, arrays, strict=True)]
        digest = hashlib.blake2b(repr(plain).encode())
        for array in arrays:
            if array is not None:
                digest.update(array.data)
        key = digest.digest()
        shared = [array for array in arrays if array is not None]
        if key in self._runs:
            results, time_us = self._runs[key]
            for array, result in zip(shared, results, strict=True):
                array[:] = result
        else:
            inner(*values, strict=scripts.strict())
            if inner.report is not None and not inner.report.ok and str(inner.report) not in self._said:
                self._said.add(str(inner.report))
                print(inner.report, file=sys.stderr)
            time_us = (inner.report and inner.report.time_us) or 0.0
            self._runs = {key: ([array.copy() for array in shared], time_us)}
        simulated_device.CLOCK.get().time_us += time_us

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def __getitem__(self, name: str) -> CompiledKernel:
        """Return the module's kernel of this name."""
        return self.get_function(name)

    @property
    def entry_name(self) -> str:
        """The name of the function that calling the module invokes."""
        return next(iter(self.module.functions))

    def get_function(self, name: str, query_imports: bool = False) -> CompiledKernel:
        own = self.inner.original if isinstance(self.inner, SymbolicExecutable) else self.inner.func
        if name == "main" or name == own.name:
            return self
        if name not in self.module.functions:
            raise ValueError(f"the module has no kernel {name!r}; it has {', '.join(sorted(self.module.functions))}")
        func = self.module.functions[name]
        return CompiledKernel(_compiled(func, self.inner), self.module)

    @property
    def mod(self) -> HostSide:
        """The host module: ``exe.mod(A, B, D)``, ``exe.mod.imports[0].inspect_source()``."""
        return HostSide((DeviceModule(self),), self)

    def jit(self, **_: object) -> HostSide:
        """Return the host module; kernels are already compiled."""
        return self.mod

    def export_library(self, *_: object, **__: object) -> None:
        """Raise `ValueError`, since kernels cannot be exported as libraries here."""
        raise ValueError(
            'a compiled kernel is not exported as a library: exe.source("cuda") and exe.source("ptx") are its text'
        )

    save = export_library

    @property
    def type_key(self) -> str:
        """The key of the executing device: "cuda", or "llvm"."""
        return "cuda" if self.imported_modules else "llvm"

    def source(self, stage: str = "cuda", comments: bool = True) -> str:
        return self.inner.source(stage, comments)

    def get_source(self, fmt: str = "") -> str:
        """Return the source: LLVM's for a CPU (fmt "ll" or "asm"), else the kernel's CUDA C++."""
        return self.source(fmt or ("cuda" if self.imported_modules else "ll"))

    @property
    def imported_modules(self) -> list[Any]:
        """The GPU kernels, whose `get_source` returns CUDA C++."""
        return [] if isinstance(getattr(self.inner, "last", self.inner), CpuExecutable) else [self]

    def time_evaluator(
        self, name: str, device: object = None, number: int = 10, repeat: int = 1, **_: object
    ) -> Evaluator:
        """Return a timer as TVM does: ``exe.time_evaluator("main", dev)(A, B, D).mean`` is in seconds."""
        return Evaluator(self.get_function(name), number, repeat)


Module = CompiledKernel
"""`tvm.runtime.Module`."""


@dataclass(frozen=True)
class DeviceModule(SourceModule):
    """The device code of a module's kernels, each text being self-contained."""

    executable: CompiledKernel

    def inspect_source(self, fmt: str = "", comments: bool = True) -> str:
        own, module = self.executable, self.executable.module
        kernels = [own.get_function(name) for name in module.functions] if len(module.functions) > 1 else [own]
        return "\n".join(kernel.source(fmt or "cuda", comments) for kernel in kernels)


@dataclass(frozen=True)
class HostSide(HostModule):
    """The host module of a compiled kernel under TVM's API: ``exe.mod["main"](A, B, D)``."""

    kernel: CompiledKernel

    kind = "llvm"

    def __getitem__(self, name: str) -> CompiledKernel:
        return self.get_function(name)

    def get_function(self, name: str, query_imports: bool = False) -> CompiledKernel:
        """Return the kernel of this name."""
        return self.kernel.get_function(name)

    @property
    def imports_(self) -> tuple[Any, ...]:
        """The device modules; an alias of `imports`."""
        return self.imports

    @property
    def entry_func(self) -> CompiledKernel:
        """The kernel."""
        return self.kernel

    def time_evaluator(
        self, func_name: str, dev: object = None, number: int = 10, repeat: int = 1, **_: object
    ) -> Evaluator:
        """Return a timer, as `CompiledKernel.time_evaluator`."""
        return self.kernel.time_evaluator(func_name, dev, number, repeat)

    def inspect_source(self, fmt: str = "") -> str:
        """Return the source of the device module."""
        return self.imports[0].inspect_source(fmt)


def _bytes_of(value: Any) -> np.ndarray | None:
    """Return the bytes of an array or host tensor, or None for a number."""
    if isinstance(value, np.ndarray):
        return value.reshape(-1).view(np.uint8)
    if hasattr(value, "data_ptr"):
        import torch

        return value.detach().reshape(-1).view(torch.uint8).numpy()
    return None


@dataclass(frozen=True)
class Times:
    """Times per launch in seconds, one for each repetition."""

    results: tuple[float, ...]

    mean = property(lambda self: mean(self.results))
    median = property(lambda self: median(self.results))
    std = property(lambda self: pstdev(self.results))
    min = property(lambda self: min(self.results))
    max = property(lambda self: max(self.results))


@dataclass(frozen=True)
class Evaluator:
    """Times launches: a single one in the simulator, which is deterministic, and a CUDA graph on a GPU."""

    kernel: CompiledKernel
    number: int
    repeat: int

    def __call__(self, *args: object) -> Times:
        inner = self.kernel.executable(*args)
        if isinstance(inner, CpuExecutable):
            return Times(tuple(self._on_cpu(args) for _ in range(self.repeat)))
        if isinstance(inner, Executable):
            return Times(tuple(inner.time_guarded(*args, repeat=self.number) / 1e3 for _ in range(self.repeat)))
        before = simulated_device.CLOCK.get().time_us
        self.kernel(*args)
        return Times(((simulated_device.CLOCK.get().time_us - before) / 1e6,) * self.repeat)

    def _on_cpu(self, args: tuple[object, ...]) -> float:
        """Return the seconds per call over `number` calls, after one call that compiles."""
        self.kernel(*args)
        start = perf_counter()
        for _ in range(self.number):
            self.kernel(*args)
        return (perf_counter() - start) / self.number


def compile(
    mod: Any, target: object = None, *, relax_pipeline: object = None, tir_pipeline: object = "tirx"
) -> CompiledKernel:
    """Compile a kernel or module as TVM does, for the local GPU or else for the simulator.

    Raises `TirxError` at the line of the kernel that cannot be lowered, `ValueError` for another pipeline.
    """
    if tir_pipeline not in ("tirx", "default", None):
        raise ValueError(f"unknown pipeline {tir_pipeline!r}; the only pipeline is 'tirx'")
    chosen = Target.current() or Target("cuda") if target is None else Target(target)
    module = mod if isinstance(mod, IRModule) else IRModule({"main": mod})
    whole = not module.functions or isinstance(module, te.SymbolicModule)
    func = mod if whole else module.functions.get("main") or next(iter(module.functions.values()))
    return CompiledKernel(_for_target(func, chosen), module)


def _for_target(func: Any, target: Any) -> Any:
    """Compile a function for a target, falling back to the simulator if the GPU is absent."""
    gpu = None if target.kind == "llvm" else simulated_device.simulated_gpu(str(target.kind), target.detail)
    name = target.spec if gpu is None else f"sim:{gpu.name.lower()}"
    if isinstance(func, te.SymbolicModule) or (isinstance(func, PrimFunc) and func.spelling == TIR):
        return te.build(func, target=name)
    return tirx_mini.compile(func, target=name)


def _compiled(func: PrimFunc, like: Any) -> Any:
    """Compile a kernel for the same machine as another executable."""
    if isinstance(like, te.Launches):
        return _compiled(func, like.kernels[0][0])
    if isinstance(like, CpuExecutable):
        return te.build(func, target="llvm")
    if isinstance(like, SymbolicExecutable):
        return tirx_mini.compile(func, target=like.target)
    simulated = isinstance(like, SimulatedExecutable)
    return te.build(func, target=f"sim:{like.gpu.name.lower()}" if simulated else f"cuda:{like.arch}")


def build(
    mod: Any,
    args: Any = None,
    target: Any = None,
    target_host: object = None,
    name: str = "main",
    pipeline: object = "tirx",
) -> CompiledKernel:
    """Build a schedule with its arguments, or any input of `compile`: `tvm.build` and `tvm.tirx.build`.

    args: the tensors that are the parameters of a schedule's function; otherwise it is the target.
    """
    if isinstance(mod, te.Schedule):
        return compile(te.lower(mod, args, name), target if target is not None else Target.current() or "llvm")
    if args is not None and target is None:
        target = args
    return compile(mod, target, tir_pipeline=pipeline)


@dataclass(frozen=True)
class Device:
    """A device such as ``tvm.cuda(0)``: the local GPU or the simulated one."""

    type: str
    index: int = 0

    @property
    def gpu(self) -> GpuSpec:
        """The GPU model that provides the device's properties."""
        here = device_arch()
        return gpu_spec(DEFAULT_GPU) if here is None else nearest_gpu(here)

    @property
    def exist(self) -> bool:
        return self.index == 0

    @property
    def compute_version(self) -> str:
        digits = self.gpu.arch.strip("sm_a")
        return f"{digits[:-1]}.{digits[-1]}"

    @property
    def device_name(self) -> str:
        return self.gpu.cuda_name

    @property
    def multi_processor_count(self) -> int:
        return self.gpu.sms

    @property
    def max_shared_memory_per_block(self) -> int:
        return self.gpu.architecture.smem_per_cta

    @property
    def warp_size(self) -> int:
        return 32

    def sync(self, stream: object = None) -> None:
        """Wait for the GPU."""
        if device_arch() is not None:
            import torch

            torch.cuda.synchronize()


def cuda(dev_id: int = 0) -> Device:
    """Return a GPU device."""
    return Device("cuda", dev_id)


def cpu(dev_id: int = 0) -> Device:
    """Return the host device."""
    return Device("cpu", dev_id)


def device(device_type: object, index: int | None = None) -> Device:
    """Return a device by name: ``tvm.device("cuda", 0)``, ``tvm.device("cuda:0")``."""
    kind, _, number = str(device_type).partition(":")
    return Device("cuda" if kind == "gpu" else kind, index if index is not None else int(number or 0))


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of TVM's runtime: a host array that GPU launches copy to and from the device."""

    array: np.ndarray
    device: Device = Device("cpu")

    shape = property(lambda self: self.array.shape)
    ndim = property(lambda self: self.array.ndim)
    dtype = property(lambda self: self.array.dtype.name)

    def numpy(self) -> np.ndarray:
        """Return a copy of the values as an array."""
        return self.array.copy()

    asnumpy = numpy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array if dtype is None else self.array.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def copyfrom(self, source: object) -> Tensor:
        """Overwrite the values."""
        self.array[...] = np.asarray(source)
        return self

    def copyto(self, target: Any, mem_scope: str | None = None) -> Tensor:
        """Copy the values into a tensor, or to a device as a new tensor."""
        if isinstance(target, Tensor):
            return target.copyfrom(self.array)
        return Tensor(self.array.copy(), target)


def tensor(arr: object, device: Device | None = None, mem_scope: str | None = None) -> Tensor:
    """Return a tensor with a copy of an array's values."""
    values = arr.array if isinstance(arr, Tensor) else np.asarray(arr)
    return Tensor(np.array(values, order="C"), device or cpu())


def from_dlpack(ext_tensor: Any) -> Tensor:
    """Return a tensor that shares the memory of an array or of a PyTorch host tensor."""
    return Tensor(np.from_dlpack(ext_tensor))


def empty(shape: Any, dtype: Any = "float32", device: Device | None = None, mem_scope: str | None = None) -> Tensor:
    """Return a zero-initialised tensor, to be overwritten."""
    extents = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    return Tensor(np.zeros(extents, numpy_dtype(DataType(str(dtype)))), device or cpu())


def assert_structural_equal(lhs: object, rhs: object, map_free_vars: bool = False) -> None:
    """Raise `ValueError`, showing both kernels, unless they are equal up to renaming."""
    from tirx_mini.ir import structural_equal

    pairs = [(lhs, rhs)]
    if isinstance(lhs, IRModule) and isinstance(rhs, IRModule):
        if lhs.functions.keys() != rhs.functions.keys():
            raise ValueError(f"the modules have kernels {sorted(lhs.functions)} and {sorted(rhs.functions)}")
        pairs = [(lhs.functions[name], rhs.functions[name]) for name in lhs.functions]
    if isinstance(lhs, Layout) and isinstance(rhs, Layout):  # TVM's layouts have iters, and no dimensions
        pairs = [(lhs.canonicalize(), rhs.canonicalize())]
    for one, other in pairs:
        if isinstance(one, PrimFunc) and isinstance(other, PrimFunc):
            equal = structural_equal(replace(one, name=other.name), other)
        else:
            equal = structural_equal(one, other)
        if not equal:
            kind = "kernels" if isinstance(one, PrimFunc) else "two"
            raise ValueError(f"the {kind} differ:\n{_text(one)}\n\n{_text(other)}")


def _text(value: Any) -> str:
    return value.script() if hasattr(value, "script") else repr(value)
