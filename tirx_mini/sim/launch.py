"""What a launch may ask of a GPU (CUDA: "Compute Capabilities", technical specifications)."""

from __future__ import annotations

from dataclasses import dataclass

from tirx_mini.hardware import GpuSpec

from .facts import Fact, Fault, Origin
from .machine import KernelImage, SharedBuffer

MOST_CTAS = (2**31 - 1, 65_535, 65_535)
"""The largest grid, in x, y and z."""


@dataclass(frozen=True)
class GridTooLarge(Fact):
    """A grid of more CTAs than there may be. grid, most: in x, y and z."""

    grid: tuple[int, ...]
    most: tuple[int, ...]


@dataclass(frozen=True)
class PartialCluster(Fact):
    """A grid that is not a multiple of its cluster. grid, cluster: in x, y and z."""

    grid: tuple[int, ...]
    cluster: tuple[int, ...]


@dataclass(frozen=True)
class TooManyThreads(Fact):
    """A CTA of more threads than the GPU allows."""

    threads: int
    most: int
    gpu: str


@dataclass(frozen=True)
class ClusterTooLarge(Fact):
    """A cluster of more CTAs than the GPU allows."""

    ctas: int
    most: int
    gpu: str


@dataclass(frozen=True)
class TooManyRegisters(Fact):
    """The threads of a CTA need more registers than an SM has. registers: of a thread."""

    threads: int
    registers: int
    most: int


@dataclass(frozen=True)
class SharedMemoryExceeded(Fact):
    """A CTA needs more shared memory than it can have, in bytes. buffers: its buffers; culprit: the first one over."""

    nbytes: int
    most: int
    gpu: str
    buffers: tuple[SharedBuffer, ...]
    culprit: SharedBuffer | None


def check_launch(image: KernelImage, spec: GpuSpec) -> None:
    """Raise a fault where a kernel asks for more than the GPU has."""
    launch, origin = image.launch, Origin("", "", "", image.span)
    if any(extent > most for extent, most in zip(launch.grid, MOST_CTAS, strict=True)):
        raise Fault(GridTooLarge(origin, launch.grid, MOST_CTAS))
    if any(extent % size for extent, size in zip(launch.grid, launch.cluster, strict=True)):
        raise Fault(PartialCluster(origin, launch.grid, launch.cluster))
    if launch.threads > spec.threads_per_cta:
        raise Fault(TooManyThreads(origin, launch.threads, spec.threads_per_cta, spec.name))
    if launch.cluster_size > spec.cluster_size:
        raise Fault(ClusterTooLarge(origin, launch.cluster_size, spec.cluster_size, spec.name))
    if launch.smem_bytes > spec.smem_per_cta:
        over = [buffer for buffer in image.shared if buffer.end > spec.smem_per_cta]
        culprit = min(over, key=lambda buffer: buffer.byte_offset, default=None)
        where = Origin("", "", "", culprit.span if culprit else image.span)
        raise Fault(
            SharedMemoryExceeded(where, launch.smem_bytes, spec.smem_per_cta, spec.name, image.shared, culprit)
        )
    if image.registers * launch.threads > spec.registers_per_sm:
        raise Fault(TooManyRegisters(origin, launch.threads, image.registers, spec.registers_per_sm))
