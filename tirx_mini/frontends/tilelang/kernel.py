"""Compiled kernels: ``tilelang.compile(func, out_idx=[-1])`` returns a callable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from tirx_mini import driver
from tirx_mini.arguments import ArgumentError, is_tensor
from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, arch_name, gpu_spec, nearest_gpu
from tirx_mini.ir import (
    Buffer,
    Expr,
    PrimFunc,
    ScopeIds,
    TirxError,
    Var,
    const,
    int_value,
    simplify,
    specialised,
    substitute,
    walk,
)  # fmt: skip
from tirx_mini.ir import symbols as symbols_of
from tirx_mini.pytorch import pytorch_or_none
from tirx_mini.records import dataclass
from tirx_mini.target import Target

from .pipeline import FAST_MATH, is_tilelang, launches, lower
from .profiler import Profiler
from .strided import flattened, passed, steps_in, strides_of, symbols_in_strides

SWITCHES = ("tl.disable_warp_specialized", "tl.disable_tma_lower", FAST_MATH)
"""The options of passes that have an effect. Without the first two, copies of pipelined loops are made by warps of
their own."""
SHOWN_EXTENT = 1024
"""What symbolic extents are in texts of a kernel that has not been called."""


@dataclass(frozen=True)
class Launches:
    """The options of simulated launches, and their reports. schedules: the number of event orders to try."""

    gpu: str
    schedules: int = 1
    reports: list[Any] = field(default_factory=list)


_SIMULATED: ContextVar[Launches | None] = ContextVar("tilelang_simulated", default=None)


@contextmanager
def simulated(
    gpu: str | None = None, *, reports: list[Any] | None = None, schedules: int | None = None
) -> Iterator[list[Any]]:
    """Simulate kernels whose target names no GPU within the block, and yield their reports.

    schedules: how many orders of events the simulator tries for each launch. By default, `gpu` and `schedules` are
        those of the block around this one.
    """
    around = _SIMULATED.get() or Launches(DEFAULT_GPU)
    orders = around.schedules if schedules is None else schedules
    launches = Launches(gpu or around.gpu, orders, [] if reports is None else reports)
    token = _SIMULATED.set(launches)
    try:
        yield launches.reports
    finally:
        _SIMULATED.reset(token)


def current_gpu() -> str:
    """Return the GPU that is simulated for targets without a GPU when no real GPU is available."""
    launches = _SIMULATED.get()
    return launches.gpu if launches is not None else DEFAULT_GPU


def target_of(given: object) -> Target:
    """Parse a TileLang target: "auto", "cuda", "cuda -arch=sm_90a", {"kind": "cuda", "arch": "sm_90"}."""
    if isinstance(given, Target):
        return given
    if isinstance(given, Mapping):
        if given.get("kind", "cuda") != "cuda":
            raise ValueError(f'the kind of a target must be "cuda", not {given["kind"]!r}')
        return Target(f"cuda:{_arch(str(given['arch']))}" if "arch" in given else "cuda")
    text = "cuda" if given is None or str(given) == "auto" else str(given)
    if "arch=" in text:
        return Target(f"cuda:{_arch(text.split('arch=')[1].split()[0])}")
    return Target(text)


def _arch(name: str) -> str:
    number = name.removeprefix("sm_")
    return arch_name(int(number)) if number.isdigit() else name


def _machine(target: Target) -> tuple[Target, str]:
    """Return the device that runs a kernel for a target (local GPU or simulator) and its architecture."""
    from tirx_mini.runtime import device_arch

    here = device_arch()
    if target.kind == "sim":
        return target, gpu_spec(target.detail or DEFAULT_GPU).arch
    if here is not None and target.detail in (None, here):
        return Target(f"cuda:{here}"), here
    gpu = _simulated_gpu(target)
    return Target(f"sim:{gpu.name.lower()}"), gpu.arch


def _simulated_gpu(target: Target) -> GpuSpec:
    if target.detail is not None:
        return nearest_gpu(target.detail)
    return gpu_spec(current_gpu())


class JITKernel:
    """A compiled kernel, called with its inputs to return its outputs.

    prim_func: the program. It may have symbolic extents: it is compiled for the sizes of each call, once.
    out_idx: the parameters that a call makes and returns; the others are its arguments.
    target: the compilation target.
    """

    def __init__(self, prim_func: PrimFunc, out_idx: int | Sequence[int] | None = None, target: object = None) -> None:
        if not isinstance(prim_func, PrimFunc):
            raise TypeError(f"tilelang.compile takes a function that T.prim_func made, not {prim_func!r}")
        self.prim_func = prim_func
        count = len(prim_func.params)
        listed = () if out_idx is None else (out_idx,) if isinstance(out_idx, int) else tuple(out_idx)
        if any(not -count <= number < count for number in listed):
            raise ValueError(f"out_idx {listed} names parameters that {prim_func.name}, with {count}, does not have")
        self.out_idx = [number % count for number in listed]
        self.target = target_of(target)
        self.latency: float | None = None
        self.ref_latency: float | None = None
        self.config: dict[str, Any] | None = None
        self._executables: dict[tuple[Any, ...], list[Any]] = {}
        self._last: object = None

    @property
    def params(self) -> list[Buffer | Var]:
        """The parameters of the program."""
        return list(self.prim_func.params)

    @property
    def report(self) -> Any:
        """The simulator's report of the last call, or None on a GPU."""
        return getattr(self._last, "report", None)

    # -- calls --------------------------------------------------------------------------------------------------

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Execute the kernel. Return its output or list of outputs, or None without `out_idx`."""
        given = self._bound(args, kwargs)
        inputs = iter(given)
        values: list[Any] = [None if number in self.out_idx else next(inputs) for number in range(len(self.params))]
        sizes = self._sizes(values)
        like = next((value for value in given if is_tensor(value) or isinstance(value, np.ndarray)), None)
        for number in self.out_idx:
            values[number] = self._output(self.params[number], sizes, like)
        simulation = _SIMULATED.get()
        given = [passed(param, value, sizes) for param, value in zip(self.params, values, strict=True)]
        for executable in self._executable(sizes):
            if simulation is not None and simulation.schedules > 1 and self.is_simulated:
                executable(*given, schedules=simulation.schedules)
            else:
                executable(*given)
            self._last = executable
            if simulation is not None and self.report is not None:
                simulation.reports.append(self.report)
        made = [values[number] for number in self.out_idx]
        return made[0] if len(made) == 1 else made or None

    def _bound(self, args: Sequence[object], kwargs: Mapping[str, object]) -> list[Any]:
        names = [param.name for number, param in enumerate(self.params) if number not in self.out_idx]
        found = dict(zip(names, args, strict=False)) | {k: v for k, v in kwargs.items() if k in names}
        if len(args) == len(self.params) and self.out_idx:
            raise ArgumentError(
                f"{self.prim_func.name} makes the tensors of out_idx={self.out_idx} itself: call it with "
                f"{', '.join(names)}"
            )
        if len(args) > len(names) or len(found) != len(names):
            raise ArgumentError(
                f"{self.prim_func.name} takes {len(names)} arguments, {', '.join(names)}, but {len(args)} are given"
            )
        return [found[name] for name in names]

    def _sizes(self, values: Sequence[object]) -> dict[Var, int]:
        """Return the values of the symbolic extents, deduced from the arguments' shapes."""
        sizes: dict[Var, int] = {}
        for param, value in zip(self.params, values, strict=True):
            if isinstance(param, Buffer) and value is not None:
                shape = getattr(value, "shape", ())
                if len(shape) != param.ndim:
                    raise ArgumentError(f"{param.name} has {param.ndim} dimensions, but {len(shape)} are given")
                steps = strides_of(param)
                known = [(param.shape, shape)] + ([] if steps is None else [(steps, steps_in(value))])
                for extent, size in (pair for part in known for pair in zip(*part, strict=True)):
                    if isinstance(extent, Var) and sizes.setdefault(extent, int(size)) != size:
                        raise ArgumentError(
                            f"`{extent.name}` is {sizes[extent]} in one argument, but {int(size)} in {param.name}"
                        )
            elif isinstance(param, Var) and isinstance(value, int):
                sizes[param] = value
        needed = _specialised_by(self.prim_func)
        missing = [var.name for var in needed if var not in sizes]
        if missing:
            raise ArgumentError(f"no argument of {self.prim_func.name} determines the extent `{missing[0]}`")
        return {var: sizes[var] for var in needed}

    def _output(self, param: Buffer | Var, sizes: Mapping[Var, int], like: Any) -> Any:
        if not isinstance(param, Buffer):
            raise ArgumentError(f"out_idx names {param.name}, which is a number")
        if strides_of(param) is not None:
            raise ArgumentError(f"out_idx names {param.name}, a T.StridedTensor: pass the tensor that it writes")
        shape = tuple(_known(extent, sizes) for extent in param.shape)
        torch = None if isinstance(like, np.ndarray) else pytorch_or_none()
        if torch is None:
            from tirx_mini.sim import numpy_dtype  # a program that is only compiled does not wait for its import

            return np.zeros(shape, numpy_dtype(param.dtype))
        device = like.device if like is not None else "cuda" if torch.cuda.is_available() else "cpu"
        return torch.empty(shape, dtype=getattr(torch, str(param.dtype)), device=device)

    def _executable(self, sizes: Mapping[Var, int]) -> list[Any]:
        where, arch = _machine(self.target)
        key = (str(where.spec), tuple(sizes.values()))
        if key not in self._executables:
            self._executables[key] = [driver.compile(func, where) for func in self.lowered(arch, sizes)]
        return self._executables[key]

    def lowered(self, arch: str, sizes: Mapping[Var, int] | None = None) -> list[PrimFunc]:
        """Lower the program's kernels to per-thread code for the common pass pipeline."""
        func = self.prim_func
        needed = _specialised_by(func)
        sizes = sizes or dict.fromkeys(needed, SHOWN_EXTENT)
        if needed:
            func = specialised(func, sizes)
        func = flattened(func, sizes)
        return [lower(kernel, arch) for kernel in launches(func)] if is_tilelang(func) else [func]

    # -- texts --------------------------------------------------------------------------------------------------

    def _shown(self, stage: str) -> str:
        _, arch = _machine(self.target)
        if self.target.kind == "cuda" and self.target.detail is not None:
            arch = self.target.detail
        target = Target(f"cuda:{arch}")
        return "\n".join(driver.compile(func, target).source(stage) for func in self.lowered(arch))

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """Return the CUDA C++ of the kernel."""
        return self._shown("cuda")

    @property
    def kernel_source(self) -> str:
        """The CUDA C++ of the kernel."""
        return self.get_kernel_source()

    def get_host_source(self) -> str:
        """Return "": there is no host code, since launches go through the driver."""
        return ""

    def show_source(self, which: str = "kernel") -> None:
        """Print the CUDA C++."""
        print(self.get_kernel_source())

    print_source_code = show_source

    def get_ptx(self) -> str:
        """Return the PTX of the kernel."""
        return self._shown("ptx")

    def show_ptx(self) -> None:
        """Print the PTX."""
        print(self.get_ptx())

    def export_ptx(self, path: str) -> None:
        """Write the PTX to a file."""
        Path(path).write_text(self.get_ptx())

    def export_sources(self, kernel_path: str | None = None, host_path: str | None = None) -> None:
        """Write the CUDA C++ to a file."""
        if kernel_path is not None:
            Path(kernel_path).write_text(self.get_kernel_source())

    def script(self) -> str:
        """Return the program as text."""
        return self.prim_func.script()

    # -- measurements -------------------------------------------------------------------------------------------

    def get_profiler(self, tensor_supply_type: object = None) -> Profiler:
        """Return a profiler, which measures the kernel and compares it with a reference."""
        return Profiler(self, tensor_supply_type)

    @property
    def is_symbolic(self) -> bool:
        """Return whether the arguments have symbolic extents."""
        return bool(symbols_of(self.prim_func))

    def timed_ms(self, args: Sequence[object]) -> float:
        """Return the time of a call on the simulated GPU, in milliseconds."""
        with simulated() as reports:
            self(*args)
        return sum(report.time_us or 0.0 for report in reports) / 1e3

    def predicted_ms(self) -> float | None:
        """Return the data-independent time on the simulated GPU in milliseconds, or None if it depends on data."""
        where, arch = _machine(self.target)
        gpu = where.detail or DEFAULT_GPU
        total_us = 0.0
        for func in self.lowered(arch):
            report = driver.predict(func, gpu=gpu)
            if report.verdict == "incomplete":
                return None
            if report.verdict not in ("ok", "clock"):
                from tirx_mini.diagnose import SimulationError

                raise SimulationError(report)
            total_us += report.time_us or 0.0
        return total_us / 1e3

    @property
    def is_simulated(self) -> bool:
        """Return whether calls run in the simulator."""
        return _machine(self.target)[0].kind == "sim"


