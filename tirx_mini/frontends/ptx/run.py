"""A kernel of PTX with the arguments of a launch, simulated."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tirx_mini.diagnose import Report, failed
from tirx_mini.driver import answer
from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, gpu_spec
from tirx_mini.ir import TirxError
from tirx_mini.sim import Question

from .lowering import lower
from .syntax import Kernel

MOST_JOBS = 4


def simulate(
    kernel: Kernel, args: Sequence[Any], *, grid: Sequence[int], block: Sequence[int],
    cluster: Sequence[int] | None = None, smem_bytes: int = 0, gpu: str | GpuSpec = DEFAULT_GPU,
    jobs: int | None = None, **options: Any,
) -> Report:  # fmt: skip
    """Run a launch on a simulated GPU and return a report. Results are written into the arrays in place.

    args, cluster, smem_bytes: as `lowering.lower` has them. options: fields of `tirx_mini.sim.Question`.

    What the simulator does not execute makes the verdict "incomplete". Raises `ArgumentError` for arguments that do not
    fit the parameters.
    """
    spec = gpu_spec(gpu)
    try:
        made = lower(kernel, args, grid=grid, block=block, cluster=cluster, smem_bytes=smem_bytes)
    except TirxError as error:
        return failed(kernel.name, error, spec.name)
    jobs = min(os.cpu_count() or 1, MOST_JOBS) if jobs is None else jobs
    return answer(made.func, made.args, Question(spec, jobs=jobs, **options))
