"""The limits of a launch on a GPU (CUDA: "Compute Capabilities", technical specifications)."""

from __future__ import annotations

from tirx_mini.hardware import (
    MAX_CLUSTER,
    MAX_GRID,
    MAX_THREADS_PER_CTA,
    REGISTERS_PER_SM,
    WARP_SIZE,
    GpuSpec,
)
from tirx_mini.records import dataclass

from .facts import Fact, Fault, Origin
from .machine import KernelImage, SharedBuffer


@dataclass(frozen=True)
class GridTooLarge(Fact):
    """A grid that exceeds the maximum number of CTAs. grid, most: in x, y and z."""

    grid: tuple[int, ...]
    most: tuple[int, ...]


@dataclass(frozen=True)
class PartialCluster(Fact):
    """A grid that is not a multiple of its cluster. grid, cluster: in x, y and z."""

    grid: tuple[int, ...]
    cluster: tuple[int, ...]


@dataclass(frozen=True)
class TooManyThreads(Fact):
    """A CTA with more threads than the GPU allows."""

    threads: int
    most: int
    gpu: str


@dataclass(frozen=True)
class ClusterTooLarge(Fact):
    """A cluster with more CTAs than the GPU allows."""

    ctas: int
    most: int
    gpu: str


@dataclass(frozen=True)
class TooManyRegisters(Fact):
    """A CTA that needs more registers than an SM has. registers: of a thread."""

    threads: int
    registers: int
    most: int


@dataclass(frozen=True)
class GridNotResident(Fact):
    """A synchronising grid with more CTAs than can be resident at a time: `most`."""

    ctas: int
    most: int
    gpu: str


@dataclass(frozen=True)
class SharedMemoryExceeded(Fact):
    """A CTA that needs more shared memory than it can have, in bytes. buffers: its buffers; culprit: the first one
    over."""

    nbytes: int
    most: int
    gpu: str
    buffers: tuple[SharedBuffer, ...]
    culprit: SharedBuffer | None


def check_launch(image: KernelImage, spec: GpuSpec) -> None:
    """Raise a fault if a kernel exceeds the resources of the GPU."""
    launch, origin = image.launch, Origin("", "", "", image.span)
    if any(extent > most for extent, most in zip(launch.grid, MAX_GRID, strict=True)):
        raise Fault(GridTooLarge(origin, launch.grid, MAX_GRID))
    if any(extent % size for extent, size in zip(launch.grid, launch.cluster, strict=True)):
        raise Fault(PartialCluster(origin, launch.grid, launch.cluster))
    if launch.threads > MAX_THREADS_PER_CTA:
        raise Fault(TooManyThreads(origin, launch.threads, MAX_THREADS_PER_CTA, spec.name))
    if launch.cluster_size > MAX_CLUSTER:
        raise Fault(ClusterTooLarge(origin, launch.cluster_size, MAX_CLUSTER, spec.name))
    smem = spec.architecture.smem_per_cta
    if launch.smem_bytes > smem:
        over = [buffer for buffer in image.shared if buffer.end > smem]
        culprit = min(over, key=lambda buffer: buffer.byte_offset, default=None)
        where = Origin("", "", "", culprit.span if culprit else image.span)
        raise Fault(SharedMemoryExceeded(where, launch.smem_bytes, smem, spec.name, image.shared, culprit))
    if image.registers * launch.threads > REGISTERS_PER_SM:
        raise Fault(TooManyRegisters(origin, launch.threads, image.registers, REGISTERS_PER_SM))


def resident_clusters(image: KernelImage, spec: GpuSpec) -> int:
    """Return the maximum number of resident clusters on the GPU, at least one."""
    launch = image.launch
    ctas = spec.architecture.resident_ctas(launch.warps * WARP_SIZE, launch.smem_bytes, image.registers)
    return max(1, spec.sms // launch.cluster_size * ctas)


def lost_share(image: KernelImage, spec: GpuSpec) -> float:
    """Return the share of the arguments that the L2 no longer holds from the launch before."""
    launch = image.launch
    waves = launch.num_ctas > resident_clusters(image, spec) * launch.cluster_size
    return spec.lost_share(sum(buffer.nbytes for buffer in image.globals), waves)


def needs(image: KernelImage, spec: GpuSpec) -> tuple[int, int, int]:
    """Return the resources of a CTA on its SM: (bytes of shared memory, threads, registers)."""
    launch = image.launch
    threads = launch.warps * 32
    return launch.smem_bytes + spec.architecture.smem_reserved, threads, threads * image.registers
