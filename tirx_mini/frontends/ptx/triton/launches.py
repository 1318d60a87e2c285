"""Launches of kernels that Triton has compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from math import prod
from typing import Any

from tirx_mini.arguments import TensorMap
from tirx_mini.diagnose import Report, SimulationError
from tirx_mini.foreign import scripts, simulated_device
from tirx_mini.hardware import GpuSpec
from tirx_mini.ir import TirxError
from tirx_mini.records import dataclass
from tirx_mini.sim import BUDGET

from ..generated import without_generated
from ..programs import Entry, PtxModule
from .benchmarks import measuring
from .tensors import Memory, as_host_memory

_SWIZZLES = (0, 32, 64, 128)
"""The bytes of the values of `CUtensorMapSwizzle` (CUDA driver API)."""


_BUDGET = 1000 * BUDGET
"""The budget of a launch for its time alone, since programs measure larger sizes than they check."""
_CHECKED_BUDGET = 50 * BUDGET
"""The budget of any other launch: persistent kernels have loops of unknown length, and programs check real sizes."""
_WAVES = (16, 32)
"""The CTAs of an SM in the two parts of a large grid whose times are extrapolated."""


def _part_of(grid: tuple[int, int, int], count: int) -> tuple[int, int, int]:
    """Return a grid of about the first `count` CTAs of a larger one."""
    x, y, _ = grid
    if x >= count:
        return count, 1, 1
    return (x, max(1, count // x), 1) if x * y >= count else (x, y, max(1, count // (x * y)))


def _extrapolated(counts: Sequence[int], times: Sequence[Any], count: int) -> float:
    """Return the time at `count` on the line through two times."""
    slope = (times[1] - times[0]) / (counts[1] - counts[0])
    return times[1] + slope * (count - counts[1])


@dataclass(frozen=True, eq=False)
class Recording:
    """The reports of launches that are checked. name: of the kernel, or "" for all. options: of `simulate`."""

    name: str
    options: Mapping[str, Any]
    reports: list[Report]


_RECORDING: ContextVar[Recording | None] = ContextVar("recording", default=None)


@contextmanager
def recorded(name: str, options: Mapping[str, Any]) -> Iterator[list[Report]]:
    """Record the reports of the launches of a kernel within the block, which then raise no error."""
    recording = Recording(name, options, [])
    token = _RECORDING.set(recording)
    try:
        yield recording.reports
    finally:
        _RECORDING.reset(token)


@dataclass(frozen=True)
class Argument:
    """An argument of the kernel of PTX, with its name in the program."""

    name: str
    value: Any


class Launcher:
    """Launches a compiled kernel, as the launchers of Triton's drivers do.

    source, metadata: of the kernel, as Triton's compiler has them.
    """

    def __init__(self, gpu: GpuSpec, source: Any, metadata: Any) -> None:
        self._gpu, self._metadata = gpu, metadata
        self._names = tuple(source.fn.arg_names) if hasattr(source, "fn") else ()
        self._signature = tuple(source.signature.values())
        self._gluon = "gluon" in str(getattr(source, "language", "")).lower()
        self._times: dict[tuple[object, ...], float | None] = {}
        self._shown: set[str] = set()

    def __call__(
        self, grid_x: int, grid_y: int, grid_z: int, stream: object, function: PtxModule, packed: object,
        launch_metadata: object, enter_hook: Callable[..., object] | None, exit_hook: Callable[..., object] | None,
        *args: Any,
    ) -> None:  # fmt: skip
        """Simulate the launch. Raises `SimulationError` with the report for what the kernel does wrong."""
        if not grid_x * grid_y * grid_z:
            return
        if enter_hook is not None:
            enter_hook(launch_metadata)
        scratch = tuple(self._scratch(grid_x * grid_y * grid_z))
        with as_host_memory():
            given = (*self._arguments(args), *scratch)
            self._simulate(function, (grid_x, grid_y, grid_z), given)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _simulate(self, module: PtxModule, grid: tuple[int, int, int], given: Sequence[Argument]) -> None:
        meta = self._metadata
        ctas = getattr(meta, "num_ctas", 1)
        function = module.entry(meta.name).function
        entry = Entry(module.module, function, meta.name, tuple(each.name for each in given))
        launch = {
            "grid": (grid[0] * ctas, *grid[1:]), "block": 32 * meta.num_warps, "smem": meta.shared, "gpu": self._gpu,
            **({"cluster": ctas} if ctas > 1 else {}),
        }  # fmt: skip
        values = [each.value for each in given]
        recording = _RECORDING.get()
        if recording is not None and recording.name not in ("", meta.name):
            recording = None
        us = self._time(module, entry, values, launch) if measuring() and recording is None else None
        if us is not None:
            simulated_device.CLOCK.get().time_us += us
            return
        options = {"budget": _CHECKED_BUDGET, **({} if recording is None else recording.options)}
        report = without_generated(entry.simulate(values, **launch, **options), self._gluon)
        simulated_device.CLOCK.get().time_us += report.time_us or 0.0
        if recording is not None:
            recording.reports.append(report)
        elif not report.ok and (scripts.strict() or not report.only_possible):
            raise SimulationError(report)
        elif report.errors:
            self._warn(report.forgiving())

    def _warn(self, report: Report) -> None:
        """Print the page of errors that did not happen in this run, once."""
        page = str(report)
        if page not in self._shown:
            self._shown.add(page)
            print(page, file=sys.stderr)

    def _time(
        self, module: PtxModule, entry: Entry, values: Sequence[Any], launch: Mapping[str, Any]
    ) -> float | None:
        """Return the microseconds of a launch for its time alone; None if the time depends on data.

        The time of a large grid, where no program asks for the size of the grid, is worked out of two smaller ones.
        """
        grid, ctas = launch["grid"], prod(launch["grid"])
        key = (grid, *(_key(value) for value in values))
        if key not in self._times:
            few, more = (waves * self._gpu.sms for waves in _WAVES)
            if ctas <= 2 * more or "%nctaid" in module.text:
                us = self._alone(entry, values, launch)
            else:
                parts = [_part_of(grid, count) for count in (few, more)]
                found = [self._alone(entry, values, {**launch, "grid": part}) for part in parts]
                us = None if None in found else _extrapolated([prod(part) for part in parts], found, ctas)
            self._times[key] = us
        return self._times[key]

    @staticmethod
    def _alone(entry: Entry, values: Sequence[Any], launch: Mapping[str, Any]) -> float | None:
        report = entry.simulate(values, **launch, data=False, sampled=True, budget=_BUDGET)
        return report.time_us if report.verdict == "clock" else None

    # -- arguments -------------------------------------------------------------------------------------------------

    def _arguments(self, args: Sequence[Any]) -> Iterator[Argument]:
        """Yield the arguments of the PTX: without constants, and with the parts of tuples and descriptors."""
        memory = Memory()
        described = iter(getattr(self._metadata, "tensordesc_meta", None) or ())
        names = self._names or tuple(f"argument_{number}" for number in range(len(args)))
        for name, kind, value in zip(names, self._signature, args, strict=True):
            yield from _parts(name, kind, value, memory, described)

    def _scratch(self, programs: int) -> Iterator[Argument]:
        """Yield the working memory that Triton passes to each kernel."""
        meta = self._metadata
        allocation = import_module("triton.runtime._allocation")
        for name, allocator in (("global_scratch", allocation._allocator), ("profile_scratch", None)):
            size = getattr(meta, f"{name}_size", 0) * programs * getattr(meta, "num_ctas", 1)
            allocated = None
            if size and allocator is not None:
                allocated = allocator.get()(size, getattr(meta, f"{name}_align", 1), 0)
            yield Argument(name, allocated)


def _parts(name: str, kind: Any, value: Any, memory: Memory, described: Iterator[Any]) -> Iterator[Argument]:
    if isinstance(kind, tuple):
        for number, (inner, item) in enumerate(zip(kind, value, strict=True)):
            yield from _parts(f"{name}_{number}", inner, item, memory, described)
    elif kind == "constexpr":
        return
    elif kind.startswith("tensordesc"):
        yield from _descriptor(name, value, next(described, None), memory)
    elif kind.startswith("*"):
        yield Argument(name, memory.array(value) if hasattr(value, "data_ptr") else value)
    else:
        yield Argument(name, value.item() if hasattr(value, "item") else value)


def _descriptor(name: str, value: Any, meta: Mapping[str, Any] | None, memory: Memory) -> Iterator[Argument]:
    """Yield a host tensor descriptor as a tensor map with its shape and strides."""
    sizes = [
        *(Argument(f"{name}_shape_{number}", extent) for number, extent in enumerate(value.shape)),
        *(Argument(f"{name}_stride_{number}", stride) for number, stride in enumerate(value.strides)),
    ]
    base = memory.array(value.base)
    if meta is None:
        yield Argument(name, base)
        yield from sizes
        yield Argument(f"{name}_padding", value.padding == "nan")
        if hasattr(value, "round_f32_to_tf32"):
            yield Argument(f"{name}_rounds", value.round_f32_to_tf32)
    else:
        yield Argument(name, _tensor_map(value, meta, base))
    yield from sizes


def _tensor_map(value: Any, meta: Mapping[str, Any], base: Any) -> TensorMap:
    if meta.get("fp4_padded"):
        message = "tensor maps that spread 4-bit elements over padded groups of 16 bytes are not simulated"
        raise TirxError(message, hint="multiply operands of one width, as e2m1 by e2m1", kind="not-modelled")
    dims = [int(extent) for extent in reversed(value.shape)]
    return TensorMap(
        base,
        box=[int(extent) for extent in reversed(meta["block_size"])],
        swizzle=_SWIZZLES[meta["swizzle"]],
        dims=dims,
        strides=[int(stride) * meta["elem_size"] for stride in reversed(value.strides[:-1])],
        fill="nan" if value.padding == "nan" else "zero",
    )


def _key(value: Any) -> object:
    if isinstance(value, TensorMap):
        return tuple(value.dims or ()), tuple(value.box)
    if isinstance(value, list):  # the memories that a tensor of addresses points to
        return tuple(_key(each) for each in value)
    return (tuple(value.shape), str(value.dtype)) if hasattr(value, "shape") else value