def _specialised_by(func: PrimFunc) -> list[Var]:
    """Return the values that a program is specialised for: symbolic extents and scalars that its grid depends on."""
    counts = [count for ids in func.of(ScopeIds) for count in ids.extents if isinstance(count, Expr)]
    used = {part for count in counts for part in walk(count)}
    scalars = [param for param in func.params if isinstance(param, Var) and param in used]
    return [*symbols_of(func), *symbols_in_strides(func), *scalars]


def _known(extent: Any, sizes: Mapping[Var, int]) -> int:
    if not isinstance(extent, Expr):
        return int(extent)
    value = int_value(simplify(substitute(extent, {var: const(size) for var, size in sizes.items()})))
    if value is None:
        raise TirxError(f"the extent {extent!r} of an output is not known when the kernel is called")
    return value


def compile(
    func: PrimFunc,
    out_idx: int | Sequence[int] | None = None,
    execution_backend: str | None = None,
    target: object = None,
    target_host: object = None,
    verbose: bool | None = None,
    pass_configs: Mapping[str, object] | None = None,
    compile_flags: object = None,
) -> JITKernel:
    """Compile a program for the local GPU if it matches `target`, else for the simulator.

    out_idx: the parameters that a call makes and returns.
    target: "auto", "cuda", "cuda -arch=sm_90a", {"kind": "cuda", "arch": "sm_90"}, or "sim:h100".
    pass_configs: of TileLang's options of passes, those of `SWITCHES` have an effect.
    execution_backend, target_host, verbose, compile_flags: accepted as TileLang has them, without effect.
    """
    switches = {getattr(key, "value", key): value for key, value in (pass_configs or {}).items()}
    chosen = func.with_attrs({key: bool(switches[key]) for key in SWITCHES if key in switches})
    return JITKernel(chosen, out_idx, target)
