"""Hardware facts: limits shared by all GPUs, architectures, and the GPUs that the simulator models.

All facts are here, and the module imports nothing of the package, so that every room can use it. A new GPU of a known
architecture is one entry of `GPUS`; a new architecture is one entry of `ARCHITECTURES` and its instructions in `isa/`.

Sources, by letter:

    A  PTX ISA 9.0 and CUDA C++ Programming Guide, "Compute Capabilities" (limits)
    B  NVIDIA Hopper, Blackwell data sheets and HGX specifications (SMs, memory, dense tensor throughput)
    C  published micro-benchmarks of B200 and B300: rates and latencies of tcgen05.mma, a main loop of one CTA
       (SemiAnalysisAI/microbench-blackwell), latency from die to die (SemiAnalysis, "Dissecting Nvidia Blackwell"),
       clock and L2 (Chips and Cheese, "Nvidia's B200"), the latency model of Triton's modulo scheduler (Meta),
       arXiv 2512.02189; of Hopper: arXiv 2501.12084
    D  derived from the others
    E  fitted to measured times: docs/h100.csv, and docs/b200.csv with what cuBLAS reaches there; to the counters of
       single launches in docs/h100_counters.csv

Latencies and costs are cycles of the SM clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from math import exp
from types import MappingProxyType
from typing import Any

from tirx_mini.records import dataclass

# -- what all architectures have in common (A) -------------------------------------------------------------------------

WARP_SIZE = 32
"""The number of threads in a warp, its lanes (CUDA: warpSize)."""
QUARTERS = 4
"""The sub-partitions of an SM, each with a tensor core. Warp w of a CTA runs in partition w % 4."""
CROWDED_WARPS = 12
"""Resident warps of an SM from which on they compete for its issue slots. Of fewer, enough wait at any time."""
WARPGROUP_WARPS = 4
"""The number of warps in a warpgroup (PTX ISA: "wgmma", warpgroup)."""
WARPGROUP_SIZE = WARPGROUP_WARPS * WARP_SIZE
"""The number of threads in a warpgroup."""
THREADS_OF: Mapping[str, int] = MappingProxyType({"warpgroup": WARPGROUP_SIZE, "warp": WARP_SIZE, "thread": 1})
"""The number of threads in each unit of a CTA."""
MAX_THREADS_PER_CTA = 1024
MAX_GRID = (2**31 - 1, 65_535, 65_535)
"""The maximum number of CTAs along x, y and z (CUDA: technical specifications, dimensions of a grid)."""
MAX_LOCAL_BYTES = 512 << 10
"""Bytes of local memory of a thread, which holds the arrays that do not fit in registers (CUDA: technical
specifications, maximum amount of local memory per thread)."""
MAX_CLUSTER = 8
"""CTAs in a cluster that every GPU with clusters can launch, the "portable" size. Up to 16 need a launch attribute
(cudaFuncAttributeNonPortableClusterSizeAllowed) that the runtime does not set, and GPCs that have so many SMs."""
REGISTERS_PER_SM = 65_536
"""The number of 32-bit registers of an SM, all of which one CTA may use."""
MAX_REGISTERS_PER_THREAD = 255
NAMED_BARRIERS = 16
"""The number of named barriers of a CTA for bar.sync, ids 0 to 15 (PTX ISA: "bar")."""
MAX_MBARRIER_COUNT = 2**20 - 1
"""The maximum expected arrivals and tx-count magnitude of an mbarrier (PTX ISA: "mbarrier", contents)."""
TMEM_LANES, TMEM_COLUMNS = 128, 512
"""The lanes and 32-bit columns of an SM's tensor memory (PTX ISA: "Tensor Memory", addressing)."""
TMEM_ALLOCATIONS = (32, 64, 128, 256, 512)
"""The column counts that tcgen05.alloc accepts (PTX ISA: "tcgen05.alloc")."""
MAX_TMA_RANK, MAX_TMA_BOX, MAX_TMA_STRIDE = 5, 256, 2**40
"""Of a tensor map: dimensions, the largest extent of its box, and the bytes that strides stay below (CUDA driver API:
cuTensorMapEncodeTiled)."""
TMA_GLOBAL_ALIGN, TMA_SMEM_ALIGN = 16, 128
"""Bytes that addresses, strides and rows in global memory, and addresses in shared memory, are multiples of (PTX ISA:
"cp.async.bulk.tensor")."""
SWIZZLE_PERIOD = 1024
"""The bytes after which the widest swizzle repeats: eight rows of 128 bytes (PTX ISA: "tensor swizzling modes")."""

