"""Runs of the Blackwell references on the modelled B200, each made once for all topics that are drawn in a process."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tirx_mini import Report, simulate
from tirx_mini.course import Shape, Traced, default_kernels, load_kernels
from tirx_mini.hardware import DEFAULT_GPU, gpu_spec

FULL = 2048
"""The largest extent of a run that leaves out no part."""


@cache
def traced(step: int, shape: Shape) -> Traced:
    """A run of the reference of a step, with its timeline and what bounds it."""
    factory = load_kernels(default_kernels())[step]
    report = simulate(factory(*shape), gpu=DEFAULT_GPU, data=False, trace=True)
    # Without data the verdict is "clock", which says nothing on a picture of a kernel that is right.
    return Traced(replace(report, kernel=factory.__name__, verdict="ok"), gpu_spec(DEFAULT_GPU), extents(shape))


@cache
def timed(step: int, shape: Shape) -> Report:
    """A run of which the times matter: the traced one, or above `FULL` a sampled one."""
    if max(shape) <= FULL:
        return traced(step, shape).report
    return simulate(load_kernels(default_kernels())[step](*shape), gpu=DEFAULT_GPU, data=False, sampled=True)


def extents(shape: Shape) -> str:
    """The shape in words: `128 × 128 × 64`."""
    return " × ".join(map(str, shape))
