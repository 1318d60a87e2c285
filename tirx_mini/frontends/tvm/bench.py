"""`tvm.tirx.bench`: timing of launches, and the in-kernel profiler."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from tirx_mini.foreign import simulated_device
from tirx_mini.runtime import device_arch

from .profiler import CudaProfiler, EventType, decode_tag, export_to_perfetto_trace

__all__ = [
    "CudaProfiler", "EventType", "bench", "decode_tag", "export_to_perfetto_trace", "is_running_under_pytest", "setup",
]  # fmt: skip


def is_running_under_pytest() -> bool:
    """Return whether the process runs a pytest test."""
    return "PYTEST_CURRENT_TEST" in os.environ


def setup(*_: object, **__: object) -> None:
    """Do nothing: measurements need no preparation."""


def bench(
    funcs: Mapping[str, Callable[[], object]],
    *,
    repeat: int | None = None,
    references: Mapping[str, Callable[[], Callable[[], object]]] | None = None,
    prepare: Mapping[str, Callable[[], object]] | None = None,
    rounds: int = 1,
    **options: object,
) -> dict[str, Any]:
    """Time launches: predicted if the GPU is simulated, else the median over `repeat` pairs of CUDA events.

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


def _microseconds(function: Callable[[], object], repeat: int) -> float:
    before = simulated_device.CLOCK.get().time_us
    function()
    if device_arch() is None:
        return simulated_device.CLOCK.get().time_us - before
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