# -- architectures -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Architecture:
    """A target of the CUDA compiler, with the common properties of its GPUs and the kit's files for it.

    name: as in "sm_100a".
    kernels: the folder of its reference kernels, in `kernels_ref/`.
    student_file: the file at the root that students fill in for it.
    smem_per_cta: bytes of dynamic shared memory that one CTA can have (CUDA: sharedMemPerBlockOptin).
    smem_per_sm: bytes of shared memory of an SM.
    smem_reserved: bytes of each resident CTA's shared memory that the system keeps.
    threads_per_sm: threads that can be resident.
    ctas_per_sm: CTAs that can be resident.
    """

    name: str
    kernels: str
    student_file: str
    smem_per_cta: int
    smem_per_sm: int
    smem_reserved: int
    threads_per_sm: int
    ctas_per_sm: int

    def resident_ctas(self, threads: int, smem_bytes: int, registers: int) -> int:
        """Return how many CTAs an SM has room for.

        threads: of a CTA, whole warps. smem_bytes: of its shared memory. registers: of a thread, 0 where unknown.
        """
        smem = smem_bytes + self.smem_reserved
        rooms = [self.ctas_per_sm, self.threads_per_sm // threads, self.smem_per_sm // smem]
        if registers:
            rooms.append(REGISTERS_PER_SM // (threads * registers))
        return min(rooms)


HOPPER = Architecture(
    name="sm_90a", kernels="sm90", student_file="gemm_kernels_sm90.py",
    smem_per_cta=232_448, smem_per_sm=233_472, smem_reserved=1024, threads_per_sm=2048, ctas_per_sm=32,  # A
)  # fmt: skip

BLACKWELL = replace(HOPPER, name="sm_100a", kernels="sm100", student_file="gemm_kernels.py")  # A: the same limits

BLACKWELL_ULTRA = replace(BLACKWELL, name="sm_103a")  # A: the same limits, kernels and files

ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType(
    {arch.name: arch for arch in (HOPPER, BLACKWELL, BLACKWELL_ULTRA)}
)


def compute_capability(arch: str) -> int:
    """Return ten times the compute capability of an architecture: 90 for "sm_90a"."""
    return int("".join(filter(str.isdigit, arch)))


def arch_name(capability: int) -> str:
    """Return the target architecture, "sm_90a" for 90, with the variant `a` that TMA and tensor cores need."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


def same_generation(arch: str, other: str) -> bool:
    """Return whether two architectures differ at most in the minor number, as "sm_100a" and "sm_103a"."""
    return compute_capability(arch) // 10 == compute_capability(other) // 10


def architecture_of(arch: str) -> Architecture:
    """Return the entry of an architecture, or else that of its generation, or the default."""
    alike = [entry for entry in ARCHITECTURES.values() if same_generation(entry.name, arch)]
    return ARCHITECTURES.get(arch) or (alike[0] if alike else ARCHITECTURES[DEFAULT_ARCH])


# -- GPUs --------------------------------------------------------------------------------------------------------------

LOST_ROUNDS = 50
"""Of the fixed-point iteration for what an L2 has lost: enough for 0.1 % where the arguments just do not fit."""

ISSUE_CYCLES: Mapping[str, float] = MappingProxyType({
    "alu": 2,               # C: one warp's dependent arithmetic, partly overlapped
    "special": 8,           # exp2, log2, roots: 16 lanes of an SM in a cycle, 4 of its quarter
    "sync": 6,              # fences, elect, votes
    "smem_atomic": 24,      # C: mbarrier.arrive
    "wait": 20,             # C: a successful try_wait
    "tma": 30,              # C: issue of a bulk copy by one thread
    "mma": 20,              # C: issue of one MMA by one thread: 30, with what the simulator counts as arithmetic
    "wgmma": 10,            # issue of one MMA by a warp
    "matrix": 4,            # issue of ldmatrix, stmatrix and mma
    "tmem": 10,             # issue of tcgen05.ld and st
    "shuffle": 5,           # C: shfl
    "barrier": 8,           # issue of bar.sync; its latency is `bar_latency`
    "alloc": 100,           # tcgen05.alloc and dealloc
    "none": 0,              # directives to the compiler
})  # fmt: skip
"""The issue cost of an instruction by its cost class (`isa.Instruction.cost`)."""


@dataclass(frozen=True)
class GpuSpec:
    """A GPU as the simulator models it.

    name: as in "B200". In lower case it is the key in `GPUS` and the stem of the table of measured times in `docs/`.
    cuda_name: the device's name in CUDA, of the part that the numbers are for.
    architecture: what it shares with other GPUs.
    sms: streaming multiprocessors.
    clock_ghz: the SM clock, in GHz, while there is power to spare.
    spare_ghz: the SM clock, in GHz, while there is power to spare, where `clock_ghz` is the one under full load, and
        the clock in between is not known; else None.
    rated_ghz: the SM clock, in GHz, that the data sheet's throughput is for.
    tensor_flops_per_cycle: dense fp16 operations of one SM in one cycle.
    hbm_tbps: TB/s of the memory that a kernel reaches.
    l2_bytes: the size of the L2.
    l2_partitions: its parts; each keeps what the SMs beside it read.
    l2_lasting_bytes: the bytes that last in the L2 from launch to launch where CTAs move among SMs; None for all that
        fits.
    l2_far_latency: cycles that the last lines of a tile take longer where one partition has them from another.
    port_bytes_per_cycle: bytes a cycle between one SM and the L2.
    l2_bytes_per_cycle: bytes a cycle that the whole L2 serves, divided by `sms`.
    l2_latency: cycles of an access that hits the L2, and of a fence at the scope of the GPU.
    l2_atomic_cost: the time of the L2 for an atomic operation on a byte, in times that it moves a byte.
    system_fence_cost: the time of a fence at the scope of the system, in times of one at the scope of the GPU.
    hbm_latency: cycles of one that misses it.
    tma_latency: cycles of a TMA load that hits the L2, in addition to the transfer.
    mma_latency: cycles of an MMA in addition to its arithmetic, with operands that are there.
    pair_latency: cycles that an MMA of a pair of SMs takes longer.
    pair_read_share: share of the cycles in which a pair's MMA reads its rows of A that the exchange of B adds to them.
    pair_mma_cycles: cycles that an MMA of a pair takes at least.
    smem_bytes_per_cycle: bytes a cycle of an SM's shared memory, for warps, and for all that TMA and tensor core read
        of it; what TMA writes goes beside that.
    smem_write_share: share of the cycles of such writes in which nothing can be read.
    l1_fill_bytes_per_cycle: bytes a cycle of the ordinary loads of one SM.
    cp_async_bytes_per_cycle: bytes a cycle of the cp.async of one SM that bypass its L1, those of 16 bytes.
    launch_latency_us: microseconds of a launch in addition to its CTAs, in a row of launches.
    cluster_launch_latency_us: microseconds that a launch of clusters takes longer.
    hidden_latency_us: microseconds of a launch that a programmatic launch hides.
    single_launch_latency_us: microseconds of a launch by itself in addition to its CTAs.
    single_cluster_latency_us: microseconds that a launch of clusters by itself takes longer.
    sustained_utilisation: share of the time that the tensor cores may be busy before the power limit lowers the clock.
    hbm_utilisation: the share that draws as much power as one TB/s of HBM traffic.
    power_exponent: of the clock's fall with the share above the sustained one.
    l2_unevenness: delay of a TMA load's completion, in cycles for each cycle of contention for the L2.
    smem_latency: cycles of a load from shared memory.
    mbarrier_latency: cycles from the last arrival at an mbarrier until a waiting thread runs.
    bar_latency: cycles from the last arrival at a named barrier until the waiting warps run.
    cluster_barrier_latency: the same for the cluster's barrier.
    remote_latency: cycles of an access to another CTA's shared memory.
    commit_latency: cycles from the completion of MMAs to the arrival that tcgen05.commit makes.
    tmem_load_latency: cycles of a tcgen05.ld.
    tmem_columns_per_cycle: columns a cycle that a warp reads from or writes to its lanes of tensor memory.
    tma_store_read_latency: cycles until a TMA store has read its source (wait_group.read), in addition to the transfer.
    tma_store_latency: cycles from there until its writes are done (wait_group).
    tma_store_bytes_per_cycle: bytes a cycle of the TMA stores of one SM.
    loads_in_flight: ordinary loads of a thread before the first value is used.
    cta_launch_latency: cycles from the end of a CTA to the start of the next one on its SM.
    issue_overlap: warps of a quarter of an SM that issue arithmetic at the cost of one.
    issue: cycles that issuing an instruction takes its warp, by cost class.
    """

    name: str
    cuda_name: str
    architecture: Architecture
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
    spare_ghz: float | None = None
    pair_latency: float = 0.0
    pair_read_share: float = 0.0
    pair_mma_cycles: float = 0.0
    smem_write_share: float = 0.05  # C: a main loop of 268 cycles: 256 of reads beside 256 of writes
    hidden_latency_us: float = 0.9  # E
    single_launch_latency_us: float = 2.2  # E: docs/h200_single.csv
    single_cluster_latency_us: float = 0.7  # E: as in a CUDA graph on an H100
    sustained_utilisation: float = 1.0
    hbm_utilisation: float = 0.0
    power_exponent: float = 0.5
    l2_unevenness: float = 0.0
    l2_partitions: int = 1
    l2_lasting_bytes: float | None = None
    l2_far_latency: float = 0.0
    l2_atomic_cost: float = 5.4  # E: red.add.f32 on whole sectors of an H200: 760 elements a nanosecond
    system_fence_cost: float = 4.0  # E: on an H200, 1038 cycles for 266
    # C
    smem_latency: float = 29
    mbarrier_latency: float = 30
    bar_latency: float = 30
    cluster_barrier_latency: float = 190
    remote_latency: float = 190
    commit_latency: float = 56  # with mma_latency
    tmem_load_latency: float = 110
    tmem_columns_per_cycle: float = 1
    tma_store_read_latency: float = 130
    tma_store_latency: float = 400
    tma_store_bytes_per_cycle: float = 20
    loads_in_flight: int = 4  # E
    cp_async_bytes_per_cycle: float = 64  # E: docs/h100_triton.csv, products of pointers to tiles
    cta_launch_latency: float = 600
    issue_overlap: float = 3
    issue: Mapping[str, float] = field(default_factory=lambda: ISSUE_CYCLES)

    def __getstate__(self) -> dict[str, Any]:
        """Return a picklable state for other processes, without read-only mappings."""
        return {**vars(self), "issue": dict(self.issue)}

    @property
    def arch(self) -> str:
        """The architecture's name, as in "sm_100a"."""
        return self.architecture.name

    def with_sms(self, sms: int | None) -> GpuSpec:
        """Return the same GPU with only `sms` multiprocessors, so that small problems have many tiles per SM.

        None keeps all multiprocessors. Raises `ValueError` for a number out of range."""
        if sms is None:
            return self
        if not 1 <= sms <= self.sms:
            raise ValueError(f"{self.name} has {self.sms} SMs: --sms takes 1 to {self.sms}, not {sms}")
        return replace(self, sms=sms)

    def at_clock(self, ghz: float) -> GpuSpec:
        """Return the same GPU at another SM clock; the L2 and the HBM keep theirs, so their cycle counts change."""
        ratio = ghz / self.clock_ghz
        cycles = ("l2_latency", "l2_far_latency", "hbm_latency", "tma_latency", "tma_store_latency")
        rates = ("l2_bytes_per_cycle", "tma_store_bytes_per_cycle")
        changed = {name: getattr(self, name) * ratio for name in cycles}
        changed |= {name: getattr(self, name) / ratio for name in rates}
        return replace(self, clock_ghz=ghz, **changed)

    @property
    def l2_shared_bytes(self) -> float:
        """The L2 capacity for data that all SMs read, in bytes."""
        return self.l2_bytes / self.l2_partitions

    def lost_share(self, nbytes: float, waves: bool) -> float:
        """Return the share of a launch's arguments that the L2 no longer holds from the launch before.

        nbytes: of all arguments. waves: whether the launch has more CTAs than run at a time. Then another SM reads the
        same data in the next launch, and a half of the L2 has a copy of what the other half holds. A miss replaces any
        line, so the share s that is lost solves 1 - s = exp(-s · nbytes / l2_lasting_bytes).
        """
        if nbytes > self.l2_shared_bytes:
            return 1.0
        if not waves or self.l2_lasting_bytes is None or nbytes <= self.l2_lasting_bytes:
            return 0.0
        lost = 1.0
        for _ in range(LOST_ROUNDS):
            lost = 1 - exp(-lost * nbytes / self.l2_lasting_bytes)
        return lost

    @property
    def peak_tflops(self) -> float:
        """The peak rate in TFLOPS of dense fp16 with fp32 accumulation."""
        return self.sms * self.tensor_flops_per_cycle * self.rated_ghz / 1e3

    @property
    def hbm_bytes_per_cycle(self) -> float:
        """The HBM bandwidth of the whole GPU in bytes per SM cycle."""
        return self.hbm_tbps * 1e3 / self.clock_ghz

    def clock_under(self, utilisation: float, hbm_tbps: float = 0.0) -> float:
        """Return the clock in GHz of a kernel with this tensor core utilisation and HBM traffic.

        At the power limit, utilisation × clock × voltage² is constant, and the voltage goes about with the root of the
        clock.
        """
        load = max(utilisation + self.hbm_utilisation * hbm_tbps, 1e-9)
        return self.clock_ghz * min(1.0, (self.sustained_utilisation / load) ** self.power_exponent)

    def fastest_clock(self, utilisation: float) -> float:
        """Return the highest clock in GHz that such a kernel may have, or its own clock if that is known.

        It is the clock of a GPU whose power limit lowers `spare_ghz` to `clock_ghz` at full load.
        """
        if self.spare_ghz is None:
            return self.clock_under(utilisation)
        limit = (self.clock_ghz / self.spare_ghz) ** (1 / self.power_exponent)
        return self.spare_ghz * min(1.0, (limit / max(utilisation, 1e-9)) ** self.power_exponent)


B200 = GpuSpec(
    name="B200", cuda_name="NVIDIA B200", architecture=BLACKWELL, sms=148,               # B
    clock_ghz=1.965, rated_ghz=1.86, tensor_flops_per_cycle=8192,   # C: as nvidia-smi reports; D: 2250 / 148 / 8192; C
    hbm_tbps=7.2, l2_bytes=126 << 20,                               # C
    l2_partitions=2, l2_far_latency=300,                            # C: one on each die; from die to die
    port_bytes_per_cycle=128, l2_bytes_per_cycle=65,                # E: as an H100; E: steps 8 and 9
    l2_latency=400, hbm_latency=1150, tma_latency=500,              # E: steps 5 to 7, with all SMs at work
    l2_unevenness=0.3,                                              # E: step 4
    mma_latency=20, pair_latency=37,                                # C: of 200 and 234 cycles until a thread has waited
    pair_read_share=1 / 12, pair_mma_cycles=18,                     # C: M 128 and 256, N 64 to 112; A in tensor memory
    smem_bytes_per_cycle=128, l1_fill_bytes_per_cycle=64,           # C: MMAs that wait for operands; C
    tma_store_latency=550, tma_store_bytes_per_cycle=9,             # E: step 10, whose stores nothing hides
    launch_latency_us=3.5, cluster_launch_latency_us=2.15,          # E: launches in a stream
    sustained_utilisation=0.45,                                     # E: at 1000 W
)  # fmt: skip

B300 = replace(
    B200.at_clock(1.09),                                            # C: cycles/ns of a GEMM of 4096³ at its power limit
    name="B300", cuda_name="NVIDIA B300 SXM6 AC", architecture=BLACKWELL_ULTRA,          # B: SMs, throughput, memory
    spare_ghz=B200.clock_ghz, sustained_utilisation=1.0,            # D: as a B200; that clock is the one under load
)  # fmt: skip
"""The B300, with caches and memory of a B200, and the clock under full load: other kernels' times are ranges."""

H100 = GpuSpec(
    name="H100", cuda_name="NVIDIA H100 80GB HBM3", architecture=HOPPER, sms=132,        # B
    clock_ghz=1.98, rated_ghz=1.83, tensor_flops_per_cycle=4096,    # B: 989 TFLOPS / 132 SMs / 4096
    hbm_tbps=3.0, l2_bytes=50 << 20,                                # C
    l2_lasting_bytes=23.5e6,                                        # E: sums of arrays of 25 to 50 MB
    port_bytes_per_cycle=128, l2_bytes_per_cycle=63,                # E: step 10 at 4096³, whose loads the L2 bounds
    l2_latency=260, hbm_latency=600,                                # C
    tma_latency=500, mma_latency=48,                                # E: steps 4 to 7
    smem_bytes_per_cycle=122, l1_fill_bytes_per_cycle=32,           # E: of 128; C: 5.5 to 7 TB/s of ordinary loads
    smem_write_share=0.55,                                          # E: cycles of step 10, docs/h100_counters.csv
    launch_latency_us=1.15, cluster_launch_latency_us=1.1,          # E: launches of a CUDA graph
    l2_unevenness=5.0,                                              # E: steps 4 and 8
    single_launch_latency_us=3.8, single_cluster_latency_us=2.4,    # E: docs/h100_plans.csv
    sustained_utilisation=0.535, hbm_utilisation=0.15, power_exponent=0.368,  # E: docs/h100_counters.csv, 700 W
)  # fmt: skip

H200 = replace(
    H100, name="H200", cuda_name="NVIDIA H200", hbm_tbps=4.3,       # B, C
    single_launch_latency_us=2.2, single_cluster_latency_us=0.7,    # E: docs/h200_single.csv
)  # fmt: skip

GPUS: Mapping[str, GpuSpec] = MappingProxyType({spec.name.lower(): spec for spec in (B200, B300, H100, H200)})

DEFAULT_GPU = "b200"
"""The GPU that is modelled by default."""
DEFAULT_ARCH = GPUS[DEFAULT_GPU].arch
"""The architecture that is compiled for unless the user or a GPU of this machine determines another."""


def gpu_spec(gpu: str | GpuSpec) -> GpuSpec:
    """Return the GPU of this name, a key of `GPUS` in any case; raises `ValueError` for other names."""
    if isinstance(gpu, GpuSpec):
        return gpu
    try:
        return GPUS[gpu.lower()]
    except KeyError:
        raise ValueError(f"unknown GPU {gpu!r}; the simulator models {', '.join(sorted(GPUS))}") from None


def gpu_called(cuda_name: str) -> GpuSpec | None:
    """Return the modelled GPU for a CUDA device name, as "NVIDIA B200", or None."""
    return next((spec for spec in GPUS.values() if spec.cuda_name == cuda_name), None)


def nearest_gpu(arch: str, cuda_name: str = "") -> GpuSpec:
    """Return the modelled GPU closest to a real one: its namesake, else one of its architecture, else the default."""
    alike = [spec for key, spec in GPUS.items() if key in cuda_name.lower()]
    alike += [spec for spec in GPUS.values() if spec.arch == arch]
    return alike[0] if alike else GPUS[DEFAULT_GPU]
