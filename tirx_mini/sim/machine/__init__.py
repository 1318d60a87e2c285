"""The machine: SMs, resident CTAs and warps, with their memories, registers and barriers."""

from .access import ElementOutOfBounds, LanesDisagree, MisalignedVector, spend_fence, spend_global, spend_shared
from .addresses import OFFSET_MASK, WINDOW_BITS, offset_of
from .arriving import Arriving
from .banks import conflicts
from .barriers import (
    AccessBeforeStart,
    Arrival,
    ArrivalOverflow,
    BadInitCount,
    BadThreadCount,
    BarrierEvent,
    BarrierOfEndedCta,
    BarrierUse,
    ClusterBarrierMisuse,
    EarlySignal,
    FreshWait,
    IncompletePhase,
    MbarrierFact,
    MisalignedBarrier,
    MissingInitFence,
    NoSuchBarrier,
    Reinitialised,
    RemoteAccessAtExit,
    RemoteSignal,
    RepeatedWait,
    RoundsUnordered,
    Signal,
    SignalAtExit,
    StoreOverBarrier,
    ThreadCountsDiffer,
    TxCountOverflow,
    UninitialisedBarrier,
    UnorderedInit,
    UnorderedPhases,
    UnpairedClusterBarrier,
)
from .batched import BatchedRegisterArray, BatchedSharedMemory, BatchedWarp, batched_memory
from .cluster_values import ClusterValue, Parted, PerCluster, per_cluster, values_by_cluster
from .collaborators import (
    NO_ORDER,
    NO_TIME,
    NO_VALUES,
    ORDER,
    TIME,
    VALUES,
    NoOrder,
    NoTime,
    NoValues,
    Order,
    Time,
    Values,
)
from .counting import (
    ClusterBarrierWait,
    CountingBarrier,
    CountingWait,
    GridBarrier,
    GridBarrierWait,
    NamedBarrierWait,
)
from .cta import Multiprocessor, ResidentCluster, ResidentCta, cta_name
from .divergent import POLL_CYCLES, Divergence
from .dtypes import Index, Number, numpy_dtype
from .image import GlobalBuffer, KernelImage, SharedBuffer
from .interfaces import Blocking, Cluster, Cta, Gpu, Sm, Wait, Warp
from .late_waits import LateWaits
from .masks import EMPTY, FULL, LANES, Mask
from .matrix import MatrixRowOutOfBounds, MisalignedMatrixRow
from .mbarrier import Mbarrier, MbarrierWait
from .meetings import LanesWait, meet
from .memory import (
    GROUP_LANES,
    WIDTHS,
    Element,
    GlobalMemory,
    Locator,
    SharedMemory,
    TensorMemory,
    element_of,
    partition,
)
from .probe import Probe
from .register_facts import (
    BorrowedRegister,
    PendingRegister,
    RegisterOutOfBounds,
    UninitialisedRegister,
    WideRegisters,
)
from .register_pool import (
    BadRegisterCount,
    PartialSetmaxnreg,
    RegisterCountsDiffer,
    RegisterPool,
    RegisterWait,
    UnsynchronisedRegisters,
    WrongRegisterDirection,
)
from .registers import Flight, RegisterArray, Registers, ScatteredRegisters, UniformArray
from .sparse import in_tensor_memory, metadata_columns, unpacked
from .unchecked import PartMbarrier, UncheckedMbarrier
from .units import issue
from .warp import RunningWarp
from .warp_facts import LanesDiffer, PartialWarp, WarpApart, warp_name
from .written_tiles import ChunkTable, WrittenTile, tile_of_buffer

__all__ = [
    "Arrival", "ArrivalOverflow", "Arriving", "BadInitCount", "BadRegisterCount", "BadThreadCount", "BarrierEvent",
    "BarrierOfEndedCta", "BarrierUse", "batched_memory", "BatchedRegisterArray", "BatchedSharedMemory", "BatchedWarp",
    "Blocking", "BorrowedRegister", "Cluster", "ClusterBarrierMisuse", "ClusterBarrierWait",
    "ClusterValue", "conflicts",
    "CountingBarrier", "CountingWait", "Cta", "cta_name", "Divergence", "EarlySignal", "Element", "element_of",
    "ElementOutOfBounds", "EMPTY", "Flight", "FreshWait", "FULL", "GlobalBuffer", "GlobalMemory", "Gpu", "GridBarrier",
    "GridBarrierWait", "IncompletePhase", "Index", "KernelImage", "LANES", "LanesDiffer", "LanesDisagree", "LanesWait",
    "LateWaits", "Locator", "Mask",
    "MatrixRowOutOfBounds", "Mbarrier", "MbarrierFact", "MbarrierWait", "meet", "MisalignedBarrier",
    "MisalignedMatrixRow",
    "MisalignedVector", "MissingInitFence", "Multiprocessor", "NamedBarrierWait", "NO_ORDER", "NO_TIME", "NO_VALUES",
    "NoOrder", "NoSuchBarrier", "NoTime", "NoValues", "Number", "numpy_dtype", "OFFSET_MASK", "offset_of", "ORDER",
    "Order",
    "Parted", "PartialSetmaxnreg", "PartialWarp", "partition", "PartMbarrier", "PendingRegister", "per_cluster",
    "PerCluster", "POLL_CYCLES", "Probe", "RegisterArray", "RegisterCountsDiffer", "RegisterOutOfBounds",
    "RegisterPool", "Registers", "RegisterWait", "Reinitialised", "RemoteSignal", "RepeatedWait", "ResidentCluster",
    "ResidentCta", "RoundsUnordered", "RunningWarp", "ScatteredRegisters", "SharedBuffer", "SharedMemory", "Signal",
    "SignalAtExit", "Sm", "issue", "spend_fence", "spend_global", "spend_shared",
    "StoreOverBarrier", "TensorMemory", "ThreadCountsDiffer",
    "Time", "TIME", "TxCountOverflow", "UncheckedMbarrier", "UniformArray", "UninitialisedBarrier",
    "UninitialisedRegister", "UnorderedInit", "UnorderedPhases", "UnpairedClusterBarrier", "UnsynchronisedRegisters",
    "VALUES", "Values", "values_by_cluster", "Wait", "Warp", "WarpApart", "WideRegisters", "WIDTHS", "WINDOW_BITS",
    "warp_name", "WrongRegisterDirection",
    "AccessBeforeStart", "ChunkTable", "GROUP_LANES", "in_tensor_memory", "metadata_columns", "RemoteAccessAtExit",
    "tile_of_buffer", "unpacked", "WrittenTile",
]  # fmt: skip
