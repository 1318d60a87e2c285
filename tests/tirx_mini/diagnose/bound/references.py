"""What bounds the reference kernels, on a GPU of few SMs where each computes several tiles."""

from __future__ import annotations

from functools import cache

import tirx_mini as tvm
from tirx_mini.course import STEPS, arch_folder, default_kernels, load_kernels, make_arguments
from tirx_mini.diagnose import Report
from tirx_mini.hardware import gpu_spec

SMS = 4
SIZE = (512, 512)
"""M and N: four tiles of 128 × 128 for each SM."""


@cache
def run(step: int, gpu: str = "b200", k: int = 1024, **constants: int) -> Report:
    """The report of a step's reference, with other values of its constants."""
    few = None if step < 3 else SMS
    spec = gpu_spec(gpu).with_sms(few)
    kernels = load_kernels(default_kernels(), arch_folder(spec.arch), sms=few, constants=constants)
    kernel = kernels[step](*(STEPS[step].shape(k) if step < 3 else (*SIZE, k)))
    return tvm.simulate(kernel, *make_arguments(kernel), gpu=spec, checks=False, trace=True)
