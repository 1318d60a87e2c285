"""`tvm.tirx.bench`: times of launches, and a profiler that kernels may leave switched off."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from tirx_mini.ir import TirxError
from tirx_mini.runtime import device_arch
from tirx_mini.script import refusal

from .host import CLOCK

__all__ = ["CudaProfiler", "EventType", "bench", "is_running_under_pytest", "setup"]


def is_running_under_pytest() -> bool:
    """Whether a test of pytest runs."""
    return "PYTEST_CURRENT_TEST" in os.environ


def setup(*_: Any, **__: Any) -> None:
    """Prepare the process for measurements; nothing is to be done."""


def bench(
    funcs: Mapping[str, Callable[[], Any]],
    *,
    repeat: int | None = None,
    references: Mapping[str, Callable[[], Callable[[], Any]]] | None = None,
    prepare: Mapping[str, Callable[[], Any]] | None = None,
    rounds: int = 1,
    **options: Any,
) -> dict[str, Any]:
    """Time launches: predicted where the GPU is simulated, else the median of `repeat` pairs of CUDA events.

    funcs: functions without arguments that launch a kernel.
    references: functions that return such a function; one that raises has the text of its error in the result.
    prepare: functions to call before a measurement.
    options: choices of a timer, which have no effect.

    Returns ``{"impls": {name: microseconds}, "round_samples": {name: [microseconds, …]}}``, as TVM does.
    """
    chosen, errors = dict(funcs), {}
    for name, make in (references or {}).items():
        try:
            chosen[name] = make()
        except Exception as error:  # a baseline that is not installed
            errors[name] = f"BASELINE_ERROR: {error}"
    samples: dict[str, list[float]] = {}
    for name, function in chosen.items():
        if prepare and name in prepare:
            prepare[name]()
        samples[name] = [_microseconds(function, repeat or 30) for _ in range(rounds)]
    times = {name: sum(values) / len(values) for name, values in samples.items()}
    return {"impls": {**times, **errors}, "round_samples": samples}


def _microseconds(function: Callable[[], Any], repeat: int) -> float:
    before = CLOCK.get().time_us
    function()
    if device_arch() is None:
        return CLOCK.get().time_us - before
    import torch

    times = []
    for _ in range(repeat):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return sorted(times)[len(times) // 2]


class EventType(Enum):
    """Kinds of events of a profile."""

    kBegin = 0
    kEnd = 1
    kInstant = 2
    kFinalize = 3


class CudaProfiler:
    """The profiler of a kernel. Switched off, its calls do nothing.

    Raises `TirxError` where it is switched on: the simulator records a timeline by itself.
    """

    def __init__(
        self,
        profiler_buffer: Any,
        write_stride: int,
        num_groups: int,
        default_leader: Any = None,
        profiler_enabled: Any = True,
    ) -> None:
        if not isinstance(profiler_enabled, (bool, int)) or profiler_enabled:
            row = refusal("cuda.timer_init")
            why = "" if row is None else row.why
            raise TirxError(f"`CudaProfiler` is not supported: {why}", hint=None if row is None else row.instead)

    def init(self, *_: Any, **__: Any) -> None: ...

    def start(self, *_: Any, **__: Any) -> None: ...

    def end(self, *_: Any, **__: Any) -> None: ...

    def finalize(self, *_: Any, **__: Any) -> None: ...
