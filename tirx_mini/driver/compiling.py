"""`compile`: lowers a kernel to a callable. The simulator is imported at the first call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from tirx_mini.arguments import for_arguments, kernel_of
from tirx_mini.foreign import frontend, resolve
from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, gpu_spec
from tirx_mini.ir import Buffer, IRModule, PrimFunc, specialised, symbols
from tirx_mini.records import dataclass
from tirx_mini.target import Target

from .languages import lowered as to_kernel

if TYPE_CHECKING:
    from tirx_mini.diagnose import Report
    from tirx_mini.runtime import Executable, HostModule


class Compiled(Protocol):
    """A compiled kernel. A call writes results into its arguments."""

    def __call__(self, *args: object) -> None: ...
    def source(self, stage: str = ..., comments: bool = ...) -> str:
        """Return the kernel at a stage, such as "cuda"."""
        ...


@dataclass(frozen=True, eq=False)
class SimulatedExecutable:
    """The result of `compile` for a simulator target. A call runs the kernel on the simulated GPU.

    The call writes results into its arguments and raises `SimulationError` unless the verdict is "ok".

    func: the lowered kernel.
    original: the kernel before lowering.
    gpu: the simulated GPU.
    """

    func: PrimFunc
    original: PrimFunc
    gpu: GpuSpec
    _reports: list[Report] = field(default_factory=list, init=False, repr=False)

    def __call__(self, *args: object, schedules: int = 1, strict: bool = True) -> None:
        """Run the kernel in the given number of event orders.

        strict: also raise for errors that need another order of events; otherwise the report lists them as warnings.
        """
        from tirx_mini.diagnose import SimulationError
        from tirx_mini.sim import Question

        from .answering import answer

        report = answer(self.func, args, Question(self.gpu, schedules=schedules))
        forgiven = not strict and report.only_possible
        self._reports[:] = [report.forgiving() if forgiven else report]
        if not report.ok and not forgiven:
            raise SimulationError(report)

    @property
    def report(self) -> Report | None:
        """The report of the last call."""
        return self._reports[-1] if self._reports else None

    @cached_property
    def compiled(self) -> Executable:
        """The same kernel, compiled for the simulated GPU."""
        from tirx_mini.runtime import build

        return build(self.func, self.gpu.arch, original=self.original)

    @property
    def mod(self) -> HostModule:
        """TVM's view of the module: ``exe.mod.imports[0].inspect_source()`` is the CUDA C++, and a call simulates."""
        from tirx_mini.runtime import HostModule

        return HostModule.of(self)

    def source(self, stage: str = "cuda", comments: bool = True) -> str:
        """The kernel at a stage: "tir", "lowered", "cuda" (with or without `comments`), "ptx" or "sass"."""
        if stage == "tir":
            return self.original.script()
        if stage == "lowered":
            return self.func.script()
        if stage == "cuda":
            from tirx_mini.runtime import emit

            return emit(self.func, self.gpu.arch, comments=comments).text
        return self.compiled.source(stage, comments)


SHOWN_EXTENT = 1024
"""The value of symbolic extents in the text of a kernel that was never called: a multiple of most tile sizes."""


@dataclass(frozen=True, eq=False)
class SymbolicExecutable:
    """The result of `compile` for a kernel with symbolic extents.

    It is compiled for the sizes of each call, once.

    original: the kernel.
    target: the target of compilation.
    build: the compiler for a kernel without symbolic extents; None for `compiled`.
    """

    original: PrimFunc
    target: Target
    build: Callable[[PrimFunc], Any] | None = None
    _compiled: dict[tuple[int, ...], Any] = field(default_factory=dict, init=False, repr=False)
    _last: list[Any] = field(default_factory=list, init=False, repr=False)

    def __call__(self, *args: object) -> None:
        self.for_arguments(*args)(*args)

    def for_arguments(self, *args: object) -> Any:
        """Return the kernel compiled for the sizes of these arguments. Raises `ArgumentError` if the sizes are
        inconsistent."""
        return self._for(for_arguments(self.original, args))

    def _for(self, func: PrimFunc) -> object:
        sizes = tuple(n for param in func.params if isinstance(param, Buffer) for n in param.shape)
        if sizes not in self._compiled:
            self._compiled[sizes] = self.build(func) if self.build is not None else compiled(func, self.target)
        self._last[:] = [self._compiled[sizes]]
        return self._compiled[sizes]

    @property
    def last(self) -> Any:
        """The kernel of the last call; before any call, with `SHOWN_EXTENT` for all symbolic extents."""
        if not self._last:
            self._for(specialised(self.original, dict.fromkeys(symbols(self.original), SHOWN_EXTENT)))
        return self._last[0]

    @property
    def func(self) -> PrimFunc:
        """The lowered kernel of the last call."""
        return self.last.func

    @property
    def report(self) -> Report | None:
        """The report of the last call; None on a GPU."""
        return getattr(self.last, "report", None)

    @property
    def mod(self) -> HostModule:
        """See `SimulatedExecutable.mod`."""
        from tirx_mini.runtime import HostModule

        return HostModule.of(self)

    def source(self, stage: str = "cuda", comments: bool = True) -> str:
        """Return the kernel of the last call at a stage; "tir" is the kernel with its symbolic extents."""
        return self.original.script() if stage == "tir" else self.last.source(stage, comments)


def compile(
    mod: IRModule | PrimFunc, target: str | Target | None = None, tir_pipeline: str = "tirx"
) -> Compiled:
    """Compile a kernel. The result is called with the arguments of the kernel and writes its outputs in place.

    A kernel with symbolic extents is compiled when it is called, once for each combination of sizes.

    mod: a kernel, or a module with a kernel "main".
    target: a target as in `Target`; by default that of the enclosing ``with target:``, else "cuda".

    Raises `TirxError`, at the line of the kernel, if the kernel cannot be lowered.
    """
    if tir_pipeline != "tirx":
        raise ValueError(f"unknown pipeline {tir_pipeline!r}; the only pipeline is 'tirx'")
    chosen = target_of(target)
    func = kernel_of(mod, "compile")
    builder = frontend(lambda each: chosen.kind in each.targets)
    if builder is not None:
        build_for = resolve(builder.targets[chosen.kind])
        return SymbolicExecutable(func, chosen, build_for) if symbols(func) else build_for(func)
    return SymbolicExecutable(func, chosen) if symbols(func) else compiled(func, chosen)


def compiled(func: PrimFunc, target: Target) -> SimulatedExecutable | Executable:
    """Compile a kernel without symbolic extents."""
    if target.kind == "sim":
        spec = gpu_spec(target.detail or DEFAULT_GPU)
        return SimulatedExecutable(to_kernel(func, spec.arch), func, spec)
    from tirx_mini.runtime import build, device_arch

    lowered = to_kernel(func, target.detail or device_arch() or gpu_spec(DEFAULT_GPU).arch)
    return build(lowered, target.detail, original=func)


def target_of(target: str | Target | None) -> Target:
    """Return the given target, the target of the enclosing ``with target:``, or "cuda"."""
    return target if isinstance(target, Target) else Target(target) if target else Target.current() or Target("cuda")
