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
from dataclasses import dataclass, field, replace
from types import MappingProxyType

ISSUE_CYCLES: Mapping[str, float] = MappingProxyType({
    "alu": 2,               # C: one warp's dependent arithmetic, partly overlapped
    "sync": 6,              # fences, elect, votes
    "smem_atomic": 24,      # C: mbarrier.arrive
    "wait": 20,             # C: a successful try_wait
    "tma": 30,              # C: issue of a bulk copy by one thread
    "mma": 20,              # C: issue of one MMA by one thread: 30, with what the simulator counts as arithmetic
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

    clock_ghz: the SM clock while there is power to spare. rated_ghz: the one of the data sheet's throughput.
    sustained_utilisation: how busy the tensor cores may be before the power limit lowers the clock.
    tensor_flops_per_cycle: dense fp16 operations of one SM in one cycle.
    smem_per_cta: bytes of dynamic shared memory; smem_reserved more are the system's.
    smem_bytes_per_cycle: of an SM's shared memory, to all that use it: warps, TMA, tensor core.
    l1_fill_bytes_per_cycle: of ordinary loads of one SM. loads_in_flight: of a thread, before it uses the first.
    port_bytes_per_cycle: of one SM's port to the L2; l2_bytes_per_cycle: of the L2, a SM of the GPU.
    l2_unevenness: how much longer than by its share of the L2 a TMA load takes, in what contention costs it.
    hbm_tbps: TB/s that a kernel reaches.
    launch_latency_us: what a launch takes besides its CTAs, in a row of launches; hidden_latency_us: how much of that a
    programmatic launch hides; cluster_launch_latency_us: how much more a launch of clusters takes.
    """

    name: str
    arch: str
    sms: int
    clock_ghz: float
    rated_ghz: float
    tensor_flops_per_cycle: int
    hbm_tbps: float
    l2_bytes: int
    port_bytes_per_cycle: float
    l2_bytes_per_cycle: float
    l2_latency: float
    hbm_latency: float
    tma_latency: float
    mma_latency: float
    smem_bytes_per_cycle: float
    l1_fill_bytes_per_cycle: float
    launch_latency_us: float
    cluster_launch_latency_us: float
    hidden_latency_us: float = 0.9  # E
    sustained_utilisation: float = 1.0
    l2_unevenness: float = 0.0
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
    smem_latency: float = 29
    mbarrier_latency: float = 30
    bar_latency: float = 30
    cluster_barrier_latency: float = 190
    remote_latency: float = 190
    commit_latency: float = 80
    tmem_load_latency: float = 110
    tmem_columns_per_cycle: float = 1
    tma_store_read_latency: float = 130
    tma_store_latency: float = 400
    tma_store_bytes_per_cycle: float = 20
    loads_in_flight: int = 4  # E
    cta_launch_latency: float = 600
    issue: Mapping[str, float] = field(default_factory=lambda: ISSUE_CYCLES)

    @property
    def peak_tflops(self) -> float:
        """Dense fp16 with fp32 accumulation."""
        return self.sms * self.tensor_flops_per_cycle * self.rated_ghz / 1e3

    @property
    def hbm_bytes_per_cycle(self) -> float:
        """Of the whole GPU."""
        return self.hbm_tbps * 1e3 / self.clock_ghz

    def clock_under(self, utilisation: float) -> float:
        """GHz of a kernel, launched again and again, that keeps the tensor cores busy for that share of its time.

        At the power limit, utilisation × clock × voltage² is constant, and the voltage goes about with the root of the
        clock.
        """
        return self.clock_ghz * min(1.0, (self.sustained_utilisation / max(utilisation, 1e-9)) ** 0.5)


B200 = GpuSpec(
    name="B200", arch="sm_100a", sms=148,                           # B
    clock_ghz=1.86, rated_ghz=1.86, tensor_flops_per_cycle=8192,    # D: 2250 TFLOPS / 148 SMs / 8192; C
    hbm_tbps=7.2, l2_bytes=126 << 20,                               # C
    port_bytes_per_cycle=170, l2_bytes_per_cycle=72,                # C: TMA's 6 cycles a KiB; E
    l2_latency=310, hbm_latency=700,                                # C
    tma_latency=410, mma_latency=120,                               # C: TMA's 460 less the waiting thread's 50
    smem_bytes_per_cycle=122, l1_fill_bytes_per_cycle=64,           # E: of 128; C
    launch_latency_us=3.0, cluster_launch_latency_us=3.0,           # E: launches in a stream
)  # fmt: skip

H100 = GpuSpec(
    name="H100", arch="sm_90a", sms=132,                            # B
    clock_ghz=1.98, rated_ghz=1.83, tensor_flops_per_cycle=4096,    # B: 989 TFLOPS / 132 SMs / 4096
    hbm_tbps=3.0, l2_bytes=50 << 20,                                # C
    port_bytes_per_cycle=128, l2_bytes_per_cycle=56,                # E
    l2_latency=260, hbm_latency=600,                                # C
    tma_latency=430, mma_latency=40,                                # E
    smem_bytes_per_cycle=122, l1_fill_bytes_per_cycle=32,           # E: of 128; C: 5.5 to 7 TB/s of ordinary loads
    launch_latency_us=1.0, cluster_launch_latency_us=0.7,           # E: launches of a CUDA graph
    l2_unevenness=3.0,                                              # E
    sustained_utilisation=0.60,                                     # E: at 700 W, on random data
)  # fmt: skip

H200 = replace(H100, name="H200", hbm_tbps=4.3)  # B, C

GPUS: Mapping[str, GpuSpec] = MappingProxyType({spec.name.lower(): spec for spec in (B200, H100, H200)})


def gpu_spec(gpu: str | GpuSpec) -> GpuSpec:
    """The GPU of this name ("b200", "h100", "h200"); raises `ValueError` for any other."""
    if isinstance(gpu, GpuSpec):
        return gpu
    try:
        return GPUS[gpu.lower()]
    except KeyError:
        raise ValueError(f"unknown GPU {gpu!r}; the simulator models {', '.join(sorted(GPUS))}") from None
