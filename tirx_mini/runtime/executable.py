"""Callable compiled kernels, the result of `tvm.compile` for a CUDA target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from tirx_mini.codegen import CudaSource, cuda_source
from tirx_mini.hardware import DEFAULT_ARCH, architecture_of
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.isa import for_target, written_params
from tirx_mini.records import dataclass

from .arguments import check_call
from .arrays import from_device, to_device
from .cache import CompileCache
from .compiler import Compiled
from .launch import Kernel, Launcher
from .sass import disassemble
from .toolchain import device_arch, known_arch
from .watchdog import run_guarded, time_guarded


class Sourced(Protocol):
    """A callable with source text at each compilation stage."""

    def __call__(self, *args: object) -> None: ...

    def source(self, stage: str = "cuda", comments: bool = True) -> str: ...


@dataclass(frozen=True)
class SourceModule:
    """TVM's view of the device code: ``exe.mod.imports[0].inspect_source()``."""

    executable: Sourced

    @property
    def kind(self) -> str:
        """The language, under TVM's name."""
        return "cuda"

    def inspect_source(self, fmt: str = "", comments: bool = True) -> str:
        """Return the CUDA C++, or the stage `fmt` ("ptx", "sass"); `comments` as in `Executable.source`."""
        return self.executable.source(fmt or "cuda", comments)


@dataclass(frozen=True)
class HostModule:
    """TVM's view of the host side, which contains the device modules; a call runs the kernel."""

    imports: tuple[SourceModule, ...]

    @staticmethod
    def of(executable: Sourced) -> HostModule:
        """Return the host side of a compiled kernel."""
        return HostModule((SourceModule(executable),))

    def __call__(self, *args: object) -> None:
        self.imports[0].executable(*args)


@dataclass(frozen=True, eq=False)
class Executable:
    """A compiled kernel: call it with PyTorch tensors on the GPU, or with NumPy arrays, which it writes in place.

    With tensors the call returns once the kernel is queued on PyTorch's current stream, with arrays once it is done.
    Raises `ArgumentError` for arguments that do not fit.

    func: the lowered kernel.
    cuda: the text that was compiled.
    original: the kernel as written.
    line_info: whether the binary has the kernel's source lines, for profilers and debuggers.
    """

    func: PrimFunc
    cuda: CudaSource
    compiled: Compiled
    original: PrimFunc | None = None
    line_info: bool = False
    _sources: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, *args: object) -> None:
        if self.launcher.again(args):
            return
        if any(isinstance(arg, np.ndarray) for arg in args):
            self._call_with_arrays(args)
        else:
            self.launcher(args)

    def run_guarded(self, *args: object, limit_s: float = 10.0) -> None:
        """Call the kernel in a child process, which is terminated after `limit_s` seconds.

        Raises `KernelTimeout` in that case and `KernelFault` if the kernel faults; this process can still launch.
        """
        run_guarded(self.kernel, args, limit_s)

    def time_guarded(self, *args: object, repeat: int = 30, limit_s: float = 20.0) -> float:
        """Return the milliseconds per launch of `repeat` launches in a CUDA graph, in a child process."""
        return time_guarded(self.kernel, args, repeat, limit_s)

    @property
    def arch(self) -> str:
        """The target architecture, as "sm_100a"."""
        return self.compiled.arch

    @property
    def mod(self) -> HostModule:
        return HostModule.of(self)

    def source(self, stage: str = "cuda", comments: bool = True) -> str:
        """Return the kernel at one of `STAGES`; "tir" is the kernel as written. Raises `ValueError` for another name.

        comments: whether the CUDA C++ explains descriptors, roles and shared memory at the ends of its lines. The text
        that was compiled is the one without, so that comments change neither compilation time nor the cache's keys.
        """
        if stage not in STAGES:
            raise ValueError(f"unknown stage {stage!r}; the stages are {', '.join(STAGES)}")
        if stage == "cuda" and not comments:
            return self.cuda.text
        if stage not in self._sources:
            self._sources[stage] = STAGES[stage](self)
        return self._sources[stage]

    @cached_property
    def written(self) -> frozenset[int]:
        """The positions of the parameters that the kernel writes."""
        written = written_params(self.func)
        return frozenset(i for i, p in enumerate(self.func.params) if p in written)

    @property
    def kernel(self) -> Kernel:
        return Kernel(self.func, self.cuda, self.compiled, self.written)

    @cached_property
    def launcher(self) -> Launcher:
        return Launcher(self.kernel)

    def _call_with_arrays(self, args: tuple[Any, ...]) -> None:
        """Copy arrays to the GPU, call the kernel, and copy back the arrays that it writes."""
        check_call(self.func, args, self.written)
        staged = [to_device(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        self.launcher(staged)
        for index in sorted(self.written):
            if isinstance(args[index], np.ndarray):
                from_device(staged[index], args[index])


STAGES: Mapping[str, Callable[[Executable], str]] = {
    "tir": lambda exe: (exe.original or exe.func).script(),
    "lowered": lambda exe: exe.func.script(),
    "cuda": lambda exe: emit(exe.func, exe.arch, line_info=exe.line_info, comments=True).text,
    "ptx": lambda exe: exe.compiled.ptx,
    "sass": lambda exe: disassemble(exe.compiled.cubin),
}
"""The stages of a kernel: as written, lowered, CUDA C++, PTX, machine code."""


def build(
    func: PrimFunc,
    arch: str | None = None,
    *,
    original: PrimFunc | None = None,
    line_info: bool = False,
    cache: CompileCache | None = None,
) -> Executable:
    """Compile a lowered function.

    arch: as "sm_90a"; None for the architecture of this machine's GPU, or `DEFAULT_ARCH` on a machine without one.
    original: the function as written, for ``source("tir")``.
    line_info: keep the kernel's source lines for profilers and debuggers.
    Raises `TirxError` at the line of the kernel that cannot be compiled, `ValueError` for an unknown architecture, and
    `ToolchainError` if the CUDA compiler is not installed.
    """
    target = known_arch(arch) if arch is not None else device_arch() or DEFAULT_ARCH
    source = emit(func, target, line_info=line_info)
    compiled = (cache or CompileCache.default()).compile(source, target, line_info=line_info)
    return Executable(func, source, compiled, original, line_info)


def emit(func: PrimFunc, arch: str, *, line_info: bool = False, comments: bool = False) -> CudaSource:
    """Emit the CUDA C++ of a lowered function for `arch`, as "sm_90a", without a compiler.

    Raises `TirxError` for a construct without a CUDA form, and if shared memory exceeds the architecture's limit.
    """
    executed = for_target(func, arch)
    _check_shared_memory(executed, arch)
    return cuda_source(executed, arch, line_directives=line_info, comments=comments)


def _check_shared_memory(func: PrimFunc, arch: str) -> None:
    limit = architecture_of(arch).smem_per_cta
    if func.launch is not None and func.launch.smem_bytes > limit:
        raise TirxError(
            f"{func.name} needs {func.launch.smem_bytes:,} bytes of shared memory; a CTA can have {limit:,}",
            func.span,
            "use fewer pipeline stages or smaller tiles",
        )
