"""The device of programs without a GPU: the simulated GPU, and the clock that launches advance."""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import Any

from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, gpu_spec, nearest_gpu, same_generation
from tirx_mini.records import dataclass


@dataclass
class Clock:
    """The simulated device's clock, the predicted time of all launches so far."""

    time_us: float = 0.0


CLOCK: ContextVar[Clock] = ContextVar("clock", default=Clock())  # noqa: B039 - one device a process, unless set
"""The clock that launches advance."""


GPU_VARIABLE = "TIRX_MINI_GPU"
"""The environment variable that names the GPU to simulate, also in child processes."""


class Timed(list[Any]):
    """The latest launch report, whose assignment advances the clock of the simulated device."""

    def append(self, report: Any) -> None:
        CLOCK.get().time_us += report.time_us or 0.0
        self[:] = [report]


def simulated_gpu(kind: str = "cuda", detail: str | None = None) -> GpuSpec | None:
    """Return the GPU to simulate for a target, or None if this machine has a GPU for it and no other is chosen.

    kind, detail: of a `Target`.
    """
    if kind == "sim":
        return gpu_spec(detail or DEFAULT_GPU)
    chosen = os.environ.get(GPU_VARIABLE)
    if chosen and (detail is None or same_generation(gpu_spec(chosen).arch, detail)):
        return gpu_spec(chosen)
    from tirx_mini.runtime import device_arch  # takes a second where there is a driver

    here = device_arch()
    if here is not None and (detail is None or same_generation(here, detail)):
        return None
    return nearest_gpu(detail or gpu_spec(DEFAULT_GPU).arch)
