"""The GPUs that the simulator models: limits, clocks, bandwidths, latencies.

Sources, by letter:

    A  PTX ISA 9.0 and CUDA C++ Programming Guide, "Compute Capabilities" (limits)
    B  NVIDIA Hopper, Blackwell data sheets and HGX specifications (SMs, memory, dense tensor throughput)
    C  published micro-benchmarks of B200 and B300: tcgen05.mma throughput (SemiAnalysis), the latency model of
       Triton's modulo scheduler (Meta), arXiv 2512.02189; of Hopper: arXiv 2501.12084
    D  derived from the others
    E  fitted to published times of the assignment's reference kernels on a B200

Latencies and costs are cycles of the SM clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

ISSUE_CYCLES: Mapping[str, float] = MappingProxyType({
    "alu": 2,               # C: one warp's dependent arithmetic, partly overlapped
    "sync": 6,              # fences, elect, votes
    "smem_atomic": 24,      # C: mbarrier.arrive
    "wait": 20,             # C: a successful try_wait
    "tma": 30,              # C: issue of a bulk copy by one thread
    "mma": 30,              # C: issue of one MMA by one thread, with its descriptor arithmetic
    "wgmma": 10,            # issue of one MMA by a warp
    "matrix": 4,            # issue of ldmatrix and stmatrix
    "tmem": 10,             # issue of tcgen05.ld and st
    "shuffle": 5,           # C: shfl
    "barrier": 8,           # issue of bar.sync; its latency is `bar_latency`
    "alloc": 100,           # tcgen05.alloc and dealloc
})  # fmt: skip
"""Issue cost of an instruction by its cost class (`isa.Instruction.cost`)."""


@dataclass(frozen=True)
class GpuSpec:
    """What the simulator knows of a GPU.

    clock_ghz: the SM clock under load. tensor_flops_per_cycle: dense fp16 operations of one SM in one cycle.
    smem_per_cta: bytes of dynamic shared memory; smem_reserved more are the system's. hbm_tbps: TB/s that a kernel
    reaches. port_bytes_per_cycle: of one SM's port to the L2; l2_bytes_per_cycle: of the L2, a SM of the GPU.
    smem_engine_bytes_per_cycle: of an SM's shared memory to TMA and tensor core together.
    """

    name: str
    arch: str
    sms: int
    clock_ghz: float
    tensor_flops_per_cycle: int
    hbm_tbps: float
    l2_bytes: int
    port_bytes_per_cycle: float
    l2_bytes_per_cycle: float
    l2_latency: float
    hbm_latency: float
    tma_latency: float
    tma_bytes_per_cycle: float
    has_tmem: bool
    # A: the same on both generations
    smem_per_cta: int = 232_448
    smem_per_sm: int = 233_472
    smem_reserved: int = 1024
    threads_per_cta: int = 1024
    threads_per_sm: int = 2048
    registers_per_sm: int = 65_536
    ctas_per_sm: int = 32
    cluster_size: int = 8
    # C
    smem_bytes_per_cycle: float = 128
    smem_latency: float = 29
    mbarrier_latency: float = 30
    bar_latency: float = 30
    cluster_barrier_latency: float = 190
    remote_latency: float = 190
    mma_latency: float = 120
    commit_latency: float = 80
    tmem_load_latency: float = 110
    tmem_columns_per_cycle: float = 1
    tma_second_latency: float = 60
    tma_store_read_latency: float = 130
    tma_store_latency: float = 400
    tma_store_bytes_per_cycle: float = 20
    smem_engine_bytes_per_cycle: float = 115  # E
    launch_latency_us: float = 3.0  # E
    cta_launch_latency: float = 600
    issue: Mapping[str, float] = field(default_factory=lambda: ISSUE_CYCLES)

    @property
    def peak_tflops(self) -> float:
        """Dense fp16 with fp32 accumulation."""
        return self.sms * self.tensor_flops_per_cycle * self.clock_ghz / 1e3

    @property
    def hbm_bytes_per_cycle(self) -> float:
        """Of the whole GPU."""
        return self.hbm_tbps * 1e3 / self.clock_ghz


B200 = GpuSpec(
    name="B200", arch="sm_100a", sms=148,                       # B
    clock_ghz=1.86, tensor_flops_per_cycle=8192,                # D: 2250 TFLOPS / 148 SMs / 8192; C
    hbm_tbps=7.2, l2_bytes=126 << 20,                           # C
    port_bytes_per_cycle=140, l2_bytes_per_cycle=64,            # C
    l2_latency=310, hbm_latency=700,                            # C
    tma_latency=460, tma_bytes_per_cycle=256,                   # C
    has_tmem=True,
)  # fmt: skip

H100 = GpuSpec(
    name="H100", arch="sm_90a", sms=132,                        # B
    clock_ghz=1.755, tensor_flops_per_cycle=4096,               # B: the clock under a GEMM's power draw
    hbm_tbps=3.0, l2_bytes=50 << 20,                            # C
    port_bytes_per_cycle=64, l2_bytes_per_cycle=32,             # C
    l2_latency=260, hbm_latency=600,                            # C
    tma_latency=450, tma_bytes_per_cycle=64,                    # C
    has_tmem=False,
)  # fmt: skip

H200 = GpuSpec(
    name="H200", arch="sm_90a", sms=132,                        # B
    clock_ghz=1.755, tensor_flops_per_cycle=4096,
    hbm_tbps=4.3, l2_bytes=50 << 20,                            # B, C
    port_bytes_per_cycle=64, l2_bytes_per_cycle=32,
    l2_latency=260, hbm_latency=600,
    tma_latency=450, tma_bytes_per_cycle=64,
    has_tmem=False,
)  # fmt: skip

GPUS: Mapping[str, GpuSpec] = MappingProxyType({spec.name.lower(): spec for spec in (B200, H100, H200)})


def gpu_spec(gpu: str | GpuSpec) -> GpuSpec:
    """The GPU of this name ("b200", "h100", "h200"); raises `ValueError` for any other."""
    if isinstance(gpu, GpuSpec):
        return gpu
    try:
        return GPUS[gpu.lower()]
    except KeyError:
        raise ValueError(f"unknown GPU {gpu!r}; the simulator models {', '.join(sorted(GPUS))}") from None
