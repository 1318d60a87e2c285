"""Compilation and launch of tile programs: `compile`, `launch`, `simulate`, `interpret`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from tirx_mini import driver
from tirx_mini.arguments import ArgumentError, is_tensor
from tirx_mini.hardware import DEFAULT_ARCH, DEFAULT_GPU, nearest_gpu
from tirx_mini.records import dataclass
from tirx_mini.target import Target

from .arguments import Arguments, arguments_of
from .before import early_accesses, note_launch
from .context import Options
from .language import TileKernel, TileTypeError
from .program import TileProgram, as_passed, flat_specs

if TYPE_CHECKING:
    from tirx_mini.diagnose import Report
    from tirx_mini.ir import PrimFunc


@dataclass(frozen=True)
class Launches:
    """The options of simulated launches, and their reports.

    gpu: a name of `hardware.GPUS`. options: those of `tirx_mini.simulate`.
    reports: one for each launch, in order.
    """

    gpu: str
    options: Mapping[str, Any]
    reports: list[Report] = field(default_factory=list)


@dataclass(frozen=True)
class Launch:
    """A captured launch: kernel, grid and arguments."""

    kernel: TileKernel
    grid: tuple[int, int, int]
    args: tuple[Any, ...]


_CAPTURED: ContextVar[list[Launch] | None] = ContextVar("captured", default=None)
_INTERPRETED: ContextVar[bool] = ContextVar("interpreted", default=False)
_SIMULATED: ContextVar[Launches | None] = ContextVar("simulated", default=None)


def compile(
    kernel: TileKernel, args: Sequence[object], gpu: str = DEFAULT_GPU, options: Options | None = None
) -> TileProgram:
    """Compile a kernel for the kinds of its arguments: dtypes, shapes, strides and constant values.

    args: as they are passed to `launch`. gpu: a name of `hardware.GPUS`. options: the compiler's options.
    Raises `TileError` for an error in the kernel, and `ArgumentError` for unsupported arguments.
    """
    return _compiled(_kernel(kernel), arguments_of(_kernel(kernel), args), gpu, options)


def _compiled(kernel: TileKernel, arguments: Arguments, gpu: str, options: Options | None = None) -> TileProgram:
    options = options or Options()
    key = (arguments.specs, gpu, options)
    if key not in kernel.programs:
        kernel.programs[key] = TileProgram(kernel, arguments.specs, gpu, options)
    return kernel.programs[key]


def interpret(grid: object, kernel: TileKernel, args: Sequence[object], gpu: str = DEFAULT_GPU) -> None:
    """Interpret a kernel in NumPy, block by block, without a GPU."""
    arguments = arguments_of(_kernel(kernel), args)
    _compiled(kernel, arguments, gpu).interpret(grid_of(grid), arguments.values)


@contextmanager
def interpreted() -> Iterator[None]:
    """Make `launch` interpret programs in NumPy within the block."""
    token = _INTERPRETED.set(True)
    try:
        yield
    finally:
        _INTERPRETED.reset(token)


@contextmanager
def captured() -> Iterator[list[Launch]]:
    """Make `launch` record launches without executing them within the block, and yield the list."""
    launches: list[Launch] = []
    token = _CAPTURED.set(launches)
    try:
        yield launches
    finally:
        _CAPTURED.reset(token)


@contextmanager
def simulated(
    gpu: str = DEFAULT_GPU, *, reports: list[Report] | None = None, **options: object
) -> Iterator[list[Report]]:
    """Make `launch` simulate a GPU within the block, with options of `tirx_mini.simulate`, and yield the reports.

    reports: the list that they are appended to.
    """
    launches = Launches(gpu, options, [] if reports is None else reports)
    token = _SIMULATED.set(launches)
    try:
        yield launches.reports
    finally:
        _SIMULATED.reset(token)


def simulate(
    grid: object, kernel: TileKernel, args: Sequence[object], gpu: str = DEFAULT_GPU, **options: Any
) -> Report:
    """Simulate a kernel on a GPU, and report its errors and execution time.

    options: those of `tirx_mini.simulate`: schedules, trace, ….
    """
    func, passed = lowered_launch(Launch(_kernel(kernel), grid_of(grid), tuple(args)), gpu)
    return driver.simulate(func, *passed, gpu=gpu, **options)


def lowered_launch(launch: Launch, gpu: str) -> tuple[PrimFunc, list[object]]:
    """Return the kernel of a launch in tirx_mini.ir, and the arguments that it takes; arrays share their memory."""
    arguments = arguments_of(launch.kernel, launch.args)
    program = _compiled(launch.kernel, arguments, gpu)
    return program.func(launch.grid), _passed(program, arguments)


def _passed(program: TileProgram, arguments: Arguments) -> list[object]:
    specs = flat_specs(program.specs)
    return [as_passed(spec, value) for spec, value in zip(specs, arguments.values, strict=True)]


def launch(
    stream: object,
    grid: object,
    kernel: object,
    kernel_args: Sequence[Any],
    /,
    *,
    programmatic_dependent_launch: bool = False,
) -> None:
    """Launch a kernel over a grid of blocks, writing results into the argument arrays.

    It runs on the GPU where an argument is there, else in the simulator. ``with simulated("h100", schedules=20):``
    chooses its GPU and options, and ``with interpreted():`` the interpreter of cuda_tile.

    stream: a stream of the GPU; in the simulator, a launch is complete when the call returns.
    grid: one to three numbers of blocks.
    kernel_args: the arguments: arrays (NumPy or PyTorch), numbers, tuples of them, and constants.
    programmatic_dependent_launch: whether the kernel may begin before the launch before it has ended. Before it waits
        for that (`ct.grid_dependency_control_wait`), it may read what that launch does not write.
    Raises `SimulationError` for an error that the simulator finds in the compiled kernel.
    """
    function = _kernel(kernel)
    blocks = grid_of(grid)
    if not isinstance(kernel_args, (tuple, list)):
        raise ArgumentError(
            f"the arguments of {function.__name__} must be a tuple, not {type(kernel_args).__name__}: "
            f"write ct.launch(stream, grid, {function.__name__}, (a, b))"
        )
    launches = _CAPTURED.get()
    if launches is not None:
        launches.append(Launch(function, blocks, tuple(kernel_args)))
        return
    if _INTERPRETED.get():
        interpret(blocks, function, kernel_args)
        return
    if any(is_tensor(arg) and arg.device.type == "cuda" for arg in kernel_args):
        _launch_on_gpu(blocks, function, kernel_args)
        return
    runs = _SIMULATED.get()
    options = runs.options if runs is not None else {}
    arguments = arguments_of(function, kernel_args)
    program = _compiled(function, arguments, current_gpu())
    early = early_accesses(stream, program, arguments, programmatic_dependent_launch)
    note_launch(stream, program, arguments, programmatic_dependent_launch)
    func = program.func_before(blocks, early)
    report = driver.simulate(func, *_passed(program, arguments), gpu=current_gpu(), **options)
    if runs is not None:
        runs.reports.append(report)
    if not report.ok:
        from tirx_mini.diagnose import SimulationError

        raise SimulationError(report)


def current_gpu() -> str:
    """Return the GPU that launches simulate, set by ``with simulated(…):`` or ``with Target("sim:h100"):``."""
    launches = _SIMULATED.get()
    if launches is not None:
        return launches.gpu
    target = Target.current()
    return (target.detail if target is not None and target.kind == "sim" else None) or DEFAULT_GPU


def _launch_on_gpu(grid: tuple[int, ...], kernel: TileKernel, args: Sequence[object]) -> None:
    """Compile for the local GPU, and launch."""
    import torch

    from tirx_mini.runtime import device_arch

    arguments = arguments_of(kernel, args)
    gpu = nearest_gpu(device_arch() or DEFAULT_ARCH, torch.cuda.get_device_name())
    program = _compiled(kernel, arguments, gpu.name.lower())
    if grid not in program.executables:
        program.executables[grid] = driver.compile(program.func(grid), Target("cuda"))
    specs = flat_specs(program.specs)
    program.executables[grid](*(as_passed(s, v) for s, v in zip(specs, arguments.given, strict=True)))


def _kernel(kernel: object) -> TileKernel:
    if isinstance(kernel, TileKernel):
        return kernel
    raise TileTypeError(
        f"only kernels can be launched, not {getattr(kernel, '__name__', type(kernel).__name__)}",
        hint="mark the function with `@ct.kernel`",
    )


def grid_of(grid: Any) -> tuple[int, int, int]:
    """Return a grid with three extents. Raises `ArgumentError` for anything else."""
    given = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1 for n in given)
    if not 1 <= len(given) <= 3 or not whole:
        raise ArgumentError(f"the grid must be one to three positive numbers of blocks, not {grid!r}")
    x, y, z = (*(int(n) for n in given), 1, 1)[:3]
    return x, y, z
